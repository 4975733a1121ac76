"""Records that say what was done to a row: Debezium's envelopes, and rows with a field that deletes them, in DeltaSink."""

from __future__ import annotations

import itertools
import random
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kconnect.api import (
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Column,
    DataError,
    Schema,
    SinkRecord,
    Struct,
    schema,
)
from kconnect.connectors.delta.connector import DeltaSinkConnector
from kconnect.connectors.lake import changes, rows
from kconnect.connectors.lake.pending import Part
from kconnect.connectors.lake.rows import Changes
from kconnect.testing import SinkRunner, config_errors

ROW = schema.struct({"id": INT32_SCHEMA, "note": STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA}).replace(optional=True)
KEY = schema.struct({"id": INT32_SCHEMA})
ENVELOPE = schema.struct({"before": ROW, "after": ROW, "op": STRING_SCHEMA})
ENVELOPES = {"delta.tables.debezium-envelopes-enabled": "true", "errors.tolerance": "all"}


class Lake:
    """One table in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def config(self, **more: str) -> dict[str, str]:
        return {
            "name": "lake",
            "topics": "orders",
            "store": f"file://{self._folder}",
            "delta.tables": "shop.orders",
            "delta.tables.auto-create-enabled": "true",
            "delta.tables.evolve-schema-enabled": "true",
            "delta.tables.upsert-mode-enabled": "true",
            "delta.tables.default-id-columns": "id",
            "delta.tables.delete-enabled": "true",
            "delta.commit.interval-ms": "0",
            **more,
        }

    def put(self, records: Iterable[SinkRecord], **more: str) -> list[tuple[int, str]]:
        """Have all of them committed at once; return those that were bad, by their offsets."""
        with SinkRunner(DeltaSinkConnector, self.config(**more)) as runner:
            runner.put(list(records))
            runner.put([])
            return [(bad.original_offset, str(error)) for bad, error in runner.reported]

    def rows(self) -> dict[int, str]:
        table = DeltaTable(str(self._folder / "shop" / "orders")).to_pyarrow_table()
        return {row["id"]: row["note"] for row in table.to_pylist()}

    def columns(self) -> list[str]:
        return [field.name for field in DeltaTable(str(self._folder / "shop" / "orders")).schema().fields]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


class Log:
    """What a database's log would have become: records with and without schemas."""

    def __init__(self, with_schemas: bool) -> None:
        self.with_schemas = with_schemas
        self._offsets = itertools.count()

    def row(self, number: int | None, note: str | None = "n") -> Any:
        if number is None:
            return None
        # Without a full image, what is not of the key has no value, or an empty one if it must have one.
        return Struct(ROW, {"id": number, "note": note or ""}) if self.with_schemas else {"id": number, "note": note}

    def event(self, op: str, before: Any = None, after: Any = None, key: int | None = None) -> SinkRecord:
        value: Any = {"before": before, "after": after, "op": op}
        own: Schema | None = None
        key_schema: Schema | None = None
        key_value: Any = None if key is None else {"id": key}
        if self.with_schemas:
            own, value = ENVELOPE, Struct(ENVELOPE, value)
            key_schema = KEY
            key_value = None if key is None else Struct(KEY, {"id": key})
        return SinkRecord("orders", 0, key_schema, key_value, own, value, next(self._offsets))

    def tombstone(self, key: int) -> SinkRecord:
        key_value: Any = Struct(KEY, {"id": key}) if self.with_schemas else {"id": key}
        return SinkRecord("orders", 0, KEY if self.with_schemas else None, key_value, None, None, next(self._offsets))


@pytest.fixture(params=[True, False], ids=["with schemas", "without"])
def log(request: pytest.FixtureRequest) -> Log:
    return Log(request.param)


