"""
The golden files: what Apache Kafka Connect 4.3.1 itself returned or threw, one JSON object a line.

An envelope is `{"schema": …, "payload": …, "types": …}`. This reads and writes them without the converters under test, so
that a mistake in those can't hide itself. `load` gives a file's cases, `value_of` the data of an envelope, and
`assert_same` compares data with one. Two things can't be told apart in Python and are not compared: the width of an
integer or float without a schema.
"""

from __future__ import annotations

import base64
import decimal
import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import moments
from kconnect.api import schema as schemas
from kconnect.api.errors import ConfigError, ConnectError, DataError
from kconnect.api.projector import ProjectionError
from kconnect.api.schema import Schema, SchemaAndValue, SchemaType, Struct

HERE = Path(__file__).parent

_NAMES = {"float": SchemaType.FLOAT32, "double": SchemaType.FLOAT64}
_MS = {schemas.DATE: 86_400_000, schemas.TIME: 1, schemas.TIMESTAMP: 1}

ERRORS: dict[str, type[Exception]] = {
    "org.apache.kafka.common.config.ConfigException": ConfigError,
    "org.apache.kafka.common.errors.SerializationException": ConfigError,  # thrown for an unknown encoding only
    "org.apache.kafka.connect.errors.DataException": DataError,
    "org.apache.kafka.connect.errors.SchemaBuilderException": DataError,
    "org.apache.kafka.connect.errors.SchemaProjectorException": ProjectionError,
    "java.lang.NumberFormatException": DataError,
    "java.lang.NullPointerException": DataError,
    "org.apache.kafka.connect.errors.ConnectException": ConnectError,
}

JVM_TEXTS = {
    "java.lang.NullPointerException",
    "java.lang.ClassCastException",
    "java.lang.IndexOutOfBoundsException",
    "java.lang.NumberFormatException",
}
"""Errors whose messages are the JVM's, not Connect's."""


def load(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / file).read_text("utf-8").splitlines()]


def as_params(cases: list[dict[str, Any]]) -> list[Any]:
    """Cases for `pytest.mark.parametrize`, with their own ids."""
    return [pytest.param(case, id=case["id"]) for case in cases]


def value_of(envelope: dict[str, Any]) -> SchemaAndValue:
    schema = schema_of(envelope["schema"])
    if schema is None:
        return SchemaAndValue(None, _free(envelope["payload"], envelope.get("types")))
    return SchemaAndValue(schema, _typed_by(schema, envelope["payload"], envelope.get("types")))


def input_of(envelope: dict[str, Any]) -> SchemaAndValue:
    """
    The data that was given to Connect. The program that made the files read it with Connect's JSON converter, to which
    `-0.0` is `0.0`; what came out was written as it was.
    """
    return value_of(json.loads(json.dumps(envelope), parse_float=lambda text: float(text) or 0.0))


def assert_same(found: SchemaAndValue, envelope: dict[str, Any]) -> None:
    wanted = value_of(envelope)
    assert found.schema == wanted.schema, envelope
    assert _comparable(found.value, found.schema) == _comparable(wanted.value, wanted.schema), envelope


def has_unordered_map(envelope: dict[str, Any]) -> bool:
    """Whether a map of several entries is in the value, for whose order Connect promises nothing."""
    return _is_unordered(value_of(envelope).value)


def _is_unordered(value: Any) -> bool:
    if isinstance(value, Struct):
        return any(map(_is_unordered, value.values))
    if isinstance(value, dict):
        return len(value) > 1 or any(map(_is_unordered, value.values()))
    return isinstance(value, list) and any(map(_is_unordered, value))


def assert_error(found: Exception, error: dict[str, Any]) -> None:
    """Its class as Connect's, and the very message."""
    assert isinstance(found, ERRORS[error["class"]]), (found, error)
    if error["class"] not in JVM_TEXTS:
        assert re.sub(r"@[0-9a-f]+", "@HASH", str(found)) == error["message"]


def schema_of(body: dict[str, Any] | None) -> Schema | None:
    if body is None:
        return None
    made = Schema(
        _NAMES.get(body["type"]) or SchemaType[body["type"].upper()],
        optional=body["optional"],
        name=body.get("name"),
        version=body.get("version"),
        doc=body.get("doc"),
        parameters=body.get("parameters"),
        fields=[(field["field"], schema_of(field)) for field in body.get("fields", [])],  # type: ignore[misc]
        key_schema=schema_of(body.get("keys")),
        value_schema=schema_of(body.get("items") or body.get("values")),
    )
    return made if body.get("default") is None else made.replace(default=_typed(made, body["default"]))


