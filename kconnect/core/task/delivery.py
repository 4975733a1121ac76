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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from kconnect.api.record import RecordMetadata
from kconnect.api.task import TransactionContext
from kconnect.core.task.chain import Outgoing, size_of
from kconnect.core.task.converted import Converted, Held, identity
from kconnect.core.task.errors import PRODUCER, Errors, Stage
from kconnect.core.task.meters import SourceMeter
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
from kconnect.core.task.source_offsets import SourceOffsets, beginning, marks
from kconnect.core.task.topic_choices import Refusals, TopicChoices
from kconnect.core.task.topic_use import TopicUse
from kconnect.core.task.transactions import End, Part, PollBoundary
from kconnect.errors import ConnectError, DataError

log = logging.getLogger(__name__)


class Delivery(Protocol):
    """ConnectError from any call fails the task."""

    @property
    def context(self) -> TransactionContext | None:
        """The transactions that the task may control; None unless it says where they end."""
        ...

    def begin(self, now: float) -> bool:
        """Once, before the task's plugin starts and stored offsets are read. False if the task is to stop before."""
        ...

    def parts(self, records: Sequence[Any]) -> Iterator[Part]:
        """The batch in pieces, and what ends behind each."""
        ...

    def send(self, parts: Iterable[tuple[Converted, End | None]], now: float) -> None:
        """Hand over what a `poll` gave, in the pieces that `parts` says. They are asked for one by one."""
        ...

    def commit_due(self, now: float) -> None:
        """Between two batches: do what is due."""
        ...

    def rest(self) -> bool:
        """Send nothing for now, because the task is paused. Return False if there is more to do: call again."""
        ...

    def end(self, failed: bool) -> None:
        """Send nothing any more. Not called for a task that is abandoned, or whose plugin has not started."""
        ...


