"""Attacks by whoever may write to a topic, with batches that brokers take and clients can't read. The broker is in memory."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import ANY

import confluent_kafka as ck
import pyarrow as pa
import pytest

from kconnect.api.record import TopicPartition
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import LogRecord, Topic
from kconnect.core.task.resting import RestingConsumer
from kconnect.errors import ConnectError
from kconnect.kafka import own_offsets, unreadable
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.log import LogWriter
from kconnect.kafka.offset_order import Order
from kconnect.kafka.own_offsets import OwnTopic
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.resting import RestingClients
from kconnect.kafka.unreadable import Stalls
from kconnect.kafka.wakeups import Wakeups
from kconnect.kafka.watch import Watchers
from kconnect.units.offset_topic import OffsetTopic
from tests.attacks import raw_batches
from tests.attacks.raw_batches import record

LIMIT_S = 60.0
PLACE = TopicPartition("t", 0)


@pytest.fixture
def broker() -> Iterator[str]:
    """A broker in memory, librdkafka's own, with a topic."""
    holder = ck.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    known = next(iter(holder.list_topics(timeout=LIMIT_S).brokers.values()))
    holder.list_topics("t", timeout=LIMIT_S)
    yield f"{known.host}:{known.port}"
    del holder


class _Listener:
    """Reads what it is assigned from where it is."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: {}


def read(broker: str) -> tuple[list[bytes | None], str]:
    """What a task reads before it fails, and why it fails."""
    client = {"bootstrap.servers": broker, "group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = TaskConsumer({**client, "partition.assignment.strategy": "range"}, {"topics": "t"}, _Listener())
    consumer.subscribe()
    values: list[bytes | None] = []
    end = time.monotonic() + LIMIT_S
    try:
        while time.monotonic() < end:
            values += [message.value() for message in consumer.read(200, 0.5)]
    except ConnectError as error:
        return values, str(error)
    finally:
        consumer.close(0.0)
    return values, ""


BATCHES = {
    # 4,610 bytes: ever more of memory would be needed to see that it is a record.
    "150 MB by zstd": (pa.compress(bytes(150_000_000), "zstd", asbytes=True), 4, "from offset 1 on: it is broken, or larger"),
    "a length below zero": (gzip.compress(record(0, b"v", length=-5)), 1, "from offset 1 on: its brokers have answered"),
    "an offset in the future": (record(0, b"1") + record(2**31 - 1, b"2"), 0, "says that it is at offset 2147483648"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name.startswith("150 MB") else name for name in BATCHES]
)
def test_a_batch_that_nobody_can_read_is_no_silence(broker: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """
    Who may write to the topic sends such a batch: the task reads what is before it and fails, with the place and the remedy.
    Before, it ran and was silent for good, or went on at offsets that there are not.
    """
    monkeypatch.setattr(unreadable, "STATISTICS_MS", 200)
    monkeypatch.setattr(unreadable, "_LONGEST_S", 0.5)
    monkeypatch.setattr(unreadable, "_FEWEST_FETCHES", 1)
    monkeypatch.setattr(unreadable, "_PAUSE_S", 0.01)
    data, codec, why = BATCHES[name]
    raw_batches.produce(broker, "t", [(b"before", [])])
    raw_batches.send(broker, "t", data, 2 if codec == 0 else 1, codec)
    values, error = read(broker)
    assert values == ([b"before", b"1"] if codec == 0 else [b"before"])
    assert why in error
    assert "kconnect offsets set" in error


def resting(broker: str, watchers: Watchers | None = None) -> RestingConsumer:
    client = {"bootstrap.servers": broker, "group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    client["partition.assignment.strategy"] = "range"
    clients = RestingClients(client, lambda own: TaskConsumer(client, {"topics": "t"}, own), watchers)
    return RestingConsumer(clients, _Listener(), 600.0, time.monotonic)


@pytest.mark.long
def test_no_record_hides_those_of_others(broker: str) -> None:
    """
    Who may write to the topic has a record say that it is at an offset where a record of somebody else is: the task fails
    before it. It went on behind that offset, and never read what others had written in between.
    """
    raw_batches.produce(broker, "t", [(b"first", [])])
    raw_batches.send(broker, "t", record(0, b"second") + record(7, b"lie"), 2)
    for number in range(9):
        raw_batches.produce(broker, "t", [(b"%d" % number, [])])
    consumer = resting(broker)
    consumer.subscribe()
    values: list[bytes | None] = []
    end = time.monotonic() + LIMIT_S
    with pytest.raises(ConnectError, match=r"t-0 can't be read from offset 2 on: a record says that it is at offset 8"):
        while time.monotonic() < end:
            values += [message.value() for message in consumer.read(200, 0.5)]
    consumer.close(0.0)
    assert values == [b"first", b"second"]


def test_a_sink_that_rests_hears_of_a_batch_that_nobody_can_read(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write to the topic sends it while the sink rests, which was silent for good: it fails, and says where."""
    monkeypatch.setattr(unreadable, "STATISTICS_MS", 100)
    monkeypatch.setattr(unreadable, "_LONGEST_S", 0.5)
    monkeypatch.setattr(unreadable, "_FEWEST_FETCHES", 1)
    raw_batches.produce(broker, "t", [(b"before", [])])
    watchers = Watchers(0.2)
    consumer = resting(broker, watchers)
    consumer.subscribe()
    end = time.monotonic() + LIMIT_S
    while not consumer.read(200, 0.1):
        assert time.monotonic() < end
    while not consumer.rest():
        consumer.read(200, 0.1)
        assert time.monotonic() < end
    raw_batches.send(broker, "t", gzip.compress(record(0, b"v", length=-5)), 1, 1)
    with pytest.raises(ConnectError, match=r"t-0 can't be read from offset 1 on: its brokers have answered"):
        while time.monotonic() < end:
            consumer.read(200, 0.1)
    consumer.close(0.0)
    watchers.close()


