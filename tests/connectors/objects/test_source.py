"""The object store source in a local folder: each record of each file once, with the types that it was written with."""

from __future__ import annotations

import datetime
import decimal
import gzip
import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from kconnect.api import (
    BYTES_SCHEMA,
    INT32_SCHEMA,
    STRING_SCHEMA,
    TIMESTAMP_SCHEMA,
    ConnectError,
    ExactlyOnceSupport,
    SinkRecord,
    SourceRecord,
    Struct,
    schema,
)
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.objects.source import ObjectStoreSourceConnector
from kconnect.testing import SinkRunner, SourceRunner, check_plugin, config_errors

UTC = datetime.timezone.utc
AT = datetime.datetime(2026, 3, 29, 12, 0, 0, 250_000, UTC)
ROW = schema.struct(
    {
        "id": INT32_SCHEMA,
        "note": STRING_SCHEMA.optional_copy(),
        "price": schema.decimal_schema(2),
        "day": schema.DATE_SCHEMA,
        "time": schema.TIME_SCHEMA,
        "at": TIMESTAMP_SCHEMA,
        "data": BYTES_SCHEMA,
        "tags": schema.array(STRING_SCHEMA),
        "times": schema.mapping(STRING_SCHEMA, TIMESTAMP_SCHEMA),
        "inner": schema.struct({"x": schema.FLOAT64_SCHEMA}, name="Inner"),
    },
    name="Row",
)


def row(number: int) -> Struct:
    inner = Struct(ROW.fields[-1].schema, {"x": number / 2})
    values: dict[str, Any] = {"id": number, "note": f"n{number}" if number % 2 else None, "price": decimal.Decimal("1.10")}
    values |= {"day": AT.replace(hour=0, microsecond=0), "time": datetime.datetime(1970, 1, 1, 12, 30, tzinfo=UTC), "at": AT}
    return Struct(ROW, {**values, "data": b"\x00\xff", "tags": ["a", "b"], "times": {"k": AT}, "inner": inner})


def written(folder: Path, format: str, count: int, partition: int = 0, **more: str) -> None:
    """By the sink: ten records a file."""
    settings = {name.replace("_", "."): value for name, value in more.items()}
    config = {"topics": "t", "store": f"file://{folder}", "flush.size": "10", "format.class": format, **settings}
    with SinkRunner(ObjectStoreSinkConnector, config) as sink:
        sink.put([SinkRecord("t", partition, None, None, ROW, row(n), n, timestamp=0) for n in range(count)])


def source(folder: Path, format: str, offsets: Any = (), task: int = 0, **more: str) -> SourceRunner:
    settings = {name.replace("_", "."): value for name, value in more.items()}
    config = {"store": f"file://{folder}", "format.class": format, "record.batch.max.size": "4", **settings}
    return SourceRunner(ObjectStoreSourceConnector, {"s3.poll.interval.ms": "1", **config}, task, offsets)


def generic(folder: Path, format: str, offsets: Any = (), **more: str) -> SourceRunner:
    more = {"mode": "GENERIC", "topic_regex_list": "all:.*", "topics_dir": "", **more}
    return source(folder, format, offsets, 0, **more)


def polled(runner: SourceRunner) -> list[SourceRecord]:
    """What there is: until three polls in a row have brought nothing."""
    found: list[SourceRecord] = []
    empty = 0
    while empty < 3:
        records = runner.poll()
        empty = 0 if records else empty + 1
        found += records or []
    return found


def values(records: Sequence[SourceRecord]) -> list[Any]:
    return [record.value for record in records]


