"""
Heavy work in a few threads, in turns: whoever asks for much waits for its own, or is refused, and keeps nobody else waiting.

`authentication.py` has passwords hashed here, off the event loop. Work belongs to a lane, which is short, and each lane has its
turn however many wait in another. What is `last` has lanes of its own, and one turn of four while there is other work.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

_THREADS = max(1, min(2, (os.cpu_count() or 1) // 2))
"""Half of a small machine: the worker has other things to do."""
_A_LANE = 2
_LANES = 128
"""So that nobody waits for much longer than half a minute, be there ever so many others."""

_Lanes = dict[Hashable, deque[tuple[Hashable, Future[Any], Callable[[], Any]]]]


class Turns:
    """Used from any thread."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, name)
        self._lock = threading.Lock()
        self._first: _Lanes = {}
        self._last: _Lanes = {}
        self._count = 0
        self._futures: dict[Hashable, Future[Any]] = {}

    def submit(self, lane: Hashable, key: Hashable, work: Callable[[], Any], last: bool = False) -> Future[Any] | None:
        """
        Queue some work; None if the lane, or all of them, have too much waiting. Where work of the same key waits already, its
        future is everybody's: not to be cancelled.
        """
        with self._lock:
            if key in self._futures:
                return self._futures[key]
            lanes = self._last if last else self._first
            if len(lanes.get(lane, ())) >= _A_LANE or (lane not in lanes and len(lanes) >= _LANES):
                return None
            future = self._futures[key] = Future()
            lanes.setdefault(lane, deque()).append((key, future, work))
        self._pool.submit(self._turn)
        return future

    def _turn(self) -> None:
        with self._lock:
            self._count += 1
            is_lasts = self._last and (not self._first or self._count % 4 == 0)
            lanes = self._last if is_lasts else self._first
            lane = next(iter(lanes))
            waiting = lanes.pop(lane)
            key, future, work = waiting.popleft()
            if waiting:
                # Behind the other lanes' turns.
                lanes[lane] = waiting
        tell: Callable[[], None] | None = None
        if future.set_running_or_notify_cancel():
            try:
                tell = partial(future.set_result, work())
            except Exception as error:  # noqa: BLE001 - it is the answer
                tell = partial(future.set_exception, error)
        with self._lock:
            del self._futures[key]
        if tell is not None:
            tell()
