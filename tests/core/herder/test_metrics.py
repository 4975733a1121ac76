"""What `/metrics` is made of, over a cluster in memory."""

from __future__ import annotations

from dataclasses import replace

from kconnect.core.herder.herder import Herder
from kconnect.core.herder.rebalances import Rebalances
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector
from kconnect.core.herder.requests.metrics import GetMetrics, _snapshot
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.metrics.families import Snapshot, families
from kconnect.core.metrics.report import HostReport, Starts, UnitReport, Usage
from kconnect.core.state.records import State, TargetState, UnitId
from tests.rig.histories.cluster import MemoryCluster

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "2"}
WHOLE = {UnitId("x"), UnitId("x", 0), UnitId("x", 1)}


def cluster_with(*workers: str) -> MemoryCluster:
    cluster = MemoryCluster(1)
    for name in workers:
        cluster.add_worker(name)
    cluster.settle()
    cluster.call(cluster.group.owner or "", CreateConnector("x", SOURCE))
    cluster.settle()
    return cluster


def metrics(cluster: MemoryCluster, worker: str = "a:1") -> Snapshot:
    found: Snapshot = cluster.call(worker, GetMetrics())
    return found


def snapshot(herder: Herder) -> Snapshot:
    """At once: nothing goes on meanwhile."""
    return _snapshot(herder.desk, herder.rebalances, [], 1)


def units(shown: Snapshot) -> dict[UnitId, State]:
    return {now.unit: now.state for now in (*shown.connectors, *shown.tasks)}


def report_of(cluster: MemoryCluster, unit: UnitId, **other: object) -> UnitReport:
    """As the host would write that runs it now."""
    ((worker, host),) = cluster.running()[unit]
    incarnation = cluster.hosts[worker, host].incarnation
    where = {"worker": worker, "host": host, "incarnation": incarnation, **other}
    return UnitReport(**where, unit=unit, values={"source-record-poll-total": 5.0})  # type: ignore[arg-type]


def test_states_come_from_the_status_topic_so_what_failed_to_start_has_one() -> None:
    cluster = cluster_with("a:1")
    assert units(metrics(cluster)) == dict.fromkeys(WHOLE, State.RUNNING)
    ((worker, host),) = cluster.running()[UnitId("x", 1)]
    cluster.hosts[worker, host].fail(UnitId("x", 1))
    cluster.settle()
    assert units(metrics(cluster))[UnitId("x", 1)] is State.FAILED
    assert all(now.report is None for now in metrics(cluster).tasks)


def test_each_worker_tells_of_its_own_units() -> None:
    cluster = cluster_with("a:1", "b:1")
    a, b = metrics(cluster, "a:1"), metrics(cluster, "b:1")
    assert not units(a).keys() & units(b).keys()
    assert units(a).keys() | units(b).keys() == WHOLE
    counts = [each.worker for each in (a, b)]
    assert sum((each["connector-count"] or 0) + (each["task-count"] or 0) for each in counts) == 3
    assert {each.rebalance_texts["leader-name"] for each in (a, b)} == {cluster.group.owner}


def test_the_leader_tells_of_what_nobody_has() -> None:
    cluster = cluster_with("a:1")
    herder = cluster.workers["a:1"].herder
    assert snapshot(herder).worker["task-count"] == 2
    herder.log.assignment.assignments.clear()
    assert units(snapshot(herder)).keys() == WHOLE
    assert snapshot(herder).worker["task-count"] == 0


def test_a_stopped_connector_has_its_state_and_no_tasks() -> None:
    cluster = cluster_with("a:1")
    cluster.call("a:1", StopConnector("x"))
    cluster.settle()
    assert units(metrics(cluster)) == {UnitId("x"): State.STOPPED}
    # No host has it, which is as it should be.
    herder = cluster.workers["a:1"].herder
    herder.desk.absent = frozenset(WHOLE)
    assert units(snapshot(herder)) == {UnitId("x"): State.STOPPED}
    herder.desk.absent = frozenset()
    cluster.call("a:1", SetTargetState("x", TargetState.STARTED))
    cluster.settle()
    assert units(metrics(cluster)) == dict.fromkeys(WHOLE, State.RUNNING)
    cluster.call("a:1", DeleteConnector("x"))
    cluster.settle()
    assert units(metrics(cluster)) == {}


def test_numbers_count_only_from_the_host_that_has_the_unit_now() -> None:
    cluster, unit = cluster_with("a:1"), UnitId("x", 0)
    own = report_of(cluster, unit)
    for report, shown in (
        (own, own),
        (report_of(cluster, unit, incarnation="an earlier life"), None),
        (report_of(cluster, unit, host=77), None),
        (report_of(cluster, unit, worker="b:1"), None),
    ):
        cluster.reports = [report]
        assert [now.report for now in metrics(cluster).tasks if now.unit == unit] == [shown]


def test_numbers_of_a_unit_that_has_moved_away_are_gone() -> None:
    cluster = cluster_with("a:1")
    cluster.reports = [report_of(cluster, unit) for unit in WHOLE]
    assert all(now.report for now in metrics(cluster).tasks)
    cluster.kill_worker("a:1")
    cluster.add_worker("b:1")
    cluster.settle()
    moved = metrics(cluster, "b:1")
    assert units(moved).keys() == WHOLE
    assert all(now.report is None for now in (*moved.connectors, *moved.tasks))


