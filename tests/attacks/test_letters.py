"""Attacks by whoever may write one record, on the task that reads it and on its letter. The broker is in memory."""

from __future__ import annotations

import gzip
import itertools
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import confluent_kafka as ck
import psutil
import pytest

from kconnect.api import DataError, Header, SourceRecord
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task.errors import Component, Failure, Stage
from kconnect.core.task.letter_headers import OMITTED
from kconnect.core.task.ports import Refusal
from kconnect.dlq.letters import Letter
from kconnect.dlq.origins import Reporters
from kconnect.dlq.planning import Left, Rules, plan
from kconnect.dlq.queue import Queue
from kconnect.errors import ConnectError
from kconnect.kafka import reader
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.message_headers import UNREADABLE
from kconnect.kafka.positions import Place
from kconnect.kafka.reader import BEGINNING, Reader
from kconnect.units.reports import Reports
from tests.attacks import raw_batches
from tests.integration.units import MemoryHost, Numbers, Plugins, end, source_of
from tests.support import wait_until

LIMIT_S = 60.0
QUEUE = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "queue",
    "errors.deadletterqueue.topic.replication.factor": "1",
}
NAMELESS = [(b"a", b"1"), (b"\xff\xfe", b"2"), (b"\xc3", None)]


@pytest.fixture
def broker() -> Iterator[str]:
    """A broker in memory, librdkafka's own."""
    holder = ck.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    known = next(iter(holder.list_topics(timeout=LIMIT_S).brokers.values()))
    yield f"{known.host}:{known.port}"
    del holder


def create(broker: str, topic: str) -> None:
    """The broker in memory creates a topic for whoever asks for it."""
    ck.Producer({"bootstrap.servers": broker}).list_topics(topic, timeout=LIMIT_S)


def read(broker: str, topic: str, count: int) -> list[Any]:
    messages: list[Any] = []
    with Reader({"bootstrap.servers": broker}) as reader:
        reader.begin({Place(topic, number): BEGINNING for number in reader.partitions(topic)})
        wait_until(lambda: len(messages.extend(reader.some(0.2)) or messages) >= count, LIMIT_S)
    return messages


