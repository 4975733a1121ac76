"""
A first copy of MariaDB straight into tables: its ranges are of several moments, and the stream makes of them what there is.

What is the same for every database: `test_into.py`. With a worker, kills and Debezium: `tests/integration/test_backfill.py`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kconnect.api import RetriableError, SourceRecord, Struct
from kconnect.connectors.backfill import sinks
from kconnect.connectors.backfill.mariadb import settings
from kconnect.connectors.backfill.mariadb.progress import Beginning, beginning_partition
from kconnect.connectors.backfill.mariadb.sessions import Sessions, begin, definition, now_us, run
from kconnect.connectors.backfill.mariadb.source import MariaDbBackfillConnector
from kconnect.connectors.backfill.mariadb.tables import found, plans
from kconnect.connectors.backfill.range_connector import RangeConnector
from kconnect.connectors.backfill.range_into import RangeIntoTask
from kconnect.connectors.spark import copies
from kconnect.connectors.spark.application import Application
from tests.connectors.spark.copying import Copying, as_read, settings_of
from tests.connectors.spark.tables import Lake, commit
from tests.connectors.sql.conftest import mariadb_server  # noqa: F401
from tests.rig.systems.mariadb import MariaDB
from tests.support import wait_until

pytestmark = [pytest.mark.process, pytest.mark.timeout(900)]

COUNT = 1000
ROWS = (
    "create table t (id int primary key, note varchar(200));"
    f"insert into t select seq, concat(repeat('x', 100), seq) from seq_1_to_{COUNT};"
)
UPSERTS = {
    "lake.tables": "shop.t",
    "lake.tables.upsert-mode-enabled": "true",
    "lake.tables.default-id-columns": "id",
    "lake.tables.debezium-envelopes-enabled": "true",
}
APPENDS = {"lake.tables": "shop.t"}

_numbers = iter(range(1, 1_000_000))


def begun(config: dict[str, str]) -> Beginning:
    """Note where a copy begins, as the connector does before its tasks read; it has no broker for the history of schemas."""
    parsed = settings.CONFIG.parse(config)
    sessions = Sessions(parsed, {})
    with contextlib.closing(sessions.plain()) as connection, contextlib.closing(sessions.raw()) as raw:
        place, taken_us = begin(connection, with_gtids=True), now_us(connection)
        run(connection, "ROLLBACK")
        captured = [table for table in found(connection, parsed) if table.is_captured]
        return Beginning(place, taken_us, plans(connection, captured, lambda name: definition(raw, name), parsed))


@pytest.fixture
def copier(
    mariadb_server: MariaDB,  # noqa: F811
    lake: Lake,
    python: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., Copying]]:
    server = mariadb_server
    monkeypatch.setattr(RangeConnector, "worker", python)
    monkeypatch.setattr(RangeIntoTask, "worker", python)
    with contextlib.ExitStack() as stack:

        def make(statements: str, sink: dict[str, str]) -> Copying:
            name = f"into{next(_numbers)}"
            server.execute(f"create database {name} character set utf8mb4; use {name}; {statements}")
            stack.callback(server.execute, f"set lock_wait_timeout = 120; drop database {name}")
            # A task that a test has crash leaves its session, with a lock on the table.
            stack.callback(end_sessions, server)
            config = {
                **{"name": name, "tasks.max": "1", "database.hostname": server.host, "database.port": str(server.port)},
                **{"database.user": server.user, "database.password": server.password, "database.include.list": name},
                **{"topic.prefix": "cdc", "backfill.debezium.version": "3.5.0.Final"},
                "schema.history.internal.kafka.topic": "history",
                "schema.history.internal.kafka.bootstrap.servers": "nobody:9092",
                **{"backfill.range.rows": "300", "backfill.batch.rows": "100"},
                **settings_of({"topics": f"cdc.{name}.t", **sink}, lake),
            }
            offset = begun(config).as_offset()
            copying = Copying(MariaDbBackfillConnector, config, [(beginning_partition(), offset)])
            copying.start()
            stack.callback(copying.stop)
            return copying

        yield make


def end_sessions(server: MariaDB) -> None:
    for (number,) in server.rows("select id from information_schema.processlist where id <> connection_id() and db is null"):
        server.end_session(number)


def changed(server: MariaDB, copying: Copying, statements: str) -> None:
    server.execute(f"use {copying.config['name']}; {statements}")


def notes(lake: Lake) -> dict[int, str]:
    rows = lake.rows("shop.t")
    by_id = {row["id"]: row["note"] for row in rows}
    assert len(by_id) == len(rows)
    return by_id


def as_changes(sample: SourceRecord, *changes: tuple[str, int, str]) -> list[SourceRecord]:
    """Return what Debezium would write of changes."""
    envelope, row = sample.value_schema, sample.value["after"].schema
    assert envelope is not None
    records = []
    for what, number, note in changes:
        state = Struct(row, {"id": number, "note": note})
        before, after = (state, None) if what == "d" else (None, state)
        value = Struct(envelope, {"before": before, "after": after, "source": sample.value["source"], "op": what})
        records.append(SourceRecord({}, {}, sample.topic, None, None, None, envelope, value))
    return records


@pytest.mark.long
def test_rows_of_several_moments_become_what_there_is_once_the_stream_is_read(
    copier: Callable[..., Copying],
    mariadb_server: MariaDB,  # noqa: F811
    lake: Lake,
    one_spark: Application,
) -> None:
    copying = copier(ROWS, UPSERTS)
    copying.until(lambda: copying.records, "nothing is read")
    changed(
        mariadb_server,
        copying,
        # Of the range that is read, and of those that are not yet. Some rows change twice.
        "update t set note = 'a' where id = 1; delete from t where id = 2; update t set note = 'a' where id = 900;"
        "update t set note = 'b' where id = 900; delete from t where id = 901; insert into t values (2000, 'new');"
        "delete from t where id = 902; insert into t values (902, 'again')",
    )
    copying.until(lambda: copying.committed, "nothing is committed")
    assert len({partition["pages"] for partition, _ in copying.source.offsets if "pages" in partition}) > 1
    copied = notes(lake)
    # Of the moment at which each range was read.
    assert (copied[1], copied[900], copied[902], copied[2000]) == ("x" * 100 + "1", "b", "again", "new")
    assert 2 in copied and 901 not in copied
    stream = as_changes(
        copying.records[0],
        *(("u", 1, "a"), ("d", 2, "x"), ("u", 900, "a")),
    )
    rest = as_changes(
        copying.records[0],
        *(("u", 900, "b"), ("d", 901, "x"), ("c", 2000, "new"), ("d", 902, "x"), ("c", 902, "again")),
    )
    with lake.sink(**{"topics": copying.records[0].topic, **UPSERTS}) as runner:
        commit(runner, *as_read(stream))
        assert notes(lake)[900] == "a", "a row goes back for a moment"
        commit(runner, *as_read(rest, len(stream)))
    truth = {int(number): note for number, note in mariadb_server.rows(f"select id, note from {copying.config['name']}.t")}
    assert notes(lake) == truth


def copied_ids(lake: Lake) -> Counter[int]:
    return Counter(row["after"]["id"] for row in lake.read(lake.folder / "shop" / "t").to_pylist())


def test_rows_are_added_once_whoever_ends_amid_a_range_or_behind_the_commit(
    copier: Callable[..., Copying], lake: Lake, one_spark: Application
) -> None:
    copying = copier(ROWS, APPENDS)
    copying.crash_amid_and_behind()
    copying.until(lambda: copying.committed)
    every = Counter(range(1, COUNT + 1))
    assert copied_ids(lake) == every
    # The next copy has the same place in the log, for nobody has written since, and is another one.
    stored = next(offset for partition, offset in copying.source.offsets if partition == beginning_partition())
    first, next_one = Beginning.of_offset(stored), begun(copying.config)
    assert (first.place, first.taken_us) < (next_one.place, next_one.taken_us) and first.place == next_one.place
    (folder,) = (lake.folder / "_kconnect_staging").glob("*/*")
    assert folder.name == str(first.taken_us)
    (copy,) = copies.found(folder, copying.where)
    copy.files = {0: [f"file://{path}" for path in folder.glob("*.parquet")]}
    outcomes = [
        copies.begin(one_spark, copy, copying.config["name"], number).result(240).outcome
        for number in (first.taken_us, next_one.taken_us, first.taken_us - 1)
    ]
    assert outcomes == ["committed", "occupied", "later"]
    assert copied_ids(lake) == every
    wait_until(lambda: copying.source.reconfigurations or copying.source.error, 60, "it does not see the end")
    end = copying.handed_over()
    assert json.loads(end[settings.DEBEZIUM])["offset"]["pos"] == first.place.position
    assert not any((lake.folder / "_kconnect_staging").iterdir())


def test_a_table_without_an_order_that_is_begun_anew_comes_once(
    copier: Callable[..., Copying],
    mariadb_server: MariaDB,  # noqa: F811
    lake: Lake,
    one_spark: Application,
) -> None:
    copying = copier(ROWS.replace(" primary key", ""), APPENDS)
    copying.until(lambda: copying.records, "nothing is read")
    end_sessions(mariadb_server)
    with pytest.raises(RetriableError):
        copying.until(lambda: not copying.ranges_left)
    copying.until(lambda: copying.committed, "nothing is committed")
    assert len(copying.records) > COUNT, "it was not begun anew"
    assert copied_ids(lake) == Counter(range(1, COUNT + 1))


def test_a_table_that_is_altered_meanwhile_has_all_columns_there_were(
    copier: Callable[..., Copying],
    mariadb_server: MariaDB,  # noqa: F811
    lake: Lake,
    one_spark: Application,
) -> None:
    copying = copier(ROWS, APPENDS)
    ranges = copying.ranges_left
    assert ranges > 2
    for number, statements in enumerate(("add one int default 1", "add two int default 2, drop column one")):
        copying.until(functools.partial(has_read, copying, ranges - 1 - number), "no range is done")
        changed(mariadb_server, copying, f"alter table t {statements}")
        # Another process has not seen the columns that there were before.
        copying.restart(crash=True)
    copying.until(lambda: copying.committed, "nothing is committed")
    rows = [row["after"] for row in lake.read(lake.folder / "shop" / "t").to_pylist()]
    assert Counter(row["id"] for row in rows) == Counter(range(1, COUNT + 1))
    assert {(row["one"], row["two"]) for row in rows} == {(None, None), (1, None), (None, 2)}


def has_read(copying: Copying, left: int) -> bool:
    return copying.ranges_left <= left


@pytest.mark.long
def test_a_copy_that_is_given_up_is_committed_by_nobody_any_more(
    copier: Callable[..., Copying], lake: Lake, one_spark: Application
) -> None:
    copying = copier(ROWS, UPSERTS)
    with lake.sink(**{"topics": f"cdc.{copying.config['name']}.t", **UPSERTS}) as runner:
        copying.until(lambda: copying.records)
        commit(runner, *as_read(copying.records[:1]))
    copying.until(lambda: not copying.ranges_left)
    (folder,) = (lake.folder / "_kconnect_staging").glob("*/*")
    (copy,) = copies.found(folder, copying.where)
    (folder / sinks.COMMITTING).touch()
    kept = folder.parent.with_name("kept")
    shutil.copytree(folder, kept)
    copying.stop()
    # That it has begun is stored from the beginning on, and says nothing of the tables.
    offsets: list[tuple[dict[str, Any], None]] = [(partition, None) for partition, _ in copying.source.offsets]
    assert MariaDbBackfillConnector().alter_offsets(copying.config, offsets)
    assert not folder.parent.exists()
    copy.files = {0: [f"file://{path}" for path in kept.glob("*.parquet")]}
    copies.begin(one_spark, copy, copying.config["name"], int(folder.name)).result(240)
    assert len(lake.rows("shop.t")) == 1
    # The next one is committed.
    copy.files = {0: [f"file://{path}" for path in kept.glob("*.parquet")]}
    copies.begin(one_spark, copy, copying.config["name"], begun(copying.config).taken_us).result(240)
    assert len(lake.rows("shop.t")) == COUNT
