"""
How SimpleDateFormat reads: for each part of a pattern, a function that reads the text's part and remembers its value.

`dates.py` runs these functions for all texts that `date_quick.py` does not read. Read first: `date_patterns.py`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

from kconnect.java import calendar, zones
from kconnect.java.calendar import Field
from kconnect.java.civil_calendar import day
from kconnect.java.date_names import ERAS, HALVES, MONTHS, SHORT, WEEKDAYS
from kconnect.java.date_patterns import Part
from kconnect.java.moments import DAY_MS


class Found:
    """The fields that a text has set so far. A `zone` of None is UTC."""

    def __init__(self, century_start: int, zone: zones.Zone | None) -> None:
        self.fields: dict[Field, int] = {}
        self.zone = zone
        self.century_start = century_start
        self.century_in_doubt = False

    def set(self, field: Field, value: int) -> None:
        # To the end: what is said last counts.
        self.fields.pop(field, None)
        self.fields[field] = value

    def set_offset(self, offset: int) -> None:
        self.set(Field.ZONE_OFFSET, offset)
        self.set(Field.DST_OFFSET, 0)

    def millis(self) -> int:
        zone = None if self.zone is None else self.zone.at_wall
        millis = calendar.millis_of(self.fields, zone)
        if self.century_in_doubt and millis < self.century_start:
            # The year in which the hundred years begin and end, and a date before the begin.
            for field in (Field.YEAR, Field.WEEK_YEAR):
                if field in self.fields:
                    self.fields[field] = calendar.int32(self.fields[field] + 100)
            millis = calendar.millis_of(self.fields, zone)
        return millis


Read = Callable[[str, int, Found], "int | None"]
"""Reads a part of the text from that place on; gives where it ends, None if it is not there."""

_NUMBERS: dict[str, Field] = {
    "d": Field.DAY_OF_MONTH,
    "H": Field.HOUR_OF_DAY,
    "m": Field.MINUTE,
    "s": Field.SECOND,
    "S": Field.MILLISECOND,
    "D": Field.DAY_OF_YEAR,
    "F": Field.DAY_OF_WEEK_IN_MONTH,
    "w": Field.WEEK_OF_YEAR,
    "W": Field.WEEK_OF_MONTH,
    "K": Field.HOUR,
}


_TEXTS: dict[str, tuple[Field, re.Pattern[str], int]] = {
    letter: (field, re.compile("|".join(f"({name}|{name[:SHORT]})" for name in names), re.IGNORECASE), first)
    for letter, field, names, first in (
        ("G", Field.ERA, ERAS, 0),
        ("M", Field.MONTH, MONTHS, 0),
        ("L", Field.MONTH, MONTHS, 0),
        ("E", Field.DAY_OF_WEEK, WEEKDAYS, 1),
        ("a", Field.AM_PM, HALVES, 0),
    )
}
_SPACE = re.compile("[ \t]*")


def readers(parts: Sequence[Part]) -> list[Read]:
    """Return the readers of the parts, one after the other."""
    return [_reader(part, after) for part, after in itertools.zip_longest(parts, parts[1:])]


def _reader(part: Part, after: Part | None) -> Read:
    letter, times, literal = part
    if not letter:
        return _literal_reader(literal)
    # Numbers that are not separated are told apart by how often their letters stand there.
    width = times if after is not None and after.is_number else None
    if letter in "yY":
        return _year_reader(Field.YEAR if letter == "y" else Field.WEEK_YEAR, times <= 2, width)
    if letter in _TEXTS and not part.is_number:
        return _text_reader(*_TEXTS[letter])
    if letter in "ML":
        return _number_reader(Field.MONTH, width, lambda value: calendar.int32(value - 1))
    if letter == "k":
        return _number_reader(Field.HOUR_OF_DAY, width, lambda value: 0 if value == 24 else value)
    if letter == "h":
        return _number_reader(Field.HOUR, width, lambda value: 0 if value == 12 else value)
    if letter == "u":
        return _number_reader(Field.DAY_OF_WEEK, width, lambda value: value % 7 + 1 if 1 <= value <= 7 else value)
    if letter == "X":
        return _iso_zone_reader(times)
    if letter in "zZ":
        return _read_zone
    return _number_reader(_NUMBERS[letter], width, None)


def _literal_reader(literal: str) -> Read:
    def read(text: str, at: int, fields: Found) -> int | None:
        return at + len(literal) if text.startswith(literal, at) else None

    return read


def _text_reader(field: Field, pattern: re.Pattern[str], first: int) -> Read:
    def read(text: str, at: int, fields: Found) -> int | None:
        # Before a name, unlike before a number, no space is skipped.
        match = pattern.match(text, at)
        if match is None:
            return None
        fields.set(field, (match.lastindex or 0) - 1 + first)
        return match.end()

    return read


def _number_reader(field: Field, width: int | None, translate: Callable[[int], int] | None) -> Read:
    def read(text: str, at: int, fields: Found) -> int | None:
        number = _number(text, at, width)
        if number is None:
            return None
        value, end = number[0], number[2]
        fields.set(field, value if translate is None else translate(value))
        return end

    return read


def _year_reader(field: Field, short: bool, width: int | None) -> Read:
    def read(text: str, at: int, fields: Found) -> int | None:
        number = _number(text, at, width)
        if number is None:
            return None
        value, start, end = number
        if short and end - start == 2 and text[start:end].isdecimal():
            first = day(fields.century_start // DAY_MS).year
            fields.century_in_doubt = value == first % 100
            value += first - first % 100 + (100 if value < first % 100 else 0)
        fields.set(field, value)
        return end

    return read


def _iso_zone_reader(letters: int) -> Read:
    def read(text: str, at: int, fields: Found) -> int | None:
        at = _skip_space(text, at)
        if text.startswith("Z", at):
            fields.set_offset(0)
            return at + 1
        return _take_offset(zones.read_iso(text, at, letters), fields)

    return read


def _read_zone(text: str, start: int, fields: Found) -> int | None:
    at = _skip_space(text, start)
    if text.startswith(("+", "-"), at):
        return _take_offset(zones.read_rfc_822(text, at), fields)
    if at == start and text[at : at + 3].upper() == "GMT":
        if text.startswith(("+", "-"), at + 3):
            return _take_offset(zones.read_custom(text, at + 3), fields)
        fields.set_offset(0)
        return at + 3
    name = zones.read_name(text, at, fields.zone)
    if name is None:
        return None
    fields.zone = name.zone
    if name.saving is not None:
        fields.fields.pop(Field.ZONE_OFFSET, None)
        fields.set(Field.DST_OFFSET, name.saving)
    return name.end


def _take_offset(read: tuple[int, int] | None, fields: Found) -> int | None:
    if read is None:
        return None
    fields.set_offset(read[1])
    return read[0]


def _skip_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


_PLAIN_NUMBER = re.compile(r"[ \t]*([0-9]{1,9})(?![\dE])")
_NUMBER = re.compile(r"[ \t]*(?:(NaN)|(-?)(?:(∞)|(\d+)(?:E(-?\d+))?))")


def _number(text: str, at: int, width: int | None) -> tuple[int, int, int] | None:
    """An int as Java's number format reads it, its begin after spaces, and its end; None if there is no number."""
    end = len(text)
    if width is not None:
        end = at + width
        if end > len(text):
            return None
    match = _PLAIN_NUMBER.match(text, at, end)
    if match is not None:
        return int(match.group(1)), *match.span(1)
    match = _NUMBER.match(text, at, end)
    if match is None:
        return None
    nan, minus, infinite, digits, exponent = match.groups()
    start = _skip_space(text, at)
    if nan:
        return 0, start, match.end()
    if infinite:
        return _saturated(1 << 64, minus), start, match.end()
    power = 0 if exponent is None else int(exponent) if len(exponent) < 4000 else 1 << 64
    if power != calendar.int64(power):
        # No exponent, then, but what follows the number.
        return _whole(digits, 0, minus), start, match.end(4)
    return _whole(digits, calendar.int32(power), minus), start, match.end()


def _whole(digits: str, power: int, minus: str) -> int:
    """Java's int of the number: longs lose their upper half, while doubles, which are what does not fit a long, saturate."""
    digits = "".join([str(int(digit)) for digit in digits]).lstrip("0")
    point = calendar.int32(len(digits) + power)
    digits = digits.rstrip("0")
    if not digits:
        return 0
    if point > 19:
        return _saturated(1 << 64, minus)
    if len(digits) <= point:
        number = int(digits.ljust(point, "0"))
        if number <= (1 << 63) - 1 + bool(minus):
            return calendar.int32(-number if minus else number)
        return _saturated(number, minus)
    return _saturated(int(float(f"0.{digits}e{point}")), minus)


def _saturated(number: int, minus: str) -> int:
    return max(-number, -(1 << 31)) if minus else min(number, (1 << 31) - 1)
