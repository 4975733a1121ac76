"""
Types: which column a schema's field gets, and what a value is in a column that there is.

Used by `tables.py` and `rows.py`. A column decides: a timestamp for a column without a zone is one of `db.timezone`, a decimal
for one of integers is the database's to refuse.
"""

from __future__ import annotations

import datetime
import decimal
import operator
from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.postgresql import MONEY

from kconnect.api import DataError, Schema, SchemaType, Struct, schema, values
from kconnect.connectors import documents
from kconnect.connectors.common import point_in_time
from kconnect.connectors.sql import pg_texts, room

_SIMPLE: dict[SchemaType, sa.types.TypeEngine[Any]] = {
    SchemaType.INT8: sa.SmallInteger(),
    SchemaType.INT16: sa.SmallInteger(),
    SchemaType.INT32: sa.Integer(),
    SchemaType.INT64: sa.BigInteger(),
    SchemaType.FLOAT32: sa.REAL().with_variant(mysql.FLOAT(), "mysql", "mariadb"),
    SchemaType.FLOAT64: sa.Double(),
    SchemaType.BOOLEAN: sa.Boolean(),
    SchemaType.STRING: sa.Text(),
    SchemaType.BYTES: sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"),
}
_MYSQL_KEYS: dict[SchemaType, sa.types.TypeEngine[Any]] = {
    # It indexes no text without a length.
    SchemaType.STRING: sa.String(256),
    SchemaType.BYTES: sa.VARBINARY(256),
}

Convert = Callable[[Any], Any]

_UTC = ZoneInfo("UTC")
_MOST_ZEROS = 400
"""A floating point number has 324 behind the point."""
FAR = "it is a date that is not in the years 1 to 9999"


class JsonText(sa.Text):
    """
    A column of JSON that gets texts. SQLAlchemy's own type writes them anew, with fewer digits, and a null as the text `null`.
    """


_WITHOUT_ZONE = operator.methodcaller("replace", tzinfo=None)
"""Half the time of a function in Python; who calls it looks for a FarDate before."""


def column_type(own: Schema, backend: str, key: bool) -> sa.types.TypeEngine[Any]:
    """Return the type of a new column. Raise DataError if a column can't hold such values."""
    of_mysql = backend in ("mysql", "mariadb")
    if own.name == schema.DECIMAL:
        # Of any precision where there is such a type; elsewhere the greatest, or what SQLite makes of it.
        if backend == "postgresql":
            return sa.Numeric()
        return sa.Numeric(65 if of_mysql else 38, schema.decimal_scale(own)) if backend != "sqlite" else sa.Text()
    if own.name == schema.DATE:
        return sa.Date()
    if own.name == schema.TIME:
        return mysql.TIME(fsp=3) if of_mysql else sa.Time()
    if own.name == schema.TIMESTAMP:
        return mysql.DATETIME(fsp=3) if of_mysql else sa.DateTime()
    if own.type is SchemaType.ARRAY and backend == "postgresql" and own.value_schema is not None and not key:
        from sqlalchemy.dialects.postgresql import ARRAY

        return ARRAY(column_type(own.value_schema, backend, False))
    if own.type not in _SIMPLE:
        raise DataError(f"a column can't be made for values of type {own.type.value}: {_REMEDY}")
    return _MYSQL_KEYS[own.type] if of_mysql and key and own.type in _MYSQL_KEYS else _SIMPLE[own.type]


_LONGEST_DEFAULT = 255
_REMEDY = "flatten it with the transform Flatten, or make a column of type JSON for it"


def conversion(
    own: Schema | None, column: sa.Column[Any], backend: str, zone: ZoneInfo, rounds: bool = False
) -> Convert | None:
    """
    Return the conversion of values of a schema, or without one, to those of a column; None if they are so already. They are
    never null. The conversion raises DataError for a value that does not fit, or, without `rounds`, would be rounded or cut
    off.
    """
    kind = column.type
    # MariaDB's JSON is a long text.
    if isinstance(kind, JsonText):
        return _of_json_text(own, backend)
    if isinstance(kind, sa.JSON) or (isinstance(kind, mysql.LONGTEXT) and not (own is not None and own.type.is_primitive)):
        return _of_json(own)
    check = room.check_of(own, kind, backend, rounds)
    convert = _of_kind(own, column, backend, zone, rounds)
    return convert if check is None else _checked(check, convert)


