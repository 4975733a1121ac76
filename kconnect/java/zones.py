"""
Time zones as SimpleDateFormat reads them in a text: by name (`PST`, `Central European Summer Time`) or as an offset.

`dates.py` asks. The names are in `zone_names.py`; what clocks showed in the past is in the zone database of the system, without
which every zone has always been as it is now.
"""

from __future__ import annotations

import datetime
import functools
import re
import zoneinfo
from typing import NamedTuple

from kconnect.java import calendar, zone_names

_MINUTE = 60_000
_EPOCH = datetime.datetime(1970, 1, 1)
_KNOWN_FROM = datetime.datetime(1900, 1, 1)
"""Before, Java's zones are as they are now."""
_SUMMER_IS_STANDARD = ("Africa/El_Aaiun", "Europe/Dublin")
"""To the zone database; in Java the standard time is that of the winter."""
_CYCLE = 400


class Name(NamedTuple):
    """A zone's name in a text. `saving`, in milliseconds, is what the name says; None leaves it to the zone."""

    end: int
    zone: calendar.Zone
    saving: int | None


class _Named(NamedTuple):
    zone: str
    offset: int
    saving: int | None


def read_name(text: str, start: int) -> Name | None:
    """The first of all names that the text has from `start` on; letters may be of either case."""
    pattern, names = _names()
    match = pattern.match(text, start)
    if match is None:
        return None
    named = names[(match.lastindex or 0) - 1]
    return Name(match.end(), functools.partial(_offsets, named.zone, named.offset), named.saving)


@functools.lru_cache(maxsize=1)
def _names() -> tuple[re.Pattern[str], list[_Named]]:
    texts, named = [], []
    for row in zone_names.ROWS.splitlines():
        zone, offset, saving, *names = row.split("|")
        names += [""] * (4 - len(names))
        standard = [None if daylight == "=" else 0 for daylight in names[2:]]
        # A daylight name of a zone that saves nothing now says nothing about the past.
        summer = int(saving) * _MINUTE or None
        for name, says in zip(names, (*standard, summer, summer), strict=True):
            if name not in ("", "="):
                texts.append(f"({re.escape(name)})")
                named.append(_Named(zone, int(offset) * _MINUTE, says))
    return re.compile("|".join(texts), re.IGNORECASE), named


def _offsets(zone: str, standard: int, wall: int) -> tuple[int, int]:
    info = _zone(zone)
    if info is None:
        return standard, 0
    try:
        shown = _EPOCH + datetime.timedelta(milliseconds=wall)
    except OverflowError:
        if wall < 0:
            return standard, 0
        # The rule of a zone repeats with the calendar.
        shown = _EPOCH + datetime.timedelta(milliseconds=wall % (_CYCLE * 146_097 // 400 * calendar.DAY_MS))
        shown = shown.replace(year=shown.year + _CYCLE)
    if shown < _KNOWN_FROM:
        return standard, 0
    # Of an hour that there is twice, the second; an hour that there is not is after the change.
    offset, saving = _at(info, shown.replace(fold=1))
    if zone in _SUMMER_IS_STANDARD:
        return standard, offset - standard
    return offset - saving, saving


def _at(info: zoneinfo.ZoneInfo, shown: datetime.datetime) -> tuple[int, int]:
    millisecond = datetime.timedelta(milliseconds=1)
    at = shown.replace(tzinfo=info)
    return (at.utcoffset() or datetime.timedelta()) // millisecond, (at.dst() or datetime.timedelta()) // millisecond


@functools.cache
def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name)
    except zoneinfo.ZoneInfoNotFoundError:
        return None


_ISO = (
    re.compile("([+-])([0-9][0-9])()"),
    re.compile("([+-])([0-9][0-9])([0-9][0-9])"),
    re.compile("([+-])([0-9][0-9]):([0-9][0-9])"),
)
_RFC_822 = _ISO[1]
_CUSTOM = re.compile("([+-])([0-9][0-9]?):([0-9][0-9])")


def read_iso(text: str, start: int, letters: int) -> tuple[int, int] | None:
    """The end and the milliseconds of `+hh`, `+hhmm` or `+hh:mm`, for one to three letters."""
    return _offset(_ISO[letters - 1], text, start)


def read_rfc_822(text: str, start: int) -> tuple[int, int] | None:
    return _offset(_RFC_822, text, start)


def read_custom(text: str, start: int) -> tuple[int, int] | None:
    """What stands behind `GMT`: `+h:mm` or `+hh:mm`."""
    return _offset(_CUSTOM, text, start)


def _offset(form: re.Pattern[str], text: str, start: int) -> tuple[int, int] | None:
    match = form.match(text, start)
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    if int(hours) > 23 or int(minutes or 0) > 59:
        return None
    total = int(hours) * 60 + int(minutes or 0)
    return match.end(), total * (_MINUTE if sign == "+" else -_MINUTE)
