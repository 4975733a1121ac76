"""The object store source on a worker with exactly-once sources, tried by the harness for connectors, against an S3 server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sources, trials
from tests.rig.connectors.sources import Origin, Trial
from tests.rig.systems.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from tests.support import starts


class Bucket(Origin):
    """A file has as many records as are written at once."""

    once = True

    def __init__(self, server: S3Server) -> None:
        self._server = server
        self._bucket = server.bucket("trials")

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "ObjectStoreSource",
            "s3.bucket.name": self._bucket,
            "s3.region": REGION,
            "store.url": self._server.url,
            "aws.access.key.id": ACCESS_KEY,
            "aws.secret.access.key": SECRET_KEY,
            "mode": "GENERIC",
            "topics.dir": topic,
            "topic.regex.list": f"{topic}:[.]json$",
            "format.class": "JsonFormat",
            "record.batch.max.size": "7",
            "s3.poll.interval.ms": "100",
            "retry.backoff.ms": "200",
            "request.timeout.ms": "5000",
            "exactly.once.support": "required",
        }

    def prepare(self, topic: str) -> None:
        """A folder is there when a file is in it."""

    def add(self, topic: str, numbers: range, more: str | None) -> None:
        others = {} if more is None else {"more": more}
        lines = "".join(f"{json.dumps({'id': number, **others})}\n" for number in numbers)
        # Names say nothing of their order.
        name = f"{topic}/{numbers.start % 7}/{numbers.start}.json"
        self._server.client.put_object(Bucket=self._bucket, Key=name, Body=lines.encode())

    def end(self) -> None:
        self._server.end()

    def begin(self) -> None:
        self._server.begin()


@pytest.fixture(scope="module")
@starts("process")
def origin() -> Iterator[Bucket]:
    server = S3Server().start()
    yield Bucket(server)
    server.stop()


@pytest.mark.parametrize("trial", trials.shared(sources.TRIALS, trials.control, trials.crash))
def test_trial(
    trial: Callable[[Trial], None], once_worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], origin: Bucket
) -> None:
    trial(Trial(once_worker, bootstrap, unique("objects"), origin))
