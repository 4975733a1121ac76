"""
A Prometheus that scrapes a worker: each query of the dashboard has a result; an alert fires until its runbook was
followed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.docs.pages import DOCS
from tests.rig import dashboard
from tests.rig.systems.prometheus import Prometheus
from tests.support import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def prometheus(
    worker: WorkerProcess, prometheus_programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    directory = tmp_path_factory.mktemp("prometheus")
    # The alerts as they are, but for how long they wait: nobody here has minutes.
    rules = re.sub(r"for: \d+m", "for: 1s", (DOCS / "alerts.yml").read_text("utf-8"))
    (directory / "alerts.yml").write_text(rules, "utf-8")
    server = Prometheus(prometheus_programs, directory, [f"127.0.0.1:{worker.port}"], directory / "alerts.yml")
    try:
        yield server.start()
    finally:
        server.stop()


class Connectors(NamedTuple):
    """The names of a source, a sink whose file's folder is not there, and a sink with dead letters. All records are bad."""

    good: str
    bad: str
    letters: str
    folder: Path
    """What `bad` misses."""


@pytest.fixture(scope="module")
def connectors(worker: WorkerProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connectors]:
    directory = tmp_path_factory.mktemp("connectors")
    names = Connectors("alerts-good", "alerts-bad", "alerts-letters", directory / "later")
    lines = directory / "in"
    lines.write_text("no JSON\n" * 10)
    sink = {"connector.class": "FileStreamSink", "topics": names.good}
    json = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    queue = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "alerts-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    create = worker.client.create
    create(names.good, {"connector.class": "FileStreamSource", "file": str(lines), "topic": names.good})
    create(names.bad, {**sink, "file": str(names.folder / "out")})
    create(names.letters, {**sink, "file": str(directory / "out"), **json, **queue})
    yield names
    for name in names[:3]:
        worker.client.delete(name)


def test_each_query_of_the_dashboard_has_a_result(prometheus: Prometheus, connectors: Connectors) -> None:
    variables = {"$job": "kconnect", "$connector": "alerts-.*", "$__rate_interval": "30s"}

    def result(query: dashboard.Query) -> list[dict[str, Any]]:
        expression = query.expression
        for name, value in variables.items():
            expression = expression.replace(name, value)
        return prometheus.query(expression)

    waiting = [query for query in dashboard.queries() if not query.needs]

    def missing() -> list[str]:
        return [query.expression for query in waiting if not result(query)]

    with contextlib.suppress(AssertionError):
        wait_until(lambda: not missing(), 240)
    assert missing() == []
    for query in dashboard.queries():
        # What it needs may be the case here, or not; but Prometheus refuses none.
        if query.needs:
            result(query)
    counts = {panel.title: result(panel.queries[0])[0]["value"][1] for panel in dashboard.ROWS["Cluster"]}
    assert (counts["Workers"], counts["Failed"]) == ("1", "1")


def firing(prometheus: Prometheus, connectors: Connectors) -> set[tuple[str, str]]:
    """Return the alerts of these connectors that fire."""
    series = [each["metric"] for each in prometheus.query('ALERTS{alertstate="firing"}')]
    return {(labels["alertname"], labels["connector"]) for labels in series if labels.get("connector") in connectors[:3]}


def test_an_alert_fires_until_its_runbook_was_followed(
    worker: WorkerProcess, prometheus: Prometheus, connectors: Connectors
) -> None:
    failed, letters = ("KconnectTaskFailed", connectors.bad), ("KconnectDeadLetters", connectors.letters)
    wait_until(lambda: firing(prometheus, connectors) == {failed, letters}, 240)

    def run(*arguments: str) -> str:
        called = call(*arguments, env={"KAFKA_CONNECT_URL": worker.url})
        assert called.status == 0, called
        return called.out

    assert str(connectors.folder / "out") in run("describe", "task", f"{connectors.bad}/0")
    assert f"{connectors.bad}/0" in run("get", "tasks", "--state", "failed", "-o", "wide")
    connectors.folder.mkdir()
    run("restart", connectors.bad, "--failed", "--wait", "--timeout", "4m")
    wait_until(lambda: firing(prometheus, connectors) == {letters}, 120)
