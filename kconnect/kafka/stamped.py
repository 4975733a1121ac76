"""
Records of internal topics with the time at which they were written: what a look back needs, and a worker does not.

Called by who tells of a connector's past: a command, or a process for REST. It reads what is there now, once; `log.py` is for
those who follow.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kconnect.core.state.records import LogRecord, Topic
from kconnect.errors import NotFoundError, RetriableError
from kconnect.kafka.positions import Place
from kconnect.kafka.reader import Reader

_LIMIT_S = 120.0
_MOST_BYTES = 2**28
_BYTES_OF_EACH = 500
"""What a record takes beside its key and value."""
_QUEUED_KB = 8192


class Stamped(NamedTuple):
    """`at_ms` is Kafka's timestamp of the record, in milliseconds since 1970."""

    record: LogRecord
    at_ms: int


def read(
    client: Mapping[str, Any],
    topics: Mapping[Topic, str],
    is_wanted: Callable[[bytes], bool],
    limit_s: float = _LIMIT_S,
    most_bytes: int = _MOST_BYTES,
) -> list[Stamped]:
    """
    All committed records whose keys are wanted, by time; of more than `most_bytes`, the last ones.

    Raises:
        ConnectError: there is no such topic, it may not be read, or no broker answers.
        RetriableError: not all was read within `limit_s` seconds.
    """
    roles = {name: role for role, name in topics.items()}
    newest = _Newest(most_bytes)
    end = time.monotonic() + limit_s
    with Reader({**client, "queued.max.messages.kbytes": _QUEUED_KB}) as reader:
        ends = {place: reader.span(place).end for name in topics.values() for place in _places(reader, name)}
        for messages in reader.until(ends):
            if time.monotonic() > end:
                raise RetriableError(f"The internal topics were not read within {limit_s:.0f} s")
            for message in messages:
                key: Any = message.key()
                if key is not None and is_wanted(key):
                    value: Any = message.value()
                    role, number, offset = roles[str(message.topic())], message.partition() or 0, message.offset() or 0
                    newest.add(Stamped(LogRecord(role, number, offset, key, value), int(message.timestamp()[1])))
    return newest.by_time()


class _Newest:
    """Records of so many bytes: the oldest give way."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self._heap: list[tuple[tuple[int, str, int, int], Stamped]] = []

    def add(self, stamped: Stamped) -> None:
        record = stamped.record
        heapq.heappush(self._heap, ((stamped.at_ms, record.topic.value, record.partition, record.offset), stamped))
        self._left -= _bytes(record)
        while self._left < 0:
            self._left += _bytes(heapq.heappop(self._heap)[1].record)

    def by_time(self) -> list[Stamped]:
        return [stamped for _, stamped in sorted(self._heap)]


def _bytes(record: LogRecord) -> int:
    return _BYTES_OF_EACH + len(record.key or b"") + len(record.value or b"")


def _places(reader: Reader, name: str) -> list[Place]:
    numbers = reader.partitions(name)
    if not numbers:
        raise NotFoundError(f"The internal topic {name} does not exist")
    return [Place(name, number) for number in numbers]
