"""In which order records, source offsets, the task's callbacks and announced topics happen, stepped by hand."""

from __future__ import annotations

import pytest

from kconnect.api.record import OffsetOnly, SourceRecord
from kconnect.core.task.converted import Converted
from kconnect.core.task.ports import Refusal
from kconnect.core.task.steps import Step
from kconnect.core.task.transactions import End, IntervalBoundary, PollBoundary, TaskBoundary
from kconnect.errors import ConnectError, NotAuthorizedError, NoTopicError

from .pumps import INTERVAL_S, OFFSETS, SourceWorld
from .records import source

FILE = {"file": "a"}
AT = str(FILE)


def line(position: int, topic: str = "t", value: str | None = None) -> SourceRecord:
    return source(FILE, position, topic, value=str(position) if value is None else value)


# --- at least once ---


def test_offsets_are_stored_once_kafka_has_acknowledged_what_they_cover() -> None:
    world = SourceWorld()
    world.step(line(1), line(2))
    world.producer.slow = True
    world.step(line(3), after=INTERVAL_S)
    assert (world.readable, world.store.stored, world.commits) == ([b"1", b"2"], {}, 0), "one of three is still on its way"
    world.producer.slow = False
    world.step(after=INTERVAL_S)
    assert (world.store.stored, world.commits) == ({AT: {"position": 3}}, 1)


def test_offsets_are_stored_when_they_are_due_and_not_before() -> None:
    world = SourceWorld()
    world.step(line(1))
    world.step(line(2), after=INTERVAL_S - 1)
    assert world.store.writes == 0
    world.step(after=1)
    assert world.store.stored == {AT: {"position": 2}}


def test_what_was_not_handed_over_whole_leaves_no_offset() -> None:
    world = SourceWorld()
    world.step(line(1))
    world.producer.full = True
    world.step(line(2))
    world.producer.full = False
    world.pump.end(failed=False)
    assert world.store.stored == {AT: {"position": 1}}


def test_a_batch_ends_before_a_record_that_can_not_be_converted() -> None:
    world = SourceWorld()
    world.step(line(1))
    with pytest.raises(ConnectError):
        world.step(source({"file": "b"}, 7), line(2), line(3, value="bad"))
    world.pump.end(failed=True)
    assert world.readable == [b"1", None, b"2"]
    assert world.store.stored == {AT: {"position": 2}, str({"file": "b"}): {"position": 7}}


def test_an_offset_store_that_fails_is_tried_again() -> None:
    world = SourceWorld()
    world.store.failure = ConnectError("no broker")
    world.step(line(1), after=INTERVAL_S)
    assert (world.store.stored, world.commits) == ({}, 0)
    assert world.meter.values(world.now, 0)["offset-commit-failure-percentage"] == 1
    world.store.failure = None
    world.step(after=INTERVAL_S)
    assert (world.store.stored, world.commits) == ({AT: {"position": 1}}, 1)


def test_no_offset_is_beyond_a_dead_letter_that_was_not_taken() -> None:
    world = SourceWorld(tolerant=True)
    world.letters.taken = False
    world.step(line(1, value="bad"), line(2), after=INTERVAL_S)
    assert (world.readable, world.store.stored) == ([b"2"], {})
    world.letters.taken = True
    world.step(after=INTERVAL_S)
    assert world.store.stored == {AT: {"position": 2}}


def test_an_abandoned_task_stores_nothing() -> None:
    world = SourceWorld()
    world.step(line(1))
    world.life.abandoned = True
    world.step(after=INTERVAL_S)
    assert world.store.stored == {}


def test_a_refused_record_fails_the_task_and_no_offset_covers_it() -> None:
    world = SourceWorld(tracks=False)
    world.producer.refuses = lambda message: Refusal("too large") if message[1] == b"2" else None
    world.step(line(1))
    with pytest.raises(ConnectError, match="too large"):
        world.step(line(2, "new"))
    world.pump.end(failed=True)
    assert world.store.stored == {AT: {"position": 1}}


def test_where_that_is_tolerated_a_refused_record_is_reported_and_passed_over() -> None:
    world = SourceWorld(tolerant=True)
    world.producer.refuses = lambda message: Refusal("too large") if message[1] == b"2" else None
    world.step(line(1), line(2), line(3), after=INTERVAL_S)
    assert (world.readable, world.store.stored) == ([b"1", b"3"], {AT: {"position": 3}})
    assert [(failure.origin.value, str(failure.error)) for failure in world.letters.reported] == [
        ("2", "The record can't be produced: too large")
    ]
    assert [value for value, metadata in world.told if metadata is None] == ["2"]
    # A producer that can't go on is no matter of one record.
    world.producer.refuses = lambda message: Refusal("fatal", fatal=True)
    with pytest.raises(ConnectError, match="fatal"):
        world.step(line(4), after=INTERVAL_S)


