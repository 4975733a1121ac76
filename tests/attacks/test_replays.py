"""Attacks by whoever may write to a queue on how a replay of its letters is asked for, and on what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kconnect.converters.schema_registry import MemoryRegistry
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.task.letter_headers import CONTEXT
from kconnect.dlq import child
from kconnect.dlq.chains import Chains, anywhere, own
from kconnect.dlq.letters import Letter
from kconnect.dlq.origins import Reporter, Reporters, reporter
from kconnect.dlq.planning import Plan, Rules, plan
from kconnect.errors import BadRequestError, NotFoundError
from kconnect.plugins.registry import Registry
from kconnect.preview.preview import Preview
from tests.core.settings.test_worker import MINIMAL


def forged(topic: str) -> Letter:
    """Return a letter that says that it came from any topic."""
    headers = {"topic": topic, "partition": "0", "offset": "0", "connector.name": "orders-sink"}
    told = tuple((CONTEXT + name, text.encode()) for name, text in headers.items())
    return Letter("orders-dead", 0, 0, 1, b"connector-evil", b"{}", told)


def planned(letter: Letter, to_topic: str | None) -> Plan:
    known = Reporters([reporter("orders-sink", "sink", {"topics": "orders"}, ())])
    internal = InternalTopics(frozenset(["configs"]))
    return plan([letter], {}, Rules("orders-dead", lambda topic: [0], known, lambda *_: {}, internal, to_topic))


@pytest.mark.parametrize("topic", ["configs", "somebody-elses"])
@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_name_leaves_nothing_to_the_letters(topic: str, empty: str) -> None:
    """Whoever may write to a queue forges letters, and a script replays them with a variable that is empty: refused."""
    assert planned(forged(topic), "retry").targets == {"retry": 1}, "the control: the caller names a topic"
    assert not planned(forged(topic), None).outgoing
    with pytest.raises(BadRequestError, match="has an empty name: name it, or leave it out"):
        planned(forged(topic), empty)


HERE = "Kafka-1:9092, kafka-2:9092"
OTHERS = (
    {"consumer.override.bootstrap.servers": "partner:9092"},
    {"consumer.override.bootstrap.servers": "kafka-1:9092,partner:9092"},
    {"consumer.override.metadata.broker.list": "partner:9092"},
    {"consumer.override.bootstrap.servers": "${file:/secrets:servers}"},
)


@pytest.mark.parametrize("config", OTHERS)
@pytest.mark.parametrize("kind", ["sink", "unknown"])
def test_a_record_of_another_cluster_is_replayed_to_none_of_that_name_here(kind: str, config: dict[str, str]) -> None:
    """
    Whoever may write to a topic that a sink reads in a cluster of others sends what it can't read: a replay by the topic's name
    alone would write that to the topic of this name here, which is somebody else's.
    """
    asked: list[object] = []

    def replayed(config: dict[str, str], worker: dict[str, str], to_topic: str | None = None) -> Plan:
        known = Reporters([reporter("orders-sink", kind, {"topics": "orders", **config}, ["orders"], HERE, worker)])

        def read_back(*place: object) -> dict[int, Letter]:
            asked.append(place)
            return {}

        rules = Rules("orders-dead", lambda topic: [0], known, read_back, InternalTopics(), to_topic)
        return plan([forged("orders")], {}, rules)

    found = replayed(config, {})
    assert not found.outgoing and not asked, "what is at that place here says nothing about the letter"
    (setting,) = config
    assert f"is at the brokers of {setting}, and not here: name the topic" in found.left[0].why
    assert replayed(config, {}, "orders").targets == {"orders": 1}, "the control: the caller names a topic"
    same = dict.fromkeys(config, "KAFKA-2:9092")
    assert replayed(same, {"consumer.bootstrap.servers": "partner:9092"}).targets == {"orders": 1}, "the control: it is here"
    assert len(asked) == 1
    assert "of consumer.bootstrap.servers" in replayed({}, {"consumer.bootstrap.servers": "partner:9092"}).left[0].why
    # The queue alone is elsewhere, and that is where it is read.
    assert "of producer.override" in replayed({"producer.override.bootstrap.servers": "kafka-1:9092"}, {}).left[0].why


def test_letters_of_another_cluster_are_not_looked_for_here() -> None:
    """The queue of a connector whose producer has brokers of its own is there: what has its name here is another's topic."""
    config = {
        "topics": "orders",
        "errors.deadletterqueue.topic.name": "orders-dead",
        "producer.override.bootstrap.servers": "partner:9092",
    }
    request = {"worker": MINIMAL, "connector": "orders-sink", "configs": {"orders-sink": config}}
    with pytest.raises(NotFoundError, match=r"orders-dead at the brokers of producer.override.bootstrap.servers"):
        child._work(request, None)


def test_a_letter_names_no_subject_in_a_registry() -> None:
    """Whoever may write to a source's queue forges a letter for another topic: a replay registers no schema under its name."""
    scope = "attacks-replays"
    config = {
        "connector.class": "FileStreamSource",
        "topic": "orders",
        "file": "/dev/null",
        "value.converter": "AvroConverter",
        "value.converter.schema.registry.url": f"mock://{scope}",
    }
    known = Reporters([reporter("source", "source", config, ["orders"])])
    plugins, settings = Registry.scan(None), WorkerSettings.from_properties(MINIMAL, {})
    schema = {"type": "struct", "name": "Evil", "fields": [{"field": "a", "type": "int32", "optional": False}]}
    value = json.dumps({"schema": schema, "payload": {"a": 1}}).encode()
    registry = MemoryRegistry.of(scope)

    def build(connector: str, kind: str) -> Preview:
        return Preview(config, kind, settings, plugins)

    def run(topic: str, converts: Callable[[Reporter, str], bool] = own) -> list[str]:
        headers = {"topic": topic, "connector.name": "source", "source.partition": "{}", "source.offset": "{}"}
        told = tuple((CONTEXT + name, text.encode()) for name, text in headers.items())
        letter = Letter("source-dead", 0, 0, 1, None, value, told)
        with Chains(known, build, converts) as chains:
            rules = Rules("source-dead", lambda _: [0], known, lambda *_: {}, InternalTopics(), None, chains.run)
            return [each.topic for each in plan([letter], {}, rules).outgoing]

    try:
        assert run("payments") == []
        assert list(registry.subjects) == []
        assert run("orders") == ["orders"], "the control: for a topic of the connector, the schema is registered"
        assert list(registry.subjects) == ["orders-value"]
        run("payments", anywhere)
        assert list(registry.subjects) == ["orders-value", "payments-value"], "the control: letters alone decide"
    finally:
        MemoryRegistry.drop(scope)
