"""The object store sink in a local folder and on an S3 server: which files there are, and what is in them."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet
import pytest

from kconnect.api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    DATE_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    ConfigError,
    ConnectError,
    RetriableError,
    Schema,
    SchemaType,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
    values,
)
from kconnect.connectors.objects import partitioners, spool
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.testing import SinkRunner, check_plugin, config_errors
from tests.rig.systems.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server
from tests.rig.systems.small_disk import SmallDisk
from tests.support import starts

UTC = datetime.timezone.utc
ROW = schema.struct({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA})
JSON, PARQUET = {"format.class": "io.confluent.connect.s3.format.json.JsonFormat"}, {"format.class": "ParquetFormat"}
FORMATS = ("ParquetFormat", "AvroFormat", "JsonFormat", "CsvFormat")
TOLERANT = {"errors.tolerance": "all"}
START = int(datetime.datetime(2026, 1, 31, 23, 30, tzinfo=UTC).timestamp() * 1000)
MINUTE = 60_000


class Folder:
    """A connector and the local folder that it writes to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._next: dict[int, int] = {}

    def sink(self, config: dict[str, str], **settings: str) -> SinkRunner:
        more = {name.replace("_", "."): value for name, value in settings.items()}
        return SinkRunner(
            ObjectStoreSinkConnector,
            {"topics": "t", "store": f"file://{self.path}", "flush.size": "1000", **config, **more},
        )

    def record(self, value: Any, own: Schema | None = None, partition: int = 0, at: int = START) -> SinkRecord:
        offset = self._next.get(partition, 0)
        self._next[partition] = offset + 1
        own = value.schema if isinstance(value, Struct) else own
        return SinkRecord("t", partition, None, None, own, value, offset, timestamp=at)

    def rows(self, *ids: int, partition: int = 0) -> list[SinkRecord]:
        return [self.record(Struct(ROW, {"id": id, "name": f"n{id % 3}"}), partition=partition) for id in ids]

    def files(self) -> dict[str, bytes]:
        found = [path for path in self.path.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.path)): path.read_bytes() for path in sorted(found)}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "store")


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def read(name: str, data: bytes) -> list[dict[str, Any]]:
    """By a reader that is not ours."""
    if name.endswith(".gz"):
        name, data = name.removesuffix(".gz"), gzip.decompress(data)
    if name.endswith(".parquet"):
        found: list[dict[str, Any]] = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
        return found
    if name.endswith(".avro"):
        return [dict(each) for each in fastavro.reader(io.BytesIO(data))]  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(data.decode()))) if name.endswith(".csv") else lines(data)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_file_for_so_many_records(folder: Folder, format: str, size: int) -> None:
    with folder.sink({"format.class": format}, flush_size=str(size)) as sink:
        sink.put(folder.rows(*range(100)))
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 100}
    found = folder.files()
    assert len(found) == 100 // size
    names = [f"topics/t/partition=0/t+0+{first:010d}." for first in range(0, 100, size)]
    assert [name.partition(".")[0] + "." for name in found] == names
    assert [int(row["id"]) for name, data in found.items() for row in read(name, data)] == list(range(100))


def test_what_is_not_whole_is_not_sent_and_not_committed(folder: Folder) -> None:
    with folder.sink(JSON, flush_size="10") as sink:
        sink.put(folder.rows(*range(15)))
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 10}
        assert sink.commit_requested is False
        sink.put(folder.rows(*range(15, 20)))
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 20}
    assert list(folder.files()) == ["topics/t/partition=0/t+0+0000000000.json", "topics/t/partition=0/t+0+0000000010.json"]


