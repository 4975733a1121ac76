"""The Spark sink against real tables of Delta and Iceberg: rows, their offsets, columns, and who comes between."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from kconnect.api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    DATE_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    ConnectError,
    RetriableError,
    Schema,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.spark import application, targets
from kconnect.connectors.spark.connector import SparkSinkConnector
from kconnect.connectors.spark.lake import SparkLake
from kconnect.connectors.spark.session import groups, iceberg
from kconnect.connectors.spark.task import Rest, SparkSinkTask
from kconnect.testing import SinkRunner, config_errors
from tests.rig.systems import lake as lakes
from tests.rig.systems.iceberg_rest import IcebergRest
from tests.rig.systems.spark_cluster import SparkCluster
from tests.support import starts, wait_until

pytestmark = pytest.mark.timeout(900)

UTC = datetime.timezone.utc
ROW = schema.struct({"id": INT32_SCHEMA, "note": OPTIONAL_STRING_SCHEMA})
WIDE = schema.struct({"id": INT32_SCHEMA, "note": OPTIONAL_STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})
PLACE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
UPSERTS = {
    "lake.tables.upsert-mode-enabled": "true",
    "lake.tables.default-id-columns": "id",
    "lake.tables.delete-enabled": "true",
}
EVOLVES = {"lake.tables.evolve-schema-enabled": "true"}


class Lake:
    """A folder with tables of one format."""

    def __init__(self, folder: Path, form: str) -> None:
        self.folder, self.form = folder, form

    def config(self, **more: str) -> dict[str, str]:
        base = {
            "name": "lake",
            "topics": "orders",
            "lake.format": self.form,
            "lake.store.url": f"file://{self.folder}",
            "lake.tables": "shop.orders",
            "lake.tables.auto-create-enabled": "true",
            "lake.commit.interval-ms": "0",
            "retry.backoff.ms": "100",
        }
        return {**base, **more}

    def sink(self, task: int = 0, /, **more: str) -> SinkRunner:
        return SinkRunner(SparkSinkConnector, self.config(**more), task)

    def rows(self, name: str = "shop.orders") -> list[dict[str, Any]]:
        folder = self.folder.joinpath(*name.split("."))
        found: list[dict[str, Any]] = self.read(folder).to_pylist()
        return sorted(found, key=lambda row: (row["id"], str(row.get("note"))))

    def read(self, folder: Path) -> pa.Table:
        if self.form == "delta":
            return DeltaTable(str(folder)).to_pyarrow_table()
        return lakes.iceberg_rows(folder)

    def files(self, name: str = "shop.orders") -> list[str]:
        """Those that the table has now."""
        folder = self.folder.joinpath(*name.split("."))
        return DeltaTable(str(folder)).file_uris() if self.form == "delta" else lakes.iceberg_files(folder)

    def ids(self, name: str = "shop.orders") -> list[int]:
        return [row["id"] for row in self.rows(name)]


@pytest.fixture(scope="module")
@starts("process")
def python() -> Iterator[dict[str, str]]:
    """What a worker's file has. One application serves all tests."""
    worker = {application.PYTHON: lakes.python()}
    yield worker
    application.of(worker).end()


