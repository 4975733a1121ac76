"""`GET /kconnect/connectors` over a cluster in memory, and what is not in Connect's own answers."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from kconnect.core.herder.request import Office
from kconnect.core.herder.requests.configs import CreateConnector, PutConfig
from kconnect.core.herder.requests.connectors import GetStatus, GetTaskStatus, ListConnectors
from kconnect.core.herder.requests.overview import GetOverview
from kconnect.core.herder.requests.own import GetOwn, GetRestarts, ListOwn
from kconnect.core.herder.requests.states import StopConnector
from kconnect.core.metrics.report import HostReport, Starts, UnitReport, Usage
from kconnect.core.state import records
from kconnect.core.state.assignment_records import HostSpec
from kconnect.core.state.records import LogRecord, UnitId
from kconnect.errors import NotFoundError
from tests.rig.histories.cluster import MemoryCluster

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "2"}
UNIT = UnitId("x", 0)


@pytest.fixture
def cluster() -> MemoryCluster:
    made = MemoryCluster(1)
    for name in ("a:1", "b:1"):
        made.add_worker(name)
    made.settle()
    made.call("a:1", CreateConnector("x", SOURCE))
    made.settle()
    return made


def test_what_a_task_takes_that_has_a_host_of_its_own(cluster: MemoryCluster) -> None:
    ((worker, number),) = cluster.running()[UNIT]
    asked = "b:1" if worker == "a:1" else "a:1"
    known = cluster.workers[worker].herder.desk.identity.incarnation
    usage = Usage(60_000_000, 2**28, 1.5)
    cluster.reports = [
        HostReport(worker, number, cluster.hosts[worker, number].incarnation, known, Starts(), Starts(), usage),
        HostReport(worker, number, "an earlier one", known, Starts(), Starts(), Usage(1, 1, 1)),
    ]
    assert cluster.call(asked, GetOwn("x"))["tasks"][0]["memory"] is None, "it shares its host"
    placements = cluster.workers[asked].herder.log.assignment.placements
    placements[worker] = replace(placements[worker], specs={number: HostSpec(unit=UNIT, memory=2**28)})
    first, second = cluster.call(asked, GetOwn("x"))["tasks"]
    assert (first["id"], first["memory"]) == (0, {"used": 60_000_000, "max": 2**28})
    assert (first["host"]["worker_id"], first["host"]["host"], second["memory"]) == (worker, number, None)
    # Connect's strict readers fail on what they do not know.
    told = cluster.call(asked, GetStatus("x"))["tasks"][0]
    assert told.keys() == {"id", "state", "worker_id", "version"}
    assert cluster.call(asked, GetTaskStatus("x", 0)) == told
    assert cluster.call(asked, ListConnectors(("status",)))["x"]["status"]["tasks"][0] == told


def test_what_a_task_tries_again_by_its_present_host_and_for_any_worker(cluster: MemoryCluster) -> None:
    ((worker, number),) = cluster.running()[UNIT]
    now = UnitReport(worker, number, cluster.hosts[worker, number].incarnation, UNIT, retrying="put(): RetriableError: busy")
    since: dict[str, float | None] = {"retrying-since-timestamp-seconds": 1_800_000_000.25, "cpu-seconds-total": 12.5}
    cluster.reports = [replace(now, values=since), replace(now, incarnation="an earlier one", values=since, retrying="old")]
    expected = {"since": 1_800_000_000_250, "reason": "put(): RetriableError: busy"}
    for asked in ("a:1", "b:1"):
        found = cluster.call(asked, ListOwn())
        assert [task["retrying"] for task in found["x"]["tasks"]] == [expected, None]
        assert [task["cpu_s"] for task in found["x"]["tasks"]] == [12.5, None]
        advice = ["Its tasks are retrying, and will not fail: fix the cause; `kconnect logs x` shows more"]
        config = {**SOURCE, "name": "x"}
        assert cluster.call(asked, GetOwn("x")) == {"name": "x", **found["x"], "advice": advice, "config": config}
    cluster.reports = [replace(now, values={"retrying-since-timestamp-seconds": 0.0}, retrying="")]
    assert cluster.call("a:1", GetOwn("x"))["tasks"][0]["retrying"] is None


def test_a_connector_whose_task_configs_are_asked_for_again(cluster: MemoryCluster) -> None:
    unit = UnitId("x")
    ((worker, number),) = cluster.running()[unit]
    said = "taskConfigs(): SQLTransientException: the database is starting"
    values: dict[str, float | None] = {"retrying-since-timestamp-seconds": 1_800_000_000.25}
    cluster.reports = [
        UnitReport(worker, number, cluster.hosts[worker, number].incarnation, unit, values=values, retrying=said)
    ]
    found = cluster.call("a:1", GetOwn("x"))
    assert found["retrying"] == {"since": 1_800_000_000_250, "reason": said}
    assert [task["retrying"] for task in found["tasks"]] == [None, None]
    assert found["advice"] == [
        "It asks its connector for task configs again and again, and fails if it gets none within five minutes: fix the cause; "
        "`kconnect logs x` shows more"
    ]
    (row,) = cluster.call("a:1", GetOverview())["connectors"]
    assert (row["why"], row["retrying_since"]) == (said, 1_800_000_000_250)
    cluster.reports = []
    assert cluster.call("a:1", GetOwn("x"))["retrying"] is None


def test_a_connector_that_is_not_there(cluster: MemoryCluster) -> None:
    with pytest.raises(NotFoundError, match=r"^Connector nope not found$"):
        cluster.call("a:1", GetOwn("nope"))


def test_its_config_is_told_without_what_may_be_a_secret(cluster: MemoryCluster) -> None:
    secret = {"db.passphrase": "canary", "producer.override.sasl.jaas.config": "canary", "x.url": "http://ann:canary@h/"}
    cluster.call("a:1", PutConfig("x", {**SOURCE, **secret, "db.password": "${file:/f:k}"}))
    cluster.settle()
    config = cluster.call("a:1", GetOwn("x"))["config"]
    assert "canary" not in str(config)
    assert config["db.password"] == "${file:/f:k}"
    assert config.keys() == {*SOURCE, *secret, "db.password", "name"}


def test_what_a_change_of_settings_restarts(cluster: MemoryCluster) -> None:
    settings = {**SOURCE, "file": "a", "secret": "s"}
    cluster.call("a:1", PutConfig("x", settings))
    cluster.settle()

    def restarts(*changed: str) -> tuple[list[int], bool, str]:
        told = cluster.call("a:1", GetRestarts("x", frozenset(changed)))
        assert told["name"] == "x"
        return told["tasks"], told["all"], told["text"]

    def have(*configs: dict[str, str]) -> None:
        config = cluster.workers["a:1"].herder.log.config
        for entry in records.task_configs("x", list(configs)):
            config.apply(LogRecord(entry.topic, 0, config.offset, entry.key, entry.value))

    # The first has all that its connector has been given, the second only what it needs.
    have(settings, {"file": "a", "secret": "another"})
    both = [0, 1], True, "The connector restarts, and all its tasks (2)."
    first = (
        [0],
        False,
        "The connector restarts, and the tasks 0. Whether the others do depends on the configs that it makes for them then.",
    )
    assert restarts() == ([], True, "Nothing restarts: no setting changes.")
    assert restarts("file") == both
    assert restarts("secret") == first
    assert restarts("new") == first
    assert restarts("new", "file") == both
    neither = "The connector restarts. Whether its tasks do depends on the configs that it makes for them then."
    have({"file": "b"}, {})
    assert restarts("file", "new") == ([], False, neither)
    cluster.call("a:1", StopConnector("x"))
    cluster.settle()
    stopped = "It is stopped: nothing restarts. It takes the new config when it is resumed."
    assert restarts("file") == ([], True, stopped)
    with pytest.raises(NotFoundError):
        cluster.call("a:1", GetRestarts("y", frozenset(("file",))))


def test_thousands_of_settings_are_not_looked_for_in_each_of_thousands_of_tasks(cluster: MemoryCluster) -> None:
    """Whoever may read names as many as a URL holds: the herder, and with it the worker, stood still for seconds."""
    cluster.call("a:1", PutConfig("x", SOURCE))
    cluster.settle()
    desk = cluster.workers["a:1"].herder.desk
    for entry in records.task_configs("x", [{"file": "b"}] * 3000):
        desk.log.config.apply(LogRecord(entry.topic, 0, desk.log.config.offset, entry.key, entry.value))
    request = GetRestarts("x", frozenset(str(number) for number in range(6500)))
    began = time.thread_time()
    assert request.look(cast(Office, SimpleNamespace(desk=desk)))["all"] is False
    assert time.thread_time() - began < 0.5
