"""
One bad record in a source's batch: what comes before it is in Kafka, with its offsets, when the task fails.

In each stage in which a record can fail, at each place of a batch, in each way of delivery. A task that is started again begins
at the bad record, and nothing comes twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kconnect.api.record import Header, SourceRecord
from kconnect.core.task.ports import Refusal
from kconnect.core.task.steps import Step
from kconnect.core.task.transactions import IntervalBoundary, PollBoundary, TaskBoundary
from kconnect.errors import ConnectError

from .pumps import SourceWorld
from .records import source

FILE = {"file": "a"}
AT = str(FILE)
WAYS: dict[str, Callable[[], dict[str, Any]]] = {
    "at least once": lambda: {"tracks": False},
    "at least once, told of each": dict,
    "exactly once, by poll": lambda: {"boundary": PollBoundary(), "tracks": False},
    "exactly once, by interval": lambda: {"boundary": IntervalBoundary(60, 0.0)},
}
STAGES = ("transform", "second transform", "key", "value", "header", "internal topic", "no topic", "refused")
SIZES = (1, 2, 9, 10, 11, 500)


def refuse_bad(record: SourceRecord) -> SourceRecord:
    if record.topic == "bad":
        raise ValueError("a bad one")
    return record


def world_for(way: dict[str, Any], stage: str) -> SourceWorld:
    steps = []
    if stage.endswith("transform"):
        steps = [Step("same", lambda record: record), Step("checks", refuse_bad)][stage == "transform" :]
    world = SourceWorld(**way, steps=steps)
    if stage == "internal topic":
        world.topics.refusal = lambda topic: "It is internal" if topic == "bad" else None  # type: ignore[method-assign]
    if stage == "no topic":
        world.topics.missing.add("bad")
    if stage == "refused":
        world.producer.refuses = lambda message: Refusal("refused") if message[0] == "bad" else None
    return world


def batch(size: int, bad: int, stage: str, first: int = 0) -> list[SourceRecord]:
    records = [source(FILE, at, "t", value=str(at), key=str(at)) for at in range(first, size)]
    if bad >= first:
        record = records[bad - first]
        if stage in ("key", "value"):
            setattr(record, stage, "bad")
        elif stage == "header":
            record.headers = (Header("name", "bad"),)
        else:
            record.topic = "bad"
    return records


PLACES = [(size, bad) for size in SIZES for bad in sorted({0, size // 2, size - 1})]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("way", WAYS)
def test_what_comes_before_a_bad_record_is_delivered(way: str, stage: str) -> None:
    for size, bad in PLACES:
        world = world_for(WAYS[way](), stage)
        with pytest.raises(ConnectError):
            world.step(*batch(size, bad, stage))
            world.step(after=3600)  # What the producer refuses shows here.
        world.pump.end(failed=True)
        values = [str(at).encode() for at in range(bad)]
        known = [value for value in world.readable if value != str(bad).encode() or bad < size - 1]
        assert world.readable[:bad] == values, (size, bad)
        if "exactly" in way or stage != "refused":
            assert known == values, (size, bad)
        assert world.store.stored == ({AT: {"position": bad - 1}} if bad else {}), (size, bad)
        if way != "exactly once, by poll" and way != "at least once":
            assert [value for value, _ in world.told if value != "bad"][:bad] == [str(at) for at in range(bad)]


@pytest.mark.parametrize("stage", STAGES)
def test_a_task_that_says_where_transactions_end_goes_back_to_its_last_end(stage: str) -> None:
    boundary = TaskBoundary()
    world = world_for({"boundary": boundary}, stage)
    records = batch(30, 20, stage)
    boundary.context.commit_transaction(records[9])
    with pytest.raises(ConnectError):
        world.step(*records)
        boundary.context.commit_transaction()
        world.step()
    world.pump.end(failed=True)
    assert world.readable == [str(at).encode() for at in range(10)]
    assert world.store.stored == {AT: {"position": 9}}


def page(size: int, bad: int, stage: str) -> list[SourceRecord]:
    """A batch in which each three records have the same source offset."""
    records = batch(size, bad, stage)
    for at, record in enumerate(records):
        record.source_offset = {"page": at // 3}
    return records


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("way", WAYS)
def test_no_offset_is_counted_that_the_bad_record_has_too(way: str, stage: str) -> None:
    """A task that goes on behind a page would never give the rest of it. One that hears of each record knows what it gives."""
    for size in (9, 12, 500):
        world = world_for(WAYS[way](), stage)
        with pytest.raises(ConnectError):
            world.step(*page(size, 7, stage))
            world.step(after=3600)
        world.pump.end(failed=True)
        hears = way in ("at least once, told of each", "exactly once, by interval")
        assert world.store.stored == {AT: {"page": 2 if hears else 1}}, size
        values = [str(at).encode() for at in range(7 if hears else 6)]
        assert world.readable[: len(values)] == values
        if "exactly" in way:
            assert world.readable == values, "nothing of it comes twice"


@pytest.mark.parametrize("way", WAYS)
def test_what_a_task_does_with_its_dicts_and_lists_later_changes_nothing(way: str) -> None:
    """One that uses them again, and fails while it fills them anew: what it never gave must not count as given."""
    world = world_for(WAYS[way](), "none")
    offset, records = {"position": 0}, [source(FILE, 0)]
    records[0].source_offset = offset
    world.producer.slow = True
    world.step(*records)
    offset["position"] = 77
    world.producer.slow = False
    world.pump.end(failed=True)
    assert world.store.stored == {AT: {"position": 0}}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_task_gave_before_its_poll_fails_counts(way: str) -> None:
    """Else a long transaction would be aborted at each start, by the same row of a database, and nothing ever be delivered."""
    world = world_for(WAYS[way](), "none")
    for first in (0, 5):
        world.step(*batch(first + 5, -1, "none", first=first))
    world.pump.end(failed=True)
    assert world.readable == [str(at).encode() for at in range(10)]
    assert world.store.stored == {AT: {"position": 9}}


def test_a_batch_of_which_a_part_is_on_its_way_is_not_committed_with_what_is_before_it() -> None:
    world = world_for({"boundary": IntervalBoundary(60, 0.0), "tracks": False}, "none")
    world.step(*batch(5, -1, "none"))
    world.producer.send = lambda messages: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(ZeroDivisionError):
        world.step(*batch(10, -1, "none", first=5))
    world.pump.end(failed=True)
    assert (world.readable, world.store.stored) == ([], {})


@pytest.mark.parametrize("way", WAYS)
def test_batches_before_it_that_kafka_has_count_too(way: str) -> None:
    world = world_for(WAYS[way](), "refused")
    world.producer.slow = True
    with pytest.raises(ConnectError):
        world.step(*batch(5, -1, "refused"))
        world.step(*batch(12, 8, "refused", first=5))
        world.producer.slow = False
        world.step(after=3600)
    world.pump.end(failed=True)
    assert world.readable[:8] == [str(at).encode() for at in range(8)]
    assert world.store.stored == {AT: {"position": 7}}


def test_of_very_many_that_are_on_their_way_none_is_counted_that_may_be_missing() -> None:
    """Then it is not known any more where the refused one was: all since the last offsets comes again."""
    world = world_for({"tracks": False}, "refused")
    world.step(*batch(3, -1, "refused"))
    world.step(after=3600)
    world.producer.slow = True
    for first in range(3, 9003, 1000):
        world.step(*batch(first + 1000, 5 if first == 3 else -1, "refused", first=first))
    world.producer.slow = False
    with pytest.raises(ConnectError):
        world.step(after=3600)
    world.pump.end(failed=True)
    assert world.store.stored == {AT: {"position": 2}}
