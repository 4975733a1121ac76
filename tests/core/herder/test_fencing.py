"""When the leader has earlier tasks of exactly-once sources fenced, over a cluster in memory (KIP-618)."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder import effects, fencing
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.procedures import Procedure, Until
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector, PutConfig
from kconnect.core.herder.requests.states import RestartConnector, RestartTask, SetTargetState
from kconnect.core.herder.requests.tasks import FenceTasks, PutTaskConfigs
from kconnect.core.state import records
from kconnect.core.state.records import State, TargetState, TasksFencing, Topic, UnitId
from kconnect.errors import ConnectError, RetriableError
from tests.rig.histories.cluster import MemoryCluster, MemoryHost, MemoryWorker

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "3"}
FOREVER = 10**9
seeds = pytest.mark.parametrize("seed", range(4))


def cluster_of(seed: int, *workers: str, task_grace_ms: int = FOREVER, exactly_once: bool = True) -> MemoryCluster:
    """One that waits for old tasks for ever, so that nothing but their ends can have it go on."""
    cluster = MemoryCluster(seed, exactly_once=exactly_once)
    cluster.task_grace_ms = task_grace_ms
    for name in workers or ("a:1", "b:1"):
        cluster.add_worker(name)
        cluster.settle()
    return cluster


def call(cluster: MemoryCluster, request: Request[Any]) -> Any:
    assert cluster.group.owner is not None
    return cluster.call(cluster.group.owner, request)


def create(cluster: MemoryCluster, tasks: int, state: str | None = None) -> None:
    call(cluster, CreateConnector("x", {**SOURCE, "tasks.max": str(tasks)}, state))


def put(cluster: MemoryCluster, tasks: int, more: str = "") -> None:
    call(cluster, PutConfig("x", {**SOURCE, "tasks.max": str(tasks), "more": more}))


def recorded(cluster: MemoryCluster) -> list[int]:
    found = (records.decode_config(record) for record in cluster.log.topics[Topic.CONFIG])
    return [each.tasks for each in found if isinstance(each, TasksFencing)]


def fenced(cluster: MemoryCluster, name: str = "x") -> list[int]:
    return [each.tasks for each in cluster.outside if isinstance(each, effects.Fence) and each.connector == name]


def states(cluster: MemoryCluster, name: str = "x") -> list[State | None]:
    herder = next(iter(cluster.workers.values())).herder
    units = (UnitId(name, task) for task in herder.log.config.task_ids(name))
    return [status.state if (status := herder.log.status.units.get(unit)) else None for unit in units]


def runs(cluster: MemoryCluster, tasks: int) -> bool:
    return states(cluster) == [State.RUNNING] * tasks


@seeds
def test_each_new_set_waits_for_the_one_before(seed: int) -> None:
    cluster = cluster_of(seed)
    create(cluster, 3)
    cluster.settle()
    for tasks in (5, 1, 3):
        put(cluster, tasks)
        cluster.settle()
        assert runs(cluster, tasks)
    # The first set has nobody before it.
    assert (recorded(cluster), fenced(cluster)) == ([3, 5, 1, 3], [3, 5, 1])


@seeds
def test_a_lone_task_fences_a_lone_task_by_itself(seed: int) -> None:
    cluster = cluster_of(seed)
    create(cluster, 1)
    cluster.settle()
    put(cluster, 1, "new")
    cluster.settle()
    assert runs(cluster, 1)
    assert (recorded(cluster), fenced(cluster)) == ([1, 1], [])


@seeds
def test_who_starts_again_in_the_same_set_waits_for_nobody(seed: int) -> None:
    cluster = cluster_of(seed)
    create(cluster, 3)
    cluster.settle()
    before = sum(b'"waiting"' in (record.value or b"") for record in cluster.log.records)
    call(cluster, RestartConnector("x", include_tasks=True))
    cluster.settle()
    assert runs(cluster, 3)
    assert sum(b'"waiting"' in (record.value or b"") for record in cluster.log.records) == before
    assert (recorded(cluster), fenced(cluster)) == ([3], [])


def test_sinks_and_clusters_without_exactly_once_wait_for_nobody() -> None:
    sinks = cluster_of(1)
    call(sinks, CreateConnector("x", {"connector.class": "FileStreamSink", "topics": "t", "tasks.max": "2"}))
    sources = cluster_of(1, exactly_once=False)
    create(sources, 2)
    for cluster in (sinks, sources):
        cluster.settle()
        assert runs(cluster, 2)
        assert recorded(cluster) == []


@seeds
def test_a_paused_connector_is_not_fenced_for_before_it_is_resumed(seed: int) -> None:
    cluster = cluster_of(seed)
    create(cluster, 2, "PAUSED")
    cluster.settle()
    call(cluster, PutTaskConfigs("x", ({"task": "0"}, {"task": "1"})))
    cluster.settle()
    assert states(cluster) == [State.PAUSED] * 2
    assert recorded(cluster) == []
    call(cluster, SetTargetState("x", TargetState.STARTED))
    cluster.settle()
    assert runs(cluster, 2)
    assert recorded(cluster) == [2]


@seeds
def test_what_was_cut_off_is_fenced_after_the_grace(seed: int) -> None:
    cluster = cluster_of(seed, task_grace_ms=60_000)
    create(cluster, 4)
    cluster.settle()
    host = next(h for h in cluster.hosts.values() if h.threads and UnitId("x") not in h.threads)
    # It sends on, and reads nothing of what follows.
    host._cut_off = True
    put(cluster, 5)
    at = cluster.now
    cluster.run_until(lambda: bool(fenced(cluster)), 100_000)
    assert cluster.now - at >= 60_000
    host._cut_off = False
    cluster.settle()
    assert runs(cluster, 5)
    assert (recorded(cluster), fenced(cluster)) == ([4, 5], [4])


@pytest.mark.parametrize("asks", [True, False])
def test_a_slow_task_that_takes_its_id_back_asks_before_it_starts(asks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else would ever take that id again: the new set has fewer tasks."""
    slow, go_on = UnitId("x", 2), MemoryHost._go_on
    monkeypatch.setattr(MemoryHost, "_go_on", lambda self, unit: unit == slow or go_on(self, unit))
    cluster = cluster_of(1, task_grace_ms=1000)
    create(cluster, 3)
    cluster.run_until(lambda: states(cluster) == [State.RUNNING, State.RUNNING, None])
    host = next(host for host in cluster.hosts.values() if slow in host.threads)
    cluster.run_until(lambda: slow in host.passed)
    assert set(host.threads) == {slow}
    # It reads nothing for a while, and its thread goes on only now.
    host._cut_off = True
    put(cluster, 2)
    cluster.run_until(lambda: recorded(cluster) == [3, 2] and len(states(cluster)) == 2)
    cluster.run_until(lambda: cluster.producers.newest("x") > host.threads[slow].config_offset)
    if not asks:
        monkeypatch.setattr(MemoryHost, "_confirmed", lambda self: True)
    for _ in range(50):
        if slow in host.passed:
            go_on(host, slow)
    assert (slow in host.epochs, bool(cluster.producers.unfenced)) == (not asks, not asks)
    if asks:
        assert host.passed[slow] is not None
        host._cut_off = False
        cluster.settle()
        assert runs(cluster, 2)


