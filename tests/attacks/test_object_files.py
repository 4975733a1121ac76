"""Attacks on object stores by who may put a file into one: its size, its packing, its nesting, its schema."""

from __future__ import annotations

import bz2
import decimal
import gzip
import io
import json
import lzma
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from kconnect.api import DataError, RetriableError
from kconnect.connectors.limits import TooMuchError
from kconnect.connectors.objects import readers
from kconnect.connectors.objects.readers import Budget
from kconnect.connectors.objects.thrift import Reader

MB = 1024 * 1024
RECORD = MB
"""The limit of a record's size here; that of all of a file is four times as much as long as nobody asks for its ratio."""


@pytest.fixture(autouse=True)
def a_low_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_FLOOR", 4 * MB)


def pieces(kind: str, path: Path, ratio: int = 20, record: int = RECORD) -> Iterator[list[Any]]:
    budget = Budget(path.stat().st_size, record, ratio, 200)
    return ([*rows] for _, rows in readers.opened(kind, path, path.name, 0, 1000, None, budget))


def refused(kind: str, path: Path, match: str) -> int:
    """How many records came before the file was refused."""
    count = 0
    with pytest.raises(TooMuchError, match=match):
        for rows in pieces(kind, path):
            count += len(rows)
    return count


# Texts.


def test_packed_data_without_an_end_of_line_is_read_once(tmp_path: Path) -> None:
    """Who may put a file there packs a gigabyte without an end of line: it is refused as soon as a record is too long."""
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"a" * 64 * MB))
    for kind in ("JsonFormat", "ByteArrayFormat", "CsvFormat"):
        assert refused(kind, path, r"record\.max\.bytes is 1048576") == 0


def test_a_file_without_records_holds_up_no_stop(tmp_path: Path) -> None:
    """Who may put a file there packs gigabytes of empty lines: a task that is to stop reads no more of them."""
    path = tmp_path / "t+0+0.json.gz"
    path.write_bytes(gzip.compress(b"\n" * 8 * MB))
    looks = iter([False, False, True])
    budget = Budget(path.stat().st_size, RECORD, 10_000, 200, lambda: next(looks))
    with pytest.raises(RetriableError, match="The task is to stop"):
        list(readers.opened("JsonFormat", path, path.name, 0, 1000, None, budget))


def test_a_long_line_takes_no_more_time_than_its_length(tmp_path: Path) -> None:
    """Who may put a file there writes a line that is as long as the limit allows: it is searched once for its end."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"a" * 64 * MB + b"\nb\n")
    assert [len(row) for rows in pieces("ByteArrayFormat", path, 20, 64 * MB) for row in rows] == [64 * MB, 1]


def test_a_packed_file_of_lines_is_refused_by_its_ratio(tmp_path: Path) -> None:
    """Who may put a file there packs very many lines that are alike: some of them come, then it is refused."""
    path = tmp_path / "a.json.gz"
    count = 200_000
    path.write_bytes(gzip.compress(b'"%s"\n' % (b"a" * 29) * count))
    assert 0 < refused("JsonFormat", path, r"file\.max\.ratio is 20") < count
    assert sum(map(len, pieces("JsonFormat", path, 5000))) == count


@pytest.mark.parametrize("text", [b"," * 4 * MB, b'a\n"' + b"x\n" * 2 * MB, b'a,b\n1,"' + b'x"\n"' * 2 * MB])
def test_a_row_of_csv_has_an_end(tmp_path: Path, text: bytes) -> None:
    """Who may put a file there writes a row without an end, in cells, or in lines within quotes."""
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    with pytest.raises(readers.ERRORS):
        for _ in pieces("CsvFormat", path):
            pass


def test_a_line_of_json_is_not_nested_without_an_end(tmp_path: Path) -> None:
    """Who may put a file there nests a line deeper than converters can walk down: those before it are records."""
    path = tmp_path / "a.json"
    path.write_bytes(b"1\n2\n" + b"[" * 900 + b"]" * 900 + b"\n3\n")
    assert refused("JsonFormat", path, r"record\.max\.depth is 200") == 2


def test_long_records_come_in_small_lots(tmp_path: Path) -> None:
    """Who may put a file there writes records that are as long as they may be: few of them are in memory at once."""
    path = tmp_path / "a.bin"
    path.write_bytes((b"a" * (RECORD - 1) + b"\n") * 20)
    assert [len(rows) for rows in pieces("ByteArrayFormat", path, 20, RECORD)] == [2] * 10


@pytest.mark.parametrize(
    "data",
    [b"\x1f\x8b no gzip", gzip.compress(b"1\n" * 1000)[:-9], gzip.compress(b"1\n")[:5]],
    # The head has the time: each process of pytest-xdist would have another name for the test.
    ids=["no gzip", "cut off", "cut off in its head"],
)
def test_broken_packed_files_are_files_that_can_not_be_read(tmp_path: Path, data: bytes) -> None:
    """Who may put a file there breaks it off: it goes the way of files that can't be read, as behavior.on.error says."""
    path = tmp_path / "a.json.gz"
    path.write_bytes(data)
    with pytest.raises(readers.ERRORS):
        for _ in pieces("JsonFormat", path):
            pass


