"""
Progress by comparing: which of two values that a service gives for `since.path` is the newer one.

Times are compared as times, whatever their zones and fractions, and numbers as numbers, also those in texts: as texts, half a
second later would be earlier, and 10 would come before 9. Other texts are compared as they are. Called by `pages.py`.
"""

from __future__ import annotations

import datetime
import decimal
import re
from typing import Any

import orjson

from kconnect.api import DataError
from kconnect.connectors.http import source_settings

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,30}))?)?\s?([Zz]|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
_NUMBER = re.compile(r"[+-]?\d{1,1000}(?:\.\d{1,1000})?", re.ASCII)


def compared(at: Any, other: Any) -> tuple[bool, bool]:
    """Whether `at` is less than `other`, and whether it is the same. Nothing is less than None. DataError for two kinds."""
    if other is None:
        return False, False
    if isinstance(at, str) is not isinstance(other, str):
        raise _refusal(at, other)
    if not isinstance(at, str):
        return at < other, at == other
    time, other_time = _time(at), _time(other)
    if (time is None) is not (other_time is None):
        raise _refusal(at, other)
    if time is not None and other_time is not None:
        return time < other_time, time == other_time
    if _NUMBER.fullmatch(at) and _NUMBER.fullmatch(other):
        number, other_number = decimal.Decimal(at), decimal.Decimal(other)
        return number < other_number, number == other_number
    return at < other, at == other


def shown(value: Any) -> str:
    return orjson.dumps(value).decode()[:100]


def _refusal(at: Any, other: Any) -> DataError:
    return DataError(f"{source_settings.SINCE} finds {shown(at)}, which can't be compared with {shown(other)} before it")


def _time(text: str) -> tuple[int, decimal.Decimal] | None:
    """Seconds since 1970, and what is behind the point; None for what is no time in ISO 8601. Without a zone it is UTC."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    try:
        days = datetime.date.fromisoformat(day).toordinal() - datetime.date(1970, 1, 1).toordinal()
    except ValueError:
        return None
    seconds = ((days * 24 + int(hour or 0)) * 60 + int(minute or 0)) * 60 + int(second or 0)
    if zone and zone not in "Zz":
        sign = -1 if zone[0] == "+" else 1
        digits = zone[1:].replace(":", "").ljust(4, "0")
        seconds += sign * (int(digits[:2]) * 60 + int(digits[2:])) * 60
    return seconds, decimal.Decimal(f"0.{fraction or 0}")