@seeds
def test_tasks_fail_when_their_predecessors_cannot_be_fenced_and_a_restart_tries_again(seed: int) -> None:
    cluster = cluster_of(seed)
    create(cluster, 3)
    cluster.settle()
    cluster.outside_answers[effects.Fence] = ConnectError("alice may not.")
    put(cluster, 2)
    cluster.settle()
    assert states(cluster) == [State.FAILED] * 2
    traces = [status.trace or "" for unit, status in leader(cluster).herder.log.status.units.items() if not unit.is_connector]
    assert all("connector x's previous tasks could not be fenced" in trace and "alice may not." in trace for trace in traces)
    # No more often than there are tasks that came to wait.
    tried = len(fenced(cluster))
    assert tried <= 2
    assert recorded(cluster) == [3]

    call(cluster, RestartConnector("x", include_tasks=True, only_failed=True))
    cluster.settle()
    assert states(cluster) == [State.FAILED] * 2
    assert tried < len(fenced(cluster)) <= tried + 2

    del cluster.outside_answers[effects.Fence]
    owner = next(worker for worker in cluster.workers.values() if UnitId("x", 0) in worker.herder.desk.owned)
    cluster.call(owner.name, RestartTask("x", 0))
    cluster.settle()
    # As in Connect, who has failed stays so until somebody restarts it.
    assert states(cluster) == [State.RUNNING, State.FAILED]
    call(cluster, RestartConnector("x", include_tasks=True, only_failed=True))
    cluster.settle()
    assert runs(cluster, 2)
    assert (recorded(cluster), fenced(cluster)[-1]) == ([3, 2], 3)
    assert leader(cluster).herder.log.assignment.failed_fencings == {}


@seeds
def test_what_may_pass_is_tried_again_while_the_tasks_wait(seed: int) -> None:
    cluster = cluster_of(seed)
    create(cluster, 2)
    cluster.settle()
    cluster.outside_answers[effects.Fence] = RetriableError("no broker answers")
    put(cluster, 3)
    cluster.run_until(lambda: len(fenced(cluster)) == 4, 60_000)
    assert State.FAILED not in states(cluster)
    assert State.RUNNING not in states(cluster)
    said = [line for line in cluster.lines if "The tasks of connector x wait" in line]
    assert [line.split("attempt is in ")[1].split(" ")[0] for line in said[:3]] == ["1", "2", "4"]
    del cluster.outside_answers[effects.Fence]
    cluster.run_until(lambda: runs(cluster, 3), 60_000)
    assert recorded(cluster) == [2, 3]


