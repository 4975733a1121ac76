"""
The connectors' promise, for SQL: a value comes and goes as it is, or is refused by its name, and nothing of that is silent.

Kinds of values that databases have and drivers, sessions or tables make others of: arrays, unsigned and far numbers, times
without a place, columns that change, zones, strict modes, collations, defaults.
"""

from __future__ import annotations

import datetime
import decimal
from typing import Any, cast

import pytest

from kconnect.api import INT32_SCHEMA, OPTIONAL_INT32_SCHEMA, STRING_SCHEMA, TIMESTAMP_SCHEMA, ConnectError, Struct, schema
from kconnect.connectors.sql.task import SqlSinkTask
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.sql.test_sink import KEYED, TOLERANT, Table, _, only_postgresql, table
from tests.connectors.sql.test_source import polled, source

__all__ = ["table"]

only_mariadb = pytest.mark.parametrize("database", EVERY[2:], indirect=True)
servers = pytest.mark.parametrize("database", EVERY[1:], indirect=True)
REFUSED: Any = object()

OF_POSTGRESQL: list[tuple[str, str, Any]] = [
    ("{topic}_mood[]", "{{sad,ok}}", ["sad", "ok"]),
    ("uuid[]", "{{6b3f9fd4-7bb9-4d7a-9d27-3f2c1d0e5a11}}", "{6b3f9fd4-7bb9-4d7a-9d27-3f2c1d0e5a11}"),
    ("varchar(3)[]", "{{a,NULL,b}}", ["a", None, "b"]),
    ("time[]", "{{10:00,NULL}}", [datetime.datetime(1970, 1, 1, 10, tzinfo=datetime.timezone.utc), None]),
    ("time[]", "{{24:00}}", REFUSED),
    ("int4range[]", '{{"[1,3)"}}', '{"[1,3)"}'),
    ("int[][]", "{{{{1}},{{2}}}}", REFUSED),
    ("time", "24:00", REFUSED),
    ("timetz", "24:00+00", "24:00:00+00"),
    ("date", "infinity", REFUSED),
    ("date", "10000-01-01", REFUSED),
    ("date", "0044-03-15 BC", REFUSED),
    ("timestamp", "infinity", REFUSED),
    ("timestamptz", "-infinity", REFUSED),
    ("timestamp", "10000-01-01 00:00", REFUSED),
    ("date[]", "{{infinity}}", REFUSED),
    ("numeric", "NaN", REFUSED),
    ("{topic}_mood", "sad", "sad"),
    ("interval", "1 year 2 days", "1 year 2 days"),
    ("int4range", "[1,3)", "[1,3)"),
    ("money", "12.50", "$12.50"),
    ("inet", "10.0.0.1/8", "10.0.0.1/8"),
]


@only_postgresql
@pytest.mark.parametrize(("kind", "text", "expected"), OF_POSTGRESQL, ids=[f"{kind} {text}" for kind, text, _ in OF_POSTGRESQL])
def test_a_value_of_postgresql(database: Database, topic: str, kind: str, text: str, expected: Any) -> None:
    kind, text = kind.format(topic=topic), text.format()
    database.execute(f"create type {topic}_mood as enum ('sad', 'ok')", "set lc_monetary = 'C'")
    database.execute(f"create table {topic} (id integer primary key, odd_one {kind})".replace(":", "\\:"))
    database.execute(f"insert into {topic} values (1, null), (2, '{text}')".replace(":", "\\:"))
    with source(database, topic, incrementing_column_name="id", numeric_mapping="none") as runner:
        if expected is REFUSED:
            with pytest.raises(ConnectError, match="odd_one") as refused:
                polled(runner)
            assert f"public.{topic}" in str(refused.value)
        else:
            assert [record.value["odd_one"] for record in polled(runner)] == [None, expected]


