"""
Fields: which schema the values of a column have, and how they are read.

The counterpart of `types.py`, for the source. What has no type of its own in Connect (JSON, UUIDs, intervals, enumerations,
ranges) is read as the text that the database makes of it. Used by `relations.py`.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import NullType

from kconnect.api import DataError, Schema, SchemaType, schema
from kconnect.connectors.common import point_in_time
from kconnect.connectors.sql import loose, owners
from kconnect.connectors.sql import source_settings as settings

Convert = Callable[[Any], Any]


class Geometry(NullType):
    """A type of MySQL and MariaDB that none of their casts takes; it is read as its well-known text."""


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_UTC, _UTC_BY_NAME = datetime.timezone.utc, ZoneInfo("UTC")
_IN_UTC = operator.methodcaller("replace", tzinfo=_UTC)
"""Half the time of a function in Python."""
_DAY = datetime.timedelta(days=1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_FREE_SCALE = 38
"""Of a column that fixes none, as NUMERIC of PostgreSQL: more digits behind the point than its division gives."""
_EXACTLY = decimal.Context(prec=2000, traps=[decimal.Inexact, decimal.InvalidOperation])


@dataclass(frozen=True)
class Options:
    """The options by which values are read."""

    backend: str
    numbers: str
    granularity: str
    zone: ZoneInfo

    @classmethod
    def of(cls, config: Mapping[str, Any], backend: str) -> Options:
        zone = ZoneInfo(config[settings.ZONE])
        return cls(backend, settings.numbers_of(config), config[settings.GRANULARITY].lower(), zone)


_OF_POSTGRESQL = re.compile(r"(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([+-]\d\d)?(:\d\d)?(:\d\d)?)?")
"""A date, a time, its fraction, and its zone, whose minutes are left out if there are none."""


@dataclass(frozen=True)
class ReadField:
    """A field of the records, what is selected for it, and what becomes of values that are not null (None: they stay)."""

    name: str
    schema: Schema
    selected: sa.ColumnElement[Any]
    convert: Convert | None


def field_of(column: sa.ColumnClause[Any], options: Options) -> ReadField:
    type_schema, convert = _of_type(column.type, options)
    # Values come as the driver gives them: SQLAlchemy's own types would make others of some.
    selected = sa.type_coerce(_asked(column, type_schema, options), NullType())
    field_schema = schema.STRING_SCHEMA if type_schema is None else type_schema
    return ReadField(
        column.name, field_schema.replace(optional=True) if may_be_null(column) else field_schema, selected, convert
    )


def _asked(column: sa.ColumnClause[Any], own: Schema | None, options: Options) -> sa.ColumnElement[Any]:
    """The column, or a text of it: of a type that has none in Connect, or whose values the driver does not all read."""
    kind = column.type
    if isinstance(kind, Geometry):
        srid = sa.func.ST_SRID(column)
        text = sa.func.ST_AsText(column)
        return sa.case((srid == 0, text), else_=sa.func.concat("SRID=", srid, ";", text))
    if own is None:
        is_own = options.backend == "postgresql" and not owners.is_built_in(kind)
        return _printed(column) if is_own else sa.cast(column, sa.Text())
    if options.backend != "postgresql":
        # The server writes six digits of a FLOAT.
        return column + sa.literal_column("0e0") if isinstance(kind, mysql.FLOAT) else column
    if isinstance(kind, sa.Time):
        return sa.cast(column, sa.Text())
    inner = own.value_schema
    if (
        isinstance(kind, ARRAY)
        and inner is not None
        and (inner.type is SchemaType.STRING or isinstance(kind.item_type, sa.Time))
    ):
        # As for arrays of an enumeration, of which the driver makes one text.
        return sa.cast(column if owners.is_built_in(kind) else _printed(column), ARRAY(sa.Text()))
    return column


def _printed(column: sa.ColumnClause[Any]) -> sa.ColumnElement[Any]:
    """
    The text that PostgreSQL writes of any type. A cast may be a function of whoever owns the type, which would run with the
    rights of this login.
    """
    text = sa.func.pg_catalog.concat(column, type_=sa.Text())
    return sa.case((column.is_distinct_from(sa.null()), text))


def by_text(field: ReadField, column: sa.ColumnClause[Any]) -> ReadField:
    """
    The same field, whose dates PostgreSQL writes as texts: one that the driver does not read would fail all rows that come with
    it, and nobody would know which it is.
    """
    kind = column.type
    if isinstance(kind, ARRAY) and isinstance(kind.item_type, sa.Date | sa.DateTime):
        return _array_by_text(field, column, kind.item_type)
    if not isinstance(kind, sa.Date | sa.DateTime):
        return field
    near = (
        sa.func.pg_catalog.isfinite(column)
        & (column >= sa.literal_column("'0001-01-01'"))
        & (column < sa.literal_column("'10000-01-01'"))
    )
    has_zone = isinstance(kind, sa.DateTime) and kind.timezone
    # With its schema, each is PostgreSQL's own: in another of the path anybody may have made one that fits better.
    moment = sa.func.pg_catalog.timezone("UTC", column) if has_zone else column
    form = "YYYY-MM-DD" if isinstance(kind, sa.Date) else 'YYYY-MM-DD"T"HH24:MI:SS.US'
    form += '"+00:00"' if has_zone else ""
    text = sa.case((near, sa.func.pg_catalog.to_char(moment, form)), else_=sa.cast(column, sa.Text()))
    convert = field.convert

    def read(value: str) -> Any:
        parsed: Any = _parsed(datetime.datetime.fromisoformat, value)
        if isinstance(kind, sa.Date):
            parsed = parsed.date()
        return parsed if convert is None else convert(parsed)

    return replace(field, selected=sa.type_coerce(text, NullType()), convert=read)


def _moment(text: str) -> datetime.datetime:
    """Return what PostgreSQL has written, which Python before 3.11 does not read. ValueError for another form."""
    match = _OF_POSTGRESQL.fullmatch(text)
    if match is None:
        raise ValueError(text)
    day, time, fraction, hours, minutes, seconds = match.groups()
    zone = f"{hours}{minutes or ':00'}{seconds or ''}" if hours else ""
    return datetime.datetime.fromisoformat(f"{day}T{time or '00:00:00'}.{(fraction or '').ljust(6, '0')}{zone}")


def _array_by_text(field: ReadField, column: sa.ColumnClause[Any], kind: Any) -> ReadField:
    """The same of an array: PostgreSQL writes each of its dates as a text, in ISO 8601 if it is one of the years 1 to 9999."""
    convert = field.convert
    assert convert is not None

    def read(values: list[Any]) -> Any:
        if any(isinstance(value, list) for value in values):
            return convert(values)
        parsed = [None if text is None else _parsed(_moment, text) for text in values]
        if isinstance(kind, sa.Date):
            parsed = [None if moment is None else moment.date() for moment in parsed]
        return convert(parsed)

    return replace(field, selected=sa.type_coerce(sa.cast(column, ARRAY(sa.Text())), NullType()), convert=read)


def may_be_null(column: sa.ColumnClause[Any]) -> bool:
    """Return whether a column may be null; a query's may. SQLite has nulls in primary keys, but for INTEGER ones."""
    if isinstance(column, sa.Column) and column.primary_key and isinstance(column.type, sa.INTEGER):
        return False
    return getattr(column, "nullable", True) is not False


