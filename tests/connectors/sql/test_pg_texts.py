"""Texts that PostgreSQL itself reads, for columns that have less room: rounded, cut off and shifted by nobody."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, INTERVAL, MONEY, TIME, TIMESTAMP

from kconnect.api import STRING_SCHEMA, DataError
from kconnect.connectors.sql import types
from kconnect.connectors.sql.pg_texts import Octets
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.sql.test_as_it_is import TOLERANT, Table, _, table

__all__ = ["table"]

BERLIN = ZoneInfo("Europe/Berlin")
FREE, WHOLE, ZONED = TIMESTAMP(), TIMESTAMP(precision=0), TIMESTAMP(timezone=True)
TAKEN: list[tuple[Any, str]] = [
    (INTERVAL(precision=0), "1 day 02:03:04"),
    (INTERVAL(precision=0), "1.000 s"),
    (INTERVAL(), "1.234567 s"),
    (INTERVAL(fields="YEAR TO MONTH"), "1 year -2 mons"),
    (INTERVAL(fields="YEAR TO MONTH"), "1-2"),
    (INTERVAL(fields="DAY TO SECOND"), "1 day 02:03:04.5"),
    (INTERVAL(fields="DAY TO MINUTE"), "1 day 02:03"),
    (Octets(1), "c"),
    (Octets(63), "x" * 63),
    (ARRAY(sa.Numeric(5, 2)), '{1.25,NULL,"2.50"}'),
    (ARRAY(sa.String(3)), '{abc,"a,b",""}'),
    (ARRAY(WHOLE), '{"2024-01-01 10:00:00"}'),
    (WHOLE, "Jan 5 2024 10:20:30"),
    (FREE, "Jan 5 2024 10:20:30.123456 PM"),
    (FREE, "infinity"),
    (sa.Date(), "Jan 5 2024"),
    (sa.Date(), "0044-03-15 BC"),
    (ZONED, "Jan 5 2024 10:20:30 PST"),
    (TIME(), "10:20:30 PM"),
]
REFUSED: list[tuple[Any, str]] = [
    (INTERVAL(precision=0), "1.6 s"),
    (INTERVAL(precision=3), "00:00:01.2345"),
    (INTERVAL(), "1.2345678 s"),
    (INTERVAL(fields="YEAR TO MONTH"), "1 year 3 days"),
    (INTERVAL(fields="YEAR TO MONTH"), "1 year 10:00"),
    (INTERVAL(fields="DAY TO MINUTE"), "1 day 02:03:04"),
    (INTERVAL(fields="HOUR"), "1 h 2 min"),
    (ARRAY(INTERVAL(precision=0)), '{"1.6 s"}'),
    (Octets(1), "ab"),
    (Octets(1), "é"),
    (Octets(63), "x" * 64),
    (MONEY(), "$12.345"),
    (MONEY(), "12,3456 €"),
    (MONEY(), "12.345"),
    (ARRAY(sa.Numeric(5, 2)), "{1,1.239}"),
    (ARRAY(sa.Numeric(5, 2)), '{{1},{"1.239"}}'),
    (ARRAY(sa.String(3)), '{"ab  "}'),
    (ARRAY(WHOLE), "[0:0]={2024-01-01 10:00:00.7}"),
    (WHOLE, "Jan 5 2024 10:20:30.7"),
    (FREE, "Jan 5 2024 10:20:30.1234567"),
    (FREE, "2024-01-05 10:20:30 America/New_York"),
    (FREE, "Jan 5 2024 10:20:30 PST"),
    (sa.Date(), "Jan 5 2024 10:20"),
    (TIME(precision=0), "10:20:30.7 PM"),
    (TIME(), "10:20:30+05"),
]


def converted(kind: Any, text: str, with_schema: bool) -> Any:
    convert = types.conversion(STRING_SCHEMA if with_schema else None, sa.Column("v", kind), "postgresql", BERLIN)
    return text if convert is None else convert(text)


def test_what_a_column_has_room_for() -> None:
    for kind, text in TAKEN:
        assert converted(kind, text, True) == text, (kind, text)


def test_amounts_are_plain_numbers() -> None:
    amounts = {
        "$12.34": "12.34",
        "$1,234": "1234.0",
        "-$1,234,567.80": "-1234567.80",
        "1.234,56 €": "1234.56",
        "12,34": "12.34",
        "1.234.567": "1234567.0",
        "(1.50)": "-1.50",
        "1 234,5": "1234.5",
        "7": "7.0",
        "nothing": "nothing",
    }
    assert {text: converted(MONEY(), text, True) for text in amounts} == amounts


@pytest.mark.parametrize("with_schema", [True, False], ids=["schema", ""])
def test_what_a_column_has_no_room_for(with_schema: bool) -> None:
    for kind, text in REFUSED:
        with pytest.raises(DataError):
            pytest.fail(f"{kind} {text}: {converted(kind, text, with_schema)}")


@pytest.mark.parametrize(
    "text", ["2024-01-05T10:20:30+05:00", "2024-01-05 10:20:30+05", "2024-01-05 10:20:30 +05:00", "2024-01-05T05:20:30Z"]
)
def test_a_zone_is_not_left_out(text: str) -> None:
    assert converted(FREE, text, True) == datetime.datetime(2024, 1, 5, 6, 20, 30)


def test_a_time_of_day_with_a_zone_is_refused_where_there_is_none() -> None:
    for backend in ("postgresql", "mariadb", "sqlite"):
        convert = types.conversion(None, sa.Column("v", sa.Time()), backend, BERLIN)
        assert convert is not None
        with pytest.raises(DataError, match="has a time zone, and the column has none"):
            convert("10:20:30+05:00")


@pytest.mark.parametrize("database", EVERY[1:2], indirect=True)
def test_texts_with_a_length_in_bytes(database: Database, table: Table) -> None:
    database.execute(f'create table {table.topic} (id "char", name name)')
    with table.sink(**_(TOLERANT)) as sink:
        sink.put(
            [table.record({"id": id, "name": name}) for id, name in (("a", "n"), ("bc", "n"), ("d", "é" * 32), ("é", "n"))]
        )
        assert [record.original_offset for record, _ in sink.reported] == [1, 2, 3]
    assert table.rows() == [("a", "n")]
