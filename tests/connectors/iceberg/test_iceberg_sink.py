"""The Iceberg sink against catalogs in SQLite and over REST: rows, their offsets, tables, and who comes between."""

from __future__ import annotations

import datetime
import decimal
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io import pyarrow as pyiceberg_arrow

from kconnect.api import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    TIMESTAMP_SCHEMA,
    Column,
    ConnectError,
    RetriableError,
    Schema,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.iceberg import columns, commits, data_files
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.identity import Mark
from kconnect.connectors.lake import partitions, pending, rows
from kconnect.testing import SinkRunner, check_plugin, config_errors
from tests.rig.systems.iceberg_rest import IcebergRest
from tests.rig.systems.small_disk import SmallDisk
from tests.support import starts

UTC = datetime.timezone.utc
TOLERANT = {"errors.tolerance": "all"}
NARROW = schema.struct({"id": INT32_SCHEMA, "note": STRING_SCHEMA.optional_copy()})
WIDE = schema.struct({"id": INT64_SCHEMA, "note": STRING_SCHEMA.optional_copy(), "more": STRING_SCHEMA.optional_copy()})
PLACE = TopicPartition("orders", 0)
UPSERT = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}


class Lake:
    """A catalog, and how a config reaches it."""

    def __init__(self, kind: str, uri: str, warehouse: str, more: Mapping[str, str] | None = None) -> None:
        self._place = {"type": kind, "uri": uri, "warehouse": warehouse, **(more or {})}
        self.catalog: Catalog = load_catalog("iceberg", **self._place)

    def config(self, **more: str) -> dict[str, str]:
        base = {
            "name": "lake",
            "topics": "orders",
            **{f"iceberg.catalog.{name}": value for name, value in self._place.items() if value},
            "iceberg.tables": "shop.orders",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.control.commit.interval-ms": "0",
            "retry.backoff.ms": "1",
        }
        return {**base, **more}

    def sink(self, task: int = 0, /, **more: str) -> SinkRunner:
        return SinkRunner(IcebergSinkConnector, self.config(**more), task)

    def snapshots(self) -> int:
        return len(self.catalog.load_table("shop.orders").snapshots())

    def rows(self, name: str = "shop.orders") -> list[dict[str, Any]]:
        if not self.catalog.table_exists(tuple(name.split("."))):
            return []
        found: list[dict[str, Any]] = self.catalog.load_table(name).scan().to_arrow().to_pylist()
        return sorted(found, key=lambda row: (row["id"], str(row.get("note"))))

    def ids(self, name: str = "shop.orders") -> list[int]:
        return [row["id"] for row in self.rows(name)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "warehouse").mkdir()
    return Lake("sql", f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/warehouse")


@pytest.fixture
@starts("process")
def rest() -> Iterator[Lake]:
    server = IcebergRest()
    try:
        server.start()
        yield Lake("rest", server.url, server.warehouse)
    finally:
        server.stop()


def record(offset: int, value: Any, own: Schema | None = None, partition: int = 0, topic: str = "orders") -> SinkRecord:
    return SinkRecord(topic, partition, None, None, own, value, offset)


def row(number: int, own: Schema = NARROW, partition: int = 0, offset: int | None = None, **values: Any) -> SinkRecord:
    """Its offset is its number, unless told."""
    made = Struct(own, {"id": number, "note": "n", **values})
    return record(number if offset is None else offset, made, own, partition)


def put(runner: SinkRunner, *records: SinkRecord) -> None:
    """And commit them."""
    runner.put(list(records))
    runner.put([])


def test_rows_are_there_once_they_are_committed(lake: Lake) -> None:
    with lake.sink() as runner:
        runner.put([row(0), row(1), row(2, note=None)])
        assert lake.rows() == []
        runner.flush()
        assert runner.committed == {}
        runner.put([])
        runner.flush()
        assert runner.committed == {PLACE: 3}
        put(runner, row(3), row(0, partition=1))
    assert [row["note"] for row in lake.rows()] == ["n", "n", "n", None, "n"]
    table = lake.catalog.load_table("shop.orders")
    assert commits.stored(table, "lake", [PLACE, TopicPartition("orders", 1)]) == {PLACE: 4, TopicPartition("orders", 1): 1}
    assert [str(field.field_type) for field in table.schema().fields] == ["int", "string"]
    assert [field.required for field in table.schema().fields] == [True, False]
    # One for what was put together.
    assert len(table.snapshots()) == 2


def test_a_task_that_begins_anew_passes_over_what_is_there(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0), row(1))
    with lake.sink() as runner:
        # Kafka's offsets are lost, but the table has them.
        runner.open(PLACE)
        assert runner.rewinds == {PLACE: 2}
        put(runner, *(row(offset) for offset in range(4)))
    assert lake.ids() == [0, 1, 2, 3]


