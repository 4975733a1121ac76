"""
Java's SimpleDateFormat (17, English, UTC, lenient), as TimestampConverter and TimestampRouter use it.

A `SimpleDateFormat` compiles its pattern once. It writes moments (`format`) and reads texts (`parse`); moments are in
milliseconds since 1970. `calendar.py` has the meaning of dates, and `zones.py` has the time zones. Read next:
`date_writing.py`, `date_reading.py`.

Why not Babel: it writes 192 of 259 golden texts, in 11 µs each where this takes 2, and it can't read a text by a pattern. PyICU
does both, but has to be compiled against ICU.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from typing import NamedTuple

from kconnect.java import date_quick, date_reading
from kconnect.java.date_patterns import Part, parts_of, to_utf16
from kconnect.java.date_reading import Found, Read
from kconnect.java.date_writing import Write, writers
from kconnect.java.moments import DAY_MS
from kconnect.java.zones import Zone


class ParseError(ValueError):
    """A text that does not fit the pattern (Java's `ParseException`)."""


class _Compiled(NamedTuple):
    """A compiled pattern, without state, and so shared by all formats of that pattern."""

    parts: list[Part]
    writers: list[Write]
    readers: list[Read]
    quick: Callable[[str], tuple[int, int] | None] | None


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Compiled:
    parts = parts_of(to_utf16(pattern))
    return _Compiled(parts, writers(parts, _utc, 0), date_reading.readers(parts), date_quick.reader(parts))


def _utc(long: bool) -> str:
    return "Coordinated Universal Time" if long else "UTC"


class SimpleDateFormat:
    """
    A pattern, and the time zone of what it writes: UTC at first, then that of the last text that had the name of another.

    This is how Java's behaves, and why one must not be shared: make one for each user, which is cheap.

    Raises:
        ValueError: for an illegal pattern, with the message of Java's IllegalArgumentException.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._compiled = compiled = _compiled(pattern)
        self._readers, self._quick = compiled.readers, compiled.quick
        self._writers = compiled.writers
        self._century_start = _eighty_years_ago()
        self._zone: Zone | None = None

    def format(self, millis: int) -> str:
        if self._zone is not None:
            return self._in_zone(self._zone, millis)
        number, clock = divmod(millis, DAY_MS)
        return "".join([write(number, clock) for write in self._writers])

    def _in_zone(self, zone: Zone, millis: int) -> str:
        standard, saving = zone.at(millis)
        offset = standard + saving

        def name(long: bool) -> str:
            return zone.names[(2 if saving else 0) + (0 if long else 1)]

        number, clock = divmod(millis + offset, DAY_MS)
        return "".join([write(number, clock) for write in writers(self._compiled.parts, name, offset)])

    def parse(self, text: str) -> int:
        """
        The moment that the text begins with; what follows it is ignored.

        Raises:
            ParseError: with Java's message.
        """
        return self.parse_prefix(text)[0]

    def parse_prefix(self, text: str) -> tuple[int, int]:
        """Parse as `parse` does. Also return how many of Java's characters were read."""
        if self._quick is not None:
            quick = self._quick(text)
            if quick is not None:
                return quick
        units = to_utf16(text)
        fields = Found(self._century_start, self._zone)
        at = 0
        for read in self._readers:
            end = read(units, at, fields)
            if end is None:
                at = 0
                break
            at = end
        self._zone = None if fields.zone is None or fields.zone.id == "UTC" else fields.zone
        if not at:
            # Java takes a pattern that reads nothing for one that does not fit.
            raise ParseError(f'Unparseable date: "{text}"')
        return fields.millis(), at


def _eighty_years_ago() -> int:
    """The start of the hundred years that a year of two digits is in."""
    now = datetime.datetime.now(datetime.timezone.utc)
    try:
        start = now.replace(year=now.year - 80)
    except ValueError:
        start = now.replace(year=now.year - 80, day=28)
    return int(start.timestamp() * 1000)