TYPES = schema.struct(
    {
        "i8": INT8_SCHEMA,
        "i64": INT64_SCHEMA,
        "f32": FLOAT32_SCHEMA,
        "f64": FLOAT64_SCHEMA,
        "yes": BOOLEAN_SCHEMA,
        "text": STRING_SCHEMA,
        "data": BYTES_SCHEMA,
        "price": schema.decimal_schema(3),
        "day": DATE_SCHEMA,
        "tod": TIME_SCHEMA,
        "moment": TIMESTAMP_SCHEMA,
        "none": OPTIONAL_INT32_SCHEMA,
        "list": schema.array(OPTIONAL_INT32_SCHEMA),
        "map": schema.mapping(STRING_SCHEMA, INT32_SCHEMA),
        "inner": schema.struct({"day": DATE_SCHEMA, "n": INT32_SCHEMA}).optional_copy(),
        "level": Schema(SchemaType.INT32, default=7),
    }
)
VALUES = {
    "i8": -128,
    "i64": 2**63 - 1,
    "f32": 0.5,
    "f64": 1.1,
    "yes": True,
    "text": "é\n\"'",
    "data": b"\x00\xff",
    "price": decimal.Decimal("12345678901234567.125"),
    "day": datetime.datetime(2026, 1, 31, tzinfo=UTC),
    "tod": datetime.datetime(1970, 1, 1, 23, 59, 58, 123000, UTC),
    "moment": datetime.datetime(2026, 7, 31, 12, 0, 0, 789000, UTC),
    "list": [1, None, 2],
    "map": {"a": 1},
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("count", [1, 20])
def test_values_of_all_types(folder: Folder, format: str, count: int) -> None:
    inner = TYPES.field("inner")
    assert inner is not None
    some = {**VALUES, "inner": Struct(inner.schema, {"day": VALUES["day"], "n": 3})}
    with folder.sink({"format.class": format}, flush_size=str(count)) as sink:
        sink.put([folder.record(Struct(TYPES, some)) for _n in range(count)])
    ((name, data),) = folder.files().items()
    rows = read(name, data)
    assert rows == [rows[0]] * count
    row = rows[0]
    if format in ("ParquetFormat", "AvroFormat"):
        row["map"] = dict(row["map"])
        assert row == {
            **VALUES,
            "day": datetime.date(2026, 1, 31),
            "tod": datetime.time(23, 59, 58, 123000),
            "none": None,
            "inner": {"day": datetime.date(2026, 1, 31), "n": 3},
            "level": 7,
        }
    elif format == "JsonFormat":
        assert row["price"] == pytest.approx(12345678901234567.125)
        assert (row["day"], row["tod"], row["moment"]) == ("2026-01-31", "23:59:58.123", "2026-07-31T12:00:00.789Z")
        assert row["inner"] == {"day": "2026-01-31", "n": 3}
    else:
        assert (row["price"], row["day"], row["tod"]) == ("12345678901234567.125", "2026-01-31", "23:59:58.123")
        assert row["data"] == "AP8="
        assert json.loads(row["inner"]) == {"day": "2026-01-31", "n": 3}
        assert (row["text"], row["none"], row["list"]) == (VALUES["text"], "", "[1,null,2]")


def test_json_of_values_without_a_schema(folder: Folder) -> None:
    with folder.sink(JSON, flush_size="12") as sink:
        sink.put([folder.record({"n": n}) for n in range(11)])
        sink.put([folder.record({"other": [1, "x"]})])
    ((_name, data),) = folder.files().items()
    assert lines(data) == [*({"n": n} for n in range(11)), {"other": [1, "x"]}]


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_bytes_as_they_are(folder: Folder, compression: str) -> None:
    config = {"format.class": "ByteArrayFormat", "s3.compression.type": compression, "format.bytearray.extension": ".txt"}
    with folder.sink(config, flush_size="2") as sink:
        sink.put([folder.record(b"a\xff", BYTES_SCHEMA), folder.record(b"b", BYTES_SCHEMA)])
    ((name, data),) = folder.files().items()
    assert name.endswith(".txt.gz" if compression == "gzip" else ".txt")
    assert (gzip.decompress(data) if compression == "gzip" else data) == b"a\xff\nb\n"


@pytest.mark.parametrize(
    ("codec", "end"), [("snappy", ".snappy.parquet"), ("none", ".parquet"), ("gzip", ".gz.parquet"), ("zstd", ".zstd.parquet")]
)
def test_codecs_of_parquet(folder: Folder, codec: str, end: str) -> None:
    with folder.sink(PARQUET, parquet_codec=codec, flush_size="3") as sink:
        sink.put(folder.rows(1, 2, 3))
    ((name, data),) = folder.files().items()
    assert name == f"topics/t/partition=0/t+0+0000000000{end}"
    assert len(read(".parquet", data)) == 3


def test_folders_by_fields(folder: Folder) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "at": schema.struct({"city": STRING_SCHEMA})})
    inner = own.fields[1].schema
    cities = ["A/b", "C d", "A/b", "é"]
    some = [folder.record(Struct(own, {"id": n, "at": Struct(inner, {"city": city})})) for n, city in enumerate(cities)]
    config = {
        "partitioner.class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
        "partition.field.name": "at.city,id",
    }
    with folder.sink({**JSON, **config, "partition.field.name": "at.city"}, flush_size="4") as sink:
        sink.put(some)
    found = {name: [each["id"] for each in lines(data)] for name, data in folder.files().items()}
    assert found == {
        "topics/t/at.city=A%2Fb/t+0+0000000000.json": [0, 2],
        "topics/t/at.city=C d/t+0+0000000001.json": [1],
        "topics/t/at.city=é/t+0+0000000003.json": [3],
    }


