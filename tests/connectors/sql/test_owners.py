"""
PostgreSQL: whoever owns a table, a type, or a schema of the path chooses functions. None of them runs with our rights because
SqlSource or a backfill reads.

Each function tells by `raise` who has called it; that it would be called is shown first, by the statement that would do it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from kconnect.api import ConnectError, SinkRecord, SourceRecord, Struct, schema
from kconnect.connectors.backfill.source import BackfillConnector
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.testing import SinkRunner, SourceRunner
from tests.rig.systems.postgres import Postgres

pytestmark = pytest.mark.process

_numbers = iter(range(1, 1_000_000))
SETUP = """
create schema app authorization mallory;
grant usage on schema app to reader;
grant create on schema public to mallory;
grant create on database {name} to reader;
set role mallory;
create type app.color as enum ('red', 'green');
create type app.span as range (subtype = int4, multirange_type_name = app.spans);
create domain app.shade as app.color;
create table app.t (
    id int primary key, c app.color, r app.span, m app.spans, cs app.color[], rs app.span[], d app.shade,
    ds app.shade[], changed timestamp not null default '2026-01-01', zoned timestamptz not null, day date, days date[],
    n numeric not null
);
insert into app.t values (1, 'red', '[1,3)', '{{[1,3)}}', '{{red,green}}', '{{"[1,3)"}}', 'green', '{{red}}', default,
    '2026-01-01+00', '2026-01-01', '{{2026-01-01}}', 1);
grant select on app.t to reader;
"""
KINDS = ["app.color", "app.span", "app.spans", "app.color[]", "app.span[]", "app.shade[]"]


def function(name: str, arguments: str, returns: str) -> str:
    return (
        f"create function {name}({arguments}) returns {returns} language plpgsql volatile as $$ begin "
        f"raise exception 'CALLED AS %', current_user; end $$;"
    )


class Server:
    def __init__(self, postgres: Postgres, name: str) -> None:
        self.postgres, self.name = postgres, name

    def as_mallory(self, statements: str) -> None:
        self.postgres.execute(f"set role mallory; {statements}", self.name)

    def called_by(self, statement: str) -> bool:
        """Whether a statement of the reader's calls one of the functions."""
        place = f"host={self.postgres.host} port={self.postgres.port} dbname={self.name} user=reader password=read"
        with psycopg.connect(place) as connection:
            try:
                connection.execute(statement.encode())
            except psycopg.Error as error:
                return "CALLED AS reader" in str(error)
        return False

    def source(self, **more: str) -> SourceRunner:
        settings = {name.replace("_", "."): value for name, value in more.items()}
        config = {
            "connection.url": f"jdbc:postgresql://{self.postgres.host}:{self.postgres.port}/{self.name}",
            **{"connection.user": "reader", "connection.password": "read", "topic.prefix": "db-", "poll.interval.ms": "0"},
            **{"mode": "bulk", "table.whitelist": "app.t", **settings},
        }
        return SourceRunner(SqlSourceConnector, config)

    def backfill(self) -> SourceRunner:
        config = {
            **{"name": self.name, "tasks.max": "1", "database.hostname": self.postgres.host, "topic.prefix": "cdc"},
            **{"database.port": str(self.postgres.port), "database.user": "reader", "database.password": "read"},
            **{"database.dbname": self.name, "plugin.name": "pgoutput", "slot.name": self.name, "publication.name": self.name},
            **{"backfill.debezium.version": "3.6.1.Final", "schema.include.list": "app"},
        }
        return SourceRunner(BackfillConnector, config)


@pytest.fixture
def server(postgres: Postgres) -> Iterator[Server]:
    name = f"owners{next(_numbers)}"
    exist = "if not exists (select from pg_roles where rolname = '{0}') then create role {0} login {1}; end if;"
    roles = exist.format("mallory", "password 'm'") + exist.format("reader", "replication password 'read'")
    postgres.execute(f"do $$ begin {roles} end $$")
    postgres.execute(f"create database {name}")
    postgres.execute(SETUP.format(name=name), name)
    # A publication for all tables is a superuser's to make.
    postgres.execute(f"create publication {name} for all tables", name)
    yield Server(postgres, name)
    postgres.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
    postgres.execute(f"select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = '{name}'")
    postgres.execute(f"drop database {name} with (force)")


def with_casts(server: Server) -> None:
    for place, kind in enumerate(KINDS):
        server.as_mallory(function(f"app.cast{place}", kind, "text"))
        server.as_mallory(f"create cast ({kind} as text) with function app.cast{place}({kind})")
    assert server.called_by("select c::text from app.t") and server.called_by("select rs::text from app.t")
    assert server.called_by("select d::text from app.t") and server.called_by("select cs::text[] from app.t")


