"""
A sink task from Kafka's messages to its `put`, and its offsets back, one step a batch:

    (read) ► convert key and value ► transforms ► task.put ► (at intervals) task.pre_commit ► commit the group's offsets

At least once: an offset is committed only after the task has said in `pre_commit` that everything below it is safe. The caller
reads, waits and passes the time. It is a host's thread (`units/sink_task.py`), `kconnect.testing`'s `SinkRunner`, or a random
history. This module has no clock, thread or client: `now` is in seconds of any steady clock, and everything else comes through
`ports.py`. Read next: `sink_offsets.py`, `chain.py`, `steps.py`; for the other direction, `source_pump.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.core.task import positions
from kconnect.core.task.answers import AnswerError
from kconnect.core.task.batch import FEW, Batch, Messages
from kconnect.core.task.errant import Errant
from kconnect.core.task.errors import Counts, Errors
from kconnect.core.task.meters import SinkMeter
from kconnect.core.task.ports import Consumer, DeadLetters, Life, Listener, SinkPlugin
from kconnect.core.task.sink_context import SinkContext
from kconnect.core.task.sink_offsets import Offsets, SinkOffsets
from kconnect.core.task.steps import Steps
from kconnect.core.task.topic_use import TopicUse
from kconnect.errors import ConnectError, RetriableError

log = logging.getLogger(__name__)

_PIECES = 8
"""In so many pieces messages are cut that are no batch as a whole."""
_MOST_PATIENCE = 1000
_LOOK_S = 1.0
"""How often to look how far behind the task is: that costs some microseconds."""


class Parts(NamedTuple):
    """The messages that were read, in their order, some as batches and some as records."""

    parts: list[list[Any] | Batch]


class Intake(Protocol):
    """The way from a sink's messages to what its task takes."""

    def __call__(self, messages: Sequence[Any]) -> list[Any] | Batch | Parts:
        """
        Return records for `put`, a batch for `put_batch`, or both in turn. Dropped records are left out. Raise ConnectError for
        a record that fails where that is not tolerated.
        """
        ...

    def place(self, record: Any) -> TopicPartition:
        """Return where the message of a record was read."""
        ...


@dataclass(frozen=True)
class Ports:
    """
    The objects that the pump needs. Offsets are committed every `interval_s`; `flush_s` is how long the dead letter queue may
    take before that.
    """

    life: Life
    plugin: SinkPlugin
    dead_letters: DeadLetters
    meter: SinkMeter
    counts: Counts
    interval_s: float
    flush_s: float
    errant: Errant | None = None


