"""
The Iceberg sink in random histories, on a catalog in SQLite and files in a folder: kinds of records, schemas that widen and
grow, two tasks that commit together, tasks that are killed or given up for dead. Each record is there once, or reported.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st
from pyiceberg.exceptions import CommitFailedException

from kconnect.api import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.iceberg import commits
from kconnect.connectors.lake import pending
from kconnect.testing import SinkRunner
from tests.connectors.iceberg.test_iceberg_sink import Lake
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Engine, KilledError, Step

INNER = schema.struct({"x": INT32_SCHEMA}).replace(optional=True)
WIDER_INNER = schema.struct({"x": INT64_SCHEMA, "y": OPTIONAL_STRING_SCHEMA}).replace(optional=True)
MORE_INNER = schema.struct({"x": INT32_SCHEMA, "y": OPTIONAL_STRING_SCHEMA}).replace(optional=True)
ROW = schema.struct({"n": STRING_SCHEMA, "a": INT32_SCHEMA, "inner": INNER})
WIDE = schema.struct({"n": STRING_SCHEMA, "a": INT64_SCHEMA})
MORE = schema.struct({"n": STRING_SCHEMA, "a": INT32_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})
NESTED = schema.struct({"n": STRING_SCHEMA, "a": INT32_SCHEMA, "inner": WIDER_INNER})
DEEPER = schema.struct({"n": STRING_SCHEMA, "a": INT32_SCHEMA, "inner": MORE_INNER})
OTHER = schema.struct({"n": STRING_SCHEMA, "a": schema.array(INT32_SCHEMA)})
KINDS = ("row", "row", "row", "wide", "more", "nested", "deeper", "map", "tombstone", "other type", "text")
BAD = ("other type", "text")

steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(0, 2), st.lists(st.sampled_from(KINDS), min_size=1, max_size=15)),
        st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from((3, 500))),
        st.tuples(st.sampled_from(("commit", "go_back", "kill", "restart", "abandon")), st.integers(0, 1)),
        st.tuples(st.sampled_from(("kill behind a commit", "conflict")), st.integers(0, 1)),
        st.tuples(st.just("move"), st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.sampled_from(("stir",))),
    ),
    min_size=3,
    max_size=12,
)


def lake_in(folder: Path) -> Lake:
    (folder / "warehouse").mkdir()
    return Lake("sql", f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse")


class Play:
    """One history: a table of a lake, and tasks with three partitions."""

    def __init__(self, lake: Any, tasks: int, table: str = "shop.orders", is_there: bool = True) -> None:
        self.lake, self.table = lake, table
        self._tasks = tasks
        self.engine = Engine(self._start, [TopicPartition("orders", number) for number in range(3)], tasks=tasks)
        self._serial = itertools.count()
        # The table's first columns are not to depend on which record comes first.
        self.engine.produce(self._make("row"), self.engine.places[0])
        for _ in range(2 if is_there else 0):
            self.engine.put(0)

    def _start(self, number: int) -> SinkRunner:
        return self.lake.sink(number, **self.settings())

    def settings(self) -> dict[str, str]:
        return {
            "iceberg.tables": self.table,
            "iceberg.tables.evolve-schema-enabled": "true",
            "errors.tolerance": "all",
            "max.retries": "25",
            "tasks.max": str(self._tasks),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return those of the table that are the sink's."""
        found: list[dict[str, Any]] = self.lake.catalog.load_table(self.table).scan().to_arrow().to_pylist()
        return found

    def _make(self, kind: str) -> Callable[[TopicPartition, int], SinkRecord]:
        serial = next(self._serial)

        def make(place: TopicPartition, offset: int) -> SinkRecord:
            name = f"{place.partition}-{offset}"
            value: Any = {
                "row": Struct(ROW, {"n": name, "a": serial, "inner": Struct(INNER, {"x": serial})}),
                "wide": Struct(WIDE, {"n": name, "a": 2**40 + serial}),
                "more": Struct(MORE, {"n": name, "a": serial, "more": "m"}),
                "nested": Struct(NESTED, {"n": name, "a": serial, "inner": Struct(WIDER_INNER, {"x": 2**40, "y": "y"})}),
                "deeper": Struct(DEEPER, {"n": name, "a": serial, "inner": Struct(MORE_INNER, {"x": serial, "y": "y"})}),
                "map": {"n": name, "a": serial},
                "other type": Struct(OTHER, {"n": name, "a": [1]}),
                "text": "text",
            }.get(kind)
            own = value.schema if isinstance(value, Struct) else None
            return SinkRecord("orders", place.partition, None, None, own, value, offset)

        return make

    def play(self, step: Step, patch: pytest.MonkeyPatch) -> None:
        name, *arguments = step
        engine = self.engine
        number = arguments[0] % self._tasks if arguments else 0
        if name == "produce":
            for kind in arguments[1]:
                engine.produce(self._make(kind), engine.places[arguments[0]])
        elif name == "move":
            engine.move(engine.places[arguments[0]], arguments[1] % self._tasks)
        elif name == "stir":
            engine.stir()
        elif name in ("kill behind a commit", "conflict"):
            self._at_commit(name, number, patch)
        else:
            getattr(engine, name)(number, *arguments[1:])

    def _at_commit(self, trouble: str, number: int, patch: pytest.MonkeyPatch) -> None:
        """The process, or the catalog, has trouble in the next commit, which is that of the put after this one."""
        where, name, conflict = self.commit()
        real = getattr(where, name)

        def commit(*arguments: Any) -> None:
            if trouble == "conflict":
                patch.setattr(where, name, real)
                raise conflict
            real(*arguments)
            raise KilledError

        self.engine.put(number)
        patch.setattr(where, name, commit)
        try:
            self.engine.put(number)
        finally:
            patch.setattr(where, name, real)

    def commit(self) -> tuple[Any, str, Exception]:
        """Return where the function is that commits, its name, and what it raises if others have committed."""
        return commits, "commit", CommitFailedException("others commit all the time")

    def is_bad(self, value: Any) -> bool:
        """Whether the table can't have a value."""
        return value == "text" or (isinstance(value, Struct) and value.schema is OTHER)

    def check(self) -> None:
        engine = self.engine
        engine.finish(committed=True)
        assert not engine.failures, engine.failures[0]
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows():
            found.setdefault(row["n"], []).append(row)
        for record in engine.records():
            place = TopicPartition("orders", record.original_partition), record.original_offset
            name = f"{record.original_partition}-{record.original_offset}"
            there = found.pop(name, [])
            value = record.value
            if self.is_bad(value):
                assert engine.is_reported(record), f"{name} is bad, and not reported"
                assert not there, f"{name} is bad, and written"
                continue
            assert not engine.is_reported(record), f"{name} is reported: {engine.reported[place]}"
            if value is None:
                continue
            assert len(there) == 1, f"{name} is there {len(there)} times"
            row = {field: each for field, each in there[0].items() if each is not None}
            wanted = _plain(value)
            if isinstance(row.get("inner"), dict):
                row["inner"] = {field: each for field, each in row["inner"].items() if each is not None}
            assert row == wanted, f"{name} is {row}, but was {wanted}"
        assert not found, f"nobody has sent {found}"


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {field.name: _plain(each) for field, each in zip(value.schema.fields, value.values)}
    return value