def test_envelopes_write_and_delete_rows(lake: Lake, log: Log) -> None:
    bad = lake.put(
        [
            log.event("r", after=log.row(1)),
            log.event("c", after=log.row(2)),
            log.event("c", after=log.row(3)),
            log.event("c", after=log.row(4)),
            log.event("u", log.row(2), log.row(2, "new")),
            log.event("d", before=log.row(1, None)),
            log.tombstone(1),
            log.event("d", key=3),
            log.event("m"),
            log.event("d", before=log.row(4)),
            log.event("c", after=log.row(4, "again")),
        ],
        **ENVELOPES,
    )
    assert bad == []
    assert lake.rows() == {2: "new", 4: "again"}
    assert not {"op", "before", "after"}.intersection(lake.columns())


def test_an_update_that_changes_the_id_leaves_no_row_behind(lake: Lake, log: Log) -> None:
    lake.put([log.event("c", after=log.row(1)), log.event("c", after=log.row(2))], **ENVELOPES)
    lake.put([log.event("u", log.row(1), log.row(7, "moved")), log.event("c", after=log.row(1, "anew"))], **ENVELOPES)
    assert lake.rows() == {1: "anew", 2: "n", 7: "moved"}
    # One whose image of before has the key's columns only, and none of the id's, is an update as any other.
    lake.put([log.event("u", log.row(2, None), log.row(2, "new"))], **ENVELOPES)
    assert lake.rows() == {1: "anew", 2: "new", 7: "moved"}


def test_an_update_that_can_be_done_by_half_only_is_not_done(lake: Lake) -> None:
    """It moves a row to another id, and the table can't have the new row, or finds no old one: it is a bad record, no more."""
    envelopes = [
        {"op": "c", "before": None, "after": {"id": 1, "note": 1}},
        {"op": "c", "before": None, "after": {"id": 2, "note": 1}},
        {"op": "u", "before": {"id": 1, "note": 1}, "after": {"id": 9, "note": "no number"}},
        {"op": "u", "before": {"id": "none", "note": 1}, "after": {"id": 8, "note": 1}},
        {"op": "u", "before": {"id": 2, "note": 1}, "after": {"id": 7, "note": 1}},
    ]
    bad = lake.put(
        [SinkRecord("orders", 0, None, None, None, envelope, offset) for offset, envelope in enumerate(envelopes)], **ENVELOPES
    )
    assert {offset for offset, _ in bad} == {2, 3}
    assert lake.rows() == {1: 1, 7: 1}
    # Alone, nothing is left of it.
    for offset, envelope in enumerate(envelopes[2:4], len(envelopes)):
        assert lake.put([SinkRecord("orders", 0, None, None, None, envelope, offset)], **ENVELOPES)
    assert lake.rows() == {1: 1, 7: 1}


def test_what_is_no_envelope_or_empties_the_table_is_a_bad_record_and_no_other(lake: Lake, log: Log) -> None:
    bad = lake.put(
        [
            log.event("c", after=log.row(1)),
            log.event("c"),
            log.event("x", after=log.row(2)),
            log.event("t"),
            log.event("d"),
            SinkRecord("orders", 0, None, None, None, {"id": 9, "note": "n"}, next(log._offsets)),
            log.event("c", after=log.row(3)),
        ],
        **ENVELOPES,
    )
    assert dict(bad).keys() == {1, 2, 3, 4, 5}
    texts = [text for _, text in sorted(bad)]
    reasons = ("no after", "its op is 'x'", "whole table was emptied", "neither a key", "no op")
    for text, expected in zip(texts, reasons, strict=True):
        assert expected in text
    assert lake.rows() == {1: "n", 3: "n"}


@pytest.mark.parametrize(("field", "mark"), [("__deleted", "true"), ("__deleted", True), ("__op", "d")])
def test_a_field_says_that_a_row_was_deleted(lake: Lake, field: str, mark: Any) -> None:
    def row(offset: int, number: int, value: Any, **more: Any) -> SinkRecord:
        return SinkRecord("orders", 0, None, None, None, {"id": number, "note": "n", field: value, **more}, offset)

    other = "c" if field == "__op" else "false"
    records = [row(0, 1, other), row(1, 2, other, more="m"), row(2, 3, None), row(3, 1, mark), row(4, 8, mark)]
    bad = lake.put([*records, row(5, 9, other), row(6, 9, mark), row(7, 9, other)], **{"delta.tables.delete-field": field})
    assert bad == []
    assert lake.rows() == {2: "n", 3: "n", 9: "n"}
    assert field not in lake.columns()


