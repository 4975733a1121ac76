"""
JsonConverter: JSON with or without the schema beside the data. In Java it is `org.apache.kafka.connect.json.JsonConverter`.

With `schemas.enable` each message is an envelope, `{"schema": …, "payload": …}`; without, the bare data, which comes back
without a schema. The text is what Connect writes, byte for byte. Read next: `json_writers.py` and `json_readers.py` for the
values, `json_schema.py` for the schemas, `json_text.py` for the text.

Why not orjson alone, which does most of the work here: it would write 16 of 138 golden cases otherwise, numbers (`1.0E7`,
`20.00`) and characters beyond U+FFFF.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from kconnect.api.config import ConfigDef, ConfigKey, Importance, OneOf, Type, Width
from kconnect.api.record import Header
from kconnect.converters import json_schema, json_text
from kconnect.converters.column_bytes import joined
from kconnect.converters.headers import CONVERTER_TYPE, AnyConverter
from kconnect.converters.inference import MOST_FIELDS
from kconnect.converters.json_columns import ColumnWriters
from kconnect.converters.json_inferred import Inferring
from kconnect.converters.json_readers import Convert, Inexact, Readers
from kconnect.converters.json_writers import Writers, is_exact
from kconnect.data.column import Column
from kconnect.data.kept import Kept, weight_of, weight_of_text
from kconnect.data.schema import NULL, Schema, SchemaAndValue
from kconnect.errors import ConfigError, DataError

SCHEMAS_ENABLE, CACHE_SIZE, SCHEMA_CONTENT = "schemas.enable", "schemas.cache.size", "schema.content"
INFER, SCHEMA_SUBJECT, SUBJECT_VERSION = "schemas.infer", "schema.subject", "schema.subject.version"
DECIMAL_FORMAT, REPLACE_NULL = "decimal.format", "replace.null.with.default"

CONFIG = ConfigDef(
    CONVERTER_TYPE,
    ConfigKey(
        SCHEMAS_ENABLE,
        Type.BOOLEAN,
        True,
        Importance.HIGH,
        "Whether each message contains its schema as well as its data.",
        group="Schemas",
        order=0,
        width=Width.MEDIUM,
        display_name="Enable Schemas",
    ),
    ConfigKey(
        CACHE_SIZE,
        Type.INT,
        1000,
        Importance.HIGH,
        "How many schemas are kept ready, of those written and of those read.",
        group="Schemas",
        order=1,
        width=Width.MEDIUM,
        display_name="Schema Cache Size",
    ),
    ConfigKey(
        SCHEMA_CONTENT,
        Type.STRING,
        None,
        Importance.HIGH,
        "The schema of all messages that are read, in JSON, so that messages contain only data. Only with `schemas.enable`.",
        group="Schemas",
        order=2,
        width=Width.MEDIUM,
        display_name="Schema Content",
    ),
    ConfigKey(
        INFER,
        Type.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Whether schemas are inferred from the messages that a sink reads, with `schemas.enable=false`. With `schema.content` "
        "that schema holds instead, and what does not fit it is a bad record. Connect does not know this setting.",
        group="Schemas",
        order=3,
        width=Width.SHORT,
        display_name="Infer Schemas",
    ),
    ConfigKey(
        SCHEMA_SUBJECT,
        Type.STRING,
        None,
        Importance.LOW,
        "With `schemas.infer`: a subject of a schema registry, whose schema in AVRO holds as `schema.content` does. A task "
        "reads it when it starts, from `schema.registry.url`, beside which are the settings of AvroConverter. Connect does "
        "not know this setting.",
        group="Schemas",
        order=5,
        width=Width.MEDIUM,
        display_name="Schema Subject",
    ),
    ConfigKey(
        SUBJECT_VERSION,
        Type.STRING,
        "latest",
        Importance.LOW,
        "Which version of `schema.subject`: a number, or `latest`, the newest when the task starts.",
        group="Schemas",
        order=6,
        width=Width.SHORT,
        display_name="Version of the Schema Subject",
    ),
    ConfigKey(
        MOST_FIELDS,
        Type.INT,
        500,
        Importance.LOW,
        "How many fields an inferred schema may have, at any depth. A message that would add more is a bad record.",
        group="Schemas",
        order=4,
        width=Width.SHORT,
        display_name="Most Fields of an Inferred Schema",
    ),
    ConfigKey(
        DECIMAL_FORMAT,
        Type.STRING,
        "BASE64",
        Importance.LOW,
        "How decimals are written, BASE64 or NUMERIC; both are read.",
        OneOf(("NUMERIC", "BASE64"), ignore_case=True),
        "Serialization",
        0,
        width=Width.MEDIUM,
        display_name="Decimal Format",
    ),
    ConfigKey(
        REPLACE_NULL,
        Type.BOOLEAN,
        True,
        Importance.LOW,
        "Whether a null becomes the default of its field, if there is one.",
        group="Serialization",
        order=1,
        width=Width.MEDIUM,
        display_name="Replace null with default",
    ),
)


_NO_SCHEMA = b'{"schema":null,"payload":'
_BLANKS = b" \t\r\n"
_PAYLOAD = re.compile(rb'(\A[ \t\r\n]*\{|,)[ \t\r\n]*"payload"[ \t\r\n]*:')
_SCHEMA = re.compile(rb',[ \t\r\n]*"schema"[ \t\r\n]*:')
_MOST_PLACES = 3
"""So many times "schema" is looked for as the name of an envelope's: each time what is behind it is parsed."""


