"""Whoever may write records, or into the folder of a table, gets nothing by it: the Spark sink against what they write."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import psutil
import pyarrow as pa
import pytest

from kconnect.api import (
    ConnectError,
)
from kconnect.connectors.spark import application
from kconnect.connectors.spark.lake import SparkLake
from kconnect.connectors.spark.task import SparkSinkTask
from tests.connectors.spark.tables import UPSERTS, Lake, commit, record, row

pytestmark = pytest.mark.timeout(900)


@pytest.mark.long
@pytest.mark.parametrize("lake", ["delta"], indirect=True)
@pytest.mark.parametrize(
    "path",
    ["file://{}", "%2e%2e/%2e%2e/elsewhere.parquet", ".%2E/..%2felsewhere.parquet", " ../../elsewhere.parquet", "%2F{}", "%zz"],
)
def test_rows_of_files_elsewhere_are_not_brought_into_a_table(lake: Lake, tmp_path: Path, path: str) -> None:
    """Whoever may write into its folder may have written its log."""
    with lake.sink(**UPSERTS) as runner:
        commit(runner, row(0))
    secret = lake.folder / "elsewhere.parquet"
    [file] = lake.files()
    shutil.copy(file.removeprefix("file://"), secret)
    log = lake.folder / "shop" / "orders" / "_delta_log"
    lines = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
    [add] = [line for line in lines if "add" in line]
    add["add"]["path"] = path.format(secret)
    (log / f"{len(list(log.glob('*.json'))):020}.json").write_text(json.dumps(add))
    with (
        pytest.raises(ConnectError, match=r"names files that are not in its folder|URISyntaxException"),
        lake.sink(**UPSERTS, **{"max.retries": "0"}) as runner,
    ):
        commit(runner, row(1))


@pytest.mark.long
@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_no_value_of_a_record_looks_like_a_file_elsewhere(lake: Lake) -> None:
    """The folders of partitions have their values as names."""
    values = ["..", ".", "../x", "a\\b", " a ", "a\tb", "a\nb", "%2e%2e", "a:b", "/x", "ü", "\x01", "x/", "a+b", "+"]
    with lake.sink(**UPSERTS, **{"lake.tables.default-partition-by": "note"}) as runner:
        commit(runner, *(row(number, note=value) for number, value in enumerate(values)))
        commit(runner, *(row(number + 50, note=value) for number, value in enumerate(values)))
    assert lake.ids() == [*range(len(values)), *range(50, 50 + len(values))]


@pytest.mark.long
def test_what_is_tidied_up_is_in_the_tables_folder(lake: Lake, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "old.parquet").write_text("")
    with lake.sink() as runner:
        commit(runner, row(0))
        (lake.folder / "shop" / "orders" / "link").symlink_to(elsewhere)
        assert isinstance(runner.task, SparkSinkTask)
        assert isinstance(runner.task._lake, SparkLake)
        chore = runner.task._lake.maintain("shop.orders", 0)
        assert chore is not None
        with pytest.raises(application.SparkFault, match="there is a link in"):
            chore.result(240)
        # With it, nothing is written, either.
        (lake.folder / "shop" / "orders" / "link").unlink()
        commit(runner, row(1))
    assert (elsewhere / "old.parquet").exists()
    assert lake.ids() == [0, 1]


@pytest.mark.long
@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_no_table_is_made_within_another(lake: Lake) -> None:
    """To VACUUM, the files of the inner one are old files of the outer one."""
    with lake.sink(**{"lake.tables": "shop.eu"}) as runner:
        commit(runner, row(0))
    with (
        pytest.raises(ConnectError, match="it would be within the table at"),
        lake.sink(**{"lake.tables": "shop.eu.orders", "max.retries": "0"}) as runner,
    ):
        commit(runner, row(0))


@pytest.mark.long
def test_what_is_tidied_up_is_no_other_tables(lake: Lake) -> None:
    """One whose folder is within that of the other."""
    with lake.sink(**{"lake.tables": "shop.eu.orders"}) as inner, lake.sink(**{"lake.tables": "shop.eu"}) as outer:
        commit(inner, row(0), row(1))
        commit(outer, row(7))
        for file in lake.folder.rglob("*"):
            os.utime(file, (1, 1))
        assert isinstance(outer.task, SparkSinkTask)
        assert isinstance(outer.task._lake, SparkLake)
        chore = outer.task._lake.maintain("shop.eu", 0)
        assert chore is not None
        with contextlib.suppress(application.SparkFault):
            chore.result(240)
        assert (chore.exception() is not None) is (lake.form == "delta")
        commit(outer, row(8))
    assert lake.ids("shop.eu.orders") == [0, 1]
    assert lake.ids("shop.eu") == [7, 8]


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_a_table_whose_metadata_send_files_elsewhere_is_not_used(lake: Lake, tmp_path: Path) -> None:
    with lake.sink() as runner:
        commit(runner, row(0))
    metadata = lake.folder / "shop" / "orders" / "metadata"
    number = int((metadata / "version-hint.text").read_text())
    content = json.loads((metadata / f"v{number}.metadata.json").read_text())
    content["properties"]["write.data.path"] = f"file://{tmp_path}/elsewhere"
    (metadata / f"v{number + 1}.metadata.json").write_text(json.dumps(content))
    (metadata / "version-hint.text").write_text(str(number + 1))
    with (
        pytest.raises(ConnectError, match="send files to another place"),
        lake.sink(**{"max.retries": "0"}) as runner,
    ):
        commit(runner, row(1))
    assert not (tmp_path / "elsewhere").exists()


def test_spark_listens_to_this_machine_only_and_to_nobody_without_its_secret(lake: Lake, python: dict[str, str]) -> None:
    with lake.sink() as runner:
        commit(runner, row(0))
        life = application.of(python)._life
        assert life is not None
        [java] = psutil.Process(life._process.pid).children()
        listening = [each.laddr.ip for each in java.net_connections() if each.status == psutil.CONN_LISTEN]
    assert listening
    assert {address.removeprefix("::ffff:") for address in listening} <= {"127.0.0.1", "::1"}
    assert application.of(python)._settings["spark.authenticate"] == "true"


@pytest.mark.parametrize(
    ("config", "value"),
    [
        ({"lake.tables.default-partition-by": "note"}, {"id": 1, "note": "x" * 300}),
        ({"lake.tables.default-partition-by": "note,id"}, {"id": 1, "note": "x"}),
        ({}, {"id": 1, "ıd": 2}),
        ({}, {"id": 1, "İd": 2}),
    ],
)
def test_a_record_that_no_commit_could_have_is_a_bad_one(lake: Lake, config: dict[str, str], value: dict[str, Any]) -> None:
    tolerant = {"errors.tolerance": "all"}
    with lake.sink(**config, **tolerant) as runner:
        runner.put([record(0, value)])
        assert [bad.original_offset for bad, _ in runner.reported] == [0]


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
@pytest.mark.parametrize("name", ["a.b", "_file", "_Partition"])
def test_columns_that_iceberg_takes_for_its_own_are_bad_records(lake: Lake, name: str) -> None:
    with lake.sink(**{"errors.tolerance": "all"}) as runner:
        runner.put([record(0, {"id": 1, name: 2})])
        assert [bad.original_offset for bad, _ in runner.reported] == [0]


@pytest.mark.long
@pytest.mark.parametrize("lake", ["delta"], indirect=True)
@pytest.mark.parametrize(
    ("expression", "refused"),
    [
        ("id >= 0", False),
        pytest.param("java_method('java.lang.Math', 'abs', id) >= 0", True, marks=pytest.mark.long),
        ("reflect('java.lang.Math', 'abs', id) >= 0", True),
    ],
)
def test_a_table_whose_log_calls_methods_of_java_is_not_written_to(lake: Lake, expression: str, refused: bool) -> None:
    """Whoever may write into its folder may have written a constraint."""
    with lake.sink(**{"max.retries": "0"}) as runner:
        commit(runner, row(0))
    log = lake.folder / "shop" / "orders" / "_delta_log"
    actions = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    [metadata] = [action for action in actions if "metaData" in action]
    metadata["metaData"]["configuration"]["delta.constraints.own"] = expression
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}
    (log / f"{len(list(log.glob('*.json'))):020}.json").write_text("\n".join(map(json.dumps, (metadata, protocol))))
    with contextlib.ExitStack() as stack:
        if refused:
            stack.enter_context(pytest.raises(ConnectError, match=r"(java_method|reflect)"))
        commit(stack.enter_context(lake.sink(**{"max.retries": "0"})), row(1))
    assert lake.ids() == ([0] if refused else [0, 1])


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """The address of a service that nobody is to ask, and what it was asked."""
    lines: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            lines.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", lines
    server.shutdown()
    thread.join()
    server.server_close()


def metadata_of(lake: Lake, change: Callable[[dict[str, Any]], None]) -> None:
    """Write a table's metadata anew, as whoever may write into its folder can."""
    metadata = lake.folder / "shop" / "orders" / "metadata"
    number = int((metadata / "version-hint.text").read_text())
    content = json.loads((metadata / f"v{number}.metadata.json").read_text())
    change(content)
    (metadata / f"v{number + 1}.metadata.json").write_text(json.dumps(content))
    (metadata / "version-hint.text").write_text(str(number + 1))
    for file in metadata.glob(".*.crc"):
        file.unlink()


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_nobody_is_asked_for_what_an_iceberg_table_s_metadata_name(lake: Lake, asked: tuple[str, list[str]]) -> None:
    """Whoever may write into its folder names a list of manifests, or a list with manifests, at a service of the network."""
    url, lines = asked
    with lake.sink() as runner:
        commit(runner, row(0))

    def listed_elsewhere(content: dict[str, Any]) -> None:
        for snapshot in content["snapshots"]:
            snapshot["manifest-list"] = f"{url}/latest/meta-data/x.avro"

    def removes_elsewhere(content: dict[str, Any]) -> None:
        content["properties"]["write.metadata.delete-after-commit.enabled"] = "true"
        content["metadata-log"][0]["metadata-file"] = f"{url}/v1.metadata.json"

    for change in (removes_elsewhere, listed_elsewhere):
        metadata_of(lake, change)
        with (
            pytest.raises(ConnectError, match="its metadata name files that are not in its folder"),
            lake.sink(**{"max.retries": "0"}) as runner,
        ):
            commit(runner, row(1))
    assert lines == []


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_manifests_elsewhere_are_not_read(lake: Lake, asked: tuple[str, list[str]]) -> None:
    """The list is where it has to be, and names a manifest at a service of the network."""
    url, lines = asked
    with lake.sink() as runner:
        commit(runner, row(0))
    metadata = lake.folder / "shop" / "orders" / "metadata"
    content = json.loads(
        max(metadata.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].partition(".")[0])).read_text()
    )
    [own] = [each for each in content["snapshots"] if each["snapshot-id"] == content["current-snapshot-id"]]
    with open(own["manifest-list"].removeprefix("file:"), "rb") as file:
        reader = fastavro.reader(file)
        schema: Any = reader.writer_schema
        manifests: list[Any] = list(reader)
    manifests[0]["manifest_path"] = f"{url}/m.avro"
    with open(metadata / "other.avro", "wb") as other:
        fastavro.writer(other, schema, manifests, metadata={"format-version": "2"})

    def listed(content: dict[str, Any]) -> None:
        for snapshot in content["snapshots"]:
            snapshot["manifest-list"] = f"file:{metadata}/other.avro"

    metadata_of(lake, listed)
    with (
        pytest.raises(ConnectError, match="its metadata name files that are not in its folder"),
        lake.sink(**{"max.retries": "0"}) as runner,
    ):
        commit(runner, row(1))
    assert lines == []


