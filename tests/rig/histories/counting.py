"""
Tasks for `histories.py` that count upwards: a real pump each (`core/task`), over a Kafka that lies as the dice say.

A `SourceTask` delivers at least once and stores how far it came in the offset topic, an `ExactlyOnceTask` in transactions, a
`SinkTask` commits to a `SinkGroup`. All do a little at each `work`, and may be ended between any two things that they do. A
record that Kafka has, or that a sink has put, is a number that was emitted. Made by `history_actors.py`.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kconnect.api.record import OffsetAndMetadata, SourceRecord, TopicPartition
from kconnect.core.state import records
from kconnect.core.state.records import Entry, Topic, UnitId
from kconnect.core.task import delivery, sink_pump
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.converted import Converted
from kconnect.core.task.delivery import AtLeastOnce, Delivery, ExactlyOnce
from kconnect.core.task.errors import Counts, strict
from kconnect.core.task.meters import SinkMeter, SourceMeter
from kconnect.core.task.ports import Listener, NoTopics, OffsetRecord, Pairs
from kconnect.core.task.sink_pump import SinkPump
from kconnect.core.task.source_pump import SourcePump
from kconnect.core.task.topic_use import TopicUse
from kconnect.core.task.transactions import IntervalBoundary, PollBoundary
from kconnect.core.task.windows import Windows
from kconnect.errors import ConnectError, RetriableError
from kconnect.kafka.memory_clients import MemoryConsumer, MemoryProducer
from kconnect.testing.plugins.world import Always

if TYPE_CHECKING:
    from kconnect.core.cluster.phases import UnitSpec
    from tests.rig.histories.histories import History

DATA = "data"
_OFFSETS = "offsets"
_INTERVAL_S = 1.0


class _Life(Always):
    """What the task may still do: everything, until it is abandoned."""

    def __init__(self) -> None:
        self.abandoned = False
        self.stopping = False

    def may_work(self) -> bool:
        return not self.abandoned

    def cancelled(self) -> bool:
        return self.stopping


class SourceTask:
    def __init__(self, history: History, unit: UnitId, use: TopicUse) -> None:
        self._history, self._unit, self._use = history, unit, use
        self._life = _Life()
        self._sent = history.stored.get(unit, 0)
        self._now = 0.0
        """By the task's clock, which stands still while no offsets are to be stored."""
        self._producer = self._make_producer()
        ports = delivery.Ports(
            self._life,
            self,
            _Store(history, unit),
            NoTopics(),
            self._life,
            use,
            strict(),
            SourceMeter(Windows(), Counts(), lambda: 0.0, lambda: 0),
            True,
            0.0,
        )
        self._delivery = self._deliver(ports)
        self._pump = SourcePump(self._delivery, self._convert)
        self._delivery.begin(0.0)

    def _make_producer(self) -> _Kafka:
        return _Kafka(self._history, self._unit)

    def _deliver(self, ports: delivery.Ports) -> Delivery:
        return AtLeastOnce(ports, self._producer, _INTERVAL_S)

    @property
    def abandoned(self) -> bool:
        return self._life.abandoned

    @abandoned.setter
    def abandoned(self, abandoned: bool) -> None:
        self._life.abandoned = abandoned

    def work(self, choose: random.Random) -> None:
        self._producer.slow = choose.random() < 0.2
        if choose.random() < 0.3:
            self._now += _INTERVAL_S
        given = []
        if choose.random() < 0.7:
            for _ in range(1 + (choose.random() < 0.5)):
                self._sent += 1
                given.append(SourceRecord({"task": self._unit.task}, {"seqno": self._sent}, self._unit.connector))
        self._pump.step(given, self._now)

    def _convert(self, given: Sequence[SourceRecord]) -> Converted:
        number = [b"%d" % record.source_offset["seqno"] for record in given if record.source_offset is not None]
        messages: list[Outgoing] = [(self._unit.connector, value, None, -1, None, None, 0, None) for value in number]
        return Converted(messages, {self._unit.connector}, given, given, given)

    def store(self) -> None:
        """End in order, as far as Kafka lets it: it may take too long, or the last answer may go lost."""
        choose, self._life.stopping = self._history.random, True
        self._producer.slow = choose.random() < 0.1
        self._producer.answers = choose.random() < 0.9
        with contextlib.suppress(ConnectError):  # its last word is a failure, which changes nothing any more
            self._pump.end(False)

    def killed(self, choose: random.Random) -> None:
        """Its process ends, and some of what is on its way arrives all the same."""
        self._producer.acknowledge(choose.randrange(len(self._producer.waiting) + 1), tell=False)

    def silence(self, now: int) -> None:
        """A source task is in no group."""

    def leave(self) -> None:
        """It has nothing open."""

    # --- what the delivery tells the plugin ---

    def commit_record(self, record: Any, metadata: object) -> None:
        assert record.source_offset["seqno"] <= self._producer.newest, "a record is acknowledged that Kafka does not have"

    def commit(self) -> None:
        """Nothing depends on it."""


