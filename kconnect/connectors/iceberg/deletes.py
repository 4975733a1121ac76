"""
Deletes: which rows of a data file are not there any more, by files beside it.

Others than this sink write such files: pairs of a path and a row, or bitmaps (deletion vectors). pyiceberg's own reader has
each of them whole in memory, for all data files that it names, and a bitmap of a few bytes names billions of rows. Called by
`upserts.py`. Read next: `data_files.py`, whose reader of Parquet this one uses.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.table.puffin import Footer
from pyroaring import BitMap

from kconnect.api import ConnectError, DataError
from kconnect.connectors.iceberg import data_files

MOST_ROWS = 50_000_000
"""Of one data file that are gone."""
MOST_BYTES = 256 * 1024 * 1024
"""Of a file of bitmaps."""
_MAGIC, _END = b"PFA1", 12
_REFERENCED = "referenced-data-file"
_MOST_BITMAPS = 16
"""Each is about four billion rows of a data file."""


def rows_gone(io: FileIO, task: Any) -> list[pa.ChunkedArray] | None:
    """Return the numbers of the rows of a data file that are gone; None if all are there. `task` is as pyiceberg plans it."""
    gone_rows: list[pa.ChunkedArray] = []
    remaining = MOST_ROWS
    for file in task.delete_files:
        rows = (
            _in_bitmaps(io, file, task.file, remaining)
            if file.file_format == FileFormat.PUFFIN
            else _in_pairs(io, file, task, remaining)
        )
        remaining -= len(rows)
        gone_rows.append(rows)
    return gone_rows or None


def _in_pairs(io: FileIO, file: DataFile, task: Any, most: int) -> pa.ChunkedArray:
    if file.file_format != FileFormat.PARQUET:
        raise data_files.orc_is_not_read()
    rows: list[pa.Array] = []
    with io.new_input(file.file_path).open() as source:
        for batch in data_files.Scanner(data_files.ParquetFormat().make_fragment(source), None, None).to_batches():
            path, place = _column(batch, "file_path", pa.string()), _column(batch, "pos", pa.int64())
            rows.append(place.filter(pc.equal(path, task.file.file_path)))
            most -= len(rows[-1])
            if most < 0:
                raise _too_many()
    return pa.chunked_array(rows, pa.int64())


def _column(batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    try:
        return batch.column(name).cast(kind)
    except (LookupError, pa.ArrowException):
        raise _unreadable(f"it has no column {name} of {kind}") from None


def _in_bitmaps(io: FileIO, file: DataFile, data_file: DataFile, most: int) -> pa.ChunkedArray:
    with io.new_input(file.file_path).open() as source:
        data = source.read(MOST_BYTES + 1)
    try:
        return pa.chunked_array(_vector(data, data_file.file_path, most), pa.int64())
    except (DataError, ValueError, LookupError, TypeError) as error:
        raise _unreadable(" ".join(str(error).split())[:300]) from None


def _vector(data: bytes, path: str, most: int) -> list[pa.Array]:
    """Return the rows that a file of bitmaps has of a data file."""
    if len(data) > MOST_BYTES:
        raise DataError(f"it has more than {MOST_BYTES} bytes")
    if len(data) < _END or data[:4] != _MAGIC or data[-4:] != _MAGIC or data[-8] & 1:
        raise DataError("it is no Puffin file with a plain footer")
    length = int.from_bytes(data[-_END:-8], "little")
    footer = Footer.model_validate_json(data[max(0, len(data) - _END - length) : -_END])
    rows: list[pa.Array] = []
    for blob in footer.blobs:
        if blob.properties.get(_REFERENCED) != path:
            continue
        # The specification has them plain.
        if blob.compression_codec is not None or blob.offset < 0 or blob.length < 0:
            raise DataError("it has a bitmap that is packed, or is nowhere")
        rows += _bitmaps(data[blob.offset : blob.offset + blob.length], most)
    return rows


def _bitmaps(data: bytes, most: int) -> list[pa.Array]:
    """Return the rows of a vector: a length, a magic number, how many bitmaps there are, and each behind its upper 32 bits."""
    view = memoryview(data)[8 : 4 + int.from_bytes(data[:4], "big")]
    count, at, last = int.from_bytes(view[:8], "little"), 8, -1
    if count > _MOST_BITMAPS:
        raise DataError(f"it has {count} bitmaps for a data file")
    rows: list[pa.Array] = []
    for _ in range(count):
        key = int.from_bytes(view[at : at + 4], "little")
        if len(view) < at + 4 or not last < key < 2**31:
            raise DataError("its bitmaps end too early, or are not in order")
        bitmap = BitMap.deserialize(bytes(view[at + 4 :]))
        most -= len(bitmap)
        if most < 0:
            raise _too_many()
        at, last = at + 4 + len(bitmap.serialize()), key
        numbers = pa.Array.from_buffers(pa.uint32(), len(bitmap), [None, pa.py_buffer(bitmap.to_array())])
        rows.append(pc.add(numbers.cast(pa.int64()), key << 32))
    return rows


def _too_many() -> ConnectError:
    return ConnectError(f"More than {MOST_ROWS} rows of a data file of the table are gone: have its files rewritten")


def _unreadable(reason: str) -> ConnectError:
    return ConnectError(f"A file of the table that says which rows are gone can't be read: {reason}")
