"""
Connections to SQLite's files, which others may have written: their views, triggers and generated columns, too.

SQLite makes a row as it is asked for, and a file of a few kilobytes may have rows of gigabytes. No server has a limit for what
comes, as `answers.py` has for others. Made there.
"""

from __future__ import annotations

import sqlite3
from typing import Any

MOST = 1024**3
"""
Bytes of memory for SQLite in the whole process. It is no setting: whoever set a lower one would set it for the other connectors
in the process, too.
"""
_FIRST = (f"PRAGMA hard_heap_limit={MOST}", "PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON")
_LONG = 1024 * 1024
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


class Limited(sqlite3.Connection):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for pragma in _FIRST:
            self.execute(pragma).close()

    def cursor(self, factory: Any = None) -> Any:
        return super().cursor(factory or _Cursor)


class _Cursor(sqlite3.Cursor):
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