WANTED = {
    **{"id": 1, "c": "red", "r": "[1,3)", "m": "{[1,3)}", "cs": ["red", "green"], "d": "green", "n": 1},
}


def shown(record: SourceRecord, value: Any) -> dict[str, Any]:
    return {name: value[name] for name in WANTED}


def test_no_cast_of_a_type_s_owner_is_called_by_sql_source(server: Server) -> None:
    with_casts(server)
    with server.source() as runner:
        [record] = runner.read(1)
        assert shown(record, record.value) == WANTED
        assert record.value["ds"] in (["red"], "{red}") and record.value["rs"] in (["[1,3)"], '{"[1,3)"}')


def test_no_cast_of_a_type_s_owner_is_called_by_a_backfill(server: Server) -> None:
    with_casts(server)
    # Debezium leaves these out of its schemas, or they are refused by name.
    server.as_mallory("alter table app.t drop column d, drop column ds")
    with server.backfill() as runner:
        [record] = runner.read(1)
        after = record.value["after"]
        assert (after["c"], after["r"], after["m"], after["cs"]) == ("red", "[1,3)", "{[1,3)}", ["red", "green"])
        assert after["rs"] == ["[1,3)"]


BETTER = {
    "timezone": (
        function("public.timezone", "varchar, timestamp", "timestamptz"),
        "select timezone('UTC'::varchar, changed) from app.t",
    ),
    "timezone of a zone": (
        function("public.timezone", "varchar, timestamptz", "timestamp"),
        "select timezone('UTC'::varchar, zoned) from app.t",
    ),
    "to_char": (
        function("public.to_char", "timestamp, varchar", "text"),
        "select to_char(changed, 'YYYY'::varchar) from app.t",
    ),
    "isfinite of dates": (
        function("public.to_char", "date, varchar", "text"),
        "select to_char(day, 'YYYY'::varchar) from app.t",
    ),
    "numbers": (
        function("public.more", "numeric, bigint", "boolean")
        + "create operator public.> (leftarg = numeric, rightarg = bigint, function = public.more)",
        "select n > 0::bigint from app.t",
    ),
    "names": (
        function("public.same", "name, varchar", "boolean")
        + "create operator public.= (leftarg = name, rightarg = varchar, function = public.same)",
        "select 1 from pg_class where relname = 't'::varchar",
    ),
}


@pytest.mark.parametrize("case", BETTER)
def test_no_function_of_the_path_is_called(server: Server, case: str) -> None:
    statements, would = BETTER[case]
    server.as_mallory(statements)
    assert not server.called_by("set search_path to pg_catalog; " + would) or case == "names"
    assert server.called_by(would), "the control"
    # The driver does not read this one, so that all dates come as texts that the database makes.
    beyond = "insert into app.t (id, changed, zoned, day, n) values (2, '2026-01-02', '2026-01-02+00', 'infinity', 2)"
    server.postgres.execute(beyond, server.name)
    more = {
        "behavior_on_error": "log",
        "mode": "timestamp+incrementing",
        "timestamp_column_name": "changed,zoned",
        "incrementing_column_name": "n",
    }
    for settings in ({**more, "mode": "bulk"}, more, {**more, "timestamp_column_name": "zoned", "mode": "timestamp"}):
        with server.source(**settings) as runner:
            [record] = runner.read(1)
            assert record.value["id"] == 1 and record.value["day"] is not None
            server.postgres.execute("update app.t set changed = now(), zoned = now(), n = n + 2 where id = 1", server.name)
            [record] = runner.read(1)
            assert record.value["id"] == 1


TEXTS = function("public.same_texts", "varchar, varchar", "boolean") + (
    "create operator public.= (leftarg = varchar, rightarg = varchar, function = public.same_texts);"
)
NAMES = function("public.same", "name, varchar", "boolean") + (
    "create operator public.= (leftarg = name, rightarg = varchar, function = public.same);"
)


