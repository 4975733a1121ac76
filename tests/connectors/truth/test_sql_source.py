"""
The SQL source in random histories: rows that are new, changed and gone, transactions that commit late, columns that change,
tasks that are killed with and without records that Kafka has taken. Each row was read in its last version then, none twice.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import example, given, note
from hypothesis import strategies as st

from kconnect.api import RetriableError, SourceRecord
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.testing import SourceRunner
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Step
from tests.connectors.truth.outages import link_to, mend
from tests.rig.systems.proxy import Link, Proxy

MODES = ("incrementing", "timestamp", "timestamp+incrementing")
DELAY_S = 0.2
"""How late a row may be: one that commits later, on a machine that is busy, may be missed."""
_LONGEST_S = 60.0
TRANSACTIONS = 2

steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.integers(1, 5)),
        st.tuples(st.just("insert late"), st.integers(0, TRANSACTIONS - 1), st.integers(1, 3)),
        st.tuples(st.sampled_from(("commit late", "roll back")), st.integers(0, TRANSACTIONS - 1)),
        st.tuples(st.sampled_from(("update", "delete")), st.integers(0, 30)),
        st.tuples(st.sampled_from(("poll", "lose")), st.integers(1, 3)),
        st.tuples(st.just("outage"), st.integers(1, 12), st.integers(0, 3)),
        st.tuples(st.sampled_from(("kill", "restart", "break", "add a column", "drop not null", "wait"))),
    ),
    min_size=4,
    max_size=25,
)
_numbers = itertools.count(1)


class Play:
    """One history: a table with numbers and times, and one task, which reaches the server over the `link`."""

    def __init__(self, database: Database, mode: str, digits: int, link: Proxy | None = None) -> None:
        self.database, self.mode, self._link = database, mode, link
        self.table = f"source{next(_numbers)}"
        backend = database.backend
        number = {"postgresql": "serial", "mariadb": "integer auto_increment", "sqlite": "integer"}[backend]
        kind = {"postgresql": f"timestamp({digits})", "mariadb": f"datetime({digits})", "sqlite": "datetime"}[backend]
        database.execute(f"create table {self.table} (id {number} primary key, t {kind} not null, v integer not null)")
        self.clock = {
            "postgresql": "clock_timestamp() at time zone 'UTC'",
            "mariadb": "sysdate(6)",
            "sqlite": "datetime('now')" if digits == 0 else "strftime('%Y-%m-%d %H:%M:%f', 'now')",
        }[backend]
        self._serial = itertools.count(1)
        self._open: dict[int, tuple[sa.Connection, float, list[int]]] = {}
        self.excused: set[int] = set()
        """Versions that were committed later than `DELAY_S` allows."""
        self.rows: dict[int, int] = {}
        """The version of each row, by its number."""
        self.taken: list[tuple[int, int | None]] = []
        """What Kafka has taken: number and version."""
        # The delay is longer than what is excused, by what a clock of whole seconds, and rounding, may be behind.
        delay = str(round(DELAY_S * 1000) + (0 if digits else 1000))
        timed = {"timestamp.column.name": "t", "timestamp.delay.interval.ms": delay}
        numbered = {"incrementing.column.name": "id"}
        config = {
            **database.config,
            "name": self.table,
            "mode": mode,
            "topic.prefix": "",
            "poll.interval.ms": "0",
            "batch.max.rows": "3",
            "connection.backoff.ms": "1",
            "table.whitelist": self.table,
            **(timed if "timestamp" in mode else {"incrementing.delay.interval.ms": delay}),
            **(numbered if "incrementing" in mode else {}),
        }
        if link is not None:
            config["connection.url"] = config["connection.url"].replace(f":{link.target_port}/", f":{link.port}/")
        self.source = SourceRunner(SqlSourceConnector, config)
        self.source.start()

    def close(self) -> None:
        self.source.stop()
        for connection, *_ in self._open.values():
            connection.close()

    def play(self, step: Step) -> None:
        name, *arguments = step
        getattr(self, f"_{name.replace(' ', '_')}")(*arguments)

    # Rows.

    def _insert(self, count: int) -> None:
        with self.database.engine.connect() as connection:
            self._commit(connection, time.monotonic(), self._inserted(connection, count))

    def _inserted(self, connection: sa.Connection, count: int) -> list[int]:
        versions = [next(self._serial) for _ in range(count)]
        for version in versions:
            statement = f"insert into {self.table} (t, v) values ({self.clock}, {version})"
            connection.execute(sa.text(statement.replace(":", "\\:")))
        return versions

    def _commit(self, connection: sa.Connection, began: float, versions: list[int]) -> None:
        connection.commit()
        if time.monotonic() - began > DELAY_S:
            self.excused.update(versions)

    def _insert_late(self, which: int, count: int) -> None:
        if self.database.backend == "sqlite":
            return  # Nobody else could write meanwhile.
        if which not in self._open:
            self._open[which] = self.database.engine.connect(), time.monotonic(), []
        connection, _, versions = self._open[which]
        versions += self._inserted(connection, count)

    def _commit_late(self, which: int) -> None:
        if which in self._open:
            connection, began, versions = self._open.pop(which)
            self._commit(connection, began, versions)
            connection.close()

    def _roll_back(self, which: int) -> None:
        if which in self._open:
            connection, *_ = self._open.pop(which)
            connection.rollback()
            connection.close()

    def _update(self, number: int) -> None:
        """By numbers a row is read once, in whatever version it has then."""
        self._unlock()
        version = next(self._serial)
        with self.database.engine.connect() as connection:
            began = time.monotonic()
            statement = f"update {self.table} set v = {version}, t = {self.clock} where id = {number}"
            connection.execute(sa.text(statement.replace(":", "\\:")))
            self._commit(connection, began, [version])

    def _unlock(self) -> None:
        """MariaDB has who changes a row wait for a transaction that has inserted it."""
        for which in list(self._open) if self.database.backend == "mariadb" else ():
            self._commit_late(which)

    def _delete(self, number: int) -> None:
        self._unlock()
        self.database.execute(f"delete from {self.table} where id = {number}")

    # Columns.

    def _add_a_column(self) -> None:
        self._alter(f"add column extra{next(self._serial)} varchar(5) default 'x'")

    def _drop_not_null(self) -> None:
        if self.database.backend == "sqlite":
            return
        self._alter("alter v drop not null" if self.database.backend == "postgresql" else "modify v integer null")
        self.database.execute(f"insert into {self.table} (t, v) values ({self.clock}, null)".replace(":", "\\:"))

    def _alter(self, what: str) -> None:
        # Who alters a table waits for all that have touched it.
        for which in list(self._open):
            self._commit_late(which)
        self._poll(1, until_over=True)
        self.database.execute(f"alter table {self.table} {what}")

    # The task.

    def _wait(self) -> None:
        time.sleep(DELAY_S / 2)

    def _poll(self, count: int, until_over: bool = False) -> None:
        for _ in range(count):
            self._note(self._polled())
        while until_over and self.source.task._reader is not None:  # type: ignore[attr-defined]
            self._note(self._polled())

    def _polled(self, acknowledge: bool = True) -> list[SourceRecord]:
        try:
            return self.source.poll(acknowledge)
        except RetriableError:
            return []

    def _note(self, records: list[SourceRecord]) -> None:
        for record in records:
            assert record.value["id"] is not None
            self.taken.append((record.value["id"], record.value["v"]))

    def _lose(self, count: int) -> None:
        """Kafka takes nothing of it, and the process ends."""
        for _ in range(count):
            self._polled(acknowledge=False)
        self.source.restart(crash=True)

    def _kill(self) -> None:
        self.source.restart(crash=True)

    def _restart(self) -> None:
        self.source.restart()

    def _break(self) -> None:
        """The server ends the connection of the task."""
        connection = self.source.task._connection  # type: ignore[attr-defined]
        driver: Any = None if connection is None else connection.connection.driver_connection
        if driver is None:
            return
        if self.database.backend == "postgresql":
            self.database.execute(f"select pg_terminate_backend({driver.info.backend_pid}, 5000)")
        elif self.database.backend == "mariadb":
            with contextlib.suppress(sa.exc.OperationalError):  # It may be gone already.
                self.database.execute(f"kill {driver.thread_id()}")

    def _outage(self, statement: int, polls: int) -> None:
        """The server is away from a statement of the next poll on, and for some more polls."""
        engine = self.source.task._engine  # type: ignore[attr-defined]
        if self._link is None or engine is None:
            return
        link, count = self._link, itertools.count(1)

        def before(*_: Any) -> None:
            if next(count) == statement:
                link.set(Link.CUT)

        sa.event.listen(engine, "before_cursor_execute", before)
        self._poll(1 + polls)
        mend(link)
        sa.event.remove(engine, "before_cursor_execute", before)

    # What was read at the end.

    def check(self) -> None:
        for which in list(self._open):
            self._commit_late(which)
        rows = self.database.rows(f"select id, v from {self.table}")
        end = time.monotonic() + _LONGEST_S
        while missing := self._missing(rows):
            assert time.monotonic() < end, f"{missing} were not read, but {self.taken}"
            self._poll(1)
            time.sleep(0.005)
        self._poll(6)
        twice = [each for each in set(self.taken) if self.taken.count(each) > 1]
        assert not twice, f"{twice} were read more than once"
        if self.mode == "incrementing":
            numbers = [number for number, _ in self.taken]
            assert len(numbers) == len(set(numbers)), f"a number was read twice: {self.taken}"

    def _missing(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        if self.mode == "incrementing":
            numbers = {number for number, _ in self.taken}
            return [row for row in rows if row[0] not in numbers and row[1] not in self.excused]
        last = dict(self.taken)
        return [
            (number, version) for number, version in rows if last.get(number, -1) != version and version not in self.excused
        ]


@pytest.mark.parametrize("database", EVERY, indirect=True)
@histories(2)
@given(mode=st.sampled_from(MODES), digits=st.sampled_from((6, 0)), history=steps)
@example(
    mode="incrementing",
    digits=6,
    history=[("insert late", 0, 1), ("insert", 1), ("poll", 3), ("wait",), ("poll", 3), ("commit late", 0)],
)
@example(
    mode="incrementing",
    digits=6,
    history=[("insert", 2), ("poll", 1), ("wait",), ("wait",), ("wait",), ("poll", 3), ("drop not null",)],
)
@example(
    mode="timestamp",
    digits=6,
    history=[("insert", 5), ("outage", 3, 2), ("insert", 2), ("update", 2), ("outage", 2, 0), ("insert", 1)],
)
@example(
    mode="timestamp+incrementing",
    digits=6,
    history=[("insert late", 0, 1), ("insert", 1), ("poll", 3), ("wait",), ("poll", 3), ("commit late", 0)],
)
def test_each_row_is_read_in_its_last_version(database: Database, mode: str, digits: int, history: list[Step]) -> None:
    note(f"mode={mode!r}, digits={digits!r}, history={history!r}")
    with link_to(database.engine.url.port, history) as link:
        play = Play(database, mode, digits, link)
        try:
            for step in history:
                play.play(step)
            play.check()
        finally:
            play.close()


@pytest.mark.parametrize("database", [EVERY[0], EVERY[2]], indirect=True)
def test_rows_of_one_second_are_all_read(database: Database) -> None:
    """Those that come within the second in which the last ones were read have the same time."""
    play = Play(database, "timestamp", 0)
    try:
        while time.time() % 1 > 0.3:
            time.sleep(0.01)
        config = {**play.source.config, "timestamp.delay.interval.ms": "0"}
        with SourceRunner(SqlSourceConnector, config) as source:
            play._insert(1)
            first = source.poll()
            play._insert(1)
            found = [record.value["v"] for record in (*first, *source.read(2 - len(first), timeout=20))]
        assert found == [1, 2]
    finally:
        play.close()
