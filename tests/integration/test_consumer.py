"""The consumer of a sink task, against a broker: commits that don't hold up reading, and a client that is replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.kafka.consumer import TaskConsumer

from .units import create, numbers, until, write

pytestmark = pytest.mark.integration


class Listener:
    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        self.told.append(("assigned", partitions))
        return {}

    def revoked(self, partitions: list[TopicPartition]) -> None:
        self.told.append(("revoked", partitions))

    def lost(self, partitions: list[TopicPartition]) -> None:
        self.told.append(("lost", partitions))

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.told.append(("committed", dict(offsets)))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.told]


class Reading:
    def __init__(self, bootstrap: str, topic: str, patience_s: float) -> None:
        client = {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-of-{topic}",
            "partition.assignment.strategy": "cooperative-sticky",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "session.timeout.ms": 6000,
        }
        self.place = TopicPartition(topic, 0)
        self.listener = Listener()
        self.values: list[str] = []
        self.consumer = TaskConsumer(client, {"topics": topic}, self.listener, patience_s)
        self.consumer.subscribe()

    def read(self) -> bool:
        """Always true, to be had in a condition."""
        self.values += [(message.value() or b"").decode() for message in self.consumer.read(100, 0.05)]
        return True

    def commit(self, offset: int) -> bool:
        return self.consumer.commit_soon({self.place: OffsetAndMetadata(offset, "m")})


def test_a_commit_is_answered_while_reading_goes_on(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(10))
    it = Reading(bootstrap, topic, 30)
    until(lambda: it.read() and it.values == numbers(10))
    assert it.commit(10)
    assert not it.commit(10), "one at a time"
    until(lambda: it.read() and it.listener.told[-1] == ("committed", {it.place: OffsetAndMetadata(10, "m")}))
    assert it.commit(9)
    it.consumer.commit_now({it.place: OffsetAndMetadata(8)}, 10)
    it.consumer.close()
    assert it.listener.names.count("revoked") == 1
    again = Reading(bootstrap, topic, 30)
    until(lambda: again.read() and len(again.values) >= 2)
    again.consumer.close()
    assert again.values == numbers(10)[8:]


def test_a_client_that_never_answers_is_replaced(bootstrap: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(10))
    it = Reading(bootstrap, topic, 1)
    until(lambda: it.read() and it.values == numbers(10))
    # The control: as long as answers come, it stays a member, however often it commits.
    for offset in (3, 4, 5):
        it.commit(offset)
        until(lambda: it.read() and it.listener.names[-1] == "committed")
    assert it.listener.names == ["assigned", *["committed"] * 3]
    with monkeypatch.context() as patched:
        patched.setattr(it.consumer, "_answered", lambda error, partitions: None)
        it.commit(7)
        until(lambda: it.read() and "lost" in it.listener.names)
    write(bootstrap, topic, ["new"])
    until(lambda: it.read() and it.values[-1] == "new")
    assert it.values == [*numbers(10), *numbers(10)[7:], "new"], "it goes on where it had committed"
    assert it.commit(11)
    until(lambda: it.read() and it.listener.names[-1] == "committed")
    assert it.listener.names == ["assigned", *["committed"] * 3, "lost", "assigned", "committed"]
    it.consumer.close()
