"""What a host has to say, on its way to the log: `kconnect/host/outbox.py`. The broker is in memory, librdkafka's own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import confluent_kafka as ck
import pytest

from kconnect.core.state.assignment_records import GeneratedTasks, generated_tasks
from kconnect.core.state.records import Entry, State, Topic, UnitId, UnitStatus, status
from kconnect.errors import ConnectError
from kconnect.host.outbox import Outbox, check_size, shortened
from kconnect.kafka.log import LogWriter
from tests.support import wait_until

LIMIT_S = 60.0
MOST = 1_048_576


@pytest.fixture
def broker() -> Iterator[str]:
    holder = ck.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    known = next(iter(holder.list_topics(timeout=LIMIT_S).brokers.values()))
    holder.list_topics("status", timeout=LIMIT_S)
    yield f"{known.host}:{known.port}"
    del holder


def written(broker: str) -> list[bytes | None]:
    """The keys that are in the topic."""
    consumer = ck.Consumer({"bootstrap.servers": broker, "group.id": "g", "enable.partition.eof": True})
    consumer.assign(
        [ck.TopicPartition("status", number, 0) for number in consumer.list_topics("status").topics["status"].partitions]
    )
    keys: list[bytes | None] = []
    left, end = len(consumer.assignment()), time.monotonic() + LIMIT_S
    while left and time.monotonic() < end:
        message = consumer.poll(0.2)
        if message is not None and message.error() is not None:
            left -= 1
        elif message is not None:
            keys.append(message.key())
    consumer.close()
    return keys


def test_what_is_too_large_stands_in_nobody_s_way(broker: str) -> None:
    """One entry that no topic takes, among those of others: all others are written, and those that come later."""
    client = {"bootstrap.servers": broker, "message.max.bytes": MOST, "log_level": 0}
    writer = LogWriter(client, {Topic.STATUS: "status"})
    outbox = Outbox(writer, lambda: True)
    unit = UnitId("victim", 0)
    outbox.put(Entry(Topic.STATUS, b"before", b"1"), UnitId("neighbour"))
    outbox.put(Entry(Topic.STATUS, b"large", b"x" * 2 * MOST), unit)
    outbox.put(Entry(Topic.STATUS, b"after", b"1"), UnitId("neighbour"))
    wait_until(lambda: {b"before", b"after"} <= set(written(broker)), LIMIT_S)
    outbox.put(Entry(Topic.STATUS, b"later", b"1"), unit)
    wait_until(lambda: b"later" in written(broker), LIMIT_S)
    assert b"large" not in written(broker)
    outbox.close()
    writer.close(0)


@pytest.mark.parametrize("letter", ["x", "\u2028", "\U0001f98a", '"', "\x00"], ids=ascii)
def test_every_trace_makes_a_record(letter: str) -> None:
    """Whoever may write a record decides how long the error is that quotes it: the status is written, and says what failed."""
    trace = f"DataException: out of range\n{letter * 3_000_000}\nthe line where it happened"
    told = shortened(trace)
    assert told is not None
    entry = status(UnitId("c", 0), UnitStatus(State.FAILED, "worker:8083", 1, told))
    assert len(entry.value or b"") < MOST // 2
    assert told.startswith("DataException: out of range\n")
    assert told.endswith("the line where it happened")
    assert "characters are left out" in told
    assert shortened("short") == "short"
    assert shortened(None) is None


def test_task_configs_that_make_no_record_are_the_connector_s_fault() -> None:
    """Whoever may create connectors asks for thousands of tasks with long configs: the connector is told what to do."""

    def entry(tasks: int) -> Entry:
        return generated_tasks(GeneratedTasks("many", tuple({"file": "x" * 500} for _ in range(tasks)), 1))

    check_size(entry(1000), "The configs", MOST)
    with pytest.raises(
        ConnectError, match=r"The configs make a record of \d+ bytes, of which 1048576 are possible: lower tasks\.max"
    ):
        check_size(entry(3000), "The configs", MOST)
