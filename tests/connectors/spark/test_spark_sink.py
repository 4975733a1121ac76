"""The Spark sink against real tables of Delta and Iceberg: rows, their offsets, columns, and who comes between."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import shutil
from typing import Any

import pyarrow as pa
import pytest

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
    Schema,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.spark.connector import SparkSinkConnector
from kconnect.connectors.spark.lake import SparkLake
from kconnect.connectors.spark.session import groups, iceberg
from kconnect.connectors.spark.task import Rest, SparkSinkTask
from tests.connectors.spark.tables import (
    EVOLVES,
    OTHER,
    PLACE,
    UPSERTS,
    UTC,
    WIDE,
    Lake,
    between,
    commit,
    gone,
    look,
    record,
    row,
    until,
)
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)


def test_rows_are_appended_with_new_columns_and_offsets(lake: Lake) -> None:
    with lake.sink(**EVOLVES) as runner:
        commit(runner, row(0), row(1, note=None))
        # Columns differ within what is committed together, too.
        commit(runner, row(2, WIDE, more="m"), row(3), row(0, partition=1))
        told = runner.metrics[("table", "shop.orders"),]
        assert 2 <= told["lake_commits"] <= 4 and told["lake_rows"] == 5
        assert min(told[f"lake_{name}"] for name in ("bytes", "commit_seconds", "commit_timestamp_seconds")) > 0
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


@pytest.mark.parametrize("lake", [pytest.param("delta", marks=pytest.mark.long), "iceberg"], indirect=True)
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
        # What deletes has no time here, so it deletes whatever there is, and what comes behind it counts, in one commit too.
        commit(runner, at(1, 6, 7), gone(2, 8), gone(3, 9), at(3, 0, 10))
    assert [(found["id"], found["note"]) for found in lake.rows()] == [(1, "at 6"), (3, "at 0")]
    with lake.sink(**{**UPSERTS, "name": "other", "lake.tables.order-by": "lsn", "errors.tolerance": "all"}) as runner:
        # No row has had that column yet.
        commit(runner, gone(1, 0))
    assert [found["id"] for found in lake.rows()] == [3]


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


def test_a_rest_ends_only_where_its_partitions_are_resumed() -> None:
    task = SparkSinkTask()
    task._lake = SparkLake.__new__(SparkLake)
    task._rests["shop.orders"] = Rest(0.0, (PLACE,))
    assert not task.commit_aside("shop.orders")
    assert "shop.orders" in task._rests, "its partition would be paused for ever"


def test_branches_that_ended_applications_have_left_go_and_no_others() -> None:
    now, old, new = 1_800_000_000, "kconnect_1799900000_" + "a" * 32, "kconnect_1799999000_" + "b" * 32
    others = ["main", "audit", "kconnect_1799900000", "kconnect_x_" + "a" * 32, old + "0"]
    assert iceberg.leftovers([*others, new, old], now) == [old]
