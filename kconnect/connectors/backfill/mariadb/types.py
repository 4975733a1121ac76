"""
The types of MariaDB as Debezium writes them: the schema of a column, what to select, and what to make of that.

Times come as texts, and what Debezium can't read is told by its name. Zero dates are nulls, or 1970 where there may be none;
years below 100 are those of this century and the last. Tests compare each type with what Debezium wrote. Called by `tables.py`.
Read next: `defaults.py`, `ddl.py`.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from kconnect.api import ConnectError, Schema, Struct, schema
from kconnect.connectors.backfill.mariadb.ddl import Column
from kconnect.connectors.backfill.types import POINT, PRECISE, Convert, Reading, as_written

LONG = "long"
"""The `bigint.unsigned.handling.mode` that writes longs."""
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MILLISECONDS = 3
"""So many digits of a second are a Timestamp, and more are a MicroTimestamp."""
_BIT = 1
_HALF, _ALL = 2**63, 2**64
_CACHED = 1 << 16

_GEOMETRY = schema.struct(
    {"wkb": schema.BYTES_SCHEMA, "srid": schema.OPTIONAL_INT32_SCHEMA},
    name="io.debezium.data.geometry.Geometry",
    version=1,
    doc="Geometry",
)
_INTEGERS = {
    "tinyint": (schema.INT16_SCHEMA, schema.INT16_SCHEMA),
    "smallint": (schema.INT16_SCHEMA, schema.INT32_SCHEMA),
    "mediumint": (schema.INT32_SCHEMA, schema.INT32_SCHEMA),
    "int": (schema.INT32_SCHEMA, schema.INT64_SCHEMA),
    "bigint": (schema.INT64_SCHEMA, schema.INT64_SCHEMA),
}
"""By type, with a sign and without."""
TEXTS = frozenset(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"))
BINARIES = frozenset(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"))
_GEOMETRIES = frozenset(
    (
        *("geometry", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"),
        "geomcollection",
    )
)


class Modes(NamedTuple):
    """Debezium's `decimal.handling.mode` and `bigint.unsigned.handling.mode`."""

    decimals: str = PRECISE
    unsigned: str = LONG


def reading_of(column: Column, modes: Modes) -> Reading:
    """Return how a column is read. ConnectError for a type that Debezium or kconnect does not know."""
    base = _of_type(column, modes)
    if column.comment is not None and base.schema.doc is not None:
        raise ConnectError(
            "It has a comment, with which Debezium can't write a geometry: leave it out with column.exclude.list"
        )
    commented = base.schema if column.comment is None else base.schema.replace(doc=column.comment)
    return base.of(commented.optional_copy() if column.is_optional else commented)


def _of_type(column: Column, modes: Modes) -> Reading:
    name = column.type
    if name == "bigint" and column.is_unsigned:
        return _of_unsigned(column, modes.unsigned)
    if name in _INTEGERS:
        return Reading(_INTEGERS[name][column.is_unsigned])
    if name == "decimal":
        return _of_decimal(column, modes.decimals)
    if name == "float":
        # With digits Debezium takes it for a double, of which it reads a float.
        return Reading(schema.FLOAT64_SCHEMA, convert=_as_float) if column.arguments else Reading(schema.FLOAT32_SCHEMA)
    if name == "double":
        return Reading(schema.FLOAT64_SCHEMA)
    if name == "bit":
        return _of_bits(int(column.arguments[0]) if column.arguments else _BIT)
    if name in TEXTS:
        return Reading(schema.STRING_SCHEMA)
    if name in BINARIES:
        return Reading(schema.BYTES_SCHEMA)
    if name in ("enum", "set"):
        labels = ",".join(label_of(text).replace(",", "\\,") for text in column.arguments)
        kind = "Enum" if name == "enum" else "EnumSet"
        return Reading(_named(schema.STRING_SCHEMA, f"io.debezium.data.{kind}", allowed=labels))
    if name == "uuid":
        return Reading(_named(schema.STRING_SCHEMA, "io.debezium.data.Uuid"))
    if name == "point":
        return Reading(POINT, converting=_points)
    if name in _GEOMETRIES:
        return Reading(_GEOMETRY, converting=_geometries)
    timed = _of_time(column)
    if timed is not None:
        return timed
    raise ConnectError(
        f"The type {name} is not understood: leave its columns out with column.exclude.list, of the backfill and of Debezium"
    )


def _of_time(column: Column) -> Reading | None:
    zero = None if column.is_optional else 0
    digits = digits_of(column)
    if column.type == "date":
        return Reading(_named(schema.INT32_SCHEMA, "io.debezium.time.Date"), convert=_or(days_of, zero))
    if column.type == "time":
        return Reading(_named(schema.INT64_SCHEMA, "io.debezium.time.MicroTime"), convert=time_of)
    if column.type == "datetime":
        name = "Timestamp" if digits <= _MILLISECONDS else "MicroTimestamp"
        return Reading(_named(schema.INT64_SCHEMA, f"io.debezium.time.{name}"), convert=_or(moments_of(digits), zero))
    if column.type == "timestamp":
        first = None if column.is_optional else _zoned("1970-01-01 00:00:00")
        return Reading(_named(schema.STRING_SCHEMA, "io.debezium.time.ZonedTimestamp"), convert=_or(_zoned, first))
    if column.type == "year":
        return Reading(_named(schema.INT32_SCHEMA, "io.debezium.time.Year"), convert=_year)
    return None


