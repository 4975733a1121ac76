"""The SQL source against SQLite, PostgreSQL and MariaDB: what is new, each once, as which values, and what is refused."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from kconnect.api import (
    ConnectError,
    ExactlyOnceSupport,
    RetriableError,
    Schema,
    SchemaType,
    SourceRecord,
    schema,
)
from kconnect.connectors.sql.positions import Position, offsets
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.testing import SourceRunner, check_plugin, config_errors
from tests.connectors.sql import databases
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.rig.systems.postgres import Postgres
from tests.support import wait_until

UTC = datetime.timezone.utc
NOON = datetime.datetime(2026, 3, 29, 12, 0, 0, 250_000, UTC)


def config(database: Database, table: str, mode: str = "incrementing", **more: str) -> dict[str, str]:
    settings = {name.replace("__", "-").replace("_", "."): value for name, value in more.items()}
    what = {} if "query" in settings else {"table.whitelist": table}
    base = {"mode": mode, "topic.prefix": "db-", "poll.interval.ms": "0", "batch.max.rows": "4", **what}
    return {**database.config, **base, **settings}


def source(database: Database, table: str, mode: str = "incrementing", offsets: Any = (), **more: str) -> SourceRunner:
    return SourceRunner(SqlSourceConnector, config(database, table, mode, **more), offsets=offsets)


def qualified(database: Database, table: str) -> str:
    return {"postgresql": "public.", "mariadb": "trial.", "sqlite": ""}[database.backend] + table


def numbered(database: Database, table: str) -> None:
    kind = {"postgresql": "serial", "mariadb": "integer auto_increment", "sqlite": "integer"}[database.backend]
    database.execute(f"create table {table} (id {kind} primary key, note varchar(40))")


def timed(database: Database, table: str, kind: str = "timestamp") -> None:
    kinds = {"mariadb": "datetime(6)" if kind == "timestamp" else "timestamp(6)", "sqlite": "timestamp"}
    declared = kinds.get(database.backend, kind)
    database.execute(f"create table {table} (id integer not null, changed {declared} not null, note varchar(40))")


def add(database: Database, table: str, *rows: tuple[int, datetime.datetime, str]) -> None:
    for number, moment, note in rows:
        text = moment.replace(tzinfo=None).isoformat(" ", "microseconds")
        database.execute(f"insert into {table} values ({number}, '{text}', '{note}')".replace(":", "\\:"))


def notes(records: list[SourceRecord]) -> list[str]:
    return [record.value["note"] for record in records]


def polled(runner: SourceRunner) -> list[SourceRecord]:
    """What there is: until a round has brought nothing."""
    found: list[SourceRecord] = []
    while True:
        records = runner.poll()
        if not records and not (records := runner.poll()):
            return found
        found += records


def test_rows_come_by_their_numbers_and_on_from_there(database: Database, topic: str) -> None:
    numbered(database, topic)
    for place in range(10):
        database.execute(f"insert into {topic} (note) values ('n{place}')")
    with source(database, topic) as runner:
        found = polled(runner)
        assert notes(found) == [f"n{place}" for place in range(10)]
        assert {each.topic for each in found} == {f"db-{topic}"}
        assert found[3].source_partition == {"protocol": "1", "table": qualified(database, topic)}
        assert found[3].source_offset == {"incrementing": 4}
        database.execute(f"insert into {topic} (note) values ('later')")
        assert notes(polled(runner)) == ["later"]
        runner.restart()
        assert polled(runner) == []
    partition = {"protocol": "1", "table": qualified(database, topic)}
    with source(database, topic, offsets=[(partition, {"incrementing": 8})], incrementing_column_name="ID") as runner:
        assert notes(polled(runner)) == ["n8", "n9", "later"]


def test_rows_come_by_their_times_those_of_one_time_together(database: Database, topic: str) -> None:
    timed(database, topic)
    same = NOON + datetime.timedelta(seconds=1)
    add(database, topic, (1, NOON, "first"), *((number, same, f"same {number}") for number in range(2, 9)))
    add(database, topic, (9, same + datetime.timedelta(seconds=1), "last"))
    with source(database, topic, "timestamp", timestamp_column_name="changed") as runner:
        records = runner.poll()
        # A batch has four rows, but they can't be told apart: whoever stops between them begins with the first one again.
        assert sorted(notes(records)) == ["first", *(f"same {number}" for number in range(2, 9))]
        first, second = records[0].source_offset, records[-1].source_offset
        assert [record.source_offset for record in records] == [first] * 7 + [second]
        assert first is not None and Position.of(first).moment == int(NOON.timestamp() * 1000) * 1_000_000
        assert notes(polled(runner)) == ["last"]
        database.execute(
            f"update {topic} set changed = '2026-03-29 13:00:00' , note = 'changed' where id = 1".replace(":", "\\:")
        )
        assert notes(polled(runner)) == ["changed"]
        runner.restart()
        assert polled(runner) == []


def test_rows_come_by_time_and_number(database: Database, topic: str) -> None:
    timed(database, topic)
    add(database, topic, *((number, NOON, f"n{number}") for number in range(6, 0, -1)))
    both = {"timestamp_column_name": "changed", "incrementing_column_name": "id"}
    with source(database, topic, "timestamp+incrementing", **both) as runner:
        first = runner.poll()
        assert notes(first) == ["n1", "n2", "n3", "n4"]
        assert first[-1].source_offset == {
            "incrementing": 4,
            "timestamp": int(NOON.timestamp() * 1000),
            "timestamp_nanos": 250_000_000,
        }
        runner.restart()
        assert notes(polled(runner)) == ["n5", "n6"]
        add(database, topic, (7, NOON, "n7"), (2, NOON + datetime.timedelta(microseconds=1000), "again"))
        assert notes(polled(runner)) == ["n7", "again"]


def test_bulk_brings_all_rows_each_time(database: Database, topic: str) -> None:
    numbered(database, topic)
    for place in range(6):
        database.execute(f"insert into {topic} (note) values ('n{place}')")
    with source(database, topic, "bulk") as runner:
        found = runner.read(12)
    assert sorted(notes(found[:12])) == sorted([f"n{place}" for place in range(6)] * 2)
    assert found[0].source_offset is None
    connector = SqlSourceConnector()
    assert connector.exactly_once_support({"mode": "bulk"}) is ExactlyOnceSupport.UNSUPPORTED
    assert connector.exactly_once_support({"mode": "timestamp"}) is ExactlyOnceSupport.SUPPORTED


def test_a_row_waits_until_its_time_is_old_enough(database: Database, topic: str) -> None:
    timed(database, topic)
    now = datetime.datetime.now(UTC)
    add(database, topic, (1, now - datetime.timedelta(hours=2), "old"), (2, now, "young"))
    delay = {"timestamp_column_name": "changed", "timestamp_delay_interval_ms": "3600000"}
    with source(database, topic, "timestamp", **delay) as runner:
        assert notes(polled(runner)) == ["old"]
    early = {"timestamp_column_name": "changed", "timestamp_initial": str(int(now.timestamp() * 1000) - 60_000)}
    with source(database, topic, "timestamp", **early) as runner:
        # In SQLite, whose own times are whole seconds, once its second is over.
        assert notes(runner.read(1)) == ["young"]
    with source(database, topic, "timestamp", timestamp_column_name="changed", timestamp_initial="-1") as runner:
        assert polled(runner) == []
        add(database, topic, (3, datetime.datetime.now(UTC) + datetime.timedelta(milliseconds=1500), "new"))
        wait_until(lambda: notes(polled(runner)) == ["new"], 60)


@pytest.mark.process
def test_a_number_that_is_committed_late_is_not_missed(postgres: Postgres, topic: str) -> None:
    database = databases.postgresql(postgres)
    numbered(database, topic)
    database.execute(f"insert into {topic} (note) values ('first')")
    with source(database, topic, incrementing_delay_interval_ms="5000") as runner:
        assert runner.poll() in (None, [])
        wait_until(lambda: notes(polled(runner)) == ["first"], 60)
        with database.engine.connect() as slow:
            late = slow.begin()
            slow.exec_driver_sql(f"insert into {topic} (note) values ('late')")
            database.execute(f"insert into {topic} (note) values ('early')")
            assert polled(runner) == []
            late.commit()
        found: list[str] = []
        wait_until(lambda: len(found.extend(notes(polled(runner))) or found) >= 2, 60)
        assert found == ["late", "early"]
    # The control: without the delay it is missed.
    with source(database, topic) as runner:
        assert notes(polled(runner)) == ["first", "late", "early"]
        with database.engine.connect() as slow:
            late = slow.begin()
            slow.exec_driver_sql(f"insert into {topic} (note) values ('late')")
            database.execute(f"insert into {topic} (note) values ('early')")
            assert notes(polled(runner)) == ["early"]
            late.commit()
        assert polled(runner) == []
    database.close()


def test_a_query_may_have_a_condition_of_its_own(database: Database, topic: str) -> None:
    numbered(database, topic)
    for place in range(6):
        database.execute(f"insert into {topic} (note) values ('n{place}')")
    query = f"select id, note, '12:30' as at from {topic} where id <> 3 and note like 'n%' and note <> 'a:b';"
    with source(database, topic, query=query, incrementing_column_name="id", topic_prefix="rows") as runner:
        found = polled(runner)
    assert notes(found) == ["n0", "n1", "n3", "n4", "n5"]
    assert found[0].topic == "rows" and found[0].source_partition == {"query": "query"}
    assert found[0].value["at"] == "12:30"


def test_a_new_column_is_a_new_field_and_a_dropped_table_is_left_alone(database: Database, topic: str) -> None:
    numbered(database, topic)
    database.execute(f"insert into {topic} (note) values ('n0')")
    with source(database, topic) as runner:
        (before,) = polled(runner)
        database.execute(f"alter table {topic} add column more varchar(10)")
        database.execute(f"insert into {topic} (note, more) values ('n1', 'm')")
        (after,) = polled(runner)
        assert after.value["more"] == "m" and [each.name for each in before.value.schema.fields] == ["id", "note"]
        database.execute(f"drop table {topic}")
        assert polled(runner) == []


def test_tables_are_divided_and_new_ones_are_found(database: Database, topic: str) -> None:
    for place in range(3):
        numbered(database, f"{topic}_{place}")
    database.execute(f"create view {topic}_view as select 1 as id")
    include = {"table_include_list": f"(.*[.])?{topic}_.*", "table_whitelist": "", "table_poll_interval_ms": "20"}
    with source(database, topic, tasks_max="2", **include) as runner:
        shares = [each["tables"] for each in runner.task_configs]
        assert sorted(share.count(topic) for share in shares) == [1, 2]
        numbered(database, f"{topic}_3")
        wait_until(lambda: runner.reconfigurations > 0, 60)
        runner.restart()
        assert sum(each["tables"].count(topic) for each in runner.task_configs) == 4
    views = {**include, "table_types": "VIEW"}
    with source(database, topic, "bulk", **views) as runner:
        assert [each["tables"].count(f"{topic}_view") for each in runner.task_configs] == [1]


@pytest.mark.process
@pytest.mark.parametrize(("kinds", "names"), [("TABLE", ["a", "b"]), ("PARTITIONED TABLE", [""]), ("MATERIALIZED VIEW", ["m"])])
def test_partitions_are_read_by_themselves_or_together(postgres: Postgres, topic: str, kinds: str, names: list[str]) -> None:
    database = databases.postgresql(postgres)
    for each in (
        f"create table {topic} (id integer not null, note text) partition by range (id)",
        f"create table {topic}a partition of {topic} for values from (0) to (10)",
        f"create table {topic}b partition of {topic} for values from (10) to (20)",
        f"insert into {topic} values (1, 'n1'), (11, 'n11')",
        f"create materialized view {topic}m as select * from {topic}",
    ):
        database.execute(each)
    what = {"table_whitelist": "", "table_include_list": f"public.{topic}.?", "table_types": kinds}
    with source(database, topic, "bulk", **what) as runner:
        found = runner.read(2)[:2]
    assert {record.topic for record in found} == {f"db-{topic}{name}" for name in names}
    assert sorted(notes(found)) == ["n1", "n11"]
    database.close()


TYPES: dict[str, list[tuple[str, str, Schema, Any]]] = {
    "postgresql": [
        ("smallint", "7", schema.INT16_SCHEMA, 7),
        ("integer", "7", schema.INT32_SCHEMA, 7),
        ("bigint", "7", schema.INT64_SCHEMA, 7),
        ("real", "1.5", schema.FLOAT32_SCHEMA, 1.5),
        ("double precision", "1.5", schema.FLOAT64_SCHEMA, 1.5),
        ("boolean", "true", schema.BOOLEAN_SCHEMA, True),
        ("numeric(10,2)", "12.3", schema.decimal_schema(2), decimal.Decimal("12.30")),
        ("numeric", "1.123", schema.decimal_schema(38), decimal.Decimal("1.123").scaleb(0)),
        ("varchar(9)", "'x'", schema.STRING_SCHEMA, "x"),
        ("bytea", "'\\x0102'", schema.BYTES_SCHEMA, b"\x01\x02"),
        ("date", "'2026-03-29'", schema.DATE_SCHEMA, datetime.datetime(2026, 3, 29, tzinfo=UTC)),
        ("time", "'12:00:01'", schema.TIME_SCHEMA, datetime.datetime(1970, 1, 1, 12, 0, 1, tzinfo=UTC)),
        ("timestamp", "'2026-03-29 12:00:00.25'", schema.TIMESTAMP_SCHEMA, NOON - datetime.timedelta(hours=2)),
        ("timestamptz", "'2026-03-29 14:00:00.25+02'", schema.TIMESTAMP_SCHEMA, NOON),
        ("uuid", "'6f1d4c62-4c58-4c1a-9d3e-0a3c1f1b2a3c'", schema.STRING_SCHEMA, "6f1d4c62-4c58-4c1a-9d3e-0a3c1f1b2a3c"),
        ("json", """'{"a": [1]}'""", schema.STRING_SCHEMA, '{"a": [1]}'),
        ("jsonb", """'{"a":1}'""", schema.STRING_SCHEMA, '{"a": 1}'),
        ("interval", "'1 day'", schema.STRING_SCHEMA, "1 day"),
        ("inet", "'10.0.0.1'", schema.STRING_SCHEMA, "10.0.0.1/32"),
        ("integer[]", "'{1,null,3}'", schema.array(schema.OPTIONAL_INT32_SCHEMA), [1, None, 3]),
    ],
    "mariadb": [
        ("tinyint", "7", schema.INT8_SCHEMA, 7),
        ("tinyint unsigned", "200", schema.INT16_SCHEMA, 200),
        ("smallint", "7", schema.INT16_SCHEMA, 7),
        ("integer", "7", schema.INT32_SCHEMA, 7),
        ("integer unsigned", "4000000000", schema.INT64_SCHEMA, 4_000_000_000),
        ("bigint", "7", schema.INT64_SCHEMA, 7),
        ("float", "1.5", schema.FLOAT32_SCHEMA, 1.5),
        ("double", "1.5", schema.FLOAT64_SCHEMA, 1.5),
        ("bit(1)", "b'1'", schema.BOOLEAN_SCHEMA, True),
        ("decimal(10,2)", "12.3", schema.decimal_schema(2), decimal.Decimal("12.30")),
        ("varchar(9)", "'x'", schema.STRING_SCHEMA, "x"),
        ("longtext", "'x'", schema.STRING_SCHEMA, "x"),
        ("enum('a','b')", "'b'", schema.STRING_SCHEMA, "b"),
        ("blob", "x'0102'", schema.BYTES_SCHEMA, b"\x01\x02"),
        ("date", "'2026-03-29'", schema.DATE_SCHEMA, datetime.datetime(2026, 3, 29, tzinfo=UTC)),
        ("time", "'12:00:01'", schema.TIME_SCHEMA, datetime.datetime(1970, 1, 1, 12, 0, 1, tzinfo=UTC)),
        ("datetime(3)", "'2026-03-29 12:00:00.25'", schema.TIMESTAMP_SCHEMA, NOON - datetime.timedelta(hours=2)),
        ("timestamp(3) null", "timestamp '2026-03-29 12:00:00.25'", schema.TIMESTAMP_SCHEMA, NOON),
        ("year", "2026", schema.INT32_SCHEMA, 2026),
    ],
    "sqlite": [
        ("integer", "7", schema.INT64_SCHEMA, 7),
        ("real", "1.5", schema.FLOAT64_SCHEMA, 1.5),
        ("boolean", "1", schema.BOOLEAN_SCHEMA, True),
        ("numeric(10,2)", "12.3", schema.decimal_schema(2), decimal.Decimal("12.30")),
        ("varchar(9)", "'x'", schema.STRING_SCHEMA, "x"),
        ("blob", "x'0102'", schema.BYTES_SCHEMA, b"\x01\x02"),
        ("date", "'2026-03-29'", schema.DATE_SCHEMA, datetime.datetime(2026, 3, 29, tzinfo=UTC)),
        ("time", "'12:00:01'", schema.TIME_SCHEMA, datetime.datetime(1970, 1, 1, 12, 0, 1, tzinfo=UTC)),
        ("timestamp", "'2026-03-29 12:00:00.25'", schema.TIMESTAMP_SCHEMA, NOON - datetime.timedelta(hours=2)),
        ("timestamp", str(int(NOON.timestamp() * 1000)), schema.TIMESTAMP_SCHEMA, NOON),
    ],
}


def typed(database: Database, topic: str) -> list[tuple[str, str, Schema, Any]]:
    cases = TYPES[database.backend]
    columns = ", ".join(f"c{place} {kind}" for place, (kind, *_) in enumerate(cases))
    database.execute(f"create table {topic} ({columns})")
    written = ", ".join(value for _, value, *_ in cases).replace(":", "\\:")
    zone = "set time_zone = '+00\\:00'" if database.backend == "mariadb" else "select 1"
    database.execute(zone, f"insert into {topic} values ({written})")
    database.execute(f"insert into {topic} values ({', '.join(['null'] * len(cases))})")
    return cases


def test_each_type_has_its_schema_and_value(database: Database, topic: str) -> None:
    cases = typed(database, topic)
    with source(database, topic, "bulk", db_timezone="Europe/Berlin") as runner:
        found, empty = sorted(runner.read(2)[:2], key=lambda record: record.value["c0"] is None)
    # In Berlin it is two hours later, since that morning.
    for place, (kind, _, own, value) in enumerate(cases):
        field = found.value.schema.field(f"c{place}")
        assert field.schema == own.replace(optional=True), kind
        assert found.value[field.name] == value, kind
        assert empty.value[field.name] is None
    found.value.validate()
    assert found.value.schema.name == topic


def test_a_query_has_the_types_of_its_columns(database: Database, topic: str) -> None:
    cases = typed(database, topic)
    query = {"query": f"select * from {topic}", "topic_prefix": "q", "db_timezone": "Europe/Berlin"}
    with source(database, topic, "bulk", **query) as runner:
        found = next(each for each in runner.read(2) if each.value["c0"] is not None)
    for place, (kind, _, own, value) in enumerate(cases):
        if database.backend == "sqlite" and own.name is not None:
            continue  # A result of SQLite has no types but those of its values.
        field = found.value.schema.field(f"c{place}")
        assert field.schema == own.replace(optional=True) or database.backend == "sqlite", kind
        assert found.value[field.name] == value, kind


@pytest.mark.parametrize(
    ("mapping", "kinds"),
    [
        ("none", [schema.DECIMAL] * 4),
        ("precision_only", [SchemaType.INT8, SchemaType.INT64, schema.DECIMAL, schema.DECIMAL]),
        ("best_fit", [SchemaType.INT8, SchemaType.INT64, SchemaType.FLOAT64, schema.DECIMAL]),
        ("best_fit_eager_double", [SchemaType.INT8, SchemaType.INT64, SchemaType.FLOAT64, SchemaType.FLOAT64]),
    ],
)
def test_numbers_become_what_the_config_says(database: Database, topic: str, mapping: str, kinds: list[Any]) -> None:
    database.execute(f"create table {topic} (a decimal(2,0), b decimal(18,0), c decimal(8,2), d decimal(30,4))")
    database.execute(f"insert into {topic} values (1, 2, 3.5, 4.25)")
    with source(database, topic, "bulk", numeric_mapping=mapping) as runner:
        value = runner.read(1)[0].value
    assert [field.schema.name or field.schema.type for field in value.schema.fields] == kinds
    assert [float(each) for each in value.values] == [1, 2, 3.5, 4.25]


@pytest.mark.parametrize(
    ("granularity", "value"),
    [
        ("micros_long", 1_774_785_600_250_000),
        ("nanos_long", 1_774_785_600_250_000_000),
        ("micros_string", "1774785600250000"),
        ("nanos_string", "1774785600250000000"),
        ("micros_iso_datetime_string", "2026-03-29T12:00:00.250000"),
        ("nanos_iso_datetime_string", "2026-03-29T12:00:00.250000000"),
    ],
)
def test_times_become_what_the_config_says(database: Database, topic: str, granularity: str, value: Any) -> None:
    timed(database, topic)
    add(database, topic, (1, NOON, "n"))
    with source(database, topic, "bulk", timestamp_granularity=granularity) as runner:
        assert runner.read(1)[0].value["changed"] == value


@pytest.mark.process
@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
@pytest.mark.parametrize("database", [each for each in EVERY if each != "sqlite"], indirect=True)
def test_the_zone_of_a_time_does_not_lose_rows(database: Database, topic: str, kind: str) -> None:
    timed(database, topic, kind)
    database.execute("select 1")
    now = database.rows("select current_timestamp")[0][0]
    database.execute(f"insert into {topic} values (1, current_timestamp(6), 'n')")
    # The server's own zone is UTC, as that of columns without one.
    with source(database, topic, "timestamp", timestamp_column_name="changed") as runner:
        found: list[SourceRecord] = []
        wait_until(lambda: found.extend(polled(runner)) or found, 60)
        (record,) = found
        assert abs(record.value["changed"] - (now if now.tzinfo else now.replace(tzinfo=UTC))) < datetime.timedelta(minutes=5)
        runner.restart()
        assert polled(runner) == []


@pytest.mark.parametrize(
    ("changes", "setting", "text"),
    [
        ({"mode": "sometimes"}, "mode", "bulk, incrementing, timestamp"),
        ({"mode": "timestamp"}, "timestamp.column.name", "mode is timestamp"),
        ({"mode": "timestamp", "timestamp.column.name": "note"}, "timestamp.column.name", "no times in the column note"),
        ({"incrementing.column.name": "nothing"}, "incrementing.column.name", "has no column nothing, but id, note"),
        ({"incrementing.column.name": "note"}, "incrementing.column.name", "no numbers in the column note"),
        ({"table.whitelist": "nothing"}, "table.whitelist", "There is no table nothing among"),
        ({"table.blacklist": "x"}, "table.whitelist", "Set it or table.blacklist"),
        ({"table.include.list": "*"}, "table.include.list", "no regular expression"),
        ({"query": "select 1", "incrementing.column.name": "id"}, "table.whitelist", "there is a query"),
        ({"query": "select nothing", "table.whitelist": "", "incrementing.column.name": "id"}, "query", "can't be read"),
        ({"query": "select 1 as id", "table.whitelist": ""}, "incrementing.column.name", "a query numbers nothing"),
        ({"query.suffix": "LIMIT 10"}, "query.suffix", "batch.max.rows limits"),
        ({"table.types": "SYNONYM"}, "table.types", "SYNONYM can't be read"),
        ({"db.timezone": "Mars/Base"}, "db.timezone", "no such time zone"),
        ({"connection.url": "jdbc:oracle:thin:@h:1521/x"}, "connection.url", "URLs of JDBC"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(database: Database, topic: str, changes: Any, setting: str, text: str) -> None:
    numbered(database, topic)
    if "note" in changes.values() and database.backend == "sqlite":
        pytest.skip("its columns take any value")
    errors = config_errors(SqlSourceConnector, {"name": "c", **config(database, topic), **changes})
    assert errors.keys() == {setting}
    assert text in errors[setting][0]


def test_a_column_that_may_be_null_is_refused(database: Database, topic: str) -> None:
    database.execute(f"create table {topic} (id integer, note varchar(9))")
    errors = config_errors(SqlSourceConnector, {"name": "c", **config(database, topic, incrementing_column_name="id")})
    assert "declare it as NOT NULL" in str(errors["incrementing.column.name"])
    database.execute(f"insert into {topic} values (null, 'no'), (1, 'yes')")
    more = {"incrementing_column_name": "id", "validate_non_null": "false"}
    with source(database, topic, **more) as runner:
        assert notes(polled(runner)) == ["yes"]


@pytest.mark.process
def test_rights_are_asked_for(postgres: Postgres, topic: str) -> None:
    database = databases.postgresql(postgres)
    numbered(database, topic)
    database.execute(f"create role {topic}_reader login password 'p'")
    limited = {"connection.user": f"{topic}_reader", "connection.password": "p"}
    errors = config_errors(SqlSourceConnector, {"name": "c", **config(database, topic), **limited})
    assert "permission denied" in str(errors["table.whitelist"])
    wrong = {**limited, "connection.password": "secret-of-nobody"}
    errors = config_errors(SqlSourceConnector, {"name": "c", **config(database, topic), **wrong})
    assert errors.keys() == {"connection.password"} and "secret-of-nobody" not in str(errors)
    database.close()


@pytest.mark.process
def test_a_server_that_is_away_is_waited_for(postgres: Postgres, topic: str) -> None:
    database = databases.postgresql(postgres)
    numbered(database, topic)
    database.execute(f"insert into {topic} (note) values ('n0')")
    more = {"connection_backoff_ms": "10", "query_retry_attempts": "2"}
    with source(database, topic, **more) as runner:
        assert notes(polled(runner)) == ["n0"]
        database.close()
        postgres.end()
        try:
            with pytest.raises(RetriableError, match="postgresql at "):
                polled(runner)
        finally:
            postgres.begin()
        database.execute(f"insert into {topic} (note) values ('n1')")
        found: list[str] = []
        wait_until(lambda: found.extend(notes(polled(runner))) or found, 60)
        assert found == ["n1"]
    database.close()


def test_a_value_that_does_not_fit_is_told_with_its_column(database: Database, topic: str) -> None:
    if database.backend != "sqlite":
        pytest.skip("only its columns take values of any type")
    numbered(database, topic)
    database.execute(f"create table {topic}_any (id integer primary key, count integer)")
    database.execute(f"insert into {topic}_any values (1, 'many')")
    with source(database, f"{topic}_any") as runner, pytest.raises(ConnectError, match="the column count: "):
        polled(runner)


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        ({"protocol": "1", "table": "t"}, {"incrementing": 5}, None),
        ({"query": "query"}, {"timestamp": 5, "timestamp_nanos": 5_000_000}, None),
        ({"protocol": "1", "table": "t"}, None, None),
        ({"file": "t"}, {"incrementing": 5}, "such as"),
        ({"table": "t"}, {"incrementing": "5"}, "has numbers as"),
        ({"table": "t"}, {"id": 5}, "has numbers as"),
    ],
)
def test_offsets_that_are_altered(partition: dict[str, Any], offset: dict[str, Any] | None, text: str | None) -> None:
    connector = SqlSourceConnector()
    if text is None:
        assert connector.alter_offsets({}, [(partition, offset)])
    else:
        with pytest.raises(ConnectError, match=text):
            connector.alter_offsets({}, [(partition, offset)])


def test_offsets_are_those_of_the_jdbc_source() -> None:
    told = {"incrementing": 7, "timestamp": 1_774_785_600_250, "timestamp_nanos": 250_123_000}
    at = Position.of(told)
    assert at.number is not None and at.moment == 1_774_785_600_250_123_000
    assert offsets([at.number], [at.moment]) == [told]


def test_it_is_a_plugin_like_others(database: Database, topic: str) -> None:
    numbered(database, topic)
    database.execute(f"insert into {topic} (note) values ('n')")
    check_plugin(SqlSourceConnector, config(database, topic))


@pytest.mark.parametrize("database", EVERY[1:2], indirect=True)
def test_dates_within_arrays_are_the_same_when_others_have_none(database: Database, topic: str) -> None:
    """The driver fails for the whole answer then, and they are read as texts."""
    values = ("2024-02-29", "1883-11-18 23:00:00.25", "0001-01-02", "9999-12-30 23:59:59.999")
    arrays = ", ".join(f"'{value}'" for value in values).replace(":", "\\:")
    columns = ", ".join(f"array[{arrays}, null]\\:\\:{kind}[]" for kind in ("date", "timestamp", "timestamptz"))
    database.execute(
        f"create table {topic} (id integer primary key, d date[], t timestamp[], z timestamptz[])",
        "alter database postgres set timezone = 'Asia/Kolkata'",
        f"insert into {topic} select 1, {columns}",
    )
    try:
        more = {"mode": "incrementing", "incrementing_column_name": "id", "behavior_on_error": "log"}
        with source(database, topic, **more) as runner:
            (first,) = polled(runner)
        database.execute(f"insert into {topic} values (0, '{{infinity}}', null, null)")
        with source(database, topic, **more) as runner:
            (again,) = polled(runner)
            assert runner.passed_over == 1
        assert again.value == first.value
        assert len(first.value["z"]) == 5
    finally:
        database.execute("alter database postgres reset timezone")


@pytest.mark.parametrize("database", EVERY[1:], indirect=True)
@pytest.mark.parametrize("mode", ["timestamp", "timestamp+incrementing"])
def test_a_time_that_nothing_can_read_ends_no_other_table(database: Database, topic: str, mode: str) -> None:
    """Whoever may write one row to one table wrote such a time: the task ended for good, with all its tables."""
    other = f"{topic}_other"
    timed(database, topic)
    timed(database, other)
    time = "-infinity" if database.backend == "postgresql" else "0000-00-00"
    database.execute(f"insert into {topic} values (7, '{time}', 'bad')")
    add(database, topic, (1, NOON, "good"))
    add(database, other, (1, NOON, "other"))
    more = {"poll_interval_ms": "1", **({"incrementing_column_name": "id"} if "inc" in mode else {})}

    def reading(on_error: str) -> SourceRunner:
        tables = f"{topic},{other}"
        return source(database, tables, mode, timestamp_column_name="changed", behavior_on_error=on_error, **more)

    found: set[str] = set()
    with reading("log") as runner:
        while found != {"good", "other"}:
            found |= set(notes(runner.poll() or []))
        assert runner.passed_over == 1
        # What comes later is read, too.
        add(database, topic, (2, NOON + datetime.timedelta(seconds=1), "later"))
        while "later" not in found:
            found |= set(notes(runner.poll() or []))
    with pytest.raises(ConnectError, match=r"that (the driver )?can't (be )?read"), reading("fail") as runner:
        while True:
            runner.poll()


@pytest.mark.parametrize("database", EVERY[:1], indirect=True)
def test_too_many_rows_of_one_time_end_no_other_table(database: Database, topic: str) -> None:
    other = f"{topic}_other"
    timed(database, topic)
    timed(database, other)
    add(database, topic, *((number, NOON, "n" * 40) for number in range(40)))
    add(database, other, (1, NOON, "other"))
    more = {"batch_max_bytes": "1024", "poll_interval_ms": "1", "behavior_on_error": "log"}
    with source(database, f"{topic},{other}", "timestamp", timestamp_column_name="changed", **more) as runner:
        while "other" not in notes(runner.poll() or []):
            pass
