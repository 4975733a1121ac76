"""
Logical values as the plain ones that Avro stores, and back: decimals, dates, times and timestamps.

Used by `avro_schema.py` for defaults and by `avro_values.py` for data.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

from kconnect.api import schema as schemas
from kconnect.api.errors import DataError
from kconnect.api.moments import DAY_MS, date_of, milliseconds_of
from kconnect.api.schema import Schema
from kconnect.api.values import java_class

Convert = Callable[[Any], Any]


def to_plain(schema: Schema, value: Any) -> Any:
    """A value as it is stored; one that is not logical as it is."""
    convert = writer(schema)
    return value if convert is None else convert(value)


def writer(schema: Schema) -> Convert | None:
    """From logical values to plain ones; None where the schema is not logical."""
    if schema.name == schemas.DECIMAL:
        scale = schemas.decimal_scale(schema)
        return lambda value: _unscaled(scale, value)
    return _WRITERS.get(schema.name or "")


def reader(schema: Schema) -> Convert | None:
    """From plain values to logical ones; None where the schema is not logical."""
    if schema.name == schemas.DECIMAL:
        scale = schemas.decimal_scale(schema)
        return lambda plain: _decimal(scale, plain)
    return _READERS.get(schema.name or "")


def _unscaled(scale: int, value: Any) -> bytes:
    """Two's complement of the unscaled number, as few bytes as do: Java's `BigInteger.toByteArray`."""
    if not isinstance(value, decimal.Decimal) or not value.is_finite():
        raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {java_class(value)}")
    sign, digits, exponent = value.as_tuple()
    if -int(exponent) != scale:
        raise DataError(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {scale}, value has scale {-int(exponent)}."
        )
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    bits = number.bit_length() if number >= 0 else (number + 1).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def _decimal(scale: int, plain: bytes) -> decimal.Decimal:
    if not plain:
        raise DataError("Invalid bytes for Decimal field")
    number = int.from_bytes(plain, "big", signed=True)
    return decimal.Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


def _milliseconds(value: Any, name: str) -> int:
    if not isinstance(value, datetime.datetime):
        raise DataError(f"Invalid type for {name}, expected Date but was class {java_class(value)}")
    return milliseconds_of(value)


def _write_date(value: Any) -> int:
    days, rest = divmod(_milliseconds(value, "Date"), DAY_MS)
    if rest:
        raise DataError("Kafka Connect Date type should not have any time fields set to non-zero values.")
    return days


def _write_time(value: Any) -> int:
    milliseconds = _milliseconds(value, "Time")
    if not 0 <= milliseconds <= DAY_MS:
        raise DataError("Kafka Connect Time type should not have any date fields set to non-zero values.")
    return milliseconds


def _write_timestamp(value: Any) -> int:
    return _milliseconds(value, "Timestamp")


def _read_date(plain: int) -> datetime.datetime:
    return date_of(plain * DAY_MS)


def _read_time(plain: int) -> datetime.datetime:
    if not 0 <= plain <= DAY_MS:
        raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
    return date_of(plain)


_WRITERS: dict[str, Convert] = {
    schemas.DATE: _write_date,
    schemas.TIME: _write_time,
    schemas.TIMESTAMP: _write_timestamp,
}
_READERS: dict[str, Convert] = {schemas.DATE: _read_date, schemas.TIME: _read_time, schemas.TIMESTAMP: date_of}
