"""What roles, databases and URLs set for a session changes nothing of what is read."""

from __future__ import annotations

from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from kconnect.api import DataError, RetriableError, SinkRecord, TopicPartition
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.fields import Options
from kconnect.connectors.sql.listing import TableName
from kconnect.connectors.sql.relations import TableRelation
from kconnect.connectors.sql.task import SqlSinkTask
from kconnect.testing import SinkRunner
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.sql.test_source import polled, source

SETTINGS = {
    "extra_float_digits": "-10",
    "datestyle": "'SQL, DMY'",
    "quote_all_identifiers": "on",
    "client_encoding": "'LATIN1'",
    "timezone": "'America/New_York'",
}


@pytest.mark.parametrize("database", EVERY[1:2], indirect=True)
def test_settings_of_a_role_of_postgresql(database: Database, topic: str, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(lambda: database.execute("alter role kconnect reset all"))
    database.execute(
        f"create table {topic} (id integer, f float8, d date, t timestamp, z timestamptz not null, s text)",
        f"insert into {topic} values (1, 0.1234567890123456, '2024-02-01', null, '2024-02-01 10:00+00', 'Ω')",
        *(f"alter role kconnect set {name} = {value}" for name, value in SETTINGS.items()),
    )
    # Of times with a zone and without, the database would take the session's zone for the others.
    more = {"mode": "timestamp", "timestamp_column_name": "t,z", "validate_non_null": "false"}
    with source(database, topic, **more) as runner:
        (record,) = polled(runner)
        row = record.value
        assert (row["f"], row["s"], row["d"].day, row["z"].hour) == (0.1234567890123456, "Ω", 1, 10)
        assert record.source_offset == {"timestamp": 1706781600000, "timestamp_nanos": 0}
        database.execute(f"insert into {topic} values (2, 0, null, '2024-02-01 10:30', now(), null)")
        assert [record.value["id"] for record in polled(runner)] == [2]


@pytest.mark.parametrize("database", EVERY[2:], indirect=True)
def test_a_character_set_of_a_url_of_mariadb(database: Database, topic: str) -> None:
    database.execute(f"create table {topic} (id integer primary key, s varchar(9))", f"insert into {topic} values (1, 'Ωé')")
    database.config["connection.url"] = (
        database.config["connection.url"].replace("jdbc:mariadb:", "mariadb+pymysql:") + "?charset=latin1"
    )
    with source(database, topic, mode="incrementing", incrementing_column_name="id") as runner:
        assert [record.value["s"] for record in polled(runner)] == ["Ωé"]


@pytest.mark.parametrize("database", EVERY[2:], indirect=True)
def test_a_limit_of_rows_of_mariadb(database: Database, topic: str, request: pytest.FixtureRequest) -> None:
    database.execute(f"create table {topic} (id integer primary key)", f"insert into {topic} values (1), (2), (3)")
    request.addfinalizer(lambda: database.execute("set global sql_select_limit = default"))
    database.execute("set global sql_select_limit = 1")
    with source(database, topic, mode="bulk") as runner:
        assert [record.value["id"] for record in runner.poll()] == [1, 2, 3]


@pytest.mark.parametrize("database", EVERY[2:], indirect=True)
def test_a_table_of_which_columns_can_not_be_found_out_is_no_table_without_them(database: Database, topic: str) -> None:
    database.execute(f"create table {topic} (id integer primary key, s varchar(9))")
    relation = TableRelation(TableName(None, topic), "")
    with database.engine.connect() as connection:
        # SQLAlchemy reads what the server says of a table, and passes over lines that it does not know.
        connection.execute(sa.text("set sql_quote_show_create = 0"))
        with pytest.raises(DataError, match=r"has columns that could not be found out: (id, )?s"):
            relation.look(connection, Options("mariadb", "none", "connect_logical", ZoneInfo("UTC")))


@pytest.mark.parametrize("database", EVERY[2:], indirect=True)
@pytest.mark.parametrize("is_made", [True, False], ids=["made", "there"])
def test_offsets_without_transactions_are_not_there_before_their_rows(
    database: Database, topic: str, is_made: bool, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    """A server whose tables are Aria's unless somebody says otherwise, and a connection that is lost at the commit."""
    request.addfinalizer(lambda: database.execute("set global default_storage_engine = default"))
    database.execute(f"create table {topic} (id integer primary key) engine=InnoDB", "set global default_storage_engine = Aria")
    if is_made:
        columns = "connector varchar(200), topic varchar(249), part integer, next_offset bigint not null, epoch bigint not null"
        database.execute(
            f"create table offsets_{topic} ({columns}, topic_id varchar(40), primary key (connector, topic, part))"
        )
    config = {"name": "c", "topics": topic, **database.config, "offsets.table": f"offsets_{topic}", "retry.backoff.ms": "0"}
    with SinkRunner(SqlSinkConnector, config) as sink:
        sink.open(TopicPartition(topic, 0))
        engine, lost = cast(SqlSinkTask, sink.task)._engine, iter([True])
        assert engine is not None

        def before(connection: sa.Connection) -> None:
            if next(lost, False):
                driver: Any = connection.connection.driver_connection
                database.execute(f"kill {driver.thread_id()}")

        sa.event.listen(engine, "commit", before)
        record = SinkRecord(topic, 0, None, None, None, {"id": 1}, 0)
        with pytest.raises(RetriableError):
            sink.put([record])
        sink.put([record])
    assert database.rows(f"select id from {topic}") == [(1,)]
    assert database.rows(f"select next_offset from offsets_{topic}") == [(1,)]
    assert ("ENGINE=InnoDB helps" in caplog.text) == is_made
