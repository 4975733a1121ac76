"""
Blocks: the records of an Avro file, one after the other, each within the limit of its size.

fastavro would unpack a block whole, however much that is, and read an element without bytes as often as the file says.
Called by `readers.py`.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import fastavro
import fastavro.read
import pyarrow as pa

from kconnect.api import DataError
from kconnect.connectors import limits
from kconnect.connectors.limits import TooMuchError
from kconnect.data import avro_indexes, decimals

_MAGIC, _SYNC = b"Obj\1", 16
_LONGEST_HEAD = 16 * 1024 * 1024
_RECORDS_IN_A_BLOCK = 4
"""A block has room for so many of the longest records."""
_DEEPEST = 100
_MOST_EMPTY = 4
"""So many fields without bytes a record may have, and one more for each that has some."""
_MOST_PARTS = 100_000
_LEAST = 64
_WHOLE = "kconnect_whole"
_DECIMAL = "kconnect-decimal"
"""A logical type that only schemas have that are made here."""
_TYPES = ("type", "items", "values", "fields")


class Blocks:
    """An open file. `schema` is its own, as JSON has it."""

    def __init__(self, file: BinaryIO, setting: str, most: int) -> None:
        """`setting` has the limit of a record's size, which is `most`. DataError if it is no file of Avro."""
        self._file, self._setting, self._most = file, setting, most * _RECORDS_IN_A_BLOCK
        if file.read(len(_MAGIC)) != _MAGIC:
            raise DataError("it is no file of Avro")
        head = self._metadata()
        self._sync = file.read(_SYNC)
        self._codec = head.get("avro.codec", b"null").decode("utf-8", "replace")
        try:
            self.schema: Any = json.loads(head["avro.schema"], object_pairs_hook=_plain)
            # fastavro keeps the parsed form of records only, and would parse others for each value.
            whole = {"type": "record", "name": _WHOLE, "fields": [{"name": "v", "type": self.schema}]}
            fastavro.parse_schema(whole)
            self._parsed = avro_indexes.refusing(fastavro.parse_schema(_with_our_decimals(whole)))
        except (KeyError, ValueError, RecursionError, fastavro.schema.SchemaParseException) as error:
            raise DataError(f"its schema can't be read: {type(error).__name__}") from None
        check_elements(self.schema)

    def records(self) -> Iterator[tuple[Any, int]]:
        """Yield all records, as fastavro has them, each with about the bytes that it takes."""
        while (count := self._long(may_end=True)) is not None:
            size = self._long() or 0
            if not 0 <= size <= self._most or count < 0:
                raise self._too_much(f"a block of {size} bytes")
            data = self._unpacked(self._file.read(size))
            if self._file.read(_SYNC) != self._sync:
                raise DataError("a block has no mark at its end")
            stream = io.BytesIO(data)
            for _ in range(count):
                begin = stream.tell()
                record: Any = fastavro.schemaless_reader(stream, self._parsed, None)
                # One without bytes takes some all the same.
                yield record["v"], stream.tell() - begin + _LEAST

    def _too_much(self, what: str) -> TooMuchError:
        return TooMuchError(
            f"it has {what}, of which {self._most} may be: {self._setting} is {self._most // _RECORDS_IN_A_BLOCK}"
        )

    def _unpacked(self, data: bytes) -> bytes:
        if self._codec == "null":
            return data
        if self._codec == "snappy":
            # Its length is in front, as a varint; behind it are four bytes of a checksum.
            length = _varint(data[:10])
            if length > self._most:
                raise self._too_much(f"a block of {length} bytes, unpacked")
            return bytes(pa.decompress(data[:-4], length, "snappy", asbytes=True))
        decoder = _DECODERS.get(self._codec)
        if decoder is None:
            raise DataError(f"it is packed by {self._codec[:40]!r}, which is not known here: {', '.join(_DECODERS)} are")
        parts, size = [], 0
        for piece in decoder(data):
            size += len(piece)
            if size > self._most:
                raise self._too_much(f"a block of more than {self._most} bytes, unpacked")
            parts.append(piece)
        return b"".join(parts)

    def _metadata(self) -> Mapping[str, bytes]:
        metadata: dict[str, bytes] = {}
        remaining = _LONGEST_HEAD
        while count := self._long():
            if count < 0:
                count, _ = -count, self._long()
            for _ in range(count):
                pair = []
                for _ in range(2):
                    length = self._long() or 0
                    remaining -= length + 1
                    if length < 0 or remaining < 0:
                        raise DataError(f"its head has more than {_LONGEST_HEAD} bytes")
                    pair.append(self._file.read(length))
                metadata[pair[0].decode("utf-8", "replace")] = pair[1]
        return metadata

    def _long(self, may_end: bool = False) -> int | None:
        bits = shift = 0
        while True:
            byte = self._file.read(1)
            if not byte:
                if may_end and not shift:
                    return None
                raise DataError("it ends too early")
            bits |= (byte[0] & 127) << shift
            if byte[0] < 128:
                return (bits >> 1) ^ -(bits & 1)
            shift += 7
            if shift > 63:
                raise DataError("it has a number that is too long")


