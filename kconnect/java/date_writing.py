"""
How SimpleDateFormat writes: for each part of a pattern, a function that returns its text for a moment.

`dates.py` runs these functions for each record. Many records have the same day, so the text of a day is kept. The text of a
time of day is one template. Read first: `date_patterns.py`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable

from kconnect.java import civil_calendar as calendar
from kconnect.java.civil_calendar import Day
from kconnect.java.date_names import ERAS, HALVES, MONTHS, SHORT, WEEKDAYS
from kconnect.java.date_patterns import Part, from_utf16

Write = Callable[[int, int], str]
"""Of a day, as days since 1970, and the milliseconds since its begin."""

ZoneName = Callable[[bool], str]

_MOST_DIGITS = 309
"""To which Java fills up with zeros."""

_NUMBERS: dict[str, Callable[[Day], int]] = {
    "y": operator.attrgetter("year_of_era"),
    "Y": operator.attrgetter("week_year"),
    "w": operator.attrgetter("week_of_year"),
    "W": operator.attrgetter("week_of_month"),
    "D": operator.attrgetter("day_of_year"),
    "d": operator.attrgetter("day_of_month"),
    "F": operator.attrgetter("day_of_week_in_month"),
    "u": operator.attrgetter("iso_day_of_week"),
}
_CLOCK = "HmsSkKha"
"""The letters of the time of day, in the order of `_clock`."""


def writers(parts: Iterable[Part], name: ZoneName, offset: int) -> list[Write]:
    """
    Return the writers of the parts, one after the other: alternately some of the day and some of the clock, with their
    literals.

    `name` gives the zone's name, long or not; `offset` is that of the zone, in milliseconds. For these they are.
    """
    runs: list[list[Part]] = []
    of_clock: list[bool | None] = []
    for part in parts:
        part = _constant(part, name, offset)
        clock = part.letter in _CLOCK if part.letter else None
        if not runs or (None not in (clock, of_clock[-1]) and clock != of_clock[-1]):
            runs.append([])
            of_clock.append(None)
        runs[-1].append(part)
        if clock is not None:
            of_clock[-1] = clock
    return [_clock_writer(run) if clock else _day_writer(run) for run, clock in zip(runs, of_clock, strict=True)]


def _constant(part: Part, name: ZoneName, offset: int) -> Part:
    """The zone as literal text."""
    if part.letter == "z":
        return Part("", 0, name(part.times >= 4))
    if part.letter == "X" and not offset:
        return Part("", 0, "Z")
    if part.letter in ("Z", "X"):
        hours, minutes = divmod(abs(offset) // 60_000, 60)
        colon = ":" if part.letter == "X" and part.times == 3 else ""
        text = f"{'-' if offset < 0 else '+'}{hours:02}"
        return Part("", 0, text if part.letter == "X" and part.times == 1 else f"{text}{colon}{minutes:02}")
    return part._replace(literal=from_utf16(part.literal))


def _clock_writer(parts: list[Part]) -> Write:
    form = ""
    for part in parts:
        if not part.letter:
            form += part.literal.replace("%", "%%")
        elif part.letter == "a":
            form += "%s"
        else:
            form += f"%0{min(part.times, _MOST_DIGITS)}d"
    places = [_CLOCK.index(part.letter) for part in parts if part.letter]
    if len(places) == 1:
        place = places[0]
        return lambda _day, clock: form % _clock(clock)[place]
    chosen = operator.itemgetter(*places)
    return lambda _day, clock: form % chosen(_clock(clock))


def _clock(millis: int) -> tuple[int, int, int, int, int, int, int, str]:
    seconds, millis = divmod(millis, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    half, of_half = divmod(hour, 12)
    return hour, minute, second, millis, hour or 24, of_half, of_half or 12, HALVES[half]


def _day_writer(parts: list[Part]) -> Write:
    texts = [_day_text(part) for part in parts]

    @functools.lru_cache(maxsize=1024)
    def written(number: int) -> str:
        day = calendar.day(number)
        return "".join([text(day) for text in texts])

    return lambda number, _clock: written(number)


def _day_text(part: Part) -> Callable[[Day], str]:
    letter, times, literal = part
    end = None if times >= 4 else SHORT
    if not letter:
        return lambda day: literal
    if letter == "G":
        return lambda day: ERAS[day.era]
    if letter == "E":
        return lambda day: WEEKDAYS[day.day_of_week - 1][:end]
    if letter in "ML":
        if times >= 3:
            return lambda day: MONTHS[day.month][:end]
        return lambda day: _padded(day.month + 1, times)
    number = _NUMBERS[letter]
    if letter in "yY" and times == 2:
        return lambda day: _last_two(number(day))
    return lambda day: _padded(number(day), times)


def _padded(number: int, digits: int) -> str:
    shown = str(abs(number)).zfill(min(digits, _MOST_DIGITS))
    return f"-{shown}" if number < 0 else shown


def _last_two(number: int) -> str:
    shown = f"{abs(number) % 100:02}"
    return f"-{shown}" if number < 0 else shown
