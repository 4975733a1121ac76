"""
Actions: records as the lines of a bulk request, a head and mostly a document.

What all records of a group share is worked out once. Used by `task.py`.
"""

from __future__ import annotations

import datetime
import decimal
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from kconnect.api import DataError, Schema, SchemaType, SinkRecord, Struct, schema
from kconnect.connectors import documents, names
from kconnect.connectors.common import MISFITS, integer, milliseconds
from kconnect.connectors.groups import Group
from kconnect.connectors.search import settings
from kconnect.connectors.targets import Targets

_KEYS = (SchemaType.STRING, SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64)
TIMESTAMP = "@timestamp"


@dataclass(frozen=True)
class Action:
    """`lines` are what a request has for it; `place` is that of its record in the group."""

    place: int
    index: str
    id: str
    lines: tuple[bytes, ...]


@dataclass(frozen=True)
class Bad:
    place: int
    error: DataError


class Maker:
    def __init__(self, config: Mapping[str, Any]) -> None:
        self._index, self._field = config[settings.INDEX], config[settings.INDEX_FIELD]
        # What the cluster keeps for itself may be named by a config, and not by a record.
        self._is_hidden = self._index.startswith(".")
        self._stream: str = config[settings.STREAM].lower()
        self._parts: Sequence[str] = (config[settings.DATASET], config[settings.NAMESPACE])
        self._moments: Sequence[str] = config[settings.MOMENT]
        self._keyless = config[settings.KEY_IGNORE], frozenset(config[settings.TOPIC_KEY_IGNORE])
        self._updates = config[settings.METHOD].lower() == "upsert"
        self._version: str = config[settings.VERSION]
        self._nulls: str = config[settings.NULLS].lower()
        self._targets = Targets("index", f"Name them apart with {settings.INDEX} or a transform such as RegexRouter")
        self._is_by_topic = any("${topic}" in text for text in (self._parts if self.is_stream() else (self._index,)))

    def is_stream(self) -> bool:
        return self._stream != "none"

    def target(self, topic: str) -> str:
        """The index or data stream of a topic, if no field names it."""
        if self._stream != "none":
            parts = [part.replace("${topic}", topic).lower().replace("-", "_") for part in self._parts]
            return "-".join((self._stream, *parts))
        return str(self._index.replace("${topic}", topic)).lower()

    def actions(self, group: Group) -> Iterator[Action | Bad]:
        """Yield actions in the order of the records; none for a record that is to be ignored."""
        ids = self._ids(group)
        target, wrong = self.target(group.topic), None
        if self._is_by_topic:
            self._targets.note(target, group.topic)
        try:
            names.check_index(target, hidden=self._is_hidden)
        except DataError as error:
            wrong = error
        offsets: Sequence[int] = group.origins.every("original_offset")
        versions = self._versions(group)
        values = group.value.values if self._needs_values(group) else [...] * len(ids)
        for place, (id, value, document) in enumerate(zip(ids, values, self._documents(group))):
            try:
                # A record that is ignored needs no id.
                if document is None and self._nulls == "ignore":
                    continue
                if isinstance(id, DataError):
                    raise id
                if isinstance(document, DataError):
                    raise document
                by_field = self._field and document is not None
                if self._field and document is None and self._nulls == "delete":
                    raise DataError(
                        f"it has no value, so nothing says in which index its document is: {settings.INDEX_FIELD} is "
                        f"{self._field}. Set {settings.NULLS}=ignore to leave such documents"
                    )
                if wrong is not None and not by_field:
                    raise wrong
                index = self._named(value) if by_field else target
                version = versions(place, offsets[place])
                if document is not None:
                    yield self._written(place, index, id, value, document, version)
                elif self._nulls == "delete":
                    yield Action(place, index, id, (_head("delete", index, id, version),))
                else:
                    raise DataError(f"it has no value; {settings.NULLS} says what that means")
            except DataError as error:
                yield Bad(place, error)

    def _needs_values(self, group: Group) -> bool:
        merges = self._updates and _may_have_decimals(group.value.schema)
        return bool(self._field) or self.is_stream() or merges or group.value.has_nulls

    def _written(self, place: int, index: str, id: str, value: Any, document: bytes, version: bytes) -> Action:
        if self.is_stream():
            return Action(place, index, id, (_head("create", index, id), document))
        if self._updates:
            if value is not ...:
                _check_exact(value)
            head = _head("update", index, id, b',"retry_on_conflict":5')
            return Action(place, index, id, (head, b'{"doc":' + document + b',"doc_as_upsert":true}'))
        return Action(place, index, id, (_head("index", index, id, version), document))

    # Ids and versions.

    def _is_keyless(self, topic: str) -> bool:
        every, some = self._keyless
        return every or topic in some or self.is_stream()

    def _ids(self, group: Group) -> Sequence[Any]:
        origins = group.origins
        if self._is_keyless(group.topic):
            places = zip(*(origins.every(f"original_{attribute}") for attribute in ("topic", "partition", "offset")))
            return [f"{topic}+{partition}+{offset}" for topic, partition, offset in places]
        key_schema = group.key.schema
        if key_schema is not None and key_schema.type not in _KEYS:
            error = DataError(
                f"its key is no text or integer, but {key_schema.type.value}: take a field of it, or set {settings.KEY_IGNORE}"
            )
            return [error] * len(origins)
        return [_id(key) for key in group.key.values]

    def _versions(self, group: Group) -> Any:
        if self._version:
            records = group.origins.records
            return lambda place, offset: _of_version(_header(records[place], self._version))
        if self._updates or self._is_keyless(group.topic):
            return lambda place, offset: b""
        return lambda place, offset: _of_version(offset)

    # Documents.

    def _documents(self, group: Group) -> Sequence[bytes | DataError | None]:
        """Return the documents of the values; None for a null."""
        if self.is_stream():
            return [self._timed(record) for record in group.origins.records]
        if _is_object(group.value.schema):
            try:
                lines = documents.to_lines(group.value)
                if group.value.has_nulls:
                    return [None if value is None else line for value, line in zip(group.value.values, lines)]
                return lines
            except MISFITS:
                pass  # One by one it shows which.
        return [_document(value, group.value.schema) for value in group.value.values]

    def _timed(self, record: SinkRecord) -> bytes | DataError | None:
        """A document of a data stream has a time."""
        value = record.value
        if value is None:
            return None
        document = _document(value, record.value_schema)
        if not isinstance(document, bytes):
            return document
        plain = documents.to_plain(value, record.value_schema)
        name = next((moment_name for moment_name in self._moments if plain.get(moment_name) is not None), None)
        try:
            moment = record.timestamp if name is None else milliseconds(plain[name])
            if TIMESTAMP in plain and name in (None, TIMESTAMP):
                # It is there already, and may not be there twice.
                return document
            at = datetime.datetime.fromtimestamp((moment or 0) / 1000, datetime.timezone.utc)
        except DataError as error:
            return DataError(f"{settings.MOMENT}: {error}")
        except (ValueError, OverflowError, OSError):
            return DataError("its time is not one of the years 1 to 9999")
        text = at.isoformat(timespec="milliseconds")
        return b'{"' + TIMESTAMP.encode() + b'":' + orjson.dumps(text) + (b"," if len(document) > 2 else b"") + document[1:]

    def _named(self, value: Any) -> str:
        index = value.get(self._field) if isinstance(value, dict) else _field(value, self._field)
        if not isinstance(index, str) or not index or not _is_utf8(index):
            raise DataError(f"it has no text in the field {self._field}, which names its index ({settings.INDEX_FIELD})")
        names.check_index(index.lower())
        return index.lower()