def messages(*offsets: int, partition: int = 0, value: bytes = b"v") -> list[ck.Message]:
    return [ck.Message(topic="t", partition=partition, offset=offset, value=value) for offset in offsets]


class Log:
    """What is at some offsets."""

    def __init__(self, **records: bytes) -> None:
        self.asked: list[int] = []
        self.closed = 0
        self._records = {int(name[1:]): value for name, value in records.items()}

    def __call__(self, place: TopicPartition, offset: int) -> ck.Message | None:
        self.asked.append(offset)
        return messages(offset, value=self._records[offset])[0] if offset in self._records else None

    def close(self) -> None:
        self.closed += 1


def order_of(log: Log, *reads: list[ck.Message]) -> list[int | None]:
    """For each read, the place of what lies, None if nothing does."""
    order = Order(log, lambda: 0.0)
    failures = [order.failure(each, {PLACE, TopicPartition("t", 1)}) for each in reads]
    return [None if failure is None else failure[0] for failure in failures]


def test_a_record_behind_a_jump_is_asked_for_once_more() -> None:
    """Compaction and transactions leave jumps, too."""
    assert order_of(log := Log(), messages(3, 4, 5), messages(6, 7)) == [None, None]
    assert log.asked == []
    assert order_of(log := Log(_9=b"v"), messages(3, 4, 9, 10), messages(11)) == [None, None]
    assert log.asked == [9]
    assert order_of(Log(_9=b"another"), messages(3, 4, 9, 10)) == [2]
    assert order_of(Log(_9=b"another"), messages(3, 4), messages(9)) == [None, 0]
    assert order_of(Log(_9=b"another"), [*messages(3), *messages(5, 6, partition=1), *messages(9)]) == [3]
    assert order_of(log := Log(), messages(3, 9, 15, 21)) == [None], "nobody answers"
    gaps = messages(*range(0, 100, 2))
    assert order_of(log := Log(**{f"_{offset}": b"v" for offset in range(100)}), gaps) == [None]
    assert log.asked == [94, 96, 98], "it jumps all the time"


def test_jumps_that_are_right_hide_no_lie_behind_them() -> None:
    """Who may write to the topic makes it one that jumps all the time, by records that jump over their own."""
    right = {f"_{offset}": b"v" for offset in range(100)}
    lie = {"_150": b"another"}
    assert order_of(Log(**right, **lie), messages(*range(0, 100, 2), 150)) == [50]
    assert order_of(Log(**right, **lie), messages(*range(0, 100, 2)), messages(150, 151)) == [None, 0]
    now = [0.0]
    order = Order(Log(**right, **lie), lambda: now[0])
    for offset in range(0, 100, 2):
        assert order.failure(messages(offset), {PLACE}) is None
    now[0] = 6.0
    assert order.failure(messages(150), {PLACE}) is not None, "one is asked for in so many seconds"