@pytest.mark.parametrize("format", ["ParquetFormat", "AvroFormat"])
def test_what_the_sink_has_written_comes_back(tmp_path: Path, format: str) -> None:
    written(tmp_path, format, 30)
    written(tmp_path, format, 10, partition=3)
    with source(tmp_path, format) as runner:
        found = polled(runner)
        assert [record.value["id"] for record in found] == [*range(30), *range(10)]
        for record in found:
            record.value.validate()
            expected = row(record.value["id"])
            for field in ROW.fields:
                there = record.value[field.name]
                assert (there.values if field.name == "inner" else there) == (
                    expected[field.name].values if field.name == "inner" else expected[field.name]
                )
            assert [each.schema.name for each in record.value.schema.fields][2:6] == [each.schema.name for each in ROW.fields][
                2:6
            ]
        assert {(record.topic, record.partition) for record in found} == {("t", 0), ("t", 3)}
        assert found[9].source_offset == {"records": 10, "whole": True} and found[8].source_offset == {"records": 9}
        # Once each, also after a restart.
        assert polled(runner) == []
        runner.restart()
        assert polled(runner) == []
        written(tmp_path, format, 10, partition=1)
        assert len(polled(runner)) == 10


@pytest.mark.parametrize("packed", ["none", "gzip"])
@pytest.mark.parametrize("format", ["JsonFormat", "CsvFormat"])
def test_texts_come_back(tmp_path: Path, format: str, packed: str) -> None:
    written(tmp_path, format, 20, s3_compression_type=packed)
    with source(tmp_path, format) as runner:
        found = polled(runner)
    ids = [record.value["id"] for record in found]
    assert ids == (list(range(20)) if format == "JsonFormat" else [str(n) for n in range(20)])
    assert [record.value["note"] for record in found[:2]] == [None, "n1"]
    assert {record.value_schema is None for record in found} == {format == "JsonFormat"}


def test_a_file_goes_on_where_it_was_left(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"".join(b'{"n": %d}\n' % n for n in range(10)))
    with generic(tmp_path, "JsonFormat") as runner:
        first = runner.poll()
        assert values(first) == [{"n": n} for n in range(4)]
        runner.restart()
        assert values(polled(runner)) == [{"n": n} for n in range(4, 10)]
    with generic(tmp_path, "JsonFormat", [({"file": "a.json"}, {"records": 7})]) as runner:
        assert values(polled(runner)) == [{"n": n} for n in range(7, 10)]
    with generic(tmp_path, "JsonFormat", [({"file": "a.json"}, {"records": 10, "whole": True})]) as runner:
        assert polled(runner) == []


def test_any_file_goes_to_its_topic(tmp_path: Path) -> None:
    for name in ("in/orders/1.json", "in/orders/2.json.gz", "in/customers/1.json", "in/else.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps({"name": name}).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    topics = r"orders:/orders/.*[.]json,customers:^in/customers/"
    with generic(tmp_path, "JsonFormat", topic_regex_list=topics, topics_dir="in") as runner:
        found = {record.value["name"]: record.topic for record in polled(runner)}
    assert found == {"in/orders/1.json": "orders", "in/orders/2.json.gz": "orders", "in/customers/1.json": "customers"}


def test_a_file_that_is_taken_away_is_passed_over(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name}))
    with generic(tmp_path, "JsonFormat") as runner:
        assert values(runner.poll()) == [{"name": "a"}]
        (tmp_path / "b.json").unlink()
        assert values(polled(runner)) == [{"name": "c"}]


def test_lines_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\ntwo\n\nfour")
    with generic(tmp_path, "ByteArrayFormat") as runner:
        found = polled(runner)
    assert values(found) == [b"one", b"two", b"", b"four"] and found[0].value_schema == BYTES_SCHEMA
    (tmp_path / "a.log").write_bytes(b"one;two;")
    with generic(tmp_path, "ByteArrayFormat", format_bytearray_separator=";") as runner:
        assert values(polled(runner)) == [b"one", b"two"]


def test_cells_may_have_lines_and_a_bad_line_loses_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfid,text\r\n1,"two\r\nlines"\r\n\xef\xbb\xbf2,x\r\n3\r\n4,y\r\n')
    with generic(tmp_path, "CsvFormat", behavior_on_error="log") as runner:
        found = [record.value.values for record in polled(runner)]
    assert found == [("1", "two\r\nlines"), ("\ufeff2", "x")]


