"""How source tasks see to their topics, and whom they tell of them. No broker is needed: Kafka's part is played here."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.api.record import SourceRecord
from kconnect.core.settings.topic_creation import TopicCreation
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.ports import OnReport, Refusal
from kconnect.data.schema import STRING_SCHEMA
from kconnect.errors import ConnectError
from kconnect.kafka import topics
from kconnect.kafka.producer import TaskProducer
from kconnect.units import source_task
from kconnect.units.unit import Unit

from ..integration.units import MemoryHost, Numbers, Plugins, end, source_of, until

RULES = {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1"}


class Script(Numbers):
    """Polls what the test gives."""

    batches: list[list[SourceRecord]] = []

    def poll(self) -> list[SourceRecord] | None:
        return self.batches.pop(0) if self.batches else None


def record(topic: str, value: str = "v") -> SourceRecord:
    return SourceRecord({}, {"at": 1}, topic, value_schema=STRING_SCHEMA, value=value)


class Kafka:
    """Stands in for a `TaskProducer`: acknowledges at a flush, unless it is `slow`; `refused` values fail."""

    slow = threading.Event()
    refused = "bad"
    required: list[str] = []

    def __init__(self, client: object, cancelled: object, reports: bool = False, access: object = None) -> None:
        self._waiting: list[tuple[Outgoing, Any, OnReport | None]] = []
        self.active = 0

    def require_topic(self, topic: str, waits: bool = True) -> bool:
        self.required.append(topic)
        return True

    def send(self, messages: Iterable[Outgoing]) -> bool:
        self._waiting += [(message, None, None) for message in messages]
        return True

    def send_reported(self, messages: Iterable[Outgoing], origins: Iterable[Any], report: OnReport) -> bool:
        self._waiting += [(message, origin, report) for message, origin in zip(messages, origins)]
        return True

    def flush(self, timeout: float) -> bool:
        if self.slow.is_set():
            return False
        for message, origin, report in self._waiting:
            if report is not None and message[1] == self.refused.encode():
                assert report(origin, message[0], Refusal("too large"), None) is False
        self._waiting.clear()
        return True

    def check(self) -> None: ...

    def close(self, abandon: bool = False) -> None: ...


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> MemoryHost:
    monkeypatch.setattr(source_task, "TaskProducer", Kafka)
    monkeypatch.setattr(Kafka, "slow", threading.Event())
    monkeypatch.setattr(Kafka, "required", [])
    return MemoryHost("127.0.0.1:1", Plugins(Script=source_of(Script)))


@pytest.fixture
def polled(monkeypatch: pytest.MonkeyPatch) -> list[list[SourceRecord]]:
    monkeypatch.setattr(Script, "batches", [])
    return Script.batches


@pytest.fixture
def units() -> Iterator[list[Unit]]:
    started: list[Unit] = []
    yield started
    for unit in started:
        end(unit)


def told(host: MemoryHost) -> list[str]:
    return [topic for _, _, topic in host.topics]


def test_a_topic_is_required_and_told_of_once_and_again_after_a_reset(
    there: MemoryHost, polled: list[list[SourceRecord]], units: list[Unit]
) -> None:
    polled += [[record("a"), record("b"), record("a")], [record("a")]]
    units.append(there.unit({"connector.class": "Script"}))
    until(lambda: not polled and len(there.topics) == 2)
    assert sorted(told(there)) == sorted(Kafka.required) == ["a", "b"]
    there.topics.clear()
    polled.append([record("a")])
    until(lambda: told(there) == ["a"])
    assert len(Kafka.required) == 2


def test_a_topic_whose_only_record_is_acknowledged_late_is_told_of_then(
    there: MemoryHost, polled: list[list[SourceRecord]], units: list[Unit]
) -> None:
    """KIP-558: no other record may ever come."""
    Kafka.slow.set()
    polled.append([record("late")])
    units.append(there.unit({"connector.class": "Script"}))
    until(lambda: not polled and Kafka.required)
    assert told(there) == []
    Kafka.slow.clear()
    until(lambda: told(there) == ["late"])


def test_a_topic_none_of_whose_records_kafka_takes_is_not_in_use(
    there: MemoryHost, polled: list[list[SourceRecord]], units: list[Unit]
) -> None:
    polled += [[record("none", "bad"), record("some", "bad"), record("some"), record("none", "bad")], [record("last")]]
    units.append(there.unit({"connector.class": "Script", "errors.tolerance": "all"}))
    until(lambda: "last" in told(there))
    assert told(there) == ["some", "last"]


def test_a_topic_that_could_not_be_created_is_not_in_use(
    there: MemoryHost, polled: list[list[SourceRecord]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(client: object, rules: object, new: list[str], cancelled: object, access: object) -> bool:
        if "refused" in new:
            raise ConnectError("refused")
        return True

    monkeypatch.setattr(topics, "create_missing", create)
    polled += [[record("t")], [record("refused")]]
    unit = there.unit({"connector.class": "Script", **RULES})
    until(lambda: "FAILED" in there.states)
    end(unit)
    assert told(there) == ["t"]


def test_topics_are_created_where_the_producer_writes(
    polled: list[list[SourceRecord]], units: list[Unit], there: MemoryHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def create(client: dict[str, Any], *args: object) -> bool:
        asked.append(client["bootstrap.servers"])
        return True

    monkeypatch.setattr(topics, "create_missing", create)
    polled.append([record("t")])
    units.append(there.unit({"connector.class": "Script", **RULES, "producer.override.bootstrap.servers": "localhost:1"}))
    until(lambda: asked)
    assert asked == ["localhost:1"]


def test_where_topic_creation_is_off_older_rules_only_warn(
    polled: list[list[SourceRecord]],
    units: list[Unit],
    there: MemoryHost,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """KIP-158: what was registered before is ignored, with a warning, even where it can't be used."""

    def create(*args: object) -> bool:
        raise AssertionError("a topic was to be created")

    monkeypatch.setattr(topics, "create_missing", create)
    rules = {**RULES, "topic.creation.default.partitions": "nonsense"}
    off = MemoryHost("127.0.0.1:1", there.plugins, topic_creation_enable="false")
    with caplog.at_level(logging.WARNING, "kconnect.units.source_topics"):
        polled.append([record("t")])
        units.append(off.unit({"connector.class": "Script", **rules}))
        until(lambda: told(off) == ["t"])
    end(units.pop())  # Both tasks would poll what is given next.
    assert [line.message for line in caplog.records if "topic.creation.enable is false" in line.message]
    # The control: where it is on, rules are used, and these can't be.
    unit = there.unit({"connector.class": "Script", **rules})
    until(lambda: there.states == ["FAILED"])
    assert "topic.creation.default.partitions" in (there.statuses[0][1] or "")
    end(unit)
    polled.append([record("t")])
    unit = there.unit({"connector.class": "Script", **RULES})
    until(lambda: len(there.states) == 3)
    assert "a topic was to be created" in (there.statuses[-1][1] or "")
    end(unit)


