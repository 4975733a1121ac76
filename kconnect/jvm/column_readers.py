"""
Columns of values, read: one function for each schema, which gives all values of a column at once.

Used by `record_codec.py`, and for defaults by `record_schemas.py`. The bytes are described in `shim/ColumnWriter.java`. The
other way: `column_writers.py`.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat
from struct import calcsize, unpack_from
from typing import Any

from kconnect.data.schema import Float32, Int8, Int16, Int32, Schema, SchemaType, Struct
from kconnect.data.values import date_of
from kconnect.jvm.column_writers import DECIMAL, WIDE, kind_of

_FORMATS = "bhiqfd?"
_FREE: dict[int, Callable[[Any], Any]] = {0: Int8, 1: Int16, 2: Int32, 4: Float32}
"""Numbers without a schema, which are not what Python's own numbers are taken for, by their kind."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MS = datetime.timedelta(milliseconds=1)


class Cursor:
    """The place where the next column begins."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def ints(self, count: int) -> tuple[int, ...]:
        at = self.at
        self.at = at + 4 * count
        return unpack_from(f"{count}i", self.data, at)

    def number(self) -> int:
        at = self.at
        self.at = at + 4
        integer: int = unpack_from("i", self.data, at)[0]
        return integer

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        at = self.at
        self.at = at + count
        return self.data[at : at + count]

    def text(self) -> str | None:
        """Read a text of a schema's description."""
        length = self.number()
        return None if length < 0 else self.take(2 * length).decode(WIDE, "surrogatepass")


Read = Callable[[Cursor, int], Sequence[Any]]
"""So many values, from here on."""


class Readers:
    """`known` has of each schema that was described, by number, the schema and the function for its columns."""

    def __init__(self, known: Sequence[tuple[Schema, Column]]) -> None:
        self._known = known
        self._bodies: list[Read] = [
            *(_numbers(format) for format in _FORMATS),
            texts,
            _bytes,
            self._arrays(self.free),
            self._maps(self.free, self.free),
            _no_structs,
            _decimals,
            _dates,
        ]
        self._free_bodies = [_made(body, _FREE[kind]) if kind in _FREE else body for kind, body in enumerate(self._bodies)]

    def of(self, schema: Schema, parts: Sequence[Read]) -> Column:
        """`parts` are the functions for what it is made of: a map's keys and values, an array's elements, a struct's fields."""
        kind = kind_of(schema)
        if kind >= DECIMAL or schema.type.is_primitive:
            return Column(self._bodies[kind])
        if schema.type is SchemaType.ARRAY:
            return Column(self._arrays(*parts))
        if schema.type is SchemaType.MAP:
            return Column(self._maps(*parts))
        return Column(_structs(schema, parts))

    @staticmethod
    def _arrays(element: Read) -> Read:
        def read(cursor: Cursor, count: int) -> list[Any]:
            lengths = cursor.ints(count)
            elements = element(cursor, sum(lengths))
            ends = list(accumulate(lengths))
            return [list(elements[end - length : end]) for length, end in zip(lengths, ends)]

        return read

    @staticmethod
    def _maps(key: Read, item: Read) -> Read:
        def read(cursor: Cursor, count: int) -> list[Any]:
            if cursor.byte() == 1:
                return _named_maps(cursor, count, item)
            lengths = cursor.ints(count)
            total = sum(lengths)
            keys, items = key(cursor, total), item(cursor, total)
            ends = accumulate(lengths)
            return [dict(zip(keys[end - length : end], items[end - length : end])) for length, end in zip(lengths, ends)]

        return read

    def free(self, cursor: Cursor, count: int) -> Sequence[Any]:
        """A column of values without a schema."""
        return _read_nulls(self._groups, cursor, count)

    def _groups(self, cursor: Cursor, count: int) -> Sequence[Any]:
        groups = cursor.number()
        if groups == 1:
            return self._group(cursor, cursor.number(), count)
        if groups == 0:
            return ()
        which = cursor.ints(count)
        columns = []
        for _ in range(groups):
            code = cursor.number()
            columns.append(self._group(cursor, code, cursor.number()))
        return merged(which, columns)

    def _group(self, cursor: Cursor, code: int, count: int) -> Sequence[Any]:
        if code < 0:
            return self._free_bodies[-1 - code](cursor, count)
        return self._known[code][1].body(cursor, count)


