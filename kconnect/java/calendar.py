"""
Java's calendar, from the fields of a date in a text to the moment that they mean: `millis_of`.

The other direction, from a day to its fields, is in `kconnect/java/civil_calendar.py`; read that first. This module also has
the cases in which Java's numbers are too small for a date.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

from kconnect.java.civil_calendar import CUTOVER, CUTOVER_MONTH, day, gregorian, julian
from kconnect.java.moments import DAY_MS

SUNDAY = 1
"""The first of Java's days of the week; Saturday is 7."""

_EPOCH_YEAR = 1970
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Field(enum.Enum):
    """
    A field of a date that a part of a text can set. `MONTH` begins at 0, `ERA` is 0 before Christ, the offsets are
    milliseconds.
    """

    ERA = enum.auto()
    YEAR = enum.auto()
    WEEK_YEAR = enum.auto()
    MONTH = enum.auto()
    WEEK_OF_YEAR = enum.auto()
    WEEK_OF_MONTH = enum.auto()
    DAY_OF_MONTH = enum.auto()
    DAY_OF_YEAR = enum.auto()
    DAY_OF_WEEK = enum.auto()
    DAY_OF_WEEK_IN_MONTH = enum.auto()
    AM_PM = enum.auto()
    HOUR = enum.auto()
    HOUR_OF_DAY = enum.auto()
    MINUTE = enum.auto()
    SECOND = enum.auto()
    MILLISECOND = enum.auto()
    ZONE_OFFSET = enum.auto()
    DST_OFFSET = enum.auto()

    __hash__ = object.__hash__  # quicker than that of the name


_DECIDING = frozenset(
    (Field.WEEK_OF_YEAR, Field.WEEK_OF_MONTH, Field.DAY_OF_YEAR, Field.DAY_OF_WEEK, Field.DAY_OF_WEEK_IN_MONTH)
)
"""Without one of these the day of the month says the day."""

Fields = Mapping[Field, int]
"""Values in the order in which they were set: where they contradict each other, the later ones count."""

Zone = Callable[[int], tuple[int, int]]
"""The standard offset and the daylight saving of a zone, at a moment given as what its clocks show; all in milliseconds."""


