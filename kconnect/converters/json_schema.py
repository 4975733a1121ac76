"""
Schemas and values in Connect's JSON form: `{"type": "struct", "fields": [{"field": "a", "type": "int32", …}], …}`.

Called by `json.py` only.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
from collections.abc import Callable
from typing import Any

from kconnect.api import schema as schemas
from kconnect.api.errors import DataError
from kconnect.api.schema import Schema, SchemaType, Struct

_NAMES = {
    SchemaType.INT8: "int8",
    SchemaType.INT16: "int16",
    SchemaType.INT32: "int32",
    SchemaType.INT64: "int64",
    SchemaType.FLOAT32: "float",
    SchemaType.FLOAT64: "double",
    SchemaType.BOOLEAN: "boolean",
    SchemaType.STRING: "string",
    SchemaType.BYTES: "bytes",
    SchemaType.ARRAY: "array",
    SchemaType.MAP: "map",
    SchemaType.STRUCT: "struct",
}
_TYPES = {name: kind for kind, name in _NAMES.items()}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_WHOLE = (SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64)


def write(schema: Schema, plain: Callable[[Schema, Any], Any]) -> dict[str, Any]:
    """The JSON form of a schema; `plain` converts a default value."""
    body: dict[str, Any] = {"type": _NAMES[schema.type]}
    if schema.type is SchemaType.ARRAY and schema.value_schema is not None:
        body["items"] = write(schema.value_schema, plain)
    elif schema.type is SchemaType.MAP and schema.key_schema is not None and schema.value_schema is not None:
        body["keys"] = write(schema.key_schema, plain)
        body["values"] = write(schema.value_schema, plain)
    elif schema.type is SchemaType.STRUCT:
        body["fields"] = [{**write(field.schema, plain), "field": field.name} for field in schema.fields]
    body["optional"] = schema.optional
    if schema.name is not None:
        body["name"] = schema.name
    if schema.version is not None:
        body["version"] = schema.version
    if schema.doc is not None:
        body["doc"] = schema.doc
    if schema.parameters:
        body["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        body["default"] = plain(schema, schema.default)
    return body


def read(body: Any) -> Schema | None:
    """The schema that a JSON form describes; None for null. DataError if it describes none."""
    if body is None:
        return None
    kind = _TYPES.get(body.get("type", "")) if isinstance(body, dict) else None
    if kind is None:
        raise DataError(f"Unknown schema type: {body.get('type') if isinstance(body, dict) else body}")
    fields: list[tuple[str, Schema]] = []
    keys = values = None
    if kind is SchemaType.ARRAY:
        values = _required(body, "items", "Array schema did not specify the element type")
    elif kind is SchemaType.MAP:
        keys = _required(body, "keys", "Map schema did not specify the key type")
        values = _required(body, "values", "Map schema did not specify the value type")
    elif kind is SchemaType.STRUCT:
        if not isinstance(body.get("fields"), list):
            raise DataError("Struct schema's \"fields\" argument is not an array.")
        for field in body["fields"]:
            name = field.get("field") if isinstance(field, dict) else None
            if not isinstance(name, str):
                raise DataError("Struct schema's field name not specified properly")
            found = read(field)
            assert found is not None
            fields.append((name, found))
    schema = Schema(
        kind,
        optional=body.get("optional") is True,
        name=body.get("name"),
        version=body.get("version"),
        doc=body.get("doc"),
        parameters=body.get("parameters"),
        fields=fields,
        key_schema=keys,
        value_schema=values,
    )
    default = body.get("default")
    return schema if default is None else schema.replace(default=value(schema, default))


def value(schema: Schema, plain: Any, defaults: bool = True) -> Any:
    """The value of `schema` that parsed JSON stands for."""
    if plain is None:
        if schema.default is not None and defaults:
            return schema.default
        if schema.optional:
            return None
        raise DataError(f"Invalid null value for required {schema.type.value} field")
    if schema.name is not None and (logical := _logical(schema, plain)) is not None:
        return logical
    kind = schema.type
    if kind in _WHOLE and isinstance(plain, int | float) and not isinstance(plain, bool):
        return int(plain)
    if kind in (SchemaType.FLOAT32, SchemaType.FLOAT64) and isinstance(plain, int | float) and not isinstance(plain, bool):
        return float(plain)
    if kind is SchemaType.BOOLEAN and isinstance(plain, bool):
        return plain
    if kind is SchemaType.STRING and isinstance(plain, str):
        return plain
    if kind is SchemaType.BYTES and isinstance(plain, str):
        return _bytes(plain)
    if kind is SchemaType.ARRAY and isinstance(plain, list) and schema.value_schema is not None:
        return [value(schema.value_schema, item, defaults) for item in plain]
    if kind is SchemaType.MAP and schema.key_schema is not None and schema.value_schema is not None:
        return _map(schema.key_schema, schema.value_schema, plain, defaults)
    if kind is SchemaType.STRUCT and isinstance(plain, dict):
        made = Struct(schema)
        for field in schema.fields:
            item = value(field.schema, plain.get(field.name), defaults)
            if item is not None:
                made[field.name] = item
        return made
    raise DataError(f"Invalid value of type {type(plain).__name__} for a field of type {kind.value}")


def _map(key_schema: Schema, value_schema: Schema, plain: Any, defaults: bool) -> dict[Any, Any]:
    if key_schema.type is SchemaType.STRING:
        if not isinstance(plain, dict):
            raise DataError("Maps with string fields should be encoded as JSON objects, but found " + type(plain).__name__)
        return {key: value(value_schema, item, defaults) for key, item in plain.items()}
    if not isinstance(plain, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in plain):
        raise DataError("Maps with non-string fields should be encoded as JSON array of tuples")
    return {value(key_schema, key, defaults): value(value_schema, item, defaults) for key, item in plain}


def _logical(schema: Schema, plain: Any) -> Any:
    if schema.name == schemas.DECIMAL:
        scale = int(schema.parameters.get("scale", "0"))
        if isinstance(plain, int | float) and not isinstance(plain, bool):
            return decimal.Decimal(str(plain)).quantize(decimal.Decimal(1).scaleb(-scale))
        if isinstance(plain, str):
            unscaled = int.from_bytes(_bytes(plain), "big", signed=True)
            return decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=max(28, len(str(unscaled)) + 1)))
        raise DataError("Invalid type for Decimal, underlying representation should be numeric or bytes")
    milliseconds = {schemas.DATE: 86_400_000, schemas.TIME: 1, schemas.TIMESTAMP: 1}.get(schema.name or "")
    if milliseconds is None:
        return None
    if not isinstance(plain, int) or isinstance(plain, bool):
        raise DataError(f"Invalid type for {schema.name}, underlying representation should be integer")
    return _EPOCH + datetime.timedelta(milliseconds=plain * milliseconds)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise DataError("Invalid bytes field: not base64") from error


def _required(body: dict[str, Any], name: str, message: str) -> Schema:
    found = read(body.get(name))
    if found is None:
        raise DataError(message)
    return found
