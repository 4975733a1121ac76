"""
Records on their way between a connector and Kafka.

A source task's `poll` returns `SourceRecord`s, and a sink task's `put` takes `SinkRecord`s. Transforms take and return either
kind, and make new ones with `new_record`. Records have slots and are cheap, because there are millions of them. Treat them as
immutable. Read next: `task.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kconnect.data.schema import Schema


class TopicPartition(NamedTuple):
    """A partition of a Kafka topic."""

    topic: str
    partition: int


class OffsetAndMetadata(NamedTuple):
    """A committed position: the offset of the next record to read, and a note that is stored with it."""

    offset: int
    metadata: str = ""


class RecordMetadata(NamedTuple):
    """The place at which Kafka stored a source record."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None = None


class Header(NamedTuple):
    """A header of a record, which may have several with the same key."""

    key: str
    value: Any
    schema: Schema | None = None


class TimestampType(enum.Enum):
    """The meaning of a sink record's timestamp. `str()` returns the text that Connect shows."""

    NO_TIMESTAMP_TYPE = "NoTimestampType"
    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"

    def __str__(self) -> str:
        return self.value


_LISTS = (tuple, list)
_KEEP: Any = object()


class SourceRecord:
    """
    A record for Kafka.

    `source_partition` and `source_offset` are flat maps of text to primitive values. For each source partition, the framework
    stores the offset of the newest record that Kafka has acknowledged. After a restart the task reads it through
    `SourceTaskContext.offsets`. Many records may share one partition map. If `partition` is None, the partitioner chooses.
    `timestamp` is in milliseconds.
    """

    __slots__ = (
        "headers",
        "key",
        "key_schema",
        "partition",
        "source_offset",
        "source_partition",
        "timestamp",
        "topic",
        "value",
        "value_schema",
    )

    def __init__(
        self,
        source_partition: Mapping[str, Any] | None,
        source_offset: Mapping[str, Any] | None,
        topic: str,
        partition: int | None = None,
        key_schema: Schema | None = None,
        key: Any = None,
        value_schema: Schema | None = None,
        value: Any = None,
        timestamp: int | None = None,
        headers: Iterable[Header] = (),
    ) -> None:
        self.source_partition = source_partition
        self.source_offset = source_offset
        self.topic = topic
        self.partition = partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.timestamp = timestamp
        # An iterator could be read once only.
        self.headers = headers if headers.__class__ in _LISTS else tuple(headers or ())

    def new_record(
        self,
        topic: str = _KEEP,
        partition: int | None = _KEEP,
        key_schema: Schema | None = _KEEP,
        key: Any = _KEEP,
        value_schema: Schema | None = _KEEP,
        value: Any = _KEEP,
        timestamp: int | None = _KEEP,
        headers: Iterable[Header] = _KEEP,
    ) -> SourceRecord:
        """A copy with some parts replaced; the source partition and offset always stay the same."""
        return SourceRecord(
            self.source_partition,
            self.source_offset,
            self.topic if topic is _KEEP else topic,
            self.partition if partition is _KEEP else partition,
            self.key_schema if key_schema is _KEEP else key_schema,
            self.key if key is _KEEP else key,
            self.value_schema if value_schema is _KEEP else value_schema,
            self.value if value is _KEEP else value,
            self.timestamp if timestamp is _KEEP else timestamp,
            self.headers if headers is _KEEP else headers,
        )

    def copy(self) -> SourceRecord:
        """Like `new_record` with nothing replaced, but faster."""
        record = SourceRecord.__new__(SourceRecord)
        record.source_partition = self.source_partition
        record.source_offset = self.source_offset
        record.topic = self.topic
        record.partition = self.partition
        record.key_schema = self.key_schema
        record.key = self.key
        record.value_schema = self.value_schema
        record.value = self.value
        record.timestamp = self.timestamp
        record.headers = self.headers
        return record

    def __repr__(self) -> str:
        # Keys and values are left out: they may be secret, and texts of records end up in logs.
        return f"SourceRecord(topic={self.topic!r}, partition={self.partition}, source_offset={self.source_offset})"


class OffsetOnly(SourceRecord):
    """
    Stands for no record: the framework stores its source offset, and calls no transform. For a source task that has come
    further without a record, or has to note something. All that one `poll` returns must be of this class, or nothing. Not in
    Connect.
    """

    __slots__ = ()

    def __init__(self, source_partition: Mapping[str, Any], source_offset: Mapping[str, Any]) -> None:
        super().__init__(source_partition, source_offset, "")


class SinkRecord:
    """
    A record from Kafka.

    Transforms may have changed `topic`, `partition` and `offset`. The `original_*` attributes say where the record really is;
    offsets are committed by them (KIP-793). A value of None is a tombstone.
    """

    __slots__ = (
        "headers",
        "key",
        "key_schema",
        "offset",
        "original_offset",
        "original_partition",
        "original_topic",
        "partition",
        "timestamp",
        "timestamp_type",
        "topic",
        "value",
        "value_schema",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        offset: int,
        timestamp: int | None = None,
        timestamp_type: TimestampType = TimestampType.NO_TIMESTAMP_TYPE,
        headers: Iterable[Header] = (),
        original_topic: str | None = None,
        original_partition: int | None = None,
        original_offset: int | None = None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.offset = offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self.headers = headers
        self.original_topic = topic if original_topic is None else original_topic
        self.original_partition = partition if original_partition is None else original_partition
        self.original_offset = offset if original_offset is None else original_offset

    def new_record(
        self,
        topic: str = _KEEP,
        partition: int = _KEEP,
        key_schema: Schema | None = _KEEP,
        key: Any = _KEEP,
        value_schema: Schema | None = _KEEP,
        value: Any = _KEEP,
        timestamp: int | None = _KEEP,
        headers: Iterable[Header] = _KEEP,
    ) -> SinkRecord:
        """A copy with some parts replaced; the offset and the original coordinates always stay the same."""
        return SinkRecord(
            self.topic if topic is _KEEP else topic,
            self.partition if partition is _KEEP else partition,
            self.key_schema if key_schema is _KEEP else key_schema,
            self.key if key is _KEEP else key,
            self.value_schema if value_schema is _KEEP else value_schema,
            self.value if value is _KEEP else value,
            self.offset,
            self.timestamp if timestamp is _KEEP else timestamp,
            self.timestamp_type,
            self.headers if headers is _KEEP else headers,
            self.original_topic,
            self.original_partition,
            self.original_offset,
        )

    def __repr__(self) -> str:
        return f"SinkRecord(topic={self.topic!r}, partition={self.partition}, offset={self.offset})"
