"""Altering and resetting offsets, and fencing, over a cluster in memory (KIP-875, KIP-618)."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder import effects
from kconnect.core.herder.desk import ForwardError
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector, PutConfig
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets, ResetOffsets
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.herder.requests.tasks import FenceTasks
from kconnect.core.state import records
from kconnect.core.state.records import TargetState, Topic, UnitId
from kconnect.errors import BadRequestError, ConflictError, ConnectError, NotFoundError, RequestTimeoutError
from tests.rig.histories.cluster import MemoryCluster, MemoryWorker

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "2"}
SINK = {"connector.class": "FileStreamSink", "topics": "t"}
STOPPED_FIRST = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/x/stop' endpoint"
)
ALTER = AlterOffsets("x", (({"b": 2, "a": 1}, {"n": 7}), ({"c": 3}, {"n": 1})))
RESET = ResetOffsets("x")
both = pytest.mark.parametrize("request_", [ALTER, RESET], ids=["alter", "reset"])
PLACE = (({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 7}), ({"kafka_topic": "t", "kafka_partition": 1}, None))
ALTER_SINK = AlterOffsets("x", PLACE)


def cluster_with(config: dict[str, str], seed: int = 1, workers: int = 1, stopped: bool = True) -> MemoryCluster:
    cluster = MemoryCluster(seed)
    for number in range(workers):
        cluster.add_worker(f"w{number}:1")
        cluster.settle()
    call(cluster, CreateConnector("x", config))
    cluster.settle()
    if stopped:
        call(cluster, StopConnector("x"))
    return cluster


def call(cluster: MemoryCluster, request: Request[Any]) -> Any:
    assert cluster.group.owner is not None
    return cluster.call(cluster.group.owner, request)


def store(cluster: MemoryCluster, key: bytes, value: bytes | None) -> None:
    cluster.log.append([records.Entry(Topic.OFFSET, key, value)])


def written(cluster: MemoryCluster) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in cluster.log.topics[Topic.OFFSET]]


@both
def test_an_unknown_connector(request_: Request[Any]) -> None:
    cluster = MemoryCluster(1)
    cluster.add_worker("w0:1")
    with pytest.raises(NotFoundError, match="Connector x not found"):
        cluster.call("w0:1", request_)


@both
@pytest.mark.parametrize("paused", [False, True])
def test_only_of_a_stopped_connector(request_: Request[Any], paused: bool) -> None:
    cluster = cluster_with(SOURCE, stopped=False)
    if paused:
        call(cluster, SetTargetState("x", TargetState.PAUSED))
        cluster.settle()
    with pytest.raises(BadRequestError) as refused:
        call(cluster, request_)
    assert str(refused.value) == STOPPED_FIRST
    assert (cluster.outside, written(cluster)) == ([], [])


@both
def test_a_stopped_connector_whose_tasks_are_still_written_down(
    request_: Request[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = cluster_with(SOURCE, stopped=False)
    herder = next(iter(cluster.workers.values())).herder
    # Otherwise the leader mends it in a moment.
    monkeypatch.setattr(herder.desk.term, "_stale_task_sets", list)
    # As a worker of Kafka Connect may leave it: the target state alone.
    cluster.log.append([records.target_state("x", TargetState.STOPPED)])
    cluster.settle()
    assert (herder.log.config.target_state("x"), cluster.running()) == (TargetState.STOPPED, {})
    with pytest.raises(BadRequestError, match="must be in the STOPPED state"):
        call(cluster, request_)


@pytest.mark.parametrize("seed", range(5))
def test_a_source_s_offsets_go_to_the_very_keys_that_are_there(seed: int) -> None:
    cluster = cluster_with(SOURCE, seed, workers=2)
    store(cluster, b'["x",{"b": 2,"a":1}]', b'{"n":3}')  # With a space, as no JSON of ours has it.
    store(cluster, b'["x",{"z":9}]', b'{"n":3}')
    follower = next(name for name in cluster.workers if name != cluster.group.owner)
    with pytest.raises(ForwardError):
        cluster.call(follower, ALTER)
    assert call(cluster, ALTER) == {"message": "The offsets for this connector have been altered successfully"}
    assert written(cluster)[2:] == [(b'["x",{"b": 2,"a":1}]', b'{"n":7}'), (b'["x",{"c":3}]', b'{"n":1}')]
    assert cluster.outside == [effects.AskConnector("FileStreamSource", {**SOURCE, "name": "x"}, ALTER.offsets)]
    offsets = {str(each["partition"]): each["offset"] for each in call(cluster, GetOffsets("x"))["offsets"]}
    assert offsets == {"{'b': 2, 'a': 1}": {"n": 7}, "{'c': 3}": {"n": 1}, "{'z': 9}": {"n": 3}}


@pytest.mark.parametrize("seed", range(5))
def test_who_is_asked_next_tells_what_was_changed_elsewhere(seed: int) -> None:
    cluster = cluster_with(SOURCE, seed, workers=2)
    store(cluster, b'["x",{"z":9}]', b'{"n":3}')
    for number in range(4, 9):
        store(cluster, b'["x",{"z":9}]', b'{"n":%d}' % number)
        for worker in cluster.workers:
            assert cluster.call(worker, GetOffsets("x"))["offsets"] == [{"partition": {"z": 9}, "offset": {"n": number}}]


@pytest.mark.parametrize("seed", range(5))
def test_a_reset_leaves_a_tombstone_for_each_partition_and_can_be_repeated(seed: int) -> None:
    cluster = cluster_with(SOURCE, seed)
    # Not read yet: the leader has to look where the topic ends.
    store(cluster, b'["x",{"a":1}]', b'{"n":3}')
    store(cluster, b'["x",{"b":1}]', b'{"n":4}')
    store(cluster, b'["y",{"a":1}]', b'{"n":3}')
    message = {"message": "The offsets for this connector have been reset successfully"}
    assert call(cluster, RESET) == message
    assert written(cluster)[3:] == [(b'["x",{"a":1}]', None), (b'["x",{"b":1}]', None)]
    asked = [each for each in cluster.outside if isinstance(each, effects.AskConnector)]
    assert [each.offsets for each in asked] == [(({"a": 1}, None), ({"b": 1}, None))]
    assert call(cluster, RESET) == message
    assert len(written(cluster)) == 5
    assert len(next(iter(cluster.workers.values())).herder.log.offsets.of("y")) == 1


@pytest.mark.parametrize("seed", range(5))
def test_what_the_tasks_have_stored_last_is_read_before(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(SOURCE, seed)
    worker = next(iter(cluster.workers.values()))
    perform = worker._perform

    def performed(effect: effects.Effect[Any]) -> None:
        if isinstance(effect, effects.FindEnds):
            store(cluster, b'["x",{"late": 1}]', b'{"n":3}')
        perform(effect)

    monkeypatch.setattr(worker, "_perform", performed)
    call(cluster, RESET)
    assert written(cluster) == [(b'["x",{"late": 1}]', b'{"n":3}'), (b'["x",{"late": 1}]', None)]


def test_a_connector_that_does_not_know_has_the_user_told_so() -> None:
    cluster = cluster_with(SOURCE)
    cluster.outside_answers[effects.AskConnector] = False
    for request, done in ((ALTER, "altered"), (RESET, "reset")):
        assert call(cluster, request) == {
            "message": f"The framework-managed offsets for this connector have been {done} successfully. However, if "
            f"this connector manages offsets externally, they will need to be manually {done} in the system that the connector "
            "uses."
        }


@pytest.mark.parametrize(
    ("refusal", "text"),
    [
        (effects.RefusedError("no shard"), "no shard"),
        (
            effects.UnsupportedError(""),
            "Failed to modify offsets for connector x because it doesn't support external modification of offsets",
        ),
        (RequestTimeoutError("60 s"), "Timed out while calling the 'alterOffsets' method for source connector x"),
        (NotFoundError("no class"), "Failed to modify offsets for source connector x: no class"),
    ],
)
@both
def test_what_the_connector_refuses_is_not_written(request_: Request[Any], refusal: Exception, text: str) -> None:
    cluster = cluster_with(SOURCE)
    store(cluster, b'["x",{"a":1}]', b'{"n":3}')
    cluster.outside_answers[effects.AskConnector] = refusal
    with pytest.raises(ConnectError) as refused:
        call(cluster, request_)
    assert (type(refused.value), str(refused.value)) == (ConnectError, text)
    assert len(written(cluster)) == 1


@pytest.mark.parametrize("seed", range(8))
def test_what_still_runs_is_waited_for(seed: int) -> None:
    cluster = cluster_with(SOURCE, seed, stopped=False)
    assert cluster.running()
    assert cluster.group.owner is not None
    call(cluster, StopConnector("x"))
    answer = cluster.submit(cluster.group.owner, ALTER)
    cluster.run_until(lambda: bool(cluster.outside) or answer.settled)
    assert not {unit for unit in cluster.running() if not unit.is_connector}
    cluster.run_until(lambda: answer.settled)
    assert answer.error is None


ZOMBIES = (
    "Failed to {0} consumer group offsets for connector x either because its tasks haven't stopped completely yet or the "
    "connector was resumed before the request to {0} its offsets could be successfully completed. If the connector is in a "
    "stopped state, this operation can be safely retried. If it doesn't eventually succeed, the Connect cluster may need to be "
    "restarted to get rid of the zombie sink tasks."
)


@pytest.mark.parametrize("config", [SOURCE, SINK], ids=["source", "sink"])
def test_what_does_not_end_in_time_is_refused(config: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(config, stopped=False)
    for host in cluster.hosts.values():
        monkeypatch.setattr(host, "_ending", list)  # Threads that are told to stop, and don't.
    call(cluster, StopConnector("x"))
    for request, verb in ((ALTER if config is SOURCE else ALTER_SINK, "alter"), (RESET, "reset")):
        with pytest.raises(ConnectError) as refused:
            call(cluster, request)
        if config is SOURCE:
            assert isinstance(refused.value, ConflictError)
            assert str(refused.value).startswith(f"Failed to {verb} offsets for source connector x because its tasks haven't")
            assert ": x-0, x-1 still runs" in str(refused.value)
        else:
            assert (type(refused.value), str(refused.value)) == (ConnectError, ZOMBIES.format(verb))
    assert cluster.outside == []
    assert UnitId("x", 0) in cluster.running()


@pytest.mark.parametrize("seed", range(8))
def test_a_connector_that_is_resumed_meanwhile_gets_no_task_before_its_offsets_are_there(seed: int) -> None:
    cluster = cluster_with(SOURCE, seed, workers=2)
    cluster.settle()
    leader = cluster.group.owner
    assert leader is not None
    answer = cluster.submit(leader, ALTER)
    cluster.run_until(lambda: bool(cluster.workers[leader].herder.desk.busy))
    follower = next(name for name in cluster.workers if name != leader)
    cluster.submit(follower, SetTargetState("x", TargetState.STARTED))
    cluster.run_until(lambda: answer.settled)
    assert answer.error is None
    commits = [r.offset for r in cluster.log.topics[Topic.CONFIG] if r.key == b"commit-x"]
    cluster.settle()
    assert set(cluster.running()) == {UnitId("x"), UnitId("x", 0), UnitId("x", 1)}
    order = [(r.topic, r.key) for r in cluster.log.records]
    tasks = [at for at, (topic, key) in enumerate(order) if (topic, key) == (Topic.CONFIG, b"commit-x")][len(commits)]
    offsets = [at for at, (topic, _) in enumerate(order) if topic is Topic.OFFSET]
    assert max(offsets) < tasks


def test_a_sink_s_offsets_are_those_of_its_group() -> None:
    cluster = cluster_with(SINK)
    cluster.group_offsets = [("t", 0, 5), ("t", 1, 6)]
    config = {**SINK, "name": "x"}
    assert call(cluster, ALTER_SINK)["message"].startswith("The offsets for this connector have been altered")
    assert call(cluster, RESET)["message"].startswith("The offsets for this connector have been reset")
    assert cluster.outside == [
        effects.AskConnector("FileStreamSink", config, ((("t", 0), 7), (("t", 1), None))),
        effects.AlterGroup("x", config, {("t", 0): 7, ("t", 1): None}),  # type: ignore[dict-item]
        effects.AskConnector("FileStreamSink", config, ((("t", 0), None), (("t", 1), None))),
        effects.AlterGroup("x", config, None),
    ]
    assert written(cluster) == []


@pytest.mark.parametrize(
    ("refusal", "alter", "reset"),
    [
        (effects.GroupInUseError("members"), ZOMBIES.format("alter"), ZOMBIES.format("reset")),
        (
            ConnectError("there is no topic t"),
            "Failed to alter consumer group offsets for connector x: there is no topic t",
            "Failed to reset consumer group offsets for sink connector x: there is no topic t",
        ),
    ],
)
def test_a_group_that_can_t_be_changed(refusal: Exception, alter: str, reset: str) -> None:
    cluster = cluster_with(SINK)
    cluster.outside_answers[effects.AlterGroup] = refusal
    for request, text in ((ALTER_SINK, alter), (RESET, reset)):
        with pytest.raises(ConnectError) as refused:
            call(cluster, request)
        assert str(refused.value) == text


def test_a_group_that_can_t_be_read() -> None:
    cluster = cluster_with(SINK)
    cluster.outside_answers[effects.GroupOffsets] = ConnectError("no broker")
    for request, failed in (
        (GetOffsets("x"), "Failed to retrieve consumer group offsets for sink connector x: no broker"),
        (RESET, "Failed to list offsets prior to resetting offsets for sink connector x: no broker"),
    ):
        with pytest.raises(ConnectError) as refused:
            call(cluster, request)
        assert str(refused.value) == failed
    assert cluster.outside == []


@pytest.mark.parametrize("seed", range(4))
def test_who_leads_no_longer_changes_no_group(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(SINK, seed, workers=2)
    first = cluster.workers[cluster.group.owner or ""]
    held: list[effects.Effect[Any]] = []
    perform = MemoryWorker._perform

    def hold(self: MemoryWorker, effect: effects.Effect[Any]) -> None:
        if isinstance(effect, effects.AskConnector):
            held.append(effect)
        else:
            perform(self, effect)

    monkeypatch.setattr(MemoryWorker, "_perform", hold)
    answer = cluster.submit(first.name, ALTER_SINK)
    cluster.run_until(lambda: bool(held))
    other = next(name for name in cluster.workers if name != first.name)
    cluster.group.elect(other)
    cluster.settle()
    perform(first, held[0])
    cluster.run_until(lambda: answer.settled)
    assert isinstance(answer.error, ForwardError)
    assert [type(each) for each in cluster.outside] == [effects.AskConnector]


def test_a_wrong_request_for_a_sink_asks_nobody() -> None:
    cluster = cluster_with(SINK)
    with pytest.raises(BadRequestError, match="cannot be null or missing"):
        call(cluster, AlterOffsets("x", ((None, None),)))
    assert cluster.outside == []


# --- fencing ----------------------------------------------------------------------------------------------------------


def test_the_producers_of_the_earlier_tasks_are_fenced_once_for_each_new_set() -> None:
    cluster = cluster_with(SOURCE, stopped=False)
    config = {**SOURCE, "name": "x"}
    assert call(cluster, FenceTasks("x")) is None
    assert cluster.outside == [], "there was no earlier set"
    assert call(cluster, FenceTasks("x")) is None
    call(cluster, PutConfig("x", {**SOURCE, "tasks.max": "3"}))
    cluster.settle()
    assert call(cluster, FenceTasks("x")) is None
    assert cluster.outside == [effects.Fence("x", {**config, "tasks.max": "3"}, 2)]
    fencing = [r.value for r in cluster.log.topics[Topic.CONFIG] if r.key == b"tasks-fencing-x"]
    assert fencing == [b'{"task-count":2}', b'{"task-count":3}']


def test_a_fencing_that_fails_is_not_recorded() -> None:
    cluster = cluster_with(SOURCE, stopped=False)
    call(cluster, FenceTasks("x"))
    call(cluster, PutConfig("x", {**SOURCE, "tasks.max": "3"}))
    cluster.settle()
    cluster.outside_answers[effects.Fence] = ConnectError("no broker")
    with pytest.raises(ConnectError, match="no broker"):
        call(cluster, FenceTasks("x"))
    herder = next(iter(cluster.workers.values())).herder
    assert (herder.log.config.fencing["x"], herder.log.config.connectors["x"].pending_fencing) == (2, True)


def test_who_can_be_fenced() -> None:
    cluster = cluster_with(SINK)
    with pytest.raises(BadRequestError, match="Connector x is not a source connector"):
        call(cluster, FenceTasks("x"))
    with pytest.raises(NotFoundError, match="Connector y not found"):
        call(cluster, FenceTasks("y"))


@both
def test_old_producers_are_fenced_before_offsets_change(request_: Request[Any]) -> None:
    cluster = cluster_with(SOURCE)
    cluster.log.append([records.tasks_fencing("x", 2)])
    store(cluster, b'["x",{"a":1}]', b'{"n":3}')
    cluster.settle()
    call(cluster, request_)
    assert [type(each) for each in cluster.outside] == [effects.Fence, effects.AskConnector]
    cluster.outside_answers[effects.Fence] = ConnectError("no broker")
    stored = len(written(cluster))
    with pytest.raises(ConnectError, match="Failed to perform zombie fencing for source connector prior to modifying offsets"):
        call(cluster, request_)
    assert len(written(cluster)) == stored