def test_a_right_that_was_taken_away_is_no_fault_of_a_record() -> None:
    world = SourceWorld(tolerant=True)
    world.producer.refuses = lambda message: Refusal("forbidden", forbidden=True)
    # A topic to which it never could write.
    world.step(line(1), after=INTERVAL_S)
    assert (world.readable, world.store.stored, len(world.letters.reported)) == ([], {AT: {"position": 1}}, 1)
    world.producer.refuses = lambda message: None
    world.step(line(2), after=INTERVAL_S)
    world.producer.refuses = lambda message: Refusal("forbidden", forbidden=True)
    with pytest.raises(ConnectError, match="forbidden"):
        world.step(line(3), after=INTERVAL_S)
    world.pump.end(failed=True)
    assert (world.readable, world.store.stored, len(world.letters.reported)) == ([b"2"], {AT: {"position": 2}}, 1)


def test_a_task_hears_of_dropped_records_without_a_place() -> None:
    world = SourceWorld(steps=[Step("drop", lambda record: None if record.value == "1" else record)])
    world.step(line(1), line(2), after=INTERVAL_S)
    assert [(value, metadata and metadata.offset) for value, metadata in world.told] == [("1", None), ("2", 0)]
    assert world.store.stored == {AT: {"position": 2}}


def test_a_task_whose_callbacks_fail_goes_on() -> None:
    world = SourceWorld()

    def fails(*_: object) -> None:
        raise RuntimeError("a plugin's own")

    world.commit_record = fails  # type: ignore[assignment, method-assign]
    world.commit = fails  # type: ignore[method-assign]
    world.step(line(1), after=INTERVAL_S)
    assert world.store.stored == {AT: {"position": 1}}


def test_paused_a_task_asks_again_until_its_offsets_are_stored() -> None:
    world = SourceWorld()
    world.step(line(1))
    world.store.failure = ConnectError("no broker")
    assert not world.pump.rest()
    world.store.failure = None
    assert world.pump.rest() and world.store.stored == {AT: {"position": 1}}
    writes = world.store.writes
    assert world.pump.rest() and world.store.writes == writes


# --- KIP-558, on both ways ---


@pytest.mark.parametrize("once", [False, True])
def test_a_topic_is_announced_when_kafka_has_a_record_of_it(once: bool) -> None:
    world = SourceWorld(IntervalBoundary(INTERVAL_S, 0.0) if once else None)
    world.producer.slow = True
    world.step(line(1, "late"))
    assert world.announced == set()
    world.producer.slow = False
    world.step(after=INTERVAL_S)
    assert world.announced == {"late"}


def test_a_topic_all_of_whose_records_are_refused_is_not_in_use() -> None:
    world = SourceWorld(tolerant=True)
    world.producer.refuses = lambda message: Refusal("no") if message[1] == b"1" else None
    world.step(line(1, "none"), line(1, "some"), line(2, "some"), after=INTERVAL_S)
    assert world.announced == {"some"}


def test_the_topics_of_an_aborted_transaction_are_not_in_use() -> None:
    boundary = TaskBoundary()
    world = SourceWorld(boundary)
    records = [line(1, "gone"), line(2, "kept")]
    boundary.context.abort_transaction(records[0])
    boundary.context.commit_transaction(records[1])
    world.step(*records)
    assert (world.announced, world.readable) == ({"kept"}, [b"2"])


def test_what_is_announced_already_is_not_announced_again() -> None:
    world = SourceWorld()
    world.step(line(1), after=INTERVAL_S)
    world.announced = {"t"}
    flushes = len(world.producer.taken)
    world.producer.slow = True
    world.step(line(2))
    assert len(world.producer.taken) == flushes, "nothing had to wait for Kafka"


# --- exactly once (KIP-618) ---


def test_records_and_their_offsets_are_in_one_transaction() -> None:
    world = SourceWorld(PollBoundary())
    world.step(line(1), line(2))
    ((committed, messages),) = world.producer.commits
    assert committed and [message[0] for message in messages] == ["t", "t", OFFSETS]
    assert (world.store.stored, world.commits) == ({AT: {"position": 2}}, 1)
    assert [value for value, metadata in world.told if metadata is not None] == ["1", "2"]


def test_an_idle_poll_begins_no_transaction_and_the_task_hears_commit() -> None:
    world = SourceWorld(PollBoundary())
    world.step()
    assert (world.producer.commits, world.commits) == ([], 1)


def test_a_record_that_was_dropped_has_its_offset_in_a_transaction_too() -> None:
    world = SourceWorld(PollBoundary(), steps=[Step("drop", lambda record: None)])
    world.step(line(1))
    assert (world.readable, world.store.stored) == ([], {AT: {"position": 1}})


