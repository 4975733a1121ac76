"""
Sinks that rest, against a broker: nothing is lost or repeated when a record ends that, whatever happened meanwhile. The rules
of it are tried in `tests/core/task/test_resting.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.core.state.records import TargetState
from kconnect.core.task.resting import RestingConsumer
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.resting import RestingClients
from kconnect.kafka.watch import Watchers
from kconnect.local.broker import Broker

from .test_consumer import Listener
from .units import PROTOCOLS, MemoryHost, Plugins, Shelf, committed, create, end, numbers, sink_of, until, write

pytestmark = pytest.mark.integration
both = pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
both_if_long = pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.long)])

DELAYED = {"group.initial.rebalance.delay.ms": "3000"}


@pytest.fixture(scope="module")
def slow_groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker with Kafka's default, by which whoever joins an empty group waits for others."""
    broker = Broker(tmp_path_factory.mktemp("slow"), properties=DELAYED).start()
    yield broker
    broker.stop()


@pytest.fixture
def watchers() -> Iterator[Watchers]:
    made = Watchers(look_s=0.5)
    yield made
    made.close()


class Sleeper:
    def __init__(
        self, bootstrap: str, topic: str, watchers: Watchers, protocol: str = "classic", round_s: float = 600, **client: Any
    ) -> None:
        self.topic, self.group, self.bootstrap = topic, f"group-of-{topic}", bootstrap
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": self.group,
            **PROTOCOLS[protocol],
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "fetch.wait.max.ms": 100,
            "topic.metadata.refresh.interval.ms": 500,
            **{name.replace("_", "."): value for name, value in client.items()},
        }
        self.listener = Listener()
        self.values: list[str] = []
        self.ends: dict[TopicPartition, int] = {}
        self.listener.on_revoked = self.commit

        def make(listener: Any) -> TaskConsumer:
            return TaskConsumer(settings, {"topics": topic}, listener)

        self.consumer = RestingConsumer(RestingClients(settings, make, watchers), self.listener, round_s, time.monotonic)
        self.consumer.subscribe()

    def read(self) -> bool:
        """Always true, to be had in a condition."""
        for message in self.consumer.read(100, 0.05):
            self.values.append((message.value() or b"").decode())
            self.ends[TopicPartition(self.topic, message.partition() or 0)] = (message.offset() or 0) + 1
        return True

    def until(self, count: int) -> None:
        until(lambda: self.read() and len(self.values) >= count)

    @property
    def owed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What was read and no commit of it is known to have succeeded: one that meets a rebalance is refused."""
        done = {place: end for name, ends in self.listener.told if name == "committed" for place, end in ends.items()}
        ends = {place: OffsetAndMetadata(end) for place, end in self.ends.items()}
        return {place: end for place, end in ends.items() if done.get(place) != end}

    def commit(self) -> None:
        if self.owed:
            self.consumer.commit(self.owed)

    def rest(self) -> None:
        """Commits, as often as it takes, and rests as soon as it may."""
        until(lambda: self.read() and not self.consumer.commits and bool(self.consumer.assignment))
        while self.owed:
            self.commit()
            until(lambda: self.read() and not self.consumer.commits)
        until(lambda: self.read() and self.consumer.rest())
        assert self.consumer.resting
        assert not self.consumer.assignment

    def members(self) -> int:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})  # One that nobody holds is gone before it has an answer.
        return len(admin.describe_consumer_groups([self.group])[self.group].result(60).members)


@both_if_long
def test_one_that_rests_has_left_its_group_and_reads_on_where_it_was(
    bootstrap: str, topic: str, watchers: Watchers, protocol: str
) -> None:
    create(bootstrap, topic, 2)
    write(bootstrap, topic, numbers(3))
    it = Sleeper(bootstrap, topic, watchers, protocol)
    it.until(3)
    for number in range(4, 7):
        it.commit()
        until(lambda: it.read() and set(it.consumer.lags().values()) == {0})
        it.rest()
        until(lambda: it.members() == 0)
        assert set(it.consumer.lags().values()) == {0}
        assert it.consumer.read(100, 0.05) == []
        # Into each partition: also the one that had no record, and of which the group has no offset.
        write(bootstrap, topic, [str(number)], number % 2)
        it.until(number)
        assert not it.consumer.resting
    it.rest()
    assert it.values == numbers(6)
    assert committed(bootstrap, it.group, topic) == {0: 5, 1: 1}
    it.consumer.close(60)


@both_if_long
def test_another_thread_is_told_where_partitions_end_while_the_task_waits_for_it_in_open(
    bootstrap: str, topic: str, watchers: Watchers, protocol: str
) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(3))
    it = Sleeper(bootstrap, topic, watchers, protocol)
    told: list[dict[TopicPartition, int]] = []

    def ask() -> None:
        thread = threading.Thread(target=lambda: told.append(it.consumer.end_offsets([TopicPartition(topic, 0)])))
        thread.start()
        thread.join(60)

    it.listener.on_assigned = ask
    it.until(3)
    assert told[:1] == [{TopicPartition(topic, 0): 3}]
    it.consumer.close(60)


def test_records_need_not_wait_for_the_group_and_are_committed_by_a_member(
    slow_groups: Broker, topic: str, watchers: Watchers
) -> None:
    bootstrap = slow_groups.bootstrap_servers
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(3))
    it = Sleeper(bootstrap, topic, watchers)
    it.until(3)
    it.rest()
    write(bootstrap, topic, ["4"])
    it.until(4)
    assert it.consumer.commits, "the group has been joined already: this test's broker does not wait"
    write(bootstrap, topic, ["5"])
    it.until(5)
    until(lambda: it.read() and not it.consumer.commits)
    assert it.listener.names.count("assigned") == 2
    # The group has committed nothing of that yet; what the task has had is not behind it any more.
    until(lambda: it.read() and it.consumer.lags() == {TopicPartition(topic, 0): 0})
    write(bootstrap, topic, ["6"])
    it.until(6)
    it.commit()
    until(lambda: it.read() and not it.consumer.commits)
    assert committed(bootstrap, it.group, topic) == {0: 6}
    assert it.values == numbers(6)
    # What the task pauses before that remains so; what it resumes is read.
    place = TopicPartition(topic, 0)
    it.rest()
    write(bootstrap, topic, ["7"])
    it.until(7)
    assert it.consumer.commits
    it.consumer.pause([place])
    write(bootstrap, topic, ["8"])
    until(lambda: it.read() and not it.consumer.commits)
    assert it.consumer.read(100, 0.5) == []
    assert it.values == numbers(7)
    it.consumer.resume([place])
    it.until(8)
    # One that ends before it has joined still commits what it read.
    it.rest()
    write(bootstrap, topic, ["9"])
    it.until(9)
    assert it.consumer.commits
    it.consumer.close(60)
    assert committed(bootstrap, it.group, topic) == {0: 9}
    assert "lost" not in it.listener.names


@both
def test_an_offset_that_was_set_meanwhile_counts(bootstrap: str, topic: str, watchers: Watchers, protocol: str) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(5))
    it = Sleeper(bootstrap, topic, watchers, protocol)
    it.until(5)
    it.rest()
    other = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": it.group})
    other.commit(offsets=[ck.TopicPartition(topic, 0, 3)], asynchronous=False)
    other.close()
    write(bootstrap, topic, ["6"])
    it.until(8)
    assert it.values == [*numbers(5), "4", "5", "6"]
    it.consumer.close(60)


@both_if_long
def test_it_joins_its_group_now_and_then(bootstrap: str, topic: str, watchers: Watchers, protocol: str) -> None:
    """Brokers forget the offsets of groups that stay empty, and what somebody has set is to be noticed without a record."""
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(5))
    it = Sleeper(bootstrap, topic, watchers, protocol, round_s=0.5)
    it.until(5)
    it.rest()
    until(lambda: it.read() and it.members() == 1)
    it.rest()
    assert it.values == numbers(5)
    other = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": it.group})
    other.commit(offsets=[ck.TopicPartition(topic, 0, 3)], asynchronous=False)
    other.close()
    it.until(7)
    assert it.values == [*numbers(5), "4", "5"]
    it.consumer.close(60)


@both
def test_where_the_group_has_no_offset_it_goes_on_where_it_stood(
    bootstrap: str, topic: str, watchers: Watchers, protocol: str
) -> None:
    """With `latest`, whoever joins anew would leave out what came while nobody read."""
    create(bootstrap, topic)
    it = Sleeper(bootstrap, topic, watchers, protocol, auto_offset_reset="latest")
    it.rest()
    write(bootstrap, topic, numbers(3))
    it.until(3)
    assert it.values == numbers(3)
    it.consumer.close(60)


@both_if_long
def test_a_new_partition_ends_it(bootstrap: str, topic: str, watchers: Watchers, protocol: str) -> None:
    create(bootstrap, topic)
    it = Sleeper(bootstrap, topic, watchers, protocol)
    it.rest()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(60)
    until(lambda: it.read() and len(it.consumer.assignment) == 2)
    write(bootstrap, topic, ["1"], 1)
    it.until(1)
    it.rest()
    it.consumer.close(60)


@both_if_long
def test_one_whose_topic_is_not_there_rests_until_it_is_made(
    bootstrap: str, topic: str, watchers: Watchers, protocol: str
) -> None:
    it = Sleeper(bootstrap, topic, watchers, protocol)
    until(lambda: it.read() and it.consumer.rest())
    assert it.read() and it.consumer.resting
    create(bootstrap, topic, 2)
    write(bootstrap, topic, numbers(3), 1)
    it.until(3)
    assert it.values == numbers(3)
    it.rest()
    it.consumer.close(60)


@both_if_long
def test_a_topic_that_is_made_anew_is_read_from_its_beginning(
    bootstrap: str, topic: str, watchers: Watchers, protocol: str
) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(3))
    it = Sleeper(bootstrap, topic, watchers, protocol)
    it.until(3)
    it.rest()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(60)
    until(lambda: topic not in admin.list_topics(timeout=60).topics)
    create(bootstrap, topic)
    write(bootstrap, topic, ["new"])
    it.until(4)
    assert it.values == [*numbers(3), "new"]
    it.consumer.close(60)


@both_if_long
def test_who_shares_a_group_or_owes_a_commit_does_not_rest(
    bootstrap: str, topic: str, watchers: Watchers, protocol: str
) -> None:
    create(bootstrap, topic, 2)
    write(bootstrap, topic, numbers(2))
    first, second = Sleeper(bootstrap, topic, watchers, protocol), Sleeper(bootstrap, topic, watchers, protocol)
    until(lambda: first.read() and second.read() and len(first.consumer.assignment) == len(second.consumer.assignment) == 1)
    assert not first.consumer.rest()
    assert not second.consumer.rest()
    second.consumer.close(60)
    until(lambda: first.read() and len(first.consumer.assignment) == 2)
    write(bootstrap, topic, ["new"])
    until(lambda: first.read() and "new" in first.values)
    first.commit()
    assert not first.consumer.rest()
    first.consumer.pause([TopicPartition(topic, 0)])
    until(lambda: first.read() and not first.consumer.commits)
    assert not first.consumer.rest()
    first.consumer.resume([TopicPartition(topic, 0)])
    first.rest()
    first.consumer.close(60)


@both_if_long
def test_where_the_task_wants_to_read_counts_though_nothing_was_read_there(
    bootstrap: str, topic: str, watchers: Watchers, protocol: str
) -> None:
    """Paused at once, it rests before the first record from there; what it joins for now and then must not forget that."""
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(5))
    it = Sleeper(bootstrap, topic, watchers, protocol, round_s=0.5)
    it.until(5)
    it.commit()
    until(lambda: it.read() and not it.consumer.commits)
    it.consumer.hold()
    it.consumer.seek(TopicPartition(topic, 0), 3)
    for _ in range(2):
        it.rest()
        until(lambda: it.read() and not it.consumer.resting and bool(it.consumer.assignment))
    it.rest()
    it.consumer.release()
    it.until(7)
    assert it.values == [*numbers(5), "4", "5"]
    # Forward, too.
    it.commit()
    until(lambda: it.read() and not it.consumer.commits)
    write(bootstrap, topic, ["6", "7"])
    it.until(9)
    it.consumer.hold()
    it.commit()
    until(lambda: it.read() and not it.consumer.commits)
    write(bootstrap, topic, ["8", "9"])
    it.consumer.seek(TopicPartition(topic, 0), 8)
    it.rest()
    it.consumer.release()
    it.until(10)
    assert it.values[7:] == ["6", "7", "9"]
    it.consumer.close(60)


def test_a_partition_that_comes_while_it_joins_repeats_nothing(slow_groups: Broker, topic: str, watchers: Watchers) -> None:
    bootstrap = slow_groups.bootstrap_servers
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(2))
    it = Sleeper(bootstrap, topic, watchers)
    it.until(2)
    it.rest()
    write(bootstrap, topic, ["3"])
    it.until(3)
    assert it.consumer.commits
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(60)
    until(lambda: it.read() and len(it.consumer.assignment) == 2)
    write(bootstrap, topic, ["4"], 1)
    write(bootstrap, topic, ["5"], 0)
    it.until(5)
    assert sorted(it.values) == numbers(5)
    assert "lost" not in it.listener.names
    it.consumer.close(60)


def test_a_watch_that_comes_late_is_told_of_what_another_was_told(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    place = TopicPartition(topic, 0)
    called: list[str] = []
    watchers = Watchers(look_s=0.1)
    client = {"bootstrap.servers": bootstrap, "group.id": topic, "fetch.wait.max.ms": 100}

    def tell_first() -> None:
        # From within the watcher's thread: it has read the record, and still has the partition.
        called.append("first")
        watchers.watch(client, {place: 0}, [topic], lambda: called.append("second"))

    watchers.watch(client, {place: 0}, [topic], tell_first)
    write(bootstrap, topic, ["1"])
    until(lambda: called == ["first", "second"])
    # With nothing to watch it ends after some looks, and another begins when it is needed.
    until(lambda: not any(thread.name == "watcher" for thread in threading.enumerate()))
    watchers.watch(client, {place: 1}, [topic], lambda: called.append("third"))
    write(bootstrap, topic, ["2"])
    until(lambda: called[2:] == ["third"])
    watchers.close()


def test_a_watcher_without_a_client_leaves_nobody_waiting() -> None:
    called: list[str] = []
    watchers = Watchers(look_s=0.1)
    bad = {"group.id": "g", "no.such.setting": "1"}
    watchers.watch(bad, {TopicPartition("t", 0): 0}, ["t"], lambda: called.append("called"))
    until(lambda: called == ["called"])
    watchers.close()


@both
@pytest.mark.long
def test_brokers_may_go_away_meanwhile(tmp_path: Path, topic: str, watchers: Watchers, protocol: str) -> None:
    broker = Broker(tmp_path).start()
    try:
        create(broker.bootstrap_servers, topic)
        write(broker.bootstrap_servers, topic, numbers(2))
        it = Sleeper(broker.bootstrap_servers, topic, watchers, protocol)
        it.until(2)
        it.rest()
        broker.kill()
        until(lambda: not broker.running())
        assert it.consumer.read(100, 1) == []
        broker.start()
        write(broker.bootstrap_servers, topic, ["3"])
        it.until(3)
        assert it.values == numbers(3)
        it.consumer.close(60)
    finally:
        broker.stop()


def test_many_that_rest_have_one_client(bootstrap: str, topic: str, watchers: Watchers) -> None:
    create(bootstrap, topic)
    before = len(list(Path("/proc/self/task").iterdir()))
    sleepers = [Sleeper(bootstrap, topic, watchers, group_id=f"{topic}-{number}") for number in range(20)]
    for each in sleepers:
        each.rest()
    # The watcher's thread, and its client's: the clients that have been closed end theirs in the background.
    until(lambda: len(list(Path("/proc/self/task").iterdir())) - before < 10)
    write(bootstrap, topic, ["1"])
    for each in sleepers:
        each.until(1)
        each.consumer.close(60)
    assert [each.values for each in sleepers] == [["1"]] * 20


class Counting(Shelf):
    puts = 0

    def put(self, records: list[SinkRecord]) -> None:
        self.puts += 1
        super().put(records)


class TestTask:
    def unit(self, bootstrap: str, topic: str, **config: str) -> tuple[MemoryHost, Any, list[Counting]]:
        made: list[Counting] = []

        def make() -> Counting:
            made.append(Counting())
            return made[-1]

        host = MemoryHost(bootstrap, Plugins(Shelf=sink_of(make)), sink_rest_after_ms="300")
        unit = host.unit({"name": f"sink-{topic}", "connector.class": "Shelf", "topics": topic, **config})
        until(lambda: made and any(name == "open" for name, _ in made[0].calls))
        return host, unit, made

    def test_a_task_that_rests_may_want_to_read_elsewhere(self, bootstrap: str, topic: str) -> None:
        create(bootstrap, topic)
        write(bootstrap, topic, numbers(5))
        _, unit, [shelf] = self.unit(bootstrap, topic)
        until(lambda: shelf.values == numbers(5) and "close" in [name for name, _ in shelf.calls])
        shelf.context.offset(TopicPartition(topic, 0), 3)
        until(lambda: shelf.values == [*numbers(5), "4", "5"])
        assert end(unit) < 30

    def test_it_rests_and_is_woken_again_and_again(self, bootstrap: str, topic: str) -> None:
        create(bootstrap, topic)
        host, unit, [shelf] = self.unit(bootstrap, topic)

        def resting() -> bool:
            return shelf.calls[-1][0] == "close"

        for number in range(1, 4):
            until(resting)
            write(bootstrap, topic, [str(number)])
            until(lambda: len(shelf.values) == number)  # noqa: B023
        unit.set_target_state(TargetState.PAUSED)
        until(lambda: host.states[-1] == "PAUSED" and resting())
        write(bootstrap, topic, ["4"])
        unit.set_target_state(TargetState.STARTED)
        until(lambda: len(shelf.values) == 4)
        assert end(unit) < 30
        assert shelf.values == numbers(4)
        calls = [name for name, _ in shelf.calls]
        # Each record ended a rest; one that began before the pause is ended by the record, too, and begins again.
        assert calls.count("open") >= 5
        assert calls == ["start", *["open", "close"] * calls.count("open"), "stop"]
        assert committed(bootstrap, f"connect-sink-{topic}", topic) == {0: 4}

    @pytest.mark.parametrize(
        "config",
        [{"tasks.max": "2"}, {"consumer.override.group.instance.id": "i"}, {"consumer.override.group.id": "other"}],
        ids=lambda config: next(iter(config)),
    )
    def test_one_that_may_not_be_alone_stays(self, bootstrap: str, topic: str, config: Mapping[str, str]) -> None:
        create(bootstrap, topic)
        _, unit, [shelf] = self.unit(bootstrap, topic, **config)
        write(bootstrap, topic, ["1"])
        until(lambda: shelf.values == ["1"])
        looks = shelf.puts
        # Twice a second: far longer than it would take to rest.
        until(lambda: shelf.puts > looks + 4)
        assert "close" not in [name for name, _ in shelf.calls]
        end(unit)
