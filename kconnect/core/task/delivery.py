"""
The order of steps in which the batches of a source task and their source offsets get to Kafka.

    at least once   produce ► (acknowledged) ► store source offsets
    exactly once    begin ► produce … produce ► source offsets ► commit        (KIP-618)

With at least once, a source offset is stored only after Kafka has acknowledged every record up to it. With exactly once,
records and their source offsets are in one transaction: Kafka gets both or neither. `transactions.py` decides where a
transaction ends. Neither way has a clock, a thread or a client: the caller passes `now`, in seconds of any steady clock, and
everything else comes through `ports.py`. Called by `source_pump.py` only. Read next: that file.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from kconnect.api.record import RecordMetadata, SourceRecord
from kconnect.api.task import TransactionContext
from kconnect.core.metrics.task import SourceMeter
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.errors import Component, Errors, Stage
from kconnect.core.task.ports import (
    DeadLetters,
    Life,
    OffsetStore,
    Producer,
    Refusal,
    SourcePlugin,
    Topics,
    TransactionalProducer,
)
from kconnect.core.task.source_offsets import SourceOffsets
from kconnect.core.task.topic_use import TopicUse
from kconnect.core.task.transactions import End, Part, PollBoundary
from kconnect.errors import ConnectError, DataError

log = logging.getLogger(__name__)

_PRODUCER = Component("the producer", "org.apache.kafka.clients.producer.KafkaProducer")


class Converted(NamedTuple):
    """
    A batch of a source task, or a part of one. A task that hears of each record (`commit_record`) needs `given` and `origins`;
    for others they may be empty.
    """

    messages: Sequence[Outgoing]
    topics: Collection[str]
    """Of the messages."""
    offsets: Sequence[Any]
    """
    Whatever has a `source_partition` and a `source_offset`, in order: all records, or the last of each partition. What was
    dropped on the way counts too.
    """
    given: Sequence[Any] = ()
    """What the task gave, and gets back once that is acknowledged."""
    origins: Sequence[Any] = ()
    """Of each message, the one of `given` that it was made of."""

    def dropped(self) -> list[Any]:
        """Those of `given` that no message was made of, in order."""
        if len(self.given) == len(self.origins):
            return []
        kept = {id(origin) for origin in self.origins}
        return [record for record in self.given if id(record) not in kept]


NOTHING = Converted((), (), ())


class Delivery(Protocol):
    """ConnectError from any call fails the task."""

    @property
    def context(self) -> TransactionContext | None:
        """What the task may ask for, if it is to say where transactions end."""
        ...

    def begin(self, now: float) -> bool:
        """Once, before the task's plugin starts and stored offsets are read. False if the task is to stop before."""
        ...

    def parts(self, records: Sequence[SourceRecord]) -> Iterator[Part]:
        """The batch in pieces, and what ends behind each."""
        ...

    def send(self, parts: Iterable[tuple[Converted, End | None]], now: float) -> None:
        """Hand over what a `poll` gave, in the pieces that `parts` says. They are asked for one by one."""
        ...

    def commit_due(self, now: float) -> None:
        """Between two batches: do what is due."""
        ...

    def rest(self) -> bool:
        """Nothing is sent for now, because the task is paused. False: there is more to do, ask again."""
        ...

    def end(self, failed: bool) -> None:
        """Nothing is sent any more; not called for a task that is abandoned, or whose plugin has not started."""
        ...


@dataclass(frozen=True)
class Ports:
    """
    What both ways need. With `tracks`, the plugin wants to hear of each record. `flush_s` is how long Kafka may take to
    acknowledge what was sent.
    """

    life: Life
    plugin: SourcePlugin
    store: OffsetStore
    topics: Topics
    dead_letters: DeadLetters
    use: TopicUse
    errors: Errors
    meter: SourceMeter
    tracks: bool
    flush_s: float

    def dead_letters_taken(self) -> bool:
        """Whether the dead letter queue has all that was put into it. ConnectError if it refuses something."""
        if self.dead_letters.flush(self.flush_s):
            return True
        log.warning("The dead letter queue did not accept all records within %.0f s: offsets are not stored yet", self.flush_s)
        return False

    def data_only(self, batch: Converted) -> Converted:
        """
        Return the batch without its records for topics that are no data. These have failed: which topic a record goes to may be
        the record's own choice, and must not end the task where failures are tolerated. ConnectError if they are not.
        """
        refusals = {topic: self.topics.refusal(topic) for topic in self.topics.new(batch.topics)}
        refusals = {topic: refusal for topic, refusal in refusals.items() if refusal is not None}
        if not refusals:
            return batch
        if len(batch.origins) != len(batch.messages):
            raise ConnectError(next(iter(refusals.values())))
        kept = []
        for message, origin in zip(batch.messages, batch.origins):
            if message[0] in refusals:
                failure = ConnectError(refusals[message[0]])
                self.errors.handle(Stage.KAFKA_PRODUCE, _PRODUCER, origin, failure)
            else:
                kept.append((message, origin))
        messages, origins = [message for message, _ in kept], [origin for _, origin in kept]
        return batch._replace(messages=messages, origins=origins, topics=set(batch.topics) - refusals.keys())

    def committed(self, record: Any, metadata: RecordMetadata | None) -> None:
        try:
            self.plugin.commit_record(record, metadata)
        except Exception:
            log.exception("The task's commit_record() failed")

    def stored(self) -> None:
        """Source offsets have been stored."""
        try:
            self.plugin.commit()
        except Exception:
            log.exception("The task's commit() failed")


