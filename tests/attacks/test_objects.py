"""Attacks on object stores by names, answers, and records that name a file. What files hold: `test_object_files.py`."""

from __future__ import annotations

import datetime
import decimal
import html
import io
import json
import os
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from obstore import exceptions

from kconnect.api import ConnectError, RetriableError, SinkRecord, Struct, schema
from kconnect.connectors import patterns
from kconnect.connectors.objects import hadoop, opening, s3_names, settings, source_settings, stores
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.objects.hadoop import HadoopStore
from kconnect.connectors.objects.source import ObjectStoreSourceConnector
from kconnect.converters.json import JsonConverter
from kconnect.testing import SinkRunner, SourceRunner
from tests.attacks import hostile
from tests.attacks.hostile import Answer, Asked, Hostile, Reply, bomb
from tests.attacks.test_object_files import MB, pieces

# A task.


@pytest.mark.parametrize("on_error", ["fail", "log"])
def test_a_file_that_is_too_large_is_not_fetched(tmp_path: Path, on_error: str) -> None:
    """Who may put a file there fills the disk of the host: the file is left, and its reason names the setting."""
    store, spool = tmp_path / "store", tmp_path / "spool"
    (store / "topics").mkdir(parents=True)
    spool.mkdir()
    (store / "topics" / "t+0+0.json").write_bytes(b"1\n" * 100_000)
    (store / "topics" / "t+0+1.json").write_bytes(b"1\n2\n")
    config = {"store": f"file://{store}", "format.class": "JsonFormat", "spool.dir": str(spool), "file.max.bytes": "1000"}
    with SourceRunner(ObjectStoreSourceConnector, {**config, "behavior.on.error": on_error}) as runner:
        if on_error == "fail":
            with pytest.raises(ConnectError, match=r"file\.max\.bytes is 1000"):
                runner.read(1)
        else:
            assert [each.value for each in runner.read(2)] == [1, 2]
        assert sum(each.stat().st_size for each in spool.iterdir()) < 1000


def test_a_store_lists_no_files_without_an_end(tmp_path: Path) -> None:
    """Who may put files there puts so many that their names fill the memory: the task fails, and names the limit."""
    folder = tmp_path / "topics"
    folder.mkdir()
    for number in range(30):
        (folder / f"t+0+{number}.json").write_bytes(b"1\n")
    config = {"store": f"file://{tmp_path}", "format.class": "JsonFormat", "files.max.count": "20"}
    with (
        SourceRunner(ObjectStoreSourceConnector, config) as runner,
        pytest.raises(ConnectError, match=r"files\.max\.count is 20"),
    ):
        runner.poll()


UNNAMED = (
    *("t+99999999999+0.json", "t+\u0663+0.json", f"t+0+{'9' * 100}.json", "t+0.json"),
    *("a b+0+0.json", "\u0442+0+0.json", f"{'t' * 240}+x+0+0.json", "a+t+0+0.json", "+0+0.json"),
)


@pytest.mark.parametrize("name", UNNAMED, ids=lambda name: ascii(name)[:30])
def test_a_file_names_a_topic_and_a_partition_or_is_none_of_ours(tmp_path: Path, name: str) -> None:
    """Who may put a file there names a topic or a partition that Kafka has not: the file is left, and the others are read."""
    folder = tmp_path / "topics"
    folder.mkdir()
    (folder / name).write_bytes(b"1\n")
    (folder / "t+0+1.json").write_bytes(b"2\n")
    config = {"store": f"file://{tmp_path}", "format.class": "JsonFormat"}
    with SourceRunner(ObjectStoreSourceConnector, config) as runner:
        assert [each.value for each in runner.read(1)] == [2]


def test_a_file_names_a_topic_that_is_to_be_brought_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Who may put a file there names somebody else's topic: the config says which are brought back, or the log that it must."""
    folder = tmp_path / "topics" / "orders"
    folder.mkdir(parents=True)
    for topic in ("payments", "orders", "orders2"):
        (folder / f"{topic}+0+1.json").write_bytes(b"1\n")
    config = {"store": f"file://{tmp_path}", "format.class": "JsonFormat"}
    with SourceRunner(ObjectStoreSourceConnector, {**config, "restore.topics.regex": "orders"}) as runner:
        assert [each.topic for each in runner.read(1)] == ["orders"]
        assert not runner.poll()
    assert "restore.topics.regex" not in caplog.text
    with SourceRunner(ObjectStoreSourceConnector, config):
        assert "restore.topics.regex" in caplog.text


def test_the_name_of_a_file_makes_no_line_of_a_log(tmp_path: Path) -> None:
    """Who may put a file there writes a line of a log into its name, which is in the reason of a failure."""
    folder = tmp_path / "topics" / "a\u20282026-01-01 INFO forged\u202e"
    folder.mkdir(parents=True)
    (folder / "t+0+1.json").write_bytes(b"no JSON\n")
    config = {"store": f"file://{tmp_path}", "format.class": "JsonFormat"}
    with SourceRunner(ObjectStoreSourceConnector, config) as runner, pytest.raises(ConnectError) as raised:
        for _ in range(3):
            runner.poll()
    assert str(raised.value).isprintable()


