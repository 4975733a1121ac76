"""
A sink task's loop, where a record goes from Kafka to the connector:

    consume ► convert key and value ► transforms ► task.put ► (now and then) task.pre_commit ► commit the group's offsets

The task is an ordinary member of the consumer group `connect-<name>`, so its partitions, its lag and its offsets are Kafka's
business, and a partition has one owner even while a task moves. At least once: an offset is committed only after the task
has said in `pre_commit` that everything below it is safe. Run by `task_unit.py`. Read next: `core/task/sink_offsets.py`,
`kafka/consumer.py`; for the other direction, `source_task.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.api.task import ErrantRecordReporter, SinkTask
from kconnect.core.metrics.task import SinkMeter
from kconnect.core.metrics.windows import Windows
from kconnect.core.state.records import TargetState
from kconnect.core.task.chain import SinkChain
from kconnect.core.task.lifecycle import Event
from kconnect.core.task.sink_offsets import SinkOffsets
from kconnect.errors import ConnectError, RetriableError
from kconnect.kafka import clients
from kconnect.kafka.consumer import TaskConsumer
from kconnect.plugins.registry import class_name
from kconnect.units import converters
from kconnect.units.reports import Errant, Reports
from kconnect.units.transforms import Transforms
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_BATCH = 500
"""Java's default of max.poll.records, which tasks may count on. What belongs to so many fits into a core's cache, too."""
_WAIT_S = 0.5
"""How long the loop may take to notice a stop, a pause or a resume."""
_RETRY_S = 1.0
_LOOK_S = 1.0
"""How often to look how far behind the task is: that costs some microseconds."""


class SinkLoop:
    """Is also the consumer's listener."""

    def __init__(self, unit: Unit, task: SinkTask, config: dict[str, str], properties: dict[str, str]) -> None:
        settings, plugins = unit.ports.settings, unit.ports.plugins
        self._unit, self._task, self._properties = unit, task, properties
        self._reports = Reports(unit, config)
        self._errors = self._reports.errors
        self._chain = SinkChain(converters.make(config, settings, plugins), self._errors)
        self._transforms = Transforms(config, plugins, owned=True, worker=settings.raw)
        self._steps = self._transforms.steps
        self._interval_s = settings.offset_flush_interval_ms / 1000
        self._flush_s = settings.offset_flush_timeout_ms / 1000
        client = clients.consumer(settings, unit.spec.connector, unit.spec.task or 0, config)
        self._limit = int(client.pop("max.poll.records", _BATCH))
        self._consumer = TaskConsumer(client, config, self)
        self._errant = Errant(self._errors, class_name(type(task))) if self._reports.any else None
        self._context = _Context(self._properties, self._consumer, self._errant)
        self._offsets = SinkOffsets()
        self._batch: list[SinkRecord] = []
        """Read, and not yet taken by `put`; `_ends` is where reading goes on behind it."""
        self._ends: dict[TopicPartition, int] = {}
        self._retry_at: float | None = None
        self._paused = False
        windows = Windows.of(settings.metrics_sample_window_ms, settings.metrics_num_samples)
        self._meter = unit.meter = SinkMeter(windows, self._errors.counts)
        self._look_at = self._commit_began = 0.0

    def wake(self) -> None:
        """The loop looks around by itself twice a second."""

    def run(self) -> None:
        unit, task = self._unit, self._task
        started = False
        try:
            unit.moved(Event.START)
            self._reports.start()
            if not unit.may_work():
                return
            task.initialize(self._context)
            task.start(self._properties)
            started = True
            self._consumer.subscribe()
            unit.moved(Event.STARTED)
            self._consume_until_stopped()
        except BaseException as error:  # noqa: BLE001 - reported: a plugin may raise anything
            unit.fail(error)
        finally:
            try:
                # Calls `revoked` for what is still owned. After a failure too: what was delivered needs not come again.
                # One that is abandoned is the next one's by now, which is not to wait for brokers that can't be reached.
                self._consumer.close(0.0 if unit.abandoned else self._flush_s)
            finally:
                if started:
                    task.stop()
                self._transforms.close()
                self._reports.close(self._flush_s)

    def _consume_until_stopped(self) -> None:
        stopping = self._unit.stopping
        due = time.monotonic() + self._interval_s
        while not stopping.is_set():
            self._follow_target()
            self._rewind()
            now = time.monotonic()
            wait = _WAIT_S if self._retry_at is None else min(_WAIT_S, max(0.0, self._retry_at - now))
            messages = self._consumer.read(self._limit, min(wait, max(0.0, due - now)))
            if not self._unit.may_work():
                return
            if messages:
                self._take(messages)
            now = time.monotonic()
            # As in Connect, also when there is nothing: many tasks flush by time, and this is their clock.
            if self._retry_at is None or now >= self._retry_at:
                self._deliver()
            if self._context.commit_requested or now >= due:
                self._commit()
                due = time.monotonic() + self._interval_s
            if now >= self._look_at:
                self._look(now)

    def _follow_target(self) -> None:
        pause = self._unit.target is not TargetState.STARTED
        if pause != self._paused:
            self._paused = pause
            self._hold_or_release()
            self._unit.moved(Event.PAUSE if pause else Event.RESUME)

    def _hold_or_release(self) -> None:
        if self._paused or self._retry_at is not None:
            self._consumer.hold()
        else:
            self._consumer.release()

    def _rewind(self) -> None:
        for partition, offset in self._context.take_rewinds(self._consumer.assignment).items():
            self._consumer.seek(partition, offset)
            self._offsets.rewound(partition, offset)
            self._drop({partition})

    def _take(self, messages: list[ck.Message]) -> None:
        done = self._chain.apply(messages)
        self._tell_topics(done)
        if self._steps:
            done = self._steps.apply(done, messages, self._errors)
        # A dropped record is delivered: its offset counts, in `_ends`, like any other's.
        records = [record for record in done if record is not None]
        if self._errant is not None:
            self._errant.keep(messages)
        self._ends.update(self._offsets.read(messages, self._consumer.assignment))
        self._meter.read(len(messages), time.monotonic())
        self._batch = [*self._batch, *records] if self._batch else records

    def _tell_topics(self, records: list[SinkRecord | None]) -> None:
        """A topic is in use when a record of it can be read (KIP-558), whatever the transforms then make of it."""
        told = self._unit.ports.topics_told(self._unit.spec)
        if told >= set(self._chain.topics):
            return
        for topic in {record.topic for record in records if record is not None}:
            if topic not in told:
                self._unit.ports.topic_used(self._unit.spec, topic)

    def _deliver(self) -> None:
        began = time.monotonic()
        try:
            self._task.put(self._batch)
        except RetriableError as error:
            wait = self._context.take_timeout()
            log.warning("put() is tried again in %.1f s: %s", wait, error)
            self._errors.counts.tries_again("put()", error, began)
            self._retry_at = time.monotonic() + wait
            self._hold_or_release()
            return
        self._offsets.delivered(self._ends)
        if self._batch:
            self._meter.put(len(self._batch), began, time.monotonic())
        self._batch, self._ends = [], {}
        if self._retry_at is not None:
            self._retry_at = None
            self._errors.counts.goes_on()
            self._hold_or_release()

    def _commit(self) -> None:
        """
        Ask the task what is safe, and begin to commit that. A failed commit is tried again at the next one, and what is
        asked for while one is under way comes after it.
        """
        if self._consumer.commits:
            return
        self._context.commit_requested = False
        current = self._offsets.current(self._consumer.assignment)
        if not current or self._unit.abandoned:
            return
        try:
            allowed = self._task.pre_commit(dict(current)) or {}
        except Exception:
            log.exception("The task could not flush: going back to the last committed offsets")
            for partition, offset in self._offsets.go_back().items():
                self._consumer.seek(partition, offset)
                self._drop({partition})
            return
        if (offsets := self._to_commit(allowed)) and self._letters_are_safe():
            self._begin_to_commit(offsets)

    def _commit_last(self, partitions: list[TopicPartition]) -> None:
        """Before these partitions go, commit what is safe of them."""
        current = self._offsets.current(partitions)
        if not current or self._unit.abandoned:
            return
        try:
            allowed = self._task.pre_commit(dict(current)) or {}
        except Exception as error:
            log.warning("The task could not flush, so its last records come again: %s", error, exc_info=error)
            return
        if (offsets := self._to_commit(allowed)) and self._letters_are_safe():
            self._begin_to_commit(offsets)

    def _letters_are_safe(self) -> bool:
        safe = self._reports.flush(self._flush_s)
        if not safe:
            log.warning("The dead letter queue has not taken all within %.0f s: offsets are not committed", self._flush_s)
        return safe

    def _to_commit(self, allowed: Mapping[TopicPartition, OffsetAndMetadata]) -> Mapping[TopicPartition, OffsetAndMetadata]:
        offsets, refused = self._offsets.to_commit(allowed)
        if refused:
            log.warning("The task gave offsets that can't be committed: not read here, or not delivered yet: %s", refused)
        return offsets

    def _drop(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was read of these and not delivered."""
        gone = set(partitions)
        self._ends = {place: end for place, end in self._ends.items() if place not in gone}
        self._batch = [r for r in self._batch if (r.original_topic, r.original_partition) not in gone]

    def _begin_to_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._commit_began = time.monotonic()
        self._meter.commit_began()
        self._consumer.commit(offsets)

    def _look(self, now: float) -> None:
        """What `/metrics` shows of the partitions."""
        lags = self._consumer.lags()
        known = [lag for lag in lags.values() if lag is not None]
        complete = 0 < len(known) == len(lags)
        self._meter.looked(len(lags), known if complete else None, self._offsets.open(self._ends), now)
        self._look_at = now + _LOOK_S

    # --- called by the consumer, within `read` and `close` ---

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._task.open(partitions)
        self._look_at = 0.0
        starts = self._context.take_rewinds(set(partitions))
        for partition, offset in starts.items():
            self._offsets.rewound(partition, offset)
        return starts

    def revoked(self, partitions: list[TopicPartition]) -> None:
        self._commit_last(partitions)
        self.lost(partitions)

    def lost(self, partitions: list[TopicPartition]) -> None:
        self._drop(partitions)
        self._offsets.closed(partitions)
        if self._errant is not None:
            self._errant.closed(partitions)
        self._task.close(partitions)

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._meter.committed(self._commit_began, time.monotonic())
        self._offsets.committed(offsets)
        if self._errant is not None:
            self._errant.committed(offsets)

    def commit_failed(self) -> None:
        self._meter.commit_failed(time.monotonic())

    def commits_lost(self, commits: int) -> None:
        self._meter.commits_skipped(commits, time.monotonic())


class _Context:
    """What `kconnect.api.task.SinkTaskContext` promises."""

    def __init__(self, properties: dict[str, str], consumer: TaskConsumer, errant: Errant | None) -> None:
        self._properties, self._consumer, self._errant = properties, consumer, errant
        self._timeout_s: float | None = None
        self._rewinds: dict[TopicPartition, int] = {}
        self.commit_requested = False

    def configs(self) -> dict[str, str]:
        return dict(self._properties)

    def offset(self, partition: TopicPartition, offset: int) -> None:
        self._rewinds[TopicPartition(*partition)] = offset

    def offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        for partition, offset in offsets.items():
            self.offset(partition, offset)

    def timeout(self, milliseconds: int) -> None:
        self._timeout_s = milliseconds / 1000

    def assignment(self) -> set[TopicPartition]:
        return set(self._consumer.assignment)

    def pause(self, *partitions: TopicPartition) -> None:
        self._consumer.pause(self._own(partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self._consumer.resume(self._own(partitions))

    def request_commit(self) -> None:
        self.commit_requested = True

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        if self._errant is not None:
            self._errant.wanted = True
        return self._errant

    def take_timeout(self) -> float:
        taken, self._timeout_s = self._timeout_s, None
        return _RETRY_S if taken is None else taken

    def take_rewinds(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Those asked for `partitions`; others wait until they are assigned."""
        if not self._rewinds:
            return {}
        return {partition: self._rewinds.pop(partition) for partition in list(self._rewinds) if partition in partitions}

    def _own(self, partitions: tuple[Any, ...]) -> list[TopicPartition]:
        own = [TopicPartition(*partition) for partition in partitions]
        foreign = [str(tuple(partition)) for partition in own if partition not in self._consumer.assignment]
        if foreign:
            raise ConnectError(f"These partitions are not assigned to this task: {', '.join(foreign)}")
        return own
