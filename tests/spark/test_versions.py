"""A worker on each PySpark that kconnect takes, also with a cluster: records pass, and what is killed comes again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from kconnect import interpreter
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.rig.systems import pysparks
from tests.rig.systems.spark_cluster import SparkCluster
from tests.support import wait_until

pytestmark = [pytest.mark.long, pytest.mark.integration, pytest.mark.timeout(1500)]


class OtherWorker(WorkerProcess):
    """One that runs on another Python."""

    python = ""

    def _command(self) -> list[str]:
        return interpreter.command("kconnect", "worker", str(self._file), python=self.python)


@pytest.mark.parametrize("master", ["local", "cluster"])
@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2"])
def test_records_pass_and_what_is_killed_comes_again(
    version: str, master: str, bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    python, name = pysparks.python(version), unique(f"spark-{version.replace('.', '-')}")
    cluster = None
    properties = {**QUICK, "task.hosts": "1"}
    if master == "cluster":
        cluster = SparkCluster(tmp_path / "cluster", cores=2, workers=1, home=pysparks.home(version)).start()
        own = {"spark.master": cluster.master_url, "spark.driver.host": "127.0.0.1", "spark.pyspark.python": python}
        properties |= {**own, "spark.executor.memory": "512m"}
    worker = OtherWorker(tmp_path / "worker", bootstrap, name, properties=properties)
    worker.python = python
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    source.write_text("one\n")

    def arrived() -> list[str]:
        return target.read_text().splitlines() if target.exists() else []

    try:
        worker.start()
        worker.client.put_config(
            "source", {"connector.class": "FileStreamSource", "file": str(source), "topic": name, "tasks.max": "1"}
        )
        worker.client.put_config("sink", {"connector.class": "FileStreamSink", "file": str(target), "topics": name})
        wait_until(lambda: arrived() == ["one"], 240)
        driver = worker.driver()
        assert driver is not None
        assert str(pysparks.home(version)) in _commands(driver), "it runs on another Spark"
        driver.kill()
        with source.open("a") as more:
            more.write("two\n")
        wait_until(lambda: arrived()[-1:] == ["two"], 240)
        assert set(arrived()) == {"one", "two"}
    finally:
        worker.stop()
        if cluster is not None:
            cluster.stop()


def _commands(parent: psutil.Process) -> str:
    found = []
    for each in parent.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            found += each.cmdline()
    return " ".join(found)
