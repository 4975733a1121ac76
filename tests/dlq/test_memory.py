"""What is noted of replays, and read again."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from kconnect.dlq.memory import Done
from kconnect.errors import ConflictError


def alone(offsets: Iterable[int]) -> list[tuple[int, int]]:
    return [(offset, offset) for offset in offsets]


def test_what_is_done_from_the_beginning_is_one_offset() -> None:
    done = Done().plus(alone([0, 1, 2]), low=0)
    assert (done.end, done.metadata) == (3, "")
    assert 2 in done and 3 not in done


def test_what_is_done_beyond_is_in_the_metadata_until_the_gap_is_closed() -> None:
    done = Done().plus(alone([4, 2, 3, 7]), low=0)
    assert (done.end, done.metadata) == (0, "done:2-4,7")
    done = done.plus(alone([0, 1]), low=0)
    assert (done.end, done.metadata) == (5, "done:7")
    assert [offset for offset in range(9) if offset in done] == [0, 1, 2, 3, 4, 7]


def test_what_was_dropped_is_no_gap() -> None:
    assert Done().plus(alone([10, 12]), low=10).metadata == "done:12"
    assert Done().plus(alone([10]), low=10).end == 11


def test_offsets_that_hold_no_letter_are_no_gaps() -> None:
    # As letters of transactions stand: each is followed by a marker.
    done = Done().plus([(0, 0), (1, 2), (3, 4), (7, 8)], low=0)
    assert (done.end, done.metadata) == (5, "done:7-8")
    assert Done().plus([(2 * n - 1, 2 * n) for n in range(1, 4000)], low=0).metadata == "done:1-7998"


def test_it_is_read_as_it_was_written() -> None:
    chance = random.Random(7)
    for _ in range(200):
        low = chance.randrange(5)
        done = Done()
        offsets: set[int] = set()
        for _ in range(4):
            more = {chance.randrange(low, 40) for _ in range(chance.randrange(8))}
            offsets |= more
            done = done.plus(alone(more), low)
            read = Done.read(done.end, done.metadata, high=40)
            assert read == done
            assert {offset for offset in range(low, 40) if offset in read} == offsets


def test_nothing_is_done_of_a_queue_that_was_made_anew() -> None:
    assert Done.read(8, "", high=3) == Done()
    assert Done.read(-1001, None, high=3) == Done()


def test_somebody_elses_commit_is_not_taken_for_a_note() -> None:
    with pytest.raises(ConflictError, match="was not written by kconnect"):
        Done.read(2, "leader-epoch-4", high=9)


def test_a_note_that_brokers_would_refuse_is_refused_before() -> None:
    with pytest.raises(ConflictError, match="too scattered"):
        _ = Done().plus(alone(range(1, 4000, 2)), low=0).metadata
