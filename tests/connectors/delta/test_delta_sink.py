"""The Delta sink against real tables: rows, their offsets, columns, and who comes between."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from moto.server import ThreadedMotoServer

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
    ConfigError,
    ConnectError,
    RetriableError,
    Schema,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.delta import commits, settings
from kconnect.connectors.delta.asking import Asker, DeltaFault
from kconnect.connectors.delta.connector import DeltaSinkConnector
from kconnect.connectors.delta.lake import DeltaLake
from kconnect.connectors.lake import pending
from kconnect.testing import SinkRunner, check_plugin, config_errors
from tests.rig.systems.proxy import Link, Proxy

UTC = datetime.timezone.utc
ROW = schema.struct({"id": INT32_SCHEMA, "note": OPTIONAL_STRING_SCHEMA})
WIDE = schema.struct({"id": INT32_SCHEMA, "note": OPTIONAL_STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})
PLACE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
TOLERANT = {"errors.tolerance": "all"}
UPSERTS = {"delta.tables.upsert-mode-enabled": "true", "delta.tables.default-id-columns": "id"}
EVOLVES = {"delta.tables.evolve-schema-enabled": "true"}


class Lake:
    """A folder with tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def config(self, **more: str) -> dict[str, str]:
        base = {
            "name": "lake",
            "topics": "orders",
            "store": f"file://{self.folder}",
            "delta.tables": "shop.orders",
            "delta.tables.auto-create-enabled": "true",
            "delta.commit.interval-ms": "0",
            "retry.backoff.ms": "1",
        }
        return {**base, **more}

    def sink(self, task: int = 0, /, **more: str) -> SinkRunner:
        return SinkRunner(DeltaSinkConnector, self.config(**more), task)

    def table(self, name: str = "shop.orders") -> DeltaTable:
        return DeltaTable(str(self.folder.joinpath(*name.split("."))))

    def rows(self, name: str = "shop.orders") -> list[dict[str, Any]]:
        if not DeltaTable.is_deltatable(str(self.folder.joinpath(*name.split(".")))):
            return []
        found: list[dict[str, Any]] = self.table(name).to_pyarrow_table().to_pylist()
        return sorted(found, key=lambda row: (row["id"], str(row.get("note"))))

    def ids(self, name: str = "shop.orders") -> list[int]:
        return [row["id"] for row in self.rows(name)]

    def offset(self, place: TopicPartition = PLACE) -> int | None:
        return self.table().transaction_version(commits.application("lake", place))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "lake").mkdir()
    return Lake(tmp_path / "lake")


def record(offset: int, value: Any, own: Schema | None = None, partition: int = 0, topic: str = "orders") -> SinkRecord:
    return SinkRecord(topic, partition, None, None, own, value, offset)


def row(number: int, own: Schema = ROW, partition: int = 0, offset: int | None = None, **values: Any) -> SinkRecord:
    """Its offset is its number, unless told."""
    made = Struct(own, {"id": number, "note": "n", **values})
    return record(number if offset is None else offset, made, own, partition)


def put(runner: SinkRunner, *records: SinkRecord) -> None:
    """And commit them."""
    runner.put(list(records))
    runner.put([])


def before_writing(monkeypatch: pytest.MonkeyPatch, what: Callable[[], None]) -> None:
    """Have that done once, when a task has compared the offsets and is about to write."""
    write = commits.DeltaTarget._write

    def after_another(self: Any, *arguments: Any) -> None:
        monkeypatch.setattr(commits.DeltaTarget, "_write", write)
        what()
        write(self, *arguments)

    monkeypatch.setattr(commits.DeltaTarget, "_write", after_another)


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
    assert (lake.offset(), lake.offset(OTHER)) == (4, 1)
    assert [(field.name, field.type.type, field.nullable) for field in lake.table().schema().fields] == [
        ("id", "integer", False),
        ("note", "string", True),
    ]
    # One for the table, and one for what was put together.
    assert lake.table().version() == 2


def test_records_that_make_no_row_are_passed_over(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0))
        put(runner, record(1, None), record(2, None))
        runner.flush()
        assert runner.committed == {PLACE: 3}
    assert lake.ids() == [0]


def test_a_task_that_begins_anew_passes_over_what_is_there(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0), row(1))
    with lake.sink() as runner:
        # Kafka's offsets are lost, but the table has them.
        runner.open(PLACE)
        assert runner.rewinds == {PLACE: 2}
        put(runner, *(row(offset) for offset in range(4)))
    assert lake.ids() == [0, 1, 2, 3]


def test_a_table_that_was_copied_has_offsets_of_its_own(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0))
    shutil.copytree(lake.folder / "shop" / "orders", lake.folder / "shop" / "copy")
    routes = {
        "delta.tables": "shop.orders,shop.copy",
        "delta.tables.route-field": "note",
        "delta.table.shop.orders.route-regex": "o",
        "delta.table.shop.copy.route-regex": "c",
    }
    for _ in range(2):
        with lake.sink(**routes) as runner:
            put(runner, row(1, note="o"), row(2, note="o"), row(3, note="c"))
    assert (lake.ids(), lake.ids("shop.copy")) == ([0, 1, 2], [0, 3])


