"""
Whether a JSON value fits a schema as it is: it has nothing that the schema lacks, and nothing of it would become another value.

Connect's own reader (`json_readers.py`) passes over fields that a schema lacks, and makes a text where a number should be 0.
Who has pinned an inferred schema wants to hear of that. Called by `json_inferred.py`.
"""

from __future__ import annotations

from typing import Any

from kconnect.converters.inference import Misfit
from kconnect.data.schema import Schema, SchemaType

_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_EXACT = {SchemaType.FLOAT32: 1 << 24, SchemaType.FLOAT64: 1 << 53}
_PLAIN = {SchemaType.BOOLEAN: bool, SchemaType.STRING: str}


def require(schema: Schema, plain: Any, path: str = "") -> None:
    """Raise Misfit, naming the field, for a value that does not fit. What has a logical type, its reader refuses."""
    where = f"the field {path!r}" if path else "it"
    if plain is None:
        if not schema.optional and schema.default is None and path:
            raise Misfit(f"{where} is null or missing, and the pinned schema requires it")
        return
    kind = schema.type
    if kind is SchemaType.STRUCT:
        _require_struct(schema, plain, path, where)
    elif kind in (SchemaType.ARRAY, SchemaType.MAP) and schema.value_schema is not None:
        if kind is SchemaType.MAP and type(plain) is list:
            # One whose keys are no texts is told as pairs, which its reader knows.
            return
        if type(plain) is not (list if kind is SchemaType.ARRAY else dict):
            raise _misfit(where, schema, plain)
        for each in plain.values() if isinstance(plain, dict) else plain:
            require(schema.value_schema, each, f"{path}[]")
    elif schema.name is None and kind is not SchemaType.BYTES and not _holds(kind, plain):
        raise _misfit(where, schema, plain)


def _require_struct(schema: Schema, plain: Any, path: str, where: str) -> None:
    if type(plain) is not dict:
        raise _misfit(where, schema, plain)
    names = {field.name for field in schema.fields}
    other = next((name for name in plain if name not in names), None)
    if other is not None:
        raise Misfit(f"the field {(f'{path}.' if path else '') + other!r} is not in the pinned schema (schema.content)")
    for field in schema.fields:
        require(field.schema, plain.get(field.name), f"{path}.{field.name}" if path else field.name)


def _holds(kind: SchemaType, plain: Any) -> bool:
    if kind in _BITS:
        limit = 1 << _BITS[kind] - 1
        return type(plain) is int and -limit <= plain < limit
    if kind in _EXACT:
        return type(plain) is float or (type(plain) is int and -_EXACT[kind] <= plain <= _EXACT[kind])
    return type(plain) is _PLAIN.get(kind)


def _misfit(where: str, schema: Schema, plain: Any) -> Misfit:
    return Misfit(f"{where} is of the type {type(plain).__name__}, and the pinned schema has {schema.type.value} there")