# Delta's commits take three times as long: by day it has what differs.
@pytest.fixture(params=[pytest.param("delta", marks=pytest.mark.long), "iceberg"])
@starts("process")
def lake(tmp_path: Path, request: pytest.FixtureRequest, python: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setattr(SparkSinkTask, "worker", python)
    monkeypatch.setattr(SparkSinkConnector, "worker", python)
    (tmp_path / "lake").mkdir()
    return Lake(tmp_path / "lake", request.param)


def record(offset: int, value: Any, own: Schema | None = None, partition: int = 0, topic: str = "orders") -> SinkRecord:
    return SinkRecord(topic, partition, None, None, own, value, offset)


def row(number: int, own: Schema = ROW, partition: int = 0, offset: int | None = None, **values: Any) -> SinkRecord:
    """Its offset is its number, unless told."""
    made = Struct(own, {"id": number, "note": "n", **values})
    return record(number if offset is None else offset, made, own, partition)


def gone(number: int, offset: int) -> SinkRecord:
    """A record that deletes a row."""
    return SinkRecord("orders", 0, INT32_SCHEMA, number, None, None, offset)


def commit(runner: SinkRunner, *records: SinkRecord) -> None:
    """Put records, and wait until the tables have them."""
    wanted = dict(runner.committed)
    for each in records:
        place = TopicPartition(each.original_topic, each.original_partition)
        wanted[place] = max(wanted.get(place, 0), each.original_offset + 1)
    runner.put(list(records))
    until(runner, wanted)


def until(runner: SinkRunner, wanted: dict[TopicPartition, int]) -> None:
    def committed() -> bool:
        look(runner)
        runner.flush()
        return all(runner.committed.get(place) == offset for place, offset in wanted.items())

    wait_until(committed, 240, f"the tables have not all up to {wanted}")


def look(runner: SinkRunner) -> None:
    """Have a task see what has become of its commits."""
    with contextlib.suppress(RetriableError):
        runner.put([])


def between(monkeypatch: pytest.MonkeyPatch, what: Callable[[], None]) -> None:
    """Have that done once, when a task has decided what is to be committed, and by what it knows of the table."""
    begin = targets.SparkTarget.begin

    def after_another(self: Any, parts: Any) -> Any:
        monkeypatch.setattr(targets.SparkTarget, "begin", begin)
        what()
        return begin(self, parts)

    monkeypatch.setattr(targets.SparkTarget, "begin", after_another)


def test_rows_are_appended_with_new_columns_and_offsets(lake: Lake) -> None:
    with lake.sink(**EVOLVES) as runner:
        commit(runner, row(0), row(1, note=None))
        # Columns differ within what is committed together, too.
        commit(runner, row(2, WIDE, more="m"), row(3), row(0, partition=1))
    assert [(found["id"], found["note"], found["more"]) for found in lake.rows()] == [
        (0, "n", None),
        (0, "n", None),
        (1, None, None),
        (2, "n", "m"),
        (3, "n", None),
    ]
    with lake.sink() as runner:
        # Kafka's offsets are lost, but the table has them.
        runner.open(PLACE, OTHER)
        assert runner.rewinds == {PLACE: 4, OTHER: 1}
        commit(runner, *(row(offset) for offset in range(6)))
    assert lake.ids() == [0, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("lake", ["delta", "iceberg"], indirect=True)
def test_rows_are_merged_and_deleted(lake: Lake) -> None:
    with lake.sink(**UPSERTS) as runner:
        commit(runner, *(row(number) for number in range(5)))
        commit(runner, row(1, offset=5, note="a"), row(1, offset=6, note="b"), gone(2, 7), gone(9, 8), row(6, offset=9))
        commit(runner, gone(3, 10), row(3, offset=11, note="again"))
        # What changes nothing is known to be done, too.
        commit(runner, gone(77, 12))
    assert [(found["id"], found["note"]) for found in lake.rows()] == [(0, "n"), (1, "b"), (3, "again"), (4, "n"), (6, "n")]
    with lake.sink(**UPSERTS) as runner:
        runner.open(PLACE)
        assert runner.rewinds == {PLACE: 13}


def test_rows_behind_those_that_are_replaced_are_not_lost(lake: Lake) -> None:
    """PySpark 4.1 makes nothing of a table of Arrow behind a piece without rows."""
    with lake.sink(**UPSERTS, **{"lake.commit.interval-ms": "5000"}) as runner:
        for offset, number in enumerate((1, 2, 2, 3, 3, 4, 5, 5, 6)):
            runner.put([row(number, offset=offset, note=f"of {offset}")])
        until(runner, {PLACE: 9})
    assert [(found["id"], found["note"]) for found in lake.rows()] == [
        *((1, "of 0"), (2, "of 2"), (3, "of 4"), (4, "of 5"), (5, "of 7"), (6, "of 8"))
    ]


def test_of_two_that_write_the_same_partition_one_begins_again(lake: Lake) -> None:
    with lake.sink() as dead, lake.sink() as alive:
        commit(dead, row(0))
        commit(alive, row(0), row(1))
        # Given up for dead, it does not know, and goes on.
        dead.put([row(1), row(2)])
        wait_until(lambda: look(dead) or dead.rewinds, 240)
        assert dead.rewinds[PLACE] <= 2
        commit(dead, row(2), row(3))
        commit(alive, row(2), row(3), row(4)) if not alive.rewinds else None
    assert lake.ids()[:4] == [0, 1, 2, 3]
    assert len(set(lake.ids())) == len(lake.ids())


@pytest.mark.parametrize("more", [{}, pytest.param(UPSERTS, marks=pytest.mark.long)], ids=["append", "upsert"])
def test_others_may_write_the_table_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]) -> None:
    with lake.sink(**more) as one, lake.sink(**more) as other:
        commit(one, row(0))
        between(monkeypatch, lambda: commit(other, row(100, partition=1, offset=0), row(101, partition=1, offset=1)))
        commit(one, row(1))
        assert one.rewinds == {}
        commit(one, row(2))
    assert lake.ids() == [0, 1, 2, 100, 101]


