"""
Versions of plugins as KIP-891 uses them: Maven's order of versions, and Maven's ranges. docs/versions.md says what this means
for Python's versions. Why not `packaging`, which reads Python's versions: it gets 45 of the 119 golden cases right.

`requirement` reads the text of a `*.plugin.version` setting; validators call it, and a bad text raises `VersionRangeError`.
`choose` returns the newest version that a requirement allows. `kconnect/plugins` calls it if several locations hold one plugin.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

LATEST = "latest"

UNDEFINED = "undefined"
"""The version of a plugin that has none, in Connect's word."""


class VersionRangeError(ValueError):
    """The text of a version setting that is no version and no range."""


class VersionNotFoundError(ValueError):
    """An error that no installed version is in the range."""


# A qualifier's rank; unknown ones come after all of these, in the order of their texts. "" is the release itself.
_RELEASE = "5"
_RANKS = {
    "alpha": "0",
    "beta": "1",
    "milestone": "2",
    "rc": "3",
    "cr": "3",
    "snapshot": "4",
    "": _RELEASE,
    "ga": _RELEASE,
    "final": _RELEASE,
    "release": _RELEASE,
    "sp": "6",
}
_BEFORE_DIGIT = {"a": "alpha", "b": "beta", "m": "milestone"}
_LEADING_LETTERS = re.compile(r"[^0-9]*")

# What a version is made of. A number is an int; `_Word` a qualifier; `_WordNumber` a qualifier and the number that belongs to
# it (rc1, rc-1); a list what follows a dash or stands between digits and letters.


@dataclass(frozen=True)
class _Word:
    rank: str


@dataclass(frozen=True)
class _WordNumber:
    rank: str
    number: int


_Item = int | _Word | _WordNumber | list[Any]


def compare(left: str, right: str) -> int:
    """Below, at or above 0, as `left` is older than, as old as, or newer than `right`."""
    return 0 if left == right else _compare(_parse(left), _parse(right))


def _rank(word: str, before_digit: bool) -> str:
    if before_digit:
        word = _BEFORE_DIGIT.get(word, word)
    return _RANKS.get(word) or f"7-{word}"


def _item(text: str, digits: bool, joined: bool) -> _Item:
    if joined:
        near = "-" not in text  # "b1" is beta 1, "b-1" is an unknown word and 1
        text = text.replace("-", "")
        letters = _LEADING_LETTERS.match(text)
        end = letters.end() if letters else 0
        rank = _rank(text[:end], near)
        # "ga7" is no release any more: it comes after all other qualifiers.
        return _WordNumber("8" if rank == _RELEASE else rank, int(text[end:]))
    return int(text) if digits else _Word(_rank(text, False))


@functools.lru_cache(maxsize=1024)
def _parse(version: str) -> list[_Item]:
    text = version.lower()
    top: list[_Item] = []
    lists = [top]

    def deeper() -> None:
        inner: list[_Item] = []
        lists[-1].append(inner)
        lists.append(inner)

    digits = joined = False
    start = 0
    for index, char in enumerate(text):
        if char == ".":
            lists[-1].append(0 if index == start else _item(text[start:index], digits, joined))
            joined = False
            start = index + 1
        elif char == "-":
            if index == start:
                lists[-1].append(0)
            else:
                if not digits and "0" <= text[index + 1 : index + 2] <= "9":
                    # "rc-1" is "rc1".
                    joined = True
                    continue
                lists[-1].append(_item(text[start:index], digits, joined))
            start = index + 1
            if lists[-1]:
                deeper()
            joined = False
        elif "0" <= char <= "9":
            if not digits and index > start:
                joined = True
                if lists[-1]:
                    deeper()
            digits = True
        else:
            if digits and index > start:
                lists[-1].append(_item(text[start:index], True, joined))
                start = index
                deeper()
                joined = False
            digits = False
    if len(text) > start:
        if not digits and lists[-1]:
            # ".foo" at the end is "-foo".
            deeper()
        lists[-1].append(_item(text[start:], digits, joined))
    for items in reversed(lists):
        _drop_nothings(items)
    return top


def _drop_nothings(items: list[_Item]) -> None:
    """Zeros and release words count for nothing at the end, and before a qualifier that stands deeper."""
    for index in range(len(items) - 1, -1, -1):
        if not _is_nothing(items[index]):
            continue
        after = items[index + 1] if index + 1 < len(items) else None
        if after is None or (isinstance(after, list) and after and isinstance(after[0], _Word | _WordNumber)):
            del items[index]


def _is_nothing(item: _Item) -> bool:
    if isinstance(item, list):
        return not item
    return item == 0 or (isinstance(item, _Word) and item.rank == _RELEASE)


def _compare_to_nothing(item: _Item) -> int:
    if isinstance(item, int):
        return 1 if item else 0
    if isinstance(item, list):
        return next(filter(None, map(_compare_to_nothing, item)), 0)
    return (item.rank > _RELEASE) - (item.rank < _RELEASE)


