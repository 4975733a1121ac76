"""Where a rewind moves each partition."""

from __future__ import annotations

from kconnect.kafka import moves as plan
from kconnect.kafka.positions import Place, Span

A, B, C = Place("t", 0), Place("t", 1), Place("t", 2)
SPANS = {A: Span(10, 100), B: Span(0, 50), C: Span(5, 20)}


def moved(moves: list[plan.Move]) -> dict[Place, tuple[int | None, int, int, int]]:
    return {move.place: (move.now, move.new, move.again, move.skipped) for move in moves}


def test_to_a_time() -> None:
    at = {A: 40, B: None, C: 7}
    assert moved(plan.to_times({A: 90, B: 20}, SPANS, at)) == {
        A: (90, 40, 50, 0),
        # All records are older: the end, which skips what had not come.
        B: (20, 50, 0, 30),
        # It would have begun with the first record.
        C: (None, 7, 0, 2),
    }


def test_to_the_ends() -> None:
    now = {A: 90, B: 50}
    assert moved(plan.to_earliest(now, SPANS)) == {A: (90, 10, 80, 0), B: (50, 0, 50, 0), C: (None, 5, 0, 0)}
    assert moved(plan.to_latest(now, SPANS)) == {A: (90, 100, 0, 10), B: (50, 50, 0, 0), C: (None, 20, 0, 15)}
    assert [move.place for move in plan.to_latest(now, SPANS) if move.changes] == [A, C]


def test_back_by_a_number_stays_where_records_are() -> None:
    # C has committed nothing; B's topic was made anew, and is shorter now than its offset; A goes before its first record.
    assert moved(plan.back_by({A: 30, B: 70}, SPANS, 25)) == {A: (30, 10, 20, 0), B: (70, 45, 5, 0)}
    assert moved(plan.back_by({B: 90}, SPANS, 25)) == {B: (90, 50, 0, 0)}
