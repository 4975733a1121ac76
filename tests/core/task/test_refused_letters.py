"""A dead letter queue that refuses a letter: nothing is passed over, and what comes before that record is given once."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.errors import ConnectError

from .pumps import SinkWorld, message

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
