"""
The conversion of a batch between a task and Kafka, compiled once for each task. It takes a list and returns a list.

The transforms (`steps.py`) run before the conversion (source) or after it (sink). `source_pump.py` and `sink_pump.py` each hold
one. The loops here run for every record, so each line in them counts. Only when a record fails do they ask `errors.py` what to
do. Read next: `source_offsets.py`, `sink_offsets.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.record import Header, SinkRecord, SourceRecord
from kconnect.core.task import destination
from kconnect.core.task.batch import FEW, TIMESTAMP_TYPES, Batch, Messages, runs
from kconnect.core.task.destination import LATEST_MS, at_place, at_time, named
from kconnect.core.task.errors import PRODUCER, Component, Cut, Errors, Stage, strict
from kconnect.data.column import Column
from kconnect.errors import DataError

Outgoing = tuple[str, "bytes | None", "bytes | None", int, None, None, int, "list[tuple[str, bytes | None]] | None"]
"""
A message for Kafka: topic, value, key, partition (-1: the partitioner's choice), two places for callbacks, timestamp
(0: now), headers. That is the order of the client's arguments, so that handing a message over builds nothing new.
"""

_TOPICS = 1000
"""Of so many it is known what a converter makes of no key."""
_BUILT_IN = "kconnect.converters."
_UNCHANGING = frozenset((type(None), bool, int, float, str, bytes))
_CONVERTERS = (Stage.KEY_CONVERTER, Stage.VALUE_CONVERTER, Stage.HEADER_CONVERTER)


def size_of(messages: Sequence[Outgoing]) -> int:
    """Return the bytes of the values of messages."""
    return sum([len(message[1]) for message in messages if message[1]])


@dataclass(frozen=True)
class Converters:
    """
    The converters of one task. The header converter is made when the first header comes. `class_names` are those of the three,
    for reports.
    """

    key: Converter
    value: Converter
    header: Callable[[], HeaderConverter]
    class_names: tuple[str, str, str] = ("", "", "")

    @property
    def components(self) -> dict[Stage, Component]:
        names = zip(("key", "value", "header"), self.class_names)
        parts = dict(zip(_CONVERTERS, (Component(f"the {which} converter", name) for which, name in names)))
        return {**parts, Stage.KAFKA_PRODUCE: PRODUCER}


def sendable(name: Any) -> str:
    """
    Return a header's name. Half a surrogate pair, of which the client's process would die, becomes Java's question mark.
    DataError for what the client would make another name of: it cuts a text at U+0000, and takes the `repr` of what is none.
    """
    if not isinstance(name, str) or "\0" in name:
        raise DataError(f"The name of a header is {name!r}: it must be a text without U+0000, where Kafka's client ends a name")
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


class SourceChain:
    """The way from the records of a source task to messages for Kafka."""

    def __init__(self, converters: Converters, errors: Errors | None = None) -> None:
        self._key = converters.key.from_connect_data
        self._value = converters.value.from_connect_data
        self._keys, self._values = converters.key.from_connect_all, converters.value.from_connect_all
        self._headers = converters.header
        # What others make of keys and values may depend on the headers, and they are not asked for each record then.
        self._are_plain = all(type(each).__module__.startswith(_BUILT_IN) for each in (converters.key, converters.value))
        self._components = converters.components
        self._errors = errors or strict()
        self._null_keys: dict[str, bytes | None] = {}
        self._topics: set[str] = set()

    @property
    def topics(self) -> Collection[str]:
        """The topics of the last batch's messages."""
        return self._topics

    def apply(
        self, records: Sequence[SourceRecord], origins: Sequence[Any] | None = None, cut: Cut | None = None
    ) -> list[Outgoing | None]:
        """
        The messages of a batch, one a record; None for one that can't be converted, where that is tolerated.

        `origins` are the records as the task gave them, for reports. ConnectError, naming the record, if it is not; with
        `cut`, the messages of those before it.
        """
        messages: list[Outgoing | None] = []
        lost = False
        self._topics.clear()
        while True:
            try:
                self._convert(records[len(messages) :] if messages else records, messages)
            except Exception:  # noqa: BLE001 - seen again, and handled, in `_alone`
                at = len(messages)
                try:
                    messages.append(self._alone(records[at], (origins or records)[at]))
                except Exception as final:
                    if cut is None:
                        raise
                    cut.error, records, lost = final, records[:at], True
                else:
                    lost = lost or messages[-1] is None
            else:
                if lost:
                    # A topic all of whose records failed has none.
                    self._topics = {message[0] for message in messages if message is not None}
                return messages

    def at_once(self, batch: Batch) -> Sequence[Outgoing] | None:
        """The messages of a batch, one a record; None if it must go record by record, as `apply` does."""
        topic, headers = batch.topic, batch.every("headers")
        if topic is None or (any(headers) and not (self._are_plain and len(set(map(id, headers))) == 1)):
            return None
        try:
            packed = self._packed(batch.sample(), list(headers[0])) if headers[0] else None
            values = self._values(topic, batch.value)
            if values is None or len(values) != len(batch):
                return None
            keys: Sequence[bytes | None]
            if batch.key.schema is None and batch.key.values.count(None) == len(batch):
                keys = [self._null_key(topic)] * len(batch)
            else:
                to_key, schema = self._key, batch.key.schema
                keys = self._keys(topic, batch.key) or [to_key(topic, schema, key) for key in batch.key.values]
                if len(keys) != len(batch):
                    return None
        except Exception:  # noqa: BLE001 - the record that it failed on will fail alone
            return None
        self._topics.clear()
        self._topics.add(topic)
        return [
            (topic, value, key, partition, None, None, timestamp, packed)
            for value, key, partition, timestamp in zip(values, keys, *destination.columns(batch))
        ]

    def _convert(self, records: Sequence[SourceRecord], messages: list[Outgoing | None]) -> None:
        to_key, to_value = self._key, self._value
        topic: Any = self  # No record's.
        null_key: bytes | None = None
        append = messages.append
        for record in records:
            # Mostly each record of a task names the very same object.
            if record.topic is not topic:
                topic = named(record.topic)
                null_key = self._null_key(topic)
                self._topics.add(topic)
            if record.headers:
                append(self._with_headers(record))
                continue
            missing = record.key is None and record.key_schema is None
            key = null_key if missing else to_key(topic, record.key_schema, record.key)
            partition, timestamp = record.partition, record.timestamp
            append(
                (
                    topic,
                    to_value(topic, record.value_schema, record.value),
                    key,
                    -1 if partition is None else at_place(partition),
                    None,
                    None,
                    timestamp if timestamp.__class__ is int and 0 < timestamp <= LATEST_MS else at_time(timestamp),
                    None,
                )
            )

    def _null_key(self, topic: str) -> bytes | None:
        # What a converter makes of no key at all doesn't change from record to record.
        try:
            return self._null_keys[topic]
        except KeyError:
            if len(self._null_keys) >= _TOPICS:
                # A transform may make a topic of each record's value.
                self._null_keys.clear()
            return self._null_keys.setdefault(topic, self._key(topic, None, None))

    def _with_headers(self, record: SourceRecord) -> Outgoing:
        headers = list(record.headers)
        packed = self._packed(record, headers)
        key = self._key(record.topic, record.key_schema, record.key, headers)
        return self._message(record, packed, key, self._value(record.topic, record.value_schema, record.value, headers))

    def _packed(self, record: SourceRecord, headers: Sequence[Header]) -> list[tuple[str, bytes | None]]:
        convert = self._headers().from_connect_header
        try:
            return [
                (sendable(header.key), convert(record.topic, header.key, header.schema, header.value)) for header in headers
            ]
        except AttributeError:
            # A map in place of a list of headers gives its keys.
            odd = next((header for header in headers if not isinstance(header, Header)), None)
            if odd is None:
                raise
            raise DataError(f"The headers of a source record hold a {type(odd).__name__}: each must be a Header") from None

    def _message(
        self,
        record: SourceRecord,
        packed: list[tuple[str, bytes | None]] | None,
        key: bytes | None,
        value: bytes | None,
    ) -> Outgoing:
        partition = -1 if record.partition is None else at_place(record.partition)
        return record.topic, value, key, partition, None, None, at_time(record.timestamp), packed

    def _alone(self, record: SourceRecord, origin: Any) -> Outgoing | None:
        """Convert one record, each part by itself, in Connect's order."""
        headers = list(record.headers)
        parts: list[Any] = []
        for stage, work in (
            (Stage.KAFKA_PRODUCE, lambda: self._message(record, None, None, None) and named(record.topic)),
            (Stage.HEADER_CONVERTER, lambda: self._packed(record, headers) if headers else None),
            (Stage.KEY_CONVERTER, lambda: self._key(record.topic, record.key_schema, record.key, headers)),
            (Stage.VALUE_CONVERTER, lambda: self._value(record.topic, record.value_schema, record.value, headers)),
        ):
            is_converted, result = _attempt(self._errors, stage, self._components[stage], origin, work)
            if not is_converted:
                return None
            parts.append(result)
        self._topics.add(record.topic)
        return self._message(record, *parts[1:])


class SinkChain:
    """The way from Kafka's messages to the records that a sink task takes."""

    def __init__(self, converters: Converters, errors: Errors | None = None) -> None:
        self._key = converters.key.to_connect_data
        self._value = converters.value.to_connect_data
        self._keys, self._values = converters.key.to_connect_all, converters.value.to_connect_all
        self._headers = converters.header
        # What others make of keys and values may depend on the headers, which they are not given for a batch.
        self._are_plain = all(type(each).__module__.startswith(_BUILT_IN) for each in (converters.key, converters.value))
        self._components = converters.components
        self._errors = errors or strict()
        self._null_keys: dict[str, tuple[Any, Any]] = {}
        self._topics: set[str] = set()

    @property
    def topics(self) -> Collection[str]:
        """The topics that the last batch's messages came from."""
        return self._topics

    def apply(self, messages: Sequence[Any]) -> list[SinkRecord | None]:
        """
        The records of a batch, one a message; None for one that can't be converted, where that is tolerated.

        ConnectError, naming the place, if it is not.
        """
        self._topics.clear()
        records: list[SinkRecord | None] = []
        while len(records) < len(messages):
            try:
                self._convert(messages[len(records) :] if records else messages, records)
            except Exception:  # noqa: BLE001 - seen again, and handled, in `_alone`
                records.append(self._alone(messages[len(records)]))
        return records

    def at_once(self, messages: Sequence[Any]) -> Messages | None:
        """The batch of these messages; None if they must go one by one, as `apply` does."""
        if len(messages) < FEW:
            return None
        topic: str = messages[0].topic()
        values = [message.value() for message in messages]
        packed = [message.headers() for message in messages]
        has_headers = any(packed)
        if None in values or (has_headers and not self._are_plain) or [1 for each in messages if each.topic() != topic]:
            return None
        try:
            value, key = self._values(topic, values), self._key_column(topic, [message.key() for message in messages])
            headers = self._unpacked_all(topic, packed) if has_headers else None
        except Exception:  # noqa: BLE001 - the message that it failed on will fail alone
            return None
        # A message may hold a null without being a tombstone, such as `null` in JSON: steps and tasks get batches without any.
        if value is None or key is None or len(value) != len(messages) or value.has_nulls:
            return None
        self._topics.clear()
        self._topics.add(topic)
        return Messages(messages, topic, key, value, headers)

    def runs(self, messages: Sequence[Any]) -> list[Sequence[Any]]:
        """The messages in their order, cut where `at_once` finds a difference; in one piece if there is too much of it."""

        def kind(message: Any) -> tuple[str, bool, bool]:
            return message.topic(), message.value() is None, not self._are_plain and not message.headers()

        return runs(messages, kind)

    def _key_column(self, topic: str, raw: list[Any]) -> Column | None:
        """Convert the keys. Return None if they differ in their schemas."""
        schema, null = self._null_key(topic)
        if raw.count(None) == len(raw):
            return Column(schema, [null] * len(raw))
        column = None if None in raw else self._keys(topic, raw)
        if column is not None:
            return column if len(column) == len(raw) else None
        keys = [(schema, null) if key is None else self._key(topic, key) for key in raw]
        schemas = [pair[0] for pair in keys]
        return Column(schemas[0], [key for _, key in keys]) if schemas.count(schemas[0]) == len(keys) else None

    def _convert(self, messages: Sequence[Any], records: list[SinkRecord | None]) -> None:
        to_key, to_value = self._key, self._value
        make, types = SinkRecord, TIMESTAMP_TYPES
        topic = ""
        append = records.append
        for message in messages:
            if message.topic() != topic:
                topic = message.topic()
                null_schema, null_key = self._null_key(topic)
                self._topics.add(topic)
            packed = message.headers()
            raw = message.key()
            if packed:
                headers = self._unpacked(topic, packed)
                key_schema, key = self._key(topic, raw, headers)
                value_schema, value = self._value(topic, message.value(), headers)
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

    def _null_key(self, topic: str) -> tuple[Any, Any]:
        try:
            return self._null_keys[topic]
        except KeyError:
            return self._null_keys.setdefault(topic, self._key(topic, None))

    def _unpacked(self, topic: str, packed: Sequence[tuple[str, bytes | None]]) -> tuple[Header, ...]:
        convert = self._headers().to_connect_header
        headers = []
        for name, data in packed:
            schema, value = convert(topic, name, data)
            headers.append(Header(name, value, schema))
        return tuple(headers)

    def _unpacked_all(self, topic: str, packed: Sequence[Any]) -> list[tuple[Header, ...]]:
        """Convert the headers of many messages; what is mostly the same, such as a type or a version, once."""
        convert = self._headers().to_connect_header
        known: dict[tuple[str, bytes | None], Header] = {}
        every = []
        for pairs in packed:
            headers = []
            for pair in pairs or ():
                header = known.get(pair)
                if header is None:
                    schema, value = convert(topic, *pair)
                    header = Header(pair[0], value, schema)
                    # Of others each record needs one of its own, which transforms and tasks may change.
                    if value.__class__ in _UNCHANGING:
                        known[pair] = header
                headers.append(header)
            every.append(tuple(headers))
        return every

    def _alone(self, message: Any) -> SinkRecord | None:
        """Convert one message, each part by itself, in Connect's order."""
        topic, packed = message.topic(), message.headers() or ()
        headers: tuple[Header, ...] = ()
        parts: list[Any] = []
        for stage, work in (
            (Stage.KEY_CONVERTER, lambda: self._key(topic, message.key(), headers)),
            (Stage.VALUE_CONVERTER, lambda: self._value(topic, message.value(), headers)),
            (Stage.HEADER_CONVERTER, lambda: self._unpacked(topic, packed)),
        ):
            is_converted, result = _attempt(self._errors, stage, self._components[stage], message, work)
            if not is_converted:
                return None
            parts.append(result)
        self._topics.add(topic)
        (key_schema, key), (value_schema, value), headers = parts
        kind, timestamp = message.timestamp()
        place, at = (topic, message.partition()), message.offset()
        times = (timestamp if kind else None, TIMESTAMP_TYPES[kind])
        return SinkRecord(*place, key_schema, key, value_schema, value, at, *times, headers)


def _attempt(errors: Errors, stage: Stage, component: Component, origin: Any, work: Callable[[], Any]) -> tuple[bool, Any]:
    """Whether `work` succeeded, at once or later, and what it gave."""
    try:
        return True, work()
    except Exception as error:  # noqa: BLE001 - a plugin's own
        # In a tuple, for a converter may well give None.
        result = errors.handle(stage, component, origin, error, lambda: (work(),))
        return (False, None) if result is None else (True, result[0])
