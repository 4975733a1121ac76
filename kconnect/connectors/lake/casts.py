"""
Casts: columns of records as columns of a table, of which each value is the same.

Arrow's own casts are about types: 5 becomes true, 1E+300 infinity, a time of day is cut off a timestamp, and a number of
milliseconds is taken for microseconds. So what a cast has made is compared with what was there, wherever types differ by more
than room. Called by `rows.py`.
"""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kconnect.api import DataError
from kconnect.connectors.arrow import is_text, require_near
from kconnect.connectors.lake.columns import is_list


def cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column of that type. DataError, or one of Arrow's errors, if a value would be another one there."""
    if column.type == kind:
        return column
    if column.null_count == len(column):
        # Objects without a schema that have nothing but nulls there say nothing of its type.
        return pa.chunked_array([pa.array([None] * len(column), kind)])
    if not _is_alike(column.type, kind):
        require_near(column.combine_chunks(), kind)
    try:
        result = column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if not pa.types.is_nested(kind) and not (pa.types.is_integer(column.type) and pa.types.is_decimal(kind)):
            raise
        # What a cast puts in for a struct that is missing within another one can't be cast itself, nor can nulls without a type
        # that are within one. And of an integer's type it takes all numbers for as long as the longest.
        result = pa.chunked_array([pa.array(column.to_pylist(), kind)])
    if not _is_alike(column.type, kind):
        _check(column.combine_chunks(), result.combine_chunks())
    return result


def _is_alike(kind_before: pa.DataType, kind: pa.DataType) -> bool:
    """Whether all values of one type are values of the other one, and are the same there."""
    if kind_before == kind or pa.types.is_null(kind_before):
        return True
    if pa.types.is_struct(kind_before) and pa.types.is_struct(kind):
        types_there = {field.name: field.type for field in kind}
        return all(field.name in types_there and _is_alike(field.type, types_there[field.name]) for field in kind_before)
    if (is_list(kind_before) and is_list(kind)) or (pa.types.is_map(kind_before) and pa.types.is_map(kind)):
        return all(_is_alike(kind_before.field(at).type, kind.field(at).type) for at in range(kind_before.num_fields))
    return is_text(kind_before) and is_text(kind)


def _check(before: pa.Array, after: pa.Array) -> None:
    kind_before, kind = before.type, after.type
    if _is_alike(kind_before, kind):
        return
    if pa.types.is_struct(kind_before) and pa.types.is_struct(kind):
        places = {field.name: at for at, field in enumerate(kind)}
        parts = after.flatten()
        for field, part in zip(kind_before, before.flatten()):
            if field.name in places:
                _check(part, parts[places[field.name]])
            elif part.null_count < len(part):
                raise DataError(f"its field {field.name} has no place in a column of {kind}")
    elif pa.types.is_map(kind_before) and pa.types.is_map(kind):
        # A slice of maps gives the keys of all of them.
        before, after = (array.take(pc.indices_nonzero(array.is_valid())) for array in (before, after))
        _check(before.keys, after.keys)
        _check(before.items, after.items)
    elif pa.types.is_nested(kind_before) and pa.types.is_nested(kind):
        _check(before.flatten(), after.flatten())
    elif _is_other(kind_before, kind):
        if before.null_count < len(before):
            raise DataError(f"a value of the type {kind_before} has no place in a column of {kind}")
    elif pa.types.is_float64(kind_before) and pa.types.is_float32(kind):
        # The nearest number, as in each column of 32 bits.
        if any(math.isinf(new) and not math.isinf(old) for old, new in _pairs(before, after)):
            raise DataError(f"a number is too great for a column of {kind}")
    elif is_text(kind_before) and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        if _is_far(after):
            raise DataError("a text has a date that is not in the years 1 to 9999, of which no file is made")
    elif is_text(kind_before) and _is_number(kind):
        if any(_number(old) not in _numbers(new) for old, new in _pairs(before, after)):
            raise DataError(f"a text has a number that a column of {kind} has not")
    elif not is_text(kind_before) and not is_text(kind) and not _are_same(before, after):
        raise DataError(f"a value of the type {kind_before} would be another one in a column of {kind}")


def _is_other(kind_before: pa.DataType, kind: pa.DataType) -> bool:
    """Whether types mean different things: a number is no time, and a date is no time of a day."""
    if is_text(kind_before) or is_text(kind):
        return False
    times = pa.types.is_temporal(kind_before), pa.types.is_temporal(kind)
    return times[0] is not times[1] or pa.types.is_time(kind_before) is not pa.types.is_time(kind)


def _are_same(before: pa.Array, after: pa.Array) -> bool:
    if pa.types.is_decimal(before.type) and pa.types.is_decimal(after.type) and before.type.scale < 0 <= after.type.scale:
        # Arrow compares none with a negative scale. Nothing is lost by zeros in front of the point, and no cast is too great.
        return True
    try:
        back = after.cast(before.type)
    except pa.ArrowInvalid:
        return False
    same = pc.equal(back, before)
    if pa.types.is_floating(before.type):
        same = pc.or_(same, pc.and_(pc.is_nan(back), pc.is_nan(before)))
    return pc.all(same).as_py() is not False


def _is_far(moments: pa.Array) -> bool:
    """Whether one of these is a time that Python has not, in which pyiceberg tells the least and the greatest of a file."""
    years = pc.year(moments)
    return bool(pc.any(pc.or_(pc.less(years, datetime.MINYEAR), pc.greater(years, datetime.MAXYEAR))).as_py())


def _pairs(before: pa.Array, after: pa.Array) -> list[tuple[Any, Any]]:
    return [(old, new) for old, new in zip(before.to_pylist(), after.to_pylist()) if old is not None]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _number(text: str | bytes) -> Any:
    try:
        number = decimal.Decimal(text.decode() if isinstance(text, bytes) else text)
    except (decimal.InvalidOperation, UnicodeDecodeError):
        return None
    return number if number.is_finite() else str(number).lower()


def _numbers(value: Any) -> tuple[Any, ...]:
    """Return the texts of which a number may have been made: a float has its shortest one, too."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return ("nan",) if math.isnan(value) else ("infinity",) if value > 0 else ("-infinity",)
        return decimal.Decimal(repr(value)), decimal.Decimal(value)
    return (decimal.Decimal(value),)