# Parquet.


def written(path: Path, table: pa.Table, **more: Any) -> Path:
    parquet.write_table(table, path, **more)
    return path


def test_a_dictionary_that_is_a_bomb_is_read_in_small_lots_and_refused(tmp_path: Path) -> None:
    """Who may put a file there has one text of a megabyte in 100 rows, in a few hundred bytes: 100 MB if it is read whole."""
    text = "a" * (RECORD - 100)
    path = written(tmp_path / "a.parquet", pa.table({"a": [text] * 100}), compression="zstd")
    assert path.stat().st_size < 10_000
    before = pa.default_memory_pool().max_memory()
    assert refused("ParquetFormat", path, r"file\.max\.ratio is 20") < 20
    assert pa.default_memory_pool().max_memory() - before < 64 * MB
    # With a high ratio it is read, a few rows at a time.
    lots = [len(rows) for rows in pieces("ParquetFormat", path, 10_000_000)]
    assert sum(lots) == 100
    assert max(lots) <= 3


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy", "brotli"])
def test_a_page_that_is_a_bomb_is_not_unpacked(tmp_path: Path, codec: str) -> None:
    """Who may put a file there packs a page of many megabytes into a few kilobytes: its head says so, and it is left alone."""
    table = pa.table({"a": ["a" * 32 * MB]})
    path = written(tmp_path / "a.parquet", table, compression=codec, use_dictionary=False)
    before = pa.default_memory_pool().max_memory()
    assert refused("ParquetFormat", path, r"record\.max\.bytes is 1048576") == 0
    assert pa.default_memory_pool().max_memory() - before < 16 * MB


def test_texts_that_share_a_prefix_are_read_in_small_lots(tmp_path: Path) -> None:
    """Who may put a file there has a prefix of a megabyte that all texts share: they are in memory a few at a time."""
    table = pa.table({"a": ["a" * (RECORD - 100) + str(number) for number in range(300)]})
    encoded = {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}}
    path = written(tmp_path / "a.parquet", table, compression="none", **encoded)
    assert path.stat().st_size < 3 * MB
    before = pa.default_memory_pool().max_memory()
    assert refused("ParquetFormat", path, r"file\.max\.ratio is 20|record\.max\.bytes") < 300
    assert pa.default_memory_pool().max_memory() - before < 128 * MB


def test_a_list_in_one_row_is_not_a_bomb(tmp_path: Path) -> None:
    """Who may put a file there has a list of a hundred million numbers in a row, in a few kilobytes."""
    numbers = pa.repeat(7, 50_000_000)
    lists = pa.ListArray.from_arrays(pa.array([0, len(numbers)], pa.int32()), numbers)
    path = written(tmp_path / "a.parquet", pa.table({"a": lists}), compression="zstd")
    del numbers, lists
    assert path.stat().st_size < 200_000
    assert refused("ParquetFormat", path, "lists of 4[0-9]* bytes") == 0


def test_columns_are_not_nested_without_an_end(tmp_path: Path) -> None:
    """Who may put a file there nests columns until pyarrow, which calls itself for each, has no room left and ends the host."""
    kind: pa.DataType = pa.int32()
    for _ in range(150):
        kind = pa.struct([("a", kind)])
    path = written(tmp_path / "a.parquet", pa.table({"a": pa.nulls(1, kind)}))
    with pytest.raises(readers.ERRORS, match="nested more than 100"):
        next(pieces("ParquetFormat", path))


