"""
A source connector's own offset topic: which it is, on which Kafka cluster, and how requests read and write it.

A connector has one if it asks for it (`offsets.storage.topic`), or if it is to be exactly-once and its producer writes to
another Kafka cluster than the worker, for a transaction can't reach further. The topic is always on the cluster of the
connector's producer. Tasks get at it by way of `units/offsets.py`; requests of REST by `read` and `write`, called by
`worker/brokers.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from kconnect.core.settings.source import OFFSETS_STORAGE_TOPIC
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, LogRecord, SourceOffset, Topic
from kconnect.errors import ConnectError, RequestTimeoutError
from kconnect.kafka import clients
from kconnect.kafka.admin import Admin, InternalTopic
from kconnect.kafka.clients import Client
from kconnect.kafka.log import Batch, LogReader, LogWriter

log = logging.getLogger(__name__)

TRANSACTION: Mapping[str, int] = {"transaction.timeout.ms": 10_000, "socket.timeout.ms": 10_000}
"""No client is made whose requests may take longer than its transactions."""
MOST_BYTES = 2**30
"""What the offsets of a topic may take in memory, in a request or in a host: a million of them."""
_OF_EACH, _OF_PART = 300, 100
"""What one offset takes in Python beside its bytes, and what each part of its JSON does: up to 24 times its bytes."""
AT_ONCE = 100
_STEP_S = 10.0
AWAY_S = 60.0
"""How long a cluster may say nothing before a task fails of it; one that waited for ever would look as if it ran."""


@dataclass(frozen=True)
class OwnTopic:
    """The offsets topic of a connector's own, and the settings of the clients that get there."""

    topic: str
    producer: Client
    consumer: Client
    admin: Client

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for connectors that reach the same topic, as the same users."""
        parts: list[object] = [self.topic]
        for client in (self.producer, self.consumer, self.admin):
            plain = [(name, value) for name, value in client.items() if isinstance(value, str | int | float)]
            parts.append(frozenset(item for item in plain if item[0] != "client.id"))
        return tuple(parts)


def of(settings: WorkerSettings, connector: str, config: Mapping[str, str | None]) -> OwnTopic | None:
    """
    Return the connector's own offset topic, or None if its offsets are in the worker's topic alone. `config` has its references
    resolved. ConfigError if it names another of the worker's internal topics.
    """
    named = OFFSETS_STORAGE_TOPIC.read(config)
    if not named and not settings.exactly_once_enabled:
        return None
    topic = named or settings.offset_storage_topic
    if topic != settings.offset_storage_topic:
        settings.internal_topics.require_data(OFFSETS_STORAGE_TOPIC.key.name, topic)
    reached = clients.offsets(settings, connector, config)
    if topic == settings.offset_storage_topic and not reached.elsewhere:
        return None
    return OwnTopic(topic, reached.producer, reached.consumer, reached.admin)


def ensure(own: OwnTopic, settings: WorkerSettings, cancelled: Callable[[], bool], limit_s: float = AWAY_S) -> None:
    """
    Create the topic if it is missing, with the numbers of the worker's, and check that it is compacted.

    ConnectError if it can't be had, if no broker answers for `limit_s` seconds, or once `cancelled()`.
    """
    topic = InternalTopic(
        own.topic,
        "offsets.storage.topic",
        "source connector offsets",
        settings.offset_storage_partitions,
        settings.offset_storage_replication_factor,
        config=settings.topic_settings("offset.storage."),
        numbers="offset.storage",
        whose="the connector's config",
    )
    limit = time.monotonic() + limit_s
    while not cancelled():
        try:
            Admin(own.admin, _STEP_S).ensure([topic])
            return
        except ck.KafkaException as error:
            reason = error.args[0].str()
            if time.monotonic() > limit:
                raise ConnectError(
                    f"The offset topic {own.topic} can't be reached: no broker answered at "
                    f"{own.admin.get('bootstrap.servers')} within {limit_s:.0f} s ({reason}). Check the settings of the "
                    "connector's clients (`producer.override.*`, `consumer.override.*`, `admin.override.*`)."
                ) from error
            log.warning("The offset topic %s can't be reached yet: %s", own.topic, reason)
            time.sleep(0.5)
    raise ConnectError(f"Stopped while looking for the offset topic {own.topic}")


def is_the_workers(own: OwnTopic, settings: WorkerSettings) -> bool:
    """Whether this is the worker's topic by other addresses. Asks brokers only where the names don't tell already."""
    if own.topic != settings.offset_storage_topic:
        return False
    return Admin(own.admin, _STEP_S).cluster_id() == Admin(clients.internal(settings, "admin"), _STEP_S).cluster_id()


def read(own: OwnTopic, timeout: float) -> OffsetState:
    """
    All offsets in the topic, by a client made for this; none if it does not exist.

    RequestTimeoutError if its end is not reached within `timeout` seconds, ConnectError if it can't be read, or has more than a
    worker has room for: a config may name any topic, whoever writes to it.
    """
    end, state, room = time.monotonic() + timeout, OffsetState(), Room(own.topic)
    if not _exists(own):
        return state
    reader = LogReader(own.consumer, {Topic.OFFSET: own.topic}, _STEP_S)
    try:
        ends = reader.ends_behind_open(_STEP_S)
        while ends is None or not reader.has_read(ends):
            if time.monotonic() > end:
                raise RequestTimeoutError(f"The offset topic {own.topic} was not read to its end within {timeout:.0f} s")
            for record in reader.read(0.2, AT_ONCE):
                room.apply(state, record)
            # None at first where partitions that were created a moment ago have no leader yet.
            ends = ends or reader.ends_behind_open(_STEP_S)
    finally:
        reader.close()
    return state


class Room:
    """The memory for the offsets of one topic, the latest of each partition. `units/offset_topic.py` has one, too."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._sizes: dict[bytes, int] = {}
        self._size = 0
        self._has_warned = False

    def apply(self, state: OffsetState, record: LogRecord) -> None:
        """Have a record change what is known. ConnectError if there is no room for it, or for all of them, any more."""
        key, size = record.key or b"", _size(record.key or b"") + _size(record.value or b"") + _OF_EACH
        if size > MOST_BYTES:
            raise self._refusal()
        if isinstance(state.apply(record), SourceOffset):
            self._size += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        if self._size > MOST_BYTES:
            raise self._refusal()
        if self._size > MOST_BYTES / 2 and not self._has_warned:
            self._has_warned = True
            text = "The offset topic %s takes more than half of the memory that it may, %d bytes: then it is refused"
            log.warning(text, self._topic, MOST_BYTES)

    def _refusal(self) -> ConnectError:
        return ConnectError(
            f"The offset topic {self._topic} has more offsets than {MOST_BYTES} bytes of memory have room for, so they are "
            "neither shown, altered nor used. Name a topic of offsets alone in offsets.storage.topic, or leave it out: the "
            "worker's topic has copies"
        )


