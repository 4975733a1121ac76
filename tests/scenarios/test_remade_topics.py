"""
Internal topics that are deleted and made anew while workers run, in clusters in memory. With a real broker:
`tests/integration/test_remade_topics.py`.
"""

from __future__ import annotations

import pytest

from kconnect.core.herder import effects, events
from kconnect.core.herder.herder import Herder
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PutConfig
from kconnect.core.herder.requests.connectors import GetConfig, GetTaskStatus
from kconnect.core.herder.requests.states import SetTargetState
from kconnect.core.herder.requests.topics import ResetTopics
from kconnect.core.herder.requests.worker import Health, SetLoggerLevel
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import Assignment, Leader
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import FOLDED, LogRecord, State, TargetState, Topic, UnitId
from kconnect.core.state.status import StatusState
from kconnect.errors import ConnectError, UnavailableError
from tests.rig.histories.cluster import MemoryCluster
from tests.support import examples

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "3"}
WHOLE = {UnitId("x"), UnitId("x", 0), UnitId("x", 1), UnitId("x", 2)}

seeds = pytest.mark.parametrize("seed", range(examples(6)))


def running(seed: int) -> MemoryCluster:
    cluster = MemoryCluster(seed)
    for name in ("a:1", "b:1"):
        cluster.add_worker(name)
    cluster.settle()
    assert cluster.group.owner is not None
    cluster.call(cluster.group.owner, CreateConnector("x", SOURCE))
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    return cluster


def remake(cluster: MemoryCluster, *topics: Topic, at_once: bool = True) -> None:
    """Delete topics and make them anew; all notice, as `worker/topic_watch.py` and `kafka/log.py` do."""
    for topic in topics:
        cluster.log.topics[topic].clear()
        cluster.log.compacted.pop(topic, None)
    if Topic.ASSIGNMENT in topics:
        for key in list(cluster.hosts):
            cluster.kill_host(*key)
    if at_once:
        notice(cluster, *topics)


def notice(cluster: MemoryCluster, *topics: Topic) -> None:
    for worker in cluster.workers.values():
        for topic in topics:
            worker._handle(events.Remade(topic, "new"))
            for feed in worker._reader._feeds:
                if feed.topic is topic and topic is not Topic.CONFIG:
                    feed.at = 0
            worker._reader.at_end = not any(feed.more for feed in worker._reader._feeds)


def leader(cluster: MemoryCluster) -> str:
    assert cluster.group.owner is not None
    return cluster.group.owner


def statuses(cluster: MemoryCluster) -> dict[UnitId, State]:
    """What the topic says, to somebody who comes now."""
    read = StatusState()
    for record in cluster.log.topics[Topic.STATUS]:
        read.apply(record)
    return {unit: status.state for unit, status in read.units.items()}


@seeds
def test_without_the_config_topic_what_runs_goes_on_and_nothing_is_written(seed: int) -> None:
    cluster = running(seed)
    remake(cluster, Topic.CONFIG)
    assert any("The config topic" in line and "kconnect topics restore" in line for line in cluster.lines)
    for name in cluster.workers:
        for request in (
            CreateConnector("y", SOURCE),
            PutConfig("x", SOURCE),
            SetTargetState("x", TargetState.PAUSED),
            SetLoggerLevel("kconnect", "DEBUG"),
        ):
            with pytest.raises(UnavailableError, match="config topic"):
                cluster.call(name, request)
        with pytest.raises(ConnectError, match="config topic") as unhealthy:
            cluster.call(name, Health())
        assert not isinstance(unhealthy.value, UnavailableError), "that is how a worker says that it starts"
        assert cluster.call(name, GetConfig("x")) == {**SOURCE, "name": "x"}
    # The owner of the partition finds no reason to lead, however long it waits.
    cluster.now += 100_000
    cluster.settle()
    assert cluster.log.topics[Topic.CONFIG] == []
    assert set(cluster.running()) == WHOLE
    assert not any(worker.herder.desk.leads for worker in cluster.workers.values())


@seeds
def test_a_write_that_finds_the_config_topic_too_short_is_no_success(seed: int) -> None:
    cluster = running(seed)
    remake(cluster, Topic.CONFIG, at_once=False)
    with pytest.raises(ConnectError, match="shorter than what the worker has read"):
        cluster.call(leader(cluster), CreateConnector("y", SOURCE))


@seeds
def test_statuses_are_written_into_a_new_status_topic(seed: int) -> None:
    cluster = running(seed)
    unit = UnitId("x", 1)
    ((key,),) = [where for known, where in cluster.running().items() if known == unit]
    cluster.hosts[key].fail(unit)
    cluster.settle()
    remake(cluster, Topic.STATUS)
    cluster.settle()
    expected = dict.fromkeys(WHOLE, State.RUNNING) | {unit: State.FAILED}
    assert statuses(cluster) == expected
    assert cluster.call("a:1", GetTaskStatus("x", 1))["trace"] == "boom"
    assert set(cluster.running()) == WHOLE - {unit}
    assert all(not worker.herder.log.status.unsaid for worker in cluster.workers.values())


@seeds
def test_what_waits_for_a_record_of_the_topic_before_begins_anew(seed: int) -> None:
    cluster = running(seed)
    cluster.log.append(records.topic_use("x", "t", 0, 1, ("apache",)))
    cluster.settle()
    answer = cluster.submit(leader(cluster), ResetTopics("x"))
    before = len(cluster.log.topics[Topic.STATUS])
    # Written, and not read yet when the topic goes.
    cluster.run_until(lambda: len(cluster.log.topics[Topic.STATUS]) > before)
    remake(cluster, Topic.STATUS)
    cluster.run_until(lambda: answer.settled)
    cluster.settle()
    assert statuses(cluster) == dict.fromkeys(WHOLE, State.RUNNING)