def test_parquet_as_others_write_it_is_read(tmp_path: Path) -> None:
    """The control: ordinary files, in all encodings, packings and versions, are read whole."""
    table = pa.table(
        {
            "id": list(range(5000)),
            "name": [f"name {number % 7}" for number in range(5000)],
            "text": [f"text {number}" * 20 for number in range(5000)],
            "list": [[number] * (number % 5) for number in range(5000)],
            "inner": [{"a": str(number)} for number in range(5000)],
        }
    )
    for codec in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
        for more in (
            {},
            {"use_dictionary": False},
            {"data_page_version": "2.0"},
            {"row_group_size": 700, "data_page_size": 500},
        ):
            path = written(tmp_path / "a.parquet", table, compression=codec, **more)
            found = [row for rows in pieces("ParquetFormat", path, 500, 16 * MB) for row in rows]
            assert [row.get("id") for row in found] == list(range(5000))
            assert found[9].get("list") == [9] * 4


@pytest.mark.parametrize("cut", [0, 3, 8, 100, 400])
def test_broken_parquet_is_a_file_that_can_not_be_read(tmp_path: Path, cut: int) -> None:
    """Who may put a file there cuts it off, or writes anything in its place: it goes the way of files that can't be read."""
    path = written(tmp_path / "a.parquet", pa.table({"a": list(range(1000))}))
    data = path.read_bytes()
    for broken in (data[:cut], data[: len(data) - cut] if cut else b"", data[:4] + bytes(cut) + data[4 + cut :]):
        path.write_bytes(broken)
        try:
            for _ in pieces("ParquetFormat", path):
                pass
        except readers.ERRORS:
            continue


# Avro.


def test_a_footer_that_contradicts_itself_ends_no_process(tmp_path: Path) -> None:
    """Who may put a file there changes a byte of a footer: pyarrow, asked for the column by itself, would end the process."""
    path = written(tmp_path / "a.parquet", pa.table({"a": [1, 2]}))
    data = path.read_bytes()
    assert data.count(b"\x25\x02\x18\x01a") >= 1, "the column's place in the schema, with its being optional"
    path.write_bytes(data.replace(b"\x25\x02\x18\x01a", b"\x25\x00\x18\x01a"))
    with pytest.raises(readers.ERRORS):
        next(pieces("ParquetFormat", path))


@pytest.mark.parametrize(
    "data",
    [b"\x15\x02\x05\x02\x04\x00", b"\x15\x02\x05\x82\x80\x08\x04\x00", b"\x05\x01\x02\x00"],
    ids=["twice", "once more, beyond 16 bits", "below zero"],
)
def test_a_structure_is_read_as_pyarrow_reads_it_or_not_at_all(data: bytes) -> None:
    """Who may put a file there writes a field twice: its size as limits see it, and as pyarrow does."""
    with pytest.raises(DataError, match="twice"):
        Reader(data).struct()
    assert Reader(b"\x15\x02\x15\x04\x00").struct() == {1: 1, 2: 2}, "the control"


def avro(path: Path, kind: Any, blocks: list[tuple[int, bytes]], codec: str = "null") -> Path:
    """A file of these blocks, each with how many records it says it has, and its bytes as they are."""
    out = io.BytesIO()

    def long(number: int) -> None:
        fastavro.schemaless_writer(out, "long", number)

    sync = b"0123456789abcdef"
    out.write(b"Obj\1")
    long(2)
    for name, value in (("avro.schema", json.dumps(kind).encode()), ("avro.codec", codec.encode())):
        for each in (name.encode(), value):
            long(len(each))
            out.write(each)
    long(0)
    out.write(sync)
    for count, data in blocks:
        long(count)
        long(len(data))
        out.write(data)
        out.write(sync)
    path.write_bytes(out.getvalue())
    return path


def _text(count: int) -> bytes:
    return _long(count) + b"a" * count