@dataclass(frozen=True)
class Ports:
    """
    The objects that both ways of delivery need. With `tracks`, the plugin wants to hear of each record. `flush_s` is how long
    Kafka may take to acknowledge what was sent.
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
    left_out: list[Any] = field(default_factory=list)
    """Records whose letters were refused, and whose offsets do not count for that."""
    choices: TopicChoices = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", TopicChoices(self.topics, self.use, self.errors, self.meter.clock))

    def dead_letters_taken(self) -> bool:
        """
        Whether the dead letter queue has all that was put into it, and that counts. ConnectError if it refuses something else.
        """
        try:
            if self.dead_letters.flush(self.flush_s):
                return True
        except ConnectError:
            left_out = {id(record) for record in self.left_out}
            if not left_out or not left_out >= {id(record) for record in self.dead_letters.refused_records() or (None,)}:
                raise
            return True
        self.late("the dead letter queue did not accept all records")
        return False

    def late(self, what: str) -> None:
        """Log, and show, that offsets are not stored yet, since this has taken longer than a flush may."""
        text = f"{what} within {self.flush_s:.0f} s"
        log.warning("Offsets are not stored yet: %s", text)
        self.errors.counts.awaits("storing offsets", text, self.meter.clock())

    def ready(self, batch: Converted, producer: Producer) -> Converted | None:
        """
        Return what of a batch may be sent, with its topics there: it ends before the first record whose topic can't be had, or
        may not be written to where that is not tolerated, with that `failure`. None if the task is to end first.
        """
        batch = self._with_letters(self.without(batch, self.choices.refused(self.topics.new(batch.topics))))
        new = self.topics.new(batch.topics)
        refusals = self.choices.require(batch, new, producer) if new else Refusals({}, {})
        if refusals is None:
            return None
        if refusals.chosen:
            batch = self._with_letters(self.without(batch, refusals.chosen))
        at = next((at for at, message in enumerate(batch.messages) if message[0] in refusals.others), None)
        return batch if at is None else self.before(batch, at, refusals.others[batch.messages[at][0]])

    def _with_letters(self, batch: Converted) -> Converted:
        """
        Wait for the letters of a batch before it is sent: if the queue refuses one, the batch ends before that record, and the
        task fails. Else all that comes before it would come again after each start.
        """
        if len(batch.given) == len(batch.origins):
            return batch
        try:
            if not self.dead_letters.flush(self.flush_s):
                log.warning("The dead letter queue did not accept all records of a batch within %.0f s", self.flush_s)
            return batch
        except ConnectError as failure:
            refused = self.dead_letters.refused_records() or ()
            places = [_place_in(batch.given, record) for record in refused]
            if not places or None in places:
                # Some of these were counted already.
                raise
            self.left_out.extend(refused)
            at = min(place for place in places if place is not None)
            if batch.cut is not None:
                part = batch.without(at)
                if part is None:
                    # What is before it can't be had alone: none of it is sent, and nothing comes twice.
                    raise
                return part._replace(failure=failure)
            counted = at if self.tracks else beginning(batch.given[:at], batch.given[at])
            return batch.before(counted)._replace(failure=failure)

    def without(self, batch: Converted, refusals: Mapping[str, Exception]) -> Converted:
        """
        Return the batch without its records for these topics. These have failed: which topic a record goes to may be the
        record's own choice, and must not end the task where failures are tolerated.
        """
        if not refusals:
            return batch
        first = next(at for at, message in enumerate(batch.messages) if message[0] in refusals)
        if len(batch.origins) != len(batch.messages):
            return self.before(batch, first, refusals[batch.messages[first][0]])
        remaining = []
        for at, (message, origin) in enumerate(zip(batch.messages, batch.origins)):
            if message[0] in refusals:
                try:
                    self.errors.handle(Stage.KAFKA_PRODUCE, PRODUCER, origin, refusals[message[0]])
                except Exception as final:  # noqa: BLE001 - for whoever sends what was before it
                    return self.before(batch, at, final)
            else:
                remaining.append(at)
        return batch.only(remaining)

    def before(self, batch: Converted, count: int, failure: Exception) -> Converted:
        """
        Return the part before message number `count`, with the failure that follows. Raise the failure if that part can't be
        had.
        """
        part = batch.until(count, self.tracks)
        if part is None:
            raise failure
        return part._replace(failure=failure)

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


def _place_in(given: Sequence[Any], record: Any) -> int | None:
    """Return the index of a record among those that a task gave. A record that stands for one of Java has only its number."""
    number = getattr(record, "number", None)
    for at, candidate in enumerate(given):
        if candidate is record or (number is not None and number == getattr(candidate, "number", None)):
            return at
    return None


class AtLeastOnce:
    """A `Delivery`. Offsets are stored every `interval_s`, if what was sent is acknowledged by then."""

    context = None

    def __init__(self, ports: Ports, producer: Producer, interval_s: float) -> None:
        self._ports, self._producer, self._interval_s = ports, producer, interval_s
        self._due = 0.0
        self._held = Held()
        self._offsets = SourceOffsets()
        """Of what was handed over before those of `_held`."""

    def begin(self, now: float) -> bool:
        self._due = now + self._interval_s
        return True

    def parts(self, records: Sequence[Any]) -> Iterator[Part]:
        if records:
            yield records, None

    def send(self, parts: Iterable[tuple[Converted, End | None]], now: float) -> None:
        for batch, _ in parts:
            if not self._send(batch):
                log.warning("Stopped while records waited for Kafka: the last %d records come again", len(batch.offsets))
                return

    def _send(self, batch: Converted) -> bool:
        ports = self._ports
        ready = ports.ready(batch, self._producer)
        if ready is None:
            return False
        batch, messages, new = ready, ready.messages, ports.topics.new(ready.topics)
        # Before it is sent: of what the producer refuses meanwhile, too, the place is to be known. And before the task hears of
        # any record, which it may then change.
        for older in self._held.add(batch._replace(offsets=marks(batch.offsets))):
            self._offsets.add(older.offsets)
        if ports.tracks:
            for record in batch.dropped():
                ports.committed(record, None)
        if ports.tracks or ports.errors.settings.tolerant:
            sent = self._producer.send_reported(messages, batch.origins, self._heard)
        else:
            sent = self._producer.send(messages)
        if not sent:
            # Not all of it was handed over: a flush would store the offsets of records that were never sent.
            self._held.drop()
            return False
        ports.use.sent(batch.topics, messages)
        ports.meter.sent(len(messages), size_of(messages))
        # Once a topic: it is in use when Kafka has the first record, and a topic that can't be written shows at once.
        if (new or ports.use.pending) and self._producer.flush(ports.flush_s):
            ports.topics.written(new)
            ports.use.stored()
        if batch.failure is not None:
            raise batch.failure
        return True

    def _count(self) -> None:
        """Kafka has acknowledged all that was handed over, or will have when the offsets are stored."""
        for batch in self._held:
            self._offsets.add(batch.offsets)
        self._held.clear()

    def _count_before_refusals(self) -> None:
        """
        The same for what comes before the first message that could not be delivered, if any could not. Then the task has
        failed, and goes on there when it is started again; or where offsets were stored last, if that place is not known.
        """
        refused = {identity(refusal.message) for refusal in self._producer.refusals(self._ports.flush_s)}
        if not refused:
            return
        good = self._held.before(refused, self._ports.tracks)
        self._held.clear()
        if good is None:
            self._offsets.stored()
        for batch in good or ():
            self._offsets.add(batch.offsets)

    def commit_due(self, now: float) -> None:
        self._producer.check()
        if now >= self._due:
            self._store_offsets()
            self._due = now + self._interval_s

    def rest(self) -> bool:
        return not (self._offsets or self._held) or self._store_offsets()

    def end(self, failed: bool) -> None:
        # After a failure too: what was acknowledged before it needs not come again.
        try:
            if failed:
                self._count_before_refusals()
            if not self._store_offsets():
                log.error("The offsets of the last records were not stored: these records come again")
        except Exception as error:  # noqa: BLE001 - a delivery that failed; the task has failed of it already
            log.warning("The source offsets can't be stored: %s", error)

    def _heard(self, record: Any, topic: str, refusal: Refusal | None, metadata: RecordMetadata | None) -> bool:
        ports = self._ports
        if refusal is not None:
            if refusal.fatal or not ports.errors.settings.tolerant:
                return True
            if refusal.forbidden and ports.use.has_used(topic):
                # No fault of the record's: the task waits until it may write again.
                return True
            failure = ConnectError(f"The record can't be produced: {refusal.text}")
            ports.errors.handle(Stage.KAFKA_PRODUCE, PRODUCER, record, failure)
            ports.use.refused(topic)
        if ports.tracks:
            ports.committed(record, metadata)
        return False

    def _store_offsets(self) -> bool:
        """Wait until all that was sent is acknowledged, then store the offsets that go with it. False: not this time."""
        meter, counts = self._ports.meter, bool(self._offsets or self._held)
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
            ports.late("Kafka has not acknowledged all records")
            return False
        self._count()
        ports.use.stored()
        if not ports.dead_letters_taken() or not ports.life.may_work():
            return False
        try:
            if self._offsets:
                ports.store.write(self._offsets.newest(), ports.flush_s)
        except DataError as error:
            # As in Connect: the task goes on, and the offsets are overwritten, or not.
            log.error("The task's offsets can't be stored, so its records come again after a restart: %s", error)
            ports.errors.counts.awaits("storing offsets", str(error), ports.meter.clock())
            return False
        except Exception as error:  # noqa: BLE001 - whatever the broker's reason, the next interval may do
            log.warning("The source offsets could not be stored; the task tries again: %s", error)
            ports.errors.counts.awaits("storing offsets", str(error), ports.meter.clock())
            return False
        self._offsets.stored()
        ports.errors.counts.has_come()
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
        self._held: Held | None = Held()
        """What the open transaction has, if that is not too much to keep; a task that says where transactions end sends it."""
        self._torn = False
        """Whether a batch was sent in part."""
        self._sending = False
        """Whether one is being sent."""

    def begin(self, now: float) -> bool:
        # Before stored offsets are read: those of a predecessor's last transaction are final then.
        stops = self._ports.life.stops
        return self._producer.begin(stops) and not stops()

    def parts(self, records: Sequence[Any]) -> Iterator[Part]:
        return self._boundary.parts(records)

    def send(self, parts: Iterable[tuple[Converted, End | None]], now: float) -> None:
        for batch, end in parts:
            sent = self._send(batch) if batch.messages or batch.offsets else batch
            if sent is None:
                log.warning("Stopped while records waited for Kafka: the records of the open transaction come again")
                self._torn = True
                return
            if sent.failure is not None:
                if self.context is None:
                    self._commit()
                raise sent.failure
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
            if failed and self._producer.open and not life.cancelled() and self._is_whole():
                # Whatever keeps it from being committed, the next instance begins where the last transaction ended.
                with suppress(Exception):
                    self._commit()
            if self._producer.open and not life.cancelled():
                good = self._before_refusals() if failed else []
                log.info("Aborting the open transaction: %s come again", "the others of its records" if good else "its records")
                self._abort(good)
        except Exception as error:
            if not failed:
                raise
            # Its producer may be of no use any more; whoever runs the task next ends the transaction.
            log.debug("The open transaction was not aborted: %s", error)

    def _is_whole(self) -> bool:
        """
        Whether what is open is nothing but whole batches, and good: then it was the task's `poll` that has failed, and what it
        gave before need not come again. A task that says where transactions end goes back to the last one.
        """
        if self.context is not None or self._torn or self._sending:
            return False
        try:
            self._producer.check()
            return self._producer.flush(self._ports.flush_s)
        except ConnectError:
            return False

    def _before_refusals(self) -> list[Converted]:
        """Return the batches of the open transaction before the first record that Kafka will never take, if there is one."""
        refusals = self._producer.refusals(self._ports.flush_s) if self.context is None else []
        lasting = {identity(refusal.message) for refusal in refusals if refusal.lasting}
        return (self._held.before(lasting, self._ports.tracks) or []) if lasting and self._held is not None else []

    def _abort(self, good: list[Converted]) -> None:
        """Abort what is open, and commit these of its records."""
        life = self._ports.life
        if not self._producer.abort(life.within(self._ports.flush_s)) or not good:
            return
        try:
            self._commit_again(good)
        except ConnectError:
            # The client may count on the message that was refused, and fail the next transaction for that, too.
            if self._producer.abort(life.within(self._ports.flush_s)):
                self._commit_again(good)

    def _commit_again(self, good: list[Converted]) -> None:
        """Commit these of the records that were aborted: a task that is started again begins at the one that was refused."""
        self._offsets.stored()
        self._ports.use.forget()
        self._size, self._given, self._places, self._held = 0, [], {}, None
        if all(self._send(batch._replace(failure=None)) is not None for batch in good):
            self._commit()

    def _send(self, batch: Converted) -> Converted | None:
        """
        Send a batch. Return the part that was sent: it ends before a record for a topic that is refused. Return None if the
        task ends first.
        """
        ports = self._ports
        if self._offsets_topic in batch.topics:
            # Else the task would wait for its own transaction: whoever reads stored offsets reads the topic to its end.
            refusal = ConnectError(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled: "
                f"a record is for the topic {self._offsets_topic}"
            )
            batch = ports.without(batch, {self._offsets_topic: refusal})
        ready = ports.ready(batch, self._producer)
        if ready is None:
            return None
        batch, messages = ready, ready.messages
        ports.topics.written(ports.topics.new(batch.topics))
        # Before it is sent: of what the producer refuses meanwhile, too, the place is to be known.
        self._hold(batch)
        self._sending = True
        if messages:
            if ports.tracks:
                sent = self._producer.send_reported(messages, batch.origins, self._heard)
            else:
                sent = self._producer.send(messages)
            if not sent:
                return None
        ports.use.sent(batch.topics, messages)
        self._offsets.add(batch.offsets)
        self._sending = False
        if ports.tracks:
            # Of those that were dropped on the way it hears at the same time, and in the same order.
            self._given += batch.given
        self._size += len(messages)
        ports.meter.sent(len(messages), size_of(messages))
        return batch

    def _hold(self, batch: Converted) -> None:
        if self.context is not None or self._held is None:
            return
        # Its offsets as they are now: the task may change them before these records are sent again.
        if self._held.add(batch._replace(offsets=marks(batch.offsets))):
            self._held = None

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
                is_committed = self._commit_all()
            except BaseException:
                ports.meter.commit_failed()
                raise
            if not is_committed:
                log.warning(
                    "Stopped while committing a transaction: the task's next instance finds out whether it was committed"
                )
                self._torn = True
                return
            ports.meter.committed(began)
            ports.meter.transaction(self._size)
            ports.use.stored()
        self._size, self._held = 0, Held()
        records, places = self._given, self._places
        self._given, self._places = [], {}
        for record in records:
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
