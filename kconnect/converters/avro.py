"""
AvroConverter: Avro with its schemas in a registry. In Java it is `io.confluent.connect.avro.AvroConverter`.

A message is a zero, the schema's id in four bytes, and the data. A schema is translated, registered and compiled once, at its
first record; the records after it are only converted. Read next: `avro_schema.py` and `avro_schema_readers.py` for the
schemas, `avro_values.py` for the values, `schema_registry.py`.
"""

from __future__ import annotations

import functools
import io
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fastavro import schemaless_reader

import kconnect
from kconnect.api.config import ConfigDef, ConfigKey, Importance, Type
from kconnect.api.converter import Converter
from kconnect.api.record import Header
from kconnect.converters import avro_depth, avro_schema, avro_schema_readers
from kconnect.converters.avro_column_readers import ColumnReaders, Read
from kconnect.converters.avro_columns import ColumnWriters
from kconnect.converters.avro_schema import Dialect
from kconnect.converters.avro_types import Avro, Encoding, check_elements, dumps, parse
from kconnect.converters.avro_values import Readers, Writers, read_default
from kconnect.converters.column_bytes import Write, joined
from kconnect.converters.schema_registries import open_registry
from kconnect.converters.schema_registry import RegisteredSchema, Registry, texts_of_references
from kconnect.converters.schema_registry_login import CONFIG_KEYS
from kconnect.data.column import Column
from kconnect.data.kept import Kept, weight_of, weight_of_text
from kconnect.data.schema import NULL, Schema, SchemaAndValue
from kconnect.errors import ConfigError, ConnectError, DataError

AUTO_REGISTER, NORMALIZE = "auto.register.schemas", "normalize.schemas"
USE_LATEST, LATEST_STRICT = "use.latest.version", "latest.compatibility.strict"
USE_ID, ID_STRICT = "use.schema.id", "id.compatibility.strict"
KEY_SUBJECT, VALUE_SUBJECT = "key.subject.name.strategy", "value.subject.name.strategy"
ENHANCED, SCRUB, META_DATA = "enhanced.avro.schema.support", "scrub.invalid.names", "connect.meta.data"
CACHE_SIZE, OPTIONAL_KEYS = "schemas.cache.config", "allow.optional.map.keys"
FLATTEN, DISCARD = "flatten.singleton.union", "discard.type.doc.default"
GENERALIZED, IGNORE_DEFAULT = "generalized.sum.type.support", "ignore.default.for.nullables"

_STRATEGIES = "io.confluent.kafka.serializers.subject."
_TOPIC, _RECORD, _TOPIC_RECORD = "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"


def _strategy_of(name: str, value: Any) -> None:
    if _strategy(value) not in (_TOPIC, _RECORD, _TOPIC_RECORD):
        raise ConfigError(name, value, f"must be {_TOPIC}, {_RECORD} or {_TOPIC_RECORD}, with or without {_STRATEGIES}")


def _strategy(value: Any) -> str:
    return str(value).removeprefix(_STRATEGIES)


_REGISTERING, _SCHEMAS = "Registration", "Schemas"
_LOW, _MEDIUM = Importance.LOW, Importance.MEDIUM


def _flag(name: str, default: bool, importance: Importance, doc: str, group: str = _SCHEMAS) -> ConfigKey:
    return ConfigKey(name, Type.BOOLEAN, default, importance, doc, group=group)


_SUBJECT_DOC = "What a schema is registered under: the topic's name, the record's, or both."

