"""
Java's calendar, from a day to its year, month and other fields: Julian up to 1582-10-04, Gregorian from the next day, which is
1582-10-15.

It covers all years; years before Christ are 0, -1 and so on. Weeks begin on Sundays. Used for the texts of dates, and by
`kconnect/java/calendar.py`, which goes in the other direction.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

CUTOVER = -141_427  # 1582-10-15, in days since 1970
CUTOVER_MONTH = (1582, 9)
_DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


@dataclass(frozen=True)
class Day:
    """A day, as days since 1970. `month` begins at 0."""

    number: int
    year: int
    month: int
    day_of_month: int

    @property
    def era(self) -> int:
        return 1 if self.year > 0 else 0

    @property
    def year_of_era(self) -> int:
        return self.year if self.year > 0 else 1 - self.year

    @property
    def day_of_year(self) -> int:
        return self.number - first_of_year(self.year) + 1

    @property
    def day_of_week(self) -> int:
        """Sunday is 1, Saturday 7."""
        return (self.number + 4) % 7 + 1

    @property
    def iso_day_of_week(self) -> int:
        """Monday is 1, Sunday 7."""
        return (self.number + 3) % 7 + 1

    @property
    def day_of_week_in_month(self) -> int:
        return (self.number - self._first_of_month) // 7 + 1

    @property
    def week_of_month(self) -> int:
        return _week(self._first_of_month, self.number)

    @property
    def week_of_year(self) -> int:
        next_year = first_of_year(self.year + 1)
        if _sunday(next_year) <= self.number:
            return 1
        return _week(first_of_year(self.year), self.number)

    @property
    def week_year(self) -> int:
        """The year that the week belongs to: that of its Saturday."""
        after = self.year + 1
        if self.year <= 0:
            # Java counts the year after one before Christ in the wrong direction.
            after = 1 - after
        days_left = first_of_year(self.year + 1) - self.number
        return self.year + 1 if days_left <= (first_of_year(after) + 4) % 7 else self.year

    @property
    def _first_of_month(self) -> int:
        if (self.year, self.month) == CUTOVER_MONTH:
            return julian(self.year, self.month)
        return self.number - self.day_of_month + 1


@functools.lru_cache(maxsize=4096)
def day(number: int) -> Day:
    """The day that is so many days after 1970-01-01."""
    if number >= CUTOVER:
        return Day(number, *_gregorian_date(number))
    return Day(number, *_julian_date(number))


def _gregorian_date(number: int) -> tuple[int, int, int]:
    # Years from March on, as then the day of a leap year is the last.
    era, of_era = divmod(number + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    return _from_march(era * 400 + year, of_era - (365 * year + year // 4 - year // 100))


def _julian_date(number: int) -> tuple[int, int, int]:
    cycle, of_cycle = divmod(number + 719_470, 1461)
    year = (of_cycle - of_cycle // 1460) // 365
    return _from_march(cycle * 4 + year, of_cycle - 365 * year)


def _from_march(year: int, day_of_year: int) -> tuple[int, int, int]:
    month = (5 * day_of_year + 2) // 153
    day_of_month = day_of_year - (153 * month + 2) // 5 + 1
    return (year, month + 2, day_of_month) if month < 10 else (year + 1, month - 10, day_of_month)


@functools.lru_cache(maxsize=4096)
def gregorian(year: int, month: int) -> int:
    """The first day of a month, in days since 1970."""
    before = year - 1
    leap = month > 1 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return before * 365 + before // 4 - before // 100 + before // 400 + _DAYS_BEFORE[month] + leap - 719_162


def julian(year: int, month: int) -> int:
    """The same in the Julian calendar."""
    before = year - 1
    return before * 365 + before // 4 + _DAYS_BEFORE[month] + (month > 1 and year % 4 == 0) - 719_164


def first_of_year(year: int) -> int:
    """The first day of a year, in days since 1970."""
    return gregorian(year, 0) if year > CUTOVER_MONTH[0] else julian(year, 0)


def _sunday(number: int) -> int:
    """The last Sunday up to that day."""
    return number - (number + 4) % 7


def _week(first: int, number: int) -> int:
    """Return which week `number` is in, when the week of `first` is week 1."""
    return (number - _sunday(first)) // 7 + 1
