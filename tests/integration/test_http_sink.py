"""The HTTP sink on a worker, tried by the harness for connectors, against a service in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from kconnect.connectors.http.sink import HttpSinkConnector
from kconnect.testing import config_errors
from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, trials
from tests.rig.connectors.sinks import Target, Trial
from tests.rig.systems import recorder
from tests.rig.systems.http_service import HttpService
from tests.support import wait_until


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


@pytest.mark.parametrize("trial", [*trials.shared(sinks.TRIALS), pytest.param(trials.many, marks=pytest.mark.long)])
def test_trial(
    trial: Callable[[Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Service
) -> None:
    trial(Trial(worker, bootstrap, unique("http"), target))


def test_answers_go_to_a_topic(worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], target: Service) -> None:
    trial = Trial(worker, bootstrap, unique("http"), target)
    topic = f"{trial.name}-answers"
    answers: dict[str, Any] = {"reporter_result_topic_name": topic, "reporter_bootstrap_servers": bootstrap}

    def found() -> list[dict[str, str]]:
        headers: list[Any] = [message.headers() for message in recorder.read(bootstrap, topic)]
        return [{name: value.decode() for name, value in each} for each in headers]

    with trial.running(**answers):
        trial.write(300)
        trial.arrived()
        wait_until(lambda: sum(int(each["input_record_count"]) for each in found()) == 300, 60)
        assert {each["http_status"] for each in found()} == {"200"}
        assert {each["input_record_topic"] for each in found()} == {trial.name}
        wait_until(lambda: sum(each["offset"]["kafka_offset"] for each in worker.client.offsets(trial.name)) == 300, 120)
    config = {"topics": "t", "http.api.url": target.service.url, "reporter.result.topic.name": topic}
    missing = config_errors(HttpSinkConnector, config)
    assert missing["reporter.bootstrap.servers"] == [f"It is missing: reporter.result.topic.name is {topic}."]
    away = config_errors(HttpSinkConnector, {**config, "reporter.bootstrap.servers": "127.0.0.1:1"})
    assert "can't be reached" in away["reporter.bootstrap.servers"][0]
    wrong = config_errors(
        HttpSinkConnector, {**config, "reporter.bootstrap.servers": bootstrap, "reporter.producer.no.such": "x"}
    )
    assert "no.such" in wrong["reporter.bootstrap.servers"][0]
