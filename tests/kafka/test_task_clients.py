"""The clients of tasks give back what they took, with no broker in sight."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Mapping

import pytest

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.producer import TaskProducer

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


class Owner:
    """Refers to the client that refers to it, as the loops of tasks do."""

    client: object

    def gives_up(self) -> bool:
        return True

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {}

    def revoked(self, partitions: list[TopicPartition]) -> None: ...

    def lost(self, partitions: list[TopicPartition]) -> None: ...

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None: ...


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_the_threads_of_a_producer_end_when_it_is_closed() -> None:
    before, owner = threads(), Owner()
    owner.client = producer = TaskProducer(NOBODY, owner.gives_up)
    producer.send([("t", b"v", b"k", 0)])  # type: ignore[list-item]
    assert threads() > before
    producer.close()
    assert threads() == before


def test_the_threads_of_a_consumer_end_when_it_is_closed() -> None:
    before, owner = threads(), Owner()
    client = {**NOBODY, "group.id": "g", "partition.assignment.strategy": "cooperative-sticky"}
    owner.client = consumer = TaskConsumer(client, {"topics": "t"}, owner)
    consumer.subscribe()
    assert threads() > before
    consumer.close(1)
    # The one that waited for the group may have its last instructions before it.
    deadline = time.monotonic() + 5
    while threads() > before:
        assert time.monotonic() < deadline
