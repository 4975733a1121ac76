"""`auto.offset.reset=by_duration:…` (KIP-1106): where a sink begins whose group has no offset, or one that is gone."""

from __future__ import annotations

import time
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient

from kconnect.api.record import OffsetAndMetadata
from kconnect.kafka.clients import RESET_AGE_MS
from kconnect.kafka.consumer import TaskConsumer
from kconnect.testing.processes import WorkerProcess

from .test_consumer import Listener
from .units import create, until

pytestmark = pytest.mark.integration
HOUR_MS = 3_600_000


def write_old_and_new(bootstrap: str, topic: str) -> None:
    """Write three records of two hours ago and two of now into the first partition, and only old ones into the second."""
    producer, now_ms = ck.Producer({"bootstrap.servers": bootstrap}), int(time.time() * 1000)
    for partition, number, age_ms in ((0, 3, 2 * HOUR_MS), (0, 2, 0), (1, 2, 2 * HOUR_MS)):
        for count in range(number):
            value = f"{'old' if age_ms else 'new'} {count}"
            producer.produce(topic, value, partition=partition, timestamp=now_ms - age_ms)
    assert producer.flush(60) == 0


class Reading:
    def __init__(self, bootstrap: str, topic: str, strategy: str) -> None:
        client = {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-of-{topic}",
            "partition.assignment.strategy": strategy,
            "auto.offset.reset": "error",
            RESET_AGE_MS: HOUR_MS,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
        }
        self.values: list[str] = []
        self.consumer = TaskConsumer(client, {"topics": topic}, Listener())
        self.consumer.subscribe()

    def read(self) -> bool:
        """Always true, to be had in a condition."""
        self.values += [(message.value() or b"").decode() for message in self.consumer.read(100, 0.05)]
        return True


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "range"])
def test_reading_begins_with_what_is_no_older(bootstrap: str, topic: str, strategy: str) -> None:
    create(bootstrap, topic, 2)
    write_old_and_new(bootstrap, topic)
    it = Reading(bootstrap, topic, strategy)
    until(lambda: it.read() and len(it.values) == 2 and set(it.consumer.lags().values()) == {0})
    # The partition with nothing new was begun at its end, and goes on from there.
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, "next", partition=1)
    assert producer.flush(60) == 0
    until(lambda: it.read() and len(it.values) == 3)
    assert it.values == ["new 0", "new 1", "next"]
    it.consumer.close(60)


def test_an_offset_that_is_gone_counts_as_none_and_one_that_is_there_counts(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 2)
    write_old_and_new(bootstrap, topic)
    first = Reading(bootstrap, topic, "cooperative-sticky")
    until(lambda: first.read() and len(first.values) == 2)
    by_number = {place.partition: place for place in first.consumer.assignment}
    first.consumer.commit({by_number[0]: OffsetAndMetadata(0), by_number[1]: OffsetAndMetadata(1)})
    until(lambda: first.read() and not first.consumer.commits)
    first.consumer.close(60)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_records([ck.TopicPartition(topic, 0, 1)])[ck.TopicPartition(topic, 0)].result(60)
    second = Reading(bootstrap, topic, "cooperative-sticky")
    until(lambda: second.read() and len(second.values) == 3)
    assert sorted(second.values) == ["new 0", "new 1", "old 1"]
    second.consumer.close(60)


@pytest.mark.long
def test_a_worker_s_sink_begins_there(worker: WorkerProcess, bootstrap: str, topic: str, tmp_path: Path) -> None:
    create(bootstrap, topic, 2)
    write_old_and_new(bootstrap, topic)
    file = tmp_path / "out"
    strings = {f"{part}.converter": "StringConverter" for part in ("key", "value")}
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(file), "tasks.max": "1", **strings}
    worker.client.create("since", {**config, "consumer.override.auto.offset.reset": "by_duration:PT1H"})
    try:
        until(lambda: file.exists() and file.read_text() == "new 0\nnew 1\n")
    finally:
        worker.client.delete("since")
