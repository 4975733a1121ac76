"""
Levels of log lines, where one may begin, and when a text names a connector. Used by `log_lines.py`, here and in the command
line.
"""

from __future__ import annotations

import re

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""The least severe first."""
_PYTHONS = {"WARNING": "WARN", "CRITICAL": "FATAL"}


_LIKE_A_LINE = re.compile(r"\n(?=\d{4}-\d\d-\d\d[ T]\d\d:\d\d)")
"""Where a line begins as each of a log does."""


def set_in(text: str) -> str:
    """
    Return a line with what follows it, of which no further line looks like one of the log's own: it may quote a record, or what
    a service has said.
    """
    return _LIKE_A_LINE.sub("\n  ", text)


def level_of(word: str) -> str:
    """Return the level that a line's word means; a word that is none stays."""
    return _PYTHONS.get(word, word)


def mentions(text: str, name: str) -> bool:
    """Whether the name stands there by itself: `orders` is not in `orders-eu`; its task `orders-0` counts."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?:-\d+)?(?![\w-]|\.\w)", text) is not None
