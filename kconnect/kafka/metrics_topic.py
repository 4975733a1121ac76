"""
The metrics topic as its writers and readers see it: keys and values, none of which matters for long.

Hosts write with `MetricsWriter`, workers read with `MetricsReader`; what is lost is said again with the next report. The
topic keeps ten minutes and is not compacted. Read next: `worker/metrics.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import confluent_kafka as ck

from kconnect.errors import ConnectError
from kconnect.kafka.admin import ensure_topic
from kconnect.kafka.end_asker import EndAsker

log = logging.getLogger(__name__)

_KEPT_MS = 600_000
_TIMEOUT_S = 10.0
_NEW_S = 5.0
_UNHEARD = frozenset(
    (
        ck.KafkaError._MSG_TIMED_OUT,
        ck.KafkaError._TIMED_OUT,
        ck.KafkaError._TRANSPORT,
        ck.KafkaError._ALL_BROKERS_DOWN,
        ck.KafkaError._DESTROY,
        ck.KafkaError._PURGE_QUEUE,
        ck.KafkaError._PURGE_INFLIGHT,
        ck.KafkaError.REQUEST_TIMED_OUT,
        ck.KafkaError.NOT_ENOUGH_REPLICAS,
        ck.KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ck.KafkaError.NOT_LEADER_FOR_PARTITION,
        ck.KafkaError.LEADER_NOT_AVAILABLE,
    )
)
"""What says that a record was not taken since brokers, or their replicas, were out of reach. Anything else is a refusal."""


def ensure(client: Mapping[str, Any], topic: str, replication_factor: int, config: Mapping[str, str]) -> None:
    """Create the topic if it is missing. ConnectError if that is refused."""
    remedy = (
        "Check `metrics.storage.replication.factor` and this worker's rights, or create the topic yourself, with one "
        "partition, cleanup.policy=delete and retention.ms=600000."
    )
    retention = {"cleanup.policy": "delete", "retention.ms": str(_KEPT_MS), "segment.ms": str(_KEPT_MS)}
    ensure_topic(client, topic, 1, replication_factor, remedy, {**retention, **config})


class MetricsWriter:
    """
    `write` and `beat` return at once, from one thread only. What Kafka does not take within some seconds is forgotten.

    A record counts as written once all replicas in sync have it. So a leader that is cut off from the other brokers, and that
    they have replaced, takes none: it answers what it is asked, for it does not know yet. Who is cut off together with it has
    no other sign of that.
    """

    def __init__(self, client: Mapping[str, Any], topic: str) -> None:
        self._topic = topic
        self._complained = False
        self.heard_at = time.monotonic()
        """When a beat was sent last that all replicas have, or that was refused, by the monotonic clock."""
        self._producer = ck.Producer(
            {
                **client,
                "acks": "all",
                "linger.ms": 100,
                # The names of numbers are the same in every record.
                "compression.type": "lz4",
                "message.timeout.ms": int(_TIMEOUT_S * 1000),
                # A topic that was deleted is to be a refusal, and not to be waited for. The worker has made it before.
                "topic.metadata.propagation.max.ms": 2000,
                "queue.buffering.max.kbytes": 8192,
                "on_delivery": self._delivered,
            }
        )

    def beat(self, key: bytes, value: bytes) -> None:
        """Write a record that tells that its writer lives, and note in `heard_at` when it was sent, once it is written."""
        self._write(key, value, on_delivery=partial(self._heard, time.monotonic()))

    def write(self, key: bytes, value: bytes) -> None:
        self._write(key, value)

    def _write(self, key: bytes, value: bytes, **more: Any) -> None:
        try:
            self._producer.produce(self._topic, value, key, **more)
        except BufferError:
            log.debug("Too many reports are waiting for Kafka: one is dropped")
        except ck.KafkaException as error:
            log.debug("A report is dropped: %s", error.args[0].str())
        self._producer.poll(0)

    def close(self) -> None:
        self._producer.purge(blocking=False)

    def _heard(self, sent_at: float, error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is None or error.code() not in _UNHEARD:
            self.heard_at = max(self.heard_at, sent_at)
        self._delivered(error, message)

    def _delivered(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is not None and not self._complained:
            self._complained = True
            text = "Metrics can't be written to the topic %s (logged once): %s"
            log.warning(text, self._topic, error.str())


class MetricsReader:
    """Follows the topic from some minutes ago on. Not thread-safe."""

    def __init__(self, client: Mapping[str, Any], topic: str, back_ms: int) -> None:
        """ConnectError if the topic is missing or no broker answers."""
        self._topic = topic
        self._asker = EndAsker(client)
        self._consumer = ck.Consumer(
            {
                **client,
                # Never a member of a group, and never commits; the client insists on a name.
                "group.id": client.get("group.id", "kconnect-metrics-reader"),
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "queued.max.messages.kbytes": 4096,
                "allow.auto.create.topics": False,
            }
        )
        try:
            metadata = self._find(topic)
            if metadata.error is not None:
                raise ConnectError(f"The topic {topic} can't be read: {metadata.error.str()}")
            since = int(time.time() * 1000) - back_ms
            starts = [ck.TopicPartition(topic, number, since) for number in metadata.partitions]
            self._positions = dict.fromkeys(metadata.partitions, 0)
            self._consumer.assign(self._consumer.offsets_for_times(starts, timeout=_TIMEOUT_S))
        except ck.KafkaException as error:
            raise ConnectError(f"The topic {topic} can't be read: {error.args[0].str()}") from error

    def _find(self, topic: str) -> Any:
        """
        Return the metadata of a topic. For a moment, the broker that is asked may not know a topic that has just been created.
        """
        end = time.monotonic() + _NEW_S
        while True:
            metadata = self._consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
            if metadata.error is None or time.monotonic() > end:
                return metadata
            time.sleep(0.1)

    def read(self, timeout: float) -> list[bytes | None]:
        """The values that have come, as soon as there are some; an empty list after `timeout` seconds without any."""
        try:
            first = self._consumer.poll(timeout)
            messages = () if first is None else (first, *self._consumer.consume(4999, timeout=0))
        except ck.KafkaException as failure:
            raise ConnectError(f"The topic {self._topic} can't be read: {failure.args[0].str()}") from failure
        for message in messages:
            error = message.error()
            if error is not None and error.fatal():
                raise ConnectError(f"The topic {self._topic} can't be read: {error.str()}")
        for message in messages:
            if message.error() is None and (partition := message.partition()) is not None:
                self._positions[partition] = (message.offset() or 0) + 1
        return [message.value() for message in messages if message.error() is None]

    def places(self) -> list[int]:
        return list(self._positions)

    def end_of(self, place: int, timeout: float) -> int | None:
        """
        Return the end of a partition, from any thread. Raise KafkaException, or RuntimeError after `close`, if no broker
        answers.
        """
        return self._asker.end(self._topic, place, timeout)

    def has_read(self, ends: Mapping[int, int]) -> bool:
        return all(self._positions.get(place, 0) >= end for place, end in ends.items())

    def close(self) -> None:
        self._consumer.close()
        self._asker.close()