def _checked(check: room.Check, convert: Convert | None) -> Convert:
    def checked(value: Any) -> Any:
        check(value)
        return value if convert is None else convert(value)

    return checked


def _of_kind(own: Schema | None, column: sa.Column[Any], backend: str, zone: ZoneInfo, rounds: bool) -> Convert | None:
    kind = column.type
    if isinstance(kind, MONEY) and (own is None or own.type is SchemaType.STRING):
        return pg_texts.money
    if own is None:
        return _of_any(kind, backend, zone)
    if own.name == schema.DECIMAL:
        if isinstance(kind, sa.String):
            return documents.decimal_text
        return _written_out if backend in ("mysql", "mariadb") else None
    if own.name in (schema.DATE, schema.TIME, schema.TIMESTAMP):
        return _of_time(own.name, kind, _session_zone(kind, backend, zone))
    if own.type is SchemaType.ARRAY and isinstance(kind, sa.ARRAY):
        return _of_array(own, kind, column, backend, zone, rounds)
    if not own.type.is_primitive:
        raise DataError(f"the column {column.name} can't hold values of type {own.type.value}: {_REMEDY}")
    if own.type is SchemaType.BYTES:
        return bytes
    if own.type is SchemaType.STRING and isinstance(kind, sa.types._Binary):
        return str.encode
    if own.type is SchemaType.STRING and isinstance(kind, sa.DateTime) and kind.timezone:
        return lambda value: _zoned(value, zone)
    if own.type is SchemaType.STRING and isinstance(kind, sa.DateTime) and backend == "postgresql":
        return lambda value: _unzoned(value, zone)
    if own.type is SchemaType.STRING and isinstance(kind, sa.String) and not isinstance(kind, sa.Enum | mysql.SET):
        length, nul = kind.length, backend != "postgresql"
        return None if length is None and nul else Texts(length, nul)
    if own.type is SchemaType.STRING and backend == "postgresql":
        return _WITHOUT_NUL
    if own.type in (SchemaType.FLOAT32, SchemaType.FLOAT64) and isinstance(kind, sa.String):
        # Databases write fewer digits, or others.
        return values.to_text
    return None


def _session_zone(kind: Any, backend: str, zone: ZoneInfo) -> ZoneInfo:
    """A TIMESTAMP of MySQL and MariaDB is a point in time, and goes in the zone of the session, which is UTC."""
    return _UTC if isinstance(kind, sa.TIMESTAMP) and backend in ("mysql", "mariadb") else zone


def _of_json(own: Schema | None) -> Convert:
    """A text is JSON already."""
    return lambda value: value if isinstance(value, str) else documents.to_json(value, own).decode()


def _of_json_text(own: Schema | None, backend: str) -> Convert:
    to_json = _of_json(own)

    def convert(value: Any) -> str:
        text: str = to_json(value)
        if isinstance(value, str):
            orjson.loads(text)
        if backend == "sqlite":
            room.check_affinity(text)
        return text

    return convert


def _of_array(own: Schema, kind: Any, column: sa.Column[Any], backend: str, zone: ZoneInfo, rounds: bool) -> Convert:
    inner = conversion(own.value_schema, sa.Column(column.name, kind.item_type), backend, zone, rounds)
    if inner is None:
        return list

    def convert(value: Any) -> list[Any]:
        if values.FarDate in set(map(type, value)):
            raise DataError(FAR)
        return [item if item is None else inner(item) for item in value]

    return convert


def _of_time(name: str, kind: Any, zone: ZoneInfo) -> Convert:
    def checked(value: Any) -> datetime.datetime:
        if isinstance(value, values.FarDate):
            raise DataError(FAR)
        moment: datetime.datetime = value
        return moment

    if isinstance(kind, sa.String):
        return lambda value: documents.time_text(checked(value), name)
    if isinstance(kind, sa.Date) or (name == schema.DATE and not isinstance(kind, sa.DateTime)):
        return lambda value: checked(value).date()
    if isinstance(kind, sa.Time) and kind.timezone:
        # Without its zone it would be one of the session's.
        return lambda value: checked(value).timetz()
    if isinstance(kind, sa.Time) or name == schema.TIME:
        return lambda value: checked(value).time()
    if isinstance(kind, sa.DateTime) and not kind.timezone and name == schema.TIMESTAMP:
        if zone.key == "UTC":
            return _WITHOUT_ZONE
        return lambda value: checked(value).astimezone(zone).replace(tzinfo=None)
    return checked


