"""What plugins say of themselves and how they fail, as records and reports must take it. No broker is needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import orjson
import pytest

from kconnect.api.record import SinkRecord
from kconnect.core.metrics import report
from kconnect.core.metrics.report import UnitReport
from kconnect.core.settings.errors import DLQ_TOPIC
from kconnect.core.state import records
from kconnect.core.state.records import UnitId, UnitStatus
from kconnect.core.task.errors import Component, Counts, Stage, strict
from kconnect.errors import ConfigError, ConnectError, DataError
from kconnect.host import metrics
from kconnect.host.memory import Memory
from kconnect.host.metrics import Reporter
from kconnect.kafka import admin
from kconnect.kafka.metrics_topic import MetricsWriter
from kconnect.units import reports
from kconnect.units.unit import trace

from ..integration.units import MemoryHost, Numbers, Plugins, end, source_of, until


class Odd(Numbers):
    def version(self) -> Any:
        return Path("1.0")


class Unnamed(Numbers):
    """Fails for a file whose name is no UTF-8."""

    def start(self, props: dict[str, str]) -> None:
        name = b"caf\xe9".decode("utf-8", "surrogateescape")
        raise FileNotFoundError(f"no file {name}")


@pytest.fixture
def there() -> MemoryHost:
    return MemoryHost("127.0.0.1:1", Plugins(Odd=source_of(Odd), Unnamed=source_of(Unnamed)))


class Paper(MetricsWriter):
    """Keeps what is written instead of sending it."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.heard_at = 0.0

    def write(self, key: bytes, value: bytes) -> None:
        self.values.append(value)

    beat = write


def reporter(there: MemoryHost) -> tuple[Reporter, Paper]:
    found, paper = Reporter(there.settings, 0, "i", "w", Memory(there.settings)), Paper()
    found.close()
    found._writer, found._interval_s = paper, 0.0
    return found, paper


def test_a_version_that_is_no_text_is_reported_as_one(there: MemoryHost) -> None:
    unit = there.unit({"connector.class": "Odd", "limit": "0"})
    until(lambda: "RUNNING" in there.states)
    found, paper = reporter(there)
    found.started(unit)
    found.report(0.0)
    [said] = [each for each in map(report.decode, paper.values) if isinstance(each, UnitReport)]
    assert said.about.texts["task-version"] == "1.0"
    status = UnitStatus(there.statuses[0][0], "w", 1, None, unit.version)
    assert orjson.loads(records.status(unit.spec.unit, status).value or b"")["version"] == "1.0"
    end(unit)


def test_what_can_not_be_reported_harms_neither_the_host_nor_the_other_units(
    there: MemoryHost, caplog: pytest.LogCaptureFixture
) -> None:
    units = [there.unit({"connector.class": "Odd", "limit": "0", "name": name}) for name in ("bad", "good")]
    until(lambda: there.states.count("RUNNING") == 2)
    units[0].about.texts["task-version"] = object()  # type: ignore[assignment]
    found, paper = reporter(there)
    for unit in units:
        found.started(unit)

    def reported() -> list[UnitId]:
        found.report(0.0)
        return [each.unit for each in map(report.decode, paper.values) if isinstance(each, UnitReport)]

    until(lambda: reported() == [UnitId("good", 0)])
    assert len([line for line in caplog.records if "can't be reported" in line.message]) == 1
    for unit in units:
        end(unit)