def _may_have_decimals(own: Schema | None) -> bool:
    if own is None or own.name == schema.DECIMAL:
        return True
    if own.type is SchemaType.STRUCT:
        return any(_may_have_decimals(field.schema) for field in own.fields)
    return own.type in (SchemaType.ARRAY, SchemaType.MAP) and _may_have_decimals(own.value_schema)


def _check_exact(value: Any) -> None:
    """Raise DataError for a decimal, however deep, that the cluster rounds when it merges a document with what is there."""
    if isinstance(value, decimal.Decimal):
        near = float(value)
        if value not in (decimal.Decimal(repr(near)), decimal.Decimal(near)):
            raise DataError(
                f"it has the decimal {value:f}, which the cluster would round when it merges fields: {settings.METHOD}=insert "
                "replaces documents as they are"
            )
        return
    within = value.values() if isinstance(value, dict) else value.values if isinstance(value, Struct) else value
    if isinstance(value, dict | list | Struct):
        for item in within:
            _check_exact(item)


def _head(action: str, index: str, id: str, more: bytes = b"") -> bytes:
    return b"%s%s%s}}" % (_begin(action, index), orjson.dumps(id), more)


@functools.lru_cache(1000)
def _begin(action: str, index: str) -> bytes:
    return b'{"%s":{"_index":%s,"_id":' % (action.encode(), orjson.dumps(index))


def _of_version(number: int) -> bytes:
    return b',"version":%d,"version_type":"external"' % number


def _header(record: SinkRecord, name: str) -> int:
    text: Any = next((header.value for header in reversed(list(record.headers)) if header.key == name), None)
    try:
        number = integer(text)
    except (TypeError, ValueError, OverflowError):
        number = -1
    # Another one would be refused together with all others of the request.
    if not 0 <= number < 1 << 63:
        raise DataError(f"its header {name} is no version, but {text!a:.40}")
    return number


def _id(key: Any) -> str | DataError:
    if isinstance(key, str) or (isinstance(key, int) and not isinstance(key, bool)):
        text = str(key)
        # The cluster takes 512 bytes.
        if (0 < len(text) <= 512) if text.isascii() else (_is_utf8(text) and len(text.encode()) <= 512):
            return text
        return DataError("its key is empty, longer than the 512 bytes of an id, or has half a pair of surrogates")
    if key is None:
        return DataError(f"it has no key for an id: set {settings.KEY_IGNORE}=true, or make one by a transform")
    return DataError(
        f"its key is no text or integer, but {type(key).__name__}: set {settings.KEY_IGNORE}=true, or take a field of it"
    )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_object(own: Schema | None) -> bool:
    return own is not None and own.type is SchemaType.STRUCT


def _document(value: Any, own: Schema | None) -> bytes | DataError | None:
    if value is None:
        return None
    if not isinstance(value, dict | Struct):
        return DataError(f"a document is an object, but its value is {type(value).__name__}: HoistField makes one of it")
    try:
        return documents.to_json(value, own)
    except DataError as error:
        return error
    except MISFITS as error:
        return DataError(f"no document can be made of it: {type(error).__name__}")


def _field(value: Any, name: str) -> Any:
    return value[name] if isinstance(value, Struct) and value.schema.field(name) else None