class AtLeastOnce:
    """A `Delivery`. Offsets are stored every `interval_s`, if what was sent is acknowledged by then."""

    context = None

    def __init__(self, ports: Ports, producer: Producer, interval_s: float) -> None:
        self._ports, self._producer, self._interval_s = ports, producer, interval_s
        self._due = 0.0
        self._offsets = SourceOffsets()

    def begin(self, now: float) -> bool:
        self._due = now + self._interval_s
        return True

    def parts(self, records: Sequence[SourceRecord]) -> Iterator[Part]:
        if records:
            yield records, None

    def send(self, parts: Iterable[tuple[Converted, End | None]], now: float) -> None:
        for batch, _ in parts:
            if not self._send(batch):
                log.warning("Stopped while records waited for Kafka: the last %d records come again", len(batch.offsets))
                return

    def _send(self, batch: Converted) -> bool:
        ports = self._ports
        batch = ports.data_only(batch)
        messages = batch.messages
        if ports.tracks:
            for record in batch.dropped():
                ports.committed(record, None)
        new = ports.topics.new(batch.topics)
        if not ports.topics.require(new, self._producer):
            return False
        if ports.tracks or ports.errors.settings.tolerant:
            sent = self._producer.send_reported(messages, batch.origins, self._heard)
        else:
            sent = self._producer.send(messages)
        if not sent:
            return False
        ports.use.sent(batch.topics, messages)
        # Not before the whole batch is handed over: a flush would store the offsets of records that were never sent.
        self._offsets.add(batch.offsets)
        ports.meter.sent(len(messages))
        # Once a topic: it is in use when Kafka has the first record, and a topic that can't be written shows at once.
        if (new or ports.use.pending) and self._producer.flush(ports.flush_s):
            ports.topics.written(new)
            ports.use.stored()
        return True

    def commit_due(self, now: float) -> None:
        self._producer.check()
        if now >= self._due:
            self._store_offsets()
            self._due = now + self._interval_s

    def rest(self) -> bool:
        return not self._offsets or self._store_offsets()

    def end(self, failed: bool) -> None:
        # After a failure too: what was acknowledged before it needs not come again.
        try:
            if not self._store_offsets():
                log.error("The offsets of the last records were not stored: these records come again")
        except Exception as error:  # noqa: BLE001 - a delivery that failed; the task has failed of it already
            log.warning("The source offsets can't be stored: %s", error)

    def _heard(self, record: Any, topic: str, refusal: Refusal | None, metadata: RecordMetadata | None) -> bool:
        ports = self._ports
        if refusal is not None:
            if refusal.fatal or not ports.errors.settings.tolerant:
                return True
            failure = ConnectError(f"The record can't be produced: {refusal.text}")
            ports.errors.handle(Stage.KAFKA_PRODUCE, _PRODUCER, record, failure)
            ports.use.refused(topic)
        if ports.tracks:
            ports.committed(record, metadata)
        return False

    def _store_offsets(self) -> bool:
        """Wait until all that was sent is acknowledged, then store the offsets that go with it. False: not this time."""
        meter, counts = self._ports.meter, bool(self._offsets)
        began = meter.clock()
        stored = self._try_to_store()
        if counts and stored:
            meter.committed(began)
        elif counts:
            meter.commit_failed()
        return stored

    def _try_to_store(self) -> bool:
        ports = self._ports
        if not self._producer.flush(ports.flush_s):
            log.warning("Not all records were acknowledged within %.0f s: offsets are not stored yet", ports.flush_s)
            return False
        ports.use.stored()
        if not ports.dead_letters_taken() or not ports.life.may_work():
            return False
        try:
            if self._offsets:
                ports.store.write(self._offsets.newest(), ports.flush_s)
        except DataError as error:
            # As in Connect: the task goes on, and the offsets are overwritten, or not.
            log.error("The task's offsets can't be stored, so its records come again after a restart: %s", error)
            return False
        except Exception as error:  # noqa: BLE001 - whatever the broker's reason, the next interval may do
            log.warning("The source offsets could not be stored; the task tries again: %s", error)
            return False
        self._offsets.stored()
        ports.stored()
        return True