@only_mariadb
@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [("bigint unsigned", "9223372036854775807", 2**63 - 1), ("bigint unsigned", "9223372036854775808", REFUSED)],
)
def test_a_value_of_mariadb(database: Database, topic: str, kind: str, text: str, expected: Any) -> None:
    database.execute(f"create table {topic} (id integer primary key, odd_one {kind})")
    database.execute(f"insert into {topic} values (1, {text})")
    with source(database, topic, incrementing_column_name="id") as runner:
        if expected is REFUSED:
            with pytest.raises(ConnectError, match=r"the column odd_one: .* has no place in INT64: .*CAST"):
                polled(runner)
        else:
            assert [record.value["odd_one"] for record in polled(runner)] == [expected]


@servers
def test_a_column_that_may_be_null_since_a_moment_ago(database: Database, topic: str) -> None:
    database.execute(
        f"create table {topic} (id integer primary key, note varchar(5) not null)", f"insert into {topic} values (1, 'a')"
    )
    with source(database, topic, incrementing_column_name="id") as runner:
        assert [record.value["note"] for record in polled(runner)] == ["a"]
        alter = "alter note drop not null" if database.backend == "postgresql" else "modify note varchar(5) null"
        database.execute(f"alter table {topic} {alter}", f"insert into {topic} values (2, null), (3, 'c')")
        found = polled(runner) or polled(runner)
        assert [record.value["note"] for record in found] == [None, "c"]
        field = found[0].value_schema.field("note")  # type: ignore[union-attr]
        assert field is not None and field.schema.optional


@servers
def test_columns_that_were_widened_meanwhile(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "p": schema.decimal_schema(4), "t": STRING_SCHEMA})
    table.database.execute(f"create table {table.topic} (id integer primary key, p numeric(10,2), t varchar(5))")

    def row(id: int, p: str, t: str) -> Any:
        return table.record(Struct(own, {"id": id, "p": decimal.Decimal(p), "t": t}))

    with table.sink(insert_mode="upsert", **_(KEYED), **_(TOLERANT)) as sink:
        sink.put([row(1, "1.2300", "abc"), row(2, "1.2345", "abc")])
        assert len(sink.reported) == 1
        assert "more than the column's 2 digits behind the point" in str(sink.reported[0][1])
        wider = "alter p type numeric(10,4), alter t type text"
        wider = wider if table.database.backend == "postgresql" else "modify p numeric(10,4), modify t text"
        table.database.execute(f"alter table {table.topic} {wider}")
        cast(SqlSinkTask, sink.task)._look_again_at = 0.0
        sink.put([row(3, "1.2345", "longer than five")])
        assert len(sink.reported) == 1
    assert table.rows("id, p", "1") == [(1, decimal.Decimal("1.2300")), (3, decimal.Decimal("1.2345"))]


@only_mariadb
def test_a_timestamp_is_the_same_point_in_time_in_any_zone(table: Table) -> None:
    noon = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)
    own = schema.struct({"id": INT32_SCHEMA, "at": TIMESTAMP_SCHEMA})
    table.database.execute(f"create table {table.topic} (id integer primary key, at timestamp(3) null)")
    with table.sink(db_timezone="America/New_York") as sink:
        sink.put([table.record(Struct(own, {"id": 1, "at": noon}))])
    assert table.rows("unix_timestamp(at)", "1") == [(decimal.Decimal("1719835200.000"),)]
    with source(table.database, table.topic, incrementing_column_name="id", db_timezone="America/New_York") as runner:
        assert [record.value["at"] for record in polled(runner)] == [noon]


@only_mariadb
def test_a_server_without_strict_mode_cuts_nothing_off(table: Table) -> None:
    table.database.execute(f"create table {table.topic} (id tinyint primary key, name varchar(3))")
    table.database.execute("set global sql_mode = ''")
    try:
        with table.sink(**_(TOLERANT)) as sink:
            sink.put([table.row(1, "abcd"), table.row(200, "abc"), table.row(3, "abc")])
            assert len(sink.reported) == 2
    finally:
        table.database.execute("set global sql_mode = default")
    assert table.rows() == [(3, "abc")]