def _varint(data: bytes) -> int:
    number = 0
    for place, byte in enumerate(data):
        number |= (byte & 127) << 7 * place
        if byte < 128:
            break
    return number


def _deflated(data: bytes) -> Iterator[bytes]:
    return limits.unpacked([data], -zlib.MAX_WBITS)


def _piecewise(decoder: Any, data: bytes) -> Iterator[bytes]:
    """Yield unpacked data piece by piece. The decoders of bz2 and lzma keep what they have not unpacked yet."""
    piece = 256 * 1024
    try:
        unpacked = decoder.decompress(data, piece)
        while unpacked:
            yield unpacked
            unpacked = b"" if decoder.eof else decoder.decompress(b"", piece)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise DataError(f"a block can't be unpacked: {error}") from None


def _zstandard(data: bytes) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while piece := stream.read(256 * 1024):
            yield piece


_DECODERS: Mapping[str, Callable[[bytes], Iterator[bytes]]] = {
    "deflate": _deflated,
    "snappy": lambda data: iter(()),
    "bzip2": lambda data: _piecewise(bz2.BZ2Decompressor(), data),
    "xz": lambda data: _piecewise(lzma.LZMADecompressor(memlimit=256 * 1024 * 1024), data),
    "zstandard": _zstandard,
}


def _with_our_decimals(node: Any) -> Any:
    """Return a schema whose decimals are read by `_decimal`: fastavro would read them whatever their length."""
    if isinstance(node, list):
        return [_with_our_decimals(part) for part in node]
    if not isinstance(node, dict):
        return node
    changed = {name: _with_our_decimals(part) if name in _TYPES else part for name, part in node.items()}
    return {**changed, "logicalType": _DECIMAL} if node.get("logicalType") == "decimal" else changed


def _decimal(data: bytes, writer_schema: Any, reader_schema: Any = None) -> Any:
    return decimals.of_bytes(data, writer_schema.get("scale", 0))


for _kind in ("bytes", "fixed"):
    fastavro.read.LOGICAL_READERS[f"{_kind}-{_DECIMAL}"] = _decimal


def _plain(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object without what fastavro would take for its own: a schema that says that it has been parsed already."""
    return {name: value for name, value in pairs if not name.startswith("__")}


def check_elements(schema: Any) -> None:
    """
    Raise DataError for a schema whose lists may have elements without bytes, that is nested too deeply, or whose types name
    each other so often that there is no end of parts.
    """
    _size(schema, {}, 0)


class _Size(NamedTuple):
    """
    The size of a type: how many bytes a value has at least, and how many types are in it, where each that is named counts
    again.
    """

    least: int
    parts: int = 1


def _size(schema: Any, named: dict[str, _Size], depth: int) -> _Size:
    if depth > _DEEPEST:
        raise DataError(f"its schema is nested more than {_DEEPEST} times")
    size = _size_of(schema, named, depth)
    if size.parts > _MOST_PARTS:
        raise DataError(f"its schema has more than {_MOST_PARTS} parts, with all the types that it names")
    if isinstance(schema, dict) and "name" in schema:
        named[str(schema["name"])] = size
    return size


def _size_of(schema: Any, named: dict[str, _Size], depth: int) -> _Size:
    if isinstance(schema, list):
        # A branch has a number.
        return _Size(1, 1 + sum(_size(branch, named, depth + 1).parts for branch in schema))
    if isinstance(schema, str):
        return named.get(schema, _Size(0 if schema == "null" else 1))
    if not isinstance(schema, dict):
        raise DataError("its schema has a type that is none")
    kind = schema.get("type")
    if kind in ("array", "map"):
        inner = _size(schema.get("items" if kind == "array" else "values"), named, depth + 1)
        if inner.least == 0 and kind == "array":
            raise DataError("its schema has lists whose elements have no bytes, so that they may have any number of them")
        return _Size(1, 1 + inner.parts)
    if kind == "fixed":
        return _Size(1 if schema.get("size") else 0)
    if kind in ("record", "error"):
        named[str(schema.get("name"))] = _Size(1)
        fields = [_size(field.get("type"), named, depth + 1) for field in schema.get("fields") or ()]
        empty = [field.parts for field in fields if not field.least]
        if sum(empty) > _MOST_EMPTY + len(fields) - len(empty):
            raise DataError("its schema has a record of many fields without any bytes, so that few bytes may take any memory")
        return _Size(sum(field.least for field in fields), 1 + sum(field.parts for field in fields))
    return _size(kind, named, depth + 1) if isinstance(kind, str | dict | list) and kind != "enum" else _Size(1)
