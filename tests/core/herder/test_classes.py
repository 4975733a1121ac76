"""What connectors' classes say of themselves, over a cluster in memory: those that hang are nobody else's trouble."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder import effects, events
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.connectors import GetConnector, ListConnectors
from kconnect.core.herder.requests.offsets import ResetOffsets
from kconnect.core.state import records
from kconnect.core.state.records import State, TargetState, UnitId
from kconnect.errors import BadRequestError, ConnectError, RequestTimeoutError
from tests.rig.histories.cluster import Answer, MemoryCluster, MemoryWorker

NAME = "w0:1"


class HangingWorker(MemoryWorker):
    """Gets no word from a class whose name says that it hangs, until the test has the wait end."""

    hung: list[effects.DescribePlugin]

    def _perform(self, effect: effects.Effect[Any]) -> None:
        if isinstance(effect, effects.DescribePlugin) and "Hangs" in effect.plugin:
            self.hung.append(effect)
        else:
            super()._perform(effect)

    def end(self, error: Exception) -> None:
        hung, self.hung = self.hung, []
        for effect in hung:
            self._inbox.append(events.Failed(effect.id, error))


@pytest.fixture
def worker() -> HangingWorker:
    cluster = MemoryCluster(3)
    worker = HangingWorker(cluster, NAME, 1, "000001", NAME)
    worker.hung = []
    cluster.workers[NAME] = worker
    cluster.settle()
    return worker


def create(worker: HangingWorker, name: str, plugin: str, state: str | None = None, **more: str) -> Answer:
    answer = Answer()
    worker.ask(CreateConnector(name, {"connector.class": plugin, **more}, state), answer)
    worker.cluster.settle()
    return answer


def status(worker: HangingWorker, name: str) -> Any:
    return worker.herder.log.status.units.get(UnitId(name))


def test_the_leader_waits_for_no_class_that_hangs(worker: HangingWorker) -> None:
    create(worker, "x", "HangsSink", topics="a")
    # The topic is not the connector's, so the leader wants to know whether it is a sink.
    worker.cluster.log.append(records.topic_use("x", "b", 0, 1, ("apache",)))
    worker.cluster.settle()
    assert {effect.plugin for effect in worker.hung} == {"HangsSink"}
    create(worker, "y", "FileStreamSource")
    assert UnitId("y", 0) in worker.cluster.running()
    worker.end(RequestTimeoutError("too slow"))
    worker.cluster.settle()
    assert worker.herder.log.status.topics_of("x") == ["b"]


def test_a_list_waits_for_those_that_hang_together_and_once(worker: HangingWorker) -> None:
    for name in ("a", "b", "c"):
        create(worker, name, f"Hangs{name}")
    worker.end(RequestTimeoutError("too slow"))
    worker.cluster.settle()
    worker.cluster.now += 60_000
    # They have had their time before: they are asked again, but the list does not wait.
    listed = worker.cluster.call(NAME, ListConnectors(("info",)))
    assert {entry["info"]["type"] for entry in listed.values()} == {"unknown"}
    worker.cluster.settle()
    assert sorted(effect.plugin for effect in worker.hung) == ["Hangsa", "Hangsb", "Hangsc"]
    worker.end(RequestTimeoutError("too slow"))
    worker.cluster.settle()
    assert len(worker.cluster.call(NAME, ListConnectors(("info",)))) == 3
    assert worker.hung == [], "asked again so soon"
    # Why, the log says once for each class, however often it is asked.
    said = [line for line in worker.cluster.lines if "Hangsa can't be asked" in line]
    assert len(said) == 1 and said[0].endswith("too slow")


def test_reads_do_not_wait_long_for_a_class_that_hangs(worker: HangingWorker) -> None:
    # Written by another worker, so that nobody has asked the class before.
    for name, plugin in (("x", "HangsSource"), ("y", "FileStreamSource")):
        worker.cluster.log.append([records.connector_config(name, {"connector.class": plugin, "name": name, "topic": "t"})])
    worker.cluster.settle()
    asked = [Answer(), Answer()]
    for request, answer in zip((ListConnectors(("info",)), GetConnector("x")), asked):
        worker.ask(request, answer)
    for _ in range(50):
        worker.cluster.step()
    assert not any(answer.settled for answer in asked), "the class has its time"
    worker.cluster.now += 10_000
    worker.cluster.settle()
    assert worker.hung, "it has not answered"
    assert {name: entry["info"]["type"] for name, entry in asked[0].value.items()} == {"x": "unknown", "y": "source"}
    assert asked[1].value["type"] == "unknown"


@pytest.mark.parametrize("plugin", ["FileStreamSource", "FileStreamSink"])
def test_a_connector_that_is_created_stopped_shows_its_version(worker: HangingWorker, plugin: str) -> None:
    # Written by another worker: this one has not had to do with the class yet.
    config = {"connector.class": plugin, "name": "x", "topics": "t"}
    worker.cluster.log.append([records.target_state("x", TargetState.STOPPED), records.connector_config("x", config)])
    worker.cluster.settle()
    found = status(worker, "x")
    assert (found.state, found.version) == (State.STOPPED, "test")
    said = [r for r in worker.cluster.log.topics[records.Topic.STATUS] if r.key == b"status-connector-x"]
    assert len(said) == 1


def test_stopped_is_said_even_if_the_class_hangs(worker: HangingWorker) -> None:
    create(worker, "x", "HangsSource", "STOPPED")
    assert worker.hung
    found = status(worker, "x")
    assert (found.state, found.version) == (State.STOPPED, None)


def test_offsets_of_a_connector_that_is_not_stopped_are_refused_before_its_class_is_asked(worker: HangingWorker) -> None:
    create(worker, "x", "HangsSource")
    worker.end(ConnectError("no"))
    worker.cluster.settle()
    with pytest.raises(BadRequestError, match="must be in the STOPPED state"):
        worker.cluster.call(NAME, ResetOffsets("x"))