def test_a_commit_that_nobody_heard_of_is_not_made_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = commits.commit

    def lost(*arguments: Any) -> None:
        commit(*arguments)
        monkeypatch.setattr(commits, "commit", commit)
        raise OSError("the connection is lost")

    with lake.sink() as runner:
        runner.put([row(0), row(1)])
        monkeypatch.setattr(commits, "commit", lost)
        with pytest.raises(RetriableError, match="the connection is lost"):
            runner.put([])
        put(runner, row(2))
    assert lake.ids() == [0, 1, 2]


def test_of_two_that_write_the_same_partition_one_begins_again(lake: Lake) -> None:
    with lake.sink() as dead, lake.sink() as alive:
        put(dead, row(0))
        put(alive, row(0), row(1))
        # Given up for dead, it does not know, and goes on.
        dead.put([row(1), row(2)])
        put(alive, row(2), row(3))
        dead.put([])
        assert dead.rewinds == {PLACE: 2}
        put(dead, row(2), row(3), row(4))
    assert lake.ids() == [0, 1, 2, 3, 4]


def test_what_is_read_while_a_task_begins_again_comes_again_with_the_rest(lake: Lake) -> None:
    with lake.sink() as first, lake.sink() as second:
        put(first, row(0))
        second.put([row(0), row(1), row(2), row(3)])
        put(first, row(1))
        second.rewinds.clear()
        # Its rows are too late, and those of this put were read behind them.
        with pytest.raises(RetriableError, match="Records are read from where the tables are"):
            second.put([row(4), row(5)])
        assert second.rewinds == {PLACE: 1}
        put(second, *(row(number) for number in range(1, 6)))
    assert lake.ids() == list(range(6))


@pytest.mark.parametrize("tasks", ["1", "2"])
@pytest.mark.parametrize("evolves", [False, True])
def test_a_column_that_goes_before_the_commit_takes_no_values_along(lake: Lake, tasks: str, evolves: bool) -> None:
    more = {"errors.tolerance": "all", "tasks.max": tasks, "iceberg.tables.evolve-schema-enabled": str(evolves).lower()}
    with lake.sink(**more) as runner:
        put(runner, row(0))
        runner.put([row(1), row(2)])
        with lake.catalog.load_table("shop.orders").update_schema() as update:
            update.rename_column("note", "remark")
        runner.put([])
        assert runner.rewinds[PLACE] == 1
        put(runner, row(1), row(2))
        runner.put([])
        assert [each[0].original_offset for each in runner.reported] == ([] if evolves else [1, 2])
    assert [each["note"] for each in lake.rows() if each["id"]] == (["n", "n"] if evolves else [])


def test_a_table_that_was_made_anew_ends_the_task_with_the_remedy(lake: Lake) -> None:
    with pytest.raises(ConnectError, match=r"is another one now.*restart the task"), lake.sink() as runner:
        put(runner, row(0))
        runner.put([row(1)])
        columns = lake.catalog.load_table("shop.orders").schema()
        lake.catalog.drop_table("shop.orders")
        lake.catalog.create_table("shop.orders", columns)
        runner.put([])


