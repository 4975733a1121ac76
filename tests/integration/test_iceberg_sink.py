"""The Iceberg sink on a worker, tried by the harness for connectors, with a catalog in PostgreSQL: exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems.postgres import Postgres
from tests.support import starts


class Lake(Target):
    once = True
    poison = "\ud800"

    def __init__(self, server: Postgres, folder: Path) -> None:
        self._server, self._folder = server, folder

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "IcebergSink",
            "iceberg.catalog.type": "jdbc",
            "iceberg.catalog.uri": self._server.jdbc_url("postgres"),
            "iceberg.catalog.jdbc.user": self._server.user,
            "iceberg.catalog.jdbc.password": self._server.password,
            "iceberg.catalog.warehouse": f"file://{self._folder}",
            "iceberg.tables": "trials.${topic}",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.tables.evolve-schema-enabled": "true",
            "iceberg.control.commit.interval-ms": "500",
            "retry.backoff.ms": "200",
            "max.retries": "-1",
        }

    def _table(self, topic: str) -> Table | None:
        place = f"{self._server.user}:{self._server.password}@{self._server.host}:{self._server.port}/postgres"
        catalog = load_catalog("iceberg", type="sql", uri=f"postgresql+psycopg://{place}", warehouse=f"file://{self._folder}")
        try:
            return catalog.load_table(("trials", topic))
        except NoSuchTableError:
            return None

    def numbers(self, topic: str) -> list[int]:
        table = self._table(topic)
        return [] if table is None else table.scan(selected_fields=("id",)).to_arrow().column("id").to_pylist()

    def more(self, topic: str) -> int:
        table = self._table(topic)
        return 0 if table is None else table.scan(row_filter="more is not null").to_arrow().num_rows

    def end(self) -> None:
        self._server.end()

    def begin(self) -> None:
        self._server.begin()


@pytest.fixture(scope="module")
@starts("process")
def target(postgres_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    server = Postgres(postgres_programs).start()
    yield Lake(server, tmp_path_factory.mktemp("lake"))
    server.stop()


@pytest.mark.parametrize(
    "trial", [*trials.shared(sinks.TRIALS, trials.crash), pytest.param(trials.many, marks=pytest.mark.long)]
)
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Lake
) -> None:
    trial(Trial(worker, bootstrap, unique("iceberg"), target))
