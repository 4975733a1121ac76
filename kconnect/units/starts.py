"""
Lets the units of a host start a few at a time: a process in which hundreds start at once has no turn left for its own work,
and a host that does not read the log in time has to stop everything. Held by `host/main.py`, asked by `unit.py`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

_AT_ONCE = 8
_PATIENCE_S = 0.5
"""For how long a start counts: those that hang, or wait for something outside, keep the others no longer."""


class Starter(Protocol):
    def take_turn(self) -> None:
        """Let it start now. Called from any thread; returns at once."""
        ...


class StartTurns:
    """Its calls may come from any thread, and return at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[Starter] = deque()
        self._begun: dict[Starter, float] = {}

    def ask(self, unit: Starter) -> None:
        """Have it told by `take_turn`, in the order in which they asked; `over` has to follow."""
        with self._lock:
            self._waiting.append(unit)
        self.look()

    def over(self, unit: Starter) -> None:
        """Note that the unit's start has ended, in whichever way. A second call does nothing."""
        with self._lock:
            if self._begun.pop(unit, None) is None and unit in self._waiting:
                self._waiting.remove(unit)
        self.look()

    def look(self) -> None:
        """Give turns to waiting units if others have been starting for long. To be called now and then."""
        now, turns = self._clock(), []
        with self._lock:
            if not self._waiting:
                return
            self._begun = {unit: at for unit, at in self._begun.items() if now - at < _PATIENCE_S}
            while self._waiting and len(self._begun) < _AT_ONCE:
                turns.append(self._waiting.popleft())
                self._begun[turns[-1]] = now
        for unit in turns:
            unit.take_turn()
