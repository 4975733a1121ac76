"""
Attacks on the SQL sink by who may write one record to a data topic: names and values that no table takes. And on the source, by
who may write rows.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kconnect.api import (
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    ConnectError,
    Schema,
    SinkRecord,
    Struct,
    schema,
)
from kconnect.connectors.sql import settings, sqlite_files, tables
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.connectors.sql.task import SqlSinkTask
from kconnect.testing import SinkRunner, SourceRunner

ROW = schema.struct({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA})
MAKES = {"auto.create": "true", "auto.evolve": "true"}


def sink(path: Path, **more: str) -> SinkRunner:
    config = {"topics": "t", "connection.url": f"sqlite:///{path}", "pk.mode": "record_value", "pk.fields": "id"}
    more = {name.replace("_", "."): value for name, value in more.items()}
    return SinkRunner(SqlSinkConnector, config | MAKES | {"errors.tolerance": "all", "max.retries": "0"} | more)


def record(offset: int, value: Any, own: Schema | None = None, key: Any = None) -> SinkRecord:
    return SinkRecord("t", 0, None, key, own, value, offset)


def row(offset: int) -> SinkRecord:
    return record(offset, Struct(ROW, {"id": offset, "name": "a"}), ROW)


def ids(path: Path) -> list[int]:
    with sqlite3.connect(path) as connection:
        return [number for (number,) in connection.execute("SELECT id FROM t ORDER BY id")]


def test_schemas_that_come_with_records_take_no_memory(tmp_path: Path) -> None:
    """Who may write to the topic sends another long schema with each record: what was worked out for few of them is kept."""
    with sink(tmp_path / "db") as runner:
        for at in range(60):
            own = schema.struct({"id": INT32_SCHEMA}, doc=f"{at}" + "x" * 900_000)
            runner.put([record(at, Struct(own, {"id": at}), own)])
        task = runner.task
        assert isinstance(task, SqlSinkTask)
        assert 0 < len(task._maker._plans) < 40
    assert ids(tmp_path / "db") == list(range(60))


def odd(fields: Mapping[str, Any]) -> SinkRecord:
    """A record of offset 1 whose schema has these fields, all of them optional texts, beside its id."""
    own = schema.struct({"id": INT32_SCHEMA, **dict.fromkeys(fields, OPTIONAL_STRING_SCHEMA)})
    return record(1, Struct(own, {"id": 1, **fields}), own)


NAMES: dict[str, Mapping[str, Any]] = {
    "twice by case": {"A": "x", "a": "y"},
    "a column by case": {"NAME": "x", "name": "y"},
    "the key by case": {"ID": "x"},
    "nul": {"a\0b": "x"},
    "a line more": {"name\n": "x"},
    "two lines": {"a\nb": "x"},
    "a line of Unicode's": {"a\u2028b": "x"},
    "half a pair": {"\ud800": "x"},
    "too long": {"x" * 20_000: "y"},
    "too many": {f"c{number}": "x" for number in range(3000)},
}


@pytest.mark.parametrize("fields", NAMES.values(), ids=NAMES)
def test_names_that_no_table_has_are_one_records_fault(tmp_path: Path, fields: Mapping[str, Any]) -> None:
    """Who may write to the topic sends a schema whose names no table can have: that record is bad, and the others are rows."""
    path = tmp_path / "db"
    with sink(path) as runner:
        runner.put([row(0), odd(fields), row(2)])
        runner.put([row(3)])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(path) == [0, 2, 3]


@pytest.mark.parametrize("name", ["twice by case", "nul", "half a pair", "too long", "too many"])
def test_names_in_the_first_record_do_not_end_the_sink(tmp_path: Path, name: str) -> None:
    """Who may write to the topic sends such a record first, when there is no table yet: the next one still makes it."""
    path = tmp_path / "db"
    with sink(path) as runner:
        runner.put([odd(NAMES[name])])
        runner.put([row(2)])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(path) == [2]


@pytest.mark.parametrize("name", ["x INT); DROP TABLE t; --", "a b", 'a"b', "a-b", "a;b", "a%b", "a\nb", "1a"], ids=ascii)
def test_names_without_quotes_are_plain(tmp_path: Path, name: str) -> None:
    """Who may write to the topic names a field with a statement, while names are written without quotes: none is made of it."""
    path = tmp_path / "db"
    with sink(path, quote_sql_identifiers="never") as runner:
        runner.put([row(0), odd({name: "x"}), row(2)])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(path) == [0, 2]


@pytest.mark.parametrize("name", ["x INT); DROP TABLE t; --", 'a"b', "a;b", "a%b", "a%%b", ":x", "%(x)s"], ids=ascii)
def test_names_in_quotes_are_names(tmp_path: Path, name: str) -> None:
    """The control: with quotes, as by default, such a name is a column's, and does nothing else."""
    path = tmp_path / "db"
    with sink(path) as runner:
        runner.put([row(0), odd({name: "x"}), row(2)])
        assert runner.reported == []
    assert ids(path) == [0, 1, 2]
    with sqlite3.connect(path) as connection:
        assert name in [column[1] for column in connection.execute("PRAGMA table_info(t)")]


