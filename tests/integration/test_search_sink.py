"""The OpenSearch sink on a worker, tried by the harness for connectors, against OpenSearch: each document once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems.opensearch import OpenSearch
from tests.support import starts


class Index(Target):
    once = True
    poison = "\ud800"

    def __init__(self, server: OpenSearch) -> None:
        self._server = server

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "OpenSearchSink",
            "connection.url": self._server.url,
            "key.ignore": "true",
            "retry.backoff.ms": "200",
            "max.retries": "-1",
        }

    def numbers(self, topic: str) -> list[int]:
        return [each["id"] for each in self._server.documents(topic).values()]

    def more(self, topic: str) -> int:
        return sum(each.get("more") is not None for each in self._server.documents(topic).values())

    def end(self) -> None:
        self._server.end()

    def begin(self) -> None:
        self._server.begin()


@pytest.fixture(scope="module")
@starts("process")
def target() -> Iterator[Index]:
    server = OpenSearch()
    try:
        yield Index(server.start())
    finally:
        server.stop()


@pytest.mark.parametrize(
    "trial", [*trials.shared(sinks.TRIALS, trials.control, trials.crash), pytest.param(trials.many, marks=pytest.mark.long)]
)
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Index
) -> None:
    trial(Trial(worker, bootstrap, unique("search"), target))
