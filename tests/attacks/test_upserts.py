"""Attacks on upserts of the Iceberg sink, which read files of the table, by who may write files where the table is."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc, parquet
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import FileScanTask
from pyiceberg.typedef import Record
from pyroaring import BitMap

from kconnect.api import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, ConnectError, SinkRecord, Struct, schema
from kconnect.connectors.iceberg import data_files, deletes, settings, upserts
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.iceberg.places import Places
from kconnect.connectors.objects.parquet_pages import Limits
from kconnect.testing import SinkRunner

ROW = schema.struct({"id": INT32_SCHEMA, "note": OPTIONAL_STRING_SCHEMA})
COLUMNS = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("note", pa.string())])


@pytest.fixture
def place(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "lake").mkdir()
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}


@pytest.fixture
def catalog(place: dict[str, str]) -> Catalog:
    return load_catalog("iceberg", **place)


def sink(place: dict[str, str], **more: str) -> SinkRunner:
    config = {
        "name": "lake",
        "topics": "t",
        **{f"iceberg.catalog.{name}": value for name, value in place.items()},
        "iceberg.tables": "shop.orders",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.upsert-mode-enabled": "true",
        "iceberg.tables.default-id-columns": "id",
        "iceberg.control.commit.interval-ms": "0",
        "max.retries": "0",
    }
    return SinkRunner(IcebergSinkConnector, {**config, **more})


def put(runner: SinkRunner, first: int, *rows: tuple[int, str]) -> None:
    """Have these rows in the table: a commit is made with the next put."""
    values = [Struct(ROW, {"id": number, "note": note}) for number, note in rows]
    runner.put([SinkRecord("t", 0, None, None, ROW, value, first + at) for at, value in enumerate(values)])
    runner.put([])


def rows_of(catalog: Catalog) -> dict[int, str]:
    rows = catalog.load_table("shop.orders").scan().to_arrow().to_pylist()
    return {row["id"]: row["note"] for row in rows}


def data_file(directory: Path) -> Path:
    (path,) = directory.glob("lake/**/data/*.parquet")
    return path


def _bomb(path: Path) -> None:
    parquet.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "note": ["x" * 100_000] * 2}, _ids(path)), path)


def _repeated(path: Path) -> None:
    """Half a million of the same long text, which stands in the file once."""
    notes = pa.DictionaryArray.from_arrays(pa.array([0] * 500_000, pa.int32()), ["x" * 900]).cast(pa.string())
    parquet.write_table(pa.table({"id": pa.array([1] * 500_000, pa.int32()), "note": notes}, _ids(path)), path)


def _deep(path: Path) -> None:
    kind: Any = pa.int32()
    for _ in range(150):
        kind = pa.struct([pa.field("a", kind)])
    parquet.write_table(pa.table({"id": pa.nulls(1, kind)}), path)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def _broken_footer(path: Path) -> None:
    data = bytearray(path.read_bytes())
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[begin : begin + 40] = bytes([0x29]) * 40
    path.write_bytes(data)


def _orc_inside(path: Path) -> None:
    orc.write_table(pa.table({"id": pa.array([1], pa.int32())}), path)


def _ids(path: Path) -> pa.Schema:
    return parquet.read_schema(path)


SPOILED: dict[str, tuple[Callable[[Path], None], str]] = {
    "long page": (_bomb, "has .* bytes, unpacked"),
    "repeated": (_repeated, "more than 2 times its"),
    "deep": (_deep, "nested more than 100 times"),
    "cut": (_cut, "no file of Parquet"),
    "footer": (_broken_footer, "can't be read"),
    "another format": (_orc_inside, "no file of Parquet"),
}


@pytest.mark.parametrize(("spoil", "reason"), SPOILED.values(), ids=SPOILED)
def test_a_file_that_is_spoiled_ends_the_task_and_no_host(
    tmp_path: Path, place: dict[str, str], catalog: Catalog, monkeypatch: pytest.MonkeyPatch, spoil: Any, reason: str
) -> None:
    """Who may write where the table is puts another file in the place of one that an upsert has to write anew."""
    monkeypatch.setattr(data_files, "_LIMITS", Limits("the longest row", 1000))
    monkeypatch.setattr(data_files, "FREE", 100_000)
    monkeypatch.setattr(data_files, "MOST_RATIO", 2)
    with sink(place) as runner:
        put(runner, 0, (1, "a"), (2, "b"), (3, "b"))
        put(runner, 3, (2, "c"))  # The control: such files are read.
        assert rows_of(catalog) == {1: "a", 2: "c", 3: "b"}
    for path in tmp_path.glob("lake/**/data/*.parquet"):
        spoil(path)
    with (
        sink(place) as runner,
        pytest.raises(ConnectError, match=f"A data file of the table can't be read: .*{reason}|{reason}"),
    ):
        put(runner, 4, (1, "d"))


def test_changed_bytes_are_an_error(tmp_path: Path, place: dict[str, str], catalog: Catalog) -> None:
    """Whatever somebody changes in a data file, its reading gives rows or an error."""
    with sink(place) as runner:
        put(runner, 0, *((number, f"text {number % 3}") for number in range(20)))
    data = data_file(tmp_path).read_bytes()
    random_ = random.Random(38)
    errors = 0
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(random_.choice((1, 2, 5))):
            changed[random_.randrange(len(changed))] = random_.randrange(256)
        try:
            fragment = data_files.ParquetFormat().make_fragment(pa.BufferReader(bytes(changed)))
            list(data_files.Scanner.from_fragment(fragment, ["id", "note"]).to_batches())
        except ConnectError:
            errors += 1
    assert 0 < errors < 300


def test_rows_of_a_file_elsewhere_are_not_copied(tmp_path: Path, place: dict[str, str], catalog: Catalog) -> None:
    """Who may write where the table is has a manifest name a file of another table, whose rows he may not read."""
    with sink(place) as runner:
        put(runner, 0, (1, "a"))
    elsewhere = tmp_path / "lake" / "secret"
    elsewhere.mkdir()
    parquet.write_table(
        pa.table({"id": pa.array([7, 8], pa.int32()), "note": ["secret", "x"]}, COLUMNS), elsewhere / "b.parquet"
    )
    catalog.load_table("shop.orders").add_files([f"file://{elsewhere}/b.parquet"])
    refusal = f"secret/b.parquet, which is not in the table's folder.*{settings.LOCATIONS}"
    with sink(place) as runner, pytest.raises(ConnectError, match=refusal):
        put(runner, 1, (8, "d"))
    with sink(place, **{settings.LOCATIONS: f"file://{elsewhere}"}) as runner:
        put(runner, 1, (8, "d"))
    assert rows_of(catalog) == {1: "a", 7: "secret", 8: "d"}


@pytest.mark.parametrize("is_folder", [False, True], ids=["file", "folder"])
def test_rows_that_a_link_leads_to_are_not_copied(
    tmp_path: Path, place: dict[str, str], catalog: Catalog, is_folder: bool
) -> None:
    """Who may write where the table is puts a link there, to a file of another table."""
    with sink(place) as runner:
        put(runner, 0, (1, "a"))
    elsewhere = tmp_path / "lake" / "secret"
    elsewhere.mkdir()
    secret = pa.table({"id": pa.array([7, 8], pa.int32()), "note": ["secret", "x"]}, COLUMNS)
    parquet.write_table(secret, elsewhere / "b.parquet")
    table = catalog.load_table("shop.orders")
    link = Path(table.location().removeprefix("file://")) / "data" / ("link" if is_folder else "b.parquet")
    link.symlink_to(elsewhere if is_folder else elsewhere / "b.parquet")
    table.add_files([f"file://{link}/b.parquet" if is_folder else f"file://{link}"])
    with sink(place) as runner, pytest.raises(ConnectError, match="is not in the table's folder"):
        put(runner, 1, (8, "d"))
    assert rows_of(catalog) == {1: "a", 7: "secret", 8: "x"}


@pytest.mark.parametrize(
    ("location", "is_inside"),
    [
        ("lake/shop/orders/data/a.parquet", True),
        ("lake/shop/orders2/a.parquet", False),
        ("lake/shop/orders/../other/a.parquet", False),
        ("lake/shop/orders/..\\other/a.parquet", False),
        ("lake/shop/orders", False),
        ("old/a.parquet", True),
    ],
)
def test_where_files_may_be(tmp_path: Path, place: dict[str, str], catalog: Catalog, location: str, is_inside: bool) -> None:
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", COLUMNS, location=f"file://{tmp_path}/lake/shop/orders")
    places = Places(table, [f"file:{tmp_path}/old"])
    for spelling in (f"file://{tmp_path}/{location}", f"{tmp_path}/{location}"):
        if is_inside:
            places.check(spelling)
            continue
        with pytest.raises(ConnectError, match="is not in the table's folder"):
            places.check(spelling)
    with pytest.raises(ConnectError):
        places.check(f"s3://{tmp_path}/{location}")


def test_a_table_s_own_metadata_does_not_say_where_it_is(tmp_path: Path, place: dict[str, str], catalog: Catalog) -> None:
    """Who may write where the table is changes its metadata: the catalog, which names their file, says where it is."""
    with sink(place) as runner:
        put(runner, 0, (1, "a"))
    newest = max(tmp_path.glob("lake/**/*.metadata.json"))
    metadata = json.loads(newest.read_bytes())
    metadata["location"] = metadata["properties"]["write.data.path"] = f"file://{tmp_path}/lake/secret"
    newest.write_text(json.dumps(metadata))
    with pytest.raises(ConnectError):
        Places(catalog.load_table("shop.orders"), []).check(f"file://{tmp_path}/lake/secret/a.parquet")


def test_files_are_written_anew_in_parts(place: dict[str, str], catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large a file is, little of it is in memory: a row that is to go far behind is found, and none is lost."""
    monkeypatch.setattr(data_files, "_MOST_ROWS", 10)
    monkeypatch.setattr(upserts, "_LOT", 1)
    monkeypatch.setattr(upserts, "_PART", 300)
    before = {number: f"text {number}" for number in range(200)}
    for changed in ({3: "c"}, {150: "x", 199: "y", 500: "z"}, {}, dict.fromkeys(range(200), "all")):
        with sink(place, name=f"of {len(changed)}") as runner:
            put(runner, 0, *before.items())
            put(runner, len(before), *changed.items())
            before |= changed
        assert rows_of(catalog) == before