@pytest.mark.parametrize("boundary", [None, PollBoundary()])
def test_an_offset_without_a_record_is_stored_and_nothing_is_sent(boundary: PollBoundary | None) -> None:
    world = SourceWorld(boundary, steps=[Step("refuse", lambda record: 1 / 0)])
    world.step(OffsetOnly(FILE, {"position": 7}))
    world.step(after=INTERVAL_S)
    assert (world.readable, world.store.stored, world.told) == ([], {AT: {"position": 7}}, [(None, None)])


def test_offsets_without_records_come_by_themselves() -> None:
    """A record behind one would be lost without a word."""
    world = SourceWorld()
    with pytest.raises(ConnectError, match="return the one or the other"):
        world.step(OffsetOnly(FILE, {"position": 7}), line(8))
    assert (world.readable, world.store.stored) == ([], {})


def test_a_transaction_ends_in_its_time() -> None:
    world = SourceWorld(IntervalBoundary(10.0, 0.0))
    world.step(line(1), after=4)
    world.step(line(2), after=4)
    assert (world.readable, world.store.stored, world.announced) == ([], {}, set())
    world.step(after=4)
    assert (world.readable, world.store.stored, world.announced) == ([b"1", b"2"], {AT: {"position": 2}}, {"t"})


def test_what_ends_before_a_record_that_fails_is_committed() -> None:
    boundary = TaskBoundary()
    world = SourceWorld(boundary)
    records = [line(1), line(2, value="bad")]
    boundary.context.commit_transaction(records[0])
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        world.step(*records)
    world.pump.end(failed=True)
    assert (world.readable, world.store.stored) == ([b"1"], {AT: {"position": 1}})


def test_what_a_task_aborts_nobody_reads_and_its_offsets_are_stored() -> None:
    boundary = TaskBoundary()
    world = SourceWorld(boundary)
    record = line(1)
    boundary.context.abort_transaction(record)
    world.step(record)
    assert (world.readable, world.store.stored) == ([], {AT: {"position": 1}})
    assert [committed for committed, _ in world.producer.commits] == [False, True]
    assert world.told == [("1", None)]


def test_a_task_that_is_fenced_commits_nothing_and_stores_nothing() -> None:
    world = SourceWorld(IntervalBoundary(10.0, 0.0))
    world.step(line(1))
    world.producer.fenced = True
    with pytest.raises(ConnectError, match="fenced"):
        world.step(after=11)
    world.pump.end(failed=True)
    assert (world.readable, world.store.stored, world.commits) == ([], {}, 0)


def test_stopped_in_the_midst_of_a_batch_the_open_transaction_is_aborted() -> None:
    world = SourceWorld(TaskBoundary())
    world.step(line(1))
    world.producer.full = True
    world.step(line(2))
    world.producer.full = False
    world.pump.end(failed=False)
    assert [committed for committed, _ in world.producer.commits] == [False]
    assert (world.readable, world.store.stored) == ([], {})


def test_a_commit_that_nobody_heard_of_is_not_told_to_the_task() -> None:
    world = SourceWorld(PollBoundary())
    world.producer.answers = False
    world.step(line(1))
    assert (world.readable, world.told, world.commits) == ([b"1"], [], 0)


def test_no_transaction_is_committed_beyond_a_dead_letter_that_was_not_taken() -> None:
    world = SourceWorld(PollBoundary(), tolerant=True)
    world.letters.refusal = ConnectError("the queue refuses it")
    with pytest.raises(ConnectError, match="the queue refuses it"):
        world.step(line(1, value="bad"), line(2))
    assert (world.readable, world.store.stored) == ([], {})


def test_a_task_may_not_write_to_its_own_offsets_topic() -> None:
    """Whoever reads stored offsets reads the topic to its end, and would wait for the task's own transaction."""
    with pytest.raises(ConnectError, match="may not produce to their own offsets topics"):
        SourceWorld(PollBoundary()).step(line(1, OFFSETS))
    # Where that is tolerated it is the record's fault, which may have chosen the topic.
    world = SourceWorld(PollBoundary(), tolerant=True)
    world.step(line(1), line(2, OFFSETS), line(3))
    assert world.readable == [b"1", b"3"]
    assert [failure.origin.value for failure in world.letters.reported] == ["2"]


# --- batches that were converted elsewhere ---


@pytest.mark.parametrize("once", [False, True])
def test_what_was_converted_elsewhere_goes_the_same_way(once: bool) -> None:
    """Messages with the last offset of each partition, and no record: so a batch comes from a connector in another language."""
    world = SourceWorld(PollBoundary() if once else None, tracks=False)
    batch = Converted([("t", b"x", None, 0, None, None, 0, None), ("t", b"y", None, 0, None, None, 0, None)], {"t"}, [line(7)])
    world.pump.step_converted([(batch, None)], INTERVAL_S)
    assert (world.readable, world.store.stored, world.announced) == ([b"x", b"y"], {AT: {"position": 7}}, {"t"})


