"""A host that does not run what it has, by a real worker's answers: it is suspended, and Kafka still says RUNNING."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.support import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def suspended(worker: WorkerProcess) -> Iterator[Callable[[], None]]:
    """Suspends all hosts of the worker until the end of the test."""
    hosts: list[psutil.Process] = []

    def suspend() -> None:
        hosts.extend(worker.hosts())
        for host in hosts:
            host.send_signal(signal.SIGSTOP)

    yield suspend
    for host in hosts:
        if host.is_running():
            host.send_signal(signal.SIGCONT)


def test_a_suspended_host_is_told_until_it_is_back(
    worker: WorkerProcess, suspended: Callable[[], None], unique: Callable[[str], str], tmp_path: Path
) -> None:
    client, name = worker.client, unique("silent")
    source = tmp_path / "lines"
    source.write_text("one\n")
    client.create(name, {"connector.class": "FileStreamSource", "file": str(source), "topic": name})

    def states() -> set[str]:
        status = client.status(name)
        return {unit["state"] for unit in (status["connector"], *status["tasks"])} if status["tasks"] else set()

    try:
        wait_until(lambda: states() == {"RUNNING"}, 120)
        assert client.health()["status"] == "healthy"
        suspended()
        wait_until(lambda: states() == {"UNASSIGNED"}, 60)
        trace = client.status(name)["tasks"][0]["trace"]
        assert trace.startswith("not running: task host ") and "is not heard" in trace
        health = client.health()
        assert health["status"] == "unhealthy", health
        assert "not running: task host" in health["message"]
        shown = call("describe", "connector", name, "--url", worker.url)
        assert "now it is not running: task host" in shown.out, shown
        for host in worker.hosts():
            host.send_signal(signal.SIGCONT)
        wait_until(lambda: states() == {"RUNNING"} and client.health()["status"] == "healthy", 120)
    finally:
        client.delete(name)