# What a record names.

ROW = schema.struct({"name": schema.STRING_SCHEMA})
BAD_TOPICS = (
    "other/partition=0/x/other",
    "a/b",
    "../up",
    "..",
    "a/../../b",
    "/etc",
    "a\nb",
    "a\0b",
    "x" * 300,
    "",
    ".",
    "a\\..\\b",
)


def file_sink(tmp_path: Path, **more: str) -> SinkRunner:
    config = {"topics": "t", "store": f"file://{tmp_path}/store", "format.class": "JsonFormat", "flush.size": "1"}
    config["errors.tolerance"] = "all"
    return SinkRunner(ObjectStoreSinkConnector, config | {name.replace("_", "."): value for name, value in more.items()})


def renamed(offset: int, topic: str) -> SinkRecord:
    """A record whose topic a transform has changed to what its value says."""
    made = SinkRecord("t", 0, None, None, None, {"a": offset}, offset)
    return made.new_record(topic=topic)


@pytest.mark.parametrize("topic", BAD_TOPICS, ids=ascii)
def test_a_topic_that_a_record_chooses_leaves_no_folder(tmp_path: Path, topic: str) -> None:
    """Who may write to the topic chooses the topic of files by a transform: outside of the store's folder there is nothing."""
    with file_sink(tmp_path) as runner:
        runner.put([renamed(0, "t"), renamed(1, topic), renamed(2, "t")])
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert [each.name for each in tmp_path.iterdir()] == ["store"]
    assert len(list((tmp_path / "store").rglob("*.json"))) == 2


def test_a_field_that_no_folder_of_hdfs_has_is_one_records_fault(tmp_path: Path) -> None:
    """Who may write to the topic sends a field with a colon, which HDFS refuses: the task failed when it sent the file."""
    with file_sink(tmp_path, partitioner_class="FieldPartitioner", partition_field_name="name", flush_size="100") as runner:
        runner.config["store"] = "webhdfs://127.0.0.1:1/lake"
        runner.restart(crash=True)
        runner.put(
            [SinkRecord("t", 0, None, None, ROW, Struct(ROW, {"name": name}), at) for at, name in enumerate(("a", "b:c"))]
        )
        assert [each.original_offset for each, _ in runner.reported] == [1]


@pytest.mark.parametrize("assigned", [True, False])
def test_a_record_replaces_no_file_of_another_topic(tmp_path: Path, assigned: bool) -> None:
    """Who may write to one topic chooses, by a transform, another one that the sink reads: files of that had the same names."""
    with file_sink(tmp_path, topics="t,other") as runner:
        own = [SinkRecord("other", 0, None, None, None, {"a": "own"}, 0)] if assigned else []
        runner.put([*own, renamed(0, "other"), renamed(1, "new")])
        runner.put([])
        assert [each.original_topic for each, _ in runner.reported] == ["t"]
    found = {path.name: json.loads(path.read_bytes())["a"] for path in (tmp_path / "store").rglob("*.json")}
    expected = {"other+0+0000000000.json": "own"} if assigned else {}
    assert found == {**expected, "new+0+0000000001.json": 1}


@pytest.mark.parametrize("name", ["x" * 2000, "é" * 200, "\ud800", "\0"], ids=lambda name: ascii(name)[:10])
def test_a_field_that_makes_a_folder_is_one_records_fault(tmp_path: Path, name: str) -> None:
    """Who may write to the topic sends a field that no folder can be named by: the other records are in files."""
    with file_sink(tmp_path, partitioner_class="FieldPartitioner", partition_field_name="name") as runner:
        runner.put(
            [SinkRecord("t", 0, None, None, ROW, Struct(ROW, {"name": each}), at) for at, each in enumerate(("a", name, "b"))]
        )
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] in ([1], [])
        bad = len(runner.reported)
    assert len(list((tmp_path / "store").rglob("*.json"))) == 3 - bad
    assert bad or name == "\0"


@pytest.mark.parametrize("schemas", [True, False])
def test_a_thousand_folders_do_not_take_all_files_of_the_host(tmp_path: Path, schemas: bool) -> None:
    """Who may write to the topic sends another folder with each record: only so many files are open, and none is lost."""
    fields = {"partitioner_class": "FieldPartitioner", "partition_field_name": "name", "flush_size": "100000"}
    with file_sink(tmp_path, **fields, files_max_open="20", spool_dir=str(tmp_path)) as runner:
        values = [Struct(ROW, {"name": f"n{number % 70}"}) for number in range(140)]
        before = len(os.listdir("/proc/self/fd"))
        for at, value in enumerate(values):
            given = value if schemas else {"name": value.get("name")}
            runner.put([SinkRecord("t", 0, None, None, ROW if schemas else None, given, at)])
            assert len(os.listdir("/proc/self/fd")) - before < 30
        assert runner.reported == []
        assert len(list((tmp_path / "store").rglob("*.json"))) == 120


