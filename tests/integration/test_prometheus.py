"""A Prometheus that scrapes a worker: an alert of docs/alerts.yml fires, its runbook is followed, and it is over."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.docs.pages import DOCS
from tests.rig.systems.prometheus import Prometheus
from tests.support import wait_until

pytestmark = pytest.mark.integration

Names = Callable[[str], str]


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


def firing(prometheus: Prometheus, *connectors: str) -> set[tuple[str, str]]:
    """Return the alerts that fire, with their connectors."""
    series = [each["metric"] for each in prometheus.query('ALERTS{alertstate="firing"}')]
    return {(labels["alertname"], labels["connector"]) for labels in series if labels.get("connector") in connectors}


def test_an_alert_fires_until_its_runbook_was_followed(
    worker: WorkerProcess, prometheus: Prometheus, unique: Names, tmp_path: Path
) -> None:
    good, bad, letters = unique("good"), unique("bad"), unique("letters")
    (tmp_path / "in").write_text("no JSON\n" * 10)
    topic, folder = unique("alerts"), tmp_path / "later"
    sink = {"connector.class": "FileStreamSink", "topics": topic}
    worker.client.create(good, {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": topic})
    worker.client.create(bad, {**sink, "file": str(folder / "out")})
    queue = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{letters}-dead"}
    replicas = {"errors.deadletterqueue.topic.replication.factor": "1"}
    json = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    worker.client.create(letters, {**sink, "file": str(tmp_path / "out"), **json, **queue, **replicas})
    expected = {("KconnectTaskFailed", bad), ("KconnectDeadLetters", letters)}
    wait_until(lambda: firing(prometheus, good, bad, letters) == expected, 240)

    def run(*arguments: str) -> str:
        called = call(*arguments, env={"KAFKA_CONNECT_URL": worker.url})
        assert called.status == 0, called
        return called.out

    assert str(folder / "out") in run("describe", "task", f"{bad}/0")
    assert f"{bad}/0" in run("get", "tasks", "--state", "failed", "-o", "wide")
    folder.mkdir()
    run("restart", bad, "--failed", "--wait", "--timeout", "4m")
    wait_until(lambda: firing(prometheus, good, bad, letters) == {("KconnectDeadLetters", letters)}, 120)
    for name in (good, bad, letters):
        worker.client.delete(name)