def test_a_commit_that_nobody_heard_of_is_not_made_again(lake: Lake, python: dict[str, str]) -> None:
    """The application ends while it commits: whatever came of that, each row is there once."""
    spark = application.of(python)
    with lake.sink() as runner:
        commit(runner, row(0))
        runner.put([row(1), row(2)])
        runner.put([])
        assert spark._life is not None
        _kill(spark._life._process.pid)
        wait_until(lambda: look(runner) or runner.rewinds or runner.committed.get(PLACE) == 3, 240)
        commit(runner, *(row(number) for number in range(runner.rewinds.get(PLACE, 3), 4)))
    assert lake.ids() == [0, 1, 2, 3]


def envelope(offset: int, op: str, before: Any = None, after: Any = None) -> SinkRecord:
    return record(offset, {"op": op, "before": before, "after": after})


def test_envelopes_are_taken_as_they_are_and_empty_tables(lake: Lake) -> None:
    def value(number: int, note: str = "n") -> dict[str, Any]:
        return {"id": number, "note": note}

    config = {**UPSERTS, "lake.tables.debezium-envelopes-enabled": "true", "lake.tables.truncate-enabled": "true"}
    with lake.sink(**config) as runner:
        commit(runner, *(envelope(number, "r", None, value(number)) for number in range(4)))
        moved = envelope(6, "u", value(0), value(9, "moved"))
        commit(runner, envelope(4, "u", None, value(1, "u")), envelope(5, "d", value(2)), moved)
        assert [(found["id"], found["note"]) for found in lake.rows()] == [(1, "u"), (3, "n"), (9, "moved")]
        commit(runner, envelope(7, "c", None, value(20)), envelope(8, "t"), envelope(9, "c", None, value(21)))
        assert lake.ids() == [21]
        commit(runner, envelope(10, "t"))
        assert lake.ids() == []
        commit(runner, envelope(11, "t"), envelope(12, "d", value(21)))
        commit(runner, envelope(13, "c", None, value(22)))
    assert lake.ids() == [22]
    with lake.sink(**config) as runner:
        runner.open(PLACE)
        assert runner.rewinds == {PLACE: 14}


def test_the_newest_row_of_an_id_is_that_with_most_in_a_column(lake: Lake) -> None:
    def at(number: int, time: Any, offset: int) -> SinkRecord:
        return record(offset, {"id": number, "note": f"at {time}", "time": time})

    with lake.sink(**UPSERTS, **{"lake.tables.order-by": "time", "errors.tolerance": "all"}) as runner:
        commit(runner, at(1, 5, 0), at(1, 3, 1), at(2, 5, 2))
        commit(runner, at(1, 4, 3), at(2, 5, 4), at(3, None, 5), at(3, 1, 6))
        assert [(found["id"], found["note"]) for found in lake.rows()] == [(1, "at 5"), (2, "at 5"), (3, "at 1")]
        assert [bad.original_offset for bad, _ in runner.reported] == [5]
        commit(runner, at(1, 6, 7), gone(2, 8))
    assert [(found["id"], found["note"]) for found in lake.rows()] == [(1, "at 6"), (3, "at 1")]


@pytest.mark.long
@pytest.mark.parametrize("more", [{}, UPSERTS], ids=["append", "upsert"])
def test_tables_are_tidied_up_and_keep_their_offsets(lake: Lake, more: dict[str, str]) -> None:
    with lake.sink(**more) as other:
        commit(other, row(100, partition=1, offset=0))
    tidies = {"lake.maintenance.interval-ms": "1", "lake.maintenance.keep-ms": "3600000", "name": "tidy"}
    with lake.sink(**more, **tidies) as runner:
        for number in range(7):
            commit(runner, row(number))
        if more:
            commit(runner, gone(3, 7), row(4, offset=8, note="new"))
        assert isinstance(runner.task, SparkSinkTask)
        spark = runner.task._lake
        assert isinstance(spark, SparkLake)
        # What is kept for an hour at least by a config is kept for no time here.
        chore = spark.maintain("shop.orders", 0)
        assert chore is not None
        assert chore.result(240).outcome == "maintained"
        commit(runner, row(9, offset=9))
    wanted = [0, 1, 2, 4, 5, 6, 9, 100] if more else [0, 1, 2, 3, 4, 5, 6, 9, 100]
    assert lake.ids() == wanted
    assert len(lake.files()) < 5
    for name, place, offset in (("tidy", PLACE, 10), ("lake", OTHER, 1)):
        with lake.sink(**more, name=name) as runner:
            runner.open(place)
            assert runner.rewinds == {place: offset}


