"""
Records of internal topics with the time at which they were written: what a look back needs, and a worker does not.

Called by the commands that tell of a connector's past. It reads what is there now, once; `log.py` is for those who follow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import confluent_kafka as ck

from kconnect.core.state.records import LogRecord, Topic
from kconnect.errors import ConnectError, RetriableError
from kconnect.kafka import codes

_LIMIT_S = 120.0
_TURN_S = 0.5
_AT_ONCE = 5000


class Stamped(NamedTuple):
    """`at_ms` is Kafka's timestamp of the record, in milliseconds since 1970."""

    record: LogRecord
    at_ms: int


def read(
    client: Mapping[str, Any], topics: Mapping[Topic, str], wanted: Callable[[bytes], bool], limit_s: float = _LIMIT_S
) -> list[Stamped]:
    """
    All committed records whose keys are wanted, by time.

    Raises:
        ConnectError: there is no such topic, or it may not be read.
        RetriableError: no broker answers, or not all was read within `limit_s` seconds.
    """
    settings = {
        "group.id": "kconnect-cli",
        **client,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": False,
    }
    roles = {name: role for role, name in topics.items()}
    consumer = ck.Consumer(settings)
    try:
        left = {place for name in roles for place in _partitions(consumer, name, limit_s)}
        consumer.assign([ck.TopicPartition(name, number, ck.OFFSET_BEGINNING) for name, number in sorted(left)])
        found: list[Stamped] = []
        end = time.monotonic() + limit_s
        while left:
            if time.monotonic() > end:
                raise RetriableError(f"The internal topics were not read within {limit_s:.0f} s")
            for message in consumer.consume(_AT_ONCE, timeout=_TURN_S):
                _take(message, roles, wanted, found, left)
        return sorted(found, key=lambda each: (each.at_ms, each.record.topic.value, each.record.partition, each.record.offset))
    finally:
        consumer.close()


def _take(
    message: ck.Message,
    roles: Mapping[str, Topic],
    wanted: Callable[[bytes], bool],
    found: list[Stamped],
    left: set[tuple[str, int]],
) -> None:
    error, topic, partition = message.error(), message.topic(), message.partition()
    if error is not None:
        if error.code() == ck.KafkaError._PARTITION_EOF:
            left.discard((str(topic), int(partition or 0)))
        elif error.code() not in (*codes.AWAY, *codes.MOVING):
            raise ConnectError(f"The internal topic {topic} can't be read: {error.str()}")
        return
    key: Any = message.key()
    if key is not None and wanted(key):
        value: Any = message.value()
        record = LogRecord(roles[str(topic)], int(partition or 0), int(message.offset() or 0), key, value)
        found.append(Stamped(record, int(message.timestamp()[1])))


def _partitions(consumer: ck.Consumer, name: str, limit_s: float) -> list[tuple[str, int]]:
    try:
        metadata = consumer.list_topics(name, timeout=min(limit_s, 30.0)).topics[name]
    except ck.KafkaException as error:
        raise RetriableError(f"No broker told of the topic {name}: {error.args[0].str()}") from error
    if metadata.error is not None or not metadata.partitions:
        raise ConnectError(f"The internal topic {name} can't be read: {metadata.error or 'it does not exist'}")
    return [(name, number) for number in metadata.partitions]