def _long(number: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", number)
    return out.getvalue()


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


RAW: dict[str, Callable[[bytes], bytes]] = {
    "deflate": _deflated,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": lambda data: pa.compress(data, "zstd", asbytes=True),
    "snappy": lambda data: pa.compress(data, "snappy", asbytes=True) + bytes(4),
}


@pytest.mark.parametrize("codec", RAW)
def test_a_block_that_is_a_bomb_is_not_unpacked(tmp_path: Path, codec: str) -> None:
    """Who may put a file there packs a block of many megabytes into a few kilobytes."""
    path = avro(tmp_path / "a.avro", "string", [(1, RAW[codec](_text(16 * MB)))], codec)
    assert refused("AvroFormat", path, r"a block of .* record\.max\.bytes is 1048576") == 0
    # The control: with a higher limit it is a record.
    assert [len(row) for rows in pieces("AvroFormat", path, 10_000_000, 16 * MB) for row in rows] == [16 * MB]


def test_a_block_has_no_more_records_than_bytes(tmp_path: Path) -> None:
    """Who may put a file there says that a block of nothing has a billion records."""
    empty = {"type": "record", "name": "R", "fields": []}
    path = avro(tmp_path / "a.avro", empty, [(10**9, b"")])
    assert refused("AvroFormat", path, r"file\.max\.ratio") < 1_000_000


@pytest.mark.parametrize(
    "items",
    [
        "null",
        {"type": "fixed", "name": "F", "size": 0},
        {"type": "record", "name": "E", "fields": [{"name": "a", "type": "null"}]},
        {"type": "array", "items": "null"},
    ],
    ids=["null", "fixed", "record", "inner"],
)
def test_a_list_of_nothing_has_no_billion_elements(tmp_path: Path, items: Any) -> None:
    """Who may put a file there has a list of a billion elements without a byte."""
    kind = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": items}}]}
    path = avro(tmp_path / "a.avro", kind, [(1, b"\x80\x94\xeb\xdc\x03\x00")])
    with pytest.raises(readers.ERRORS, match="elements have no bytes"):
        next(pieces("AvroFormat", path))


def test_a_record_of_a_file_has_few_fields_of_nothing(tmp_path: Path) -> None:
    """Who may put a file there has a thousand fields in each record of a list that take no byte."""
    fields = [{"name": "a", "type": "int"}, {"name": "b", "type": {"type": "fixed", "name": "F", "size": 0}}]
    fields += [{"name": f"c{at}", "type": "F"} for at in range(1000)]
    items = {"type": "record", "name": "I", "fields": fields}
    kind = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": items}}]}
    path = avro(tmp_path / "a.avro", kind, [(1, b"\x04\x02\x02\x00")])
    with pytest.raises(readers.ERRORS, match="without any bytes"):
        next(pieces("AvroFormat", path))


def test_a_schema_that_says_that_it_was_parsed_is_read_as_any_other(tmp_path: Path) -> None:
    """Who may put a file there has a schema with names of its own, which are for fastavro only: a list of nothing."""
    inner = {"type": "record", "name": "X", "fields": [{"name": "q", "type": "long"}]}
    kind = {
        **{"type": "record", "name": "R", "__fastavro_parsed": True},
        "__named_schemas": {"X": {"type": "array", "items": "null"}},
        "fields": [{"name": "a", "type": inner}, {"name": "b", "type": "X"}],
    }
    path = avro(tmp_path / "a.avro", kind, [(1, b"\2" + _long(3) + b"\0")])
    [[row]] = pieces("AvroFormat", path)
    assert row.get("b").get("q") == 3


@pytest.mark.parametrize("body", [b"\1\0", b"\3\0", b"\0\1\2", b"\0\5\2"], ids=["enum", "far enum", "union", "far union"])
def test_no_index_of_avro_is_below_zero(tmp_path: Path, body: bytes) -> None:
    """Who may put a file there has indexes from the end: the file can't be read, in place of being another symbol, or null."""
    enum, union = {"type": "enum", "name": "E", "symbols": ["A", "B"]}, ["null", "int"]
    kind = {"type": "record", "name": "R", "fields": [{"name": "e", "type": enum}, {"name": "u", "type": union}]}
    path = avro(tmp_path / "a.avro", kind, [(1, b"\2\2\4")])
    assert [row.get("e") for rows in pieces("AvroFormat", path) for row in rows] == ["B"], "the control"
    with pytest.raises(readers.ERRORS):
        next(pieces("AvroFormat", avro(path, kind, [(1, body)])))
    with pytest.raises(readers.ERRORS):
        next(pieces("AvroFormat", avro(path, union, [(1, b"\1\2")])))


def of_schema(schema: Any, body: bytes) -> bytes:
    """Return a file of Avro with one block, of one record."""

    def long(number: int) -> bytes:
        bits, out = number << 1, bytearray()
        while bits > 127:
            out.append(bits & 127 | 128)
            bits >>= 7
        return bytes([*out, bits])

    def text(data: bytes) -> bytes:
        return long(len(data)) + data

    head = text(b"avro.schema") + text(json.dumps(schema).encode()) + text(b"avro.codec") + text(b"null")
    content = text(body)
    return b"Obj\1" + long(2) + head + b"\0" + b"s" * 16 + long(1) + long(len(content)) + content + b"s" * 16


@pytest.mark.parametrize("digits", [38, 4000])
def test_a_decimal_of_a_file_is_what_it_is(tmp_path: Path, digits: int) -> None:
    """The control: as many digits as any format or database has are read, whatever precision the schema says."""
    number = -(10**digits - 7)
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
    schema = {"type": "record", "name": "r", "fields": [{"name": "d", "type": kind}]}
    path = tmp_path / "a.avro"
    path.write_bytes(of_schema(schema, number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)))
    assert [row.values[0] for rows in pieces("AvroFormat", path) for row in rows] == [
        decimal.Decimal((1, tuple(map(int, str(-number))), -2))
    ]


