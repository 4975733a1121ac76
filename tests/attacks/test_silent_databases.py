"""A database that takes a login and then says nothing, or never stops, holds no task for ever and fills no memory."""

from __future__ import annotations

import contextlib
import io
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from kconnect.api import ConnectError
from kconnect.connectors import interrupts
from kconnect.connectors.patterns import LateError
from kconnect.connectors.sql import database, listing, settings
from kconnect.connectors.sql.answers import Limits, Meter, Metered, connect
from kconnect.connectors.sql.source_task import SqlSourceTask
from kconnect.connectors.sql.task import SqlSinkTask
from tests.attacks import endless_databases as endless
from tests.attacks.endless_databases import Database, MySQL, PostgreSQL

LONG_S = 120.0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgreSQL]:
    monkeypatch.setattr(interrupts, "GRACE_S", 0.1)
    made = PostgreSQL()
    yield made
    made.close()


def _ends(server: PostgreSQL, waits: threading.Thread, stop: threading.Thread) -> None:
    waits.start()
    assert server.asked.wait(LONG_S)
    # The control: it waits.
    time.sleep(0.5)
    assert waits.is_alive()
    stop.start()
    for each in (waits, stop):
        each.join(LONG_S)
        assert not each.is_alive()


def test_a_source_that_is_stopped_waits_no_longer(server: PostgreSQL) -> None:
    task = SqlSourceTask()
    config = {"connection.url": server.url, "mode": "bulk", "query": "select 1", "name": "c"}
    task.initialize(_Context())  # type: ignore[arg-type]
    task.start({**config, "topic.prefix": "t"})
    errors: list[Exception] = []

    def poll() -> None:
        try:
            task.poll()
        except Exception as error:  # noqa: BLE001 - whatever the driver says
            errors.append(error)

    _ends(server, threading.Thread(target=poll, daemon=True), threading.Thread(target=task.stop, daemon=True))


def test_a_sink_that_is_stopped_waits_no_longer(server: PostgreSQL) -> None:
    task = SqlSinkTask()
    config = {"connection.url": server.url, "name": "c", "connection.attempts": "1"}

    def start() -> None:
        with contextlib.suppress(Exception):
            task.start(config)

    _ends(server, threading.Thread(target=start, daemon=True), threading.Thread(target=task.interrupt, daemon=True))


