"""A dead letter queue that refuses a letter: nothing is passed over, and what comes before that record is given once."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.core.task.ports import Refusal
from kconnect.core.task.transactions import IntervalBoundary, PollBoundary
from kconnect.errors import ConnectError

from .pumps import SinkWorld, SourceWorld, message
from .records import source

PLACES = [TopicPartition("t", 0), TopicPartition("t", 1)]


def restarted(before: SinkWorld | None, **more: Any) -> SinkWorld:
    world = SinkWorld(tolerant=True, **more)
    world.letters.refuses = {b"bad"}
    if before is not None:
        before.consumer.revoke(*PLACES)
        world.consumer.committed = before.consumer.committed
    world.consumer.assign(*PLACES)
    return world


def read(world: SinkWorld) -> None:
    """All that there is behind what is committed."""
    everything = [message(at, b"bad" if at in (3, 7) else b"v%d" % at) for at in range(15)]
    others = [message(at, b"w%d" % at, 1) for at in range(15)]
    world.step(*(each for each in everything + others if each.offset() >= world.consumer.positions[PLACES[each.partition()]]))


def test_a_record_that_can_not_be_converted() -> None:
    world = restarted(None)
    with pytest.raises(ConnectError, match="refuses a letter"):
        read(world)
    assert [record.value for record in world.taken] == ["v0", "v1", "v2", *(f"w{at}" for at in range(15))]
    for _ in range(3):
        world = restarted(world)
        assert world.committed == {0: 3, 1: 15}
        with pytest.raises(ConnectError, match="refuses a letter"):
            read(world)
        assert world.taken == [], "nothing comes twice, and nothing is passed over"
    world = restarted(world)
    world.letters.refuses = set()
    read(world)
    assert [record.value for record in world.taken] == ["v4", "v5", "v6", *(f"v{at}" for at in range(8, 15))]


def test_a_record_that_the_task_reports() -> None:
    """Its batch has been put by then; but the group goes on at that record, and not before."""
    world = restarted(None)
    context = world.pump.context

    def put(records: list[SinkRecord]) -> None:
        world.taken += records
        for record in records:
            if record.value == "bad-for-the-target":
                reporter = context.errant_record_reporter()
                assert reporter is not None
                reporter.report(record, ValueError("no"))

    world.put = put  # type: ignore[method-assign]
    world.letters.refuses = {b"bad-for-the-target"}
    context.errant_record_reporter()
    world.step(*(message(at, b"bad-for-the-target" if at == 3 else b"v") for at in range(5)))
    with pytest.raises(ConnectError, match="refuses a letter"):
        world.pump.commit()
    world.consumer.revoke(*PLACES)
    assert world.consumer.committed[PLACES[0]] == OffsetAndMetadata(3)


def test_a_queue_of_which_not_all_is_known_has_nothing_committed() -> None:
    world = restarted(None)
    world.letters.is_known = False
    with pytest.raises(ConnectError, match="refuses a letter"):
        read(world)
    world.consumer.revoke(*PLACES)
    assert (world.taken, world.committed) == ([], {})


WAYS: dict[str, Any] = {
    "at least once": lambda: {"tracks": False},
    "at least once, told of each": dict,
    "exactly once, by poll": lambda: {"boundary": PollBoundary(), "tracks": False},
    "exactly once, by interval": lambda: {"boundary": IntervalBoundary(60, 0.0)},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_source_s_record_goes_on_there(way: str) -> None:
    """What comes before it is sent and counted once, and a restart begins at that record."""
    file = {"file": "a"}
    for size, bad in ((1, 0), (5, 0), (5, 3), (12, 3), (12, 11)):
        world = SourceWorld(tolerant=True, **WAYS[way]())
        world.letters.refuses = {"bad"}
        world.step(*(source(file, at, value=str(at)) for at in range(3)))
        records = [source(file, 3 + at, value="bad" if at == bad else str(3 + at)) for at in range(size)]
        with pytest.raises(ConnectError, match="refuses a letter"):
            world.step(*records)
        world.pump.end(failed=True)
        assert world.readable == [str(at).encode() for at in range(3 + bad)], (size, bad)
        assert world.store.stored == {str(file): {"position": 2 + bad}}, (size, bad)


def test_a_source_s_letter_that_is_refused_later_holds_back_all_since_the_last_offsets() -> None:
    """As of a record that Kafka itself has refused: it has been counted by then, so nothing more is stored."""
    world = SourceWorld(tolerant=True, tracks=False)
    world.producer.refuses = lambda message: Refusal("no") if message[1] == b"late" else None
    world.letters.refuses = {"late", "bad"}
    world.step(source({"file": "a"}, 0, value="0"), after=3600)
    world.producer.slow = True
    world.step(source({"file": "a"}, 1, value="late"))
    world.producer.slow = False
    with pytest.raises(ConnectError, match="refuses a letter"):
        world.step(source({"file": "a"}, 2, value="2"), source({"file": "a"}, 3, value="bad"))
        world.step(after=3600)
    world.pump.end(failed=True)
    assert world.store.stored == {str({"file": "a"}): {"position": 0}}
