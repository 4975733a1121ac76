"""
Files of Parquet and Avro with a few bytes changed, read by the object store source in a process that may die.

Who may put a file into a store decides about each of its bytes. A case is a file of columns, encodings, codecs and pages by
chance, with some bits, bytes or pieces of it changed: it is read, or reported, within a time and a size. `python -m
tests.connectors.truth.hostile_files SEED COUNT`, as `extremes.py`, whose values go the other way.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import io
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyarrow import parquet

from kconnect.api import RetriableError
from tests.connectors.objects.test_source import generic
from tests.connectors.truth.extremes import Watched, main

_AT = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
_ROW = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "s", "type": ["null", "string"]},
        {"name": "a", "type": {"type": "array", "items": "long"}},
        {"name": "m", "type": {"type": "map", "values": "double"}},
        {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}},
        {"name": "f", "type": {"type": "fixed", "name": "f", "size": 4}},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "n", "type": ["null", "r"]},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


def _table(chance: random.Random) -> pa.Table:
    count = chance.choice([1, 5, 200, 3000])
    numbers = range(count)
    columns = {
        "s": pa.array([chance.choice(["a", "b", "long" * 20, None]) for _ in numbers]),
        "b": pa.array([bytes([n % 256]) * (n % 7) for n in numbers]),
        "f": pa.array([n / 3 for n in numbers]),
        "d": pa.array([decimal.Decimal(n) / 100 for n in numbers], pa.decimal128(20, 6)),
        "l": pa.array([[1, None, 3][: n % 4] for n in numbers], pa.list_(pa.int64())),
        "m": pa.array([[("k", n)] for n in numbers], pa.map_(pa.string(), pa.int64())),
        "t": pa.array([_AT] * count, pa.timestamp("us", "UTC")),
        "st": pa.array([{"x": n, "y": {"z": str(n)}} for n in numbers]),
        "fs": pa.array([b"1234567890123456"] * count, pa.binary(16)),
        "di": pa.array([chance.choice("abc") for _ in numbers]).dictionary_encode(),
    }
    chosen = chance.sample(list(columns), chance.randrange(1, 6))
    return pa.table({"id": pa.array(numbers, pa.int32()), **{name: columns[name] for name in chosen}})


def _parquet(chance: random.Random) -> bytes:
    table, file = _table(chance), io.BytesIO()
    more: dict[str, Any] = {}
    if chance.random() < 0.3:
        deltas = {
            "id": "DELTA_BINARY_PACKED",
            "s": "DELTA_BYTE_ARRAY",
            "b": "DELTA_LENGTH_BYTE_ARRAY",
            "f": "BYTE_STREAM_SPLIT",
        }
        encodings = {name: encoding for name, encoding in deltas.items() if name in table.column_names}
        more = {"use_dictionary": False, "column_encoding": encodings}
    parquet.write_table(
        table,
        file,
        compression=chance.choice(["NONE", "SNAPPY", "ZSTD", "GZIP", "LZ4", "BROTLI"]),
        data_page_version=chance.choice(["1.0", "2.0"]),
        row_group_size=chance.choice([None, 10, 1000]),
        data_page_size=chance.choice([None, 64]),
        write_page_index=chance.choice([True, False]),
        store_schema=chance.choice([True, False]),
        write_page_checksum=chance.choice([True, False]),
        **more,
    )
    return file.getvalue()


def _avro(chance: random.Random) -> bytes:
    file = io.BytesIO()
    others = {"m": {"k": 1.5}, "e": "A", "f": b"1234", "d": decimal.Decimal("1.10"), "n": None, "t": _AT}
    rows = [{"id": n, "s": "x" * n, "a": list(range(n)), **others} for n in range(chance.choice([1, 20, 300]))]
    codec = chance.choice(["null", "deflate", "bzip2", "xz"])
    fastavro.writer(file, _ROW, rows, codec=codec, sync_interval=chance.choice([64, 16_000]))
    return file.getvalue()


def changed(chance: random.Random, data: bytes) -> bytes:
    """The file with a few changes: where its footer is, where it begins, or anywhere."""
    made = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4, 10])):
        where = chance.choice(
            [max(0, len(made) - 8 - chance.randrange(1500)), chance.randrange(200), chance.randrange(len(made))]
        )
        at = min(where, len(made) - 1)
        how = chance.choice(["bit", "bit", "bit", "byte", "bytes", "piece"])
        if how == "bit":
            made[at] ^= 1 << chance.randrange(8)
        elif how == "byte":
            made[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif how == "bytes":
            made[at : at + chance.randrange(1, 9)] = chance.choice([b"\xff", b"\0", b"\x80"]) * chance.randrange(1, 9)
        else:
            begin = chance.randrange(len(made))
            made[at:at] = made[begin : begin + chance.randrange(1, 40)]
    return bytes(made)


def play(seed: int, number: int) -> str:
    """Play one case. Return what was wrong."""
    chance = random.Random(f"{seed}-{number}")
    kind, name, make = chance.choice([("ParquetFormat", "a.parquet", _parquet)] * 3 + [("AvroFormat", "a.avro", _avro)])
    with tempfile.TemporaryDirectory(prefix="kconnect-hostile-") as folder:
        (Path(folder) / name).write_bytes(changed(chance, make(chance)))
        with Watched() as watched, generic(Path(folder), kind, behavior_on_error="log") as runner:
            empty = 0
            while empty < 3:
                records: Any = None
                with contextlib.suppress(RetriableError):
                    records = runner.poll()
                empty = 0 if records else empty + 1
                for record in records or ():
                    record.value.validate()
        return watched.fault


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], play))
