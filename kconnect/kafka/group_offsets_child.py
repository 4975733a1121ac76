"""
The child process of `group_offsets.py`: reads one order from standard input, carries it out, writes one answer.

The order is `{"call": "alter" or "reset", "client", "group", "offsets": [[topic, partition, offset or null]]}`; the answer is
`{}`, or `{"error": text, "in_use": whether the group has members}`. confluent-kafka has no call that deletes the offsets of
single partitions, so librdkafka's own is called, by its public C API.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
import orjson
from confluent_kafka.admin import AdminClient

from kconnect.errors import ConnectError
from kconnect.kafka.codes import STARTING

_LIMIT_S = 30
_CALL_S = 15
_AGAIN = frozenset((*STARTING, ck.KafkaError._TIMED_OUT, ck.KafkaError._TRANSPORT))
_IN_USE = frozenset(
    (
        # Only members may commit to a group that has some.
        ck.KafkaError.UNKNOWN_MEMBER_ID,
        ck.KafkaError.STALE_MEMBER_EPOCH,
        ck.KafkaError.ILLEGAL_GENERATION,
        ck.KafkaError.REBALANCE_IN_PROGRESS,
        ck.KafkaError.NON_EMPTY_GROUP,
        ck.KafkaError.GROUP_SUBSCRIBED_TO_TOPIC,
    )
)


class _RefusedError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # What a library prints must not be read as the answer.
    os.dup2(2, 1)
    order: dict[str, Any] = orjson.loads(sys.stdin.buffer.read())
    client, group = {**order["client"], "log_level": 0}, order["group"]
    answer: dict[str, Any] = {}
    try:
        if order["call"] == "reset":
            _persistently(lambda: _delete_group(client, group))
        else:
            _alter(client, group, order["offsets"])
    except _RefusedError as error:
        answer = {"error": str(error), "in_use": error.code in _IN_USE}
    except (ConnectError, ck.KafkaException) as error:
        answer = {"error": error.args[0].str() if isinstance(error, ck.KafkaException) else str(error)}
    answers.write(orjson.dumps(answer))
    answers.flush()
    # Not by the end of `main`: clients that still wait for a broker would keep the process.
    os._exit(0)


def _alter(client: dict[str, Any], group: str, offsets: list[tuple[str, int, int | None]]) -> None:
    new = [(topic, partition, offset) for topic, partition, offset in offsets if offset is not None]
    to_forget = [(topic, partition) for topic, partition, offset in offsets if offset is None]
    if new:
        # A broker commits what it knows and refuses the rest: all of it is to be known before anything is changed.
        _require(client, [(topic, partition) for topic, partition, _ in new])
    # Kafka has no call that does both. To forget needs a right of its own, so it goes first: refused, it has changed nothing.
    if to_forget:
        _persistently(lambda: _forget(client, group, to_forget))
    if new:
        try:
            _persistently(lambda: _commit(client, group, new))
        except _RefusedError as error:
            if not to_forget:
                raise
            places = ", ".join(f"{topic}-{partition}" for topic, partition in to_forget)
            text = f"{error}. The offsets of {places} are reset, no other is altered; the request can be repeated safely"
            raise _RefusedError(error.code, text) from error


def _persistently(work: Callable[[], None]) -> None:
    """A coordinator that is just starting says so; others are asked again as well."""
    end = time.monotonic() + _LIMIT_S
    while True:
        try:
            work()
            return
        except _RefusedError as error:
            if error.code not in _AGAIN or time.monotonic() > end:
                raise
        time.sleep(0.2)


def _require(client: dict[str, Any], places: list[tuple[str, int]]) -> None:
    # All topics, for asking about one by name may create it.
    topics = AdminClient(client).list_topics(timeout=_CALL_S).topics
    for topic, partition in places:
        if topic not in topics or topics[topic].error is not None:
            raise ConnectError(f"there is no topic {topic}")
        if partition not in topics[topic].partitions:
            raise ConnectError(f"the topic {topic} has no partition {partition}")


def _commit(client: dict[str, Any], group: str, offsets: list[tuple[str, int, int]]) -> None:
    request = ck.ConsumerGroupTopicPartitions(group, [ck.TopicPartition(*place) for place in offsets])
    try:
        admin = AdminClient(client)  # Kept until it has answered: what it is asked ends with it.
        answered = admin.alter_consumer_group_offsets([request], request_timeout=_CALL_S)[group].result()
    except ck.KafkaException as error:
        raise _RefusedError(error.args[0].code(), error.args[0].str()) from error
    for place in answered.topic_partitions:
        if place.error is not None:
            raise _RefusedError(place.error.code(), f"{place.topic}-{place.partition}: {place.error.str()}")


def _delete_group(client: dict[str, Any], group: str) -> None:
    try:
        admin = AdminClient(client)
        admin.delete_consumer_groups([group], request_timeout=_CALL_S)[group].result()
    except ck.KafkaException as error:
        if error.args[0].code() != ck.KafkaError.GROUP_ID_NOT_FOUND:
            raise _RefusedError(error.args[0].code(), error.args[0].str()) from error


# -- librdkafka's C API -----------------------------------------------------------------------------------------------


class _Partition(ctypes.Structure):
    """`rd_kafka_topic_partition_t`."""

    _fields_ = (
        ("topic", ctypes.c_char_p),
        ("partition", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("metadata", ctypes.c_void_p),
        ("metadata_size", ctypes.c_size_t),
        ("opaque", ctypes.c_void_p),
        ("err", ctypes.c_int),
        ("private", ctypes.c_void_p),
    )


class _Partitions(ctypes.Structure):
    """`rd_kafka_topic_partition_list_t`."""

    _fields_ = (("count", ctypes.c_int), ("size", ctypes.c_int), ("elements", ctypes.POINTER(_Partition)))


def _forget(client: dict[str, Any], group: str, places: list[tuple[str, int]]) -> None:
    """Delete the offsets of these partitions. Nothing is given back to the C library: the process ends in a moment."""
    call, pointer = _library, ctypes.c_void_p
    text = ctypes.create_string_buffer(512)
    settings = call("rd_kafka_conf_new")
    for name, value in client.items():
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        if call("rd_kafka_conf_set", settings, name.encode(), shown.encode(), text, ctypes.c_size_t(512), gives=ctypes.c_int):
            raise ConnectError(text.value.decode("utf-8", "replace"))
    producer = 0  # RD_KAFKA_PRODUCER: any client will do, and this one joins nothing.
    handle = call("rd_kafka_new", ctypes.c_int(producer), settings, text, ctypes.c_size_t(512))
    if not handle.value:
        raise ConnectError(text.value.decode("utf-8", "replace"))
    partitions = call("rd_kafka_topic_partition_list_new", ctypes.c_int(len(places)))
    for topic, partition in places:
        call("rd_kafka_topic_partition_list_add", partitions, topic.encode(), ctypes.c_int32(partition))
    requests = (pointer * 1)(call("rd_kafka_DeleteConsumerGroupOffsets_new", group.encode(), partitions))
    queue = call("rd_kafka_queue_new", handle)
    call("rd_kafka_DeleteConsumerGroupOffsets", handle, requests, ctypes.c_size_t(1), None, queue, gives=None)
    event = call("rd_kafka_queue_poll", queue, ctypes.c_int(_CALL_S * 1000))
    if not event.value:
        raise _RefusedError(ck.KafkaError._TIMED_OUT, f"No broker answered for the group {group} within {_CALL_S} s")
    code = call("rd_kafka_event_error", event, gives=ctypes.c_int)
    if code == ck.KafkaError.GROUP_ID_NOT_FOUND:
        return
    if code:
        raise _RefusedError(code, _decoded(call("rd_kafka_event_error_string", event, gives=ctypes.c_char_p)))
    result = call("rd_kafka_event_DeleteConsumerGroupOffsets_result", event)
    count = ctypes.c_size_t()
    groups = call(
        "rd_kafka_DeleteConsumerGroupOffsets_result_groups", result, ctypes.byref(count), gives=ctypes.POINTER(pointer)
    )
    error = call("rd_kafka_group_result_error", pointer(groups[0]))
    if error.value:
        code = call("rd_kafka_error_code", error, gives=ctypes.c_int)
        if code != ck.KafkaError.GROUP_ID_NOT_FOUND:
            raise _RefusedError(code, _decoded(call("rd_kafka_error_string", error, gives=ctypes.c_char_p)))
        return
    answered = call("rd_kafka_group_result_partitions", pointer(groups[0]), gives=ctypes.POINTER(_Partitions)).contents
    for element in answered.elements[: answered.count]:
        # What is not there needs no forgetting.
        if element.err and element.err != ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise _RefusedError(
                element.err, f"{_decoded(element.topic)}-{element.partition}: {ck.KafkaError(element.err).str()}"
            )


def _library(name: str, *arguments: Any, gives: Any = ctypes.c_void_p) -> Any:
    """Call a function of the librdkafka that confluent-kafka was built with; pointers come as c_void_p."""
    function = getattr(_LOADED, name)
    function.restype = gives
    answer = function(*arguments)
    return ctypes.c_void_p(answer) if gives is ctypes.c_void_p else answer


def _decoded(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", "replace")


# Whatever the extension module is linked with is found by way of it, wherever that library lies.
_LOADED = ctypes.CDLL(ck.cimpl.__file__)


if __name__ == "__main__":
    main()
