"""Units move into processes that are up: hosts that workers keep for what others run (`core/herder/standby.py`)."""

from __future__ import annotations

import pytest

from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector
from kconnect.core.state.assignment_records import HostSpec
from kconnect.core.state.records import UnitId
from tests.rig.histories.cluster import MemoryCluster
from tests.scenarios.test_cluster import SOURCE

VERSIONED = {**SOURCE, "connector.plugin.version": "1.2"}
SPEC = HostSpec(("/plugins/1.2",))


def two_workers(**settings: str) -> MemoryCluster:
    cluster = MemoryCluster()
    for name in ("a:1", "b:1"):
        cluster.add_worker(name)
    cluster.settle()
    cluster.call(leader(cluster), CreateConnector("x", {**VERSIONED, **settings}))
    cluster.settle()
    return cluster


def leader(cluster: MemoryCluster) -> str:
    return next(name for name, worker in cluster.workers.items() if worker.herder.desk.leads)


def pass_time(cluster: MemoryCluster, ms: int) -> None:
    end = cluster.now + ms
    while cluster.now < end:
        cluster.now += 1000
        for _ in range(100):
            cluster.step()


def units_of(cluster: MemoryCluster, worker: str) -> set[UnitId]:
    return set(cluster.workers[worker].herder.desk.owned)


def hosts_for(cluster: MemoryCluster, worker: str) -> list[int]:
    return sorted(number for (name, number), host in cluster.hosts.items() if name == worker and host.spec == SPEC)


def test_a_worker_that_comes_is_given_nothing_before_the_hosts_are_up_that_it_will_need() -> None:
    cluster = two_workers()
    starts = cluster.may_start
    slow = {("c:1", 1), ("c:1", 2)}
    cluster.may_start = lambda worker, number: (worker, number) not in slow and starts(worker, number)  # type: ignore[method-assign]
    cluster.add_worker("c:1")
    pass_time(cluster, 40_000)
    assert ("c:1", 0) in cluster.hosts, "its plain host is up"
    assert not units_of(cluster, "c:1"), "but what it would be given stands still until the other one is"
    assert cluster.running().keys() == {UnitId("x"), *(UnitId("x", task) for task in range(3))}
    slow.clear()
    cluster.settle()
    assert hosts_for(cluster, "c:1")
    assert units_of(cluster, "c:1")


def test_it_does_not_wait_for_ever_for_hosts_that_no_core_is_free_for() -> None:
    cluster = two_workers()
    starts = cluster.may_start
    cluster.may_start = lambda worker, number: (worker == "c:1") <= (number == 0) and starts(worker, number)  # type: ignore[method-assign]
    cluster.add_worker("c:1")
    cluster.settle()
    pass_time(cluster, 90_000)
    assert units_of(cluster, "c:1")


def test_hosts_are_kept_for_what_others_run_as_long_as_there_are_others() -> None:
    cluster = two_workers(**{"tasks.max": "1"})
    assert hosts_for(cluster, "a:1") and hosts_for(cluster, "b:1")
    pass_time(cluster, 120_000)
    assert hosts_for(cluster, "a:1") and hosts_for(cluster, "b:1"), "also without units"
    cluster.call(leader(cluster), DeleteConnector("x"))
    pass_time(cluster, 120_000)
    assert not hosts_for(cluster, "a:1") and not hosts_for(cluster, "b:1")


def test_a_lone_worker_keeps_nothing() -> None:
    cluster = MemoryCluster()
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", VERSIONED))
    cluster.settle()
    assert len(hosts_for(cluster, "a:1")) == 1


@pytest.mark.parametrize("isolation", ["shared", "dedicated"])
def test_hosts_of_dedicated_tasks_are_nobody_s_to_keep(isolation: str) -> None:
    cluster = two_workers(**{"tasks.isolation": isolation})
    pass_time(cluster, 60_000)
    kept = [host.spec for host in cluster.hosts.values() if not host.threads and host.spec.unit is not None]
    assert kept == []