@pytest.mark.parametrize(
    ("config", "folders"),
    [
        (
            {"partitioner.class": "HourlyPartitioner"},
            ["year=2026/month=01/day=31/hour=23", "year=2026/month=02/day=01/hour=00"],
        ),
        ({"partitioner.class": "DailyPartitioner"}, ["year=2026/month=01/day=31", "year=2026/month=02/day=01"]),
        ({"partitioner.class": "DailyPartitioner", "timezone": "Europe/Berlin"}, ["year=2026/month=02/day=01"]),
        (
            {
                "partitioner.class": "TimeBasedPartitioner",
                "path.format": "YYYY-MM-dd'T'HHmm",
                "partition.duration.ms": "1800000",
            },
            ["2026-01-31T2330", "2026-02-01T0000"],
        ),
    ],
)
@pytest.mark.parametrize("extractor", ["Record", "RecordField"])
def test_folders_by_time(folder: Folder, config: dict[str, str], folders: list[str], extractor: str) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "timestamp": TIMESTAMP_SCHEMA})
    times = [START + minutes * MINUTE for minutes in (0, 10, 29, 31, 20)]
    some = [folder.record(Struct(own, {"id": n, "timestamp": values.date_of(at)}), at=at) for n, at in enumerate(times)]
    with folder.sink({**JSON, **config, "timestamp.extractor": extractor}, flush_size="5") as sink:
        sink.put(some)
    found = {name.removeprefix("topics/t/").rpartition("/")[0]: lines(data) for name, data in folder.files().items()}
    assert sorted(found) == folders
    assert sorted(each["id"] for data in found.values() for each in data) == [0, 1, 2, 3, 4]


def test_the_clock_may_say_the_folder(folder: Folder) -> None:
    with folder.sink({**JSON, "partitioner.class": "HourlyPartitioner"}, flush_size="1") as sink:
        before = datetime.datetime.now(UTC)
        sink.put(folder.rows(1))
        after = datetime.datetime.now(UTC)
    (name,) = folder.files()
    assert name.rpartition("/")[0] in {f"topics/t/{each:year=%Y/month=%m/day=%d/hour=%H}" for each in (before, after)}


@pytest.mark.parametrize("text", ["'year'=YYYY/EEE", "YY", "MMM", "'a'=k"])
def test_patterns_that_are_not_understood(text: str) -> None:
    with pytest.raises(ConfigError, match="is not understood"):
        partitioners.pattern(text)


def test_a_file_ends_before_a_record_that_is_too_late(folder: Folder) -> None:
    times = [0, 1, 9, 10, 11, 25, 26]
    with folder.sink(JSON, rotate_interval_ms=str(10 * MINUTE)) as sink:
        sink.put([folder.record({"n": at}, at=START + at * MINUTE) for at in times])
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 5}
    assert [[each["n"] for each in lines(data)] for data in folder.files().values()] == [[0, 1, 9], [10, 11]]


