"""
The topic of the last lines of logs, as its writers and readers see it: bytes in the order in which they came.

Each process of a worker writes its lines there (`processes/shipping.py`), `processes/log_lines.py` reads them for REST. Nothing
depends on them: what Kafka does not take within some seconds is forgotten. The topic keeps half an hour, at most some 64 MB.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import confluent_kafka as ck

from kconnect.errors import ConnectError, NotFoundError
from kconnect.kafka.admin import ensure_topic
from kconnect.kafka.codes import MOVING, sentence
from kconnect.kafka.failures import persistently

_KEPT = {
    "cleanup.policy": "delete",
    "retention.ms": "1800000",
    "retention.bytes": "67108864",
    "segment.ms": "300000",
    "segment.bytes": "8388608",
}
_TIMEOUT_S = 10.0
_TURN_S = 0.5
_MOST_BYTES = 64 << 20


def ensure(client: Mapping[str, Any], topic: str, replication_factor: int, config: Mapping[str, str]) -> None:
    """Create the topic if it is missing. ConnectError if that is refused."""
    remedy = (
        "Check `log.storage.replication.factor` and this worker's rights, create the topic yourself, with one partition and "
        "cleanup.policy=delete, or set `log.storage.topic=` (empty) to do without it."
    )
    ensure_topic(client, topic, 1, replication_factor, remedy, {**_KEPT, **config})


class LinesWriter:
    """Writes lines, from one thread. It returns at once."""

    def __init__(self, client: Mapping[str, Any], topic: str, failed: Callable[[str], object]) -> None:
        """`failed` is told of each line that Kafka does not take, with Kafka's reason."""
        self._topic, self._failed = topic, failed
        self._producer = ck.Producer(
            {
                **client,
                "linger.ms": 100,
                "compression.type": "lz4",
                "message.timeout.ms": int(_TIMEOUT_S * 1000),
                "topic.metadata.propagation.max.ms": 2000,
                "queue.buffering.max.kbytes": 4096,
                "allow.auto.create.topics": False,
                "on_delivery": self._delivered,
            }
        )

    def write(self, line: bytes, at_ms: int) -> None:
        try:
            self._producer.produce(self._topic, line, timestamp=at_ms)
        except (BufferError, ck.KafkaException) as error:
            self._failed(str(error))

    def poll(self) -> None:
        self._producer.poll(0)

    def close(self, timeout: float) -> None:
        """Give what is on its way so many seconds."""
        self._producer.flush(timeout)
        self._producer.purge(blocking=False)

    def _delivered(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is not None:
            self._failed(error.str())


@dataclass(frozen=True)
class Line:
    """`at_ms` is when it was logged, as its writer says."""

    at_ms: int
    value: bytes


@dataclass(frozen=True)
class Page:
    """`next` is the offset to read on from, `more` whether there was something behind it."""

    lines: list[Line]
    next: int
    more: bool


def read(
    client: Mapping[str, Any],
    topic: str,
    since_ms: int | None,
    after: int | None,
    take: Callable[[Line], bool | None],
    most: int,
    limit_s: float,
) -> Page:
    """
    Read the lines that `take` wants, at most so many of them, from an offset on, or else from a time on; or all there are. It
    ends before a line that `take` has no room for (None), and after `limit_s`, however long `take` takes for each.

    Raises:
        NotFoundError: there is no such topic
        ConnectError: no broker answers, or none lets this worker read it
    """
    consumer = ck.Consumer(
        {
            **client,
            "enable.auto.commit": False,
            "allow.auto.create.topics": False,
            "auto.offset.reset": "earliest",
            "queued.max.messages.kbytes": 16384,
        }
    )
    try:
        return _read(consumer, client, topic, since_ms, after, take, most, time.monotonic() + limit_s)
    except ck.KafkaException as error:
        raise ConnectError(f"The topic {topic} can't be read: {sentence(error.args[0])}") from error
    finally:
        consumer.close()


def _read(
    consumer: ck.Consumer,
    client: Mapping[str, Any],
    topic: str,
    since_ms: int | None,
    after: int | None,
    take: Callable[[Line], bool | None],
    most: int,
    end_at: float,
) -> Page:
    def left() -> float:
        return max(_TURN_S, end_at - time.monotonic())

    metadata = consumer.list_topics(topic, timeout=left()).topics[topic]
    if metadata.error is not None:
        if metadata.error.code() == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise NotFoundError(f"There is no topic {topic}, which the lines of logs would be in")
        raise ck.KafkaException(metadata.error)
    # Others that somebody may have given it hold nothing of ours: lines have no key, but their writer has one partition.
    place, what = ck.TopicPartition(topic, 0), f"the topic {topic}"
    low, high = persistently(lambda: consumer.get_watermark_offsets(place, timeout=left()), MOVING, what, client, left())
    start = low if after is None else min(max(after, low), high)
    if after is None and since_ms is not None:
        asked = [ck.TopicPartition(topic, 0, since_ms)]
        [found] = persistently(lambda: consumer.offsets_for_times(asked, timeout=left()), MOVING, what, client, left())
        start = high if found.offset < 0 else min(found.offset, high)
    consumer.assign([ck.TopicPartition(topic, 0, start)])
    lines: list[Line] = []
    size = 0
    is_over = start >= high
    while not is_over:
        for message in consumer.consume(min(500, most - len(lines)), timeout=_TURN_S):
            if (error := message.error()) is not None:
                raise ck.KafkaException(error)
            value = message.value() or b""
            line = Line(message.timestamp()[1], value)
            is_taken = take(line)
            if is_taken is None:
                # The next page begins with it.
                return Page(lines, start, True)
            size += len(value)
            start = (message.offset() or 0) + 1
            if is_taken:
                lines.append(line)
            if time.monotonic() > end_at:
                break
        is_over = start >= high or len(lines) >= most or size >= _MOST_BYTES or time.monotonic() > end_at
    return Page(lines, start, start < high)
