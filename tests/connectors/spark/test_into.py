"""
A first copy straight into tables, against PostgreSQL, Delta and Iceberg: the same as through a topic, once, whoever ends when.

With a worker, kills and Debezium: `tests/integration/test_backfill.py`.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kconnect.api import (
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    ConnectError,
    RetriableError,
    SinkRecord,
    SourceRecord,
    Struct,
    schema,
)
from kconnect.connectors.backfill import into, range_into, sinks
from kconnect.connectors.backfill.mariadb.source import MariaDbBackfillConnector
from kconnect.connectors.backfill.range_connector import RangeConnector
from kconnect.connectors.backfill.range_into import RangeIntoTask
from kconnect.connectors.backfill.snapshot import Snapshot
from kconnect.connectors.backfill.source import BackfillConnector
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.spark import copies
from kconnect.connectors.spark.application import Application, SparkFault
from kconnect.connectors.spark.staging import Stager
from kconnect.testing import config_errors
from tests.connectors.backfill.conftest import database  # noqa: F401
from tests.connectors.backfill.test_backfill import asked, done, end_sessions
from tests.connectors.spark.copying import Copying, as_read, settings_of
from tests.connectors.spark.tables import EVOLVES, UPSERTS, Lake, commit, record
from tests.support import seed, wait_until

pytestmark = [pytest.mark.process, pytest.mark.timeout(900)]

Make = Callable[[str], dict[str, str]]
COUNT = 1000
ROWS = (
    "create table t (id int primary key, note text, price numeric(12, 2), at timestamptz, day date, tags text[], raw bytea, "
    "small smallint, real real, yes boolean);"
    "insert into t select n, repeat('x', 200) || n, n * 0.01, '2026-02-03 04:05:06.789012Z'::timestamptz + n * interval '1 h', "
    "date '1500-01-01' + n, array['a', null, n::text], decode('00ff', 'hex'), n % 7, n / 3.0, n % 2 = 0 "
    f"from generate_series(1, {COUNT}) n; insert into t (id) values (5000);"
)
TOPIC = "cdc.public.t"
ENVELOPES = {
    "topics": TOPIC,
    "lake.tables": "shop.t",
    "lake.tables.upsert-mode-enabled": "true",
    "lake.tables.default-id-columns": "id",
    "lake.tables.debezium-envelopes-enabled": "true",
}
APPENDS = {"topics": TOPIC, "lake.tables": "shop.t"}


@pytest.fixture
def copier(
    database: Make,  # noqa: F811
    lake: Lake,
    python: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., Copying]]:
    monkeypatch.setattr(RangeConnector, "worker", python)
    monkeypatch.setattr(RangeIntoTask, "worker", python)
    with contextlib.ExitStack() as stack:

        def make(statements: str, sink: dict[str, str], **more: str) -> Copying:
            small = {"backfill.range.pages": "12", "backfill.batch.rows": "100"}
            copying = Copying(BackfillConnector, {**database(statements), **small, **settings_of(sink, lake), **more})
            copying.start()
            stack.callback(copying.stop)
            return copying

        yield make


def through_topic(lake: Lake, sink: dict[str, str], records: list[SourceRecord]) -> pa.Table:
    """What the sink itself makes of the same records."""
    with lake.sink(**{**sink, "lake.tables": "other.t"}) as runner:
        commit(runner, *as_read(records))
    return rows(lake, "other.t")


def rows(lake: Lake, name: str = "shop.t") -> pa.Table:
    table = lake.read(lake.folder.joinpath(*name.split(".")))
    by = "id" if "id" in table.column_names else "ts_ns"
    return table if by != "id" else table.sort_by("id")


def test_the_table_is_the_one_that_a_topic_would_have_made_and_goes_on_from_there(
    copier: Callable[..., Copying], lake: Lake, one_spark: Application
) -> None:
    copying = copier(ROWS, ENVELOPES)
    done(copying.config, "update t set note = 'later' where id = 7; delete from t where id = 8")
    copying.until(lambda: not copying.ranges_left)
    assert len(copying.records) == COUNT + 1
    assert not (lake.folder / "shop").exists()
    assert copying.committed is None
    copying.until(lambda: copying.committed)
    assert copying.committed == {"tables": 1, "staged_rows": COUNT + 1}
    made, wanted = rows(lake), through_topic(lake, ENVELOPES, copying.records)
    assert made.schema.equals(wanted.schema)
    assert made.equals(wanted)
    assert made.num_rows == COUNT + 1
    slot = f"select from pg_replication_slots where slot_name = '{copying.config['slot.name']}'"
    wait_until(lambda: asked(copying.config, slot) or copying.source.error, 60, "it hands nothing over")
    end = copying.handed_over()
    assert end["lsn"] == copying.records[0].value["source"]["lsn"]
    assert not any((lake.folder / "_kconnect_staging").iterdir())
    # The sink itself goes on: a later change wins, and a deletion deletes.
    envelope = copying.records[0].value_schema
    sample = copying.records[6]
    changed = sample.value["after"]
    with lake.sink(**ENVELOPES) as runner:
        new = {**{field.name: changed[field.name] for field in changed.schema.fields}, "note": "changed"}
        update = {"before": None, "after": type(changed)(changed.schema, new), "source": sample.value["source"], "op": "u"}
        gone = {"before": copying.records[8].value["after"], "after": None, "source": sample.value["source"], "op": "d"}
        commit(
            runner,
            *(
                SinkRecord(TOPIC, 0, None, None, envelope, type(sample.value)(envelope, value), at)
                for at, value in enumerate((update, gone))
            ),
        )
    now = {row["id"]: row["note"] for row in rows(lake).to_pylist()}
    assert now[changed["id"]] == "changed"
    assert copying.records[8].value["after"]["id"] not in now
    assert len(now) == COUNT


def changed_or_lost(lake: Lake, name: str = "shop.t") -> dict[int, int]:
    """How many rows a table has of each id, by the envelopes of a table that is appended to."""
    return Counter(row["after"]["id"] for row in rows(lake, name).to_pylist())


def test_rows_are_added_once_whoever_ends_amid_a_range_or_behind_the_commit(
    copier: Callable[..., Copying], lake: Lake, one_spark: Application
) -> None:
    copying = copier(ROWS, APPENDS)
    copying.crash_amid_and_behind()
    assert not copying.ranges_left
    copying.until(lambda: copying.committed)
    assert changed_or_lost(lake) == Counter([*range(1, COUNT + 1), 5000])
    # Nor does one who knows nothing of all that add anything, nor one who was given up before.
    (folder,) = (lake.folder / "_kconnect_staging").glob("*/*")
    (copy,) = copies.found(folder, copying.where)
    copy.files = {1: [f"file://{path}" for path in folder.glob("*.parquet")]}
    name, place = copying.config["name"], int(folder.name)
    assert copies.begin(one_spark, copy, name, place).result(240).outcome == "committed"
    answer = copies.begin(one_spark, copy, name, place - 1).result(240)
    with pytest.raises(ConnectError, match=r"'shop\.t' has a copy that was begun later"):
        copies.check(copy, answer)
    # Another copy would double them.
    answer = copies.begin(one_spark, copy, name, place + 1).result(240)
    with pytest.raises(ConnectError, match=r"'shop\.t' has rows already.*empty or drop it"):
        copies.check(copy, answer)
    assert changed_or_lost(lake) == Counter([*range(1, COUNT + 1), 5000])
    wanted = through_topic(lake, APPENDS, copying.records[: COUNT + 1])
    assert rows(lake).schema.equals(wanted.schema)


def test_what_is_read_from_a_later_snapshot_counts(copier: Callable[..., Copying], lake: Lake, one_spark: Application) -> None:
    copying = copier(ROWS, ENVELOPES)
    copying.until(lambda: copying.source.offsets, "no range is done")
    assert copying.ranges_left > 1
    done(copying.config, "update t set note = 'later' where id in (1, 900); delete from t where id = 950")
    end_sessions(copying.config)
    wait_until(lambda: copying.source.reconfigurations, 60, "the connector does not notice")
    copying.restart()
    copying.until(lambda: copying.committed)
    notes = {row["id"]: row["note"] for row in rows(lake).to_pylist()}
    assert (notes.pop(1), notes.pop(900)) == ("later", "later")
    assert notes.keys() == {*range(1, COUNT + 1), 5000} - {1, 900, 950}
    assert len(rows(lake)) == len(notes) + 2
    assert all(note == "x" * 200 + str(number) for number, note in notes.items() if number != 5000)


def test_a_copy_that_is_given_up_is_committed_by_nobody_any_more(
    copier: Callable[..., Copying], lake: Lake, one_spark: Application
) -> None:
    copying = copier(ROWS, ENVELOPES)
    with lake.sink(**ENVELOPES) as runner:
        # The table is there, with a row that is not in the database any more.
        copying.until(lambda: copying.records)
        commit(runner, *as_read(copying.records[:1]))
    copying.until(lambda: not copying.ranges_left)
    (folder,) = (lake.folder / "_kconnect_staging").glob("*/*")
    (copy,) = copies.found(folder, copying.where)
    copy.files = {1: [f"file://{path}" for path in folder.glob("*.parquet")]}
    (folder / sinks.COMMITTING).touch()
    kept = folder.parent.with_name("kept")
    shutil.copytree(folder, kept)
    copying.stop()
    offsets = [(partition, None) for partition, _ in copying.source.offsets]
    assert BackfillConnector().alter_offsets(copying.config, offsets)
    assert not folder.parent.exists()
    assert asked(copying.config, "select from pg_replication_slots where database = current_database()") == []
    copy.files = {1: [f"file://{path}" for path in kept.glob("*.parquet")]}
    copies.begin(one_spark, copy, copying.config["name"], int(folder.name)).result(240)
    assert len(rows(lake)) == 1


def test_a_table_that_is_there_gets_the_columns_that_it_lacks_and_nulls_where_the_copy_has_none(
    copier: Callable[..., Copying], lake: Lake, one_spark: Application
) -> None:
    sink = {**ENVELOPES, **EVOLVES}
    with lake.sink(**{**EVOLVES, **UPSERTS, "lake.tables": "shop.t"}) as runner:
        own = schema.struct({"id": INT32_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})
        commit(runner, *(record(at, Struct(own, {"id": at, "more": "m"}), own) for at in range(2)))
    copying = copier(ROWS, sink)
    copying.until(lambda: copying.committed)
    found = rows(lake).to_pylist()
    assert [row["id"] for row in found] == [*range(COUNT + 1), 5000]
    assert [(row["more"], row["note"]) for row in found[:2]] == [("m", None), (None, "x" * 200 + "1")]
    # In another type it can't be had, which a large copy finds out with its first range.
    (folder,) = (lake.folder / "_kconnect_staging").glob("*/*")
    (copy,) = copies.found(folder, copying.where)
    copy.schema = copy.schema.set(copy.schema.get_field_index("note"), pa.field("note", pa.int32()))
    copy.files = {1: [f"file://{path}" for path in folder.glob("*.parquet")]}
    answer = copies.begin(one_spark, copy, copying.config["name"], int(folder.name) + 1).result(240)
    with pytest.raises(
        ConnectError, match=r"does not fit the table 'shop\.t': the column 'note' is string there, and int32 here"
    ):
        copies.check(copy, answer)


def test_a_large_copy_finds_out_at_its_beginning_that_a_table_can_not_have_it(
    copier: Callable[..., Copying], lake: Lake, one_spark: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_into, "_MANY", 1)
    with lake.sink(**{**APPENDS, **EVOLVES}) as runner:
        copying = copier(ROWS, {**APPENDS, **EVOLVES})
        # Spark may be away for a moment: no file is forgotten for that.
        ask, faults = one_spark.ask, [SparkFault("it is away", passes=True)]
        monkeypatch.setattr(one_spark, "ask", lambda *arguments: _failing(faults) or ask(*arguments))
        with pytest.raises(RetriableError, match="it is away"):
            copying.until(lambda: copying.source.offsets)
        copying.until(lambda: copying.source.offsets, "no range is done")
        assert not (lake.folder / "shop").exists()
        ((_, offset),) = copying.source.offsets
        assert sum(rows for _, _, rows, _ in json.loads(offset["staged"])) == offset["rows"]
        commit(runner, *as_read(copying.records[:1]))
    copying.restart()
    with pytest.raises(ConnectError, match="has rows already"):
        copying.until(lambda: copying.ranges_left < 2)
    assert copying.ranges_left


def _failing(faults: list[SparkFault]) -> None:
    """Raise what is to fail, once."""
    if faults:
        raise faults.pop()


@pytest.mark.long
def test_of_two_that_commit_the_same_copy_one_does(copier: Callable[..., Copying], lake: Lake, python: dict[str, str]) -> None:
    copying = copier(ROWS, APPENDS)
    copying.until(lambda: not copying.ranges_left)
    (folder,) = (lake.folder / "_kconnect_staging").glob("*/*")
    (copy,) = copies.found(folder, copying.where)
    copy.files = {1: [f"file://{path}" for path in folder.glob("*.parquet")]}
    both = [Application(python) for _ in range(2)]
    try:
        for spark in both:
            spark.ask({"do": "look", **{name: copy.head[name] for name in ("format", "where")}, "connector": "x"}).result(240)
        answers = [copies.begin(spark, copy, copying.config["name"], int(folder.name)) for spark in both]
        assert [answer.result(240).outcome for answer in answers] == ["committed"] * 2
    finally:
        for spark in both:
            spark.end()
    assert len(rows(lake)) == COUNT + 1


@pytest.mark.long
def test_an_application_that_is_killed_at_any_moment_loses_and_doubles_nothing(
    copier: Callable[..., Copying], lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    copying = copier(ROWS, APPENDS)
    copying.until(lambda: not copying.ranges_left)
    begin, kills, draw = copies.begin, Counter[str](), random.Random(seed("KCONNECT_CHAOS_SEED"))

    def begin_and_kill(spark: Application, *arguments: Any) -> Any:
        answer = begin(spark, *arguments)
        if kills.total() < 6:
            life = spark._life
            assert life is not None
            # Spark takes some seconds to start; then it is in the midst of the commit.
            spark.ask(
                {"do": "look", **{name: arguments[0].head[name] for name in ("format", "where")}, "connector": "x"}
            ).result()
            delay = draw.random() * 4
            kills["late" if futures.wait([answer], delay).done else "amid"] += 1
            life._process.kill()
        return answer

    monkeypatch.setattr(copies, "begin", begin_and_kill)

    def polled() -> Any:
        with contextlib.suppress(RetriableError):
            copying.poll()
        return copying.committed

    wait_until(polled, 600, "it is not committed")
    assert kills.total()
    assert len(rows(lake)) == COUNT + 1


def test_a_staged_file_that_others_have_put_there_is_left_alone(
    copier: Callable[..., Copying], lake: Lake, one_spark: Application
) -> None:
    copying = copier(ROWS, APPENDS)
    copying.until(lambda: not copying.ranges_left)
    (folder,) = (lake.folder / "_kconnect_staging").glob("*/*")
    first = sorted(folder.glob("*.parquet"))[0]
    content = first.read_bytes()
    table = pq.read_table(first)
    own = json.loads(table.schema.metadata[b"kconnect"])
    other = {**own, "where": {**own["where"], **({"url": "file:///etc"} if "url" in own["where"] else {"table": ["x", "y"]})}}
    for rows in (*(table.replace_schema_metadata(each) for each in ({b"kconnect": json.dumps(other)}, {})), table.slice(1)):
        pq.write_table(rows, first)
        with pytest.raises(ConnectError, match="it is not what was written"):
            copying.until(lambda: copying.committed)
    kept = first.with_name("kept")
    kept.write_bytes(content)
    first.unlink()
    first.symlink_to(kept)
    with pytest.raises(ConnectError, match="none that a backfill has written"):
        copying.until(lambda: copying.committed)
    first.unlink()
    with pytest.raises(ConnectError, match="can't be read"):
        copying.until(lambda: copying.committed)
    assert not (lake.folder / "shop").exists()


def test_a_topic_that_the_sink_does_not_read_is_refused(copier: Callable[..., Copying], lake: Lake) -> None:
    copying = copier(ROWS, {**APPENDS, "topics": "", "topics.regex": "cdc[.]other[.].*"})
    with pytest.raises(ConnectError, match=r"does not read the topic cdc\.public\.t"):
        copying.until(lambda: not copying.ranges_left)


def test_a_later_snapshot_has_a_greater_number_though_no_transaction_has_begun_since() -> None:
    earlier_first = ("90:100:90,95", "95:100:95", "100:100:", "99:101:99", "101:101:")
    numbers = [into.order_of(Snapshot(1, sees)) for sees in earlier_first]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"into.connector.class": "DeltaSink"}, r"into\.connector\.class must be SparkSink, but is DeltaSink"),
        ({"into.lake.format": "hudi"}, r"into\.lake\.format: .*hudi"),
        ({"into.lake.store.url": "s3a://bucket/lake"}, r"backfill\.staging\.url.*folder that all machines have"),
        ({"backfill.staging.url": "file:///data/*/x"}, r"backfill\.staging\.url.*file:///data/\*/x.*Spark has a meaning for"),
        ({"backfill.staging.url": "s3a://bucket/x"}, r"backfill\.staging\.url.*s3a://bucket/x.*folder that all machines have"),
    ],
)
@pytest.mark.parametrize("connector", [BackfillConnector, MariaDbBackfillConnector])
def test_what_can_not_be_is_refused_beforehand(connector: type[RangeConnector], more: dict[str, str], text: str) -> None:
    into = {
        "into.connector.class": "SparkSink",
        "into.lake.format": "delta",
        "into.lake.store.url": "file:///data/lake",
        "into.lake.tables": "shop.t",
        "into.topics": "cdc.public.t",
        "backfill.into": "lake",
    }
    own = {
        BackfillConnector: {
            **{"database.dbname": "d", "plugin.name": "pgoutput", "backfill.debezium.version": "3.6.1.Final"},
        },
        MariaDbBackfillConnector: {
            **{f"schema.history.internal.kafka.{name}": "x" for name in ("topic", "bootstrap.servers")},
            "backfill.debezium.version": "3.5.0.Final",
        },
    }
    config = {"name": "x", "database.hostname": "db", "database.user": "u", "topic.prefix": "cdc", **own[connector]}
    assert not config_errors(connector, {**config, **into})
    known = {value.name: value.value for value in connector().validate({**config, **into, "into.x.password": "p"}).values}
    assert known.keys() >= into.keys() and known["into.x.password"] is None
    errors = config_errors(connector, {**config, **into, **more})
    assert re.search(text, str(errors)), errors


def _after(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([("after", pa.struct(columns)), ("tags", pa.list_(pa.struct(columns)))])


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (_after(("a", pa.int32()), ("b", pa.int32())), _after(("a", pa.int32()), ("c", pa.int32())), "abc"),
        (_after(("a", pa.int32()), ("b", pa.int32())), _after(("a", pa.int32()), ("b", pa.int64())), None),
        (_after(("a", pa.int32())), _after(("b", pa.int32()), ("a", pa.string())), None),
        (pa.schema([("after", pa.int32())]), _after(("a", pa.int32())), None),
    ],
)
def test_files_of_a_table_may_have_other_columns_and_no_other_types(
    tmp_path: Path, first: pa.Schema, second: pa.Schema, joined: str | None
) -> None:
    head = {"table": "shop.t", "format": "delta", "where": {}, "partitions": [], "ids": [], "order": ""}
    entries = []
    for number, columns in enumerate((first, second)):
        name = f"{number:040x}.parquet"
        pq.write_table(columns.with_metadata({b"kconnect": json.dumps(head)}).empty_table(), tmp_path / name)
        entries.append(copies.Entry(0, name, 0))
    if joined is None:
        with pytest.raises(ConnectError, match="would have a column with several types"):
            copies.read(tmp_path, entries, lambda table: {})
        return
    (copy,) = copies.read(tmp_path, entries, lambda table: {})
    assert [field.name for field in copy.schema.field("after").type] == list(joined)
    assert [field.name for field in copy.schema.field("tags").type.value_type] == list(joined)


class _Asked:
    """What stands for Spark, and notes what it is asked."""

    def ask(self, head: dict[str, Any], rows: Any) -> Any:
        self.head = head


def test_what_a_staged_file_says_is_what_its_task_wrote(tmp_path: Path) -> None:
    """Whoever may write into the folder puts a file with as many rows there, whose head says what Spark is to do."""
    stager = Stager(tmp_path, HostFiles({}), "staging")
    rows = pa.table({"id": pa.array([1, 2], pa.int32())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    own: dict[str, Any] = {
        "table": "shop.t",
        "format": "delta",
        "where": {"url": "x"},
        "partitions": [],
        "ids": [],
        "order": "",
    }
    may = {"creates": False, "widens": False}
    stager.ask({"do": "write", **own, **may, "empties": False, "mark": None, "ends": []}, sink.getvalue())
    [staged] = stager.take()
    entry = copies.Entry(0, *staged)
    [copy] = copies.read(tmp_path, [entry], lambda name: own["where"])
    assert copy.head == {**own, **may}, "the control"
    evil = {**own, "creates": True, "widens": True, "do": "maintain", "keep_ms": 0, "connector": "other"}
    pq.write_table(rows.replace_schema_metadata({b"kconnect": json.dumps(evil)}), tmp_path / staged.name)
    with pytest.raises(ConnectError, match="it is not what was written"):
        copies.read(tmp_path, [entry], lambda name: own["where"])
    with pytest.raises(ConnectError, match="its table is not the sink's"):
        copies.read(tmp_path, [copies.Entry(0, staged.name, 2)], lambda name: {"url": "y"})
    with pytest.raises(ConnectError, match="has 2 rows, and should have 3"):
        copies.read(tmp_path, [copies.Entry(0, staged.name, 3)], lambda name: own["where"])
    # A backfill that an earlier version has begun knows no more than the name and the rows.
    [copy] = copies.read(tmp_path, [copies.Entry(0, staged.name, 2)], lambda name: own["where"])
    spark: Any = _Asked()
    copies.begin(spark, copy, "mine", 7)
    assert (spark.head["do"], spark.head["connector"], spark.head.get("keep_ms")) == ("copy", "mine", None)
