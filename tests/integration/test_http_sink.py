"""The HTTP sink on a worker, tried by the harness for connectors, against a service in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems.http_service import HttpService


class Service(Target):
    poison = "a bad one"

    def __init__(self) -> None:
        self.service = HttpService()
        self.service.refuses = b"a bad one"

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "HttpSink",
            "http.api.url": f"{self.service.url}/{topic}",
            "batch.max.size": "50",
            "retry.backoff.ms": "200",
            "max.retries": "-1",
        }

    def _values(self) -> list[dict[str, object]]:
        return [value for each in list(self.service.taken) for value in json.loads(each.body)]

    def numbers(self, topic: str) -> list[int]:
        return [int(str(value["id"])) for value in self._values()]

    def more(self, topic: str) -> int:
        return sum("more" in value for value in self._values())

    def end(self) -> None:
        self.service.end()

    def begin(self) -> None:
        self.service.begin()


@pytest.fixture
def target() -> Iterator[Service]:
    made = Service()
    yield made
    made.end()


@pytest.mark.parametrize("trial", [*sinks.TRIALS, pytest.param(sinks.many, marks=pytest.mark.long)])
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Service
) -> None:
    trial(Trial(worker, bootstrap, unique("http"), target))