def test_a_default_of_any_length_takes_no_time(tmp_path: Path) -> None:
    """It stood in the statement that made the table, which SQLAlchemy looks through by patterns, each time."""
    path = tmp_path / "db"
    for at, default in enumerate(("short", "x y" * 20_000)):
        own = schema.struct({"id": INT32_SCHEMA, f"c{at}": OPTIONAL_STRING_SCHEMA.replace(default=default)})
        with sink(path) as runner:
            runner.put([record(at, Struct(own, {"id": at}), own)])
            assert runner.reported == []
    with sqlite3.connect(path) as connection:
        [(text,)] = connection.execute("SELECT sql FROM sqlite_master WHERE name = 't'")
    assert "short" in text and len(text) < 1000


def _deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


VALUES: dict[str, Any] = {
    "an integer without an end": {"id": 1, "name": 1 << 70},
    "half a pair": {"id": 1, "name": "\ud800"},
    "a key that is a list": {"id": [1], "name": "a"},
    "a key that is an object": {"id": {"a": 1}, "name": "a"},
    "a huge key": {"id": 1 << 70, "name": "a"},
    "nested": {"id": 1, "name": _deep(3000)},
    "no text": {1: "a", "id": 1},
    "no object": "text",
    "nothing": None,
    "empty": {},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_values_that_no_driver_sends_are_one_records_fault(tmp_path: Path, value: Any) -> None:
    """Who may write to the topic sends a value without a schema that the driver does not take: the others are rows."""
    path = tmp_path / "db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name INTEGER)")
    with sink(path) as runner:
        runner.put([record(0, {"id": 0, "name": 1}), record(1, value), record(2, {"id": 2, "name": 2})])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(path) == [0, 2]


@pytest.mark.parametrize("key", ["k", None, 5, {"b": 1}], ids=ascii)
def test_a_key_of_another_kind_is_one_records_fault(tmp_path: Path, key: Any) -> None:
    """Who may write to the topic sends a record with a key that is no object, though the others' keys are."""
    path = tmp_path / "db"
    own = schema.struct({"a": STRING_SCHEMA, "b": STRING_SCHEMA})
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a TEXT, b TEXT, id INTEGER, name TEXT, PRIMARY KEY (a, b))")

    def keyed(offset: int) -> SinkRecord:
        plain = row(offset)
        return SinkRecord("t", 0, own, Struct(own, {"a": "x", "b": str(offset)}), plain.value_schema, plain.value, offset)

    bad = record(1, Struct(ROW, {"id": 1, "name": "a"}), ROW, key)
    with sink(path, pk_mode="record_key", pk_fields="a,b") as runner:
        runner.put([keyed(0), bad, keyed(2)])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(path) == [0, 2]


def test_what_all_records_would_meet_is_no_records_fault(tmp_path: Path) -> None:
    """The control: without a table, and without the right to make one, the task fails, and no record is taken for a bad one."""
    path = tmp_path / "db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    with sink(path, auto_create="false") as runner:
        with sqlite3.connect(path) as connection:
            connection.execute("DROP TABLE t")
        with pytest.raises(ConnectError, match=r"auto\.create"):
            runner.put([row(0)])
        assert runner.reported == []


