"""
Readers: the records of a local file, some at a time, as columns of Connect's types. The counterpart of `formats.py`.

Opened by `source_task.py`.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fastavro
import orjson
import pyarrow as pa
from pyarrow import parquet

from kconnect.api import BYTES_SCHEMA, OPTIONAL_STRING_SCHEMA, DataError, Schema, SchemaType, Struct, schema
from kconnect.connectors import common

ERRORS = (*common.MISFITS, pa.ArrowException, OSError, EOFError, csv.Error)
"""What a file that is not what it should be raises."""
_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_CHUNK = 1024 * 1024

Rows = tuple[Schema | None, Sequence[Any]]
Convert = Callable[[Any], Any]


def opened(kind: str, path: Path, name: str, skip: int, most: int, separator: str | None) -> Iterator[Rows]:
    """The records behind the first `skip`, at most so many at a time, with their schema. `name` says whether it is packed."""
    if kind == "ParquetFormat":
        return _parquet(path, skip, most)
    if kind == "AvroFormat":
        return _avro(path, skip, most)
    if kind == "CsvFormat":
        return _csv(path, name, skip, most)
    if kind == "JsonFormat":
        lines = _lines(path, name, b"\n")
        return ((None, some) for some in _pieces((orjson.loads(each) for each in lines if each.strip()), skip, most))
    own = b"\n" if separator is None else separator.encode()
    return ((BYTES_SCHEMA, some) for some in _pieces(_lines(path, name, own), skip, most))


def _pieces(rows: Iterator[Any], skip: int, most: int) -> Iterator[list[Any]]:
    """Those before a broken one, too."""
    found: list[Any] = []
    try:
        for number, row in enumerate(rows):
            if number >= skip:
                found.append(row)
            if len(found) == most:
                yield found
                found = []
    except ERRORS:
        if found:
            yield found
        raise
    if found:
        yield found


def _unpacked(path: Path, name: str) -> Any:
    return gzip.open(path, "rb") if name.endswith(".gz") else open(path, "rb")


def _lines(path: Path, name: str, separator: bytes) -> Iterator[bytes]:
    with _unpacked(path, name) as file:
        rest = b""
        while chunk := file.read(_CHUNK):
            *whole, rest = (rest + chunk).split(separator)
            yield from whole
        if rest:
            yield rest


def _csv(path: Path, name: str, skip: int, most: int) -> Iterator[Rows]:
    with io.TextIOWrapper(_unpacked(path, name), "utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        names = next(rows, None)
        if names is None:
            return
        own = schema.struct(dict.fromkeys(names, OPTIONAL_STRING_SCHEMA))

        def made(row: list[str]) -> Struct:
            if len(row) != len(names):
                raise DataError(f"a line has {len(row)} cells, but the first one {len(names)}")
            return Struct.unchecked(own, [each or None for each in row])

        for some in _pieces(map(made, rows), skip, most):
            yield own, some


# Parquet.


def _parquet(path: Path, skip: int, most: int) -> Iterator[Rows]:
    with parquet.ParquetFile(path) as file:
        own = _of_arrow(pa.struct(list(file.schema_arrow)))
        convert = [_conversion(field.schema) for field in own.fields]
        for batch in file.iter_batches(most):
            if skip >= len(batch):
                skip -= len(batch)
                continue
            columns = [column.to_pylist() for column in batch.slice(skip).columns]
            skip = 0
            made = [
                column if each is None else [None if value is None else each(value) for value in column]
                for each, column in zip(convert, columns)
            ]
            yield own, [Struct.unchecked(own, list(row)) for row in zip(*made)]


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
        return schema.struct({field.name: _nullable(_of_arrow(field.type), field.nullable) for field in kind})
    if pa.types.is_map(kind):
        return schema.mapping(_of_arrow(kind.key_type), _nullable(_of_arrow(kind.item_type), kind.item_field.nullable))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return schema.array(_nullable(_of_arrow(kind.value_type), kind.value_field.nullable))
    if pa.types.is_dictionary(kind):
        return _of_arrow(kind.value_type)
    if pa.types.is_decimal(kind):
        return schema.decimal_schema(kind.scale)
    found = next((own for fits, own in _ARROW if fits(kind)), None)
    if found is None:
        raise DataError(f"a record can't have values of type {kind}")
    return found


def _nullable(own: Schema, nullable: bool) -> Schema:
    return own.replace(optional=True) if nullable else own


def _conversion(own: Schema) -> Convert | None:
    """How values of Arrow and Avro become Connect's; None if they are so already. They are never null."""
    if own.name == schema.DATE:
        return lambda value: datetime.datetime(value.year, value.month, value.day, tzinfo=_UTC)
    if own.name == schema.TIME:
        return lambda value: datetime.datetime.combine(_EPOCH.date(), value, _UTC)
    if own.name == schema.TIMESTAMP:
        return lambda value: value.astimezone(_UTC) if value.tzinfo else value.replace(tzinfo=_UTC)
    if own.type is SchemaType.STRUCT:
        fields = [(field.name, _whole(field.schema)) for field in own.fields]
        return lambda value: Struct.unchecked(own, [convert(value.get(name)) for name, convert in fields])
    if own.type is SchemaType.ARRAY and own.value_schema is not None:
        element = _whole(own.value_schema)
        return lambda value: [element(each) for each in value]
    if own.type is SchemaType.MAP and own.value_schema is not None:
        inner = _whole(own.value_schema)
        return lambda value: {key: inner(each) for key, each in (value.items() if isinstance(value, dict) else value)}
    return None


def _whole(own: Schema) -> Convert:
    convert = _conversion(own)
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


def _avro(path: Path, skip: int, most: int) -> Iterator[Rows]:
    with open(path, "rb") as file:
        reader = fastavro.reader(file)
        own = _of_avro(reader.writer_schema, {})
        convert = _whole(own)
        for some in _pieces(iter(reader), skip, most):
            yield own, [convert(each) for each in some]


def _of_avro(made: Any, named: dict[str, Schema]) -> Schema:
    if isinstance(made, list):
        others = [each for each in made if each != "null"]
        if len(others) != 1:
            raise DataError(f"a record can't have values of one of several types: {others}")
        return _nullable(_of_avro(others[0], named), len(others) < len(made))
    kind = made if isinstance(made, str) else made["type"]
    if kind in named:
        return named[kind]
    if isinstance(kind, dict | list):
        return _of_avro(kind, named)
    logical = None if isinstance(made, str) else made.get("logicalType")
    if logical == "decimal":
        return schema.decimal_schema(made.get("scale", 0))
    if logical in _AVRO_TIMES:
        return _AVRO_TIMES[logical]
    if logical == "uuid":
        return schema.STRING_SCHEMA
    if kind == "record":
        return _of_record(made, named)
    if kind == "array":
        return schema.array(_of_avro(made["items"], named))
    if kind == "map":
        return schema.mapping(schema.STRING_SCHEMA, _of_avro(made["values"], named))
    if kind not in _AVRO:
        raise DataError(f"a record can't have values of Avro's type {kind}")
    if kind in ("enum", "fixed"):
        named[made["name"]] = _AVRO[kind]
    return _AVRO[kind]


def _of_record(made: Any, named: dict[str, Schema]) -> Schema:
    found = schema.struct({each["name"]: _of_avro(each["type"], named) for each in made["fields"]}, name=made["name"])
    named[made["name"]] = found
    return found