@servers
def test_keys_are_told_apart_as_kafka_does(table: Table) -> None:
    texts = ["Anna", "anna", "anna ", "ánna", "a\u0301nna"]
    own = schema.struct({"id": STRING_SCHEMA, "name": OPTIONAL_INT32_SCHEMA})
    with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
        sink.put([table.record(Struct(own, {"id": text, "name": at})) for at, text in enumerate(texts)])
        sink.put([table.record(Struct(own, {"id": text, "name": 10 + at})) for at, text in enumerate(texts)])
    assert table.rows("id, name", "2") == [(text, 10 + at) for at, text in enumerate(texts)]


def test_null_is_not_the_default(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "v": OPTIONAL_INT32_SCHEMA.replace(default=999)})
    with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
        sink.put([table.record(Struct(own, {"id": 1, "v": None}))])
    assert table.rows("id, v") == [(1, None)]


def test_an_update_of_keys_only_changes_nothing(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA})
    table.database.execute(f"create table {table.topic} (id integer primary key, name varchar(5))")
    table.database.execute(f"insert into {table.topic} values (1, 'a')")
    with table.sink(insert_mode="update", **_(KEYED)) as sink:
        sink.put([table.record(Struct(own, {"id": 1}))])
    assert table.rows() == [(1, "a")]


@only_postgresql
def test_upserts_leave_nothing_in_the_session(table: Table) -> None:
    """As a pool in the mode of transactions wants it: the next transaction may be another connector's."""
    with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
        sink.put([table.row(1)])
        connection = cast(SqlSinkTask, sink.task)._connection
        assert connection is not None
        left = connection.exec_driver_sql("select count(*) from pg_class where relpersistence = 't'").scalar()
        connection.rollback()
        assert left == 0


@only_mariadb
def test_an_upsert_changes_no_row_of_another_key(table: Table) -> None:
    for kind in ("integer primary key", "integer", "integer unique"):
        table.database.execute(f"drop table if exists {table.topic}")
        table.database.execute(f"create table {table.topic} (id {kind}, mail varchar(9) unique, n integer)")
        with table.sink(insert_mode="upsert", **_({**KEYED, **TOLERANT})) as sink:
            sink.put([table.record({"id": id, "mail": mail, "n": 1}) for id, mail in ((1, "a"), (3, "c"))])
            # A row gives its place in the index to one behind it.
            for new in ([(2, "a"), (1, "a"), (4, "d"), (3, "a")], [(3, "e"), (5, "c")]):
                sink.put([table.record({"id": id, "mail": mail, "n": 7}) for id, mail in new])
            assert [(record.value["id"], record.value["mail"]) for record, _ in sink.reported] == [(2, "a"), (3, "a")]
        assert table.rows("id, mail, n") == [(1, "a", 7), (3, "e", 7), (4, "d", 7), (5, "c", 7)], kind


@only_mariadb
def test_a_key_of_32_bits_is_met(table: Table) -> None:
    table.database.execute(f"create table {table.topic} (id float primary key, n integer)")
    table.database.execute(f"insert into {table.topic} values (0.1, 1)")
    with table.sink(insert_mode="update", **_(KEYED)) as sink:
        sink.put([table.record({"id": 0.1, "n": 2})])
    assert table.rows("n, 0") == [(2, 0)]


@pytest.mark.parametrize("database", EVERY[:1], indirect=True)
def test_json_stays_as_it_is(table: Table) -> None:
    table.database.execute(f"create table {table.topic} (id integer primary key, v json)")
    texts = [
        '{"a":12345678901234567890123}',
        '{"b":1.10,"a":0.1000000000000000055}',
        '{"a":1,"a":2}',
        '"x"',
        "9007199254740993",
    ]
    refused = ["123456789012345678901234567890", "NaN", "x"]
    with table.sink(**_(TOLERANT)) as sink:
        sink.put([table.record({"id": at, "v": value}) for at, value in enumerate([None, {"n": None}, *texts, *refused])])
        assert len(sink.reported) == len(refused)
    kept = [None, '{"n":null}', *texts]
    assert table.rows("id, cast(v as text)") == list(enumerate(kept))