@pytest.mark.parametrize("table", ["orders", "public.orders"])
@pytest.mark.parametrize("delete", ["true", "false"])
def test_no_operator_of_the_path_is_called_by_the_sink(
    server: Server, table: str, delete: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.postgres.execute("grant create on schema public to public", server.name)
    server.as_mallory(TEXTS + NAMES)
    assert server.called_by("select 'a'::varchar = 'b'::varchar") and server.called_by("select 'a'::name = 'b'::varchar")
    server.postgres.execute("grant create on schema public to reader", server.name)
    place = f"{server.postgres.host}:{server.postgres.port}/{server.name}"
    config = {
        **{"connection.url": f"jdbc:postgresql://{place}", "connection.user": "reader", "connection.password": "read"},
        **{"topics": "t", "table.name.format": table, "insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id"},
        **{"auto.create": "true", "auto.evolve": "true", "offsets.table": "marks", "delete.enabled": delete},
    }
    plain = schema.struct({"name": schema.STRING_SCHEMA})
    wider = schema.struct({"name": schema.STRING_SCHEMA, "more": schema.OPTIONAL_STRING_SCHEMA})
    rows = [
        SinkRecord("t", 0, schema.STRING_SCHEMA, "k", own, Struct(own, {"name": f"n{offset}"}), offset)
        for offset, own in enumerate((plain, plain, wider))
    ]
    with SinkRunner(SqlSinkConnector, config) as runner:
        for each in rows:
            runner.put([each])
        runner.restart()
        runner.put([SinkRecord("t", 0, schema.STRING_SCHEMA, "k2", wider, Struct(wider, {"name": "m"}), 3)])
        if delete == "true":
            runner.put([SinkRecord("t", 0, schema.STRING_SCHEMA, "k", None, None, 4)])
    assert "may make functions in the schema public" in caplog.text
    found = server.postgres.execute("select id, name from orders order by id", server.name)
    assert "m" in found and ("n2" in found) is (delete == "false")


def test_no_policy_of_an_owner_is_called(server: Server) -> None:
    with server.source() as runner:
        runner.read(1)
        # Until the round is over it holds the table.
        assert not runner.poll()
        server.as_mallory(function("app.seen", "app.color", "boolean"))
        server.as_mallory("alter table app.t enable row level security; create policy p on app.t using (app.seen(c))")
        assert server.called_by("select * from app.t"), "the control"
        with pytest.raises(
            ConnectError, match=r"app\.t has row-level security, and to read it runs functions that its owner, mallory"
        ):
            runner.read(1)
    with pytest.raises(ConnectError), server.backfill() as backfill:
        backfill.read(1)


def test_no_view_in_the_place_of_a_table_is_read(server: Server) -> None:
    with server.source() as runner:
        runner.read(1)
        # Until the round is over it holds the table.
        assert not runner.poll()
        server.as_mallory(function("app.seen", "app.color", "boolean"))
        server.as_mallory(
            "alter table app.t rename to u; create view app.t as select *, app.seen(c) from app.u; "
            "grant select on app.t to reader"
        )
        assert server.called_by("select * from app.t"), "the control"
        with pytest.raises(ConnectError, match=r"app\.t is a view, and to read it runs functions that its owner, mallory"):
            runner.read(1)


@pytest.mark.parametrize(
    "trust", ["grant mallory to reader", "alter database {name} owner to mallory", "alter role reader bypassrls"]
)
def test_who_trusts_the_owner_reads_what_policies_leave(server: Server, trust: str) -> None:
    server.as_mallory("alter table app.t enable row level security; create policy p on app.t using (id < 5)")
    server.postgres.execute(trust.format(name=server.name))
    try:
        with server.source() as runner:
            [record] = runner.read(1)
            assert record.value["id"] == 1
    finally:
        server.postgres.execute("revoke mallory from reader; alter role reader nobypassrls")


_READS = """
import sys
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.testing import SourceRunner
config = {"connection.url": sys.argv[1], "connection.user": "reader", "connection.password": "read", "topic.prefix": "p-"}
with SourceRunner(SqlSourceConnector, {**config, "mode": "bulk", "table.whitelist": "app.keys"}) as runner:
    print(len(runner.poll()))
"""


def test_no_name_of_a_column_keeps_a_pattern_of_keys_busy(server: Server) -> None:
    """
    Whoever may make a table names a column so that SQLAlchemy's pattern for foreign keys has it split in every way: it took
    years, and the whole host stood still. In a process of its own, because nothing ends that.
    """
    name = f"x) REFERENCES a({'b' * 47}"
    server.as_mallory(
        f'create table app.others (id int primary key); create table app.keys (id int primary key, "{name}" int references '
        f"app.others (id), long text default '{'nextval(' * 10_000}'); insert into app.keys (id) values (1); "
        "grant select on app.keys to reader;"
    )
    url = f"jdbc:postgresql://{server.postgres.host}:{server.postgres.port}/{server.name}"
    done = subprocess.run([sys.executable, "-c", _READS, url], capture_output=True, text=True, timeout=100)
    assert done.stdout == "1\n", done.stderr