def test_a_field_of_structs_says_that_a_row_was_deleted(lake: Lake) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "note": STRING_SCHEMA, "__deleted": OPTIONAL_STRING_SCHEMA})
    marks = [(1, "false"), (2, "false"), (1, "true"), (3, None)]
    lake.put(
        (
            SinkRecord("orders", 0, None, None, own, Struct(own, {"id": number, "note": "n", "__deleted": mark}), offset)
            for offset, (number, mark) in enumerate(marks)
        ),
        **{"delta.tables.delete-field": "__deleted"},
    )
    assert lake.rows() == {2: "n", 3: "n"}
    assert "__deleted" not in lake.columns()


@pytest.mark.parametrize("seed", range(20))
def test_any_log_leaves_what_the_database_has(lake: Lake, seed: int) -> None:
    draw = random.Random(seed)
    log, truth = Log(draw.random() < 0.5), dict[int, str]()
    records: list[SinkRecord] = []
    for number in range(draw.randrange(1, 80)):
        chosen, note = draw.randrange(6), f"n{number}"
        if chosen not in truth:
            records.append(log.event(draw.choice("cr"), after=log.row(chosen, note)))
            truth[chosen] = note
        elif draw.random() < 0.4:
            image = log.row(chosen, draw.choice((None, truth.pop(chosen))))
            records.append(log.event("d", image if draw.random() < 0.5 else None, key=chosen))
            if draw.random() < 0.5:
                records.append(log.tombstone(chosen))
        else:
            free = [number for number in range(20, 26) if number not in truth] or [chosen]
            moved = chosen if draw.random() < 0.7 else draw.choice(free)
            before = log.row(chosen, truth.pop(chosen)) if moved != chosen or draw.random() < 0.5 else None
            truth.pop(chosen, None)
            truth[moved] = note
            records.append(log.event("u", before, log.row(moved, note)))
    while records:
        some = draw.randrange(1, len(records) + 1)
        assert lake.put(records[:some], **ENVELOPES) == []
        records = records[some:]
    assert lake.rows() == truth


@pytest.mark.parametrize("op", [{"x": 1}, ["c"], 7, None, True])
def test_an_op_that_is_no_text_is_a_bad_record(lake: Lake, op: Any) -> None:
    deep: Any = "x"
    for _ in range(990):
        deep = [deep]
    values = [
        {"op": op, "after": {"id": 1}},
        {"op": deep, "after": {"id": 1}},
        {"op": "u", "before": {"id": deep}, "after": {"id": deep}},
    ]
    records = [SinkRecord("orders", 0, None, None, None, value, offset) for offset, value in enumerate(values)]
    good = SinkRecord("orders", 0, None, None, None, {"op": "c", "after": {"id": 1, "note": "n"}}, 3)
    assert [offset for offset, _ in lake.put([*records, good], **ENVELOPES)] == [0, 1, 2]
    assert lake.rows() == {1: "n"}


def test_names_beside_an_envelope_cost_nothing(lake: Lake) -> None:
    """500 envelopes with 400 names each, all different, were 100 million cells."""
    records = [
        SinkRecord(
            *("orders", 0, None, None, None),
            {"op": "c", "after": {"id": number, "note": "n"}, **{f"n{number}_{more}": 1 for more in range(400)}},
            number,
        )
        for number in range(500)
    ]
    tracemalloc.start()
    try:
        assert lake.put(records, **ENVELOPES) == []
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    assert len(lake.rows()) == 500


