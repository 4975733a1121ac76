"""
What brokers call topics, and where partitions end, for sinks that keep offsets in their target.

A topic that is deleted and made again has another id, and its offsets begin anew. Asked by `resting.py` for
`SinkTaskContext.topic_ids` and `end_offsets`, as the task's consumer, which may describe what it reads. Read next:
`connectors/identity.py`, which compares.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from kconnect.api.record import TopicPartition

log = logging.getLogger(__name__)

_ANSWER_S = 5.0
_CONNECTION = ("bootstrap.", "security.", "sasl.", "ssl.", "client.", "socket.", "broker.", "reconnect.", "oauth", "log")
"""How the settings begin that say how brokers are reached; a client that is no consumer warns of all others."""
_NONE = frozenset(("", "AAAAAAAAAAAAAAAAAAAAAA"))
"""What brokers before 2.8 say."""


def connection(client: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a consumer's settings by which an admin client reaches the same brokers."""
    return {name: value for name, value in client.items() if name.startswith(_CONNECTION)}


def topic_ids(client: Mapping[str, Any], topics: Collection[str]) -> dict[str, str]:
    """Return the ids of these topics, but of those that nobody tells. `client` are a consumer's settings."""
    if not topics:
        return {}
    admin = AdminClient(connection(client))
    ids = {}
    for topic, future in admin.describe_topics(ck.TopicCollection(sorted(topics)), request_timeout=_ANSWER_S).items():
        try:
            ids[topic] = str(future.result().topic_id)
        except ck.KafkaException as error:
            log.info("The id of the topic %s can't be had: %s", topic, error)
    return {topic: topic_id for topic, topic_id in ids.items() if topic_id not in _NONE}


def end_offsets(consumer: ck.Consumer, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the offsets behind the last records, but of partitions whose brokers don't answer."""
    ends = {}
    for place in partitions:
        try:
            _, end = consumer.get_watermark_offsets(ck.TopicPartition(*place), timeout=_ANSWER_S)
        except ck.KafkaException as error:
            log.info("The end of %s-%d can't be had: %s", *place, error.args[0].str())
            continue
        ends[place] = end
    return ends


def end_offsets_apart(client: Mapping[str, Any], partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the same by a consumer of its own, for a thread that must not wait for the task's. `client` are its settings."""
    if not partitions:
        return {}
    consumer = ck.Consumer(dict(client))
    try:
        return end_offsets(consumer, partitions)
    finally:
        consumer.close()
