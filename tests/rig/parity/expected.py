"""
A difference that is expected: what it covers, and which of what it says was met in a run.

The list is in `known.py`. Called by `run.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.rig.parity.compare import Difference, shown


@dataclass(frozen=True)
class Place:
    """Where in an answer, and what is there as JSON: patterns, each for the whole text. `(absent)` is what is not there."""

    where: str
    theirs: str = r".*"
    ours: str = r".*"

    def covers(self, difference: Difference) -> bool:
        told = (
            (self.where, difference.where),
            (self.theirs, shown(difference.theirs)),
            (self.ours, shown(difference.ours)),
        )
        return all(re.fullmatch(pattern, text, re.DOTALL) for pattern, text in told)


def answered(theirs: int, ours: int, their_message: str, our_message: str) -> tuple[Place, ...]:
    """Both refuse, with another status, and with other words."""
    return (
        Place(r"status|body\.error_code", str(theirs), str(ours)),
        Place(r"body\.message", their_message, our_message),
    )


@dataclass(frozen=True)
class Known:
    """`row` begins a row of the table in docs/compatibility.md; `title` is a pattern of the titles of requests."""

    id: str
    row: str
    title: str
    places: tuple[Place, ...]

    def place(self, difference: Difference) -> Place | None:
        """The place that covers a difference."""
        if not re.fullmatch(self.title, difference.title):
            return None
        return next((place for place in self.places if place.covers(difference)), None)


@dataclass(frozen=True)
class Found:
    """A difference, and the place of a known one that covers it, if any does."""

    difference: Difference
    known: Known | None = None
    place: Place | None = None


def found(difference: Difference, known: Iterable[Known]) -> Found:
    for each in known:
        place = each.place(difference)
        if place is not None:
            return Found(difference, each, place)
    return Found(difference)


def unmet(known: Sequence[Known], met: Iterable[Found]) -> list[str]:
    """The places that no difference was found at: what no longer differs must not be listed."""
    seen = {(each.known.id, each.place) for each in met if each.known is not None}
    return [f"{each.id}: {place.where}" for each in known for place in each.places if (each.id, place) not in seen]