def test_to_ask_takes_little_of_the_time_where_brokers_are_far() -> None:
    """And the last jump of a read is the one that is asked for: what is behind others came with them."""
    now = [0.0]

    class Far(Log):
        def __call__(self, place: TopicPartition, offset: int) -> ck.Message | None:
            now[0] += 2.5
            return super().__call__(place, offset)

    log = Far(**{f"_{offset}": b"v" for offset in range(10_000)})
    order, spent = Order(log, lambda: now[0]), []
    for read in range(400):
        before = now[0]
        offsets = range(20 * read, 20 * read + 20, 2)
        both = [*messages(*offsets), *messages(*offsets, partition=1)]
        assert order.failure(both, {PLACE, TopicPartition("t", 1)}) is None
        spent.append(now[0] - before)
        now[0] += 1.0
    assert max(spent) <= 5.0
    assert 0.02 < sum(spent) / now[0] < 0.08
    # One that lies is found all the same, once there is time for it.
    now[0] += 200
    lie = messages(20_000, value=b"another")
    log._records[20_000] = b"v"
    assert order.failure([*messages(8001), *lie], {PLACE}) == (1, ANY)
    order.close()
    assert log.closed == 1


def test_the_first_record_is_asked_for_where_the_start_is_known() -> None:
    order = Order(Log(_9=b"another"), lambda: 0.0)
    order.begin([PLACE], {PLACE: 3})
    assert order.failure(messages(9), {PLACE}) is not None


def test_what_was_jumped_over_does_not_come_afterwards() -> None:
    """A lie that ends a fetch hides what follows; one in the midst of it has it come at lower offsets."""
    assert order_of(Log(), messages(1, 8, 3, 4)) == [1]
    assert order_of(Log(), messages(1, 8), messages(3, 4)) == [None, 0]
    assert order_of(Log(), messages(5, 6), messages(0, 1)) == [None, None], "a topic that was made anew"
    assert order_of(Log(), messages(5, 9), messages(3, 4, 5, 9)) == [None, None], "somebody has set an offset"


def statistics(at_s: float, offset: int, end: int, fetches: int, **more: Any) -> str:
    partition = {"fetch_state": "active", "fetchq_cnt": 0, "rxmsgs": 0, "broker": 1, "ls_offset": end, "hi_offset": end}
    partition |= {"next_offset": offset, **more}
    topic = {"topic": "t", "partitions": {"0": partition}}
    brokers = {"b": {"nodeid": 1, "req": {"Fetch": fetches}}, "a": {"nodeid": -1, "req": {}}}
    return json.dumps({"ts": int(at_s * 1e6), "brokers": brokers, "topics": {"t": topic}})


def fails(*texts: str, paused: tuple[int, ...] = ()) -> bool:
    """Whether the statistics, one after the other, are those of a partition that can't be read; paused at these."""
    stalls = Stalls()
    found = [stalls.look(text, [PLACE] if number in paused else []) for number, text in enumerate(texts)]
    return any(found)


def test_a_partition_without_progress_is_one_whose_brokers_answer() -> None:
    """Ordinary waits are no fault of a batch."""
    times = [0, 60, 130]
    assert fails(*(statistics(at, 5, 9, at) for at in times))
    assert not fails(*(statistics(at, 5, 5, at) for at in times)), "there is nothing more"
    assert not fails(*(statistics(at, 5 + at, 900, at) for at in times)), "it goes on"
    assert not fails(*(statistics(at, 5, 9, at, rxmsgs=at) for at in times)), "it is read again and again"
    assert not fails(*(statistics(at, 5, 9, at, fetchq_cnt=4) for at in times)), "the task is slow"
    assert not fails(*(statistics(at, 5, 9, 7) for at in times)), "no broker answers"
    assert not fails(*(statistics(at, 5, 9, at, ls_offset=5) for at in times)), "a transaction is open"
    assert not fails(*(statistics(at, 5, 9, at, fetch_state="offset-query") for at in times)), "it does not read yet"
    assert not fails(*(statistics(at, 5, 9, at) for at in times), paused=(1,)), "it was paused"