CONFIG = ConfigDef(
    *CONFIG_KEYS,
    _flag(AUTO_REGISTER, True, _MEDIUM, "Whether new schemas are registered.", _REGISTERING),
    _flag(
        USE_LATEST,
        False,
        _LOW,
        "Whether data is written by the newest schema of its subject; only without auto.register.schemas.",
        _REGISTERING,
    ),
    _flag(
        LATEST_STRICT,
        True,
        _LOW,
        "Whether, with use.latest.version, all that the data's own schema allows must fit the newest one.",
        _REGISTERING,
    ),
    ConfigKey(
        USE_ID,
        Type.INT,
        -1,
        _LOW,
        "The id of the schema to write all data by; only without auto.register.schemas. -1 for none.",
        group=_REGISTERING,
    ),
    _flag(ID_STRICT, True, _LOW, "As latest.compatibility.strict, with use.schema.id.", _REGISTERING),
    _flag(NORMALIZE, False, _MEDIUM, "Whether the registry compares schemas in a normal form.", _REGISTERING),
    ConfigKey(KEY_SUBJECT, Type.CLASS, f"{_STRATEGIES}{_TOPIC}", _MEDIUM, _SUBJECT_DOC, _strategy_of, _REGISTERING),
    ConfigKey(VALUE_SUBJECT, Type.CLASS, f"{_STRATEGIES}{_TOPIC}", _MEDIUM, _SUBJECT_DOC, _strategy_of, _REGISTERING),
    _flag(META_DATA, True, _LOW, "Whether details that Avro can't express are kept in attributes of its schemas."),
    _flag(ENHANCED, False, _MEDIUM, "Whether enums stay enums, and branches of unions have full names."),
    _flag(SCRUB, False, _MEDIUM, "Whether characters that Avro's names can't have are replaced; the names don't come back."),
    ConfigKey(
        CACHE_SIZE, Type.INT, 1000, _LOW, "How many schemas are kept ready, of those written and of those read.", group=_SCHEMAS
    ),
    _flag(OPTIONAL_KEYS, False, _LOW, "Whether maps of optional texts are maps in Avro, too."),
    _flag(FLATTEN, True, _LOW, "Whether a union of one branch is read as that branch."),
    _flag(DISCARD, False, _LOW, "Whether only docs and defaults of fields are kept."),
    _flag(
        GENERALIZED,
        False,
        _MEDIUM,
        "Whether enums and unions are marked in the way that all of Confluent's converters understand.",
    ),
    _flag(IGNORE_DEFAULT, False, _MEDIUM, "Whether a null in a field with a default stays null."),
)

_AGAIN_S = 10.0
"""So seldom a schema that can't be read is asked for again."""
_HEAD = struct.Struct(">bI")


def _unusable(error: Exception) -> str:
    """Return what to say of a schema of which fastavro, or we, make nothing: whoever may register it has written it."""
    return f"its schema can't be used ({type(error).__name__})"


class Writing(NamedTuple):
    """All that a record of one topic and schema needs: the head of its bytes, its writer, and the form for fastavro."""

    head: bytes
    write: Callable[[Any], Any]
    encoding: Encoding
    columns: Callable[[], Write]
    """Returns the writer of columns, which is made when a first batch comes."""


class Reading(NamedTuple):
    """The way to read one schema's records."""

    schema: Schema | None
    read: Callable[[Any], Any]
    encoding: Encoding
    nested: Avro | None
    """The type, if it contains itself, so that its values may be nested as deeply as they like."""
    columns: Callable[[], Read | None]
    """Return what reads many values, which is made when it is first asked for; None if they are only read one by one."""
    weight: int = 0
    """What it weighs, with what the schema's text has beside the schema."""