@pytest.mark.long
@pytest.mark.parametrize("name", ["LAKE", "${spark.app.name}", "it's {source} %24"])
def test_any_name_of_a_connector_does(lake: Lake, name: str) -> None:
    """Spark puts values of its environment for some, and takes letters for others."""
    with lake.sink(**UPSERTS, name=name) as runner, lake.sink(**UPSERTS, name=name.lower() + "x") as other:
        commit(runner, row(0), row(1))
        commit(other, row(5, partition=1, offset=0))
        assert isinstance(runner.task, SparkSinkTask)
        assert isinstance(runner.task._lake, SparkLake)
        chore = runner.task._lake.maintain("shop.orders", 0)
        assert chore is not None
        chore.result(240)
        commit(runner, row(2))
    with lake.sink(**UPSERTS, name=name) as runner:
        runner.open(PLACE)
        assert runner.rewinds == {PLACE: 3}
    assert lake.ids() == [0, 1, 2, 5]


@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_rows_of_files_elsewhere_are_not_brought_into_a_table(lake: Lake, tmp_path: Path) -> None:
    """Whoever may write into its folder may have written its log."""
    with lake.sink(**UPSERTS) as runner:
        commit(runner, row(0))
    secret = tmp_path / "elsewhere.parquet"
    [file] = lake.files()
    shutil.copy(file.removeprefix("file://"), secret)
    log = lake.folder / "shop" / "orders" / "_delta_log"
    lines = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
    [add] = [line for line in lines if "add" in line]
    add["add"]["path"] = f"file://{secret}"
    (log / f"{len(list(log.glob('*.json'))):020}.json").write_text(json.dumps(add))
    with (
        pytest.raises(ConnectError, match="names files that are not in its folder"),
        lake.sink(**UPSERTS, **{"max.retries": "0"}) as runner,
    ):
        commit(runner, row(1))


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
        commit(runner, row(1))
    assert (elsewhere / "old.parquet").exists()
    assert lake.ids() == [0, 1]


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


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.mark.parametrize(
    ("config", "value"),
    [
        ({"lake.tables.default-partition-by": "note"}, {"id": 1, "note": "x" * 300}),
        ({"lake.tables.default-partition-by": "note,id"}, {"id": 1, "note": "x"}),
        ({}, {"id": 1, "ıd": 2}),
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
@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_tables_of_a_catalog_that_the_worker_names(lake: Lake, python: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By REST; its login is in the worker's file, and nowhere else."""
    rest = IcebergRest().start()
    own = lake.folder / "own"
    own.symlink_to(Path(python[application.PYTHON]).parent.parent)
    logins = own.with_suffix(".conf")
    logins.write_text("spark.sql.catalog.prod.header.authorization Bearer needle-R45\n")
    try:
        prefix = "lake.spark.sql.catalog.prod"
        worker = {
            application.PYTHON: str(own / "bin" / "python"),
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.type": "rest",
            f"{prefix}.uri": rest.url,
            f"{prefix}.cache-enabled": "false",
            "lake.spark.eventLog.enabled": "true",
            "lake.spark.eventLog.compress": "false",
            "lake.spark.eventLog.rolling.enabled": "false",
            "lake.spark.eventLog.dir": f"file://{lake.folder}",
        }
        monkeypatch.setattr(SparkSinkTask, "worker", worker)
        # The harness knows no worker's file; what is checked there has a test of its own.
        monkeypatch.setattr(SparkSinkConnector, "problems", lambda *arguments: [])
        config = {**lake.config(**UPSERTS), "lake.catalog": "prod"}
        del config["lake.store.url"]
        with pytest.raises(ConnectError, match="chmod 600"), SinkRunner(SparkSinkConnector, config) as runner:
            runner.put([row(0)])
            wait_until(lambda: look(runner), 240)
        logins.chmod(0o600)
        with SinkRunner(SparkSinkConnector, config) as runner:
            commit(runner, row(0), row(1))
            commit(runner, row(1, offset=2, note="new"), gone(0, 3))
            lines = [_line(process) for process in psutil.Process().children(recursive=True)]
        application.of(worker).end()
        catalog = load_catalog("rest", type="rest", uri=rest.url)
        found = lakes.rows_of(catalog.load_table("shop.orders")).to_pylist()
        assert [(each["id"], each["note"]) for each in found] == [(1, "new")]
        logs = [path.read_bytes() for path in lake.folder.glob("*") if path.is_file() and path != logins]
        assert any(b"spark.sql.catalog.prod.header.authorization" in text for text in logs), "the control: the log has its name"
        assert not any(b"needle-R45" in text for text in logs)
        assert not any("needle-R45" in line for line in lines)
    finally:
        rest.stop()


@pytest.mark.parametrize("more", [{}, pytest.param(UPSERTS, marks=pytest.mark.long)], ids=["append", "upsert"])
def test_tasks_that_feed_a_table_share_its_commits(lake: Lake, more: dict[str, str]) -> None:
    """Whatever comes while the first commit is made is the second one."""
    with contextlib.ExitStack() as stack:
        runners = [stack.enter_context(lake.sink(task, **more, **{"tasks.max": "5"})) for task in range(5)]
        for number, runner in enumerate(runners):
            runner.put([row(number, partition=number, offset=0)])
            look(runner)
        for number, runner in enumerate(runners):
            until(runner, {TopicPartition("orders", number): 1})
        assert lake.ids() == [0, 1, 2, 3, 4]
        # Two with the same id.
        runners[0].put([row(7, partition=0, offset=1)])
        for number in (1, 2):
            runners[number].put([row(8, partition=number, offset=1, note=f"of {number}")])
        for runner in runners[:3]:
            look(runner)
        for number, runner in enumerate(runners[:3]):
            until(runner, {TopicPartition("orders", number): 2})
    assert lake.ids() == [0, 1, 2, 3, 4, 7, *([8] if more else [8, 8])]


def test_requests_are_one_commit_if_they_are_alike() -> None:
    def request(number: int, **more: Any) -> groups.Request:
        rows = pa.table({"id": pa.array([number], pa.int32()), "mark": [False]})
        same = dict.fromkeys(groups._ALIKE, "same")
        own = {"ids": ["id"], "empties": False, "topic_ids": {"orders": "x"}}
        places = {"begins": [["orders", number, None]], "ends": [["orders", number, 1]]}
        return groups.Request({**same, **own, **places, **more}, rows)

    one = groups.combined([request(0), request(1), request(2)])
    assert one is not None
    assert one.rows.column("id").to_pylist() == [0, 1, 2]
    assert one.head["ends"] == [["orders", number, 1] for number in range(3)]
    assert groups.combined([request(0)]) is None
    for other in (
        request(1, identity="another"),
        request(1, empties=True),
        request(0),
        request(1, begins=[["orders", 0, None]]),
    ):
        assert groups.combined([request(0), other]) is None


def test_what_waits_for_a_table_is_given_to_one_at_a_time() -> None:
    def request(table: str, number: int) -> groups.Request:
        return groups.Request({"format": "delta", "where": {"url": table}, "number": number})

    writes = groups.Writes()
    for number, table in enumerate("aba"):
        writes.put(request(table, number))
    with writes.taken() as first:
        assert [each.head["number"] for each in first] == [0, 2]
        writes.put(request("a", 3))
        with writes.taken() as second:
            assert [each.head["number"] for each in second] == [1]
    with writes.taken() as third:
        assert [each.head["number"] for each in third] == [3]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_executors_of_a_cluster_come_and_go_and_die(
    lake: Lake, python: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A standalone cluster with two workers; an application that has none of their cores while there is nothing to do."""
    [home] = Path(python[application.PYTHON]).parent.parent.glob("lib/python3.*/site-packages/pyspark")
    cluster = SparkCluster(tmp_path / "cluster", cores=1, workers=2, home=home).start()
    settings = {
        "master": cluster.master_url,
        "driver.host": "127.0.0.1",
        "executor.memory": "512m",
        "dynamicAllocation.enabled": "true",
        "dynamicAllocation.minExecutors": "0",
        "dynamicAllocation.shuffleTracking.enabled": "true",
        "dynamicAllocation.executorIdleTimeout": "5s",
        # Whose blocks another one may read from its disk: nobody waits for these.
        "dynamicAllocation.shuffleTracking.timeout": "10s",
    }
    worker = {**python, **{f"lake.spark.{name}": value for name, value in settings.items()}}
    monkeypatch.setattr(SparkSinkTask, "worker", worker)
    draw, kills = random.Random(7), 0
    try:
        with lake.sink(**UPSERTS) as runner:
            commit(runner, row(0))
            for number in range(1, 9):
                runner.put([row(number, offset=3 * number - 2), row(0, offset=3 * number - 1, note=f"n{number}")])
                runner.put([gone(number - 1, 3 * number)] if number > 1 else [row(50, offset=3)])
                look(runner)
                if number % 2:
                    victims = wait_until(cluster.executors, 240, "no executor has come")
                    draw.choice(victims).kill()
                    kills += 1
                until(runner, {PLACE: 3 * number + 1})
            wait_until(lambda: not cluster.executors(), 240, "executors have cores for nothing")
        assert kills == 4
        assert [(found["id"], found["note"]) for found in lake.rows()] == [(0, "n8"), (8, "n"), (50, "n")]
    finally:
        application.of(worker).end()
        cluster.stop()


def _kill(pid: int) -> None:
    """End a process and all that it has started."""
    process = psutil.Process(pid)
    for each in [*process.children(recursive=True), process]:
        os.kill(each.pid, signal.SIGKILL)


def test_one_bad_table_holds_up_itself_only(lake: Lake) -> None:
    tables = {"lake.tables": "shop.${topic}", "topics": "orders,bad", "max.retries": "3"}
    blocked = lake.folder / "shop" / "bad"
    blocked.parent.mkdir()
    # A file where the folder is to be.
    blocked.write_text("")
    bad = TopicPartition("bad", 0)

    def fails() -> bool:
        # Its partition is read from where it was.
        if bad in runner.rewinds:
            runner.rewinds.clear()
            runner.put([record(0, Struct(ROW, {"id": 0, "note": "n"}), ROW, topic="bad")])
        look(runner)
        return False

    with (
        pytest.raises(ConnectError, match=r"The table shop\.bad can.*max\.retries is 3"),
        lake.sink(**tables) as runner,
    ):
        runner.open(PLACE, bad)
        runner.put([row(0), record(0, Struct(ROW, {"id": 0, "note": "n"}), ROW, topic="bad")])
        until(runner, {PLACE: 1})
        assert not runner.committed.get(bad)
        commit(runner, row(1))
        assert lake.ids() == [0, 1]
        wait_until(fails, 240)


@pytest.mark.long
def test_a_table_that_was_made_anew_ends_the_task_with_the_remedy(lake: Lake) -> None:
    with pytest.raises(ConnectError, match=r"is another one now.*restart the task"), lake.sink() as runner:
        commit(runner, row(0))
        shutil.rmtree(lake.folder / "shop")
        with lake.sink() as other:
            commit(other, row(0))
        commit(runner, row(1))


@pytest.mark.long
def test_the_offsets_are_those_of_the_topic(lake: Lake) -> None:
    with lake.sink() as runner:
        runner.topic_ids["orders"] = "first"
        commit(runner, row(0), row(1))
    with pytest.raises(ConnectError, match="deleted and made again"), lake.sink() as runner:
        runner.topic_ids["orders"] = "second"
        runner.end_offsets[PLACE] = 2
        runner.open(PLACE)


@pytest.mark.long
def test_offsets_are_altered(lake: Lake) -> None:
    connector = SparkSinkConnector()
    with lake.sink() as runner:
        commit(runner, row(0), row(1))
    assert connector.alter_offsets(lake.config(), {PLACE: 1, OTHER: None})
    with lake.sink() as runner:
        runner.open(PLACE)
        assert runner.rewinds == {PLACE: 1}
        commit(runner, row(1))
    assert lake.ids() == [0, 1, 1]


@pytest.mark.long
def test_every_type_comes_back_as_it_was(lake: Lake) -> None:
    inner = schema.struct({"x": INT32_SCHEMA, "y": OPTIONAL_STRING_SCHEMA}).replace(optional=True)
    own = schema.struct(
        {
            "id": INT64_SCHEMA,
            "i8": INT8_SCHEMA,
            "i16": INT16_SCHEMA,
            "f32": FLOAT32_SCHEMA,
            "f64": FLOAT64_SCHEMA,
            "yes": BOOLEAN_SCHEMA,
            "bytes": BYTES_SCHEMA,
            "dec": schema.decimal_schema(3),
            "date": DATE_SCHEMA,
            "time": TIME_SCHEMA,
            "at": TIMESTAMP_SCHEMA,
            "list": schema.array(inner),
            "map": schema.mapping(STRING_SCHEMA, inner),
            "in": inner,
        }
    )
    at = datetime.datetime(2026, 2, 28, 23, 59, 59, 999000, UTC)
    value = {
        "id": 2**63 - 1,
        "i8": -128,
        "i16": 32767,
        "f32": 1.5,
        "f64": 1e300,
        "yes": True,
        "bytes": b"\x00\xff",
        "dec": decimal.Decimal("-1.250"),
        "date": at.replace(hour=0, minute=0, second=0, microsecond=0),
        "time": datetime.datetime(1970, 1, 1, 12, 34, 56, 789000, UTC),
        "at": at,
        "list": [Struct(inner, {"x": 1}), None],
        "map": {"k": Struct(inner, {"x": 2, "y": "é"}), "n": None},
        "in": None,
    }
    with lake.sink() as runner:
        commit(runner, record(0, Struct(own, value), own))
        # And from what the table has.
        commit(runner, record(1, Struct(own, {**value, "id": 1}), own))
    for found in lake.rows():
        assert found == {
            **value,
            "id": found["id"],
            "date": at.date(),
            "time": "12:34:56.789",
            "list": [{"x": 1, "y": None}, None],
            "map": [("k", {"x": 2, "y": "é"}), ("n", None)],
        }


@pytest.mark.long
def test_columns_are_added_at_any_depth(lake: Lake) -> None:
    old, new = ({"x": INT32_SCHEMA}, {"x": INT32_SCHEMA, "y": STRING_SCHEMA})

    def nested(fields: dict[str, Schema]) -> Schema:
        struct = schema.struct(fields).replace(optional=True)
        return schema.struct({"id": INT32_SCHEMA, "in": struct, "list": schema.array(struct).replace(optional=True)})

    with lake.sink(**EVOLVES) as runner:
        for offset, fields in enumerate((old, new, old)):
            own = nested(fields)
            inner = own.fields[1].schema
            value = Struct(inner, {"x": 1, "y": "n"} if fields is new else {"x": 1})
            commit(runner, record(offset, Struct(own, {"id": offset, "in": value, "list": [value]}), own))
    assert [found["in"]["y"] for found in lake.rows()] == [None, "n", None]
    assert [found["list"][0]["y"] for found in lake.rows()] == [None, "n", None]


@pytest.mark.long
def test_a_new_table_is_partitioned(lake: Lake) -> None:
    with lake.sink(**{"lake.tables.default-partition-by": "note"}) as runner:
        commit(runner, row(0, note="a b"), row(1, note="c/d"), row(2, note=None))
        commit(runner, row(3, note="c/d"))
    assert [found["note"] for found in lake.rows()] == ["a b", "c/d", None, "c/d"]
    assert any("note=" in str(path) for path in lake.folder.rglob("*.parquet"))


@pytest.mark.long
def test_a_column_that_is_missing_is_a_bad_record_unless_it_may_be_added(lake: Lake) -> None:
    with lake.sink(**{"errors.tolerance": "all"}) as runner:
        commit(runner, row(0))
        commit(runner, row(1, WIDE, more="m"), row(2))
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
        assert "has no column more" in str(runner.reported[0][1])
    assert lake.ids() == [0, 2]


@pytest.mark.parametrize("lake", ["delta"], indirect=True)
@pytest.mark.parametrize(
    ("expression", "refused"),
    [
        ("id >= 0", False),
        ("java_method('java.lang.Math', 'abs', id) >= 0", True),
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


# Without Spark.


class Plain:
    """A config that needs none."""

    def __init__(self, folder: Path) -> None:
        self.config = Lake(folder, "delta").config


def test_a_worker_without_a_python_for_lakes_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"run kconnect lake setup.*lake\.python"), Lake(tmp_path, "delta").sink() as runner:
        runner.open(PLACE)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("/data/lake", "must begin with"),
        ("file://host/lake", "file:///folder"),
        ("http://example.org/x", "must begin with"),
        ("jdbc:x://y", "must begin with"),
        ("file:///a?b", "must begin with"),
    ],
)
def test_a_url_that_is_none_is_refused(tmp_path: Path, url: str, error: str) -> None:
    errors = config_errors(SparkSinkConnector, {**Plain(tmp_path).config(), "lake.store.url": url})
    assert error in str(errors["lake.store.url"])


@pytest.mark.parametrize(
    ("more", "setting", "error"),
    [
        ({"lake.catalog": "other"}, "lake.catalog", "leave lake.store.url out"),
        ({"lake.catalog": "other", "lake.store.url": ""}, "lake.catalog", "has prod as lake.spark.sql.catalog.NAME"),
        ({"lake.catalog": "prod.type", "lake.store.url": ""}, "lake.catalog", "has prod as"),
        ({"lake.catalog": "prod", "lake.store.url": "", "lake.format": "delta"}, "lake.catalog", "are in folders"),
        ({"lake.store.url": ""}, "lake.store.url", "missing"),
        ({"lake.store.url": "file:///x/${{env:HOME}}"}, "lake.store.url", "must begin"),
        ({"lake.tables.order-by": "id", **UPSERTS}, "lake.tables.order-by", "of the id"),
        ({"lake.catalog": "prod", "lake.store.url": ""}, None, ""),
    ],
)
def test_a_catalog_is_one_of_the_workers(tmp_path: Path, more: dict[str, str], setting: str | None, error: str) -> None:
    connector = SparkSinkConnector()
    connector.worker = {"lake.spark.sql.catalog.prod": "x", "lake.spark.sql.catalog.prod.type": "rest"}
    validated = connector.validate({**Plain(tmp_path).config(), "lake.format": "iceberg", **more})
    errors = {value.name: value.errors for value in validated.values if value.errors}
    assert set(errors) == ({setting} if setting else set())
    assert error in str(errors.get(setting or ""))


def test_a_folder_that_the_worker_does_not_allow_is_refused(tmp_path: Path) -> None:
    connector, props = SparkSinkConnector(), Plain(tmp_path).config()
    for allowed, refused in ((tmp_path / "other", True), (tmp_path, False)):
        connector.worker = {"connector.files.allowed.paths": str(allowed)}
        errors = {value.name for value in connector.validate(props).values if value.errors}
        assert errors == ({"lake.store.url"} if refused else set())


@pytest.mark.parametrize(
    "name", ["shop.history", "shop.at_timestamp_1", "shop.br{ace", "sh${x}op.orders", "shop.a[0]", "shop.a.data"]
)
def test_names_that_spark_takes_for_something_else_are_no_tables(tmp_path: Path, name: str) -> None:
    from kconnect.api import DataError
    from kconnect.connectors.spark import settings

    props = {**Plain(tmp_path).config(), "lake.format": "iceberg"}
    lake = SparkLake(settings.CONFIG.parse(props), props, {}, _never, _never)
    with pytest.raises(DataError, match="can't be a table"):
        lake.where(name)


@pytest.mark.parametrize("name", ["_delta_log.x", "shop._delta_log", "shop.branch_x", "shop.tag_main"])
def test_names_that_lakes_have_for_themselves_are_no_tables(tmp_path: Path, name: str) -> None:
    from kconnect.api import DataError
    from kconnect.connectors.spark import settings

    props = Plain(tmp_path).config()
    lake = SparkLake(settings.CONFIG.parse(props), props, {}, _never, _never)
    with pytest.raises(DataError, match="names of their own"):
        lake.where(name)


def test_a_rest_ends_only_where_its_partitions_are_resumed() -> None:
    task = SparkSinkTask()
    task._lake = SparkLake.__new__(SparkLake)
    task._rests["shop.orders"] = Rest(0.0, (PLACE,))
    assert not task.commit_aside("shop.orders")
    assert "shop.orders" in task._rests, "its partition would be paused for ever"


def test_branches_that_ended_applications_have_left_go_and_no_others() -> None:
    now, old, new = 1_800_000_000, "kconnect_1799990000_" + "a" * 32, "kconnect_1799999000_" + "b" * 32
    others = ["main", "audit", "kconnect_1799990000", "kconnect_x_" + "a" * 32, old + "0"]
    assert iceberg.leftovers([*others, new, old], now) == [old]


def _never(*arguments: Any) -> Any:
    raise AssertionError
