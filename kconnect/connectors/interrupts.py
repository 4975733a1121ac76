"""
Interrupts: how a sink that waits for an outside system is brought to an end when its task is to stop.

A put that is nearly over may go on for a moment: what is delivered need not be delivered again. Then its connections are shut
down under it, so that whatever waits for them fails, as if the other side had gone away. Used by the sinks' tasks, and by
whoever has a time limit for answers (`kconnect/deadlines.py`).
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from typing import Any

from kconnect.deadlines import shut_down as shut_down

GRACE_S = 2.0
"""Less than what hosts wait for a task by default."""


def after_grace(end: Callable[[], None]) -> None:
    """Call `end` in a moment, in a thread of its own."""
    timer = threading.Timer(GRACE_S, end)
    timer.daemon = True
    timer.start()


class Kept:
    """The connections of a client, so that they can be ended from another thread. `noting` has them noted."""

    def __init__(self) -> None:
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()

    def noting(self, kind: Any) -> Any:
        """Return a class like this one of http.client's or urllib3's, of whose connections each is noted."""
        connections = self._connections

        class Noted(kind):  # type: ignore[misc]
            def connect(self) -> None:
                super().connect()
                connections.add(self)

        return Noted

    def shut_down(self) -> None:
        """End them all."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError, AttributeError):
                shut_down(connection.sock.fileno())
