"""Partitions and offsets of a request, as Kafka Connect reads them (KIP-875)."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder.offset_bodies import sink_offsets, source_offsets
from kconnect.errors import BadRequestError

T0 = {"kafka_topic": "t", "kafka_partition": 0}


def test_of_a_sink_numbers_may_be_texts_and_the_last_of_a_partition_counts() -> None:
    found = sink_offsets(
        [
            (T0, {"kafka_offset": 5}),
            ({"kafka_topic": "t", "kafka_partition": "1"}, {"kafka_offset": "1000"}),
            ({"kafka_topic": 7, "kafka_partition": 2, "more": 1}, None),
            ({"kafka_partition": "0", "kafka_topic": "t"}, {"kafka_offset": 6}),
        ]
    )
    assert found == {("t", 0): 6, ("t", 1): 1000, ("7", 2): None}


PARTITION = (
    "Failed to parse the following Kafka partition value in the provided offsets: '{}'. Partition values for sink connectors "
    "need to be integers."
)
OFFSET = (
    "Failed to parse the following Kafka offset value in the provided offsets: '{}'. Offset values for sink connectors need to "
    "be integers."
)


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        (None, None, "The partition for a sink connector offset cannot be null or missing"),
        ({}, None, "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"),
        ({**T0, "kafka_topic": None}, None, "Kafka topic names must be valid strings and may not be null"),
        ({**T0, "kafka_partition": None}, None, "Kafka partitions must be valid numbers and may not be null"),
        ({**T0, "kafka_partition": "x"}, None, PARTITION.format("x")),
        ({**T0, "kafka_partition": 1.5}, None, PARTITION.format("1.5")),
        ({**T0, "kafka_partition": True}, None, PARTITION.format("true")),
        ({**T0, "kafka_partition": -1}, None, PARTITION.format("-1")),
        ({**T0, "kafka_partition": 2**31}, None, PARTITION.format(2**31)),
        (T0, {}, "The offset for a sink connector should either be null or contain the key 'kafka_offset'"),
        (T0, {"kafka_offset": "x"}, OFFSET.format("x")),
        (T0, {"kafka_offset": None}, OFFSET.format("null")),
        (T0, {"kafka_offset": " 1"}, OFFSET.format(" 1")),
        (T0, {"kafka_offset": "-1"}, OFFSET.format("-1")),
        (T0, {"kafka_offset": "9223372036854775808"}, OFFSET.format(2**63)),
        (T0, {"kafka_offset": 2**64}, OFFSET.format(2**64)),
        (T0, {"kafka_offset": -(2**64)}, OFFSET.format(-(2**64))),
        ({**T0, "kafka_partition": 10**30}, None, PARTITION.format(10**30)),
    ],
)
def test_of_a_sink_what_can_t_be_meant(partition: Any, offset: Any, text: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        sink_offsets([(T0, {"kafka_offset": 1}), (partition, offset)])
    assert str(refused.value) == text


def test_of_a_source_the_last_of_a_partition_counts_whatever_the_order_of_its_fields() -> None:
    pairs = [({"a": 1, "b": "x"}, {"n": 1}), (None, None), ({"b": "x", "a": 1}, None), ({"a": "1", "b": "x"}, {"n": 3})]
    assert source_offsets(pairs) == [({"b": "x", "a": 1}, None), (None, None), ({"a": "1", "b": "x"}, {"n": 3})]


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        ({"a": 1}, {"n": [1]}, "Offsets may only contain primitive types as values, but field n contains ARRAY"),
        ({"a": {}}, {"n": 1}, "Offsets may only contain primitive types as values, but field a contains MAP"),
        ({"a": 1}, {"n": 2**63}, "Offsets may only contain numbers of 64 bits, but field n contains a larger one"),
        ("a", {"n": 1}, "Offsets must be specified as a Map: partition and offset are JSON objects, or null"),
    ],
)
def test_of_a_source_what_the_offset_topic_can_t_hold(partition: Any, offset: Any, text: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        source_offsets([(partition, offset)])
    assert str(refused.value) == text
