"""Timestamps and durations of CEL: read from text, written as text, and taken apart. Called by `functions.py`."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any

from kconnect.cel.syntax import CelError

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_SECOND = datetime.timedelta(seconds=1)
_MICRO = datetime.timedelta(microseconds=1)
_LONGEST = datetime.timedelta(seconds=315_576_000_000)

_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)
_DURATION = re.compile(r"([+-]?)((?:(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:h|ms|m|s|us|ns))+|0)", re.ASCII)
_PART = re.compile(r"(\d*)\.?(\d*)(h|ms|m|s|us|ns)", re.ASCII)
_NANOS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)


def timestamp(text: str) -> datetime.datetime:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise CelError(f"{_short(text)} is not a timestamp such as 2024-01-31T12:00:00Z")
    *parts, fraction, sign, hours, minutes = match.groups()
    micros = int((fraction or "0").ljust(9, "0")) // 1000
    try:
        year, month, day, hour, minute, second = map(int, parts)
        moment = datetime.datetime(year, month, day, hour, minute, second, micros, datetime.timezone.utc)
    except ValueError as error:
        raise CelError(f"{_short(text)} is not a timestamp: {error}") from None
    if sign is None:
        return moment
    offset = datetime.timedelta(hours=int(hours), minutes=int(minutes))
    return moved(moment, -offset if sign == "+" else offset)


def of_seconds(seconds: int) -> datetime.datetime:
    if not -62_135_596_800 <= seconds <= 253_402_300_799:
        raise CelError(f"a timestamp must be in the years 1 to 9999, but {seconds} seconds are not")
    return EPOCH + datetime.timedelta(seconds=seconds)


def moved(time: datetime.datetime, by: datetime.timedelta) -> datetime.datetime:
    try:
        return time + by
    except OverflowError:
        raise CelError("a timestamp must be in the years 1 to 9999") from None


def checked(length: datetime.timedelta) -> datetime.timedelta:
    if not -_LONGEST <= length <= _LONGEST:
        raise CelError("a duration is at most 10000 years long")
    return length


def duration(text: str) -> datetime.timedelta:
    match = _DURATION.fullmatch(text) if len(text) <= 100 else None
    if match is None:
        raise CelError(f"{_short(text)} is not a duration such as 1h30m or 1.5s")
    nanos = 0
    for whole, fraction, unit in _PART.findall(match[2]):
        nanos += int(whole or 0) * _NANOS[unit] + int(fraction or 0) * _NANOS[unit] // 10 ** len(fraction)
    if nanos > 315_576_000_000 * 10**9:
        raise CelError("a duration is at most 10000 years long")
    length = datetime.timedelta(microseconds=nanos // 1000)
    return -length if match[1] == "-" else length


def timestamp_text(time: datetime.datetime) -> str:
    time = time.astimezone(datetime.timezone.utc)
    fraction = f".{time.microsecond:06}".rstrip("0").rstrip(".") if time.microsecond else ""
    return f"{time.year:04}-{time.month:02}-{time.day:02}T{time.hour:02}:{time.minute:02}:{time.second:02}{fraction}Z"


def duration_text(length: datetime.timedelta) -> str:
    micros = abs(length) // _MICRO
    fraction = f".{micros % 1_000_000:06}".rstrip("0").rstrip(".") if micros % 1_000_000 else ""
    return f"{'-' if length < datetime.timedelta() else ''}{micros // 1_000_000}{fraction}s"


def seconds(time: datetime.datetime) -> int:
    return (time - EPOCH) // _SECOND


_MOST_ZONES = 1024
_zones: dict[str, datetime.tzinfo] = {}
"""Those that have been found; there are six hundred, and some thousand offsets."""


def is_known(zone: str) -> bool:
    """Return whether it is a zone that has been looked for."""
    return zone in _zones


def _zone(name: str) -> datetime.tzinfo:
    zone = _zones.get(name)
    if zone is None:
        zone = _read_zone(name)
        if len(_zones) >= _MOST_ZONES:
            _zones.clear()
        _zones[name] = zone
    return zone


def _read_zone(name: str) -> datetime.tzinfo:
    match = _OFFSET.fullmatch(name)
    if match is not None:
        offset = datetime.timedelta(hours=int(match[2]), minutes=int(match[3]))
        if offset < datetime.timedelta(days=1):
            return datetime.timezone(-offset if match[1] == "-" else offset)
    try:
        return zoneinfo.ZoneInfo(name)
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError):
        raise CelError(f"{_short(name)} is not a time zone") from None


def _local(time: datetime.datetime, zone: str | None) -> datetime.datetime:
    try:
        return time.astimezone(datetime.timezone.utc if zone is None else _zone(zone))
    except OverflowError:
        raise CelError("a timestamp must be in the years 1 to 9999") from None


_OF_TIMESTAMP: Mapping[str, Callable[[datetime.datetime], int]] = {
    "getFullYear": lambda time: time.year,
    "getMonth": lambda time: time.month - 1,
    "getDate": lambda time: time.day,
    "getDayOfMonth": lambda time: time.day - 1,
    "getDayOfWeek": lambda time: time.isoweekday() % 7,
    "getDayOfYear": lambda time: time.timetuple().tm_yday - 1,
    "getHours": lambda time: time.hour,
    "getMinutes": lambda time: time.minute,
    "getSeconds": lambda time: time.second,
    "getMilliseconds": lambda time: time.microsecond // 1000,
}
_OF_DURATION: Mapping[str, Callable[[int], int]] = {
    "getHours": lambda micros: micros // 3_600_000_000,
    "getMinutes": lambda micros: micros // 60_000_000,
    "getSeconds": lambda micros: micros // 1_000_000,
    "getMilliseconds": lambda micros: micros // 1000 % 1000,
}
PARTS = tuple(_OF_TIMESTAMP)


def part(name: str, time: Any, zone: Any = None) -> int | None:
    """A part of a timestamp, in a zone, or of a duration; None if there is no such part of such a value."""
    if type(time) is datetime.datetime and (zone is None or type(zone) is str):
        return _OF_TIMESTAMP[name](_local(time, zone))
    if type(time) is datetime.timedelta and zone is None and name in _OF_DURATION:
        number = _OF_DURATION[name](abs(time) // _MICRO)
        return -number if time < datetime.timedelta() else number
    return None


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
