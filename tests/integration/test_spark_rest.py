"""A worker that nobody gives anything to run has no Spark, and has it again with the first connector."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.integration.units import values
from tests.support import wait_until

# By day the histories have it (`tests/scenarios/test_spark_rest.py`).
pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]


def test_spark_ends_starts_and_ends_again(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> None:
    name, lines = unique("lines"), tmp_path / "lines.txt"
    lines.write_text("one\n")
    properties = {**QUICK, "task.hosts": "1", "driver.rest.after.ms": "500"}
    worker = WorkerProcess(tmp_path / "worker", broker.bootstrap_servers, unique("rests"), properties=properties)
    rests = "this worker's Spark rests until there is something"

    def status() -> str:
        try:
            return str(worker.client.status(name)["connector"]["state"])
        except RestError:
            return "none"

    def has_spark() -> bool:
        return worker.driver() is not None or worker.jvm() is not None or bool(worker.hosts())

    def log() -> str:
        return worker.log.read_text("utf-8")

    worker.start()
    try:
        wait_until(lambda: rests in log(), 240)
        wait_until(lambda: not has_spark(), 240)
        for path in ("ready", "health"):
            with urllib.request.urlopen(f"{worker.url}{path}", timeout=60) as answer:
                assert answer.status == 200
        typed = [sys.executable, "-m", "kconnect", "cluster", "--url", worker.url]
        assert "resting" in subprocess.run(typed, capture_output=True, text=True, timeout=600, check=True).stdout
        worker.client.put_config(name, {"connector.class": "FileStreamSource", "file": str(lines), "topic": name})
        wait_until(lambda: status() == "RUNNING", 240)
        wait_until(lambda: values(broker.bootstrap_servers, name) == ["one"], 240)
        worker.client.stop(name)
        wait_until(lambda: log().count(rests) == 2 and not has_spark(), 240)
        assert status() == "STOPPED"
        worker.client.resume(name)
        wait_until(lambda: status() == "RUNNING", 240)
        worker.client.delete(name)
        wait_until(lambda: log().count(rests) == 3 and not has_spark(), 240)
        assert "The Spark driver ended" not in log(), "that it was asked to is no failure"
    finally:
        assert worker.stop() == 0