@pytest.mark.long
@pytest.mark.parametrize("lake", ["delta"], indirect=True)
@pytest.mark.parametrize("hint", [True, False])
def test_nobody_is_asked_for_what_a_delta_table_s_checkpoint_names(
    lake: Lake, asked: tuple[str, list[str]], hint: bool
) -> None:
    """Whoever may write into its log writes a checkpoint, or what says which is the last, with parts elsewhere."""
    url, lines = asked
    with lake.sink() as runner:
        commit(runner, row(0))
    log = lake.folder / "shop" / "orders" / "_delta_log"
    actions = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
    metadata = [action for action in actions if "metaData" in action][-1]
    features = {"readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint", "appendOnly", "invariants"]}
    protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    version = len(list(log.glob("*.json")))
    (log / f"{version:020}.json").write_text(json.dumps(protocol))
    sidecar = {"path": f"{url}/sidecar.parquet", "sizeInBytes": 300, "modificationTime": 1}
    name = f"{version:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    if hint:
        own = {"path": name, "sizeInBytes": 1, "modificationTime": 1, "sidecarFiles": [sidecar], "nonFileActions": []}
        (log / "_last_checkpoint").write_text(json.dumps({"version": version, "size": 4, "v2Checkpoint": own}))
    else:
        lines_of = [{"checkpointMetadata": {"version": version}}, protocol, metadata, {"sidecar": sidecar}]
        (log / name).write_text("\n".join(map(json.dumps, lines_of)) + "\n")
    for file in log.glob(".*.crc"):
        file.unlink()
    with (
        pytest.raises(ConnectError, match="names files that are not in its folder"),
        lake.sink(**{"max.retries": "0"}) as runner,
    ):
        commit(runner, row(1))
    assert lines == []


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_the_application_opens_no_other_file_systems_whoever_names_them(
    lake: Lake, python: dict[str, str], asked: tuple[str, list[str]]
) -> None:
    """Here a file of a copy, which nothing of the table's own checks looks at."""
    url, lines = asked
    with lake.sink() as runner:
        assert isinstance(runner.task, SparkSinkTask)
        assert isinstance(runner.task._lake, SparkLake)
        head = runner.task._lake.head("shop.copied")
        more: dict[str, Any] = {
            "identity": None,
            "mark": None,
            "empties": False,
            "place": 1,
            "tries": False,
            "ids": [],
            "order": "",
        }
        may = {"creates": True, "widens": True, "partitions": []}
        for address in (url, "hdfs://127.0.0.1:1", "s3a://bucket"):
            files = [[0, [f"{address}/a.parquet"]]]
            schema = pa.py_buffer(pa.schema({"id": pa.int32()}).serialize())
            answer = application.of(python).ask({"do": "copy", **head, **more, **may, "files": files}, schema)
            with pytest.raises(application.SparkFault, match="ThisFileSystemIsNotOpenedHere"):
                answer.result(240)
    assert lines == []


@pytest.mark.parametrize("is_outside", [True, False])
def test_a_link_in_place_of_a_partition_s_folder_is_not_written_to(lake: Lake, tmp_path: Path, is_outside: bool) -> None:
    """Whoever may put a link into the table's folder has rows written to where it leads."""
    config = {"lake.tables.default-partition-by": "note", "max.retries": "0"}
    with lake.sink(**config) as runner:
        commit(runner, row(0))
    data = lake.folder / "shop" / "orders" / ("data" if lake.form == "iceberg" else "")
    target = tmp_path / "elsewhere" if is_outside else data / "note=n"
    target.mkdir(exist_ok=True)
    (data / "note=evil").symlink_to(target)
    if not is_outside:
        with lake.sink(**config) as runner:
            commit(runner, row(1, note="other"))
        return
    with pytest.raises(ConnectError, match=r"a link in .* that leads out"), lake.sink(**config) as runner:
        commit(runner, row(1, note="evil"))
    assert list(target.iterdir()) == []
