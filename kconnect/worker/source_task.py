"""
A source task's loop, where a record goes from the connector to Kafka:

    task.poll ► transforms ► convert ► make sure that the topic exists ► produce ► (acknowledged) ► store source offsets

All in lists: what a batch can share is done once for it. At least once through every crash: an offset is stored only after
Kafka has acknowledged every record up to it. Run by `task_unit.py`. Read next: `core/task/chain.py`, `kafka/producer.py`;
for the other direction, `sink_task.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import TypeVar

import confluent_kafka as ck

from kconnect.api.errors import ConnectError, DataError, RetriableError
from kconnect.api.record import RecordMetadata, SourceRecord
from kconnect.api.task import SourceTask
from kconnect.core.state.records import TargetState
from kconnect.core.task.chain import Outgoing, SourceChain
from kconnect.core.task.errors import Component, Stage
from kconnect.core.task.lifecycle import Event
from kconnect.core.task.source_offsets import SourceOffsets
from kconnect.kafka import clients
from kconnect.kafka.producer import OnReport, TaskProducer
from kconnect.worker import converters, logs
from kconnect.worker.connector_unit import StoredOffsets
from kconnect.worker.reports import Reports
from kconnect.worker.transforms import Transforms
from kconnect.worker.unit import Unit

log = logging.getLogger(__name__)

T = TypeVar("T")

_PRODUCER = Component("the producer", "org.apache.kafka.clients.producer.KafkaProducer")
_RETRY_S = 1.0
_IDLE_S = 0.1
"""The pause after a `poll` that gave nothing and did not wait itself: a task must not keep a core busy with nothing."""


class SourceLoop:
    def __init__(self, unit: Unit, task: SourceTask, config: dict[str, str], properties: dict[str, str]) -> None:
        settings, plugins = unit.ports.settings, unit.ports.plugins
        self._unit, self._task, self._properties = unit, task, properties
        self._reports = Reports(unit, config)
        self._errors = self._reports.errors
        self._chain = SourceChain(converters.make(config, settings, plugins), self._errors)
        self._transforms = Transforms(config, plugins, owned=True, worker=settings.raw)
        self._steps = self._transforms.steps
        self._flush_s: float = settings.offset_flush_timeout_ms / 1000
        self._interval_s: float = settings.offset_flush_interval_ms / 1000
        self._shutdown_s: float = settings.task_shutdown_graceful_timeout_ms / 1000
        self._tracks = type(task).commit_record is not SourceTask.commit_record
        client = clients.producer(settings, unit.spec.connector, unit.spec.task or 0, config)
        self._producer = TaskProducer(client, self._gives_up, self._tracks)
        self._offsets = SourceOffsets()
        self._ready_topics: set[str] = set()
        self._give_up_at: float | None = None
        self._lock = threading.Lock()
        self._started = False
        self._stopper: threading.Thread | None = None

    def wake(self) -> None:
        """End a `poll` that is blocked, when the task is to stop. Called from the host's thread."""
        if self._unit.stopping.is_set():
            # In a thread of its own: a plugin whose `stop` hangs must not hold up the host.
            self._stop_task()

    def run(self) -> None:
        unit, task = self._unit, self._task
        if not unit.hold_while_paused():
            return
        try:
            unit.moved(Event.START)
            self._reports.start()
            task.initialize(_Context(self._properties, StoredOffsets(unit)))
            task.start(self._properties)
            with self._lock:
                self._started = True
            unit.moved(Event.STARTED)
            self._poll_until_stopped()
        except BaseException as error:  # noqa: BLE001 - reported: a plugin may raise anything
            unit.fail(error)
        finally:
            # After a failure too: what was acknowledged before it needs not come again.
            self._store_what_is_safe()
            self._stop_task()
            if self._stopper is not None:
                self._stopper.join(self._shutdown_s)
                if self._stopper.is_alive():
                    log.error("The task's stop() has not returned after %.0f s and is left alone", self._shutdown_s)
            self._producer.close(abandon=unit.abandoned)
            self._reports.close(self._flush_s)
            self._transforms.close()

    def _poll_until_stopped(self) -> None:
        unit, stopping = self._unit, self._unit.stopping
        due = time.monotonic() + self._interval_s
        while not stopping.is_set():
            if unit.target is TargetState.STARTED:
                records = self._poll()
                if records and unit.may_work():
                    self._send(records)
                self._producer.check()
            else:
                self._stay_paused()
            if time.monotonic() >= due:
                self._store_offsets()
                due = time.monotonic() + self._interval_s

    def _poll(self) -> list[SourceRecord] | None:
        began = time.monotonic()
        try:
            records = self._task.poll()
        except RetriableError as error:
            log.warning("poll() is tried again: %s", error)
            self._unit.stopping.wait(_RETRY_S)
            return None
        if not records and time.monotonic() - began < _IDLE_S / 10:
            self._unit.stopping.wait(_IDLE_S)
        return records

    def _stay_paused(self) -> None:
        unit = self._unit
        unit.moved(Event.PAUSE)
        # Nothing is sent meanwhile, so what is not stored yet can be, and then there is nothing to do.
        while self._offsets and not self._store_offsets() and not unit.stopping.is_set():
            unit.wait_for(lambda: unit.target is TargetState.STARTED, self._interval_s)
            if unit.target is TargetState.STARTED:
                break
        unit.wait_for(lambda: unit.target is TargetState.STARTED)
        if not unit.stopping.is_set():
            unit.moved(Event.RESUME)

    def _send(self, records: list[SourceRecord]) -> None:
        given, messages = self._messages(records)
        new = [topic for topic in self._chain.topics if topic not in self._ready_topics]
        if not all(self._producer.require_topic(topic) for topic in new):
            sent = False
        elif self._tracks or self._errors.settings.tolerant:
            sent = self._producer.send_reported(self._reported(given, messages))
        else:
            sent = self._producer.send(messages)
        if not sent:
            log.warning("Stopped while records waited for Kafka: the last %d come again", len(records))
            return
        # Not before the whole batch is handed over: a flush would store the offsets of records that were never sent.
        self._offsets.add(records)
        self._unit.records += len(records)
        # Once a topic: it is in use when Kafka has the first record, and a topic that can't be written shows at once.
        if new and self._producer.flush(self._flush_s):
            self._ready_topics.update(new)
            for topic in new:
                self._unit.ports.topic_used(self._unit.spec.connector, self._unit.spec.task or 0, topic)

    def _messages(self, records: list[SourceRecord]) -> tuple[list[SourceRecord], list[Outgoing]]:
        """The messages of a batch, and with each the record that the task gave; what was dropped has none."""
        given, kept = records, records
        if self._steps:
            # The task's own records stay as they are: it gets them back in `commit_record`.
            copies = [record.copy() for record in records]
            given, kept = self._without_dropped(records, self._steps.apply(copies, records, self._errors))
        return self._without_dropped(given, self._chain.apply(kept, given))

    def _without_dropped(self, given: list[SourceRecord], done: list[T | None]) -> tuple[list[SourceRecord], list[T]]:
        kept = [result for result in done if result is not None]
        if len(kept) == len(done):
            return given, kept
        if self._tracks:
            for record, result in zip(given, done):
                if result is None:
                    self._committed(record, None)
        return [record for record, result in zip(given, done) if result is not None], kept

    def _committed(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        try:
            self._task.commit_record(record, metadata)
        except Exception:
            log.exception("The task's commit_record() failed")

    def _reported(self, records: list[SourceRecord], messages: list[Outgoing]) -> Iterator[tuple[Outgoing, OnReport]]:
        for record, message in zip(records, messages):

            def report(
                error: ck.KafkaError | None, delivered: ck.Message | None, record: SourceRecord = record
            ) -> ck.KafkaError | None:
                metadata = None
                if error is not None:
                    if error.fatal() or not self._errors.settings.tolerant:
                        return error
                    failure = ConnectError(f"The record can't be produced: {error.str()}")
                    self._errors.handle(Stage.KAFKA_PRODUCE, _PRODUCER, record, failure)
                elif delivered is not None:
                    place = (delivered.topic() or "", delivered.partition() or 0, delivered.offset() or 0)
                    metadata = RecordMetadata(*place, delivered.timestamp()[1])
                if self._tracks:
                    self._committed(record, metadata)
                return None

            yield message, report

    def _store_offsets(self) -> bool:
        """Wait until all that was sent is acknowledged, then store the offsets that go with it. False: not this time."""
        if not self._producer.flush(self._flush_s):
            log.warning("Not all records were acknowledged within %.0f s: offsets are not stored yet", self._flush_s)
            return False
        if not self._reports.flush(self._flush_s):
            log.warning("The dead letter queue has not taken all within %.0f s: offsets are not stored yet", self._flush_s)
            return False
        if not self._unit.may_work():
            return False
        try:
            if self._offsets:
                self._unit.ports.write_offsets(self._unit.spec.connector, self._offsets.newest(), self._flush_s)
        except DataError as error:
            # As in Connect: the task goes on, and the offsets are overwritten, or not.
            log.error("The task's offsets can't be stored, so its records come again after a restart: %s", error)
            return False
        except Exception as error:  # noqa: BLE001 - whatever the broker's reason, the next interval may do
            log.warning("Storing source offsets failed and is tried again: %s", error)
            return False
        self._offsets.stored()
        try:
            self._task.commit()
        except Exception:
            log.exception("The task's commit() failed")
        return True

    def _store_what_is_safe(self) -> None:
        try:
            if self._started and not self._unit.abandoned and not self._store_offsets():
                log.error("The offsets of the last records are not stored: these records come again")
        except Exception as error:  # noqa: BLE001 - a delivery that failed; the task has failed of it already
            log.warning("Source offsets can't be stored: %s", error)

    def _stop_task(self) -> None:
        """Have `stop` called once, if the task was started."""
        with self._lock:
            if not self._started or self._stopper is not None:
                return
            self._stopper = threading.Thread(target=self._call_stop, name=f"{self._unit.spec.unit} stop", daemon=True)
            self._stopper.start()

    def _call_stop(self) -> None:
        logs.bind(self._unit.spec.connector, self._unit.spec.task)
        try:
            self._task.stop()
        except Exception:
            log.exception("The task's stop() failed")

    def _gives_up(self) -> bool:
        """A stop is orderly as long as Kafka takes what was polled within the limit of a flush."""
        if not self._unit.stopping.is_set():
            return False
        now = time.monotonic()
        if self._give_up_at is None:
            self._give_up_at = now + self._flush_s
        return self._unit.abandoned or now > self._give_up_at


class _Context:
    """What `kconnect.api.task.SourceTaskContext` promises."""

    def __init__(self, properties: dict[str, str], offsets: StoredOffsets) -> None:
        self._properties = properties
        self.offsets = offsets

    def configs(self) -> dict[str, str]:
        return dict(self._properties)
