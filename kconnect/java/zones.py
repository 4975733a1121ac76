"""
Time zones as SimpleDateFormat knows them: by name (`PST`, `Central European Summer Time`), or as an offset.

`dates.py` and the modules that it uses call this one. The names are in `zone_names.py`. The zones' offsets in the past come
from the system's zone database. Without that database, every zone always has its present standard offset.
"""

from __future__ import annotations

import datetime
import functools
import re
import zoneinfo
from dataclasses import dataclass
from typing import NamedTuple

from kconnect.java import zone_names
from kconnect.java.moments import DAY_MS

_MINUTE = 60_000
_MS = datetime.timedelta(milliseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)
_KNOWN_FROM = -2_208_988_800_000  # 1900-01-01
"""Before, Java's zones are as they are now."""
_SUMMER_IS_STANDARD = ("Africa/El_Aaiun", "Europe/Dublin")
"""To the zone database; in Java the standard time is that of the winter."""
_YEARS_MS = 146_097 * DAY_MS
"""400 years, after which the calendar, and so the rule of a zone, begins again; these are whole weeks too."""


@dataclass(frozen=True)
class Zone:
    """`standard` and `saving` are how it is now, in milliseconds; `names` the long and short standard, and daylight name."""

    id: str
    standard: int
    saving: int
    names: tuple[str, ...]

    def at_wall(self, wall: int) -> tuple[int, int]:
        """The standard offset and the daylight saving when its clocks show this."""
        shown = _datetime(wall)
        info = _info(self.id)
        if shown is None or info is None:
            return self.standard, 0
        # Of an hour that there is twice, the second; an hour that there is not is after the change.
        return self._split(shown.replace(fold=1, tzinfo=info))

    def at(self, millis: int) -> tuple[int, int]:
        """The same of a moment, in milliseconds since 1970."""
        utc = _datetime(millis)
        info = _info(self.id)
        if utc is None or info is None:
            return self.standard, 0
        return self._split(utc.replace(tzinfo=datetime.timezone.utc).astimezone(info))

    def _split(self, at: datetime.datetime) -> tuple[int, int]:
        offset = (at.utcoffset() or datetime.timedelta()) // _MS
        if self.id in _SUMMER_IS_STANDARD:
            return self.standard, offset - self.standard
        saving = (at.dst() or datetime.timedelta()) // _MS
        return offset - saving, saving


def _datetime(millis: int) -> datetime.datetime | None:
    """Return the time of these milliseconds; None before what is known."""
    if millis < _KNOWN_FROM:
        return None
    if millis >= 2 * _YEARS_MS:
        millis = _YEARS_MS + millis % _YEARS_MS
    return _EPOCH + datetime.timedelta(milliseconds=millis)


@functools.cache
def _info(zone: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(zone)
    except zoneinfo.ZoneInfoNotFoundError:
        return None


# --- names ---


class Name(NamedTuple):
    """A zone's name in a text. `saving`, in milliseconds, is what the name says; None leaves it to the zone."""

    end: int
    zone: Zone
    saving: int | None


def read_name(text: str, start: int, current: Zone | None) -> Name | None:
    """The first name that the text has from `start` on, of the current zone or else of any; letters may be of either case."""
    return (current and _match(_of_zone(current), text, start)) or _match(_of_all(), text, start)


_Names = tuple["re.Pattern[str]", "list[tuple[Zone, int]]"]
"""A group for each name, and which name of which zone it is."""


def _match(names: _Names, text: str, start: int) -> Name | None:
    match = names[0].match(text, start)
    if match is None:
        return None
    zone, place = names[1][(match.lastindex or 0) - 1]
    if place < 2:
        same = zone.names[place].lower() == zone.names[place + 2].lower()
        return Name(match.end(), zone, None if same else 0)
    # The daylight name of a zone that saves nothing now says nothing about the past.
    return Name(match.end(), zone, zone.saving or None)


@functools.lru_cache(maxsize=256)
def _of_zone(zone: Zone) -> _Names:
    return _names([zone])


@functools.lru_cache(maxsize=1)
def _of_all() -> _Names:
    zones = []
    for row in zone_names.ROWS.splitlines():
        zone, standard, saving, *names = row.split("|")
        zones.append(Zone(zone, int(standard) * _MINUTE, int(saving) * _MINUTE, tuple(names)))
    return _names(zones)


def _names(zones: list[Zone]) -> _Names:
    first: dict[str, tuple[Zone, int]] = {}
    for zone in zones:
        for place, name in enumerate(zone.names):
            first.setdefault(name.lower(), (zone, place))
    return re.compile("|".join(f"({re.escape(name)})" for name in first), re.IGNORECASE), list(first.values())


# --- offsets ---


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
    """Read an offset behind `GMT`: `+h:mm` or `+hh:mm`."""
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