class Column:
    """The function for a column, by that for the values that are not null."""

    __slots__ = ("body",)

    def __init__(self, body: Read) -> None:
        self.body = body

    def __call__(self, cursor: Cursor, count: int) -> Sequence[Any]:
        return _read_nulls(self.body, cursor, count)


def _read_nulls(body: Read, cursor: Cursor, count: int) -> Sequence[Any]:
    nulls = cursor.byte()
    if nulls == 0:
        return body(cursor, count)
    if nulls == 2:
        return [None] * count
    presence = cursor.take(count)
    values = iter(body(cursor, presence.count(1)))
    return [next(values) if is_present else None for is_present in presence]


def merged(which: Iterable[int], columns: Sequence[Iterable[Any]]) -> list[Any]:
    """Values of several groups in the order that `which` gives."""
    nexts = [iter(values).__next__ for values in columns]
    return [nexts[group]() for group in which]


def _numbers(format: str) -> Read:
    size = calcsize(format)

    def read(cursor: Cursor, count: int) -> tuple[Any, ...]:
        at = cursor.at
        cursor.at = at + size * count
        return unpack_from(f"{count}{format}", cursor.data, at)

    return read


def _made(body: Read, make: Callable[[Any], Any]) -> Read:
    return lambda cursor, count: list(map(make, body(cursor, count)))


def texts(cursor: Cursor, count: int) -> list[str]:
    """The body of a column of texts."""
    form = cursor.byte()
    lengths = cursor.ints(count)
    ends = list(accumulate(lengths))
    size = ends[-1] if ends else 0
    if form == 0:
        text = cursor.take(size).decode("latin-1")
    elif form == 1:
        text = cursor.take(2 * size).decode(WIDE)
    else:
        data = cursor.take(2 * size)
        pieces = (data[2 * (end - length) : 2 * end] for length, end in zip(lengths, ends))
        return [piece.decode(WIDE, "surrogatepass") for piece in pieces]
    return [text[start:end] for start, end in zip([0, *ends], ends)]


def _bytes(cursor: Cursor, count: int) -> list[Any]:
    form = cursor.byte()
    views = cursor.take(count) if form == 2 else bytes([form]) * count
    lengths = cursor.ints(count)
    values: list[Any] = [cursor.take(length) for length in lengths]
    return [memoryview(data) if view else data for view, data in zip(views, values)] if form else values


def _decimals(cursor: Cursor, count: int) -> list[Any]:
    return list(map(decimal.Decimal, texts(cursor, count)))


longs = _numbers("q")


def _dates(cursor: Cursor, count: int) -> list[Any]:
    times = longs(cursor, count)
    try:
        return [_EPOCH + _MS * time for time in times]
    except OverflowError:
        return list(map(date_of, times))


def _named_maps(cursor: Cursor, count: int, item: Read) -> list[Any]:
    sets = [texts(cursor, cursor.number()) for _ in range(cursor.number())]
    which = cursor.ints(count) if len(sets) > 1 else ()
    groups: list[list[Any]] = []
    for names in sets:
        map_count = cursor.number()
        columns = [item(cursor, map_count) for _ in names]
        groups.append([dict(zip(names, row)) for row in zip(*columns)] if names else [{} for _ in range(map_count)])
    if len(groups) == 1:
        return groups[0]
    return merged(which, groups)


def _structs(schema: Schema, fields: Sequence[Read]) -> Read:
    new = Struct.__new__

    def read(cursor: Cursor, count: int) -> list[Struct]:
        columns = [field(cursor, count) for field in fields]
        structs: list[Struct] = []
        append = structs.append
        # As `Struct.unchecked` does, without a call.
        for values in map(list, zip(*columns)) if columns else ([] for _ in repeat(None, count)):
            struct = new(Struct)
            struct.schema = schema
            struct._values = values
            append(struct)
        return structs

    return read


def _no_structs(cursor: Cursor, count: int) -> Sequence[Any]:
    raise AssertionError("a struct has the number of a schema")
