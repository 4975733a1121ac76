"""
At least once through every crash: a source offset is stored only after Kafka has acknowledged every record up to it.

    produce ► (acknowledged) ► store source offsets

The `Delivery` of a source task whose worker has no exactly-once support enabled. Called by `source_task.py`, from the task's
thread. Read next: `kafka/producer.py`; for the other way, `exactly_once.py`.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator

import confluent_kafka as ck

from kconnect.api.record import RecordMetadata, SourceRecord
from kconnect.core.metrics.task import SourceMeter
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.errors import Component, Stage
from kconnect.core.task.source_offsets import SourceOffsets
from kconnect.errors import ConnectError, DataError
from kconnect.kafka import clients
from kconnect.kafka.producer import OnReport, TaskProducer
from kconnect.units.offsets import OffsetStore
from kconnect.units.source_batches import SourceBatches
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_PRODUCER = Component("the producer", "org.apache.kafka.clients.producer.KafkaProducer")


class AtLeastOnce:
    """`source_task.Delivery`."""

    transactions = None

    def __init__(
        self, unit: Unit, config: dict[str, str], batches: SourceBatches, store: OffsetStore, gives_up: Callable[[], bool]
    ) -> None:
        settings = unit.ports.settings
        self._unit, self._batches, self._store = unit, batches, store
        self._errors, self._tracks, self._topics = batches.errors, batches.tracks, batches.topics
        self._flush_s = settings.offset_flush_timeout_ms / 1000
        self._interval_s = settings.offset_flush_interval_ms / 1000
        self._due = 0.0
        self._untold: Counter[str] = Counter()
        """How many messages were handed over since the last flush, by topics that nobody was told of."""
        self._dropped: Counter[str] = Counter()
        """Those of any topic that Kafka refused meanwhile, where that is tolerated."""
        self._offsets = SourceOffsets()
        client = clients.producer(settings, unit.spec.connector, unit.spec.task or 0, config)
        self._producer = TaskProducer(client, gives_up, self._tracks)
        self.meter: SourceMeter

    @property
    def active(self) -> int:
        return self._producer.active

    def begin(self) -> bool:
        self._due = time.monotonic() + self._interval_s
        return True

    def send(self, records: list[SourceRecord]) -> None:
        if not records:
            return
        batches = self._batches
        given, messages = batches.messages(records, self._drop)
        new = self._topics.new(batches.used)
        if not self._topics.require(new, self._producer):
            sent = False
        elif self._tracks or self._errors.settings.tolerant:
            sent = self._producer.send_reported(self._reported(given, messages))
        else:
            sent = self._producer.send(messages)
        if not sent:
            log.warning("Stopped while records waited for Kafka: the last %d come again", len(records))
            return
        self._untold.update(batches.untold(messages))
        # Not before the whole batch is handed over: a flush would store the offsets of records that were never sent.
        self._offsets.add(records)
        self.meter.sent(len(messages), time.monotonic())
        # Once a topic: it is in use when Kafka has the first record, and a topic that can't be written shows at once.
        if (new or self._untold) and self._producer.flush(self._flush_s):
            self._topics.written(new)
            self._tell_topics()

    def tend(self) -> None:
        self._producer.check()
        if time.monotonic() >= self._due:
            self._store_offsets()
            self._due = time.monotonic() + self._interval_s

    def rest(self) -> bool:
        return not self._offsets or self._store_offsets()

    def end(self, failed: bool) -> None:
        # After a failure too: what was acknowledged before it needs not come again.
        try:
            if not self._store_offsets():
                log.error("The offsets of the last records are not stored: these records come again")
        except Exception as error:  # noqa: BLE001 - a delivery that failed; the task has failed of it already
            log.warning("Source offsets can't be stored: %s", error)

    def close(self) -> None:
        self._producer.close(abandon=self._unit.abandoned)

    def _tell_topics(self) -> None:
        """After a flush: topics are in use once Kafka has a record (KIP-558). All of some may have failed, and been dropped."""
        self._batches.tell_used(topic for topic, messages in self._untold.items() if messages > self._dropped[topic])
        self._untold.clear()
        self._dropped.clear()

    def _drop(self, record: SourceRecord) -> None:
        self._batches.committed(record, None)

    def _reported(self, records: list[SourceRecord], messages: list[Outgoing]) -> Iterator[tuple[Outgoing, OnReport]]:
        for record, message in zip(records, messages):

            def report(
                error: ck.KafkaError | None,
                delivered: ck.Message | None,
                record: SourceRecord = record,
                topic: str = message[0],
            ) -> ck.KafkaError | None:
                metadata = None
                if error is not None:
                    if error.fatal() or not self._errors.settings.tolerant:
                        return error
                    failure = ConnectError(f"The record can't be produced: {error.str()}")
                    self._errors.handle(Stage.KAFKA_PRODUCE, _PRODUCER, record, failure)
                    self._dropped[topic] += 1
                elif delivered is not None:
                    metadata = place_of(delivered)
                if self._tracks:
                    self._batches.committed(record, metadata)
                return None

            yield message, report

    def _store_offsets(self) -> bool:
        """Wait until all that was sent is acknowledged, then store the offsets that go with it. False: not this time."""
        began, counts = time.monotonic(), bool(self._offsets)
        stored = self._try_to_store()
        if counts and stored:
            self.meter.committed(began, time.monotonic())
        elif counts:
            self.meter.commit_failed(time.monotonic())
        return stored

    def _try_to_store(self) -> bool:
        if not self._producer.flush(self._flush_s):
            log.warning("Not all records were acknowledged within %.0f s: offsets are not stored yet", self._flush_s)
            return False
        self._tell_topics()
        if not self._batches.letters_taken(self._flush_s) or not self._unit.may_work():
            return False
        try:
            if self._offsets:
                self._store.write(self._offsets.newest(), self._flush_s)
        except DataError as error:
            # As in Connect: the task goes on, and the offsets are overwritten, or not.
            log.error("The task's offsets can't be stored, so its records come again after a restart: %s", error)
            return False
        except Exception as error:  # noqa: BLE001 - whatever the broker's reason, the next interval may do
            log.warning("Storing source offsets failed and is tried again: %s", error)
            return False
        self._offsets.stored()
        self._batches.stored()
        return True


def place_of(delivered: ck.Message) -> RecordMetadata:
    place = (delivered.topic() or "", delivered.partition() or 0, delivered.offset() or 0)
    return RecordMetadata(*place, delivered.timestamp()[1])
