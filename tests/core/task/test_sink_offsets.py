"""What a sink task may commit: never more than it was given, and only what it agrees to."""

from __future__ import annotations

from kconnect.api.record import OffsetAndMetadata as At
from kconnect.api.record import TopicPartition
from kconnect.core.task.sink_offsets import SinkOffsets

from .records import Message

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def read(offsets: SinkOffsets, *places: tuple[str, int, int], assigned: set[TopicPartition]) -> None:
    offsets.delivered(offsets.read([Message(place) for place in places], assigned))


def test_the_position_is_behind_the_last_record() -> None:
    offsets = SinkOffsets()
    ends = offsets.read([Message(("t", 0, 5)), Message(("t", 0, 9))], {A})
    assert ends == {A: 10}
    assert offsets.current([A]) == {}, "read is not delivered"
    offsets.delivered(ends)
    assert offsets.current([A, B]) == {A: At(10)}


def test_each_partition_has_its_own_position() -> None:
    offsets = SinkOffsets()
    read(offsets, ("t", 0, 5), ("t", 1, 1), ("t", 0, 6), ("t", 1, 2), assigned={A, B})
    assert offsets.current([A, B]) == {A: At(7), B: At(3)}
    assert offsets.current([B]) == {B: At(3)}


def test_nothing_read_is_nothing_to_commit() -> None:
    assert SinkOffsets().read([], {A}) == {}


def test_a_task_may_hold_offsets_back() -> None:
    offsets = SinkOffsets()
    read(offsets, ("t", 0, 0), ("t", 0, 9), assigned={A})
    assert offsets.to_commit({A: At(4)}) == ({A: At(4)}, [])
    offsets.committed({A: At(4)})
    assert offsets.to_commit({A: At(10)}) == ({A: At(10)}, [])


def test_what_was_not_delivered_or_is_not_read_here_is_refused() -> None:
    offsets = SinkOffsets()
    read(offsets, ("t", 0, 3), assigned={A})
    assert offsets.to_commit({A: At(5), B: At(1)}) == ({}, [A, B])


def test_what_is_committed_is_left_out_unless_it_has_a_note() -> None:
    offsets = SinkOffsets()
    read(offsets, ("t", 0, 3), assigned={A})
    offsets.committed({A: At(4)})
    assert offsets.to_commit({A: At(4)}) == ({}, [])
    assert offsets.to_commit({A: At(4, "note")}) == ({A: At(4, "note")}, [])


def test_after_a_failed_flush_reading_goes_back_to_the_last_commit() -> None:
    offsets = SinkOffsets()
    read(offsets, ("t", 0, 3), ("t", 0, 4), assigned={A})
    offsets.committed({A: At(5)})
    read(offsets, ("t", 0, 5), ("t", 0, 6), assigned={A})
    assert offsets.go_back() == {A: 5}
    assert offsets.current([A]) == {A: At(5)}


def test_without_a_commit_it_goes_back_to_where_reading_began() -> None:
    offsets = SinkOffsets()
    read(offsets, ("t", 0, 3), ("t", 1, 8), ("t", 0, 4), assigned={A, B})
    assert offsets.go_back() == {A: 3, B: 8}


def test_a_rewind_takes_back_what_was_delivered_beyond_it() -> None:
    offsets = SinkOffsets()
    read(offsets, ("t", 0, 7), assigned={A})
    offsets.rewound(A, 2)
    assert offsets.current([A]) == {A: At(2)}
    assert offsets.to_commit({A: At(8)}) == ({}, [A])


def test_a_partition_that_went_away_leaves_nothing_behind() -> None:
    offsets = SinkOffsets()
    read(offsets, ("t", 0, 7), ("t", 1, 1), assigned={A, B})
    offsets.closed([A])
    assert offsets.current([A, B]) == {B: At(2)}
    offsets.committed({A: At(8)})
    assert offsets.go_back() == {B: 1}