def _of_type(kind: Any, options: Options) -> tuple[Schema | None, Convert | None]:
    """Return the schema and the conversion of a type. A schema of None: the database is to make a text of it."""
    if isinstance(kind, sa.Boolean):
        return schema.BOOLEAN_SCHEMA, loose.boolean if options.backend == "sqlite" else bool
    if isinstance(kind, mysql.BIT):
        return (schema.BOOLEAN_SCHEMA, any) if kind.length in (None, 1) else (schema.BYTES_SCHEMA, None)
    if isinstance(kind, sa.Integer | mysql.YEAR):
        if isinstance(kind, sa.BigInteger) and getattr(kind, "unsigned", False):
            return schema.INT64_SCHEMA, _in_int64
        return _integer(kind, options), loose.whole if options.backend == "sqlite" else None
    if isinstance(kind, sa.Float):
        single = isinstance(kind, sa.REAL if options.backend == "postgresql" else mysql.FLOAT)
        float_schema = schema.FLOAT32_SCHEMA if single else schema.FLOAT64_SCHEMA
        return float_schema, loose.double if options.backend == "sqlite" else float
    if isinstance(kind, sa.Numeric):
        return _numeric(kind, options.numbers)
    if isinstance(kind, sa.DateTime):
        return _date_and_time(options, moment_of(kind, options))
    if isinstance(kind, sa.Date):
        return schema.DATE_SCHEMA, functools.partial(_date, zone=options.zone)
    if isinstance(kind, sa.Time):
        return (None, None) if kind.timezone else (schema.TIME_SCHEMA, _time)
    if isinstance(kind, ARRAY):
        return _array(kind, options)
    if isinstance(kind, sa.types._Binary):
        return schema.BYTES_SCHEMA, loose.blob if options.backend == "sqlite" else bytes
    if isinstance(kind, sa.String):
        return schema.STRING_SCHEMA, loose.text if options.backend == "sqlite" else None
    return None, None


