"""
Logical values as the plain ones that Avro stores, and back: decimals, dates, times and timestamps.

Used by `avro_schema.py` for defaults and by `avro_values.py` for data.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

from kconnect.converters import logical
from kconnect.data import decimals
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema
from kconnect.errors import DataError
from kconnect.java.moments import DAY_MS, date_of

Convert = Callable[[Any], Any]


def to_plain(schema: Schema, value: Any) -> Any:
    """A value as it is stored; one that is not logical as it is."""
    convert = writer(schema)
    return value if convert is None else convert(value)


def writer(schema: Schema) -> Convert | None:
    """Return the conversion from logical values to plain ones; None where the schema is not logical."""
    if schema.name == schemas.DECIMAL:
        return logical.writer_of_decimals(schema)
    return logical.WRITERS.get(schema.name or "")


def reader(schema: Schema) -> Convert | None:
    """Return the conversion from plain values to logical ones; None where the schema is not logical."""
    if schema.name == schemas.DECIMAL:
        scale = schemas.decimal_scale(schema)
        return lambda plain: _decimal(scale, plain)
    return _READERS.get(schema.name or "")


def _decimal(scale: int, plain: bytes) -> decimal.Decimal:
    if not plain:
        raise DataError("Invalid bytes for Decimal field")
    return decimals.of_bytes(plain, scale)


def _read_date(plain: int) -> datetime.datetime:
    return date_of(plain * DAY_MS)


def _read_time(plain: int) -> datetime.datetime:
    if not 0 <= plain <= DAY_MS:
        raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
    return date_of(plain)


_READERS: dict[str, Convert] = {schemas.DATE: _read_date, schemas.TIME: _read_time, schemas.TIMESTAMP: date_of}
