"""
The types of PostgreSQL as Debezium writes them: the schema of a column, what to select, and what to make of that.

Most of the work is PostgreSQL's own: a time is selected as the number that it becomes. What Debezium leaves out, such as lines
and circles, is left out here; what it writes and we do not is refused by its name. Tests compare each type with what Debezium
wrote. Called by `tables.py`. Read next: `defaults.py`.
"""

from __future__ import annotations

import decimal
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from kconnect.api import ConnectError, Schema, SchemaType, Struct, schema

Convert = Callable[[Any], Any]
PRECISE = "precise"
"""The `decimal.handling.mode` that writes decimals."""


class ColumnType(NamedTuple):
    """
    `name` is that of `pg_type`, with its schema if that is a user's; `modifier` is `atttypmod`; `labels` are those of an enum,
    `element` is of an array. `where` is the schema of an extension's functions, quoted and with a dot.
    """

    name: str
    modifier: int = -1
    labels: Sequence[str] = ()
    element: ColumnType | None = None
    is_range: bool = False
    where: str = ""


class Reading(NamedTuple):
    """
    How a column is read. `expression` has `{}` for the column. `convert` makes a value of what that gives, where it is not
    null; None if it is the value already. `converting` gives that for a schema, which structs have to name.
    """

    schema: Schema
    expression: str = "{}"
    convert: Convert | None = None
    converting: Callable[[Schema], Convert] | None = None

    def of(self, schema: Schema) -> Reading:
        """Return how the same column is read with another schema."""
        convert = self.convert if self.converting is None else self.converting(schema)
        return self._replace(schema=schema, convert=convert)


_OMITTED = frozenset(("line", "lseg", "box", "path", "polygon", "circle", "tsquery", "pg_lsn", "xid", "xid8", "txid_snapshot"))
_OMITTED_IN_ARRAYS = frozenset(("interval", "point", "xml", "name", "money"))
_IN_ARRAYS = frozenset(
    (
        *("int2", "int4", "int8", "float4", "float8", "numeric", "bool", "varchar", "bpchar", "text", "char", "uuid", "json"),
        *("jsonb", "inet", "cidr", "oid", "date", "time", "timestamp", "timestamptz", "timetz", "bytea"),
    )
)
_MICROSECONDS = 6
_MILLISECONDS = 3
_MOST = 2**63 - 1
_MONTH_US = 2_629_800_000_000
"""A twelfth of 365.25 days."""
_MOST_SCALE = 1000
_MOST_DIGITS = 20_000
"""More than a number has behind the point in any database."""
_LENGTHLESS = 2**31 - 1
"""Of a `bit varying` without a limit."""
_YEAR = re.compile(r"(\d{4,})(-.*?)( BC)?$")

POINT = schema.struct(
    {
        "x": schema.FLOAT64_SCHEMA,
        "y": schema.FLOAT64_SCHEMA,
        "wkb": schema.OPTIONAL_BYTES_SCHEMA,
        "srid": schema.OPTIONAL_INT32_SCHEMA,
    },
    name="io.debezium.data.geometry.Point",
    version=1,
    doc="Geometry (POINT)",
)
_ANY_DECIMAL = schema.struct(
    {"scale": schema.INT32_SCHEMA, "value": schema.BYTES_SCHEMA},
    name="io.debezium.data.VariableScaleDecimal",
    version=1,
    doc="Variable scaled decimal",
)


def reading_of(kind: ColumnType, optional: bool, decimals: str = PRECISE) -> Reading | None:
    """
    Return how a column of this type is read; None if Debezium leaves such columns out. ConnectError for a type that Debezium
    may know and kconnect does not. `decimals` is Debezium's `decimal.handling.mode`.
    """
    if kind.element is not None:
        found = _of_array(kind.element, decimals)
    elif kind.name in _OMITTED:
        return None
    else:
        found = _of_scalar(kind, decimals)
    return None if found is None else found.of(found.schema.optional_copy() if optional else found.schema)


def _named(base: Schema, name: str, **parameters: str) -> Schema:
    return base.replace(name=name, version=1, parameters=parameters or None)