def test_a_topic_of_offsets_takes_no_more_memory_than_there_is(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may create connectors names a topic as that of offsets, in which a few kilobytes are gigabytes of them."""
    client = {"bootstrap.servers": broker, "log_level": 0}
    own = OwnTopic("t", client, {**client, "group.id": "g"}, client)
    writer = ck.Producer(client)
    for number in range(20):
        writer.produce("t", key=json.dumps(["c", {"file": number % 10}]), value=json.dumps({"at": "x" * 100}), partition=0)
    writer.flush(LIMIT_S)
    # The broker in memory can't be asked for it.
    monkeypatch.setattr(own_offsets, "_exists", lambda own: True)
    assert len(own_offsets.read(own, LIMIT_S).of("c")) == 10
    monkeypatch.setattr(own_offsets, "MOST_BYTES", 1000)
    refusal = r"more offsets than 1000 bytes.*offsets\.storage\.topic"
    with pytest.raises(ConnectError, match=refusal):
        own_offsets.read(own, LIMIT_S)
    # In a host, where a task asks for its own.
    topic = OffsetTopic(client, "t", lambda: LogWriter(client, {Topic.OFFSET: "t"}, LIMIT_S), limited=True)
    for _ in range(2):
        with pytest.raises(ConnectError, match=refusal):
            topic.read("c", [{"file": 1}], lambda: False)
        assert topic.known_key("c", {"file": 1}) is None
    monkeypatch.undo()
    assert topic.read("c", [{"file": 1}], lambda: False) == [{"at": "x" * 100}]
    topic.close()


@pytest.mark.parametrize("value", [b"[" * 600 + b"]" * 600, b"[" + b"{}," * 600 + b"{}]", b"[" + b"1," * 600 + b"1]"])
def test_offsets_are_measured_by_what_python_makes_of_them(monkeypatch: pytest.MonkeyPatch, value: bytes) -> None:
    """Whoever may write to a topic of offsets has a few bytes of JSON take twenty times as many."""
    monkeypatch.setattr(own_offsets, "MOST_BYTES", 50_000)
    with pytest.raises(ConnectError, match="more offsets than"):
        own_offsets.Room("t").apply(OffsetState(), LogRecord(Topic.OFFSET, 0, 0, b'["c",{}]', b'{"a":' + value + b"}", 0))
    own_offsets.Room("t").apply(OffsetState(), LogRecord(Topic.OFFSET, 0, 0, b'["c",{}]', b'{"a":"' + b"x" * 2000 + b'"}', 0))


@pytest.mark.parametrize("config", [{"topics": "t"}, {"topics.regex": "t|u"}], ids=["names", "pattern"])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_what_nobody_has_asked_for_is_not_read(broker: str, config: dict[str, str], strategy: str) -> None:
    """
    Who answers as the cluster that a config names, or is a member of the group, assigns a topic that the config does not name:
    a sink would write to what that name leads to, such as the table of another connector.
    """
    taken: list[TopicPartition] = []

    class Takes(_Listener):
        def assigned(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
            taken.extend(partitions)
            return {}

    client = {"bootstrap.servers": broker, "group.id": "g", "partition.assignment.strategy": strategy}
    consumer = TaskConsumer(client, config, Takes())
    if "topics.regex" in config:
        assert consumer._look_for_topics()
    consumer._assigned(consumer._consumer, [ck.TopicPartition("t", 0), ck.TopicPartition("payments", 0)])
    assert taken == [PLACE]
    assert consumer.assignment == {PLACE}
    with pytest.raises(ConnectError, match=r"assigns the topic 'payments', which topics(\.regex)? does not name"):
        consumer.read(1, 0.0)
    consumer.close(0.0)


def test_names_that_are_none_are_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Brokers that a config names say that one of them has a name that is no text: in what the client logs and counts it stands as
    it came. The task failed with an error of Python's, in which nobody reads whose fault it is.
    """
    made, of_library = dict[str, Any](), ck.Consumer

    def consumer(settings: dict[str, Any]) -> ck.Consumer:
        made.update(settings)
        return of_library({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"})

    def fail(*arguments: Any) -> None:
        b"[thrd:\xff\xfe:9092/1]".decode()

    with monkeypatch.context() as patched:
        patched.setattr("kconnect.kafka.consumer.ck.Consumer", consumer)
        client = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "partition.assignment.strategy": "range"}
        task_consumer = TaskConsumer(client, {"topics": "t"}, _Listener())
    made["stats_cb"]('{"brokers": {"a"b:9092/1": {}}}')
    with pytest.raises(ConnectError, match=r"are no names: they answer what brokers don't.*JSONDecodeError"):
        task_consumer.read(1, 0.0)
    monkeypatch.setattr(Wakeups, "next", fail)
    with pytest.raises(ConnectError, match=r"are no names: they answer what brokers don't.*UnicodeDecodeError"):
        task_consumer.read(1, 0.0)
    task_consumer.close(0.0)
    producer = TaskProducer({"bootstrap.servers": "127.0.0.1:1"})
    monkeypatch.setattr(
        producer,
        "_producer",
        type("Client", (), {"poll": fail, "flush": fail, "purge": lambda *_, **__: None, "__len__": lambda _: 0})(),
    )
    for ask in (lambda: producer._poll(0.0), lambda: producer.flush(0.0)):
        with pytest.raises(ConnectError, match="are no names"):
            ask()
    producer.close()