class Reading(NamedTuple):
    """A schema as messages have it, and what reads its values. No schema, no reader."""

    schema: Schema | None
    read: Convert


class JsonConverter(AnyConverter):
    def __init__(self) -> None:
        self.configure({}, False)

    def config(self) -> ConfigDef:
        return CONFIG

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        parsed = CONFIG.parse({"converter.type": "key" if is_key else "value", **configs})
        self._enveloped: bool = parsed[SCHEMAS_ENABLE]
        self._limit: int = max(0, parsed[CACHE_SIZE])
        numeric = parsed[DECIMAL_FORMAT].upper() == "NUMERIC"
        self._writers = Writers(numeric, parsed[REPLACE_NULL], self._limit)
        self._columns = ColumnWriters(self._writers, self._limit)
        self._readers = Readers(parsed[REPLACE_NULL])
        self._heads: Kept[Schema, bytes] = Kept(self._limit)
        self._read: Kept[bytes, Reading] = Kept(self._limit)
        self._written: tuple[Schema | None, bytes, Convert] = (None, _NO_SCHEMA, self._free)
        """The newest schema written, the head of its envelopes and its writer: it is mostly the next one's too."""
        self._last: tuple[bytes, bytes, Reading] = (b"", b"", Reading(None, json_text.free))
        """Keeps what the newest envelope has around its payload: of a next one with the same only the payload is parsed."""
        content = parsed[SCHEMA_CONTENT]
        self._fixed = self._parse_content(content.encode()) if content else None
        self.inferring: Inferring | None = None
        """What reads messages, if their schemas are inferred."""
        if parsed[INFER]:
            if self._enveloped:
                raise ConfigError(
                    SCHEMAS_ENABLE, True, f"with {INFER}=true it must be false: messages that have a schema need none inferred"
                )
            schema = self._of_subject(configs, parsed) if parsed[SCHEMA_SUBJECT] else self._fixed and self._fixed.schema
            self.inferring = Inferring(self._readers, max(1, parsed[MOST_FIELDS]), schema)
        elif parsed[SCHEMA_SUBJECT]:
            raise ConfigError(SCHEMA_SUBJECT, parsed[SCHEMA_SUBJECT], f"it is read with {INFER}=true only. Set that, too")

    def _of_subject(self, configs: Mapping[str, Any], parsed: Mapping[str, Any]) -> Schema:
        if self._fixed is not None:
            raise ConfigError(SCHEMA_SUBJECT, parsed[SCHEMA_SUBJECT], f"{SCHEMA_CONTENT} is set, too: only one schema can hold")
        # Here, for few have one, and it takes Avro with it.
        from kconnect.converters import subjects

        version = subjects.version_of(parsed[SUBJECT_VERSION])
        return subjects.read(subjects.registry_of(configs), parsed[SCHEMA_SUBJECT], version)

    def _parse_content(self, content: bytes) -> Reading | None:
        try:
            described = json_text.loads_exactly(content)
        except DataError as error:
            raise DataError("Failed to parse schema in converter config due to serialization error: ") from error
        self._readers.room.begin(len(content))
        reading = self._reading(described)
        return None if reading.schema is None else reading

    # --- to Kafka ---

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        if schema is None and value is None:
            return None
        newest, head, write = self._written
        if schema is not newest:
            head = self._head(schema) if self._enveloped else b""
            write = self._free if schema is None else self._writers.of(schema)
            self._written = (schema, head, write)
        payload = json_text.dumps(write(value))
        return b"".join((head, payload, b"}")) if self._enveloped else payload

    def from_connect_all(self, topic: str, column: Column) -> Sequence[bytes | None] | None:
        if column.schema is None and column.has_nulls:
            return None
        pieces = self._columns.of(column.schema)(column)
        return joined([self._head(column.schema), *pieces, b"}"] if self._enveloped else pieces, len(column))

    def _free(self, value: Any) -> Any:
        return value if is_exact(value) else self._writers.free(value)

    def _head(self, schema: Schema | None) -> bytes:
        """An envelope up to its payload."""
        if schema is None:
            return _NO_SCHEMA
        head = self._heads.get(schema)
        if head is None:
            text = json_text.dumps(json_schema.write(schema, self._writers))
            head = b'{"schema":%b,"payload":' % text
            self._heads.put(schema, head, weight_of(schema))
        return head

    # --- from Kafka ---

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        if data is None:
            return NULL
        self._readers.room.begin(len(data))
        if self.inferring is not None:
            return self.inferring.one(topic, data)
        if not self._enveloped:
            return SchemaAndValue(None, json_text.loads_free(data))
        try:
            head, tail, reading = self._last
            if head and data.startswith(head) and data.endswith(tail):
                plain = json_text.loads_quickly(data[len(head) : -len(tail)])
                if plain is not json_text.MISSING:
                    return SchemaAndValue(reading.schema, reading.read(plain))
            return self._value(data, json_text.loads(data))
        except Inexact:
            return self._value(b"", json_text.loads_exactly(data))

    def to_connect_all(self, topic: str, data: list[bytes]) -> Column | None:
        # Of one message, so that none is read together with others that alone would stand for too much.
        self._readers.room.begin(0)
        if self.inferring is not None:
            return self.inferring.many(topic, data)
        if not self._enveloped:
            values = json_text.loads_each(data)
            return None if values is None else Column(None, values)
        if self._fixed is not None:
            plain = json_text.loads_each(data)
            return None if plain is None else self._column(self._fixed, plain)
        head, tail, reading = self._last
        if not head or [text for text in data if not (text.startswith(head) and text.endswith(tail))]:
            return None
        start, end = len(head), -len(tail)
        plain = json_text.loads_each([text[start:end] for text in data])
        return None if plain is None else self._column(reading, plain)

    def _column(self, reading: Reading, plain: list[Any]) -> Column:
        if reading.schema is None:
            return Column(None, list(map(reading.read, plain)))
        return self._readers.column(reading.schema, plain)

    def _value(self, data: bytes, plain: Any) -> SchemaAndValue:
        if self._fixed is not None:
            return SchemaAndValue(self._fixed.schema, self._fixed.read(plain))
        if type(plain) is not dict or plain.keys() != {"schema", "payload"}:
            raise DataError(
                'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional '
                "fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter "
                "configuration."
            )
        reading = self._known_reading(plain["schema"])
        self._last = (*_around(data), reading)
        return SchemaAndValue(reading.schema, reading.read(plain["payload"]))

    def _known_reading(self, described: Any) -> Reading:
        try:
            key = orjson.dumps(described)
        except orjson.JSONEncodeError:
            # Decimals in defaults, huge numbers, lone surrogates: too rare to be kept.
            return self._reading(described)
        if b"null" in key and orjson.loads(key) != described:
            # A number beyond all doubles, of which orjson makes a null: that may be what the schema of others has there.
            return self._reading(described)
        reading = self._read.get(key)
        if reading is None:
            reading = self._reading(described)
            # The text may have more than the schema that is made of it.
            self._read.put(key, reading, weight_of(reading.schema) + weight_of_text(len(key)))
        return reading

    def _reading(self, described: Any) -> Reading:
        schema = json_schema.read(described, self._readers)
        return Reading(schema, json_text.free if schema is None else self._readers.of(schema))


