"""
From the bytes of many Avro values to columns of Connect's values, compiled once for each schema.

fastavro reads one value at a time, and asks Python for each index of a union (`data/avro_indexes.py`), which takes most of a
sink's time. Here a field is read of all messages before the next field is. What is rare (unions of several types, types that
contain themselves, numbers of ten bytes, blocks that tell their size, bytes behind a value) raises Unusual, or has no reader:
such a batch is read one by one, and so is one in which something is wrong. Called by `avro.py`. Read next: `avro_values.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from operator import add
from typing import Any

from kconnect.converters.avro_schema import is_union
from kconnect.converters.avro_types import Avro
from kconnect.converters.avro_values import Readers
from kconnect.data.column import Column, Unusual
from kconnect.data.schema import Schema, SchemaType

Texts = Sequence[bytes]
Places = Sequence[int]
Read = Callable[[Texts, Places], tuple[Sequence[Any], Places]]
"""
Read a value of each text at its place. Return the values, and the places behind them, which are beyond a text's end if it has
too few bytes, unless an exception says so.
"""

_MORE = 128
"""What a byte of a number has that is not its last one."""
_SINGLE = [number >> 1 ^ -(number & 1) for number in range(_MORE)]
"""The numbers of a single byte."""
_LAST_SHIFT = 56
"""Of the ninth byte of a number. A tenth has bits that a number of 64 has no place for."""
_MOST_ITEMS = 1000
"""Elements are read one behind the other, the first of all messages first: beside a long list, all others would wait."""
_MOST_BRANCHES = 64


class ColumnReaders:
    """Readers of columns, with the values that `readers` and fastavro make of each value's bytes."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def of(self, avro: Avro, schema: Schema | None) -> Read | None:
        """Return the reader of a type that does not contain itself. None if values of it are only read one by one."""
        if schema is None or (schema.type is SchemaType.STRUCT and is_union(schema)):
            return None
        return self._of_union(avro, schema) if avro.type == "union" else self._of_present(avro, schema)

    def _of_union(self, avro: Avro, schema: Schema) -> Read | None:
        if len(avro.present) != 1 or len(avro.branches) > _MOST_BRANCHES:
            return None
        (branch,) = avro.present
        read = self._of_present(branch, schema)
        if read is None:
            return None
        # Indexes of one byte. Zigzag doubles them.
        present = 2 * avro.branches.index(branch)
        nulls = {2 * at for at, other in enumerate(avro.branches) if other is not branch}

        def read_union(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
            indexes = [text[at] for text, at in zip(texts, places)]
            behind = [at + 1 for at in places]
            kinds = set(indexes)
            if kinds == {present}:
                return read(texts, behind)
            if not kinds <= {present, *nulls}:
                raise Unusual
            some = [at for at, index in enumerate(indexes) if index == present]
            values: list[Any] = [None] * len(texts)
            if some:
                read_values, ends = read([texts[at] for at in some], [behind[at] for at in some])
                for at, value, end in zip(some, read_values, ends):
                    values[at], behind[at] = value, end
            return values, behind

        return read_union

    def _of_present(self, avro: Avro, schema: Schema) -> Read | None:
        kind = schema.type
        if kind is SchemaType.STRUCT:
            return self._of_struct(avro, schema) if avro.type == "record" else None
        if kind is SchemaType.ARRAY:
            return self._of_array(avro, schema) if avro.type == "array" else None
        if kind is SchemaType.MAP:
            return self._of_map(avro, schema) if avro.type == "map" else None
        return self._of_primitive(avro, schema)

    def _of_primitive(self, avro: Avro, schema: Schema) -> Read | None:
        if avro.type == "enum":
            plain = _reader_of_enum(avro.symbols)
        elif avro.type == "fixed":
            plain = _reader_of_fixed(avro.size)
        elif avro.type in _READERS:
            plain = _READERS[avro.type]
        else:
            return None
        convert = self._readers.of_primitive(schema)
        if convert is None:
            return plain

        def read(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
            values, ends = plain(texts, places)
            return list(map(convert, values)), ends

        return read

    def _of_struct(self, avro: Avro, schema: Schema) -> Read | None:
        names = [field.name for field in schema.fields]
        parts: list[Read] = []
        for index, field in enumerate(avro.fields):
            part = self.of(field.type, schema.fields[index].schema)
            if part is None:
                return None
            parts.append(part)

        def read(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
            columns = []
            for part in parts:
                column, places = part(texts, places)
                columns.append(column)
            return Column.by_field(schema, names, columns, len(texts)), places

        return read

    def _of_array(self, avro: Avro, schema: Schema) -> Read | None:
        item = self.of(avro.item(), schema.value_schema)
        if item is None:
            return None

        def read(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
            lists: list[list[Any]] = [[] for _ in texts]

            def take(some: Sequence[int], texts: Texts, places: Places) -> Places:
                values, ends = item(texts, places)
                for at, value in zip(some, values):
                    lists[at].append(value)
                return ends

            return lists, _read_blocks(texts, places, take)

        return read

    def _of_map(self, avro: Avro, schema: Schema) -> Read | None:
        item = self.of(avro.item(), schema.value_schema)
        if item is None:
            return None

        def read(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
            maps: list[dict[str, Any]] = [{} for _ in texts]

            def take(some: Sequence[int], texts: Texts, places: Places) -> Places:
                keys, places = _read_strings(texts, places)
                values, ends = item(texts, places)
                for at, key, value in zip(some, keys, values):
                    maps[at][key] = value
                return ends

            return maps, _read_blocks(texts, places, take)

        return read


def _read_blocks(texts: Texts, places: Places, take: Callable[[Sequence[int], Texts, Places], Places]) -> Places:
    """
    Read the elements of lists or maps that are in one block each, or have none. `take` is given which of them have one more,
    with the texts and places of these, and returns the places behind it.
    """
    counts, places = _read_longs(texts, places)
    if min(counts, default=0) < 0 or max(counts, default=0) > _MOST_ITEMS:
        raise Unusual
    ends = list(places)
    some = [at for at, count in enumerate(counts) if count]
    full = some
    read = 0
    while some:
        for at, end in zip(some, take(some, [texts[at] for at in some], [ends[at] for at in some])):
            ends[at] = end
        read += 1
        some = [at for at in some if counts[at] > read]
    for at in full:
        if texts[at][ends[at]]:
            raise Unusual
        ends[at] += 1
    return ends


def _read_nulls(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
    return [None] * len(texts), places


def _read_booleans(texts: Texts, places: Places) -> tuple[Sequence[bool], Places]:
    values = [text[at] for text, at in zip(texts, places)]
    if not set(values) <= {0, 1}:
        raise Unusual
    return list(map(bool, values)), [at + 1 for at in places]


def _read_longs(texts: Texts, places: Places) -> tuple[Sequence[int], Places]:
    firsts = [text[at] for text, at in zip(texts, places)]
    if max(firsts, default=0) < _MORE:
        return list(map(_SINGLE.__getitem__, firsts)), [at + 1 for at in places]
    values, ends = [], []
    for text, at, number in zip(texts, places, firsts):
        at += 1
        if number >= _MORE:
            number -= _MORE
            shift = 7
            while (byte := text[at]) >= _MORE:
                if shift == _LAST_SHIFT:
                    raise Unusual
                number += byte - _MORE << shift
                at += 1
                shift += 7
            number += byte << shift
            at += 1
        values.append(number >> 1 ^ -(number & 1))
        ends.append(at)
    return values, ends


def _read_bytes(texts: Texts, places: Places) -> tuple[Sequence[bytes], Places]:
    sizes, begins = _read_longs(texts, places)
    if min(sizes, default=0) < 0:
        raise Unusual
    ends = list(map(add, begins, sizes))
    return [text[begin:end] for text, begin, end in zip(texts, begins, ends)], ends


def _read_strings(texts: Texts, places: Places) -> tuple[Sequence[str], Places]:
    values, ends = _read_bytes(texts, places)
    return list(map(bytes.decode, values)), ends


def _reader_of_fixed(size: int) -> Read:
    def read(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
        ends = [at + size for at in places]
        return [text[begin:end] for text, begin, end in zip(texts, places, ends)], ends

    return read


def _reader_of_floats(letter: str, size: int) -> Read:
    read_fixed = _reader_of_fixed(size)

    def read(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
        values, ends = read_fixed(texts, places)
        # Wrong if one has too few bytes, for none can have more.
        return struct.unpack(f"<{len(values)}{letter}", b"".join(values)), ends

    return read


def _reader_of_enum(symbols: Sequence[str]) -> Read:
    def read(texts: Texts, places: Places) -> tuple[Sequence[Any], Places]:
        indexes, ends = _read_longs(texts, places)
        if min(indexes, default=0) < 0:
            raise Unusual
        return [symbols[index] for index in indexes], ends

    return read


_READERS: dict[str, Read] = {
    "null": _read_nulls,
    "boolean": _read_booleans,
    "int": _read_longs,
    "long": _read_longs,
    "float": _reader_of_floats("f", 4),
    "double": _reader_of_floats("d", 8),
    "bytes": _read_bytes,
    "string": _read_strings,
}
