"""The offset stores of a host's connectors over a real broker: which topic has what, and in which order (KIP-618)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka as ck
import orjson
import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.core.task.ports import OffsetStore
from kconnect.errors import ConnectError
from kconnect.kafka import clients, own_offsets
from kconnect.kafka.log import LogWriter
from kconnect.units.offsets import OffsetStores
from tests.integration.units import read_all, until

A, B = {"p": "a"}, {"p": "b"}


class Host:
    """Stores with the settings and the writer that a host gives them."""

    def __init__(self, bootstrap: str, topic: str, **more: str) -> None:
        properties = {
            "bootstrap.servers": bootstrap,
            "group.id": "test",
            "config.storage.topic": "c",
            "offset.storage.topic": topic,
            "offset.storage.partitions": "3",
            "offset.storage.replication.factor": "1",
            "offset.storage.segment.ms": "3600000",
            "status.storage.topic": "s",
            "key.converter": "StringConverter",
            "value.converter": "StringConverter",
            # A store of a connector's own waits for brokers as long as three quarters of it.
            "session.timeout.ms": "80000",
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        self.settings = WorkerSettings.from_properties(properties, {})
        client = clients.internal(self.settings, "test")
        self.writer = LogWriter(client, {Topic.OFFSET: topic}, 60)
        self.topic, self.bootstrap = topic, bootstrap
        self.stores = OffsetStores(self.settings, client, topic, self.writer, lambda: True)

    def store(self, config: dict[str, str], connector: str = "x") -> OffsetStore:
        found = self.stores.of(connector, config)
        found.open(lambda: False)
        return found

    def stored(self, topic: str) -> list[tuple[bytes, Any]]:
        return [
            (message.key() or b"", None if message.value() is None else orjson.loads(message.value() or b""))
            for message in read_all(self.bootstrap, topic)
        ]

    def newest(self, topic: str) -> dict[bytes, Any]:
        return dict(self.stored(topic))


def create(bootstrap: str, topic: str, policy: str = "compact") -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": policy})])[topic].result()


@pytest.fixture
def host(bootstrap: str, topic: str) -> Iterator[Host]:
    name = f"{topic}-worker"
    create(bootstrap, name)
    made = Host(bootstrap, name)
    yield made
    made.stores.close()
    made.writer.close()


def no() -> bool:
    return False


def test_an_own_topic_is_made_and_comes_first(host: Host, bootstrap: str, topic: str) -> None:
    worker = host.store({})
    worker.write([(A, {"n": 1}), (B, {"n": 1})], 60)
    store = host.store({"offsets.storage.topic": topic})
    found = AdminClient({"bootstrap.servers": bootstrap})
    assert len(found.list_topics(topic, timeout=60).topics[topic].partitions) == 3
    resource = ConfigResource(ResourceType.TOPIC, topic)
    made = found.describe_configs([resource])[resource].result()
    assert (made["cleanup.policy"].value, made["segment.ms"].value) == ("compact", "3600000")
    # A connector that has just been given a topic goes on where it was.
    assert store.read([A, B, {"p": "c"}], no) == [{"n": 1}, {"n": 1}, None]
    store.write([(A, {"n": 2})], 60)
    assert host.stored(topic) == [(b'["x",{"p":"a"}]', {"n": 2})]
    assert store.read([A, B], no) == [{"n": 2}, {"n": 1}]
    # And the worker's topic follows, at the latest when the unit ends.
    store.close()
    assert host.newest(host.topic) == {b'["x",{"p":"a"}]': {"n": 2}, b'["x",{"p":"b"}]': {"n": 1}}


@pytest.mark.parametrize("own", [False, True])
def test_what_is_stored_behind_the_open_transaction_of_another_is_waited_for(host: Host, topic: str, own: bool) -> None:
    """It hides what comes after it, and a task that reads only up to there begins before what it has stored (KIP-618)."""
    store = host.store({"offsets.storage.topic": topic} if own else {})
    name = topic if own else host.topic
    store.write([(A, {"n": 1})], 60)
    partition = next(message.partition() or 0 for message in read_all(host.bootstrap, name))
    other = ck.Producer({"bootstrap.servers": host.bootstrap, "transactional.id": topic, "transaction.timeout.ms": 600_000})
    other.init_transactions(120)
    other.begin_transaction()
    other.produce(name, b"{}", b"of another task", partition)
    assert other.flush(120) == 0
    store.write([(A, {"n": 2})], 60)
    found: list[Any] = []
    asked: list[float] = []

    def cancelled() -> bool:
        asked.append(time.monotonic())
        return False

    threading.Thread(target=lambda: found.extend(store.read([A], cancelled)), daemon=True).start()
    # Each time that it has found nothing more to read.
    until(lambda: found or len(asked) > 20)
    assert not found
    other.abort_transaction(120)
    until(lambda: found)
    assert found == [{"n": 2}]
    store.close()


def test_copies_come_by_themselves_too_and_only_the_newest(host: Host, topic: str) -> None:
    store = host.store({"offsets.storage.topic": topic})
    for number in range(20):
        store.write([(A, {"n": number})], 60)
    until(lambda: host.newest(host.topic) == {b'["x",{"p":"a"}]': {"n": 19}}, 60)
    assert len(host.stored(topic)) == 20
    assert len(host.stored(host.topic)) < 20
    store.close()


def test_what_is_deleted_goes_from_the_workers_topic_first(host: Host, topic: str) -> None:
    store = host.store({"offsets.storage.topic": topic})
    store.write([(A, {"n": 1}), (B, {"n": 1})], 60)
    # A copy is still waiting; it must not come after the tombstone.
    store.write([(A, None), (B, {"n": 2})], 60)
    assert store.read([A, B], no) == [None, {"n": 2}]
    store.close()
    for each in (topic, host.topic):
        assert host.newest(each) == {b'["x",{"p":"a"}]': None, b'["x",{"p":"b"}]': {"n": 2}}


def test_nothing_is_deleted_if_the_workers_topic_can_not_be_written(
    host: Host, topic: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = host.store({"offsets.storage.topic": topic})
    store.write([(A, {"n": 1})], 60)

    def refuse(*_: object) -> None:
        raise ConnectError("no broker")

    monkeypatch.setattr(host.writer, "write", refuse)
    for delete in (lambda: store.write([(A, None)], 60), lambda: store.entries([(A, None)], 60)):
        with pytest.raises(ConnectError, match="no broker"):
            delete()
    assert host.newest(topic) == {b'["x",{"p":"a"}]': {"n": 1}}
    # What is stored does not need it, though.
    store.write([(A, {"n": 2})], 60)
    store.committed([(A, {"n": 3})])
    store.close()
    assert host.newest(topic) == {b'["x",{"p":"a"}]': {"n": 2}}
    assert "were not copied" in caplog.text


def test_the_records_of_a_transaction(host: Host, bootstrap: str, topic: str) -> None:
    host.writer.write(host.stores.worker.entries("x", [({"b": 1, "a": 2}, {"n": 1})]), 60)
    store = host.store({"offsets.storage.topic": topic})
    assert store.read([{"a": 2, "b": 1}], no) == [{"n": 1}]
    # The keys are those that the worker's topic has.
    made = store.entries([({"a": 2, "b": 1}, {"n": 5})], 60)
    assert made == [(topic, b'["x",{"b":1,"a":2}]', b'{"n":5}')]
    assert host.stored(topic) == []
    assert store.read([{"a": 2, "b": 1}], no) == [{"n": 1}]
    producer = ck.Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "transaction.timeout.ms": 600_000})
    producer.init_transactions(120)
    producer.begin_transaction()
    producer.produce(made[0].topic, made[0].value, made[0].key)
    producer.flush(60)
    # Not before it is committed.
    assert host.stored(topic) == []
    producer.commit_transaction(120)
    store.committed([({"a": 2, "b": 1}, {"n": 5})])
    assert store.read([{"a": 2, "b": 1}], no) == [{"n": 5}]
    store.close()
    assert host.newest(host.topic) == {b'["x",{"b":1,"a":2}]': {"n": 5}}


def test_whoever_is_abandoned_copies_nothing(host: Host, topic: str) -> None:
    store = host.store({"offsets.storage.topic": topic})
    store.committed([(A, {"n": 1})])
    store.close(abandon=True)
    host.store({"offsets.storage.topic": topic}).close()
    assert host.stored(host.topic) == []


def test_one_reader_for_all_and_none_for_nobody(host: Host, topic: str) -> None:
    config = {"offsets.storage.topic": topic}
    first, second, other = host.store(config), host.store(config, "y"), host.store({"offsets.storage.topic": f"{topic}-2"})
    assert len(host.stores._shared) == 2
    first.write([(A, {"n": 1})], 60)
    second.write([(A, {"n": 2})], 60)
    assert (first.read([A], no), second.read([A], no)) == ([{"n": 1}], [{"n": 2}])
    first.close()
    assert second.read([A], no) == [{"n": 2}]
    second.close()
    other.close()
    assert host.stores._shared == {}


def test_the_workers_topic_by_another_address_is_one_store(host: Host, bootstrap: str) -> None:
    port = bootstrap.rsplit(":", 1)[1]
    name = "localhost" if bootstrap.startswith("127.") else "127.0.0.1"
    config = {"offsets.storage.topic": host.topic, "producer.override.bootstrap.servers": f"{name}:{port}"}
    store = host.store(config)
    store.write([(A, {"n": 1}), (B, None)], 60)
    assert store.read([A, B], no) == [{"n": 1}, None]
    store.committed([(A, {"n": 0})])
    store.close()
    assert host.stored(host.topic) == [(b'["x",{"p":"a"}]', {"n": 1}), (b'["x",{"p":"b"}]', None)]


def test_a_topic_that_would_lose_offsets_is_refused(host: Host, bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, "delete")
    with pytest.raises(ConnectError) as refused:
        host.store({"offsets.storage.topic": topic})
    said = str(refused.value)
    assert said.startswith(f"Topic '{topic}' supplied via the 'offsets.storage.topic' property is required to have ")
    assert "property in the connector's config to use a topic" in said


@pytest.mark.parametrize(
    ("settings", "config", "own"),
    [
        ({}, {}, None),
        ({}, {"offsets.storage.topic": " "}, None),
        ({}, {"offsets.storage.topic": "offsets"}, None),
        ({}, {"offsets.storage.topic": "mine"}, ("mine", "a:1", "a:1", "a:1")),
        # Only what has to be in one transaction has to be on one cluster.
        ({}, {"producer.override.bootstrap.servers": "b:1"}, None),
        ({"support": "enabled"}, {}, None),
        ({"support": "preparing"}, {"producer.override.bootstrap.servers": "b:1"}, None),
        ({"support": "enabled"}, {"producer.override.bootstrap.servers": "b:1"}, ("offsets", "b:1", "b:1", "b:1")),
        ({"support": "enabled", "producer_bootstrap_servers": "b:1"}, {}, ("offsets", "b:1", "b:1", "b:1")),
        (
            {"support": "enabled"},
            {"producer.override.bootstrap.servers": "b:1", "consumer.override.bootstrap.servers": "c:1"},
            ("offsets", "b:1", "c:1", "b:1"),
        ),
        # Whoever redirects only those who read finds nothing; the topic is where the producer is.
        ({}, {"offsets.storage.topic": "mine", "consumer.override.client.id": "c"}, ("mine", "a:1", "a:1", "a:1")),
    ],
)
def test_who_has_an_own_topic_and_where(
    settings: dict[str, str], config: dict[str, str], own: tuple[str, str, str, str] | None
) -> None:
    support = settings.pop("support", "disabled")
    host = Host("a:1", "offsets", exactly_once_source_support=support, **settings)
    found = own_offsets.of(host.settings, "x", config)
    clients = [] if found is None else [found.producer, found.consumer, found.admin]
    assert (found and (found.topic, *(each["bootstrap.servers"] for each in clients))) == own