def _around(envelope: bytes) -> tuple[bytes, bytes]:
    """
    Return the parts of an envelope in front of its payload and behind it, if nothing but one value is between them, and nothing
    otherwise. Of a name that comes twice the last one counts: behind a payload there may be another schema, and the next
    records that begin alike would be read by that.
    """
    payload = _PAYLOAD.search(envelope)
    if payload is None:
        return b"", b""
    is_first = payload[1] != b","
    if is_first:
        # Python's and Connect's writers have the schema in front, those that sort names behind. Within it, and within the
        # payload, there may be the same name.
        places = [match.start() for match in _SCHEMA.finditer(envelope, payload.end())]
        ends = [(payload.end(), place) for place in reversed(places[-_MOST_PLACES:])]
    else:
        ends = [(payload.end(), len(envelope.rstrip(_BLANKS)) - 1)]
    for begin, end in ends:
        head, tail = envelope[:begin], envelope[end:]
        # Without the payload, and what stands between it and the schema.
        alone = json_text.loads_quickly(b"{" + tail[1:] if is_first else head[: payload.start()] + tail)
        if type(alone) is dict and alone.keys() == {"schema"}:
            is_one_value = json_text.loads_quickly(envelope[begin:end]) is not json_text.MISSING
            return (head, tail) if is_one_value else (b"", b"")
    return b"", b""
