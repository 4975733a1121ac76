"""
Answers of databases that have an end: of size, and of time.

Drivers read an answer whole, whatever was asked: rows without an end may come behind a BEGIN. So the drivers that kconnect
installs are watched as they read: while an answer comes, the process may grow by so much, and a wait may take so long. Other
drivers have their own limits only. And psycopg, in C, believes of an answer that nobody has asked for in that form what it
says: it would read the memory beside it. Of what is sent, MySQL has a limit, at which it ends the connection without a word: so
it is looked at before. Used by `connections.py`, for a catalog of Iceberg that is in a database, too. Read next: `resident.py`.
"""

from __future__ import annotations

import functools
import math
import sqlite3
import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from kconnect.connectors.resident import resident
from kconnect.connectors.sql import sqlite_files
from kconnect.deadlines import shut_down, within

SIZE, TIME = "answer.max.bytes", "answer.timeout.ms"
_UNWATCHED = 8
"""So many pieces of an answer come before it is looked at: most have fewer."""
_SAMPLE = 256
_PIECE = 64 * 1024
_AROUND = 16
"""So many bytes, and fewer, a packet has beside the statement."""
_OF_A_BYTE = 64
"""What a byte of an answer takes at most: a decimal of one digit comes as two."""


class TooMuchError(Exception):
    """An answer that takes more memory than it may. Those of drivers have their driver's class beside this one."""


class CrowdedError(Exception):
    """Memory that several connections share has run out: who else has it may give it back."""


class Limits(NamedTuple):
    """
    The limits of an answer: its memory, in bytes, and the time to wait for it, in seconds. `are_set`: by the settings of that
    name.
    """

    most: int
    longest_s: float
    are_set: bool = True

    @property
    def too_much(self) -> str:
        rule = f"{SIZE} is {self.most}" if self.are_set else f"{self.most} bytes"
        return f"it answers with more than memory has room for: {rule}"

    @property
    def late(self) -> str:
        return f"it has not answered within {self.longest_s:g} s{f' ({TIME})' if self.are_set else ''}"


def connect(
    dialect: Any, arguments: Any, named: dict[str, Any], limits: Limits, note: Callable[[Any], object], connect_s: float
) -> Any:
    """
    Return a new connection of the driver. `note` is given it as soon as there is something that can be ended. What the driver
    itself does not limit takes at most `connect_s` seconds.
    """
    if dialect.driver == "psycopg":
        connection = _of_psycopg().connect(*arguments, **named)
        connection.limits = limits
        connection.cursor_factory, connection.server_cursor_factory = _cursors_of_psycopg()
        note(connection)
        return connection
    if dialect.driver == "pymysql":
        if limits.longest_s < math.inf:
            named.setdefault("read_timeout", limits.longest_s)
        connection = _of_pymysql()(*arguments, **named, defer_connect=True)
        connection.meter = Meter(limits, connection.refusal)
        note(connection)
        # Its own limit is of the connection only, and not of the greeting and the login behind that.
        late = f"nobody could log in within {connect_s:g} s (connect_timeout, a parameter of the URL)"
        with within(connect_s, lambda: _end(connection), lambda: connection.late(late)):
            connection.connect()
        return connection
    if dialect.driver == "pysqlite":
        named.setdefault("factory", sqlite_files.Limited)
    connection = dialect.connect(*arguments, **named)
    note(connection)
    return connection


class SqliteCrowdedError(CrowdedError, sqlite3.DatabaseError):
    """A row of SQLite that takes too much memory. SQLAlchemy knows it as an error of the driver."""


def refusal_of_sqlite(error: BaseException) -> Exception | None:
    """Return what SQLite's driver should have raised in place of an error that says nothing; None for other errors."""
    if not isinstance(error, MemoryError):
        return None
    most = sqlite_files.MOST
    return SqliteCrowdedError(f"a row takes more than is left of the {most} bytes that SQLite may have here")


def _end(driver: Any) -> None:
    stream = driver._sock
    if stream is not None:
        shut_down(stream.fileno())