def test_the_clock_may_end_files(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    with folder.sink(JSON, rotate_schedule_interval_ms="60000") as sink:
        sink.put(folder.rows(1, 2))
        sink.put([])
        assert folder.files() == {}
        now[0] = 1020.0
        sink.put([])
        assert list(folder.files()) == ["topics/t/partition=0/t+0+0000000000.json"]
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 2}


def test_days_of_the_clock_begin_in_the_zone(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    noon = datetime.datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()
    monkeypatch.setattr(time, "time", lambda: noon)
    with folder.sink(JSON, rotate_schedule_interval_ms=str(24 * 60 * MINUTE), timezone="Asia/Tokyo") as sink:
        task: Any = sink.task
        assert task._next_schedule() == datetime.datetime(2026, 1, 31, 15, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("format", FORMATS)
def test_many_bytes_end_files(folder: Folder, format: str) -> None:
    own = schema.struct({"text": STRING_SCHEMA})
    with folder.sink({"format.class": format}, rotate_bytes="20000") as sink:
        for number in range(10):
            sink.put([folder.record(Struct(own, {"text": f"{number}" * 9000}))])
    assert 2 <= len(folder.files()) <= 5


@pytest.mark.parametrize("format", FORMATS)
def test_another_schema_begins_a_file(folder: Folder, format: str) -> None:
    wide = schema.struct({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})
    with folder.sink({"format.class": format}, flush_size="100") as sink:
        sink.put(folder.rows(0, 1))
        sink.put([folder.record(Struct(wide, {"id": 2, "more": "m"})), *folder.rows(3)])
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 3}
    assert [[int(row["id"]) for row in read(name, data)] for name, data in folder.files().items()] == [[0, 1], [2]]


def test_partitions_have_files_of_their_own(folder: Folder) -> None:
    with folder.sink(JSON, flush_size="3") as sink:
        sink.put([each for n in range(6) for each in (*folder.rows(n), *folder.rows(10 + n, partition=4))])
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 6, TopicPartition("t", 4): 6}
    found = {name: [each["id"] for each in lines(data)] for name, data in folder.files().items()}
    assert found["topics/t/partition=4/t+4+0000000003.json"] == [13, 14, 15]
    assert len(found) == 4


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("sizes", [[7, 5, 9, 4], [1] * 25, [25]])
def test_after_a_crash_the_same_files_are_made_again(folder: Folder, tmp_path: Path, format: str, sizes: list[int]) -> None:
    config = {"format.class": format, "partitioner.class": "FieldPartitioner", "partition.field.name": "name"}
    rows = folder.rows(*range(25))
    undisturbed = Folder(tmp_path / "other")
    with undisturbed.sink(config, flush_size="10") as sink:
        sink.put(rows)
    with folder.sink(config, flush_size="10") as sink:
        begin = 0
        for size in sizes:
            sink.put(rows[begin : begin + size])
            begin += size
            # What was sent, but not committed, comes again.
            sink.restart(crash=True)
            begin = sink.committed.get(TopicPartition("t", 0), 0)
        while begin < 25:
            sink.put(rows[begin : begin + 6])
            sink.flush()
            begin += 6
    assert folder.files() == undisturbed.files()


def test_a_put_that_comes_again_is_taken_once(folder: Folder) -> None:
    with folder.sink(JSON, flush_size="4") as sink:
        some = folder.rows(0, 1, 2)
        sink.put(some)
        sink.put([*some, *folder.rows(3)])
    ((_name, data),) = folder.files().items()
    assert [each["id"] for each in lines(data)] == [0, 1, 2, 3]