def test_a_file_of_orc_is_not_read() -> None:
    """Its reader ends the process for one in 3,000 files with changed bytes."""
    with pytest.raises(ConnectError, match="is ORC, which an upsert does not read"):
        data_files.OrcFormat()


# Which rows are gone.


def _gone(directory: Path, kind: FileFormat, data: bytes, name: str = "file:///t/a.parquet") -> list[int] | None:
    path = directory / "deletes"
    path.write_bytes(data)
    file = _of(FileFormat.PARQUET, name, DataFileContent.DATA)
    task = FileScanTask(file, delete_files={_of(kind, f"file://{path}", DataFileContent.POSITION_DELETES)})
    found = deletes.rows_gone(PyArrowFileIO(), task)
    return None if found is None else [row for part in found for row in part.to_pylist()]


def _of(kind: FileFormat, path: str, content: DataFileContent) -> DataFile:
    return DataFile.from_args(
        file_path=path, file_format=kind, content=content, partition=Record(), record_count=1, file_size_in_bytes=1
    )


def _puffin(*bitmaps: tuple[int, bytes], of: str = "file:///t/a.parquet", **more: Any) -> bytes:
    vector = len(bitmaps).to_bytes(8, "little") + b"".join(key.to_bytes(4, "little") + data for key, data in bitmaps)
    blob = (len(vector) + 4).to_bytes(4, "big") + b"\xd1\xd3\x39\x64" + vector + bytes(4)
    entry = {"type": "deletion-vector-v1", "fields": [], "snapshot-id": 1, "sequence-number": 1, "offset": 4}
    entry |= {"length": len(blob), "properties": {"referenced-data-file": of}, **more}
    footer = json.dumps({"blobs": [entry]}).encode()
    return b"PFA1" + blob + b"PFA1" + footer + len(footer).to_bytes(4, "little") + bytes(4) + b"PFA1"