@pytest.mark.parametrize("moment", [10**18, -(10**18), 10**30, float("nan"), float("inf"), "0000-01-01T00:00:00Z"], ids=str)
def test_a_time_that_is_none_is_one_records_fault(tmp_path: Path, moment: Any) -> None:
    """Who may write to the topic sends a time that no calendar has: the other records are in files."""
    by_time = {
        "partitioner_class": "TimeBasedPartitioner",
        "path_format": "YYYY/MM",
        "partition_duration_ms": "3600000",
        "timestamp_extractor": "RecordField",
        "timestamp_field": "at",
    }
    with file_sink(tmp_path, **by_time) as runner:
        runner.put([SinkRecord("t", 0, None, None, None, {"at": each}, at) for at, each in enumerate((0, moment, 0))])
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert len(list((tmp_path / "store").rglob("*.json"))) == 2


PRICE = schema.struct({"id": schema.INT32_SCHEMA, "price": schema.decimal_schema(2), "note": schema.STRING_SCHEMA})
ODD_ROWS = {
    "half a pair": (decimal.Decimal("1.50"), "\ud800"),
    "another scale": (decimal.Decimal("1.2345"), "x"),
    "long": (decimal.Decimal("1" * 70), "x"),
    "no number": (decimal.Decimal("NaN"), "x"),
}


@pytest.mark.parametrize("kind", ["AvroFormat", "ParquetFormat", "CsvFormat"])
@pytest.mark.parametrize("odd", ODD_ROWS)
@pytest.mark.parametrize("size", [1, 5], ids=["one by one", "together"])
def test_a_record_that_fails_halfway_leaves_nothing_in_the_file(tmp_path: Path, kind: str, odd: str, size: int) -> None:
    """Who may write to the topic sends what fails in the midst of a record: of Avro, nobody could read the others beside it."""
    good = (decimal.Decimal("1.50"), "n")
    rows = [good, good, ODD_ROWS[odd], good, good]
    records = [SinkRecord("t", 0, None, None, PRICE, Struct.unchecked(PRICE, [at, *row]), at) for at, row in enumerate(rows)]
    with file_sink(tmp_path, **{"format_class": kind, "flush_size": "1000"}) as runner:
        for begin in range(0, len(records), size):
            runner.put(records[begin : begin + size])
        bad = [each.original_offset for each, _ in runner.reported]
        task: Any = runner.task
        task._files["t", 0].finish()
        runner.put([])
    (path,) = (path for path in (tmp_path / "store").rglob("*") if path.is_file())
    found = [row for rows in pieces(kind, path) for row in rows]
    assert bad in ([2], [])
    assert [int(row["id"]) for row in found] == [at for at in range(5) if at not in bad]


# WebHDFS.


@pytest.mark.parametrize("size", [1, 20], ids=["one by one", "together"])
def test_a_time_to_come_holds_back_no_records_of_others(tmp_path: Path, size: int) -> None:
    """Who may write to a topic sends a record of the year 2500: until then no record would have been too late for its file."""
    minute = 60_000
    moments = [16_725_225_600_000, *(each * minute for each in range(1, 20))]
    more = {"rotate_interval_ms": str(5 * minute), "flush_size": "1000000"}
    records = [SinkRecord("t", 0, None, None, None, {"n": at}, at, timestamp=moment) for at, moment in enumerate(moments)]
    with file_sink(tmp_path, **more) as runner:
        for begin in range(0, len(records), size):
            runner.put(records[begin : begin + size])
        committed = runner.flush()
    assert committed == {("t", 0): 17}
    files = sorted((tmp_path / "store").rglob("*.json"), key=lambda path: int(path.stem.rpartition("+")[2]))
    assert [[json.loads(line)["n"] for line in path.read_text().splitlines()] for path in files] == [
        [*range(7)],
        [*range(7, 12)],
        [*range(12, 17)],
    ]


def hdfs(service: Hostile, **more: str) -> HadoopStore:
    given = {"store": f"webhdfs://{service.host}:{service.port}/lake", "hdfs.user": "me", **more}
    props = {"name": "n", "topics": "t", "format.class": "JsonFormat", "flush.size": "1", **given}
    return HadoopStore(settings.CONFIG.parse(props), 2)


def leading(place: str) -> Answer:
    return lambda asked: Reply(307, {"Location": place, "Content-Length": "0"}, b"")


