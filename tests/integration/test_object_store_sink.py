"""The object store sink on a worker, tried by the harness for connectors, against an S3 server: exactly once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from tests.support import starts


class Bucket(Target):
    once = True
    # As many for each partition as a file has.
    multiple = 10 * sinks.PARTITIONS
    poison = "\ud800"

    def __init__(self, server: S3Server) -> None:
        self._server = server
        self._bucket = server.bucket("trials")

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "ObjectStoreSink",
            "s3.bucket.name": self._bucket,
            "s3.region": REGION,
            "store.url": self._server.url,
            "aws.access.key.id": ACCESS_KEY,
            "aws.secret.access.key": SECRET_KEY,
            "format.class": "JsonFormat",
            "flush.size": "10",
            "retry.backoff.ms": "200",
            "request.timeout.ms": "5000",
            "s3.part.retries": "-1",
        }

    def _values(self, topic: str) -> list[dict[str, Any]]:
        found = self._server.files(self._bucket, f"topics/{topic}/")
        return [json.loads(line) for data in found.values() for line in data.splitlines()]

    def numbers(self, topic: str) -> list[int]:
        return [value["id"] for value in self._values(topic)]

    def more(self, topic: str) -> int:
        return sum(value.get("more") is not None for value in self._values(topic))

    def end(self) -> None:
        self._server.end()

    def begin(self) -> None:
        self._server.begin()


@pytest.fixture(scope="module")
@starts("process")
def target() -> Iterator[Bucket]:
    server = S3Server().start()
    yield Bucket(server)
    server.stop()


# Kills are tried by day with a folder and HDFS, and by the histories of `tests/connectors/truth`.
@pytest.mark.parametrize("trial", trials.shared(sinks.TRIALS, trials.control, trials.crash, sinks.poison))
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Bucket
) -> None:
    trial(Trial(worker, bootstrap, unique("objects"), target))
