"""
Schemas in Connect's JSON form: `{"type": "struct", "fields": [{"field": "a", "type": "int32", …}], …}`.

Called by `json.py` only.
"""

from __future__ import annotations

from typing import Any

from kconnect.converters.json_readers import Readers
from kconnect.converters.json_text import wrapped
from kconnect.converters.json_writers import Writers
from kconnect.data.schema import Brought, Schema, SchemaType
from kconnect.errors import DataError

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


def write(schema: Schema, writers: Writers) -> dict[str, Any]:
    """The JSON form of a schema; `writers` are for defaults."""
    body: dict[str, Any] = {"type": _NAMES[schema.type]}
    if schema.type is SchemaType.ARRAY:
        body["items"] = _write_part(schema.value_schema, writers)
    elif schema.type is SchemaType.MAP:
        body["keys"] = _write_part(schema.key_schema, writers)
        body["values"] = _write_part(schema.value_schema, writers)
    elif schema.type is SchemaType.STRUCT:
        body["fields"] = [{**write(field.schema, writers), "field": field.name} for field in schema.fields]
    body["optional"] = schema.optional
    if schema.name is not None:
        body["name"] = schema.name
    if schema.version is not None:
        body["version"] = int(schema.version)
    if schema.doc is not None:
        body["doc"] = schema.doc
    if schema.parameters:
        body["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        body["default"] = writers.of(schema)(schema.default)
    return body


def _write_part(schema: Schema | None, writers: Writers) -> dict[str, Any] | None:
    return None if schema is None else write(schema, writers)


def read(body: Any, readers: Readers) -> Schema | None:
    """The schema that a JSON form describes; None for null. DataError if it describes none."""
    return _read(body, readers)[0]


def _read(body: Any, readers: Readers) -> tuple[Schema | None, int]:
    """Return a schema, and how many schemas it is, with all that are in it."""
    if body is None:
        return None, 0
    name = body.get("type") if isinstance(body, dict) else None
    if not isinstance(name, str):
        raise DataError("Schema must contain 'type' field")
    kind = _TYPES.get(name)
    if kind is None:
        raise DataError(f"Unknown schema type: {name}")
    fields: list[tuple[str, Schema]] = []
    keys = values = None
    count = 1
    if kind is SchemaType.ARRAY:
        values, within = _read(body.get("items"), readers)
        count += within
        if values is None:
            raise DataError("Array schema did not specify the element type")
    elif kind is SchemaType.MAP:
        if "keys" not in body:
            raise DataError("Map schema did not specify the key type")
        if "values" not in body:
            raise DataError("Map schema did not specify the value type")
        (keys, of_keys), (values, of_values) = _read(body["keys"], readers), _read(body["values"], readers)
        count += of_keys + of_values
        if keys is None or values is None:
            raise DataError(f"{'key' if keys is None else 'value'}Schema cannot be null.")
    elif kind is SchemaType.STRUCT:
        fields, within = _fields(body.get("fields"), readers)
        count += within
    version = body.get("version")
    schema = Schema(
        kind,
        optional=body.get("optional") is True,
        name=_text(body, "name"),
        version=Brought(_int32(version)) if type(version) is int else None,
        doc=_text(body, "doc"),
        parameters=_parameters(body.get("parameters")),
        fields=fields,
        key_schema=keys,
        value_schema=values,
    )
    if "default" not in body:
        return schema, count
    readers.room.compile(count)
    default = readers.of(schema)(body["default"])
    if default is not None:
        return schema.replace(default=default), count
    if body["default"] is not None and not schema.optional:
        raise DataError("Invalid default value")
    return schema, count


def _fields(described: Any, readers: Readers) -> tuple[list[tuple[str, Schema]], int]:
    if not isinstance(described, list):
        raise DataError('Struct schema\'s "fields" argument is not an array.')
    fields: list[tuple[str, Schema]] = []
    count = 0
    try:
        for body in described:
            name = body.get("field") if isinstance(body, dict) else None
            if not isinstance(name, str):
                raise DataError("Struct schema's field name not specified properly")
            schema, within = _read(body, readers)
            assert schema is not None
            fields.append((name, schema))
            count += within
    finally:
        # Of several faults Connect tells the first: their names are wrong before anything else is.
        Schema(SchemaType.STRUCT, fields=fields)
    return fields, count


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    return value if isinstance(value, str) else None


def _parameters(described: Any) -> dict[str, str] | None:
    if not isinstance(described, dict):
        return None
    if not all(isinstance(value, str) for value in described.values()):
        raise DataError("Schema parameters must have string values.")
    return described


def _int32(number: int) -> int:
    return (wrapped(number) + (1 << 31)) % (1 << 32) - (1 << 31)