def test_a_task_whose_rules_can_not_be_used_holds_no_client() -> None:
    """It may stay failed for days."""

    def clients() -> int:
        return sum(type(each) is TaskProducer for each in gc.get_objects())

    there = MemoryHost("127.0.0.1:1", Plugins(Script=source_of(Script)))
    gc.collect()
    before = clients()
    control = there.unit({"connector.class": "Script", **RULES})
    until(lambda: clients() == before + 1)
    end(control)
    del control
    gc.collect()
    unit = there.unit({"connector.class": "Script", **RULES, "topic.creation.default.partitions": "0"})
    until(lambda: there.states[-1:] == ["FAILED"])
    assert unit.join(60)
    assert clients() == before


class Done:
    def __init__(self, code: int | None) -> None:
        self._code = code

    def result(self) -> None:
        if self._code is not None:
            raise ck.KafkaException(ck.KafkaError(self._code))


class Brokers:
    """Stands in for an `AdminClient`: answers with these codes in turn, and counts."""

    def __init__(self, described: list[int | None], created: list[int | None]) -> None:
        self._described, self._created = described, created
        self.asked: list[list[str]] = []
        self.wanted: list[str] = []

    def describe_topics(self, names: Any, request_timeout: float) -> dict[str, Done]:
        self.asked.append(list(names.topic_names))
        code = self._described.pop(0)
        return {name: Done(code) for name in names.topic_names}

    def create_topics(self, wanted: list[Any], request_timeout: float) -> dict[str, Done]:
        self.wanted += [each.topic for each in wanted]
        code = self._created.pop(0)
        return {each.topic: Done(code) for each in wanted}


