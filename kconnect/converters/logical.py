"""
Logical values as the plain ones that every format stores: days, milliseconds of the day or since 1970, unscaled decimals.

Used by `json_writers.py` and `avro_logical.py`. What is not a whole day, a time of day or of the schema's scale is refused, in
Connect's words.
"""

from __future__ import annotations

import datetime
import decimal
import functools
from collections.abc import Callable
from typing import Any

from kconnect.data import schema as schemas
from kconnect.data.schema import Schema
from kconnect.data.values import java_class
from kconnect.errors import DataError
from kconnect.java.moments import DAY_MS, milliseconds_of


def writer_of_decimals(schema: Schema) -> Callable[[Any], bytes]:
    """Two's complement of the unscaled number, as few bytes as do: Java's `BigInteger.toByteArray`."""
    # Not before there is a value: a schema without a scale hurts nobody as long as all are null.
    known_scale = functools.cache(lambda: schemas.decimal_scale(schema))

    def unscaled(value: Any) -> bytes:
        scale = known_scale()
        whole, _, fraction = str(checked_decimal(value)).partition(".")
        try:
            number = int(whole + fraction) if len(fraction) == scale else _unscaled(value, scale)
        except ValueError:
            # Its text has an exponent, as those of large and tiny numbers do.
            number = _unscaled(value, scale)
        bits = number.bit_length() if number >= 0 else (number + 1).bit_length()
        return number.to_bytes(bits // 8 + 1, "big", signed=True)

    return unscaled


def _unscaled(value: decimal.Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    if -int(exponent) != scale:
        raise DataError(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {scale}, value has scale {-int(exponent)}."
        )
    return int("".join(map(str, digits))) * (-1 if sign else 1)


def checked_decimal(value: Any) -> decimal.Decimal:
    if not isinstance(value, decimal.Decimal) or not value.is_finite():
        raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {java_class(value)}")
    return value


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


WRITERS: dict[str, Callable[[Any], int]] = {
    schemas.DATE: _write_date,
    schemas.TIME: _write_time,
    schemas.TIMESTAMP: _write_timestamp,
}
"""By the name of the logical schema."""


def is_logical(schema: Schema) -> bool:
    """Return whether the values of a schema are logical."""
    return schema.name == schemas.DECIMAL or schema.name in WRITERS
