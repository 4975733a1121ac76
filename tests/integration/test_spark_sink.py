"""The Spark sink on a worker, tried by the harness for connectors, with tables of both formats in a folder: exactly once."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems import lake
from tests.support import starts, wait_until


class Lake(Target):
    once = True
    poison = "\ud800"
    form: str

    def __init__(self, folder: Path) -> None:
        self._folder, self._away = folder / "lake", folder / "away"
        self._folder.mkdir()

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "SparkSink",
            "lake.format": self.form,
            "lake.store.url": f"file://{self._folder}",
            "lake.tables": "trials.${topic}",
            "lake.tables.auto-create-enabled": "true",
            "lake.tables.evolve-schema-enabled": "true",
            "lake.commit.interval-ms": "500",
            "retry.backoff.ms": "500",
            "max.retries": "-1",
        }

    def read(self, folder: Path) -> Any:
        raise NotImplementedError

    def _columns(self, topic: str) -> dict[str, list[int | str | None]]:
        try:
            columns: dict[str, list[int | str | None]] = self.read(self._folder / "trials" / topic).to_pydict()
        except (TableNotFoundError, FileNotFoundError):
            return {}
        return columns

    def numbers(self, topic: str) -> list[int]:
        return [number for number in self._columns(topic).get("id", []) if isinstance(number, int)]

    def more(self, topic: str) -> int:
        return sum(value is not None for value in self._columns(topic).get("more", []))

    def end(self) -> None:
        self._folder.rename(self._away)
        # Or the folder would be made anew.
        self._folder.write_text("")

    def begin(self) -> None:
        self._folder.unlink()
        self._away.rename(self._folder)


class DeltaLake(Lake):
    form = "delta"

    def read(self, folder: Path) -> Any:
        return DeltaTable(str(folder)).to_pyarrow_table()


class IcebergLake(Lake):
    form = "iceberg"

    def read(self, folder: Path) -> Any:
        return lake.iceberg_rows(folder)


@pytest.fixture(scope="module")
@starts("integration")
def spark_worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    properties = {**QUICK, "lake.python": lake.python(), "task.hosts": "1"}
    started = WorkerProcess(tmp_path_factory.mktemp("spark"), broker.bootstrap_servers, "spark", properties=properties)
    try:
        yield started.start()
    finally:
        started.stop()


# With Delta it takes three times as long.
@pytest.fixture(scope="module", params=[pytest.param(DeltaLake, marks=pytest.mark.long), IcebergLake], ids=["delta", "iceberg"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    made: Lake = request.param(tmp_path_factory.mktemp("lake"))
    return made


@pytest.mark.parametrize("trial", trials.shared(sinks.TRIALS, trials.control, trials.crash, sinks.poison))
def test_trial(
    trial: Callable[[Trial], None], spark_worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Lake
) -> None:
    trial(Trial(spark_worker, bootstrap, unique("spark"), target))


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("kills", [1, pytest.param(25, marks=pytest.mark.long)])
def test_whatever_of_it_is_killed_each_row_is_there_once(
    kills: int, spark_worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Lake
) -> None:
    """Its application's Python, its JVM, and the task host that started it, at random moments of commits."""
    draw = random.Random(kills)
    trial = Trial(spark_worker, bootstrap, unique("killed"), target)
    with trial.running():
        with trial.traffic():
            for number in range(kills):
                trial.grows()
                time.sleep(draw.random() * 2)
                victims = _processes(spark_worker)
                victims[list(victims)[number % len(victims)]].kill()
        trial.arrived()
        told = f'kafka_connect_plugins_lake_rows{{connector="{trial.name}",task="0",table='
        wait_until(lambda: told in spark_worker.client.metrics(), trials.LIMIT_S)


def _processes(worker: WorkerProcess) -> dict[str, psutil.Process]:
    """What of the sink is a process, once all of it is up."""

    def found() -> dict[str, psutil.Process]:
        processes: dict[str, psutil.Process] = {}
        for process in psutil.Process(worker.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "kconnect.connectors.spark.session.main" in process.cmdline():
                    host, java = process.parent(), process.children()
                    if host is not None and java:
                        processes = {"application": process, "its JVM": java[0], "host": host}
        return processes

    processes: dict[str, psutil.Process] = wait_until(found, trials.LIMIT_S)
    return processes
