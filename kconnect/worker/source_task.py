"""
A source task's loop, where a record goes from the connector to Kafka:

    task.poll ► convert key and value ► make sure that the topic exists ► produce ► (acknowledged) ► store source offsets

All in lists: what a batch can share is done once for it. At least once through every crash: an offset is stored only after
Kafka has acknowledged every record up to it. Run by `task_unit.py`. Read next: `kafka/producer.py`; for the other
direction, `sink_task.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

import orjson

from kconnect.api.errors import ConnectError, RetriableError
from kconnect.api.record import SourceRecord
from kconnect.api.task import SourceTask
from kconnect.api.values import to_text
from kconnect.core.state.records import State, TargetState
from kconnect.kafka import clients
from kconnect.kafka.producer import TaskProducer
from kconnect.worker import converters
from kconnect.worker.connector_unit import StoredOffsets
from kconnect.worker.unit import Unit

log = logging.getLogger(__name__)

_RETRY_S = 1.0


class SourceLoop:
    def __init__(self, unit: Unit, task: SourceTask, config: dict[str, str], properties: dict[str, str]) -> None:
        settings, plugins = unit.ports.settings, unit.ports.plugins
        self._unit, self._task, self._properties = unit, task, properties
        self._key = converters.make("key", config, settings, plugins)
        self._value = converters.make("value", config, settings, plugins)
        self._producer = TaskProducer(clients.producer(settings, unit.spec.connector, unit.spec.task or 0, config))
        self._flush_s: float = settings.offset_flush_timeout_ms / 1000
        self._interval_s: float = settings.offset_flush_interval_ms / 1000
        self._tracks = type(task).commit_record is not SourceTask.commit_record
        self._topics: set[str] = set()
        # Newest offset of each source partition among the records handed to the producer and not yet stored.
        self._unstored: dict[bytes, tuple[Mapping[str, Any], Mapping[str, Any] | None]] = {}
        self._started = False
        self._stopped = False

    def wake(self) -> None:
        """End a `poll` that is blocked, when the task is to stop. Called from the host's thread."""
        if self._unit.stopping.is_set() and self._started:
            self._stop_task()

    def _stop_task(self) -> None:
        with self._unit.changed:
            if self._stopped:
                return
            self._stopped = True
        try:
            self._task.stop()
        except Exception:
            log.exception("The task's stop() failed")

    def run(self) -> None:
        unit, task = self._unit, self._task
        try:
            task.initialize(_Context(self._properties, StoredOffsets(unit)))
            task.start(self._properties)
            self._started = True
            self.wake()
            self._poll_until_stopped()
            if not unit.abandoned:
                self._store_offsets(at_end=True)
        except BaseException:
            # What was acknowledged before the failure needs not come again.
            self._store_what_is_safe()
            raise
        finally:
            if self._started:
                self._stop_task()
            self._producer.close(abandon=unit.abandoned)

    def _poll_until_stopped(self) -> None:
        unit, stopping = self._unit, self._unit.stopping
        said: TargetState | None = None
        due = time.monotonic() + self._interval_s
        while not stopping.is_set():
            target = unit.target
            if target is not said:
                said = target
                unit.report(State.RUNNING if target is TargetState.STARTED else State.PAUSED)
            if target is TargetState.STARTED:
                try:
                    records = self._task.poll()
                except RetriableError as error:
                    log.warning("poll() is tried again: %s", error)
                    stopping.wait(_RETRY_S)
                    records = None
                if records:
                    self._send(records)
                self._producer.check()
            else:
                with unit.changed:
                    unit.changed.wait_for(
                        lambda: stopping.is_set() or unit.target is TargetState.STARTED,
                        max(0.0, due - time.monotonic()) if self._unstored else None,
                    )
            if time.monotonic() >= due:
                if self._unstored:
                    self._store_offsets()
                due = time.monotonic() + self._interval_s

    def _send(self, records: list[SourceRecord]) -> None:
        """Convert and produce, in order; runs of records for the same topic go together."""
        from_key, from_value = self._key.from_connect_data, self._value.from_connect_data
        topic, run = records[0].topic, []
        partition, offset = records[0].source_partition, None
        for record in records:
            if record.topic != topic:
                self._produce(topic, run)
                topic, run = record.topic, []
            if record.source_partition is not partition:
                self._remember(partition, offset)
                partition = record.source_partition
            offset = record.source_offset
            message: dict[str, Any] = {"value": from_value(topic, record.value_schema, record.value, record.headers)}
            if record.key is not None or record.key_schema is not None:
                message["key"] = from_key(topic, record.key_schema, record.key, record.headers)
            if record.timestamp is not None:
                message["timestamp"] = record.timestamp
            if record.partition is not None:
                message["partition"] = record.partition
            if record.headers:
                message["headers"] = [(header.key, _header(header.value)) for header in record.headers]
            run.append(message)
        self._produce(topic, run)
        self._remember(partition, offset)
        if self._tracks:
            self._confirm(records)

    def _produce(self, topic: str, messages: list[dict[str, Any]]) -> None:
        if topic not in self._topics:
            self._producer.require_topic(topic)
            self._topics.add(topic)
            self._unit.ports.topic_used(self._unit.spec.connector, self._unit.spec.task or 0, topic)
        self._producer.send(topic, messages)

    def _remember(self, partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None) -> None:
        if partition is not None:
            key = orjson.dumps(dict(partition), option=orjson.OPT_SORT_KEYS)
            self._unstored[key] = (partition, offset)

    def _confirm(self, records: list[SourceRecord]) -> None:
        """For tasks that want to hear of each record: wait for the batch, then tell them, in order."""
        if not self._producer.flush(self._flush_s):
            raise ConnectError(f"Kafka did not acknowledge the records within {self._flush_s:.0f} s")
        for record in records:
            self._task.commit_record(record, None)

    def _store_offsets(self, at_end: bool = False) -> None:
        """Wait until all that was sent is acknowledged, then store the offsets that go with it."""
        if not self._unstored:
            return
        if not self._producer.flush(self._flush_s):
            log.log(
                logging.ERROR if at_end else logging.WARNING,
                "Not all records were acknowledged within %.0f s: their offsets are not stored%s",
                self._flush_s,
                ", and they will come again" if at_end else " yet",
            )
            return
        if self._unit.abandoned:
            return
        unstored, self._unstored = self._unstored, {}
        pairs = [(dict(partition), None if offset is None else dict(offset)) for partition, offset in unstored.values()]
        try:
            self._unit.ports.write_offsets(self._unit.spec.connector, pairs, self._flush_s)
        except ConnectError as error:
            self._unstored = {**unstored, **self._unstored}
            log.warning("Storing source offsets failed and is tried again: %s", error)
            return
        self._task.commit()

    def _store_what_is_safe(self) -> None:
        try:
            if not self._unit.abandoned:
                self._store_offsets(at_end=True)
        except Exception as error:  # noqa: BLE001 - the failure that brought us here is the one to report
            log.warning("Source offsets could not be stored: %s", error)


class _Context:
    """What `kconnect.api.task.SourceTaskContext` promises."""

    def __init__(self, properties: dict[str, str], offsets: StoredOffsets) -> None:
        self._properties = properties
        self.offsets = offsets

    def configs(self) -> dict[str, str]:
        return dict(self._properties)


def _header(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return to_text(value).encode()
