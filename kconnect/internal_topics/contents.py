"""
What the internal topics hold, with how Kafka keeps them: what `kconnect topics …` works on.

Made by `reading.py` from brokers and by `cli/topics/snapshot.py` from a file. Read next: `meaning.py` for what a record says,
`view.py` for what a worker would read out of all of them, `checking.py` for what it would trip over.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.converters import inference
from kconnect.core.state import assignment_records, records, schema_records
from kconnect.core.state.assignment_records import AssignmentRecord, NewerFormat
from kconnect.core.state.bodies import BadRecord
from kconnect.core.state.records import Broken, ConfigRecord, LogRecord, SourceOffset, StatusRecord, Topic
from kconnect.core.state.schema_records import InferredSchema
from kconnect.errors import DataError

WRITERS_TIME = 1
"""Kafka's number for a timestamp that the writer set, not the broker."""

Decoded = ConfigRecord | StatusRecord | SourceOffset | AssignmentRecord | NewerFormat | InferredSchema | Broken


@dataclass(frozen=True, slots=True)
class Stored:
    """A record as it is stored. `timestamp` is in milliseconds, with Kafka's number for its kind."""

    role: Topic
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int = -1
    timestamp_type: int = 0
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def log(self) -> LogRecord:
        return LogRecord(self.role, self.partition, self.offset, self.key, self.value)

    @property
    def size(self) -> int:
        """About what the record takes in a batch of its own, which is what `max.message.bytes` is compared with."""
        header_size = sum(len(name) + len(value or b"") + 4 for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + header_size + 90


def decode(record: LogRecord) -> Decoded:
    match record.topic:
        case Topic.CONFIG:
            return records.decode_config(record)
        case Topic.STATUS:
            return records.decode_status(record)
        case Topic.OFFSET:
            return records.decode_offset(record)
        case Topic.ASSIGNMENT:
            return assignment_records.decode_assignment(record)
        case Topic.SCHEMAS:
            return _schema(record)


def _schema(record: LogRecord) -> InferredSchema | Broken:
    decoded = schema_records.decode_schema(record)
    if isinstance(decoded, InferredSchema) and decoded.body is not None:
        try:
            inference.of_plain(decoded.body.get("shape"))
        except DataError:
            return Broken.of(record, BadRecord("`shape` is no inferred schema"))
    return decoded


@dataclass(frozen=True)
class TopicFacts:
    """
    A topic as brokers describe it. `settings` are all that are in force, None without the right to see them; `own` names those
    that were set for this topic. `ends` is where what could be read of each partition ended, `open_at` those partitions whose
    end an open transaction hides.
    """

    name: str
    replicas: tuple[int, ...]
    """How many each partition has."""
    in_sync: tuple[int, ...] = ()
    settings: Mapping[str, str] | None = None
    own: frozenset[str] = frozenset()
    ends: Mapping[int, int] = field(default_factory=dict)
    open_at: tuple[int, ...] = ()

    @property
    def partitions(self) -> int:
        return len(self.replicas)

    def setting(self, name: str, otherwise: str = "") -> str:
        return (self.settings or {}).get(name, otherwise)


@dataclass
class Contents:
    """`members` of the workers' group are None where nobody told which group that is; `missing` maps roles to topics' names."""

    topics: dict[Topic, TopicFacts]
    records: list[Stored]
    missing: dict[Topic, str] = field(default_factory=dict)
    brokers: int = 0
    cluster_id: str = ""
    group: str = ""
    members: tuple[str, ...] | None = None
    created_ms: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)

    def of(self, role: Topic) -> list[Stored]:
        return [record for record in self.records if record.role is role]


def in_time(stored: list[Stored]) -> Iterator[Stored]:
    """All of them by their times; those of one partition keep their order, whatever their times say."""
    runs: dict[tuple[Topic, int], list[Stored]] = {}
    for record in stored:
        runs.setdefault((record.role, record.partition), []).append(record)
    return heapq.merge(*runs.values(), key=lambda record: record.timestamp_ms)


def compacted(stored: list[Stored]) -> list[Stored]:
    """
    Return what is left once brokers have compacted all of a topic: the last record of each key in each partition, but for
    tombstones, in the order of the offsets.
    """
    last: dict[tuple[Topic, int, bytes | None], Stored] = {}
    for record in stored:
        place = (record.role, record.partition, record.key)
        last.pop(place, None)
        last[place] = record
    return [record for record in last.values() if record.value is not None]
