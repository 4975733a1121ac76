"""
From Connect's values to plain JSON ones, compiled once for each schema.

`Writers.of(schema)` gives a function that makes of a value what `json_text.dumps` writes. Called by `json.py`, and for
defaults by `json_schema.py`. Read next: `json_columns.py`, which writes many values at once. The other direction:
`json_readers.py`.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import Any

import orjson

from kconnect.converters import logical
from kconnect.converters.json_text import float32, float64
from kconnect.data import schema as schemas
from kconnect.data.kept import Kept, weight_of
from kconnect.data.schema import EXACT, Float32, Float64, Int8, Int16, Int32, Int64, Schema, SchemaType, Struct
from kconnect.data.values import java_class, to_text
from kconnect.errors import DataError

Convert = Callable[[Any], Any]

_WHOLE = (SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64)
AS_IS: dict[SchemaType, type] = {
    **dict.fromkeys(_WHOLE, int),
    SchemaType.BOOLEAN: bool,
    SchemaType.STRING: str,
}
"""The classes whose values are written as they are, in a schema that is not logical."""


class Writers:
    """Writers by schema, for one converter's settings."""

    def __init__(self, numeric_decimals: bool, defaults: bool, limit: int) -> None:
        self.numeric = numeric_decimals
        self._defaults = defaults
        self._kept: Kept[Schema, Convert] = Kept(limit)

    def of(self, schema: Schema) -> Convert:
        """Return the writer of a schema; at most `limit` are kept."""
        writer = self._kept.get(schema)
        if writer is None:
            writer = self._of(schema)
            self._kept.put(schema, writer, weight_of(schema))
        return writer

    def _of(self, schema: Schema) -> Convert:
        logical = self._of_logical(schema)
        if logical is not None or schema.type not in AS_IS:
            return self._or_null(schema, logical or self._of_type(schema))
        expected, general = AS_IS[schema.type], self._or_null(schema, self._of_type(schema))
        # An exact class: True is an int to `isinstance`.
        return lambda value: value if type(value) is expected else general(value)

    def _or_null(self, schema: Schema, write: Convert) -> Convert:
        if schema.default is not None and self._defaults:
            default = write(schema.default)
            return lambda value: default if value is None else write(value)
        if schema.optional:
            return lambda value: None if value is None else write(value)

        def required(value: Any) -> Any:
            if value is None:
                raise DataError("Conversion error: null value for field that is required and has no default value")
            return write(value)

        return required

    def _of_logical(self, schema: Schema) -> Convert | None:
        if schema.name == schemas.DECIMAL:
            if self.numeric:
                return _write_number
            unscaled = logical.writer_of_decimals(schema)
            return lambda value: _base64(unscaled(value))
        return logical.WRITERS.get(schema.name or "")

    def _of_type(self, schema: Schema) -> Convert:
        kind = schema.type
        if kind is SchemaType.ARRAY:
            return self._of_array(self._part(schema.value_schema))
        if kind is SchemaType.MAP:
            as_object = schema.key_schema is not None and schema.key_schema.type is SchemaType.STRING
            return self._of_map(as_object, self._part(schema.key_schema), self._part(schema.value_schema))
        if kind is SchemaType.STRUCT:
            return self._of_struct(schema)
        if kind is SchemaType.BYTES:
            return _write_bytes
        if kind is SchemaType.FLOAT32:
            return _writer_of_number(kind, float, float32)
        if kind is SchemaType.FLOAT64:
            return _writer_of_number(kind, float, float64)
        if kind in _WHOLE:
            return _writer_of_number(kind, int, int)
        return _writer_of(kind, AS_IS[kind])

    def _part(self, schema: Schema | None) -> Convert:
        return self.free if schema is None else self.of(schema)

    @staticmethod
    def _of_array(element: Convert) -> Convert:
        def write(value: Any) -> Any:
            if not isinstance(value, list | tuple):
                raise _wrong(SchemaType.ARRAY, value)
            return [element(item) for item in value]

        return write

    @staticmethod
    def _of_map(as_object: bool, key: Convert, element: Convert) -> Convert:
        def write(value: Any) -> Any:
            if not isinstance(value, dict):
                raise _wrong(SchemaType.MAP, value)
            if as_object:
                return {_name(key(name)): element(item) for name, item in value.items()}
            return [[key(name), element(item)] for name, item in value.items()]

        return write

    def _of_struct(self, schema: Schema) -> Convert:
        fields = [(field.name, self.of(field.schema)) for field in schema.fields]

        def write(value: Any) -> Any:
            if not isinstance(value, Struct):
                raise _wrong(SchemaType.STRUCT, value)
            if value.schema is not schema and value.schema != schema:
                raise DataError("Mismatching schema.")
            return {name: convert(item) for (name, convert), item in zip(fields, value.values)}

        return write

    def free(self, value: Any) -> Any:
        """Write a value without a schema."""
        if is_exact(value):
            return value
        kind = type(value)
        if kind is float:
            return float64(value)
        if kind is dict:
            if all(type(key) is str for key in value):
                return {key: self.free(item) for key, item in value.items()}
            return [[self.free(key), self.free(item)] for key, item in value.items()]
        if kind is list or kind is tuple:
            return [self.free(item) for item in value]
        if isinstance(value, bytes | bytearray | memoryview):
            return _base64(value)
        if isinstance(value, Struct):
            return self.of(value.schema)(value)
        if isinstance(value, Float32):
            return float32(value)
        if isinstance(value, Int8 | Int16 | Int32 | Int64 | Float64):
            return self.free(float(value) if isinstance(value, float) else int(value))
        name = java_class(value)
        if name == f"{kind.__module__}.{kind.__qualname__}":
            # Of Python only: Connect's words would not help its author.
            raise DataError(
                f"A value of the class {name} is no data: use None, bool, int, float, str, bytes, list, dict or Struct"
            )
        raise DataError(f"Java class class {name} does not have corresponding schema type.")