def test_files_of_others(tmp_path: Path) -> None:
    table = pa.table(
        {
            "u": pa.array([1, None], pa.uint32()),
            "us": pa.array([AT, None], pa.timestamp("us")),
            "d": pa.array(["x", None], pa.string()).dictionary_encode(),
            "half": pa.array([1.5, None], pa.float32()),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    with generic(tmp_path, "ParquetFormat") as runner:
        one, empty = values(polled(runner))
    assert one.values == (1, AT, "x", 1.5) and empty.values == (None,) * 4
    assert [field.schema.type.value for field in one.schema.fields] == ["INT64", "INT64", "STRING", "FLOAT32"]
    avro = {
        "type": "record",
        "name": "A",
        "fields": [
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["x", "y"]}},
            {"name": "again", "type": ["null", "Kind"]},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "fixed", "type": {"type": "fixed", "name": "F", "size": 2}},
        ],
    }
    other = tmp_path / "avro"
    other.mkdir()
    with open(other / "a.avro", "wb") as file:
        fastavro.writer(file, fastavro.parse_schema(avro), [{"kind": "x", "again": "y", "at": AT, "fixed": b"12"}])
    with generic(other, "AvroFormat") as runner:
        (value,) = values(polled(runner))
    assert value.values == ("x", "y", AT, b"12")


def test_files_are_divided_among_tasks(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.json").write_text(f'{{"n": {number}}}')
    found = []
    for task in range(3):
        with (
            generic(tmp_path, "JsonFormat", tasks_max="3")
            if task == 0
            else source(
                tmp_path, "JsonFormat", (), task, mode="GENERIC", topic_regex_list="all:.*", topics_dir="", tasks_max="3"
            ) as runner
        ):
            some = [value["n"] for value in values(polled(runner))]
            assert 0 < len(some) < 20
            found += some
    assert sorted(found) == list(range(20))


def test_a_broken_file_is_told_and_what_is_before_it_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"".join(b'{"n": %d}\n' % n for n in range(6)) + b"{broken\n" + b'{"n": 7}\n')
    (tmp_path / "b.json").write_bytes(b'{"n": 8}\n')
    with generic(tmp_path, "JsonFormat") as runner:
        found = values(runner.poll())
        with pytest.raises(ConnectError, match=r"a.json can't be read behind its record 6: .* behavior.on.error=log"):
            while True:
                found += values(runner.poll())
    assert found == [{"n": n} for n in range(6)]
    with generic(tmp_path, "JsonFormat", behavior_on_error="log") as runner:
        assert values(polled(runner)) == [{"n": n} for n in (*range(6), 8)]
        assert runner.passed_over == 1
        runner.restart()
        assert polled(runner) == []


def test_a_file_that_grows_is_not_read_again_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.json").write_bytes(b'{"n": 1}\n')
    with generic(tmp_path, "JsonFormat") as runner:
        assert values(polled(runner)) == [{"n": 1}]
        assert "has changed" not in caplog.text
        (tmp_path / "a.json").write_bytes(b'{"n": 1}\n{"n": 2}\n')
        os.utime(tmp_path / "a.json", (2_000_000_000, 2_000_000_000))
        assert polled(runner) == []
        polled(runner)
    assert caplog.text.count("The file a.json has changed since it was read: what it has got is not read") == 1


def test_an_offset_beyond_a_file_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.json").write_bytes(b'{"n": 1}\n{"n": 2}\n')
    config = generic(tmp_path, "JsonFormat").config
    for read, more in ((1, [{"n": 2}]), (7, [])):
        with SourceRunner(ObjectStoreSourceConnector, config, offsets=[({"file": "a.json"}, {"records": read})]) as runner:
            assert values(polled(runner)) == more
        assert ("a.json has no record behind the 7 that its offset says" in caplog.text) == (read == 7)


@pytest.mark.parametrize("format", ["ParquetFormat", "AvroFormat"])
def test_what_is_no_such_file_is_told(tmp_path: Path, format: str) -> None:
    (tmp_path / "a").write_bytes(b"no such file")
    with generic(tmp_path, format) as runner, pytest.raises(ConnectError, match="The file a can't be read behind its record 0"):
        polled(runner)