def test_a_field_that_is_a_computed_column_is_its_record_s_fault(table: Table) -> None:
    number = "integer generated always as identity" if table.database.backend == "postgresql" else "integer"
    table.database.execute(
        f"create table {table.topic} (id integer primary key, twice integer generated always as (id * 2) stored, n {number})"
    )
    with table.sink(insert_mode="upsert", **_({**KEYED, **TOLERANT})) as sink:
        sink.put([table.record(each) for each in ({"id": 1}, {"id": 2, "twice": 5}, {"id": 3}, {"id": 4, "n": 9}, {"id": 5})])
        refused = [record.value["id"] for record, _ in sink.reported]
    assert refused == ([2, 4] if table.database.backend == "postgresql" else [2])
    assert [row for row in table.rows("id, twice") if row[0] != 4] == [(1, 2), (3, 6), (5, 10)]


OF_SQLITE: list[tuple[str, str, Any]] = [
    ("text", "x'ff41'", REFUSED),
    ("text", "5", "5"),
    ("blob", "5", REFUSED),
    ("blob", "x'00'", b"\0"),
    ("boolean", "2", REFUSED),
    ("boolean", "'maybe'", REFUSED),
    ("boolean", "'false'", False),
    ("boolean", "1", True),
    ("date", "'2024-01-01 10:20'", REFUSED),
    ("date", "1704103200000", REFUSED),
    ("date", "'2024-01-01T00:00:00'", datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)),
    ("date", "1704067200000", datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)),
]


@pytest.mark.parametrize("database", EVERY[:1], indirect=True)
@pytest.mark.parametrize(("kind", "literal", "expected"), OF_SQLITE, ids=[f"{kind} {text}" for kind, text, _ in OF_SQLITE])
def test_a_value_of_sqlite(database: Database, topic: str, kind: str, literal: str, expected: Any) -> None:
    database.execute(
        f"create table {topic} (id integer primary key, v {kind})",
        f"insert into {topic} values (1, {literal})".replace(":", "\\:"),
    )
    with source(database, topic, mode="incrementing", incrementing_column_name="id") as runner:
        if expected is REFUSED:
            with pytest.raises(ConnectError, match="the column v: "):
                polled(runner)
        else:
            assert [record.value["v"] for record in polled(runner)] == [expected]


@pytest.mark.parametrize("database", EVERY[:1], indirect=True)
def test_an_integer_of_a_query_of_sqlite_is_not_rounded(database: Database, topic: str) -> None:
    database.execute(
        f"create table {topic} (id integer primary key, v)", f"insert into {topic} values (1, 1.5), (2, 9007199254740993)"
    )
    more = {"mode": "incrementing", "incrementing_column_name": "id", "query": f"select * from {topic}", "table_whitelist": ""}
    with (
        source(database, topic, **more) as runner,
        pytest.raises(ConnectError, match="9007199254740993 has no place in a floating"),
    ):
        polled(runner)


@only_mariadb
def test_a_server_makes_nothing_of_zero_null_and_empty_texts(table: Table, request: pytest.FixtureRequest) -> None:
    table.database.execute(f"create table {table.topic} (id integer auto_increment primary key, name varchar(5))")
    request.addfinalizer(lambda: table.database.execute("set global sql_mode = default"))
    table.database.execute("set global sql_mode = 'EMPTY_STRING_IS_NULL,ONLY_FULL_GROUP_BY'")
    for name in ("a", ""):
        with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
            sink.put([table.record({"id": 0, "name": name})])
        assert table.rows("id, coalesce(name, 'null')") == [(0, name)]
    other = Table(table.database, f"{table.topic}_n")
    table.database.execute(f"create table {other.topic} (id integer primary key, name integer auto_increment unique)")
    with other.sink(**_(TOLERANT)) as sink:
        sink.put([other.record({"id": 1, "name": None}), other.record({"id": 2, "name": 0}), other.record({"id": 3})])
        assert [str(error) for _, error in sink.reported] == ["Its name is null, of which the database would make a value"]
    assert other.rows() == [(2, 0), (3, 1)]


