"""
Heavy work in a few threads, in turns: whoever asks for much waits for its own, and keeps nobody else waiting.

`authentication.py` has passwords hashed here, off the event loop. Work belongs to a lane; a lane has one piece at a time
in the threads' queue, so that each lane gets its turn however long another one's own line is.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

_THREADS = max(1, min(2, (os.cpu_count() or 1) // 2))
"""Half of a small machine: the worker has other things to do."""
_A_LANE = 16
_LANES = 512


class Turns:
    """Used from any thread."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, name)
        self._lock = threading.Lock()
        self._lanes: dict[Hashable, deque[tuple[Future[Any], Callable[[], Any]]]] = {}

    def submit(self, lane: Hashable, work: Callable[[], Any]) -> Future[Any] | None:
        """Queue some work; None if the lane, or all of them, have too much waiting."""
        future: Future[Any] = Future()
        with self._lock:
            waiting = self._lanes.get(lane)
            if waiting is None:
                if len(self._lanes) >= _LANES:
                    return None
                self._lanes[lane] = deque([(future, work)])
                self._pool.submit(self._turn, lane)
            elif len(waiting) >= _A_LANE:
                return None
            else:
                waiting.append((future, work))
        return future

    def _turn(self, lane: Hashable) -> None:
        with self._lock:
            future, work = self._lanes[lane].popleft()
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - it is the answer
                future.set_exception(error)
        with self._lock:
            if self._lanes[lane]:
                # Behind the other lanes' turns.
                self._pool.submit(self._turn, lane)
            else:
                del self._lanes[lane]