def _compare(left: _Item | None, right: _Item | None) -> int:
    if right is None:
        return 0 if left is None else _compare_to_nothing(left)
    if left is None:
        return -_compare_to_nothing(right)
    if isinstance(left, int):
        return (left > right) - (left < right) if isinstance(right, int) else 1
    if isinstance(right, int):
        return -1
    if isinstance(left, list) and isinstance(right, list):
        for index in range(max(len(left), len(right))):
            order = _compare(left[index] if index < len(left) else None, right[index] if index < len(right) else None)
            if order:
                return order
        return 0
    if isinstance(left, list):
        return 1
    if isinstance(right, list):
        return -1
    if left.rank != right.rank:
        return 1 if left.rank > right.rank else -1
    left_number = left.number if isinstance(left, _WordNumber) else 0
    right_number = right.number if isinstance(right, _WordNumber) else 0
    return (left_number > right_number) - (left_number < right_number)


_maven = functools.cmp_to_key(compare)


def key(version: str) -> tuple[bool, Any]:
    """
    Return a key for `sorted` and `max`: the oldest version comes first. A plugin without a version is older than all others, as
    KIP-891 says.
    """
    return version != UNDEFINED, _maven(version)


@dataclass(frozen=True)
class Interval:
    """The interval from `lower` to `upper`; None is no bound. The text is Maven's."""

    lower: str | None
    lower_inclusive: bool
    upper: str | None
    upper_inclusive: bool

    def __contains__(self, version: str) -> bool:
        if self.lower is not None:
            order = compare(self.lower, version)
            if order > 0 or (order == 0 and not self.lower_inclusive):
                return False
        if self.upper is not None:
            order = compare(self.upper, version)
            if order < 0 or (order == 0 and not self.upper_inclusive):
                return False
        return True

    def __str__(self) -> str:
        left, right = "[" if self.lower_inclusive else "(", "]" if self.upper_inclusive else ")"
        return f"{left}{self.lower or ''},{self.upper or ''}{right}"


@dataclass(frozen=True)
class VersionRange:
    intervals: tuple[Interval, ...]

    def __contains__(self, version: str) -> bool:
        return any(version in interval for interval in self.intervals)

    def __str__(self) -> str:
        return ",".join(map(str, self.intervals))


def requirement(spec: str | None) -> VersionRange | None:
    """
    Parse a version setting; None is "the newest".

    A bare version is a hard pin, unlike Maven's own soft meaning.

    Raises:
        VersionRangeError: with Maven's message.
    """
    if spec is None or spec == LATEST:
        return None
    spec = _trim(spec)
    _parse_range(spec)  # before the brackets: its message quotes what it was given
    return _parse_range(spec if spec.startswith(("[", "(")) else f"[{spec}]")


def is_range(spec: str) -> bool:
    """Whether the text is no single version, be it only by its brackets."""
    return not {*"[](),"}.isdisjoint(spec)


def choose(plugin: str, available: Sequence[str], spec: str | None) -> str:
    """
    The newest of the `available` versions that `spec` allows; of equally new ones the last, as its location is the last.

    Raises:
        VersionRangeError, VersionNotFoundError: with Connect's messages.
    """
    interval = requirement(spec)
    chosen = newest(available if interval is None else (version for version in available if version in interval))
    if chosen is None:
        raise VersionNotFoundError(
            f"Plugin {plugin} not found that matches the version range {interval}, "
            f"available versions: [{', '.join(oldest_first(available))}]"
        )
    return chosen


def oldest_first(versions: Iterable[str]) -> list[str]:
    return sorted(versions, key=key)


def newest(versions: Iterable[str]) -> str | None:
    ordered = oldest_first(versions)
    return ordered[-1] if ordered else None


def _trim(text: str) -> str:
    # Java's trim takes all control characters and leaves every other white space.
    return text.strip("".join(map(chr, range(33))))


def _parse_range(spec: str) -> VersionRange:
    intervals: list[Interval] = []
    rest = spec
    upper: str | None = None
    while rest.startswith(("[", "(")):
        ends = [end for end in (rest.find(")"), rest.find("]")) if end >= 0]
        if not ends:
            raise VersionRangeError(f"Unbounded range: {spec}")
        end = min(ends) + 1
        interval = _parse_interval(rest[:end])
        if upper is not None and (interval.lower is None or compare(interval.lower, upper) < 0):
            raise VersionRangeError(f"Ranges overlap: {spec}")
        intervals.append(interval)
        upper = interval.upper
        rest = _trim(rest[end:])
        if rest.startswith(","):
            rest = _trim(rest[1:])
    if rest and intervals:
        raise VersionRangeError(f"Only fully-qualified sets allowed in multiple set scenario: {spec}")
    return VersionRange(tuple(intervals))


def _parse_interval(text: str) -> Interval:
    lower_inclusive, upper_inclusive = text.startswith("["), text.endswith("]")
    inner = _trim(text[1:-1])
    lower, comma, upper = inner.partition(",")
    if not comma:
        if not (lower_inclusive and upper_inclusive):
            raise VersionRangeError(f"Single version must be surrounded by []: {text}")
        return Interval(inner, True, inner, True)
    interval = Interval(_trim(lower) or None, lower_inclusive, _trim(upper) or None, upper_inclusive)
    if interval.lower is not None and interval.upper is not None:
        order = compare(interval.lower, interval.upper)
        if order > 0 or (order == 0 and not (lower_inclusive and upper_inclusive)):
            raise VersionRangeError(f"Range defies version ordering: {text}")
    return interval