MISSING = ck.KafkaError.UNKNOWN_TOPIC_OR_PART


@pytest.fixture
def creating(monkeypatch: pytest.MonkeyPatch) -> Callable[[Brokers], bool]:
    monkeypatch.setattr(topics, "_AGAIN_S", 0)

    def create(brokers: Brokers) -> bool:
        monkeypatch.setattr(topics, "AdminClient", lambda client: brokers)
        rules = TopicCreation.from_config(RULES)
        assert rules is not None
        return topics.create_missing({}, rules, ["a", "b"], lambda: False)

    return create


def test_what_is_missing_is_found_with_one_request(creating: Callable[[Brokers], bool]) -> None:
    brokers = Brokers([MISSING], [None])
    assert creating(brokers)
    assert (brokers.asked, brokers.wanted) == ([["a", "b"]], ["a", "b"])


def test_a_topic_that_somebody_else_creates_meanwhile_is_there(creating: Callable[[Brokers], bool]) -> None:
    assert creating(Brokers([MISSING], [ck.KafkaError.TOPIC_ALREADY_EXISTS]))


@pytest.mark.parametrize("code", [ck.KafkaError._TRANSPORT, ck.KafkaError.NOT_CONTROLLER, ck.KafkaError.REQUEST_TIMED_OUT])
def test_a_cluster_without_controller_is_waited_for(creating: Callable[[Brokers], bool], code: int) -> None:
    brokers = Brokers([code, MISSING, None], [code])
    assert creating(brokers)
    assert len(brokers.asked) == 3


def test_where_describing_is_refused_nothing_is_said_of_creating(creating: Callable[[Brokers], bool]) -> None:
    """The topic may well be there; KIP-158 asks for both rights all the same."""
    brokers = Brokers([ck.KafkaError.TOPIC_AUTHORIZATION_FAILED], [])
    with pytest.raises(ConnectError, match=r"can't find out whether the topic a exists.* rights to describe it"):
        creating(brokers)
    assert brokers.wanted == []
    with pytest.raises(ConnectError, match="The topic a could not be created by the rules of the group default"):
        creating(Brokers([MISSING], [ck.KafkaError.TOPIC_AUTHORIZATION_FAILED]))


def test_a_task_that_was_given_up_meanwhile_creates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers([MISSING], [None])
    monkeypatch.setattr(topics, "AdminClient", lambda client: brokers)
    rules = TopicCreation.from_config(RULES)
    assert rules is not None
    assert not topics.create_missing({}, rules, ["a"], lambda: bool(brokers.asked))
    assert (brokers.asked, brokers.wanted) == ([["a"]], [])


@pytest.mark.parametrize("name", ["a b", "..", "a/b", "x" * 250, "_o", "__consumer_offsets"], ids=lambda name: name[:10])
def test_a_name_that_is_no_topic_s_is_its_records_fault(
    there: MemoryHost, polled: list[list[SourceRecord]], units: list[Unit], name: str
) -> None:
    """Who may make tables, or write rows by which a transform names topics, names one so: the task failed for good."""
    if name == "_o":
        name = there.settings.offset_storage_topic
    polled += [[record("a"), record(name), record("b")], [record("last")]]
    units.append(there.unit({"connector.class": "Script", "errors.tolerance": "all"}))
    until(lambda: "FAILED" in there.states or sorted(told(there)) == ["a", "b", "last"])
    assert "FAILED" not in there.states
    assert sorted(Kafka.required) == ["a", "b", "last"]
    # The control: without tolerance it fails.
    end(units.pop())
    polled += [[record("before"), record(name)]]
    units.append(there.unit({"connector.class": "Script"}))
    until(lambda: "FAILED" in there.states)
