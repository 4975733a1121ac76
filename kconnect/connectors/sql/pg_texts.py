"""
Texts that PostgreSQL itself reads: as arrays, intervals, money, and dates in other forms than ISO 8601.

It takes many forms, and of each it rounds, cuts off or leaves out what the column has no place for, and says nothing. So texts
are looked at before, as far as their form tells. Called by `room.py` and `types.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa

from kconnect.api import DataError

Check = Callable[[Any], None]

# Here and below no text is looked at again from each of its letters: it is others', and may have a million of them.
_ELEMENT = re.compile(r'"((?:[^"\\]|\\.)*)"?|([^{},"]+)', re.DOTALL)
_FRACTION = re.compile(r"\.(\d+)")
_CLOCK, _ZONE = re.compile(r":\d\d"), re.compile(r"[+-]\d|[a-z]{3}|/|z\s*$", re.IGNORECASE)
_BLANK = re.compile(r"(?<!\s)\s+(?=(?:[+-]\d\d|z$))", re.IGNORECASE)
_AMOUNT, _GAPS, _SEPARATORS = re.compile(r"\d(?:[\d.,\s'\u2019]*\d)?"), re.compile(r"[\s'\u2019]"), re.compile("[.,]")
_GROUP = 3
"""So many digits are between the separators of thousands."""
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_MICROSECONDS = 6
_UNITS = ("year", "month", "day", "hour", "minute", "second")
_SHORT = {"y": "year", "mon": "month", "d": "day", "h": "hour", "m": "minute", "s": "second", "min": "minute", "sec": "second"}


class Octets(sa.String):
    """A text of PostgreSQL whose length is in bytes, and beyond which it is cut off: `name` and `"char"`."""


def of_octets(most: int) -> Check:
    """Check a value for such a column."""

    def check(value: Any) -> None:
        size = len(str(value).encode(errors="surrogatepass"))
        if size > most:
            raise DataError(f"it has {size} bytes, and the column {most}")

    return check


def check_date(text: str, kind: Any, digits: int | None, unless: str) -> None:
    """
    Raise DataError for a date or a time that is not in ISO 8601 and has more than a column, of so many digits of a second.
    `unless` is what to say of the setting that allows that.
    """
    if isinstance(kind, sa.Date):
        if ":" in text:
            raise DataError(f"it has a time, and would be cut off {unless}")
        return
    if not kind.timezone:
        check_no_zone(text)
    _check_fraction(text, _MICROSECONDS if digits is None else digits, unless)


def check_no_zone(text: str) -> None:
    """Raise DataError for a time that names a zone, which the database would leave out."""
    clock = _CLOCK.search(text)
    if clock is not None and _ZONE.search(text, clock.end()):
        raise DataError("it has a time zone, and the column has none: a text in ISO 8601 is converted")


def without_blanks(text: str) -> str:
    """Return a text without blanks around it, and before its zone, as ISO 8601 has it."""
    return _BLANK.sub("", text.strip())


def _check_fraction(text: str, digits: int, unless: str) -> None:
    if any(len(fraction.rstrip("0")) > digits for fraction in _FRACTION.findall(text)):
        raise DataError(f"it has more than the column's {digits} digits of a second, and would be rounded {unless}")


def of_interval(kind: Any, unless: str) -> Check:
    """Check a text for a column of intervals, of some units (`YEAR TO MONTH`) or digits of a second, if these are fixed."""
    digits = _MICROSECONDS if kind.precision is None else kind.precision
    first, _, last = (kind.fields or "").lower().partition(" to ")
    last = last.split("(")[0].strip() or first.split("(")[0].strip()
    units = _UNITS[: _UNITS.index(last) + 1] if last in _UNITS else _UNITS
    finest = units[-1]

    def check(text: Any) -> None:
        if not isinstance(text, str):
            return
        _check_fraction(text, digits, unless)
        if finest == "second":
            return
        words = [word.lower() for word in _WORD.findall(text)]
        named = {_unit(word) for word in words} - {"ago"}
        clock = text.count(":") > (0 if finest in ("year", "month", "day", "hour") else 1)
        if named - set(units) or clock:
            raise DataError(f"it has more than the column of {kind.fields} has, and would be cut off {unless}")

    return check


def _unit(word: str) -> str:
    full_name = _SHORT.get(word) or _SHORT.get(word.removesuffix("s"))
    return full_name or next((unit for unit in _UNITS if word.startswith(unit)), word)


def of_array(inner: Check) -> Check:
    """Check each element of a text that is an array, by the check of its type."""

    def check(text: Any) -> None:
        if isinstance(text, str):
            for element in _elements(text):
                inner(element)

    return check


def _elements(text: str) -> Iterator[str]:
    # Bounds may stand before it, as in [0:1]={a,b}.
    for quoted, plain in _ELEMENT.findall(text[text.find("{") + 1 :]):
        if quoted:
            yield re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        elif plain.strip() and plain.strip().upper() != "NULL":
            yield plain.strip()


def money(value: Any) -> Any:
    """
    Return the plain number of an amount, whatever its currency and separators: by a comma in the wrong place PostgreSQL makes
    1,234.00 of 12,34. Values that are no text, or have no digits, stay.
    """
    amount = _AMOUNT.search(value) if isinstance(value, str) else None
    if amount is None:
        return value
    digits = _GAPS.sub("", amount[0])
    at = max(digits.rfind("."), digits.rfind(","))
    head, tail = (digits[:at], digits[at + 1 :]) if at >= 0 else (digits, "")
    if len(tail) == _GROUP and (digits[at] == "," or digits[at] in head):
        head, tail = head + tail, ""
    sign = "-" if "-" in value or ("(" in value and ")" in value) else ""
    return f"{sign}{_SEPARATORS.sub('', head)}.{tail or 0}"