def test_rows_that_bitmaps_name_are_gone(tmp_path: Path) -> None:
    """The control: what is in order is read, and what is about other files is not."""
    data = _puffin((0, BitMap([1, 5, 70_000]).serialize()), (2, BitMap([3]).serialize()))
    assert _gone(tmp_path, FileFormat.PUFFIN, data) == [1, 5, 70_000, (2 << 32) + 3]
    assert _gone(tmp_path, FileFormat.PUFFIN, _puffin((0, BitMap([1]).serialize()), of="other")) == []


def _all_rows() -> bytes:
    """A bitmap of less than a megabyte that names four billion rows."""
    bitmap = BitMap(range(1 << 32))
    bitmap.run_optimize()
    return bitmap.serialize()


BITMAPS: dict[str, Callable[[], bytes]] = {
    "billions of rows": lambda: _puffin((0, _all_rows())),
    "far away": lambda: _puffin((2**32 - 1, BitMap([1]).serialize())),
    "not in order": lambda: _puffin((1, BitMap([1]).serialize()), (0, BitMap([1]).serialize())),
    "many": lambda: _puffin(*((key, BitMap([1]).serialize()) for key in range(20))),
    "short": lambda: _puffin((0, BitMap([1, 2]).serialize()[:-3])),
    "packed": lambda: _puffin((0, b""), **{"compression-codec": "zstd"}),
    "before the file": lambda: _puffin((0, b""), offset=-100),
    "no footer": lambda: b"PFA1" + bytes(20) + b"PFA1",
    "a footer that is a list": lambda: b"PFA1[]" + (2).to_bytes(4, "little") + bytes(4) + b"PFA1",
    "empty": bytes,
}


