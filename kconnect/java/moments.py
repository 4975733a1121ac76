"""
Dates as Connect counts them, in milliseconds since 1970, and as Python represents them.

`date_of` and `milliseconds_of` convert one to the other; plugins find them in `data/values.py`. Java's dates reach some 292
million years in both directions, Python's from year 1 to 9999. A date outside Python's range is a `FarDate`.
"""

from __future__ import annotations

import datetime
from typing import Any

DAY_MS = 86_400_000

_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_PLAIN_EPOCH = datetime.datetime(1970, 1, 1)
_MS = datetime.timedelta(milliseconds=1)
_FIRST = datetime.datetime.min.replace(tzinfo=_UTC)
_LAST = datetime.datetime.max.replace(tzinfo=_UTC)


class FarDate(datetime.datetime):
    """
    A moment before the year 1 or after 9999; `date_of` makes them.

    It knows its `milliseconds`, by which it is equal, ordered, moved and written. Everything else about it is that of the
    datetime nearest to it, the first or the last there is: so where a database takes no other, that is what it gets.
    """

    __slots__ = ("milliseconds",)

    milliseconds: int

    def __new__(cls, milliseconds: int) -> FarDate:
        end = _FIRST if milliseconds < 0 else _LAST
        date = super().__new__(cls, end.year, end.month, end.day, end.hour, end.minute, end.second, end.microsecond, _UTC)
        date.milliseconds = milliseconds
        return date

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FarDate) and self.milliseconds == other.milliseconds

    def __ne__(self, other: object) -> bool:
        # datetime has one of its own.
        return not self == other

    def __hash__(self) -> int:
        return hash(self.milliseconds)

    def __lt__(self, other: Any) -> bool:
        return self.milliseconds < milliseconds_of(other)

    def __le__(self, other: Any) -> bool:
        return self.milliseconds <= milliseconds_of(other)

    def __gt__(self, other: Any) -> bool:
        return self.milliseconds > milliseconds_of(other)

    def __ge__(self, other: Any) -> bool:
        return self.milliseconds >= milliseconds_of(other)

    def __add__(self, other: datetime.timedelta) -> Any:
        return date_of(self.milliseconds + other // _MS)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """OverflowError for what is too long for a timedelta."""
        if isinstance(other, datetime.timedelta):
            return self + -other
        return _MS * (self.milliseconds - milliseconds_of(other))

    def __rsub__(self, other: datetime.datetime) -> datetime.timedelta:
        return _MS * (milliseconds_of(other) - self.milliseconds)

    def timestamp(self) -> float:
        return self.milliseconds / 1000

    def nearest(self) -> datetime.datetime:
        """The first or the last datetime, which this one looks like."""
        return _FIRST if self.milliseconds < 0 else _LAST

    def replace(self, *args: Any, **changes: Any) -> datetime.datetime:  # type: ignore[override]
        return self.nearest().replace(*args, **changes)

    def astimezone(self, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        return self if tz is _UTC else self.nearest().astimezone(tz)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return FarDate, (self.milliseconds,)

    def __repr__(self) -> str:
        return f"FarDate({self.milliseconds})"

    __str__ = __repr__


def date_of(milliseconds: int) -> datetime.datetime:
    """The date, in UTC, that is so many milliseconds after 1970, or before it."""
    try:
        # Quicker than a timedelta made of milliseconds.
        return _EPOCH + _MS * milliseconds
    except OverflowError:
        return FarDate(milliseconds)


def milliseconds_of(value: datetime.datetime) -> int:
    """Since 1970; a date without a zone is in UTC."""
    if type(value) is FarDate:
        return value.milliseconds
    since = value - (_PLAIN_EPOCH if value.tzinfo is None else _EPOCH)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
