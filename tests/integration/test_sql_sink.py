"""The SQL sink on a worker, tried by the harness for connectors, against PostgreSQL and MariaDB: exactly once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kconnect.errors import ConnectError
from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems.mariadb import MariaDB
from tests.rig.systems.postgres import Postgres
from tests.rig.systems.small_disk import SmallDisk
from tests.support import starts


class Table(Target):
    once = True
    poison = "\0"

    def __init__(self, server: Postgres | MariaDB, database: str, quote: str) -> None:
        self._server, self._database, self._quote = server, database, quote

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "SqlSink",
            "connection.url": self._server.jdbc_url(self._database),
            "connection.user": self._server.user,
            "connection.password": self._server.password,
            "auto.create": "true",
            "auto.evolve": "true",
            "offsets.table": "kconnect_offsets",
            "retry.backoff.ms": "200",
            "max.retries": "-1",
        }

    def _asked(self, topic: str, query: str) -> list[tuple[str, ...]]:
        place = f"{self._quote}{topic}{self._quote}"
        try:
            return [tuple(row) for row in self._server.rows(f"select {query} from {self._prefix}{place}")]
        except ConnectError as error:
            if "does not exist" in str(error) or "doesn't exist" in str(error):
                return []
            raise

    @property
    def _prefix(self) -> str:
        """MariaDB's programs are in no database."""
        return f"{self._database}." if self._quote == "`" else ""

    def put_on(self, directory: Path, topic: str) -> None:
        """Make the table where there is little room."""
        place = directory / "tables"
        place.mkdir()
        if os.geteuid() == 0:
            shutil.chown(place, "postgres", "postgres")
        self._server.execute(
            f"create tablespace small location '{place}'; "
            f'create table "{topic}" (id bigint not null, note text) tablespace small;'
        )

    def numbers(self, topic: str) -> list[int]:
        return [int(row[0]) for row in self._asked(topic, "id")]

    def more(self, topic: str) -> int:
        return int(self._asked(topic, "count(more)")[0][0])

    def end(self) -> None:
        self._server.end()

    def begin(self) -> None:
        self._server.begin()


BY_NIGHT = (trials.crash, trials.rebalance)
"""What ends tasks is tried by day in `test_chaos.py`, and for this sink's writes in `tests/connectors/sql`."""


@pytest.fixture(scope="module")
@starts("process")
def target(postgres_programs: Path) -> Iterator[Table]:
    server = Postgres(postgres_programs).start()
    yield Table(server, "postgres", '"')
    server.stop()


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    made = SmallDisk().start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
@starts("process")
def mariadb() -> Iterator[Table]:
    server = MariaDB()
    try:
        server.start()
        server.execute("create database trial character set utf8mb4")
        table = Table(server, "trial", "`")
        # What MariaDB's texts can't have is one that is longer than 16 MiB, or has half of a pair.
        table.poison = "\ud800"
        yield table
    finally:
        server.stop()


@pytest.mark.parametrize(
    "trial",
    [
        *(trial for trial in sinks.TRIALS if trial not in BY_NIGHT),
        *(pytest.param(trial, marks=pytest.mark.long) for trial in (*BY_NIGHT, trials.many)),
    ],
)
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Table
) -> None:
    trial(Trial(worker, bootstrap, unique("sql"), target))


def test_a_full_disk(
    worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Table, disk: SmallDisk
) -> None:
    trial = Trial(worker, bootstrap, unique("sql"), target)
    target.put_on(disk.directory, trial.name)
    trials.full(trial, disk.fill, disk.clear)


@pytest.mark.long
@pytest.mark.parametrize("trial", sinks.TRIALS)
def test_trial_with_mariadb(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], mariadb: Table
) -> None:
    trial(Trial(worker, bootstrap, unique("sql"), mariadb))
