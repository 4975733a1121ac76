"""
Columns: which fields of records a table of a lake may get, and which of their values may name a partition or a row.

Whoever may write to a topic chooses the fields of its records. A table is made and changed for good: with a column whose type
no reader understands, or no file can have, nobody reads or writes it any more. So what a table is to become is
looked at first, and a record with other fields is a bad one. Called by the tables of the lakes, and by `task.py`.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from kconnect.api import DataError
from kconnect.connectors import names
from kconnect.connectors.common import MISFITS

_DEEPEST = 32
"""Readers call themselves for each level, those in Java too."""
_MOST_OF_ONE = 255
"""So many levels above the top, nothing is too deep: what is there already is not looked at again."""
_LONGEST_NAME = 256
"""In characters. A table's metadata have each name again and again: in the log of Delta, with the least and greatest values."""
_LONGEST_PART = 255
"""What a folder's name may have, in bytes."""
_LONGEST_KEY, _LONGEST_FILE = 1024, 124
"""What the name of a file may have in a store, and what it has there of its own: data, folders of hashes, numbers, an id."""
_NOT_WRITTEN: tuple[type[Exception], ...] = (*MISFITS, pa.ArrowException, OSError)
"""What Arrow raises for columns that Parquet has not: an OSError, though nothing is written to a disk, for some decimals."""


def same(name: str) -> str:
    """Return what names have in common that Java, and so many an engine, takes for one, whatever their case: ı, I, İ and i."""
    return name.upper().lower().replace("i\u0307", "i")


def longest_part(location: str, count: int) -> int:
    """
    Return how many bytes the folder of a partition's value may have, in a table at this location with so many values: all their
    folders are in one key of a store, with that of the table and the file's own name.
    """
    around = len(location.partition("://")[2].partition("/")[2].encode()) + _LONGEST_FILE
    return min(_LONGEST_PART, (_LONGEST_KEY - around) // max(1, count) - 1)


def check_new(wanted: pa.Schema, there: pa.Schema | None, most: int, setting: str) -> None:
    """
    Raise DataError for columns that a table must not get, which is made for them, or has those that are `there`. It may have
    `most` of them, as the `setting` says.
    """
    known = {} if there is None else {field.name: field for field in there}
    new = [field for field in wanted if field.name not in known or lacking(pa.schema([known[field.name]]), pa.schema([field]))]
    # What a column has already, within it, counts once.
    count = sum(_count(field, 1) for field in new) - sum(
        _count(known[field.name], -_MOST_OF_ONE) for field in new if field.name in known
    )
    before = sum(_count(field, -_MOST_OF_ONE) for field in known.values())
    if new and before + count > most:
        raise DataError(f"the table would have {before + count} columns, those within others counted, and {setting} is {most}")
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


def union(there: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """Return the columns of both, at any depth, of the types that are there."""
    return pa.schema(_fields(there, wanted))


def _fields(there: Any, wanted: Any) -> list[pa.Field]:
    needed = {field.name: field for field in wanted}
    merged = [
        field.with_type(_merged(field.type, needed[field.name].type)) if field.name in needed else field for field in there
    ]
    names_there = {field.name for field in there}
    return merged + [field for field in wanted if field.name not in names_there]


def _merged(there: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(there) and pa.types.is_struct(wanted):
        return pa.struct(_fields(there, wanted))
    if is_list(there) and is_list(wanted):
        return pa.list_(there.value_field.with_type(_merged(there.value_type, wanted.value_type)))
    if pa.types.is_map(there) and pa.types.is_map(wanted):
        return pa.map_(there.key_type, there.item_field.with_type(_merged(there.item_type, wanted.item_type)))
    return there


def are_alike(kind: pa.DataType, other: pa.DataType) -> bool:
    """Return whether two types are the same, in whatever order the fields within them stand, and whichever may be null."""
    if pa.types.is_struct(kind) and pa.types.is_struct(other):
        theirs = {field.name: field.type for field in other}
        return {field.name for field in kind} == theirs.keys() and all(
            are_alike(field.type, theirs[field.name]) for field in kind
        )
    if is_list(kind) and is_list(other):
        return are_alike(kind.value_type, other.value_type)
    if pa.types.is_map(kind) and pa.types.is_map(other):
        return are_alike(kind.key_type, other.key_type) and are_alike(kind.item_type, other.item_type)
    return bool(kind == other)


def structs_within(kind: pa.DataType, there: pa.DataType | None) -> Iterator[tuple[list[pa.Field], list[pa.Field]]]:
    """
    Yield the fields of a struct, or of those that are nearest within another type, with the fields that a column of the type
    `there` has in the same place.
    """
    if pa.types.is_struct(kind):
        yield list(kind), list(there) if there is not None and pa.types.is_struct(there) else []
        return
    for at in range(kind.num_fields):
        inner_there = there.field(at).type if there is not None and there.num_fields == kind.num_fields else None
        yield from structs_within(kind.field(at).type, inner_there)


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


def _count(field: pa.Field, depth: int) -> int:
    """Return how many columns a field is, with those within it."""
    if depth > _DEEPEST:
        raise DataError(f"the columns are nested more than {_DEEPEST} times")
    name, kind = field.name, field.type
    if depth > 0 and (not name or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name)):
        raise DataError(f"{names.shown(name)} can't be a column: it is empty, or has control characters")
    if depth > 0 and len(name) > _LONGEST_NAME:
        raise DataError(f"{names.shown(name)} can't be a column: it has {len(name)} characters, and {_LONGEST_NAME} may be")
    return 1 + sum(_count(kind.field(at), depth + 1) for at in range(kind.num_fields))


def check_keys(wanted: pa.Schema, ids: Sequence[str]) -> None:
    """Raise DataError for columns of which an upsert makes no id."""
    for name in ids:
        if name not in wanted.names:
            raise DataError(f"it has no {name}, which is of the id")
        if pa.types.is_nested(wanted.field(name).type):
            raise DataError(f"its {name}, which is of the id, has values of its own within it")


def check_order(rows: pa.Table, name: str) -> None:
    """Raise DataError for rows of which a column does not say which is the newest of an id."""
    column = rows.column(name) if name in rows.column_names else None
    if column is None or column.null_count:
        raise DataError(f"it has no {name}, by which the newest row of an id is found")
    if pa.types.is_nested(column.type) or (pa.types.is_floating(column.type) and has_odd_numbers(column)):
        raise DataError(f"its {name}, by which the newest row of an id is found, has no order")


def check_ids(rows: pa.Table, ids: Sequence[str]) -> None:
    """Raise DataError for rows that an upsert finds no other one for, whatever there is."""
    for name in ids:
        column = rows.column(name) if name in rows.column_names else None
        if column is None:
            continue
        if column.null_count:
            raise DataError(f"its {name}, which is of the id, is null")
        if pa.types.is_floating(column.type) and has_odd_numbers(column):
            raise DataError(f"its {name}, which is of the id, is not a number, or -0.0, which equals 0.0")


def has_odd_numbers(column: pa.ChunkedArray) -> bool:
    """Whether there is NaN, which equals nothing, or -0.0: a lake would write it twice, or not at all."""
    zero = pc.and_(pc.equal(column, 0.0), pc.equal(pc.divide(1.0, column), -math.inf))
    return bool(pc.any(pc.or_(pc.is_nan(column), zero)).as_py())
