"""The consumer of a sink task, against a broker: commits that don't hold up reading, and a client that is replaced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import confluent_kafka as ck
import psutil
import pytest
from confluent_kafka.admin import AdminClient

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task.errors import Counts
from kconnect.kafka import identities
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.refusals import Access
from kconnect.local.broker import Broker

from .units import PROTOCOLS, create, numbers, until, write

pytestmark = pytest.mark.integration
both = pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
both_if_long = pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.long)])


class Listener:
    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self.on_assigned: Callable[[], None] = lambda: None
        self.on_revoked: Callable[[], None] = lambda: None

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        self.told.append(("assigned", partitions))
        self.on_assigned()
        return {}

    def revoked(self, partitions: list[TopicPartition]) -> None:
        self.told.append(("revoked", partitions))
        self.on_revoked()

    def lost(self, partitions: list[TopicPartition]) -> None:
        self.told.append(("lost", partitions))

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.told.append(("committed", dict(offsets)))

    def commit_failed(self) -> None:
        self.told.append(("commit failed", None))

    def commits_lost(self, commits: int) -> None:
        self.told.append(("commits lost", commits))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.told]


class Reading:
    def __init__(self, bootstrap: str, topic: str, patience_s: float, protocol: str = "classic", **client: Any) -> None:
        session = {"session.timeout.ms": 30000} if protocol == "classic" else {}
        client = {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-of-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            **PROTOCOLS[protocol],
            **session,
            **{name.replace("_", "."): value for name, value in client.items()},
        }
        self.protocol, self.counts = protocol, Counts()
        self.place = TopicPartition(topic, 0)
        self.listener = Listener()
        self.values: list[str] = []
        access = Access(client, self.counts, time.monotonic)
        self.consumer = TaskConsumer(client, {"topics": topic}, self.listener, patience_s, access=access)
        self.consumer.subscribe()

    def read(self) -> bool:
        """Always true, to be had in a condition."""
        self.values += [(message.value() or b"").decode() for message in self.consumer.read(100, 0.05)]
        return True

    def commit(self, offset: int) -> None:
        self.consumer.commit({self.place: OffsetAndMetadata(offset, "m")})


@both
def test_a_commit_is_answered_while_reading_goes_on(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(10))
    it = Reading(bootstrap, topic, 30, protocol)
    until(lambda: it.read() and it.values == numbers(10))
    it.commit(10)
    assert it.consumer.commits
    until(lambda: it.read() and not it.consumer.commits)
    assert it.listener.told[-1] == ("committed", {it.place: OffsetAndMetadata(10, "m")})
    it.consumer.close(60)


@both
def test_what_is_committed_last_counts_for_whoever_comes_next(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(10))
    first = Reading(bootstrap, topic, 30, protocol)
    first.listener.on_revoked = lambda: first.commit(8)
    until(lambda: first.read() and first.values == numbers(10))
    first.consumer.close(60)
    assert first.listener.names[-2:] == ["revoked", "committed"]
    second = Reading(bootstrap, topic, 30, protocol)
    until(lambda: second.read() and len(second.values) >= 2)
    assert second.values == numbers(10)[8:]
    second.consumer.close(60)


@both
def test_a_handover_within_the_group_repeats_nothing_and_waits_for_nobody(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic, 2)
    first = Reading(bootstrap, topic, 30, protocol)
    ends: dict[TopicPartition, int] = {}
    first.listener.on_revoked = lambda: first.consumer.commit({p: OffsetAndMetadata(end) for p, end in ends.items()})
    for partition in (0, 1):
        write(bootstrap, topic, numbers(10), partition)
        ends[TopicPartition(topic, partition)] = 10
    until(lambda: first.read() and len(first.values) == 20)
    second = Reading(bootstrap, topic, 30, protocol)
    until(lambda: first.read() and second.read() and bool(second.consumer.assignment))
    for partition in (0, 1):
        write(bootstrap, topic, ["new"], partition)
    until(lambda: first.read() and second.read() and (first.values + second.values).count("new") == 2)
    assert second.values == ["new"]
    first.consumer.close(60)
    second.consumer.close(60)


@both
def test_a_member_without_partitions_leaves_its_group_when_it_is_closed(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic)
    admin, group = AdminClient({"bootstrap.servers": bootstrap}), f"group-of-{topic}"

    def members() -> list[int] | None:
        """Return how many partitions each member of the group has; None while the group has no coordinator."""
        try:
            described = admin.describe_consumer_groups([group])[group].result(60)
        except ck.KafkaException:
            return None
        return sorted(len(member.assignment.topic_partitions) for member in described.members)

    readers = [Reading(bootstrap, topic, 240, protocol) for _ in range(2)]
    until(lambda: [reader.read() for reader in readers] and members() == [0, 1])
    for reader in readers:
        reader.consumer.close(60)
    # Half of the session after which the broker would forget it.
    until(lambda: members() == [], 120)


@both
def test_a_client_that_never_answers_is_replaced(
    bootstrap: str, topic: str, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(10))
    it = Reading(bootstrap, topic, 60, protocol)
    until(lambda: it.read() and it.values == numbers(10))
    # The control: as long as answers come, it stays a member, however often it commits.
    for offset in (3, 4, 5):
        it.commit(offset)
        until(lambda: it.read() and it.listener.names[-1] == "committed")
    assert it.listener.names == ["assigned", *["committed"] * 3]
    with monkeypatch.context() as patched:
        patched.setattr(it.consumer, "_answered", lambda error, partitions: None)
        it.commit(7)
        it.read()
        # A put() may take an hour, and answers are heard of within a read only.
        assert it.consumer._asked_at is not None
        it.consumer._asked_at -= 3600
        it.consumer._left_at -= 3600
        assert it.read() and it.read() and "lost" not in it.listener.names
        patched.setattr(it.consumer, "_patience_s", 1)
        until(lambda: it.read() and "lost" in it.listener.names)
    write(bootstrap, topic, ["new"])
    until(lambda: it.read() and it.values[-1] == "new")
    assert it.values == [*numbers(10), *numbers(10)[7:], "new"], "it goes on where it had committed"
    it.commit(11)
    until(lambda: it.read() and it.listener.names[-1] == "committed")
    assert it.listener.names == ["assigned", *["committed"] * 3, "lost", "commits lost", "assigned", "committed"]
    assert ("commits lost", 1) in it.listener.told
    it.consumer.close(60)


@both
def test_nobody_waits_for_a_client_that_owes_an_answer_when_it_is_closed(broker: Broker, topic: str, protocol: str) -> None:
    create(broker.bootstrap_servers, topic)
    write(broker.bootstrap_servers, topic, numbers(10))
    it = Reading(broker.bootstrap_servers, topic, 30, protocol)
    until(lambda: it.read() and it.values == numbers(10))
    process = psutil.Process(broker.pid)
    process.suspend()
    # Suspended for no longer than closing takes. Who waits for the broker waits for the timer.
    back = threading.Timer(8, process.resume)
    back.start()
    try:
        it.commit(10)
        it.consumer.close(0.2)
        assert not back.finished.is_set(), "it waited until the broker was back"
    finally:
        back.cancel()
        process.resume()
    until(lambda: AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=60).brokers)


@both
def test_a_commit_that_is_refused_is_told(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(1))
    it = Reading(bootstrap, topic, 30, protocol)
    until(lambda: it.read() and it.values == numbers(1))
    it.consumer.commit({it.place: OffsetAndMetadata(1, "m" * 10_000)})  # Longer than brokers take.
    until(lambda: it.read() and not it.consumer.commits)
    assert it.listener.names == ["assigned", "commit failed"]
    it.consumer.close(60)


@both_if_long
def test_lag_is_known_before_anything_is_read_and_falls_to_0(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic, 2)
    empty, full = TopicPartition(topic, 1), TopicPartition(topic, 0)
    write(bootstrap, topic, numbers(10))
    first = Reading(bootstrap, topic, 30, protocol)
    first.listener.on_revoked = lambda: first.commit(10)
    assert first.consumer.lags() == {}
    until(lambda: first.read() and first.values == numbers(10))
    until(lambda: first.read() and first.consumer.lags() == {full: 0, empty: 0})
    first.consumer.close(60)
    second = Reading(bootstrap, topic, 30, protocol)
    until(lambda: second.read() and second.consumer.lags() == {full: 0, empty: 0})
    assert second.values == [], "so it is the group's offset that tells"
    write(bootstrap, topic, numbers(5))
    until(lambda: second.consumer.lags() == {full: 5, empty: 0})
    until(lambda: second.read() and second.consumer.lags() == {full: 0, empty: 0})
    assert second.values == numbers(5)
    second.consumer.close(60)


@both
def test_a_wait_ends_with_the_next_record_and_when_somebody_calls(bootstrap: str, topic: str, protocol: str) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, ["first"])
    it = Reading(bootstrap, topic, 30, protocol)
    until(lambda: it.read() and it.values == ["first"])
    began = time.monotonic()
    writer = threading.Thread(target=write, args=(bootstrap, topic, ["second"]))
    writer.start()
    # What the group has to say ends a wait as well.
    until(lambda: [message.value() for message in it.consumer.read(100, 90)] == [b"second"])
    it.consumer.wake()
    assert it.consumer.read(100, 90) == []
    assert time.monotonic() - began < 80
    writer.join()
    it.consumer.close(60)


def test_a_topic_that_is_made_again_has_another_id(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 2)
    write(bootstrap, topic, numbers(3))
    it = Reading(bootstrap, topic, 30)
    until(lambda: it.read() and len(it.values) == 3)
    client = {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    ends = it.consumer.end_offsets([it.place, TopicPartition(topic, 1), TopicPartition(topic, 7)])
    assert sum(ends.values()) == 3
    assert set(ends) == {it.place, TopicPartition(topic, 1)}
    it.consumer.close(60)
    before = identities.topic_ids(client, [topic, "there-is-none"])
    assert set(before) == {topic}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(60)
    until(lambda: not identities.topic_ids(client, [topic]))
    create(bootstrap, topic)
    until(lambda: set(identities.topic_ids(client, [topic])) == {topic})
    assert identities.topic_ids(client, [topic]) != before


def test_records_with_very_many_headers_are_read_in_portions(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for number in range(1, 13):
        producer.produce(topic, str(number), headers=[("n", b"")] * (40_000 if number % 2 else 0))
    producer.flush()
    it = Reading(bootstrap, topic, 30)
    counts: list[int] = []

    def read() -> bool:
        messages = it.consumer.read(100, 0.05)
        it.values += [(message.value() or b"").decode() for message in messages]
        counts.append(sum(len(message.headers() or ()) for message in messages))
        return bool(it.values)

    until(read)
    # What was read and not handed over waits while its partition does, and to go back forgets it.
    it.consumer.pause([it.place])
    assert it.consumer.read(100, 0.05) == []
    it.consumer.resume([it.place])
    it.consumer.seek(it.place, 0)
    it.values.clear()
    until(lambda: read() and len(it.values) >= 12)
    assert it.values == numbers(12)
    assert max(counts) <= 100_000
    it.consumer.close(60)