def test_a_commit_between_a_check_and_a_commit_is_noticed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyiceberg tries again by itself on what others have committed is not that of who was too late."""
    with lake.sink() as late:
        put(late, row(0))
        late.put([row(1), row(2)])
        append = commits._Checked.append

        def after_another(self: Any, *arguments: Any, **named: Any) -> None:
            append(self, *arguments, **named)
            monkeypatch.setattr(commits._Checked, "append", append)
            with lake.sink() as quick:
                put(quick, row(1), row(2), row(3))

        monkeypatch.setattr(commits._Checked, "append", after_another)
        late.put([])
        assert late.rewinds == {PLACE: 1}
        put(late, row(1), row(2), row(3), row(4))
    assert lake.ids() == [0, 1, 2, 3, 4]


def test_others_may_write_the_table_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with lake.sink() as one:
        put(one, row(0))
        one.put([row(1)])
        append = commits._Checked.append

        def after_another(self: Any, *arguments: Any, **named: Any) -> None:
            append(self, *arguments, **named)
            monkeypatch.setattr(commits._Checked, "append", append)
            with lake.sink() as other:
                put(other, row(100, partition=1), row(101, partition=1))

        monkeypatch.setattr(commits._Checked, "append", after_another)
        put(one)
        assert one.rewinds == {}
        put(one, row(2))
    assert lake.ids() == [0, 1, 2, 100, 101]


def test_a_record_without_a_value_deletes_the_row_of_its_key(lake: Lake) -> None:
    key = schema.struct({"id": INT32_SCHEMA})
    upserts = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}

    def gone(offset: int, number: int) -> SinkRecord:
        return SinkRecord("orders", 0, key, Struct(key, {"id": number}), None, None, offset)

    with lake.sink(**upserts, **{"iceberg.tables.delete-enabled": "true"}) as runner:
        put(runner, row(0), row(1), row(2))
        put(runner, gone(3, 0), gone(4, 1), row(1, offset=5, note="again"), row(7, offset=6), gone(7, 7), gone(8, 99))
        runner.flush()
        assert runner.committed == {PLACE: 9}
        assert [(found["id"], found["note"]) for found in lake.rows()] == [(1, "again"), (2, "n")]
        put(runner, gone(9, 1), gone(10, 2))
    assert lake.rows() == []
    assert commits.stored(lake.catalog.load_table("shop.orders"), "lake", [PLACE]) == {PLACE: 11}


OTHER = TopicPartition("orders", 1)


@pytest.fixture
def both(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[SinkRunner, SinkRunner]]:
    """Two tasks of one connector, each with a partition that the table knows; the first one commits for both."""
    monkeypatch.setattr(pending, "LOOK_S", 0.0)
    two = {"tasks.max": "2"}
    with lake.sink(0, **two) as first, lake.sink(1, **two) as second:
        first.open(PLACE)
        second.open(OTHER)
        put(first, row(0))
        put(second, row(100, partition=1, offset=0))
        assert lake.snapshots() == 2
        yield first, second


def test_tasks_share_a_commit(lake: Lake, both: tuple[SinkRunner, SinkRunner]) -> None:
    first, second = both
    first.put([row(1)])
    put(second, row(101, partition=1, offset=1))
    second.put([row(102, partition=1, offset=2)])
    second.flush()
    assert lake.ids() == [0, 100] and second.committed == {OTHER: 1}
    first.put([])
    assert lake.ids() == [0, 1, 100, 101] and lake.snapshots() == 3
    # It sees that its rows are there, and stages the next ones.
    second.put([])
    second.flush()
    assert second.committed == {OTHER: 2}
    second.put([])
    # Also without rows of its own.
    first.put([])
    assert lake.ids() == [0, 1, 100, 101, 102] and lake.snapshots() == 4
    second.put([])
    second.flush()
    assert second.committed == {OTHER: 3}
    # What was told before is not committed again.
    put(first, row(2))
    assert lake.ids() == [0, 1, 2, 100, 101, 102]


def test_what_is_told_by_half_is_read_later(lake: Lake, both: tuple[SinkRunner, SinkRunner]) -> None:
    first, second = both
    put(second, row(101, partition=1, offset=1))
    place = Path(
        lake.catalog.load_table("shop.orders").location().removeprefix("file://"), "kconnect", "lake", "orders", "1.json"
    )
    whole = place.read_bytes()
    place.write_bytes(whole[:20])
    put(first, row(1))
    assert lake.ids() == [0, 1, 100]
    place.write_bytes(whole)
    put(first, row(2))
    assert lake.ids() == [0, 1, 2, 100, 101]
    second.put([])
    assert not place.exists()


def test_a_task_commits_for_itself_if_nobody_does(
    lake: Lake, both: tuple[SinkRunner, SinkRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, second = both
    monkeypatch.setattr(pending, "ALONE_S", 0.0)
    put(second, row(101, partition=1, offset=1))
    second.put([])
    assert lake.ids() == [0, 100, 101]


def test_a_stage_of_who_was_given_up_for_dead_is_not_committed(lake: Lake, both: tuple[SinkRunner, SinkRunner]) -> None:
    first, dead = both
    put(dead, row(101, partition=1, offset=1))
    with lake.sink(1, **{"tasks.max": "2"}) as heir:
        heir.open(OTHER)
        assert heir.rewinds == {OTHER: 1}
        # It reads the same record, and some more; the first task hears of its stage only.
        put(heir, row(101, partition=1, offset=1), row(102, partition=1, offset=2))
        put(first, row(1))
        assert lake.ids() == [0, 1, 100, 101, 102]
        dead.put([])
        dead.put([row(102, partition=1, offset=2), row(103, partition=1, offset=3)])
        heir.put([])
        put(heir, row(103, partition=1, offset=3))
        put(first, row(2))
        dead.put([])
        put(first, row(3))
        heir.put([])
        put(first, row(4))
    assert lake.ids() == [0, 1, 2, 3, 4, 100, 101, 102, 103]


def test_a_partition_that_goes_takes_no_rows_of_others_along(lake: Lake, both: tuple[SinkRunner, SinkRunner]) -> None:
    """They are in one stage with its own, which nobody has committed yet: a new task joins, and takes one partition only."""
    first, second = both
    third = TopicPartition("orders", 2)
    second.open(third)
    put(second, row(200, partition=2, offset=0))
    assert lake.ids() == [0, 100, 200]
    put(second, row(101, partition=1, offset=1), row(201, partition=2, offset=1))
    second.close(OTHER)
    assert second.rewinds == {third: 1}
    with lake.sink(1, **{"tasks.max": "2"}) as heir:
        heir.open(OTHER)
        assert heir.rewinds == {OTHER: 1}
        with pytest.raises(RetriableError, match="are read from where the tables are"):
            second.put([row(202, partition=2, offset=2)])
        # What it tells of its own takes the place of what was told of both.
        put(heir, row(101, partition=1, offset=1))
        put(second, row(201, partition=2, offset=1), row(202, partition=2, offset=2))
        put(first, row(1))
        heir.put([])
        second.put([])
        put(first, row(2))
    assert lake.ids() == [0, 1, 2, 100, 101, 200, 201, 202]


@pytest.mark.process
def test_over_rest_it_is_the_same(rest: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    test_of_two_that_write_the_same_partition_one_begins_again(rest)
    columns = {"iceberg.tables": "rest.late", "iceberg.tables.evolve-schema-enabled": "true"}
    with rest.sink(name="wide", **columns, **{"iceberg.tables.default-partition-by": "bucket(id, 4)"}) as runner:
        put(runner, row(0))
        put(runner, row(1, WIDE, more="m"))
    assert [each["more"] for each in rest.rows("rest.late")] == [None, "m"]
    upsert = {"iceberg.tables": "rest.keyed", "iceberg.tables.upsert-mode-enabled": "true"}
    with rest.sink(name="keyed", **upsert, **{"iceberg.tables.default-id-columns": "id"}) as runner:
        put(runner, row(0, id=1, note="a"), row(1, id=2, note="b"))
        put(runner, row(2, id=1, note="c"))
    assert [(row["id"], row["note"]) for row in rest.rows("rest.keyed")] == [(1, "c"), (2, "b")]
    table = rest.catalog.load_table("rest.keyed")
    assert commits.stored(table, "keyed", [PLACE]) == {PLACE: 3}


def test_a_task_waits_for_its_catalog(tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    busy = Lake("sql", f"sqlite:///{tmp_path}/catalog.db?timeout=0", f"file://{tmp_path}/warehouse")
    with busy.sink() as runner:
        put(runner, row(0))
    other = sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)
    other.execute("begin exclusive")
    # It is started and given a partition, and says so in its puts.
    runner.start().open(PLACE)
    with pytest.raises(RetriableError, match="The catalog can't be used: database is locked"):
        runner.put([row(1, offset=7)])
    other.close()
    # What was read by the group's offsets is not what the table lacks.
    with pytest.raises(RetriableError, match="Records are read from where the tables are"):
        runner.put([row(1, offset=7)])
    assert runner.rewinds == {PLACE: 1}
    put(runner, row(1), row(2))
    runner.stop()
    assert busy.ids() == [0, 1, 2]


def test_a_catalog_that_stays_away_ends_its_task(tmp_path: Path) -> None:
    (tmp_path / "warehouse").mkdir()
    busy = Lake("sql", f"sqlite:///{tmp_path}/catalog.db?timeout=0", f"file://{tmp_path}/warehouse")
    runner = busy.sink(**{"max.retries": "1"})
    other = sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)
    other.execute("begin exclusive")
    runner.start()
    with pytest.raises(ConnectError, match=r"database is locked. It has been so for .*, and max\.retries is 1"):
        runner.put([])
    other.close()
    runner.stop()


def test_a_table_that_is_rolled_back_gets_its_records_again(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0))
        put(runner, row(1), row(2))
    table = lake.catalog.load_table("shop.orders")
    table.manage_snapshots().rollback_to_snapshot(table.history()[0].snapshot_id).commit()
    assert lake.ids() == [0]
    with lake.sink() as runner:
        runner.open(PLACE)
        assert runner.rewinds == {PLACE: 1}


def test_offsets_outlive_their_snapshots(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0), row(1))
    table = lake.catalog.load_table("shop.orders")
    for _ in range(2):
        table.append(table.scan().to_arrow().slice(0, 0))
    table.maintenance.expire_snapshots().by_id(table.snapshots()[0].snapshot_id).commit()
    assert commits.stored(table.refresh(), "lake", [PLACE]) == {PLACE: 2}


def test_the_offsets_of_a_topic_that_was_made_anew_are_not_believed(lake: Lake) -> None:
    with lake.sink() as runner:
        runner.topic_ids["orders"] = "a"
        put(runner, row(0), row(1))
        config = dict(runner.config)
    table = lake.catalog.load_table("shop.orders")
    assert commits.marks(table, "lake", [PLACE]) == {PLACE: Mark(2, "a")}
    text = r"The table 'shop\.orders' has the offset 2 of orders-0 .*it has another id"
    with pytest.raises(ConnectError, match=text), lake.sink() as runner:
        runner.topic_ids["orders"] = "b"
        runner.open(PLACE)
    assert IcebergSinkConnector().alter_offsets(config, {PLACE: 0})
    with lake.sink() as runner:
        runner.topic_ids["orders"] = "b"
        runner.open(PLACE)
        put(runner, row(0))
    assert commits.marks(table.refresh(), "lake", [PLACE]) == {PLACE: Mark(1, "b")}


def test_offsets_may_be_altered(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0), row(1), row(2))
    config = lake.config()
    assert IcebergSinkConnector().alter_offsets(config, {PLACE: 1, TopicPartition("orders", 1): 7})
    with lake.sink() as runner:
        runner.open(PLACE, TopicPartition("orders", 1))
        assert runner.rewinds == {PLACE: 1, TopicPartition("orders", 1): 7}
        put(runner, row(1), row(2), row(3))
    assert lake.ids() == [0, 1, 1, 2, 2, 3]
    assert IcebergSinkConnector().alter_offsets(config, {PLACE: None})
    with lake.sink() as runner:
        runner.open(PLACE)
        assert runner.rewinds == {}


def test_a_table_is_widened_if_it_may_be(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0))
        with pytest.raises(ConnectError, match=r"has no column more: change it, or set .*evolve-schema-enabled=true"):
            runner.put([row(1, WIDE, more="m")])
    with lake.sink(**{"iceberg.tables.evolve-schema-enabled": "true"}) as runner:
        # Both in one commit, the first ones without it.
        runner.put([row(1)])
        runner.put([row(2, WIDE, id=2**40, more="m")])
        put(runner, row(3))
    assert lake.ids() == [0, 1, 3, 2**40]
    assert [each["more"] for each in lake.rows()] == [None, None, None, "m"]


def test_all_types(lake: Lake) -> None:
    at = datetime.datetime(2026, 3, 29, 12, 0, 0, 250_000, UTC)
    own = schema.struct(
        {
            "id": schema.INT8_SCHEMA,
            "short": schema.INT16_SCHEMA,
            "single": schema.FLOAT32_SCHEMA,
            "double": schema.FLOAT64_SCHEMA,
            "yes": schema.BOOLEAN_SCHEMA,
            "data": schema.BYTES_SCHEMA,
            "price": schema.decimal_schema(2),
            "day": schema.DATE_SCHEMA,
            "time": schema.TIME_SCHEMA,
            "at": TIMESTAMP_SCHEMA,
            "tags": schema.array(STRING_SCHEMA),
            "counts": schema.mapping(STRING_SCHEMA, INT32_SCHEMA),
            "inner": NARROW,
            "times": schema.array(TIMESTAMP_SCHEMA),
        }
    )
    values: dict[str, Any] = {"id": 1, "short": 2, "single": 1.5, "double": 2.5, "yes": True, "data": b"\x01"}
    values |= {"price": decimal.Decimal("1.10"), "day": at.replace(hour=0, microsecond=0), "at": at, "times": [at]}
    values |= {"time": datetime.datetime(1970, 1, 1, 12, 30, tzinfo=UTC), "tags": ["a"], "counts": {"b": 2}}
    with lake.sink() as runner:
        put(runner, record(0, Struct(own, {**values, "inner": Struct(NARROW, {"id": 5, "note": "x"})}), own))
    (found,) = lake.rows()
    others = {"day": at.date(), "time": datetime.time(12, 30), "counts": [("b", 2)], "inner": {"id": 5, "note": "x"}}
    assert found == {**values, **others}


def test_objects_without_a_schema(lake: Lake) -> None:
    values = [{"id": 1, "note": "a", "inner": {"x": 1.5}}, {"id": 2, "note": None, "inner": {"x": 2.5}}]
    with lake.sink() as runner:
        put(runner, *(record(offset, value) for offset, value in enumerate(values)))
    assert lake.rows()[0] == {"id": 1, "note": "a", "inner": {"x": 1.5}}
    assert lake.ids() == [1, 2]


def test_objects_of_one_batch_may_have_different_fields(lake: Lake) -> None:
    values: list[dict[str, Any]] = [{"id": 1}, {"id": 2, "note": "a"}, {"more": 3, "id": 3}]
    table = rows.made(Column(None, values), columns.KINDS)
    assert table.column_names == ["id", "note", "more"]
    assert table.to_pylist() == [{"note": None, "more": None, **each} for each in values]


def test_a_new_table_has_the_partitions_of_the_config(lake: Lake) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "city": STRING_SCHEMA, "at": TIMESTAMP_SCHEMA})
    at = datetime.datetime(2026, 3, 29, 12, 0, 0, 0, UTC)
    parts = {"iceberg.tables.default-partition-by": "day(at), bucket(id, 4), truncate(city, 2)"}
    with lake.sink(**parts) as runner:
        put(runner, *(record(n, Struct(own, {"id": n, "city": "abc"[n] * 3, "at": at}), own) for n in range(3)))
    table = lake.catalog.load_table("shop.orders")
    assert [str(field.transform) for field in table.spec().fields] == ["day", "bucket[4]", "truncate[2]"]
    assert lake.ids() == [0, 1, 2]
    wrong = {"iceberg.tables": "shop.other", "iceberg.table.shop.other.partition-by": "nothing"}
    with (
        lake.sink(**wrong) as runner,
        pytest.raises(ConnectError, match=r"it has no field nothing, by which iceberg.table.shop.other.partition-by"),
    ):
        runner.put([row(0)])


def test_upserts_replace_rows(lake: Lake) -> None:
    with lake.sink(**UPSERT) as runner:
        put(runner, row(0, id=1, note="a"), row(1, id=2, note="b"), row(2, id=1, note="c"))
        put(runner, row(3, id=2, note="d"), row(4, id=3, note="e"))
        # Nothing changes, but where it is.
        put(runner, row(5, id=3, note="e"))
        runner.flush()
        assert runner.committed == {PLACE: 6}
    assert [(row["id"], row["note"]) for row in lake.rows()] == [(1, "c"), (2, "d"), (3, "e")]
    assert commits.stored(lake.catalog.load_table("shop.orders"), "lake", [PLACE]) == {PLACE: 6}


def test_formats_that_others_had_made_before_are_not_read_with(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with lake.sink(**UPSERT) as runner:
        put(runner, row(0))
        with monkeypatch.context() as patch:
            patch.setattr(pyiceberg_arrow, "ds", pyarrow.dataset)
            pyiceberg_arrow._get_file_format.cache_clear()
            assert lake.ids() == [0]
        data_files.bind()
        put(runner, row(1, id=0, note="again"))
    assert [found["note"] for found in lake.rows()] == ["again"]


def test_records_are_routed(lake: Lake) -> None:
    regexes = {
        "iceberg.tables": "shop.a,shop.b",
        "iceberg.tables.route-field": "note",
        "iceberg.table.shop.a.route-regex": "a.*|both",
        "iceberg.table.shop.b.route-regex": "b.*",
    }
    with lake.sink(**regexes) as runner:
        put(runner, *(row(n, note=note) for n, note in enumerate(("ab", "ba", "both", "c"))), record(4, None))
        runner.flush()
        assert runner.committed == {PLACE: 5}
    assert (lake.ids("shop.a"), lake.ids("shop.b")) == ([0, 2], [1, 2])
    named = {"iceberg.tables": "", "iceberg.tables.route-field": "note", "iceberg.tables.dynamic-enabled": "true"}
    with lake.sink(name="dynamic", **named) as runner:
        put(runner, row(0, note="shop.X"), row(1, note="shop.y"), row(2, note="shop.X"))
    assert (lake.ids("shop.x"), lake.ids("shop.y")) == ([0, 2], [1])
    with lake.sink(name="topic", **{"iceberg.tables": "raw.${topic}"}) as runner:
        put(runner, row(0))
    assert lake.ids("raw.orders") == [0]


def test_a_bad_record_is_found_among_others(lake: Lake) -> None:
    other = schema.struct({"id": STRING_SCHEMA, "note": STRING_SCHEMA})
    bad = record(2, Struct(other, {"id": "no number", "note": "n"}), other)
    with lake.sink(**TOLERANT) as runner:
        put(runner, row(0), row(1), bad, row(3), record(4, "text", STRING_SCHEMA), record(5, {"id": 5, "note": "n"}))
        reported = [(each.offset, str(error)) for each, error in runner.reported]
    assert [offset for offset, _ in reported] == [2, 4]
    assert "the table shop.orders can't have it" in reported[0][1] and "its schema is STRING" in reported[1][1]
    assert lake.ids() == [0, 1, 3, 5]
    far = record(6, {"id": 2**40, "note": "n"})
    with lake.sink() as runner, pytest.raises(ConnectError, match="not in range"):
        runner.put([far])


@pytest.mark.process
def test_a_full_disk_is_waited_for(tmp_path: Path) -> None:
    disk = SmallDisk().start()
    try:
        lake = Lake("sql", f"sqlite:///{tmp_path}/catalog.db", f"file://{disk.directory}")
        with lake.sink(**{"max.retries": "1"}) as runner:
            put(runner, row(0))
            runner.put([row(n, note=str(n) * 50) for n in range(1, 2000)])
            disk.fill()
            with pytest.raises(RetriableError, match="No space left on device"):
                runner.put([])
            disk.clear()
            runner.put([])
        assert lake.ids() == list(range(2000))
    finally:
        disk.stop()


def test_much_is_committed_sooner(lake: Lake) -> None:
    with lake.sink(**{"iceberg.control.commit.interval-ms": "3600000", "commit.max.rows": "10"}) as runner:
        runner.put([row(n) for n in range(9)])
        runner.put([])
        assert lake.rows() == []
        runner.put([row(9)])
        runner.put([])
        assert len(lake.rows()) == 10


def test_partitions_as_texts() -> None:
    assert partitions.parsed("p", ["days(at)", "bucket(id", "16)", "a.b", "truncate(name, 3)", "identity(x)"]) == [
        ("at", "day"),
        ("id", "bucket[16]"),
        ("a.b", "identity"),
        ("name", "truncate[3]"),
        ("x", "identity"),
    ]


@pytest.mark.parametrize(
    ("changes", "setting", "text"),
    [
        ({"iceberg.catalog.type": "none"}, "iceberg.catalog.type", "rest, sql"),
        ({"iceberg.catalog.uri": "sqlite:////no/such/place.db"}, "iceberg.catalog.uri", "unable to open database file"),
        ({"iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://127.0.0.1:1"}, "iceberg.catalog.uri", "refused"),
        ({"iceberg.tables": ""}, "iceberg.tables", "it names the tables"),
        ({"iceberg.tables": "orders"}, "iceberg.tables", "orders has no namespace"),
        ({"iceberg.tables.auto-create-enabled": "false"}, "iceberg.tables", "There is no table shop.orders"),
        ({"iceberg.tables.route-field": "x"}, "iceberg.tables.route-field", "iceberg.table.shop.orders.route-regex is missing"),
        ({"iceberg.table.shop.orders.route-regex": "("}, "iceberg.tables.route-field", "is no regular expression"),
        ({"iceberg.tables.dynamic-enabled": "true"}, "iceberg.tables.route-field", "it names the table"),
        ({"iceberg.tables.default-partition-by": "week(at)"}, "iceberg.tables.default-partition-by", "day(at), bucket(id, 16)"),
        ({"iceberg.table.shop.orders.commit-branch": "b"}, "iceberg.tables", "rows go to main"),
        ({"iceberg.tables.cdc-field": "op"}, "iceberg.tables.cdc-field", "ExtractNewRecordState"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(lake: Lake, changes: dict[str, str], setting: str, text: str) -> None:
    errors = config_errors(IcebergSinkConnector, lake.config(**changes))
    assert errors.keys() == {setting}
    assert text in errors[setting][0]


def test_ids_that_a_table_has_not_are_told(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0))
    upsert, ids = {"iceberg.tables.upsert-mode-enabled": "true"}, "iceberg.tables.default-id-columns"
    assert "no columns for ids" in config_errors(IcebergSinkConnector, lake.config(**upsert))[ids][0]
    assert "has no column x" in config_errors(IcebergSinkConnector, lake.config(**upsert, **{ids: "x"}))[ids][0]


def test_it_is_a_plugin_like_others(lake: Lake) -> None:
    check_plugin(IcebergSinkConnector, lake.config(), [row(0), row(1)])
