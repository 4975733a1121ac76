"""What becomes of a worker's units when its Spark ends, and it takes a while until another is up. In memory."""

from __future__ import annotations

import pytest

from kconnect.core.herder import events
from kconnect.core.herder.requests.cluster import GetCluster
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.state.records import UnitId
from tests.rig.histories.cluster import MemoryCluster
from tests.scenarios.test_cluster import WHOLE, states, with_connector
from tests.support import examples

seeds = pytest.mark.parametrize("seed", range(examples(6)))
TWO = ("a:1", "b:1")


def on(cluster: MemoryCluster, worker: str) -> set[UnitId]:
    return {unit for unit, ((name, _),) in cluster.running().items() if name == worker}


@seeds
@pytest.mark.parametrize("lost", TWO)
def test_its_units_run_elsewhere_and_some_come_back(seed: int, lost: str) -> None:
    cluster = with_connector(seed, TWO)
    other = "b:1" if lost == "a:1" else "a:1"
    cluster.kill_spark(lost)
    cluster.run_until(lambda: on(cluster, other) == WHOLE)
    cluster.settle()
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)
    hosts = {each["worker_id"]: len(each["hosts"]) for each in cluster.call(other, GetCluster())["workers"]}
    assert hosts == {lost: 0, other: 2}
    cluster.without_spark.clear()
    cluster.settle()
    assert len(on(cluster, lost)) == len(on(cluster, other)) == 2


@seeds
def test_hosts_that_nobody_sees_die_are_released_after_the_session(seed: int) -> None:
    """They were on other machines: nobody here can tell."""
    cluster = with_connector(seed, TWO)
    worker = cluster.workers["a:1"]
    worker._dead_hosts = frozenset  # type: ignore[method-assign]
    cluster.kill_spark("a:1")
    asked_at = cluster.now
    cluster.run_until(lambda: on(cluster, "b:1") == WHOLE)
    assert cluster.now - asked_at >= cluster.session_ms


@seeds
def test_a_worker_alone_keeps_its_units(seed: int) -> None:
    cluster = with_connector(seed)
    cluster.kill_spark("a:1")
    cluster.settle()
    assert (cluster.running(), states(cluster)) == ({}, ("UNASSIGNED", ["UNASSIGNED"] * 3))
    cluster.without_spark.clear()
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)


@seeds
def test_whoever_leaves_does_not_wait_for_one_that_takes_nothing(seed: int) -> None:
    cluster = with_connector(seed, TWO)
    cluster.kill_spark("a:1")
    cluster.settle()
    leaving = cluster.workers["b:1"]
    leaving._inbox.append(events.ShutDown())
    cluster.run_until(lambda: leaving.left)
    cluster.kill_worker("b:1")
    cluster.without_spark.clear()
    cluster.settle()
    assert on(cluster, "a:1") == WHOLE


def test_a_new_connector_waits_for_nobody_s_spark() -> None:
    cluster = with_connector(0, TWO)
    cluster.kill_spark("a:1")
    cluster.settle()
    cluster.call("b:1", CreateConnector("y", {"connector.class": "FileStreamSource"}))
    cluster.run_until(lambda: {UnitId("y"), UnitId("y", 0)} <= on(cluster, "b:1"))
