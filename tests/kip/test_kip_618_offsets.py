"""
KIP-618's and KIP-875's claims about where a source's offsets are, and KIP-995's about those that it begins with, on real
workers: a connector's own topic, on the worker's cluster and on another one, with and without exactly-once. What is stored in
which order is in `tests/integration/test_offset_stores.py` and `tests/core/herder/test_own_offsets.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import orjson
import pytest
from confluent_kafka.admin import AclOperation, AdminClient

from kconnect.kafka.admin import committed
from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration.secured import Secured
from tests.integration.transfer import read_topic
from tests.integration.units import read_all
from tests.support import stop, wait_until

# Whoever comes first starts a worker too.
pytestmark = pytest.mark.timeout(900)

Names = Callable[[str], str]

ALTERED = "The offsets for this connector have been altered successfully"
RESET = "The offsets for this connector have been reset successfully"


def pause() -> None:
    """Between looks at a connector's own topic, each of which takes a client."""
    threading.Event().wait(0.3)


class Source:
    """A file source of three lines, and what is known of its offsets, and where."""

    def __init__(self, worker: WorkerProcess, name: str, path: Path, servers: str, **more: str) -> None:
        self.client, self.name, self.path, self.servers = worker.client, name, path, servers
        self.topic, self.offsets_topic = f"{name}-data", f"{name}-offsets"
        path.write_text("one\ntwo\nthree\n")
        self.config = {"connector.class": "FileStreamSource", "file": str(path), "topic": self.topic}
        self.config |= {name.replace("_", "."): value for name, value in more.items()}

    def at(self, position: int | None) -> list[dict[str, Any]]:
        offset = None if position is None else {"position": position}
        return [{"partition": {"filename": str(self.path)}, "offset": offset}]

    def wait_at(self, position: int) -> None:
        # Spark may have to start first, on a machine that others use.
        self.client.wait_for(self.name, "RUNNING", tasks=1, timeout=240)
        wait_until(lambda: pause() or self.client.offsets(self.name) == self.at(position), 120)

    def sent(self) -> list[str]:
        return [value.decode() for value in read_topic(self.servers, self.topic) if value is not None]

    def stored(self, servers: str, topic: str) -> list[Any]:
        """The offsets that were stored there, in order; None for one that was deleted."""
        found = [message for message in read_all(servers, topic) if orjson.loads(message.key() or b"[0]")[0] == self.name]
        return [None if message.value() is None else orjson.loads(message.value() or b"") for message in found]


