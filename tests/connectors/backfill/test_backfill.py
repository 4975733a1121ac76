"""
The backfill by itself, against PostgreSQL: one snapshot for all, each row once, what survives which loss, and the handover.

What Debezium makes of it: `tests/integration/test_backfill.py`.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from kconnect.api import ConnectError, RetriableError, SourceRecord
from kconnect.connectors.backfill import settings
from kconnect.connectors.backfill.records import told_of
from kconnect.connectors.backfill.snapshot import LostError, Sessions
from kconnect.connectors.backfill.source import BackfillConnector
from kconnect.connectors.backfill.tables import Name, quoted
from kconnect.testing import SourceRunner, config_errors
from tests.support import wait_until

Make = Callable[[str], dict[str, str]]

ROWS = (
    "create table t (id int primary key, note text); insert into t select n, repeat('x', 200) from generate_series(1, 1000) n;"
)
COUNT = 1000


@contextlib.contextmanager
def session(config: dict[str, str], **other: Any) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(
        host=config["database.hostname"],
        port=int(config["database.port"]),
        user=other.get("user", config["database.user"]),
        password=other.get("password", config["database.password"]),
        dbname=config["database.dbname"],
        autocommit=True,
    ) as connection:
        yield connection


def asked(config: dict[str, str], query: str) -> list[Any]:
    with session(config) as connection:
        return connection.execute(query).fetchall()


def done(config: dict[str, str], query: str) -> None:
    with session(config) as connection:
        connection.execute(query)


def small(config: dict[str, str], **more: str) -> dict[str, str]:
    """Ranges of a few pages, and a few rows at once."""
    return {**config, "backfill.range.pages": "3", "backfill.batch.rows": "50", **more}


def ids(records: list[SourceRecord]) -> list[int]:
    return [record.value["after"]["id"] for record in records]


def inside(source: SourceRunner) -> Any:
    """The task, as far as nobody else needs to see into it."""
    return source.task


def rest(source: SourceRunner) -> list[SourceRecord]:
    """What comes until the task has nothing more to read."""
    records: list[SourceRecord] = []
    while inside(source)._ranges:
        records += source.poll()
    return records


def one_range(source: SourceRunner) -> list[SourceRecord]:
    """The records of the first range."""
    records = source.poll()
    while inside(source)._cursor is not None:
        records += source.poll()
    return records


def rest_of_another_snapshot(source: SourceRunner) -> list[SourceRecord]:
    """What comes once the task and the connector have noticed that their sessions are gone."""
    wait_until(lambda: _fails_or_waits(source), 60, "the task reads on")
    wait_until(lambda: source.reconfigurations, 60, "the connector does not notice")
    source.restart()
    return rest(source)


def end_sessions(config: dict[str, str], which: str = "true") -> None:
    done(
        config,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() "
        f"and application_name like 'kconnect%' and {which}",
    )


def handed_over(source: SourceRunner, config: dict[str, str]) -> dict[str, Any]:
    """Wait until the connector has handed over, and return what it notes."""
    query = f"select from pg_replication_slots where slot_name = '{config['slot.name']}'"
    wait_until(lambda: asked(config, query) or source.error, 60, "it hands nothing over")
    assert source.error is None
    source.restart()
    source.poll()
    return next(offset for partition, offset in source.offsets if partition == {"backfill": "done"})


pytestmark = pytest.mark.process


def test_all_rows_come_once_from_one_snapshot_and_the_slot_begins_there(database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(BackfillConnector, config) as source:
        slots = asked(
            config,
            "select slot_name, confirmed_flush_lsn - '0/0' from pg_replication_slots where database = current_database()",
        )
        assert [name for name, _ in slots] == [Sessions(settings.CONFIG.parse(config), {}).slot]
        # What is written meanwhile is the change stream's.
        done(config, "insert into t values (5000, 'later'); update t set note = 'later'; delete from t where id = 3")
        records = rest(source)
        assert sorted(ids(records)) == list(range(1, COUNT + 1))
        assert {record.value["after"]["note"] for record in records} == {"x" * 200}
        lsn = records[0].value["source"]["lsn"]
        assert lsn == int(slots[0][1])
        end = handed_over(source, config)
    assert end["lsn"] == lsn
    # Debezium's has the place of ours.
    query = "select slot_name, confirmed_flush_lsn - '0/0' from pg_replication_slots where database = current_database()"
    assert sorted(asked(config, query)) == sorted((name, lsn) for name in (config["slot.name"], slots[0][0]))
    assert asked(config, "select pubname from pg_publication") == [(config["publication.name"],)]


def test_a_task_goes_on_within_a_range_where_its_last_record_was(database: Make) -> None:
    config = small(database(ROWS), **{"backfill.range.pages": "100000"})
    with SourceRunner(BackfillConnector, config) as source:
        first = source.poll() + source.poll()
        # What it has in hand is never sent: its process ends. The sessions of the dead still have the snapshot.
        assert source.poll(acknowledge=False)
        source.restart(crash=True)
        second = source.poll()
        assert inside(source)._cursor is not None
        # And now its session ends without a word.
        inside(source)._connection.close()
        with pytest.raises(RetriableError):
            source.poll()
        third = rest(source)
        assert ids(first) + ids(second) + ids(third) == list(range(1, COUNT + 1))


def test_a_restarted_connector_takes_the_snapshot_from_a_task_that_has_it(database: Make) -> None:
    config = small(database(ROWS))
    parsed = settings.CONFIG.parse(config)
    with SourceRunner(BackfillConnector, config) as source:
        records = source.poll()
        sees = inside(source)._snapshot.sees
        done(config, "delete from t")
        # The connector's own session, which made it.
        end_sessions(config, "query not ilike '%fetch%' and query not ilike '%declare%' and query not ilike '%ctid%'")
        another = BackfillConnector()
        another.initialize(source.connector.context)
        another.start(dict(config))
        configs = another.task_configs(1)
        assert sees in configs[0][settings.SNAPSHOT].replace("\\", "")
        connection, snapshot = Sessions(parsed, {}).joined(sees)
        with contextlib.closing(connection):
            assert connection.execute("select count(*) from public.t").fetchone() == (COUNT,)
        another.stop()
        records += rest(source)
        assert sorted(ids(records)) == list(range(1, COUNT + 1))
        assert snapshot.sees == sees


def test_if_nobody_has_the_snapshot_any_more_the_rest_is_read_from_another(database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(BackfillConnector, config) as source:
        first = source.poll()
        while inside(source)._cursor is not None:
            first += source.poll()
        middle = source.poll()
        old = first + middle
        done(config, "delete from t where id > 990; insert into t values (2000, 'new')")
        end_sessions(config)
        # The task has lost it, and must not read from another.
        assert wait_until(lambda: _fails_or_waits(source), 60, "the task reads on")
        wait_until(lambda: source.reconfigurations, 60, "the connector does not notice")
        source.restart()
        new = rest(source)
        # The first range is read, and not again. The second was read to its middle, and is.
        assert sorted(set(ids(old + new))) == [*range(1, 991), 2000]
        assert set(ids(old)) & set(ids(new)) == set(ids(middle))
        assert {record.value["source"]["lsn"] for record in old + new} == {old[0].value["source"]["lsn"]}
        end = handed_over(source, config)
        assert end["lsn"] == new[0].value["source"]["lsn"]


def test_a_row_that_moves_into_a_range_that_is_read_comes_with_all_its_values(database: Make) -> None:
    """The stream has its change, but of a long value that did not change nothing."""
    config = small(
        database(
            "create table t (id int primary key, note text, filler text);"
            "alter table t alter note set storage external;"
            "insert into t select n, (select string_agg(md5(n::text || m), '') from generate_series(1, 100) m), "
            "repeat('f', 150) from generate_series(1, 300) n"
        )
    )
    with SourceRunner(BackfillConnector, config) as source:
        first = one_range(source)
        # There is room in the first pages now, and the last rows change: they go there.
        done(config, f"delete from t where id <= {len(first) // 2}")
        end_sessions(config)
        done(config, "vacuum t")
        done(config, "update t set filler = repeat('g', 150) where id > 250")
        pages = config["backfill.range.pages"]
        [(moved,)] = asked(config, f"select count(*) from t where id > 250 and ctid < '({pages},0)'::tid")
        assert moved > 0, "the trial has moved nothing"
        later = rest_of_another_snapshot(source)
        handed_over(source, config)
    found = {record.value["after"]["id"]: record.value["after"] for record in first + later}
    for key, note, filler in asked(config, "select id, note, filler from t"):
        assert (found[key]["note"], found[key]["filler"]) == (note, filler)
    # Of the range that was read, only rows that have changed come again.
    assert len(set(ids(first)) & set(ids(later))) < len(first)


@pytest.mark.parametrize(
    "change",
    [
        "create table u (like t); insert into u select * from t; alter table t rename to o; alter table u rename to t",
        "vacuum full t",
        "alter table t alter note type varchar(300) using note || 'x'",
        "alter table t rename note to other; alter table t add note text",
        "drop table t",
        "alter table t rename to gone",
    ],
)
def test_a_table_that_became_another_one_is_told(database: Make, change: str) -> None:
    config = small(database(ROWS))
    with SourceRunner(BackfillConnector, config) as source:
        one_range(source)
        for each in change.split("; "):
            done(config, each)
        with pytest.raises(ConnectError, match=r"public\.t.*cancel the backfill and begin it anew"):
            rest(source)


def test_a_table_that_was_written_anew_is_read_anew_by_the_next_snapshot(database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(BackfillConnector, config) as source:
        one_range(source)
        done(config, "delete from t where id % 2 = 0")
        end_sessions(config)
        done(config, "vacuum full t")
        assert sorted(ids(rest_of_another_snapshot(source))) == list(range(1, COUNT + 1, 2))


def test_a_first_try_that_fails_hands_nothing_over(database: Make) -> None:
    config = small(database(ROWS + "create table p (id int) partition by range (id)"))
    connector = BackfillConnector()
    runner = SourceRunner(BackfillConnector, {**config, "table.include.list": "public.t"}).start()
    connector.initialize(runner.connector.context)
    runner.stop()
    connector.alter_offsets(config, [({"backfill": "done"}, None)])
    connector.start(dict(config))
    for _ in range(3):
        with pytest.raises(ConnectError, match="has partitions"):
            connector.task_configs(1)
    done(config, "drop table p")
    assert connector.task_configs(1)[0][settings.RANGES]
    connector.stop()
    assert not asked(config, f"select from pg_replication_slots where slot_name = '{config['slot.name']}'")


def test_a_publication_that_lacks_a_table_gets_it_or_is_told(database: Make) -> None:
    config = small(database(ROWS + "create table u (id int)"))
    publication = config["publication.name"]
    done(config, f"create publication {publication} for table u")
    with pytest.raises(ConnectError, match="lacks tables that are to be read: ALTER PUBLICATION"):
        SourceRunner(BackfillConnector, config).start()
    with SourceRunner(BackfillConnector, {**config, "publication.autocreate.mode": "filtered"}) as source:
        assert source.poll()
    query = f"select tablename from pg_publication_tables where pubname = '{publication}' order by 1"
    assert asked(config, query) == [("t",), ("u",)]


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("for table t with (publish = 'insert')", "leaves out inserts, updates or deletions"),
        ("for table t (id)", "only some rows or columns"),
        ("for table t where (id > 5)", "only some rows or columns"),
    ],
)
def test_a_publication_of_parts_is_told(database: Make, how: str, text: str) -> None:
    config = database(ROWS)
    done(config, f"create publication {config['publication.name']} {how}")
    with pytest.raises(ConnectError, match=text):
        SourceRunner(BackfillConnector, config).start()


def test_other_tables_than_it_began_with_are_told(database: Make) -> None:
    """A slot that is made later would not have the deletions of rows that were copied."""
    config = small(database(ROWS + "create table u (id int)"), **{"publication.autocreate.mode": "filtered"})
    query = "select slot_name from pg_replication_slots where database = current_database()"
    with SourceRunner(BackfillConnector, {**config, "table.include.list": "public.t"}) as source:
        one_range(source)
    before = asked(config, query)
    done(config, "delete from t where id = 1")
    with pytest.raises(ConnectError, match="has begun with other tables"):
        SourceRunner(BackfillConnector, config, offsets=source.offsets).start()
    assert asked(config, query) == before
    # Nor does another connector, whose slot has the same name, take the log away from this one.
    BackfillConnector().alter_offsets(config, [(source.offsets[0][0], None)])
    assert asked(config, query) == []
    with SourceRunner(BackfillConnector, config) as source:
        assert 1 not in ids([record for record in rest(source) if record.topic == "cdc.public.t"])


def test_a_table_that_is_made_meanwhile_is_published_before_it_is_read(database: Make) -> None:
    more = {"publication.autocreate.mode": "filtered", "table.include.list": "public.*"}
    config = small(database(ROWS), **more)
    with SourceRunner(BackfillConnector, config) as source:
        one_range(source)
        done(config, "create table u (id int primary key); insert into u values (1)")
        with session(config) as writer:
            writer.execute("begin")
            writer.execute("insert into u values (2)")
            end_sessions(config)
            wait_until(lambda: _fails_or_waits(source), 60, "the task reads on")
            published = "select from pg_publication_tables where tablename = 'u'"
            wait_until(lambda: asked(config, published), 60, "the publication does not get the table")
            # What was written before is in no stream: so the snapshot waits for it.
            assert not source.reconfigurations
            writer.execute("commit")
        wait_until(lambda: source.reconfigurations, 60, "the connector does not notice")
        source.restart()
        later = rest(source)
    assert sorted(ids([record for record in later if record.topic == "cdc.public.u"])) == [1, 2]


def test_a_table_that_is_made_while_the_slot_is_made_is_published_before_it_is_read(database: Make) -> None:
    more = {"publication.autocreate.mode": "filtered", "table.include.list": "public.*"}
    config = small(database(ROWS), **more)
    published = "select tablename::text from pg_publication_tables order by 1"
    with session(config) as writer:
        writer.execute("begin")
        writer.execute("create table u (id int primary key)")
        # The slot's snapshot is from after the end of this.
        starting = threading.Thread(target=lambda: started.append(SourceRunner(BackfillConnector, config).start()))
        started: list[SourceRunner] = []
        starting.start()
        try:
            wait_until(lambda: asked(config, published) == [("t",)], 60, "nothing is published")
        finally:
            writer.execute("commit")
            starting.join(120)
    [source] = started
    try:
        assert asked(config, published) == [("t",), ("u",)]
        assert source.poll()
    finally:
        source.stop()


def test_functions_of_others_are_never_called(database: Make) -> None:
    config = small(
        database(
            ROWS + "create table seen (by text);"
            "create function public.pg_relation_size(oid) returns bigint language sql as "
            "'insert into public.seen values (current_user) returning 0::bigint';"
            "create function public.format(text, text) returns text language sql as $$ select 'wrong' $$;"
        ),
        **{"table.include.list": "public.t"},
    )
    with SourceRunner(BackfillConnector, config) as source:
        assert sorted(ids(rest(source))) == list(range(1, COUNT + 1))
    assert asked(config, "select count(*) from seen") == [(0,)]


def test_rows_come_in_the_order_of_their_places_whatever_the_plan(database: Make) -> None:
    config = small(database(ROWS), **{"backfill.range.pages": "100000"})
    done(config, f"alter database {config['database.dbname']} set enable_tidscan = off")
    with SourceRunner(BackfillConnector, config) as source:
        assert ids(rest(source)) == list(range(1, COUNT + 1))


def test_types_and_names_of_users_are_not_taken_for_others(database: Make) -> None:
    config = database(
        "create schema ext; create extension hstore schema ext;"
        "create type public.path as enum ('a'); create type public.date as enum ('b');"
        'create table t (id int primary key, p public.path, d public.date, h ext.hstore, _e int[], "kconnect_row" int[]);'
        "insert into t values (1, 'a', 'b', 'k=>v', '{1}', '{2}');"
        'create schema a; create table a."b.c" (id int primary key); insert into a."b.c" values (2);'
    )
    with SourceRunner(BackfillConnector, config) as source:
        records = source.read(2)
        [row] = [record.value["after"] for record in records if record.topic == "cdc.public.t"]
        assert [row[name] for name in ("p", "d", "h", "_e", "kconnect_row")] == ["a", "b", '{"k":"v"}', [1], [2]]
        pages = [(at["schema"], at["table"]) for at, offset in source.offsets if offset.get("rows")]
    assert sorted(pages) == [("a", "b.c"), ("public", "t")]


@pytest.mark.parametrize("other", ['"order!items"', '"a.b".c', '"orderüitems"'])
def test_two_tables_that_have_one_topic_are_refused(database: Make, other: str) -> None:
    """Who may make a table would write into the topic of another one, with any keys."""
    config = database(
        'create schema "a.b"; create schema a; create table a."b.c" (id int primary key); '
        f"create table order_items (id int primary key); create table {other} (id int primary key)"
    )
    with pytest.raises(ConnectError, match=r"have one topic, cdc\."), SourceRunner(BackfillConnector, config) as source:
        source.read(1)


def test_who_waits_for_the_rate_holds_no_lock(database: Make) -> None:
    config = small(database(ROWS), **{"backfill.rows.per.second": "10", "backfill.range.pages": "100000"})
    with SourceRunner(BackfillConnector, config) as source:
        records = source.poll()
        # A machine that stood still for seconds reads on, and waits after that.
        while not records or inside(source)._cursor is not None:
            records += source.poll()
        with session(config) as connection:
            connection.execute("set lock_timeout = '60s'")
            connection.execute("alter table t add column more int")
        assert inside(source)._cursor is None
        inside(source)._config = {**inside(source)._config, "backfill.rows.per.second": 0}
        inside(source)._next_at = 0.0
        assert ids(records + rest(source)) == list(range(1, COUNT + 1))


def test_a_table_that_was_emptied_meanwhile_is_told(database: Make) -> None:
    config = small(database(ROWS + ROWS.replace(" t ", " u ")))
    with SourceRunner(BackfillConnector, config) as source:
        source.poll()
        done(config, "truncate u")
        with pytest.raises(ConnectError, match="was emptied"):
            rest(source)


def test_who_alters_a_table_waits_for_a_range_only(database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(BackfillConnector, config) as source:
        records = source.poll()
        while inside(source)._cursor is not None:
            records += source.poll()
        with session(config) as connection:
            connection.execute("set lock_timeout = '100ms'")
            connection.execute("alter table t add column more int")
        records += rest(source)
        assert sorted(ids(records)) == list(range(1, COUNT + 1))


def _fails_or_waits(source: SourceRunner) -> bool:
    try:
        assert not source.poll() or source.awaited is None
    except RetriableError:
        return False
    return source.awaited is not None


def test_a_snapshot_that_another_user_offers_is_not_taken(database: Make) -> None:
    config = small(database(ROWS))
    parsed = settings.CONFIG.parse(config)
    with SourceRunner(BackfillConnector, config) as source:
        [name] = asked(config, "select application_name from pg_stat_activity where application_name like 'kconnect-%' limit 1")
        mark = name[0].rpartition(":")[0]
        source.stop()
    done(config, "create role mallory login password 'm'")
    try:
        with session(config, user="mallory", password="m") as hostile:
            hostile.execute("begin isolation level repeatable read")
            [identity] = hostile.execute("select pg_export_snapshot()").fetchone() or ("",)
            hostile.execute(f"set application_name = '{mark}:{identity}'")
            with pytest.raises(LostError):
                Sessions(parsed, {}).joined()
            # The control: of our own user's it would be.
            with session(config) as own:
                own.execute("begin isolation level repeatable read")
                [identity] = own.execute("select pg_export_snapshot()").fetchone() or ("",)
                own.execute(f"set application_name = '{mark}:{identity}'")
                connection, _ = Sessions(parsed, {}).joined()
                connection.close()
                # But not if another one is wanted, nor of a slot that was there before: its snapshot is older than this one's.
                with pytest.raises(LostError):
                    Sessions(parsed, {}).joined("1:1:")
                own.execute(f"set application_name = '{mark.partition(':')[0]}:1:{identity}'")
                with pytest.raises(LostError):
                    Sessions(parsed, {}).joined()
    finally:
        done(config, "drop role mallory")


def test_names_are_taken_as_they_are(database: Make) -> None:
    odd = 'a"b%s {x} \\ ;--\n'
    config = small(
        database(
            f"create table {quoted(odd)} ({quoted(odd)} int primary key, {quoted('%')} text[]);"
            f"insert into {quoted(odd)} values (1, '{{a}}')"
        )
    )
    with SourceRunner(BackfillConnector, config) as source:
        [record] = source.read(1)
    assert record.topic == "cdc.public.a_b_s__x_____--_"
    assert record.value["after"][odd] == 1 and record.value["after"]["%"] == ["a"]
    assert str(Name("s", "t")) == "s.t"


def test_tables_and_columns_are_chosen_as_by_debezium(database: Make) -> None:
    make = "create table {0} (id int primary key, secret text); insert into {0} values (1, 's');"
    config = small(
        database(
            make.format("orders")
            + make.format("Orders2")
            + make.format("other")
            + "create schema s; "
            + make.format("s.orders")
        )
    )
    chosen = {"table.include.list": "PUBLIC.ORDERS\\d?, s.*", "column.exclude.list": ".*secret"}
    with SourceRunner(BackfillConnector, {**config, **chosen}) as source:
        records = source.read(3)
    assert sorted(record.topic for record in records) == ["cdc.public.orders", "cdc.public.orders2", "cdc.s.orders"]
    assert {field.name for record in records for field in record.value["after"].schema.fields} == {"id"}


@pytest.mark.parametrize(
    ("statements", "settings", "text"),
    [
        ("create table p (id int) partition by range (id)", {}, "has partitions"),
        ("create table p (id int); create table q () inherits (p)", {}, "inherit"),
        ("create unlogged table p (id int)", {}, "is UNLOGGED, so the change stream never has its changes"),
        ("create table p (id int)", {"table.include.list": "none"}, "no table that the config names"),
        ("create table p (id int)", {"publication.autocreate.mode": "disabled"}, "There is no publication"),
        ("create table p (id int)", {"database.password": "wrong"}, "password authentication failed"),
        ("create table p (id int)", {"database.hostname": "a,b"}, "several hosts"),
    ],
)
def test_what_can_not_be_read_is_told(database: Make, statements: str, settings: dict[str, str], text: str) -> None:
    config = {**database(statements), **settings}
    with pytest.raises(ConnectError, match=text):
        SourceRunner(BackfillConnector, config).start()


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("revoke select on t from reader", "reader may not read public.t: GRANT SELECT"),
        ("revoke select on t from reader; grant select (id) on t to reader", "reader may not read public.t: GRANT SELECT"),
        ("alter table t enable row level security", "reader sees only some rows of public.t"),
        ("grant select on t to reader", ""),
    ],
)
def test_a_table_that_can_be_read_in_part_only_is_told(database: Make, statement: str, text: str) -> None:
    config = database(ROWS)
    done(config, "create role reader login replication password 'r'")
    done(config, f"grant select on t to reader; create publication {config['publication.name']} for all tables; {statement}")
    try:
        source = SourceRunner(BackfillConnector, {**config, "database.user": "reader", "database.password": "r"})
        if text:
            with pytest.raises(ConnectError, match=text):
                source.start()
            return
        with source:
            assert len(source.read(COUNT)) == COUNT
    finally:
        end_sessions(config)
        done(config, "drop owned by reader; drop role reader")


def test_a_column_that_may_not_be_read_or_is_gone_is_told_for_good(database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(BackfillConnector, config) as source:
        while not inside(source)._table or inside(source)._cursor:
            source.poll()
        done(config, "alter table t drop column note")
        with pytest.raises(ConnectError, match=r"Columns of public\.t were altered.*begin it anew"):
            source.poll()


def test_a_type_that_is_not_understood_is_told_with_its_column(database: Make) -> None:
    config = database(
        "create type pair as (a int, b int); create table p (id int primary key, both_of pair);insert into p values (1, (1, 2))"
    )
    with (
        SourceRunner(BackfillConnector, config) as source,
        pytest.raises(ConnectError, match=r"public\.p\.both_of: The type public.pair"),
    ):
        source.poll()


def test_tables_that_can_not_be_copied_are_left_out_if_the_config_says_so(database: Make) -> None:
    """Whoever may make a table must not end the copy of all others that a pattern names."""
    config = database(ROWS)
    done(
        config,
        f"create role reader login replication password 'r'; create publication {config['publication.name']} for all tables",
    )
    done(
        config,
        "create type pair as (a int, b int); create table typed (id int primary key, both_of pair);"
        "create table parts (id int) partition by range (id); create unlogged table quick (id int);"
        "create table hidden (id int); create schema closed; create table closed.t (id int);"
        "create table partly (id int); alter table partly enable row level security;"
        "grant select on all tables in schema public to reader; grant select on closed.t to reader;"
        "revoke select on hidden from reader",
    )
    ours = {**config, "database.user": "reader", "database.password": "r"}
    try:
        with pytest.raises(ConnectError, match=r"may not read|has partitions|UNLOGGED|only some rows"):
            SourceRunner(BackfillConnector, ours).start()
        with SourceRunner(BackfillConnector, {**ours, "backfill.unfit.tables": "leave.out"}) as source:
            assert len(source.read(COUNT)) == COUNT
            told = json.loads(source.task_configs[0]["backfill.snapshot"])["left_out"]
            assert len(told) == 6
            for text in (
                "public.typed.both_of: The type public.pair is not understood",
                *("public.parts has partitions", "public.quick is UNLOGGED", "may not read public.hidden: GRANT SELECT"),
                *("may not read closed.t: GRANT USAGE ON SCHEMA", "only some rows of public.partly"),
            ):
                assert [each for each in told if text in each], text
            connector: Any = source.connector
            wait_until(lambda: connector._done or source.error, 60, "it hands nothing over")
            assert json.loads(connector._done["left_out"]) == told
    finally:
        end_sessions(config)
        done(config, "drop owned by reader; drop role reader")


def test_where_no_table_can_be_copied_that_is_told_with_a_reason(database: Make) -> None:
    config = {**database("create unlogged table p (id int)"), "backfill.unfit.tables": "leave.out"}
    with pytest.raises(ConnectError, match=r"no table that the config names.*public\.p is UNLOGGED"):
        SourceRunner(BackfillConnector, config).start()


def test_what_is_told_of_tables_is_no_longer_however_many_there_are() -> None:
    told = told_of({f"s.t{number}": "x" * 1000 for number in range(1000)})
    assert len(told) == 21 and told[-1] == "and 980 more" and max(map(len, told)) == 500


@pytest.mark.parametrize("value", ["{a,null}", "{{a},{b}}"])
def test_an_array_of_labels_that_debeziums_schema_has_no_place_for_is_told_with_its_column(database: Make, value: str) -> None:
    config = database(
        "create type mood as enum ('a', 'b'); create table p (id int primary key, m mood[]);"
        f"insert into p values (1, '{value}')"
    )
    with (
        SourceRunner(BackfillConnector, config) as source,
        pytest.raises(ConnectError, match=r"public\.p\.m: An array of an enum has a null, or an array"),
    ):
        rest(source)


def test_the_longest_intervals_are_the_greatest_numbers(database: Make) -> None:
    config = database(
        "create table p (id int primary key, i interval);"
        "insert into p values (1, '178000000 years'), (2, '-178000000 years'), (3, '1 day'), (4, null)"
    )
    with SourceRunner(BackfillConnector, config) as source:
        assert [record.value["after"]["i"] for record in rest(source)] == [2**63 - 1, -(2**63), 86_400_000_000, None]


def test_a_row_that_memory_has_no_room_for_is_told_for_good(database: Make) -> None:
    """How much memory an answer takes depends on what the process has: so only what follows from it is tried here."""
    with SourceRunner(BackfillConnector, database(ROWS)) as source:
        task = inside(source)
        task._average = 50
        counts = [task.count()]
        with pytest.raises(ConnectError, match=r"public\.t has a row for which the database's answer takes more than 512 MiB"):
            while True:
                task.distrust_weight("public.t")
                counts.append(task.count())
    assert counts[0] == 5000 and counts[-1] == 1 and counts == sorted(counts, reverse=True) and len(counts) < 10


@pytest.mark.parametrize(("rate", "tasks", "rates"), [(1, 8, [1]), (10, 4, [3, 3, 2, 2]), (4, 4, [1, 1, 1, 1])])
def test_all_tasks_together_keep_to_the_rate(database: Make, rate: int, tasks: int, rates: list[int]) -> None:
    config = small(database(ROWS), **{"backfill.rows.per.second": str(rate)})
    with SourceRunner(BackfillConnector, config) as source:
        configs = source.connector.task_configs(tasks)
        assert [int(task[settings.RATE]) for task in configs] == rates
        # Nor does the first batch have more than a few seconds' rows.
        inside(source)._config = {**inside(source)._config, settings.RATE: 1}
        inside(source)._average = 50
        assert inside(source).count() == 5


def test_a_slot_of_debeziums_that_is_there_already_is_not_touched(database: Make) -> None:
    config = database(ROWS)
    done(config, f"select pg_create_logical_replication_slot('{config['slot.name']}', 'pgoutput')")
    with pytest.raises(ConnectError, match="There is a replication slot"):
        SourceRunner(BackfillConnector, config).start()
    assert asked(config, "select slot_name from pg_replication_slots where database = current_database()") == [
        (config["slot.name"],)
    ]


def test_a_slot_that_is_in_use_is_told_and_not_left_behind_in_silence(database: Make) -> None:
    config = database(ROWS)
    with SourceRunner(BackfillConnector, config) as source:
        source.poll()
    slot = Sessions(settings.CONFIG.parse(config), {}).slot
    connected = psycopg.connect(
        host=config["database.hostname"],
        port=int(config["database.port"]),
        user=config["database.user"],
        password=config["database.password"],
        dbname=config["database.dbname"],
        autocommit=True,
        replication="database",
    )
    with contextlib.closing(connected) as reader:
        names = f"proto_version '1', publication_names '{config['publication.name']}'"
        reader.pgconn.send_query(f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ({names})".encode())
        query = f"select active from pg_replication_slots where slot_name = '{slot}'"
        wait_until(lambda: asked(config, query) == [(True,)], 60, "nobody reads from the slot")
        with pytest.raises(ConnectError, match=f"The replication slot {slot} is in use by the server's process"):
            BackfillConnector().alter_offsets(config, [(source.offsets[0][0], None)])
    wait_until(lambda: asked(config, query) == [(False,)], 60, "it is read from on and on")
    assert BackfillConnector().alter_offsets(config, [(source.offsets[0][0], None)])
    assert asked(config, query) == []


def test_who_resets_the_offsets_gives_the_slot_back(database: Make) -> None:
    config = database(ROWS)
    with SourceRunner(BackfillConnector, config) as source:
        source.poll()
    query = "select count(*) from pg_replication_slots where database = current_database()"
    assert asked(config, query) == [(1,)]
    connector = BackfillConnector()
    for _ in range(2):
        assert connector.alter_offsets(config, [(source.offsets[0][0], None)])
        assert asked(config, query) == [(0,)]
    with pytest.raises(ConnectError, match="only reset"):
        connector.alter_offsets(config, [({"a": 1}, {"b": 1})])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decimal.handling.mode", "rounded"),
        ("time.precision.mode", "connect"),
        ("slot.name", "My-Slot"),
        ("slot.failover", "true"),
        ("table.include.list", "public.(t"),
        ("backfill.debezium.version", "3.5.0.Final"),
        ("message.key.columns", "a:b"),
        ("column.mask.hash.SHA-256.with.salt.x", "public.t.note"),
        ("snapshot.select.statement.overrides", "public.t"),
        ("plugin.name", "decoderbufs"),
        ("database.sslcert", "/etc/passwd"),
        ("converters", "mine"),
    ],
)
def test_what_would_change_debeziums_records_is_refused(name: str, value: str) -> None:
    config = {
        "database.hostname": "localhost",
        "database.user": "u",
        "database.dbname": "d",
        "topic.prefix": "cdc",
        "plugin.name": "pgoutput",
        "backfill.debezium.version": "3.6.1.Final",
    }
    assert not config_errors(BackfillConnector, config)
    assert name in config_errors(BackfillConnector, {**config, name: value})


def test_what_the_database_keeps_for_the_copy_is_told(database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(BackfillConnector, config) as source:
        before = asked(config, "select pg_current_wal_insert_lsn()")[0][0]
        done(config, "update t set note = repeat('y', 300) where id <= 300; update t set note = 'z' where id = 1")
        written = asked(config, f"select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{before}')::int8")[0][0]
        source.poll()
        told = inside(source).context.numbers.by_labels()[()]
        assert told["backfill_snapshot_transactions"] >= 1
        assert told["backfill_log_held_bytes"] >= written > 300 * 300
        assert 0 <= told["backfill_snapshot_seconds"] < 3600


def test_who_gives_up_has_the_slot_for_debezium_dropped_as_long_as_nobody_reads_it(database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(BackfillConnector, config) as source:
        rest(source)
        handed_over(source, config)
    slots = "select slot_name::text from pg_replication_slots where database = current_database()"
    assert (config["slot.name"],) in asked(config, slots)
    given_up = {**config, settings.GIVEN_UP: "true"}
    offsets = [({"backfill": "done"}, None)]
    connector = BackfillConnector()
    # One that has moved on is Debezium's.
    done(config, "update t set note = 'y'; select pg_switch_wal()")
    done(config, f"select pg_replication_slot_advance('{config['slot.name']}', pg_current_wal_flush_lsn())")
    connector.alter_offsets(given_up, offsets)
    assert asked(config, slots) == [(config["slot.name"],)]
    done(config, f"select pg_drop_replication_slot('{config['slot.name']}')")
    with SourceRunner(BackfillConnector, config) as source:
        rest(source)
        handed_over(source, config)
    connector.alter_offsets(given_up, offsets)
    assert asked(config, slots) == []
