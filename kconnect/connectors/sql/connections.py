"""
The connections of an engine to its database, so that another thread can end what waits for an answer.

A server may be silent before a login, behind a statement, or for ever, and drivers wait. Each connection is noted as soon as
the driver has it, before SQLAlchemy asks it anything. Made by the tasks, and by `database.py` for all others. Read next:
`answers.py`, `interrupts.py`.
"""

from __future__ import annotations

import collections
import contextlib
from typing import Any

import sqlalchemy as sa

from kconnect.connectors import interrupts
from kconnect.connectors.sql import answers
from kconnect.connectors.sql.answers import Limits

_MOST = 4
"""An engine has two at most (`database.py`); closed ones do no harm."""


class Connections:
    def __init__(self) -> None:
        self._noted: collections.deque[Any] = collections.deque(maxlen=_MOST)
        self._ended = False

    def attach(self, engine: sa.Engine, limits: Limits, connect_s: float) -> None:
        """Have the engine's connections made here, with limits."""

        def connect(dialect: Any, record: Any, arguments: Any, named: Any) -> Any:
            return answers.connect(dialect, arguments, named, limits, self.note, connect_s)

        sa.event.listen(engine, "do_connect", connect)
        if engine.dialect.driver == "pysqlite":
            sa.event.listen(engine, "handle_error", _name)

    def note(self, driver: Any) -> None:
        """Take note of a connection of a driver, as soon as it can be ended."""
        self._noted.append(driver)
        if self._ended:
            _end(driver)

    def end(self) -> None:
        """Have all that waits fail, as if the server had gone away. From any thread; those that are made later end, too."""
        self._ended = True
        for driver in list(self._noted):
            _end(driver)


def _name(context: sa.engine.ExceptionContext) -> Exception | None:
    refusal = answers.refusal_of_sqlite(context.original_exception)
    return None if refusal is None else sa.exc.DatabaseError(None, None, refusal)


def _end(driver: Any) -> None:
    # It may be closed at any moment.
    with contextlib.suppress(Exception):
        if hasattr(driver, "interrupt"):
            # SQLite's.
            driver.interrupt()
        else:
            interrupts.shut_down((driver if hasattr(driver, "fileno") else driver._sock).fileno())