def digits_of(column: Column) -> int:
    """Return how many digits of a second a column of times has."""
    return int(column.arguments[0]) if column.arguments else 0


def _named(base: Schema, name: str, **parameters: str) -> Schema:
    return base.replace(name=name, version=1, parameters=parameters or None)


def label_of(text: str) -> str:
    """Return a label of an enum without its quotes. What is escaped with a backslash stays so, as by Debezium."""
    return text[1:-1].replace("''", "'")


def _of_unsigned(column: Column, mode: str) -> Reading:
    if mode == LONG:
        return Reading(schema.INT64_SCHEMA, convert=lambda number: number if number < _HALF else number - _ALL)
    parameters = {"scale": "0", "connect.decimal.precision": column.arguments[0]}
    return Reading(schema.decimal_schema(0).replace(parameters=parameters), convert=decimal.Decimal)


def _of_decimal(column: Column, mode: str) -> Reading:
    precision, scale = column.arguments
    if mode == PRECISE:
        parameters = {"scale": scale, "connect.decimal.precision": precision}
        return Reading(schema.decimal_schema(int(scale)).replace(parameters=parameters))
    return Reading(schema.FLOAT64_SCHEMA, convert=float) if mode == "double" else Reading(schema.STRING_SCHEMA, convert=_plain)


def _plain(number: decimal.Decimal) -> str:
    return f"{as_written(number):f}"


def _as_float(number: float) -> float:
    [value] = struct.unpack("f", struct.pack("f", number))
    return float(value)


def _of_bits(length: int) -> Reading:
    if length == _BIT:
        return Reading(schema.BOOLEAN_SCHEMA, "({} + 0)", bool)
    size = (length + 7) // 8
    named = _named(schema.BYTES_SCHEMA, "io.debezium.data.Bits", length=str(length))
    # The lowest byte comes first, as in Java's BitSet.
    return Reading(named, "({} + 0)", lambda number: number.to_bytes(size, "little"))


def _or(convert: Callable[[str], Any], otherwise: Any) -> Convert:
    """Return what gives `otherwise` for a date that there is not, such as the zeros."""

    def converted(text: str) -> Any:
        value = convert(text)
        return otherwise if value is None else value

    return converted


def adjusted(year: int) -> int:
    """Return the year that Debezium takes one with two digits for."""
    return year + 2000 if year < 70 else year + 1900 if year < 100 else year


@functools.lru_cache(maxsize=_CACHED)
def _date(text: str) -> datetime.datetime | None:
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    if not month or not day:
        return None
    try:
        return datetime.datetime(adjusted(year), month, day)
    except ValueError:
        raise ConnectError(f"There is the date {text}, which Debezium can't read: change it, or leave its column out") from None


def days_of(text: str) -> int | None:
    """Return the days since 1970 of a date; None for the zero date, and others without a month or a day."""
    date = _date(text[:10])
    return None if date is None else (date - _EPOCH).days


def micros_of(text: str) -> int | None:
    """Return the microseconds since 1970 of a date with a time; None for the zero date."""
    date = _date(text[:10])
    return None if date is None else (date - _EPOCH) // _MICROSECOND + time_of(text[11:])


def moments_of(digits: int) -> Callable[[str], int | None]:
    """Return what makes a date with a time, with so many digits of a second, the number that Debezium makes of it."""

    def converted(text: str) -> int | None:
        micros = micros_of(text)
        return micros if micros is None or digits > _MILLISECONDS else micros // 1000

    return converted


def time_of(text: str) -> int:
    """Return the microseconds of a time, which may be negative, and longer than a day."""
    whole, _, fraction = text.partition(".")
    hours, minutes, seconds = whole.lstrip("-").split(":")
    micros = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1_000_000 + int(fraction.ljust(6, "0"))
    return -micros if text[0] == "-" else micros


def _zoned(text: str) -> str | None:
    if _date(text[:10]) is None:
        return None
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole[:10]}T{whole[11:]}{'.' + fraction if fraction else ''}Z"


def _year(text: str) -> int:
    if len(text) == 2:
        return adjusted(int(text))
    if text == "0000":
        raise ConnectError("There is the year 0000, which Debezium can't read: change it, or leave its column out")
    return int(text)


def _geometries(schema: Schema) -> Convert:
    def convert(data: bytes) -> Struct:
        return Struct.unchecked(schema, [data[4:], _srid(data)])

    return convert


def _points(schema: Schema) -> Convert:
    def convert(data: bytes) -> Struct:
        x, y = struct.unpack_from("<dd" if data[4] else ">dd", data, 9)
        return Struct.unchecked(schema, [x, y, data[4:], _srid(data)])

    return convert


def _srid(data: bytes) -> int | None:
    [number] = struct.unpack_from("<I", data)
    return number or None
