"""
A sink's consumer that rests, in a Kafka in memory: random histories, after which each record has come once, in order, from
where the task stood or from where somebody has set the group. Each rule is taken out once, and found.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import pytest

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task import resting
from kconnect.core.task.ports import Listener
from kconnect.core.task.resting import TURNS, RestingConsumer, Stand, Standing, Turn
from kconnect.errors import ConnectError

ROUND_S = 600.0


class Message(NamedTuple):
    place: TopicPartition
    offset: int


class Kafka:
    """
    One topic with one group, and what a resting consumer needs of them. `away`: nobody answers what the group has. `absent`:
    the topic is to be made.
    """

    may_rest = in_task_thread = True

    def __init__(self, from_end: bool = False, absent: bool = False) -> None:
        self.from_end = from_end
        self.ends: dict[TopicPartition, int] = {} if absent else {TopicPartition("t", 0): 0}
        self.group: dict[TopicPartition, int] = {}
        self.now = 0.0
        self.delay = 0
        """After how many reads a member has joined."""
        self.away = self.stutters = self.refuses = False
        self.members: list[Member] = []
        self.watched: Watch | None = None
        self.readers: list[Reader] = []
        self.order = self

    def clock(self) -> float:
        return self.now

    def write(self, place: TopicPartition) -> None:
        self.ends[place] += 1
        self.tell()

    def grow(self) -> None:
        self.ends[TopicPartition("t", len(self.ends))] = 0
        self.tell()

    def tell(self) -> None:
        watch = self.watched
        if watch is not None and (watch.starts.keys() != self.ends.keys() or watch.has_come(self.ends)):
            watch.call()

    # --- Clients ---

    def member(self, listener: Listener) -> Member:
        if self.refuses:
            raise ConnectError("no broker")
        self.members.append(Member(self, listener))
        return self.members[-1]

    def reader(self, left: Mapping[TopicPartition, Standing]) -> Reader:
        self.readers.append(Reader(self, left))
        return self.readers[-1]

    def watch(self, starts: Mapping[TopicPartition, int], topics: Collection[str], call: Callable[[], None]) -> Watch:
        assert self.watched is None
        assert topics == Member.topics
        self.watched = Watch(self, starts, call)
        self.tell()
        return self.watched

    def begin(self, places: object) -> None: ...

    def failure(self, messages: object, assigned: object) -> None: ...

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        return dict.fromkeys(topics, "1")

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.ends[place] for place in partitions}

    def wait(self, timeout: float) -> None:
        self.now += min(timeout, 1)

    def wake(self) -> None: ...

    def close(self) -> None: ...


class Watch:
    failure = None

    def __init__(self, kafka: Kafka, starts: Mapping[TopicPartition, int], call: Callable[[], None]) -> None:
        self._kafka, self.starts, self.call = kafka, starts, call

    def has_come(self, ends: Mapping[TopicPartition, int]) -> bool:
        return any(ends[place] > max(0, start) for place, start in self.starts.items())

    def end(self) -> None:
        self._kafka.watched = None


class Reads:
    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.at: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.held = self.closed = False

    def take(self, limit: int) -> list[Message]:
        assert not self.closed
        found: list[Message] = []
        for place in sorted(self.at.keys() - self.paused) if not self.held else ():
            while self.at[place] < self.kafka.ends[place] and len(found) < limit:
                found.append(Message(place, self.at[place]))
                self.at[place] += 1
        return found

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.at[partition] = offset

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        self.paused.update(partitions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        self.paused.difference_update(partitions)

    def hold(self) -> None:
        self.held = True

    def release(self) -> None:
        self.held = False


class Reader(Reads):
    def __init__(self, kafka: Kafka, left: Mapping[TopicPartition, Standing]) -> None:
        super().__init__(kafka)
        self.places = frozenset(left)
        self.at = {place: max(0, at.position) for place, at in left.items() if at.position is not None}

    def committed(self) -> dict[TopicPartition, int] | None:
        return None if self.kafka.away else dict(self.kafka.group)

    def begin(self, starts: Mapping[TopicPartition, int]) -> None:
        self.at.update(starts)

    def read(self, limit: int, timeout: float) -> list[Message] | None:
        return None if self.kafka.stutters else self.take(limit)

    def close(self) -> None:
        self.closed = True


class Member(Reads):
    topics = ("t",)

    def __init__(self, kafka: Kafka, listener: Listener) -> None:
        super().__init__(kafka)
        self._listener = listener
        self.assignment: set[TopicPartition] = set()
        self.from_end = kafka.from_end
        self._delay = kafka.delay
        self._known: set[TopicPartition] = set()
        """Where it has read, or was told to begin."""
        self._asked: list[Mapping[TopicPartition, OffsetAndMetadata]] = []

    def subscribe(self) -> None:
        assert not [each for each in self.kafka.members if each is not self and not each.closed], "two members"

    @property
    def commits(self) -> bool:
        return bool(self._asked)

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        assert self.assignment >= offsets.keys(), "only members commit"
        self._asked.append(offsets)

    def _answer(self) -> None:
        for offsets in self._asked:
            self.kafka.group.update((place, at.offset) for place, at in offsets.items())
            self._listener.committed(offsets)
        self._asked.clear()

    def read(self, limit: int, timeout: float) -> list[Message]:
        self._answer()
        self._delay -= 1
        if self._delay >= 0:
            return []
        new = sorted(self.kafka.ends.keys() - self.assignment)
        if new:
            self.assignment.update(new)
            starts = self._listener.assigned(new)
            self._known.update(starts)
            for place in new:
                beginning = self.kafka.ends[place] if self.from_end else 0
                self.at[place] = max(0, starts.get(place, self.kafka.group.get(place, beginning)))
        found = self.take(limit)
        self._known.update(message.place for message in found)
        return found

    def seek(self, partition: TopicPartition, offset: int) -> None:
        super().seek(partition, offset)
        self._known.add(partition)

    def standing(self) -> dict[TopicPartition, Standing] | None:
        if self._asked or self.paused or self.assignment != self.kafka.ends.keys():
            return None
        group = self.kafka.group
        known = {place: self.at[place] for place in self._known}
        unread = {place: group.get(place, None if self.kafka.ends[place] else 0) for place in self.assignment}
        return {place: Standing(known.get(place, unread[place]), group.get(place)) for place in self.assignment}

    def lags(self) -> dict[TopicPartition, int | None]:
        return {place: self.kafka.ends[place] - at for place, at in self.at.items()}

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {place: self.kafka.group[place] for place in partitions if place in self.kafka.group}

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return self.kafka.end_offsets(partitions)

    def wake(self) -> None: ...

    def close(self, limit: float) -> None:
        if self.assignment:
            self._listener.revoked(sorted(self.assignment))
            self._answer()
        self.closed = True


class Task:
    """A task that follows what it is given: `due` is the offset in each partition that must come next."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka, self.due = kafka, dict.fromkeys(kafka.ends, 0)
        self.owned: set[TopicPartition] = set()
        self._stood: dict[TopicPartition, int] = {}
        self._taken: dict[TopicPartition, int] = {}
        self.stands: Counter[Stand] = Counter()
        self.given: Counter[TopicPartition] = Counter()
        self.moved: set[TopicPartition] = set()
        """Where it went by itself, and has had nothing yet."""
        self.is_set = False
        """Whether somebody has set an offset while it rests, which it need not hear of before the round is over."""
        self.consumer = RestingConsumer(kafka, self, ROUND_S, kafka.clock)
        self.consumer.subscribe()

    @property
    def stand(self) -> Stand:
        return self.consumer._stand

    def read(self) -> None:
        for place, offset in self.consumer.read(3, 0.5):
            assert place in self.owned, f"{place} is not the task's"
            assert offset == self.due[place], f"{place}: {offset} came, {self.due[place]} was due"
            self.due[place] = self._taken[place] = offset + 1
            self.given[place] += 1
            self.moved.discard(place)
        self.is_set &= self.consumer.resting
        self.stands[self.stand] += 1

    def commit(self) -> None:
        taken, self._taken = self._taken, {}
        if taken:
            self.consumer.commit({place: OffsetAndMetadata(offset) for place, offset in taken.items()})

    def rest(self) -> bool:
        if self.stand is not Stand.MEMBER or self._taken or not self.consumer.rest():
            return False
        self._stood = dict(self.due)
        return True

    def sets(self, place: TopicPartition, offset: int) -> None:
        """Somebody sets the group's offset, while it is empty."""
        self.kafka.group[place] = self.due[place] = self._stood[place] = offset
        self.is_set = True
        self.moved.discard(place)

    def seek(self, place: TopicPartition, offset: int) -> None:
        self.consumer.seek(place, offset)
        self.due[place] = offset
        self._taken.pop(place, None)
        self.moved.add(place)

    # --- Listener ---

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        assert not self.owned.intersection(partitions)
        self.owned.update(partitions)
        for place in partitions:
            self.due.setdefault(place, self.kafka.group.get(place, self.kafka.ends[place] if self.kafka.from_end else 0))
        return {}

    def revoked(self, partitions: list[TopicPartition]) -> None:
        self.commit()
        self.owned.difference_update(partitions)

    def lost(self, partitions: list[TopicPartition]) -> None:
        self.owned.difference_update(partitions)
        self._taken.clear()
        self.due.update((place, self._stood[place]) for place in partitions)

    def committed(self, offsets: object) -> None: ...

    def commit_failed(self) -> None: ...

    def commits_lost(self, commits: int) -> None: ...


