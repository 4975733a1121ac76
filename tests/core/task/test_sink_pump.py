"""What a sink task is given and asked, and which offsets are committed, stepped by hand."""

from __future__ import annotations

import pytest

from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.core.task.answers import refusal
from kconnect.core.task.steps import Step
from kconnect.errors import ConnectError, DataError, RetriableError

from .pumps import INTERVAL_S, SinkWorld, message

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def started(*places: TopicPartition, **how: bool) -> SinkWorld:
    world = SinkWorld(**how)  # type: ignore[arg-type]
    world.consumer.assign(*(places or (A,)))
    return world


def values(world: SinkWorld) -> list[object]:
    return [record.value for record in world.taken]


def test_what_was_put_is_committed_when_that_is_due() -> None:
    world = started()
    world.step(message(0, b"a"), message(1, b"b"))
    assert (values(world), world.committed) == (["a", "b"], {})
    world.step(after=INTERVAL_S)
    assert (world.committed, world.calls) == ({0: 2}, ["open [0]", "put", "pre_commit"])


def test_a_task_is_called_without_records_too() -> None:
    """Many tasks flush by time, and this is their clock."""
    world = started()
    puts: list[int] = []
    world.put = lambda records: puts.append(len(records))  # type: ignore[method-assign]
    world.step()
    assert puts == [0]


def test_only_what_the_task_allows_is_committed() -> None:
    world = started()
    world.allows = lambda current: {place: OffsetAndMetadata(at.offset - 1) for place, at in current.items()}
    world.step(message(0), message(1), message(2), after=INTERVAL_S)
    assert world.committed == {0: 2}
    # Beyond what was put, or of a partition that it does not have: that would lose records.
    world.allows = lambda current: {A: OffsetAndMetadata(99), B: OffsetAndMetadata(1)}
    world.step(message(3), after=INTERVAL_S)
    world.step(after=INTERVAL_S)
    assert world.committed == {0: 2}


