"""Units that end their host's process whenever they run, over clusters in memory: they fail, and nobody else does."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PutConfig
from kconnect.core.herder.requests.states import RestartConnector, RestartTask, SetTargetState, StopConnector
from kconnect.core.state.assignment_records import HostSpec
from kconnect.core.state.records import State, TargetState, UnitId, UnitStatus
from tests.rig.histories.cluster import MemoryCluster, MemoryHost

SOURCE = {"connector.class": "FileStreamSource"}


class KillerHost(MemoryHost):
    """Its process ends with a unit of `bad`, a moment after that has begun to run."""

    def step(self) -> None:
        super().step()
        cluster = self.cluster
        assert isinstance(cluster, KillerCluster)
        for unit in cluster.bad & self.threads.keys():
            if self.targets[unit][0] is TargetState.STARTED and cluster.random.random() < 0.3:
                cluster.deaths += 1
                cluster.kill_host(self.worker, self.number)
                return


class KillerCluster(MemoryCluster):
    """`bad` are the units that end the process that they run in."""

    def __init__(self, seed: int, *bad: UnitId) -> None:
        super().__init__(seed)
        self.bad = set(bad)
        self.deaths = 0

    def make_host(self, worker: str, number: int, worker_incarnation: str, life: int, spec: HostSpec) -> MemoryHost:
        return KillerHost(self, worker, number, worker_incarnation, life, spec)

    def statuses(self) -> dict[UnitId, UnitStatus]:
        return dict(next(iter(self.workers.values())).herder.log.status.units)

    def failed(self) -> set[UnitId]:
        return {unit for unit, status in self.statuses().items() if status.state is State.FAILED}

    def rest(self) -> None:
        """Until nothing more happens: bad ones end their hosts for as long as anybody lets them."""
        self.settle(200_000)


def cluster_with(seed: int, *bad: UnitId, workers: int = 1, connectors: int = 3, **more: str) -> KillerCluster:
    cluster = KillerCluster(seed, *bad)
    for number in range(workers):
        cluster.add_worker(f"w{number}:1", hosts=2)
    cluster.settle()
    for number in range(connectors):
        cluster.call(cluster.group.owner or "", CreateConnector(f"c{number}", {**SOURCE, "tasks.max": "2", **more}))
    cluster.rest()
    return cluster


def assert_only_these_failed(cluster: KillerCluster, bad: set[UnitId]) -> None:
    running = cluster.running()
    everybody = next(iter(cluster.workers.values())).herder.log.config.units()
    assert set(running) == everybody - bad
    assert {unit: status.state for unit, status in cluster.statuses().items()} == {
        unit: State.FAILED if unit in bad else State.RUNNING for unit in everybody
    }


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    "bad", [{UnitId("c1", 0)}, {UnitId("c1")}, {UnitId("c1", 0), UnitId("c1", 1)}, {UnitId("c0", 1), UnitId("c2", 0)}]
)
def test_who_ends_its_host_whenever_it_runs_fails_and_all_others_run(bad: set[UnitId], workers: int) -> None:
    # A connector instance that never makes its tasks has none: it is made well, and goes bad.
    cluster = cluster_with(len(bad), workers=workers)
    assert_only_these_failed(cluster, set())
    cluster.bad = set(bad)
    cluster.rest()
    assert_only_these_failed(cluster, bad)
    for unit in bad:
        assert "while it ran nothing else, for an unknown reason" in (cluster.statuses()[unit].trace or "")
        assert cluster.statuses()[unit].version == "test"
    # Some deaths nobody reads of: a process that has said nothing yet, or whose unit has been told to leave.
    assert cluster.deaths <= 2 * len(bad) * (3 + 3 * 2 + 4)


def test_without_a_quarantine_it_would_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kconnect.core.herder.quarantine.Quarantine.read", lambda self, held: None)
    cluster = cluster_with(1)
    cluster.bad = {UnitId("c1", 0)}
    with pytest.raises(AssertionError, match="does not come to rest"):
        cluster.settle(20_000)
    assert cluster.deaths > 15


def test_brokers_of_a_config_end_the_hosts_of_others_once() -> None:
    """They end the host of their connector every three minutes, which no other rule notices: who was there goes down once."""
    cluster = cluster_with(7)
    overrides = {"producer.override.bootstrap.servers": "theirs:9092"}
    cluster.call(cluster.group.owner or "", CreateConnector("theirs", {**SOURCE, "tasks.max": "1", **overrides}))
    cluster.rest()
    theirs, neighbours = UnitId("theirs", 0), []
    for _ in range(12):
        running = cluster.running()
        [place] = running[theirs]
        neighbours.append({unit.connector for unit, places in running.items() if place in places} - {"theirs"})
        cluster.kill_host(*place)
        cluster.rest()
        cluster.now += 180_000
        cluster.rest()
    assert neighbours[0] and not any(neighbours[1:]), neighbours
    assert_only_these_failed(cluster, set())


def test_hosts_that_are_killed_now_and_then_have_nobody_fail() -> None:
    cluster = cluster_with(8, workers=2)
    for _ in range(30):
        cluster.kill_host(*cluster.random.choice(sorted(cluster.hosts)))
        end = cluster.now + cluster.random.randrange(5_000, 40_000)
        while cluster.now < end:
            cluster.step()
            if cluster.random.random() < 0.1:
                cluster.now += 1000
    cluster.rest()
    assert_only_these_failed(cluster, set())


def test_a_restart_by_hand_tries_it_again_in_a_host_of_its_own() -> None:
    bad = UnitId("c1", 0)
    cluster = cluster_with(2)
    cluster.bad = {bad}
    cluster.rest()
    before, lives = cluster.deaths, {key: host.incarnation for key, host in cluster.hosts.items()}
    cluster.call("w0:1", RestartTask("c1", 0))
    cluster.rest()
    assert before + 4 <= cluster.deaths <= before + 8
    assert_only_these_failed(cluster, {bad})
    same = {key for key, host in cluster.hosts.items() if lives.get(key) == host.incarnation}
    assert {where for unit, places in cluster.running().items() for where in places} <= same, "nobody else was disturbed"
    cluster.bad = set()
    cluster.call("w0:1", RestartConnector("c1", include_tasks=True, only_failed=True))
    cluster.rest()
    assert_only_these_failed(cluster, set())


def test_a_new_config_tries_it_again() -> None:
    cluster = cluster_with(3)
    cluster.bad = {UnitId("c1", 0)}
    cluster.rest()
    assert cluster.failed() == cluster.bad
    cluster.bad = set()
    cluster.call("w0:1", PutConfig("c1", {**SOURCE, "tasks.max": "2", "now": "better"}))
    cluster.rest()
    assert_only_these_failed(cluster, set())


def test_errors_restart_tries_it_again_by_itself() -> None:
    more: dict[str, Any] = {"errors.restart.max.attempts": "2", "errors.restart.backoff.ms": "1000"}
    cluster = cluster_with(4, **more)
    cluster.bad = {UnitId("c1", 0)}
    cluster.rest()
    assert_only_these_failed(cluster, cluster.bad)
    attempts = [line for line in cluster.lines if "is started again (errors.restart.*): attempt" in line]
    assert len(attempts) == 2


def test_a_connector_that_is_stopped_is_stopped_and_one_that_is_deleted_is_gone() -> None:
    cluster = cluster_with(5)
    cluster.bad = {UnitId("c1"), UnitId("c2", 0)}
    cluster.rest()
    assert_only_these_failed(cluster, cluster.bad)
    cluster.call("w0:1", StopConnector("c1"))
    cluster.call("w0:1", DeleteConnector("c2"))
    cluster.rest()
    assert {unit: status.state for unit, status in cluster.statuses().items() if unit.connector != "c0"} == {
        UnitId("c1"): State.STOPPED
    }
    cluster.bad = set()
    cluster.call("w0:1", SetTargetState("c1", TargetState.STARTED))
    cluster.rest()
    assert_only_these_failed(cluster, set())


def test_a_dedicated_task_fails_without_anybody_else_noticing() -> None:
    more: dict[str, Any] = {"tasks.isolation": "dedicated", "tasks.memory.max": "268435456"}
    cluster = cluster_with(6, **more)
    lives = {key: host.incarnation for key, host in cluster.hosts.items()}
    cluster.bad = {UnitId("c1", 0)}
    cluster.rest()
    assert_only_these_failed(cluster, cluster.bad)
    assert 3 + 4 <= cluster.deaths <= 2 * (3 + 4)
    for unit, [where] in cluster.running().items():
        assert cluster.hosts[where].incarnation == lives[where], f"{unit} has another host"


def test_another_life_of_the_worker_tries_it_again() -> None:
    cluster = cluster_with(7)
    cluster.bad = {UnitId("c1", 0)}
    cluster.rest()
    assert cluster.failed() == cluster.bad
    cluster.kill_worker("w0:1")
    cluster.bad = set()
    cluster.add_worker("w0:1", hosts=2)
    cluster.rest()
    assert_only_these_failed(cluster, set())
