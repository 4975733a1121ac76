"""Tables that a record has chosen, by a topic that a transform has made, and that the sink's user may not use."""

from __future__ import annotations

import pytest

from kconnect.api import INT32_SCHEMA, STRING_SCHEMA, ConnectError, SinkRecord, Struct, schema
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.testing import SinkRunner
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database

ROW = schema.struct({"id": INT32_SCHEMA})


def row(own: str, offset: int, topic: str) -> SinkRecord:
    return SinkRecord(own, 0, None, None, ROW, Struct(ROW, {"id": offset}), offset).new_record(topic=topic)


@pytest.mark.parametrize("database", EVERY[1:], indirect=True)
@pytest.mark.parametrize("creates", ["false", "true"])
def test_a_table_that_may_not_be_used_is_its_records_fault(database: Database, topic: str, creates: str) -> None:
    """Who may write a record names another table: the task failed for good. The topic that the config names still fails it."""
    hidden, user = f"{topic}_hidden", f"low_{topic}"
    database.execute(f"create table {topic} (id int)", f"create table {hidden} (id int)")
    if database.backend == "postgresql":
        database.execute(f"create user {user} password 'low'", f"grant insert, select on {topic} to {user}")
    else:
        database.execute(f"create user {user}@'%' identified by 'low'", f"grant insert, select on trial.{topic} to {user}@'%'")
    login = {**database.config, "connection.user": user, "connection.password": "low", "auto.create": creates}
    config = {**login, "name": "c", "topics": topic, "errors.tolerance": "all", "max.retries": "0"}
    with SinkRunner(SqlSinkConnector, config) as sink:
        sink.put([row(topic, 0, topic), row(topic, 1, hidden), row(topic, 2, f"{topic}_none"), row(topic, 3, topic)])
        assert sorted(bad.original_offset for bad, _ in sink.reported) == [1, 2]
    assert database.rows(f"select id from {topic} order by id") == [(0,), (3,)]
    if database.backend == "postgresql":
        database.execute(f"grant insert, select on {hidden} to {user}")
        with SinkRunner(SqlSinkConnector, {**config, "topics": hidden}) as sink:
            database.execute(f"revoke insert on {hidden} from {user}")
            with pytest.raises(ConnectError, match="permission denied"):
                sink.put([row(hidden, 0, hidden)])


@pytest.mark.parametrize("database", EVERY[1:], indirect=True)
def test_what_a_database_refuses_of_one_row_is_that_rows_fault(database: Database, topic: str) -> None:
    """
    Who may write a record has the database refuse it in a way of its own: by a policy, a trigger with a code of its own, a view
    with a check, or for want of a partition. The task failed for good.
    """
    login: dict[str, str] = {}
    if database.backend == "postgresql":
        user = f"tenant_{topic}"
        database.execute(
            f"create table {topic} (id int primary key)",
            f"create user {user} password 'low'",
            f"grant insert, select, update on {topic} to {user}",
            f"alter table {topic} enable row level security",
            f"create policy p on {topic} using (true) with check (id <> 1)",
            f"create function {topic}_no() returns trigger language plpgsql as $$ begin if new.id = 2 then "
            "raise exception 'no' using errcode = 'T0002'; end if; return new; end $$",
            f"create trigger n before insert on {topic} for each row execute function {topic}_no()",
        )
        login = {"connection.user": user, "connection.password": "low"}
    else:
        database.execute(
            f"create table {topic}_whole (id int primary key) partition by range (id) (partition p values less than (100))",
            f"create view {topic} as select id from {topic}_whole where id <> 1 with check option",
            f"create trigger {topic}_n before insert on {topic}_whole for each row begin if new.id = 2 then "
            "signal sqlstate '45000' set mysql_errno = 30001, message_text = 'no'; end if; end",
        )
    bad = [1, 2] if database.backend == "postgresql" else [1, 2, 100]
    config = {**database.config, **login, "name": "c", "topics": topic, "errors.tolerance": "all", "max.retries": "0"}
    mode = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"} if database.backend == "postgresql" else {}
    with SinkRunner(SqlSinkConnector, {**config, **mode}) as sink:
        sink.put([row(topic, number, topic) for number in (0, 1, 2, 3, 100)])
        assert sorted(record.original_offset for record, _ in sink.reported) == bad
    assert database.rows(f"select id from {topic} order by id") == [(each,) for each in (0, 3, 100) if each not in bad]


