"""
The golden files: what Apache Kafka Connect 4.3.1 itself returned or threw, one JSON object a line.

An envelope is `{"schema": …, "payload": …, "types": …}`. This reads and writes them without the converters under test, so
that a mistake in those can't hide itself. `load` gives a file's cases, `value_of` the data of an envelope, and
`assert_same` compares data with one. Numbers without a schema are of the classes that say how wide they are, but for a long
and a double, which plain ones are. Functions that return a number of a known width return a plain one: there the widths are
not compared.
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
from kconnect.api.schema import Schema, SchemaAndValue, SchemaType, Struct, java_class

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


def value_of(envelope: dict[str, Any], exact: bool = False) -> SchemaAndValue:
    """`exact`: longs and doubles without a schema have classes of their own, too."""
    schema = schema_of(envelope["schema"])
    return SchemaAndValue(schema, _typed(schema, envelope["payload"], envelope.get("types"), exact))


def input_of(envelope: dict[str, Any]) -> SchemaAndValue:
    """
    The data that was given to Connect.

    An envelope becomes data as Connect's JSON converter reads it: each fraction by way of a BigDecimal. That has no negative
    zero, so `-0.0` says 0.0 to a transform or converter (a Double of -0.0 Connect writes as `-0.0`, as we do). What came out
    is another matter: it was written, and `-0.0` there is one.
    """
    return value_of(json.loads(json.dumps(envelope), parse_float=lambda text: float(text) or 0.0))


def assert_same(found: SchemaAndValue, envelope: dict[str, Any], widths: bool = True) -> None:
    wanted = value_of(envelope)
    assert found.schema == wanted.schema, envelope
    assert _comparable(found.value, found.schema, widths) == _comparable(wanted.value, wanted.schema, widths), envelope


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


def _typed(schema: Schema | None, payload: Any, types: Any = None, exact: bool = False) -> Any:
    """`types` is there where elements have no schema, or don't fit it."""
    if payload is None:
        return None
    if schema is None or isinstance(types, str):
        return _free(payload, types, exact)
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
        return [_typed(schema.value_schema, item, _of(types, index), exact) for index, item in enumerate(payload)]
    if schema.type is SchemaType.MAP:
        pairs = payload.items() if isinstance(payload, dict) else payload
        return {
            _typed(schema.key_schema, key): _typed(schema.value_schema, item, _of(types, key), exact) for key, item in pairs
        }
    if schema.type is SchemaType.STRUCT:
        fields = [(field.schema, payload.get(field.name), _of(types, field.name)) for field in schema.fields]
        return Struct.unchecked(schema, [_typed(*each, exact) for each in fields])
    return payload


def _of(types: Any, place: Any) -> Any:
    """What `types` says of the element there."""
    if isinstance(types, dict):
        return types.get(place)
    return types[place] if isinstance(types, list) else None


WIDTHS: dict[str, type] = {
    "int8": schemas.Int8,
    "int16": schemas.Int16,
    "int32": schemas.Int32,
    "int64": schemas.Int64,
    "float32": schemas.Float32,
    "float64": schemas.Float64,
}


def exact_value_of(envelope: dict[str, Any]) -> Any:
    """The value, each number without a schema marked as what it is in Java."""
    return value_of(envelope, exact=True).value


def _free(payload: Any, types: Any, exact: bool) -> Any:
    if isinstance(payload, dict):
        return {key: _free(item, _of(types, key), exact) for key, item in payload.items()}
    if isinstance(payload, list):
        return [_free(item, _of(types, index), exact) for index, item in enumerate(payload)]
    if types in ("bytes", "bytebuffer"):
        data = base64.b64decode(payload)
        return data if types == "bytes" else memoryview(data)
    if types == "decimal":
        return decimal.Decimal(payload)
    if types == "bigint":
        return int(payload)
    if types == "date":
        return moments.date_of(payload)
    width = types if types in WIDTHS else {int: "int64", float: "float64"}.get(type(payload))
    if width is None:
        return payload
    number = _float(payload, width == "float32") if width.startswith("float") else payload
    return WIDTHS[width](number) if exact or width not in ("int64", "float64") else number


def _float(payload: Any, narrow: bool) -> float:
    number = float(payload)
    return struct.unpack(">f", struct.pack(">f", number))[0] if narrow and math.isfinite(number) else number


def _comparable(value: Any, schema: Schema | None, widths: bool) -> Any:
    """Something that is equal exactly if values are: `True` is not 1, 1 not 1.0, 0.0 not -0.0, but NaN is NaN."""
    if isinstance(value, Struct):
        return "struct", [_comparable(item, field.schema, widths) for field, item in value.items()]
    if isinstance(value, dict):
        of_key, inner = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        pairs = [(_comparable(key, of_key, widths), _comparable(item, inner, widths)) for key, item in value.items()]
        return "map", sorted(pairs, key=repr)
    if isinstance(value, list | tuple):
        return "array", [_comparable(item, schema and schema.value_schema, widths) for item in value]
    kind = java_class(value, schema)
    if isinstance(value, int | float) and not isinstance(value, bool):
        name = kind if widths else "float" if isinstance(value, float) else "int"
        # A 32-bit number may be kept as any float that rounds to it.
        return name, repr(_float(float(value), "Float" in kind)) if isinstance(value, float) else int(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes", bytes(value)
    return kind, value.as_tuple() if isinstance(value, decimal.Decimal) else value