def test_a_name_node_leads_to_data_nodes_only(tmp_path: Path) -> None:
    """Who is the name node leads us to another service inside: it is not asked, and what it says is in no file."""
    local = tmp_path / "a"
    local.write_bytes(b"mine")
    with Hostile() as node, Hostile() as inside:
        inside.default = lambda asked: Reply(201 if asked.method == "PUT" else 200, {}, b"secret")
        for place in ("/latest/meta-data", "/webhdfs/v1/../../latest", "/webhdfs/v1/%2e%2e/admin", "/webhdfs/v10/x"):
            node.default = leading(inside.url + place)
            with pytest.raises(exceptions.BaseError):
                hdfs(node).get("a", io.BytesIO())
            with pytest.raises(exceptions.BaseError):
                hdfs(node).put("a", local)
            with pytest.raises(exceptions.BaseError):
                list(hdfs(node).names(""))
        assert inside.asked == []
        node.default = leading(inside.url + "/webhdfs/v1/lake/a?op=OPEN")
        found = io.BytesIO()
        hdfs(node).get("a", found)
        assert found.getvalue() == b"secret"


def test_an_answer_of_a_name_node_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is the name node answers without an end, slowly or quickly, packs an answer a thousandfold, or leads in a circle."""
    monkeypatch.setattr(hadoop, "_MOST_BYTES", MB)
    monkeypatch.setattr(hadoop, "_TIMES", 1)
    with Hostile() as node:
        for answer in (node.dripping(), node.endless(), bomb(16 * MB), leading(f"{node.url}/webhdfs/v1/lake?op=LISTSTATUS")):
            node.default = answer
            with pytest.raises(exceptions.BaseError):
                list(hdfs(node, **{"store.timeout.ms": "1000"}).names(""))
        node.default = bomb(MB)
        with pytest.raises(exceptions.BaseError):
            hdfs(node).get("a", io.BytesIO())


def _folder(path: Path) -> None:
    (path / "a").mkdir()
    (path / "a" / "again").symlink_to(path)


ODD: dict[str, Callable[[Path], object]] = {
    "no UTF-8": lambda path: Path(os.fsdecode(os.fsencode(path) + b"/\xff\xfe.json")).write_bytes(b"3\n"),
    "a line feed": lambda path: (path / "x\ny.json").write_bytes(b"3\n"),
    "a link to itself": lambda path: (path / "f.json").symlink_to("f.json"),
    "a link to the folder above": _folder,
    "a link to nothing": lambda path: (path / "f.json").symlink_to("nothing"),
    "no file": lambda path: os.mkfifo(path / "f.json"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_file_that_is_none_ends_no_source(tmp_path: Path, name: str) -> None:
    """Who may put a file there puts one that can't be listed, or a link: the others are read. It ended the task for good."""
    folder = tmp_path / "topics"
    folder.mkdir()
    (folder / "a.json").write_bytes(b"1\n")
    ODD[name](folder)
    (folder / "z#1.json").write_bytes(b"2\n")
    config = {
        "store": f"file://{tmp_path}",
        "mode": "GENERIC",
        "topic.regex.list": "t:.*",
        "format.class": "JsonFormat",
        "s3.poll.interval.ms": "1",
    }
    with SourceRunner(ObjectStoreSourceConnector, config) as runner:
        found = [record.value for _ in range(5) for record in runner.poll() or []]
    assert sorted(found) == [1, 2]


def test_a_link_leads_no_source_out_of_what_the_worker_allows(tmp_path: Path) -> None:
    """Who may put a file there puts a link: what it leads to is not even listed, and the files beside it are read."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.json").write_bytes(b"3\n")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_bytes(b"1\n")
    (folder / "file.json").symlink_to(tmp_path / "out" / "secret.json")
    (folder / "folder").symlink_to(tmp_path / "out")
    (folder / "within.json").symlink_to("a.json")
    props = {"store": f"file://{folder}", "format.class": "JsonFormat"}
    store = opening.opened(source_settings.CONFIG.parse(props), props, {"connector.files.allowed.paths": str(folder)})
    assert [listed.name for listed in store.names("")] == ["a.json", "within.json"]


def test_a_file_that_was_away_for_a_moment_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Who may put a file there takes it away after it was listed, and puts it back before the next look: it was never read."""
    folder = tmp_path / "topics"
    folder.mkdir()
    (folder / "a.json").write_bytes(b"1\n")
    (folder / "b.json").write_bytes(b"2\n")
    config = {"store": f"file://{tmp_path}", "mode": "GENERIC", "topic.regex.list": "t:.*", "format.class": "JsonFormat"}
    values: list[Any] = []
    with SourceRunner(ObjectStoreSourceConnector, {**config, "s3.poll.interval.ms": "1"}) as runner:
        while not values:
            values += [record.value for record in runner.poll() or []]
        away = folder / ("b.json" if values == [1] else "a.json")
        away.unlink()
        while "not there any more" not in caplog.text:
            runner.poll()
        away.write_bytes(b"3\n")
        for _ in range(5):
            values += [record.value for record in runner.poll() or []]
    assert values[1:] == [3]
    assert caplog.text.count("not there any more") == 1


