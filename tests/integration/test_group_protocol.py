"""
Sinks' members by `group.protocol=consumer` (KIP-848) against brokers: members that are out, that were killed, that brokers
refuse, and groups that change from one protocol to the other and back. What holds for both protocols alike is in
`test_consumer.py`, `test_resting.py` and `test_group_offsets.py`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.errors import ConnectError
from kconnect.jvm import jars
from kconnect.kafka import unreadable
from kconnect.local.broker import Broker, free_port
from tests.rig.systems.proxy import Link, Proxy, broker_behind

from .test_consumer import Reading
from .units import committed, create, numbers, until, write

pytestmark = pytest.mark.integration

BRISK = {"group.consumer.session.timeout.ms": "4000", "group.consumer.heartbeat.interval.ms": "500"}
MEMBER = """
import sys
from tests.integration.test_consumer import Reading
settings = dict(pair.split("=") for pair in sys.argv[3:])
reading = Reading(sys.argv[1], sys.argv[2], 30, "consumer", **settings)
while reading.read():
    print(*reading.values, flush=True)
"""
"""A member in a process of its own, which says again and again what it has read."""


@pytest.fixture(scope="module")
def brisk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that soon takes a member for dead."""
    broker = Broker(tmp_path_factory.mktemp("brisk"), properties=BRISK).start()
    yield broker.bootstrap_servers
    broker.stop()


class Member(Reading):
    """Commits what it has read before its partitions are revoked, as a sink does."""

    def __init__(self, bootstrap: str, topic: str, protocol: str = "consumer", **client: Any) -> None:
        self.ends: dict[TopicPartition, int] = {}
        super().__init__(bootstrap, topic, 30, protocol, **client)
        self.listener.on_revoked = self.commit_all

    def read(self) -> bool:
        """Always true, to be had in a condition."""
        for message in self.consumer.read(100, 0.02):
            self.values.append((message.value() or b"").decode())
            self.ends[TopicPartition(message.topic() or "", message.partition() or 0)] = (message.offset() or 0) + 1
        return True

    def commit_all(self) -> None:
        ends = {place: OffsetAndMetadata(end) for place, end in self.ends.items() if place in self.consumer.assignment}
        if ends:
            self.consumer.commit(ends)

    def close(self) -> None:
        self.consumer.close(60)


def type_of(bootstrap: str, topic: str) -> str:
    admin, group = AdminClient({"bootstrap.servers": bootstrap}), f"group-of-{topic}"
    return str(admin.describe_consumer_groups([group])[group].result(60).type.name)


def test_the_protocol_is_the_one_that_is_asked_for(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    for protocol in ("consumer", "classic"):
        it = Member(bootstrap, topic, protocol)
        until(lambda: it.read() and it.consumer.assignment)  # noqa: B023
        assert type_of(bootstrap, topic) == protocol.upper()
        it.close()


def test_a_topic_that_is_missing_is_created(bootstrap: str, topic: str) -> None:
    """As by the classic protocol: `allow.auto.create.topics`, which is Connect's default."""
    it = Member(bootstrap, topic, allow_auto_create_topics=True)
    until(lambda: it.read() and it.consumer.assignment)
    it.close()


def test_one_that_is_out_commits_nothing_and_joins_again(brisk: str, topic: str) -> None:
    """Its `put` took longer than `max.poll.interval.ms`, and another member has its partition by now."""
    create(brisk, topic)
    write(brisk, topic, numbers(10))
    slow = Member(brisk, topic, max_poll_interval_ms=1000)
    until(lambda: slow.read() and slow.values == numbers(10))
    other = Member(brisk, topic)
    until(lambda: other.read() and other.values == numbers(10))
    write(brisk, topic, ["11"])
    until(lambda: other.read() and other.values == numbers(11))
    other.commit_all()
    until(lambda: other.read() and not other.consumer.commits)
    # It does not know yet.
    slow.commit(4)
    until(lambda: other.read() and slow.read() and "lost" in slow.listener.names)
    assert committed(brisk, f"group-of-{topic}", topic) == {0: 11}
    until(lambda: slow.read() and not slow.consumer.commits)
    assert "committed" not in slow.listener.names
    other.close()
    until(lambda: slow.read() and slow.consumer.assignment)
    write(brisk, topic, ["12"])
    until(lambda: slow.read() and slow.values[-1] == "12")
    assert slow.values == [*numbers(10), "12"]
    slow.close()


@pytest.mark.long
@pytest.mark.parametrize("instance", [{}, {"group.instance.id": "one"}], ids=["dynamic", "static"])
def test_one_that_was_killed_holds_its_successor_up_for_a_session(brisk: str, topic: str, instance: dict[str, str]) -> None:
    """Of two with one `group.instance.id` brokers refuse the later one, whose client can't go on then."""
    create(brisk, topic)
    write(brisk, topic, numbers(3))
    command = [sys.executable, "-c", MEMBER, brisk, topic, *(f"{name}={value}" for name, value in instance.items())]
    killed = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)
    try:
        assert killed.stdout is not None
        until(lambda: killed.stdout.readline().split() == numbers(3))  # type: ignore[union-attr]
    finally:
        killed.kill()
        killed.communicate()
    it = Member(brisk, topic, **instance)
    until(lambda: it.read() and it.values == numbers(3))
    if instance:
        assert it.listener.names == ["assigned"]
    assert it.counts.retrying is None
    it.close()


