"""What REST says of connectors and tasks that run nowhere yet: `kconnect/core/herder/waiting.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kconnect.core.cluster.silence import Silence
from kconnect.core.herder import events
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.connectors import GetStatus, GetTaskStatus, ListConnectors
from kconnect.core.herder.requests.metrics import GetMetrics
from kconnect.core.herder.requests.own import GetOwn
from kconnect.core.herder.requests.states import RestartConnector, SetTargetState
from kconnect.core.herder.requests.worker import Health
from kconnect.core.state.records import State, TargetState, UnitId
from kconnect.errors import ConnectError
from tests.rig.histories.cluster import MemoryCluster
from tests.scenarios.test_cluster import SOURCE, one_worker, states, with_connector


def without_spark() -> MemoryCluster:
    """A worker that is up, and whose Spark has yet to come."""
    cluster = MemoryCluster()
    cluster.without_spark.add("a:1")
    cluster.add_worker("a:1")
    cluster.settle()
    return cluster


def reasons(cluster: MemoryCluster) -> list[str | None]:
    body = cluster.call("a:1", GetStatus("x"))
    return [unit.get("trace") for unit in (body["connector"], *body["tasks"])]


@pytest.mark.parametrize("state", [None, "stopped"])
def test_what_is_created_before_spark_is_up_waits_for_it(state: str | None) -> None:
    cluster = without_spark()
    cluster.call("a:1", CreateConnector("x", SOURCE, state))
    body = cluster.call("a:1", ListConnectors(("status",)))["x"]["status"]
    assert (body["connector"]["state"], body["tasks"], body["type"]) == ("UNASSIGNED", [], "source")
    assert body["connector"]["trace"] == "waiting for Spark: no worker has a task host yet"
    cluster.without_spark.clear()
    cluster.settle()
    assert reasons(cluster) == [None] * (1 if state else 4)


def test_what_waits_may_be_restarted_with_its_tasks() -> None:
    cluster = without_spark()
    cluster.call("a:1", CreateConnector("x", SOURCE))
    body = cluster.call("a:1", RestartConnector("x", include_tasks=True))
    assert (body["connector"]["state"], body["tasks"]) == ("RESTARTING", [])
    body = cluster.call("a:1", RestartConnector("x", include_tasks=True, only_failed=True))
    assert (body["connector"]["state"], body["tasks"]) == ("UNASSIGNED", [])
    cluster.without_spark.clear()
    cluster.settle()
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)


def test_what_has_no_room_says_so_and_is_started_once_it_has() -> None:
    cluster = MemoryCluster()
    cluster.record_bytes = 64
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", SOURCE))
    cluster.settle()
    cluster.call("a:1", CreateConnector("y", SOURCE))
    cluster.settle()
    body = cluster.call("a:1", GetStatus("y"))
    assert states(cluster)[0] == "RUNNING"
    assert body["connector"]["state"] == "UNASSIGNED"
    assert body["connector"]["trace"].startswith("waiting for room: ")
    cluster.add_worker("b:1")
    cluster.settle()
    assert cluster.call("a:1", GetStatus("y"))["connector"]["state"] == "RUNNING"


def test_what_ran_waits_for_its_worker_s_spark() -> None:
    cluster = with_connector(0)
    cluster.kill_spark("a:1")
    cluster.settle()
    assert states(cluster) == ("UNASSIGNED", ["UNASSIGNED"] * 3)
    assert reasons(cluster) == ["waiting for Spark: the worker a:1 has no task host yet"] * 4
    assert cluster.call("a:1", GetTaskStatus("x", 2))["trace"] == reasons(cluster)[3]


def test_why_spark_does_not_start_is_told_until_it_has_started() -> None:
    cluster = without_spark()
    reason = "the Spark driver ended with status 1: Invalid maximum heap size"
    cluster.workers["a:1"]._inbox.append(events.SparkEnded(reason))
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", SOURCE))
    assert reasons(cluster)[0] == f"waiting for Spark: no worker has a task host yet ({reason})"
    assert cluster.call("a:1", Health()) == f"No connector runs on it: {reason}."
    [said] = [text for text in cluster.call("a:1", GetOwn("x"))["advice"] if "Spark" in text]
    assert said.startswith("It waits for Spark, which does not start it: waiting for Spark: ")
    cluster.without_spark.clear()
    cluster.settle()
    assert set(reasons(cluster)) == {None}
    assert cluster.call("a:1", Health()) is None


def test_why_a_host_ends_is_told_until_it_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = one_worker(0)
    cluster.settle()
    allowed = {0, 1}
    monkeypatch.setattr(cluster, "may_start", lambda worker, number: number in allowed)
    cluster.call("a:1", CreateConnector("x", {**SOURCE, "tasks.isolation": "dedicated", "tasks.max": "1"}))
    cluster.workers["a:1"]._inbox.append(events.HostAbsent(2, "the host has ended: No module named 'kconnect'"))
    cluster.workers["a:1"]._inbox.append(events.HostAbsent(9, "of a host that nobody wants any more"))
    cluster.settle()
    waits = "waiting for Spark: task host 2 of the worker a:1 is not up yet (the host has ended: No module named 'kconnect')"
    assert reasons(cluster) == [None, waits]
    health = "Task host 2 is not up: the host has ended: No module named 'kconnect'."
    assert cluster.call("a:1", Health()) == health
    assert [text for text in cluster.call("a:1", GetOwn("x"))["advice"] if "No module named" in text]
    allowed.add(2)
    cluster.settle()
    assert reasons(cluster) == [None, None]
    assert cluster.call("a:1", Health()) is None


@pytest.mark.parametrize("is_heard", [True, False])
def test_what_a_silent_host_has_is_not_shown_as_running(is_heard: bool) -> None:
    cluster = with_connector(0)
    worker = cluster.workers["a:1"]
    [(name, number, host)] = [(*key, host) for key, host in cluster.hosts.items() if UnitId("x", 1) in host.threads]
    silent = {(name, number, host.incarnation): Silence(cluster.now - 7_000, is_heard)}
    others = {(name, number, "an earlier one"): Silence(0, is_heard), ("b:1", 0, "1"): Silence(0, is_heard)}
    worker._inbox.append(events.HostsSilent(others))
    cluster.settle()
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)
    assert cluster.call("a:1", Health()) is None
    worker._inbox.append(events.HostsSilent({**others, **silent}))
    cluster.settle()
    body = cluster.call("a:1", GetStatus("x"))
    shown = {UnitId("x", unit.get("id", -1)): unit for unit in (body["connector"], *body["tasks"])}
    assert {unit: told["state"] == "UNASSIGNED" for unit, told in shown.items()} == {
        unit: unit in host.threads for unit in shown
    }
    reason = shown[UnitId("x", 1)]["trace"]
    assert reason.startswith(f"not running: task host {number} of the worker a:1 ")
    assert ("internal topics" in reason) is is_heard
    states_now = {now.unit: now.state for now in cluster.call("a:1", GetMetrics()).tasks}
    assert states_now[UnitId("x", 1)] is State.UNASSIGNED
    assert cluster.call("a:1", GetMetrics()).silent_s[number] >= 7
    [said] = [text for text in cluster.call("a:1", GetOwn("x"))["advice"] if "not running" in text]
    assert said.startswith("It was started; now it is not running: task host")
    with pytest.raises(ConnectError, match=r"^For \d+ s .*not running: task host"):
        cluster.call("a:1", Health())
    worker._inbox.append(events.HostsSilent({}))
    cluster.settle()
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3)
    assert cluster.call("a:1", Health()) is None


def test_what_is_paused_or_has_failed_is_shown_so_though_its_host_is_silent() -> None:
    cluster = with_connector(0)
    cluster.call("a:1", SetTargetState("x", TargetState.PAUSED))
    cluster.settle()
    hosts = {(*key, host.incarnation): Silence(cluster.now, True) for key, host in cluster.hosts.items()}
    cluster.workers["a:1"]._inbox.append(events.HostsSilent(hosts))
    cluster.settle()
    assert states(cluster) == ("PAUSED", ["PAUSED"] * 3)


def test_what_no_host_has_any_more_is_not_shown_as_running() -> None:
    """The next life of its host has come without it, since it was told to go to another, and that one is not up."""
    cluster, lost = with_connector(0), UnitId("x", 1)
    worker = cluster.workers["a:1"]
    worker._inbox.append(events.HostsSilent({}, None, frozenset({lost})))
    cluster.settle()
    assert states(cluster) == ("RUNNING", ["RUNNING"] * 3), "a host has it"
    held = worker.herder.log.assignment.held
    [where] = [where for where, host in held.items() if lost in (host.units or ())]
    held[where] = replace(held[where], units=(held[where].units or frozenset()) - {lost})
    assert states(cluster) == ("RUNNING", ["RUNNING", "UNASSIGNED", "RUNNING"])
    assert reasons(cluster)[2] == "not running: waiting for a task host of the worker a:1 to start it"
    states_now = {now.unit: now.state for now in cluster.call("a:1", GetMetrics()).tasks}
    assert states_now[lost] is State.UNASSIGNED


def test_a_worker_that_cannot_read_the_log_does_not_say_that_its_own_run() -> None:
    cluster = with_connector(0)
    cluster.workers["a:1"]._inbox.append(events.HostsSilent({}, cluster.now))
    cluster.settle()
    assert states(cluster) == ("UNASSIGNED", ["UNASSIGNED"] * 3)
    assert (
        reasons(cluster)[0] == "not known: the worker a:1 cannot read its internal topics, and so does not know whether it runs"
    )
    assert cluster.call("a:1", Health()) is None, "that may be an election"
    cluster.now += 10_000
    with pytest.raises(ConnectError, match="internal topics"):
        cluster.call("a:1", Health())


def test_what_waits_for_a_host_of_its_own_says_for_which(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = one_worker(0)
    cluster.settle()
    monkeypatch.setattr(cluster, "may_start", lambda worker, number: number < 2)
    cluster.call("a:1", CreateConnector("x", {**SOURCE, "tasks.isolation": "dedicated", "tasks.max": "1"}))
    cluster.settle()
    assert reasons(cluster) == [None, "waiting for Spark: task host 2 of the worker a:1 is not up yet"]


def test_the_log_says_once_that_the_worker_is_ready() -> None:
    cluster = without_spark()
    assert not [line for line in cluster.lines if "is ready" in line]
    cluster.without_spark.clear()
    cluster.settle()
    assert len([line for line in cluster.lines if "This worker is ready" in line]) == 1
    cluster.workers["a:1"]._inbox.append(events.Tick())
    cluster.kill_spark("a:1")
    cluster.settle()
    cluster.without_spark.clear()
    cluster.settle()
    assert len([line for line in cluster.lines if "This worker is ready" in line]) == 2


@pytest.mark.parametrize("seed", range(4))
def test_what_was_on_a_host_that_does_not_come_back_is_not_left_waiting(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark may have no room for another process in its place: the other hosts take its units, and it gets new ones later."""
    cluster = with_connector(seed)
    [lost] = [key for key, host in cluster.hosts.items() if UnitId("x", 1) in host.threads]
    no_room = {lost}
    monkeypatch.setattr(cluster, "may_start", lambda *host: host not in no_room)
    cluster.kill_host(*lost)
    cluster.settle()
    assert UnitId("x", 1) not in cluster.running(), "it may be coming"
    cluster.now += 61_000
    cluster.settle()
    assert len(cluster.running()) == 4
    assert {where for units in cluster.running().values() for where in units} == {("a:1", 1 - lost[1])}
    no_room.clear()
    cluster.settle()
    cluster.call("a:1", CreateConnector("y", SOURCE))
    cluster.settle()
    assert lost in {where for units in cluster.running().values() for where in units}
