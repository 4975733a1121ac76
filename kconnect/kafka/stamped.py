"""
Records of internal topics with the time at which they were written: what a look back needs, and a worker does not.

Called by the commands that tell of a connector's past. It reads what is there now, once; `log.py` is for those who follow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kconnect.core.state.records import LogRecord, Topic
from kconnect.errors import NotFoundError, RetriableError
from kconnect.kafka.positions import Place
from kconnect.kafka.reader import Reader

_LIMIT_S = 120.0


class Stamped(NamedTuple):
    """`at_ms` is Kafka's timestamp of the record, in milliseconds since 1970."""

    record: LogRecord
    at_ms: int


def read(
    client: Mapping[str, Any], topics: Mapping[Topic, str], is_wanted: Callable[[bytes], bool], limit_s: float = _LIMIT_S
) -> list[Stamped]:
    """
    All committed records whose keys are wanted, by time.

    Raises:
        ConnectError: there is no such topic, it may not be read, or no broker answers.
        RetriableError: not all was read within `limit_s` seconds.
    """
    roles = {name: role for role, name in topics.items()}
    records: list[Stamped] = []
    end = time.monotonic() + limit_s
    with Reader(client) as reader:
        ends = {place: reader.span(place).end for name in topics.values() for place in _places(reader, name)}
        for messages in reader.until(ends):
            if time.monotonic() > end:
                raise RetriableError(f"The internal topics were not read within {limit_s:.0f} s")
            for message in messages:
                key: Any = message.key()
                if key is not None and is_wanted(key):
                    value: Any = message.value()
                    role, number, offset = roles[str(message.topic())], message.partition() or 0, message.offset() or 0
                    records.append(Stamped(LogRecord(role, number, offset, key, value), int(message.timestamp()[1])))
    return sorted(
        records,
        key=lambda stamped: (stamped.at_ms, stamped.record.topic.value, stamped.record.partition, stamped.record.offset),
    )


def _places(reader: Reader, name: str) -> list[Place]:
    numbers = reader.partitions(name)
    if not numbers:
        raise NotFoundError(f"The internal topic {name} does not exist")
    return [Place(name, number) for number in numbers]
