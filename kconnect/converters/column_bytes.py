"""
The bytes of many values at once, put together from pieces: what all values have in common stands once.

`json_columns.py` and `avro_columns.py` make pieces of a column by those of its parts, and only whole values are joined. What
can't be written at once raises `Unusual`, or whatever else: the values of that part are then written one by one, and those that
are wrong raise what they raise alone. Read before: `data/column.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice, repeat
from typing import Any

from kconnect.data.column import Column, Unusual
from kconnect.data.schema import Schema

Pieces = list["bytes | Sequence[bytes]"]
"""The parts of values, in their order: bytes that all values have, or a list with those of each value."""
Write = Callable[[Sequence[Any]], Pieces]
WritePresent = Callable[[Sequence[Any], "set[type]"], Pieces]
"""
Write values that are not None, of these classes, of which there is at least one. A column that is held by field comes without
classes.
"""

NULL = type(None)
_COMPARABLE: tuple[set[type], ...] = ({str}, {int}, {bool}, {bytes})
"""Equal values of one of these classes have the same bytes. Decimals need not, nor floats: 0.0 is -0.0."""


def is_constant(values: Sequence[Any], kinds: set[type]) -> bool:
    """Return whether all values, of these classes, are the same."""
    return kinds in _COMPARABLE and values[0] == values[-1] and values.count(values[0]) == len(values)


def _is_one(values: Sequence[Any]) -> bool:
    """Return whether all values are the very same object, as is what a source says of where its records come from."""
    return values[0] is values[-1] and len(values) > 1 and len(set(map(id, values))) == 1


def joined(pieces: Pieces, count: int) -> Sequence[bytes]:
    """Return the bytes of each of `count` values."""
    rows: list[Any] = []
    common = b""
    for piece in pieces:
        if type(piece) is bytes:
            common += piece
        else:
            rows += (repeat(common, count), piece) if common else (piece,)
            common = b""
    if not rows:
        return [common] * count
    if common:
        rows.append(repeat(common, count))
    return list(map(b"".join, zip(*rows))) if len(rows) > 1 else rows[0]


def bundled(items: Iterable[bytes], counts: Iterable[int], separator: bytes = b"") -> list[bytes]:
    """Join the first so many items, the next so many, and so on."""
    rest = iter(items)
    return [separator.join(islice(rest, count)) for count in counts]


def parts_of(values: Iterable[Iterable[Any]], kinds: set[type], allowed: set[type]) -> list[Any]:
    """Return the elements of all values, which are lists, or the keys of maps. Raise Unusual if a value has another class."""
    if not kinds or not kinds <= allowed:
        raise Unusual
    return list(chain.from_iterable(values))


def fields_of(schema: Schema, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """Return a list of values for each field of structs of this schema. Raise Unusual if a value is none."""
    column = values if type(values) is Column else Column(schema, values)
    if column.schema is not schema and column.schema != schema:
        raise Unusual
    columns = column.fields()[1]
    if len(columns) < len(schema.fields):
        raise Unusual
    return columns


def writer(present: WritePresent, one_by_one: Write, null: Callable[[], bytes]) -> Write:
    """
    Return a writer of any values, or of an empty list. Those that are not None are written by `present`; if that is not
    possible, all of them `one_by_one`. `null` returns the bytes of a None, and raises what a None raises.
    """

    def write(values: Sequence[Any]) -> Pieces:
        try:
            # Not `isinstance`, which is slow for a class that is abstract somewhere.
            if type(values) is Column:
                if values.as_field() is values:
                    return present(values, set())
                values = values.values
            kinds = set(map(type, values))
            if NULL not in kinds:
                if not kinds:
                    return [values]
                if _is_one(values):
                    return [joined(present(values[:1], kinds), 1)[0]]
                return present(values, kinds)
            if len(kinds) == 1:
                return [null()]
            some = [value for value in values if value is not None]
            rest = iter(joined(present(some, kinds - {NULL}), len(some)))
            absent = null()
            return [[absent if value is None else next(rest) for value in values]]
        except Unusual:
            return one_by_one(values)

    return write