def _integer(kind: Any, options: Options) -> Schema:
    unsigned = getattr(kind, "unsigned", False)
    if options.backend == "sqlite" or isinstance(kind, sa.BigInteger):
        return schema.INT64_SCHEMA
    if isinstance(kind, mysql.TINYINT):
        return schema.INT16_SCHEMA if unsigned else schema.INT8_SCHEMA
    if isinstance(kind, sa.SmallInteger):
        return schema.INT32_SCHEMA if unsigned else schema.INT16_SCHEMA
    return schema.INT64_SCHEMA if unsigned and not isinstance(kind, mysql.MEDIUMINT) else schema.INT32_SCHEMA


def _numeric(kind: sa.Numeric[Any], numbers: str) -> tuple[Schema, Convert]:
    """The rules of `numeric.mapping`."""
    precision, scale = kind.precision, kind.scale
    if precision is not None and scale is None:
        scale = 0
    if numbers != "none" and scale == 0 and precision is not None and precision < 19:
        widths = ((9, schema.INT64_SCHEMA), (4, schema.INT32_SCHEMA), (2, schema.INT16_SCHEMA), (0, schema.INT8_SCHEMA))
        return next(width for least, width in widths if precision > least), loose.whole
    eager = numbers == "best_fit_eager_double"
    if (eager and scale != 0) or (numbers == "best_fit" and scale and precision is not None and precision < 19):
        return schema.FLOAT64_SCHEMA, float
    places = _FREE_SCALE if scale is None else scale
    step = decimal.Decimal(1).scaleb(-places)

    def exact(value: Any) -> decimal.Decimal:
        number = value if isinstance(value, decimal.Decimal) else decimal.Decimal(str(value))
        if not number.is_finite():
            remedy = (
                f"read it with {settings.QUERY} and a CAST to DOUBLE PRECISION, or set {settings.NUMBERS}=best_fit_eager_double"
            )
            raise DataError(f"{number} has no place in a Decimal: {remedy}")
        try:
            return _EXACTLY.quantize(number, step)
        except decimal.DecimalException:
            remedy = f"read it with {settings.QUERY} and a CAST, or set {settings.NUMBERS}=best_fit_eager_double"
            raise DataError(f"{number} has not {places} digits behind the point: {remedy}") from None

    return schema.decimal_schema(places), exact