class ExactlyOnceTask(SourceTask):
    """Sends and stores in transactions (KIP-618), one for each batch or for some."""

    def __init__(self, history: History, spec: UnitSpec, epoch: int, use: TopicUse) -> None:
        self._spec, self._epoch = spec, epoch
        super().__init__(history, spec.unit, use)

    def _make_producer(self) -> _Kafka:
        return _Kafka(self._history, self._unit, lambda: self._history.producers.commit(self._spec, self._epoch))

    def _deliver(self, ports: delivery.Ports) -> Delivery:
        boundary = PollBoundary() if self._history.random.random() < 0.5 else IntervalBoundary(_INTERVAL_S, 0.0)
        return ExactlyOnce(ports, self._producer, boundary, _OFFSETS)

    def killed(self, choose: random.Random) -> None:
        """Nobody sees what is in an open transaction."""


class _Kafka(MemoryProducer):
    """Whatever everybody can read of it was emitted; a transaction's offsets are in the log at the same moment."""

    def __init__(self, history: History, unit: UnitId, may_commit: Callable[[], bool] | None = None) -> None:
        super().__init__()
        self._history, self._unit, self._may_commit = history, unit, may_commit
        self.newest = history.stored.get(unit, 0)

    def commit(self) -> bool:
        assert self._may_commit is not None
        if not self._may_commit():
            self.fenced = True
        return super().commit()

    def has(self, messages: Sequence[Outgoing]) -> None:
        offsets = [message for message in messages if message[0] == _OFFSETS]
        for message in messages:
            if message[0] != _OFFSETS:
                self.newest = int(message[1] or b"0")
                self._history.emit(self._unit, self.newest, self._history.stored.get(self._unit, 0))
        if offsets:
            self._history.log.append([Entry(Topic.OFFSET, message[2] or b"", message[1]) for message in offsets])
            self._history.stored[self._unit] = self.newest


class _Store(Always):
    """The offset topic, for one source task. Now and then it can't be written to."""

    def __init__(self, history: History, unit: UnitId) -> None:
        self._history, self._unit = history, unit

    def open(self, cancelled: Callable[[], bool]) -> None:
        """It is there."""

    def read(self, partitions: Sequence[Mapping[str, Any]], cancelled: Callable[[], bool]) -> list[dict[str, Any] | None]:
        raise NotImplementedError("a task knows where to go on")

    def write(self, offsets: Pairs, timeout: float) -> None:
        if self._history.random.random() < 0.1:
            raise ConnectError("the offset topic can't be written to")
        self._history.log.append(self._made(offsets))
        self._history.stored[self._unit] = max(offset["seqno"] for _, offset in offsets if offset is not None)

    def entries(self, offsets: Pairs, timeout: float) -> list[OffsetRecord]:
        return [OffsetRecord(_OFFSETS, entry.key, entry.value) for entry in self._made(offsets)]

    def _made(self, offsets: Pairs) -> list[Entry]:
        return [records.source_offset(records.offset_key(self._unit.connector, where), at) for where, at in offsets]

    def committed(self, offsets: Pairs) -> None:
        """There is no second store."""

    def close(self, abandon: bool = False) -> None:
        """Nothing is open."""


class _Message(NamedTuple):
    place: TopicPartition
    number: int

    def topic(self) -> str:
        return self.place.topic

    def partition(self) -> int:
        return self.place.partition

    def offset(self) -> int:
        return self.number


class SinkGroup:
    """
    Kafka's group of one sink connector, over two partitions without end. A partition goes to another member once its owner
    has given it up, or was not heard of for as long as a session.
    """

    def __init__(self, session_ms: int) -> None:
        self._session_ms = session_ms
        self.members: list[SinkTask] = []
        self.silent: dict[SinkTask, int] = {}
        self.owners: dict[TopicPartition, SinkTask] = {}
        self.stored = {TopicPartition(DATA, number): 0 for number in range(2)}

    def share(self, task: SinkTask) -> list[TopicPartition]:
        return [place for place in self.stored if self.members[place.partition % len(self.members)] is task]

    def time_passes(self, now: int) -> None:
        for task in [task for task, since in self.silent.items() if now - since >= self._session_ms]:
            self.leave(task)

    def leave(self, task: SinkTask) -> None:
        self.silent.pop(task, None)
        if task in self.members:
            self.members.remove(task)
        self.owners = {place: owner for place, owner in self.owners.items() if owner is not task}


