"""
A real log and a real group in memory, for scenarios that need no broker.

Used by `cluster.py` and the tests. They keep order, offsets, transactions' all-or-nothing, fencing by epoch, and the ownership
of one partition. A reader gets the topics in any order, and begins with what compaction has left by then. What they lack, on
purpose: partitions (every topic has one), transaction markers' offsets, time. Read next: `cluster.py`.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from kconnect.core.herder.effects import FencedError
from kconnect.core.state.records import FOLDED, Entry, LogRecord, Topic


@dataclass
class MemoryLog:
    """Each topic by itself in `topics`; `records` has all of them in the order in which they were written."""

    records: list[LogRecord] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    """For each record the epoch of the leader that wrote it, 0 where it was not written as leader."""
    topics: dict[Topic, list[LogRecord]] = field(default_factory=lambda: {topic: [] for topic in FOLDED})
    compacted: dict[Topic, int] = field(default_factory=dict)
    """How many records of each topic the last compaction saw: who begins to read now finds the latest of each key."""
    readers: dict[Topic, list[MemoryReader]] = field(default_factory=lambda: {topic: [] for topic in FOLDED})
    _epoch: int = 0

    def append(self, entries: Iterable[Entry], epoch: int = 0) -> dict[tuple[Topic, int], int]:
        """Append in order; gives the highest offset by partition, as `kafka.log.LogWriter.write` does."""
        written: dict[tuple[Topic, int], int] = {}
        for entry in entries:
            topic = self.topics[entry.topic]
            record = LogRecord(entry.topic, 0, len(topic), entry.key, entry.value)
            topic.append(record)
            self.records.append(record)
            self.epochs.append(epoch)
            written[entry.topic, 0] = record.offset
        for grown, _ in written:
            for reader in self.readers[grown]:
                reader.at_end = False
        return written

    def fence(self) -> int:
        """A new epoch for the transactional id; those of before can write no more."""
        self._epoch += 1
        return self._epoch

    def append_as(self, epoch: int, entries: Iterable[Entry]) -> dict[tuple[Topic, int], int]:
        if epoch != self._epoch:
            raise FencedError("Another worker now leads the cluster")
        return self.append(entries, epoch)

    def ends(self) -> dict[tuple[Topic, int], int]:
        return {(topic, 0): len(found) for topic, found in self.topics.items() if found}

    def compact(self, topics: Collection[Topic] = FOLDED) -> None:
        for topic in topics:
            self.compacted[topic] = len(self.topics[topic])


class MemoryReader:
    """Follows `topics`: each in its order, but one may run ahead of another, as with every consumer."""

    def __init__(self, log: MemoryLog, topics: Collection[Topic] = FOLDED) -> None:
        self._feeds = [_Feed(topic, log.topics[topic], log.compacted.get(topic, 0)) for topic in topics]
        self.at_end = not any(feed.more for feed in self._feeds)
        for topic in topics:
            log.readers[topic].append(self)

    def read(self, choose: random.Random) -> tuple[list[LogRecord], dict[tuple[Topic, int], int]]:
        """Some of what comes next in one topic, and where that topic goes on if that is known."""
        feeds = [feed for feed in self._feeds if feed.more]
        if not feeds:
            return [], {}
        feed, count = feeds[int(choose.random() * len(feeds))], (1, 3, 20)[int(choose.random() * 3)]
        batch = feed.read(count)
        self.at_end = not feed.more and len(feeds) == 1
        return batch, {} if feed.kept else {(feed.topic, 0): feed.at}


class _Feed:
    """One topic for one reader: first what compaction has left, then the topic from `at`."""

    def __init__(self, topic: Topic, found: list[LogRecord], compacted_at: int) -> None:
        self.topic, self.at = topic, compacted_at
        self.kept = compacted(found[:compacted_at])
        self._found = found
        # Where nothing is left, the end has to be told all the same.
        self._told = not compacted_at

    @property
    def more(self) -> bool:
        return self.at < len(self._found) or not self._told

    def read(self, count: int) -> list[LogRecord]:
        if not self._told:
            batch, self.kept = self.kept[:count], self.kept[count:]
            self._told = not self.kept
            return batch
        batch = self._found[self.at : self.at + count]
        self.at += len(batch)
        return batch


def compacted(found: Iterable[LogRecord]) -> list[LogRecord]:
    """The latest record of each key, where it stood; tombstones are gone."""
    latest: dict[tuple[Topic, bytes | None], LogRecord] = {}
    for record in found:
        latest.pop((record.topic, record.key), None)
        latest[record.topic, record.key] = record
    return [record for record in latest.values() if record.value is not None]


@dataclass
class MemoryGroup:
    """
    A consumer group with one partition: its owner stays owner while it lives, the next is the longest-standing.
    A member is any string; what it stands for is its worker's id. Two processes may believe that they are one worker.
    """

    members: dict[str, str] = field(default_factory=dict)
    owner: str | None = None

    def join(self, member: str, worker: str) -> None:
        self.members.setdefault(member, worker)
        self.elect()

    def leave(self, member: str) -> None:
        if self.members.pop(member, None) is not None:
            self.elect()

    def elect(self, owner: str | None = None) -> None:
        """Settle who owns the partition: `owner` if it is a member, or else who owned it before, or the longest-standing."""
        for candidate in (owner, self.owner, *self.members):
            if candidate in self.members:
                self.owner = candidate
                return
        self.owner = None
