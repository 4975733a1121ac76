"""
Formats: writers of files. Each writes columns of values that have one schema to a local file, a piece after the other.

Made by `files.py`. Read next: `../arrow.py`.
"""

from __future__ import annotations

import gzip
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import fastavro.validation
import fastavro.write
import pyarrow as pa
from pyarrow import csv, parquet

from kconnect.api import Column, DataError, Field, Schema, SchemaType, schema
from kconnect.connectors import arrow, common, documents
from kconnect.connectors.objects import settings

MISFITS = (*common.MISFITS, pa.ArrowException, fastavro.validation.ValidationError)
"""What a writer raises for a value that does not fit the file."""
_KEPT_BYTES = 2 * 1024 * 1024
"""A row group of Parquet: with hundreds of files open, greater ones would take the memory of the host."""
_BLOCK = 16_000
"""How many bytes a block of Avro has at least, as fastavro has it. Files that come again are to have the same blocks."""


class Writer(ABC):
    """A file that is being written. `write` raises an exception, and writes nothing, if one of the values does not fit."""

    @abstractmethod
    def write(self, value: Column) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """The file is whole then."""

    @abstractmethod
    def size(self) -> int:
        """About how many bytes it has so far."""


def extension(config: Mapping[str, Any]) -> str:
    kind, compressed = settings.simple(config[settings.FORMAT]), config[settings.COMPRESSION] == "gzip"
    if kind == "ParquetFormat":
        return {"none": ".parquet", "gzip": ".gz.parquet"}.get(codec := config[settings.PARQUET_CODEC], f".{codec}.parquet")
    if kind == "AvroFormat":
        return ".avro"
    plain = {"JsonFormat": ".json", "CsvFormat": ".csv"}.get(kind, config[settings.EXTENSION])
    return f"{plain}.gz" if compressed else plain


def opened(config: Mapping[str, Any], path: Path, own: Schema | None) -> Writer:
    """DataError if the format has no files for values of this schema, or without one."""
    kind = settings.simple(config[settings.FORMAT])
    if kind in ("JsonFormat", "ByteArrayFormat"):
        return _Lines(config, path, own, kind == "JsonFormat")
    if own is None or own.type is not SchemaType.STRUCT:
        raise DataError(f"{kind} needs a schema, that of a struct: use a converter with schemas, or JsonFormat")
    if kind == "AvroFormat":
        return _Avro(config, path, own)
    return _Parquet(config, path, own) if kind == "ParquetFormat" else _Csv(config, path, own)


class _Lines(Writer):
    def __init__(self, config: Mapping[str, Any], path: Path, own: Schema | None, as_json: bool) -> None:
        # The same records are to make the same bytes, whenever that is.
        plain = open(path, "wb")  # noqa: SIM115 - closed by `close`
        compressed = config[settings.COMPRESSION] == "gzip"
        self._file: Any = gzip.GzipFile("", "wb", fileobj=plain, mtime=0) if compressed else plain
        self._plain, self._json = plain, as_json
        self._end = b"\n" if as_json or config[settings.SEPARATOR] is None else config[settings.SEPARATOR].encode()

    def write(self, value: Column) -> None:
        lines = documents.to_lines(value) if self._json else [_bytes(item) for item in value.values]
        self._file.write(self._end.join([*lines, b""]))

    def close(self) -> None:
        self._file.close()
        self._plain.close()

    def size(self) -> int:
        return self._plain.tell()


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes | bytearray | memoryview):
        raise DataError("ByteArrayFormat takes bytes and texts: use ByteArrayConverter or StringConverter")
    return bytes(value)


class _Parquet(Writer):
    def __init__(self, config: Mapping[str, Any], path: Path, own: Schema) -> None:
        self._schema, self._arrow = own, arrow.arrow_schema(own)
        try:
            self._writer = parquet.ParquetWriter(path, self._arrow, compression=config[settings.PARQUET_CODEC])
        except OSError as error:
            if error.errno is not None:
                raise
            # Not of the disk, but of a type, such as a decimal of a scale below 0.
            raise DataError(f"Parquet has no such type: {error}") from None
        self._path = path
        self._kept: list[pa.RecordBatch] = []
        self._kept_bytes = 0

    def write(self, value: Column) -> None:
        batch = pa.RecordBatch.from_arrays(arrow.arrays(self._schema, value.fields()[1], self._arrow), schema=self._arrow)
        self._kept.append(batch)
        self._kept_bytes += batch.nbytes
        if self._kept_bytes >= _KEPT_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._kept:
            self._writer.write_table(pa.Table.from_batches(self._kept))
            self._kept, self._kept_bytes = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def size(self) -> int:
        return self._path.stat().st_size + self._kept_bytes


