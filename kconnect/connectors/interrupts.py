"""
Interrupts: how a sink that waits for an outside system is brought to an end when its task is to stop.

A put that is nearly over may go on for a moment: what is delivered need not be delivered again. Then its connections are shut
down under it, so that whatever waits for them fails, as if the other side had gone away. Used by the sinks' tasks, and by
whoever has a time limit for answers (`kconnect/deadlines.py`). What a library waits for in threads of its own goes on without
who asked (`Waiter`).
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from kconnect.deadlines import shut_down as shut_down

GRACE_S = 2.0
"""Less than what hosts wait for a task by default."""


def after_grace(end: Callable[[], None]) -> None:
    """Call `end` in a moment, in a thread of its own."""
    timer = threading.Timer(GRACE_S, end)
    timer.daemon = True
    timer.start()


class Waiter:
    """Waits for answers until the task is to stop. Only `end` may be called from another thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.ended = False

    def end(self) -> None:
        """Wait for nothing any more, now and from now on."""
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def wait(self, answer: Future[Any], seconds: float | None = None) -> bool:
        """Return whether the answer is there; else the task is to stop, or so many seconds are over."""
        self.wait_for_any([answer], seconds)
        return answer.done()

    def wait_for_any(self, answers: Iterable[Future[Any]], seconds: float | None) -> None:
        """Wait until one of these answers is there, for so many seconds at most, or the task is to stop."""
        pending = list(answers)
        for answer in pending:
            answer.add_done_callback(self._tell)
        with self._changed:
            self._changed.wait_for(lambda: self.ended or any(answer.done() for answer in pending), seconds)

    def _tell(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()


class Kept:
    """The connections of a client, so that they can be ended from another thread. `noting` and `watch` have them noted."""

    def __init__(self) -> None:
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        # A connection forgets its socket where that is to be closed behind an answer, which is read from it still.
        self._sockets: weakref.WeakSet[Any] = weakref.WeakSet()
        self._managers: weakref.WeakSet[Any] = weakref.WeakSet()

    def noting(self, kind: Any) -> Any:
        """Return a class like this one of http.client's or urllib3's, of whose connections each is noted."""
        connections, sockets = self._connections, self._sockets

        class Noted(kind):  # type: ignore[misc]
            def connect(self) -> None:
                # Before it: a proxy answers, too.
                connections.add(self)
                super().connect()
                sockets.add(self.sock)

        return Noted

    def watch(self, adapter: Any) -> Any:
        """Have the connections of one of requests' adapters noted, those by way of a proxy, too. Return it."""
        by_proxy = adapter.proxy_manager_for
        adapter.proxy_manager_for = lambda *arguments, **more: self.watched(by_proxy(*arguments, **more))
        self.watched(adapter.poolmanager)
        return adapter

    def watched(self, manager: Any) -> Any:
        """Have the connections of a manager of urllib3's pools noted. Return it."""
        # That of a proxy is the same for each request.
        if manager not in self._managers:
            self._managers.add(manager)
            manager.pool_classes_by_scheme = {
                scheme: type(kind.__name__, (kind,), {"ConnectionCls": self.noting(kind.ConnectionCls)})
                for scheme, kind in manager.pool_classes_by_scheme.items()
            }
        return manager

    def shut_down(self) -> None:
        """End them all."""
        for stream in {*self._sockets, *(getattr(connection, "sock", None) for connection in list(self._connections))}:
            with contextlib.suppress(OSError, AttributeError):
                shut_down(stream.fileno())