def test_ends_that_somebody_else_says_are_kept() -> None:
    world = SourceWorld(TaskBoundary(), tracks=False)
    first, second = (
        Converted([("t", value, None, 0, None, None, 0, None)], {"t"}, [line(at)]) for at, value in ((1, b"x"), (2, b"y"))
    )
    world.pump.step_converted([(first, End.COMMIT), (second, End.ABORT)], 0.0)
    assert (world.readable, world.store.stored) == ([b"x"], {AT: {"position": 2}})


def test_what_keeps_offsets_from_being_stored_is_shown() -> None:
    """As a topic with fewer replicas in sync than it must have: else the task is RUNNING, and the log alone says anything."""
    world = SourceWorld()
    counts = world.errors.counts
    for thing, name, spoiled, mended, said in (
        (world.producer, "slow", True, False, "Kafka has not acknowledged all records within 5 s"),
        (world.letters, "taken", False, True, "the dead letter queue did not accept all records within 5 s"),
        (world.store, "failure", OSError("away"), None, "away"),
    ):
        setattr(thing, name, spoiled)
        world.step(source(FILE, 1), after=INTERVAL_S)
        assert counts.retrying is not None
        assert counts.retrying[1] == f"storing offsets: {said}"
        setattr(thing, name, mended)
        world.step(after=INTERVAL_S)
        assert counts.retrying is None


# --- topics that records choose ---


def _renamed(record: SourceRecord) -> SourceRecord:
    """As a transform does it, by the value."""
    return record.new_record(topic=record.value) if record.value in ("a", "b", "gone") else record


@pytest.mark.parametrize("why", [NotAuthorizedError, NoTopicError])
def test_a_topic_that_a_record_has_chosen_and_that_can_not_be_had_is_its_own_fault(why: type[ConnectError]) -> None:
    """Who may write a row, or a file, has its topic chosen by a transform: the task failed for good, whatever is tolerated."""
    world = SourceWorld(steps=[Step("route", _renamed)], tolerant=True)
    world.topics.missing, world.topics.why = {"gone"}, why
    world.step(line(1, value="a"), line(2, value="gone"), line(3, value="b"), after=INTERVAL_S)
    world.step(line(4, value="gone"), after=INTERVAL_S)
    assert (world.readable, world.store.stored) == ([b"a", b"b"], {AT: {"position": 4}})
    assert [failure.origin.value for failure in world.letters.reported] == ["gone", "gone"]
    # It is looked for again after a while.
    world.topics.missing = set()
    world.step(line(5, value="gone"), after=61.0)
    assert world.readable == [b"a", b"b", b"gone"]
    # A topic that could be written to before is no choice of a record's.
    world.topics.ready.clear()
    world.topics.missing = {"gone"}
    with pytest.raises(why, match="can't be written to"):
        world.step(line(6, value="gone"), after=61.0)


def test_many_topics_that_can_not_be_had_are_not_waited_for_one_by_one() -> None:
    """Who may write rows names another topic in each: the task waited half a minute for each of them."""
    names = [f"gone{number}" for number in range(9)]
    world = SourceWorld(steps=[Step("route", lambda record: record.new_record(topic=record.value))], tolerant=True)
    world.topics.missing, world.topics.why = set(names), NoTopicError
    world.step(*(line(at, value=value) for at, value in enumerate(["a", *names])))
    assert (world.readable, len(world.letters.reported)) == ([b"a"], 9)
    assert world.topics.waits.count(True) <= 5
    assert world.topics.waits[-5:] == [False] * 5


def test_a_topic_that_the_connector_has_chosen_fails_the_task() -> None:
    for steps in ([], [Step("route", _renamed)]):
        world = SourceWorld(steps=steps, tolerant=True)
        world.topics.missing, world.topics.why = {"gone"}, NoTopicError
        if not steps:
            world.step(line(1, "a"))
        with pytest.raises(NoTopicError):
            # By the connector itself; or by a transform, of all records that there are.
            world.step(line(2, "gone") if not steps else line(2, value="gone"), after=INTERVAL_S)
        assert world.letters.reported == []


def test_without_tolerance_such_a_topic_fails_the_task_behind_what_comes_before() -> None:
    world = SourceWorld(steps=[Step("route", _renamed)])
    world.topics.missing, world.topics.why = {"gone"}, NotAuthorizedError
    with pytest.raises(NotAuthorizedError):
        world.step(line(1, value="a"), line(2, value="gone"), line(3, value="b"))
    world.pump.end(failed=True)
    assert (world.readable, world.store.stored) == ([b"a"], {AT: {"position": 1}})