class _Csv(Writer):
    """A writer of CSV, with the names of columns in the first line. Nested values are JSON, bytes are in base64."""

    def __init__(self, config: Mapping[str, Any], path: Path, own: Schema) -> None:
        self._schema, self._plain = own, open(path, "wb")  # noqa: SIM115 - closed by `close`
        self._texts = [field.index for field in own.fields if _is_no_cell(field.schema)]
        flat = [
            (field.name, schema.OPTIONAL_STRING_SCHEMA if field.index in self._texts else field.schema) for field in own.fields
        ]
        self._flat = schema.struct(dict(flat))
        self._arrow = arrow.arrow_schema(self._flat)
        compressed = config[settings.COMPRESSION] == "gzip"
        self._file: Any = gzip.GzipFile("", "wb", fileobj=self._plain, mtime=0) if compressed else self._plain
        self._writer = csv.CSVWriter(self._file, self._arrow)

    def write(self, value: Column) -> None:
        columns = list(value.fields()[1])
        for at in self._texts:
            field_schema = self._schema.fields[at].schema
            columns[at] = [
                None if item is None else documents.to_json(item, field_schema).decode().strip('"') for item in columns[at]
            ]
        arrays = arrow.arrays(self._flat, columns, self._arrow)
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._arrow))

    def close(self) -> None:
        self._writer.close()
        self._file.close()
        self._plain.close()

    def size(self) -> int:
        return self._plain.tell()


def _is_no_cell(own: Schema) -> bool:
    return not own.type.is_primitive or (own.type is SchemaType.BYTES and own.name is None)


class _Block:
    """Records of Avro as bytes, as fastavro takes a block."""

    def __init__(self) -> None:
        self.num_records, self.bytes_ = 0, io.BytesIO()

    @property
    def size(self) -> int:
        return self.bytes_.tell()

    def add(self, data: bytes) -> None:
        self.bytes_.write(data)
        self.num_records += 1


class _Avro(Writer):
    def __init__(self, config: Mapping[str, Any], path: Path, own: Schema) -> None:
        try:
            avro_schema = fastavro.parse_schema(_avro(own, "Record", {}))
        except fastavro.schema.SchemaParseException as error:
            raise DataError(f"Avro has no such schema: {error}") from None
        self._file = open(path, "wb")  # noqa: SIM115 - closed by `close`
        # A mark that is random would make another file each time.
        self._writer = fastavro.write.Writer(
            self._file, avro_schema, codec=config[settings.AVRO_CODEC], sync_marker=b"kconnect-objects"
        )
        self._convert = arrow.conversion(own)
        self._schema = avro_schema
        self._block = _Block()

    def write(self, value: Column) -> None:
        assert self._convert is not None
        rows: Sequence[Any] = [self._convert(item) for item in value.values]
        for row in rows:
            fastavro.validation.validate(row, self._schema, strict=False)
        # All of them before the first one is in the block: of one that fails halfway fastavro's own writer leaves the
        # begin there, and nobody can read the others.
        for data in [self._encoded(row) for row in rows]:
            self._block.add(data)
            if self._block.size >= _BLOCK:
                self._end_block()

    def _encoded(self, row: Any) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, self._schema, row)
        return out.getvalue()

    def _end_block(self) -> None:
        self._writer.write_block(self._block)
        self._block = _Block()

    def close(self) -> None:
        if self._block.num_records:
            self._end_block()
        self._writer.flush()
        self._file.close()

    def size(self) -> int:
        return self._file.tell()


_AVRO = {
    SchemaType.INT8: "int",
    SchemaType.INT16: "int",
    SchemaType.INT32: "int",
    SchemaType.INT64: "long",
    SchemaType.FLOAT32: "float",
    SchemaType.FLOAT64: "double",
    SchemaType.BOOLEAN: "boolean",
    SchemaType.STRING: "string",
    SchemaType.BYTES: "bytes",
}
_AVRO_TIMES = {
    schema.DATE: {"type": "int", "logicalType": "date"},
    schema.TIME: {"type": "int", "logicalType": "time-millis"},
    schema.TIMESTAMP: {"type": "long", "logicalType": "timestamp-millis"},
}


def _avro(own: Schema, path: str, known: dict[str, Sequence[Field]]) -> Any:
    """
    Names of nested records come from where they are: in Connect they need none. `known` are those that stand before it, since
    Avro wants a definition once, and its name then: `before` and `after` of Debezium's events have one.
    """
    avro: Any
    if own.name == schema.DECIMAL:
        avro = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": schema.decimal_scale(own)}
    elif own.name in _AVRO_TIMES:
        avro = _AVRO_TIMES[own.name]
    elif own.type is SchemaType.STRUCT:
        name = own.name if own.name and known.get(own.name, own.fields) == own.fields else path
        while known.get(name, own.fields) != own.fields:
            name += "_"
        if name in known:
            avro = name
        else:
            known[name] = own.fields
            fields = [{"name": field.name, "type": _avro(field.schema, f"{path}_{field.name}", known)} for field in own.fields]
            avro = {"type": "record", "name": name, "fields": fields}
    elif own.type is SchemaType.ARRAY and own.value_schema is not None:
        avro = {"type": "array", "items": _avro(own.value_schema, f"{path}_element", known)}
    elif own.type is SchemaType.MAP and own.value_schema is not None and own.key_schema is not None:
        if own.key_schema.type is not SchemaType.STRING:
            raise DataError("Avro's maps have texts as keys")
        avro = {"type": "map", "values": _avro(own.value_schema, f"{path}_value", known)}
    elif own.type in _AVRO:
        avro = _AVRO[own.type]
    else:
        raise DataError(f"Avro has no type for {json.dumps(own.type.value)} without a schema of its elements")
    return ["null", avro] if own.optional else avro