def _size(text: bytes) -> int:
    return len(text) + _OF_PART * sum(text.count(mark) for mark in (b",", b"[", b"{"))


def write(own: OwnTopic, entries: Iterable[Entry], transactional_id: str | None, timeout: float) -> None:
    """
    Write to the topic: in one transaction if an id is given. ConnectError unless all is stored.

    Without an id, some may be stored after an error; to do it again does no harm.
    """
    if transactional_id is None:
        writer = LogWriter(own.producer, {Topic.OFFSET: own.topic}, timeout)
        try:
            writer.write(entries, timeout)
        finally:
            writer.close(0)
        return
    client = {**own.producer, "partitioner": "murmur2_random", "acks": "all", "transactional.id": transactional_id}
    try:
        producer = ck.Producer({**client, **TRANSACTION})
        try:
            _transact(producer, own.topic, entries, timeout)
        finally:
            # As in fencing.py: a client that lives on in a traceback goes on asking, and would fence who repeats the request.
            del producer
    except ck.KafkaException as error:
        text = f"The offset topic {own.topic} was not written in a transaction of {transactional_id}: {error.args[0].str()}"
        raise ConnectError(text) from error


def _transact(producer: ck.Producer, topic: str, entries: Iterable[Entry], timeout: float) -> None:
    batch = Batch({Topic.OFFSET: topic}, {})
    try:
        producer.init_transactions(timeout)
        producer.begin_transaction()
        try:
            batch.produce(producer, entries)
            batch.wait(producer, timeout)
            batch.result()
            producer.commit_transaction(timeout)
        except (ck.KafkaException, ConnectError) as error:
            if isinstance(error, ConnectError) or not error.args[0].fatal():
                # A broker that has not heard of the transaction yet can't end it.
                batch.wait(producer, _STEP_S)
                producer.abort_transaction(_STEP_S)
            raise
    finally:
        del producer


def _exists(topic: OwnTopic) -> bool:
    admin = AdminClient(dict(topic.admin))
    try:
        admin.describe_topics(ck.TopicCollection([topic.topic]), request_timeout=_STEP_S)[topic.topic].result()
    except ck.KafkaException as error:
        cause = error.args[0]
        if cause.code() == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
            return False
        where = f"at {topic.admin.get('bootstrap.servers')}"
        raise ConnectError(f"The offset topic {topic.topic} {where} can't be described: {cause.str()}") from error
    return True
