"""When the status of a connector says STOPPED, and what survives of that, over a cluster in memory (KIP-875)."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.offsets import AlterOffsets
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.state.records import State, TargetState, UnitId
from tests.rig.histories.cluster import MemoryCluster

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "3"}


def cluster_of(seed: int, *workers: str) -> MemoryCluster:
    """With a connector that runs."""
    cluster = MemoryCluster(seed)
    for name in workers:
        cluster.add_worker(name)
        cluster.settle()
    call(cluster, CreateConnector("x", SOURCE))
    cluster.settle()
    assert len(cluster.running()) == 4
    return cluster


def call(cluster: MemoryCluster, request: Request[Any]) -> Any:
    assert cluster.group.owner is not None
    return cluster.call(cluster.group.owner, request)


def state_of(cluster: MemoryCluster) -> State:
    return next(iter(cluster.workers.values())).herder.log.status.units[UnitId("x")].state


@pytest.mark.parametrize("seed", range(4))
def test_stopped_waits_for_tasks_on_the_hosts_of_others_but_not_for_ever(seed: int) -> None:
    cluster = MemoryCluster(seed)
    for name in ("a:1", "b:1"):
        cluster.add_worker(name)
        cluster.settle()
    cluster.call(cluster.group.owner or "", CreateConnector("x", {"connector.class": "FileStreamSource", "tasks.max": "2"}))
    cluster.settle()
    owner = next(worker for worker in cluster.workers.values() if UnitId("x") in worker.herder.desk.owned)
    other = next(host for host in cluster.hosts.values() if host.worker != owner.name and host.threads)
    # It reaches no broker, so nobody knows whether its task has ended.
    other.cut_off()
    cluster.call(cluster.group.owner or "", StopConnector("x"))
    stopped_at = cluster.now

    def is_stopped() -> bool:
        return owner.herder.log.status.units[UnitId("x")].state is State.STOPPED

    cluster.run_until(lambda: is_stopped() or cluster.now - stopped_at > 10_000)
    assert not is_stopped()
    cluster.run_until(is_stopped)


def test_stopped_is_said_at_once_when_the_tasks_have_ended() -> None:
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", {"connector.class": "FileStreamSource"}))
    cluster.settle()
    cluster.call("a:1", StopConnector("x"))
    at = cluster.now
    cluster.run_until(lambda: cluster.workers["a:1"].herder.log.status.units[UnitId("x")].state is State.STOPPED)
    assert cluster.now - at < 5_000


@pytest.mark.parametrize("seed", range(4))
def test_an_instance_that_hangs_in_stop_is_said_to_be_stopped_and_its_late_end_changes_nothing(seed: int) -> None:
    cluster = cluster_of(seed, "a:1")
    where = cluster.hosts[cluster.running()[UnitId("x")][0]]
    hanging = where._ending
    where._ending = lambda: [unit for unit in hanging() if not unit.is_connector]  # type: ignore[method-assign]
    call(cluster, StopConnector("x"))
    # The tasks have ended, so the offsets may be changed; this does not wait for the instance.
    call(cluster, AlterOffsets("x", (({"a": 1}, {"n": 7}),)))
    assert set(cluster.running()) == {UnitId("x")}
    cluster.run_until(lambda: state_of(cluster) is State.STOPPED)
    assert set(cluster.running()) == {UnitId("x")}
    # What it has to say at its end is not the last word.
    where._ending = hanging  # type: ignore[method-assign]
    cluster.settle()
    assert (cluster.running(), state_of(cluster)) == ({}, State.STOPPED)
    call(cluster, SetTargetState("x", TargetState.STARTED))
    cluster.settle()
    assert len(cluster.running()) == 4


@pytest.mark.parametrize("seed", range(4))
def test_stopped_it_stays_through_compaction_while_all_workers_are_started_anew(seed: int) -> None:
    cluster = cluster_of(seed, "a:1", "b:1")
    call(cluster, StopConnector("x"))
    cluster.settle()
    for kill in (cluster.kill_worker, lambda name: cluster.kill_worker(name, hosts_too=False)):
        for name in ("a:1", "b:1"):
            kill(name)
        cluster.log.compact()
        for name in ("a:1", "b:1"):
            cluster.add_worker(name)
        cluster.settle()
        assert (cluster.running(), state_of(cluster)) == ({}, State.STOPPED)
    call(cluster, SetTargetState("x", TargetState.STARTED))
    cluster.settle()
    assert len(cluster.running()) == 4


@pytest.mark.parametrize("seed", range(8))
def test_what_a_lost_host_held_is_over_once_it_is_stopped(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark has no room for another in its place: its worker, which sees that it is dead, speaks for it."""
    cluster = cluster_of(seed, "a:1", "b:1")
    follower = next(name for name in cluster.workers if name != cluster.group.owner)
    lost = next(where[0] for unit, where in cluster.running().items() if not unit.is_connector and where[0][0] == follower)
    other = {"connector.class": "FileStreamSource", "tasks.max": "6"}
    call(cluster, CreateConnector("other", other))
    cluster.settle()
    no_room = [lost]
    monkeypatch.setattr(cluster, "may_start", lambda *host: host not in no_room)
    cluster.kill_host(*lost)
    call(cluster, StopConnector("x"))
    call(cluster, AlterOffsets("x", (({"a": 1}, {"n": 7}),)))
    cluster.run_until(lambda: state_of(cluster) is State.STOPPED)
    assert not [unit for unit in cluster.running() if unit.connector == "x"]
    # What is still placed there waits for a successor, and for nobody else.
    state = cluster.workers[follower].herder.log.assignment
    assert state.held[lost].units == frozenset((state.placements[follower].hosts or {})[lost[1]])
    no_room.clear()
    call(cluster, SetTargetState("x", TargetState.STARTED))
    cluster.settle()
    assert len(cluster.running()) == 4 + 7
