"""The SQL sink on SQLite, PostgreSQL and MariaDB: which rows there are after which records."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import threading
from typing import Any, cast

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
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    ConnectError,
    RetriableError,
    Schema,
    SchemaType,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
    values,
)
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.offsets import LostError
from kconnect.connectors.sql.task import SqlSinkTask
from kconnect.testing import SinkRunner, check_plugin
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.rig.systems.postgres import Postgres

UTC = datetime.timezone.utc
ROW = schema.struct({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA})
TOLERANT = {"errors.tolerance": "all"}
KEYED = {"pk.mode": "record_value", "pk.fields": "id"}


only_postgresql = pytest.mark.parametrize("database", EVERY[1:2], indirect=True)
servers = pytest.mark.parametrize("database", EVERY[1:], indirect=True)


class Table:
    """A connector and the table of its topic."""

    def __init__(self, database: Database, topic: str) -> None:
        self.database, self.topic = database, topic
        self._next = 0

    def sink(self, **settings: str) -> SinkRunner:
        more = {name.replace("_", "."): value for name, value in settings.items()}
        config = {"name": f"c-{self.topic}", "topics": self.topic, **self.database.config, "auto.create": "true", **more}
        return SinkRunner(SqlSinkConnector, config)

    def record(self, value: Any, key: Any = None, own: Schema | None = None, key_schema: Schema | None = None) -> SinkRecord:
        offset, self._next = self._next, self._next + 1
        own = value.schema if isinstance(value, Struct) else own
        return SinkRecord(self.topic, 0, key_schema, key, own, value, offset, timestamp=offset)

    def row(self, id: int, name: str | None = "n", own: Schema = ROW, **more: Any) -> SinkRecord:
        return self.record(Struct(own, {"id": id, "name": name, **more}))

    def rows(self, columns: str = "id, name", order: str = "1, 2") -> list[tuple[Any, ...]]:
        return self.database.rows(f"select {columns} from {self.topic} order by {order}")


@pytest.fixture
def table(database: Database, topic: str) -> Table:
    return Table(database, topic)


@pytest.mark.parametrize("count", [1, 9, 500])
def test_inserts_in_the_order_of_records(table: Table, count: int) -> None:
    with table.sink(batch_size="200") as sink:
        sink.put([table.row(number, f"é{number}") for number in range(count)])
        sink.flush()
        assert sink.committed == {TopicPartition(table.topic, 0): count}
    assert table.rows(order="id") == [(number, f"é{number}") for number in range(count)]


def test_upserts_by_fields_of_the_value(table: Table) -> None:
    with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
        sink.put([table.row(number % 5, f"a{number}") for number in range(20)])
        sink.put([table.row(3, "new"), table.row(9, None)])
    assert table.rows() == [(0, "a15"), (1, "a16"), (2, "a17"), (3, "new"), (4, "a19"), (9, None)]


def _(config: dict[str, str]) -> dict[str, str]:
    return {name.replace(".", "_"): value for name, value in config.items()}


def test_upserts_where_the_key_is_all_there_is(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA})
    with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
        for _again in range(2):
            sink.put([table.record(Struct(own, {"id": number})) for number in range(3)])
    assert table.rows("id", "1") == [(0,), (1,), (2,)]


@only_postgresql
@pytest.mark.parametrize(
    ("kind", "keys", "count"),
    [("FLOAT8", [1.0, math.nan, -math.nan, 2.0], 3), ("CHAR(5)", ["a", "a ", "b"], 2)],
    ids=["not a number", "blanks"],
)
def test_keys_that_only_the_database_takes_for_one(
    database: Database, topic: str, kind: str, keys: list[Any], count: int
) -> None:
    """Whoever may write to the topic sends two such keys at once, which PostgreSQL refuses in one statement."""
    with database.engine.begin() as connection:
        connection.exec_driver_sql(f'CREATE TABLE "{topic}" (id {kind} PRIMARY KEY, name TEXT)')
    own = schema.struct({"id": FLOAT64_SCHEMA if kind == "FLOAT8" else STRING_SCHEMA, "name": OPTIONAL_STRING_SCHEMA})
    table = Table(database, topic)
    with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
        sink.put([table.record(Struct(own, {"id": key, "name": f"n{place}"})) for place, key in enumerate(keys)])
        assert not sink.reported
    names = [name for (name,) in table.rows("name", "name")]
    assert len(names) == count
    assert "n2" in names


@only_postgresql
def test_records_of_ever_other_fields_leave_no_table_each(database: Database, topic: str) -> None:
    """Whoever may write to the topic sends each set of a table's columns: each had a temporary table until the task's end."""
    columns = [f"c{number}" for number in range(8)]
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            f'CREATE TABLE "{topic}" (id INT PRIMARY KEY, {", ".join(f"{each} TEXT" for each in columns)})'
        )
    table = Table(database, topic)
    with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
        sets: list[dict[str, Any]] = [
            {"id": number, **{column: "x" for at, column in enumerate(columns) if number >> at & 1}} for number in range(250)
        ]
        sink.put([SinkRecord(topic, 0, None, None, None, value, value["id"]) for value in sets])
        with database.engine.connect() as connection:
            asked = "SELECT count(*) FROM pg_class WHERE relname LIKE 'kconnect_rows%%'"
            assert connection.exec_driver_sql(asked).scalar_one() <= 100
    assert len(table.rows("id", "id")) == 250


def test_updates_change_rows_that_are_there(table: Table) -> None:
    with table.sink(insert_mode="insert", **_(KEYED)) as sink:
        sink.put([table.row(1, "a"), table.row(2, "b")])
    with table.sink(insert_mode="update", **_(KEYED)) as sink:
        sink.put([table.row(2, "x"), table.row(3, "y"), table.row(2, "z")])
    assert table.rows() == [(1, "a"), (2, "z")]


def test_keys_of_records_and_deletions(table: Table) -> None:
    key = schema.struct({"id": INT32_SCHEMA, "part": STRING_SCHEMA})
    value = schema.struct({"name": STRING_SCHEMA})

    def record(id: int, part: str, name: str | None) -> SinkRecord:
        made = None if name is None else Struct(value, {"name": name})
        return table.record(made, Struct(key, {"id": id, "part": part}), key_schema=key)

    with table.sink(insert_mode="upsert", pk_mode="record_key", delete_enabled="true") as sink:
        sink.put([record(1, "a", "x"), record(1, "b", "y"), record(2, "a", "z")])
        sink.put(
            [record(1, "a", None), record(2, "a", "zz"), record(2, "a", None), record(2, "a", "zzz"), record(7, "q", None)]
        )
    assert table.rows("id, part, name") == [(1, "b", "y"), (2, "a", "zzz")]


def test_a_key_that_is_one_value_has_the_name_that_the_config_gives_it(table: Table) -> None:
    config = {"insert_mode": "upsert", "pk_mode": "record_key", "pk_fields": "k", "delete_enabled": "true"}
    with table.sink(**config) as sink:
        for key, name in (("a", "x"), ("b", "y"), ("a", None)):
            value = None if name is None else Struct(ROW, {"id": 1, "name": name})
            sink.put([table.record(value, key, key_schema=STRING_SCHEMA)])
    assert table.rows("k, id, name") == [("b", 1, "y")]


def test_keys_by_where_the_record_was(table: Table) -> None:
    with table.sink(insert_mode="upsert", pk_mode="kafka", pk_fields="t,p,o") as sink:
        records = [table.row(1), table.row(2)]
        sink.put(records)
        sink.put(records)
    assert table.rows("t, p, o, id", "o") == [(table.topic, 0, 0, 1), (table.topic, 0, 1, 2)]


@pytest.mark.parametrize("evolves", ["true", "false"])
def test_a_column_that_goes_between_two_puts_ends_no_task(table: Table, evolves: str) -> None:
    with table.sink(errors_tolerance="all", auto_evolve=evolves, max_retries="0") as sink:
        sink.put([table.row(1)])
        table.database.execute(f"alter table {table.topic} rename column name to remark")
        sink.put([table.row(2), table.row(3)])
        assert [str(error) for _, error in sink.reported if "name" not in str(error)] == []
        assert len(sink.reported) == (0 if evolves == "true" else 2)
    if evolves == "true":
        assert table.database.rows(f"select id, name, remark from {table.topic} order by id") == [
            (1, None, "n"),
            (2, "n", None),
            (3, "n", None),
        ]


def test_only_some_fields(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "a": STRING_SCHEMA, "b": STRING_SCHEMA})
    with table.sink(fields_whitelist="b", **_(KEYED)) as sink:
        sink.put([table.record(Struct(own, {"id": 1, "a": "x", "b": "y"}))])
    assert table.rows("*") == [(1, "y")]


TYPES = schema.struct(
    {
        "i8": INT8_SCHEMA,
        "i16": INT16_SCHEMA,
        "i32": INT32_SCHEMA,
        "i64": INT64_SCHEMA,
        "f32": FLOAT32_SCHEMA,
        "f64": FLOAT64_SCHEMA,
        "yes": BOOLEAN_SCHEMA,
        "text": STRING_SCHEMA,
        "data": BYTES_SCHEMA,
        "price": schema.decimal_schema(3),
        "day": DATE_SCHEMA,
        "tod": TIME_SCHEMA,
        "moment": TIMESTAMP_SCHEMA,
        "none": OPTIONAL_INT32_SCHEMA,
    }
)
VALUES = {
    "i8": -(2**7),
    "i16": 2**15 - 1,
    "i32": -(2**31),
    "i64": 2**63 - 1,
    "f32": 0.5,
    "f64": 1.1,
    "yes": True,
    "text": "a'b\\c\"d é 😀\n%s :x",
    "data": b"\x00\xff'",
    "price": decimal.Decimal("12345678901234567.125"),
    "day": datetime.datetime(2026, 1, 31, tzinfo=UTC),
    "tod": datetime.datetime(1970, 1, 1, 23, 59, 58, 123000, UTC),
    "moment": datetime.datetime(2026, 7, 31, 12, 0, 0, 789000, UTC),
}


@pytest.mark.parametrize("count", [1, 20])
def test_values_of_all_types(table: Table, count: int) -> None:
    with table.sink() as sink:
        sink.put([table.record(Struct(TYPES, VALUES)) for _n in range(count)])
    (row,) = set(table.rows("*", "1"))
    found = dict(zip((field.name for field in TYPES.fields), row))
    if table.database.backend == "sqlite":
        # It has neither types for these nor decimals.
        assert found.pop("price") == "12345678901234567.125"
        assert [found.pop(name) for name in ("day", "tod", "moment")] == [
            "2026-01-31",
            "23:59:58.123000",
            "2026-07-31 12:00:00.789000",
        ]
    else:
        tod = found.pop("tod")
        if isinstance(tod, datetime.timedelta):
            tod = (datetime.datetime.min + tod).time()
        assert tod == datetime.time(23, 59, 58, 123000)
        assert found.pop("moment") == datetime.datetime(2026, 7, 31, 12, 0, 0, 789000)
        assert found.pop("day") == datetime.date(2026, 1, 31)
        assert found.pop("price") == VALUES["price"]
    assert bytes(found.pop("data")) == VALUES["data"]
    assert bool(found.pop("yes")) is True
    assert found.pop("none") is None
    assert found == {name: VALUES[name] for name in found}


def test_timestamps_are_of_the_zone_that_the_config_names(table: Table) -> None:
    own = schema.struct({"moment": TIMESTAMP_SCHEMA})
    with table.sink(db_timezone="Europe/Berlin") as sink:
        sink.put([table.record(Struct(own, {"moment": VALUES["moment"]}))])
    ((found,),) = table.rows("moment", "1")
    assert str(found)[:19] == "2026-07-31 14:00:00"


@only_postgresql
def test_special_numbers(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "f": FLOAT64_SCHEMA})
    with table.sink() as sink:
        sink.put([table.record(Struct(own, {"id": at, "f": f})) for at, f in enumerate((math.inf, -math.inf, math.nan))])
    assert [str(f) for _id, f in table.rows("id, f", "id")] == ["inf", "-inf", "nan"]


def test_columns_are_added_for_new_fields(table: Table) -> None:
    wide = schema.struct(
        {
            "id": INT32_SCHEMA,
            "name": OPTIONAL_STRING_SCHEMA,
            "more": OPTIONAL_STRING_SCHEMA,
            "level": Schema(SchemaType.INT32, default=7),
        }
    )
    with table.sink(auto_evolve="true") as sink:
        sink.put([table.row(1)])
        sink.put([table.row(2, own=wide, more="m", level=5), table.row(3)])
        sink.put([table.row(4, own=wide)])
    assert table.rows("id, name, more, level") == [(1, "n", None, 7), (2, "n", "m", 5), (3, "n", None, 7), (4, "n", None, 7)]


def test_a_column_that_old_rows_have_no_value_for_is_not_added(table: Table) -> None:
    wide = schema.struct({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA, "more": STRING_SCHEMA})
    with table.sink(auto_evolve="true") as sink:
        sink.put([table.row(1)])
        with pytest.raises(ConnectError, match=r"The column more can't be added .* neither optional nor"):
            sink.put([table.row(2, own=wide, more="m")])


@pytest.mark.parametrize(
    "names", [("More", "MORE"), ("x" * 70,), ("é" * 40,), ("NAME",), tuple(f"c{number}" for number in range(2500))], ids=len
)
def test_names_that_the_database_has_no_columns_for_are_one_records_fault(table: Table, names: tuple[str, ...]) -> None:
    wide = schema.struct({"id": INT32_SCHEMA, **dict.fromkeys(names, OPTIONAL_STRING_SCHEMA)})
    with table.sink(auto_evolve="true", quote_sql_identifiers="always", **_(TOLERANT)) as sink:
        sink.put([table.row(1)])
        sink.put([table.record(Struct(wide, {"id": 2, **dict.fromkeys(names, "x")})), table.row(3)])
        sink.put([table.row(4)])
        bad = [each.value.get("id") for each, _ in sink.reported]
    # Some databases have columns for some of them.
    assert [number for (number,) in table.rows("id", "1")] == [number for number in (1, 2, 3, 4) if number not in bad]
    assert bad in ([], [2])


@servers
def test_a_task_that_waits_for_the_database_can_be_stopped(table: Table) -> None:
    ended = threading.Event()
    with table.sink(auto_create="true", max_retries="5") as sink:
        sink.put([table.row(1)])
        # Somebody else holds the whole table.
        with table.database.engine.connect() as other:
            lock = "LOCK TABLE {0} IN ACCESS EXCLUSIVE MODE" if other.dialect.name == "postgresql" else "LOCK TABLES {0} WRITE"
            other.exec_driver_sql(lock.format(table.topic))

            def put() -> None:
                with pytest.raises(RetriableError):
                    sink.put([table.row(2)])
                ended.set()

            threading.Thread(target=put, daemon=True).start()
            sink.task.interrupt()
            assert ended.wait(60)
            other.invalidate()


def test_without_leave_nothing_is_made(table: Table) -> None:
    with table.sink(auto_create="true") as sink:
        sink.put([table.row(1)])
    wide = schema.struct({"id": INT32_SCHEMA, "name": OPTIONAL_STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})
    with table.sink(auto_create="false") as sink, pytest.raises(ConnectError, match=r"no column more.* auto\.evolve=true"):
        sink.put([table.row(2, own=wide, more="m")])
    assert table.rows() == [(1, "n")]


@pytest.mark.parametrize("name", ["Mixed Case", "select", "ümläut", "with%percent", "semi;colon", "quo'te", 'dou"ble', "a-b"])
def test_any_name_will_do(database: Database, topic: str, name: str) -> None:
    table = Table(database, topic)
    own = schema.struct({name: INT32_SCHEMA, "Id": INT32_SCHEMA})
    settings = {"table_name_format": f"{name} {topic}", "insert_mode": "upsert", "pk_mode": "record_value", "pk_fields": "Id"}
    with table.sink(**settings) as sink:
        for value in (1, 2):
            sink.put([table.record(Struct(own, {name: value, "Id": 5}))])
    quoted = database.quoted(f"{name} {topic}")
    assert database.rows(f"select {database.quoted(name)}, {database.quoted('Id')} from {quoted}") == [(2, 5)]


def test_names_without_quotes_are_folded(table: Table) -> None:
    own = schema.struct({"Id": INT32_SCHEMA, "UserName": STRING_SCHEMA})
    with table.sink(quote_sql_identifiers="never") as sink:
        for number in range(2):
            sink.put([table.record(Struct(own, {"Id": number, "UserName": "u"}))])
    assert table.rows("id, username") == [(0, "u"), (1, "u")]


def test_maps_without_a_schema_go_into_a_table_that_there_is(table: Table) -> None:
    table.database.execute(
        f"create table {table.topic} (id int primary key, name varchar(20), price decimal(10, 2), at timestamp null)"
    )
    with table.sink(insert_mode="upsert", auto_create="false", **_(KEYED)) as sink:
        some = [{"id": number, "name": "x", "price": 1.25, "at": "2026-01-31T12:00:00Z"} for number in range(12)]
        sink.put([table.record(each) for each in some])
        sink.put([table.record({"id": 3, "name": None}), table.record({"name": "only", "id": 99})])
    rows = table.rows("id, name, price, at", "id")
    assert len(rows) == 13
    assert str(rows[0][3])[:19] == "2026-01-31 12:00:00"
    assert float(rows[0][2]) == 1.25
    assert rows[3][:2] == (3, None)
    assert rows[-1][:2] == (99, "only")


def test_objects_go_into_columns_of_json(table: Table) -> None:
    kind = "jsonb" if table.database.backend == "postgresql" else "json"
    table.database.execute(f"create table {table.topic} (id int, doc {kind})")
    inner = schema.struct({"day": DATE_SCHEMA, "n": INT32_SCHEMA})
    own = schema.struct({"id": INT32_SCHEMA, "doc": inner})
    value = Struct(own, {"id": 1, "doc": Struct(inner, {"day": VALUES["day"], "n": 3})})
    with table.sink() as sink:
        sink.put([table.record(value), table.record({"id": 2, "doc": {"a": [1, None]}})])
    found = [doc if isinstance(doc, dict) else json.loads(doc) for _id, doc in table.rows("id, doc", "id")]
    assert found == [{"day": "2026-01-31", "n": 3}, {"a": [1, None]}]


def test_objects_have_no_place_in_other_columns(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "inner": schema.struct({"n": INT32_SCHEMA})})
    value = Struct(own, {"id": 1, "inner": Struct(own.fields[1].schema, {"n": 1})})
    with table.sink() as sink, pytest.raises(ConnectError, match=r"The column inner: .*Flatten"):
        sink.put([table.record(value)])


def test_a_date_without_a_year_that_databases_have_is_a_bad_row(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "moment": TIMESTAMP_SCHEMA, "day": DATE_SCHEMA})
    far, near = values.date_of(10**15), VALUES["moment"]
    cases = [(near, far), (far, near), (near, near)]
    with table.sink(**_(TOLERANT)) as sink:
        sink.put([table.record(Struct(own, {"id": at, "moment": m, "day": d})) for at, (m, d) in enumerate(cases)])
        assert ["years 1 to 9999" in str(error) for _record, error in sink.reported] == [True, True]
    assert table.rows("id", "1") == [(2,)]


@pytest.mark.parametrize("count", [3, 300])
def test_one_bad_row_among_many_is_found(table: Table, count: int) -> None:
    table.database.execute(f"create table {table.topic} (id int primary key, name varchar(5) not null check (name <> 'bad'))")
    bad = {1: "bad", count - 1: None}
    with table.sink(**_(TOLERANT)) as sink:
        sink.put([table.row(number, bad.get(number, "n")) for number in range(count)])
        sink.flush()
        assert sorted(record.original_offset for record, _error in sink.reported) == sorted(bad)
        assert all(f"The table {table.topic} refuses it: " in str(error) for _record, error in sink.reported)
        assert sink.committed == {TopicPartition(table.topic, 0): count}
    assert table.rows(order="id") == [(number, "n") for number in range(count) if number not in bad]


def test_a_text_with_half_a_pair_of_surrogates_is_a_bad_row(table: Table) -> None:
    with table.sink(**_(TOLERANT)) as sink:
        sink.put([table.row(1), table.row(2, "\ud800"), table.row(3)])
        assert [record.offset for record, _error in sink.reported] == [1]
    assert table.rows() == [(1, "n"), (3, "n")]


@servers
def test_a_text_that_is_too_long_is_refused_and_not_cut_off(table: Table) -> None:
    table.database.execute(f"create table {table.topic} (id int primary key, name varchar(5))")
    with table.sink(insert_mode="upsert", **_(KEYED), **_(TOLERANT)) as sink:
        sink.put([table.row(1, "12345"), table.row(2, "123456")])
        ((record, _error),) = sink.reported
        assert record.original_offset == 1
    assert table.rows() == [(1, "12345")]


def test_without_a_queue_a_bad_row_fails_the_task_and_nothing_is_written(table: Table) -> None:
    with table.sink(**_(KEYED)) as sink:
        sink.put([table.row(1)])
        with pytest.raises(ConnectError, match=f"The record at offset 3 of {table.topic}-0 can't be written: The table"):
            sink.put([table.row(2), table.row(3), table.row(1), table.row(4)])
    assert table.rows() == [(1, "n")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "no struct and no object"),
        (None, r"delete\.enabled=true with pk\.mode=record_key is not set"),
    ],
)
def test_records_that_are_no_rows(table: Table, value: Any, text: str) -> None:
    with table.sink(**_(TOLERANT)) as sink:
        sink.put([table.row(1), table.record(value, own=STRING_SCHEMA if value else None), table.row(2)])
        ((record, error),) = sink.reported
        assert record.original_offset == 1
    assert table.rows() == [(1, "n"), (2, "n")]
    with pytest.raises(ConnectError, match=text):
        raise error


def test_a_null_in_the_key_is_a_bad_row(table: Table) -> None:
    own = schema.struct({"id": OPTIONAL_INT32_SCHEMA, "name": STRING_SCHEMA})
    with table.sink(insert_mode="upsert", **_(KEYED), **_(TOLERANT)) as sink:
        sink.put([table.row(id, "n", own) for id in (1, None, 2)])  # type: ignore[arg-type]
        ((_record, error),) = sink.reported
        assert "Its id, which is of the primary key, is null" in str(error)
    assert table.rows() == [(1, "n"), (2, "n")]


@only_postgresql
def test_arrays_of_postgresql(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "tags": schema.array(STRING_SCHEMA), "days": schema.array(DATE_SCHEMA)})
    with table.sink(insert_mode="upsert", **_(KEYED)) as sink:
        values = [{"id": n, "tags": ["a", 'b"'][:n], "days": [VALUES["day"]]} for n in range(3)]
        sink.put([table.record(Struct(own, each)) for each in values])
    day = datetime.date(2026, 1, 31)
    assert table.rows("id, tags, days") == [(0, [], [day]), (1, ["a"], [day]), (2, ["a", 'b"'], [day])]


@only_postgresql
def test_an_array_in_the_key_is_one_records_fault(table: Table) -> None:
    """Who writes first makes a table whose key is an array: it ended the task, for other keys, too."""
    own = schema.struct({"id": schema.array(INT32_SCHEMA), "name": OPTIONAL_STRING_SCHEMA})
    with table.sink(insert_mode="upsert", **_(KEYED), **_(TOLERANT)) as sink:
        sink.put([table.record(Struct(own, {"id": [1], "name": "a"}))])
        sink.put([table.row(1), table.row(1, "new")])
        assert [bad.original_offset for bad, _error in sink.reported] == [0]
    assert table.rows() == [(1, "new")]


@only_postgresql
def test_a_time_that_python_has_not_is_one_records_fault_in_an_array_too(table: Table) -> None:
    own = schema.struct({"id": INT32_SCHEMA, "times": schema.array(TIMESTAMP_SCHEMA)})
    far = values.FarDate(2**63 - 1)
    with table.sink(insert_mode="upsert", **_(KEYED), **_(TOLERANT)) as sink:
        sink.put(
            [table.record(Struct(own, {"id": at, "times": times})) for at, times in enumerate(([VALUES["moment"]], [far]))]
        )
        assert [bad.original_offset for bad, _error in sink.reported] == [1]
    assert table.rows("id", "1") == [(0,)]


@pytest.mark.parametrize("mode", ["upsert", "update"])
def test_a_key_whose_fields_are_no_key_of_the_table_finds_no_rows(table: Table, mode: str) -> None:
    """Who may write to the topic has the key {name} in place of {id}: all rows with that name were deleted, or changed."""
    key, other = schema.struct({"id": INT32_SCHEMA}), schema.struct({"name": STRING_SCHEMA})
    value = schema.struct({"name": OPTIONAL_STRING_SCHEMA, "more": OPTIONAL_STRING_SCHEMA})

    def record(own: Schema, given: dict[str, Any], row: dict[str, Any] | None) -> SinkRecord:
        return table.record(None if row is None else Struct(value, row), Struct(own, given), key_schema=own)

    settings = {"pk_mode": "record_key", "delete_enabled": "true", "errors_tolerance": "all"}
    with table.sink(insert_mode="upsert", **settings) as sink:
        sink.put([record(key, {"id": number}, {"name": "DE", "more": "m"}) for number in range(3)])
    with table.sink(insert_mode=mode, **settings) as sink:
        sink.put([record(other, {"name": "DE"}, {"name": "DE", "more": "x"})])
        sink.put([record(other, {"name": "DE"}, None)])
        sink.put([record(key, {"id": 1}, None)])
        assert [bad.original_offset for bad, _error in sink.reported] == [3, 4]
        assert "pk.fields names them" in str(sink.reported[0][1])
    assert table.rows("id, more") == [(0, "m"), (2, "m")]


class TestExactlyOnce:
    """`offsets.table`: what crashes and rebalances leave, and what another task does."""

    def offsets(self, table: Table) -> list[tuple[Any, ...]]:
        where = f"where connector = 'c-{table.topic}'"
        return table.database.rows(f"select part, next_offset from kconnect_offsets {where} order by part")

    def test_a_crash_after_the_commit_repeats_nothing(self, table: Table) -> None:
        with table.sink(offsets_table="kconnect_offsets") as sink:
            sink.put([table.row(1), table.row(2)])
            again = [table.row(3), table.row(4)]
            sink.put(again)
            sink.restart(crash=True)
            # The framework begins where the group's offsets are, and is told where the table's are.
            sink.open(TopicPartition(table.topic, 0))
            assert sink.rewinds == {TopicPartition(table.topic, 0): 4}
            sink.put([*again, table.row(5)])
        assert table.rows() == [(number, "n") for number in range(1, 6)]
        assert self.offsets(table) == [(0, 5)]

    def test_a_task_that_lives_on_after_another_took_its_partition_writes_nothing(self, table: Table) -> None:
        with table.sink(offsets_table="kconnect_offsets") as old, table.sink(offsets_table="kconnect_offsets") as new:
            old.put([table.row(1)])
            new.open(TopicPartition(table.topic, 0))
            late = table.row(2)
            with pytest.raises(LostError, match="was taken over by another task"):
                old.put([late])
            new.put([late])
        assert table.rows() == [(1, "n"), (2, "n")]

    def test_offsets_are_altered_in_the_table_too(self, table: Table) -> None:
        with table.sink(offsets_table="kconnect_offsets") as sink:
            sink.put([table.row(1), table.row(2)])
            config = dict(sink.config)
        connector = SqlSinkConnector()
        place = TopicPartition(table.topic, 0)
        assert connector.alter_offsets(config, {place: 1})
        assert self.offsets(table) == [(0, 1)]
        assert connector.alter_offsets(config, {place: None})
        assert self.offsets(table) == [(0, -1)]
        with table.sink(offsets_table="kconnect_offsets") as sink:
            sink.open(place)
            assert sink.rewinds == {}

    def test_the_offsets_of_a_topic_that_was_made_anew_are_not_believed(self, table: Table) -> None:
        place = TopicPartition(table.topic, 0)
        with table.sink(offsets_table="kconnect_offsets") as sink:
            sink.topic_ids[table.topic] = "a"
            sink.put([table.row(1), table.row(2)])
            config = dict(sink.config)
        text = r"The table kconnect_offsets has the offset 2 of .*it has another id"
        with pytest.raises(ConnectError, match=text), table.sink(offsets_table="kconnect_offsets") as sink:
            sink.topic_ids[table.topic] = "b"
            sink.open(place)
        # What the error says that is to be done.
        assert SqlSinkConnector().alter_offsets(config, {place: 0})
        with table.sink(offsets_table="kconnect_offsets") as sink:
            sink.topic_ids[table.topic] = "b"
            sink.open(place)
            sink.restart(crash=True)
            sink.topic_ids[table.topic] = "b"
            sink.open(place)

    def test_one_that_is_made_anew_while_it_is_read_is_noticed(self, table: Table) -> None:
        with table.sink(offsets_table="kconnect_offsets") as sink:
            sink.topic_ids[table.topic] = "a"
            sink.put([table.row(1), table.row(2)])
            sink.topic_ids[table.topic] = "b"
            sink.task._ids._look_at = 0  # type: ignore[attr-defined]
            anew = table.row(3)
            anew.original_offset = 0
            with pytest.raises(ConnectError, match="deleted and made again while it was read"):
                sink.put([anew])
        assert table.rows() == [(1, "n"), (2, "n")]

    def test_a_table_of_an_older_version_gets_the_ids(self, table: Table) -> None:
        place = TopicPartition(table.topic, 0)
        with table.sink(offsets_table=f"old_{table.topic}") as sink:
            sink.put([table.row(1), table.row(2)])
        table.database.execute(f"alter table old_{table.topic} drop column topic_id")
        with table.sink(offsets_table=f"old_{table.topic}") as sink:
            sink.topic_ids[table.topic] = "a"
            sink.open(place)
            assert sink.rewinds == {place: 2}
        with pytest.raises(ConnectError, match="it has another id"), table.sink(offsets_table=f"old_{table.topic}") as sink:
            sink.topic_ids[table.topic] = "b"
            sink.open(place)

    def test_a_bad_row_is_reported_and_passed_over(self, table: Table) -> None:
        with table.sink(offsets_table="kconnect_offsets", **_(KEYED), **_(TOLERANT)) as sink:
            sink.put([table.row(1), table.row(1), table.row(2)])
            assert len(sink.reported) == 1
        assert table.rows() == [(1, "n"), (2, "n")]
        assert self.offsets(table) == [(0, 3)]


def test_the_plugin_keeps_to_the_rules(table: Table) -> None:
    config = {
        "topics": table.topic,
        "name": "c",
        **table.database.config,
        "auto.create": "true",
        "insert.mode": "upsert",
        **KEYED,
    }
    check_plugin(SqlSinkConnector, config, [table.row(1), table.row(2)])


@only_postgresql
def test_who_starts_while_the_server_is_away_tries_some_times(table: Table, postgres: Postgres) -> None:
    with table.sink(offsets_table="kconnect_offsets", connection_attempts="2", connection_backoff_ms="10") as sink:
        postgres.end()
        try:
            with pytest.raises(ConnectError, match=r"It was tried 2 times \(connection\.attempts\)"):
                sink.task.open([TopicPartition(table.topic, 0)])
        finally:
            postgres.begin()


@pytest.mark.parametrize("database", EVERY[1:], indirect=True)
def test_a_password_that_is_refused_is_not_sent_again(table: Table) -> None:
    database, user = table.database, f"u_{table.topic}"
    login = f"role {user} login password" if database.backend == "postgresql" else f"user {user} identified by"
    to = user if database.backend == "postgresql" else f"`{user}`"
    with table.sink() as sink:
        sink.put([table.row(1)])
    database.execute(f"create {login} 'canary-1'", f"grant all on {table.topic} to {to}")
    with table.sink(connection_user=user, connection_password="canary-1", max_retries="9") as sink:
        sink.put([table.row(2)])
        database.execute(f"alter {login} 'canary-2'")
        cast(SqlSinkTask, sink.task)._disconnect()
        with pytest.raises(ConnectError, match=f"says: .*{user}") as raised:
            sink.put([table.row(3)])
    assert not isinstance(raised.value, RetriableError) and "canary" not in str(raised.value)


@only_postgresql
def test_the_server_ends_and_comes_back(table: Table, postgres: Postgres) -> None:
    with table.sink(offsets_table="kconnect_offsets", retry_backoff_ms="50", max_retries="1") as sink:
        sink.put([table.row(1)])
        again = [table.row(2), table.row(3)]
        postgres.end()
        try:
            with pytest.raises(RetriableError, match=r"The postgresql at 127\.0\.0\.1:.* says: ") as raised:
                sink.put(again)
            assert postgres.password not in str(raised.value)
            assert sink.timeout_ms == 50
            with pytest.raises(ConnectError, match=r"It has been so for .*, and max\.retries is 1"):
                sink.put(again)
        finally:
            postgres.begin()
        sink.put(again)
    assert table.rows() == [(1, "n"), (2, "n"), (3, "n")]
