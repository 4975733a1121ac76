"""
Pages: how much a Parquet file becomes in memory, which its metadata does not say, before pyarrow unpacks any of it.

A page names its own size, a dictionary has each value once for a million rows, and values may share a prefix: so a file of half
a kilobyte can be gigabytes. The heads of all pages of a row group are read here, which are not packed, and of dictionaries the
longest value. What comes out is how many rows may be read at once. What the footer says of columns is read here, too: if
pyarrow is asked for that, a footer that contradicts itself ends the process. Called by `readers.py`. Read next: `thrift.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from kconnect.api import DataError
from kconnect.connectors.limits import TooMuchError
from kconnect.connectors.objects.thrift import Long, Reader

_MAGIC = b"PAR1"
_LONGEST_FOOTER = 64 * 1024 * 1024
_DEEPEST = 100
"""How deeply columns may be nested: pyarrow calls itself for each of them, without an end."""
_HEAD = 64 * 1024
"""The head of a page has at most so many bytes, but for one with statistics of huge values."""
_LONGEST_HEAD = 8 * 1024 * 1024
_DATA, _OTHER, _DICTIONARY, _DATA_2 = 0, 1, 2, 3
_PLAIN, _PLAIN_DICTIONARY, _DELTA_BYTE_ARRAY, _RLE_DICTIONARY = 0, 2, 7, 8
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
"""By their numbers in footers. LZ4 is missing, which is written in two ways."""
_WIDTHS = {"BOOLEAN": 8, "INT32": 8, "INT64": 8, "INT96": 16, "FLOAT": 8, "DOUBLE": 8}
_FLOOR, _RATIO = 256 * 1024 * 1024, 64
"""
Pages of all columns at once, and columns of lists, of which nobody knows how many elements a row has: they may become so
much, or so many times what they are when they are packed.
"""
_ROW = 32
"""A row may have so many of the longest values, in columns whose values are stored once for many rows."""


class Page(NamedTuple):
    """A page by its head: where its data is, and how much it is."""

    kind: int
    at: int
    packed: int
    unpacked: int
    values: int
    encoding: int


@dataclass(frozen=True)
class Limits:
    """`setting` is that of the size of a record, and `record` what it says."""

    setting: str
    record: int

    @property
    def page(self) -> int:
        return 8 * self.record

    @property
    def batch(self) -> int:
        """Bytes that are in memory at once, without those of a page of each column."""
        return 2 * self.record


class Chunk(NamedTuple):
    """A column of a row group: where its pages are, in `size` bytes, and how many values they have."""

    path: str
    codec: int
    begin: int
    size: int
    values: int


class RowGroup(NamedTuple):
    rows: int
    chunks: list[Chunk]


def row_groups(file: BinaryIO) -> list[RowGroup]:
    """Return the row groups. DataError for a file whose footer is none, is too long, or has columns nested too deeply."""
    file.seek(0, 2)
    size = file.tell()
    file.seek(max(0, size - 8))
    tail = file.read(8)
    if len(tail) < 8 or tail[4:] != _MAGIC:
        raise DataError("it is no file of Parquet: its end is not there")
    length = int.from_bytes(tail[:4], "little")
    if length > min(size - 8, _LONGEST_FOOTER):
        raise DataError(f"it is no file of Parquet: its footer has {length} bytes")
    file.seek(size - 8 - length)
    try:
        footer = Reader(file.read(length), {(0, 2): _check_depth, (0, 4): _groups, (4, 3): _chunk}).struct()
        groups: list[RowGroup] = footer[4]
    except (IndexError, KeyError, TypeError, AttributeError):
        raise DataError("it is no file of Parquet: its footer has no schema, or no row groups, that can be read") from None
    return groups


def _groups(fields: Any) -> list[RowGroup]:
    return [RowGroup(group[3], [column[3] for column in group[1]]) for group in fields]


def _chunk(fields: Any) -> Chunk:
    numbers = (fields[9], fields.get(11), fields[7], fields[5])
    if not all(number is None or (type(number) is Long and number >= 0) for number in numbers):
        raise TypeError("a number is none")
    begin, dictionary, size, values = numbers
    path = b".".join(fields[3]).decode("utf-8", "replace")
    return Chunk(path, fields[4], dictionary if dictionary and dictionary < begin else begin, size, values)


def _check_depth(elements: Any) -> None:
    """The elements of a schema come in depth-first order, each with how many children it has."""
    children_left: list[int] = []
    for count in [element.get(5, 0) for element in elements]:
        while children_left and children_left[-1] == 0:
            children_left.pop()
        if children_left:
            children_left[-1] -= 1
        children_left.append(count)
        if len(children_left) > _DEEPEST:
            raise DataError(f"its columns are nested more than {_DEEPEST} times")


def rows_at_once(file: BinaryIO, schema: parquet.ParquetSchema, group: RowGroup, limits: Limits, most: int) -> int:
    """Return how many rows of a row group may be in memory at once. Raise TooMuchError if not even one may."""
    a_row, unpacked, packed = 0.0, 0, 0
    if len(group.chunks) != len(schema):
        raise DataError(f"a row group has {len(group.chunks)} columns, and its schema {len(schema)}")
    for number, chunk in enumerate(group.chunks):
        column = schema.column(number)
        pages = list(_pages(file, chunk))
        a_row += _bytes_of_a_row(file, pages, chunk, column, limits)
        unpacked += max((page.unpacked for page in pages), default=0)
        packed += sum(page.packed for page in pages)
    if a_row > _ROW * limits.record:
        raise TooMuchError(f"a row may have {a_row:.0f} bytes, unpacked, and {limits.setting} is {limits.record}")
    if unpacked > _FLOOR and unpacked > _RATIO * packed:
        raise TooMuchError(
            f"its columns have pages of {unpacked} bytes, unpacked, in {packed} bytes: they are written anew best"
        )
    return max(1, min(most, int(limits.batch / a_row) if a_row else most))


def _bytes_of_a_row(file: BinaryIO, pages: list[Page], chunk: Chunk, column: Any, limits: Limits) -> float:
    """Return how many bytes a value of the column has at most, as far as that is known."""
    for page in pages:
        if page.unpacked > limits.page:
            raise TooMuchError(
                f"a page of its column {chunk.path[:60]} has {page.unpacked} bytes, unpacked, of which "
                f"{limits.page} may be: {limits.setting} is {limits.record}"
            )
    longest = max((_longest_of(file, page, chunk, column) for page in pages if page.kind == _DICTIONARY), default=0)
    sizes = [_size(page, column, longest) for page in pages if page.kind != _DICTIONARY]
    if not sizes:
        return 0.0
    if column.max_repetition_level:
        whole = sum(
            size * page.values for size, page in zip(sizes, (data_page for data_page in pages if data_page.kind != _DICTIONARY))
        )
        stored = sum(page.packed for page in pages)
        if whole > _FLOOR and whole > _RATIO * stored:
            raise TooMuchError(
                f"its column {chunk.path[:60]} has lists of {whole:.0f} bytes, unpacked, but {stored} packed. Write "
                "it with smaller row groups"
            )
    return max(sizes)


def _size(page: Page, column: Any, longest: int) -> float:
    """Return how many bytes a value of a page has at most, or on the average if its bytes are in the page."""
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return float(max(16, column.length))
    if column.physical_type != "BYTE_ARRAY":
        return float(_WIDTHS.get(column.physical_type, 16))
    if page.encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        return float(longest + 16)
    if page.encoding == _DELTA_BYTE_ARRAY:
        return float(page.unpacked + 16)
    return page.unpacked / max(1, page.values) + 16


def _longest_of(file: BinaryIO, page: Page, chunk: Chunk, column: Any) -> int:
    """The length of the longest text in a dictionary."""
    if column.physical_type != "BYTE_ARRAY":
        return 0
    file.seek(page.at)
    data = file.read(page.packed)
    if chunk.codec:
        codec = _CODECS.get(chunk.codec)
        if codec is None:
            return page.unpacked
        data = pa.decompress(data, page.unpacked, codec, asbytes=True)
    longest = at = 0
    unpack = struct.Struct("<I").unpack_from
    while at + 4 <= len(data):
        (length,) = unpack(data, at)
        longest = max(longest, length)
        at += 4 + length
    return min(longest, page.unpacked)


def _pages(file: BinaryIO, chunk: Chunk) -> Iterator[Page]:
    at, end, values = chunk.begin, chunk.begin + chunk.size, 0
    while at < end and values < chunk.values:
        page = _page(file, at)
        yield page
        if page.kind != _DICTIONARY:
            values += page.values
        at = page.at + page.packed


def _page(file: BinaryIO, at: int) -> Page:
    for length in (_HEAD, _LONGEST_HEAD):
        file.seek(at)
        reader = Reader(file.read(length))
        try:
            head = reader.struct()
            break
        except IndexError:
            continue
    else:
        raise DataError("the head of one of its pages can't be read")
    kind, unpacked, packed = head.get(1), head.get(2), head.get(3)
    details = head.get({_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}.get(kind if isinstance(kind, int) else -1, -1))
    if not isinstance(packed, int) or not isinstance(unpacked, int) or packed < 0 or unpacked < 0:
        raise DataError("the head of one of its pages has no size")
    if not isinstance(details, Mapping):
        # A kind of page that readers pass over.
        return Page(_OTHER, at + reader.at, packed, 0, 0, _PLAIN)
    values, encoding = details.get(1, 0), details.get(4 if kind == _DATA_2 else 2, _PLAIN)
    if not isinstance(values, int) or not isinstance(encoding, int) or values < 0:
        raise DataError("the head of one of its pages has no number of values")
    assert isinstance(kind, int)
    return Page(kind, at + reader.at, packed, unpacked, values, encoding)