def test_starts_add_up_over_the_hosts_of_this_life_of_the_worker() -> None:
    cluster = cluster_with("a:1")
    life = cluster.workers["a:1"].incarnation
    cluster.reports = [
        HostReport("a:1", 0, "1", life, Starts(2, 1, 1), Starts(4, 4, 0)),
        HostReport("a:1", 0, "2", life, Starts(1, 1, 0), Starts(1, 0, 0)),
        HostReport("a:1", 1, "1", "an earlier one", Starts(9, 9, 9), Starts(9, 9, 9)),
        HostReport("b:1", 0, "1", life, Starts(9, 9, 9), Starts(9, 9, 9)),
    ]
    worker = metrics(cluster).worker
    assert {name: worker[name] for name in worker if "startup" in name} == {
        "connector-startup-attempts-total": 3,
        "connector-startup-success-total": 2,
        "connector-startup-failure-total": 1,
        "connector-startup-success-percentage": 2 / 3,
        "connector-startup-failure-percentage": 1 / 3,
        "task-startup-attempts-total": 5,
        "task-startup-success-total": 4,
        "task-startup-failure-total": 0,
        "task-startup-success-percentage": 1,
        "task-startup-failure-percentage": 0,
    }


def test_hosts_show_what_they_take_as_long_as_they_live() -> None:
    cluster = cluster_with("a:1")
    life, usage = cluster.workers["a:1"].incarnation, Usage(60_000_000, None, 1.5)
    (alive, host), other = [(key[1], host) for key, host in sorted(cluster.hosts.items())]
    starts = (Starts(), Starts())
    cluster.reports = [
        HostReport("a:1", alive, host.incarnation, life, *starts, usage),
        HostReport("a:1", alive, "an earlier one", life, *starts, Usage(1, 1, 1)),
        HostReport("b:1", other[0], other[1].incarnation, life, *starts, usage),
    ]
    assert metrics(cluster).hosts == {alive: usage}
    found = {metric.shown: samples for metric, samples in families(metrics(cluster)) if "task_host" in metric.shown}
    assert found == {
        "kafka_connect_task_host_memory_bytes": [((str(alive),), 60_000_000)],
        "kafka_connect_task_host_memory_max_bytes": [],
        "kafka_connect_task_host_cpu_seconds_total": [((str(alive),), 1.5)],
        "kafka_connect_task_host_silent_seconds": [((str(number),), 0.0) for number in sorted((alive, other[0]))],
        # Hosts in memory are no processes.
        "kafka_connect_task_host_start_timestamp_seconds": [],
    }


def test_a_host_that_starts_anew_has_another_start() -> None:
    herder = cluster_with("a:1").workers["a:1"].herder
    at, held = next((at, held) for at, held in herder.log.assignment.held.items() if at[0] == "a:1")
    for began in (1000.5, 2000.5):
        herder.log.assignment.held[at] = replace(held, process=("node", 7, began))
        samples = {metric.shown: samples for metric, samples in families(snapshot(herder))}
        assert samples["kafka_connect_task_host_start_timestamp_seconds"] == [((str(at[1]),), began)]


def test_a_rebalance_is_over_when_the_hosts_hold_what_the_worker_was_given() -> None:
    cluster = cluster_with("a:1")
    before = metrics(cluster).rebalance
    assert (before["rebalancing"], before["epoch"]) == (0, cluster.workers["a:1"].herder.log.assignment.generation)
    answer = cluster.submit("a:1", CreateConnector("y", SOURCE))
    cluster.run_until(lambda: answer.settled and UnitId("y") in cluster.workers["a:1"].herder.desk.owned)
    during = metrics(cluster).rebalance
    cluster.settle()
    after = metrics(cluster).rebalance
    assert during["rebalancing"] == 1
    assert after["rebalancing"] == 0
    assert (after["completed-rebalances-total"] or 0) > (before["completed-rebalances-total"] or 0)
    assert (after["rebalance-max-time-ms"] or 0) >= (after["rebalance-avg-time-ms"] or 0) > 0


def test_a_rebalance_that_another_follows_is_one_that_lasts_longer() -> None:
    seen = Rebalances()
    seen.settled(50)
    assert (seen.completed, seen.last_at) == (0, None)
    seen.assigned(1, 100)
    seen.assigned(1, 110)
    seen.assigned(2, 150)
    assert seen.under_way
    seen.settled(300)
    seen.settled(400)
    assert (seen.completed, seen.longest_ms, seen.total_ms, seen.last_at) == (1, 200, 200, 300)
    seen.assigned(3, 500)
    seen.settled(510)
    assert (seen.completed, seen.longest_ms, seen.total_ms, seen.last_at) == (2, 200, 210, 510)


def test_no_setting_but_the_class_gets_into_the_metrics() -> None:
    cluster = cluster_with("a:1")
    cluster.call("a:1", CreateConnector("y", {**SOURCE, "password": "canary", "file": "canary"}))
    cluster.settle()
    shown = repr([(metric.name, samples) for metric, samples in families(metrics(cluster))])
    assert "canary" not in shown
    assert "FileStreamSource" in shown