ANSWERS: dict[str, tuple[type[Database], Callable[[], Iterable[bytes]]]] = {
    "rows": (PostgreSQL, lambda: itertools.chain([endless.ROWS], endless.without_end(endless.ROW))),
    "results": (PostgreSQL, lambda: endless.without_end(endless.EMPTY)),
    "notifications": (PostgreSQL, lambda: endless.without_end(endless.NOTIFICATION)),
    "rows of MySQL": (MySQL, endless.rows_of_mysql),
    "columns of MySQL": (MySQL, endless.columns_of_mysql),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_without_an_end_takes_no_more_memory_than_it_may(name: str) -> None:
    """The database answers the first statement, which is the driver's own, with more and more: the task fails, and says why."""
    kind, answers = ANSWERS[name]
    made, task = kind(answers()), SqlSinkTask()
    config = {"connection.url": made.url, "name": "c", "connection.attempts": "3", "answer.max.bytes": str(4 * 1024 * 1024)}
    with contextlib.closing(made), pytest.raises(ConnectError, match=r"tried 1 times.*answer\.max\.bytes is 4194304"):
        task.start(config)


def _asked(*answers: bytes) -> Any:
    made = PostgreSQL(answers, in_turns=True)
    dialect = sa.create_engine(made.url.replace(":", "+psycopg:", 1)).dialect
    limits = Limits(64 * 1024 * 1024, 60.0)
    return connect(dialect, (made.url,), {"autocommit": True}, limits, lambda driver: None, 10)


_OIDS = b"\0\0\0\1" + bytes(4) + b"\0\0\0\x1a" + b"\x7f\xff\xff\xff" + b"\0\0\0\1" + b"\xff\xff\xff\xfe"


def test_an_answer_in_a_form_that_nobody_has_asked_for_is_not_read() -> None:
    """The database answers in binary, with a list of two billion numbers in a few bytes: it ended the process."""
    connection = _asked(
        endless.columns(1, 1, 1028) + endless.cells(_OIDS) + endless.message(b"C", b"SELECT 1\0") + endless.READY
    )
    with pytest.raises(psycopg.InternalError, match="in binary"):
        connection.execute("select 1")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_fetch_has_the_columns_that_were_described(count: int) -> None:
    """The database describes two columns, and gives rows with another number of them: the driver read what is beside them."""
    declared = (
        endless.message(b"1") + endless.message(b"2") + endless.message(b"n") + endless.message(b"C", b"DECLARE CURSOR\0")
    )
    fetched = endless.columns(count) + endless.cells(*[b"x"] * count) + endless.message(b"C", b"FETCH 1\0") + endless.READY
    cursor = _asked(declared + endless.READY, endless.columns(2) + endless.READY, fetched).cursor("c", withhold=True)
    cursor.execute("select 1, 2")
    if count == 2:
        assert cursor.fetchmany(1) == [("x", "x")]
        return
    with pytest.raises(psycopg.InternalError, match=f"{count} columns in place of 2"):
        cursor.fetchmany(1)


def _drops() -> Iterator[bytes]:
    while True:
        time.sleep(0.02)
        yield endless.message(b"N", b"Mno\0\0")


def _drops_of_mysql() -> Iterator[bytes]:
    yield b"\xff\xff\xff\1"
    while True:
        time.sleep(0.02)
        yield b"x"


LATE: dict[str, tuple[type[Database], Callable[[], Iterable[bytes]]]] = {
    "silent": (PostgreSQL, tuple),
    "drips": (PostgreSQL, _drops),
    "MySQL drips": (MySQL, _drops_of_mysql),
}


@pytest.mark.parametrize("name", LATE)
def test_an_answer_may_have_a_limit_of_time(name: str) -> None:
    kind, answers = LATE[name]
    made, task = kind(answers()), SqlSinkTask()
    config = {"connection.url": made.url, "name": "c", "connection.attempts": "1", "answer.timeout.ms": "300"}
    with contextlib.closing(made), pytest.raises(ConnectError, match=r"within 0\.3 s \(answer\.timeout\.ms\)"):
        task.start(config)


def test_a_database_that_does_not_greet_is_late() -> None:
    """The server of MySQL takes connections, and says nothing: its driver would wait for ever, and nobody could end it."""

    class Dumb(MySQL):
        def log_in(self, stream: socket.socket) -> None:
            stream.recv(1)

    made = Dumb()
    engine = database.made_engine(settings.CONFIG.parse({"connection.url": made.url}), {}, 0.3)
    with contextlib.closing(made), pytest.raises(Exception, match="nobody could log in within"):
        engine.connect()


def test_no_name_of_a_table_keeps_a_pattern_busy() -> None:
    with pytest.raises(LateError):
        listing._matches(listing.TableName(None, "a" * 60 + "!"), ["(a|aa)+"])


class _Context:
    class offsets:
        @staticmethod
        def offsets(partitions: list[object]) -> list[None]:
            return [None] * len(partitions)

    def metric(self, name: str, value: float, labels: Mapping[str, str] | None = None) -> None: ...

    def passed_over(self, count: int) -> None:
        """Count nothing."""


def test_what_others_take_beside_an_answer_is_not_its_own() -> None:
    """Who has another task of the process take memory while rows of MySQL come had the source fail for good."""
    meter = Meter(Limits(2 * 1024 * 1024, LONG_S), AssertionError)
    file = Metered(io.BufferedReader(io.BytesIO(bytes(1_000_000))), meter)
    meter.look()
    others = bytearray(b"x") * (64 * 1024 * 1024)
    for _ in range(1000):
        file.read(4)
    meter.look()
    # The control: bytes that have come may have taken as much.
    more = file.read(60_000), bytearray(b"x") * (64 * 1024 * 1024)
    with pytest.raises(AssertionError, match=r"answer\.max\.bytes is 2097152"):
        meter.look()
    del others, more