class AvroConverter(Converter):
    """A converter of Avro with a schema registry. It has a registry once it is configured."""

    _registry: Registry

    def config(self) -> ConfigDef:
        return CONFIG

    def version(self) -> str:
        return kconnect.__version__

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        parsed = CONFIG.parse(configs)
        self._is_key = is_key
        self._strategy = _strategy(parsed[KEY_SUBJECT if is_key else VALUE_SUBJECT])
        self._auto: bool = parsed[AUTO_REGISTER]
        self._latest: bool = parsed[USE_LATEST]
        self._use_id: int = parsed[USE_ID]
        self._strict: bool = parsed[ID_STRICT if self._use_id >= 0 else LATEST_STRICT]
        self._normalize: bool = parsed[NORMALIZE]
        self._limit: int = max(1, parsed[CACHE_SIZE])
        self._dialect = Dialect(
            connect_meta_data=parsed[META_DATA],
            enhanced=parsed[ENHANCED],
            generalized=parsed[GENERALIZED],
            scrub=parsed[SCRUB],
            optional_map_keys=parsed[OPTIONAL_KEYS],
            discard_type_doc_default=parsed[DISCARD],
            flatten_singleton_union=parsed[FLATTEN],
            ignore_default_for_nullables=parsed[IGNORE_DEFAULT],
        )
        self._writings: Kept[tuple[str, Schema | None], Writing] = Kept(self._limit)
        self._readings: Kept[tuple[str, int], Reading] = Kept(self._limit)
        self._written: tuple[str, Schema | None, Writing] | None = None
        """The newest topic and schema written: mostly the next record's too."""
        self._last: tuple[str, bytes, Reading] | None = None
        self._unreadable: Kept[tuple[str, int, int], str] = Kept(self._limit)
        """Why schemas can't be read, by when that was found out: whoever sends such records has no request made for each."""
        """The newest topic and head read."""
        self._registry = open_registry(parsed)

    # --- to Kafka ---

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        if value is None and (schema is None or schema.optional):
            return None
        newest = self._written
        if newest is not None and schema is newest[1] and topic == newest[0]:
            writing = newest[2]
        else:
            writing = self._writing(topic, schema)
            self._written = (topic, schema, writing)
        head, write, encoding, _ = writing
        try:
            return head + encoding.encode(write(value))
        except DataError as error:
            raise DataError(f"Failed to serialize Avro data from topic {topic}: {error}") from error
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            # fastavro's message may have the value in it; it stays in the cause.
            raise DataError(f"Failed to serialize Avro data from topic {topic}: a value does not fit its schema") from error

    def from_connect_all(self, topic: str, column: Column) -> Sequence[bytes | None] | None:
        # A schema is registered for a record, so that a registry that can't be reached is asked once.
        writing = self._writings.get((topic, column.schema))
        if writing is None or column.has_nulls:
            return None
        return joined([writing.head, *writing.columns()(column)], len(column))

    def _writing(self, topic: str, schema: Schema | None) -> Writing:
        writing = self._writings.get((topic, schema))
        if writing is None:
            try:
                writing = self._new_writing(topic, schema)
            except DataError as error:
                raise DataError(f"Failed to serialize Avro data from topic {topic}: {error}") from error
            except ConnectError:
                raise
            except Exception as error:
                raise DataError(f"Failed to serialize Avro data from topic {topic}: {_unusable(error)}") from error
            self._writings.put((topic, schema), writing, weight_of(schema))
        return writing

    def _new_writing(self, topic: str, schema: Schema | None) -> Writing:
        avro = avro_schema.to_avro(schema, self._dialect)
        subject, text = self._subject(topic, avro), dumps(avro)
        if self._auto:
            id, target, strict = self._registry.register(subject, text, (), self._normalize), avro, True
        elif self._use_id >= 0:
            registered = self._registry.by_id(self._use_id, subject)
            id, target, strict = self._use_id, self._avro(registered), self._strict
        elif self._latest:
            registered = self._registry.by_version(subject)
            id, target, strict = registered.id, self._avro(registered), self._strict
        else:
            existing = self._registry.lookup(subject, text, (), self._normalize)
            if existing is None:
                raise DataError(
                    f"The schema is not registered for subject {subject}, and {AUTO_REGISTER} is false. Register it, or set "
                    f"{AUTO_REGISTER}=true, or {USE_LATEST}=true to write with the newest registered one"
                )
            id, target, strict = existing.id, avro, True
        encoding = Encoding(target)
        try:
            write = Writers(self._dialect, encoding, strict).of(schema, target)
        except DataError as error:
            if target is avro:
                raise
            remedy = f" {LATEST_STRICT}=false leaves it to each value." if strict and self._use_id < 0 else ""
            raise DataError(
                f"Incompatible schema for subject {subject}, of which schema {id} is to be used: {error}.{remedy}"
            ) from error
        columns = functools.cache(lambda: ColumnWriters(self._dialect, strict).of(schema, target))
        return Writing(_HEAD.pack(0, id), write, encoding, columns)

    # --- from Kafka ---

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        if data is None:
            return NULL
        head, last = data[:5], self._last
        if last is not None and head == last[1] and topic == last[0]:
            reading = last[2]
        else:
            reading = self._reading(topic, head)
            self._last = (topic, head, reading)
        schema, read, encoding, nested, *_ = reading
        stream = io.BytesIO(data)
        stream.seek(5)
        try:
            if nested is not None:
                avro_depth.check_depth(nested, data, 5)
            plain: Any = schemaless_reader(
                stream, encoding.reading, None, return_record_name=True, return_record_name_override=True
            )
            return SchemaAndValue(schema, read(plain["v"] if encoding.wrapped else plain))
        except DataError as error:
            raise DataError(f"Failed to deserialize data for topic {topic} to Avro: {error}") from error
        except (EOFError, ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError, RecursionError) as error:
            raise DataError(
                f"Failed to deserialize data for topic {topic} to Avro: the bytes are not of schema {_HEAD.unpack(head)[1]}"
            ) from error

    def to_connect_all(self, topic: str, data: list[bytes]) -> Column | None:
        # A schema is asked for by a record, so that a registry that can't be reached is asked once.
        last = self._last
        if last is None or topic != last[0] or [1 for text in data if not text.startswith(last[1])]:
            return None
        read = last[2].columns()
        if read is None:
            return None
        values, ends = read(data, [len(last[1])] * len(data))
        # What is behind a value is no part of it, and nobody looks at it; but then something may be wrong.
        if list(ends) != list(map(len, data)):
            return None
        return values if type(values) is Column else Column(last[2].schema, values)

    def _reading(self, topic: str, head: bytes) -> Reading:
        if len(head) < 5 or head[0] != 0:
            raise DataError(
                f"Failed to deserialize data for topic {topic} to Avro: Unknown magic byte! The data was not written with a "
                "schema registry; another converter may read it"
            )
        id = _HEAD.unpack(head)[1]
        reading = self._readings.get((topic, id))
        if reading is None:
            # A registry may have it, or another one for the id, later.
            tried = (topic, id, int(time.monotonic() // _AGAIN_S))
            if (reason := self._unreadable.get(tried)) is not None:
                raise DataError(reason)
            try:
                reading = self._new_reading(topic, id)
            except DataError as error:
                raise self._bad(tried, str(error)) from error
            except ConnectError:
                raise
            except Exception as error:
                raise self._bad(tried, _unusable(error)) from error
            self._readings.put((topic, id), reading, reading.weight)
        return reading

    def _bad(self, tried: tuple[str, int, int], reason: str) -> DataError:
        text = f"Failed to deserialize data for topic {tried[0]} to Avro: {reason}"
        self._unreadable.put(tried, text, weight_of_text(len(text)))
        return DataError(text)

    def _new_reading(self, topic: str, id: int) -> Reading:
        # By topic, the subject is known beforehand; by record, only the schema tells it.
        subject = self._subject(topic, None) if self._strategy == _TOPIC else None
        registered = self._registry.by_id(id, subject)
        avro = self._avro(registered)
        subject = subject or self._subject(topic, avro)
        # Where the writer used another subject, Connect's converter gives up; here the schema has no version then.
        subject_schema = self._registry.lookup(subject, registered.text, registered.references, self._normalize)
        version = subject_schema.version if subject_schema is not None else None
        schema = avro_schema_readers.to_connect(avro, self._dialect, read_default, version)
        check_elements(avro)
        encoding = Encoding(avro)
        nested = avro if avro_depth.contains_itself(avro) else None
        weight = weight_of(schema) + weight_of_text(len(registered.text))
        readers = Readers(encoding)
        columns = functools.cache(lambda: None if nested is not None else ColumnReaders(readers).of(avro, schema))
        return Reading(schema, readers.of(avro, schema), encoding, nested, columns, weight)

    # --- both ---

    def _avro(self, registered: RegisteredSchema) -> Avro:
        if registered.type != "AVRO":
            raise DataError(f"Schema {registered.id} is of type {registered.type}, not AVRO; choose the converter for that")
        return parse(registered.text, texts_of_references(self._registry, registered))

    def _subject(self, topic: str, avro: Avro | None) -> str:
        if self._strategy == _TOPIC or avro is None:
            return f"{topic}-{'key' if self._is_key else 'value'}"
        present = avro.present
        if len(present) != 1 or present[0].type != "record" or present[0].name is None:
            setting = KEY_SUBJECT if self._is_key else VALUE_SUBJECT
            raise DataError(
                f"In configuration {setting} = {self._strategy}, the message must only be a record schema, but it is "
                f"{avro!r}; {_TOPIC} takes all"
            )
        name = present[0].name
        return name if self._strategy == _RECORD else f"{topic}-{name}"
