"""
Rows: records as Arrow columns of a table's types.

Called by `task.py`, and by what commits. Read next: `casts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kconnect.api import Column, DataError, SchemaType, schema
from kconnect.connectors import arrow
from kconnect.connectors.common import MISFITS
from kconnect.connectors.lake import casts, columns
from kconnect.connectors.lake.columns import is_list
from kconnect.connectors.lake.pending import Part
from kconnect.connectors.lake.stages import StaleError

NO_ROWS: tuple[type[Exception], ...] = (*MISFITS, pa.ArrowException)
"""What is raised for records of which there are no rows."""
Kinds = Mapping[pa.DataType, pa.DataType]

_PLACE = "_kconnect_place"
_NESTED = {dict, list, tuple}
_MOST_CELLS, _CELLS_OF_VALUE = 4 * 1024 * 1024, 64
"""So many cells may objects without a schema become, or so many times their values, if these are more."""


def made(value: Column, kinds: Kinds, require_room: Callable[[int], None] = lambda count: None) -> pa.Table:
    """
    Return the rows of records without nulls. `kinds` are the types that a lake has not, and what it has in their place.
    `require_room` is asked for so many columns before they are made: of records that have other names each, all names together
    would be made for each of them. DataError, or one of Arrow's errors, if a record makes none.
    """
    value_schema = value.schema
    if value_schema is None:
        if not all(isinstance(row, dict) for row in value.values):
            raise DataError("a row is made of a struct or an object")
        # Arrow would look at the first one only for the names of columns.
        names = dict.fromkeys(name for row in value.values for name in row)
        require_room(len(names))
        arrow.check_free(value.values)
        _check_room(value.values)
        return _replaced(pa.table({name: pa.array([row.get(name) for row in value.values]) for name in names}), kinds)
    if value_schema.type is not SchemaType.STRUCT:
        raise DataError(f"a row is made of a struct or an object, but its schema is {value_schema.type.value}")
    require_room(len(value_schema.fields))
    _, columns = value.fields()
    arrow_schema = arrow.arrow_schema(value_schema)
    return _replaced(pa.Table.from_arrays(arrow.arrays(value_schema, columns, arrow_schema), schema=arrow_schema), kinds)


def of_keys(key: Column, name: str, kinds: Kinds) -> pa.Table:
    """Return keys that are single values as the one column of that name. Otherwise as `made`."""
    if key.schema is None:
        arrow.check_free(key.values)
        return _replaced(pa.table({name: pa.array(list(key.values))}), kinds)
    own = schema.struct({name: key.schema})
    return made(Column.by_field(own, [name], [key.values], len(key)), kinds)


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
        if _has_required(field.type):
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
                _check_required(field.name, chunk)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=wanted)


def _within(kind: pa.DataType) -> Sequence[pa.Field]:
    """Return what is within a type and may be null, unless the table wants it: a map's keys never are."""
    if pa.types.is_map(kind):
        return [kind.item_field]
    return [kind.field(at) for at in range(kind.num_fields)]


def _has_required(kind: pa.DataType) -> bool:
    return any(not field.nullable or _has_required(field.type) for field in _within(kind))


def _check_required(path: str, array: pa.Array) -> None:
    """Raise DataError for a value that lacks something which its type wants, at any depth."""
    kind = array.type
    if pa.types.is_struct(kind):
        parts = [(field, array.filter(array.is_valid()).field(at)) for at, field in enumerate(kind)]
    elif is_list(kind) or pa.types.is_fixed_size_list(kind):
        parts = [(kind.value_field, array.flatten())]
    elif pa.types.is_map(kind):
        valid = array.filter(array.is_valid())
        begin, end = (valid.offsets[0].as_py(), valid.offsets[-1].as_py()) if len(valid) else (0, 0)
        parts = [(kind.item_field, valid.items.slice(begin, end - begin))]
    else:
        return
    for field, values in parts:
        if not field.nullable and values.null_count:
            raise DataError(f"{path}.{field.name} is required, but the record has no value for it")
        _check_required(f"{path}.{field.name}", values)


def _replaced(rows: pa.Table, kinds: Kinds) -> pa.Table:
    target = pa.schema([field.with_type(_kind(field.type, kinds)) for field in rows.schema])
    return rows if target == rows.schema else rows.cast(target)