def stored(cluster: MemoryCluster) -> dict[str, int]:
    read = OffsetState()
    for record in cluster.log.topics[Topic.OFFSET]:
        read.apply(record)
    return {known.partition["file"]: known.offset["at"] for known in read.of("x") if known.offset is not None}


def offset(file: str, at: int | None) -> records.Entry:
    return records.source_offset(records.offset_key("x", {"file": file}), None if at is None else {"at": at})


@seeds
def test_the_leader_writes_offsets_into_a_new_offset_topic(seed: int) -> None:
    cluster = running(seed)
    cluster.log.append([offset("a", 1), offset("b", 2), offset("c", 3), offset("c", None)])
    cluster.settle()
    remake(cluster, Topic.OFFSET)
    # A task has stored more before the leader gets to it.
    cluster.log.append([offset("b", 20)])
    cluster.settle()
    assert stored(cluster) == {"a": 1, "b": 20}
    assert cluster.workers["a:1"].herder.log.assignment.leader is not None
    assert cluster.workers["a:1"].herder.log.assignment.leader.topics == {"offset": "new"}
    assert len(cluster.log.topics[Topic.OFFSET]) == 2


@seeds
def test_all_is_assigned_anew_without_the_assignment_topic(seed: int) -> None:
    cluster = running(seed)
    remake(cluster, Topic.ASSIGNMENT)
    began = cluster.now
    cluster.run_until(lambda: bool(cluster.running()))
    # Hosts that have not noticed yet may run for as long.
    assert cluster.now - began >= cluster.session_ms
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    assert statuses(cluster) == dict.fromkeys(WHOLE, State.RUNNING)
    cluster.call(leader(cluster), CreateConnector("y", SOURCE))
    cluster.settle()
    assert len(cluster.running()) == 8


@seeds
def test_without_any_topic_nothing_runs_and_nothing_is_said_to(seed: int) -> None:
    """As when a lone broker has lost its disk: workers are the last to know what there was."""
    cluster = running(seed)
    remake(cluster, *FOLDED, at_once=False)
    # They find one after the other, and what they write meanwhile is overtaken by what they find next.
    for topic in cluster.random.sample(FOLDED, len(FOLDED)):
        notice(cluster, topic)
        for _ in range(cluster.random.choice((0, 3, 30))):
            cluster.step()
    cluster.settle()
    assert cluster.running() == {}
    assert statuses(cluster) == dict.fromkeys(WHOLE, State.UNASSIGNED)
    assert cluster.call("b:1", GetConfig("x")) == {**SOURCE, "name": "x"}
    with pytest.raises(UnavailableError, match="config topic"):
        cluster.call("b:1", DeleteConnector("x"))


def started(ids: dict[Topic, str], before: dict[str, str]) -> tuple[Herder, list[str]]:
    """A worker that reads that it is to run `x`, of which the config topic knows, and under which topics somebody led."""
    names = {topic: f"connect-{topic.value}" for topic in FOLDED}
    herder = Herder(Identity("a:1", "http://a:1/", "2", "test", "memory", 1, topic_ids=ids, topic_names=names))
    entries = [
        records.connector_config("x", SOURCE),
        assignment_records.leader(Leader("a:1", "http://a:1/", 7, 3, before)),
        assignment_records.assignment(Assignment("a:1", frozenset({UnitId("x")}), 7)),
    ]
    herder.handle(events.Read(tuple(LogRecord(e.topic, 0, at, e.key, e.value) for at, e in enumerate(entries))), 0)
    out = herder.handle(events.CaughtUp(), 0)
    return herder, [effect.message for effect in out if isinstance(effect, effects.Log) and effect.level == "ERROR"]


def test_a_worker_that_starts_on_another_config_topic_says_so_and_runs_nothing() -> None:
    herder, said = started({Topic.CONFIG: "new", Topic.OFFSET: "same"}, {"config": "old", "offset": "same"})
    (line,) = said
    assert "The config topic connect-config is not the one that workers used before" in line
    assert "delete connect-config and connect-assignment" in line
    assert herder.placing.runnable() == frozenset()
    assert [type(effect) for effect in herder.handle(events.Owned(), 0)] == [effects.FindMembers], "it must not lead"
    out = herder.handle(events.Requested(1, DeleteConnector("x")), 0)
    assert [type(effect.error) for effect in out if isinstance(effect, effects.Refuse)] == [UnavailableError]


def test_a_worker_that_starts_on_another_offset_topic_says_so_and_works() -> None:
    herder, said = started({Topic.CONFIG: "same", Topic.OFFSET: "new"}, {"config": "same", "offset": "old"})
    (line,) = said
    assert "The offset topic connect-offset is not the one" in line
    assert herder.placing.runnable() == {UnitId("x")}


@pytest.mark.parametrize("before", [{}, {"config": "same", "offset": "same"}])
def test_a_worker_that_starts_on_the_topics_of_before_says_nothing(before: dict[str, str]) -> None:
    """Nor does one after workers that did not write down which topics they had."""
    herder, said = started({Topic.CONFIG: "same", Topic.OFFSET: "same"}, before)
    assert said == []
    assert herder.placing.runnable() == {UnitId("x")}