@pytest.mark.long
def test_an_answer_that_was_lost_with_an_assignment_leaves_no_partition_to_nobody(
    tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator took its time, and its answer had the partitions that the member is to give up."""
    monkeypatch.setattr(unreadable, "STATISTICS_MS", 4000)
    proxy = Proxy(free_port())
    broker = broker_behind([proxy], tmp_path)
    proxy.start()
    broker.start()
    try:
        create(broker.bootstrap_servers, topic, 2)
        first = Member(f"127.0.0.1:{proxy.port}", topic)
        until(lambda: first.read() and len(first.consumer.assignment) == 2)
        for partition in (0, 1):
            write(broker.bootstrap_servers, topic, [f"{partition}-{number}" for number in range(5)], partition)
        until(lambda: first.read() and len(first.values) == 10)
        proxy.set(Link.LATE)
        second = Member(broker.bootstrap_servers, topic)
        late_until = time.monotonic() + 6
        until(lambda: first.read() and second.read() and time.monotonic() > late_until)
        proxy.set(Link.OPEN)
        until(lambda: first.read() and second.read() and len(second.consumer.assignment) == 1, 60)
        until(lambda: first.read() and second.read() and len(first.consumer.assignment) == 1)
        for partition in (0, 1):
            write(broker.bootstrap_servers, topic, [f"{partition}-new"], partition)
        until(lambda: first.read() and second.read() and len(first.values + second.values) == 12)
        assert len(set(first.values + second.values)) == 12
        for member in (first, second):
            member.close()
    finally:
        broker.stop()
        proxy.close()


def test_a_running_group_changes_to_the_newer_protocol_and_back(bootstrap: str, topic: str) -> None:
    """One member after the other, as workers are restarted with another file: nothing is lost, and nothing comes twice."""
    create(bootstrap, topic, 2)
    # By the sticky strategy, members have notes that brokers would lose: see the next test.
    brief = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 200, "partition_assignment_strategy": "range"}
    both = [Member(bootstrap, topic, "classic", **brief) for _ in range(2)]
    values: list[str] = []
    sent = 0

    def halves() -> bool:
        return all(member.read() for member in both) and all(len(member.consumer.assignment) == 1 for member in both)

    def moves_some() -> None:
        nonlocal sent
        for partition in (0, 1):
            write(bootstrap, topic, [f"{partition}-{number}" for number in range(sent, sent + 5)], partition)
        sent += 5
        until(lambda: halves() and len(values) + sum(len(member.values) for member in both) >= 2 * sent)

    until(halves)
    moves_some()
    for protocol in ("consumer", "consumer", "classic", "classic"):
        old = both.pop(0)
        old.close()
        values += old.values
        both.append(Member(bootstrap, topic, protocol, **(brief if protocol == "classic" else {})))
        until(halves)
        moves_some()
        new = any(member.protocol == "consumer" for member in both)
        assert type_of(bootstrap, topic) == ("CONSUMER" if new else "CLASSIC")
    for member in both:
        member.close()
        values += member.values
    assert sorted(values) == sorted(f"{partition}-{number}" for partition in (0, 1) for number in range(sent))
    assert committed(bootstrap, f"group-of-{topic}", topic) == {0: sent, 1: sent}


def test_members_that_assign_by_the_sticky_strategy_end_before_others_join(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 2)
    brief = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 200}
    first, old = (Member(bootstrap, topic, "classic", **brief) for _ in range(2))
    until(lambda: first.read() and old.read() and len(first.consumer.assignment) == len(old.consumer.assignment) == 1)
    first.close()
    # What it had goes to the other one, which then has something to note.
    until(lambda: old.read() and len(old.consumer.assignment) == 2)
    new = Member(bootstrap, topic)
    until(lambda: new.read() and old.read() and new.counts.retrying)
    assert len(old.consumer.assignment) == 2
    old.close()
    until(lambda: new.read() and len(new.consumer.assignment) == 2)
    new.close()
    assert type_of(bootstrap, topic) == "CONSUMER"


def failure(it: Member, *others: Member) -> str:
    with pytest.raises(ConnectError) as raised:
        until(lambda: not all(other.read() for other in others) or not it.read())
    it.consumer.close(0)
    return str(raised.value)


@pytest.mark.long
def test_what_brokers_refuse_is_said_with_a_remedy(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    said = failure(Member(bootstrap, topic, group_remote_assignor="nonsense"))
    assert (
        "Broker: The assignor or its version range is not supported by the consumer group. Set consumer.override.group." in said
    )
    assert "Fatal" not in said


@pytest.mark.long
@pytest.mark.parametrize("properties", [None, {"group.coordinator.rebalance.protocols": "classic"}], ids=["3.9", "4.3"])
def test_brokers_that_do_not_have_the_protocol(tmp_path: Path, topic: str, properties: dict[str, str] | None) -> None:
    """Before 4.0 the client never says so. Back with the classic protocol, the same group goes on."""
    broker = Broker(tmp_path, properties=properties, version=jars.KAFKA_VERSION if properties else "3.9.1").start()
    try:
        bootstrap = broker.bootstrap_servers
        create(bootstrap, topic)
        write(bootstrap, topic, numbers(3))
        said = failure(Member(bootstrap, topic))
        assert "the brokers do not take group.protocol=consumer. Have brokers from 4.0 on" in said
        assert "set consumer.override.group.protocol=classic" in said
        it = Member(bootstrap, topic, "classic")
        until(lambda: it.read() and it.values == numbers(3))
        it.close()
    finally:
        broker.stop()


@pytest.mark.long
def test_a_group_that_may_not_change_waits_for_its_members_to_end(tmp_path: Path, topic: str) -> None:
    broker = Broker(tmp_path, properties={**BRISK, "group.consumer.migration.policy": "disabled"}).start()
    bootstrap = broker.bootstrap_servers
    try:
        create(bootstrap, topic)
        write(bootstrap, topic, numbers(3))
        old = Member(bootstrap, topic, "classic")
        until(lambda: old.read() and old.values == numbers(3))
        new = Member(bootstrap, topic)
        until(lambda: old.read() and new.read() and new.counts.retrying is not None)
        old.close()
        write(bootstrap, topic, ["4"])
        until(lambda: new.read() and new.values == ["4"])
        said = failure(Member(bootstrap, topic, "classic"), new)
        assert "Set consumer.override.group.protocol and consumer.override.partition.assignment.strategy as the group" in said
        new.close()
    finally:
        broker.stop()
