"""
Each kind of value in each kind of column of PostgreSQL, MariaDB and SQLite, by the SQL sink: the column has the same value, or
the record is refused, and whatever is beside it is written.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
import os
from typing import Any, cast

import pytest

from kconnect.api import FLOAT64_SCHEMA, INT32_SCHEMA, INT64_SCHEMA, Schema, SinkRecord, Struct, schema
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.task import SqlSinkTask
from kconnect.testing import SinkRunner
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.truth.values import PLAIN, TYPED, same

COLUMNS: dict[str, list[str]] = {
    "postgresql": [
        "integer", "real", "numeric(10,2)", "varchar(5)", "date", "time(0)", "timestamp(0)", "bytea", "jsonb",
        "smallint", "bigint", "double precision", "numeric", "numeric(5,0)", "text", "boolean", "time", "timestamp",
        "timestamptz", "timestamptz(0)", "json", "uuid", "varchar(5)[]",
    ],
    "mariadb": [
        "integer", "float", "double", "decimal(10,2)", "varchar(5)", "date", "time(3)", "datetime", "blob", "enum('abc','')",
        "tinyint", "smallint", "bigint", "bigint unsigned", "decimal(5,0)", "text", "tinytext", "boolean", "time",
        "datetime(3)", "timestamp null", "timestamp(3) null", "varbinary(4)", "binary(4)", "json", "longtext", "year",
        "set('abc','b')",
    ],
    "sqlite": [
        "integer", "numeric(10,2)", "varchar(5)", "date", "real", "text", "boolean", "time", "datetime", "blob", "json",
    ],
}  # fmt: skip
"""The first ones, which databases misread most, are tried always; all of them by night."""
ALWAYS = {"postgresql": 9, "mariadb": 10, "sqlite": 4}
NATURAL = {
    "integer": ("INT8", "INT16", "INT32"),
    "bigint": ("INT8", "INT16", "INT32", "INT64"),
    "text": ("STRING", "INT32", "FLOAT64"),
    "double": ("FLOAT32", "FLOAT64", "INT32"),
    "double precision": ("FLOAT32", "FLOAT64", "INT32"),
    "blob": ("BYTES",),
    "bytea": ("BYTES",),
    "date": (schema.DATE,),
    "datetime(3)": (schema.TIMESTAMP, schema.DATE),
    "timestamp": (schema.TIMESTAMP, schema.DATE),
    "timestamp(0)": (schema.DATE,),
    "time": (schema.TIME,),
    "boolean": ("BOOLEAN",),
    "jsonb": ("INT64", "FLOAT64", "BOOLEAN"),
}
"""Schemas whose values a column takes, but those that `is_odd` names."""


READ = {
    "float": "v + 0e0",
    "real": "cast(v as double precision)",
    "time(0)": "cast(v as text)",
    "jsonb": "cast(v as text)",
}
"""How all of a value comes: floats of 32 bits with their digits, and 24:00, which rounding would make, as the driver can't."""


def is_odd(value: Any, kind: str, backend: str) -> bool:
    if isinstance(value, str):
        return "\0" in value or "\ud800" in value
    if isinstance(value, float):
        return not math.isfinite(value) and (backend == "mariadb" or kind == "jsonb")
    # MariaDB's TIME has no fractions, unless they are asked for.
    return isinstance(value, datetime.datetime) and (backend, kind) == ("mariadb", "time") and value.microsecond > 0


def name_of(own: Schema | None) -> str:
    return "none" if own is None else own.name or own.type.value


@pytest.mark.parametrize("database", EVERY, indirect=True)
def test_each_kind_of_value_in_each_kind_of_column(request: pytest.FixtureRequest, database: Database, topic: str) -> None:
    kinds = COLUMNS[database.backend]
    wrong = []
    if database.backend == "mariadb":
        # A server that cuts off and makes others of values, unless a session asks for better.
        database.execute("set global sql_mode = ''")
        request.addfinalizer(lambda: database.execute("set global sql_mode = default"))
    for number, kind in enumerate(kinds if "KCONNECT_NIGHT" in os.environ else kinds[: ALWAYS[database.backend]]):
        wrong += misfits(database, f"{topic}x{number}", kind)
    assert not wrong, "\n".join(wrong)


def misfits(database: Database, table: str, kind: str) -> list[str]:
    """Return a sentence for each value that a column of a kind has not as it is, though it was not refused."""
    database.execute(f"create table {table} (id integer primary key, v {kind})")
    offsets = itertools.count()
    records: list[tuple[SinkRecord, Schema | None, Any]] = []
    for own, values in [*TYPED, (None, PLAIN)]:
        row = None if own is None else schema.struct({"id": INT32_SCHEMA, "v": own})
        for value in values:
            at = next(offsets)
            whole = {"id": at, "v": value} if row is None else Struct(row, {"id": at, "v": value})
            records.append((SinkRecord(table, 0, None, None, row, whole, at), own, value))
    with sink(database, table) as runner:
        runner.put([record for record, _, _ in records])
        refused = {record.original_offset: error for record, error in runner.reported}
    read = READ.get("jsonb" if (database.backend, kind) == ("postgresql", "json") else kind, "v")
    rows = dict(database.rows(f"select id, {read} from {table}"))
    wrong = []
    for record, own, value in records:
        at = record.original_offset
        where = f"{value!r} of {name_of(own)} in {kind}"
        if at in refused:
            if at in rows:
                wrong.append(f"{where} is refused and written")
            elif name_of(own) in NATURAL.get(kind, ()) and not is_odd(value, kind, database.backend):
                wrong.append(f"{where} is refused: {refused[at]}")
        elif at not in rows:
            wrong.append(f"{where} is lost")
        elif not same(value, own, rows[at]):
            wrong.append(f"{where} has become {rows[at]!r}")
    return wrong


