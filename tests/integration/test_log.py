"""The internal topics on a real broker: read to the end past transaction markers, partitioned like Java, fenced leaders."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.herder import events
from kconnect.core.herder.effects import FencedError
from kconnect.core.state.records import Entry, LogRecord, Topic
from kconnect.errors import BadRequestError, ConnectError
from kconnect.kafka import log
from kconnect.kafka.admin import Admin, InternalTopic
from kconnect.kafka.log import LeaderWriter, LogReader, LogWriter, reader_once_up
from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from kconnect.worker.topic_watch import TopicWatch
from tests.support import wait_until

PARTITIONS = 5


@pytest.fixture
def client(broker: Broker) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def topics(client: dict[str, str], unique: Callable[[str], str]) -> dict[Topic, str]:
    names = {Topic.CONFIG: unique("log-config"), Topic.STATUS: unique("log-status")}
    Admin(client).ensure(
        [
            InternalTopic(names[Topic.CONFIG], "config.storage.topic", "configs", 1, 1, single=True),
            InternalTopic(names[Topic.STATUS], "status.storage.topic", "statuses", PARTITIONS, 1),
        ]
    )
    return names


def read_all(reader: LogReader, count: int = 0) -> list[LogRecord]:
    """Up to the end, and at least so many: brokers end a transaction a moment after they have said that it is committed."""
    found: list[LogRecord] = []
    wait_until(
        lambda: (found.extend(reader.read(0.1)), reader.at_end and len(found) >= count)[1],
        240,
        f"{count} records and the log's end did not come",
    )
    return found


def test_a_log_that_ends_with_a_transaction_marker_is_read_to_its_end(client: dict[str, str], topics: dict[Topic, str]) -> None:
    leader = LeaderWriter(client, topics, topics[Topic.CONFIG])
    leader.fence(60)
    written = leader.write([Entry(Topic.CONFIG, b"a", b"1"), Entry(Topic.CONFIG, b"b", None)], 60)
    assert written == {(Topic.CONFIG, 0): 1}
    reader = LogReader(client, topics)
    records = read_all(reader, 2)
    assert [(record.key, record.value) for record in records] == [(b"a", b"1"), (b"b", None)]
    ends = wait_until(reader.ends, 60)
    assert ends[Topic.CONFIG, 0] == 3, "the marker should take an offset, or this test proves nothing"
    wait_until(lambda: (reader.read(0.1), reader.has_read(ends))[1], 60)
    assert reader.reached()[Topic.CONFIG, 0] == 3
    reader.close()


@pytest.mark.long
@pytest.mark.integration
def test_a_reader_may_wait_for_brokers_as_long_as_somebody_wants_it(tmp_path: Path) -> None:
    broker = Broker(tmp_path).start()
    try:
        topics, client = {Topic.CONFIG: "configs"}, {"bootstrap.servers": broker.bootstrap_servers}
        Admin(client).ensure([InternalTopic("configs", "config.storage.topic", "configs", 1, 1, single=True)])
        LogWriter(client, topics).write([Entry(Topic.CONFIG, b"a", b"1")], 60)
        broker.kill()
        wait_until(lambda: not broker.running())
        answers = [True, True, False]
        assert reader_once_up(client, topics, lambda: answers.pop(0)) is None
        assert answers == []

        def goes_on() -> bool:
            answers.append(True)
            if len(answers) == 2:
                broker.start()
            return True

        reader = reader_once_up(client, topics, goes_on)
        assert reader is not None
        assert [record.key for record in read_all(reader, 1)] == [b"a"]
        reader.close()
    finally:
        broker.stop()


@pytest.mark.long
@pytest.mark.integration
def test_reading_waits_for_nobody_who_asks_where_the_log_ends(tmp_path: Path) -> None:
    broker = Broker(tmp_path).start()
    try:
        topics, client = {Topic.CONFIG: "configs"}, {"bootstrap.servers": broker.bootstrap_servers}
        Admin(client).ensure([InternalTopic("configs", "config.storage.topic", "configs", 1, 1, single=True)])
        reader = LogReader(client, topics)
        read_all(reader)
        broker.kill()
        wait_until(lambda: not broker.running())
        asked, over = [0.0], threading.Event()

        def ask() -> None:
            while not over.wait(0.5):
                asked[0] = time.monotonic()
                with contextlib.suppress(ck.KafkaException):
                    reader.end_of((Topic.CONFIG, 0), 30)

        def read_while_it_is_asked() -> bool:
            asked_at = asked[0]
            reader.read(0.2)
            return asked[0] == asked_at and time.monotonic() - asked_at > 5

        thread = threading.Thread(target=ask)
        thread.start()
        wait_until(read_while_it_is_asked, 240)
        over.set()
        broker.start()
        thread.join(240)
        assert wait_until(lambda: reader.end_of((Topic.CONFIG, 0), 60) == 0, 240)
        reader.close()
        with pytest.raises(RuntimeError):
            reader.end_of((Topic.CONFIG, 0), 60)
    finally:
        broker.stop()


@pytest.mark.integration
@pytest.mark.long
def test_a_driver_whose_brokers_go_away_while_it_starts_waits_for_them(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker").start()
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers)
    try:
        worker.start()
        driver = wait_until(worker.driver)
        broker.kill()
        said = "This process waits until one does"
        wait_until(lambda: said in worker.log.read_text(), 240)
        broker.start()
        wait_until(worker.hosts, 240)
        assert worker.driver() == driver, "it went on, and was not started again"
    finally:
        worker.stop()
        broker.stop()


def test_a_fenced_leader_writes_nothing_more(client: dict[str, str], topics: dict[Topic, str]) -> None:
    first, second = (LeaderWriter(client, topics, topics[Topic.CONFIG]) for _ in range(2))
    first.fence(60)
    first.write([Entry(Topic.CONFIG, b"first", b"1")], 60)
    second.fence(60)
    for _ in range(2):
        with pytest.raises(FencedError):
            first.write([Entry(Topic.CONFIG, b"late", b"1")], 60)
    second.write([Entry(Topic.CONFIG, b"second", b"1")], 60)
    reader = LogReader(client, topics)
    assert [record.key for record in read_all(reader, 2)] == [b"first", b"second"]
    reader.close()


# A transaction that only the topic's limit fails does not say so: librdkafka tells of its purged records.
@pytest.mark.parametrize(("kind", "limit"), [(LogWriter, "the client"), (LogWriter, "the topic"), (LeaderWriter, "the client")])
def test_what_is_too_large_is_refused_and_nothing_of_it_written(
    broker: Broker, client: dict[str, str], unique: Callable[[str], str], kind: type, limit: str
) -> None:
    topics = {Topic.CONFIG: unique("log-small")}
    small = {} if limit == "the client" else {"max.message.bytes": "5000"}
    Admin(client).ensure(
        [InternalTopic(topics[Topic.CONFIG], "config.storage.topic", "configs", 1, 1, single=True, config=small)]
    )
    writer: LogWriter | LeaderWriter
    if kind is LeaderWriter:
        writer = LeaderWriter(client, topics, topics[Topic.CONFIG])
        writer.fence(60)
    else:
        writer = LogWriter(client, topics)
    large = b"x" * (2_000_000 if limit == "the client" else 10_000)
    with pytest.raises(BadRequestError, match=f"larger than the internal topic {topics[Topic.CONFIG]} accepts"):
        writer.write([Entry(Topic.CONFIG, b"large", large)], 60)
    writer.write([Entry(Topic.CONFIG, b"small", b"x")], 60)
    reader = LogReader(client, topics)
    assert [record.key for record in read_all(reader, 1)] == [b"small"]
    reader.close()


def test_keys_lie_where_java_clients_look_for_them(client: dict[str, str], topics: dict[Topic, str]) -> None:
    writer = LogWriter(client, topics)
    keys = [f"status-task-connector-{number}-0".encode() for number in range(50)]
    writer.write([Entry(Topic.STATUS, key, b"{}") for key in keys], 60)
    writer.close()
    reader = LogReader(client, topics)
    found = {record.key: record.partition for record in read_all(reader)}
    reader.close()
    assert found == {key: (murmur2(key) & 0x7FFFFFFF) % PARTITIONS for key in keys}
    assert len(set(found.values())) > 1


def murmur2(data: bytes) -> int:
    """MurmurHash2 with the seed of Kafka's Java clients, written from its published description."""
    mask, m, h = 0xFFFFFFFF, 0x5BD1E995, 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ (k >> 24)) * m & mask)
    tail = data[whole:]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return h ^ (h >> 15)