def test_a_table_that_a_record_names_and_that_is_not_there_is_its_fault(tmp_path: Path) -> None:
    """Who may write to the topic chooses the topic by a transform, and so a table that there is not: the task failed."""
    path = tmp_path / "db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    with sink(path, auto_create="false") as runner:
        runner.put([row(0), row(1).new_record(topic="none"), row(2)])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(path) == [0, 2]


@pytest.mark.parametrize("name", ["a_view", "sqlite_disk", "sqlite_locked", "no_key"])
def test_a_table_that_a_record_names_and_that_takes_no_rows_is_its_fault(tmp_path: Path, name: str) -> None:
    """Who may write to the topic has a transform choose a view, or a name that SQLite keeps, with words that errors have."""
    path = tmp_path / "db"
    with sqlite3.connect(path) as connection:
        connection.executescript("CREATE VIEW a_view AS SELECT 1 AS id, 'a' AS name; CREATE TABLE no_key (id INT, name TEXT)")
    with sink(path, insert_mode="upsert") as runner:
        chosen = [row(1), row(2)]
        for each in chosen:
            each.topic = name
        runner.put([row(0), *chosen, row(3)])
        assert [each.original_offset for each, _ in runner.reported] == [1, 2]
    assert ids(path) == [0, 3]


@pytest.mark.parametrize("name", ["offsets", "OFFSETS", "offsets\n"])
def test_no_record_says_where_connectors_go_on(tmp_path: Path, name: str) -> None:
    """Who may create topics, or choose one by a transform, calls one as the table of offsets: the next task skipped records."""
    path = tmp_path / "db"
    own = schema.struct({"connector": STRING_SCHEMA, "topic": STRING_SCHEMA, "part": INT32_SCHEMA})
    forged = record(1, Struct(own, {"connector": "other", "topic": "payments", "part": 0}), own).new_record(topic=name)
    with sink(path, name="s", pk_fields="", pk_mode="none", offsets_table="offsets") as runner:
        runner.put([row(0), forged, row(2)])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert ids(path) == [0, 2]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM offsets WHERE connector = 'other'").fetchone() == (0,)


FORGED = {"connector": "s", "topic": "t", "part": 0, "next_offset": 9999, "epoch": 1}


def forged(**more: str) -> SinkRecord:
    """A record of offset 1 that is a row of a table of offsets."""
    kinds = {name: STRING_SCHEMA if isinstance(value, str) else INT32_SCHEMA for name, value in FORGED.items()}
    own = schema.struct({**kinds, **dict.fromkeys(more, OPTIONAL_STRING_SCHEMA)})
    return record(1, Struct(own, {**FORGED, **more}), own).new_record(topic="offsets")


def test_no_record_says_where_another_connector_goes_on(tmp_path: Path) -> None:
    """Who may create topics calls one as the table in which another connector has its offsets: that one skipped records."""
    path = tmp_path / "db"
    with sink(path, name="s", offsets_table="offsets") as runner:
        runner.put([row(0)])
    with sink(path, name="other", pk_fields="", pk_mode="none") as runner:
        runner.put([row(2), forged(), row(3)])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT next_offset FROM offsets").fetchall() == [(1,)]
    with pytest.raises(ConfigError, match="it takes no records"):
        sink(path, name="other", topics="offsets").start()


def test_no_record_makes_a_table_of_offsets(tmp_path: Path) -> None:
    """Who may create topics has the table made before the connector begins that is to have its offsets there."""
    path = tmp_path / "db"
    with sink(path, name="other", pk_fields="", pk_mode="none") as runner:
        runner.put([row(2), forged(), forged(more="x"), row(3)])
        assert [each.original_offset for each, _ in runner.reported] == [1, 1]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'offsets'").fetchall() == []


def test_tables_that_records_name_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write to the topic has a transform name another table by each record."""
    monkeypatch.setattr(tables, "_KEPT", 3)
    engine = sa.create_engine(f"sqlite:///{tmp_path}/db")
    known = tables.Tables(engine, settings.CONFIG.parse({"connection.url": str(engine.url), "auto.create": "true"}))
    for number in range(10):
        known.ensure(f"t{number % 5}", [tables.Wanted("id", INT32_SCHEMA)])
    assert len(known._known) == 3


# Rows that are read.


def rows_of(path: Path, mode: str) -> SourceRunner:
    """The source of a table of ten rows of 100 KB each, all of one time, with room for three of them."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, at TEXT NOT NULL, v TEXT)")
        for _ in range(10):
            connection.execute("INSERT INTO t (at, v) VALUES ('2026-01-01 00:00:00.000', ?)", ("x" * 100_000,))
    config = {
        "connection.url": f"jdbc:sqlite:{path}",
        "topic.prefix": "x-",
        "table.whitelist": "t",
        "batch.max.bytes": "300000",
    }
    columns = {"incrementing.column.name": "id", "timestamp.column.name": "at"}
    return SourceRunner(SqlSourceConnector, {**config, **columns, "mode": mode})


