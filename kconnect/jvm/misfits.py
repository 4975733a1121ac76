"""
Which record of a batch can't cross to Java, and what of it: asked by `record_codec.py` once writing the batch has failed.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence
from typing import Any

from kconnect.data.schema import Schema, SchemaType, Struct, java_class, validate
from kconnect.errors import DataError
from kconnect.jvm.column_writers import DECIMAL, TYPES, fits, kind_of, kind_of_class

_DEEP = 200
_BITS = {0: 8, 1: 16, 2: 32, 3: 64}
_ARRAY, _MAP, _STRUCT = map(TYPES.index, (SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT))


def error(records: Sequence[Any], cause: Exception) -> DataError:
    """Return an error that names the first value that is wrong."""
    for number, record in enumerate(records):
        for misfit in _in_record(record):
            which = "The record" if len(records) == 1 else f"Record {number} of the batch"
            return DataError(f"{which} can't go from Python to Java: {misfit}")
    which = "The record" if len(records) == 1 else "A batch of records"
    return DataError(f"{which} can't go from Python to Java: {cause}")


def _in_record(record: Any) -> Iterator[str]:
    if record.topic is not None and not isinstance(record.topic, str):
        yield f"topic: {java_class(record.topic)} is no text"
    for name, bits in (("partition", 32), ("timestamp", 64)):
        value = getattr(record, name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not _in_range(value, bits)):
            yield f"{name}: {java_class(value)} is no number of {bits} bits"
    yield from _in_value(record.key_schema, record.key, "key", 0)
    yield from _in_value(record.value_schema, record.value, "value", 0)
    for header in record.headers:
        if not isinstance(header.key, str):
            yield f"the name of a header: {java_class(header.key)} is no text"
        yield from _in_value(header.schema, header.value, f"header {header.key}", 0)


def _in_value(schema: Schema | None, value: Any, path: str, depth: int) -> Iterator[str]:
    if value is None:
        return
    if depth > _DEEP:
        yield f"{path} is nested too deeply"
        return
    kind = kind_of_class(type(value)) if schema is None else kind_of(schema)
    if kind is None or not fits(kind, type(value)):
        expected = (
            "data of Connect's" if schema is None else f"{f'{schema.name} of ' if schema.name else ''}{schema.type.value}"
        )
        yield f"{path}: {java_class(value)} is no {expected}"
    elif kind in _BITS and not _in_range(value, _BITS[kind]):
        yield f"{path}: a number of more than {_BITS[kind]} bits"
    elif kind == DECIMAL and not _is_decimal_of_java(value):
        yield f"{path}: a decimal that Java has not"
    elif kind == _ARRAY:
        of_elements = None if schema is None else schema.value_schema
        for place, item in enumerate(value):
            yield from _in_value(of_elements, item, f"{path}[{place}]", depth + 1)
    elif kind == _MAP:
        of_keys, of_items = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        for place, (key, item) in enumerate(value.items()):
            entry = f"{path}.{key}" if schema is None and isinstance(key, str) else f"{path}{{{place}}}"
            yield from _in_value(of_keys, key, f"the key of {entry}", depth + 1)
            yield from _in_value(of_items, item, entry, depth + 1)
    elif kind == _STRUCT:
        yield from _in_struct(schema, value, path, depth)


def _in_struct(schema: Schema | None, value: Struct, path: str, depth: int) -> Iterator[str]:
    if schema is not None and value.schema is not schema and value.schema != schema:
        yield f"{path}: the struct has another schema"
        return
    for field, item in value.items():
        yield from _in_value(field.schema, item, f"{path}.{field.name}", depth + 1)
        if item is not None:
            # Java's struct checks what is put into it.
            try:
                validate(field.schema, item)
            except DataError as wrong:
                yield f"{path}.{field.name}: {wrong}"


def _in_range(value: int, bits: int) -> bool:
    return -(1 << bits - 1) <= value < 1 << bits - 1


def _is_decimal_of_java(value: decimal.Decimal) -> bool:
    return value.is_finite() and _in_range(-int(value.as_tuple().exponent), 32)
