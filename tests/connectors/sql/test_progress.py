"""How far a table was read: what says so is a whole number, a time that there is, and the table's own."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from kconnect.api import ConnectError, DataError
from kconnect.connectors.sql import fields, listing
from kconnect.connectors.sql.listing import TableName
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.sql.test_source import polled, source

on_sqlite = pytest.mark.parametrize("database", EVERY[:1], indirect=True)


@on_sqlite
def test_a_fraction_says_not_how_far_a_table_was_read(database: Database, topic: str) -> None:
    database.execute(f"create table {topic} (id real not null, v integer)", f"insert into {topic} values (1.0, 1), (2.5, 2)")
    with (
        source(database, topic, mode="incrementing", incrementing_column_name="id") as runner,
        pytest.raises(ConnectError, match=r"the number 2\.5, which says what is new, is no integer: name a column of integers"),
    ):
        polled(runner)


@on_sqlite
def test_a_table_that_was_made_anew_is_told_of(database: Database, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    database.execute(f"create table {topic} (id integer primary key)", f"insert into {topic} values (7)")
    offsets = [({"protocol": "1", "table": topic}, {"incrementing": 7})]
    with source(database, topic, "incrementing", offsets, incrementing_column_name="id") as runner:
        assert polled(runner) == []
    assert not caplog.messages
    database.execute(f"delete from {topic}", f"insert into {topic} values (1), (2)")
    with source(database, topic, "incrementing", offsets, incrementing_column_name="id") as runner:
        assert polled(runner) == []
    assert [text for text in caplog.messages if "has no greater number than 2, but was read up to 7" in text]


def moment(text: str, zone: str) -> Any:
    own = fields.Options("postgresql", "none", "connect_logical", ZoneInfo(zone))
    return fields.moment_of(sa.DateTime(), own)(datetime.datetime.fromisoformat(text))


@pytest.mark.parametrize(("text", "zone"), [("2024-03-31 02:30", "Europe/Berlin"), ("2024-03-10 02:00", "America/New_York")])
def test_a_time_that_summer_time_skips_is_refused(text: str, zone: str) -> None:
    with pytest.raises(DataError, match=r"is a time that summer time skips in .*: set db\.timezone to the zone"):
        moment(text, zone)


@pytest.mark.parametrize(
    ("text", "zone", "hour"),
    [
        ("2024-03-31 01:59:59", "Europe/Berlin", 0),
        ("2024-03-31 03:00", "Europe/Berlin", 1),
        ("2024-10-27 02:30", "Europe/Berlin", 0),
        ("2024-03-31 02:30", "UTC", 2),
    ],
)
def test_other_times_are_not(text: str, zone: str, hour: int) -> None:
    assert moment(text, zone).hour == hour


def test_two_tables_of_one_name_in_offsets_are_refused() -> None:
    listing.check_distinct([TableName("a", "b.d"), TableName("a.b", "c"), TableName(None, "c")])
    with pytest.raises(ConnectError, match=r"have one name in offsets, a\.b\.c: leave one of them out by schema\.pattern"):
        listing.check_distinct([TableName("a", "b.c"), TableName("a.b", "c")])
