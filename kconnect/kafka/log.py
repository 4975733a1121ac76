"""
The internal topics as a log: read them from the beginning, for ever, and append to them.

`LogReader` is used by a worker, a Spark driver and a task host, each from one thread of its own; `LogWriter` and
`LeaderWriter` by the worker's writing thread and by hosts. What records mean is `core/state/records.py`'s business.
Read next: `worker/loop.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.core.herder.effects import FencedError, LeadRefusedError
from kconnect.core.state.records import Entry, LogRecord, Topic
from kconnect.errors import BadRequestError, ConnectError, RetriableError
from kconnect.kafka import late_ends, liveness, message_headers
from kconnect.kafka.codes import FENCED, FORBIDDEN, sentence
from kconnect.kafka.end_asker import EndAsker
from kconnect.kafka.late_ends import Ends
from kconnect.kafka.liveness import Patience

log = logging.getLogger(__name__)

Place = tuple[Topic, int]

_TRACE, _LONGEST_TRACE = "traceparent", 100
"""The header of W3C's trace context; later versions of its form may be longer than the 55 characters of today."""

_SILENT_S = 10.0
"""After so long without a word a reader looks whether it has missed something; twice in a row, and its client is replaced."""
_PROBE_S = 2.0
_FIRST_S, _AGAIN_S = 5.0, 0.5
"""How long brokers may take to answer a new reader until whoever waits is asked whether it does still, and a pause."""
_LOST = (ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError._LOG_TRUNCATION)
"""The log ends before what has been read of it."""


