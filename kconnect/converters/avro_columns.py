"""
From columns of Connect's values to Avro's bytes, compiled once for each pair of a Connect schema and an Avro type.

In Avro the bytes of a record are those of its fields, one behind the other, so they are put together from the bytes of the
fields' columns. fastavro encodes numbers a column at a time. Whatever is rare is written value by value, as `avro_values.py`
does it. Called by `avro.py`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from kconnect.converters.avro_schema import Dialect, is_union
from kconnect.converters.avro_types import Avro, AvroField, Encoding
from kconnect.converters.avro_values import BITS, Writers, as_it_is
from kconnect.converters.column_bytes import (
    Pieces,
    Write,
    WritePresent,
    bundled,
    fields_of,
    is_constant,
    joined,
    parts_of,
    writer,
)
from kconnect.converters.logical import is_logical
from kconnect.data.column import Unusual
from kconnect.data.schema import Schema, SchemaType

_VARINT = re.compile(rb"[\x80-\xff]{0,9}[\x00-\x7f]")
_SIZES = [bytes((2 * size,)) for size in range(64)]
"""The numbers of a single byte."""
_BOOLEANS = {False: b"\0", True: b"\1"}


class ColumnWriters:
    """Writers of columns, of the bytes that `avro_values.Writers` and fastavro make of each value."""

    def __init__(self, dialect: Dialect, strict: bool) -> None:
        self._dialect, self._strict = dialect, strict
        self._writers = Writers(dialect, _LONGS, strict)
        """They are for primitive values, which need no encoding."""

    def of(self, schema: Schema | None, avro: Avro) -> Write:
        """Return the writer of columns of a schema's values, for which `avro_values.Writers` has one."""
        return self._of(schema, avro, None)

    def _of(self, schema: Schema | None, avro: Avro, default: Any) -> Write:
        """`default` is written in place of None, unless it is None."""
        one = self._one(schema, avro)
        present = None if schema is None else self._of_present(schema, avro)

        def one_by_one(values: Sequence[Any]) -> Pieces:
            return [[one(default if value is None else value) for value in values]]

        return one_by_one if present is None else writer(present, one_by_one, lambda: one(default))

    def _one(self, schema: Schema | None, avro: Avro) -> Callable[[Any], bytes]:
        """Return what writes a single value, which is made when it is first needed."""

        @functools.cache
        def writing() -> tuple[Callable[[Any], Any], Encoding]:
            encoding = Encoding(avro)
            return Writers(self._dialect, encoding, self._strict).of(schema, avro), encoding

        def write(value: Any) -> bytes:
            convert, encoding = writing()
            return encoding.encode(convert(value))

        return write

    def _of_present(self, schema: Schema, avro: Avro) -> WritePresent | None:
        """Return the writer of values that are not None; None for those that are only written one by one."""
        if len(avro.present) != 1 or (schema.type is SchemaType.STRUCT and is_union(schema)):
            return None
        (branch,) = avro.present
        write = self._of_branch(schema, branch)
        if write is None or avro.type != "union":
            return write
        index = _SIZES[next(index for index, candidate in enumerate(avro.branches) if candidate is branch)]
        return lambda values, kinds: [index, *write(values, kinds)]

    def _of_branch(self, schema: Schema, avro: Avro) -> WritePresent | None:
        if schema.type is SchemaType.STRUCT:
            return self._of_struct(schema, avro)
        if schema.type is SchemaType.ARRAY:
            return self._of_array(schema, avro)
        if schema.type is SchemaType.MAP:
            return self._of_map(schema, avro) if avro.type == "map" else self._of_entries(schema, avro)
        return self._of_primitive(schema, avro)

    def _of_struct(self, schema: Schema, avro: Avro) -> WritePresent:
        places = {self._dialect.name(field.name): field for field in schema.fields}
        steps: list[tuple[int, Write]] = []
        for target in avro.fields:
            field = places.get(target.name)
            if field is None:
                steps.append((0, self._absent(target)))
            else:
                default = None if self._dialect.ignore_default_for_nullables else field.schema.default
                steps.append((field.index, self._of(field.schema, target.type, default)))

        def write(values: Sequence[Any], kinds: set[type]) -> Pieces:
            columns = fields_of(schema, values)
            return [piece for index, part in steps for piece in part(columns[index])]

        return write

    def _absent(self, target: AvroField) -> Write:
        encoding = Encoding(target.type)
        data = encoding.encode(Writers(self._dialect, encoding, self._strict).absent(target))
        return lambda values: [data]

    def _of_array(self, schema: Schema, avro: Avro) -> WritePresent:
        item = self.of(schema.value_schema, avro.item())

        def write(values: Sequence[Any], kinds: set[type]) -> Pieces:
            items = parts_of(values, kinds, {list, tuple})
            return _blocks(item(items), list(map(len, values)))

        return write

    def _of_map(self, schema: Schema, avro: Avro) -> WritePresent:
        item = self.of(schema.value_schema, avro.item())

        def write(values: Sequence[Any], kinds: set[type]) -> Pieces:
            keys = parts_of(values, kinds, {dict})
            if set(map(type, keys)) - {str}:
                raise Unusual
            return _blocks([*_write_texts(keys), *item(_items(values))], list(map(len, values)))

        return write

    def _of_entries(self, schema: Schema, avro: Avro) -> WritePresent:
        parts = {field.name: field.type for field in avro.item().fields}
        key, item = self.of(schema.key_schema, parts["key"]), self.of(schema.value_schema, parts["value"])

        def write(values: Sequence[Any], kinds: set[type]) -> Pieces:
            keys = parts_of(values, kinds, {dict})
            pieces = {"key": key(keys), "value": item(_items(values))}
            return _blocks([piece for name in parts for piece in pieces[name]], list(map(len, values)))

        return write

    def _of_primitive(self, schema: Schema, avro: Avro) -> WritePresent:
        one, exact = self._writers.of_present(schema, avro), {as_it_is(schema, avro)}
        # Of plain integers, only the range is looked at.
        bits = BITS[schema.type] if schema.type in BITS and avro.type in ("int", "long") and not is_logical(schema) else 0
        encode = _write_enum(avro) if avro.type == "enum" else _ENCODERS[avro.type]

        def write(values: Sequence[Any], kinds: set[type]) -> Pieces:
            if kinds != exact and not (
                bits and kinds == {int} and -(1 << bits - 1) <= min(values) <= max(values) < 1 << bits - 1
            ):
                values = list(map(one, values))
                kinds = set(map(type, values))
            return [joined(encode(values[:1]), 1)[0]] if is_constant(values, kinds) else encode(values)

        return write


