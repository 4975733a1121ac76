"""What roles, databases and URLs set for a session changes nothing of what is read."""

from __future__ import annotations

import pytest

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
