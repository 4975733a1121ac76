"""
Projection: values of one version of a schema as those of another one, so that they can be in one file.

By the rules of `schema.compatibility`. What a version lacks is left out, so only those count that a registry has given: whoever
may write one record chooses the version that comes with it, and would have the fields of all others left out. Called by
`files.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kconnect.api import Column, Schema, SchemaType, Struct
from kconnect.api import schema as schemas

_NUMBERS = (
    *(SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64),
    *(SchemaType.FLOAT32, SchemaType.FLOAT64),
)
_EXACT = {SchemaType.FLOAT32: _NUMBERS[:2], SchemaType.FLOAT64: _NUMBERS[:3]}
"""Each number of these types is one of that. Others would be rounded: they need a file of their own schema."""
Convert = Callable[[Any], Any]


class Unfit(Exception):
    """Values of one schema can't be those of the other one."""


def together(value: Column, onto: Schema | None, compatibility: str) -> Column | None:
    """The values with the schema of a file that is begun, or None if they need another file."""
    schema = value.schema
    if compatibility == "none" or schema is None or onto is None or schema.version is None or onto.version is None:
        return None
    if isinstance(schema.version, schemas.Brought) or isinstance(onto.version, schemas.Brought):
        return None
    # backward, and full: readers know the newest schema. forward: they know the oldest one.
    if schema.version < onto.version if compatibility == "forward" else schema.version > onto.version:
        return None
    try:
        return projected(value, onto)
    except Unfit:
        return None


def projected(value: Column, onto: Schema) -> Column:
    schema = value.schema
    if schema is None or schema.type is not SchemaType.STRUCT or onto.type is not SchemaType.STRUCT or schema.name != onto.name:
        raise Unfit
    _, columns = value.fields()
    new_columns: list[Sequence[Any]] = []
    for field in onto.fields:
        source = schema.field(field.name)
        if source is None:
            new_columns.append([_absent(field.schema)] * len(value))
        else:
            convert = _conversion(source.schema, field.schema)
            column = columns[source.index]
            new_columns.append(column if convert is None else [None if item is None else convert(item) for item in column])
    return Column.by_field(onto, [field.name for field in onto.fields], new_columns, len(value))


def _absent(target: Schema) -> Any:
    if target.default is None and not target.optional:
        raise Unfit
    return target.default


def _conversion(source: Schema, onto: Schema) -> Convert | None:
    """Return the conversion of values; None if they stay as they are."""
    if source.optional and not onto.optional and onto.default is None:
        raise Unfit
    if source.name != onto.name or (source.type is not onto.type and not (source.type in _NUMBERS and onto.type in _NUMBERS)):
        raise Unfit
    if source.name == schemas.DECIMAL and schemas.decimal_scale(source) != schemas.decimal_scale(onto):
        raise Unfit
    if source.type in _NUMBERS and source.name is None:
        if _NUMBERS.index(source.type) > _NUMBERS.index(onto.type):
            raise Unfit
        if onto.type not in _EXACT or source.type in _EXACT:
            return None
        if source.type not in _EXACT[onto.type]:
            raise Unfit
        return float
    if source.type is SchemaType.STRUCT:
        return _of_struct(source, onto)
    if source.value_schema is None or onto.value_schema is None:
        return None
    inner = _conversion(source.value_schema, onto.value_schema)
    if inner is None:
        return None
    if source.type is SchemaType.ARRAY:
        return lambda value: [None if item is None else inner(item) for item in value]
    return lambda value: {key: None if item is None else inner(item) for key, item in value.items()}


def _of_struct(source: Schema, onto: Schema) -> Convert | None:
    if source == onto:
        return None
    # Asked once for all values, whether it can be done.
    projected(Column(source, []), onto)
    return lambda value: _only(projected(Column(source, [value]), onto))


def _only(value: Column) -> Struct:
    struct: Struct = value.values[0]
    return struct