class Untouched:
    """An `Intake` that hands on Kafka's messages as they are."""

    def __init__(self, use: TopicUse) -> None:
        self._use = use

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        self._use.read_from({message.topic() for message in messages})
        return list(messages)

    def place(self, record: Any) -> TopicPartition:
        return TopicPartition(record.topic(), record.partition())


class SinkTask:
    def __init__(self, history: History, unit: UnitId, use: TopicUse) -> None:
        self._history, self._unit = history, unit
        self.group = history.group_of(unit.connector)
        self._life = _Life()
        self._now = 0.0
        counts = Counts()
        meter = SinkMeter(Windows(), counts, lambda: 0.0)
        ports = sink_pump.Ports(self._life, self, self._life, meter, counts, _INTERVAL_S, 0.0)
        self._pump = SinkPump(ports, Untouched(use), self._make_consumer, {})

    def put_batch(self, batch: Any) -> None:
        raise AssertionError("an intake that gives lists gave a batch")

    def _make_consumer(self, listener: Listener) -> _Member:
        self._consumer = _Member(listener, self)
        return self._consumer

    @property
    def abandoned(self) -> bool:
        return self._life.abandoned

    @abandoned.setter
    def abandoned(self, abandoned: bool) -> None:
        self._life.abandoned = abandoned

    def work(self, choose: random.Random) -> None:
        group, consumer = self.group, self._consumer
        group.silent.pop(self, None)
        if self not in group.members:
            group.members.append(self)
        self._rebalance()
        if choose.random() < 0.7:
            consumer.answer()
        consumer.slow = choose.random() < 0.3
        if choose.random() < 0.3:
            self._now += _INTERVAL_S
        self._pump.ready(self._now)
        messages = []
        if consumer.positions and not consumer.held and choose.random() < 0.7:
            place = choose.choice(list(consumer.positions))
            for _ in range(1 + (choose.random() < 0.3)):
                messages.append(_Message(place, consumer.positions[place]))
                consumer.positions[place] += 1
        self._pump.step(messages, self._now)

    def _rebalance(self) -> None:
        """Give up what is another's by now, take what is free."""
        group, consumer = self.group, self._consumer
        share = group.share(self)
        for place in sorted(consumer.assignment):
            if group.owners.get(place) is not self:
                consumer.lose(place)
            elif place not in share:
                consumer.revoke(place)
                del group.owners[place]
        for place in share:
            if place not in group.owners:
                group.owners[place] = self
                consumer.assign(place)

    def store(self) -> None:
        """End in order."""
        self._consumer.revoke(*sorted(self._consumer.assignment))

    def killed(self, choose: random.Random) -> None:
        """Nothing of it is on its way."""

    def key(self, place: TopicPartition) -> UnitId:
        return UnitId(self._unit.connector, place.partition)

    def owns(self, places: Collection[TopicPartition]) -> bool:
        return all(self.group.owners.get(place) is self for place in places)

    def commits(self, place: TopicPartition, offset: int) -> None:
        self.group.stored[place] = offset
        self._history.store(self.key(place), offset)

    def silence(self, now: int) -> None:
        self.group.silent.setdefault(self, now)

    def leave(self) -> None:
        self.group.leave(self)

    # --- what the pump calls the plugin for ---

    def put(self, taken: list[Any]) -> None:
        if taken and self._history.random.random() < 0.1:
            raise RetriableError("not now")
        for message in taken:
            self._history.emit(self.key(message.place), message.number + 1, self.group.stored[message.place])

    def pre_commit(
        self, current_offsets: dict[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        dice = self._history.random.random()
        if dice < 0.05:
            raise ConnectError("it can't flush")
        return {} if dice < 0.1 else current_offsets

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """It needs nothing for a partition."""

    close = open


class _Member(MemoryConsumer):
    """Of a `SinkGroup`, which takes a commit only of who owns the partitions."""

    def __init__(self, listener: Listener, task: SinkTask) -> None:
        super().__init__(listener)
        self._task = task

    def stored(self, place: TopicPartition) -> int:
        return self._task.group.stored[place]

    def takes(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> bool:
        if not self._task.owns(offsets):
            return False
        for place, position in offsets.items():
            self._task.commits(place, position.offset)
        return True
