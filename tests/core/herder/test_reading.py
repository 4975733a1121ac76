"""What a worker makes of internal topics in which not all is as it should be."""

from __future__ import annotations

import pytest

from kconnect.core.herder import effects, events
from kconnect.core.herder.herder import Herder
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.connectors import GetStatus, GetTaskStatus
from kconnect.core.herder.requests.worker import GetConfigOffset, ReadConfigs
from kconnect.core.state import records
from kconnect.core.state.records import LogRecord, State, Topic, UnitId, UnitStatus
from kconnect.errors import NotFoundError
from tests.rig.histories.cluster import MemoryCluster


def said_of(batch: list[LogRecord], herder: Herder, now: int) -> list[str]:
    return [effect.message for effect in herder.handle(events.Read(tuple(batch)), now) if isinstance(effect, effects.Log)]


def test_more_broken_records_than_the_log_names_are_counted() -> None:
    herder = Herder(Identity("a:1", "http://a:1/", "1", "test", "memory", 1))
    broken = [LogRecord(Topic.STATUS, 0, offset, b"k%d" % (offset % 10), b"{}") for offset in range(39)]
    said = said_of(broken, herder, 0)
    assert len(said) == 11
    assert said[-1].startswith("Ignored 29 more unusable records of the status topic")
    # From then on once a minute, whether or not more are read.
    assert said_of(broken[:1], herder, 59_999) == []
    (later,) = said_of([], herder, 60_000)
    assert later.startswith("Ignored 1 more unusable record of the status topic")
    assert said_of([], herder, 600_000) == []


def test_broken_records_of_ever_new_keys_do_not_fill_the_log() -> None:
    herder = Herder(Identity("a:1", "http://a:1/", "1", "test", "memory", 1))
    said = said_of([LogRecord(Topic.CONFIG, 0, offset, b"k%d" % offset, b"{}") for offset in range(5000)], herder, 0)
    assert len(said) == 1001
    assert said[-1].startswith("Ignored 4000 more unusable records of the config topic")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_status_beyond_the_tasks_of_the_config_topic_is_nobody_s(order: tuple[int, ...]) -> None:
    """Its tombstone lies in the partition of its key, and it in another: which of them is read first is chance."""
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", {"connector.class": "FileStreamSource", "tasks.max": "1"}))
    cluster.settle()
    worker = cluster.workers["a:1"]
    stray = records.status(UnitId("x", 7), UnitStatus(State.FAILED, "b:1", 1, "boom", "1"))
    found = [LogRecord(Topic.STATUS, 3, 0, stray.key, stray.value), LogRecord(Topic.STATUS, 4, 0, stray.key, None)]
    worker.herder.handle(events.Read(tuple(found[index] for index in order)), cluster.now)
    # Asked before the leader has tidied it away.
    answer = worker.herder.handle(events.Requested(99, GetTaskStatus("x", 7)), cluster.now)
    refusals = [effect.error for effect in answer if isinstance(effect, effects.Refuse)]
    assert [type(error) for error in refusals] == [NotFoundError]
    body = cluster.call("a:1", GetStatus("x"))
    assert [task["id"] for task in body["tasks"]] == [0]


def test_who_waits_until_a_worker_has_read_the_config_topic_so_far_is_answered_then() -> None:
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", {"connector.class": "FileStreamSource", "tasks.max": "1"}))
    cluster.settle()
    herder = cluster.workers["a:1"].herder
    offset = cluster.call("a:1", GetConfigOffset())
    assert offset == cluster.log.topics[Topic.CONFIG][-1].offset + 1

    def answers(found: list[effects.Effect[object]]) -> list[int]:
        return [effect.ticket for effect in found if isinstance(effect, effects.Reply)]

    assert answers(herder.handle(events.Requested(98, ReadConfigs(offset)), cluster.now)) == [98]
    assert answers(herder.handle(events.Requested(99, ReadConfigs(offset + 1)), cluster.now)) == []
    later = LogRecord(Topic.CONFIG, 0, offset, b"target-state-nobody", None)
    assert answers(herder.handle(events.Read((later,)), cluster.now)) == [99]
