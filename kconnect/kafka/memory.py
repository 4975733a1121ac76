"""
A real log and a real group in memory, for scenarios that need no broker.

Used by `kconnect.testing`. It keeps order, offsets, transactions' all-or-nothing, fencing by epoch, and the ownership of
one partition. What it lacks, on purpose: partitions (every topic has one), compaction, transaction markers' offsets, time.
Read next: `testing/cluster.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kconnect.core.herder.effects import FencedError
from kconnect.core.state.records import Entry, LogRecord, Topic


@dataclass
class MemoryLog:
    """One sequence of records for all topics: a reader that follows it sees what one consumer of all topics may see."""

    records: list[LogRecord] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    """For each record the epoch of the leader that wrote it, 0 where it was not written as leader."""
    _next: dict[Topic, int] = field(default_factory=dict)
    _epoch: int = 0

    def append(self, entries: Iterable[Entry], epoch: int = 0) -> dict[tuple[Topic, int], int]:
        """Append in order; gives the highest offset by partition, as `kafka.log.LogWriter.write` does."""
        written: dict[tuple[Topic, int], int] = {}
        for entry in entries:
            offset = self._next.get(entry.topic, 0)
            self._next[entry.topic] = offset + 1
            self.records.append(LogRecord(entry.topic, 0, offset, entry.key, entry.value))
            self.epochs.append(epoch)
            written[entry.topic, 0] = offset
        return written

    def fence(self) -> int:
        """A new epoch for the transactional id; those of before can write no more."""
        self._epoch += 1
        return self._epoch

    def append_as(self, epoch: int, entries: Iterable[Entry]) -> dict[tuple[Topic, int], int]:
        if epoch != self._epoch:
            raise FencedError("Another worker leads the cluster by now")
        return self.append(entries, epoch)

    def ends(self) -> dict[tuple[Topic, int], int]:
        return {(topic, 0): end for topic, end in self._next.items()}


@dataclass
class MemoryGroup:
    """A consumer group with one partition: its owner stays owner while it lives, the next is the longest-standing."""

    members: dict[str, str] = field(default_factory=dict)
    owner: str | None = None

    def join(self, member: str, url: str) -> None:
        self.members[member] = url
        self._elect()

    def leave(self, member: str) -> None:
        self.members.pop(member, None)
        self._elect()

    def _elect(self) -> None:
        if self.owner not in self.members:
            self.owner = next(iter(self.members), None)
