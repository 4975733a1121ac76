"""
How much a made-up record may be: a config decides it, and many connectors share a process.

A value weighs one, and each 64 characters or bytes of it one more. Used by `schemas.py` and `task.py`. Read next:
`generators.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

try:
    from re import _parser as parser
except ImportError:
    import sre_parse as parser  # Python 3.10

HEAVIEST = 100_000
"""Of a record."""
AT_ONCE = 1_000_000
"""Of the records that are made together."""
LONGEST_MATCH = 10_000
"""Of a text that is made by a regular expression, in characters: thousands of them are kept."""
_TEXT = 64
_MORE = 100
"""So many times at most rstr repeats what may be repeated without an end."""


def of_text(length: int) -> int:
    """Return what a text, or bytes, of a length weigh."""
    return 1 + length // _TEXT


def longest_match(regex: str) -> int:
    """Return how long a text that rstr makes by a regular expression may be. re.error if it is none."""
    return _longest(parser.parse(regex))


def _longest(parsed: Iterable[tuple[Any, Any]]) -> int:
    length = 0
    for operation, argument in parsed:
        match str(operation):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = argument
                length += (low + _MORE if high == parser.MAXREPEAT else high) * _longest(inner)
            case "SUBPATTERN":
                length += _longest(argument[-1])
            case "BRANCH":
                length += max(map(_longest, argument[1]), default=0)
            case "ATOMIC_GROUP":
                length += _longest(argument)
            case "GROUPREF" | "GROUPREF_EXISTS":
                # What a group has matched, which is no longer than all of it.
                length = 2 * length + 1
            case "AT" | "ASSERT" | "ASSERT_NOT":
                pass
            case _:
                length += 1
    return length