def test_settings_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    config = Lake(tmp_path).config(**{"delta.tables.delete-field": "__deleted", **ENVELOPES})
    assert "can't be beside" in str(config_errors(DeltaSinkConnector, config)["delta.tables.delete-field"])
    config = Lake(tmp_path).config(**ENVELOPES, **{"delta.tables.upsert-mode-enabled": "false"})
    assert "upsert-mode-enabled" in str(config_errors(DeltaSinkConnector, config)["delta.tables.debezium-envelopes-enabled"])


# Without a table.

WANTED = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("at", pa.int64()), pa.field("note", pa.string())])


def made(*some: tuple[int, int | None, str]) -> pa.Table:
    ids, at, notes = zip(*some, strict=True)
    return pa.table({"id": ids, "at": pa.array(at, pa.int64()), "note": notes}, WANTED)


def gone(*some: tuple[int, int | None]) -> pa.Table:
    ids, at = zip(*some, strict=True)
    return pa.table({"id": ids, "at": pa.array(at, pa.int64())}, pa.schema([WANTED.field("id"), WANTED.field("at")]))


def parts(*rows_of_parts: list[Any]) -> list[Part]:
    return [Part(0, 0, 0, rows_of_part) for rows_of_part in rows_of_parts]


def test_the_newest_of_an_id_is_that_with_most_in_its_column_wherever_it_comes_from() -> None:
    one = [made((1, 5, "a"), (2, 9, "a"), (3, 1, "a")), Changes(None, (), gone((3, 0), (2, None)), (3, 4))]
    other = [made((1, 4, "b"), (3, 1, "b"), (4, 2, "b"), (4, 2, "c"))]
    written, deleted, anew = rows.last_of_each(parts(one, other), WANTED, ["id"], "at")
    assert [(row["id"], row["note"]) for row in written.to_pylist()] == [(1, "a"), (3, "b"), (4, "c")]
    # What has no value there deletes whatever was before it.
    assert deleted.to_pylist() == [{"id": 2, "at": None}] and list(anew) == [False] * 3
    again = [*one, made((2, 1, "again"))]
    written, deleted, anew = rows.last_of_each(parts(again), WANTED, ["id"], "at")
    assert [(row["id"], row["note"]) for row in written.to_pylist()] == [(1, "a"), (3, "a"), (2, "again")]
    assert deleted.column("id").to_pylist() == []
    # It comes in the place of whatever the table has: a commit of its own for the deletion would have taken that away.
    assert list(anew) == [False, False, True]
    later = [*again, Changes(None, (), gone((2, 7)), (0,))]
    written, deleted, _ = rows.last_of_each(parts(later), WANTED, ["id"], "at")
    assert written.column("id").to_pylist() == [1, 3]
    assert deleted.to_pylist() == [{"id": 2, "at": None}]
    one[1] = Changes(None, (), gone((3, 0), (2, None)).select(["id"]), (3, 4))
    written, deleted, anew = rows.last_of_each(parts(one, other), WANTED, ["id"])
    assert list(anew) == [False] * 3
    assert [(row["id"], row["note"]) for row in written.to_pylist()] == [(1, "b"), (3, "b"), (4, "c")]
    assert deleted.column("id").to_pylist() == [2]


def test_what_was_before_a_table_was_emptied_is_gone_in_its_part_only() -> None:
    emptied = Changes(made((2, 1, "b")), (7,), None, (), True)
    one, other = [made((1, 1, "a")), emptied, made((3, 1, "c"))], [made((4, 1, "d"))]
    assert rows.is_emptied(parts(one, other))
    assert not rows.is_emptied(parts(other))
    written, _, _ = rows.last_of_each(parts(one, other), WANTED, ["id"])
    assert written.column("id").to_pylist() == [2, 3, 4]


def test_values_that_are_no_envelopes_are_told() -> None:
    for values in ([1], [{"op": "c"}], [None]):
        with pytest.raises(DataError):
            changes.of_envelopes(Column(None, values), ["id"])
