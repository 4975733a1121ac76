"""
Ends: how what a task's catalog waits for is ended, once the task is to stop.

A catalog waits in pyiceberg's code, for minutes if its service says nothing, and no host waits so long for a task that is to
stop: it ends, with all that it runs. So whatever asks for a catalog is noted, by the thread that has made it. Called by
`answers.py` and `catalogs.py`, and by `task.py`, which ends it.
"""

from __future__ import annotations

import threading
import weakref
from typing import Protocol


class Asking(Protocol):
    """A client of a catalog's service, or of its database."""

    def end(self) -> None:
        """Have what is asked fail, now and from now on. May be called from any thread."""
        ...


_threads: weakref.WeakKeyDictionary[Asking, int] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def note(asking: Asking) -> None:
    with _lock:
        _threads[asking] = threading.get_ident()


def end(thread: int) -> None:
    """End all that was noted by this thread. Called from another one."""
    with _lock:
        of_thread = [asking for asking, owner in _threads.items() if owner == thread]
    for asking in of_thread:
        asking.end()
