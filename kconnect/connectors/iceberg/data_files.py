"""
Data files of tables, read as files that others have written: checked by our own code first, and a lot of rows at a time.

Whoever may write files where a table is says what an upsert reads. pyiceberg gives such a file to pyarrow as it is, and has
all of it in memory: a page of a few bytes may become gigabytes. Here a file is copied onto this machine's disk first, so that
it is the same when it is checked and when it is read, and is then read as ObjectStoreSource reads Parquet
(`objects/parquet_pages.py`). `bind` puts this in place of what pyiceberg calls; it has no promise for that, so its version is
bounded. Called by `catalogs.py`, and through pyiceberg by `upserts.py` and `deletes.py`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet
from pyiceberg.io import pyarrow as pyiceberg_arrow

from kconnect.api import ConnectError, DataError
from kconnect.connectors.objects import parquet_pages, spool

MOST_BYTES = 10 * 1024**3
"""Of a data file, as it is."""
MOST_RATIO, FREE = 500, 1024**3
"""How many times its size a file may become; what becomes less than `FREE` bytes may be packed as well as it likes."""
_LIMITS = parquet_pages.Limits("the longest row that an upsert reads", 64 * 1024**2)
_MOST_ROWS = 65_536
_ROW = 8
"""A row counts for so many bytes at least: a file may have a number of rows, and no columns."""
_CHUNK = 8 * 1024**2
_FIRST_HALF, _BEHIND_HALVES = 0xD800, 0xE000
"""Where the halves of pairs of surrogates begin, and what is behind them."""
ERRORS = (DataError, pa.ArrowException, OSError, LookupError, ValueError, TypeError, EOFError, MemoryError)
"""What a file raises that is not what it should be."""


class ParquetFile:
    """A file of Parquet that was checked, in the place of pyarrow's fragment of a dataset."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._size = file.seek(0, 2)
        self._groups = parquet_pages.row_groups(file)
        # Opened once more: pyarrow reads without Python's file, whose place would be moved under it.
        self._file, self._parquet = file, parquet.ParquetFile(pa.OSFile(path))
        self.physical_schema: pa.Schema = self._parquet.schema_arrow

    def batches(self, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        unpacked = 0
        for number, group in enumerate(self._groups):
            rows = parquet_pages.rows_at_once(self._file, self._parquet.schema, group, _LIMITS, _MOST_ROWS)
            for batch in self._parquet.iter_batches(rows, row_groups=[number]):
                unpacked += max(batch.nbytes, _ROW * len(batch))
                if unpacked > FREE and unpacked > MOST_RATIO * self._size:
                    raise DataError(f"it has more than {MOST_RATIO} times its {self._size} bytes, unpacked")
                yield batch if columns is None else _selected(batch, columns)


class ParquetFormat:
    """The class that pyiceberg calls instead of `pyarrow.dataset.ParquetFileFormat`."""

    def __init__(self, **options: Any) -> None:
        """The options are ignored: they tell pyarrow how to read ahead and keep dictionaries."""

    def make_fragment(self, source: Any) -> ParquetFile:
        # Errors of the store are raised as they are: another try may succeed.
        copy, path = spool.nameless(None)
        _copy(source, spool.Room(copy, None, "TMPDIR"))
        copy.flush()
        try:
            return ParquetFile(copy, str(path))
        except ERRORS as error:
            raise _unreadable(error) from None


class OrcFormat:
    """The class that pyiceberg calls instead of `pyarrow.dataset.OrcFileFormat`, whose process a broken file may end."""

    def __init__(self, **options: Any) -> None:
        raise orc_is_not_read()


class Scanner:
    """The class that pyiceberg calls instead of `pyarrow.dataset.Scanner`."""

    def __init__(self, fragment: ParquetFile, columns: Sequence[str] | None, filter: Any) -> None:
        self._fragment, self._columns, self._filter = fragment, columns, filter

    @classmethod
    def from_fragment(cls, fragment: ParquetFile, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> Any:
        return cls(fragment, columns, filter)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._fragment.batches(self._columns):
                if self._filter is None:
                    yield batch
                else:
                    yield from pa.Table.from_batches([batch]).filter(self._filter).to_batches()
        except ERRORS as error:
            raise _unreadable(error) from None


class _Dataset:
    ParquetFileFormat = ParquetFormat
    OrcFileFormat = OrcFormat
    FileFormat = ParquetFormat
    Scanner = Scanner


def orc_is_not_read() -> ConnectError:
    return ConnectError(
        "A data file of the table that has rows with these ids is ORC, which an upsert does not read: a broken file of ORC "
        "would end the task's process. Have the table's files rewritten as Parquet (rewrite_data_files)"
    )


def bind() -> None:
    """Have pyiceberg read data files so, and bound texts so. May be called again."""
    pyiceberg_arrow.ds = _Dataset  # type: ignore[attr-defined]
    # It keeps the formats that it has made: whoever read a table before in this process has had it make pyarrow's own.
    pyiceberg_arrow._get_file_format.cache_clear()
    pyiceberg_arrow.truncate_upper_bound_text_string = upper_bound  # type: ignore[assignment, attr-defined]


def upper_bound(text: str, length: int | None) -> str | None:
    """
    Return a text of at most so many characters that no text with this beginning is behind; None if there is none.
    pyiceberg's own counts from U+D7FF on to half a pair of surrogates, which no file can have: each commit failed.
    """
    bound = text[:length]
    if bound == text:
        return bound
    for at in range(len(bound) - 1, -1, -1):
        letter = ord(bound[at]) + 1
        if letter <= sys.maxunicode:
            return bound[:at] + chr(_BEHIND_HALVES if letter == _FIRST_HALF else letter)
    return None


def _selected(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    if columns:
        return batch.select(list(columns))
    # Without columns there would be no rows.
    return pa.RecordBatch.from_struct_array(pa.array([{}] * len(batch), pa.struct([])))


def _copy(source: Any, file: spool.Room) -> None:
    size = getattr(source, "size", None)
    size = size() if callable(size) else size
    if isinstance(size, int) and size > MOST_BYTES:
        raise _unreadable(DataError(f"it has {size} bytes, of which an upsert reads {MOST_BYTES}"))
    bounded: Any = _Bounded(source)
    shutil.copyfileobj(bounded, file, _CHUNK)


class _Bounded:
    """A file that ends in an error once it has more bytes than are allowed."""

    def __init__(self, source: Any) -> None:
        self._source, self._left = source, MOST_BYTES

    def read(self, count: int, /) -> bytes:
        data: bytes = self._source.read(count)
        self._left -= len(data)
        if self._left < 0:
            raise _unreadable(DataError(f"it has more than the {MOST_BYTES} bytes that an upsert reads"))
        return data


def _unreadable(error: Exception) -> ConnectError:
    text = " ".join(str(error).split())[:300] or type(error).__name__
    return ConnectError(f"A data file of the table can't be read: {text}")
