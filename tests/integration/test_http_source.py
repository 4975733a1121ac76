"""The HTTP source on a worker with exactly-once sources, tried by the harness, against a service in this process."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sources, trials
from tests.rig.connectors.sources import Origin, Trial
from tests.rig.systems.http_service import HttpService, Taken

SIZE = 100


class Service(Origin):
    """A service that gives so many of its items at once, from a number on."""

    once = True
    # Pages come one after the other.
    tasks = (1, 1, 1)

    def __init__(self) -> None:
        self._service = HttpService()
        self._service.items = self._give
        self._items: list[dict[str, Any]] = []

    def _give(self, request: Taken) -> tuple[dict[str, str], Any]:
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.path).query))
        first = int(asked["since"])
        return {}, self._items[first : first + SIZE]

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "HttpSource",
            "kafka.topic": topic,
            "http.api.url": f"{self._service.url}/items?since=${{since}}",
            "since.path": "id",
            "since.first": "0",
            "request.interval.ms": "20",
            "retry.backoff.ms": "200",
            "max.retries": "-1",
            "exactly.once.support": "required",
        }

    def prepare(self, topic: str) -> None:
        """The service is there."""

    def add(self, topic: str, numbers: range, more: str | None) -> None:
        others = {} if more is None else {"more": more}
        self._items += [{"id": number, **others} for number in numbers]

    def end(self) -> None:
        self._service.end()

    def begin(self) -> None:
        self._service.begin()


@pytest.fixture
def origin() -> Iterator[Service]:
    made = Service()
    yield made
    made.end()


@pytest.mark.parametrize("trial", trials.shared(sources.TRIALS, trials.control, trials.crash))
def test_trial(
    trial: Callable[[Trial], None], once_worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], origin: Service
) -> None:
    trial(Trial(once_worker, bootstrap, unique("http"), origin))