def _of_any(kind: Any, backend: str, zone: ZoneInfo) -> Convert:
    """Return the conversion of values without a schema, by the column: dates may be texts, decimals numbers."""
    own_zone = _session_zone(kind, backend, zone)

    def convert(value: Any) -> Any:
        if isinstance(value, dict | list | Struct):
            raise DataError(f"an object or a list has no place in a column of type {kind}: {_REMEDY}")
        if isinstance(kind, sa.DateTime | sa.Date | sa.Time) and isinstance(value, str):
            return _parsed(kind, value, own_zone)
        if isinstance(kind, sa.DateTime) and isinstance(value, datetime.datetime):
            return _of_time(schema.TIMESTAMP, kind, own_zone)(value)
        if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float) and isinstance(value, float):
            return decimal.Decimal(repr(value))
        if isinstance(kind, sa.types._Binary) and isinstance(value, str):
            return value.encode()
        if isinstance(kind, sa.String) and not isinstance(value, str):
            return values.to_text(value)
        if isinstance(value, str) and backend == "postgresql":
            return _WITHOUT_NUL(value)
        if isinstance(value, decimal.Decimal) and backend in ("mysql", "mariadb"):
            return _written_out(value)
        return value

    return convert


def _written_out(value: decimal.Decimal) -> decimal.Decimal:
    """Return the same for the drivers of MySQL, which write a decimal with all its zeros. DataError if these are very many."""
    if not value:
        return decimal.Decimal(0)
    if documents.zeros_of(value) > _MOST_ZEROS:
        raise DataError(f"its first digit is {value.adjusted()} places from the point: the database has no such number")
    return value


def _parsed(kind: Any, text: str, zone: ZoneInfo) -> Any:
    try:
        if isinstance(kind, sa.Date):
            return datetime.date.fromisoformat(text)
        if isinstance(kind, sa.Time):
            return datetime.time.fromisoformat(text)
        moment = point_in_time(text, zone)
    except ValueError:
        raise DataError(f"{text[:40]!r} is no {kind} in ISO 8601") from None
    return moment if kind.timezone else moment.astimezone(zone).replace(tzinfo=None)


def _zoned(text: str, zone: ZoneInfo) -> Any:
    """A time without a zone would be one of the session's. What the database alone understands is left to it."""
    try:
        return point_in_time(text, zone)
    except ValueError:
        return _WITHOUT_NUL(text)


def _unzoned(text: str, zone: ZoneInfo) -> Any:
    """The database would leave a zone out, and take the hour for one of another zone."""
    try:
        moment = point_in_time(pg_texts.without_blanks(text), zone)
    except ValueError:
        pg_texts.check_no_zone(text)
        return _WITHOUT_NUL(text)
    return moment.astimezone(zone).replace(tzinfo=None)


class Texts:
    """
    Texts for a column that has `length` characters, or any number of them, and without the character NUL unless it has `nul`.
    Of all texts of a column it can be asked at once.
    """

    def __init__(self, length: int | None, nul: bool) -> None:
        self._length, self._nul = length, nul

    def takes(self, texts: Sequence[str]) -> bool:
        return (self._nul or "\0" not in "".join(texts)) and (
            self._length is None or not texts or max(map(len, texts)) <= self._length
        )

    def __call__(self, text: str) -> str:
        if not self._nul and "\0" in text:
            raise DataError("PostgreSQL's texts can't have the character NUL")
        if self._length is not None and len(text) > self._length:
            raise DataError(f"it has {len(text)} characters, and the column {self._length}")
        return text


_WITHOUT_NUL = Texts(None, nul=False)


def default_of(own: Schema) -> str | None:
    """
    The default of a schema as a database takes it; None if there is none, or it has to be left to the records. A long one is:
    it would stand in the table for good, and SQLAlchemy takes minutes to look for patterns in it, in SQLite, each time.
    """
    value = own.default
    if (
        value is None
        or own.name is not None
        or own.type in (SchemaType.BYTES, SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT)
    ):
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    text = str(value)
    return text if len(text) <= _LONGEST_DEFAULT else None