@pytest.mark.parametrize("precision", [38, 10**9])
def test_a_decimal_of_a_file_takes_no_hours(tmp_path: Path, precision: int) -> None:
    """
    Who may put a file there writes a decimal of half a megabyte: to make one of it took half a minute, in which nothing else
    ran in the host, and one of 16 MB would take hours.
    """
    kind = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}
    schema = {"type": "record", "name": "r", "fields": [{"name": "d", "type": kind}]}
    path = tmp_path / "a.avro"
    path.write_bytes(of_schema(schema, b"\x7f" * 500_000))
    begin = time.process_time()
    with pytest.raises(DataError, match="A decimal has 500000 bytes"):
        list(pieces("AvroFormat", path))
    assert time.process_time() - begin < 5


def test_a_field_of_csv_is_as_long_as_a_record_may_be(tmp_path: Path) -> None:
    """The control: Python's own limit, of 128 KB, is none that a setting has."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1," + b"x" * (RECORD - 100) + b"\n")
    [[row]] = pieces("CsvFormat", path)
    assert len(row.get("b")) == RECORD - 100


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
def test_avro_as_others_write_it_is_read(tmp_path: Path, codec: str) -> None:
    """The control: ordinary files are read whole."""
    kind = fastavro.parse_schema(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", {"type": "array", "items": "string"}]}],
        }
    )
    path = tmp_path / "a.avro"
    with open(path, "wb") as file:
        fastavro.writer(file, kind, [{"a": number, "b": ["x"] if number % 2 else None} for number in range(5000)], codec=codec)
    found = [row for rows in pieces("AvroFormat", path, 500) for row in rows]
    assert [row.get("a") for row in found] == list(range(5000))


def test_a_map_of_decimals_in_a_file_takes_no_minutes(tmp_path: Path) -> None:
    """Who puts a file into a store chooses keys of a map so that each is compared with all others."""
    keys = [decimal.Decimal(5 + each * ((1 << 61) - 1)) for each in range(10, 30_010)]
    maps = pa.array([list(zip(keys, range(len(keys))))], pa.map_(pa.decimal128(38, 0), pa.int32()))
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"m": maps}), path)
    begin = time.monotonic()
    with pytest.raises(DataError, match="can't tell apart"):
        list(pieces("ParquetFormat", path))
    assert time.monotonic() - begin < 15


def test_a_column_that_is_there_twice_is_found_at_once(tmp_path: Path) -> None:
    """Who puts a file into a store gives it very many columns, of which the last one has the name of another."""
    columns = [f"k{each:07}" for each in range(99_999)]
    path = tmp_path / "a.csv"
    path.write_text(",".join([*columns, columns[-1]]) + "\n")
    begin = time.monotonic()
    with pytest.raises(DataError, match="two fields of the name 'k0099998'"):
        list(pieces("CsvFormat", path))
    assert time.monotonic() - begin < 15