@histories(4)
@given(tasks=st.sampled_from((1, 2)), history=steps)
@example(
    tasks=2,
    history=[
        ("produce", 1, ["row", "more"]),
        ("kill behind a commit", 1),
        ("produce", 1, ["deeper", "nested"]),
        ("put", 1, 500),
    ],
)
# Who was given up for dead commits between a task's read and its commit, and then is late itself.
@example(
    tasks=1,
    history=[
        ("produce", 0, ["row"] * 3),
        ("abandon", 0),
        ("stir",),
        ("produce", 0, ["row"] * 3),
        ("put", 0, 500),
        ("stir",),
        ("put", 0, 500),
        ("stir",),
    ],
)
# What is read in the put in which a task notices that it is late comes again with what it could not commit.
@example(
    tasks=1,
    history=[
        ("produce", 0, ["row"]),
        ("abandon", 0),
        ("stir",),
        ("produce", 0, ["row"] * 2),
        ("put", 0, 500),
        ("stir",),
        ("produce", 0, ["row"] * 2),
        ("put", 0, 500),
    ],
)
# A partition that was another task's has an end that this task's own records do not tell.
@example(
    tasks=2,
    history=[
        ("move", 0, 1),
        ("produce", 0, ["row"]),
        ("kill behind a commit", 1),
        ("produce", 0, ["row"]),
        ("move", 0, 0),
    ],
)
def test_each_record_is_in_the_table_once(tasks: int, history: list[Step]) -> None:
    note(f"tasks={tasks!r}, history={history!r}")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder:
        # Who waits for another task to commit its rows does so for a moment only.
        patch.setattr(pending, "ALONE_S", 0.0)
        play = Play(lake_in(Path(folder)), tasks)
        try:
            for step in history:
                play.play(step, patch)
            play.check()
        finally:
            play.engine.close()


KEY = schema.struct({"k": STRING_SCHEMA})
KEYED = schema.struct({"k": STRING_SCHEMA, "n": STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})


class Upserts(Play):
    """
    Of each key the last record is there, unless that has deleted it: keys are divided among partitions, as Kafka does.
    """

    def settings(self) -> dict[str, str]:
        more = {
            "iceberg.tables.upsert-mode-enabled": "true",
            "iceberg.tables.delete-enabled": "true",
            "iceberg.tables.default-id-columns": "k",
        }
        return {**super().settings(), **more, "iceberg.tables.evolve-schema-enabled": "false"}

    def _make(self, kind: str) -> Callable[[TopicPartition, int], SinkRecord]:
        serial = next(self._serial)

        def make(place: TopicPartition, offset: int) -> SinkRecord:
            fields = {"k": f"{place.partition}-{serial % 3}", "n": f"{place.partition}-{offset}", "more": kind}
            value: Any = {"text": "text", "tombstone": None}.get(kind, Struct(KEYED, fields))
            key = Struct(KEY, {"k": fields["k"]})
            own = KEYED if isinstance(value, Struct) else None
            return SinkRecord("orders", place.partition, KEY, key, own, value, offset)

        return make

    def check(self) -> None:
        engine = self.engine
        engine.finish(committed=True)
        assert not engine.failures, engine.failures[0]
        wanted: dict[str, str] = {}
        for record in engine.records():
            if record.value == "text":
                assert engine.is_reported(record)
            elif record.value is None:
                wanted.pop(record.key["k"], None)
            else:
                wanted[record.value["k"]] = record.value["n"]
        assert sorted((row["k"], row["n"]) for row in self.rows()) == sorted(wanted.items())


@histories(2)
@given(tasks=st.sampled_from((1, 2)), history=steps)
@example(
    tasks=1, history=[("produce", 1, ["row"] * 7), ("kill behind a commit", 0), ("produce", 1, ["row"] * 4), ("put", 0, 3)]
)
def test_the_last_record_of_a_key_is_in_the_table(tasks: int, history: list[Step]) -> None:
    note(f"tasks={tasks!r}, history={history!r}")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder:
        patch.setattr(pending, "ALONE_S", 0.0)
        play = Upserts(lake_in(Path(folder)), tasks)
        try:
            for step in history:
                play.play(step, patch)
            play.check()
        finally:
            play.engine.close()