@pytest.mark.parametrize("made", BITMAPS.values(), ids=BITMAPS)
def test_bitmaps_have_an_end(tmp_path: Path, made: Callable[[], bytes]) -> None:
    """Who may write where the table is has a few bytes name more rows than memory is for."""
    with pytest.raises(ConnectError, match=r"which rows are gone can't|rows of a data file of the table are gone"):
        _gone(tmp_path, FileFormat.PUFFIN, made())


def _pairs(path: list[str], places: list[Any], **more: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table({"file_path": path, "pos": places}), out, **more)
    return out.getvalue()


def test_rows_that_pairs_name_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = "file:///t/a.parquet", "file:///t/b.parquet"
    data = _pairs([own, other, own], [1, 2, 3])
    assert _gone(tmp_path, FileFormat.PARQUET, data) == [1, 3]
    monkeypatch.setattr(deletes, "MOST_ROWS", 1)
    with pytest.raises(ConnectError, match="More than 1 rows of a data file of the table are gone"):
        _gone(tmp_path, FileFormat.PARQUET, data)


@pytest.mark.parametrize("kind", [FileFormat.PARQUET, FileFormat.ORC], ids=["parquet", "orc"])
@pytest.mark.parametrize("data", [b"", gzip.compress(b"x"), _pairs(["a"], ["text"])], ids=["empty", "other", "texts"])
def test_pairs_that_are_none(tmp_path: Path, kind: FileFormat, data: bytes) -> None:
    with pytest.raises(ConnectError):
        _gone(tmp_path, kind, data)
