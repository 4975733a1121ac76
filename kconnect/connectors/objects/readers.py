"""
Readers: the records of a local file, some at a time, as columns of Connect's types. The counterpart of `formats.py`.

Opened by `source_task.py`.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import fastavro.read
import fastavro.schema
import pyarrow as pa
from pyarrow import parquet

from kconnect.api import BYTES_SCHEMA, OPTIONAL_STRING_SCHEMA, DataError, RetriableError, Schema, SchemaType, Struct, schema
from kconnect.connectors import common, documents, limits
from kconnect.connectors.limits import TooMuchError
from kconnect.connectors.names import shown
from kconnect.connectors.objects import parquet_pages, source_settings
from kconnect.connectors.objects.avro_blocks import Blocks
from kconnect.data.hashes import dict_of

ERRORS: tuple[type[Exception], ...] = (
    *common.MISFITS,
    pa.ArrowException,
    OSError,
    EOFError,
    LookupError,
    MemoryError,
    csv.Error,
    zlib.error,
    fastavro.schema.SchemaParseException,
    fastavro.read.SchemaResolutionError,
)
"""What a file that is not what it should be raises."""
_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_CHUNK = 1024 * 1024

Rows = tuple[Schema | None, Sequence[Any]]
Convert = Callable[[Any], Any]


@dataclass
class Budget:
    """
    The limits of what a file of `size` bytes may become: a record, `record` bytes; all of it, `ratio` times its size. Once
    `stops` says so, nothing is read any more: a file may have gigabytes without a record.
    """

    size: int
    record: int
    ratio: int
    depth: int
    stops: Callable[[], bool] = lambda: False
    unpacked: int = field(default=0)
    """What it has become so far."""

    def take(self, count: int) -> None:
        """Count more bytes, unpacked. TooMuchError if they are too many for a file of this size, RetriableError at the end."""
        if self.stops():
            raise RetriableError("The task is to stop: the file is read on when it starts")
        self.unpacked += count
        if self.unpacked > _FLOOR and self.unpacked > self.ratio * self.size:
            raise TooMuchError(
                f"it has more than {self.ratio} times its {self.size} bytes, unpacked, and {source_settings.MAX_RATIO} is "
                f"{self.ratio}"
            )

    def too_long(self) -> TooMuchError:
        """Return the error for a record that is longer than it may be."""
        return TooMuchError(f"a record has more than {self.record} bytes, and {source_settings.MAX_RECORD} is {self.record}")


_FLOOR = 64 * 1024 * 1024
"""As long as a file is no more than this, unpacked, nobody asks how much it was before."""
_MOST_COLUMNS = 100_000


def opened(kind: str, path: Path, name: str, skip: int, most: int, separator: str | None, budget: Budget) -> Iterator[Rows]:
    """
    Yield the records behind the first `skip`, at most so many at a time, with their schema. `name` says whether it is packed.
    What is raised is in `ERRORS`; TooMuchError names a setting.
    """
    if kind == "ParquetFormat":
        return _parquet(path, skip, most, budget)
    if kind == "AvroFormat":
        return _avro(path, skip, most, budget)
    if kind == "CsvFormat":
        return _csv(path, name, skip, most, budget)
    if kind == "JsonFormat":
        lines = ((_json(line, budget), len(line)) for line in _lines(path, name, b"\n", budget) if line.strip())
        return ((None, some) for some in _pieces(lines, skip, most, budget))
    line_end = b"\n" if separator is None else separator.encode()
    plain = ((line, len(line)) for line in _lines(path, name, line_end, budget))
    return ((BYTES_SCHEMA, some) for some in _pieces(plain, skip, most, budget))


def _json(line: bytes, budget: Budget) -> Any:
    limits.check_depth(line, source_settings.MAX_DEPTH, budget.depth)
    value = documents.parsed(line)
    documents.check_names(line, value)
    return value


def _pieces(rows: Iterator[tuple[Any, int]], skip: int, most: int, budget: Budget) -> Iterator[list[Any]]:
    """
    Yield rows in lists, of at most `most` rows and about as many bytes as a record may have. If a row can't be read, yield
    those before it first. Each row comes with its size.
    """
    piece: list[Any] = []
    size = 0
    try:
        for number, (row, bytes_of_row) in enumerate(rows):
            if number >= skip:
                piece.append(row)
                size += bytes_of_row
            if len(piece) == most or size >= budget.record:
                yield piece
                piece, size = [], 0
    except ERRORS:
        if piece:
            yield piece
        raise
    if piece:
        yield piece


class _Counted(io.RawIOBase):
    """A packed or plain file, of which the bytes that come out are counted."""

    def __init__(self, path: Path, name: str, budget: Budget) -> None:
        opener: Any = gzip.open if name.endswith(".gz") else open
        self._file: BinaryIO = opener(path, "rb")
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        self._budget.take(len(data))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _lines(path: Path, name: str, separator: bytes, budget: Budget) -> Iterator[bytes]:
    with _Counted(path, name, budget) as file:
        rest = bytearray()
        while chunk := file.read(_CHUNK):
            # Only what is new is searched, and the end of what was there, which may be the begin of a separator.
            begin = max(0, len(rest) - len(separator) + 1)
            rest += chunk
            if rest.find(separator, begin) >= 0:
                *whole, last = bytes(rest).split(separator)
                rest = bytearray(last)
                for line in whole:
                    if len(line) > budget.record:
                        raise budget.too_long()
                    yield line
            if len(rest) > budget.record:
                raise budget.too_long()
        if rest:
            yield bytes(rest)


def _csv(path: Path, name: str, skip: int, most: int, budget: Budget) -> Iterator[Rows]:
    with io.TextIOWrapper(io.BufferedReader(_Counted(path, name, budget), _CHUNK), "utf-8-sig", newline="") as file:
        of_row = 0

        def lines() -> Iterator[str]:
            nonlocal of_row
            while line := file.readline(budget.record + 1):
                # A row may have several lines, in quotes.
                of_row += len(line)
                if of_row > budget.record:
                    raise budget.too_long()
                yield line

        # The limit is ours, and not the library's 128 KB of a field: it is one for all that the process reads.
        csv.field_size_limit(max(csv.field_size_limit(), source_settings.LONGEST_RECORD))
        # Without `strict`, a quote that is never closed makes one cell of all that follows.
        rows = csv.reader(lines(), strict=True)
        names = next(rows, None)
        if names is None:
            return
        if len(names) > _MOST_COLUMNS:
            raise DataError(f"its first line has {len(names)} names, of which {_MOST_COLUMNS} may be")
        _require_distinct(names)
        row_schema = schema.struct(dict.fromkeys(names, OPTIONAL_STRING_SCHEMA))

        def structs() -> Iterator[tuple[Struct, int]]:
            nonlocal of_row
            of_row = 0
            for row in rows:
                if len(row) != len(names):
                    raise DataError(f"a line has {len(row)} cells, but the first one {len(names)}")
                size, of_row = of_row, 0
                yield Struct.unchecked(row_schema, [cell or None for cell in row]), size

        for some in _pieces(structs(), skip, most, budget):
            yield row_schema, some


def _require_distinct(names: Sequence[str]) -> None:
    """Raise DataError for two fields of one name: the values of one would be read as those of another."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"it has two fields of the name {shown(twice)}")


