"""A worker whose Spark does not start: the reason is where people look, and not in the log only."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import call
from tests.conftest import QUICK
from tests.support import wait_until

pytestmark = pytest.mark.integration

REASON = "the Spark driver ended with status 1"


@pytest.mark.long
def test_a_driver_that_can_not_start_says_why(broker: Broker, tmp_path: Path) -> None:
    broken = {"spark.driver.memory": "nonsense", "spark.ssl.keyPassword": "canary-key-55"}
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers, "trouble", properties={**QUICK, **broken})
    try:
        worker.start()
        wait_until(lambda: REASON in worker.client.health()["message"], 60)
        health = worker.client.health()
        assert health["status"] == "healthy", "a worker that is ended for this would do no better"
        assert "Spark did not start" in health["message"]
        worker.client.create("waits", {"connector.class": "FileStreamSource", "file": "/dev/null", "topic": "trouble"})
        status = worker.client.status("waits")["connector"]
        assert status["state"] == "UNASSIGNED"
        assert f"task host yet ({REASON}" in status["trace"]
        shown = call("describe", "connector", "waits", "--url", worker.url)
        assert "It waits for Spark, which does not start" in shown.out, shown
        assert "canary-key-55" not in health["message"] + status["trace"] + shown.out
    finally:
        worker.stop()


def test_hosts_that_can_not_start_say_why(broker: Broker, tmp_path: Path) -> None:
    missing = str(tmp_path / "no-such-python")
    worker = WorkerProcess(
        tmp_path, broker.bootstrap_servers, "hostless", properties={**QUICK, "spark.pyspark.python": missing}
    )
    try:
        worker.start()
        wait_until(lambda: "Task host 0 is not up: the host has ended" in worker.client.health()["message"], 120)
        assert missing in worker.client.health()["message"]
        worker.client.create("waits", {"connector.class": "FileStreamSource", "file": "/dev/null", "topic": "hostless"})
        wait_until(lambda: "the host has ended" in (worker.client.status("waits")["connector"].get("trace") or ""), 60)
        assert missing in worker.client.status("waits")["connector"]["trace"]
        shown = call("describe", "connector", "waits", "--url", worker.url)
        assert "It waits for Spark, which does not start" in shown.out and missing in shown.out, shown
    finally:
        worker.stop()
