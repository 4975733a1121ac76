"""
Some messages of a topic, for `kconnect preview`: read outside of any group, and nothing is committed.

With the consumer's settings that the connector's own tasks would have (`kafka/clients.py`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import confluent_kafka as ck

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import BadRequestError, ConnectError, NotFoundError, RequestTimeoutError, UnavailableError
from kconnect.kafka import clients, message_headers
from kconnect.kafka.codes import MOVING
from kconnect.kafka.failures import persistently

_ANSWER_S = 10.0
_READ_S = 30.0


def messages(
    settings: WorkerSettings,
    config: Mapping[str, str],
    topic: str,
    limit: int,
    partition: int | None = None,
    offset: int | None = None,
    newest: bool = False,
) -> list[ck.Message]:
    """
    The first `limit` messages, or the last, in the order of their timestamps; of one `partition` from `offset` on.

    NotFoundError if there is no such topic or partition, UnavailableError if no broker answers, BadRequestError for an
    internal topic.
    """
    if settings.internal_topics.protects(topic):
        raise BadRequestError(settings.internal_topics.refusal(topic))
    client = clients.apart(clients.consumer(settings, config.get("name") or "preview", 0, config))
    consumer = ck.Consumer(
        {
            **client,
            "client.id": "kconnect-preview",
            "group.id": "kconnect-preview",
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "auto.offset.reset": "error",
        }
    )
    try:
        places = _places(consumer, settings, topic, partition)
        starts, ends = {}, {}
        for place in places:
            extent = partial(_extent, consumer, topic, place, limit, offset, newest)
            starts[place], ends[place] = persistently(extent, MOVING, f"the topic {topic}", client, _ANSWER_S)
        consumer.assign([ck.TopicPartition(topic, place, start) for place, start in starts.items()])
        sampled = _read(consumer, topic, ends, None if newest else limit)
    except ck.KafkaException as error:
        raise ConnectError(f"The topic {topic} can't be read: {error.args[0].str()}") from error
    finally:
        consumer.close()
    message_headers.mend(sampled)
    sampled.sort(key=lambda message: (message.timestamp()[1], message.partition() or 0, message.offset() or 0))
    return sampled[-limit:] if newest else sampled[:limit]


def _places(consumer: ck.Consumer, settings: WorkerSettings, topic: str, partition: int | None) -> list[int]:
    try:
        metadata = consumer.list_topics(topic, timeout=_ANSWER_S).topics[topic]
    except ck.KafkaException as error:
        servers = settings.bootstrap_servers
        raise UnavailableError(f"No broker answers at bootstrap.servers={servers}: {error.args[0].str()}") from error
    if metadata.error is not None:
        raise NotFoundError(f"The topic {topic} can't be read: {metadata.error.str()}")
    if partition is None:
        return sorted(metadata.partitions)
    if partition not in metadata.partitions:
        raise NotFoundError(f"The topic {topic} has no partition {partition}; its last one is {len(metadata.partitions) - 1}")
    return [partition]


def _extent(
    consumer: ck.Consumer, topic: str, partition: int, limit: int, offset: int | None, newest: bool
) -> tuple[int, int | None]:
    """Return where to begin in a partition, and the offset before which to stop, if there is one."""
    if not newest and offset is None:
        return ck.OFFSET_BEGINNING, None
    low, high = consumer.get_watermark_offsets(ck.TopicPartition(topic, partition), timeout=_ANSWER_S)
    if offset is None:
        return int(max(low, high - limit)), int(high)
    if not low <= offset < high:
        extent = f"its offsets are {low} to {high - 1}" if high > low else "it is empty"
        raise NotFoundError(f"{topic}-{partition} has no record at offset {offset}: {extent}")
    return offset, None


def _read(consumer: ck.Consumer, topic: str, ends: Mapping[int, int | None], limit: int | None) -> list[Any]:
    """
    Read until each partition has given `limit` messages, or is at its end: that of `ends`, if it has one there, since records
    may come faster than they are read.
    """
    messages: list[Any] = []
    places, counts = set(ends), dict.fromkeys(ends, 0)
    deadline = time.monotonic() + _READ_S
    while places:
        message = consumer.poll(0.2)
        if message is None:
            if time.monotonic() > deadline:
                raise RequestTimeoutError(f"The topic {topic} could not be read within {_READ_S:.0f} s: check its brokers")
            continue
        error, place = message.error(), message.partition()
        if error is not None and error.code() == ck.KafkaError._PARTITION_EOF:
            places.discard(place)
        elif error is not None:
            raise ConnectError(f"The topic {topic} can't be read: {error.str()}")
        elif place in places:
            end, at = ends[place], message.offset() or 0
            if end is None or at < end:
                messages.append(message)
                counts[place] += 1
            # The last offset before the end may be the mark of a transaction, which is never given.
            if (end is not None and at >= end - 1) or (limit is not None and counts[place] >= limit):
                places.discard(place)
    return messages