# Parquet.


def _parquet(path: Path, skip: int, most: int, budget: Budget) -> Iterator[Rows]:
    with open(path, "rb") as plain:
        groups = parquet_pages.row_groups(plain)
        with parquet.ParquetFile(path) as file:
            row_schema = _of_arrow(pa.struct(list(file.schema_arrow)))
            convert = [_conversion(field.schema, kind.type) for field, kind in zip(row_schema.fields, file.schema_arrow)]
            allowed = parquet_pages.Limits(source_settings.MAX_RECORD, budget.record)
            for number, group in enumerate(groups):
                if skip >= group.rows:
                    skip -= group.rows
                    continue
                some = parquet_pages.rows_at_once(plain, file.schema, group, allowed, most)
                for batch in file.iter_batches(some, row_groups=[number]):
                    budget.take(batch.nbytes)
                    if skip >= len(batch):
                        skip -= len(batch)
                        continue
                    columns = [column.to_pylist() for column in batch.slice(skip).columns]
                    skip = 0
                    converted = [
                        column if convert_item is None else [None if value is None else convert_item(value) for value in column]
                        for convert_item, column in zip(convert, columns)
                    ]
                    yield row_schema, [Struct.unchecked(row_schema, list(row)) for row in zip(*converted)]


_ARROW: Sequence[tuple[Callable[[pa.DataType], bool], Schema]] = (
    (pa.types.is_int8, schema.INT8_SCHEMA),
    (lambda kind: pa.types.is_int16(kind) or pa.types.is_uint8(kind), schema.INT16_SCHEMA),
    (lambda kind: pa.types.is_int32(kind) or pa.types.is_uint16(kind), schema.INT32_SCHEMA),
    (pa.types.is_integer, schema.INT64_SCHEMA),
    (lambda kind: pa.types.is_float16(kind) or pa.types.is_float32(kind), schema.FLOAT32_SCHEMA),
    (pa.types.is_float64, schema.FLOAT64_SCHEMA),
    (pa.types.is_boolean, schema.BOOLEAN_SCHEMA),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind), schema.STRING_SCHEMA),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), BYTES_SCHEMA),
    (pa.types.is_fixed_size_binary, BYTES_SCHEMA),
    (pa.types.is_date, schema.DATE_SCHEMA),
    (pa.types.is_time, schema.TIME_SCHEMA),
    (pa.types.is_timestamp, schema.TIMESTAMP_SCHEMA),
)


