"""
How large a record may become by what a transform adds to it: parts of it over and over, or a text of the config in many fields.

In memory each of them is a reference, so that of half a megabyte a record of ten gigabytes is made in no time. It takes its
host's memory once it is written; and a chain may double what each of its transforms gets. Used by those that may add much.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from kconnect.api import DataError, Struct

MOST = 128 * 1024 * 1024
"""In characters and bytes, with `_PART` for each part: a record to which much was added."""
FREE = 64 * 1024
"""So much may each transform of a chain add to a record before the whole of it is looked at."""
_PART, _LOOKED_AT = 64, 1024 * 1024
"""What a number takes, about; and how much of a value that is added is looked at, as most records are looked at once only."""
_SMALL = frozenset((int, float, bool, type(None)))


class Growth:
    """Counts what one transform adds to one record. Its errors have the transform's name."""

    def __init__(self, transform: str) -> None:
        self._transform, self._size = transform, 0

    def note(self, value: Any) -> None:
        """Count a value that is added. DataError if it is too much by itself."""
        kind = type(value)
        # Most are a number or a text.
        if kind is str or kind is bytes:
            self._size += _PART + len(value)
        else:
            self._size += _PART if kind in _SMALL else _size((value,), _LOOKED_AT)
        if self._size > MOST:
            self._refuse()

    def check(self, record: Any) -> Any:
        """Return the record with what was added. DataError if that is much, and the record has too much by now."""
        if self._size > FREE:
            parts = [record.key, record.value, *(header.value for header in record.headers)]
            if _size(parts, MOST) > MOST:
                self._refuse()
        return record

    def _refuse(self) -> None:
        raise DataError(
            f"{self._transform} would make a record of more than {MOST} characters of it, by the same parts over and over"
        )


def _size(values: Iterable[Any], most: int) -> int:
    """Return about how large values are as they are written. What is larger than `most` is not looked at to its end."""
    size, waiting = 0, list(values)
    while waiting and size <= most:
        value = waiting.pop()
        kind = type(value)
        size += _PART
        if kind is str or kind is bytes:
            size += len(value)
        elif kind in _SMALL:
            continue
        elif kind is Struct:
            waiting += value.values
        elif isinstance(value, dict):
            waiting += value
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
        else:
            size += sys.getsizeof(value)
    return size