class LogReader:
    """
    Reads all partitions of `topics` from their beginning, committed records only, and knows when it is at the end.

    The end is told by partition-EOF events: transaction markers take offsets that no record fills, so comparing offsets
    with high watermarks would wait for ever. Not thread-safe.

    A topic that is in `lost` ended before what had been read of it, so it is another one, or has lost records: nothing more of
    it is handed out before somebody has it read from its beginning.

    A client that has gone deaf is replaced, see `liveness.py`.
    """

    def __init__(self, client: Mapping[str, Any], topics: Mapping[Topic, str], timeout: float = 30.0) -> None:
        """RetriableError if no broker answers within `timeout` seconds, ConnectError if a topic is missing."""
        self._roles = {name: role for role, name in topics.items()}
        self._settings = {
            **client,
            # Never a member of a group, and never commits; the client insists on a name.
            "group.id": client.get("group.id", "kconnect-log-reader"),
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            # To begin anew without a word would hide that what was read is no longer there.
            "auto.offset.reset": "error",
            # Each EOF waits for this long; the default of 0.5 s would be paid at every start.
            "fetch.wait.max.ms": 100,
            "fetch.queue.backoff.ms": 10,
            "queued.max.messages.kbytes": 8192,
            "allow.auto.create.topics": False,
        }
        self._consumer = ck.Consumer(self._settings)
        self._positions: dict[Place, int] = {}
        self._ended: set[Place] = set()
        self._reached: dict[Place, int] = {}
        self.lost: set[Topic] = set()
        self.traces = False
        """Whether records come with their trace context, which costs a look at the headers of each."""
        self._partitions = [place for name in self._roles for place in self._partitions_of(name, timeout)]
        self._patience = Patience(_SILENT_S, time.monotonic())
        self._missed = 0
        self._asker = EndAsker(client)
        self._consumer.assign(self._partitions)

    def _partitions_of(self, name: str, timeout: float) -> list[ck.TopicPartition]:
        metadata = self._metadata(name, timeout)
        if metadata.error is not None or not metadata.partitions:
            raise ConnectError(f"The internal topic {name} can't be read: {metadata.error or 'it does not exist'}")
        return [ck.TopicPartition(name, number, ck.OFFSET_BEGINNING) for number in metadata.partitions]

    def begin_again(self, topic: Topic, timeout: float = 5.0) -> None:
        """Read `topic` from its beginning, as it was made anew. Errors as at first: then all is as before the call."""
        name = next(name for name, role in self._roles.items() if role is topic)
        partitions = self._partitions_of(name, timeout)
        self._partitions = [place for place in self._partitions if place.topic != name] + partitions
        self._positions = {place: position for place, position in self._positions.items() if place[0] is not topic}
        self._reached = {place: position for place, position in self._reached.items() if place[0] is not topic}
        self._ended = {place for place in self._ended if place[0] is not topic}
        self.lost.discard(topic)
        # What the client before has fetched of the other one is not handed out any more.
        self._go_on_with(ck.Consumer(self._settings))

    def _metadata(self, name: str, timeout: float) -> Any:
        """
        Return the metadata of a topic. For a moment, the broker that is asked may not know a topic that has just been created.
        """
        end = time.monotonic() + min(timeout, 5.0)
        while True:
            try:
                topic = self._consumer.list_topics(name, timeout=timeout).topics[name]
            except ck.KafkaException as error:
                raise RetriableError(f"No broker answered for the topic {name}: {error.args[0].str()}") from error
            if topic.error is None or time.monotonic() > end:
                return topic
            time.sleep(0.1)

    @property
    def at_end(self) -> bool:
        """Whether every partition has been read to its end at least once."""
        return len(self._positions) == len(self._partitions) and self._ended == self._positions.keys()

    def ends(self, timeout: float = 10.0) -> dict[Place, int] | None:
        """
        Return where the readable part of each partition ends now: before the first transaction that is open. Return None if a
        broker does not answer within `timeout` seconds, or if its answer is less than has been read. Partitions that are `lost`
        are left out.
        """
        return self._ends(self._consumer, timeout)

    def ends_behind_open(self, timeout: float = 10.0) -> dict[Place, int] | None:
        """
        Return the ends behind the transactions that are open: they hide what others have committed after them. Whoever must not
        miss that reads up to here, and so waits until these transactions have ended.
        """
        # Brokers tell a client only of the ends that its isolation level lets it see.
        looker = ck.Consumer({**self._settings, "isolation.level": "read_uncommitted"})
        try:
            return self._ends(looker, timeout)
        finally:
            looker.close()

    def _ends(self, client: ck.Consumer, timeout: float) -> dict[Place, int] | None:
        ends: dict[Place, int] = {}
        for place in self.places():
            try:
                end = self._end(client, place, timeout)
            except ck.KafkaException as error:
                log.debug("The end of %s can't be found: %s", place[0].value, error.args[0].str())
                return None
            if end is None:
                return None
            ends[place] = end
        return ends

    def places(self) -> list[Place]:
        """Return the partitions that are read, without those that are `lost`."""
        places = [(self._roles[partition.topic], partition.partition) for partition in self._partitions]
        return [place for place in places if place[0] not in self.lost]

    def end_of(self, place: Place, timeout: float) -> int | None:
        """
        Return the end of one partition as `ends` does, from any thread; None if it is less than what has been read. Raise
        KafkaException, or RuntimeError after `close`, if it can't be had.
        """
        end = self._asker.end(self._name(place[0]), place[1], timeout)
        if end >= self._positions.get(place, 0):
            return end
        self._asker.doubt()
        return None

    def _end(self, client: ck.Consumer, place: Place, timeout: float) -> int | None:
        partition = ck.TopicPartition(self._name(place[0]), place[1])
        _, high = client.get_watermark_offsets(partition, timeout=timeout, cached=False)
        return high if high >= self._positions.get(place, 0) else None

    def _name(self, role: Topic) -> str:
        return next(name for name, known in self._roles.items() if known is role)

    def has_read(self, ends: Mapping[Place, int]) -> bool:
        return all(self._positions.get(place, 0) >= end for place, end in ends.items())

    def read(self, timeout: float, limit: int = 5000) -> list[LogRecord]:
        """Return up to `limit` records, as soon as there are some; an empty list after `timeout` seconds without any."""
        records: list[LogRecord] = []
        # `consume` alone would wait the whole time for the last of `limit` records; `poll` returns with the first.
        first = self._consumer.poll(timeout)
        if first is not None:
            self._patience.renew(time.monotonic())
            self._missed = 0
        elif self._patience.is_over(time.monotonic()):
            self._look_after_client()
        for message in () if first is None else (first, *self._consumer.consume(limit - 1, timeout=0)):
            error = message.error()
            if error is not None and error.code() in _LOST:
                self.lost.add(self._place(message)[0])
            elif self.lost and self._place(message)[0] in self.lost:
                continue
            elif error is None:
                trace = _trace(message) if self.traces else None
                record = LogRecord(
                    *self._place(message), _offset(message), message.key(), message.value(), message.timestamp()[1], trace
                )
                self._positions[record.topic, record.partition] = record.offset + 1
                records.append(record)
            elif error.code() == ck.KafkaError._PARTITION_EOF:
                place = self._place(message)
                self._positions[place] = self._reached[place] = _offset(message)
                self._ended.add(place)
            elif error.fatal():
                raise ConnectError(f"Reading the internal topics failed: {error.str()}")
            elif error.code() == ck.KafkaError.GROUP_AUTHORIZATION_FAILED:
                # The client asks for the coordinator of a group that it never joins, for which nobody need have rights.
                log.debug("Reading the internal topics: %s", error.str())
            else:
                log.warning("Reading the internal topics: %s", error.str())
        return records

    def _place(self, message: ck.Message) -> Place:
        return _place(self._roles, message)

    def reached(self) -> dict[Place, int]:
        """
        Return where partitions were found to end since the last call.

        That may be past the last record: a transaction's marker takes an offset too, and is never handed out.
        """
        reached, self._reached = self._reached, {}
        return reached

    def close(self) -> None:
        self._consumer.close()
        self._asker.close()

    def _look_after_client(self) -> None:
        ends = self.ends(_PROBE_S)
        # What a transaction holds back is not missed, but replacing the client for it does no harm.
        self._missed = 0 if ends is not None and self.has_read(ends) else self._missed + 1
        self._patience.renew(time.monotonic())
        if self._missed >= 2 and self._replace_client():
            log.warning("A new client now reads the internal topics: the old one received nothing for %.0f s", _SILENT_S)
            self._missed = 0

    def _replace_client(self) -> bool:
        """False if no broker answers a new client either."""
        first = self._partitions[0]
        fresh = liveness.successor(
            lambda: ck.Consumer(self._settings),
            lambda client: client.get_watermark_offsets(first, timeout=_PROBE_S, cached=False),
        )
        if fresh is not None:
            self._go_on_with(fresh)
        return fresh is not None

    def _go_on_with(self, fresh: ck.Consumer) -> None:
        # What the old one had to say is read again from where reading stands.
        old, self._consumer = self._consumer, fresh
        liveness.retire(old)
        fresh.assign([ck.TopicPartition(p.topic, p.partition, self._next(p)) for p in self._partitions])

    def _next(self, partition: ck.TopicPartition) -> int:
        return self._positions.get((self._roles[partition.topic], partition.partition), ck.OFFSET_BEGINNING)