@pytest.mark.parametrize(
    ("changes", "setting", "text"),
    [
        ({"mode": "GENERIC"}, "topic.regex.list", "it says where records go"),
        ({"mode": "GENERIC", "topic.regex.list": "orders"}, "topic.regex.list", "a topic, a colon"),
        ({"mode": "GENERIC", "topic.regex.list": "orders:["}, "topic.regex.list", "no regular expression"),
        ({"format.class": "XmlFormat"}, "format.class", "JsonFormat"),
        ({"s3.bucket.name": "b"}, "store", "where files are"),
        ({"store": "nothing://x"}, "store", "It can't be used"),
        ({"store": "s3://b", "store.url": "http://127.0.0.1:1", "s3.part.retries": "0"}, "store.url", "can't be used"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(tmp_path: Path, changes: dict[str, str], setting: str, text: str) -> None:
    config = {"store": f"file://{tmp_path}", "format.class": "JsonFormat", **changes}
    errors = config_errors(ObjectStoreSourceConnector, config)
    assert errors.keys() == {setting}
    assert text in errors[setting][0]


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        ({"file": "a"}, {"records": 5}, None),
        ({"file": "a"}, {"records": 5, "whole": True}, None),
        ({"file": "a"}, None, None),
        ({"name": "a"}, {"records": 5}, "with the name of a file"),
        ({"file": "a"}, {"records": "5"}, "An offset of this connector"),
        ({"file": "a"}, {"records": 5, "line": 3}, "An offset of this connector"),
    ],
)
def test_offsets_that_are_altered(partition: Any, offset: Any, text: str | None) -> None:
    connector = ObjectStoreSourceConnector()
    assert connector.exactly_once_support({}) is ExactlyOnceSupport.SUPPORTED
    if text is None:
        assert connector.alter_offsets({}, [(partition, offset)])
    else:
        with pytest.raises(ConnectError, match=text):
            connector.alter_offsets({}, [(partition, offset)])


def test_it_is_a_plugin_like_others(tmp_path: Path) -> None:
    written(tmp_path, "ParquetFormat", 10)
    config = {"store": f"file://{tmp_path}", "format.class": "ParquetFormat"}
    check_plugin(ObjectStoreSourceConnector, config)


BROKEN: dict[str, tuple[str, Any, str]] = {
    "a name twice in JSON": ("JsonFormat", b'{"a":[{"b":1, "\\":" :2,"b" :3}]}\n', "an object has the name 'b' twice"),
    "two columns of a name in CSV": ("CsvFormat", b"a,a,b\n1,2,3\n", "two fields of the name 'a'"),
    "a quote that is never closed": ("CsvFormat", b'a\n1\n"2\n3\n', "unexpected end of data"),
    "a text behind a quote": ("CsvFormat", b'a\n1\n"2"x\n', "expected after"),
    "two columns of a name": (
        "ParquetFormat",
        pa.table([pa.array([1]), pa.array(["x"])], names=["a", "a"]),
        "two fields of the name 'a'",
    ),
    "a whole number beyond 64 bits": (
        "ParquetFormat",
        pa.table({"a": pa.array([2**64 - 1], pa.uint64())}),
        "no place in INT64",
    ),
    "one within a list": ("ParquetFormat", pa.table({"a": pa.array([[2**63]], pa.list_(pa.uint64()))}), "no place in INT64"),
    "a key twice": (
        "ParquetFormat",
        pa.table({"a": pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))}),
        "twice",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_no_record_has_is_refused(tmp_path: Path, name: str) -> None:
    format, content, reason = BROKEN[name]
    if isinstance(content, bytes):
        (tmp_path / "a").write_bytes(content)
    else:
        parquet.write_table(content, tmp_path / "a")
    with generic(tmp_path, format) as runner, pytest.raises(ConnectError, match=reason):
        polled(runner)


def test_a_uuid_of_avro_is_a_text(tmp_path: Path) -> None:
    own = {"type": "record", "name": "R", "fields": [{"name": "v", "type": {"type": "string", "logicalType": "uuid"}}]}
    with open(tmp_path / "a.avro", "wb") as file:
        fastavro.writer(file, fastavro.parse_schema(own), [{"v": uuid.UUID(int=5)}])
    with generic(tmp_path, "AvroFormat") as runner:
        assert [record.value["v"] for record in polled(runner)] == [str(uuid.UUID(int=5))]