def test_a_topic_that_is_made_anew_is_not_passed_over(folder: Folder) -> None:
    with folder.sink(JSON, flush_size="3") as sink:
        sink.put(folder.rows(*range(8)))
        # Offsets begin at 0 again, and what was taken and not sent is not in Kafka any more.
        anew = folder.rows(20, 21)
        for offset, each in enumerate(anew):
            each.original_offset = offset
        sink.put(anew)
        sink.put([])
        assert {each["id"] for data in folder.files().values() for each in lines(data)} >= {6, 7}
    names = sorted(folder.files())
    assert [[each["id"] for each in lines(folder.files()[name])] for name in names[1:]] == [[3, 4, 5], [6, 7]]


@pytest.mark.parametrize("format", FORMATS)
def test_a_bad_record_is_told_and_the_others_are_written(folder: Folder, format: str) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "moment": TIMESTAMP_SCHEMA})
    far = values.date_of(10**15)
    some = [folder.record(Struct(own, {"id": n, "moment": far if n == 13 else VALUES["moment"]})) for n in range(20)]
    with folder.sink({"format.class": format, **TOLERANT}, flush_size="20") as sink:
        sink.put(some)
        ((record, _error),) = sink.reported
        assert record.original_offset == 13
    ((name, data),) = folder.files().items()
    assert [int(row["id"]) for row in read(name, data)] == [n for n in range(20) if n != 13]


def test_records_that_no_file_takes(folder: Folder) -> None:
    with folder.sink({**PARQUET, **TOLERANT}, flush_size="3") as sink:
        sink.put([folder.record({"id": 1}), *folder.rows(2), folder.record(None)])
        assert [(record.original_offset, str(error)[:30]) for record, error in sink.reported] == [
            (0, "ParquetFormat needs a schema, "),
            (2, "It has no value, and behavior."),
        ]


def test_without_a_queue_a_bad_record_fails_the_task(folder: Folder) -> None:
    config = {**JSON, "partitioner.class": "FieldPartitioner", "partition.field.name": "x"}
    with (
        folder.sink(config) as sink,
        pytest.raises(ConnectError, match="record at offset 0 of t-0 can't be written: Its value has no"),
    ):
        sink.put(folder.rows(1))


def test_records_without_a_value_may_be_passed_over(folder: Folder) -> None:
    with folder.sink(JSON, behavior_on_null_values="ignore", flush_size="2") as sink:
        sink.put([folder.record(None), *folder.rows(1, 2), folder.record(None)])
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 4}


