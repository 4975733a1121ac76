"""What `scripts/chaos --backfill` compares with: each kind of loss is found, and nothing else."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.rig.chaos.backfill import Change, Event, wrong

CHANGES = {2: [Change("u", 100), Change("u", 101), Change("d", 101), Change("c", 102)], 9: [Change("c", 103)]}
RIGHT = [
    *((1, Event("r", 1)), (2, Event("r", 100)), (3, Event("r", 3))),
    *((2, Event("u", 101)), (2, Event("d", 101)), (2, Event("c", 102)), (9, Event("c", 103))),
]


def test_what_is_right_is_right() -> None:
    assert wrong(3, CHANGES, RIGHT, strict=True) == Counter()
    # At least once: a copy comes again.
    assert wrong(3, CHANGES, [RIGHT[0], *RIGHT], strict=True) == Counter()


def test_a_copy_of_another_snapshot_is_right_if_the_first_was_lost() -> None:
    later = [(1, Event("r", 1)), (2, Event("r", 101)), *RIGHT[2:]]
    assert wrong(3, CHANGES, later, strict=False) == Counter()
    assert wrong(3, CHANGES, later, strict=True).total() == 1
    gone = [event for event in RIGHT if event != (2, Event("r", 100))]
    assert wrong(3, CHANGES, gone, strict=False) == Counter()
    assert wrong(3, CHANGES, gone, strict=True).total() == 1


@pytest.mark.parametrize("number", range(len(RIGHT)))
@pytest.mark.parametrize("strict", [True, False])
def test_what_is_taken_away_is_found(number: int, strict: bool) -> None:
    left = [*RIGHT[:number], *RIGHT[number + 1 :]]
    is_seen_otherwise = not strict and RIGHT[number] == (2, Event("r", 100))
    # Of the first of a key's changes nobody can say that it was not in the snapshot, but for the copy, which is older.
    assert bool(wrong(3, CHANGES, left, strict)) != is_seen_otherwise


@pytest.mark.parametrize(
    "event", [(1, Event("r", 2)), (4, Event("r", 4)), (2, Event("r", 102)), (2, Event("u", 100)), (3, Event("u", 3))]
)
def test_what_nobody_has_done_is_found(event: tuple[int, Event]) -> None:
    assert wrong(3, CHANGES, [*RIGHT, event], strict=False)
    # In its place, what a later snapshot or an earlier stream would have is right.
    is_possible = event in ((2, Event("r", 102)), (2, Event("u", 100)))
    assert bool(wrong(3, CHANGES, [*RIGHT[:3], event, *RIGHT[3:]], strict=False)) != is_possible
