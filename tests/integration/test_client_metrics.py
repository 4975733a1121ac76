"""The Kafka clients of tasks tell of themselves: real ones, of a source and a sink, against a real broker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kconnect.api.record import TopicPartition
from kconnect.kafka import unreadable
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.statistics import Statistics, of_consumer, of_producer
from tests.integration import units
from tests.kafka.test_task_clients import Owner
from tests.support import wait_until

LIMIT_S = 120.0


class Reader(Owner):
    def cancelled(self) -> bool:
        return False


def values(said: Statistics) -> dict[str, float | None]:
    return {f"{each.prefix}_{name}": value for each in said.published() for name, value in each.values.items()}


def test_a_producer_and_a_consumer(bootstrap: str, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unreadable, "STATISTICS_MS", 200)
    topic = unique("told")
    units.create(bootstrap, topic)
    client = {"bootstrap.servers": bootstrap, "client.id": "connector-producer-x-0"}
    said = Statistics(client, of_producer)
    said.callbacks["statistics.interval.ms"] = 200
    producer = TaskProducer({**client, **said.callbacks})
    producer.send([(topic, b"12345", None, -1, None, None, 0, None)] * 10)
    assert producer.flush(LIMIT_S)

    def sent() -> bool:
        producer.check()
        return values(said).get("kafka_producer_record_send_total") == 10

    wait_until(sent, LIMIT_S)
    assert (values(said)["kafka_producer_connection_count"] or 0) >= 1
    assert (values(said)["kafka_producer_outgoing_byte_total"] or 0) > 50
    producer.close()
    strategy = {"partition.assignment.strategy": "cooperative-sticky", "auto.offset.reset": "earliest"}
    client = {"bootstrap.servers": bootstrap, "client.id": "c", "group.id": topic, **strategy}
    heard = Statistics(client, of_consumer)
    consumer = TaskConsumer({**client, **heard.callbacks}, {"topics": topic}, Reader())
    consumer.subscribe()

    def read() -> bool:
        consumer.read(100, 0.2)
        return values(heard).get("kafka_consumer_fetch_manager_records_consumed_total") == 10

    wait_until(read, LIMIT_S)
    assert consumer.assignment == {TopicPartition(topic, 0)}
    wait_until(lambda: read() and values(heard).get("kafka_consumer_coordinator_assigned_partitions") == 1, LIMIT_S)
    assert (values(heard)["kafka_consumer_fetch_manager_bytes_consumed_total"] or 0) >= 50
    consumer.close(5)
