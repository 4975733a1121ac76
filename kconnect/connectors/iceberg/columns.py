"""
Columns: which fields of records a table may get, and which of their values may name a partition.

Whoever may write to a topic chooses the fields of its records. A table is made and changed for good: with a column whose type
no reader of Iceberg understands, or no file can have, nobody reads or writes it any more. So what a table is to become is
looked at first, and a record with other fields is a bad one. Called by `tables.py` and `task.py`.
"""

from __future__ import annotations

import math
import unicodedata
import urllib.parse
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, TruncateTransform

from kconnect.api import DataError
from kconnect.connectors import names
from kconnect.connectors.common import MISFITS
from kconnect.connectors.iceberg import settings

_DEEPEST = 32
"""Readers of Iceberg call themselves for each level, those in Java too."""
_LONGEST_PART = 255
"""What a folder's name may have, in bytes."""
_SURELY_SHORT = 40
"""A text of so many bytes is short enough, however it is quoted, behind the name of a column."""
_NOT_WRITTEN: tuple[type[Exception], ...] = (*MISFITS, pa.ArrowException, OSError)
"""What Arrow raises for columns that Parquet has not: an OSError, though nothing is written to a disk, for some decimals."""


def check_new(wanted: pa.Schema, there: pa.Schema | None, most: int) -> None:
    """Raise DataError for columns that a table must not get, which is made for them, or has those that are `there`."""
    new = [field for field in wanted if there is None or lacking(there, pa.schema([field]))]
    # What a column has already, within it, counts once.
    count = sum(_count(field, 1) for field in new) - sum(
        _count(there.field(field.name), -_LONGEST_PART) for field in new if there is not None and field.name in there.names
    )
    before = 0 if there is None else sum(_count(field, -_LONGEST_PART) for field in there)
    if new and before + count > most:
        raise DataError(
            f"the table would have {before + count} columns, those within others counted, and {settings.MOST_COLUMNS} is {most}"
        )
    try:
        # Parquet has no structs without fields, and other limits that only its writer knows.
        parquet.ParquetWriter(pa.BufferOutputStream(), wanted).close()
    except _NOT_WRITTEN as error:
        raise DataError(f"no file can have these columns: {' '.join(str(error).split())[:200]}") from None


def lacking(there: pa.Schema, wanted: pa.Schema) -> list[str]:
    """The names, with dots, of what a table lacks for records, at any depth."""
    return _lacking("", pa.struct(list(there)), pa.struct(list(wanted)))


def _lacking(prefix: str, existing_type: pa.DataType, needed: pa.DataType) -> list[str]:
    if pa.types.is_struct(needed) and pa.types.is_struct(existing_type):
        existing = {field.name: field.type for field in existing_type}
        missing = [f"{prefix}{field.name}" for field in needed if field.name not in existing]
        pairs = [(field.name, existing[field.name], field.type) for field in needed if field.name in existing]
    elif is_list(needed) and is_list(existing_type):
        missing, pairs = [], [("element", existing_type.value_type, needed.value_type)]
    elif pa.types.is_map(needed) and pa.types.is_map(existing_type):
        keys = ("key", existing_type.key_type, needed.key_type)
        missing, pairs = [], [keys, ("value", existing_type.item_type, needed.item_type)]
    else:
        return []
    return missing + [name for within, *types in pairs for name in _lacking(f"{prefix}{within}.", *types)]


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def optional(field: pa.Field) -> pa.Field:
    """The field, with all within it, as the rows that there are want it, which have no value for it."""
    return pa.field(field.name, _optional(field.type), nullable=True)


def _optional(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([optional(field) for field in kind])
    if is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, _optional(kind.value_type), nullable=True))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, pa.field(kind.item_field.name, _optional(kind.item_type), nullable=True))
    return kind


def check_readable(schema: Schema) -> None:
    """Raise DataError for the schema of a table that could be written into its metadata, but not be read there."""
    try:
        read = Schema.model_validate_json(schema.model_dump_json())
    except MISFITS as error:
        raise DataError(f"its metadata could not be read: {' '.join(str(error).split())[:200]}") from None
    if read != schema:
        raise DataError("its metadata would be read as other columns")
    try:
        # In files, characters that names of Avro have not are written in another way: 1a is _1a there.
        sanitize_column_names(schema)
    except MISFITS as error:
        raise DataError(f"two of its columns have one name in files: {' '.join(str(error).split())[:200]}") from None