def reader_once_up(client: Mapping[str, Any], topics: Mapping[Topic, str], goes_on: Callable[[], bool]) -> LogReader | None:
    """
    Return a reader, as soon as a broker answers, however long that takes: a process that ended instead would be started again
    and again. None once `goes_on`, which is asked every few seconds, says no. ConnectError if a topic is missing.
    """
    said = False
    while goes_on():
        try:
            return LogReader(client, topics, _FIRST_S)
        except RetriableError as error:
            if not said:
                said = True
                log.warning("%s. This process waits until one does", error)
            time.sleep(_AGAIN_S)
    return None


class LogWriter:
    """
    Appends entries and tells where they went. Thread-safe for `write`, each call waits for its own records only.

    What is not acknowledged after `expires_s` is not sent any more, also if this process was suspended meanwhile.
    """

    _SETTINGS: Mapping[str, Any] = {"acks": "all", "enable.idempotence": True}

    def __init__(self, client: Mapping[str, Any], topics: Mapping[Topic, str], expires_s: float = 30.0) -> None:
        self._topics = dict(topics)
        self._client = {
            **client,
            "message.timeout.ms": int(expires_s * 1000),
            # Java's default partitioner: another one would put keys where no Java worker looks for them.
            "partitioner": "murmur2_random",
            "linger.ms": 0,
            "queue.buffering.max.kbytes": 32768,
            **self._SETTINGS,
        }
        self._producer = ck.Producer(self._client)

    def write(self, entries: Iterable[Entry], timeout: float) -> dict[Place, int]:
        """Append in order; gives the highest offset by partition. ConnectError if not all was acknowledged in time."""
        batch, producer = Batch(self._topics, self._client), self._producer
        try:
            batch.produce(producer, entries)
        except ck.KafkaException as error:
            if error.args[0].code() == ck.KafkaError._FATAL and producer is self._producer:
                # An idempotent producer that lost its place takes nothing any more; a new one does.
                self._producer = ck.Producer(self._client)
            raise ConnectError(f"Writing to the internal topics failed: {error.args[0].str()}") from error
        batch.wait(producer, timeout)
        return batch.result()

    def close(self, timeout: float = 5.0) -> None:
        self._producer.flush(timeout)