def sink(database: Database, table: str, **more: str) -> SinkRunner:
    config = {"name": "c", "topics": table, **database.config, "errors.tolerance": "all", "max.retries": "0"}
    return SinkRunner(SqlSinkConnector, config | {name.replace("_", "."): value for name, value in more.items()})


def put_one(database: Database, topic: str, kind: str, own: Schema, value: Any, **more: str) -> tuple[list[Any], list[str]]:
    """Return what the column has of a value, and why it is refused."""
    database.execute(f"create table {topic} (v {kind})")
    row = schema.struct({"v": own})
    with sink(database, topic, **more) as runner:
        runner.put([SinkRecord(topic, 0, None, None, row, Struct(row, {"v": value}), 0)])
        errors = [str(error) for _, error in runner.reported]
    return [each for (each,) in database.rows(f"select v from {topic}")], errors


only_mariadb = pytest.mark.parametrize("database", EVERY[2:], indirect=True)


@only_mariadb
def test_a_number_in_a_column_of_bytes_is_no_number_of_zeros(database: Database, topic: str) -> None:
    """The driver would make two billion of them, and the process would end."""
    stored, errors = put_one(database, topic, "longblob", INT32_SCHEMA, 2**31 - 1)
    assert (stored, len(errors)) == ([], 1)
    assert "a column of bytes takes bytes and texts, but it is int" in errors[0]


@pytest.mark.parametrize("database", EVERY[1:2], indirect=True)
def test_a_domain_has_room_for_what_its_type_has(database: Database, topic: str) -> None:
    database.execute(f"create domain {topic}_amount as numeric(10,2)")
    stored, errors = put_one(database, topic, f"{topic}_amount", schema.decimal_schema(4), decimal.Decimal("1.2345"))
    assert (stored, len(errors)) == ([], 1)


@only_mariadb
def test_a_number_that_the_database_has_not_is_one_bad_record(database: Database, topic: str) -> None:
    stored, errors = put_one(database, topic, "double", FLOAT64_SCHEMA, math.nan)
    assert (stored, len(errors)) == ([], 1)


def test_what_may_be_rounded(database: Database, topic: str) -> None:
    moment = datetime.datetime(2024, 2, 29, 10, 20, 30, 123_000, datetime.timezone.utc)
    for at, (kind, own, value, rounded) in enumerate(
        [
            ("numeric(10,2)", schema.decimal_schema(4), decimal.Decimal("1.2345"), decimal.Decimal("1.23")),
            ("date", schema.TIMESTAMP_SCHEMA, moment, moment.date()),
        ]
    ):
        stored, errors = put_one(database, f"{topic}a{at}", kind, own, value)
        if database.backend == "sqlite" and at == 0:
            assert not errors, "its columns have digits as they come"
            continue
        assert (stored, len(errors)) == ([], 1)
        assert "rounding.allowed=true allows that" in errors[0]
        stored, errors = put_one(database, f"{topic}b{at}", kind, own, value, rounding_allowed="true")
        assert (str(stored[0]), errors) == (str(rounded), [])


def test_bytes_and_whole_numbers_keep_their_digits(database: Database, topic: str) -> None:
    kinds = {"postgresql": ("bytea", "double precision"), "mariadb": ("blob", "double"), "sqlite": ("blob", "real")}
    of_bytes, of_floats = kinds[database.backend]
    stored, _ = put_one(database, f"{topic}a", of_bytes, schema.STRING_SCHEMA, "\\x41")
    assert bytes(stored[0]) == b"\\x41", "a text is no notation of bytes"
    assert put_one(database, f"{topic}b", of_floats, INT64_SCHEMA, 2**53)[0] == [float(2**53)]
    assert not put_one(database, f"{topic}c", of_floats, INT64_SCHEMA, 2**53 + 1)[0]


@pytest.mark.parametrize("database", EVERY[1:], indirect=True)
def test_a_column_that_was_made_narrower_meanwhile(database: Database, topic: str) -> None:
    database.execute(f"create table {topic} (v numeric(10,4))")
    row = schema.struct({"v": schema.decimal_schema(4)})
    records = [SinkRecord(topic, 0, None, None, row, Struct(row, {"v": decimal.Decimal("1.2345")}), at) for at in range(2)]
    with sink(database, topic) as runner:
        runner.put(records[:1])
        alter = "alter v type numeric(10,2)" if database.backend == "postgresql" else "modify v numeric(10,2)"
        database.execute(f"truncate table {topic}", f"alter table {topic} {alter}")
        cast(SqlSinkTask, runner.task)._tables._look_at = 0.0
        runner.put(records[1:])
        assert [record.original_offset for record, _ in runner.reported] == [1]
    assert not database.rows(f"select v from {topic}")


@pytest.mark.parametrize("database", EVERY[:1], indirect=True)
def test_records_whose_schemas_are_equal_are_alike(database: Database, topic: str) -> None:
    """A transform may make a schema for each record."""
    database.execute(f"create table {topic} (v integer)")
    rows = [Struct(schema.struct({"v": INT32_SCHEMA}), {"v": at}) for at in range(12)]
    with sink(database, topic) as runner:
        runner.put([SinkRecord(topic, 0, None, None, row.schema, row, at) for at, row in enumerate(rows)])
        assert not runner.reported
    assert len(database.rows(f"select v from {topic}")) == 12
