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


class _Here(threading.local):
    """
    Who asks, of each thread another. Not the thread's number, which the thread of another task has as soon as this one has
    ended: what ends a task that was stopped comes some seconds later.
    """

    def __init__(self) -> None:
        self.token = object()


class Asking(Protocol):
    """A client of a catalog's service, or of its database."""

    def end(self) -> None:
        """Have what is asked fail, now and from now on. May be called from any thread."""
        ...


_owners: weakref.WeakKeyDictionary[Asking, object] = weakref.WeakKeyDictionary()
_lock = threading.Lock()
_here = _Here()


def here() -> object:
    """Return what stands for the thread that calls, for as long as it lives."""
    return _here.token


def note(asking: Asking) -> None:
    with _lock:
        _owners[asking] = here()


def end(owner: object) -> None:
    """End all that was noted by a thread, which `here` has returned this for. Called from another one."""
    with _lock:
        of_owner = [asking for asking, noted_by in _owners.items() if noted_by is owner]
    for asking in of_owner:
        asking.end()