def test_topics_that_would_lose_records_are_refused(
    client: dict[str, str], topics: dict[Topic, str], broker: Broker, unique: Callable[[str], str]
) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    name = unique("deleting")
    admin = AdminClient({**client})
    admin.create_topics([NewTopic(name, 1, 1, config={"cleanup.policy": "delete"})])[name].result()
    with pytest.raises(ConnectError, match=r"required to have 'cleanup\.policy=compact'"):
        Admin(client).ensure([InternalTopic(name, "offset.storage.topic", "source connector offsets", 1, 1)])
    with pytest.raises(ConnectError, match="but found 5 partitions"):
        Admin(client).ensure(
            [InternalTopic(topics[Topic.STATUS], "config.storage.topic", "connector configurations", 1, 1, single=True)]
        )


def test_a_client_that_has_gone_deaf_is_replaced_and_nothing_is_missed(
    client: dict[str, str], topics: dict[Topic, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log, "_SILENT_S", 0.3)
    monkeypatch.setattr(log, "_PROBE_S", 30.0)
    writer, reader = LogWriter(client, topics), LogReader(client, topics)
    writer.write([Entry(Topic.STATUS, b"a", b"1"), Entry(Topic.CONFIG, b"b", b"1")], 60)
    assert len(read_all(reader, 2)) == 2
    # As librdkafka's sometimes does after an outage: it polls, and neither records nor errors come.
    deaf = reader._consumer
    deaf.pause(deaf.assignment())
    heard: list[LogRecord] = []
    looks: list[int] = []
    look = reader._look_after_client
    monkeypatch.setattr(reader, "_look_after_client", lambda: (looks.append(1), look())[1])
    # Silence alone is no reason to replace anything.
    wait_until(lambda: (heard.extend(reader.read(0.1)), looks)[1], 120)
    for _ in range(5):
        heard += reader.read(0.1)
    assert (reader._consumer, heard) == (deaf, [])
    writer.write([Entry(Topic.STATUS, key, b"2") for key in (b"a", b"c", b"d")], 60)
    wait_until(lambda: (heard.extend(reader.read(0.1)), len(heard) >= 3)[1], 120)
    assert sorted((record.key, record.value) for record in heard) == [(b"a", b"2"), (b"c", b"2"), (b"d", b"2")]
    assert reader._consumer is not deaf and "A new client now reads the internal topics" in caplog.text
    reader.close()


def remake(client: dict[str, str], name: str, **config: str) -> None:
    """
    Delete a topic, and make one of its name; deleting takes brokers a moment. Who watches the topic may be quicker, and make
    one of another kind: that is deleted, too.
    """
    admin = AdminClient({**client})
    admin.delete_topics([name])[name].result(60)
    tries = itertools.count(1)

    def create() -> bool:
        try:
            admin.create_topics([NewTopic(name, 1, 1, config={"cleanup.policy": "compact", **config})])[name].result(60)
        except ck.KafkaException as error:
            assert error.args[0].code() == ck.KafkaError.TOPIC_ALREADY_EXISTS
            if next(tries) % 20 == 0:
                admin.delete_topics([name])[name].result(60)
            return False
        return True

    wait_until(create, 240)


def test_a_topic_that_is_shorter_than_what_was_read_is_read_again_only_on_demand(
    client: dict[str, str], topics: dict[Topic, str]
) -> None:
    writer = LogWriter(client, topics)
    writer.write([Entry(Topic.CONFIG, b"%d" % number, b"old") for number in range(3)], 60)
    writer.write([Entry(Topic.STATUS, b"status", b"old")], 60)
    reader = LogReader(client, topics)
    assert len(read_all(reader, 4)) == 4
    remake(client, topics[Topic.CONFIG])
    writer.write([Entry(Topic.CONFIG, b"new", b"new")], 60)
    found: list[LogRecord] = []
    wait_until(lambda: (found.extend(reader.read(0.1)), reader.lost)[1], 60)
    assert reader.lost == {Topic.CONFIG}
    # Of the others all goes on.
    writer.write([Entry(Topic.STATUS, b"status", b"more")], 60)
    wait_until(lambda: (found.extend(reader.read(0.1)), found)[1], 60)
    assert [(record.topic, record.value) for record in found] == [(Topic.STATUS, b"more")]
    assert {role for role, _ in wait_until(reader.ends, 60)} == {Topic.STATUS}
    reader.begin_again(Topic.CONFIG)
    assert reader.lost == set()
    assert [(record.offset, record.key) for record in read_all(reader, 1)] == [(0, b"new")]
    writer.close()
    reader.close()


def test_topics_that_are_gone_or_others_are_found(
    client: dict[str, str], topics: dict[Topic, str], caplog: pytest.LogCaptureFixture
) -> None:
    wanted = {
        Topic.CONFIG: InternalTopic(topics[Topic.CONFIG], "config.storage.topic", "configs", 1, 1, single=True),
        Topic.STATUS: InternalTopic(topics[Topic.STATUS], "status.storage.topic", "statuses", PARTITIONS, 1),
    }
    admin = Admin(client)
    watch = TopicWatch(admin, wanted, look_s=0.1)
    before = dict(watch.ids)
    assert before.keys() == wanted.keys()
    reader, writer = LogReader(client, topics), LogWriter(client, topics)
    writer.write([Entry(Topic.CONFIG, b"old", b"old"), Entry(Topic.STATUS, b"old", b"old")], 60)
    read_all(reader, 2)
    watch.start()
    assert watch.remade(reader) == []
    # One that has more than was read of the one before looks the same to whoever reads on.
    remake(client, topics[Topic.CONFIG], **{"cleanup.policy": "delete"})
    writer.write([Entry(Topic.CONFIG, b"new", b"new")] * 3, 60)
    (told,) = wait_until(lambda: watch.remade(reader), 60)
    assert told == events.Remade(Topic.CONFIG, watch.ids[Topic.CONFIG])
    assert told.id not in (None, before[Topic.CONFIG])
    assert reader.lost == {Topic.CONFIG}, "nothing more of it is handed out"
    wait_until(lambda: "'cleanup.policy=delete'" in caplog.text, 60)
    assert f"Topic '{topics[Topic.CONFIG]}' supplied via the 'config.storage.topic' property" in caplog.text
    # A worker that begins to lead has them looked at once more.
    policies = caplog.text.count("cleanup.policy=delete")
    watch.look_at_policies()
    wait_until(lambda: caplog.text.count("cleanup.policy=delete") > policies, 60)
    # One that is gone is made anew as a worker makes it, and read.
    deleting = AdminClient({**client})
    deleting.delete_topics([topics[Topic.STATUS]])[topics[Topic.STATUS]].result(60)
    (told,) = wait_until(lambda: watch.remade(reader), 60)
    assert told == events.Remade(Topic.STATUS, watch.ids[Topic.STATUS])
    assert list(admin.uncompacted([wanted[Topic.STATUS]])) == []
    writer.write([Entry(Topic.STATUS, b"%d" % number, b"new") for number in range(20)], 60)
    found: list[LogRecord] = []
    # As a worker reads: who begins before a broker has let go of the topic's logs of before finds them lost, and begins again.
    wait_until(
        lambda: (watch.remade(reader), found.extend(reader.read(0.1)), len(found) >= 20)[-1],
        240,
        "20 records of the topic that was made anew did not come",
    )
    assert {record.value for record in found} == {b"new"}
    assert len({record.partition for record in found}) > 1
    watch.close()
    writer.close()
    reader.close()