class LeaderWriter:
    """
    The leader's writer: each `write` is one transaction of `connect-cluster-<group.id>`.

    Kafka lets one producer of that id live: `fence` ends the one before, and once another leader has fenced this one
    every write raises FencedError, which must not be retried as it stands. So does the write after one whose end may still
    be on its way to the broker, see `late_ends.py`. Not thread-safe.
    """

    def __init__(self, client: Mapping[str, Any], topics: Mapping[Topic, str], transactional_id: str) -> None:
        self._topics = dict(topics)
        self._client = {
            **client,
            "partitioner": "murmur2_random",
            "linger.ms": 0,
            "acks": "all",
            "transactional.id": transactional_id,
            # An open transaction of a dead leader holds every reader until the next leader comes, or for this long.
            "transaction.timeout.ms": 10_000,
            # A coordinator that has vanished is asked for no longer; no client is made with more than its transactions have.
            "socket.timeout.ms": 5_000,
            # Without it a fatal error is raised in the middle of delivery reports, which then fail (confluent-kafka 2.16).
            "error_cb": lambda error: log.debug("Leader's producer: %s", error.str()),
        }
        self._producer: ck.Producer | None = None
        self._ends: Ends | None = None

    def fence(self, timeout: float) -> None:
        """Become the one who writes."""
        self.release()
        producer, ends = self.made()
        try:
            producer.init_transactions(timeout)
        except ck.KafkaException as error:
            text = f"Could not fence the previous leader: {sentence(error.args[0])}"
            if error.args[0].code() in FORBIDDEN:
                name = self._client["transactional.id"]
                remedy = f"Grant the worker's user the operation Write on the transactional id {name}"
                raise LeadRefusedError(f"{text}. {remedy}") from error
            raise ConnectError(text) from error
        self._producer, self._ends = producer, ends

    def made(self) -> tuple[ck.Producer, Ends]:
        """Return a client that has fenced nobody yet."""
        return late_ends.watched(self._client)

    def write(self, entries: Iterable[Entry], timeout: float) -> dict[Place, int]:
        producer, ends = self._producer, self._ends
        if producer is None or ends is None:
            raise FencedError("This worker does not lead")
        batch = Batch(self._topics, self._client)
        try:
            producer.begin_transaction()
            batch.produce(producer, entries)
            batch.wait(producer, timeout)
            written = batch.result()
        except (ck.KafkaException, ConnectError) as error:
            failure = self._failed(producer, ends, error, committing=False)
            # What is too large once is so for ever: no leader can write it.
            raise error if isinstance(error, BadRequestError) else failure from error
        try:
            producer.commit_transaction(timeout)
        except ck.KafkaException as error:
            raise self._failed(producer, ends, error, committing=True) from error
        self._release_if_in_doubt(producer, ends)
        return written

    def release(self) -> None:
        """Give the producer up, so that nothing more is written with it."""
        self._producer = None

    def _release_if_in_doubt(self, producer: ck.Producer, ends: Ends) -> None:
        """
        Release the producer if the end of its transaction is in doubt. What would fence a late end would fence another leader
        too, so the herder decides whether this worker still leads: the next write is refused, and the herder asks who owns the
        partition before it fences.
        """
        if ends.in_doubt(producer):
            log.warning("The end of a transaction had to be sent again: the leader's producer is replaced before the next")
            self._producer = None

    def _failed(self, producer: ck.Producer, ends: Ends, error: Exception, committing: bool) -> ConnectError:
        """Leave no transaction open, and say what is known. Only before the commit began, a fenced write was none."""
        causes = [error.args[0]] if isinstance(error, ck.KafkaException) else []
        if not (causes and causes[0].fatal()):
            try:
                producer.abort_transaction(5)
            except ck.KafkaException as second:
                # It can't be used any more; the next `fence` ends its transaction.
                causes.append(second.args[0])
            self._release_if_in_doubt(producer, ends)
            causes += [] if ends.failure is None else [ends.failure]
        if len(causes) > 1 or (causes and causes[0].fatal()):
            self._producer = None
        # What can't be used any more may have been fenced in a way that the client has another name for (INVALID_TXN_STATE).
        if not committing and any(cause.code() in FENCED or cause.fatal() for cause in causes):
            return FencedError("Another worker now leads the cluster")
        text = causes[0].str() if causes else str(error)
        return ConnectError(
            "Failed to write to config topic; this may be due to a transient error and the request can be safely "
            f"retried: {text}"
        )


