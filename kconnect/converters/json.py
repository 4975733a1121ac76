"""
JsonConverter: JSON with or without the schema beside the data. In Java it is `org.apache.kafka.connect.json.JsonConverter`.

With `schemas.enable` each message is an envelope, `{"schema": …, "payload": …}`; without, the bare data, which comes back
without a schema. The text is what Connect writes, to the last digit of a float. Read next: `json_schema.py`.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import struct
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

import orjson

from kconnect.api import schema as schemas
from kconnect.api.config import ConfigDef, ConfigKey, Importance, OneOf, Range, Type
from kconnect.api.converter import Converter
from kconnect.api.errors import DataError
from kconnect.api.record import Header
from kconnect.api.schema import NULL, Schema, SchemaAndValue, SchemaType, Struct
from kconnect.api.values import to_text
from kconnect.converters import json_schema

CONFIG = ConfigDef(
    ConfigKey(
        "converter.type",
        Type.STRING,
        importance=Importance.LOW,
        doc="What is converted; set by the framework.",
        validator=OneOf(("key", "value", "header")),
    ),
    ConfigKey("schemas.enable", Type.BOOLEAN, True, Importance.HIGH, "Put the schema into each message.", None, "Schemas", 0),
    ConfigKey("schemas.cache.size", Type.INT, 1000, Importance.HIGH, "Schemas kept.", Range.at_least(0), "Schemas", 1),
    ConfigKey("schema.content", Type.STRING, None, Importance.HIGH, "A schema for all messages read.", None, "Schemas", 2),
    ConfigKey(
        "decimal.format",
        Type.STRING,
        "BASE64",
        Importance.LOW,
        "How decimals are written.",
        OneOf(("NUMERIC", "BASE64"), ignore_case=True),
        "Serialization",
        0,
    ),
    ConfigKey(
        "replace.null.with.default", Type.BOOLEAN, True, Importance.LOW, "Write defaults for nulls.", None, "Serialization", 1
    ),
)

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)
_WHOLE = (SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64)


class JsonConverter(Converter):
    def __init__(self) -> None:
        self.configure({}, False)

    def config(self) -> ConfigDef:
        return CONFIG

    def version(self) -> str:
        return metadata.version("kconnect")

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        parsed = CONFIG.parse({"converter.type": "key" if is_key else "value", **configs})
        self._enveloped: bool = parsed["schemas.enable"]
        self._numeric: bool = parsed["decimal.format"].upper() == "NUMERIC"
        self._defaults: bool = parsed["replace.null.with.default"]
        self._limit: int = parsed["schemas.cache.size"]
        self._written: dict[Schema, orjson.Fragment] = {}
        self._read: dict[bytes, Schema | None] = {}
        content = parsed["schema.content"]
        self._fixed: Schema | None = json_schema.read(orjson.loads(content)) if content else None

    # --- to Kafka ---

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        if schema is None and value is None:
            return None
        if self._enveloped:
            return orjson.dumps({"schema": self._schema(schema), "payload": self._plain(schema, value)})
        return orjson.dumps(self._plain(schema, value))

    def _schema(self, schema: Schema | None) -> orjson.Fragment | None:
        if schema is None:
            return None
        known = self._written.get(schema)
        if known is None:
            if len(self._written) >= max(1, self._limit):
                self._written.clear()
            known = orjson.Fragment(orjson.dumps(json_schema.write(schema, self._plain)))
            self._written[schema] = known
        return known

    def _plain(self, schema: Schema | None, value: Any) -> Any:
        """The value in types that orjson writes as Jackson does."""
        if schema is None:
            return self._schemaless(value)
        if value is None:
            if self._defaults and schema.default is not None:
                return self._plain(schema, schema.default)
            if schema.optional:
                return None
            raise DataError("Conversion error: null value for field that is required and has no default value")
        if schema.name is not None and (logical := self._logical(schema, value)) is not None:
            return logical
        kind = schema.type
        if kind is SchemaType.STRING:
            return value if isinstance(value, str) else _wrong(schema, value)
        if kind in _WHOLE:
            return value if isinstance(value, int) and not isinstance(value, bool) else _wrong(schema, value)
        if kind is SchemaType.BOOLEAN:
            return value if isinstance(value, bool) else _wrong(schema, value)
        if kind is SchemaType.FLOAT64:
            return _double(value)
        if kind is SchemaType.FLOAT32:
            return _float(value)
        if kind is SchemaType.BYTES:
            return base64.b64encode(value).decode()
        if kind is SchemaType.ARRAY:
            return [self._plain(schema.value_schema, item) for item in value]
        if kind is SchemaType.MAP:
            pairs = [(self._plain(schema.key_schema, k), self._plain(schema.value_schema, v)) for k, v in value.items()]
            textual = schema.key_schema is not None and schema.key_schema.type is SchemaType.STRING
            return dict(pairs) if textual else [list(pair) for pair in pairs]
        if not isinstance(value, Struct) or value.schema != schema:
            raise DataError("Mismatching schema.")
        return {field.name: self._plain(field.schema, item) for field, item in value.items()}

    def _logical(self, schema: Schema, value: Any) -> Any:
        name = schema.name
        if name == schemas.DECIMAL:
            if not isinstance(value, decimal.Decimal):
                raise DataError("Invalid type for Decimal, expected BigDecimal but was " + type(value).__name__)
            if self._numeric:
                return orjson.Fragment(format(value, "f"))
            return base64.b64encode(_unscaled(schema, value)).decode()
        if name in (schemas.DATE, schemas.TIME, schemas.TIMESTAMP):
            if not isinstance(value, datetime.datetime):
                raise DataError(f"Invalid type for {name}, expected Date but was {type(value).__name__}")
            milliseconds = (value - _EPOCH) // _MS
            return milliseconds // 86_400_000 if name == schemas.DATE else milliseconds
        return None

    def _schemaless(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (str, bool):
            return value
        if kind is int:
            return value if -(1 << 63) <= value < 1 << 63 else orjson.Fragment(str(value))
        if kind is float:
            return _double(value)
        if kind is dict:
            if all(type(key) is str for key in value):
                return {key: self._schemaless(item) for key, item in value.items()}
            return [[self._schemaless(key), self._schemaless(item)] for key, item in value.items()]
        if kind in (list, tuple):
            return [self._schemaless(item) for item in value]
        if isinstance(value, bytes | bytearray | memoryview):
            return base64.b64encode(value).decode()
        if isinstance(value, Struct):
            return self._plain(value.schema, value)
        raise DataError(f"Java class {kind.__name__} does not have corresponding schema type.")

    # --- from Kafka ---

    def to_connect_data(
        self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None
    ) -> SchemaAndValue:
        if data is None:
            return NULL
        try:
            parsed = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise DataError("Converting byte[] to Kafka Connect data failed due to serialization error: ") from error
        if not self._enveloped:
            return SchemaAndValue(None, parsed)
        if self._fixed is not None:
            return SchemaAndValue(self._fixed, json_schema.value(self._fixed, parsed))
        if not isinstance(parsed, dict) or parsed.keys() != {"schema", "payload"}:
            raise DataError(
                'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional '
                "fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter "
                "configuration."
            )
        schema = self._schema_of(parsed["schema"])
        if schema is None:
            return SchemaAndValue(None, parsed["payload"])
        return SchemaAndValue(schema, json_schema.value(schema, parsed["payload"], self._defaults))

    def _schema_of(self, described: Any) -> Schema | None:
        key = orjson.dumps(described)
        if key not in self._read:
            if len(self._read) >= max(1, self._limit):
                self._read.clear()
            self._read[key] = json_schema.read(described)
        return self._read[key]


def _wrong(schema: Schema, value: Any) -> Any:
    raise DataError(f"Invalid type for {schema.type.value}: {type(value).__name__}")


def _unscaled(schema: Schema, value: decimal.Decimal) -> bytes:
    """Two's complement of the unscaled number, as few bytes as do: Java's `BigInteger.toByteArray`."""
    scale = int(schema.parameters.get("scale", "0"))
    _, digits, exponent = value.as_tuple()
    if -int(exponent) != scale:
        raise DataError("Decimal value has mismatching scale for given Decimal schema. "
                        f"Schema has scale {scale}, value has scale {-int(exponent)}.")
    number = int("".join(map(str, digits))) * (-1 if value.is_signed() else 1)
    bits = number.bit_length() if number >= 0 else (number + 1).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def _double(value: Any) -> Any:
    """orjson's text is Java's only between 1e-3 and 1e7."""
    if not isinstance(value, float):
        raise DataError(f"Invalid type for FLOAT64: {type(value).__name__}")
    if 1e-3 <= abs(value) < 1e7 or value == 0:
        return value
    text = to_text(value)
    return orjson.Fragment(text) if text[-1].isdigit() else text


def _float(value: Any) -> Any:
    """The shortest text that is the same 32-bit number."""
    if not isinstance(value, float):
        raise DataError(f"Invalid type for FLOAT32: {type(value).__name__}")
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        try:
            if struct.pack(">f", short) == struct.pack(">f", value):
                return _double(short)
        except OverflowError:
            continue
    return _double(value)
