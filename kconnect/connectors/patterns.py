"""
Regular expressions of configs, on texts that others write: names of files, above all.

Python's own try as many ways as there are to split a text, and all that runs in the process stands still meanwhile: a file of a
well-chosen name would stop every connector of a host. These have a limit of time, and let others run. Used by
`objects/source_settings.py`.
"""

from __future__ import annotations

import re
from typing import Any

import regex

from kconnect.api import DataError

LONGEST_S = 1.0
"""For one text: most take millionths of that."""
_TRIES = 2
_SHOWN = 80
_LARGEST = 100_000
"""With its repetitions written out, as regex keeps it: that takes some 50 MB. Nothing limits the time to read one."""
_PIECES = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]?|\{(\d+)(?:,(\d*))?\}|\{,(\d+)\}|.", re.DOTALL)

_FLAGS = re.compile(r"\?[A-Za-z0-9]*(?:-[A-Za-z0-9]*)?\)")
_BLANKS = re.compile(r"\?#|\?[A-Za-z0-9]*x")
"""A comment, or the flag by which blanks and comments are passed over: what is in them may look like a group, and be none."""

error: type[Exception] = regex.error
"""What no pattern raises."""


class LateError(DataError):
    """An error that looking for a pattern in a text takes longer than it may."""


class Pattern:
    """
    `text` is as for Python's `re`, without comments. Raises `error` if it is none, or one with too many repetitions within each
    other.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        _check_size(text)
        self._compiled = regex.compile(text, regex.V0)

    def search(self, text: str) -> bool:
        """Return whether it is anywhere in the text. LateError if nobody knows in time."""
        return self._within(self._compiled.search, text)

    def fullmatch(self, text: str) -> bool:
        """Return whether it is the whole text. LateError if nobody knows in time."""
        return self._within(self._compiled.fullmatch, text)

    def _within(self, look: Any, text: str) -> bool:
        for _ in range(_TRIES):
            try:
                return look(text, timeout=LONGEST_S) is not None
            except TimeoutError:
                # Once is not enough: a machine that has stood still says nothing of the pattern.
                continue
        raise LateError(
            f"it takes more than {LONGEST_S:g} s to look for the pattern {self.text} in {text[:_SHOWN]!a}: write it so that "
            "there are not many ways to split a text, as (a|aa)+ has"
        )


def _check_size(text: str) -> None:
    """Raise `error` for a pattern that is larger than `_LARGEST`. A group counts as often as it is to be repeated."""
    groups, last, size = [0], 0, 0
    for piece in _PIECES.finditer(text):
        letter = piece[0]
        if _hides(text, piece):
            raise error("it has a comment, (?x), flags that are not at its beginning, or [:…:]: write it without these")
        if letter == "(":
            groups.append(0)
            continue
        if letter == ")" and len(groups) > 1:
            last = groups.pop() + 1
            added = 1
            groups[-1] += last
        elif piece.lastindex is not None:
            times = max(_number(digits) for digits in piece.groups() if digits)
            added = last * (times - 1)
            groups[-1] += added
            last *= times
        elif letter in "*+?":
            continue
        else:
            last = added = 1
            groups[-1] += 1
        size += added
        if size > _LARGEST:
            raise error(f"with its repetitions written out it has more than {_LARGEST} characters: repeat less, as by * or +")


def _hides(text: str, piece: re.Match[str]) -> bool:
    """
    Whether a piece is one that `regex` passes over between a group and its count, or has brackets that Python's `re` takes for
    others: whose count it is that follows, nobody knows then.
    """
    if piece[0] == "(":
        return bool(_BLANKS.match(text, piece.end()) or (piece.start() and _FLAGS.match(text, piece.end())))
    return piece[0][0] == "[" and "[:" in piece[0][1:]


def _number(digits: str) -> int:
    # Python reads no number of thousands of digits.
    shortened = digits.lstrip("0")[: len(str(_LARGEST)) + 1]
    return max(int(shortened or "0"), 1)
