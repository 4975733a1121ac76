"""
Values of SQLite's columns, which take values of any type: those that are what the column declares, and no others.

Python's own conversions make something of nearly everything: as many zeros as a number says, true of the text `false`, a text
of bytes that looks like Python. Called by `fields.py`.
"""

from __future__ import annotations

import datetime
from typing import Any

from kconnect.api import DataError
from kconnect.connectors.common import integer

_BOOLEANS = {0: False, 1: True, "false": False, "true": True}


def whole(value: Any) -> int:
    """Return an integer. DataError for a fraction."""
    number = integer(value)
    if number != value:
        raise DataError(f"{value!r:.40} is no integer")
    return number


def double(value: Any) -> float:
    """Return a floating point number. DataError for an integer that would be another one."""
    number = float(value)
    if isinstance(value, int) and number != value:
        raise DataError(f"{value} has no place in a floating point number")
    return number


def boolean(value: Any) -> bool:
    """Return whether it is 1, or the text `true`. DataError for anything but these, 0 and `false`."""
    truth = _BOOLEANS.get(value.lower() if isinstance(value, str) else value)
    if truth is None:
        raise DataError(f"{value!r:.40} is no boolean: these are 0 and 1")
    return truth


def blob(value: Any) -> bytes:
    """Return bytes. DataError for anything else."""
    if not isinstance(value, bytes):
        raise DataError(f"{value!r:.40} has no place in BYTES")
    return value


def text(value: Any) -> str:
    """Return a text, or that of a number. DataError for bytes."""
    if isinstance(value, bytes):
        raise DataError("bytes have no place in STRING")
    return value if isinstance(value, str) else str(value)


def day(value: datetime.datetime) -> datetime.datetime:
    """Return a date. DataError for one that has a time."""
    if value.time() != datetime.time():
        raise DataError(f"{value.isoformat(' ')} has a time, and a date has none")
    return value
