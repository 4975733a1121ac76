"""
The connections of a task to its database, so that another thread can end what waits for an answer.

A server may be silent before a login, behind a statement, or for ever, and drivers wait. Each connection is noted as soon as
the driver has it, before SQLAlchemy asks it anything. Made by `task.py` and `source_task.py`. Read next: `interrupts.py`.
"""

from __future__ import annotations

import collections
import contextlib
from typing import Any

import sqlalchemy as sa

from kconnect.connectors import interrupts

_MOST = 4
"""An engine has two at most (`database.py`); closed ones do no harm."""


class Connections:
    def __init__(self, engine: sa.Engine) -> None:
        self._noted: collections.deque[Any] = collections.deque(maxlen=_MOST)
        self._ended = False
        sa.event.listen(engine, "do_connect", self._connect)

    def _connect(self, dialect: Any, record: Any, arguments: Any, named: Any) -> Any:
        made = dialect.connect(*arguments, **named)
        self._noted.append(made)
        if self._ended:
            _end(made)
        return made

    def end(self) -> None:
        """Have all that waits fail, as if the server had gone away. From any thread; those that are made later end, too."""
        self._ended = True
        for each in list(self._noted):
            _end(each)


def _end(driver: Any) -> None:
    # It may be closed at any moment.
    with contextlib.suppress(Exception):
        if hasattr(driver, "interrupt"):
            # SQLite's.
            driver.interrupt()
        else:
            interrupts.shut_down((driver if hasattr(driver, "fileno") else driver._sock).fileno())