def _of_scalar(kind: ColumnType, decimals: str) -> Reading:
    if kind.name in ("money", "numeric") and decimals != PRECISE:
        return _of_loose_number(kind, decimals)
    plain = _PLAIN.get(kind.name)
    if plain is not None:
        return plain
    if kind.name == "hstore":
        where = kind.where.replace("{", "{{").replace("}", "}}")
        return Reading(_named(schema.STRING_SCHEMA, "io.debezium.data.Json"), where + "hstore_to_json({})::text", _hstore)
    digits = _MICROSECONDS if kind.modifier < 0 else kind.modifier
    if kind.labels:
        return Reading(_named(schema.STRING_SCHEMA, "io.debezium.data.Enum", allowed=",".join(kind.labels)), _PRINTED)
    if kind.is_range:
        return Reading(schema.STRING_SCHEMA, _PRINTED)
    if kind.name == "numeric":
        return _of_numeric(kind.modifier)
    if kind.name == "time":
        return _of_number(*_TIMES[digits <= _MILLISECONDS])
    if kind.name == "timestamp":
        return _of_timestamp(digits)
    if kind.name == "timestamptz":
        return Reading(_named(schema.STRING_SCHEMA, "io.debezium.time.ZonedTimestamp"), _zoned(digits), _zoned_text(digits))
    if kind.name in ("bit", "varbit"):
        return _of_bits(kind)
    raise ConnectError(
        f"The type {kind.name} is not understood: leave its columns out with column.exclude.list, of the backfill and of "
        "Debezium"
    )


def _of_loose_number(kind: ColumnType, decimals: str) -> Reading:
    number = "{0}::numeric" if kind.name == "money" else "{0}"
    if decimals == "double":
        return Reading(schema.FLOAT64_SCHEMA, f"{number}::float8")
    if kind.modifier >= 0 and _scale(kind.modifier) > _MOST_SCALE:
        # Behind the point Debezium writes two thousand zeros.
        raise ConnectError(
            "Numbers with a scale below 0 are not understood: leave the column out, or read it as precise or double"
        )
    return Reading(schema.STRING_SCHEMA, f"CASE WHEN {{0}}::text = 'NaN' THEN 'NAN' ELSE {number}::text END")


def _scale(modifier: int) -> int:
    """A scale below 0 has eleven bits, and Debezium takes them for one above."""
    return (modifier - 4) & 0x7FF


def _of_number(base: Schema, name: str, expression: str) -> Reading:
    return Reading(_named(base, name), expression)


_TIMES = {
    True: (schema.INT32_SCHEMA, "io.debezium.time.Time", "(extract(epoch from {}) * 1000)::int4"),
    False: (schema.INT64_SCHEMA, "io.debezium.time.MicroTime", "(extract(epoch from {}) * 1000000)::int8"),
}