def int32(number: int) -> int:
    """Return what is left of a number in a Java int."""
    return (number + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000


def int64(number: int) -> int:
    """Return what is left of a number in a Java long."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def millis_of(fields: Fields, zone: Zone | None = None) -> int:
    """
    The moment that fields mean, in milliseconds since 1970; values beyond their range count on into the next larger field.

    What is not set is that of 1970-01-01T00:00Z. An offset among the fields takes precedence over `zone`.
    """
    if Field.WEEK_YEAR in fields and _set_after(fields, Field.WEEK_YEAR, Field.YEAR):
        return _moment(_without_week_year(fields, zone), zone)
    return _moment(fields, zone)


def _stamps(fields: Fields) -> dict[Field, int]:
    return {field: stamp for stamp, field in enumerate(fields, 1)}


def _set_after(fields: Fields, field: Field, other: Field) -> bool:
    stamps = _stamps(fields)
    return stamps.get(field, 0) > stamps.get(other, 0)


def _moment(fields: Fields, zone: Zone | None) -> int:
    get = fields.get
    hours = get(Field.HOUR_OF_DAY, 0) if _in_24_hours(fields) else get(Field.HOUR, 0) + 12 * get(Field.AM_PM, 0)
    clock = ((hours * 60 + get(Field.MINUTE, 0)) * 60 + get(Field.SECOND, 0)) * 1000 + get(Field.MILLISECOND, 0)
    more_days, clock = divmod(clock, DAY_MS)
    wall = int64(_day_number(fields, more_days) * DAY_MS + clock)
    offset, saving = (0, 0) if zone is None else zone(wall)
    return int64(wall - get(Field.ZONE_OFFSET, offset) - get(Field.DST_OFFSET, saving))


def _in_24_hours(fields: Fields) -> bool:
    if Field.HOUR not in fields or Field.AM_PM not in fields:
        return Field.HOUR_OF_DAY in fields
    return _set_after(fields, Field.HOUR_OF_DAY, Field.HOUR) and _set_after(fields, Field.HOUR_OF_DAY, Field.AM_PM)


def _day_number(fields: Fields, more_days: int) -> int:
    year = fields.get(Field.YEAR, _EPOCH_YEAR)
    if fields.get(Field.ERA) == 0:
        year = int32(1 - year)
    by = _deciding(fields)
    cutover_year = CUTOVER_MONTH[0]
    if year > cutover_year or (year == cutover_year and by not in (Field.DAY_OF_YEAR, Field.WEEK_OF_YEAR)):
        number = _day_in(gregorian, fields, by, year) + more_days
        if number >= CUTOVER:
            return number
    return _day_in(julian, fields, by, year) + more_days


def _deciding(fields: Fields) -> Field:
    """
    Return which field decides on the day, with the year, and the month or the day of the week: the one that was set last.

    A field of weeks needs the day of the week to count, and is as late as the later of both.
    """
    if _DECIDING.isdisjoint(fields):
        return Field.DAY_OF_MONTH
    stamps = _stamps(fields)
    at = stamps.get
    of_week = at(Field.DAY_OF_WEEK, 0)

    def with_weekday(field: Field) -> int:
        return max(at(field, 0), of_week) if of_week and field in stamps else 0

    of_month, of_year = at(Field.DAY_OF_MONTH, 0), at(Field.DAY_OF_YEAR, 0)
    week_of_month = with_weekday(Field.WEEK_OF_MONTH)
    in_month = with_weekday(Field.DAY_OF_WEEK_IN_MONTH)
    week_of_year = with_weekday(Field.WEEK_OF_YEAR)
    best = max(of_month, week_of_month, in_month, of_year, week_of_year)
    if not best:
        week_of_month, week_of_year = at(Field.WEEK_OF_MONTH, 0), at(Field.WEEK_OF_YEAR, 0)
        in_month = max(at(Field.DAY_OF_WEEK_IN_MONTH, 0), of_week)
        best = max(week_of_month, in_month, week_of_year)
    if best == of_month:
        return Field.DAY_OF_MONTH
    year_week = at(Field.WEEK_OF_YEAR, 0)
    if best == week_of_month and at(Field.WEEK_OF_MONTH, 0) >= year_week:
        if week_of_month != in_month or at(Field.WEEK_OF_MONTH, 0) >= at(Field.DAY_OF_WEEK_IN_MONTH, 0):
            return Field.WEEK_OF_MONTH
        return Field.DAY_OF_WEEK_IN_MONTH
    if best == in_month and at(Field.DAY_OF_WEEK_IN_MONTH, 0) >= year_week:
        if week_of_month == in_month and at(Field.WEEK_OF_MONTH, 0) >= at(Field.DAY_OF_WEEK_IN_MONTH, 0):
            return Field.WEEK_OF_MONTH
        return Field.DAY_OF_WEEK_IN_MONTH
    return Field.DAY_OF_YEAR if best == of_year else Field.WEEK_OF_YEAR


def _day_in(first_of: Callable[[int, int], int], fields: Fields, by: Field, year: int) -> int:
    """The day in the calendar that knows the first days of months by `first_of`."""
    get = fields.get
    if by is Field.DAY_OF_YEAR:
        return first_of(year, 0) + get(by, 0) - 1
    if by is Field.WEEK_OF_YEAR:
        start = _on_or_before(first_of(year, 0), SUNDAY)
        if Field.DAY_OF_WEEK in fields:
            start = _on_or_before(start + 6, get(Field.DAY_OF_WEEK, 0))
        return start + 7 * (get(by, 0) - 1)

    more_years, month = divmod(get(Field.MONTH, 0), 12)
    year = int32(year + more_years)
    first = first_of(year, month)
    if by is Field.DAY_OF_MONTH:
        return first + get(by, 1) - 1
    if by is Field.WEEK_OF_MONTH:
        start = _on_or_before(first, SUNDAY)
        if Field.DAY_OF_WEEK in fields:
            start = _on_or_before(start + 6, get(Field.DAY_OF_WEEK, 0))
        return start + int32(7 * int32(get(by, 0) - 1))
    nth, weekday = get(by, 1), get(Field.DAY_OF_WEEK, SUNDAY)
    if nth >= 0:
        return _on_or_before(first + int32(7 * nth) - 1, weekday)
    return _on_or_before(first + int32(_length(year, month) + 7 * (nth + 1)) - 1, weekday)


def _on_or_before(number: int, day_of_week: int) -> int:
    return number - (number + 4 - int32(day_of_week - 1)) % 7


def _length(year: int, month: int) -> int:
    by_century = year > CUTOVER_MONTH[0]
    leap = year % 4 == 0 and not (by_century and year % 100 == 0 and year % 400 != 0)
    return _LENGTHS[month] + (leap and month == 1)


def _without_week_year(fields: Fields, zone: Zone | None) -> Fields:
    """The fields with the day of a week year as year, month and day; where week or weekday are not set, they are the first."""
    week, weekday = fields.get(Field.WEEK_OF_YEAR, 1), fields.get(Field.DAY_OF_WEEK, SUNDAY)
    if weekday >= 8:
        # Those that Java could not translate are still ISO's, from Monday on.
        weekday -= 1
        week, weekday = int32(week + weekday // 7), _calendar_weekday(weekday % 7 + 1)
    elif weekday <= 0:
        weeks = -weekday // 7 + 1
        week, weekday = int32(week - weeks), _calendar_weekday(weekday + 7 * weeks)
    # Before Christ, year -1 of Java's weeks is one after Christ: it counts from the era that the other fields are in.
    era = day(_moment(fields, zone) // DAY_MS).era
    year = {Field.ERA: era, Field.YEAR: fields[Field.WEEK_YEAR], Field.WEEK_OF_YEAR: 1, Field.DAY_OF_WEEK: SUNDAY}
    start = _moment(year, None)
    civil_day = day(int64(start + int32(weekday - 1 + int32(7 * (week - 1))) * DAY_MS) // DAY_MS)
    changed = dict(fields)
    for field, value in (
        (Field.ERA, civil_day.era),
        (Field.YEAR, civil_day.year_of_era),
        (Field.MONTH, civil_day.month),
        (Field.DAY_OF_MONTH, civil_day.day_of_month),
    ):
        changed.pop(field, None)
        changed[field] = value
    return changed


def _calendar_weekday(iso: int) -> int:
    return SUNDAY if iso == 7 else iso + 1
