"""When a worker that owns the group's partition leads; whole clusters are in `tests/scenarios`."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder import effects, events
from kconnect.core.herder.herder import Herder
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.worker import Health
from kconnect.core.state import assignment_records
from kconnect.core.state.assignment_records import Leader
from kconnect.core.state.records import LogRecord, Topic
from tests.rig.histories.cluster import MemoryCluster
from tests.scenarios.test_cluster import SOURCE

URLS = {"a:1": "http://a:1/", "b:1": "http://b:1/"}


class Alone:
    """The herder of a:1, which owns the partition, has fenced whoever led before, and has written that it leads."""

    def __init__(self) -> None:
        self.herder = Herder(Identity("a:1", URLS["a:1"], "1", "test", "memory", 1))
        self.handle(events.CaughtUp())
        self.handle(events.Members(URLS, "a:1"))
        (lead,) = [effect for effect in self.handle(events.Owned()) if isinstance(effect, effects.TakeLead)]
        (write,) = [effect for effect in self.handle(events.Done(lead.id, {})) if isinstance(effect, effects.Write)]
        (self.own,) = write.entries
        self.handle(events.Done(write.id, {(Topic.ASSIGNMENT, 0): 0}))

    def handle(self, event: events.Event) -> list[effects.Effect[Any]]:
        return self.herder.handle(event, 0)

    def read(self, *found: tuple[bytes, bytes | None]) -> None:
        batch = [LogRecord(Topic.ASSIGNMENT, 0, offset, key, value) for offset, (key, value) in enumerate(found)]
        self.handle(events.Read(tuple(batch), {}))


@pytest.mark.parametrize("overtaken", [False, True])
def test_who_reads_that_another_one_leads_since_does_not_lead(overtaken: bool) -> None:
    """Both records may come at once. With nothing to write, nobody would tell this worker that it is fenced."""
    alone = Alone()
    assert not alone.herder.desk.leads
    other = assignment_records.leader(Leader("b:1", URLS["b:1"], 2, 2))
    found = [(entry.key, entry.value) for entry in (alone.own, other)]
    alone.read(*found[: 1 + overtaken])
    assert alone.herder.desk.leads is not overtaken


def test_a_worker_that_kafka_does_not_answer_is_unhealthy() -> None:
    alone = Alone()

    def health(ticket: int, now: int) -> effects.Effect[Any]:
        (answer,) = [
            effect
            for effect in alone.herder.handle(events.Requested(ticket, Health()), now)
            if isinstance(effect, effects.Reply | effects.Refuse)
        ]
        return answer

    assert health(1, 14_000) == effects.Reply(1, None)
    refused = health(2, 20_000)
    assert isinstance(refused, effects.Refuse) and str(refused.error) == "Kafka has not answered the worker for 20 s."
    alone.herder.handle(events.Members(URLS, "a:1"), 21_000)
    assert health(3, 22_000) == effects.Reply(3, None)


def test_a_worker_that_may_not_lead_says_which_right_it_lacks() -> None:
    """It is its turn, and no other try would do: whoever waits for a leader hears it at once."""
    cluster = MemoryCluster()
    worker = cluster.add_worker("a:1")
    performer, refused = worker._performers[effects.TakeLead], [True]

    def take_lead(effect: effects.TakeLead) -> Any:
        if refused:
            raise effects.LeadRefusedError("Grant the operation Write")
        return performer.perform(effect)

    worker._performers = {**worker._performers, effects.TakeLead: performer._replace(perform=take_lead)}
    cluster.run_until(lambda: worker.herder.desk.lead_refused is not None)
    asked = cluster.submit("a:1", CreateConnector("x", SOURCE))
    cluster.run_until(lambda: asked.settled)
    assert str(asked.error) == "Grant the operation Write"
    refused.clear()
    cluster.run_until(lambda: worker.herder.desk.leads)
    cluster.call("a:1", CreateConnector("x", SOURCE))