@pytest.mark.parametrize(
    ("config", "setting", "text"),
    [
        ({"store": ""}, "store", "Either store or s3.bucket.name"),
        ({"format.class": "OrcFormat"}, "format.class", "ParquetFormat"),
        ({"partitioner.class": "FieldPartitioner"}, "partition.field.name", "needs the fields"),
        ({"partitioner.class": "TimeBasedPartitioner"}, "path.format", "needs the folder"),
        ({"partitioner.class": "TimeBasedPartitioner", "path.format": "EEE"}, "path.format", "EEE is not understood"),
        ({"schema.compatibility": "SIDEWAYS"}, "schema.compatibility", "NONE"),
        ({"flush.size": "0"}, "flush.size", "at least 1"),
        ({"timezone": "Mars/Base"}, "timezone", "no such time zone"),
        ({"store": "ftp://x/y"}, "store", "can't be used"),
        ({"store": "gs://x", "store.options.nonsense": "1"}, "store", "nonsense"),
        ({"aws.access.key.id": "x"}, "aws.secret.access.key", "belong together"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(tmp_path: Path, config: dict[str, str], setting: str, text: str) -> None:
    errors = config_errors(
        ObjectStoreSinkConnector, {"topics": "t", "store": f"file://{tmp_path}", "flush.size": "1", **JSON, **config}
    )
    assert list(errors) == [setting]
    assert text in errors[setting][0]


def test_the_plugin_keeps_to_the_rules(folder: Folder) -> None:
    check_plugin(
        ObjectStoreSinkConnector,
        {"topics": "t", "store": f"file://{folder.path}", "flush.size": "2", **JSON},
        folder.rows(1, 2),
    )


@pytest.fixture(scope="module")
@starts("process")
def server() -> Iterator[S3Server]:
    made = S3Server().start()
    yield made
    made.stop()


def of_s3(server: S3Server, bucket: str) -> dict[str, str]:
    return {
        "topics": "t",
        "s3.bucket.name": bucket,
        "s3.region": REGION,
        "store.url": server.url,
        "aws.access.key.id": ACCESS_KEY,
        "aws.secret.access.key": SECRET_KEY,
        "flush.size": "100",
    }


@pytest.mark.process
@pytest.mark.parametrize("format", FORMATS)
def test_files_on_s3(server: S3Server, folder: Folder, format: str) -> None:
    bucket = server.bucket(f"b-{format.lower()}")
    with SinkRunner(ObjectStoreSinkConnector, {**of_s3(server, bucket), "format.class": format}) as sink:
        sink.put(folder.rows(*range(250)))
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 200}
    found = server.files(bucket)
    assert [int(row["id"]) for name in sorted(found) for row in read(name, found[name])] == list(range(200))


@pytest.mark.process
def test_a_large_file_is_sent_by_parts(server: S3Server, folder: Folder) -> None:
    bucket = server.bucket("b-large")
    with SinkRunner(ObjectStoreSinkConnector, {**of_s3(server, bucket), **JSON, "flush.size": "20"}) as sink:
        sink.put([folder.record({"n": n, "text": "x" * 1_000_000}) for n in range(20)])
    ((_name, data),) = server.files(bucket).items()
    assert [each["n"] for each in lines(data)] == list(range(20))
    assert server.client.list_multipart_uploads(Bucket=bucket).get("Uploads", []) == []


@pytest.mark.process
def test_what_s3_says(server: S3Server, folder: Folder) -> None:
    errors = config_errors(ObjectStoreSinkConnector, {**of_s3(server, "no-such-bucket"), **JSON})
    assert "NoSuchBucket" in errors["s3.bucket.name"][0]
    away = {**of_s3(server, "b"), **JSON, "store.url": "http://127.0.0.1:1"}
    refused = config_errors(ObjectStoreSinkConnector, away)
    assert list(refused) == ["store.url"]
    assert SECRET_KEY not in str(errors) + str(refused)


@pytest.mark.process
def test_a_store_that_is_away_is_tried_again(server: S3Server, folder: Folder) -> None:
    bucket = server.bucket("b-away")
    place = {**of_s3(server, bucket), **JSON, "flush.size": "2", "retry.backoff.ms": "10", "s3.part.retries": "1"}
    with SinkRunner(ObjectStoreSinkConnector, place) as sink:
        sink.put(folder.rows(0, 1))
        some = folder.rows(2, 3, 4)
        task: Any = sink.task
        before, task._store = task._store, type(task._store)({**task._config, "store.url": "http://127.0.0.1:1"}, {}, 2)
        with pytest.raises(RetriableError, match=r"t\+0\+0000000002\.json can't be sent to s3://b-away: ") as raised:
            sink.put(some)
        assert SECRET_KEY not in str(raised.value)
        assert sink.timeout_ms == 10
        with pytest.raises(ConnectError, match=r"s3\.part\.retries is 1"):
            sink.put(some)
        task._store = before
        sink.put(some)
        sink.flush()
        assert sink.committed == {TopicPartition("t", 0): 4}
    assert [[each["id"] for each in lines(data)] for data in server.files(bucket).values()] == [[0, 1], [2, 3]]


@pytest.mark.process
def test_a_full_disk_loses_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SmallDisk().start()
    try:
        records = [folder.record(Struct(ROW, {"id": n, "name": str(n) * 100})) for n in range(2000)]
        with folder.sink(JSON, flush_size="2000", spool_dir=str(disk.directory)) as sink:
            disk.fill()
            with pytest.raises(RetriableError, match=r"are left free for others: make room there, or have spool\.dir name"):
                sink.put(records)
            assert sink.timeout_ms
            # Others may fill it after that look.
            monkeypatch.setattr(spool, "LEAST", 0)
            with pytest.raises(ConnectError, match=r"No space left on device. spool\.dir names its folder: make room there"):
                sink.put(records)
            assert sink.committed == {}
        monkeypatch.undo()
        disk.clear()
        with folder.sink(JSON, flush_size="2000", spool_dir=str(disk.directory)) as sink:
            sink.put(records)
            sink.put([])
        ((_, data),) = folder.files().items()
        assert [each["id"] for each in lines(data)] == list(range(2000))
    finally:
        disk.stop()


OLD = schema.struct({"id": INT32_SCHEMA, "name": STRING_SCHEMA}, name="Row", version=1)
NEW = schema.struct({"id": INT32_SCHEMA, "name": STRING_SCHEMA, "more": INT32_SCHEMA.replace(default=7)}, name="Row", version=2)
WIDE = schema.struct(
    {"id": INT64_SCHEMA, "name": OPTIONAL_STRING_SCHEMA, "at": schema.OPTIONAL_FLOAT64_SCHEMA}, name="Row", version=3
)


@pytest.mark.parametrize(
    ("compatibility", "order", "files"),
    [
        # A letter is a record of that version; what is together is in one file.
        ("NONE", "onon", ["o", "n", "o", "n"]),
        ("BACKWARD", "onono", ["o", "nono"]),
        ("FULL", "oonon", ["oo", "non"]),
        ("FORWARD", "onon", ["onon"]),
        ("FORWARD", "noon", ["n", "oon"]),
    ],
)
def test_versions_of_a_schema_share_files(folder: Folder, compatibility: str, order: str, files: list[str]) -> None:
    made = {
        "o": lambda n: Struct(OLD, {"id": n, "name": "old"}),
        "n": lambda n: Struct(NEW, {"id": n, "name": "new", "more": n}),
    }
    with folder.sink(PARQUET, schema_compatibility=compatibility) as runner:
        # What is required in the older one is there.
        runner.put([folder.record(made[each](0 if each == "n" else n)) for n, each in enumerate(order)])
        runner.put([folder.record(Struct(ROW, {"id": 1, "name": "end"}))])
        runner.put([])
    found = [read(name, data) for name, data in folder.files().items()]
    assert [len(rows) for rows in found] == [len(each) for each in files]
    for rows, versions in zip(found, files):
        first = versions[0]
        assert all(row.keys() == ({"id", "name"} if first == "o" else {"id", "name", "more"}) for row in rows)
        assert [row.get("more") for row in rows] == [
            None if first == "o" else 7 if version == "o" else 0 for version in versions
        ]


def test_a_version_that_does_not_fit_begins_a_file(folder: Folder) -> None:
    with folder.sink(PARQUET, schema_compatibility="BACKWARD", topics_dir="wide") as runner:
        runner.put([folder.record(Struct(WIDE, {"id": 2**40, "name": None, "at": 1.5}))])
        runner.put([folder.record(Struct(OLD, {"id": 1, "name": "n"}))])
        runner.put([folder.record(Struct(ROW, {"id": 1, "name": "end"}))])
        runner.put([])
    ((name, data),) = folder.files().items()
    assert read(name, data) == [{"id": 2**40, "name": None, "at": 1.5}, {"id": 1, "name": "n", "at": None}]
    narrow = schema.struct({"id": STRING_SCHEMA, "name": STRING_SCHEMA}, name="Row", version=1)
    unversioned = schema.struct({"id": INT64_SCHEMA, "name": STRING_SCHEMA}, name="Row")
    with folder.sink(PARQUET, schema_compatibility="BACKWARD") as runner:
        runner.put([folder.record(Struct(NEW, {"id": 1, "name": "n", "more": 1}))])
        runner.put([folder.record(Struct(narrow, {"id": "x", "name": "n"}))])
        runner.put([folder.record(Struct(unversioned, {"id": 1, "name": "n"}))])
        runner.put([folder.record(Struct(ROW, {"id": 1, "name": "end"}))])
        runner.put([])
    assert len(folder.files()) == 1 + 3