class SinkPump:
    """
    Is also its consumer's listener: `consumer` makes that one. `ready`, then reading, then `step`, again and again; what is
    raised is a failure of the task.
    """

    def __init__(
        self, ports: Ports, intake: Intake, consumer: Callable[[Listener], Consumer], properties: Mapping[str, str]
    ) -> None:
        self._ports, self._plugin, self._errant = ports, ports.plugin, ports.errant
        self._take = intake
        self._consumer = consumer(self)
        self.context = SinkContext(properties, self._consumer, ports.errant, ports.counts)
        self._offsets = SinkOffsets()
        self._batch: list[list[Any] | Batch] = []
        """Read, and not yet taken by `put`; `_ends` is where reading goes on behind it."""
        self._ends: dict[TopicPartition, int] = {}
        self._paused = False
        self._retrying = self._cannot_flush = False
        # What runs from the end of a step on gets its time at the next `ready`.
        self._retry_in: float | None = None
        self._retry_at = self._look_at = 0.0
        self._due: float | None = None
        self._commit_began = 0.0

    def pause(self, pause: bool) -> bool:
        """Read nothing while the connector is paused. Whether that changes anything."""
        if pause is self._paused:
            return False
        self._paused = pause
        self._hold_or_release()
        return True

    def ready(self, now: float) -> float:
        """Prepare for reading: seek to where the task wants to read. Return the seconds until there is something else to do."""
        for partition, offset in self.context.take_rewinds(self._consumer.assignment).items():
            self._go_to(partition, offset)
            self._offsets.rewound(partition, offset)
        if self._due is None:
            self._due = now + self._ports.interval_s
        if self._retry_in is not None:
            self._retry_at, self._retry_in = now + self._retry_in, None
        return max(0.0, (min(self._due, self._retry_at) if self._retrying else self._due) - now)

    def step(self, messages: Sequence[Any], now: float) -> None:
        """Take what was read, which may be nothing, have the task take it, and commit if that is due."""
        if messages:
            self._keep(messages)
        # As in Connect, also when there is nothing: many tasks flush by time, and this is their clock.
        if not self._retrying or now >= self._retry_at:
            self._put(now)
        if self.context.commit_requested or (self._due is not None and now >= self._due):
            self.commit()
            self._due = None
        if now >= self._look_at:
            self._look()
            self._look_at = now + _LOOK_S

    def _keep(self, messages: Sequence[Any]) -> None:
        # A dropped record is delivered: its offset counts, in `_ends`, like any other's.
        failed = self._ports.counts.errors
        records = self._take(messages)
        if self._errant is not None:
            self._errant.keep(messages)
        self._ends.update(self._offsets.read(messages, self._consumer.assignment))
        # The length of a message is that of its value.
        self._ports.meter.read(len(messages), sum(map(len, messages)))
        for part in records.parts if isinstance(records, Parts) else [records]:
            if self._batch and isinstance(part, list) and isinstance(self._batch[-1], list):
                self._batch[-1] = [*self._batch[-1], *part]
            elif part:
                self._batch.append(part)
        if self._ports.counts.errors != failed:
            self._require_letters()

    def _require_letters(self) -> None:
        """
        Wait for the letters of what was read, before any of it is put: if the queue refuses one, the task is given what comes
        before that record, and fails. Else it would be given the same records again after each start.
        """
        try:
            self._ports.dead_letters.flush(self._ports.flush_s)
        except ConnectError:
            refused = self._ports.dead_letters.refused()
            if refused is None:
                raise
            self._batch = [[record for record in _listed(part) if self._is_before(record, refused)] for part in self._batch]
            self._ends = {place: min(end, refused.get(place, end)) for place, end in self._ends.items()}
            self._put(0.0)
            raise

    def _is_before(self, record: Any, refused: Mapping[TopicPartition, int]) -> bool:
        offset = record.original_offset if isinstance(record, SinkRecord) else record.offset()
        return bool(offset < refused.get(self._take.place(record), offset + 1))

    def _put(self, now: float) -> None:
        ports = self._ports
        self._batch = self._batch or [[]]
        try:
            while self._batch:
                began, part = ports.meter.clock(), self._batch[0]
                if isinstance(part, Batch):
                    self._plugin.put_batch(part.replace(part.key.copy(), part.value.copy()))
                else:
                    # The task may take out of its list what it has delivered, and then fail: its next call gets all of it.
                    self._plugin.put(list(part))
                del self._batch[0]
                if part:
                    ports.meter.put(len(part), began)
        except RetriableError as error:
            self._retrying, self._retry_in = True, self.context.take_timeout()
            log.warning("put() failed and is called again in %.1f s: %s", self._retry_in, error)
            ports.counts.tries_again("put()", error, now)
            self._hold_or_release()
            return
        self._offsets.delivered(self._ends)
        self._ends = {}
        if self._errant is not None:
            self._errant.delivered()
        if self._retrying:
            self._retrying = False
            ports.counts.goes_on()
            self._hold_or_release()

    def _hold_or_release(self) -> None:
        if self._paused or self._retrying:
            self._consumer.hold()
        else:
            self._consumer.release()

    @property
    def settled(self) -> bool:
        """Whether all that was read is delivered and committed, and nobody asked for anything."""
        asked = self.context.commit_requested or self.context.wants_to_go_elsewhere
        waits = bool(self._batch) or self._retrying or asked
        return not waits and not self._consumer.commits and not self._offsets.open(self._ends)

    def skip(self) -> None:
        """Leave out what was read and `put` has not taken: it counts neither as delivered nor as read."""
        self._batch, self._ends = [], {}

    def commit(self) -> None:
        """
        Ask the task what is safe, and begin to commit that. A failed commit is tried again at the next one, and what is
        asked for while one is under way comes after it.
        """
        if self._consumer.commits:
            return
        try:
            allowed = self._allowed(self._consumer.assignment)
        except AnswerError:
            # It would answer the same the next time, and never commit anything.
            raise
        except Exception as error:
            log.exception("The task could not flush: going back to the last committed offsets")
            for partition, offset in self._offsets.go_back().items():
                self._go_to(partition, offset)
            self._cannot_flush = True
            self._ports.counts.tries_again("pre_commit()", error, self._ports.meter.clock())
            return
        finally:
            # As in Connect, whatever was asked for within the call too: a task that asks in each would keep a core busy.
            self.context.commit_requested = False
        if self._cannot_flush:
            self._cannot_flush = False
            self._ports.counts.goes_on()
        self._begin_to_commit(allowed)

    def _allowed(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets that the task calls safe. An exception of the task is raised as it is."""
        current = self._offsets.current(partitions)
        if not current or self._ports.life.abandoned:
            return {}
        return positions.to_commit(type(self._plugin).__qualname__, self._plugin.pre_commit(dict(current)))

    def _begin_to_commit(self, allowed: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        offsets = self._to_commit(allowed)
        if not offsets:
            return
        ports = self._ports
        try:
            is_flushed = ports.dead_letters.flush(ports.flush_s)
        except ConnectError:
            # The task fails of that, and goes on at the first record that nobody has.
            refused = ports.dead_letters.refused()
            if refused is None:
                raise
            for place in offsets.keys() & refused.keys():
                offsets[place] = offsets[place]._replace(offset=min(offsets[place].offset, refused[place]))
            self._commit(offsets)
            raise
        if is_flushed:
            ports.counts.has_come()
            self._commit(offsets)
        else:
            text = f"the dead letter queue did not accept all records within {ports.flush_s:.0f} s"
            log.warning("%s: offsets are not committed", text.capitalize())
            ports.counts.awaits("committing offsets", text, ports.meter.clock())

    def _commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        if not offsets:
            return
        ports = self._ports
        self._commit_began = ports.meter.clock()
        ports.meter.commit_began()
        self._consumer.commit(offsets)

    def _to_commit(self, allowed: Mapping[TopicPartition, OffsetAndMetadata]) -> Offsets:
        offsets, refused = self._offsets.to_commit(allowed)
        if refused:
            log.warning("The task returned offsets that can't be committed: not read here, or not delivered yet: %s", refused)
        return offsets

    def _go_to(self, partition: TopicPartition, offset: int) -> None:
        self._consumer.seek(partition, offset)
        self._drop({partition})

    def _drop(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was read of these and not delivered."""
        dropped, place = set(partitions), self._take.place
        self._ends = {partition: end for partition, end in self._ends.items() if partition not in dropped}
        self._batch = [[record for record in _listed(part) if place(record) not in dropped] for part in self._batch]

    def _look(self) -> None:
        """Measure the partitions for `/metrics`."""
        lags = self._consumer.lags()
        known_lags = [lag for lag in lags.values() if lag is not None]
        complete = 0 < len(known_lags) == len(lags)
        self._ports.meter.looked(len(lags), known_lags if complete else None, self._offsets.open(self._ends))

    # --- called by the consumer, within its own calls ---

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        # A copy, here and in `lost`: whoever calls goes by the list later on.
        self._plugin.open(list(partitions))
        self._look_at = 0.0
        starts = self.context.take_rewinds(set(partitions))
        for partition, offset in starts.items():
            self._offsets.rewound(partition, offset)
        return starts

    def revoked(self, partitions: list[TopicPartition]) -> None:
        """Commit what is safe of these partitions before they are revoked."""
        try:
            allowed = self._allowed(partitions)
        except Exception as error:
            log.warning("The task could not flush, so its last records come again: %s", error, exc_info=error)
        else:
            try:
                self._begin_to_commit(allowed)
            except Exception as error:  # noqa: BLE001 - whatever it is, the task is to close what it has opened
                log.warning("The last offsets were not committed, so the last records come again: %s", error)
        self.lost(partitions)

    def lost(self, partitions: list[TopicPartition]) -> None:
        self._drop(partitions)
        self._offsets.closed(partitions)
        if self._errant is not None:
            self._errant.closed(partitions)
        self._plugin.close(list(partitions))

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._ports.meter.committed(self._commit_began)
        self._offsets.committed(offsets)
        if self._errant is not None:
            self._errant.committed(offsets)

    def commit_failed(self) -> None:
        self._ports.meter.commit_failed()

    def commits_lost(self, commits: int) -> None:
        self._ports.meter.commits_skipped(commits)


class Chain(Protocol):
    """The converters at the beginning of a sink's chain: `chain.SinkChain`, or what stands for it where they are in Java."""

    @property
    def topics(self) -> Collection[str]: ...

    def at_once(self, messages: Sequence[Any]) -> Batch | None: ...

    def runs(self, messages: Sequence[Any]) -> list[Sequence[Any]]: ...

    def apply(self, messages: Sequence[Any]) -> list[SinkRecord | None]: ...


class SinkConversion:
    """
    The converters and transforms of one sink task, an `Intake`. With `columns`, the task takes batches: those that never were
    records are given as they are. With `headers`, also those whose records have headers.
    """

    def __init__(
        self, chain: Chain, steps: Steps, errors: Errors, use: TopicUse, columns: bool = False, headers: bool = False
    ) -> None:
        self._chain, self._steps, self._errors, self._use = chain, steps, errors, use
        self._columns, self._takes_headers = columns, headers
        self._passed = self._patience = 0

    def __call__(self, messages: Sequence[Any]) -> list[SinkRecord] | Batch | Parts:
        batch = self._chain.at_once(messages)
        runs = [messages] if batch is not None else self._chain.runs(messages)
        parts: list[list[Any] | Batch] = []
        for run in runs:
            if len(runs) > 1:
                batch = self._chain.at_once(run)
            if batch is None and self._pays_to_cut(run):
                parts += self._pieces(run)
            else:
                parts.append(self._given(self._one(run, batch)))
        if len(parts) == 1:
            return parts[0]
        return Parts(parts) if self._columns else [record for part in parts for record in _listed(part)]

    def _pays_to_cut(self, messages: Sequence[Any]) -> bool:
        """
        Whether pieces of messages that are no batch as a whole may be batches: a bad message, or one of its own kind, does not
        throw the others off the columns. Where that was in vain it is tried again after ever more such messages.
        """
        if len(messages) < _PIECES * FEW:
            return False
        self._passed += 1
        return self._passed > self._patience

    def _pieces(self, messages: Sequence[Any]) -> list[list[Any] | Batch]:
        size = -(-len(messages) // _PIECES)
        pieces = [messages[first : first + size] for first in range(0, len(messages), size)]
        parts = []
        for piece in pieces:
            batch = self._chain.at_once(piece)
            parts.append((self._given(self._one(piece, batch)), batch is not None))
        pays = sum(is_batch for _, is_batch in parts) >= len(parts) // 2
        self._passed, self._patience = 0, 0 if pays else min(_MOST_PATIENCE, 2 * self._patience + 1)
        return [part for part, _ in parts]

    def _given(self, done: list[SinkRecord] | Batch) -> list[SinkRecord] | Batch:
        """Return the batch, as the task takes it. Steps may have made nulls, which no batch has for a task."""
        if not self._columns or not isinstance(done, Messages) or (done.has_headers and not self._takes_headers):
            return _listed(done)
        return _listed(done) if self._steps and done.value.has_nulls else done

    def _one(self, messages: Sequence[Any], batch: Batch | None) -> list[SinkRecord] | Batch:
        # Before the transforms: a topic is in use when a record of it can be read, whatever becomes of that.
        result: list[Any] | Batch
        if batch is not None:
            result = batch
            self._use.read_from(set(self._chain.topics))
        else:
            result = self._chain.apply(messages)
            self._use.read(self._chain.topics, result)
        if self._steps:
            result = self._steps.run(result, messages, self._errors)
        return result if isinstance(result, Batch) else [record for record in result if record is not None]

    def place(self, record: SinkRecord) -> TopicPartition:
        return TopicPartition(record.original_topic, record.original_partition)


def _listed(records: list[Any] | Batch) -> list[Any]:
    return records.records() if isinstance(records, Batch) else records
