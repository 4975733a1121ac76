"""What errors of databases mean, by their codes: no server is needed to raise them."""

from __future__ import annotations

import time

import psycopg
import pymysql.err
import pytest
from sqlalchemy.exc import DBAPIError, OperationalError

from kconnect.connectors.sql import database, faults


def of_mysql(code: int, state: str | None) -> DBAPIError:
    original = pymysql.err.OperationalError(code, "what it says")
    # PyMySQL sets it since 1.2.
    original.sqlstate = state
    return OperationalError("", {}, original)


@pytest.mark.parametrize("state", [None, "HY000"])
@pytest.mark.parametrize("code", [1205, 1040, 2013, 1927])
def test_locks_and_lost_connections_of_mysql_pass(code: int, state: str | None) -> None:
    assert database.passes(of_mysql(code, state))


@pytest.mark.parametrize(
    ("code", "state"), [(1153, "08S01"), (1045, "28000"), (1146, "42S02"), (1366, "HY000"), (1366, "22007"), (4025, "23000")]
)
def test_a_state_does_not_hide_what_a_code_of_mysql_says(code: int, state: str) -> None:
    error, without = of_mysql(code, state), of_mysql(code, None)
    for meaning in (database.passes, database.refuses_login, faults.is_of_row, faults.is_of_names, faults.is_of_change):
        assert meaning(error) == meaning(without), meaning
    assert not database.passes(error)


def test_a_value_of_mysql_that_no_list_has_is_the_rows_fault() -> None:
    assert database.is_bad_row(of_mysql(1411, "22007"))


def test_what_a_server_of_postgresql_says_is_read_in_one_pass() -> None:
    """Whoever owns the server chooses the text, and all of the host waits while it is read: this one took half a minute."""
    begin = time.thread_time()
    assert not database.refuses_login(OperationalError("", {}, psycopg.OperationalError('role ""' * 15_000 + "\0")))
    assert time.thread_time() - begin < 5
    assert database.refuses_login(OperationalError("", {}, psycopg.OperationalError('FATAL:  role "a" "b" does not exist')))