def _kind(kind: pa.DataType, kinds: Kinds) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_kind(field.type, kinds)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_kind(kind.value_type, kinds)))
    if pa.types.is_map(kind):
        return pa.map_(_kind(kind.key_type, kinds), kind.item_field.with_type(_kind(kind.item_type, kinds)))
    if pa.types.is_null(kind):
        return pa.string()
    return kinds.get(kind, kind)


@dataclass(frozen=True)
class Changes:
    """
    Rows that records have written, and the ids of those that they have deleted, each with the offset of its record, among a
    part's rows in their order. `emptied`: what the table had before is gone.
    """

    made: pa.Table | None
    made_at: Sequence[int]
    deleted: pa.Table | None
    deleted_at: Sequence[int]
    emptied: bool = False

    def __len__(self) -> int:
        return len(self.made_at) + len(self.deleted_at) + self.emptied

    def without(self, offsets: Collection[int]) -> Changes:
        """Return it without the deletions of some records."""
        if self.deleted is None:
            return self
        kept = [at for at, offset in enumerate(self.deleted_at) if offset not in offsets]
        return replace(
            self, deleted=self.deleted.take(pa.array(kept, pa.int64())), deleted_at=[self.deleted_at[at] for at in kept]
        )

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for table in (self.made, self.deleted) if table is not None)


def is_emptied(parts: Iterable[Part]) -> bool:
    """Whether the table is to have nothing but the rows of these parts."""
    return any(_empties(some) for part in parts for some in part.rows)


def _empties(some: Any) -> bool:
    return isinstance(some, Changes) and some.emptied


def since_emptied(all_rows: Sequence[Any]) -> Sequence[Any]:
    """Return rows without those that are gone again, since the table was emptied behind them."""
    return all_rows[max((at for at, some in enumerate(all_rows) if _empties(some)), default=0) :]


def together(parts: Iterable[Part], wanted: pa.Schema) -> pa.Table:
    """
    Return the rows of several parts, as a table has them now. StaleError if it has not the columns any more that they were made
    for.
    """
    return _together([some for part in parts for some in part.rows], wanted)


def _together(all_rows: Sequence[pa.Table], wanted: pa.Schema) -> pa.Table:
    try:
        if any(columns.lacking(wanted, some.schema) for some in all_rows):
            raise StaleError
        fitted_rows = [fitted(some, wanted) for some in all_rows]
    except NO_ROWS:
        raise StaleError from None
    return pa.concat_tables([wanted.empty_table(), *fitted_rows])


class Last(NamedTuple):
    """
    The last row of each id, and the ids that were deleted last. `anew` says of each row whether it comes in the place of
    whatever the table has, since its id was deleted before it by a record that has no order.
    """

    made: pa.Table
    deleted: pa.Table
    anew: Sequence[bool]