def test_a_name_that_no_client_has_keeps_no_sink_from_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Who may put a file there calls it so that it can't be listed: sinks still begin. A source that has its login from the
    machine's cloud says which file it is.
    """
    monkeypatch.setattr(s3_names.Bucket, "can_ask", False)
    listed = """<ListBucketResult><Name>b</Name><KeyCount>1</KeyCount><IsTruncated>false</IsTruncated>
        <Contents><Key>topics//a.json</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"e"</ETag><Size>1</Size>
        </Contents></ListBucketResult>"""
    with Hostile() as bucket:
        bucket.default = lambda asked: Reply(body=listed.encode(), headers={"Content-Type": "application/xml"})
        login = {"aws.access.key.id": "a", "aws.secret.access.key": "b"}
        props = {"s3.bucket.name": "bucket", "store.url": bucket.url, **login, "format.class": "JsonFormat"}
        config = {**props, "mode": "GENERIC", "topic.regex.list": "t:.*"}
        opening.opened(source_settings.CONFIG.parse(config), config, {}).probe()
        with (
            SourceRunner(ObjectStoreSourceConnector, config) as runner,
            pytest.raises(ConnectError, match=r"topics//a\.json.*Take that file away"),
        ):
            runner.poll()


def test_a_folder_in_a_folder_has_an_end() -> None:
    """Who is the name node, or may make folders, nests them without an end: the files in it are listed all the same."""
    with Hostile() as node:
        entries = [{"pathSuffix": "d", "type": "DIRECTORY"}, {"pathSuffix": "a.json", "type": "FILE", "modificationTime": 1}]
        node.default = hostile.given({"FileStatuses": {"FileStatus": entries}})
        assert len(list(hdfs(node).names(""))) == hadoop._DEEPEST + 1
        asked = len(node.asked)
        assert list(hdfs(node).names("", lambda: True)) == []
        assert len(node.asked) == asked


def _page(keys: str = "", more: bool = True) -> Answer:
    text = f"<IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken>{keys}" if more else keys
    data = f"<ListBucketResult><Name>b</Name>{text}</ListBucketResult>".encode()
    return lambda asked: Reply(200, {"Content-Type": "application/xml"}, data)


def _bucket(service: Hostile, **more: str) -> stores.Store:
    props = {"name": "n", "topics": "t", "format.class": "JsonFormat", "flush.size": "1", "s3.bucket.name": "b"}
    props |= {"store.url": service.url, "aws.access.key.id": "a", "aws.secret.access.key": "b", "request.timeout.ms": "300"}
    props |= {name.replace("_", "."): value for name, value in more.items()}
    return stores.Store(settings.CONFIG.parse(props), props, 1000 if more else 2)


@pytest.mark.parametrize("asked", ["names", "a refusal of names", "a refusal of a file", "a refusal to take one"])
def test_what_a_store_says_takes_no_more_memory_than_it_may(tmp_path: Path, asked: str) -> None:
    """Who is the store answers with a page of names, or an error, without an end: obstore would read it whole."""
    path = tmp_path / "a"
    path.write_bytes(b"a")
    with Hostile() as service:
        endless = service.endless(b"x" * MB)
        service.default = lambda request: replace(endless(request), status=200 if asked == "names" else 500)
        store = _bucket(service, answer_max_bytes=str(32 * MB), request_timeout_ms="100000")
        with pytest.raises(exceptions.GenericError, match=r"answer\.max\.bytes is 33554432") as raised:
            if "names" in asked:
                list(store.names(""))
            elif asked.endswith("file"):
                store.get("a", io.BytesIO())
            else:
                store.put("a", path)
        assert stores.passes(raised.value)


def test_a_time_that_nobody_has_is_the_store_s_fault() -> None:
    """Who is the store lists a file of a time that Python has not: an error of the store's, and not of the program's."""
    with Hostile() as service:
        keys = "<Contents><Key>a</Key><LastModified>-262143-01-01T00:00:00Z</LastModified><Size>1</Size></Contents>"
        service.default = _page(keys, more=False)
        with pytest.raises(stores.ERRORS, match="no file"):
            list(_bucket(service).names(""))


def test_who_waits_for_a_store_can_be_stopped(tmp_path: Path) -> None:
    """Who is the store says nothing: an interrupt ends what waits, and what is asked afterwards."""
    (tmp_path / "a").write_bytes(b"a")
    with Hostile() as service:
        service.default = service.silent()
        store = _bucket(service, request_timeout_ms="100000")
        threading.Timer(0.1, store.interrupt).start()
        with pytest.raises(exceptions.GenericError, match="to stop"):
            list(store.names(""))
        with pytest.raises(exceptions.GenericError, match="to stop"):
            store.put("a", tmp_path / "a")


def test_pages_without_names_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is the store answers empty pages, of which none is the last: nobody could stop the task."""
    monkeypatch.setattr(stores, "_TIMES", 1)
    with Hostile() as service:
        service.default = _page()
        with pytest.raises(exceptions.GenericError, match="nothing for"):
            list(_bucket(service).names(""))
        with pytest.raises(exceptions.GenericError, match="nothing for"):
            _bucket(service).look()
        assert list(_bucket(service).names("", lambda: True)) == []
        keys = "<Contents><Key>%s</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>1</Size></Contents>"
        service.default = _page(keys % "t/a" + keys % "t/b", more=False)
        assert [each.name for each in _bucket(service).names("t")] == ["t/a", "t/b"]


