"""
Clients that never find a broker, as those of librdkafka may that were made while it stalled: new ones take their places. The
broker is librdkafka's own, in memory; a lost client is one that looks where nobody is.
"""

from __future__ import annotations

from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.core.task.chain import Outgoing
from kconnect.kafka import producer, transactions
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.transactions import TransactionalProducer
from tests.support import wait_until

from .test_task_clients import Owner

RECORD: Outgoing = ("t", b"1", None, 0, None, None, 0, None)
NOWHERE = "127.0.0.1:1"


def no() -> bool:
    return False


def yes() -> bool:
    return True


class Lost:
    """Mixed into a client's class: the first `lost` clients are."""

    lost = 1
    made = 0
    _settings: dict[str, Any]

    def _make(self) -> Any:
        self.made += 1
        real = self._settings
        if self.made <= self.lost:
            self._settings = {**real, "bootstrap.servers": NOWHERE}
        try:
            return super()._make()  # type: ignore[misc]
        finally:
            self._settings = real


class LostProducer(Lost, TaskProducer):
    pass


class LostTransactionalProducer(Lost, TransactionalProducer):
    pass


class LostConsumer(TaskConsumer):
    def _new(self, number: int) -> ck.Consumer:
        real = self._client
        if number == 0:
            self._client = {**real, "bootstrap.servers": NOWHERE}
        try:
            return super()._new(number)
        finally:
            self._client = real


def test_a_source_task_s_producer(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer, "_LOST_S", 0.5)
    made = LostProducer({"bootstrap.servers": bootstrap, "log_level": 0, "client.id": "lost-1", "linger.ms": 4})
    assert made.require_topic("t")
    assert made.send([RECORD])
    assert made.flush(30)
    assert made.made == 2
    made.close()


def test_one_with_messages_under_way_stays(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would ever tell what became of them; that they can't be delivered fails the task in time."""
    monkeypatch.setattr(producer, "_LOST_S", 0.5)
    looks = iter(range(2))
    made = LostProducer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 6}, lambda: next(looks, None) is None)
    assert made.send([RECORD])
    assert not made.require_topic("t")
    assert (made.made, made.active) == (1, 1)
    made.close()


def test_an_exactly_once_task_s_producer(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it takes its id, and when it asks for a topic: then the new client takes the id anew."""
    monkeypatch.setattr(transactions, "_TOLD_S", 0.5)
    monkeypatch.setattr(producer, "_LOST_S", 0.5)
    client = {"bootstrap.servers": bootstrap, "transactional.id": "lost-0", "log_level": 0}
    made = LostTransactionalProducer(client, no, yes, yes)
    assert made.begin(no)
    assert made.made == 2
    made.lost = 3
    made._producer = made._make()
    assert made.require_topic("t")
    assert made.made == 4
    assert made.send([RECORD])
    assert made.commit()
    made.close()


def test_a_sink_task_s_consumer(bootstrap: str) -> None:
    writer = ck.Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    writer.produce("t", b"1")
    assert not writer.flush(30)
    client = {"bootstrap.servers": bootstrap, "group.id": "lost", "log_level": 0, "auto.offset.reset": "earliest"}
    client |= {"partition.assignment.strategy": "cooperative-sticky", "enable.auto.commit": False}
    made = LostConsumer(client, {"topics": "t"}, Owner(), patience_s=0.5)
    made.subscribe()
    assert wait_until(lambda: made.read(10, 0.1), 60)[0].value() == b"1"
    made.close(5)
