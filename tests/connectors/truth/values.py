"""
Values that databases and drivers make others of, and whether a target still has the value that a record had.

`same` is written without a look at the connectors: by it the tests judge whether a value went through as it is.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import decimal
import json
import math
import struct
from typing import Any

from kconnect.api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    DATE_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Schema,
    schema,
)

UTC = datetime.timezone.utc


def at(*parts: int) -> datetime.datetime:
    return datetime.datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


_D = decimal.Decimal
TYPED: list[tuple[Schema, list[Any]]] = [
    (INT8_SCHEMA, [0, -128, 127]),
    (INT16_SCHEMA, [-32768, 1]),
    (INT32_SCHEMA, [2, 2**31 - 1, 16_777_217]),
    (INT64_SCHEMA, [-(2**63), 2**53 + 1, 3_000_000_000]),
    (FLOAT32_SCHEMA, [1.5, 0.10000000149011612]),
    (FLOAT64_SCHEMA, [1.0, -2.5, 0.125, 19.99, 1.0e40, 1e-300, math.nan, math.inf]),
    (BOOLEAN_SCHEMA, [True, False]),
    (
        STRING_SCHEMA,
        ["", "abc", "abc  ", "abcdef", "ab   " + " " * 6, "007", "1.5", "12abc", "1e3", "é", "a\0b", "\ud800", "true"],
    ),
    (
        STRING_SCHEMA,
        ["2024-01-31", "2024-01-31 10:20:30", "2024-01-31 10:20:30.123", "10:20:30", "NaN", "9007199254740993", '{"a":1}'],
    ),
    (BYTES_SCHEMA, [b"", b"ab", b"abcd", b"\0\xff\0\xff", b"abcdefghi"]),
    (schema.decimal_schema(2), [_D("1.00"), _D("-1.25"), _D("99999999999999999.99")]),
    (schema.decimal_schema(4), [_D("1.2500"), _D("1.2345"), _D("0.0001")]),
    (schema.decimal_schema(-2), [_D("1E+2")]),
    (DATE_SCHEMA, [at(2024, 2, 29), at(1, 1, 1), at(9999, 12, 31)]),
    (TIME_SCHEMA, [at(1970, 1, 1, 10, 20, 30), at(1970, 1, 1, 10, 20, 30, 123_000)]),
    (
        TIMESTAMP_SCHEMA,
        [
            at(2024, 2, 29),
            at(2024, 2, 29, 10, 20, 30),
            at(2024, 2, 29, 23, 59, 59, 999_000),
            at(1969, 12, 31, 23, 59, 59, 1000),
        ],
    ),
]
"""Values, by their schemas. Those without a schema are the same, and some more."""
PLAIN: list[Any] = [
    True,
    0,
    7,
    2**53 + 1,
    2**70,
    1.5,
    0.30000000000000004,
    "abc",
    "abcdef",
    "007",
    "1.5",
    "2024-01-31",
    {"a": [1, None]},
    [1, 2],
]


def same(value: Any, own: Schema | None, stored: Any) -> bool:
    """Whether what a column has is the value of a record, in whatever type the column has it."""
    if stored is None:
        return False
    if isinstance(stored, memoryview | bytearray):
        stored = bytes(stored)
    if isinstance(value, bool):
        return stored == value or str(stored).lower() in (("true", "1", "t") if value else ("false", "0", "f"))
    if isinstance(value, str):
        return _same_text(value, stored)
    if isinstance(value, bytes):
        # In JSON, bytes are in base64.
        return value == stored or (isinstance(stored, str) and value in (stored.encode("utf-8", "replace"), _of_base64(stored)))
    if isinstance(value, datetime.datetime):
        return _same_time(value, own, stored)
    if isinstance(value, dict | list):
        return (json.loads(stored) if isinstance(stored, str | bytes) else stored) == value
    return _same_number(value, stored)


def _of_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.strip('"'), validate=True)
    except ValueError:
        return None


def _same_number(value: Any, stored: Any) -> bool:
    if isinstance(stored, str | bytes):
        try:
            stored = _D(stored if isinstance(stored, str) else stored.decode())
        except (decimal.InvalidOperation, UnicodeDecodeError):
            return False
    if isinstance(stored, datetime.date | datetime.time | datetime.timedelta):
        return False
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(stored)) == str(value)
    if isinstance(stored, float):
        # A number that prints as the same digits; and what is a float of 32 bits to begin with.
        if isinstance(value, float):
            return value == stored or _single(value) == _single(stored)
        few = isinstance(value, _D) and len(value.as_tuple().digits) <= 6
        return _D(repr(stored)) == value or _D(stored) == value or (few and _single(float(value)) == stored)
    # The shortest text of a float is what it stands for.
    return _D(repr(value) if isinstance(value, float) else value) == _D(int(stored) if isinstance(stored, bool) else stored)


def _single(value: float) -> float:
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf
    return found


def _same_text(value: str, stored: Any) -> bool:
    if isinstance(stored, str):
        if value[:1] in "{1" and stored[:1] in "{1":
            with contextlib.suppress(ValueError):
                return bool(json.loads(stored) == json.loads(value))
        return stored == value or datetime_text(stored) == value
    if isinstance(stored, bytes):
        return stored == value.encode("utf-8", "replace")
    if isinstance(stored, bool | int | float | decimal.Decimal):
        if value.lower() in ("true", "false"):
            return bool(stored) is (value.lower() == "true")
        try:
            number = _D(value)
        except decimal.InvalidOperation:
            return False
        if not number.is_finite():
            return str(float(stored)).lower() == value.lower()
        return number == _D(repr(stored) if isinstance(stored, float) else stored)
    if isinstance(stored, datetime.timedelta):
        stored = (at(1970, 1, 1) + stored).time()
    if isinstance(stored, datetime.datetime):
        try:
            moment = datetime.datetime.fromisoformat(value)
        except ValueError:
            return False
        return moment.replace(tzinfo=None) == stored.replace(tzinfo=None)
    if isinstance(stored, datetime.date | datetime.time):
        return stored.isoformat() in (value, f"{value[:-1]}000" if "." in value else value)
    if isinstance(stored, dict | list):
        return bool(json.loads(value) == stored)
    return False


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def datetime_text(text: str) -> str:
    """As SQLite's driver writes what was a text of a date without a time, or a time without a fraction."""
    return text.removesuffix(".000000").removesuffix(" 00:00:00")


def _same_time(value: datetime.datetime, own: Schema | None, stored: Any) -> bool:
    name = schema.TIMESTAMP if own is None else own.name
    if isinstance(stored, datetime.timedelta):
        stored = (at(1970, 1, 1) + stored).time()
    if isinstance(stored, datetime.datetime):
        moment = stored.astimezone(UTC) if stored.tzinfo else stored.replace(tzinfo=UTC)
        return moment == value
    if isinstance(stored, datetime.date):
        return stored == value.date() and value.time() == datetime.time()
    if isinstance(stored, datetime.time):
        return name == schema.TIME and stored.replace(tzinfo=None) == value.time()
    if isinstance(stored, str):
        full = value.isoformat(" ", "milliseconds")[:23]
        plain = stored.strip('"').replace("T", " ").removesuffix("Z").removesuffix("+00:00").removesuffix("+00")
        text = {schema.DATE: full[: len(plain)], schema.TIME: full[11:]}.get(name or "", full)
        return _without_zeros(plain) == _without_zeros(text) or (
            len(plain) == 10 and _without_zeros(text) == f"{plain} 00:00:00"
        )
    return False
