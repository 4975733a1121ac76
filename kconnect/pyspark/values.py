"""
Values fitted to the columns of a frame: nothing becomes another value on the way, and what a column lacks is left out.

Called by `rows.py`. Pure. Values without a schema are what JSON has, so each is held against its column's type. Values with a
schema are columns of Arrow's already, which `connectors/lake/casts.py` casts and compares. DataError, or one of Arrow's errors,
for a value that does not fit. Read next: `columns.py`.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kconnect.connectors import arrow
from kconnect.connectors.lake import casts
from kconnect.errors import DataError
from kconnect.pyspark import columns

_EXACT = 1 << 53
"""Up to here a number with a point is each whole number."""
_INFINITIES = (math.inf, -math.inf)
_QUICK: Mapping[pa.DataType, frozenset[type]] = {
    pa.string(): frozenset((str, type(None))),
    pa.int64(): frozenset((int, type(None))),
    pa.float64(): frozenset((float, type(None))),
    pa.bool_(): frozenset((bool, type(None))),
}


def table(objects: Sequence[Any], own: pa.Schema) -> pa.Table:
    """
    Return values without a schema as columns: the fields of objects by name. Values that are no objects are the column `value`.
    """
    arrays = []
    if not all(isinstance(item, dict) for item in objects):
        if columns.VALUE not in own.names or any(isinstance(item, dict) for item in objects):
            raise DataError("it is no object, and rows are made of objects")
        objects = [{columns.VALUE: item} for item in objects]
    for field in own:
        arrays.append(array([item.get(field.name) for item in objects], field.type, field.name))
    return pa.Table.from_arrays(arrays, schema=own)


def array(items: Sequence[Any], kind: pa.DataType, path: str) -> pa.Array:
    """Return values without a schema as an array of this type."""
    try:
        if set(map(type, items)) <= _QUICK.get(kind, frozenset()):
            return pa.array(items, kind)
        return pa.array([_plain(item, kind, path) for item in items], kind)
    except UnicodeEncodeError:
        raise DataError(f"the field {path} has a text with half a character (a lone surrogate)") from None


def _plain(item: Any, kind: pa.DataType, path: str) -> Any:
    if item is None:
        return None
    if pa.types.is_struct(kind):
        if not isinstance(item, dict):
            raise _misfit(item, kind, path)
        return {field.name: _plain(item.get(field.name), field.type, f"{path}.{field.name}") for field in kind}
    if pa.types.is_map(kind):
        if not isinstance(item, dict):
            raise _misfit(item, kind, path)
        return [(_plain(name, kind.key_type, path), _plain(value, kind.item_type, path)) for name, value in item.items()]
    if pa.types.is_list(kind):
        if not isinstance(item, list | tuple):
            raise _misfit(item, kind, path)
        return [_plain(part, kind.value_type, f"{path}[]") for part in item]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _text(item)
    if pa.types.is_boolean(kind):
        if not isinstance(item, bool):
            raise _misfit(item, kind, path)
        return item
    if pa.types.is_binary(kind):
        if not isinstance(item, bytes):
            raise _misfit(item, kind, path)
        return item
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _moment(item, kind, path)
    return _number(item, kind, path)


def _text(item: Any) -> str:
    """Return a text for any value: one that is none is its JSON, as with inferred schemas."""
    if isinstance(item, str):
        return item
    if isinstance(item, int | decimal.Decimal) and not isinstance(item, bool):
        return str(item)
    return json.dumps(item, ensure_ascii=False, separators=(",", ":"), default=str)


def _moment(item: Any, kind: pa.DataType, path: str) -> Any:
    if isinstance(item, datetime.date):
        return item
    if not isinstance(item, str):
        # A number may count anything since any time.
        raise _misfit(item, kind, path)
    try:
        moment = datetime.datetime.fromisoformat(item[:-1] + "+00:00" if item[-1:] in ("Z", "z") else item)
    except ValueError:
        raise _misfit(item, kind, path) from None
    if pa.types.is_date(kind):
        if moment.time() != datetime.time() or moment.tzinfo is not None:
            raise _misfit(item, kind, path)
        return moment.date()
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.timezone.utc)


def _number(item: Any, kind: pa.DataType, path: str) -> Any:
    if isinstance(item, bool) or not isinstance(item, int | float | decimal.Decimal):
        raise _misfit(item, kind, path)
    if pa.types.is_integer(kind):
        # Not `int` first: it cuts a fraction off, and there is none of what is no number.
        if not isinstance(item, int) and (not -_EXACT <= item <= _EXACT or item != int(item)):
            raise _misfit(item, kind, path)
        return int(item)
    if pa.types.is_floating(kind):
        if isinstance(item, int) and abs(item) > _EXACT:
            raise _misfit(item, kind, path)
        if math.isinf(float(item)) and item not in _INFINITIES:
            raise _misfit(item, kind, path)
        return float(item)
    if pa.types.is_decimal(kind):
        exact = decimal.Decimal(repr(item)) if isinstance(item, float) else decimal.Decimal(item)
        return arrow.checked_decimal(exact, kind.scale)
    raise _misfit(item, kind, path)


def _misfit(item: Any, kind: pa.DataType, path: str) -> DataError:
    return DataError(f"the field {path} is of the type {type(item).__name__}, and its column is {kind}")


def fitted(array: pa.Array | None, kind: pa.DataType, length: int, name: str) -> Any:
    """Return an array, or nulls if there is none, as a column of this type, without the fields that the type lacks."""
    if array is None:
        return pa.nulls(length, kind)
    if array.type == kind:
        return array
    try:
        return casts.cast(pa.chunked_array([_pruned(array, kind)]), kind)
    except pa.ArrowException:
        # Arrow's own words quote the value.
        raise DataError(f"the field {name} is of the type {array.type}, and its column is {kind}") from None


def _pruned(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array whose structs have no fields that the type lacks, at any depth: they have come after the query began."""
    own = array.type
    if pa.types.is_struct(own) and pa.types.is_struct(kind):
        wanted = {field.name: field.type for field in kind}
        kept = [(field, part) for field, part in zip(own, array.flatten()) if field.name in wanted]
        if not kept:
            return array
        parts = [_pruned(part, wanted[field.name]) for field, part in kept]
        fields = [pa.field(field.name, part.type, nullable=True) for (field, _), part in zip(kept, parts)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_list(own) and pa.types.is_list(kind):
        whole = array.take(pa.array(range(len(array)), pa.int64()))
        offsets, inner = whole.offsets, whole.values
        return pa.ListArray.from_arrays(offsets, _pruned(inner, kind.value_type), mask=whole.is_null())
    return array