@pytest.mark.parametrize("database", EVERY[1:2], indirect=True)
@pytest.mark.parametrize("mode", ["insert", "upsert"])
@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("tsvector", "a b", "'x"),
        ("tsquery", "a & b", "a b"),
        ("jsonpath", "$.a", "$.["),
        ("ltree", "a.b", "a b"),
        ("hstore", "a=>1", "a=>"),
        ("regclass", "pg_class", "nope"),
        ("regtype", "int", "nope"),
        ("regconfig", "english", "nope"),
        ("regrole", "pg_monitor", "nope"),
    ],
)
def test_a_text_that_its_type_refuses_is_that_rows_fault(
    database: Database, topic: str, mode: str, kind: str, good: str, bad: str
) -> None:
    """Who may write a record has a type refuse a text as if the statement were wrong, or a table missing: the task failed."""
    words = schema.struct({"id": INT32_SCHEMA, "v": STRING_SCHEMA})
    if kind in ("ltree", "hstore"):
        database.execute(f"create extension if not exists {kind}")
    database.execute(f"create table {topic} (id int primary key, v {kind})")
    config = {**database.config, "name": "c", "topics": topic, "errors.tolerance": "all", "max.retries": "0"}
    keys = {"insert.mode": mode, "pk.mode": "record_value", "pk.fields": "id"}
    with SinkRunner(SqlSinkConnector, {**config, **keys}) as sink:
        rows = [Struct(words, {"id": number, "v": text}) for number, text in enumerate((good, bad, good))]
        sink.put([SinkRecord(topic, 0, None, None, words, value, value["id"]) for value in rows])
        assert [record.original_offset for record, _ in sink.reported] == [1]
    assert database.rows(f"select id from {topic} order by id") == [(0,), (2,)]


@pytest.mark.parametrize("database", EVERY[1:2], indirect=True)
def test_what_a_row_meets_as_a_whole_may_be_met_by_all(database: Database, topic: str) -> None:
    """A database that is out of order has its rows come again: they are not bad ones."""
    database.execute(
        f"create table {topic} (id int)",
        f"create function {topic}_no() returns trigger language plpgsql as $$ begin raise 'no' using errcode = 'XX000'; end $$",
        f"create trigger n before insert on {topic} for each row execute function {topic}_no()",
    )
    config = {**database.config, "name": "c", "topics": topic, "errors.tolerance": "all", "max.retries": "0"}
    with SinkRunner(SqlSinkConnector, config) as sink, pytest.raises(ConnectError, match="says: no"):
        sink.put([row(topic, 0, topic)])


@pytest.mark.parametrize("database", EVERY[2:], indirect=True)
@pytest.mark.parametrize("mode", ["insert", pytest.param("upsert", marks=pytest.mark.long)])
def test_a_row_that_no_packet_takes_is_that_rows_fault(database: Database, topic: str, mode: str) -> None:
    """Who may write sends a text that takes little when packed: the server ended the connection, and the task tried again."""
    words = schema.struct({"id": INT32_SCHEMA, "v": STRING_SCHEMA})
    database.execute(f"create table {topic} (id int primary key, v longtext)")
    most = int(database.rows("select @@max_allowed_packet")[0][0])
    config = {**database.config, "name": "c", "topics": topic, "errors.tolerance": "all", "max.retries": "0"}
    keys = {"insert.mode": mode, "pk.mode": "record_value", "pk.fields": "id"}
    with SinkRunner(SqlSinkConnector, {**config, **keys}) as sink:
        rows = [
            Struct(words, {"id": at, "v": "a" * size})
            for at, size in enumerate((1, most - 200, most - 20, most + 1, 2 * most, 1))
        ]
        sink.put([SinkRecord(topic, 0, None, None, words, value, value["id"]) for value in rows])
        assert [record.original_offset for record, _ in sink.reported] == [2, 3, 4]
    assert database.rows(f"select id from {topic} order by id") == [(0,), (1,), (5,)]
