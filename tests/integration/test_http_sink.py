"""The HTTP sink on a worker, tried by the harness for connectors, against a service in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems.http_service import HttpService


class Service(Target):
    poison = "a bad one"
    loses, doubles = -1, -1
    """The id of a record that it forgets, and of one that it has twice: what the trials are there to find."""

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
        found = [int(str(value["id"])) for value in self._values()]
        return [each for each in found if each != self.loses] + [each for each in found if each == self.doubles]

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


@pytest.mark.parametrize(("name", "says"), [("loses", "not all records arrived"), ("doubles", "1 records are there more than")])
def test_the_harness_finds_what_it_looks_for(
    worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Service, name: str, says: str
) -> None:
    trial = Trial(worker, bootstrap, unique("http"), target)
    with trial.running():
        trial.write(100)
        trial.arrived()
        setattr(target, name, 50)
        target.once = True
        with pytest.raises(AssertionError, match=says):
            trial.arrived(timeout=2)


@pytest.mark.parametrize("trial", [*sinks.TRIALS, pytest.param(trials.many, marks=pytest.mark.long)])
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Service
) -> None:
    trial(Trial(worker, bootstrap, unique("http"), target))
