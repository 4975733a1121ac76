"""Records that fail, with a real broker: the dead letter queue, what it tells, and the offsets beside it (F15, I15)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import confluent_kafka as ck
import pytest

from kconnect.api.config import ConfigDef
from kconnect.api.record import RecordMetadata, SinkRecord, SourceRecord
from kconnect.api.transformation import Transformation
from kconnect.core.settings.errors import DLQ_TOPIC
from kconnect.data.schema import STRING_SCHEMA
from kconnect.errors import RetriableError

from .units import (
    MemoryHost,
    Numbers,
    Plugins,
    Shelf,
    committed,
    create,
    end,
    numbers,
    read_all,
    sink_of,
    source_of,
    until,
    values,
)

pytestmark = pytest.mark.integration

TOLERANT = {"errors.tolerance": "all"}
INTEGERS = {"value.converter": "IntegerConverter"}


def send(bootstrap: str, topic: str, bodies: list[bytes]) -> None:
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for number, body in enumerate(bodies):
        producer.produce(topic, body, f"k{number}", headers=[("own", b"h")])
    assert producer.flush(60) == 0


def integer(number: int) -> bytes:
    return number.to_bytes(4, "big")


def headers(message: ck.Message) -> dict[str, str]:
    return {name: bytes(value or b"").decode() for name, value in cast(Any, message.headers() or ())}


class Sinks:
    def __init__(self, bootstrap: str, topic: str, task: type[Shelf] = Shelf) -> None:
        self.bootstrap, self.topic, self.dead = bootstrap, topic, f"{topic}-dead"
        self.made: list[Shelf] = []
        self.task = task
        create(bootstrap, topic)

    def start(self, **settings: str) -> tuple[MemoryHost, Any]:
        def make() -> Shelf:
            self.made.append(self.task())
            return self.made[-1]

        host = MemoryHost(self.bootstrap, Plugins(Shelf=sink_of(make)), offset_flush_timeout_ms="60000")
        queue = {DLQ_TOPIC: self.dead, "errors.deadletterqueue.topic.replication.factor": "1"}
        config = {"name": f"sink-{self.topic}", "connector.class": "Shelf", "topics": self.topic, **queue, **settings}
        return host, host.unit(config)

    def committed(self) -> dict[int, int]:
        return committed(self.bootstrap, f"connect-sink-{self.topic}", self.topic)


@pytest.fixture
def sinks(bootstrap: str, topic: str) -> Callable[..., Sinks]:
    return lambda *more: Sinks(bootstrap, topic, *more)


def test_a_message_that_can_not_be_converted_is_a_dead_letter(sinks: Callable[..., Sinks], bootstrap: str) -> None:
    it = sinks()
    send(bootstrap, it.topic, [integer(1), b"poison", integer(3)])
    host, unit = it.start(**INTEGERS, **TOLERANT, **{"errors.deadletterqueue.context.headers.enable": "true"})
    until(lambda: it.made and it.made[0].values == [1, 3])
    until(lambda: it.committed() == {0: 3})
    end(unit)
    [letter] = read_all(bootstrap, it.dead)
    assert (letter.key(), letter.value()) == (b"k1", b"poison")
    told = headers(letter)
    stack = told.pop("__connect.errors.exception.stacktrace")
    message = told.pop("__connect.errors.exception.message")
    assert "deserialize integer" in message
    first, then = stack.splitlines()[:2]
    assert first == f"org.apache.kafka.connect.errors.DataException: {message.strip()}"
    assert then == "Traceback (most recent call last):"
    assert told == {
        "own": "h",
        "__connect.errors.topic": it.topic,
        "__connect.errors.partition": "0",
        "__connect.errors.offset": "1",
        "__connect.errors.connector.name": f"sink-{it.topic}",
        "__connect.errors.task.id": "0",
        "__connect.errors.stage": "VALUE_CONVERTER",
        "__connect.errors.class.name": "org.apache.kafka.connect.converters.IntegerConverter",
        "__connect.errors.exception.class.name": "org.apache.kafka.connect.errors.DataException",
    }
    assert host.states == ["RUNNING", "UNASSIGNED"]


def test_without_tolerance_the_task_fails_before_the_record_and_reports_it(sinks: Callable[..., Sinks], bootstrap: str) -> None:
    it = sinks()
    send(bootstrap, it.topic, [integer(1), b"poison", integer(3)])
    host, unit = it.start(**INTEGERS)
    until(lambda: host.states[-1:] == ["FAILED"])
    end(unit)
    trace = host.statuses[-1][1] or ""
    assert f"Tolerance exceeded in error handler: the value converter failed at {it.topic}-0@1" in trace
    assert "poison" not in trace
    assert it.committed().get(0, 0) <= 1
    [letter] = read_all(bootstrap, it.dead)
    assert headers(letter) == {"own": "h"}, "headers of the context are off by default"


def test_a_transform_and_a_predicate_that_fail(sinks: Callable[..., Sinks], bootstrap: str) -> None:
    it = sinks()
    send(bootstrap, it.topic, [b"1", b"none", b"3"])
    cast = "org.apache.kafka.connect.transforms.Cast$Value"
    chain = {"transforms": "c", "transforms.c.type": cast, "transforms.c.spec": "int8"}
    _, unit = it.start(**chain, **TOLERANT, **{"errors.deadletterqueue.context.headers.enable": "true"})
    until(lambda: it.made and it.made[0].values == [1, 3])
    until(lambda: it.committed() == {0: 3})
    end(unit)
    [letter] = read_all(bootstrap, it.dead)
    assert letter.value() == b"none"
    assert headers(letter)["__connect.errors.stage"] == "TRANSFORMATION"
    assert headers(letter)["__connect.errors.class.name"] == cast


def test_a_task_reports_what_it_can_not_deliver(sinks: Callable[..., Sinks], bootstrap: str) -> None:
    class Picky(Shelf):
        def start(self, props: dict[str, str]) -> None:
            reporter = self.context.errant_record_reporter()
            assert reporter is not None
            self.reporter = reporter

        def put(self, records: list[SinkRecord]) -> None:
            for record in records:
                if record.value == 2:
                    self.reporter.report(record, ValueError("two is odd"))
                else:
                    self.values.append(record.value)

    it = sinks(Picky)
    send(bootstrap, it.topic, [integer(1), integer(2), integer(3)])
    router = {"type": "RegexRouter", "regex": ".*", "replacement": "x"}
    routed = {"transforms": "r", **{f"transforms.r.{name}": value for name, value in router.items()}}
    _, unit = it.start(**INTEGERS, **routed, **TOLERANT, **{"errors.deadletterqueue.context.headers.enable": "true"})
    until(lambda: it.made and it.made[0].values == [1, 3])
    until(lambda: it.committed() == {0: 3})
    end(unit)
    [letter] = read_all(bootstrap, it.dead)
    assert letter.value() == integer(2)
    told = headers(letter)
    assert (told["__connect.errors.stage"], told["__connect.errors.topic"]) == ("TASK_PUT", it.topic)
    assert told["__connect.errors.exception.class.name"] == "ValueError"


def test_without_a_queue_and_a_log_there_is_no_reporter(sinks: Callable[..., Sinks], bootstrap: str) -> None:
    class Asks(Shelf):
        def start(self, props: dict[str, str]) -> None:
            self.values.append(str(self.context.errant_record_reporter()))

    it = sinks(Asks)
    _, unit = it.start(**{DLQ_TOPIC: ""})
    until(lambda: it.made and it.made[0].values == ["None"])
    end(unit)


def test_errors_are_logged_without_what_is_in_the_record(
    sinks: Callable[..., Sinks], bootstrap: str, caplog: pytest.LogCaptureFixture
) -> None:
    it = sinks()
    send(bootstrap, it.topic, [b"poison", integer(3)])
    with caplog.at_level(logging.ERROR, "kconnect.units.reports"):
        _, unit = it.start(**INTEGERS, **TOLERANT, **{DLQ_TOPIC: "", "errors.log.enable": "true"})
        until(lambda: it.made and it.made[0].values == [3])
        end(unit)
    # What other tests have left behind may have something to say meanwhile.
    [line] = [record.getMessage() for record in caplog.records if record.name == "kconnect.units.reports"]
    assert line.startswith(f"Error encountered in task sink-{it.topic}-0. Executing stage 'VALUE_CONVERTER' with class ")
    assert f"{it.topic}-0@0" in line
    assert "poison" not in caplog.text


OLD_MS = 1_000_000_000_000


def test_a_time_that_the_queue_refuses_ends_no_sink(sinks: Callable[..., Sinks], bootstrap: str) -> None:
    """Who may write a record gives it any time, also one that the queue does not take: the task failed for good."""
    it = sinks()
    create(bootstrap, it.dead, message_timestamp_before_max_ms="3600000", message_timestamp_type="CreateTime")
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for body, moment in ((integer(1), 0), (b"poison", OLD_MS), (b"poison", -5), (integer(4), 0)):
        producer.produce(it.topic, body, timestamp=moment)
    assert producer.flush(60) == 0
    _, unit = it.start(**INTEGERS, **TOLERANT)
    until(lambda: it.made and it.made[0].values == [1, 4])
    until(lambda: it.committed() == {0: 4})
    end(unit)
    letters = read_all(bootstrap, it.dead)
    assert [letter.value() for letter in letters] == [b"poison"] * 2
    assert min(letter.timestamp()[1] for letter in letters) > OLD_MS


class TestSource:
    def start(self, bootstrap: str, topic: str, task: type[Numbers], **settings: str) -> tuple[MemoryHost, Any, list[Any]]:
        made: list[Any] = []

        def make() -> Numbers:
            made.append(task())
            return made[-1]

        host = MemoryHost(bootstrap, Plugins(Numbers=source_of(make)))
        config = {"name": f"source-{topic}", "connector.class": "Numbers", "topic": topic, "limit": "100", **settings}
        return host, host.unit(config), made

    def test_a_bad_record_is_skipped_and_offsets_go_on(self, bootstrap: str, topic: str) -> None:
        class Odd(Numbers):
            committed: list[tuple[str, bool]]

            def start(self, props: dict[str, str]) -> None:
                super().start(props)
                self.committed = []

            def record(self, number: int) -> SourceRecord:
                value: Any = {"not": "a text"} if number in (7, 100) else str(number)
                return SourceRecord({"of": "numbers"}, {"last": number}, self.topic, value_schema=STRING_SCHEMA, value=value)

            def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
                self.committed.append((str(record.value), metadata is None))

        create(bootstrap, topic)
        dead = {DLQ_TOPIC: f"{topic}-dead", "errors.deadletterqueue.topic.replication.factor": "1"}
        context = {"errors.deadletterqueue.context.headers.enable": "true", "value.converter": "JsonConverter"}
        host, unit, made = self.start(bootstrap, topic, Odd, **TOLERANT, **dead, **context)
        until(lambda: host.offsets.get("{'of': 'numbers'}") == {"last": 100})
        end(unit)
        assert len(read_all(bootstrap, topic)) == 98
        letters = read_all(bootstrap, f"{topic}-dead")
        assert [headers(letter)["__connect.errors.source.offset"] for letter in letters] == ['{"last":7}', '{"last":100}']
        assert headers(letters[0])["__connect.errors.stage"] == "VALUE_CONVERTER"
        assert letters[0].value() == b"{'not': 'a text'}"
        assert len(made[0].committed) == 100, "each once"
        assert [value for value, dropped in made[0].committed if dropped] == ["{'not': 'a text'}"] * 2

    def test_what_kafka_does_not_take_is_skipped_where_that_is_tolerated(self, bootstrap: str, topic: str) -> None:
        class Large(Numbers):
            def record(self, number: int) -> SourceRecord:
                value = "x" * 200_000 if number == 7 else "y" * 3000 if number == 9 else str(number)
                return SourceRecord({"of": "numbers"}, {"last": number}, self.topic, value_schema=STRING_SCHEMA, value=value)

        create(bootstrap, topic, 1, max_message_bytes="2000")
        limits = {"producer.override.max.request.size": "100000", "producer.override.compression.type": "none"}
        one_by_one = {"producer.override.linger.ms": "0", "producer.override.batch.num.messages": "1"}
        host, unit, _ = self.start(bootstrap, topic, Large, **TOLERANT, **limits, **one_by_one)
        until(lambda: host.offsets.get("{'of': 'numbers'}") == {"last": 100})
        end(unit)
        assert values(bootstrap, topic) == [number for number in numbers(100) if number not in ("7", "9")]
        # The control: without tolerance the same record ends the task.
        host, unit, _ = self.start(bootstrap, topic, Large, **limits, **one_by_one)
        until(lambda: host.states[-1:] == ["FAILED"])
        end(unit)

    def test_a_retriable_transform_is_asked_until_it_works(self, bootstrap: str, topic: str) -> None:
        asked: list[str] = []

        class Stubborn(Transformation[SourceRecord]):
            def configure(self, configs: Mapping[str, str]) -> None: ...

            def config(self) -> ConfigDef:
                return ConfigDef()

            def apply(self, record: SourceRecord) -> SourceRecord:
                if record.value == "7":
                    asked.append(record.value)
                    if len(asked) < 3:
                        raise RetriableError("not yet")
                return record

        create(bootstrap, topic)
        made: list[Numbers] = []

        def make() -> Numbers:
            made.append(Numbers())
            return made[-1]

        plugins = Plugins(Numbers=source_of(make), Stubborn=Stubborn)
        host = MemoryHost(bootstrap, plugins)
        config = {"name": f"source-{topic}", "connector.class": "Numbers", "topic": topic, "limit": "20"}
        chain = {"transforms": "s", "transforms.s.type": "Stubborn", "errors.retry.timeout": "60000"}
        unit = host.unit({**config, **chain})
        until(lambda: host.offsets.get("{'of': 'numbers'}") == {"last": 20})
        end(unit)
        assert len(asked) == 3
        assert values(bootstrap, topic) == numbers(20)

    @pytest.mark.parametrize("fault", ["a time", "no key"])
    def test_one_record_that_a_topic_refuses_takes_no_others_along(self, bootstrap: str, topic: str, fault: str) -> None:
        """Who decides about one record of a source gives it what the topic refuses: all of its request were refused."""

        class Odd(Numbers):
            def record(self, number: int) -> SourceRecord:
                record = super().record(number)
                record.key, record.key_schema = f"k{number}", STRING_SCHEMA
                if number == 7 and fault == "a time":
                    record.timestamp = OLD_MS
                elif number == 7:
                    record.key = record.key_schema = None
                return record

        create(bootstrap, topic, cleanup_policy="compact", message_timestamp_before_max_ms="3600000")
        together = {"producer.override.linger.ms": "100"}
        host, unit, _ = self.start(bootstrap, topic, Odd, **TOLERANT, **together)
        until(lambda: host.offsets.get("{'of': 'numbers'}") == {"last": 100})
        end(unit)
        assert sorted(values(bootstrap, topic), key=int) == [number for number in numbers(100) if number != "7"]
