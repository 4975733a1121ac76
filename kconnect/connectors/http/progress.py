"""
Progress by comparing: which of two values that a service gives for `since.path` is the newer one.

Times are compared as times, whatever their zones and fractions, and numbers as numbers, also those in texts: as texts, half a
second later would be earlier, and 10 would come before 9. Other texts are compared letter by letter; where who
counts would see it the other way, `is_doubtful` says so. Called by `pages.py`.
"""

from __future__ import annotations

import datetime
import decimal
import re
from typing import Any

import orjson

from kconnect.api import DataError
from kconnect.connectors.http import source_settings

_CLOCK = (
    r"(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,30}))?)?\s?(?:([Zz]|[Uu][Tt][Cc]|[Gg][Mm][Tt]|[+-]\d\d(?::?\d\d)?)"
    # As Java writes a time with the name of its zone.
    r"(?:\[[^\]]{1,60}\])?)?"
)
_TIME = re.compile(rf"(\d{{4}}-\d\d-\d\d|\d{{4}}/\d\d/\d\d|\d{{8}}(?=[Tt]))(?:[Tt ]{_CLOCK})?", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\.?"
)
_IN_WORDS = (
    # Headers of HTTP and mails, feeds: Tue, 05 Mar 2024 10:00:00 GMT.
    re.compile(
        rf"(?:[a-z]{{3,9}},?\s+)?(?P<day>\d{{1,2}})[\s-]+(?P<month>{_MONTH})[\s-]+(?P<year>\d{{4}})(?:\s+(?P<time>\d\d:\d\d(?::\d\d)?))?"
        r"(?:\s*(?P<zone>gmt|utc|z|[+-]\d{4}))?",
        re.ASCII | re.IGNORECASE,
    ),
    # C, and older interfaces: Tue Mar 05 10:00:00 +0000 2024.
    re.compile(
        rf"[a-z]{{3,9}}\s+(?P<month>{_MONTH})\s+(?P<day>\d{{1,2}})\s+(?P<time>\d\d:\d\d:\d\d)"
        r"(?:\s+(?P<zone>gmt|utc|[+-]\d{4}))?\s+(?P<year>\d{4})",
        re.ASCII | re.IGNORECASE,
    ),
)
_NO_ORDER = re.compile(
    # A time of a clock with twelve hours, or with the name of a zone.
    r"\d{4}[-/]\d\d[-/]\d\d[Tt ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?\s?(?:[ap]\.?m\.?(?:\W.*)?|[a-z]{2,5}|[a-z]+/[a-z_/+-]+)|"
    rf"(?:\d{{1,2}}/\d{{1,2}}/\d{{4}}|\d\d[.-]\d\d[.-]\d{{4}})(?:\D.*)?|(?:[a-z]{{3,9}},?\s+)?(?:\d{{1,2}}[\s-]+)?{_MONTH}\s+\d.*",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
"""Dates that begin with a day, or with a month, and others that have another order letter by letter."""
_PARTS = re.compile(r"[0-9]{1,1000}|[^0-9]+")
_NUMBER = re.compile(r"[+-]?\d{1,1000}(?:\.\d{1,1000})?", re.ASCII)


def compared(at: Any, other: Any) -> tuple[bool, bool]:
    """Whether `at` is less than `other`, and whether it is the same. Nothing is less than None. DataError for two kinds."""
    if other is None:
        return False, False
    if isinstance(at, str) is not isinstance(other, str):
        raise _refusal(at, other)
    if not isinstance(at, str):
        return at < other, at == other
    at, other = at.strip(), other.strip()
    time, other_time = _time(at), _time(other)
    for text, parsed in ((at, time), (other, other_time)):
        if parsed is None and _NO_ORDER.fullmatch(text):
            raise DataError(
                f"{source_settings.SINCE} finds {shown(text)}, a date of which nobody knows here whether it is later than "
                "another one. Name a field with a time in ISO 8601 or a number"
            )
    if (time is None) is not (other_time is None):
        raise _refusal(at, other)
    if time is not None and other_time is not None:
        return time < other_time, time == other_time
    if _NUMBER.fullmatch(at) and _NUMBER.fullmatch(other):
        number, other_number = decimal.Decimal(at), decimal.Decimal(other)
        return number < other_number, number == other_number
    return at < other, at == other


def is_doubtful(at: Any, other: Any) -> bool:
    """Whether `at`, which is less than `other`, would be greater for somebody who counts, as item-10 is behind item-9."""
    if not isinstance(at, str) or not isinstance(other, str):
        return False
    at, other = at.strip(), other.strip()
    if len(at) <= len(other) or _time(at) is not None:
        return False
    numbers = bool(_NUMBER.fullmatch(at)), bool(_NUMBER.fullmatch(other))
    if all(numbers):
        return False
    return any(numbers) or _counted(at) > _counted(other)


def _counted(text: str) -> list[tuple[int, int, str]]:
    parts = _PARTS.findall(text)
    return [(0, int(part), "") if part[0].isdecimal() else (1, 0, part) for part in parts]


def shown(value: Any) -> str:
    return orjson.dumps(value).decode()[:100]


def _refusal(at: Any, before: Any) -> DataError:
    return DataError(f"{source_settings.SINCE} finds {shown(at)}, which can't be compared with {shown(before)} before it")


def _time(text: str) -> tuple[int, decimal.Decimal] | None:
    """
    Seconds since 1970, and what is behind the point; None for what is no time in ISO 8601 or as headers have it. Without a zone
    it is UTC.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return _in_words(text)
    day, hour, minute, second, fraction, zone = match.groups()
    plain = day.replace("/", "").replace("-", "")
    try:
        days = (
            datetime.date(int(plain[:4]), int(plain[4:6]), int(plain[6:])).toordinal() - datetime.date(1970, 1, 1).toordinal()
        )
    except ValueError:
        return None
    seconds = ((days * 24 + int(hour or 0)) * 60 + int(minute or 0)) * 60 + int(second or 0)
    if zone and zone[0] in "+-":
        sign = -1 if zone[0] == "+" else 1
        digits = zone[1:].replace(":", "").ljust(4, "0")
        seconds += sign * (int(digits[:2]) * 60 + int(digits[2:])) * 60
    return seconds, decimal.Decimal(f"0.{fraction or 0}")


def _in_words(text: str) -> tuple[int, decimal.Decimal] | None:
    match = next(filter(None, (form.fullmatch(text) for form in _IN_WORDS)), None)
    if match is None:
        return None
    month = _MONTHS.index(match["month"][:3].lower()) + 1
    zone = (match["zone"] or "").upper()
    day = f"{match['year']}-{month:02}-{int(match['day']):02}"
    return _time(f"{day}T{match['time'] or '00:00'}{zone if zone[:1] in ('+', '-') else 'Z'}")
