"""
The headers of dead letters: those that Connect defines (KIP-298), and the mark of those that a record brought along.

Whoever may write a record to a topic can give it any headers, also such as a report writes. `units/reports.py` marks these
before it adds its own, so that in a letter of this product an unmarked header of the kind is the report's. `dlq/letters.py`
reads them, and takes the mark off when a record is replayed.
"""

from __future__ import annotations

from collections.abc import Iterable

Headers = list[tuple[str, "bytes | None"]]

CONTEXT = "__connect.errors."
"""Every header of a report begins with it."""
BROUGHT = "__kconnect.dlq.brought."
"""Stands before the name of a header that the record brought along, and that only a report may write."""

OMITTED = "__kconnect.dlq.omitted"
"""
The header of a letter whose record is too large for the queue: such a letter has no key, no value and no headers of the record,
and this says how large they were.
"""


def mark(headers: Iterable[tuple[str, bytes | None]]) -> Headers:
    """Return a record's headers for its letter: names that only a report may write are marked."""
    return [(BROUGHT + name if name.startswith((CONTEXT, BROUGHT, OMITTED)) else name, data) for name, data in headers]


def unmark(name: str) -> str:
    """Return the name that the header had in the record."""
    return name.removeprefix(BROUGHT)
