"""
Room: whether a column holds a value as it is.

Databases round, cut off or reinterpret what a column has no room for, and most of them say nothing of it. So it is looked at
before: by the type of the column and the schema of the values, and value by value where these two alone don't say it. Called by
`types.py`.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.postgresql import INTERVAL, MONEY

from kconnect.api import DataError, Schema, SchemaType, schema
from kconnect.connectors.sql import pg_texts, settings

Check = Callable[[Any], None]
"""Raise DataError for a value that the column would make another of."""

_MYSQL = ("mysql", "mariadb")
_WIDE = decimal.Context(prec=2000)
_SURE_DIGITS, _SURE_DIGITS_OF_SINGLE = 15, 6
_INTEGERS = (SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64)
_FLOATS = (SchemaType.FLOAT32, SchemaType.FLOAT64)
_OF_TIME = (schema.DATE, schema.TIME, schema.TIMESTAMP)
_MICROSECONDS = 6
_MOMENT = re.compile(
    r"(?P<day>\d{1,4}-\d{1,2}-\d{1,2}|\d{8})?"
    r"(?:(?(day)[T ]\s*)(?P<time>\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.(?P<fraction>\d*))?)?))?"
    r"\s*(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)
"""Without the blanks around it: with three runs of blanks side by side, a thousand of them took seconds."""
_BLANKS = " \t\n\r\f\v"
_DIGITS = re.compile(r"\d{14}", re.ASCII)
_DIGITS_ONLY = re.compile(r"\s*[+-]?\d[\d.eE+-]*\s*", re.ASCII)
_MIDNIGHT = re.compile(r"[0:.]*", re.ASCII)
_UNLESS = f"({settings.ROUNDING}=true allows that)"
_ROUNDED = f"and would be rounded {_UNLESS}"
_CUT = f"and would be cut off {_UNLESS}"


def check_of(own: Schema | None, kind: Any, backend: str, rounds: bool) -> Check | None:
    """Return what to check of values of a schema, or without one, for a column; None if there is nothing to check."""
    check: Check | None = None
    if isinstance(kind, sa.Date | sa.Time | sa.DateTime):
        check = _of_time(own, kind, backend, rounds)
    elif isinstance(kind, sa.types._Binary):
        check = _of_bytes(own, kind, rounds)
    elif backend in _MYSQL and isinstance(kind, sa.Enum | mysql.SET):
        check = _of_list(frozenset(kind.enums if isinstance(kind, sa.Enum) else kind.values))
    elif isinstance(kind, pg_texts.Octets):
        check = pg_texts.of_octets(kind.length or 0)
    elif isinstance(kind, sa.String):
        check = _of_text(own, kind, backend)
    elif isinstance(kind, mysql.YEAR):
        check = _year
    elif isinstance(kind, INTERVAL):
        check = None if rounds else pg_texts.of_interval(kind, _UNLESS)
    elif isinstance(kind, sa.ARRAY):
        inner = (
            None if own is not None and own.type is not SchemaType.STRING else check_of(None, kind.item_type, backend, rounds)
        )
        check = None if inner is None else pg_texts.of_array(inner)
    elif not rounds:
        check = _of_number(own, kind, backend)
    # SQLAlchemy makes floats of texts for SQLite.
    floats = own is None or own.type in _FLOATS or (backend == "sqlite" and own.type is SchemaType.STRING)
    if backend not in (*_MYSQL, "sqlite") or not floats or isinstance(kind, sa.String):
        return check
    # MariaDB's driver refuses the whole statement, and SQLite makes a null of it.
    return _finite(check, infinite=backend == "sqlite")


def _finite(check: Check | None, infinite: bool) -> Check:
    def finite(value: Any) -> None:
        if isinstance(value, float) and not math.isfinite(value) and (math.isnan(value) or not infinite):
            raise DataError(f"the database has no {value}")
        if infinite and isinstance(value, str) and value.strip().lower() == "nan":
            raise DataError(f"the database has no {value.strip()}")
        if check is not None:
            check(value)

    return finite


# Numbers.


def _of_number(own: Schema | None, kind: Any, backend: str) -> Check | None:
    whole = own is not None and (own.type is SchemaType.BOOLEAN or own.type in _INTEGERS) and own.name is None
    bits = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32}.get(own.type, 64) if own is not None else 64
    if isinstance(kind, sa.Float):
        if own is not None and own.type in _FLOATS:
            return None  # A column of 32 bits has the nearest number, as it has of each.
        single = isinstance(kind, sa.REAL if backend == "postgresql" else mysql.FLOAT)
        return None if whole and bits < (24 if single else 53) else _single if single else _double
    if backend == "sqlite":
        # Its columns take values of any type; but SQLAlchemy makes floats of what goes into a NUMERIC.
        if isinstance(kind, sa.Integer) and not whole:
            return _affinity
        return _double if isinstance(kind, sa.Numeric) and not (whole and bits < 53) else None
    if whole:
        return None
    if isinstance(kind, mysql.BIT):
        return _bits
    if isinstance(kind, sa.Integer):
        return _whole
    if isinstance(kind, MONEY):
        return _money
    if not isinstance(kind, sa.Numeric):
        return None
    scale = kind.scale if kind.scale is not None or kind.precision is None else 0
    if scale is None or (own is not None and own.name == schema.DECIMAL and schema.decimal_scale(own) <= scale):
        return None
    return _scaled(scale)


def _number(value: Any) -> decimal.Decimal | None:
    """Return the number that a value is, or is as a text; None if it is none. A float means its shortest text."""
    if isinstance(value, decimal.Decimal):
        return value
    if isinstance(value, float | int):
        return decimal.Decimal(repr(value) if isinstance(value, float) else value)
    if isinstance(value, str):
        try:
            return decimal.Decimal(value.strip())
        except decimal.InvalidOperation:
            return None
    return None


def _whole(value: Any) -> None:
    number = None if isinstance(value, int) else _number(value)
    if number is not None and (not number.is_finite() or number != number.to_integral_value()):
        raise DataError(f"it is no integer, {_ROUNDED}")


def _bits(value: Any) -> None:
    if isinstance(value, str) or value == b"":
        raise DataError("a column of bits takes numbers and bytes")
    _whole(value)


def _scaled(scale: int) -> Check:
    step = decimal.Decimal(1).scaleb(-scale)

    def scaled(value: Any) -> None:
        number = _number(value)
        if number is None or not number.is_finite() or int(number.as_tuple().exponent) >= -scale:
            return
        try:
            is_same = number == number.quantize(step, context=_WIDE)
        except decimal.InvalidOperation:
            is_same = False
        if not is_same:
            raise DataError(f"it has more than the column's {scale} digits behind the point, {_ROUNDED}")

    return scaled


_CENTS = _scaled(2)


def _money(value: Any) -> None:
    _CENTS(pg_texts.money(value))


def _double(value: Any) -> None:
    number = None if isinstance(value, float) else _number(value)
    if number is None or not number.is_finite() or len(number.as_tuple().digits) <= _SURE_DIGITS:
        return
    near = float(number)
    if not math.isfinite(near) or number not in (decimal.Decimal(repr(near)), decimal.Decimal(near)):
        raise DataError(f"it has more digits than a floating point number, {_ROUNDED}")


def _affinity(value: Any) -> None:
    if isinstance(value, str):
        check_affinity(value)


def check_affinity(text: str) -> None:
    """Raise DataError for a text that is a number of which SQLite makes another one, in a column of JSON."""
    number = _number(text)
    if number is not None and not (number == number.to_integral_value() and -(2**63) <= number < 2**63):
        _double(text)


def _single(value: Any) -> None:
    number = None if isinstance(value, float) else _number(value)
    if number is None or not number.is_finite() or len(number.as_tuple().digits) <= _SURE_DIGITS_OF_SINGLE:
        return
    if number != decimal.Decimal(struct.unpack("f", struct.pack("f", float(number)))[0]):
        raise DataError(f"it has more digits than a floating point number of 32 bits, {_ROUNDED}")


def _year(value: Any) -> None:
    number = _number(value)
    if number is not None and not (number == 0 or 1901 <= number <= 2155):
        raise DataError("it is none of the years 1901 to 2155: the database would make one of these of it")


# Texts and bytes.


def _of_text(own: Schema | None, kind: sa.String, backend: str) -> Check | None:
    """Texts with a schema are `types.Texts`. Of one that is too long by blanks these are cut off, in strict mode, too."""
    if own is not None and (own.type is not SchemaType.BYTES or own.name is not None):
        return None
    length = kind.length

    def check(value: Any) -> None:
        if backend == "postgresql":
            _no_bytes(value)
        if isinstance(value, str) and length is not None and len(value) > length:
            raise DataError(f"it has {len(value)} characters, and the column {length}")

    return check


def _no_bytes(value: Any) -> None:
    if isinstance(value, bytes | bytearray | memoryview):
        raise DataError("bytes have no place in a column of texts, which would have their digits")


def _of_bytes(own: Schema | None, kind: Any, rounds: bool) -> Check | None:
    length = kind.length if isinstance(kind, sa.BINARY) and not rounds else None
    if length is None:
        return None if own is not None and own.type is SchemaType.BYTES and own.name is None else _bytes

    def padded(value: Any) -> None:
        _bytes(value)
        size = len(value.encode() if isinstance(value, str) else value)
        if size < length:
            raise DataError(f"it has {size} bytes, and would get zeros for the column's {length} {_UNLESS}")

    return padded


def _bytes(value: Any) -> None:
    # The driver of MariaDB makes as many zeros of a number as it says.
    if not isinstance(value, bytes | bytearray | memoryview | str):
        raise DataError(f"a column of bytes takes bytes and texts, but it is {type(value).__name__}")


def _of_list(texts: frozenset[str]) -> Check:
    """Return the check of a column of ENUM or SET with these texts."""
    folded = {text.casefold() for text in texts}

    def check(value: Any) -> None:
        if isinstance(value, int | float | decimal.Decimal):
            raise DataError("a number would be taken for a place in the column's list of texts")
        for part in value.split(",") if isinstance(value, str) and value not in texts else ():
            if part not in texts and _DIGITS_ONLY.fullmatch(part):
                raise DataError("a number would be taken for a place in the column's list of texts, of which it is none")
            if part not in texts and part.casefold() in folded:
                raise DataError("it is one of the column's list of texts but for capital letters, and would become that one")
        if isinstance(value, str) and value.endswith(" "):
            raise DataError("the blanks at its end would be cut off: the column's list of texts has none")

    return check


# Dates and times.


def _of_time(own: Schema | None, kind: Any, backend: str, rounds: bool) -> Check | None:
    digits = kind.fsp or 0 if backend in _MYSQL and hasattr(kind, "fsp") else getattr(kind, "precision", None)
    step = 10 ** (_MICROSECONDS - (_MICROSECONDS if digits is None else digits))
    strict = backend in _MYSQL
    if own is not None and own.name in _OF_TIME:
        _check_kinds(own.name, kind, rounds)
        if rounds or own.name == schema.DATE or (step <= 1000 and not (isinstance(kind, sa.Date) and own.name != schema.DATE)):
            return None

    def check(value: Any) -> None:
        if isinstance(value, int | float | decimal.Decimal):
            raise DataError("a number is no date and no time")
        if isinstance(value, datetime.datetime) and not rounds:
            if isinstance(kind, sa.Date):
                if value.time() != datetime.time():
                    raise DataError(f"it has a time, {_CUT}")
            elif value.microsecond % step:
                raise DataError(f"it has more than the column's {digits} digits of a second, {_ROUNDED}")
        if isinstance(value, str):
            _check_text(value, kind, step, strict, rounds, digits if backend == "postgresql" else -1)

    return check


def _check_kinds(name: str, kind: Any, rounds: bool) -> None:
    if name == schema.TIME and not isinstance(kind, sa.Time):
        raise DataError(f"a time of a day has no place in a column of type {kind}")
    if name != schema.TIME and isinstance(kind, sa.Time) and not (rounds and name == schema.TIMESTAMP):
        raise DataError(f"a date has no place in a column of type {kind}")


def _check_text(text: str, kind: Any, step: int, strict: bool, rounds: bool, digits: int | None) -> None:
    """`strict`: the database makes dates and times of almost any text. `digits`: of a column of PostgreSQL, else -1."""
    match = _MOMENT.fullmatch(text.strip(_BLANKS))
    if match is None or not (match["day"] or match["time"]):
        if strict and not _DIGITS.fullmatch(text):
            raise DataError(f"{text[:40]!r} is no date or time in ISO 8601")
        if digits != -1 and not rounds:
            pg_texts.check_date(text, kind, digits, _UNLESS)
        return
    day, time = match["day"], match["time"]
    if (day is None) is not isinstance(kind, sa.Time):
        raise DataError(f"{text[:40]!r} has no place in a column of type {kind}")
    if match["zone"] and isinstance(kind, sa.Time) and not kind.timezone:
        raise DataError(f"{text[:40]!r} has a time zone, and the column has none")
    if rounds or time is None:
        return
    if isinstance(kind, sa.Date) and not _MIDNIGHT.fullmatch(time):
        raise DataError(f"it has a time, {_CUT}")
    fraction = (match["fraction"] or "").rstrip("0")
    if len(fraction) > _MICROSECONDS or int((fraction or "0").ljust(_MICROSECONDS, "0")) % step:
        raise DataError(f"it has more digits of a second than the column, {_ROUNDED}")
