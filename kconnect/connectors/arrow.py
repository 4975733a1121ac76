"""
Arrow: the types of schemas, and columns of values as arrays. Used by `objects/formats.py` and `lake/rows.py`.
"""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from kconnect.api import DataError, Schema, SchemaType, schema, values

_SIMPLE = {
    SchemaType.INT8: pa.int8(),
    SchemaType.INT16: pa.int16(),
    SchemaType.INT32: pa.int32(),
    SchemaType.INT64: pa.int64(),
    SchemaType.FLOAT32: pa.float32(),
    SchemaType.FLOAT64: pa.float64(),
    SchemaType.BOOLEAN: pa.bool_(),
    SchemaType.STRING: pa.string(),
    SchemaType.BYTES: pa.binary(),
}
_LOGICAL = {schema.DATE: pa.date32(), schema.TIME: pa.time32("ms"), schema.TIMESTAMP: pa.timestamp("ms", "UTC")}
_FAR = "a date is not in the years 1 to 9999"
_DIGITS = 38
"""The most that a decimal of 128 bits has."""
_FARTHEST = 1000
"""Arrow looks up the power of ten of a scale in a table, without a look at where that ends: 1E-999999999 ended the process."""


def arrow_schema(own: Schema) -> pa.Schema:
    """Return Arrow's schema of a struct's. Raise DataError for a type that Arrow has not."""
    return pa.schema([_field(field.name, field.schema) for field in own.fields])


def _field(name: str, own: Schema) -> pa.Field:
    return pa.field(name, _type(own), nullable=own.optional)


def _type(own: Schema) -> pa.DataType:
    if own.name == schema.DECIMAL:
        scale = schema.decimal_scale(own)
        if abs(scale) > _DIGITS:
            raise DataError(f"a decimal has a scale of {scale}, but files have decimals of {_DIGITS} digits")
        return pa.decimal128(_DIGITS, scale)
    if own.name in _LOGICAL:
        return _LOGICAL[own.name]
    if own.type is SchemaType.STRUCT:
        return pa.struct([_field(field.name, field.schema) for field in own.fields])
    if own.type is SchemaType.ARRAY and own.value_schema is not None:
        return pa.list_(_field("element", own.value_schema))
    if own.type is SchemaType.MAP and own.key_schema is not None and own.value_schema is not None:
        return pa.map_(_type(own.key_schema), _field("value", own.value_schema))
    if own.type not in _SIMPLE:
        raise DataError(f"files can't have values of type {own.type.value} whose elements have no schema")
    return _SIMPLE[own.type]


def arrays(own: Schema, columns: Sequence[Sequence[Any]], made: pa.Schema) -> list[pa.Array]:
    """The columns of a struct's fields. An exception if one has a value that its type has not."""
    return [_array(field.schema, column, arrow_field.type) for field, column, arrow_field in zip(own.fields, columns, made)]


def _array(own: Schema, column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    # Whether dates are such as Arrow has, the whole column is asked below.
    convert = None if own.name in (schema.TIMESTAMP, schema.DECIMAL) else conversion(own)
    default = _default(own)
    if default is not None and None in column:
        column = [default if value is None else value for value in column]
    if not own.optional and None in column:
        raise DataError("a value that is required is null")
    if own.name is not None and values.FarDate in set(map(type, column)):
        raise DataError(_FAR)
    if own.name == schema.DECIMAL:
        for far in [value for value in column if value is not None and not -_FARTHEST <= value.adjusted() <= _FARTHEST]:
            checked_decimal(far)
    if convert is not None:
        column = [None if value is None else convert(value) for value in column]
    array = pa.array(column, kind)
    if pa.types.is_nested(kind):
        _check_within(array)
    return array


def _check_within(array: pa.Array) -> None:
    """Raise DataError for a null within a value that may have none there: the whole file would be refused, at its end."""
    kind, values = array.type, array.drop_null()
    if pa.types.is_struct(kind):
        parts = [(kind.field(at), values.field(at)) for at in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        parts = [(kind.item_field, values.items)]
    else:
        parts = [(kind.value_field, values.flatten())]
    for field, part in parts:
        if not field.nullable and part.null_count:
            raise DataError(f"a value that is required is null, in the {field.name} within another one")
        if pa.types.is_nested(field.type):
            _check_within(part)


def conversion(own: Schema) -> Callable[[Any], Any] | None:
    """Return the conversion to values that Arrow and Avro take; None if they are so already."""
    if own.name == schema.DATE:
        return lambda value: _near(value).date()
    if own.name == schema.TIME:
        return lambda value: _near(value).time()
    if own.name == schema.TIMESTAMP:
        return _near
    if own.name == schema.DECIMAL:
        return checked_decimal
    if own.type is SchemaType.STRUCT:
        fields = [(field.name, _nullable(field.schema)) for field in own.fields]
        return lambda value: {name: convert(item) for (name, convert), item in zip(fields, value.values)}
    if own.type is SchemaType.ARRAY and own.value_schema is not None:
        element = _nullable(own.value_schema)
        return lambda value: [element(item) for item in value]
    if own.type is SchemaType.MAP and own.key_schema is not None and own.value_schema is not None:
        inner = _nullable(own.value_schema)
        return lambda value: {key: inner(item) for key, item in value.items()}
    return bytes if own.type is SchemaType.BYTES and own.name is None else None


def checked_decimal(value: decimal.Decimal) -> decimal.Decimal:
    """Return the same. DataError for one whose first digit is so far from the point that Arrow would end the process."""
    if abs(value.adjusted()) > _FARTHEST:
        raise DataError(f"a decimal has its first digit {value.adjusted()} places from the point: files have {_DIGITS} digits")
    return value


def check_free(column: Iterable[Any]) -> None:
    """Raise DataError for such a decimal in values without a schema, however deep."""
    column = list(column)
    kinds = set(map(type, column))
    if decimal.Decimal in kinds:
        for value in column:
            if type(value) is decimal.Decimal:
                checked_decimal(value)
    if kinds & {dict, list, tuple}:
        items = [value.values() if type(value) is dict else value for value in column if type(value) in (dict, list, tuple)]
        check_free(itertools.chain.from_iterable(items))


def _near(value: Any) -> Any:
    if isinstance(value, values.FarDate):
        raise DataError(_FAR)
    return value


def _default(own: Schema) -> Any:
    """Return what stands for a null: nothing where null may be. Whether it means the default there, the converter has said."""
    return None if own.optional else own.default


def _nullable(own: Schema) -> Callable[[Any], Any]:
    convert, default = conversion(own), _default(own)
    if convert is None:
        return lambda value: default if value is None else value
    return lambda value: default if value is None else convert(value)
