"""
Exactly once through every crash (KIP-618): records and their source offsets are in one transaction, both or neither.

    begin ► produce … produce ► source offsets ► commit

The `Delivery` of a source task whose worker has `exactly.once.source.support=enabled`. Called by `source_task.py`, from the
task's thread. Where a transaction ends, `core/task/transactions.py` decides. Read next: that file, `kafka/transactions.py`;
for the other way, `at_least_once.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from functools import partial

import confluent_kafka as ck

from kconnect.api.record import RecordMetadata, SourceRecord
from kconnect.api.task import TransactionContext
from kconnect.core.metrics.task import SourceMeter
from kconnect.core.settings.source import SourceSettings
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.source_offsets import SourceOffsets
from kconnect.core.task.transactions import End, IntervalBoundary, PollBoundary, TaskBoundary
from kconnect.errors import ConnectError
from kconnect.kafka import clients
from kconnect.kafka.producer import OnReport
from kconnect.kafka.transactions import TransactionalProducer
from kconnect.units.at_least_once import place_of
from kconnect.units.gate import confirm
from kconnect.units.offsets import OffsetStore
from kconnect.units.source_batches import SourceBatches
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)


class ExactlyOnce:
    """`source_task.Delivery`."""

    def __init__(
        self, unit: Unit, config: dict[str, str], batches: SourceBatches, store: OffsetStore, gives_up: Callable[[], bool]
    ) -> None:
        settings, source = unit.ports.settings, SourceSettings.from_config(config)
        self._unit, self._batches, self._store, self._gives_up = unit, batches, store, gives_up
        self._flush_s = settings.offset_flush_timeout_ms / 1000
        self._offsets_topic = source.offsets_storage_topic or settings.offset_storage_topic
        interval_ms = source.transaction_boundary_interval_ms
        if interval_ms is None:
            interval_ms = settings.offset_flush_interval_ms
        self._boundary = PollBoundary()
        if source.transaction_boundary == "interval":
            self._boundary = IntervalBoundary(interval_ms / 1000, time.monotonic())
        elif source.transaction_boundary == "connector":
            self._boundary = TaskBoundary()
        self.transactions: TransactionContext | None = self._boundary.context
        longest_ms = interval_ms if source.transaction_boundary == "interval" else 0
        client = clients.transactional_producer(
            settings, unit.spec.connector, unit.spec.task or 0, config, longest_ms
        )
        self._offsets = SourceOffsets()
        self._untold: set[str] = set()
        """Topics that get their first record, as far as anybody was told, by the open transaction."""
        self._size = 0
        self._records: list[SourceRecord] = []
        """What the task is to hear of once it is committed, and where that went; only if it wants to."""
        self._places: dict[int, RecordMetadata] = {}
        self._torn = False
        """Whether a batch was sent in part."""
        self._producer = TransactionalProducer(client, gives_up, unit.may_work, partial(confirm, unit), batches.tracks)
        self.meter: SourceMeter

    @property
    def active(self) -> int:
        return self._producer.active

    def begin(self) -> bool:
        # Before stored offsets are read: those of a predecessor's last transaction are final then.
        stopping = self._unit.stopping.is_set
        return self._producer.begin(stopping) and not stopping()

    def send(self, records: list[SourceRecord]) -> None:
        for part, end in self._boundary.parts(records):
            if part and not self._send(list(part)):
                log.warning("Stopped while records waited for Kafka: those of the open transaction come again")
                self._torn = True
                return
            self._end(end)
            if self._torn:
                return
        self._end(self._boundary.after_batch(time.monotonic()))

    def tend(self) -> None:
        self._producer.check()
        if self._boundary.due(time.monotonic()):
            self._commit()

    def rest(self) -> bool:
        self._end(self._boundary.at_rest())
        if self._producer.open:
            log.warning(
                "The task has not said where its transaction ends: it stays open while the task is paused, and the task fails "
                "when it is resumed later than the producer's transaction.timeout.ms allows"
            )
        return True

    def end(self, failed: bool) -> None:
        try:
            if not failed and not self._torn:
                self._end(self._boundary.at_rest())
            if self._producer.open and not self._gives_up():
                log.info("The open transaction is aborted: its records come again")
                end = time.monotonic() + self._flush_s
                self._producer.abort(lambda: self._unit.abandoned or time.monotonic() > end)
        except Exception as error:
            if not failed:
                raise
            # Its producer may be of no use any more; whoever runs the task next ends the transaction.
            log.debug("The open transaction was not aborted: %s", error)

    def close(self) -> None:
        self._producer.close(abandon=self._unit.abandoned)

    def _send(self, records: list[SourceRecord]) -> bool:
        batches, tracks = self._batches, self._batches.tracks
        # Of those that were dropped on the way it hears at the same time, and in the same order.
        given, messages = batches.messages(records, lambda record: None)
        if self._offsets_topic in batches.used:
            # Else the task would wait for its own transaction: whoever reads stored offsets reads the topic to its end.
            raise ConnectError(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled: "
                f"a record is for the topic {self._offsets_topic}"
            )
        new = batches.topics.new(batches.used)
        if not batches.topics.require(new, self._producer):
            return False
        batches.topics.written(new)
        if messages:
            sent = self._producer.send_reported(self._reported(given, messages)) if tracks else self._producer.send(messages)
            if not sent:
                return False
        self._untold.update(batches.untold(messages))
        self._offsets.add(records)
        if tracks:
            self._records += records
        self._size += len(messages)
        self.meter.sent(len(messages), time.monotonic())
        return True

    def _reported(self, records: list[SourceRecord], messages: list[Outgoing]) -> Iterator[tuple[Outgoing, OnReport]]:
        for record, message in zip(records, messages):

            def report(
                error: ck.KafkaError | None, delivered: ck.Message | None, record: SourceRecord = record
            ) -> ck.KafkaError | None:
                if delivered is not None and error is None:
                    self._places[id(record)] = place_of(delivered)
                return error

            yield message, report

    def _end(self, end: End | None) -> None:
        if end is None:
            return
        if end is End.ABORT:
            log.info("The open transaction is aborted, as the task asks: its %d records are dropped", self._size)
            if self._producer.open and not self._producer.abort():
                self._torn = True
                return
            self._size = 0
            self._untold.clear()
            self._places.clear()
        self._commit()

    def _commit(self) -> None:
        """Commit what is open, with its offsets, and tell of it. Without any there is nothing to do but to tell the task."""
        if not self._unit.may_work():
            return
        began = time.monotonic()
        if self._producer.open or self._offsets:
            try:
                done = self._commit_all()
            except BaseException:
                self.meter.commit_failed(time.monotonic())
                raise
            if not done:
                log.warning("Stopped while a transaction was being committed: whether it is, its successor finds")
                self._torn = True
                return
            now = time.monotonic()
            self.meter.committed(began, now)
            self.meter.transaction(self._size, now)
            self._batches.tell_used(self._untold)
        self._untold.clear()
        self._size = 0
        records, places = self._records, self._places
        self._records, self._places = [], {}
        for record in records:
            self._batches.committed(record, places.get(id(record)))
        self._batches.stored()

    def _commit_all(self) -> bool:
        """False if it gave up."""
        while not self._batches.letters_taken(self._flush_s):
            if self._gives_up():
                return False
        newest = self._offsets.newest()
        entries = self._store.entries(newest, self._flush_s)
        stored: list[Outgoing] = [(entry.topic, entry.value, entry.key, -1, None, None, 0, None) for entry in entries]
        if not self._producer.send(stored) or not self._producer.commit():
            return False
        self._offsets.stored()
        self._store.committed(newest)
        return True
