"""
Changes: what records say was done to a row, where they are no rows themselves, or not rows alone.

They are envelopes of Debezium's connectors, as these write them, or rows with a field that says whether the row was deleted.
Called by `task.py`, which makes rows and ids of them. Read next: `rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import Column, DataError, SchemaType, Struct, schema
from kconnect.connectors.names import shown
from kconnect.data.column import Unusual

_WRITES, _UPDATES, _DELETES, _EMPTIES, _PASSES = ("c", "r", "u"), "u", "d", "t", ("m",)
_DELETED = ("true", "d", "D")


@dataclass(frozen=True)
class Some:
    """Rows, or ids of rows, and the places of their records."""

    value: Column
    places: Sequence[int]


@dataclass(frozen=True)
class Events:
    """This is what records say, by their places. Behind the last of `emptied`, all that was there before is gone."""

    written: Some
    deleted: Some
    """These are deleted by what is left of the row."""
    deleted_by_key: Sequence[int] = ()
    emptied: Sequence[int] = ()
    bad: Sequence[tuple[int, DataError]] = ()


Reader = Callable[[Column, Sequence[str]], Events]
"""Reads values of records, of rows with these ids. DataError if none of them is one of its kind."""


def of_envelopes(value: Column, ids: Sequence[str]) -> Events:
    """Read envelopes of Debezium: op, before and after. An update that changes the id deletes the row with the old one."""
    ops, before, after = (_field(value, name) for name in ("op", "before", "after"))
    if ops is None or after is None:
        raise DataError("it is no envelope of Debezium's: it has no op, or no after")
    if before is None:
        before = [None] * len(value)
    written: list[int] = []
    deleted: list[int] = []
    by_key: list[int] = []
    emptied: list[int] = []
    bad: list[tuple[int, DataError]] = []
    for at, (given, old, new) in enumerate(zip(ops, before, after, strict=True)):
        op = given if isinstance(given, str) else None
        if op in _WRITES and new is not None:
            written.append(at)
            if op == _UPDATES and old is not None and _has_moved(old, new, ids):
                deleted.append(at)
        elif op == _DELETES:
            (by_key if old is None else deleted).append(at)
        elif op == _EMPTIES:
            emptied.append(at)
        elif op in _WRITES:
            bad.append((at, DataError(f"it has the op {op}, and no after")))
        elif op not in _PASSES:
            what = shown(op) if isinstance(op, str) else "no text"
            bad.append((at, DataError(f"it is no envelope of Debezium's: its op is {what}")))
    return Events(
        Some(_column(value, "after", [after[at] for at in written]), written),
        # Of the other columns it may have nothing, or what stands for nothing.
        Some(_of_ids(_column(value, "before", [before[at] for at in deleted]), ids), deleted),
        by_key,
        emptied,
        bad,
    )


def by_field(name: str) -> Reader:
    """Return what reads rows with a field of this name, which is no column: true, "true" and "d" say that a row was deleted."""

    def read(value: Column, ids: Sequence[str]) -> Events:
        marks = _field(value, name) or [None] * len(value)
        written = [at for at, mark in enumerate(marks) if not _deletes(mark)]
        deleted = [at for at, mark in enumerate(marks) if _deletes(mark)]
        rows, gone = (_places(value, lambda other: other != name, places) for places in (written, deleted))
        return Events(Some(rows, written), Some(gone, deleted))

    return read


def _deletes(mark: Any) -> bool:
    return mark is True or (isinstance(mark, str) and mark in _DELETED)


def only(value: Column, wanted: Collection[str]) -> Column:
    """
    Return structs or objects with these fields alone, as far as they have them: others would be columns for nothing, and may
    have no value where their schema wants one.
    """
    return _places(value, lambda name: name in wanted, range(len(value)))


def width(value: Column) -> int:
    """Return how many fields the widest of the values has, and of envelopes the widest row."""
    if value.schema is not None:
        return 0
    rows = [item.get("after", item) for item in value.values if isinstance(item, dict)]
    return max((len(row) for row in rows if isinstance(row, dict)), default=0)


def get(item: Any, name: str) -> Any:
    """Return the value of a field of a struct or an object; None if there is none, or it is neither."""
    if isinstance(item, Struct):
        return item[name] if item.schema.field(name) else None
    return item.get(name) if isinstance(item, dict) else None


def _has_moved(old: Any, new: Any, ids: Sequence[str]) -> bool:
    before = [get(old, name) for name in ids]
    # Without a full image there is nothing of the old row but what did not change.
    return None not in before and before != [get(new, name) for name in ids]


def _field(value: Column, name: str) -> Sequence[Any] | None:
    """Return a field of structs or objects as a list; None if none of them has it. DataError if they are neither."""
    try:
        names, columns = value.fields()
        return columns[names.index(name)] if name in names else None
    except Unusual:
        _check_objects(value)
    # Not all fields: each name that one of them has would be a list for all.
    return [item.get(name) for item in value.values] if any(name in item for item in value.values) else None


def _check_objects(value: Column) -> None:
    if value.schema is not None or not all(isinstance(item, dict) for item in value.values):
        raise DataError("it is neither a struct nor an object")


def _column(value: Column, name: str, values: Sequence[Any]) -> Column:
    field = None if value.schema is None else value.schema.field(name)
    return Column(None if field is None else field.schema, values)


def _of_ids(value: Column, ids: Sequence[str]) -> Column:
    return only(value, ids) if ids and len(value) else value


def _places(value: Column, wants: Callable[[str], bool], places: Sequence[int]) -> Column:
    """Return some of the structs or objects, with some of their fields."""
    if value.schema is None:
        _check_objects(value)
        every = value.values
        return Column(None, [{name: item for name, item in every[at].items() if wants(name)} for at in places])
    if value.schema.type is not SchemaType.STRUCT:
        raise DataError("it is neither a struct nor an object")
    try:
        names, columns = value.fields()
    except Unusual:
        raise DataError("it is neither a struct nor an object") from None
    own = schema.struct({field.name: field.schema for field in value.schema.fields if wants(field.name)})
    kept = [(name, column) for name, column in zip(names, columns, strict=True) if wants(name)]
    lists = [[column[at] for at in places] for _, column in kept]
    return Column.by_field(own, [name for name, _ in kept], lists, len(places))
