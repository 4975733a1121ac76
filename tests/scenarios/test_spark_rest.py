"""Workers whose Spark ends because nobody has anything to run, and starts again (`core/herder/spark_rest.py`). In memory."""

from __future__ import annotations

import pytest

from kconnect.core.herder import events
from kconnect.core.herder.requests.cluster import DrainWorker, GetCluster, GetDemand
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.herder.requests.worker import Health, WhyNotReady
from kconnect.core.state.records import TargetState, UnitId
from tests.rig.histories.cluster import MemoryCluster
from tests.scenarios.test_cluster import SOURCE, WHOLE, states
from tests.scenarios.test_standby import leader, pass_time
from tests.support import examples

seeds = pytest.mark.parametrize("seed", range(examples(6)))
TWO = {"a:1", "b:1"}


def workers(seed: int = 0, after_ms: int = 60_000) -> MemoryCluster:
    cluster = MemoryCluster(seed)
    cluster.spark_rests_after_ms = after_ms
    for name in sorted(TWO):
        cluster.add_worker(name)
    cluster.settle()
    return cluster


def resting(cluster: MemoryCluster) -> set[str]:
    return {each["worker_id"] for each in cluster.call(leader(cluster), GetCluster())["workers"] if each["resting"]}


@seeds
def test_it_ends_where_there_is_nothing_to_run_and_starts_with_the_first_connector(seed: int) -> None:
    cluster = workers(seed)
    assert len(cluster.hosts) == 4
    pass_time(cluster, 40_000)
    assert len(cluster.hosts) == 4, "not at once"
    pass_time(cluster, 40_000)
    assert not cluster.hosts
    assert cluster.asleep == resting(cluster) == TWO
    for name in TWO:
        assert cluster.call(name, WhyNotReady()) is None, "it can have Spark, and has had it"
        assert cluster.call(name, Health()) is None
    cluster.call(leader(cluster), CreateConnector("x", SOURCE))
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)
    assert not cluster.asleep and not resting(cluster)
    assert {where[0][0] for where in cluster.running().values()} == TWO


@seeds
def test_a_stopped_connector_is_nothing_to_run_and_stays_stopped(seed: int) -> None:
    cluster = workers(seed)
    cluster.call(leader(cluster), CreateConnector("x", SOURCE))
    cluster.settle()
    pass_time(cluster, 120_000)
    assert not cluster.asleep, "it runs"
    cluster.call(leader(cluster), StopConnector("x"))
    cluster.settle()
    pass_time(cluster, 90_000)
    assert cluster.asleep == TWO and not cluster.hosts
    assert states(cluster) == ("STOPPED", [])
    cluster.call(leader(cluster), SetTargetState("x", TargetState.STARTED))
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    cluster.call(leader(cluster), DeleteConnector("x"))
    cluster.settle()
    pass_time(cluster, 90_000)
    assert cluster.asleep == TWO, "as often as there is nothing"


@seeds
def test_a_paused_connector_is_run(seed: int) -> None:
    cluster = workers(seed)
    cluster.call(leader(cluster), CreateConnector("x", SOURCE))
    cluster.settle()
    cluster.call(leader(cluster), SetTargetState("x", TargetState.PAUSED))
    cluster.settle()
    pass_time(cluster, 120_000)
    assert not cluster.asleep and set(cluster.running()) == WHOLE


@seeds
def test_who_is_needed_while_its_hosts_end_goes_on(seed: int) -> None:
    cluster = workers(seed)
    cluster.run_until(lambda: any(worker.herder.placing._rest.rests for worker in cluster.workers.values()), 200_000)
    cluster.call(leader(cluster), CreateConnector("x", SOURCE))
    cluster.settle()
    assert set(cluster.running()) == WHOLE and not cluster.asleep


@seeds
def test_whoever_comes_to_a_resting_cluster_rests_too_and_whoever_leaves_may(seed: int) -> None:
    cluster = workers(seed)
    pass_time(cluster, 90_000)
    cluster.add_worker("c:1")
    cluster.settle()
    assert cluster.asleep == TWO
    pass_time(cluster, 90_000)
    assert cluster.asleep == {*TWO, "c:1"}
    leaving = cluster.workers["a:1"]
    leaving._inbox.append(events.ShutDown())
    cluster.run_until(lambda: leaving.left)
    assert "a:1" in cluster.asleep, "it does not start what it is about to end"
    cluster.kill_worker("a:1")
    cluster.settle()
    cluster.call(leader(cluster), CreateConnector("x", SOURCE))
    cluster.settle()
    assert set(cluster.running()) == WHOLE


def test_a_worker_that_rests_counts_as_one_that_can_run_something() -> None:
    cluster = workers()
    pass_time(cluster, 90_000)
    assert cluster.call(leader(cluster), GetDemand())["workers_now"] == 2
    cluster.call(leader(cluster), DrainWorker("a:1", True))
    cluster.call(leader(cluster), CreateConnector("x", SOURCE))
    cluster.settle()
    assert {where[0][0] for where in cluster.running().values()} == {"b:1"}


def test_it_stays_if_the_setting_says_so_or_it_was_never_up() -> None:
    cluster = workers(after_ms=-1)
    pass_time(cluster, 120_000)
    assert not cluster.asleep and len(cluster.hosts) == 4
    cluster = MemoryCluster()
    cluster.spark_rests_after_ms = 60_000
    cluster.without_spark.add("a:1")
    cluster.add_worker("a:1")
    cluster.settle()
    pass_time(cluster, 120_000)
    assert not cluster.asleep, "nobody knows yet whether it can have Spark"
    cluster.without_spark.clear()
    pass_time(cluster, 120_000)
    assert cluster.asleep == {"a:1"}


def test_one_that_is_not_told_runs_what_there_is_until_the_others_are_up() -> None:
    """Workers of a version that knows of no rest, or with another setting."""
    cluster = workers()
    cluster.spark_rests_after_ms = -1
    cluster.add_worker("c:1")
    pass_time(cluster, 90_000)
    assert cluster.asleep == TWO
    cluster.call(leader(cluster), CreateConnector("x", SOURCE))
    cluster.run_until(lambda: UnitId("x") in cluster.running())
    cluster.settle()
    assert set(cluster.running()) == WHOLE
    assert len({where[0][0] for where in cluster.running().values()}) == 3
