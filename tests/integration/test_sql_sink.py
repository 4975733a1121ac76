"""The SQL sink on a worker, tried by the harness for connectors, against PostgreSQL: exactly once, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kconnect.errors import ConnectError
from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems.postgres import Postgres
from tests.support import starts


class Table(Target):
    once = True
    poison = "\0"

    def __init__(self, server: Postgres) -> None:
        self._server = server

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "SqlSink",
            "connection.url": self._server.jdbc_url("postgres"),
            "connection.user": self._server.user,
            "connection.password": self._server.password,
            "auto.create": "true",
            "auto.evolve": "true",
            "offsets.table": "kconnect_offsets",
            "retry.backoff.ms": "200",
            "max.retries": "-1",
        }

    def _asked(self, topic: str, query: str) -> list[tuple[str, ...]]:
        try:
            return self._server.rows(f'select {query} from "{topic}"')
        except ConnectError as error:
            if "does not exist" in str(error):
                return []
            raise

    def numbers(self, topic: str) -> list[int]:
        return [int(row[0]) for row in self._asked(topic, "id")]

    def more(self, topic: str) -> int:
        return int(self._asked(topic, "count(more)")[0][0])

    def end(self) -> None:
        self._server.end()

    def begin(self) -> None:
        self._server.begin()


@pytest.fixture(scope="module")
@starts("process")
def target(postgres_programs: Path) -> Iterator[Table]:
    server = Postgres(postgres_programs).start()
    yield Table(server)
    server.stop()


@pytest.mark.parametrize("trial", [*sinks.TRIALS, pytest.param(trials.many, marks=pytest.mark.long)])
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Table
) -> None:
    trial(Trial(worker, bootstrap, unique("sql"), target))
