"""
Changes: what records say was done to a row, where they are no rows themselves, or not rows alone.

They are envelopes of Debezium's connectors, as these write them, or rows with a field that says whether the row was deleted.
Called by `task.py`, which makes rows and ids of them. Read next: `rows.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import Column, DataError, SchemaType, Struct, schema
from kconnect.connectors.names import shown
from kconnect.data.column import Unusual

_WRITES, _UPDATES, _DELETES, _EMPTIES, _PASSES = ("c", "r", "u"), "u", "d", "t", ("m",)
_DELETED = (True, "true", "d", "D")


@dataclass(frozen=True)
class Some:
    """Rows, or ids of rows, and the places of their records."""

    value: Column
    places: Sequence[int]


@dataclass(frozen=True)
class Events:
    """What records say, by their places. Behind the last of `emptied`, all that was there before is gone."""

    written: Some
    deleted: Some
    """By what is left of the row."""
    deleted_by_key: Sequence[int] = ()
    emptied: Sequence[int] = ()
    bad: Sequence[tuple[int, DataError]] = ()


Reader = Callable[[Column, Sequence[str]], Events]
"""Reads values of records, of rows with these ids. DataError if none of them is one of its kind."""


def of_envelopes(value: Column, ids: Sequence[str]) -> Events:
    """Read envelopes of Debezium: op, before and after. An update that changes the id deletes the row with the old one."""
    fields = _fields(value)
    if "op" not in fields or "after" not in fields:
        raise DataError("it is no envelope of Debezium's: it has no op, or no after")
    nothing = [None] * len(value)
    before, after = fields.get("before", nothing), fields["after"]
    written: list[int] = []
    deleted: list[int] = []
    by_key: list[int] = []
    emptied: list[int] = []
    bad: list[tuple[int, DataError]] = []
    for at, (op, old, new) in enumerate(zip(fields["op"], before, after, strict=True)):
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
            bad.append((at, DataError(f"it is no envelope of Debezium's: its op is {shown(str(op))}")))
    return Events(
        Some(_column(value, "after", [after[at] for at in written]), written),
        Some(_column(value, "before", [before[at] for at in deleted]), deleted),
        by_key,
        emptied,
        bad,
    )


def by_field(name: str) -> Reader:
    """Return what reads rows with a field of this name, which is no column: true, "true" and "d" say that a row was deleted."""

    def read(value: Column, ids: Sequence[str]) -> Events:
        fields = _fields(value)
        marks = fields.get(name, [None] * len(value))
        written = [at for at, mark in enumerate(marks) if mark not in _DELETED]
        deleted = [at for at, mark in enumerate(marks) if mark in _DELETED]
        others = [other for other in fields if other != name]
        gone = Some(_places(value, fields, others, deleted), deleted)
        return Events(Some(_places(value, fields, others, written), written), gone)

    return read


def only(value: Column, wanted: Collection[str]) -> Column:
    """
    Return structs or objects with these fields alone, as far as they have them: others would be columns for nothing, and may
    have no value where their schema wants one.
    """
    if value.schema is None and all(isinstance(item, dict) for item in value.values):
        return Column(None, [{name: item[name] for name in wanted if name in item} for item in value.values])
    fields = _fields(value)
    return _places(value, fields, [name for name in fields if name in wanted], range(len(value)))


def get(item: Any, name: str) -> Any:
    """Return the value of a field of a struct or an object; None if there is none, or it is neither."""
    if isinstance(item, Struct):
        return item[name] if item.schema.field(name) else None
    return item.get(name) if isinstance(item, dict) else None


def _has_moved(old: Any, new: Any, ids: Sequence[str]) -> bool:
    before = [get(old, name) for name in ids]
    # Without a full image there is nothing of the old row but what did not change.
    return None not in before and before != [get(new, name) for name in ids]


def _fields(value: Column) -> Mapping[str, Sequence[Any]]:
    """Return the fields of structs or objects as lists. DataError if they are neither."""
    try:
        names, columns = value.fields()
        return dict(zip(names, columns, strict=True))
    except Unusual:
        if value.schema is not None or not all(isinstance(item, dict) for item in value.values):
            raise DataError("it is neither a struct nor an object") from None
    names = tuple(dict.fromkeys(name for item in value.values for name in item))
    return {name: [item.get(name) for item in value.values] for name in names}


def _column(value: Column, name: str, values: Sequence[Any]) -> Column:
    field = None if value.schema is None else value.schema.field(name)
    return Column(None if field is None else field.schema, values)


def _places(value: Column, fields: Mapping[str, Sequence[Any]], names: Sequence[str], places: Sequence[int]) -> Column:
    """Return some of the structs or objects, with some of their fields."""
    if value.schema is None:
        every = value.values
        return Column(None, [{name: every[at][name] for name in names if name in every[at]} for at in places])
    assert value.schema.type is SchemaType.STRUCT
    own = schema.struct({field.name: field.schema for field in value.schema.fields if field.name in names})
    return Column.by_field(own, names, [[fields[name][at] for at in places] for name in names], len(places))
