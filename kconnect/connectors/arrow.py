"""
Arrow: the types of schemas, and columns of values as arrays. Used by `objects/formats.py` and `lake/rows.py`.
"""

from __future__ import annotations

import decimal
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from kconnect.api import Column, DataError, Schema, SchemaType, schema, values

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
_EXPONENT = re.compile(r"[eE][+-]?[0-9]")
"""What Arrow may take for a number, and Python does not."""
_DIGITS = 38
"""The most that a decimal of 128 bits has."""
_DEEPEST = 100
"""How deep values without a schema may be in each other: the type of 900 takes 1.5 GB."""
_FARTHEST = 1000
"""
Arrow looks up the power of ten by which it moves a point in a table of 38, without a look at where that ends. Not far behind it
are numbers that are none, by which 1E-39 became 0; further away, 1E-999999999 ended the process.
"""


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


def arrays(own: Schema, columns: Sequence[Sequence[Any]], made: Iterable[pa.Field]) -> list[pa.Array]:
    """The columns of a struct's fields. An exception if one has a value that its type has not."""
    return [_array(field.schema, column, arrow_field.type) for field, column, arrow_field in zip(own.fields, columns, made)]


def _array(own: Schema, column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if type(column) is Column and own.fields and column.as_field() is column and column.schema == own:
        # Structs that nobody has made yet, none of which is null: their fields become arrays as those of the whole do.
        return pa.StructArray.from_arrays(arrays(own, column.fields()[1], list(kind)), fields=list(kind))
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
        scale = schema.decimal_scale(own)
        for far in [value for value in column if value is not None and not -scale <= value.adjusted() <= _FARTHEST]:
            checked_decimal(far, scale)
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
        scale = schema.decimal_scale(own)
        return lambda value: checked_decimal(value, scale)
    if own.type is SchemaType.STRUCT:
        fields = [(field.name, _nullable(field.schema)) for field in own.fields]
        return lambda value: {name: convert(item) for (name, convert), item in zip(fields, value.values)}
    if own.type is SchemaType.ARRAY and own.value_schema is not None:
        element = _nullable(own.value_schema)
        return lambda value: [element(item) for item in value]
    if own.type is SchemaType.MAP and own.key_schema is not None and own.value_schema is not None:
        convert_key, inner = conversion(own.key_schema), _nullable(own.value_schema)
        if convert_key is not None:
            # As pairs: what a struct becomes is no key of a dict.
            return lambda value: [(convert_key(key), inner(item)) for key, item in value.items()]
        return lambda value: {key: inner(item) for key, item in value.items()}
    return bytes if own.type is SchemaType.BYTES and own.name is None else None


def checked_decimal(value: decimal.Decimal, scale: int | None = None) -> decimal.Decimal:
    """
    Return the same. DataError for one whose first digit is so far from the point that Arrow would end the process, or, if its
    column has a scale, is none of those that this has.
    """
    if abs(value.adjusted()) > _FARTHEST:
        raise DataError(f"a decimal has its first digit {value.adjusted()} places from the point: files have {_DIGITS} digits")
    if scale is not None and value and value.adjusted() < -scale:
        raise DataError(f"a decimal has its first digit behind the {scale} that its column has behind the point")
    return value


def require_near(column: pa.Array, kind: pa.DataType) -> None:
    """
    Raise DataError for a value, however deep, that a cast to this type would move the point of further than Arrow can: of a
    decimal, or of a text that becomes one.
    """
    before = column.type
    if not _has_decimals(kind):
        return
    if not pa.types.is_nested(before):
        if not pa.types.is_decimal(kind) or column.null_count == len(column):
            return
        if pa.types.is_decimal(before) and abs(before.scale - kind.scale) > _DIGITS:
            raise DataError(f"a decimal of the scale {before.scale} has no place in a column of {kind}")
        for text in column.to_pylist() if is_text(before) else ():
            if text is not None and not _is_near(text, kind.scale):
                raise DataError(f"a text has a number that a column of {kind} has not")
        return
    if pa.types.is_struct(before) and pa.types.is_struct(kind):
        wanted = {field.name: field.type for field in kind}
        parts = [(part, wanted[field.name]) for field, part in zip(before, column.flatten()) if field.name in wanted]
    elif pa.types.is_map(before) and pa.types.is_map(kind):
        # A slice of maps gives the keys of all of them.
        own = column.take(pa.array(range(len(column)), pa.int64()))
        parts = [(own.keys, kind.key_type), (own.items, kind.item_type)]
    elif pa.types.is_nested(kind) and before.num_fields == kind.num_fields == 1:
        parts = [(column.flatten(), kind.field(0).type)]
    else:
        return
    for part, wanted_type in parts:
        require_near(part, wanted_type)


def _has_decimals(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind)) or any(_has_decimals(kind.field(at).type) for at in range(kind.num_fields))


def is_text(kind: pa.DataType) -> bool:
    """Whether it is one of texts, or of bytes."""
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_near(text: str | bytes, scale: int) -> bool:
    """Whether a text is a number whose last digit is not far behind those of a scale. What is none, Arrow says itself."""
    try:
        number = decimal.Decimal(text.decode() if isinstance(text, bytes) else text)
    except (decimal.InvalidOperation, UnicodeDecodeError):
        return _EXPONENT.search(text if isinstance(text, str) else text.decode("latin-1")) is None
    if not number.is_finite():
        return True
    return int(number.as_tuple().exponent) + scale >= -_DIGITS and number.adjusted() <= _FARTHEST


def check_free(column: Iterable[Any], depth: int = 0) -> None:
    """
    Raise DataError for such a decimal in values without a schema, however deep; and for values so deep in each other that Arrow
    would take gigabytes for their type.
    """
    if depth > _DEEPEST:
        raise DataError(f"Lists and objects are within each other more than {_DEEPEST} times")
    column = list(column)
    kinds = set(map(type, column))
    if decimal.Decimal in kinds:
        for value in column:
            if type(value) is decimal.Decimal:
                checked_decimal(value)
    if kinds & {dict, list, tuple}:
        items = [value.values() if type(value) is dict else value for value in column if type(value) in (dict, list, tuple)]
        check_free(itertools.chain.from_iterable(items), depth + 1)


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