class Batch:
    """The records of one write: how many are not acknowledged yet, and where the others went."""

    def __init__(self, topics: Mapping[Topic, str], client: Mapping[str, Any]) -> None:
        self._topics = topics
        self._servers = client.get("bootstrap.servers", "its brokers")
        self._roles = {name: role for role, name in topics.items()}
        self._produced = 0
        # Whichever thread polls the producer gets the reports; appending needs no lock.
        self._reports: list[tuple[ck.KafkaError | None, Place, int]] = []

    @property
    def open(self) -> int:
        return self._produced - len(self._reports)

    def produce(self, producer: ck.Producer, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._produced += 1
            while True:
                try:
                    producer.produce(
                        self._topics[entry.topic],
                        entry.value,
                        entry.key,
                        on_delivery=self._delivered,
                        headers=None if entry.trace is None else [(_TRACE, entry.trace)],
                    )
                    break
                except BufferError:
                    producer.poll(0.05)
                except ck.KafkaException as error:
                    self._produced -= 1
                    if error.args[0].code() != ck.KafkaError.MSG_SIZE_TOO_LARGE:
                        raise
                    raise _too_large(self._topics[entry.topic]) from error
        producer.poll(0)

    def wait(self, producer: ck.Producer, timeout: float) -> None:
        """Wait until all is acknowledged or the time is over. Not by `flush`, which breaks on a fatal error (2.16)."""
        end = time.monotonic() + timeout
        while self.open and time.monotonic() < end:
            producer.poll(0.05)

    def result(self) -> dict[Place, int]:
        offsets: dict[Place, int] = {}
        late = [error for error, *_ in self._reports if error is not None and error.code() == ck.KafkaError._MSG_TIMED_OUT]
        if self.open or late:
            raise ConnectError(
                f"Writing to the internal topics: {self._servers} did not acknowledge it in time. Check that the brokers run, "
                "and that this worker can reach them."
            )
        for error, place, offset in self._reports:
            if error is not None and error.code() == ck.KafkaError.MSG_SIZE_TOO_LARGE:
                raise _too_large(self._topics[place[0]])
            if error is not None:
                raise ConnectError(f"Writing to the internal topics failed: {error.str()}")
            offsets[place] = max(offset, offsets.get(place, -1))
        return offsets

    def _delivered(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        self._reports.append((error, _place(self._roles, message), _offset(message)))


def _too_large(topic: str) -> BadRequestError:
    return BadRequestError(
        f"The record for this request is larger than the internal topic {topic} accepts. Make the config smaller, or raise "
        "`max.message.bytes` of the topic and `max.request.size` of the worker."
    )


def _place(roles: Mapping[str, Topic], message: ck.Message) -> Place:
    topic, partition = message.topic(), message.partition()
    assert topic is not None  # As always, but for an error without a topic.
    # None of what was given up before the brokers were known.
    return roles[topic], -1 if partition is None else partition


def _trace(message: ck.Message) -> bytes | None:
    # Whoever may write to the topic may have named a header as the client can't bear.
    message_headers.mend([message])
    value = dict(message.headers() or ()).get(_TRACE)
    return value if isinstance(value, bytes) and len(value) <= _LONGEST_TRACE else None


def _offset(message: ck.Message) -> int:
    offset = message.offset()
    return -1 if offset is None else offset