def _of_timestamp(digits: int) -> Reading:
    name, factor = ("Timestamp", 1000) if digits <= _MILLISECONDS else ("MicroTimestamp", 1_000_000)
    # What Debezium makes of the infinite ones. Those near the end of time do not fit into so many microseconds.
    most, least = (limit * factor // 1000 for limit in (9223372036825200, -9223372036832400))
    value = f"extract(epoch from {{0}}) * {factor}"
    return _of_number(
        schema.INT64_SCHEMA,
        f"io.debezium.time.{name}",
        f"CASE WHEN {{0}} = '-infinity' THEN {least} WHEN {{0}} = 'infinity' OR {value} > {_MOST} THEN {most} "
        f"ELSE ({value})::int8 END",
    )


def _zoned(digits: int) -> str:
    fraction = f".FF{digits}" if digits else ""
    moment = "({0} AT TIME ZONE 'UTC')"
    usual = "{0} >= '0001-01-01 00:00:00+00' AND {0} < '10000-01-01 00:00:00+00'"
    return f'CASE WHEN {usual} THEN to_char({moment}, \'YYYY-MM-DD"T"HH24:MI:SS{fraction}"Z"\') ELSE {moment}::text END'


def _zoned_text(digits: int) -> Convert:
    """Return what writes a year that has not four digits as Java does, with a sign: PostgreSQL gives its own text then."""

    def convert(text: str) -> str:
        if text.endswith("Z") or text.endswith("infinity"):
            return text
        match = _YEAR.match(text)
        assert match is not None, text
        year, rest = int(match[1]), match[2].replace(" ", "T")
        seconds, _, fraction = rest.partition(".")
        sign = f"-{year - 1:04}" if match[3] and year > 1 else f"{0 if match[3] else '+'}{year}"
        if match[3] and year == 1:
            sign = "0000"
        return f"{sign}{seconds}{'.' + fraction.ljust(digits, '0') if digits else ''}Z"

    return convert


def _of_numeric(modifier: int) -> Reading:
    if modifier < 0:
        return Reading(_ANY_DECIMAL, "nullif({}, 'NaN')", converting=_any_decimals)
    precision = (modifier - 4) >> 16 & 0xFFFF
    scale = _scale(modifier)
    return Reading(
        schema.decimal_schema(scale).replace(parameters={"scale": str(scale), "connect.decimal.precision": str(precision)}),
        "nullif({}, 'NaN')",
        None if scale <= _MOST_SCALE else lambda number: _with_scale(number, scale),
    )


def as_written(number: decimal.Decimal) -> decimal.Decimal:
    """
    Return a number as databases write it, with all its digits. ConnectError for one with an exponent: of twelve characters such
    as 1E+999999999 there would be a billion digits, and all else would wait for them.
    """
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and not -_MOST_DIGITS <= exponent <= 0:
        raise ConnectError("The database has answered with a number that has an exponent, which none has there")
    return number


def _with_scale(number: decimal.Decimal, scale: int) -> decimal.Decimal:
    number = as_written(number)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    return decimal.Decimal((sign, (*digits, *(0,) * (exponent + scale)), -scale))


def _any_decimals(schema: Schema) -> Convert:
    def convert(number: decimal.Decimal) -> Struct:
        exponent = as_written(number).as_tuple().exponent
        if not isinstance(exponent, int):
            raise ConnectError(
                "There is an infinite number, which has no place in a record: change it, or leave its column out"
            )
        scale = max(0, -exponent)
        unscaled = int(number.scaleb(scale, _ENDLESS))
        size = (~unscaled if unscaled < 0 else unscaled).bit_length() // 8 + 1
        return Struct.unchecked(schema, [scale, unscaled.to_bytes(size, "big", signed=True)])

    return convert


_ENDLESS = decimal.Context(prec=200_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
"""PostgreSQL's numbers have 147,455 digits at most."""


def _of_bits(kind: ColumnType) -> Reading:
    if kind.name == "bit" and kind.modifier == 1:
        return Reading(schema.BOOLEAN_SCHEMA, "{} = B'1'")
    length = _LENGTHLESS if kind.modifier < 0 else kind.modifier
    return Reading(_named(schema.BYTES_SCHEMA, "io.debezium.data.Bits", length=str(length)), "{}::text", _bits)


def _bits(text: str) -> bytes:
    """The last one is the lowest, and the lowest byte comes first, as in Java's BitSet."""
    number = int(text or "0", 2)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")


def _points(schema: Schema) -> Convert:
    def convert(text: str) -> Struct:
        x, y = map(float, text.strip("()").split(","))
        return Struct.unchecked(schema, [x, y, struct.pack("<BIdd", 1, 1, x, y), None])

    return convert


def _hstore(text: str) -> str:
    return orjson.dumps(orjson.loads(text)).decode()


_DATE = "CASE {0} WHEN 'infinity' THEN -622191234 WHEN '-infinity' THEN -625821272 ELSE {0} - DATE '1970-01-01' END"
_INTERVAL = (
    # The longest ones do not fit into so many microseconds: Java's numbers end there, too. Of a null these two make a number.
    f"CASE WHEN {{0}} IS NOT NULL THEN least({_MOST}, greatest({-_MOST - 1}, "
    f"(extract(year from {{0}}) * 12 + extract(month from {{0}})) * {_MONTH_US} "
    "+ extract(day from {0}) * 86400000000 + extract(hour from {0}) * 3600000000 + extract(minute from {0}) * 60000000 "
    "+ extract(second from {0}) * 1000000))::int8 END"
)
_PRINTED = "CASE WHEN {0} IS DISTINCT FROM NULL THEN concat({0}) END"
"""The own text of a type that is a user's: a cast may be a function of theirs, which would run with our rights."""
_AS_TEXT = Reading(schema.STRING_SCHEMA, "{}::text")
_AS_PRINTED = Reading(schema.STRING_SCHEMA, _PRINTED)
"""For types of PostgreSQL's whose cast to text adds something."""
_PLAIN = {
    "int2": Reading(schema.INT16_SCHEMA),
    "int4": Reading(schema.INT32_SCHEMA),
    "int8": Reading(schema.INT64_SCHEMA),
    "oid": Reading(schema.INT64_SCHEMA, "{}::int8"),
    "float4": Reading(schema.FLOAT32_SCHEMA),
    "float8": Reading(schema.FLOAT64_SCHEMA),
    "bool": Reading(schema.BOOLEAN_SCHEMA),
    "money": Reading(schema.decimal_schema(2), "{}::numeric"),
    # A cast of characters of a fixed length would drop the blanks at their end.
    **dict.fromkeys(("text", "varchar", "bpchar"), Reading(schema.STRING_SCHEMA)),
    **dict.fromkeys(("char", "name", "citext", "macaddr", "macaddr8"), _AS_TEXT),
    **dict.fromkeys(("inet", "cidr"), _AS_PRINTED),
    "bytea": Reading(schema.BYTES_SCHEMA),
    "date": Reading(_named(schema.INT32_SCHEMA, "io.debezium.time.Date"), _DATE),
    "timetz": Reading(_named(schema.STRING_SCHEMA, "io.debezium.time.ZonedTime"), "({} AT TIME ZONE 'UTC')::time::text || 'Z'"),
    "interval": Reading(_named(schema.INT64_SCHEMA, "io.debezium.time.MicroDuration"), _INTERVAL),
    "uuid": Reading(_named(schema.STRING_SCHEMA, "io.debezium.data.Uuid"), "{}::text"),
    **dict.fromkeys(("json", "jsonb"), Reading(_named(schema.STRING_SCHEMA, "io.debezium.data.Json"), "{}::text")),
    "xml": Reading(_named(schema.STRING_SCHEMA, "io.debezium.data.Xml"), "{}::text"),
    "ltree": Reading(_named(schema.STRING_SCHEMA, "io.debezium.data.Ltree"), "{}::text"),
    "tsvector": Reading(_named(schema.STRING_SCHEMA, "io.debezium.data.Tsvector"), "{}::text"),
    "point": Reading(POINT, "{}::text", converting=_points),
}


def _of_array(element: ColumnType, decimals: str) -> Reading | None:
    if element.name in _OMITTED or element.name in _OMITTED_IN_ARRAYS:
        return None
    if element.name == "bit":
        # Debezium takes the array for one of its elements, and finds nothing.
        length = str(max(element.modifier, 1))
        return Reading(_named(schema.BYTES_SCHEMA, "io.debezium.data.Bits", length=length), "NULL::bytea")
    if not (element.name in _IN_ARRAYS or element.labels or element.is_range):
        raise ConnectError(
            f"Arrays of the type {element.name} are not understood: leave their columns out with column.exclude.list, of the "
            "backfill and of Debezium"
        )
    one = _of_scalar(element, decimals)
    # Debezium takes the labels of an enum for required within an array.
    one = one.of(one.schema if element.labels else one.schema.optional_copy())
    # Of numbers without a scale it drops zeros at the end within an array, and nowhere else.
    is_any_decimal = element.name == "numeric" and element.modifier < 0 and decimals == PRECISE
    selected = one.expression.format("trim_scale(_e)" if is_any_decimal else "_e")
    # Of an array within an array Debezium makes a null.
    expression = (
        "CASE WHEN {0} IS NOT NULL THEN ARRAY(SELECT CASE WHEN array_ndims({0}) = 1 THEN "
        + selected
        + " END FROM unnest({0}) WITH ORDINALITY AS _a(_e, _n) WHERE _n <= array_length({0}, 1) ORDER BY _n) END"
    )
    convert = one.convert
    if element.labels:
        return Reading(schema.array(one.schema), expression, _without_nulls)
    return Reading(
        schema.array(one.schema),
        expression,
        None if convert is None else lambda values: [None if value is None else convert(value) for value in values],
    )


def _without_nulls(labels: list[str | None]) -> list[str | None]:
    if None in labels:
        raise ConnectError(
            "An array of an enum has a null, or an array, among its elements, and Debezium's schema has labels only: change "
            "it, or leave its column out"
        )
    return labels


def is_text(reading: Reading) -> bool:
    """Whether a column's values may be long."""
    long = (SchemaType.STRING, SchemaType.BYTES, SchemaType.ARRAY)
    return reading.schema.type in long and reading.schema.name != schema.DECIMAL