@pytest.mark.parametrize("database", EVERY[:1], indirect=True)
def test_sqlite_numbers_no_row_whose_number_is_null(table: Table) -> None:
    table.database.execute(f"create table {table.topic} (id integer primary key, name text)")
    with table.sink(**_(TOLERANT)) as sink:
        sink.put([table.record({"id": None, "name": "a"}), table.record({"id": 7, "name": None}), table.record({"name": "b"})])
        assert [record.original_offset for record, _ in sink.reported] == [0]
    assert table.rows() == [(7, None), (8, "b")]


@only_mariadb
@pytest.mark.parametrize("engine", ["MyISAM", "Aria", "MEMORY"])
def test_rows_beside_a_bad_one_come_once_without_transactions(
    table: Table, engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    table.database.execute(f"create table {table.topic} (id integer, name varchar(5)) engine={engine}")
    with table.sink(**_(TOLERANT), offsets_table=f"offsets_{table.topic}") as sink:
        sink.put([table.record({"id": id, "name": "a"}) for id in (0, 1, 2, 2**40, 4)])
        assert [record.original_offset for record, _ in sink.reported] == [3]
    assert [row[0] for row in table.rows()] == [0, 1, 2, 4]
    assert "has an engine without transactions: its rows are written at least once" in caplog.text


@only_postgresql
def test_a_deferred_constraint_refuses_a_row_and_not_the_task(table: Table) -> None:
    unique, reference = "unique deferrable initially deferred", "references {0} (id) deferrable initially deferred"
    table.database.execute(
        f"create table {table.topic} (id integer primary key, n integer {unique}, p integer {reference.format(table.topic)})"
    )
    with table.sink(**_(TOLERANT)) as sink:
        # Rows of one put may wait for each other.
        sink.put([table.record({"id": 1, "n": 1, "p": 2}), table.record({"id": 2, "n": 2, "p": 1})])
        assert not sink.reported
        rows = [(3, 3, None), (4, 1, None), (5, 5, 99), (6, 6, 1)]
        sink.put([table.record({"id": id, "n": n, "p": p}) for id, n, p in rows])
        assert {record.value["id"] for record, _ in sink.reported} == {4, 5}
        sink.put([table.record({"id": 7, "n": 7, "p": 8}), table.record({"id": 8, "n": 8, "p": 7})])
    assert [row[0] for row in table.rows("id, n")] == [1, 2, 3, 6, 7, 8]


@only_mariadb
def test_a_text_of_a_list_is_that_text(table: Table) -> None:
    table.database.execute(f"create table {table.topic} (id integer primary key, e enum('1','2','0','A'), s set('a','b','7'))")
    values = [{"e": text} for text in ("1", "0", "A", "3", " 3", "3e0", "a")] + [
        {"s": text} for text in ("a,b", "7", "", "3", "A", "a,1")
    ]
    with table.sink(**_(TOLERANT)) as sink:
        sink.put([table.record({"id": at, **value}) for at, value in enumerate(values)])
        assert [record.value["id"] for record, _ in sink.reported] == [3, 4, 5, 6, 10, 11, 12]
    assert table.rows("id, coalesce(e, s)") == [(0, "1"), (1, "0"), (2, "A"), (7, "a,b"), (8, "7"), (9, "")]


@pytest.mark.parametrize("database", EVERY[:1], indirect=True)
def test_sqlite_rounds_no_text_of_digits(table: Table) -> None:
    table.database.execute(f"create table {table.topic} (id integer primary key, n bigint)")
    texts = ["9223372036854775807", "9223372036854775809", "0.1234567890123456789", "1.5", "007", "x"]
    with table.sink(**_(TOLERANT)) as sink:
        sink.put([table.record({"id": at, "n": text}) for at, text in enumerate(texts)])
        assert [record.value["id"] for record, _ in sink.reported] == [1, 2]
    assert table.rows("id, n") == [(0, 2**63 - 1), (3, 1.5), (4, 7), (5, "x")]
