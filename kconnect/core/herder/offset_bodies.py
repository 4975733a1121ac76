"""
What a request to alter offsets may say (KIP-875): from JSON's partitions and offsets to those of a source or a sink.

Called by `requests/offsets.py`; refusals are BadRequestErrors in the words of Kafka Connect. Where a partition is named twice,
the last one counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import orjson

from kconnect.api.record import TopicPartition
from kconnect.errors import BadRequestError

TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"

SourcePair = tuple["dict[str, Any] | None", "dict[str, Any] | None"]

_LONG = range(-(2**63), 2**63)


def source_offsets(pairs: Iterable[tuple[Any, Any]]) -> list[SourcePair]:
    """Each partition and offset is None or a flat object that the offset topic can hold."""
    by_partition: dict[bytes, SourcePair] = {}
    for partition, offset in pairs:
        _check_flat(partition)
        _check_flat(offset)
        by_partition[orjson.dumps(partition, option=orjson.OPT_SORT_KEYS)] = (partition, offset)
    return list(by_partition.values())


def sink_offsets(pairs: Iterable[tuple[Any, Any]]) -> dict[TopicPartition, int | None]:
    return {_sink_partition(partition): _sink_offset(offset) for partition, offset in pairs}


def _check_flat(fields: Any) -> None:
    if fields is None:
        return
    if not isinstance(fields, dict):
        raise BadRequestError("Offsets must be specified as a Map: partition and offset are JSON objects, or null")
    for name, value in fields.items():
        if isinstance(value, dict | list):
            kind = "MAP" if isinstance(value, dict) else "ARRAY"
            raise BadRequestError(f"Offsets may only contain primitive types as values, but field {name} contains {kind}")
        if isinstance(value, int) and value not in _LONG:
            raise BadRequestError(f"Offsets may only contain numbers of 64 bits, but field {name} contains a larger one")


def _sink_partition(partition: Any) -> TopicPartition:
    if partition is None:
        raise BadRequestError("The partition for a sink connector offset cannot be null or missing")
    if not isinstance(partition, dict) or not {TOPIC, PARTITION} <= partition.keys():
        raise BadRequestError(f"The partition for a sink connector offset must contain the keys '{TOPIC}' and '{PARTITION}'")
    topic, number = partition[TOPIC], partition[PARTITION]
    if topic is None or isinstance(topic, dict | list):
        raise BadRequestError("Kafka topic names must be valid strings and may not be null")
    if number is None:
        raise BadRequestError("Kafka partitions must be valid numbers and may not be null")
    parsed = _number(number)
    if parsed is None or parsed not in range(2**31):
        raise BadRequestError(
            f"Failed to parse the following Kafka partition value in the provided offsets: '{_shown(number)}'. Partition "
            "values for sink connectors need to be integers."
        )
    return TopicPartition(str(topic), parsed)


def _sink_offset(offset: Any) -> int | None:
    if offset is None:
        return None
    if not isinstance(offset, dict) or OFFSET not in offset:
        raise BadRequestError(f"The offset for a sink connector should either be null or contain the key '{OFFSET}'")
    parsed = _number(offset[OFFSET])
    if parsed is None or parsed not in range(2**63):
        raise BadRequestError(
            f"Failed to parse the following Kafka offset value in the provided offsets: '{_shown(offset[OFFSET])}'. Offset "
            "values for sink connectors need to be integers."
        )
    return parsed


def _number(value: Any) -> int | None:
    """A JSON integer, or its text as Java reads it: nothing around it."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,19}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shown(value: Any) -> str:
    # Not by orjson, to which a number of more than 64 bits is no number.
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