@pytest.mark.parametrize("mode", ["bulk", "incrementing", "timestamp+incrementing"])
def test_long_rows_are_taken_a_few_at_a_time(tmp_path: Path, mode: str) -> None:
    """Who may write to the table writes rows that would fill the memory together: none is missing, and few come at once."""
    numbers: list[int] = []
    with rows_of(tmp_path / "db", mode) as runner:
        while len(numbers) < 10:
            records = runner.poll()
            assert len(records) <= 4
            numbers += [record.value["id"] for record in records]
    assert numbers == list(range(1, 11))


def test_rows_of_one_time_take_no_more_memory_than_there_is(tmp_path: Path) -> None:
    """Who may write to the table gives all rows one time, between which there is no position: the task fails, and says why."""
    with (
        rows_of(tmp_path / "db", "timestamp") as runner,
        pytest.raises(ConnectError, match=r"more than 300000 bytes of rows of one time, and batch\.max\.bytes is 300000"),
    ):
        runner.poll()


def reading(path: Path, **more: str) -> SourceRunner:
    config = {
        "name": "n",
        "connection.url": f"sqlite:///{path}",
        "topic.prefix": "p-",
        "mode": "bulk",
        "table.include.list": "t",
    }
    return SourceRunner(SqlSourceConnector, config | {name.replace("_", "."): value for name, value in more.items()})


def test_rows_that_a_file_makes_as_it_is_read_are_counted_as_they_come(tmp_path: Path) -> None:
    """Whoever may write SQLite's file has rows of megabytes that stand nowhere: 32 of them were read at once, and more."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB GENERATED ALWAYS AS (zeroblob(2000000)) VIRTUAL)")
        connection.executemany("INSERT INTO t (id) VALUES (?)", ((number,) for number in range(9)))
    with reading(path, batch_max_bytes="5000000") as runner:
        lots = [len(runner.poll() or []) for _ in range(3)]
    assert lots == [3, 3, 3]


_MAGIC = bytes.fromhex("d9d505f920a163d7")


def naming(path: Path) -> bytes:
    """The end of a journal that names a file, as SQLite writes it for a transaction over several databases."""
    name = os.fsencode(path)
    return name + struct.pack(">Ii", len(name), sum(byte - 256 if byte > 127 else byte for byte in name)) + _MAGIC


def test_what_a_journal_names_is_not_deleted(tmp_path: Path) -> None:
    """
    Who may write in the folder of SQLite's file leaves a journal there that names a file of the host. That may be a database
    itself, with one row. SQLite deleted what it names as it opened the file, whatever connector.files.allowed.paths said.
    """
    path, other, journal = tmp_path / "shop.db", tmp_path / "other", tmp_path / "shop.db-journal"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")

    def forge() -> None:
        other.write_text("of somebody else")
        with contextlib.closing(sqlite3.connect(journal)) as connection, connection:
            connection.execute("CREATE TABLE orders (content BLOB)")
            connection.execute("INSERT INTO orders VALUES (?)", (bytes(300) + naming(other),))

    forge()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT id FROM t").fetchall() == [(1,)]
    assert not other.exists(), "the control: SQLite does delete it"
    with reading(path, poll_interval_ms="1") as runner:
        runner.read(1)
        # Also of a connection that is open already.
        forge()
        with pytest.raises(ConnectError, match=r"its journal .*shop\.db-journal names another file, which SQLite would delete"):
            runner.read(100)
    with pytest.raises(ConnectError, match="names another file"), reading(path) as runner:
        runner.poll()
    with pytest.raises(ConnectError, match="names another file"), sink(path) as writer:
        writer.put([row(2)])
    assert other.read_text() == "of somebody else"
    journal.unlink()
    with reading(path) as runner:
        assert len(runner.poll() or []) == 1


_LITTLE = """
import sys
from kconnect.connectors.sql import sqlite_files
from kconnect.testing import SourceRunner
from kconnect.connectors.sql.source import SqlSourceConnector
sqlite_files._FIRST = ("PRAGMA hard_heap_limit=50000000", *sqlite_files._FIRST[1:])
config = {"name": "n", "connection.url": f"sqlite:///{sys.argv[1]}", "topic.prefix": "p-", "mode": "bulk"}
with SourceRunner(SqlSourceConnector, config) as runner:
    runner.poll()
