"""
Rows: records as Arrow columns of a table's types.

Called by `task.py`. Read next: `casts.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kconnect.api import Column, DataError, SchemaType
from kconnect.connectors import arrow
from kconnect.connectors.iceberg import casts

_WIDENED = {
    pa.int8(): pa.int32(),
    pa.int16(): pa.int32(),
    pa.time32("ms"): pa.time64("us"),
    pa.timestamp("ms", "UTC"): pa.timestamp("us", "UTC"),
}
"""What Iceberg has not, and what it has in its place."""


_NESTED = {dict, list, tuple}
_MOST_CELLS, _CELLS_OF_VALUE = 4 * 1024 * 1024, 64
"""So many cells may objects without a schema become, or so many times their values, if these are more."""


def made(value: Column) -> pa.Table:
    """The rows of records without nulls. DataError, or one of Arrow's errors, if a record makes none."""
    value_schema = value.schema
    if value_schema is None:
        if not all(isinstance(row, dict) for row in value.values):
            raise DataError("a row is made of a struct or an object")
        # Arrow would look at the first one only for the names of columns.
        names = dict.fromkeys(name for row in value.values for name in row)
        arrow.check_free(value.values)
        _check_room(value.values)
        return _widened(pa.table({name: pa.array([row.get(name) for row in value.values]) for name in names}))
    if value_schema.type is not SchemaType.STRUCT:
        raise DataError(f"a row is made of a struct or an object, but its schema is {value_schema.type.value}")
    _, columns = value.fields()
    schema = arrow.arrow_schema(value_schema)
    return _widened(pa.Table.from_arrays(arrow.arrays(value_schema, columns, schema), schema=schema))


def _check_room(objects: Sequence[Mapping[str, Any]]) -> None:
    """
    Raise DataError for objects of which Arrow would make far more cells than they have values: each name that one of them has,
    at any depth, is a column for all of them. A list of 1 MB in which each object has another name would be 50 GB.
    """
    nested = [item for item in objects if not _NESTED.isdisjoint(map(type, item.values()))]
    cells, values = _cells(nested, len(nested)) if nested else (0, 0)
    if cells > max(_MOST_CELLS, _CELLS_OF_VALUE * values):
        raise DataError(
            f"its objects have so many different names that {values} values would become {cells} cells of columns. If the "
            "names are data, make a list of pairs of them by a transform, or a text"
        )


def _cells(values: Sequence[Any], length: int) -> tuple[int, int]:
    """Return how many cells a column of this length with these values has, with those within, and how many values there are."""
    cells, count = length, len(values)
    by_name: dict[Any, list[Any]] = {}
    items: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is dict:
            for name, item in value.items():
                by_name.setdefault(name, []).append(item)
        elif kind in _NESTED:
            items += value
    parts = [(column, length) for column in by_name.values()]
    for column, column_length in [*parts, *([(items, len(items))] if items else [])]:
        within = (column_length, len(column)) if _NESTED.isdisjoint(map(type, column)) else _cells(column, column_length)
        cells, count = cells + within[0], count + within[1]
    return cells, count


def fitted(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """
    Return rows in the order and the types of a table's columns. Raise DataError, or one of Arrow's errors, if they don't fit.
    """
    columns = []
    for field in wanted:
        place = rows.schema.get_field_index(field.name)
        # Not `pa.nulls`: of an optional struct without a value, those within it that are required would be null, too.
        column = pa.array([None] * len(rows), field.type) if place < 0 else casts.cast(rows.column(place), field.type)
        if not field.nullable and (place < 0 or column.null_count):
            raise DataError(f"the column {field.name} is required, but the record has no value for it")
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=wanted)


def _widened(rows: pa.Table) -> pa.Table:
    return rows.cast(pa.schema([field.with_type(_of_iceberg(field.type)) for field in rows.schema]))


def _of_iceberg(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_of_iceberg(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_of_iceberg(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_of_iceberg(kind.key_type), kind.item_field.with_type(_of_iceberg(kind.item_type)))
    if pa.types.is_null(kind):
        return pa.string()
    return _WIDENED.get(kind, kind)