ACTIONS = ("write", "read", "rest", "set", "hold", "release", "seek", "grow", "delay", "away", "stutter", "refuse", "round")


def play(seed: int) -> Task:
    """A history of 80 actions; then all is read. AssertionError if something comes that is not due, or does not come."""
    draw = random.Random(seed)
    kafka = Kafka(from_end=seed % 4 == 3, absent=seed % 5 == 4)
    task = Task(kafka)
    task.read()
    for _ in range(80):
        place = draw.choice(sorted(kafka.ends) or [TopicPartition("t", 0)])
        known = place in task.due
        match draw.choice(ACTIONS):
            case "write" if place in kafka.ends:
                kafka.write(place)
            case "read":
                task.read()
            case "rest":
                kafka.refuses = False
                for _ in range(5):
                    task.read()
                if task.stand is Stand.MEMBER and not task.consumer.commits:
                    task.commit()
                    task.read()
                task.rest()
            case "set" if task.consumer.resting and known and kafka.group.get(place, -1) > 0:
                # Its offset may not be asked for then, and the task goes on where it stood.
                kafka.away = False
                task.sets(place, draw.randrange(kafka.group[place]))
            case "hold":
                task.consumer.hold()
            case "release":
                task.consumer.release()
            case "seek" if known and place in task.owned and not task.consumer.commits and place in task.consumer.assignment:
                task.seek(place, draw.randrange(kafka.ends[place] + 1))
            case "grow" if len(kafka.ends) < 3:
                kafka.grow()
            case "delay":
                kafka.delay = draw.randrange(6)
            case "away":
                kafka.away = not any(task._stood.get(each, 0) != task.due[each] for each in task.due) and draw.random() < 0.5
            case "stutter":
                kafka.stutters = draw.random() < 0.3
            case "refuse":
                kafka.refuses = draw.random() < 0.3
            case "round":
                kafka.now += ROUND_S
    kafka.away = kafka.stutters = kafka.refuses = False
    task.consumer.release()
    if task.is_set:
        kafka.now += ROUND_S
    for _ in range(30):
        task.read()
    assert task.due == kafka.ends, "something has not come"
    task.commit()
    task.read()
    if seed % 3:
        _end_at_rest(task, paused=seed % 2 == 0, written=seed % 3 == 2)
    task.consumer.close(10)
    assert task.stand is Stand.CLOSED
    assert not task.owned
    assert all(each.closed for each in (*kafka.members, *kafka.readers))
    assert kafka.watched is None
    for place, offset in task.due.items() - {(place, task.due[place]) for place in task.moved}:
        assert kafka.group.get(place, offset) == offset, f"{place}: not all is committed"
    return task