def _date_and_time(options: Options, moment: Convert) -> tuple[Schema, Convert]:
    unit, _, form = options.granularity.partition("_")
    if form == "logical":
        return schema.TIMESTAMP_SCHEMA, moment
    if form == "iso_datetime_string":
        zeros = "000" if unit == "nanos" else ""
        return schema.STRING_SCHEMA, lambda value: f"{moment(value).replace(tzinfo=None).isoformat('T', 'microseconds')}{zeros}"
    factor = 1000 if unit == "nanos" else 1
    if form == "long":
        return schema.INT64_SCHEMA, lambda value: (moment(value) - _EPOCH) // _MICROSECOND * factor
    return schema.STRING_SCHEMA, lambda value: str((moment(value) - _EPOCH) // _MICROSECOND * factor)


def moment_of(kind: Any, options: Options) -> Convert:
    """Return the conversion of a column's values to datetimes in UTC."""
    zone = zone_of(kind, options)
    if zone in (_UTC, _UTC_BY_NAME) and options.backend != "sqlite" and isinstance(kind, sa.DateTime) and not kind.timezone:
        return _IN_UTC

    def read(value: Any) -> datetime.datetime:
        if isinstance(value, datetime.datetime):
            return _in_utc(value if value.tzinfo else value.replace(tzinfo=zone))
        if isinstance(value, datetime.date):
            return datetime.datetime.combine(value, datetime.time(), zone).astimezone(_UTC)
        if isinstance(value, int | float):
            return _EPOCH + datetime.timedelta(milliseconds=value)
        try:
            return _in_utc(point_in_time(value, zone))
        except (TypeError, ValueError, OverflowError):
            raise DataError(f"{value!r:.40} is no date and time") from None

    return read


def _in_utc(moment: datetime.datetime) -> datetime.datetime:
    """DataError for a time that its zone has not: it would be another one, and so would be where to go on behind it."""
    in_utc = moment.astimezone(_UTC)
    if isinstance(moment.tzinfo, ZoneInfo) and in_utc.astimezone(moment.tzinfo).replace(tzinfo=None) != moment.replace(
        tzinfo=None
    ):
        remedy = f"set {settings.ZONE} to the zone in which it was written"
        raise DataError(f"{moment.replace(tzinfo=None)} is a time that summer time skips in {moment.tzinfo}: {remedy}")
    return in_utc


def zone_of(kind: Any, options: Options) -> datetime.tzinfo:
    """
    Return the zone of times without one. MySQL's TIMESTAMP is a point in time, which comes in the zone of the session: UTC.
    """
    return _UTC if isinstance(kind, sa.TIMESTAMP) and options.backend in ("mysql", "mariadb") else options.zone


def _date(value: Any, zone: datetime.tzinfo) -> datetime.datetime:
    if isinstance(value, str):
        value = loose.day(_parsed(datetime.datetime.fromisoformat, value.removesuffix("Z")))
    elif isinstance(value, int):
        value = loose.day((_EPOCH + datetime.timedelta(milliseconds=value)).astimezone(zone))
    return datetime.datetime(value.year, value.month, value.day, tzinfo=_UTC)


def _time(value: Any) -> datetime.datetime:
    if isinstance(value, str):
        value = _parsed(datetime.time.fromisoformat, value)
    elif isinstance(value, int):
        value = datetime.timedelta(milliseconds=value)
    if isinstance(value, datetime.timedelta):
        if not datetime.timedelta() <= value < _DAY:
            raise DataError(f"{value} is no time of a day")
        return _EPOCH + value
    return datetime.datetime.combine(_EPOCH.date(), value, _UTC)


def _array(kind: Any, options: Options) -> tuple[Schema | None, Convert | None]:
    inner, convert = _of_type(kind.item_type, options)
    if inner is None or inner.type is SchemaType.ARRAY:
        return None, None

    def read(values: Any) -> list[Any]:
        if any(isinstance(value, list) for value in values):
            raise DataError("an array of several dimensions has no place in a record")
        return [None if value is None else convert(value) for value in values] if convert else list(values)

    return schema.array(inner.replace(optional=True)), read


def _in_int64(value: int) -> int:
    if value >= 2**63:
        raise DataError(f"{value} has no place in INT64: read it with {settings.QUERY} and a CAST to DECIMAL(20, 0)")
    return value


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        raise DataError(f"{text!r:.40} is no date or time") from None