def test_a_commit_that_is_asked_for_within_pre_commit_is_this_one() -> None:
    """As in Connect: who asks in each call would be called again at once, for ever."""
    world = started()

    def answer(current: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
        world.pump.context.request_commit()
        return current

    world.allows = answer
    world.step(message(0))
    world.pump.context.request_commit()
    for _ in range(5):
        world.step()
    assert world.committed == {0: 1}
    assert world.calls.count("pre_commit") == 1
    world.step(message(1), after=INTERVAL_S)
    assert world.committed == {0: 2}


def test_an_answer_of_pre_commit_that_can_not_be_used_fails_the_task() -> None:
    """Going back, as after another error, it would never commit anything."""
    world = started()

    def answer(current: object) -> dict[TopicPartition, OffsetAndMetadata]:
        raise refusal("com.acme.Task", "preCommit", "null", "a map")

    world.allows = answer
    with pytest.raises(ConnectError, match=r"com\.acme\.Task\.preCommit\(\) returned null, but must return a map"):
        world.step(message(0), after=INTERVAL_S)
    # On the way out it is too late for that: the partitions go.
    world.pump.revoked([A])
    assert world.committed == {}


def test_a_retriable_error_puts_the_very_same_again_and_reads_nothing_meanwhile() -> None:
    world = started()
    world.fails = [RetriableError("busy"), RetriableError("busy")]
    world.pump.context.timeout(5000)
    world.step(message(0, b"a"))
    assert world.consumer.held
    assert world.step(after=4.0) == 5.0, "as the task asked"
    assert world.calls.count("put") == 1
    world.step(after=1.0)
    assert world.calls.count("put") == 2
    world.step(after=1.0)
    assert (values(world), world.consumer.held) == (["a"], False)
    assert world.pump.context.take_timeout() == 1.0, "what the task asked for was for once"


def test_a_task_that_takes_records_out_of_its_list_and_fails_gets_all_of_them_again() -> None:
    world = started()
    world.put = lambda records: records.clear() or fail(RetriableError("busy"))  # type: ignore[method-assign]
    world.step(message(0, b"a"), message(1, b"b"), after=INTERVAL_S)
    del world.put
    world.step(after=2.0)
    assert values(world) == ["a", "b"]


def fail(error: Exception) -> None:
    raise error


def test_a_task_that_can_not_flush_and_letters_that_do_not_come_are_shown() -> None:
    """Else it is RUNNING, and commits nothing."""
    world = started()
    counts = world.pump._ports.counts
    world.cannot_flush = RetriableError("the disk is full")
    world.step(message(0), after=INTERVAL_S)
    assert counts.retrying is not None and counts.retrying[1] == "pre_commit(): RetriableError: the disk is full"
    world.cannot_flush = None
    world.letters.taken = False
    world.step(message(0), after=INTERVAL_S)
    assert counts.retrying is not None
    assert counts.retrying[1] == "committing offsets: the dead letter queue did not accept all records within 5 s"
    world.letters.taken = True
    world.step(after=INTERVAL_S)
    assert counts.retrying is None
    assert world.committed == {0: 1}


def test_nothing_is_committed_of_what_was_not_put() -> None:
    world = started()
    world.step(message(0))
    world.fails = [RetriableError("busy")]
    world.step(message(1), after=INTERVAL_S)
    assert world.committed == {0: 1}


def test_an_error_fails_the_task_and_what_was_put_before_is_committed() -> None:
    world = started()
    world.step(message(0))
    world.fails = [ValueError("a plugin's own")]
    with pytest.raises(ValueError, match="a plugin's own"):
        world.step(message(1))
    world.consumer.revoke(A)
    assert (world.committed, world.calls[-1]) == ({0: 1}, "close [0]")


def test_a_task_that_can_not_flush_goes_back_to_what_is_committed() -> None:
    world = started()
    world.step(message(0), message(1), after=INTERVAL_S)
    world.cannot_flush = ConnectError("the disk is full")
    world.step(message(2), message(3), after=INTERVAL_S)
    assert (world.committed, world.consumer.positions) == ({0: 2}, {A: 2})
    world.cannot_flush = None
    world.step(message(2), message(3))
    world.step(after=INTERVAL_S)
    assert world.committed == {0: 4}


def test_what_is_taken_away_is_committed_first_and_what_is_lost_is_not() -> None:
    world = started(A, B)
    world.step(message(0), message(5, partition=1))
    world.consumer.revoke(A)
    world.consumer.lose(B)
    assert (world.committed, world.calls[1:]) == ({0: 1}, ["put", "pre_commit", "close [0]", "close [1]"])


def test_records_of_a_partition_that_is_taken_away_are_not_put_again() -> None:
    world = started(A, B)
    world.fails = [RetriableError("busy")]
    world.step(message(0, b"gone"), message(5, b"stays", partition=1))
    world.consumer.revoke(A)
    world.step(after=1.0)
    world.step(after=1.0)
    assert (values(world), world.committed) == (["stays"], {})


def test_an_abandoned_task_commits_nothing() -> None:
    world = started()
    world.step(message(0))
    world.life.abandoned = True
    world.consumer.revoke(A)
    assert (world.committed, "pre_commit" in world.calls) == ({}, False)


def test_one_commit_at_a_time_and_a_failed_one_is_tried_again() -> None:
    world = started()
    world.consumer.slow = True
    world.step(message(0), after=INTERVAL_S)
    world.step(message(1), after=INTERVAL_S)
    assert world.calls.count("pre_commit") == 1, "the first has not been answered"
    world.consumer.answer()
    world.consumer.slow, world.consumer.refuses = False, True
    world.step(after=INTERVAL_S)
    assert world.committed == {0: 1}
    world.consumer.refuses = False
    world.step(after=INTERVAL_S)
    assert world.committed == {0: 2}
    assert world.meter.values(world.now, 0)["offset-commit-completion-total"] == 2


def test_a_task_asks_for_a_commit() -> None:
    world = started()
    world.step(message(0))
    world.pump.context.request_commit()
    world.step()
    assert world.committed == {0: 1}


def test_a_task_rewinds_what_it_reads_and_what_it_is_going_to_read() -> None:
    world = started()
    world.step(message(0), message(1), message(2), after=INTERVAL_S)
    world.pump.context.offset(A, 1)
    world.pump.context.offset(B, 7)
    world.step()
    assert world.consumer.positions == {A: 1}
    world.consumer.assign(B)
    assert world.consumer.positions == {A: 1, B: 7}
    world.step(message(1), after=INTERVAL_S)
    assert world.committed == {0: 2}, "back by its own wish"


def test_a_task_pauses_its_own_partitions_only() -> None:
    world = started(A)
    world.pump.context.pause(A)
    assert world.consumer.paused == {A}
    with pytest.raises(ConnectError, match=r"not assigned to this task: \('t', 1\)"):
        world.pump.context.pause(B)


def test_a_paused_connector_reads_nothing_and_is_told_of_once() -> None:
    world = started()
    assert [world.pump.pause(True), world.pump.pause(True)] == [True, False]
    assert world.consumer.held
    assert world.pump.pause(False) and not world.consumer.held


def test_no_offset_is_beyond_a_dead_letter_that_was_not_taken() -> None:
    world = started(tolerant=True)
    world.letters.taken = False
    world.step(message(0, b"bad"), message(1), after=INTERVAL_S)
    assert (values(world), world.committed) == (["v"], {})
    world.letters.taken = True
    world.step(after=INTERVAL_S)
    assert world.committed == {0: 2}


def test_a_reported_record_is_the_very_message_that_was_read() -> None:
    """The reporter may be asked for in the midst of a put, and knows what that was given."""
    world = started(tolerant=True)
    put = world.put

    def report(records: list[object]) -> None:
        reporter = world.pump.context.errant_record_reporter()
        assert reporter is not None
        for record in records:
            reporter.report(record, DataError("it is bad"))  # type: ignore[arg-type]
        put([])

    world.put = report  # type: ignore[method-assign]
    bad = message(0, b"x")
    world.step(bad)
    assert [failure.origin for failure in world.letters.reported] == [bad]
    world.step(after=INTERVAL_S)
    assert world.committed == {0: 1}


def test_a_topic_is_announced_when_a_record_of_it_can_be_read() -> None:
    """KIP-558: whatever the transforms then make of it."""
    world = SinkWorld(tolerant=True, steps=[Step("drop", lambda record: None)])
    world.consumer.assign(A)
    world.step(message(0, b"bad", topic="unreadable"))
    assert world.announced == set()
    world.step(message(1, b"good", topic="read"))
    assert (world.announced, world.taken) == ({"read"}, [])


def test_messages_that_are_converted_elsewhere_come_as_they_are() -> None:
    world = started(A, B, untouched=True)
    world.fails = [RetriableError("busy")]
    world.step(message(0, b"gone"), message(5, b"stays", partition=1))
    world.consumer.revoke(A)
    world.step(after=1.0)
    world.step(after=INTERVAL_S)
    assert (world.taken, world.announced, world.committed) == ([message(5, b"stays", partition=1)], {"t"}, {1: 6})


def test_how_far_behind_the_task_is() -> None:
    world = started(A, B)
    world.consumer.ends = {A: 10}
    world.step(message(0))
    assert world.meter.values(0, 0)["sink-record-lag"] is None, "of one partition that is not known"
    world.consumer.ends = {A: 10, B: 3}
    world.step(after=2.0)
    assert world.meter.values(2, 0)["sink-record-lag"] == 13
    assert world.meter.values(2, 0)["sink-record-active-count"] == 1


def test_messages_that_are_alike_come_as_one_batch() -> None:
    world = started(columns=True)
    world.step(*[message(n, b"%d" % n) for n in range(20)])
    assert (world.calls, values(world)) == (["open [0]", "put_batch", "put"], [str(n) for n in range(20)])
    world.step(*[message(n, None if n == 25 else b"%d" % n) for n in range(20, 40)])
    assert world.calls[3:] == ["put"]
    world.step(after=INTERVAL_S)
    assert (world.committed, world.announced) == ({0: 40}, {"t"})


def test_a_tombstone_among_messages_keeps_its_place() -> None:
    seen: list[object] = []

    def note(record: SinkRecord) -> SinkRecord:
        seen.append(record.value)
        return record

    world = SinkWorld(steps=[Step("note", note)], columns=True)
    world.consumer.assign(A)
    expected = [None if n in (31, 32, 70) else str(n) for n in range(100)]
    world.step(*[message(n, None if text is None else text.encode()) for n, text in enumerate(expected)], after=INTERVAL_S)
    assert (seen, values(world), world.committed) == (expected, expected, {0: 100})


def test_what_is_alike_between_tombstones_comes_as_batches() -> None:
    world = started(columns=True)
    expected = [None if n in (31, 32, 70) else str(n) for n in range(100)]
    world.fails = [RetriableError("busy")]
    read = [message(n, None if text is None else text.encode()) for n, text in enumerate(expected)]
    world.step(*read)
    assert values(world) == []
    world.fails = []
    world.step(after=INTERVAL_S)
    assert (values(world), world.committed) == (expected, {0: 100})
    assert world.calls.count("put_batch") == 4


def test_a_batch_is_put_again_and_dropped_as_records_are() -> None:
    world = started(columns=True)
    world.fails = [RetriableError("busy")]
    world.step(*[message(n, b"%d" % n) for n in range(20)])
    assert values(world) == []
    world.step(after=INTERVAL_S)
    assert (world.calls.count("put_batch"), values(world)) == (2, [str(n) for n in range(20)])
    world.fails = [RetriableError("busy")]
    world.step(*[message(n, b"%d" % n) for n in range(20, 40)])
    world.consumer.revoke(A)
    world.step(after=INTERVAL_S)
    assert len(world.taken) == 20