def test_that_a_task_waits_is_told_long_before_its_numbers_are(there: MemoryHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_TURN_S", 0.0)
    unit = there.unit({"connector.class": "Odd", "limit": "0"})
    until(lambda: "RUNNING" in there.states)
    found, paper = reporter(there)
    found._interval_s = 3600.0
    found.started(unit)

    def said() -> list[str]:
        found.report(0.0)
        return [each.retrying for each in map(report.decode, paper.values) if isinstance(each, UnitReport)]

    until(lambda: said() == [""])
    assert unit.meter is not None
    counts: Counts = unit.meter._errors
    counts.tries_again("poll()", ConnectError("it has no file"), 0.0)
    until(lambda: said() == ["", "poll(): ConnectError: it has no file"])
    counts.goes_on()
    until(lambda: said() == ["", "poll(): ConnectError: it has no file", ""])
    end(unit)


def test_a_report_that_is_too_large_is_dropped() -> None:
    writer = MetricsWriter({"bootstrap.servers": "127.0.0.1:1", "message.max.bytes": 2000, "log_level": 0}, "t")
    writer.write(b"k", b"v" * 3000)
    assert not len(writer._producer)
    writer.write(b"k", b"v")
    assert len(writer._producer) >= 1, "the control"
    writer.close()


def test_a_beat_is_heard_when_replicas_have_it_or_a_broker_refuses_it() -> None:
    writer = MetricsWriter({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "t")
    message, began = ck.Message("t", 0), writer.heard_at
    for code in (ck.KafkaError._MSG_TIMED_OUT, ck.KafkaError.REQUEST_TIMED_OUT, ck.KafkaError.NOT_ENOUGH_REPLICAS):
        writer._heard(began + 1, ck.KafkaError(code), message)
        assert writer.heard_at == began
    writer._heard(began + 2, None, message)
    writer._heard(began + 1, None, message)
    assert writer.heard_at == began + 2
    for code in (ck.KafkaError.TOPIC_AUTHORIZATION_FAILED, ck.KafkaError._UNKNOWN_TOPIC):
        writer._heard(writer.heard_at + 1, ck.KafkaError(code), message)
    assert writer.heard_at == began + 4
    writer.close()


def test_a_failure_with_the_name_of_a_file_that_is_no_utf_8_can_be_written_down(there: MemoryHost) -> None:
    unit = there.unit({"connector.class": "Unnamed"})
    until(lambda: "FAILED" in there.states)
    state, trace = there.statuses[-1]
    value = orjson.loads(records.status(unit.spec.unit, UnitStatus(state, "w", 1, trace)).value or b"")
    assert value["trace"].startswith(r"FileNotFoundError: no file caf\udce9")
    end(unit)


def test_an_error_may_be_its_own_cause() -> None:
    error = ConnectError("not there")
    with pytest.raises(ConnectError) as raised:
        raise error from error
    assert trace(raised.value).startswith("org.apache.kafka.connect.errors.ConnectException: not there\n")


def test_of_what_java_threw_its_own_trace_is_shown() -> None:
    thrown, told = ConnectError("no"), ConnectError("The class a.B can't be loaded: no")
    thrown.java_trace = "java.lang.Error: no\n\tat a.B.<init>(B.java:1)"  # type: ignore[attr-defined]
    told.__cause__ = thrown
    assert trace(thrown).splitlines()[1:] == ["java.lang.Error: no", "\tat a.B.<init>(B.java:1)"]
    assert trace(told).splitlines()[1:] == ["Caused by: java.lang.Error: no", "\tat a.B.<init>(B.java:1)"]


def test_a_trace_begins_with_the_class_that_people_and_alerts_look_for() -> None:
    """That of Java, where it has one; then comes Python's own, which has both errors."""
    origin = SinkRecord("t", 0, None, None, None, None, 7)
    with pytest.raises(ConnectError) as raised:
        strict().handle(Stage.VALUE_CONVERTER, Component("the value converter"), origin, DataError("no JSON"))
    first, second, *rest = trace(raised.value).splitlines()
    told = "Tolerance exceeded in error handler: the value converter failed at t-0@7: no JSON"
    assert first == f"org.apache.kafka.connect.errors.ConnectException: {told}"
    assert second == "kconnect.errors.DataError: no JSON" and rest[-1] == f"kconnect.errors.ConnectError: {told}"
    assert [trace(error).splitlines()[0] for error in (KeyError("x"), ConfigError("a", "b", "no"), RuntimeError())] == [
        "KeyError: 'x'",
        "org.apache.kafka.common.config.ConfigException: Invalid value b for configuration a: no",
        "RuntimeError",
    ]


def test_a_transform_without_a_type_is_told_by_its_setting(there: MemoryHost) -> None:
    """One that was there before it was validated."""
    unit = there.unit({"connector.class": "Odd", "transforms": "a"})
    until(lambda: "FAILED" in there.states)
    assert 'Missing required configuration "transforms.a.type"' in (there.statuses[-1][1] or "")
    end(unit)


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ("no..host:9092", r"bootstrap\.servers=no\.\.host:9092: 'no\.\.host' is not the name of a host"),
        ("127.0.0.1:99999, :9092", r"'127\.0\.0\.1:99999' is not host:port; ':9092' is not host:port"),
    ],
)
@pytest.mark.parametrize("kind", ["producer", "consumer"])
def test_a_task_whose_client_can_never_find_a_broker_fails(there: MemoryHost, kind: str, servers: str, said: str) -> None:
    plugin = "Odd" if kind == "producer" else "FileStreamSink"
    config = {"connector.class": plugin, "limit": "0", "topics": "t", f"{kind}.override.bootstrap.servers": servers}
    unit = there.unit(config)
    until(lambda: "FAILED" in there.states)
    assert "RUNNING" not in there.states
    assert re.search(said, there.statuses[-1][1] or "")
    end(unit)


