"""
A sink task's loop, where a record goes from Kafka to the connector:

    consume ► convert key and value ► task.put ► (now and then) task.pre_commit ► commit the group's offsets

The task is an ordinary member of the consumer group `connect-<name>`, so its partitions, its lag and its offsets are Kafka's
business, and a partition has one owner even while a task moves. At least once: an offset is committed only after the task
has said in `pre_commit` that everything below it is safe. Run by `task_unit.py`; for the other direction, `source_task.py`.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import confluent_kafka as ck

from kconnect.api.errors import ConnectError, RetriableError
from kconnect.api.record import Header, OffsetAndMetadata, SinkRecord, TimestampType, TopicPartition
from kconnect.api.task import ErrantRecordReporter, SinkTask
from kconnect.core.state.records import State, TargetState
from kconnect.kafka import clients
from kconnect.kafka.consumer import TaskConsumer
from kconnect.worker import converters
from kconnect.worker.unit import Unit

log = logging.getLogger(__name__)

_BATCH = 2000
_WAIT_S = 1.0
_RETRY_S = 1.0

_TIMESTAMP_TYPES = {
    ck.TIMESTAMP_NOT_AVAILABLE: TimestampType.NO_TIMESTAMP_TYPE,
    ck.TIMESTAMP_CREATE_TIME: TimestampType.CREATE_TIME,
    ck.TIMESTAMP_LOG_APPEND_TIME: TimestampType.LOG_APPEND_TIME,
}

Offsets = dict[TopicPartition, OffsetAndMetadata]


class SinkLoop:
    def __init__(self, unit: Unit, task: SinkTask, config: dict[str, str], properties: dict[str, str]) -> None:
        settings, plugins = unit.ports.settings, unit.ports.plugins
        self._unit, self._task, self._properties, self._config = unit, task, properties, config
        self._key = converters.make("key", config, settings, plugins)
        self._value = converters.make("value", config, settings, plugins)
        self._interval_s: float = settings.offset_flush_interval_ms / 1000
        client = clients.consumer(settings, unit.spec.connector, unit.spec.task or 0, config)
        self._consumer = TaskConsumer(client, config, self._assigned, self._revoked, self._lost)
        self._context = _Context(self)
        self._topics: set[str] = set()
        # The position after the last record that `put` has taken, by partition; and what was committed of it.
        self._delivered: Offsets = {}
        self._committed: Offsets = {}
        self._batch: list[SinkRecord] = []
        self._pausing = False
        self._started = False

    def wake(self) -> None:
        """The loop looks around by itself once a second."""

    def run(self) -> None:
        unit, task = self._unit, self._task
        try:
            task.initialize(self._context)
            task.start(self._properties)
            self._started = True
            self._consumer.subscribe()
            self._consume_until_stopped()
            if not unit.abandoned:
                self._commit(self._delivered)
        finally:
            try:
                # Leaving the group calls `_revoked` for what is still owned; after a failure or when abandoned, nothing
                # more may be committed.
                self._delivered = {} if unit.abandoned or not unit.stopping.is_set() else self._delivered
                self._consumer.close()
            finally:
                if self._started:
                    task.stop()

    def _consume_until_stopped(self) -> None:
        unit, stopping = self._unit, self._unit.stopping
        said: TargetState | None = None
        due = time.monotonic() + self._interval_s
        while not stopping.is_set():
            if unit.target is not said:
                said = unit.target
                self._pausing = said is not TargetState.STARTED
                if self._pausing:
                    self._consumer.pause_all()
                else:
                    self._consumer.resume_all(except_for=self._context.paused)
                unit.report(State.PAUSED if self._pausing else State.RUNNING)
            messages = self._consumer.read(_BATCH, _WAIT_S)
            if messages:
                self._batch = self._convert(messages)
                self._deliver()
            if self._context.commit_requested or time.monotonic() >= due:
                self._context.commit_requested = False
                self._commit(self._delivered)
                due = time.monotonic() + self._interval_s

    def _convert(self, messages: list[ck.Message]) -> list[SinkRecord]:
        to_key, to_value = self._key.to_connect_data, self._value.to_connect_data
        records = []
        for message in messages:
            topic = message.topic()
            if topic not in self._topics:
                self._topics.add(topic)
                self._unit.ports.topic_used(self._unit.spec.connector, self._unit.spec.task or 0, topic)
            raw_headers = message.headers()
            headers = [Header(name, value) for name, value in raw_headers] if raw_headers else ()
            key_schema, key = to_key(topic, message.key(), headers)
            value_schema, value = to_value(topic, message.value(), headers)
            kind, timestamp = message.timestamp()
            records.append(
                SinkRecord(
                    topic,
                    message.partition(),
                    key_schema,
                    key,
                    value_schema,
                    value,
                    message.offset(),
                    timestamp if kind != ck.TIMESTAMP_NOT_AVAILABLE else None,
                    _TIMESTAMP_TYPES[kind],
                    headers,
                )
            )
        return records

    def _deliver(self) -> None:
        """`put` the batch, again and again while it says that it can be tried again, staying in the group meanwhile."""
        paused = False
        while self._batch:
            try:
                self._task.put(self._batch)
            except RetriableError as error:
                wait = self._context.take_timeout()
                log.warning("put() is tried again in %.1f s: %s", wait, error)
                self._consumer.pause_all()
                paused = True
                end = time.monotonic() + wait
                while (left := end - time.monotonic()) > 0 and not self._unit.stopping.is_set():
                    self._consumer.stay(min(left, _WAIT_S))
                if self._unit.stopping.is_set():
                    self._batch = []  # Not delivered, so not committed: it comes again.
                    return
                continue
            for record in self._batch:
                self._delivered[TopicPartition(record.original_topic, record.original_partition)] = OffsetAndMetadata(
                    record.original_offset + 1
                )
            self._batch = []
        if paused and not self._pausing:
            self._consumer.resume_all(except_for=self._context.paused)
        for partition, offset in self._context.take_rewinds().items():
            self._consumer.seek(partition, offset)
            self._delivered[partition] = OffsetAndMetadata(offset)

    def _commit(self, delivered: Offsets) -> None:
        """Ask the task what of `delivered` is safe, and commit that. A failed commit is tried again at the next one."""
        new = {partition: at for partition, at in delivered.items() if self._committed.get(partition) != at}
        if not new:
            return
        safe = self._task.pre_commit(dict(new))
        safe = {partition: at for partition, at in (safe or {}).items() if partition in delivered}
        if safe and self._consumer.commit(safe):
            self._committed.update(safe)

    # --- called by the consumer, within `read`, `stay` and `close` ---

    def _assigned(self, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self._delivered.pop(partition, None)
            self._committed.pop(partition, None)
        self._task.open(partitions)
        if self._pausing:
            self._consumer.pause(partitions)

    def _revoked(self, partitions: list[TopicPartition]) -> None:
        self._commit({partition: at for partition, at in self._delivered.items() if partition in partitions})
        self._forget(partitions)

    def _lost(self, partitions: list[TopicPartition]) -> None:
        """Somebody else owns them by now: nothing may be committed."""
        self._forget(partitions)

    def _forget(self, partitions: list[TopicPartition]) -> None:
        gone = set(partitions)
        self._task.close(partitions)
        for partition in partitions:
            self._delivered.pop(partition, None)
            self._committed.pop(partition, None)
        self._batch = [
            record
            for record in self._batch
            if TopicPartition(record.original_topic, record.original_partition) not in gone
        ]
        self._context.paused -= gone


class _Context:
    """What `kconnect.api.task.SinkTaskContext` promises."""

    def __init__(self, loop: SinkLoop) -> None:
        self._loop = loop
        self._timeout_s: float | None = None
        self._rewinds: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.commit_requested = False

    def configs(self) -> dict[str, str]:
        return dict(self._loop._properties)

    def offset(self, partition: TopicPartition, offset: int) -> None:
        self._rewinds[partition] = offset

    def timeout(self, milliseconds: int) -> None:
        self._timeout_s = milliseconds / 1000

    def assignment(self) -> set[TopicPartition]:
        return self._loop._consumer.assignment()

    def pause(self, *partitions: TopicPartition) -> None:
        self._require(partitions)
        self.paused.update(partitions)
        self._loop._consumer.pause(list(partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self._require(partitions)
        self.paused.difference_update(partitions)
        if not self._loop._pausing:
            self._loop._consumer.resume(list(partitions))

    def request_commit(self) -> None:
        self.commit_requested = True

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        return None

    def take_timeout(self) -> float:
        taken, self._timeout_s = self._timeout_s, None
        return _RETRY_S if taken is None else taken

    def take_rewinds(self) -> dict[TopicPartition, int]:
        taken, self._rewinds = self._rewinds, {}
        owned = self.assignment() if taken else set()
        return {partition: offset for partition, offset in taken.items() if partition in owned}

    def _require(self, partitions: tuple[Any, ...]) -> None:
        foreign = [str(tuple(partition)) for partition in partitions if partition not in self.assignment()]
        if foreign:
            raise ConnectError(f"These partitions are not assigned to this task: {', '.join(foreign)}")
