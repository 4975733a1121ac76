"""The transform TimestampRouter: a topic name made of the topic and the record's timestamp. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, DataError, Importance, Schema, SourceRecord, Type
from kconnect.data import values
from kconnect.java import dates
from kconnect.transforms.common import LONGEST_TOPIC, BuiltIn, Record


class TimestampRouter(BuiltIn):
    CONFIG = ConfigDef(
        ConfigKey(
            "topic.format",
            Type.STRING,
            "${topic}-${timestamp}",
            Importance.HIGH,
            "The new topic, with ${topic} for the old one and ${timestamp} for the formatted timestamp.",
        ),
        ConfigKey(
            "timestamp.format",
            Type.STRING,
            "yyyyMMdd",
            Importance.HIGH,
            "The pattern, one of Java's SimpleDateFormat, by which the timestamp is written, in UTC.",
        ),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._topic = settings["topic.format"]
        self._pattern = settings["timestamp.format"]
        self._format: dates.SimpleDateFormat | None = None

    def apply(self, record: Record) -> Record:
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record: {_shown(record)}")
        if self._format is None:
            # As in Connect, a pattern that can't be used fails the records, not the configuration.
            self._format = dates.SimpleDateFormat(self._pattern)
        timestamp = self._format.format(record.timestamp)
        # The topic first: a placeholder in it counts too.
        topic = _replaced(_replaced(self._topic, "${topic}", record.topic), "${timestamp}", timestamp)
        return record.new_record(topic=topic)


def _replaced(text: str, part: str, by: str) -> str:
    length = len(text) + text.count(part) * (len(by) - len(part))
    if length > LONGEST_TOPIC:
        raise DataError(f"topic.format makes a topic of {length} characters, of which {LONGEST_TOPIC} may be")
    return text.replace(part, by)


def _shown(record: Record) -> str:
    """The record's text in Connect's messages, which has all that is in the record."""
    text = values.message_text
    headers = [
        f"ConnectHeader(key={header.key}, value={text(header.value, header.schema)}, schema={_schema(header.schema)})"
        for header in record.headers
    ]
    shown = f"[{', '.join(headers)}]" if headers else ""
    common = (
        f"ConnectRecord{{topic='{record.topic}', kafkaPartition={text(record.partition)}, "
        f"key={text(record.key, record.key_schema)}, keySchema={_schema(record.key_schema)}, "
        f"value={text(record.value, record.value_schema)}, valueSchema={_schema(record.value_schema)}, "
        f"timestamp={text(record.timestamp)}, headers=ConnectHeaders(headers={shown})}}"
    )
    return f"{_place(record)} {common}"


def _place(record: Record) -> str:
    text = values.message_text
    if isinstance(record, SourceRecord):
        return f"SourceRecord{{sourcePartition={text(record.source_partition)}, sourceOffset={text(record.source_offset)}}}"
    return (
        f"SinkRecord{{kafkaOffset={record.offset}, timestampType={record.timestamp_type}, "
        f"originalTopic={record.original_topic}, originalKafkaPartition={record.original_partition}, "
        f"originalKafkaOffset={record.original_offset}}}"
    )


def _schema(schema: Schema | None) -> str:
    return "null" if schema is None else repr(schema)
