"""
Threads that wait for what may never answer, shared out among connectors. Used by `loop.py`, for some of its lanes.

Whoever may read may ask for the offsets of a connector again and again, and whoever may create one names its brokers: if these
say nothing, each question holds a thread for as long as it may take. So a connector has few threads at once, those whose
configs name brokers have half of all, and connectors have their turns one after the other, however much is asked about one.
What nobody waits for any more is not begun.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

_OF_ONE = 2
"""So many threads one connector has at once."""


class Owner(NamedTuple):
    """Says for whom work is done: a connector, if it is for one, and whether its config names brokers (`elsewhere`)."""

    connector: str | None = None
    elsewhere: bool = False


class _Work(NamedTuple):
    perform: Callable[[], None]
    is_wanted: Callable[[], bool]


class SharedThreads:
    """Used from any thread; no call waits."""

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._pool = ThreadPoolExecutor(count, name)
        self._lock = threading.Lock()
        self._waiting: dict[Owner, deque[_Work]] = {}
        """Has the work of each owner. Who had a turn last stands behind the others."""
        self._running: Counter[Owner] = Counter()
        self._is_closed = False

    def submit(self, owner: Owner, perform: Callable[[], None], is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Have `perform`, which raises nothing, called once it is the owner's turn, if `is_wanted()` by then."""
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(_Work(perform, is_wanted))
            self._begin()

    def close(self) -> None:
        """Begin nothing more. What is being done goes on."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self) -> None:
        """Have done what can be, with the lock."""
        while self._running.total() < self._count and (owner := self._next()) is not None and not self._is_closed:
            works = self._waiting.pop(owner)
            work = works.popleft()
            if works:
                # Behind the others' turns.
                self._waiting[owner] = works
            self._running[owner] += 1
            self._pool.submit(self._perform, owner, work)

    def _next(self) -> Owner | None:
        has_room = sum(count for owner, count in self._running.items() if owner.elsewhere) < max(1, self._count // 2)
        return next((owner for owner in self._waiting if self._may_begin(owner, has_room)), None)

    def _may_begin(self, owner: Owner, has_room_elsewhere: bool) -> bool:
        is_spent = owner.connector is not None and self._running[owner] >= _OF_ONE
        return not is_spent and (has_room_elsewhere or not owner.elsewhere)

    def _perform(self, owner: Owner, work: _Work) -> None:
        try:
            if work.is_wanted():
                work.perform()
        finally:
            with self._lock:
                self._running[owner] -= 1
                if not self._running[owner]:
                    del self._running[owner]
                self._begin()