def _count(field: pa.Field, depth: int) -> int:
    """Return how many columns a field is, with those within it."""
    if depth > _DEEPEST:
        raise DataError(f"the columns are nested more than {_DEEPEST} times")
    name, kind = field.name, field.type
    if depth > 0 and (not name or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name)):
        raise DataError(f"{names.shown(name)} can't be a column: it is empty, or has control characters")
    return 1 + sum(_count(kind.field(at), depth + 1) for at in range(kind.num_fields))


def check_partitions(table: Table, rows: pa.Table) -> None:
    """Raise DataError for rows of which no folder of a partition can be made."""
    spec = table.spec()
    for field in spec.fields:
        if not isinstance(field.transform, IdentityTransform | TruncateTransform):
            continue
        name = table.schema().find_column_name(field.source_id) or ""
        column = rows.column(name) if name in rows.column_names else None
        if column is None:
            continue
        kind = column.type
        if pa.types.is_floating(kind) and _has_odd_numbers(column):
            raise DataError(f"its {name}, which is of the partition, is not a number, or -0.0, which equals 0.0")
        if is_text(kind) and (pc.max(pc.binary_length(column)).as_py() or 0) > _SURELY_SHORT:
            for value in pc.unique(column):
                _check_part(field, table.schema().find_type(field.source_id), value.as_py())


def partitions_of(table: Table, rows: pa.Table) -> set[tuple[Any, ...]]:
    """Return the partitions that rows come into, for each of which a commit makes a file; none without a spec."""
    spec, schema = table.spec(), table.schema()
    parts: dict[str, Any] = {}
    for at, field in enumerate(spec.fields):
        path = schema.find_column_name(field.source_id)
        if path is not None and (column := _column(rows, path)) is not None:
            cut = field.transform.pyarrow_transform(schema.find_type(field.source_id))
            parts[str(at)] = cut(column)
    if not parts:
        return set()
    distinct = pa.table(parts).group_by(list(parts)).aggregate([])
    return set(zip(*(distinct.column(name).to_pylist() for name in parts), strict=True))


def _column(rows: pa.Table, path: str) -> pa.ChunkedArray | None:
    if path in rows.column_names:
        return rows.column(path)
    first, *within = path.split(".")
    column = rows.column(first) if first in rows.column_names else None
    return column if column is None or not within else pc.struct_field(column, within)


def check_ids(rows: pa.Table, ids: Sequence[str]) -> None:
    """Raise DataError for rows that an upsert finds no other one for, whatever there is."""
    for name in ids:
        column = rows.column(name) if name in rows.column_names else None
        if column is None:
            continue
        if column.null_count:
            raise DataError(f"its {name}, which is of the id, is null")
        if pa.types.is_floating(column.type) and _has_odd_numbers(column):
            raise DataError(f"its {name}, which is of the id, is not a number, or -0.0, which equals 0.0")


def _has_odd_numbers(column: pa.ChunkedArray) -> bool:
    """Whether there is NaN, which equals nothing, or -0.0: pyiceberg would write it twice, or not at all."""
    zero = pc.and_(pc.equal(column, 0.0), pc.equal(pc.divide(1.0, column), -math.inf))
    return bool(pc.any(pc.or_(pc.is_nan(column), zero)).as_py())


def is_text(kind: pa.DataType) -> bool:
    """Whether it is one of texts, or of bytes."""
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _check_part(field: Any, kind: Any, value: Any) -> None:
    cut = field.transform.transform(kind)(value)
    text = f"{field.name}={field.transform.to_human_string(kind, cut)}"
    size = len(urllib.parse.quote_plus(text, safe="="))
    if size > _LONGEST_PART:
        raise DataError(
            f"its value for the partition {field.name} is too long: a folder's name has {_LONGEST_PART} bytes at most"
        )