class _Listener:
    """Reads what it is assigned from where it is."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: {}


@pytest.mark.parametrize("by", ["a task", "a command"])
def test_a_header_whose_name_is_no_text_does_not_end_the_process(broker: str, by: str) -> None:
    """Who may write to the topic gives a header a name that is no UTF-8, at which every look but the first ended the host."""
    create(broker, "t")
    # Many, since Python calls otherwise what it calls often.
    raw_batches.produce(broker, "t", [(b"1", []), *[(b"2", NAMELESS)] * 100, (b"3", [(b"b", b"4")])])
    messages: list[ck.Message] = []
    if by == "a command":
        messages = read(broker, "t", 102)
    else:
        client = {"bootstrap.servers": broker, "group.id": "g", "auto.offset.reset": "earliest"}
        client["partition.assignment.strategy"] = "range"
        consumer = TaskConsumer(client, {"topics": "t"}, _Listener())
        consumer.subscribe()
        while len(messages) < 102:
            messages += consumer.read(200, 0.5)
        consumer.close(0.0)
    expected = [None, *[[("a", b"1"), (UNREADABLE, b"2"), (UNREADABLE, None)]] * 100, [("b", b"4")]]
    # A look more would be the end of this process.
    assert [message.headers() for message in messages] == expected


@pytest.fixture
def reports(broker: str) -> Iterator[Reports]:
    """The reports of a task whose queue is there, without context headers."""
    create(broker, "queue")
    host = MemoryHost(broker, Plugins(Numbers=source_of(Numbers)))
    unit = host.unit({"connector.class": "Numbers", "limit": "0"})
    made = Reports(unit, QUEUE)
    made.start()
    yield made
    made.close(LIMIT_S)
    end(unit)


def failure(origin: Any, text: str = "bad") -> Failure:
    return Failure(Stage.TRANSFORMATION, Component("the transform c", "Cast"), origin, DataError(text))


def letters(broker: str, reports: Reports, count: int = 1) -> list[Letter]:
    assert reports.flush(LIMIT_S)
    return [Letter.of(message) for message in read(broker, "queue", count)]


def record(broker: str, value: bytes) -> ck.Message:
    producer = ck.Producer({"bootstrap.servers": broker, "message.max.bytes": 10_000_000})
    producer.produce("t", value, b"k", 0, headers={"h": b"x"})
    assert producer.flush(LIMIT_S) == 0
    return read(broker, "t", 1)[0]


@pytest.mark.parametrize(
    "origin",
    [
        SourceRecord({"file": "\ud800"}, {"at": 1 << 70}, "t\ud800", value="\ud800"),
        SourceRecord({"file": "f"}, {"at": 1}, "t", value="\ud800"),
    ],
    ids=["its place", "its value"],
)
def test_half_a_pair_of_surrogates_is_in_a_letter_as_text(broker: str, reports: Reports, origin: SourceRecord) -> None:
    """Who may write to the topic has an error quote half a pair of surrogates, which no header has: the task must go on."""
    reports.settings = ErrorSettings.of({**QUEUE, "errors.deadletterqueue.context.headers.enable": "true"})
    reports.errors._report(failure(origin, "Value (\ud800x) was out of range"))
    assert letters(broker, reports)[0].message == "Value (\\ud800x) was out of range"


class Silent:
    def __repr__(self) -> str:
        raise ValueError("not to be shown")


ODD: list[Any] = [None, 7, b"t", "\ud800", "a\0b", [("h", "v")], [None], [Header("a\0b", 1)], Silent(), {"a": Silent()}]


def test_whatever_a_source_s_record_is_it_has_a_letter(broker: str, reports: Reports) -> None:
    """It has failed of just that, most likely; and a report that fails would end the task, whatever is tolerated."""
    reports.settings = ErrorSettings.of({**QUEUE, "errors.deadletterqueue.context.headers.enable": "true"})
    names = ("topic", "headers", "value", "source_offset", "timestamp", "partition")
    for name, odd in itertools.product(names, ODD):
        origin = SourceRecord({"file": "f"}, {"at": 1}, "t", value="v", headers=[Header("h", "x")])
        setattr(origin, name, odd)
        reports.errors._report(failure(origin, f"{name} {type(odd).__name__}"))
    found = letters(broker, reports, len(names) * len(ODD))
    assert {letter.message for letter in found} == {f"{name} {type(odd).__name__}" for name in names for odd in ODD}


@pytest.mark.parametrize("size", [1_048_500, 3_000_000])
def test_a_record_that_is_too_large_for_the_queue_ends_no_task(broker: str, reports: Reports, size: int) -> None:
    """Who may write to the topic sends a bad record as large as the topic has it; the queue has no room for more beside it."""
    reports.settings = ErrorSettings.of({**QUEUE, "errors.deadletterqueue.context.headers.enable": "true"})
    origin = record(broker, b"x" * size)
    for text in ("y" * 10_000, "small"):
        reports.errors._report(failure(origin, text))
    found = letters(broker, reports, 2)
    assert [(letter.key, letter.value, letter.omits_record) for letter in found] == [(None, None, True)] * 2
    assert {letter.origin for letter in found} == {"t-0@0"}
    assert found[0].headers[-1] == (OMITTED, str(size + 2).encode())


def test_a_letter_without_its_record_is_not_replayed(broker: str, reports: Reports) -> None:
    """Such a letter would delete, as a tombstone, where the administrator has letters replayed to."""
    reports.errors._report(failure(record(broker, b"x" * 3_000_000)))
    rules = Rules(
        "queue", lambda topic: [0], Reporters([]), lambda *place: {}, MemoryHost(broker).settings.internal_topics, "to"
    )
    (left,) = plan(letters(broker, reports), {}, rules).rows
    assert isinstance(left, Left) and "t-0@0" in left.why


def test_a_record_can_not_say_that_it_was_omitted(broker: str, reports: Reports) -> None:
    """Who may write to the topic gives a bad record the header of such letters: it must be replayed as any other."""
    create(broker, "t")
    raw_batches.produce(broker, "t", [(b"bad", [(OMITTED.encode(), b"1")])])
    reports.errors._report(failure(read(broker, "t", 1)[0]))
    (letter,) = letters(broker, reports)
    assert not letter.omits_record
    assert letter.own_headers == ((OMITTED, b"1"),)


def test_no_letter_hides_those_of_others(broker: str) -> None:
    """
    Who may write to the queue has a letter say that it is at an offset further on. Those in between were not listed, counted as
    replayed with it, and were deleted as such.
    """
    create(broker, "queue")
    raw_batches.produce(broker, "queue", [(b"first", [])])
    raw_batches.send(broker, "queue", raw_batches.record(0, b"second") + raw_batches.record(7, b"lie"), 2)
    for number in range(9):
        raw_batches.produce(broker, "queue", [(b"%d" % number, [])])
    letters: list[Letter] = []
    with Queue(lambda kind: {"bootstrap.servers": broker}, "queue") as queue:
        with pytest.raises(ConnectError, match="The letter at offset 2 of queue-0 says that it is at offset 8"):
            letters.extend(queue.letters({0: (0, 12)}))
        assert [letter.value for letter in letters] == [b"first", b"second"]
        assert [letter.offset for letter in queue.letters({0: (3, 12)})] == list(range(3, 12)), "by themselves"
        assert queue.at(0, [8])[8].value == b"5"


@pytest.mark.parametrize(
    ("data", "codec", "said"),
    [(b"no gzip at all", 1, "a batch there is broken"), (gzip.compress(raw_batches.record(0, b"", length=-5)), 1, "no client")],
    ids=["broken", "senseless"],
)
def test_a_letter_that_nobody_can_read_says_how_to_read_the_others(
    broker: str, monkeypatch: pytest.MonkeyPatch, data: bytes, codec: int, said: str
) -> None:
    """Who may write to a queue sends a batch that no client can read: the letters behind it are shown by their offsets."""
    monkeypatch.setattr(reader, "_SILENCE_S", 1.0)
    create(broker, "q")
    raw_batches.produce(broker, "q", [(b"first", [])])
    raw_batches.send(broker, "q", data, 1, codec)
    raw_batches.produce(broker, "q", [(b"last", [])])
    with Queue(lambda kind: {"bootstrap.servers": broker, "log_level": 0}, "q") as queue:
        read: list[Letter] = []
        with pytest.raises(ConnectError, match=rf"q/0.* from offset 1 on.*{said}.*--offset :N or N:"):
            read.extend(queue.letters(queue.bounds()))
        assert [letter.value for letter in read] == [b"first"]
        assert [letter.value for letter in queue.letters({0: (0, 1)})] == [b"first"]
        assert [letter.value for letter in queue.letters({0: (2, 3)})] == [b"last"]


_IN_A_SMALL_PROCESS = """
import resource, sys
from kconnect.dlq.queue import Queue
from kconnect.host.memory import _reserved
queue = Queue(lambda kind: {"bootstrap.servers": sys.argv[1]}, "q").__enter__()
# Room for what the client unpacks, and not for one more.
most = _reserved() + 450 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
read = queue.letters(queue.bounds())
try:
    while True:
        next(read)