def last_of_each(parts: Iterable[Part], wanted: pa.Schema, ids: Sequence[str], order: str = "") -> Last:
    """
    Return what is left of changes of the same ids: by their column `order`, if the table has it, and then by offset.
    StaleError as `together`, and also for ids whose types the table has not any more.
    """
    all_rows = [some for part in parts for some in since_emptied(part.rows)]
    if not all_rows:
        # All records were bad, maybe because the table has no such columns.
        return Last(wanted.empty_table(), pa.table({}), ())
    changes = [some if isinstance(some, Changes) else Changes(some, range(len(some)), None, ()) for some in all_rows]
    # Where each is among all of them, in the order of records. One that is put in another's place comes behind it.
    places_made: list[int] = []
    places_deleted: list[int] = []
    at = 0
    for some in changes:
        if isinstance(some.made_at, range):
            places_made.extend(range(2 * at + 1, 2 * (at + len(some)) + 1, 2))
            at += len(some)
            continue
        both_at = [*some.made_at, *some.deleted_at]
        shift = at - min(both_at, default=0)
        places_made.extend(2 * (place + shift) + 1 for place in some.made_at)
        places_deleted.extend(2 * (place + shift) for place in some.deleted_at)
        at = max(both_at, default=-1 - shift) + shift + 1
    order = order if order in wanted.names else ""
    keys_schema = pa.schema([wanted.field(name) for name in (*ids, *([order] if order else []))])
    made = _together([some.made for some in changes if some.made is not None], wanted)
    deleted = _together([some.deleted for some in changes if some.deleted is not None], _nullable(keys_schema, order))
    of_made, of_deleted = pa.array(places_made, pa.int64()), pa.array(places_deleted, pa.int64())
    both = ((made, of_made), (deleted, of_deleted))
    keys = pa.concat_tables(
        [
            table.select(keys_schema.names).cast(_nullable(keys_schema, order)).append_column(_PLACE, places)
            for table, places in both
        ]
    )
    last, anew = _last(keys, list(ids), order)
    left = pc.is_in(of_made, value_set=last)
    made, deleted = made.filter(left), deleted.filter(pc.is_in(of_deleted, value_set=last))
    if not len(anew):
        return Last(made, deleted, [False] * len(made))
    if len(deleted):
        # What was deleted whatever its number stays so, whatever number another deletion has.
        at = deleted.column_names.index(order)
        regardless = pc.is_in(of_deleted.filter(pc.is_in(of_deleted, value_set=last)), value_set=anew)
        numbers = pc.if_else(regardless, pa.scalar(None, deleted.column(at).type), deleted.column(at))
        deleted = deleted.set_column(at, deleted.schema.field(at), numbers)
    return Last(made, deleted, pc.is_in(of_made.filter(left), value_set=anew).to_pylist())


def _last(keys: pa.Table, ids: list[str], order: str) -> tuple[pa.Array, pa.Array]:
    """Return the places of what comes last of each id, and those of them behind a deletion that has no order."""
    if not order:
        newest = keys.group_by(ids).aggregate([(_PLACE, "max")])
        return newest.column(f"{_PLACE}_max").combine_chunks(), pa.array([], pa.int64())
    # What has no value there is a record that deletes a row whatever its number: what is before it is gone, what comes counts.
    without = keys.filter(pc.is_null(keys.column(order)))
    cuts = without.group_by(ids).aggregate([(_PLACE, "max")])
    keys = keys.join(cuts, ids, join_type="left outer")
    keys = keys.filter(pc.greater_equal(keys.column(_PLACE), pc.fill_null(keys.column(f"{_PLACE}_max"), -1)))
    keys = keys.sort_by([(order, "ascending"), (_PLACE, "ascending")])
    keys = pa.concat_tables([keys.filter(pc.is_null(keys.column(order))), keys.filter(pc.is_valid(keys.column(order)))])
    found = keys.group_by(ids, use_threads=False).aggregate([(_PLACE, "last"), (f"{_PLACE}_max", "max")])
    last, cut = found.column(f"{_PLACE}_last").combine_chunks(), found.column(f"{_PLACE}_max_max").combine_chunks()
    return last, last.filter(pc.is_valid(cut))


def _nullable(keys: pa.Schema, order: str) -> pa.Schema:
    return pa.schema([field.with_nullable(True) if field.name == order else field for field in keys])


def marked(made: pa.Table, deleted: pa.Table, anew: Sequence[bool] = ()) -> tuple[pa.Table, str]:
    """
    Return rows and deleted ids as one table, and the name of its last column, which says whether a row is deleted; null for one
    that comes in the place of whatever there is (`Last`).
    """
    # A name that no column has.
    mark = "deleted" + "_" * (1 + max(map(len, made.column_names)))
    schema = pa.schema([*(field.with_nullable(True) for field in made.schema), pa.field(mark, pa.bool_())])
    marks = [None if whatever else False for whatever in anew] if any(anew) else [False] * len(made)
    return pa.concat_tables([_marked(made, schema, marks), _marked(deleted, schema, [True] * len(deleted))]), mark


def _marked(some: pa.Table, schema: pa.Schema, marks: Sequence[bool | None]) -> pa.Table:
    """Return rows with all columns of a schema, of which these are the last."""
    columns = [
        some.column(field.name) if field.name in some.column_names else pa.nulls(len(some), field.type)
        for field in list(schema)[:-1]
    ]
    return pa.Table.from_arrays([*columns, pa.array(marks, pa.bool_())], schema=schema)
