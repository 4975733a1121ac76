"""
The connectors' promise, for files: names that others read as the same text, schemas as Kafka Connect has them, and a source
that says so when it finds nothing of its own.
"""

from __future__ import annotations

import io
import urllib.parse
from pathlib import Path

import fastavro
import pytest

from kconnect.api import (
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Column,
    Schema,
    SchemaType,
    SinkRecord,
    Struct,
    schema,
)
from kconnect.connectors.objects import projection
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.testing import SinkRunner
from tests.rig.systems.s3 import S3Server

from .test_sink import JSON, Folder, folder, lines, of_s3, read, server
from .test_source import source

__all__ = ["folder", "server"]

TEXTS = [
    "München",
    "東京",
    "e\u0301",
    "a%41",
    "a=b",
    "a/b",
    "a\\b",
    'a"b',
    "a*b",
    "a\tb",
    "a\x85b",
    "a{b}",
    "a b",
    "a:b",
    "a'b",
]
BY_CITY = {"partitioner.class": "FieldPartitioner", "partition.field.name": "city"}


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_who_reads_folders_as_columns_reads_the_same_text(folder: Folder, text: str) -> None:
    own = schema.struct({"city": STRING_SCHEMA})
    with folder.sink({**JSON, **BY_CITY}, flush_size="1") as sink:
        sink.put([folder.record(Struct(own, {"city": text}))])
    ((name, _),) = folder.files().items()
    shown = name.split("/")[2].removeprefix("city=")
    # Hive and Spark unescape each %XX to one character, so no other may be escaped.
    assert urllib.parse.unquote(shown, encoding="latin-1" if text.isascii() else "utf-8") == text
    if text.isalpha() or text == "e\u0301":
        assert shown == text


@pytest.mark.process
def test_such_a_folder_on_s3(server: S3Server, folder: Folder) -> None:
    bucket = server.bucket("b-umlaut")
    own = schema.struct({"city": STRING_SCHEMA})
    with SinkRunner(ObjectStoreSinkConnector, {**of_s3(server, bucket), **JSON, **BY_CITY, "flush.size": "1"}) as sink:
        sink.put([folder.record(Struct(own, {"city": "München"}))])
        sink.flush()
    ((name, data),) = server.files(bucket).items()
    assert name == "topics/t/city=München/t+0+0000000000.json"
    assert lines(data) == [{"city": "München"}]


INNER = schema.struct({"id": INT32_SCHEMA}, name="srv.db.t.Value")
OTHER = schema.struct({"id": STRING_SCHEMA}, name="srv.db.t.Value")
UNNAMED = schema.struct({"id": INT32_SCHEMA})


@pytest.mark.parametrize("second", [INNER, OTHER, UNNAMED], ids=["the same", "another of that name", "without a name"])
@pytest.mark.parametrize("optional", [False, True])
def test_a_named_struct_twice_in_avro(folder: Folder, second: Schema, optional: bool) -> None:
    kinds = [each.replace(optional=True) if optional else each for each in (INNER, second)]
    own = schema.struct({"before": kinds[0], "after": kinds[1], "all": schema.array(kinds[1])}, name="srv.db.t.Envelope")
    value = "1" if second is OTHER else 1
    row = Struct(
        own,
        {
            "before": Struct(kinds[0], {"id": 1}),
            "after": Struct(kinds[1], {"id": value}),
            "all": [Struct(kinds[1], {"id": value})],
        },
    )
    with folder.sink({"format.class": "AvroFormat"}, flush_size="1") as sink:
        sink.put([folder.record(row)])
    ((_, data),) = folder.files().items()
    assert list(fastavro.reader(io.BytesIO(data))) == [{"before": {"id": 1}, "after": {"id": value}, "all": [{"id": value}]}]