def topics(servers: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": servers})
    return set(admin.list_topics(timeout=60).topics)


def test_a_source_s_own_topic(worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path) -> None:
    servers = broker.bootstrap_servers
    source = Source(worker, unique("own"), tmp_path / "in", servers)
    client, name, own = worker.client, source.name, source.offsets_topic
    # It begins in the worker's topic, and goes on from there when it is given one.
    client.create(name, source.config)
    source.wait_at(14)
    # Stopped, or the task of before might read the fourth line.
    stop(client, name)
    client.put_config(name, {**source.config, "offsets.storage.topic": own})
    assert client.offsets(name) == source.at(14)
    source.path.write_text("one\ntwo\nthree\nfour\n")
    client.resume(name)
    source.wait_at(19)
    assert source.sent() == ["one", "two", "three", "four"]
    assert source.stored(servers, own) == [{"position": 19}]
    client.stop(name)
    assert client.alter_offsets(name, source.at(8)) == ALTERED
    assert client.offsets(name) == source.at(8)
    assert source.stored(servers, own)[-1] == source.stored(servers, "shared-offsets")[-1] == {"position": 8}
    client.resume(name)
    source.wait_at(19)
    assert source.sent()[4:] == ["three", "four"]
    client.stop(name)
    assert [client.reset_offsets(name) for _ in range(2)] == [RESET, RESET]
    assert client.offsets(name) == []
    assert source.stored(servers, own)[-1] is source.stored(servers, "shared-offsets")[-1] is None
    client.resume(name)
    source.wait_at(19)
    assert source.sent()[6:] == ["one", "two", "three", "four"]
    client.delete(name)


@pytest.mark.long
def test_another_cluster(worker: WorkerProcess, broker: Broker, secured: Secured, unique: Names, tmp_path: Path) -> None:
    servers = secured.broker.bootstrap_servers
    source = Source(worker, unique("away"), tmp_path / "in", servers)
    client, name, own = worker.client, source.name, source.offsets_topic
    secured.allow("alice", name, AclOperation.ALL)
    # The producer alone is redirected, and all else follows it.
    config = {**source.config, **secured.client("producer", "alice"), "offsets.storage.topic": own}
    client.create(name, config)
    source.wait_at(14)
    assert source.stored(servers, own) == [{"position": 14}]
    assert not [each for each in topics(broker.bootstrap_servers) if each.startswith(name)]
    client.stop(name)
    assert client.alter_offsets(name, source.at(4)) == ALTERED
    # The worker's cluster has a copy, for whoever takes the topic away from the connector.
    assert source.stored(broker.bootstrap_servers, "shared-offsets")[-1] == {"position": 4}
    client.resume(name)
    source.wait_at(14)
    assert source.sent() == ["one", "two", "three", "two", "three"]
    client.stop(name)
    assert client.reset_offsets(name) == RESET
    assert client.offsets(name) == []
    # Whoever may not touch the topic is told so, and nothing is changed.
    client.put_config(name, {**config, **secured.client("producer", "bob")})
    with pytest.raises(RestError) as refused:
        client.alter_offsets(name, source.at(4))
    assert refused.value.status == 500
    assert refused.value.message.startswith(f"Failed to modify offsets for source connector {name}: ")
    assert own in refused.value.message
    assert "secret" not in refused.value.message
    client.resume(name)
    failed = client.wait_for(name, "FAILED", timeout=120)
    assert own in failed["connector"]["trace"]
    client.delete(name)


@pytest.mark.long
def test_exactly_once_on_another_cluster(
    eos_worker: WorkerProcess, broker: Broker, secured: Secured, unique: Names, tmp_path: Path
) -> None:
    """Its offsets are where its records are: nobody had to ask for a topic of its own."""
    servers = secured.broker.bootstrap_servers
    overrides = {"producer_override_bootstrap_servers": servers}
    source = Source(eos_worker, unique("eos-away"), tmp_path / "in", servers, **overrides)
    client, name = eos_worker.client, source.name
    client.create(name, source.config)
    source.wait_at(14)
    assert source.stored(servers, "eos-offsets") == [{"position": 14}]
    # Copies come once the transaction is committed, in their own time.
    wait_until(lambda: source.stored(broker.bootstrap_servers, "eos-offsets") == [{"position": 14}], 240)
    client.stop(name)
    # A task of before that still writes, is none any more once its offsets are altered.
    zombie = ck.Producer({"bootstrap.servers": servers, "transactional.id": f"eos-{name}-0"})
    zombie.init_transactions(60)
    zombie.begin_transaction()
    zombie.produce(source.topic, b"zombie")
    zombie.flush(60)
    assert client.alter_offsets(name, source.at(8)) == ALTERED
    with pytest.raises(ck.KafkaException, match="fenced"):
        zombie.commit_transaction(60)
    client.resume(name)
    source.wait_at(14)
    client.stop(name)
    assert client.reset_offsets(name) == RESET
    assert (client.offsets(name), source.stored(servers, "eos-offsets")[-1]) == ([], None)
    client.delete(name)
    lines = lines_committed(servers, source.topic)
    assert lines == ["one", "two", "three", "three"]


def lines_committed(servers: str, topic: str) -> list[str]:
    consumer = ck.Consumer({"bootstrap.servers": servers, "group.id": "look", "isolation.level": "read_committed"})
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    found: list[str] = []
    try:
        wait_until(lambda: found.extend(_values(consumer)) or len(found) >= 4, 240)
        return found + _values(consumer)
    finally:
        consumer.close()


def _values(consumer: ck.Consumer) -> list[str]:
    return [(message.value() or b"").decode() for message in consumer.consume(100, 0.5) if message.error() is None]


# --- initial_offsets (KIP-995) ----------------------------------------------------------------------------------------


def test_a_source_begins_where_it_is_told_to(worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path) -> None:
    source = Source(worker, unique("initial"), tmp_path / "in", broker.bootstrap_servers)
    client, name = worker.client, source.name
    made = client.create(name, source.config, initial_offsets=source.at(8))
    assert (made["offsets_status"], made["tasks"]) == (ALTERED, [])
    source.wait_at(14)
    assert source.sent() == ["three"]
    client.delete(name)
    # Made anew it goes on where it was, and that is told; or it begins where it is told to, also once more.
    client.create(name, source.config, "STOPPED")
    told = f"Connector {name} continues from the offsets of an earlier connector of this name"
    wait_until(lambda: told in worker.log.read_text(errors="replace"), 120)
    client.delete(name)
    bad = [{"partition": {"filename": str(source.path)}, "offset": {"position": "8"}}]
    for offsets, status in ((bad, 500), ([{"partition": {"a": []}, "offset": None}], 400)):
        with pytest.raises(RestError) as refused:
            client.create(name, source.config, initial_offsets=offsets)
        assert refused.value.status == status
        assert name not in client.connectors()
    own = {**source.config, "offsets.storage.topic": source.offsets_topic}
    client.create(name, own, "PAUSED", initial_offsets=source.at(4))
    assert client.offsets(name) == source.at(4)
    client.resume(name)
    source.wait_at(14)
    assert source.sent() == ["three", "two", "three"]
    client.delete(name)


def test_a_sink_begins_where_it_is_told_to(worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path) -> None:
    client, name, topic, path = worker.client, unique("initial"), unique("topic"), tmp_path / "out"
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    producer = ck.Producer(servers)
    for line in (b"one", b"two", b"three"):
        producer.produce(topic, line, partition=0)
    assert producer.flush(120) == 0
    config = {"connector.class": "FileStreamSink", "file": str(path), "topics": topic}
    place = {"kafka_topic": topic, "kafka_partition": 0}
    with pytest.raises(RestError, match="there is no topic no-topic"):
        nowhere = [{"partition": {**place, "kafka_topic": "no-topic"}, "offset": {"kafka_offset": 1}}]
        client.create(name, config, initial_offsets=nowhere)
    assert (name in client.connectors(), committed(servers, f"connect-{name}")) == (False, [])
    client.create(name, config, initial_offsets=[{"partition": place, "offset": {"kafka_offset": 2}}])
    wait_until(lambda: client.offsets(name) == [{"partition": place, "offset": {"kafka_offset": 3}}], 240)
    assert path.read_text() == "three\n"
    client.delete(name)