def _typed(schema: Schema, payload: Any) -> Any:
    return _typed_by(schema, payload, None)


def _typed_by(schema: Schema | None, payload: Any, types: Any) -> Any:
    """`types` is there where elements have no schema, or don't fit it."""
    if payload is None:
        return None
    if schema is None or isinstance(types, str):
        return _free(payload, types)
    if schema.name == schemas.DECIMAL:
        unscaled = int.from_bytes(base64.b64decode(payload), "big", signed=True)
        return decimal.Decimal(unscaled).scaleb(-int(schema.parameters["scale"]), decimal.Context(prec=99))
    if schema.name in _MS:
        return moments.date_of(payload * _MS[schema.name])
    if schema.type in (SchemaType.FLOAT32, SchemaType.FLOAT64):
        return _float(payload, schema.type is SchemaType.FLOAT32)
    if schema.type is SchemaType.BYTES:
        return base64.b64decode(payload)
    if schema.type is SchemaType.ARRAY:
        each = types or [None] * len(payload)
        return [_typed_by(schema.value_schema, item, of) for item, of in zip(payload, each, strict=True)]
    if schema.type is SchemaType.MAP:
        pairs = payload.items() if isinstance(payload, dict) else payload
        of_items = types if isinstance(types, dict) else {}
        return {
            _typed_by(schema.key_schema, key, None): _typed_by(
                schema.value_schema, item, of_items.get(key) if isinstance(key, str) else None
            )
            for key, item in pairs
        }
    if schema.type is SchemaType.STRUCT:
        return Struct.unchecked(schema, [_typed(field.schema, payload.get(field.name)) for field in schema.fields])
    return payload


WIDTHS: dict[str, type] = {
    "int8": schemas.Int8,
    "int16": schemas.Int16,
    "int32": schemas.Int32,
    "int64": schemas.Int64,
    "float32": schemas.Float32,
    "float64": schemas.Float64,
}


def exact_value_of(envelope: dict[str, Any]) -> Any:
    """The value without a schema, with each number marked as what it is in Java."""
    return _marked(envelope["payload"], envelope.get("types"))


def _marked(payload: Any, types: Any) -> Any:
    if isinstance(payload, dict):
        return {key: _marked(item, (types or {}).get(key)) for key, item in payload.items()}
    if isinstance(payload, list):
        return [_marked(item, types[index] if types else None) for index, item in enumerate(payload)]
    if type(payload) is int and types is None:
        return schemas.Int64(payload)
    if type(payload) is float and types is None:
        return schemas.Float64(payload)
    return WIDTHS[types](_free(payload, types)) if types in WIDTHS else _free(payload, types)


def _free(payload: Any, types: Any) -> Any:
    if isinstance(payload, dict):
        return {key: _free(item, (types or {}).get(key)) for key, item in payload.items()}
    if isinstance(payload, list):
        return [_free(item, types[index] if types else None) for index, item in enumerate(payload)]
    if types in ("float32", "float64"):
        return _float(payload, types == "float32")
    if types in ("bytes", "bytebuffer"):
        data = base64.b64decode(payload)
        return data if types == "bytes" else memoryview(data)
    if types == "decimal":
        return decimal.Decimal(payload)
    if types == "bigint":
        return int(payload)
    if types == "date":
        return moments.date_of(payload)
    return payload


def _float(payload: Any, narrow: bool) -> float:
    number = float(payload)
    return struct.unpack(">f", struct.pack(">f", number))[0] if narrow and math.isfinite(number) else number


def _comparable(value: Any, schema: Schema | None) -> Any:
    """Something that is equal exactly if values are: `True` is not 1, 1 not 1.0, 0.0 not -0.0, but NaN is NaN."""
    if isinstance(value, Struct):
        return "struct", [_comparable(item, field.schema) for field, item in value.items()]
    if isinstance(value, dict):
        pairs = [
            (_comparable(key, schema and schema.key_schema), _comparable(item, schema and schema.value_schema))
            for key, item in value.items()
        ]
        return "map", sorted(pairs, key=repr)
    if isinstance(value, list | tuple):
        return "array", [_comparable(item, schema and schema.value_schema) for item in value]
    if isinstance(value, float):
        # A 32-bit number may be kept as any float that rounds to it.
        return "float", repr(_float(float(value), schema is not None and schema.type is SchemaType.FLOAT32))
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes", bytes(value)
    if isinstance(value, decimal.Decimal):
        return "decimal", value.as_tuple()
    return type(value).__name__, value