except Exception as error:
    print(f"{type(error).__name__}: {error}", flush=True)
import os
os._exit(0)
"""


@pytest.mark.process
@pytest.mark.skipif(not psutil.LINUX, reason="Other systems have no such limit")
def test_a_letter_that_has_no_room_in_memory_says_how_to_read_the_others(broker: str) -> None:
    """Who may write to a queue sends a batch of which Kafka's client makes 300 MB: the process ended by an error of C code."""
    create(broker, "q")
    raw_batches.produce(broker, "q", [(b"first", [])])
    raw_batches.send(broker, "q", raw_batches.unpacked(300_000_000), 1, codec=1)
    said = subprocess.run(
        [sys.executable, "-c", _IN_A_SMALL_PROCESS, broker], capture_output=True, text=True, timeout=120, check=False
    )
    assert "ConnectError: q/0 from offset 1 on can't be read: a message there is larger" in said.stdout, said.stderr
    assert "--offset :N or N:" in said.stdout


TIMES = [-(2**63), -5, -1, 0, 1, 2**63 - 1]


@pytest.mark.parametrize("at_ms", TIMES)
def test_a_bad_record_of_any_time_has_a_letter(broker: str, reports: Reports, at_ms: int) -> None:
    """Who may write to the topic gives a bad record a time that no client may send: its report ended the task for good."""
    create(broker, "t")
    raw_batches.send(broker, "t", raw_batches.record(0, b"bad"), 1, at_ms=at_ms)
    reports.errors._report(failure(read(broker, "t", 1)[0]))
    (letter,) = letters(broker, reports)
    assert (letter.value, letter.timestamp == at_ms) == (b"bad", at_ms > 0)


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_a_time_that_the_queue_does_not_take_ends_no_task(
    broker: str, reports: Reports, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Who may write to the topic gives a bad record a time that the queue's topic refuses: its letter has the present one."""
    producer = reports._producer
    assert producer is not None
    send, refused = producer.send_reported, []

    def of_now(messages: Any, origins: Any, report: Any) -> bool:
        (message,), (origin,) = list(messages), list(origins)
        if message[6]:
            refused.append(message[6])
            report(origin, "queue", Refusal("Broker: Invalid timestamp", untimely=True), None)
            return True
        return send([message], [origin], report)

    monkeypatch.setattr(producer, "send_reported", of_now)
    origin = record(broker, b"x" * size)
    reports.errors._report(failure(origin))
    (letter,) = letters(broker, reports)
    assert letter.omits_record is (size > 10)
    assert refused == [origin.timestamp()[1]]


def test_a_letter_of_a_time_that_no_client_sends_is_replayed(broker: str) -> None:
    """Who may write to the queue, or to its topic, gives a letter such a time: the whole replay failed."""
    rules = Rules(
        "queue", lambda topic: [0], Reporters([]), lambda *place: {}, MemoryHost(broker).settings.internal_topics, "to"
    )
    found = plan([Letter("queue", 0, at, moment, b"k", b"v") for at, moment in enumerate(TIMES)], {}, rules)
    assert [each.timestamp for each in found.outgoing] == [0, 0, 0, 1, 1, 2**63 - 1]