def test_one_connector_that_waits_keeps_no_other_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    perform = MemoryWorker._perform
    cluster = cluster_of(1)
    create(cluster, 2)
    call(cluster, CreateConnector("y", SOURCE))
    cluster.settle()

    def silent(self: MemoryWorker, effect: Any) -> None:
        if getattr(effect, "connector", "") == "x":
            self._ask_outside(effect)
        else:
            perform(self, effect)

    monkeypatch.setattr(MemoryWorker, "_perform", silent)
    put(cluster, 3)
    cluster.run_until(lambda: fenced(cluster) == [2])
    call(cluster, PutConfig("y", {**SOURCE, "tasks.max": "2"}))
    cluster.run_until(lambda: states(cluster, "y") == [State.RUNNING] * 2)
    assert State.RUNNING not in states(cluster)


@seeds
def test_a_leader_that_dies_before_it_has_recorded_it_leaves_it_to_the_next(seed: int) -> None:
    cluster = cluster_of(seed)
    create(cluster, 3)
    cluster.settle()
    put(cluster, 2)
    cluster.run_until(lambda: fenced(cluster) == [3])
    assert recorded(cluster) == [3]
    first = cluster.group.owner
    assert first is not None
    cluster.kill_worker(first)
    cluster.settle()
    assert cluster.group.owner != first
    assert runs(cluster, 2)
    assert recorded(cluster) == [3, 2]
    assert fenced(cluster) == [3, 3]


def test_who_asks_for_a_fencing_over_rest_has_it_done_once() -> None:
    cluster = cluster_of(2)
    create(cluster, 3)
    cluster.settle()
    put(cluster, 2)
    cluster.run_until(lambda: leader(cluster).herder.log.config.connectors["x"].task_count == 2)
    answers = [cluster.submit(leader(cluster).name, FenceTasks("x")) for _ in range(2)]
    cluster.settle()
    assert all(answer.settled and answer.error is None for answer in answers)
    assert (recorded(cluster), fenced(cluster)) == ([3, 2], [3])


def leader(cluster: MemoryCluster) -> MemoryWorker:
    assert cluster.group.owner is not None
    return cluster.workers[cluster.group.owner]


def create_many(cluster: MemoryCluster, config: dict[str, str]) -> list[str]:
    """Connectors whose second set of tasks waits for the first one to be fenced, and `z`, which does so last."""
    names = [f"a{number:02}" for number in range(20)]
    for name in names:
        call(cluster, CreateConnector(name, {**SOURCE, **config}))
    call(cluster, CreateConnector("z", SOURCE))
    cluster.settle()
    return names


def put_all(cluster: MemoryCluster, names: list[str], config: dict[str, str]) -> None:
    for name in names:
        call(cluster, PutConfig(name, {**SOURCE, **config, "tasks.max": "2"}))
    call(cluster, PutConfig("z", {**SOURCE, "tasks.max": "2"}))


def test_brokers_that_only_configs_name_keep_no_other_tasks_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    fence = fencing.fence

    def silent(desk: Desk, name: str, tasks: int) -> Procedure[None]:
        if name != "z":
            yield Until(lambda: False)
        yield from fence(desk, name, tasks)

    own = {"producer.override.bootstrap.servers": "silent:9092"}
    cluster = cluster_of(1)
    names = create_many(cluster, own)
    monkeypatch.setattr(fencing, "fence", silent)
    put_all(cluster, names, own)
    cluster.run_until(lambda: fenced(cluster, "z") == [3], 100_000)
    cluster.run_until(lambda: states(cluster, "z") == [State.RUNNING] * 2)


def test_who_is_fenced_for_the_first_time_goes_before_who_was_not_to_be_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    fence, tried = fencing.fence, list[str]()

    def slow(desk: Desk, name: str, tasks: int) -> Procedure[None]:
        if name != "z":
            tried.append(name)
            yield desk.pause(30_000)
            raise RetriableError("no broker answers")
        yield from fence(desk, name, tasks)

    cluster = cluster_of(1)
    names = create_many(cluster, {})
    monkeypatch.setattr(fencing, "fence", slow)
    put_all(cluster, names, {})
    cluster.run_until(lambda: fenced(cluster, "z") == [3], 1_000_000)
    # Each once, and nobody again before.
    assert len(tried) <= len(names) + 8
