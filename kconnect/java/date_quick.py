"""
A fast path for most texts: plain digits, for a pattern of numbers, in which each field occurs once and no year has two digits.

It uses one regular expression and some arithmetic instead of a step for each part. `dates.py` calls it first. Other texts are
left to `date_reading.py`, which must read every text that this module reads to the same moment.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections.abc import Callable, Sequence

from kconnect.java import civil_calendar as calendar
from kconnect.java.date_patterns import Part

_DEFAULTS = {"y": 1970, "M": 1, "d": 1, "H": 0, "m": 0, "s": 0, "S": 0}
"""The letters of numbers, in the order of size, each with what is meant if it is not there."""

_HOUR, _MINUTE = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_OFFSETS = {
    ("X", 1): f"Z|[+-]{_HOUR}",
    ("X", 2): f"Z|[+-]{_HOUR}{_MINUTE}",
    ("X", 3): f"Z|[+-]{_HOUR}:{_MINUTE}",
}
_RFC_822 = f"[+-]{_HOUR}{_MINUTE}"
_DIGITS = 9
"""More may be too large for Java's int."""


def reader(parts: Sequence[Part]) -> Callable[[str], tuple[int, int] | None] | None:
    """
    Return a function that returns the moment of a text, and how much of it was read. Either returns None where this way does
    not apply.
    """
    letters = [part.letter for part in parts if part.letter]
    supported = {*_DEFAULTS, "X", "Z"}
    if not letters or len({*letters}) < len(letters) or not supported.issuperset(letters) or {"X", "Z"}.issubset(letters):
        return None
    form = ""
    for part, after in itertools.zip_longest(parts, parts[1:]):
        read = re.escape(part.literal) if not part.letter else _group(part, after)
        if read is None:
            return None
        form += read
    return _Quick(re.compile(form))


def _group(part: Part, after: Part | None) -> str | None:
    letter, times, _ = part
    if letter in "XZ":
        return f"(?P<{letter}>{_OFFSETS.get((letter, times), _RFC_822)})"
    if (letter == "y" and times <= 2) or not part.is_number:
        return None
    if after is not None and after.is_number:
        return f"(?P<{letter}>[0-9]{{{times}}})" if times <= _DIGITS else None
    # Neither more digits, of any script, nor an exponent may follow.
    return rf"(?P<{letter}>[0-9]{{1,{_DIGITS}}})(?![\dE])"


class _Numbers(dict[str, int]):
    """Small numbers by their digits; looking them up is quicker than `int`."""

    def __missing__(self, digits: str) -> int:
        return int(digits)


_number = _Numbers(
    {f"{number:0{width}}": number for width in (1, 2, 3, 4) for number in range(min(10**width, 2100))}
).__getitem__


class _Quick:
    def __init__(self, pattern: re.Pattern[str]) -> None:
        letters = list(pattern.groupindex)
        self._match = pattern.match
        self._zone = next((place for place, letter in enumerate(letters) if letter in "XZ"), None)
        if self._zone is not None:
            del letters[self._zone]
        missing = [letter for letter in _DEFAULTS if letter not in letters]
        self._defaults = [_DEFAULTS[letter] for letter in missing]
        self._sorted = operator.itemgetter(*map([*letters, *missing].index, _DEFAULTS))

    def __call__(self, text: str) -> tuple[int, int] | None:
        match = self._match(text)
        if match is None:
            return None
        texts = match.groups()
        offset = 0
        if self._zone is not None:
            offset = _offset(texts[self._zone])
            texts = texts[: self._zone] + texts[self._zone + 1 :]
        year, month, day, hour, minute, second, milli = self._sorted([*map(_number, texts), *self._defaults])
        if not (1600 <= year <= 9999 and month <= 9999):
            # Nothing of the Julian calendar, and nothing beyond Java's long.
            return None
        if 1 <= month <= 12:
            first = calendar.gregorian(year, month - 1)
        else:
            years, month = divmod(month - 1, 12)
            first = calendar.gregorian(year + years, month)
        seconds = (((first + day - 1) * 24 + hour) * 60 + minute) * 60 + second
        return seconds * 1000 + milli - offset, match.end()


@functools.lru_cache(maxsize=256)
def _offset(text: str) -> int:
    if text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return 60_000 * (minutes if text[0] == "+" else -minutes)