def test_a_store_says_no_more_than_a_line() -> None:
    error = exceptions.GenericError(f"<Error><Code>X</Code><Message>{'y' * 1_000_000}</Message></Error>")
    assert len(stores.reason(error)) < 500


@pytest.mark.parametrize("count", [1, 20])
def test_a_name_of_a_file_keeps_no_pattern_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """
    Who may put a file into the store calls it so that a pattern can split its name in a billion ways: the process stood still,
    with all connectors in it.
    """
    monkeypatch.setattr(patterns, "LONGEST_S", 0.05)
    for number in range(count):
        (tmp_path / f"{'a' * (60 + number)}!").write_text("{}")
    (tmp_path / "aa.json").write_text("1\n")
    config = {"store": f"file://{tmp_path}", "mode": "GENERIC", "topics.dir": "", "format.class": "JsonFormat"}
    config["topic.regex.list"] = r"t:^(a|aa)+\.json$"
    with SourceRunner(ObjectStoreSourceConnector, config) as runner:
        if count == 1:
            assert [record.value for record in runner.poll()] == [1]
        else:
            with pytest.raises(ConnectError, match="More than 10 files"):
                runner.poll()


@pytest.mark.parametrize(
    "odd",
    [
        {"modificationTime": 10**18},
        {"modificationTime": -(10**18)},
        {"modificationTime": 1e308},
        {"modificationTime": 10**400},
        {"modificationTime": "x"},
        {"type": None},
        {"type": "FILE", "modificationTime": None},
    ],
    ids=["late", "early", "far", "huge", "a text", "no type", "no time"],
)
def test_what_a_name_node_says_of_a_file_is_a_file_s_or_the_store_s_fault(odd: dict[str, Any]) -> None:
    """Who is the name node lists a file of a time that Python has not, or of none: an error of the program's ended the task."""
    entry = {"pathSuffix": "a.json", "type": "FILE", "modificationTime": 1, **odd}
    entry = {name: value for name, value in entry.items() if value is not None}
    with Hostile() as node:
        node.default = hostile.given({"FileStatuses": {"FileStatus": [entry, {**entry, "pathSuffix": "b.json"}]}})
        try:
            assert [each.name for each in hdfs(node).names("")] == ["a.json", "b.json"]
        except stores.ERRORS as error:
            assert "none" in str(error)


def test_a_file_has_a_time_whatever_its_folder_says() -> None:
    """Who may put a file into a folder may give it a time beyond those that Python has."""
    assert stores.moment(10.0**15).year == 9999
    assert stores.moment(-(10.0**15)).year == 1
    assert stores.moment(0.5) == datetime.datetime(1970, 1, 1, 0, 0, 0, 500_000, datetime.timezone.utc)


def with_schema(made: JsonConverter, at: int, version: int, fields: dict[str, str], payload: dict[str, Any]) -> SinkRecord:
    """A record as a message that brings its schema along."""
    described = [{"type": kind, "field": name, "optional": True} for name, kind in fields.items()]
    own = {"type": "struct", "name": "Row", "version": version, "fields": described}
    message = json.dumps({"schema": own, "payload": payload}).encode()
    return SinkRecord("t", 0, None, None, *made.to_connect_data("t", message), at)


@pytest.mark.parametrize("compatibility", ["BACKWARD", "FULL", "FORWARD"])
def test_a_version_that_a_record_brings_takes_no_fields_of_others(tmp_path: Path, compatibility: str) -> None:
    """Who may write to the topic sends a schema of a last, or first, version with few fields: others' fields were left out."""
    made, fields = JsonConverter(), {"id": "int32", "name": "string"}
    records = [with_schema(made, at, 1, fields, {"id": at, "name": f"n{at}"}) for at in (0, 2, 3)]
    records.insert(1, with_schema(made, 1, -5 if compatibility == "FORWARD" else 2**31 - 1, {"id": "int32"}, {"id": 1}))
    more = {"format_class": "JsonFormat", "flush_size": "100", "schema_compatibility": compatibility}
    with file_sink(tmp_path, **more) as runner:
        runner.put(records)
        task: Any = runner.task
        task._files["t", 0].finish()
        runner.put([])
        assert runner.reported == []
    found = [json.loads(line) for path in (tmp_path / "store").rglob("*.json") for line in path.read_text().splitlines()]
    by_id = {row["id"]: row.get("name") for row in found}
    assert by_id == {0: "n0", 1: None, 2: "n2", 3: "n3"}


