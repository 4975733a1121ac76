"""The Spark of the Spark sink ends, says nothing, is a cluster, has catalogs, or can not write one of its tables."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import psutil
import pytest
from pyiceberg.catalog import load_catalog

from kconnect.api import (
    ConnectError,
    RetriableError,
    Struct,
    TopicPartition,
)
from kconnect.connectors.spark import application
from kconnect.connectors.spark.connector import SparkSinkConnector
from kconnect.connectors.spark.task import SparkSinkTask
from kconnect.testing import SinkRunner
from tests.attacks import search_paths
from tests.connectors.spark.tables import PLACE, ROW, UPSERTS, Lake, commit, commit_again, gone, look, play, record, row, until
from tests.rig.systems import lake as lakes
from tests.rig.systems.iceberg_rest import IcebergRest
from tests.rig.systems.spark_cluster import SparkCluster
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)


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
        runner.rewinds.setdefault(PLACE, 3)
        commit_again(runner, 3)
    assert lake.ids() == [0, 1, 2, 3]


@pytest.mark.long
@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_nobody_else_can_make_what_spark_looks_for_code_in(lake: Lake, python: dict[str, str]) -> None:
    """Whoever makes a folder of a class path has classes of his loaded, with all logins of the lake."""
    spark = application.of(python)
    with lake.sink() as runner:
        commit(runner, row(0))
    assert spark._life is not None
    leader = psutil.Process(spark._life._process.pid)
    processes = [leader, *leader.children(recursive=True)]
    places = {place for each in processes for place in search_paths.of(each)}
    assert any(place.name == "jars" for place in places)
    assert not [place for place in places if search_paths.is_open(place)]


def test_an_application_that_says_nothing_any_more_is_ended(lake: Lake, python: dict[str, str]) -> None:
    spark = application.of(python)
    with lake.sink(**{"lake.answer.timeout-ms": "30000"}) as runner:
        task = runner.task
        assert isinstance(task, SparkSinkTask)
        # A machine with much else to do keeps one that begins silent for so long as well.
        given, task._longest_s = task._longest_s, 600.0
        commit(runner, row(0))
        task._longest_s = given
        assert spark._life is not None
        stopped = psutil.Process(spark._life._process.pid)
        stopped.suspend()
        runner.put([row(1), row(2)])
        reasons: list[str] = []

        def begins_again() -> bool:
            try:
                runner.put([])
            except RetriableError as error:
                reasons.append(str(error))
            return bool(runner.rewinds)

        wait_until(begins_again, 240)
        assert "has answered nothing for 30 s, which is lake.answer.timeout-ms" in reasons[0]
        assert not stopped.is_running() or stopped.status() == psutil.STATUS_ZOMBIE
        task._longest_s = 600.0
        commit_again(runner, 3)
    assert lake.ids() == [0, 1, 2, 3]


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


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
            # Its tables are in folders of this machine, which it may have there only.
            f"{prefix}.warehouse": rest.warehouse,
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


def test_a_table_that_a_record_names_and_that_can_not_be_used_is_its_fault(lake: Lake) -> None:
    """Who may write to the topic names a table whose commits, or looks, fail for whatever reason: the task ended for good."""
    dynamic = {"lake.tables": "", "lake.tables.route-field": "note", "lake.tables.dynamic-enabled": "true"}
    blocked = lake.folder / "shop" / "bad"
    blocked.parent.mkdir()
    # A file where the folder is to be.
    blocked.write_text("")
    pause = threading.Event()

    def wait() -> None:
        pause.wait(0.2)

    with lake.sink(**dynamic, **{"max.retries": "1", "errors.tolerance": "all"}) as runner:
        records = [row(0, note="shop.orders"), row(1, note="shop.bad"), row(2, note="shop.orders")]
        play(runner, {PLACE: records}, random.Random(1), wait, 3)
        assert {bad.original_offset for bad, _ in runner.reported} == {1}
    assert lake.ids() == [0, 2]


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
