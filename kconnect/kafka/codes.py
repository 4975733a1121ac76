"""Groups of Kafka's error codes that several clients tell apart. Used all over this package, for `KafkaError.code()`."""

from __future__ import annotations

from confluent_kafka import KafkaError

AWAY = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._DESTROY_BROKER)
"""No broker answered. The last one is of a request that waited for a broker which the client has learnt is no more."""

FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
"""Another producer has taken the transactional id."""

STARTING = (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR)
"""A coordinator starts or moves: asked again, it answers."""

MOVING = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)
"""
A partition's leader has only just begun, or gone: asked again, it answers. Only errors of transactions know of themselves
whether they are `retriable()` (confluent-kafka 2.16).
"""

LATE = (
    *AWAY,
    *STARTING,
    *MOVING,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
)
"""What took too long would have worked, and does once brokers are back."""

OUT_OF_STEP = (
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    KafkaError.DUPLICATE_SEQUENCE_NUMBER,
    KafkaError.UNKNOWN_PRODUCER_ID,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
    KafkaError.INVALID_TXN_STATE,
    KafkaError._GAPLESS_GUARANTEE,
    KafkaError._FATAL,
)
"""
What a producer has sent and what brokers have of it do not fit together, as after a broker that was away for longer than a
request may take: that client can't go on for good, and a new one can.
"""

TOO_LARGE = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE)

UNTIMELY = KafkaError.INVALID_TIMESTAMP
"""The topic does not take the time of a record (`message.timestamp.before.max.ms`, `message.timestamp.after.max.ms`)."""

TOGETHER = (*TOO_LARGE, UNTIMELY, KafkaError.INVALID_RECORD, KafkaError._INVALID_DIFFERENT_RECORD)
"""What messages are refused for that were in one request, though each of them alone might be taken."""

FINAL = (
    *TOO_LARGE,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._INVALID_ARG,
    KafkaError._BAD_MSG,
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.POLICY_VIOLATION,
)
"""What one message is refused for, whenever it is sent."""

FORBIDDEN = (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
"""The user may not use the transactional id."""

MAY_NOT_WRITE = (KafkaError.TOPIC_AUTHORIZATION_FAILED, *FORBIDDEN)
"""The user may not write to a topic, or at all."""

MAY_NOT_CREATE = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
"""The user may not create a topic."""


def with_place(error: KafkaError, partition: int | None) -> KafkaError:
    """Return the error with the number of the partition, where it is that there is none of this number."""
    if error.code() != KafkaError._UNKNOWN_PARTITION:
        return error
    return KafkaError(error.code(), f"Local: Unknown partition: the topic has no partition {partition}")


def sentence(error: KafkaError) -> str:
    """Return what the error says, without the full stop that brokers put at the end of some texts, and of others not."""
    return error.str().rstrip(". ")