def _of_arrow(kind: pa.DataType) -> Schema:
    if pa.types.is_struct(kind):
        _require_distinct([field.name for field in kind])
        return schema.struct({field.name: _nullable(_of_arrow(field.type), field.nullable) for field in kind})
    if pa.types.is_map(kind):
        return schema.mapping(_of_arrow(kind.key_type), _nullable(_of_arrow(kind.item_type), kind.item_field.nullable))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return schema.array(_nullable(_of_arrow(kind.value_type), kind.value_field.nullable))
    if pa.types.is_dictionary(kind):
        return _of_arrow(kind.value_type)
    if pa.types.is_decimal(kind):
        return schema.decimal_schema(kind.scale)
    result = next((candidate for fits, candidate in _ARROW if fits(kind)), None)
    if result is None:
        raise DataError(f"a record can't have values of type {kind}")
    return result


def _nullable(own: Schema, nullable: bool) -> Schema:
    return own.replace(optional=True) if nullable else own


def _conversion(own: Schema, kind: pa.DataType | None = None) -> Convert | None:
    """Return what makes Connect's values of Arrow's, of this type, and of Avro's, which are not null; None: no need to."""
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    if own.name == schema.DATE:
        return lambda value: datetime.datetime(value.year, value.month, value.day, tzinfo=_UTC)
    if own.name == schema.TIME:
        return lambda value: datetime.datetime.combine(_EPOCH.date(), value, _UTC)
    if own.name == schema.TIMESTAMP:
        return lambda value: value.astimezone(_UTC) if value.tzinfo else value.replace(tzinfo=_UTC)
    if own.type is SchemaType.STRUCT:
        fields = [(field.name, _whole(field.schema, _part(kind, field.index))) for field in own.fields]
        return lambda value: Struct.unchecked(own, [convert(value.get(name)) for name, convert in fields])
    if own.type is SchemaType.ARRAY and own.value_schema is not None:
        element = _whole(own.value_schema, _part(kind, 0))
        return lambda value: [element(item) for item in value]
    if own.type is SchemaType.MAP and own.value_schema is not None:
        inner = _whole(own.value_schema, None if kind is None else kind.item_type)
        return lambda value: _map(value, inner)
    if kind is None:
        # Avro's library makes an object of a UUID, whose schema is that of a text.
        return str if own.type is SchemaType.STRING else None
    return _in_int64 if pa.types.is_uint64(kind) else None