def is_exact(value: Any) -> bool:
    """Whether orjson writes this as Jackson does: the quick way for most data without a schema."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        is_long: bool = -(1 << 63) <= value < 1 << 63
        return is_long
    if kind is float:
        is_plain: bool = value == 0 or 1e-3 <= abs(value) < 1e7
        return is_plain
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        value = value.values()
    elif kind is not list:
        return False
    for item in value:  # noqa: SIM110 - quicker than a generator; and most are texts, which need no call
        if type(item) is not str and not is_exact(item):
            return False
    return True


def _writer_of(kind: SchemaType, expected: type) -> Convert:
    def write(value: Any) -> Any:
        if type(value) is not expected:
            raise _wrong(kind, value)
        return value

    return write


def _writer_of_number(kind: SchemaType, expected: type, convert: Convert) -> Convert:
    exact = EXACT[kind]

    def write(value: Any) -> Any:
        if type(value) is not expected:
            if type(value) is not exact:
                raise _wrong(kind, value)
            value = expected(value)
        return convert(value)

    return write


def _write_bytes(value: Any) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise DataError(f"Invalid type for bytes type: class {java_class(value)}")
    return _base64(value)


def _write_number(value: Any) -> Any:
    return orjson.Fragment(to_text(logical.checked_decimal(value)))


def _base64(value: bytes | bytearray | memoryview) -> str:
    return binascii.b2a_base64(value, newline=False).decode()


def _name(key: Any) -> str:
    # Jackson has no null names either; Connect fails with a NullPointerException here.
    if key is None:
        raise DataError("A map with string keys has a null key, which JSON can't say")
    return str(key)


def _wrong(kind: SchemaType, value: Any) -> DataError:
    return DataError(f"Invalid type for {kind.value}: class {java_class(value)}")