class ExactlyOnce:
    """A `Delivery`. `offsets_topic` is where the connector's source offsets are, which its task may not write to itself."""

    def __init__(self, ports: Ports, producer: TransactionalProducer, boundary: PollBoundary, offsets_topic: str) -> None:
        self._ports, self._producer = ports, producer
        self._boundary, self._offsets_topic = boundary, offsets_topic
        self.context: TransactionContext | None = boundary.context
        self._offsets = SourceOffsets()
        self._size = 0
        self._given: list[Any] = []
        """What the task is to hear of once it is committed, and where that went; only if it wants to."""
        self._places: dict[int, RecordMetadata] = {}
        self._torn = False
        """Whether a batch was sent in part."""

    def begin(self, now: float) -> bool:
        # Before stored offsets are read: those of a predecessor's last transaction are final then.
        stops = self._ports.life.stops
        return self._producer.begin(stops) and not stops()

    def parts(self, records: Sequence[SourceRecord]) -> Iterator[Part]:
        return self._boundary.parts(records)

    def send(self, parts: Iterable[tuple[Converted, End | None]], now: float) -> None:
        for batch, end in parts:
            if (batch.messages or batch.offsets) and not self._send(batch):
                log.warning("Stopped while records waited for Kafka: the records of the open transaction come again")
                self._torn = True
                return
            self._end(end)
            if self._torn:
                return
        self._end(self._boundary.after_batch(now))

    def commit_due(self, now: float) -> None:
        self._producer.check()
        if self._boundary.due(now):
            self._commit()

    def rest(self) -> bool:
        self._end(self._boundary.at_rest())
        if self._producer.open:
            log.warning(
                "The task has not ended its transaction: the transaction stays open while the task is paused. If the task is "
                "resumed after the producer's transaction.timeout.ms, it fails"
            )
        return True

    def end(self, failed: bool) -> None:
        life = self._ports.life
        try:
            if not failed and not self._torn:
                self._end(self._boundary.at_rest())
            if self._producer.open and not life.cancelled():
                log.info("Aborting the open transaction: its records come again")
                self._producer.abort(life.within(self._ports.flush_s))
        except Exception as error:
            if not failed:
                raise
            # Its producer may be of no use any more; whoever runs the task next ends the transaction.
            log.debug("The open transaction was not aborted: %s", error)

    def _send(self, batch: Converted) -> bool:
        ports = self._ports
        if self._offsets_topic in batch.topics:
            # Else the task would wait for its own transaction: whoever reads stored offsets reads the topic to its end.
            raise ConnectError(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled: "
                f"a record is for the topic {self._offsets_topic}"
            )
        batch = ports.data_only(batch)
        messages = batch.messages
        new = ports.topics.new(batch.topics)
        if not ports.topics.require(new, self._producer):
            return False
        ports.topics.written(new)
        if messages:
            if ports.tracks:
                sent = self._producer.send_reported(messages, batch.origins, self._heard)
            else:
                sent = self._producer.send(messages)
            if not sent:
                return False
        ports.use.sent(batch.topics, messages)
        self._offsets.add(batch.offsets)
        if ports.tracks:
            # Of those that were dropped on the way it hears at the same time, and in the same order.
            self._given += batch.given
        self._size += len(messages)
        ports.meter.sent(len(messages))
        return True

    def _heard(self, record: Any, topic: str, refusal: Refusal | None, metadata: RecordMetadata | None) -> bool:
        if metadata is not None:
            self._places[id(record)] = metadata
        return refusal is not None

    def _end(self, end: End | None) -> None:
        if end is None:
            return
        if end is End.ABORT:
            log.info("Aborting the open transaction, as the task asked: its %d records are dropped", self._size)
            if self._producer.open and not self._producer.abort():
                self._torn = True
                return
            self._size = 0
            self._ports.use.forget()
            self._places.clear()
        self._commit()

    def _commit(self) -> None:
        """Commit what is open, with its offsets, and tell of it. Without any there is nothing to do but to tell the task."""
        ports = self._ports
        if not ports.life.may_work():
            return
        if self._producer.open or self._offsets:
            began = ports.meter.clock()
            try:
                done = self._commit_all()
            except BaseException:
                ports.meter.commit_failed()
                raise
            if not done:
                log.warning(
                    "Stopped while committing a transaction: the task's next instance finds out whether it was committed"
                )
                self._torn = True
                return
            ports.meter.committed(began)
            ports.meter.transaction(self._size)
            ports.use.stored()
        self._size = 0
        given, places = self._given, self._places
        self._given, self._places = [], {}
        for record in given:
            ports.committed(record, places.get(id(record)))
        ports.stored()

    def _commit_all(self) -> bool:
        """False if it gave up."""
        ports = self._ports
        while not ports.dead_letters_taken():
            if ports.life.cancelled():
                return False
        newest = self._offsets.newest()
        entries = ports.store.entries(newest, ports.flush_s)
        stored: list[Outgoing] = [(entry.topic, entry.value, entry.key, -1, None, None, 0, None) for entry in entries]
        if not self._producer.send(stored) or not self._producer.commit():
            return False
        self._offsets.stored()
        ports.store.committed(newest)
        return True