def test_decimals_of_two_scales_are_in_two_files(tmp_path: Path) -> None:
    """Who may register a schema gives a decimal fewer digits behind the point: records of others were bad ones."""
    versions = [
        schema.struct({"price": schema.decimal_schema(scale)}, name="Row", version=version)
        for version, scale in ((1, 2), (2, 0))
    ]
    prices = [decimal.Decimal("1.50"), decimal.Decimal(1), decimal.Decimal("2.50")]
    records = [
        SinkRecord("t", 0, None, None, versions[at % 2], Struct(versions[at % 2], {"price": price}), at)
        for at, price in enumerate(prices)
    ]
    with file_sink(tmp_path, format_class="ParquetFormat", flush_size="100", schema_compatibility="BACKWARD") as runner:
        runner.put(records)
        task: Any = runner.task
        task._files["t", 0].finish()
        runner.put([])
        assert runner.reported == []
    assert len(list((tmp_path / "store").rglob("*.parquet"))) == 3


@pytest.mark.parametrize("size", [246, 247, 248, 253, 255])
def test_a_name_that_is_written_under_a_longer_one_first_has_room_for_that(tmp_path: Path, size: int) -> None:
    """Who may write to the topic chooses a topic whose file's name just fits: while it is written, it has a longer one."""
    topic = "x" * (size - len("+0+0000000001.json"))
    with file_sink(tmp_path) as runner:
        runner.put([renamed(0, "t"), renamed(1, topic), renamed(2, "t")])
        runner.put([])
        assert [each.original_offset for each, _ in runner.reported] == ([1] if size > 247 else [])
    assert len(list((tmp_path / "store").rglob("*.json"))) == (2 if size > 247 else 3)


def test_all_parts_of_a_name_have_room_in_a_key(tmp_path: Path) -> None:
    """Who may write to the topic sends a field of a thousand characters: with what is around it, no store has such a key."""

    def answer(asked: Asked) -> Reply:
        key = urllib.parse.unquote(asked.path).partition("/lake/")[2]
        if len(key.encode()) > 1024:
            return Reply(400, {}, b"<Error><Code>KeyTooLongError</Code><Message>Your key is too long</Message></Error>")
        none = b"<ListBucketResult><Name>lake</Name><IsTruncated>false</IsTruncated></ListBucketResult>"
        return Reply(200, {"ETag": '"1"'}, none if asked.method == "GET" else b"")

    def put(*names: str) -> list[int]:
        more = {"partitioner_class": "FieldPartitioner", "partition_field_name": "name", "store": "s3://lake/deep"}
        login = {"aws_access_key_id": "me", "aws_secret_access_key": "pw", "s3_region": "eu-central-1"}
        with file_sink(tmp_path, **more, **login, store_url=service.url) as runner:
            rows = [Struct(ROW, {"name": name}) for name in names]
            runner.put([SinkRecord("t", 0, None, None, ROW, row, at) for at, row in enumerate(rows)])
            runner.put([])
            return [each.original_offset for each, _ in runner.reported]

    around = len("deep/topics/t/name=/t+0+0000000001.json")
    with Hostile() as service:
        service.default = answer
        assert put("a", "x" * (1024 - around), "b") == []
        assert put("a", "x" * (1025 - around), "b") == [1]
        assert put("a", "é" * 505, "b") == [1]


# Names that obstore has not.

_ODD = ("in//a.json", "in/../b.json", "in/./c.json", "in/d\x01.json", "in//", "/in/e.json")


