"""
Tasks for `histories.py` that only count: what they have sent or put is one number, and what of it is stored another.

A `SourceTask` stores how far it came in the offset topic, a `SinkTask` in a `SinkGroup`, by way of the product's own
`core/task/sink_offsets.py`. Both do a little at each `work`, and may be ended between any two things that they do.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from kconnect.api.record import TopicPartition
from kconnect.core.state import records
from kconnect.core.state.records import UnitId
from kconnect.core.task.sink_offsets import SinkOffsets
from kconnect.errors import ConnectError

if TYPE_CHECKING:
    from kconnect.core.cluster.host import UnitSpec
    from tests.rig.histories.histories import History

DATA = "data"


class SourceTask:
    def __init__(self, history: History, unit: UnitId) -> None:
        self._history, self._unit = history, unit
        self._sent = history.stored.get(unit, 0)
        self.abandoned = False

    def work(self, choose: random.Random) -> None:
        if choose.random() < 0.6:
            for _ in range(1 + (choose.random() < 0.5)):
                self._sent += 1
                self._history.emit(self._unit, self._sent, self._history.stored.get(self._unit, 0))
        else:
            self.store()

    def store(self) -> None:
        if self._sent > self._history.stored.get(self._unit, 0):
            key = records.offset_key(self._unit.connector, {"task": self._unit.task})
            self._history.log.append([records.source_offset(key, {"seqno": self._sent})])
            self._history.stored[self._unit] = self._sent

    def silence(self, now: int) -> None:
        """A source task is in no group."""

    def close(self) -> None:
        """It has nothing open."""


class ExactlyOnceTask(SourceTask):
    """Sends and stores in transactions, each of one piece (KIP-618)."""

    def __init__(self, history: History, spec: UnitSpec, epoch: int) -> None:
        super().__init__(history, spec.unit)
        self._spec, self._epoch = spec, epoch

    def work(self, choose: random.Random) -> None:
        if not self._history.producers.commit(self._spec, self._epoch):
            raise ConnectError("the producer was fenced")
        self._sent += 1
        self._history.emit(self._unit, self._sent, self._history.stored.get(self._unit, 0))
        super().store()

    def store(self) -> None:
        """There is nothing that is sent and not stored."""


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


class SinkTask:
    def __init__(self, history: History, unit: UnitId) -> None:
        self._history, self._unit = history, unit
        self._group = history.group_of(unit.connector)
        self._offsets = SinkOffsets()
        self._next: dict[TopicPartition, int] = {}
        self.abandoned = False

    def work(self, choose: random.Random) -> None:
        group = self._group
        group.silent.pop(self, None)
        if self not in group.members:
            group.members.append(self)
        self._rebalance()
        if not self._next:
            return
        place = choose.choice(list(self._next))
        if choose.random() < 0.6:
            message = _Message(place, self._next[place])
            ends = self._offsets.read([message], self._next.keys())
            self._history.emit(self._key(place), message.number + 1, group.stored[place])
            self._next.update(ends)
            self._offsets.delivered(ends)
        else:
            self.store()

    def _rebalance(self) -> None:
        """Give up what is another's by now, take what is free."""
        group = self._group
        share = group.share(self)
        for place in list(self._next):
            if group.owners.get(place) is not self:
                self._forget(place)
            elif place not in share:
                self._store([place])
                self._forget(place)
                del group.owners[place]
        for place in share:
            if place not in group.owners:
                group.owners[place] = self
                self._next[place] = group.stored[place]

    def _forget(self, place: TopicPartition) -> None:
        self._offsets.closed([place])
        del self._next[place]

    def store(self) -> None:
        self._store(list(self._next))

    def _store(self, places: list[TopicPartition]) -> None:
        offsets, refused = self._offsets.to_commit(self._offsets.current(places))
        assert not refused
        if all(self._group.owners.get(place) is self for place in offsets):
            for place, position in offsets.items():
                self._group.stored[place] = position.offset
                self._history.store(self._key(place), position.offset)
            self._offsets.committed(offsets)

    def _key(self, place: TopicPartition) -> UnitId:
        return UnitId(self._unit.connector, place.partition)

    def silence(self, now: int) -> None:
        self._group.silent.setdefault(self, now)

    def close(self) -> None:
        self._group.leave(self)