@pytest.mark.parametrize("plus", ["-", "_", "+", "++", "."])
def test_a_backup_with_another_delimiter_comes_back(tmp_path: Path, plus: str, caplog: pytest.LogCaptureFixture) -> None:
    config = {"name": "o", "topics": "my-t_1.x", "store": f"file://{tmp_path}", "flush.size": "1", **JSON, "file.delim": plus}
    with SinkRunner(ObjectStoreSinkConnector, config) as sink:
        sink.put([SinkRecord("my-t_1.x", 7, None, None, None, {"a": number}, number, timestamp=1) for number in range(3)])
    with source(tmp_path, "JsonFormat", file_delim=plus) as runner:
        found = [(each.topic, each.partition, each.value) for _ in range(12) for each in runner.poll()]
    assert found == [("my-t_1.x", 7, {"a": number}) for number in range(3)]
    assert not [text for text in caplog.messages if "None of the files" in text]


@pytest.mark.parametrize("more", [{}, {"mode": "GENERIC", "topic_regex_list": "t:.*\\.csv"}], ids=["backup", "generic"])
def test_a_source_that_finds_nothing_of_its_own_says_so_once(
    tmp_path: Path, more: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "t-0-0.json").write_text("{}\n")
    with source(tmp_path, "JsonFormat", (), 0, **more) as runner:
        assert [record for _ in range(12) for record in runner.poll()] == []
    (told,) = [text for text in caplog.messages if "None of the files" in text]
    assert "topics/t-0-0.json" in told
    assert ("file.delim=+" if not more else "topic.regex.list has to match") in told


@pytest.mark.parametrize("format", ["ParquetFormat", "AvroFormat", "CsvFormat", "JsonFormat"])
def test_null_is_not_the_default(folder: Folder, format: str) -> None:
    within = schema.struct({"b": Schema(SchemaType.STRING, optional=True, default="d")})
    own = schema.struct({"a": Schema(SchemaType.STRING, optional=True, default="d"), "in": within})
    with folder.sink({"format.class": format}, flush_size="1") as sink:
        sink.put([folder.record(Struct.unchecked(own, [None, Struct.unchecked(within, [None])]))])
        sink.put([])
    ((name, data),) = folder.files().items()
    if format == "CsvFormat":
        assert data.decode().splitlines()[1].startswith(",")
    else:
        row = read(name, data)[0] if format != "JsonFormat" else lines(data)[0]
        assert row == {"a": None, "in": {"b": None}}


@pytest.mark.parametrize(
    ("narrow", "wide", "fits"),
    [(INT32_SCHEMA, FLOAT64_SCHEMA, True), (INT64_SCHEMA, FLOAT64_SCHEMA, False), (INT32_SCHEMA, FLOAT32_SCHEMA, False)],
)
def test_a_file_of_another_version_rounds_nothing(narrow: Schema, wide: Schema, fits: bool) -> None:
    old, new = (schema.struct({"n": own}, name="r", version=at) for at, own in enumerate((narrow, wide), 1))
    made = projection.together(Column(old, [Struct(old, {"n": 7})]), new, "backward")
    assert (made is not None) is fits


def test_a_null_within_a_value_is_the_record_s_own_fault(folder: Folder) -> None:
    within = schema.struct({"x": STRING_SCHEMA, "l": schema.array(INT32_SCHEMA)})
    own = schema.struct({"s": within})
    bad = [Struct.unchecked(within, [None, [1]]), Struct.unchecked(within, ["x", [None]])]
    good = Struct(within, {"x": "x", "l": [1]})
    with folder.sink({"format.class": "ParquetFormat", "errors.tolerance": "all"}, flush_size="4") as sink:
        sink.put([folder.record(Struct.unchecked(own, [each])) for each in (good, *bad, good)])
        sink.put([])
        assert [record.original_offset for record, _ in sink.reported] == [1, 2]
    ((name, data),) = folder.files().items()
    assert read(name, data) == [{"s": {"x": "x", "l": [1]}}] * 2
