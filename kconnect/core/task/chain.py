"""
What happens to a batch between a task and Kafka, compiled once a task: stages that take a list and return a list.

Conversion is the stage that is here; the transforms (`steps.py`) come before it (source) or after it (sink). `worker/
source_task.py` and `worker/sink_task.py` build one chain each. The loops here run for every record: each line in them
counts. Read next: `source_offsets.py`, `sink_offsets.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.errors import ConnectError
from kconnect.api.record import Header, SinkRecord, SourceRecord, TimestampType

Outgoing = tuple[str, "bytes | None", "bytes | None", int, None, None, int, "list[tuple[str, bytes | None]] | None"]
"""
A message for Kafka: topic, value, key, partition (-1: the partitioner's choice), two places for callbacks, timestamp
(0: now), headers. That is the order of the client's arguments, so that handing a message over builds nothing new.
"""

_TIMESTAMP_TYPES = (TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)


class SourceChain:
    """From the records of a source task to messages for Kafka."""

    def __init__(self, key: Converter, value: Converter, headers: Callable[[], HeaderConverter]) -> None:
        self._key = key.from_connect_data
        self._value = value.from_connect_data
        self._headers = headers
        self._null_keys: dict[str, bytes | None] = {}

    @property
    def topics(self) -> Collection[str]:
        """All topics that messages were made for."""
        return self._null_keys.keys()

    def apply(self, records: Sequence[SourceRecord]) -> list[Outgoing]:
        """The messages of a batch, one a record. ConnectError, naming the record, if one can't be converted."""
        to_key, to_value = self._key, self._value
        topic: str | None = None
        null_key: bytes | None = None
        messages: list[Outgoing] = []
        append = messages.append
        record = None
        try:
            for record in records:
                # Mostly each record of a task names the very same object.
                if record.topic is not topic:
                    topic = record.topic
                    null_key = self._null_key(topic)
                if record.headers:
                    append(self._with_headers(record))
                    continue
                if record.key is None and record.key_schema is None:
                    key = null_key
                else:
                    key = to_key(topic, record.key_schema, record.key)
                partition = record.partition
                append(
                    (
                        topic,
                        to_value(topic, record.value_schema, record.value),
                        key,
                        -1 if partition is None else partition,
                        None,
                        None,
                        record.timestamp or 0,
                        None,
                    )
                )
        except Exception as error:
            raise _failed(f"converting a record for the topic {topic}", repr(record), error) from error
        return messages

    def _null_key(self, topic: str) -> bytes | None:
        # What a converter makes of no key at all doesn't change from record to record.
        try:
            return self._null_keys[topic]
        except KeyError:
            return self._null_keys.setdefault(topic, self._key(topic, None, None))

    def _with_headers(self, record: SourceRecord) -> Outgoing:
        headers = list(record.headers)
        convert = self._headers().from_connect_header
        packed = [(header.key, convert(record.topic, header.key, header.schema, header.value)) for header in headers]
        return (
            record.topic,
            self._value(record.topic, record.value_schema, record.value, headers),
            self._key(record.topic, record.key_schema, record.key, headers),
            -1 if record.partition is None else record.partition,
            None,
            None,
            record.timestamp or 0,
            packed,
        )


class SinkChain:
    """From Kafka's messages to the records that a sink task takes."""

    def __init__(self, key: Converter, value: Converter, headers: Callable[[], HeaderConverter]) -> None:
        self._key = key.to_connect_data
        self._value = value.to_connect_data
        self._headers = headers
        self._null_keys: dict[str, tuple[Any, Any]] = {}

    @property
    def topics(self) -> Collection[str]:
        """All topics that messages came from."""
        return self._null_keys.keys()

    def apply(self, messages: Sequence[Any]) -> list[SinkRecord]:
        """The records of a batch, one a message. ConnectError, naming the place, if one can't be converted."""
        to_key, to_value = self._key, self._value
        make, types = SinkRecord, _TIMESTAMP_TYPES
        topic = ""
        records: list[SinkRecord] = []
        append = records.append
        message = None
        try:
            for message in messages:
                if message.topic() != topic:
                    topic = message.topic()
                    null_schema, null_key = self._null_key(topic)
                packed = message.headers()
                raw = message.key()
                if packed:
                    headers, key_schema, key, value_schema, value = self._with_headers(topic, message, packed)
                else:
                    headers = ()
                    if raw is None:
                        key_schema, key = null_schema, null_key
                    else:
                        key_schema, key = to_key(topic, raw)
                    value_schema, value = to_value(topic, message.value())
                kind, timestamp = message.timestamp()
                append(
                    make(
                        topic,
                        message.partition(),
                        key_schema,
                        key,
                        value_schema,
                        value,
                        message.offset(),
                        timestamp if kind else None,
                        types[kind],
                        headers,
                    )
                )
        except Exception as error:
            place = "" if message is None else f"{message.topic()}-{message.partition()}@{message.offset()}"
            raise _failed("converting a record from Kafka", place, error) from error
        return records

    def _null_key(self, topic: str) -> tuple[Any, Any]:
        try:
            return self._null_keys[topic]
        except KeyError:
            return self._null_keys.setdefault(topic, self._key(topic, None))

    def _with_headers(
        self, topic: str, message: Any, packed: Sequence[tuple[str, bytes | None]]
    ) -> tuple[tuple[Header, ...], Any, Any, Any, Any]:
        convert = self._headers().to_connect_header
        found = []
        for name, data in packed:
            schema, value = convert(topic, name, data)
            found.append(Header(name, value, schema))
        headers = tuple(found)
        return (
            headers,
            *self._key(topic, message.key(), headers),
            *self._value(topic, message.value(), headers),
        )


def _failed(doing: str, record: str, error: Exception) -> ConnectError:
    return ConnectError(f"Tolerance exceeded in error handler: {doing} failed ({record}): {error}")