class S3(Hostile):
    """A bucket of S3: two pages of names, and the same record in each file."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = list(names)
        self.default = self._answered

    def __enter__(self) -> S3:
        return self

    def _answered(self, asked: Asked) -> Reply:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(asked.path).query, keep_blank_values=True)
        modified = {"Last-Modified": "Mon, 02 Nov 2026 00:00:00 GMT", "ETag": '"x"'}
        if "list-type" not in query:
            return Reply(200, modified, b"1\n")
        prefix, half = query.get("prefix", [""])[0], (len(self.names) + 1) // 2
        is_second = "continuation-token" in query
        some = self.names[half:] if is_second else self.names[:half]
        shown = urllib.parse.quote if query.get("encoding-type") == ["url"] else html.escape
        keys = "".join(
            f"<Contents><Key>{shown(name)}</Key><LastModified>2026-11-02T00:00:00.000Z</LastModified><ETag>x</ETag>"
            f"<Size>2</Size></Contents>"
            for name in some
            if name.startswith(prefix)
        )
        more = "<NextContinuationToken>2</NextContinuationToken>" if not is_second and half < len(self.names) else ""
        is_quoted = "<EncodingType>url</EncodingType>" if "encoding-type" in query else ""
        page = (
            f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>{prefix}</Prefix>'
            f"<KeyCount>{len(some)}</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>{str(bool(more)).lower()}</IsTruncated>"
            f"{is_quoted}{more}{keys}</ListBucketResult>"
        )
        return Reply(200, {"Content-Type": "application/xml"}, page.encode())

    def config(self, **more: str) -> dict[str, str]:
        login = {"aws.access.key.id": "key", "aws.secret.access.key": "secret", "store.url": self.url}
        reads = {"mode": "GENERIC", "topics.dir": "in", "topic.regex.list": "t:.*", "format.class": "JsonFormat"}
        return {"s3.bucket.name": "b", "s3.poll.interval.ms": "1", **login, **reads, **more}


def read_of(config: dict[str, str]) -> list[Any]:
    with SourceRunner(ObjectStoreSourceConnector, config) as runner:
        found = [(runner.read(1)[0].source_partition or {})["file"] for _ in range(2)]
        # It is listed again, and nothing is read twice.
        for _ in range(3):
            time.sleep(0.01)
            assert not runner.poll()
        return found


@pytest.mark.parametrize("odd", _ODD, ids=ascii)
@pytest.mark.parametrize("first", [True, False])
def test_a_name_that_obstore_has_not_ends_no_source(odd: str, first: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Who may put a file into a bucket gives it a name of which obstore lists nothing: the source ended, for all files."""
    good = ["in/1 é%2F+.json", "in/2.json"]
    with S3(*([odd, *good] if first else [good[0], odd, good[1]]), "elsewhere/x.json") as store:
        assert sorted(read_of(store.config())) == good
    assert caplog.text.count("is passed over") == (0 if odd in ("in//", "/in/e.json") else 1)
    assert caplog.text.isprintable() or "\n" in caplog.text


def test_names_that_obstore_has_not_are_asked_for_with_the_login_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with S3("in/1.json", "in//a.json", "in/2.json") as store:
        config = store.config(**{"aws.access.key.id": "", "aws.secret.access.key": ""})
        for name, value in {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "SESSION_TOKEN": "token"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        assert sorted(read_of(config)) == ["in/1.json", "in/2.json"]
        assert {asked.headers["x-amz-security-token"] for asked in store.asked if "encoding-type" in asked.path} == {"token"}


def test_a_list_without_an_end_of_odd_names_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is the store lists names that nobody can have, and says that there are more, for ever."""
    monkeypatch.setattr(stores, "_TIMES", 0.01)
    with S3("in//1", "in//2") as store:
        whole = store.default
        store.default = lambda asked: whole(replace(asked, path=asked.path.replace("continuation-token", "x")))
        with pytest.raises(RetriableError), SourceRunner(ObjectStoreSourceConnector, store.config()) as runner:
            runner.poll()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_a_list_that_defines_its_own_texts_is_none(encoding: str) -> None:
    """Whoever is the store answers a list of eight megabytes, in which a text stands for another one: it becomes a gigabyte."""
    text = '<!DOCTYPE a [<!ENTITY b "keykey">]><a><Contents><Key>&b;&b;</Key></Contents></a>'
    with pytest.raises(ElementTree.ParseError, match="declares its own type"):
        s3_names.parsed(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
    with S3("in//1", "in/2.json") as store:
        whole = store.default

        def answered(asked: Asked) -> Reply:
            reply = whole(asked)
            is_ours = "list-type" in asked.path and "encoding-type" in asked.path
            if not is_ours:
                return reply
            assert isinstance(reply.body, bytes)
            return replace(reply, body=b'<!DOCTYPE a [<!ENTITY b "in/9.json">]>' + reply.body)

        store.default = answered
        with (
            pytest.raises(ConnectError, match="the store's list is none"),
            SourceRunner(ObjectStoreSourceConnector, store.config()) as runner,
        ):
            runner.poll()


@pytest.mark.parametrize("endpoint", ["http://store:9000", "https://store"])
def test_requests_are_signed_as_aws_does_it(endpoint: str) -> None:
    options = {
        "aws_access_key_id": "AK",
        "aws_secret_access_key": "SK",
        "aws_session_token": "ST",
        "aws_region": "eu-central-1",
    }
    bucket = s3_names.Bucket("b", "", {**options, "aws_endpoint": endpoint}, {}, 1.0)
    url = f"{bucket._address()}?continuation-token=a%2F%2Bb&encoding-type=url&list-type=2&prefix=x%20y%2F"
    ours = bucket._signature(url, {"x-amz-request-payer": "requester"})
    given = {name: value for name, value in ours.items() if name != "Authorization"} | {"x-amz-request-payer": "requester"}
    request = AWSRequest("GET", url, headers=given)
    request.context["timestamp"] = ours["x-amz-date"]
    auth = S3SigV4Auth(Credentials("AK", "SK", "ST"), "s3", "eu-central-1")
    signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    assert ours["Authorization"].endswith(f"Signature={signature}")
