"""`GET /kconnect/connectors/{c}/placement` over a cluster in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.placement import GetPlacement
from kconnect.core.herder.requests.states import StopConnector
from kconnect.core.state.assignment_records import Assignment, Held, Wait
from kconnect.core.state.records import State, UnitId, UnitStatus
from kconnect.errors import NotFoundError
from tests.rig.histories.cluster import MemoryCluster

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "2"}
UNIT = UnitId("x", 1)


def cluster_of(*workers: str, spark: bool = True) -> MemoryCluster:
    made = MemoryCluster(1)
    for name in workers:
        made.add_worker(name)
        if not spark:
            made.without_spark.add(name)
    made.settle()
    made.call("a:1", CreateConnector("x", SOURCE))
    made.settle()
    return made


def placement(cluster: MemoryCluster) -> list[dict[str, Any]]:
    body = cluster.call("a:1", GetPlacement("x"))
    assert body["name"] == "x"
    return [body["connector"], *body["tasks"]]


def now(cluster: MemoryCluster, unit: UnitId = UNIT) -> dict[str, Any]:
    """Before anything else happens."""
    body = GetPlacement("x").look(cluster.workers["a:1"].herder._office)
    found: dict[str, Any] = [body["connector"], *body["tasks"]][unit.task + 1]
    return found


def test_what_runs_where_it_is_to_run_waits_for_nothing() -> None:
    cluster = cluster_of("a:1", "b:1")
    found = placement(cluster)
    assert [unit["task"] for unit in found] == [None, 0, 1]
    assert {(unit["state"], unit["waits_for"]) for unit in found} == {("RUNNING", None)}
    for unit, ((worker, host),) in cluster.running().items():
        shown = found[unit.task + 1]
        assert (shown["worker_id"], shown["host"]["worker_id"], shown["host"]["host"]) == (worker, worker, host)
    assert {unit["worker_id"] for unit in found} == {"a:1", "b:1"}


def test_what_has_no_host_says_what_keeps_it() -> None:
    cluster = cluster_of("a:1", spark=False)
    (instance,) = placement(cluster)
    assert (instance["state"], instance["host"]) == ("UNASSIGNED", None)
    assert instance["waits_for"].startswith("waiting for Spark: ")


def test_what_is_stopped_waits_for_nothing() -> None:
    cluster = cluster_of("a:1")
    cluster.call("a:1", StopConnector("x"))
    waiting = now(cluster, UnitId("x"))["waits_for"]
    assert waiting == "waiting for task host 0 of the worker a:1 to stop it", "it takes a moment"
    cluster.settle()
    (instance,) = placement(cluster)
    assert (instance["state"], instance["host"], instance["waits_for"]) == ("STOPPED", None, None)


def test_what_has_failed_waits_for_nobody_but_its_user() -> None:
    cluster = cluster_of("a:1")
    log = cluster.workers["a:1"].herder.log
    log.status.units[UNIT] = UnitStatus(State.FAILED, "a:1", 1, "it ends its host")
    for place, held in log.assignment.held.items():
        log.assignment.held[place] = replace(held, units=(held.units or frozenset()) - {UNIT})
    assert (now(cluster)["host"], now(cluster)["waits_for"]) == (None, None)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda held: replace(held, stuck=frozenset({UNIT})), "it does not stop: task host {} of the worker a:1 ends"),
        (lambda held: replace(held, waiting={UNIT: Wait(1, 1)}), "waiting until the producers of the previous tasks"),
        (lambda held: replace(held, units=frozenset()), "waiting for a task host of the worker a:1 to start it"),
    ],
    ids=["stuck", "fencing", "not started"],
)
def test_what_a_host_says_of_it(change: Callable[[Held], Held], expected: str) -> None:
    cluster = cluster_of("a:1")
    ((_, number),) = cluster.running()[UNIT]
    held = cluster.workers["a:1"].herder.log.assignment.held
    held["a:1", number] = change(held["a:1", number])
    assert now(cluster)["waits_for"].startswith(expected.format(number))


def test_what_moves_waits_for_the_host_that_has_it() -> None:
    cluster = cluster_of("a:1")
    assignments = cluster.workers["a:1"].herder.log.assignment.assignments
    mine = assignments["a:1"]
    assignments["a:1"] = replace(mine, units=(mine.units or frozenset()) - {UNIT})
    assignments["b:1"] = Assignment("b:1", frozenset({UNIT}))
    found = now(cluster)
    assert (found["worker_id"], found["host"]["worker_id"]) == ("b:1", "a:1")
    assert found["waits_for"] == f"waiting for task host {found['host']['host']} of the worker a:1 to stop it"


def test_a_connector_that_is_not_there() -> None:
    with pytest.raises(NotFoundError, match=r"^Connector nope not found$"):
        cluster_of("a:1").call("a:1", GetPlacement("nope"))