@pytest.mark.parametrize("more", [{}, UPSERTS], ids=["append", "upsert"])
def test_a_commit_that_nobody_heard_of_is_not_made_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]
) -> None:
    write = commits.DeltaTarget._write

    def lost(self: Any, *arguments: Any) -> None:
        write(self, *arguments)
        monkeypatch.setattr(commits.DeltaTarget, "_write", write)
        raise OSError("the connection is lost")

    with lake.sink(**more) as runner:
        runner.put([row(0), row(1)])
        monkeypatch.setattr(commits.DeltaTarget, "_write", lost)
        with pytest.raises(RetriableError, match="the connection is lost"):
            runner.put([])
        version = lake.table().version()
        runner.put([])
        assert lake.table().version() == version
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


@pytest.mark.parametrize("more", [{}, UPSERTS], ids=["append", "upsert"])
@pytest.mark.parametrize("first", [True, False], ids=["first commit", "later one"])
def test_a_commit_between_a_check_and_a_commit_is_noticed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, more: dict[str, str], first: bool
) -> None:
    """The table takes no commit about the same partitions by who has not seen the other's."""
    with lake.sink(**more) as late, lake.sink(**more) as quick:
        if first:
            put(quick, row(100, partition=1, offset=0))
        else:
            put(late, row(0))
        late.put([row(0), row(1), row(2)])
        before_writing(monkeypatch, lambda: put(quick, row(0), row(1), row(2), row(3)))
        late.put([])
        assert late.rewinds[PLACE] == (0 if first else 1)
        put(late, *(row(number) for number in range(5)))
    assert lake.ids() == [0, 1, 2, 3, 4, *([100] if first else [])]


@pytest.mark.parametrize("more", [{}, UPSERTS], ids=["append", "upsert"])
def test_others_may_write_the_table_meanwhile(lake: Lake, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]) -> None:
    with lake.sink(**more) as one, lake.sink(**more) as other:
        put(one, row(0))
        one.put([row(1)])
        before_writing(monkeypatch, lambda: put(other, row(100, partition=1), row(101, partition=1)))
        one.put([])
        assert one.rewinds == {}
        put(one, row(2))
    assert lake.ids() == [0, 1, 2, 100, 101]