"""


@pytest.mark.process
def test_a_row_that_is_made_of_nothing_takes_no_memory_without_an_end(tmp_path: Path) -> None:
    """
    Whoever may write SQLite's file has a row of many columns that stand nowhere: the task says so, and tries again. In a
    process of its own, because the limit is the process's.
    """
    path = tmp_path / "shop.db"
    many = "".join(f", a{number} BLOB GENERATED ALWAYS AS (zeroblob(20000000)) VIRTUAL" for number in range(20))
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY{many})")
        connection.execute("INSERT INTO t (id) VALUES (1)")
    done = subprocess.run([sys.executable, "-c", _LITTLE, str(path)], capture_output=True, text=True)
    assert f"takes more than is left of the {sqlite_files.MOST} bytes that SQLite may have" in done.stderr.splitlines()[-1]
    # It may be others in the process who have it.
    assert "RetriableError" in done.stderr.splitlines()[-1]
    with sqlite_files.Limited(":memory:") as connection:
        assert connection.execute("PRAGMA hard_heap_limit").fetchone() == (sqlite_files.MOST,)


UNDOING = {
    "trigger": "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE TRIGGER r BEFORE INSERT ON t "
    "WHEN new.id IN (3, 7) BEGIN SELECT RAISE(ROLLBACK, 'no'); END;",
    "key": "CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT ROLLBACK, name TEXT); INSERT INTO t VALUES (3, 'x'), (7, 'x');",
    "check": "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL ON CONFLICT ROLLBACK); CREATE TRIGGER r AFTER INSERT "
    "ON t WHEN new.id IN (3, 7) BEGIN UPDATE t SET name = NULL WHERE id = new.id; END;",
    "behind others": "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE TRIGGER r BEFORE INSERT ON t "
    "WHEN new.id IN (3, 7) AND EXISTS (SELECT 1 FROM t) BEGIN SELECT RAISE(ROLLBACK, 'no'); END;",
}


@pytest.mark.parametrize("more", [{}, {"batch_size": "4"}, {"offsets_table": "marks"}], ids=["", "small", "offsets"])
@pytest.mark.parametrize("statements", UNDOING.values(), ids=UNDOING.keys())
def test_a_row_that_undoes_all_others_is_a_bad_one(tmp_path: Path, statements: str, more: dict[str, str]) -> None:
    """Who may write a record has a trigger undo the transaction of all: the task ended for good, with a dead letter queue."""
    path = tmp_path / "db"
    with sqlite3.connect(path) as connection:
        connection.executescript(statements)
    there = {3, 7} & set(ids(path))
    with sink(path, insert_mode="insert", name="n", **more) as runner:
        runner.put([row(number) for number in range(10)])
        assert sorted(bad.original_offset for bad, _ in runner.reported) == [3, 7]
        runner.put([row(number) for number in range(10, 13)])
    assert set(ids(path)) == {*range(13)} - {3, 7} | there


GOOD = "CREATE TABLE good (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO good VALUES (1, 'a');"
LONG = 20_000


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT DEFAULT '{'x' * LONG}')",
        f'CREATE TABLE t (id INTEGER PRIMARY KEY, "{"a" * LONG}" TEXT)',
        f'CREATE TABLE "{"a" * LONG}" (id INTEGER PRIMARY KEY, a TEXT)',
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT /* {'COLLATE ' * (LONG // 8)} */)",
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, a {'X ' * (LONG // 2)})",
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT AS ('{'a' * LONG}'))",
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR({'1' * 5000}))",
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, a NUMERIC({'9' * 20}, {'9' * 20}))",
    ],
    ids=["default", "column", "table", "comment", "type", "generated", "length", "precision"],
)
@pytest.mark.timeout(60)
def test_a_table_of_a_file_is_looked_at_in_no_time(tmp_path: Path, statement: str) -> None:
    """Who makes SQLite's file has a long name in a table: to look at it took minutes, in which nobody else had a turn."""
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.executescript(GOOD + statement)
    with reading(tmp_path / "db", table_include_list="") as runner:
        assert topics_of(runner, 1) == {"p-good"}


