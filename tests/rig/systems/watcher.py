"""
Somebody who looks at a running system from outside, again and again, in a thread of his own.

What there is to see is said by `chaos/watch.py` and `plugin_faults/watch.py`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class Watcher(ABC):
    """Calls `look` again and again until it is told to end."""

    def __init__(self, name: str, pause_s: float) -> None:
        self._pause_s = pause_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self, timeout: float = 100.0) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        while not self._ended.wait(self._pause_s):
            self.look()

    @abstractmethod
    def look(self) -> None: ...