def _part(kind: pa.DataType | None, at: int) -> pa.DataType | None:
    return None if kind is None else kind.field(at).type


def _map(value: Any, convert: Convert) -> dict[Any, Any]:
    pairs = list(value.items() if isinstance(value, dict) else value)
    entries = dict_of([(key, convert(item)) for key, item in pairs])
    if len(entries) < len(pairs):
        raise DataError("a map has a key twice, and a record would have one of its values only")
    return entries


def _in_int64(value: int) -> int:
    if value >= 2**63:
        raise DataError(f"{value} has no place in INT64")
    return value


def _whole(own: Schema, kind: pa.DataType | None = None) -> Convert:
    convert = _conversion(own, kind)
    return lambda value: value if value is None or convert is None else convert(value)


# Avro.

_AVRO = {
    "int": schema.INT32_SCHEMA,
    "long": schema.INT64_SCHEMA,
    "float": schema.FLOAT32_SCHEMA,
    "double": schema.FLOAT64_SCHEMA,
    "boolean": schema.BOOLEAN_SCHEMA,
    "string": schema.STRING_SCHEMA,
    "bytes": BYTES_SCHEMA,
    "fixed": BYTES_SCHEMA,
    "enum": schema.STRING_SCHEMA,
}
_AVRO_TIMES = {
    "date": schema.DATE_SCHEMA,
    **dict.fromkeys(("time-millis", "time-micros"), schema.TIME_SCHEMA),
    **dict.fromkeys(
        ("timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros"), schema.TIMESTAMP_SCHEMA
    ),
}


def _avro(path: Path, skip: int, most: int, budget: Budget) -> Iterator[Rows]:
    with open(path, "rb") as file:
        blocks = Blocks(file, source_settings.MAX_RECORD, budget.record)
        record_schema = _of_avro(blocks.schema, {})
        convert = _whole(record_schema)

        def records() -> Iterator[tuple[Any, int]]:
            for record, size in blocks.records():
                budget.take(size)
                yield record, size

        for some in _pieces(records(), skip, most, budget):
            yield record_schema, [convert(record) for record in some]


def _of_avro(avro: Any, named: dict[str, Schema]) -> Schema:
    if isinstance(avro, list):
        branches = [branch for branch in avro if branch != "null"]
        if len(branches) != 1:
            raise DataError(f"a record can't have values of one of several types: {branches}")
        return _nullable(_of_avro(branches[0], named), len(branches) < len(avro))
    kind = avro if isinstance(avro, str) else avro["type"]
    if kind in named:
        return named[kind]
    if isinstance(kind, dict | list):
        return _of_avro(kind, named)
    logical = None if isinstance(avro, str) else avro.get("logicalType")
    if logical == "decimal":
        return schema.decimal_schema(avro.get("scale", 0))
    if logical in _AVRO_TIMES:
        return _AVRO_TIMES[logical]
    if logical == "uuid":
        return schema.STRING_SCHEMA
    if kind == "record":
        return _of_record(avro, named)
    if kind == "array":
        return schema.array(_of_avro(avro["items"], named))
    if kind == "map":
        return schema.mapping(schema.STRING_SCHEMA, _of_avro(avro["values"], named))
    if kind not in _AVRO:
        raise DataError(f"a record can't have values of Avro's type {kind}")
    if kind in ("enum", "fixed"):
        named[avro["name"]] = _AVRO[kind]
    return _AVRO[kind]


def _of_record(avro: Any, named: dict[str, Schema]) -> Schema:
    record_schema = schema.struct(
        {field["name"]: _of_avro(field["type"], named) for field in avro["fields"]}, name=avro["name"]
    )
    named[avro["name"]] = record_schema
    return record_schema
