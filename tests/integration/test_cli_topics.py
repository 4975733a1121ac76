"""`kconnect topics …` on a real broker: what is committed, byte by byte, there and back, and what brokers refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.cli.topics import snapshot
from kconnect.core.state.records import Entry, Topic
from kconnect.internal_topics import reading
from kconnect.kafka.log import LeaderWriter, LogWriter
from kconnect.local.broker import Broker, free_port
from tests.cli.calls import call
from tests.support import wait_until

_LIMIT_S = 120


@pytest.fixture
def names(broker: Broker, unique: Callable[[str], str]) -> dict[Topic, str]:
    """Fresh topics of a cluster that never had a worker."""
    found = {role: unique(f"raw-{role.value}") for role in (Topic.CONFIG, Topic.OFFSET, Topic.STATUS)}
    create(
        broker,
        *(
            NewTopic(name, 1 if role is Topic.CONFIG else 3, 1, config={"cleanup.policy": "compact"})
            for role, name in found.items()
        ),
    )
    return found


def create(broker: Broker, *topics: NewTopic) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics(list(topics), request_timeout=60).values():
        try:
            future.result()
        except ck.KafkaException as error:
            if error.args[0].code() != ck.KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    wanted = {topic.topic for topic in topics}
    wait_until(lambda: wanted <= set(admin.list_topics(timeout=60).topics), _LIMIT_S, "the topics were not known")


def options(broker: Broker, names: dict[Topic, str]) -> list[str]:
    found = ["--bootstrap-server", broker.bootstrap_servers]
    for role, name in names.items():
        if role is Topic.SCHEMAS:
            continue  # It goes by the config topic's.
        found += [f"--{role.value}-topic", name]
    return found


def test_every_byte_comes_back(broker: Broker, names: dict[Topic, str], unique: Callable[[str], str], tmp_path: Path) -> None:
    client = {"bootstrap.servers": broker.bootstrap_servers}
    producer = ck.Producer(client)
    for number, value in enumerate((b"\xff\x00", b"", None, b'{"a":1}')):
        producer.produce(
            *(names[Topic.STATUS], value, b"k\xfe%d" % number, number % 3),
            timestamp=1_600_000_000_000 + number,
            headers=[("h", b"\x80"), ("h", None)],
        )
    producer.produce(names[Topic.CONFIG], b'{"properties":{}}', b"connector-x")
    producer.produce(names[Topic.STATUS], b'{"state":"RUNNING","worker_id":"w","generation":1}', b"status-connector-x", 0)
    schemas = f"{names[Topic.CONFIG]}-schemas"
    create(broker, NewTopic(schemas, 1, 1, config={"cleanup.policy": "compact"}))
    producer.produce(schemas, b'{"version":1,"shape":{"fields":[["a","text"]]}}', b'["snk","value","t",0]')
    assert producer.flush(_LIMIT_S) == 0
    names = {**names, Topic.SCHEMAS: schemas}
    file = tmp_path / "s.jsonl"
    exported = call("topics", "export", str(file), *options(broker, names))
    assert exported.status == 0, exported.err
    assert "7 records" in exported.err
    to: dict[Topic, str] = {role: unique(f"copy-{role.value}") for role in (Topic.CONFIG, Topic.OFFSET, Topic.STATUS)}
    # One of them is there already, and has another number of partitions.
    create(broker, NewTopic(to[Topic.STATUS], 4, 1, config={"cleanup.policy": "compact"}))
    targets = [f"--to-{role.value}-topic={name}" for role, name in to.items()]
    words = ("restore", str(file), "--bootstrap-server", broker.bootstrap_servers, *targets, "--group", unique("nobody"))
    done = call("topics", *words, "--create", "--yes")
    assert done.status == 0, done.err
    assert "each key to the partition where Java puts it" in done.err
    # Where workers with that config topic look for it.
    to[Topic.SCHEMAS] = f"{to[Topic.CONFIG]}-schemas"
    before, after = (reading.read(client, each) for each in (names, to))

    def told(contents: Any) -> list[Any]:
        return sorted((r.role.value, r.key, r.value or b"", r.value is None, r.headers) for r in contents.records)

    assert told(before) == told(after)
    times = {record.key: record.timestamp_ms for record in before.records}
    assert {record.key: record.timestamp_ms for record in after.records} == times
    for record in after.of(Topic.STATUS):
        assert record.partition == ck.murmur2(record.key or b"", 4)
    assert after.topics[Topic.OFFSET].partitions == 3
    assert after.topics[Topic.OFFSET].setting("cleanup.policy") == "compact"
    assert snapshot.read(file).topics.keys() == names.keys()


def test_only_what_is_committed_is_read_and_an_open_transaction_is_told(
    broker: Broker, names: dict[Topic, str], unique: Callable[[str], str], tmp_path: Path
) -> None:
    def read() -> list[str]:
        lines = call("topics", "dump", *options(broker, names), "-o", "json").out.splitlines()
        return [json.loads(line)["key"] for line in lines]

    client = {"bootstrap.servers": broker.bootstrap_servers}
    leader = LeaderWriter(client, names, unique("leader"))
    leader.fence(60)
    leader.write([Entry(Topic.CONFIG, b"connector-x", b'{"properties":{"connector.class":"A"}}')], 60)

    def told_open() -> bool:
        found = call("topics", "check", *options(broker, names), "-o", "json")
        assert found.out, found.err
        return "open-transaction" in found.out

    # Brokers write the marker of its end a moment after they have said that it is committed.
    wait_until(lambda: not told_open(), _LIMIT_S, "a transaction that has ended was told to be open")
    hidden = ck.Producer({**client, "transactional.id": unique("open"), "transaction.timeout.ms": 900_000})
    hidden.init_transactions(60)
    hidden.begin_transaction()
    hidden.produce(names[Topic.CONFIG], b'{"properties":{}}', b"connector-hidden")
    assert hidden.flush(60) == 0
    writer = LogWriter(client, names)
    writer.write([Entry(Topic.CONFIG, b"target-state-x", b'{"state":"PAUSED","state.v2":"PAUSED"}')], 60)
    try:
        found = call("topics", "check", *options(broker, names), "-o", "json")
        assert "open-transaction" in found.out
        assert read() == ["connector-x"]
        exported = call("topics", "export", str(tmp_path / "s"), *options(broker, names))
        assert "A transaction is open on" in exported.err
    finally:
        hidden.abort_transaction(60)
        writer.close()

    wait_until(lambda: read() == ["connector-x", "target-state-x"], _LIMIT_S, "what was behind the transaction was not read")


def test_what_can_not_be_read_or_written_is_said_in_words(
    broker: Broker, names: dict[Topic, str], unique: Callable[[str], str], tmp_path: Path
) -> None:
    plain = unique("orders")
    create(broker, NewTopic(plain, 2, 1))
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(plain, b"{}", b"order-1")
    assert producer.flush(_LIMIT_S) == 0
    at = ("--bootstrap-server", broker.bootstrap_servers)

    for _ in range(2):
        found = call("topics", "dump", *at, "--config-topic", unique("nothing"))
        assert found.status == 4, "asking must not have the broker create it"
        assert "not exist" in found.err

    found = call("topics", "check", *at, "--config-topic", plain)
    assert found.status == 6
    assert f"{plain} is not the config topic" in found.err

    one_gone = {**names, Topic.STATUS: unique("nothing")}
    found = call("topics", "check", *options(broker, one_gone), "-o", "json")
    assert found.status == 0
    assert [each["kind"] for each in json.loads(found.out)["findings"]] == ["topic-missing"]

    file = str(tmp_path / "s")
    LogWriter({"bootstrap.servers": broker.bootstrap_servers}, names).write(
        [Entry(Topic.CONFIG, b"connector-x", b'{"properties":{}}')], 60
    )
    assert call("topics", "export", file, *options(broker, names)).status == 0
    words = ("restore", file, *at, "--group", unique("nobody"), "--yes")
    found = call("topics", *words, "--create", "--to-config-topic", plain)
    assert (found.status, "holds records already" in found.err) == (5, True), found.err
    new = [f"--to-{role.value}-topic={unique('new')}-{role.value}" for role in names]
    found = call("topics", *words, "--create", *new, "--replication-factor", "3")
    assert (found.status, "give --replication-factor 1" in found.err) == (6, True), found.err
    two = unique("two")
    create(broker, NewTopic(two, 2, 1, config={"cleanup.policy": "compact"}))
    found = call("topics", *words, "--create", "--to-config-topic", two, *new[1:])
    assert (found.status, "a config topic must have one" in found.err) == (6, True), found.err
    kept = unique("kept")
    create(broker, NewTopic(kept, 1, 1, config={"cleanup.policy": "delete"}))
    found = call("topics", *words, "--create", "--to-config-topic", kept, *new[1:])
    assert (found.status, "with which workers don't start" in found.err) == (6, True), found.err
    create(broker, NewTopic(f"{unique('fresh')}-assignments", 1, 1))
    left = ck.Producer({"bootstrap.servers": broker.bootstrap_servers})
    left.produce(f"{unique('fresh')}-assignments", b"{}", b"leader")
    assert left.flush(_LIMIT_S) == 0
    found = call("topics", *words, "--create", "--to-config-topic", unique("fresh"), *new[1:])
    assert found.status == 5
    assert "stop all workers and delete it" in found.err


def test_one_topic_is_restored_beside_those_that_are_still_there(
    broker: Broker, names: dict[Topic, str], unique: Callable[[str], str], tmp_path: Path
) -> None:
    client = {"bootstrap.servers": broker.bootstrap_servers}
    LogWriter(client, names).write([Entry(Topic.CONFIG, b"connector-x", b'{"properties":{}}')], 60)
    LogWriter(client, names).write([Entry(Topic.OFFSET, b'["x",{"a":1}]', b'{"at":1}')], 60)
    file, new = str(tmp_path / "s"), unique("lost-configs")
    assert call("topics", "export", file, *options(broker, names)).status == 0
    words = ("restore", file, "--bootstrap-server", broker.bootstrap_servers, "--group", unique("nobody"), "--create", "--yes")
    refused = call("topics", *words, "--to-config-topic", new)
    assert (refused.status, "--topic names those to restore" in refused.err) == (5, True), refused.err
    done = call("topics", *words, "--to-config-topic", new, "--topic", "config")
    assert done.status == 0, done.err
    assert [record.key for record in reading.read(client, {Topic.CONFIG: new}).records] == [b"connector-x"]
    assert len(reading.read(client, {Topic.OFFSET: names[Topic.OFFSET]}).records) == 1, "the other topic was written to"
    none = call("topics", *words, "--to-config-topic", unique("other"), "--topic", "schemas")
    assert (none.status, "does not hold the topic of schemas" in none.err) == (4, True), none.err


def test_no_broker() -> None:
    found = call("topics", "check", "--bootstrap-server", f"127.0.0.1:{free_port()}", "--config-topic", "c")
    assert found.status == 3
    assert "No broker answered at bootstrap.servers=127.0.0.1" in found.err