def _end_at_rest(task: Task, paused: bool, written: bool) -> None:
    """Rest, and then perhaps read ahead of a member that has not joined yet."""
    if paused:
        task.consumer.hold()
    task.kafka.delay = 4
    task.rest()
    if written and not paused and task.consumer.resting:
        task.kafka.write(min(task.due))
        task.read()


HISTORIES = 400


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Brokers refuse hundreds of times."""
    caplog.set_level(logging.ERROR, logger=resting.__name__)


def test_each_record_comes_once_and_in_order_whatever_happens() -> None:
    stands: Counter[Stand] = Counter()
    given = 0
    for seed in range(HISTORIES):
        task = play(seed)
        stands += task.stands
        given += task.given.total()
    assert given > HISTORIES * 5
    assert all(stands[stand] > HISTORIES / 4 for stand in set(Stand) - {Stand.CLOSED}), stands


def test_one_whose_topic_is_not_there_rests_until_it_is_made() -> None:
    kafka = Kafka(absent=True)
    task = Task(kafka)
    task.read()
    assert task.rest()
    task.read()
    assert task.stand is Stand.WATCHED
    kafka.grow()
    kafka.write(place := TopicPartition("t", 0))
    for _ in range(3):
        task.read()
    assert task.due == {place: 1}
    assert task.given[place] == 1


def fails() -> bool:
    for seed in range(HISTORIES):
        try:
            play(seed)
        except (AssertionError, KeyError):
            return True
    return False


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: f"{turn[0].name} {turn[1].name}")
def test_no_turn_can_be_left_out(turn: tuple[Stand, Turn], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting, "TURNS", {each: end for each, end in TURNS.items() if each != turn})
    assert fails()


def test_what_somebody_has_set_is_found_to_be_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RestingConsumer, "_still_left", lambda self, reader: True)
    assert fails()


def test_what_was_read_ahead_is_found_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assigned = RestingConsumer.assigned

    def from_the_groups(self: Any, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        assigned(self, partitions)
        return {}

    monkeypatch.setattr(RestingConsumer, "assigned", from_the_groups)
    assert fails()


def test_a_task_is_found_not_to_be_told_that_it_lost_what_it_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    give_up = RestingConsumer._give_up

    def in_silence(self: Any) -> None:
        listener, self._listener = self._listener, Silent()
        give_up(self)
        self._listener = listener

    class Silent:
        def lost(self, partitions: object) -> None: ...

    monkeypatch.setattr(RestingConsumer, "_give_up", in_silence)
    assert fails()


def test_a_call_is_found_not_to_be_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RestingConsumer, "_call", lambda self: None)
    assert fails()


def test_a_pause_is_found_to_be_forgotten_while_it_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    def release(self: Any) -> None:
        self._held = False

    monkeypatch.setattr(RestingConsumer, "release", release)
    assert fails()


def test_in_open_the_task_has_its_partitions_and_may_pause_them() -> None:
    kafka = Kafka()
    place = TopicPartition("t", 0)
    kafka.write(place)
    task = Task(kafka)
    task.read()
    task.commit()
    task.read()
    assert task.rest()
    seen: list[Any] = []

    def opened(partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        seen.append(set(task.consumer.assignment))
        task.owned.update(partitions)
        task.consumer.pause([place])
        return {}

    task.assigned = opened  # type: ignore[method-assign]
    kafka.delay = 3
    kafka.write(place)
    for _ in range(6):
        task.read()
    assert seen == [{place}]
    assert task.stand is Stand.MEMBER
    assert task.due == {place: 1}
    task.consumer.resume([place])
    task.read()
    assert task.due == {place: 2}
    assert task.consumer.lags() == {place: 0}


def test_while_it_rests_lags_are_those_of_before_until_it_is_called() -> None:
    kafka = Kafka()
    place = TopicPartition("t", 0)
    task = Task(kafka)
    task.read()
    assert task.rest()
    assert task.consumer.lags() == {place: 0}
    task.consumer.hold()
    kafka.write(place)
    assert task.consumer.lags() == {place: None}
    task.read()
    assert task.due == {place: 0}
    assert task.rest()
    assert task.stand is Stand.UNWATCHED
    kafka.write(place)
    task.read()
    assert task.stand is Stand.UNWATCHED
    task.consumer.release()
    task.read()
    assert task.due == {place: 2}