def test_who_is_overtaken_again_and_again_says_so(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    write = commits.DeltaTarget._write
    fresh = pa.table({"id": [1], "note": ["x"]}, schema=pa.schema([pa.field("id", pa.int32(), False), ("note", pa.string())]))

    def after_another(self: Any, *arguments: Any) -> None:
        write_deltalake(str(lake.folder / "shop" / "orders"), fresh, mode="append")
        write(self, *arguments)

    with lake.sink(**UPSERTS) as runner:
        put(runner, row(0))
        runner.put([row(1)])
        monkeypatch.setattr(commits.DeltaTarget, "_write", after_another)
        with pytest.raises(RetriableError, match="others commit to it all the time"):
            runner.put([])
        monkeypatch.undo()
        runner.put([])
    assert {found["note"] for found in lake.rows()} == {"n"}


def test_a_table_that_was_made_anew_ends_the_task_with_the_remedy(lake: Lake) -> None:
    with pytest.raises(ConnectError, match=r"is another one now.*restart the task"), lake.sink() as runner:
        put(runner, row(0))
        runner.put([row(1)])
        columns = lake.table().schema()
        shutil.rmtree(lake.folder / "shop")
        DeltaTable.create(str(lake.folder / "shop" / "orders"), columns)
        runner.put([])


def test_a_table_that_forgets_transactions_is_refused(lake: Lake) -> None:
    with lake.sink() as runner:
        put(runner, row(0))
    lake.table().alter.set_table_properties({"delta.setTransactionRetentionDuration": "interval 7 days"})
    with pytest.raises(ConfigError, match="forgets the offsets of what it has"), lake.sink() as runner:
        runner.open(PLACE)


def test_the_offsets_are_those_of_the_topic(lake: Lake) -> None:
    with lake.sink() as runner:
        runner.topic_ids["orders"] = "first"
        put(runner, row(0), row(1))
    with lake.sink() as runner:
        runner.topic_ids["orders"] = "first"
        runner.end_offsets[PLACE] = 2
        runner.open(PLACE)
    with pytest.raises(ConnectError, match="deleted and made again"), lake.sink() as runner:
        runner.topic_ids["orders"] = "second"
        runner.end_offsets[PLACE] = 2
        runner.open(PLACE)


def test_offsets_are_altered(lake: Lake) -> None:
    connector = DeltaSinkConnector()
    with lake.sink() as runner:
        put(runner, row(0), row(1))
    assert connector.alter_offsets(lake.config(), {PLACE: 1, OTHER: None})
    assert lake.offset() == 1
    with lake.sink() as runner:
        runner.open(PLACE)
        assert runner.rewinds == {PLACE: 1}
    assert connector.alter_offsets(lake.config(), {PLACE: None})
    with lake.sink() as runner:
        runner.open(PLACE)
        assert runner.rewinds == {}
        put(runner, row(0))
    assert lake.ids() == [0, 0, 1]


# Columns and rows.


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
        put(runner, record(0, Struct(own, value), own))
    (found,) = lake.rows()
    assert found == {
        **value,
        "date": at.date(),
        "time": "12:34:56.789",
        "list": [{"x": 1, "y": None}, None],
        "map": [("k", {"x": 2, "y": "é"}), ("n", None)],
    }


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
            put(runner, record(offset, Struct(own, {"id": offset, "in": value, "list": [value]}), own))
    assert [found["in"]["y"] for found in lake.rows()] == [None, "n", None]
    assert [found["list"][0]["y"] for found in lake.rows()] == [None, "n", None]


def test_a_column_that_is_missing_is_a_bad_record_unless_it_may_be_added(lake: Lake) -> None:
    with lake.sink(**TOLERANT) as runner:
        put(runner, row(0))
        put(runner, row(1, WIDE, more="m"), row(2))
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
        assert "has no column more" in str(runner.reported[0][1])
    assert lake.ids() == [0, 2]


def test_two_tasks_add_a_column_at_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    other = schema.struct({"id": INT32_SCHEMA, "note": OPTIONAL_STRING_SCHEMA, "other": OPTIONAL_STRING_SCHEMA})
    with lake.sink(**EVOLVES) as one, lake.sink(**EVOLVES) as two:
        put(one, row(0))
        one.put([row(1)])
        put(two, row(100, other, partition=1, other="o"))
        put(one, row(1), row(2, WIDE, more="m"))
    assert lake.ids() == [0, 1, 2, 100]
    assert {field.name for field in lake.table().schema().fields} == {"id", "note", "more", "other"}


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["a b"], "no blanks"),
        (["a,b"], "no blanks"),
        (["x`y"], "no blanks"),
        (["ID"], "takes for the same"),
        (["ıd"], "takes for the same"),
        (["İd"], "takes for the same"),
        (["other", "Other"], "takes for the same"),
        (["__delta_rs_source"], "such of its own"),
        (["__delta_rs_c_id"], "such of its own"),
        (["_change_type"], "such of its own"),
        (["n" * 300], "it has 300 characters"),
    ],
    ids=[
        "blank",
        "comma",
        "quote",
        "case",
        "i without a dot",
        "I with a dot",
        "case within a record",
        "source",
        "column",
        "change",
        "long",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_names_that_delta_has_not_are_one_records_fault(lake: Lake, names: list[str], problem: str, first: bool) -> None:
    with lake.sink(**EVOLVES, **TOLERANT) as runner:
        if not first:
            put(runner, record(0, {"id": 0}))
        put(runner, record(1, {"id": 1, **dict.fromkeys(names, 1)}), record(2, {"id": 2}))
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
        assert problem in str(runner.reported[0][1])
    assert lake.ids() == [*([] if first else [0]), 2]


@pytest.mark.parametrize(
    ("value", "problem"), [("", "empty text"), ("x" * 300, "too long"), ("é" * 60, "too long")], ids=["empty", "long", "quoted"]
)
def test_a_value_that_names_no_partition_is_one_records_fault(lake: Lake, value: str, problem: str) -> None:
    with lake.sink(**TOLERANT, **{"delta.tables.default-partition-by": "note"}) as runner:
        put(runner, row(0, note=value), row(1, note="a/b %20é"), row(2, note=None))
        assert [bad.original_offset for bad, _ in runner.reported] == [0]
        assert problem in str(runner.reported[0][1])
    assert [found["note"] for found in lake.rows()] == ["a/b %20é", None]
    assert lake.table().metadata().partition_columns == ["note"]


def test_a_decimal_below_0_does_not_end_a_table_that_has_it_in_its_partition(lake: Lake) -> None:
    """Who may write to the topic sends a price of -1.25: it was -1.-25 in the log, and nobody could open the table any more."""
    own = schema.struct({"id": INT32_SCHEMA, "price": schema.decimal_schema(2)})
    with lake.sink(**TOLERANT, **{"delta.tables.default-partition-by": "price"}) as runner:
        for at, price in enumerate(("0.00", "-0.01", "-1.25", "1.25")):
            put(runner, record(at, Struct(own, {"id": at, "price": decimal.Decimal(price)}), own))
        assert [bad.original_offset for bad, _ in runner.reported] == [1, 2]
    assert lake.ids() == [0, 3]


@pytest.mark.parametrize("value", [{"x": 1}, {"id": [1], "x": 1}], ids=["none", "a list"])
def test_no_first_record_makes_a_table_without_an_id(lake: Lake, value: Any) -> None:
    with lake.sink(**TOLERANT, **UPSERTS) as runner:
        put(runner, record(0, value), record(1, {"id": 1, "x": 1}), record(2, {"id": 1, "x": 2}))
        assert [bad.original_offset for bad, _ in runner.reported] == [0]
    assert lake.ids() == [1]


@pytest.mark.parametrize("value", [{}, {"city": [1]}, {"city": b"x"}], ids=["none", "a list", "bytes"])
def test_no_first_record_ends_a_table_with_partitions(lake: Lake, value: Any) -> None:
    with lake.sink(**TOLERANT, **{"delta.tables.default-partition-by": "city"}) as runner:
        put(runner, *(record(at, {"id": at, **each}) for at, each in enumerate((value, {"city": "Rome"}, {"city": "Ulm"}))))
        assert [bad.original_offset for bad, _ in runner.reported] == [0]
    assert lake.ids() == [1, 2]
    assert lake.table().metadata().partition_columns == ["city"]


@pytest.mark.parametrize("last", ["\x7f", "\u07ff", "\ud7ff", "\uffff", "\U0010ffff"], ids=ascii)
@pytest.mark.parametrize("within", [False, True], ids=["at the top", "within"])
def test_no_text_is_in_the_log_as_a_whole(lake: Lake, last: str, within: bool) -> None:
    """Who may write to the topic sends long texts that can't be rounded up: all who open the table had them in memory."""

    def of(at: int, text: str) -> SinkRecord:
        return record(at, {"id": at, **({"in": {"note": text}} if within else {"note": text})})

    with lake.sink(**TOLERANT) as runner:
        put(runner, of(0, "a"), of(1, last * 20_000), of(2, f"a{last * 20_000}"), of(3, last * 20))
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
    assert lake.ids() == [0, 2, 3]
    assert all(path.stat().st_size < 10_000 for path in lake.folder.rglob("*.json"))


def test_rows_of_many_partitions_are_committed_sooner(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_FOLDERS", 20)
    more = {"delta.tables.default-partition-by": "note", "delta.commit.interval-ms": "3600000"}
    with lake.sink(**more) as runner:
        for begin in range(0, 80, 10):
            runner.put([row(number, note=f"city {number}") for number in range(begin, begin + 10)])
    assert len(lake.ids()) == 60


def test_rows_of_many_tables_are_committed_sooner(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write to the topic names another table in each record: a commit of an interval asked for each of them."""
    monkeypatch.setattr(pending, "MOST_FOLDERS", 20)
    names = [f"shop.t{number}" for number in range(80)]
    dynamic = {"delta.tables": "", "delta.tables.route-field": "note", "delta.tables.dynamic-enabled": "true"}
    with lake.sink(**dynamic, **{"delta.commit.interval-ms": "3600000"}) as runner:
        for begin in range(0, 80, 10):
            runner.put([row(number, note=names[number]) for number in range(begin, begin + 10)])
    assert sum(len(lake.ids(name)) for name in names) == 60


@pytest.mark.parametrize("more", [{}, UPSERTS], ids=["appends", "upserts"])
def test_a_row_that_a_constraint_refuses_is_one_records_fault(lake: Lake, more: dict[str, str]) -> None:
    """Who may write to the topic sends a value that a CHECK of the table refuses: each commit failed, and the task for good."""
    with lake.sink(**more) as runner:
        put(runner, row(0))
    lake.table().alter.add_constraint({"few": "id < 100", "named": "note <> 'timeout'"})
    with lake.sink(**more, **TOLERANT) as runner:
        put(runner, row(1), row(200, offset=2), row(3), row(4, note="timeout"), row(5, note=None))
        assert [bad.original_offset for bad, _ in runner.reported] == [2, 4, 5]
    assert lake.ids() == [0, 1, 3]


def test_names_that_differ_by_case_within_a_column_are_one_records_fault(lake: Lake) -> None:
    """The column is there with a field x; another record has a field X in it: to Delta they are one, and each commit failed."""
    with lake.sink(**EVOLVES, **TOLERANT) as runner:
        put(runner, record(0, {"id": 0, "in": {"x": 1}, "all": [{"y": 1}]}))
        put(runner, record(1, {"id": 1, "in": {"X": 1}}), record(2, {"id": 2, "in": {"x": 2}}))
        put(runner, record(3, {"id": 3, "all": [{"Y": 1}]}), record(4, {"id": 4, "all": [{"y": 2, "z": 3}]}))
        assert [bad.original_offset for bad, _ in runner.reported] == [1, 3]
    assert lake.ids() == [0, 2, 4]


@pytest.mark.parametrize("value", [{"x": {"y": 1}}, [{"y": 1}], {"x": [1]}], ids=["struct", "list", "list within"])
def test_a_null_without_a_type_is_one_of_any_column(lake: Lake, value: Any) -> None:
    """Objects have no schema, and those of one put have nothing but nulls there, or within it."""
    nothing = [{"y": None}, None] if isinstance(value, list) else {"x": None}
    with lake.sink(**EVOLVES, **TOLERANT) as runner:
        put(runner, record(0, {"id": 0, "c": value}))
        put(runner, record(1, {"id": 1, "c": None}))
        put(runner, record(2, {"id": 2, "c": nothing}))
        assert [str(error) for _, error in runner.reported] == []
    assert [found["c"] for found in lake.rows()] == [value, None, nothing]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (pa.struct([pa.field("x", pa.int32(), nullable=False)]), {"x": 1}, {"x": None}),
        (pa.list_(pa.field("element", pa.int32(), nullable=False)), [1], [1, None]),
        (pa.list_(pa.struct([pa.field("x", pa.int32(), nullable=False)])), [{"x": 1}], [{"x": 1}, {"x": None}]),
    ],
    ids=["struct", "list", "structs"],
)
def test_a_value_that_is_required_within_a_column_is_one_records_fault(
    lake: Lake, kind: pa.DataType, good: Any, bad: Any
) -> None:
    (lake.folder / "shop" / "orders").mkdir(parents=True)
    DeltaTable.create(str(lake.folder / "shop" / "orders"), pa.schema({"id": pa.int64(), "c": kind}))
    with lake.sink(**TOLERANT) as runner:
        put(runner, record(0, {"id": 0, "c": good}), record(1, {"id": 1, "c": bad}), record(2, {"id": 2, "c": None}))
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
    assert lake.ids() == [0, 2]


def test_a_number_too_great_for_its_column_is_one_records_fault(lake: Lake) -> None:
    wide = schema.struct({"id": INT64_SCHEMA, "note": OPTIONAL_STRING_SCHEMA})
    with lake.sink(**EVOLVES, **TOLERANT) as runner:
        put(runner, row(0))
        put(runner, row(5, wide), row(2**40, wide, offset=6))
        assert [bad.original_offset for bad, _ in runner.reported] == [6]
    assert lake.ids() == [0, 5]


# Upserts.


def test_a_record_replaces_the_row_with_its_id(lake: Lake) -> None:
    with lake.sink(**UPSERTS, **EVOLVES) as runner:
        put(runner, row(0, note="a"), row(1, note="b"), row(0, offset=2, note="c"))
        put(runner, row(1, WIDE, offset=3, note="d", more="m"), row(2, offset=4, note="e"))
    assert [(found["id"], found["note"], found.get("more")) for found in lake.rows()] == [
        (0, "c", None),
        (1, "d", "m"),
        (2, "e", None),
    ]


KEY = schema.struct({"id": INT32_SCHEMA})
DELETES = {**UPSERTS, "delta.tables.delete-enabled": "true"}


def tombstone(offset: int, number: int | None, own: Schema | None = KEY) -> SinkRecord:
    """Its key is a struct, or else the number itself."""
    key: Any = number if own is None or number is None else Struct(own, {"id": number})
    return SinkRecord("orders", 0, None if number is None else own, key, None, None, offset)


@pytest.mark.parametrize("own", [KEY, None], ids=["struct", "the id"])
def test_a_record_without_a_value_deletes_the_row_of_its_key(lake: Lake, own: Schema | None) -> None:
    with lake.sink(**DELETES) as runner:
        put(runner, row(0), row(1), row(2))
        # Deleted, deleted and made again, made and deleted, and what is not there.
        deleted = [tombstone(3, 0, own), tombstone(4, 1, own), row(1, offset=5, note="again")]
        put(runner, *deleted, row(7, offset=6), tombstone(7, 7, own), tombstone(8, 99, own))
        runner.flush()
        assert runner.committed == {PLACE: 9}
    assert [(found["id"], found["note"]) for found in lake.rows()] == [(1, "again"), (2, "n")]
    with lake.sink(**DELETES) as runner:
        put(runner, tombstone(9, 1, own), tombstone(10, 2, own))
    assert (lake.rows(), lake.offset()) == ([], 11)


def test_a_record_that_deletes_nothing_is_a_bad_one(lake: Lake) -> None:
    other = schema.struct({"number": INT32_SCHEMA})
    with lake.sink(**DELETES, **TOLERANT) as runner:
        # Of a table that is not there, nothing is deleted.
        put(runner, tombstone(0, 5))
        put(runner, row(1, offset=1), row(2, offset=2))
        wrong = SinkRecord("orders", 0, other, Struct(other, {"number": 1}), None, None, 4)
        put(runner, tombstone(3, None), wrong, tombstone(5, 1))
        assert [bad.original_offset for bad, _ in runner.reported] == [3, 4]
        assert "its key has no id" in str(runner.reported[1][1])
    assert lake.ids() == [2]


AMOUNTS = schema.struct({"id": schema.decimal_schema(2), "note": OPTIONAL_STRING_SCHEMA})


@pytest.mark.parametrize("far", ["1E-999999999", "0E-999999999", "1E+999999999", "1E-100000"])
def test_a_key_that_is_no_decimal_of_the_column_is_one_records_fault(lake: Lake, far: str) -> None:
    with lake.sink(**DELETES, **TOLERANT) as runner:
        put(runner, *[record(at, Struct(AMOUNTS, {"id": decimal.Decimal(at), "note": "n"}), AMOUNTS) for at in range(2)])
        keys: list[tuple[Schema | None, Any]] = [(schema.decimal_schema(2), decimal.Decimal(far)), (None, decimal.Decimal(far))]
        keys += [(schema.decimal_schema(2), decimal.Decimal("1.00"))]
        put(runner, *[SinkRecord("orders", 0, own, key, None, None, at) for at, (own, key) in enumerate(keys, 2)])
        assert [bad.original_offset for bad, _ in runner.reported] == [2, 3]
    assert lake.ids() == [0]


def test_a_key_of_a_date_deletes_the_row_of_that_date(lake: Lake) -> None:
    own = schema.struct({"id": TIME_SCHEMA, "note": OPTIONAL_STRING_SCHEMA})
    times = [datetime.datetime(1970, 1, 1, hour, tzinfo=UTC) for hour in range(2)]
    with lake.sink(**DELETES, **TOLERANT) as runner:
        put(runner, *[record(at, Struct(own, {"id": moment, "note": "n"}), own) for at, moment in enumerate(times)])
        put(runner, SinkRecord("orders", 0, TIME_SCHEMA, times[1], None, None, 2))
        assert runner.reported == []
    assert [str(found["id"]) for found in lake.rows()] == ["00:00:00.000"]


def test_a_table_without_an_id_that_a_record_has_named_is_its_fault(lake: Lake) -> None:
    """Who may write to the topic names a table for which no id is known: it was made, and the task ended for good."""
    dynamic = {
        "delta.tables": "",
        "delta.tables.route-field": "note",
        "delta.tables.dynamic-enabled": "true",
        "delta.tables.upsert-mode-enabled": "true",
        "delta.table.shop.orders.id-columns": "id",
    }
    with lake.sink(**dynamic, **TOLERANT) as runner:
        put(runner, row(0, note="shop.orders"), row(1, note="shop.others"), row(2, note="shop.orders"))
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
    assert lake.ids() == [0, 2]
    assert [folder.name for folder in (lake.folder / "shop").iterdir()] == ["orders"]


@pytest.mark.parametrize("retries", ["0", "2"])
def test_a_table_that_a_record_has_named_and_that_is_away_for_good_is_its_fault(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, retries: str
) -> None:
    """Who may write to the topic names a table that can't be looked at, now nor later: the task ended with its last try."""
    opened = DeltaLake._opened

    def busy(self: DeltaLake, name: str) -> DeltaTable:
        if name == "shop.busy":
            raise DeltaFault("503 Slow Down", passes=True)
        return opened(self, name)

    monkeypatch.setattr(DeltaLake, "_opened", busy)
    dynamic = {"delta.tables": "", "delta.tables.route-field": "note", "delta.tables.dynamic-enabled": "true"}
    records = [row(0, note="shop.orders"), row(1, note="shop.busy"), row(2, note="shop.orders")]
    with lake.sink(**dynamic, **TOLERANT, **{"max.retries": retries}) as runner:
        tries = 0
        while not runner.reported:
            tries += 1
            with contextlib.suppress(RetriableError):
                runner.put(records)
        # What was committed between makes one more.
        assert int(retries) < tries <= int(retries) + 2
        put(runner)
        assert [bad.original_offset for bad, _ in runner.reported] == [1]
    assert lake.ids() == [0, 2]
    # The control: one that the config names.
    with (
        pytest.raises(ConnectError, match="503"),
        lake.sink(**TOLERANT, **{"max.retries": "0", "delta.tables": "shop.busy"}) as runner,
    ):
        runner.put(records)


def test_a_deletion_in_a_table_without_the_id_is_its_fault(lake: Lake) -> None:
    """Who may write to the topic has a transform choose a table that lacks the id, and sends no value: the task ended."""
    with lake.sink(**{"name": "other", "delta.tables": "shop.others"}) as runner:
        put(runner, record(0, {"number": 1}))
    with lake.sink(**DELETES, **TOLERANT, **{"delta.tables": "shop.${topic}"}) as runner:
        put(runner, row(0), row(1))
        chosen = tombstone(2, 0)
        chosen.topic = "others"
        put(runner, chosen, tombstone(3, 1))
        assert [bad.original_offset for bad, _ in runner.reported] == [2]
    assert lake.ids() == [0]


def test_without_the_setting_they_are_passed_over(lake: Lake) -> None:
    with lake.sink(**UPSERTS) as runner:
        put(runner, row(0), tombstone(1, 0))
        runner.flush()
        assert runner.committed == {PLACE: 2}
    assert lake.ids() == [0]


ELSEWHERE = [
    *("file://{}", "../../secret.parquet", "..%2F..%2Fsecret.parquet", "{}", " ../../secret.parquet", "\t../../secret.parquet"),
    *("..\\..\\secret.parquet", "a\\..\\..\\..\\secret.parquet", ".\t./.\n./secret.parquet", "\x01../../secret.parquet", " {}"),
    *("%2e%2e/%2E./secret.parquet", "../../secret.parquet ", "./../../secret.parquet", "a//../../../secret.parquet"),
]


@pytest.mark.parametrize("path", ELSEWHERE, ids=ascii)
def test_an_upsert_reads_no_file_beside_the_table(lake: Lake, tmp_path: Path, path: str) -> None:
    """Who may put a file into the table's folder has its log name one of another table, whose rows a merge would copy."""
    with lake.sink(**UPSERTS) as runner:
        put(runner, row(0, note="a"))
    folder = lake.folder / "shop" / "orders"
    secret = tmp_path / "lake" / "secret.parquet"
    shutil.copy(next(folder.glob("*.parquet")), secret)
    log = sorted((folder / "_delta_log").glob("*.json"))[-1]
    actions = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["path"] = path.format(secret)
    log.write_text("\n".join(map(json.dumps, actions)), "utf-8")
    with pytest.raises(ConnectError, match=r"names a file that is not in its folder"), lake.sink(**UPSERTS) as runner:
        put(runner, row(1, note="b"))
    assert lake.table().version() == 1


@pytest.mark.parametrize(
    "value", ["..", ".", "../x", "a\\b", " a ", "a\tb", "a\nb", "%2e%2e", "a:b", "/x", "ü", "\x01", "x/"], ids=ascii
)
def test_no_value_of_a_record_looks_like_a_file_elsewhere(lake: Lake, value: str) -> None:
    """The folders of partitions have their values as names: whoever writes one record must not end the upserts of all."""
    more = {**UPSERTS, "delta.tables.default-partition-by": "note"}
    with lake.sink(**more) as runner:
        put(runner, row(0, note=value))
        put(runner, row(0, note=value), row(1, note="b"))
    assert lake.ids() == [0, 1]


@pytest.mark.parametrize("is_folder", [False, True], ids=["file", "folder"])
def test_an_upsert_follows_no_link_in_the_table(lake: Lake, tmp_path: Path, is_folder: bool) -> None:
    """Who may put a link into the table's folder leads it to another table, whose rows a merge would copy."""
    with lake.sink(**UPSERTS) as runner:
        put(runner, row(0, note="a"))
    folder = lake.folder / "shop" / "orders"
    secret = tmp_path / "secret"
    secret.mkdir()
    file = next(folder.glob("*.parquet"))
    shutil.move(file, secret / file.name)
    name = f"link/{file.name}" if is_folder else file.name
    (folder / name.partition("/")[0]).symlink_to(secret if is_folder else secret / file.name)
    log = sorted((folder / "_delta_log").glob("*.json"))[-1]
    actions = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["path"] = name
    log.write_text("\n".join(map(json.dumps, actions)), "utf-8")
    with pytest.raises(ConnectError, match=r"names a file that a link leads to"), lake.sink(**UPSERTS) as runner:
        put(runner, row(1, note="b"))
    assert lake.table().version() == 1


# Stores, configs.


def test_a_call_that_hangs_is_left_when_the_task_is_to_stop() -> None:
    asker, begun, never = Asker(), threading.Event(), threading.Event()

    def hangs() -> None:
        begun.set()
        never.wait()

    def end() -> None:
        begun.wait()
        asker.end()

    threading.Thread(target=end).start()
    try:
        with pytest.raises(DeltaFault, match="to stop"):
            asker.ask(hangs)
        with pytest.raises(DeltaFault, match="to stop"):
            asker.ask(lambda: None)
    finally:
        never.set()


def test_a_panic_of_the_library_is_a_fault_of_the_table() -> None:
    class PanicException(BaseException):
        pass

    def panics() -> None:
        raise PanicException("index out of bounds")

    with pytest.raises(DeltaFault, match="index out of bounds"):
        Asker().ask(panics)


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def in_s3(address: str, **more: str) -> dict[str, str]:
    keys = {"aws.access.key.id": "who", "aws.secret.access.key": "secret-of-s3"}
    return {"store": "s3://lake/tables", "store.url": address, "s3.region": "us-east-1", **keys, **more}


def test_a_table_in_s3(lake: Lake, s3: str) -> None:
    import boto3

    boto3.client(
        "s3", endpoint_url=s3, region_name="us-east-1", aws_access_key_id="who", aws_secret_access_key="x"
    ).create_bucket(Bucket="lake")
    with lake.sink(**in_s3(s3), **UPSERTS) as runner, lake.sink(**in_s3(s3), **UPSERTS) as other:
        put(runner, row(0), row(1))
        put(other, row(0), row(1), row(2, note="late"))
        put(runner, row(1), row(2, note="later"))
    options = {"AWS_ENDPOINT_URL": s3, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "who", "AWS_SECRET_ACCESS_KEY": "x"}
    table = DeltaTable("s3://lake/tables/shop/orders", storage_options={**options, "AWS_ALLOW_HTTP": "true"})
    assert sorted(table.to_pyarrow_table().column("note").to_pylist()) == ["late", "n", "n"]


def test_a_store_that_is_away_is_waited_for(lake: Lake, s3: str) -> None:
    import boto3

    keys = {"aws_access_key_id": "who", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=s3, **keys).create_bucket(Bucket="away")
    proxy = Proxy(int(s3.rpartition(":")[2])).start()
    more = in_s3(f"http://127.0.0.1:{proxy.port}", store="s3://away/tables")
    with contextlib.closing(proxy), lake.sink(**more, **{"max.retries": "1"}) as runner:
        put(runner, row(0))
        proxy.set(Link.CUT)
        with pytest.raises(RetriableError, match="can't be used"):
            put(runner, row(1))
        with pytest.raises(ConnectError, match=r"max\.retries is 1"):
            put(runner, row(1))


def test_a_store_that_goes_away_while_offsets_are_looked_up_is_waited_for(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with lake.sink() as runner:
        put(runner, row(0))

        def away(*arguments: Any) -> None:
            raise OSError("error sending request")

        monkeypatch.setattr(DeltaTable, "transaction_version", away)
        with pytest.raises(RetriableError, match="error sending request"):
            runner.put([row(1)])
        monkeypatch.undo()
        put(runner, row(1))
    assert lake.ids() == [0, 1]


@pytest.mark.parametrize(
    ("more", "name", "text"),
    [
        ({"delta.tables": ""}, "delta.tables", "It is missing"),
        ({"delta.tables": "orders"}, "delta.tables", "has no namespace"),
        ({"delta.tables.auto-create-enabled": "false"}, "delta.tables", "There is no table shop.orders"),
        ({"delta.tables.upsert-mode-enabled": "true"}, "delta.tables.default-id-columns", "It is missing"),
        ({"delta.tables.dynamic-enabled": "true"}, "delta.tables.route-field", "It is missing"),
        ({"delta.tables.delete-enabled": "true"}, "delta.tables.delete-enabled", "It needs delta.tables.upsert-mode-enabled"),
        ({"store": "nothing://x"}, "store", "It must begin with s3://"),
        ({"store": "/tmp/lake"}, "store", "It must begin with s3://"),
        (in_s3("http://127.0.0.1:9"), "store", "can't be used"),
        ({"store.options.aws_web_identity_token_file": "/etc/passwd"}, "store", "not among the options"),
        # Its library passes it over, and takes the machine's login.
        ({"store": "gs://x", "store.options.google_bearer_token": "t"}, "store", "not among the options"),
    ],
)
def test_what_is_wrong_is_said_at_its_setting(lake: Lake, more: dict[str, str], name: str, text: str) -> None:
    found = config_errors(DeltaSinkConnector, lake.config(**more))
    assert text in str(found.get(name)), found


def test_it_is_a_plugin(lake: Lake) -> None:
    check_plugin(DeltaSinkConnector, lake.config())


def test_the_folders_are_those_that_the_worker_allows(lake: Lake, tmp_path: Path) -> None:
    def made(allowed: Path) -> DeltaLake:
        props = lake.config()
        return DeltaLake(settings.CONFIG.parse(props), props, {"connector.files.allowed.paths": str(allowed)}, Asker())

    (lake.folder / "away").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="allows files below"):
        made(tmp_path / "elsewhere")
    assert made(lake.folder).load("shop.orders") is None
    with pytest.raises(ConfigError, match="allows files below"):
        made(lake.folder).load("away.orders")
    (lake.folder / "shop" / "lines").mkdir(parents=True)
    (lake.folder / "shop" / "lines" / "_delta_log").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match="allows files below"):
        made(lake.folder).load("shop.lines")


def test_a_partition_is_in_the_folders_that_the_worker_allows(lake: Lake, tmp_path: Path) -> None:
    """Who may put a link in place of a partition's folder had its rows written elsewhere."""
    parts = {"delta.tables.default-partition-by": "note"}
    with lake.sink(**parts) as runner:
        put(runner, row(0, note="a"))
    props = lake.config(**parts)

    def made(**worker: str) -> DeltaLake:
        return DeltaLake(settings.CONFIG.parse(props), props, worker, Asker())

    follows, allowed = {"connector.files.links.follow": "true"}, {"connector.files.allowed.paths": str(lake.folder)}
    assert made(**allowed).target("shop.orders", lambda topics: {}) is not None
    outside = tmp_path / "outside"
    outside.mkdir()
    (lake.folder / "shop" / "orders" / "note=b").symlink_to(outside)
    for worker in ({}, allowed, {**follows, **allowed}, {"connector.files.allowed.paths": str(tmp_path)}):
        with pytest.raises(DeltaFault, match=r"a link in its folder leads out of it"):
            made(**worker).target("shop.orders", lambda topics: {})
    assert made(**follows).target("shop.orders", lambda topics: {}) is not None
    assert (
        made(**follows, **{"connector.files.allowed.paths": str(tmp_path)}).target("shop.orders", lambda topics: {}) is not None
    )


def test_a_lake_may_be_where_a_link_leads_and_its_tables_may_not(lake: Lake, tmp_path: Path) -> None:
    """Who may put a link into the lake's folder has a table elsewhere; a link to the lake is of who wrote the config."""
    (tmp_path / "link").symlink_to(lake.folder)
    with lake.sink(**{"delta.store.url": f"file://{tmp_path}/link"}) as runner:
        put(runner, row(0))
    props = lake.config()
    made = DeltaLake(settings.CONFIG.parse(props), props, {}, Asker())
    assert made.load("shop.orders") is not None
    (lake.folder / "away").symlink_to(tmp_path)
    with pytest.raises(ConfigError, match=r"leads out of it, which nothing follows"):
        made.load("away.orders")


@pytest.mark.parametrize("names", [lambda at: {f"n{at}_{number}": 1 for number in range(15)}, lambda at: {f"a;{at}": 1}])
def test_records_that_no_table_can_have_do_not_have_it_read_anew(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, names: Callable[[int], dict[str, int]]
) -> None:
    """Whoever writes records with more new names than a table may get, or bad ones, has each of them cost a read of it."""
    read: list[float] = []
    reread = DeltaLake.reread

    def counted(self: DeltaLake, *arguments: Any) -> DeltaTable:
        read.append(time.monotonic())
        return reread(self, *arguments)

    config = {"delta.tables.evolve-schema-enabled": "true", "delta.tables.max.columns": "20", "errors.tolerance": "all"}
    with lake.sink(**config) as runner:
        put(runner, record(0, {"id": 1, **{f"own{number}": 1 for number in range(10)}}))
        monkeypatch.setattr(DeltaLake, "reread", counted)
        began, first = time.monotonic(), len(read)
        runner.put([record(at, {"id": at, **names(at)}) for at in range(1, 41)])
        took_s = time.monotonic() - began
        assert [bad.original_offset for bad, _ in runner.reported] == list(range(1, 41))
        # Once as the records come, once for the first refusal, and once a second.
        assert len(read) - first <= took_s + 3
        # What another writer adds is seen all the same.
        table = DeltaTable(str(lake.folder / "shop" / "orders"))
        others = pa.table({"id": pa.array([9], pa.int64()), "later": pa.array([1], pa.int64())})
        write_deltalake(table, others, mode="append", schema_mode="merge")
        put(runner, record(41, {"id": 41, "later": 2}))
    rows = DeltaTable(str(lake.folder / "shop" / "orders")).to_pyarrow_table().select(["id", "later"]).to_pylist()
    assert {"id": 41, "later": 2} in rows
