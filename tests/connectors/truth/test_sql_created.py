"""
The SQL sink in random histories of tables that it makes itself: keys that only their bytes tell apart, nulls beside defaults,
fields that come later, names of one column, deletions, kills. The table has of each key what its last good record says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given, note
from hypothesis import strategies as st

from kconnect.api import (
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.testing import SinkRunner
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Engine, Step

KEYS = ("Anna", "anna", "anna ", "ánna", "a\u0301nna", "", "ß", "ss", "😀")
DEFAULT = OPTIONAL_INT32_SCHEMA.replace(default=999)
ROW = schema.struct({"a": DEFAULT, "s": OPTIONAL_STRING_SCHEMA})
FEWER = schema.struct({"a": DEFAULT})
MORE = schema.struct({"a": DEFAULT, "Extra": OPTIONAL_STRING_SCHEMA})
CASE = schema.struct({"a": DEFAULT, "A": DEFAULT})
NESTED = schema.struct({"a": DEFAULT, "inner": schema.struct({"x": OPTIONAL_INT32_SCHEMA})})
KINDS = ("row", "row", "null", "fewer", "more", "tombstone", "nested", "keyless", "two of one name")
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(
            st.just("produce"),
            st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(KEYS)), min_size=1, max_size=20),
        ),
        st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from((1, 5, 500))),
        st.tuples(st.sampled_from(("commit", "go_back", "kill", "restart", "abandon")), st.integers(0, 1)),
        st.tuples(st.just("move"), st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.sampled_from(("stir",))),
    ),
    min_size=3,
    max_size=15,
)
_numbers = itertools.count(1)


class Play:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.table = f"made{next(_numbers)}"
        self.engine = Engine(self._start, [TopicPartition(self.table, number) for number in range(3)], tasks=2)
        self._serial = itertools.count()
        # The first record says what columns there are.
        self.engine.produce(self._make("row", "Anna"), self._place("Anna"))
        self.engine.put(self.engine.owner[self._place("Anna")])

    def _place(self, key: str) -> TopicPartition:
        return self.engine.places[KEYS.index(key) % 3]

    def _start(self, number: int) -> SinkRunner:
        config = {
            "name": f"c-{self.table}",
            "tasks.max": "2",
            "topics": self.table,
            **self.database.config,
            "auto.create": "true",
            "auto.evolve": "true",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "pk.fields": "k",
            "delete.enabled": "true",
            "errors.tolerance": "all",
            "retry.backoff.ms": "0",
            "offsets.table": f"offsets_{self.table}",
        }
        return SinkRunner(SqlSinkConnector, config, number)

    def _make(self, kind: str, key: str) -> Callable[[TopicPartition, int], SinkRecord]:
        serial = next(self._serial)

        def make(place: TopicPartition, offset: int) -> SinkRecord:
            value: Any = {
                "row": Struct(ROW, {"a": serial, "s": f"s{serial}"}),
                "null": Struct(ROW, {"a": None, "s": None}),
                "fewer": Struct(FEWER, {"a": serial}),
                "more": Struct(MORE, {"a": serial, "Extra": f"e{serial}"}),
                "tombstone": None,
                "nested": Struct(NESTED, {"a": serial, "inner": Struct(NESTED.fields[1].schema, {"x": 1})}),
                "keyless": Struct(ROW, {"a": serial, "s": "s"}),
                "two of one name": Struct(CASE, {"a": 1, "A": 2}),
            }[kind]
            own = None if value is None else value.schema
            given_key = None if kind == "keyless" else key
            return SinkRecord(self.table, place.partition, STRING_SCHEMA.optional_copy(), given_key, own, value, offset)

        return make

    def play(self, step: Step) -> None:
        name, *arguments = step
        if name == "produce":
            for kind, key in arguments[0]:
                self.engine.produce(self._make(kind, key), self._place(key))
        elif name == "move":
            self.engine.move(self.engine.places[arguments[0]], arguments[1])
        else:
            getattr(self.engine, name)(*arguments)

    def check(self) -> None:
        engine = self.engine
        engine.finish()
        assert not engine.failures, engine.failures[0]
        wanted: dict[str, dict[str, Any]] = {}
        for record in engine.records():
            place = TopicPartition(self.table, record.original_partition), record.original_offset
            value = record.value
            if self._is_bad(record):
                assert engine.is_reported(record), f"{place} is bad, and not reported"
                continue
            assert not engine.is_reported(record), f"{place} is reported: {engine.reported[place]}"
            if value is None:
                wanted.pop(record.key, None)
            else:
                fields = dict(zip([field.name for field in value.schema.fields], value.values))
                wanted[record.key] = {**wanted.get(record.key, {}), **fields}
        with self.database.engine.connect() as connection:
            rows = {row["k"]: dict(row) for row in connection.execute(sa.text(f"select * from {self.table}")).mappings()}
        assert rows.keys() == wanted.keys()
        for key, fields in wanted.items():
            for name, value in fields.items():
                assert rows[key][name] == value, f"{name} of {key!r} is {rows[key][name]!r}, but was {value!r}"

    def _is_bad(self, record: SinkRecord) -> bool:
        own = record.value_schema
        # PostgreSQL tells names apart that differ by case only, if they are quoted.
        return record.key is None or own is NESTED or (own is CASE and self.database.backend != "postgresql")


@pytest.mark.parametrize("database", EVERY, indirect=True)
@histories(3)
@given(history=steps)
@example(
    history=[("produce", [("row", key) for key in KEYS]), ("put", 0, 500), ("produce", [("null", key) for key in KEYS[:4]])]
)
# What a put has again is left out, and the table is changed for what is new.
@example(
    history=[
        (
            "produce",
            [
                ("row", "Anna"),
                ("row", "Anna"),
                ("row", "\U0001f600"),
                ("keyless", "\xdf"),
                ("row", "ss"),
                ("tombstone", "\xdf"),
                ("nested", "\xe1nna"),
            ],
        ),
        ("move", 1, 1),
        ("produce", [("two of one name", "\U0001f600"), ("more", "\xdf")]),
        ("put", 1, 5),
        ("stir",),
        (
            "produce",
            [("null", "anna "), ("row", "Anna"), ("keyless", "\U0001f600"), ("more", "ss"), ("two of one name", "anna")],
        ),
        ("go_back", 1),
        ("put", 1, 500),
    ]
)
def test_the_table_that_it_makes_has_what_the_records_say(database: Database, history: list[Step]) -> None:
    note(f"history={history!r}")
    play = Play(database)
    try:
        for step in history:
            play.play(step)
        play.check()
    finally:
        play.engine.close()