def _items(maps: Sequence[dict[Any, Any]]) -> list[Any]:
    return list(chain.from_iterable(map(dict.values, maps)))


def _blocks(items: Pieces, counts: list[int]) -> Pieces:
    """Return the pieces of arrays or maps with so many of these items each: one block of all, and an empty one at the end."""
    heads = [head if count else b"" for head, count in zip(_varints(counts), counts)]
    return [heads, bundled(joined(items, sum(counts)), counts), b"\0"]


# --- many values of a type ---

_LONGS = Encoding(Avro("array", items=Avro("long")))


def _varints(numbers: Sequence[int]) -> list[bytes]:
    if min(numbers, default=0) >= 0 and max(numbers, default=0) < len(_SIZES):
        return list(map(_SIZES.__getitem__, numbers))
    # Between the number of elements and the zero at the end. The last byte of each is the one below 128.
    return _VARINT.findall(_LONGS.encode(numbers))[1:-1]


def _write_fixed_size(kind: str, size: int) -> Write:
    encoding = Encoding(Avro("array", items=Avro(kind)))

    def write(values: Sequence[Any]) -> Pieces:
        data = encoding.encode(values)
        begin, end = len(data) - 1 - size * len(values), len(data) - 1
        return [[data[at : at + size] for at in range(begin, end, size)]]

    return write


def _write_sized(values: Sequence[bytes]) -> Pieces:
    return [_varints(list(map(len, values))), values]


def _write_texts(values: Sequence[str]) -> Pieces:
    return _write_sized(list(map(str.encode, values)))


def _write_enum(avro: Avro) -> Write:
    places = {symbol: avro.symbols.index(symbol) for symbol in avro.symbols}
    return lambda values: [_varints([places[value] for value in values])]


_ENCODERS: dict[str, Write] = {
    "boolean": lambda values: [list(map(_BOOLEANS.__getitem__, values))],
    "int": lambda values: [_varints(values)],
    "long": lambda values: [_varints(values)],
    "float": _write_fixed_size("float", 4),
    "double": _write_fixed_size("double", 8),
    "bytes": _write_sized,
    "string": _write_texts,
    "fixed": lambda values: [values],
}
