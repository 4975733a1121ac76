"""The Delta sink on a worker, tried by the harness for connectors, against an S3 server: exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from tests.support import starts


class Lake(Target):
    once = True
    poison = "\ud800"

    def __init__(self, server: S3Server) -> None:
        self._server = server
        self._bucket = server.bucket("lake")

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "DeltaSink",
            "store": f"s3://{self._bucket}/tables",
            "s3.region": REGION,
            "store.url": self._server.url,
            "aws.access.key.id": ACCESS_KEY,
            "aws.secret.access.key": SECRET_KEY,
            "delta.tables": "trials.${topic}",
            "delta.tables.auto-create-enabled": "true",
            "delta.tables.evolve-schema-enabled": "true",
            "delta.commit.interval-ms": "500",
            "retry.backoff.ms": "200",
            "request.timeout.ms": "5000",
            "max.retries": "-1",
        }

    def _columns(self, topic: str) -> dict[str, list[int | str | None]]:
        options = {
            "AWS_ENDPOINT_URL": self._server.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_ALLOW_HTTP": "true",
        }
        try:
            table = DeltaTable(f"s3://{self._bucket}/tables/trials/{topic}", storage_options=options)
        except TableNotFoundError:
            return {}
        columns: dict[str, list[int | str | None]] = table.to_pyarrow_table().to_pydict()
        return columns

    def numbers(self, topic: str) -> list[int]:
        return [number for number in self._columns(topic).get("id", []) if isinstance(number, int)]

    def more(self, topic: str) -> int:
        return sum(value is not None for value in self._columns(topic).get("more", []))

    def end(self) -> None:
        self._server.end()

    def begin(self) -> None:
        self._server.begin()


@pytest.fixture(scope="module")
@starts("process")
def target() -> Iterator[Lake]:
    server = S3Server().start()
    yield Lake(server)
    server.stop()


@pytest.mark.parametrize("trial", trials.shared(sinks.TRIALS, trials.crash, sinks.poison))
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Lake
) -> None:
    trial(Trial(worker, bootstrap, unique("delta"), target))
