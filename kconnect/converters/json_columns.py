"""
From columns of Connect's values to JSON text, compiled once for each schema: what `json_writers.py` does for a single value.

The text of a struct is put together from the texts of its fields' columns, at any depth, so that neither structs nor plain
values are made. `ColumnWriters.of(schema)` gives the bytes that `json_text.dumps` makes of each value. Called by `json.py`.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from kconnect.converters import json_text, logical
from kconnect.converters.column_bytes import NULL, Pieces, Write, WritePresent, bundled, fields_of, joined, parts_of, writer
from kconnect.converters.json_writers import AS_IS, Writers, is_exact
from kconnect.data import schema as schemas
from kconnect.data.column import Column, Unusual
from kconnect.data.kept import Kept, weight_of, weight_of_text
from kconnect.data.schema import Schema, SchemaType

_WORDS = {str, bool, NULL}
"""What JSON has itself, whatever the value is."""


class ColumnWriters:
    """Writers of columns by schema, beside the `writers` of single values. At most `limit` are kept."""

    def __init__(self, writers: Writers, limit: int) -> None:
        self._writers = writers
        self._kept: Kept[Schema, Write] = Kept(limit)
        self._heads: Kept[tuple[str, ...], list[bytes]] = Kept(limit)
        self._free = writer(self._free_present, self._free_one_by_one, lambda: b"null")

    def of(self, schema: Schema | None) -> Write:
        """Return the writer of a schema's columns, or of values without one."""
        if schema is None:
            return self._of_maps
        write = self._kept.get(schema)
        if write is None:
            write = self._of(schema)
            self._kept.put(schema, write, weight_of(schema))
        return write

    def _of(self, schema: Schema) -> Write:
        one = self._writers.of(schema)
        return writer(
            self._of_present(schema),
            lambda values: json_text.dumps_column(list(map(one, values))),
            lambda: json_text.dumps(one(None)),
        )

    def _of_part(self, schema: Schema | None) -> Write:
        return self._free if schema is None else self.of(schema)

    def _of_present(self, schema: Schema) -> WritePresent:
        if schema.name == schemas.DECIMAL and not self._writers.numeric:
            unscaled = logical.writer_of_decimals(schema)
            return lambda values, _: _base64(map(unscaled, values))
        if not logical.is_logical(schema):
            if schema.type is SchemaType.STRUCT:
                return self._of_struct(schema)
            if schema.type is SchemaType.ARRAY:
                return self._of_array(schema)
            if schema.type is SchemaType.MAP:
                return self._of_map(schema)
            if schema.type is SchemaType.BYTES:
                return _write_bytes
        return self._of_plain(schema)

    def _of_plain(self, schema: Schema) -> WritePresent:
        one, exact = self._writers.of(schema), _exact(schema)
        is_double = schema.type is SchemaType.FLOAT64 and not logical.is_logical(schema)

        def write(values: Sequence[Any], kinds: set[type]) -> Pieces:
            if kinds == exact or (is_double and kinds == {float} and _are_exact(values)):
                return json_text.dumps_column(values, kinds)
            return json_text.dumps_column(list(map(one, values)))

        return write

    def _of_struct(self, schema: Schema) -> WritePresent:
        heads, parts = _heads([field.name for field in schema.fields]), [self.of(field.schema) for field in schema.fields]
        return lambda values, _: _object(heads, [part(column) for part, column in zip(parts, fields_of(schema, values))])

    def _of_array(self, schema: Schema) -> WritePresent:
        part, exact = self._of_part(schema.value_schema), _exact(schema.value_schema)

        def write(values: Sequence[Any], kinds: set[type]) -> Pieces:
            items = parts_of(values, kinds, {list, tuple})
            if set(map(type, items)) == exact:
                return [json_text.dumps_each(values)]
            return [b"[", bundled(joined(part(items), len(items)), map(len, values), b","), b"]"]

        return write

    def _of_map(self, schema: Schema) -> WritePresent:
        key, item = self._of_part(schema.key_schema), self._of_part(schema.value_schema)
        as_object = schema.key_schema is not None and schema.key_schema.type is SchemaType.STRING
        begin, head, between, tail, end = (b"{", b"", b":", b"", b"}") if as_object else (b"[", b"[", b",", b"]", b"]")

        def write(values: Sequence[Any], kinds: set[type]) -> Pieces:
            keys = parts_of(values, kinds, {dict})
            if as_object and set(map(type, keys)) - _exact(schema.key_schema):
                raise Unusual
            items = list(chain.from_iterable(map(dict.values, values)))
            entries = joined([head, *key(keys), between, *item(items), tail], len(keys))
            return [begin, bundled(entries, map(len, values), b","), end]

        return write

    def _of_maps(self, values: Sequence[Any]) -> Pieces:
        """Write maps that have the same keys, by key, and all else one by one."""
        column = values if type(values) is Column else Column(None, values)
        try:
            names, columns = column.fields()
        except Unusual:
            return self._free(column.values)
        heads = self._heads.get(names)
        if heads is None:
            heads = _heads(names)
            self._heads.put(names, heads, len(names) + weight_of_text(sum(map(len, names))))
        return _object(heads, list(map(self._free, columns)))

    def _free_present(self, values: Sequence[Any], kinds: set[type]) -> Pieces:
        if type(values) is Column and not kinds:
            return self.of(values.schema)(values)
        # Maps within others are not taken apart: for these, orjson is as quick.
        return self._free_one_by_one(values)

    def _free_one_by_one(self, values: Sequence[Any]) -> Pieces:
        kinds = set(map(type, values))
        if kinds <= _WORDS or (kinds == {int} and is_exact(min(values)) and is_exact(max(values))):
            return json_text.dumps_column(values, kinds)
        if kinds == {float} and _are_exact(values):
            return json_text.dumps_column(values, kinds)
        return json_text.dumps_column([value if is_exact(value) else self._writers.free(value) for value in values])


def _exact(schema: Schema | None) -> set[type | None]:
    """Return the class whose values are written as they are; with None in its place if there is none."""
    return {None if schema is None or logical.is_logical(schema) else AS_IS.get(schema.type)}


def _are_exact(values: Sequence[float]) -> bool:
    """Return whether orjson writes these numbers as Java does."""
    return not [value for value in values if not (1e-3 <= value < 1e7 or -1e7 < value <= -1e-3 or value == 0)]


def _heads(names: Sequence[str]) -> list[bytes]:
    """Return what stands in front of each value of an object."""
    return [b"%b%b:" % (b"," if place else b"{", json_text.dumps(name)) for place, name in enumerate(names)]


def _object(heads: Sequence[bytes], parts: Sequence[Pieces]) -> Pieces:
    pieces: Pieces = []
    for head, part in zip(heads, parts):
        pieces.append(head)
        pieces += part
    return [*pieces, b"}"] if heads else [b"{}"]


def _write_bytes(values: Sequence[Any], kinds: set[type]) -> Pieces:
    if not kinds or not kinds <= {bytes, bytearray}:
        raise Unusual
    return _base64(values)


def _base64(values: Iterable[Any]) -> Pieces:
    return [b'"', [binascii.b2a_base64(value, newline=False) for value in values], b'"']
