"""The clients of tasks give back what they took, with no broker in sight."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import confluent_kafka as ck
import pytest

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.ports import Refusal
from kconnect.errors import ConnectError
from kconnect.kafka.codes import with_place
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.producer import TaskProducer
from tests.support import wait_until

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


class Owner:
    """Refers to the client that refers to it, as the loops of tasks do."""

    client: object

    def cancelled(self) -> bool:
        return True

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {}

    def revoked(self, partitions: list[TopicPartition]) -> None: ...

    def lost(self, partitions: list[TopicPartition]) -> None: ...

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None: ...

    def commit_failed(self) -> None: ...

    def commits_lost(self, commits: int) -> None: ...


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def threads() -> set[str]:
    """
    Return the main thread of each client of Kafka: a client has one for as long as it has any. The others it begins and ends at
    any time, also one that another test has left behind.
    """
    found = set()
    for number in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            if Path(f"/proc/self/task/{number}/comm").read_text().strip() == "rdk:main":
                found.add(number)
    return found


def test_the_threads_of_a_producer_end_when_it_is_closed() -> None:
    before, owner = threads(), Owner()
    owner.client = producer = TaskProducer(NOBODY, owner.cancelled)
    producer.send([("t", b"v", b"k", 0, None, None, 0, None)])
    own = threads() - before
    assert own
    producer.close()
    wait_until(lambda: not threads() & own)


def test_a_producer_that_sends_nothing_has_no_threads() -> None:
    client = {**NOBODY, "linger.ms": 17}
    TaskProducer({**client, "client.id": "a"}).close()
    before = threads()
    producer = TaskProducer({**client, "client.id": "b"})
    assert producer.flush(0)
    producer.check()
    assert producer.active == 0
    # A thread that a client of another test begins has its name for a moment.
    wait_until(lambda: threads() <= before)
    producer.send([("t", b"v", b"k", 0, None, None, 0, None)])
    # The client counts what it has to say, too, as that no broker is there.
    assert producer.active >= 1
    assert threads() - before, "the control"
    producer.close()
    assert producer.active >= 1


def test_a_setting_that_the_client_refuses_is_known_before_anything_is_sent() -> None:
    for _ in range(2):
        with pytest.raises(ck.KafkaException, match="compression"):
            TaskProducer({**NOBODY, "compression.type": "none of these"})


def test_what_was_never_sent_is_reported_to_nobody() -> None:
    """It comes again after the next start: a task that was told otherwise would acknowledge it to its system."""
    told: list[tuple[object, ...]] = []

    def report(*heard: object) -> bool:
        told.append(heard)
        return False

    producer = TaskProducer(NOBODY)
    message: Outgoing = ("t", b"v", b"k", -1, None, None, 0, None)
    producer.send_reported([message], [1], report)
    producer.close(abandon=True)
    assert told == []
    # The control: one that the client itself refuses is reported, at once.
    producer = TaskProducer({**NOBODY, "message.max.bytes": 2000})
    large: Outgoing = ("t", b"v" * 3000, b"k", -1, None, None, 0, None)
    producer.send_reported([large], [2], report)
    producer.close(abandon=True)
    ((origin, topic, refusal, metadata),) = told
    assert (origin, topic, metadata) == (2, "t", None)
    assert isinstance(refusal, Refusal) and refusal.text.endswith("Broker: Message size too large")


def test_a_topic_that_can_not_be_is_not_waited_for() -> None:
    producer = TaskProducer(NOBODY)
    with pytest.raises(ConnectError, match="'a b!' is not a topic name"):
        producer.require_topic("a b!")
    producer.close()


def test_the_threads_of_a_consumer_end_when_it_is_closed() -> None:
    before, owner = threads(), Owner()
    client = {**NOBODY, "group.id": "g", "partition.assignment.strategy": "cooperative-sticky"}
    owner.client = consumer = TaskConsumer(client, {"topics": "t"}, owner)
    consumer.subscribe()
    own = threads() - before
    assert own
    consumer.close(1)
    # The one that waited for the group may have its last instructions before it.
    wait_until(lambda: not threads() & own)


@pytest.mark.parametrize(
    "bad",
    [
        ("t", b"bad", None, 2**31, None, None, 0, None),
        ("t", b"bad", None, -1, None, None, 2**63, None),
        ("t", "\ud800", None, -1, None, None, 0, None),
        ("t", b"bad", None, -1, None, None, 0, [("name", 7)]),
    ],
    ids=["partition", "timestamp", "value", "header"],
)
@pytest.mark.parametrize("reports", [False, True])
def test_what_the_client_can_not_even_take_is_refused_like_other_messages(bad: Outgoing, reports: bool) -> None:
    """It raised errors of Python's, of which nobody knew that the rest of the batch was not sent."""
    good: Outgoing = ("t", b"good", None, -1, None, None, 0, None)
    producer = TaskProducer(NOBODY, lambda: True, reports)
    with pytest.raises(ConnectError, match=r"Unrecoverable exception from producer send callback: .*Error: "):
        if reports:
            producer.send_reported([good, bad, good], "abc", lambda origin, topic, refusal, metadata: refusal is not None)
        else:
            producer.send([good, bad, good])
    assert [refused.message for refused in producer.refusals(0)] == [bad[:3]]
    producer.close()


def test_a_partition_that_there_is_not_is_told_by_its_number() -> None:
    there = ck.KafkaError(ck.KafkaError._UNKNOWN_PARTITION)
    assert with_place(there, 99).str() == "Local: Unknown partition: the topic has no partition 99"
    other = ck.KafkaError(ck.KafkaError._TRANSPORT)
    assert with_place(other, 99) is other
