"""
Connections to SQLite's files, which others may have written: their views, triggers, generated columns and journals, too.

SQLite makes a row as it is asked for, and a file of a few kilobytes may have rows of gigabytes. No server has a limit for what
comes, as `answers.py` has for others. And a journal that was left behind may name the file of a transaction over several
databases, which SQLite then deletes, wherever it is. Made there.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from typing import Any

from kconnect.own_places import JOURNAL

MOST = 1024**3
"""
Bytes of memory for SQLite in the whole process. It is no setting: whoever set a lower one would set it for the other connectors
in the process, too.
"""
_FIRST = (f"PRAGMA hard_heap_limit={MOST}", "PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON")
_LONG = 1024 * 1024
_OF_SEVERAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""The end of a journal that names a file of several databases: that of a transaction of one ends with a sum."""
_LOOKS, _PAUSE_S = 5, 0.2
_NO_TEXT = "Could not decode to UTF-8"
"""How the driver begins what it says of a text that is none. Read by a function of Python's, all texts would take longer."""


def take_any_text(connection: Any, error: Any) -> bool:
    """
    Have a connection of SQLAlchemy's read texts that are no UTF-8 as bytes, after an error for one of them, which does not say
    of which row it is. Return False if it is another error, or they are read so already.
    """
    driver = connection.connection.dbapi_connection
    if not str(error.orig).startswith(_NO_TEXT) or driver.text_factory is _text_or_bytes:
        return False
    driver.text_factory = _text_or_bytes
    return True


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def check_journal(path: str) -> None:
    """
    Raise sqlite3.DatabaseError if SQLite would delete another file than its own as it reads a database. Our tasks write to one
    at a time, so no journal of theirs names any; one of another program's that commits at this moment does for as long as that
    takes.
    """
    for left in reversed(range(_LOOKS)):
        if not _names_another(path + JOURNAL):
            return
        if left:
            time.sleep(_PAUSE_S)
    raise sqlite3.DatabaseError(
        f"its journal {path}{JOURNAL} names another file, which SQLite would delete: it is of a transaction over several "
        "databases, or of somebody's making. Open the database with the program that has written it, or remove the journal"
    )


def _names_another(journal: str) -> bool:
    try:
        # A pipe would be waited for.
        descriptor = os.open(journal, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise sqlite3.DatabaseError(f"its journal {journal} can't be read: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise sqlite3.DatabaseError(f"its journal {journal} is no file")
        end = max(status.st_size - len(_OF_SEVERAL), 0)
        return os.pread(descriptor, len(_OF_SEVERAL), end) == _OF_SEVERAL
    finally:
        os.close(descriptor)


class Limited(sqlite3.Connection):
    path = ""
    """The file; empty if the database is in memory."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # None of these reads the file. Its name need be no UTF-8.
        self.text_factory = os.fsdecode
        (_, _, self.path), *_ = self.execute("PRAGMA database_list").fetchall()
        self.text_factory = str
        for pragma in _FIRST:
            self.execute(pragma).close()

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or _Cursor)


class _Cursor(sqlite3.Cursor):
    def execute(self, *arguments: Any) -> Any:
        self._look()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        self._look()
        return super().executemany(*arguments)

    def _look(self) -> None:
        # Any statement may be the first that reads the file since somebody else has written to it.
        if path := getattr(self.connection, "path", ""):
            check_journal(path)

    def fetchmany(self, size: int | None = 1) -> list[Any]:
        """Return the next rows, and none behind a long one: who fetches them counts what they have."""
        rows: list[Any] = []
        for row in self:
            rows.append(row)
            if len(rows) == size:
                break
            for cell in row:
                if type(cell) in (str, bytes) and len(cell) > _LONG:
                    return rows
        return rows