@pytest.mark.parametrize("topics", ["a b!", "^a.*", "good, ..", "x" * 250])
def test_a_sink_of_what_is_no_topic_s_name_fails(there: MemoryHost, topics: str) -> None:
    unit = there.unit({"connector.class": "FileStreamSink", "topics": topics})
    until(lambda: "FAILED" in there.states)
    assert "is not a topic name" in (there.statuses[-1][1] or "")
    end(unit)


def test_brokers_that_are_merely_away_are_waited_for(there: MemoryHost) -> None:
    unit = there.unit({"connector.class": "Odd", "limit": "0", "producer.override.bootstrap.servers": "no..host:1,localhost:1"})
    until(lambda: "RUNNING" in there.states)
    end(unit)
    assert "FAILED" not in there.states


LEFT_OVER = {DLQ_TOPIC: "dead", "errors.deadletterqueue.topic.replication.factor": "99"}


def test_a_queue_that_no_letter_needs_is_not_asked_for(there: MemoryHost) -> None:
    """Kafka Connect ignores the setting of a source, which must not fail of a queue that can't be had. No broker is here."""
    unit = there.unit({"connector.class": "Odd", "limit": "0", "errors.tolerance": "all", **LEFT_OVER})
    until(lambda: "RUNNING" in there.states)
    end(unit)
    assert "FAILED" not in there.states


def test_a_source_that_drops_nothing_has_no_queue(there: MemoryHost) -> None:
    failing = {"topic": "t", "limit": "1", "value.converter": "IntegerConverter"}
    unit = there.unit({"connector.class": "Odd", **failing, **LEFT_OVER})
    until(lambda: "FAILED" in there.states)
    end(unit)
    assert "Tolerance exceeded in error handler" in (there.statuses[-1][1] or "")


def test_a_queue_whose_brokers_can_never_be_found_fails_the_task(there: MemoryHost) -> None:
    nowhere = {"topics": "t", "admin.override.bootstrap.servers": "no..host:1"}
    unit = there.unit({"connector.class": "FileStreamSink", **nowhere, **LEFT_OVER})
    until(lambda: "FAILED" in there.states)
    end(unit)
    assert "No broker can be found at bootstrap.servers=no..host:1" in (there.statuses[-1][1] or "")


def test_a_source_waits_for_brokers_with_its_first_letter(there: MemoryHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "_TIMEOUT", 0.1)
    asked: list[str] = []

    def ensure(client: Any, topic: str, partitions: int, factor: int, remedy: str, access: Any) -> None:
        asked.append(topic)
        admin.ensure_topic(client, topic, partitions, factor, remedy, access=access)

    monkeypatch.setattr(reports, "ensure_topic", ensure)
    failing = {"topic": "t", "limit": "1", "value.converter": "IntegerConverter", "errors.tolerance": "all"}
    unit = there.unit({"connector.class": "Odd", **failing, **LEFT_OVER})
    until(lambda: len(asked) > 2)
    assert "FAILED" not in there.states
    assert set(asked) == {"dead"}
    end(unit)