@functools.cache
def _of_psycopg() -> Any:
    import psycopg

    class Refused(TooMuchError, psycopg.InternalError):
        pass

    class Limited(psycopg.Connection[Any]):
        limits: Limits | None = None
        width: int | None = None
        """How many columns the rows of a fetch have, while that is under way."""

        def _exec_command(self, *arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
            result = yield from super()._exec_command(*arguments, **named)
            if self.width is not None and result is not None and result.nfields != self.width:
                self.pgconn.finish()
                raise psycopg.InternalError(f"it has answered with {result.nfields} columns in place of {self.width}")
            return result

        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            return super().wait(self._limited(gen, self.limits) if self.limits else gen, *arguments, **named)

        def _limited(self, steps: Any, limits: Limits) -> Generator[Any, Any, Any]:
            """Do the steps of a wait, each of which takes what has come. What others take between them does not count."""
            end, count, grown = time.monotonic() + limits.longest_s, 0, 0
            try:
                state = next(steps)
                while True:
                    ready = yield state
                    if time.monotonic() > end:
                        self.pgconn.finish()
                        raise psycopg.OperationalError(limits.late)
                    count += bool(ready)
                    if count <= _UNWATCHED:
                        state = steps.send(ready)
                        continue
                    before = resident()
                    try:
                        state = steps.send(ready)
                    finally:
                        grown += resident() - before
                    if grown > limits.most:
                        # What is left of the answer would be taken for that to the next statement.
                        self.pgconn.finish()
                        raise Refused(limits.too_much)
            except StopIteration as over:
                return over.value

    return Limited


@functools.cache
def _cursors_of_psycopg() -> tuple[Any, Any]:
    import psycopg
    from psycopg.pq import Format

    def check(results: Any) -> None:
        for result in results:
            if any(result.fformat(number) != Format.TEXT for number in range(result.nfields)):
                raise psycopg.InternalError("it has answered in binary, which nobody has asked for")

    class Plain(psycopg.Cursor[Any]):
        def _check_results(self, results: Any) -> None:
            super()._check_results(results)
            check(results)

    class Named(psycopg.ServerCursor[Any]):
        _width = 0

        def _check_results(self, results: Any) -> None:
            # Of what it will have, before the first fetch.
            super()._check_results(results)
            check(results)
            self._width = results[0].nfields

        def _fetch_gen(self, num: Any) -> Any:
            connection: Any = self._conn
            connection.width = self._width
            try:
                return (yield from super()._fetch_gen(num))
            finally:
                connection.width = None

    return Plain, Named


class Meter:
    """The size of an answer, as far as it is read from a socket by Python."""

    def __init__(self, limits: Limits, refusal: Callable[[str], Exception]) -> None:
        self._limits, self._refusal = limits, refusal
        self.begin()

    def begin(self) -> None:
        """Another answer is to come."""
        self._end = time.monotonic() + self._limits.longest_s
        self._grown = 0
        self._last: int | None = None
        self.came = 0
        """Bytes that were read since it was looked last."""
        self.left = 0
        """So many reads are made until it is looked again."""

    def look(self) -> None:
        """See what was read. Raise what the driver is to raise if that was too much."""
        self.left, now = _SAMPLE, resident()
        if self._last is not None:
            # What others took before the answer began is not its own, nor what they take beside it.
            self._grown += min(now - self._last, _OF_A_BYTE * self.came)
        self._last, self.came = now, 0
        if self._grown > self._limits.most:
            raise self._refusal(self._limits.too_much)
        if time.monotonic() > self._end:
            raise TimeoutError(self._limits.late)


class Metered:
    """The file of a socket, as pymysql reads it."""

    def __init__(self, file: Any, meter: Meter) -> None:
        self._file, self._meter, self._some = file, meter, file.read1

    def read(self, size: int) -> bytes:
        # Twice a row.
        data: bytes = self._some(size if size < _PIECE else _PIECE)
        meter = self._meter
        meter.came += len(data)
        meter.left -= 1
        if meter.left < 0:
            meter.look()
        if len(data) == size or not data:
            return data
        parts, missing = [data], size - len(data)
        while missing and (data := self._some(min(missing, _PIECE))):
            parts.append(data)
            missing -= len(data)
            meter.came += len(data)
            meter.look()
        return b"".join(parts)

    def close(self) -> None:
        self._file.close()


@functools.cache
def _of_pymysql() -> Any:
    import pymysql
    from pymysql.connections import Connection
    from pymysql.cursors import SSCursor

    class Refused(TooMuchError, pymysql.err.InternalError):  # type: ignore[misc]
        pass

    class Streaming(SSCursor):  # type: ignore[misc]
        """Rows as they are fetched: each fetch has the limit."""

        connection: Any

        def fetchone(self) -> Any:
            self.connection.meter.begin()
            return super().fetchone()

        def fetchmany(self, size: Any = None) -> Any:
            self.connection.meter.begin()
            return super().fetchmany(size)

        def fetchall(self) -> Any:
            self.connection.meter.begin()
            return super().fetchall()

    class Limited(Connection):  # type: ignore[misc]
        meter: Meter
        _most: float | None = None
        """How long a statement may be, once one has been long enough to ask."""

        @property
        def _rfile(self) -> Any:
            return self.__dict__.get("_metered")

        @_rfile.setter
        def _rfile(self, file: Any) -> None:
            self.__dict__["_metered"] = None if file is None else Metered(file, self.meter)

        def refusal(self, text: str) -> Exception:
            return Refused(text)

        def late(self, text: str) -> Exception:
            # The code of a connection that was lost.
            error: Exception = pymysql.err.OperationalError(2013, text)
            return error

        def cursor(self, cursor: Any = None) -> Any:
            return super().cursor(Streaming if cursor is SSCursor else cursor)

        def _execute_command(self, command: Any, sql: Any) -> None:
            if isinstance(sql, str):
                sql = sql.encode(self.encoding)
            if len(sql) > _PIECE and len(sql) + _AROUND > self._room():
                # Sent, it would look as if the server had gone away, again and again.
                raise pymysql.err.DataError(
                    1153, f"a statement takes {len(sql)} bytes, and max_allowed_packet of the server is {self._most}"
                )
            self.meter.begin()
            super()._execute_command(command, sql)

        def _room(self) -> float:
            if self._most is None:
                self._most = math.inf
                try:
                    self.query("SELECT @@max_allowed_packet")
                    self._most = int(self._result.rows[0][0])
                except (pymysql.err.MySQLError, TypeError, LookupError, ValueError):
                    # What speaks as MySQL does need not have it.
                    if not self.open:
                        raise
            return self._most

    return Limited
