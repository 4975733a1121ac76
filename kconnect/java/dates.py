"""
Java's SimpleDateFormat (17, English, UTC, lenient), as TimestampConverter and TimestampRouter use it.

`compile` reads a pattern once; the format then writes moments (`format`) and reads texts (`parse`), both as milliseconds since
1970. What dates mean is in `calendar.py`, zones are in `zones.py`. Read next: `date_writing.py` and `date_reading.py`.
"""

from __future__ import annotations

import datetime
import functools

from kconnect.java import date_quick, date_reading, date_writing
from kconnect.java.calendar import DAY_MS
from kconnect.java.date_patterns import parts_of, to_utf16
from kconnect.java.date_reading import Found


class ParseError(ValueError):
    """A text that does not fit the pattern (Java's `ParseException`)."""


@functools.lru_cache(maxsize=256)
def compile(pattern: str) -> SimpleDateFormat:
    return SimpleDateFormat(pattern)


class SimpleDateFormat:
    """
    A compiled pattern. It keeps no state between calls.

    Raises:
        ValueError: for an illegal pattern, with the message of Java's IllegalArgumentException.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        parts = parts_of(to_utf16(pattern))
        self._writers = date_writing.writers(parts)
        self._readers = date_reading.readers(parts)
        self._quick = date_quick.reader(parts)
        self._century_start = _eighty_years_ago()

    def format(self, millis: int) -> str:
        number, clock = divmod(millis, DAY_MS)
        return "".join([write(number, clock) for write in self._writers])

    def parse(self, text: str) -> int:
        """
        The moment that the text begins with; what follows it is ignored.

        Raises:
            ParseError: with Java's message.
        """
        return self.parse_prefix(text)[0]

    def parse_prefix(self, text: str) -> tuple[int, int]:
        """As `parse`, with how many of Java's characters were read."""
        if self._quick is not None:
            quick = self._quick(text)
            if quick is not None:
                return quick
        units = to_utf16(text)
        found = Found(self._century_start)
        at = 0
        for read in self._readers:
            end = read(units, at, found)
            if end is None:
                at = 0
                break
            at = end
        if not at:
            # Java takes a pattern that reads nothing for one that does not fit.
            raise ParseError(f'Unparseable date: "{text}"')
        return found.millis(), at


def _eighty_years_ago() -> int:
    """The start of the hundred years that a year of two digits is in."""
    now = datetime.datetime.now(datetime.timezone.utc)
    try:
        start = now.replace(year=now.year - 80)
    except ValueError:
        start = now.replace(year=now.year - 80, day=28)
    return int(start.timestamp() * 1000)