def topics_of(runner: SourceRunner, count: int) -> set[str]:
    """Return the topics of so many records, or of more that came with them."""
    topics: list[str] = []
    while len(topics) < count:
        topics += [record.topic for record in runner.poll() or []]
    return set(topics)


QUICK = {"table_include_list": "", "poll_interval_ms": "1"}
BY_NUMBER = {"mode": "incrementing", "incrementing_column_name": "id", "validate_non_null": "false"}


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        ("(1, CAST(x'ff' AS TEXT)), (2, 'b')", {}),
        ("('abc', 'x'), (2, 'b')", BY_NUMBER),
        ("(x'00', 'x'), (2, 'b')", BY_NUMBER),
        ("(9e999, 'x'), (2, 'b')", BY_NUMBER),
        ("(1e300, 'x'), (2, 'b')", BY_NUMBER),
        ("(1.5, 'x'), (2, 'b')", BY_NUMBER),
    ],
    ids=["no UTF-8", "text", "bytes", "infinity", "huge", "fraction"],
)
@pytest.mark.timeout(120)
def test_a_row_that_is_none_of_its_table_is_passed_over(tmp_path: Path, rows: str, more: dict[str, str]) -> None:
    """Who may write a row writes what SQLite takes in any column: the task ended for good, whatever the config said of rows."""
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.executescript(f"{GOOD} CREATE TABLE t (id INTEGER, a TEXT); INSERT INTO t VALUES {rows};")
    with reading(tmp_path / "db", **QUICK, **more, behavior_on_error="log") as runner:
        records: list[Any] = []
        while {record.topic for record in records} != {"p-good", "p-t"}:
            records += runner.poll() or []
        # Rows that come later are read, too: what was passed over is nowhere that the next round begins.
        with sqlite3.connect(tmp_path / "db") as connection:
            connection.execute("INSERT INTO t VALUES (3, 'c')")
        while not any(record.topic == "p-t" and record.value["a"] == "c" for record in records):
            records += runner.poll() or []
        assert {record.value["a"] for record in records if record.topic == "p-t"} == {"b", "c"}
    with (
        pytest.raises(ConnectError, match=r"With behavior\.on\.error=log such rows are passed over"),
        reading(tmp_path / "db", **QUICK, **more) as runner,
    ):
        topics_of(runner, 1000)


BAD_TABLES = {
    "view of nothing": "CREATE TABLE t (a); CREATE VIEW v AS SELECT * FROM t; DROP TABLE t;",
    "view that fails": "CREATE TABLE t (a); INSERT INTO t VALUES (-9223372036854775807 - 1); "
    "CREATE VIEW v AS SELECT abs(a) AS a FROM t;",
    "view of functions": "CREATE VIEW v AS SELECT load_extension('x');",
    "column without a name": 'CREATE TABLE t (id INTEGER, "" TEXT);',
}


@pytest.mark.parametrize("statements", BAD_TABLES.values(), ids=BAD_TABLES.keys())
@pytest.mark.timeout(120)
def test_a_table_that_cannot_be_read_ends_no_other(tmp_path: Path, statements: str) -> None:
    """Who may make a table or a view makes one that fails: with it ended what was read of all others."""
    more = {**QUICK, "table_types": "TABLE,VIEW"}
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.executescript(GOOD + statements)
    with reading(tmp_path / "db", **more, behavior_on_error="log") as runner:
        seen = 0
        while seen < 3:
            seen += sum(record.topic == "p-good" for record in runner.poll() or [])
    with pytest.raises(ConnectError, match="can't be read"), reading(tmp_path / "db", **more) as runner:
        topics_of(runner, 1000)
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("DROP TABLE good")
    if "INSERT" not in statements:
        with (
            pytest.raises(ConnectError, match="can't be read"),
            reading(tmp_path / "db", **more, behavior_on_error="log") as runner,
        ):
            topics_of(runner, 1)
