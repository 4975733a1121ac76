"""
Units that are to be started again though nothing is wrong with them: when, and how often.

Held by `main.py`; asked by units whose brokers were away for too long (`StartAgainError`), from their threads. Read next:
`units/unit.py`.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque

from kconnect.core.state.records import UnitId

_MOST = 5
_WITHIN_S = 1800.0
_FIRST_S, _LONGEST_S = 1.0, 60.0


class Renewals:
    """Times are seconds of the monotonic clock. Each start within half an hour waits twice as long as the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: defaultdict[UnitId, deque[float]] = defaultdict(deque)
        self._due: dict[UnitId, float] = {}

    def ask(self, unit: UnitId, now: float, lasting: bool = False) -> bool:
        """False if the unit was started again too often lately for a passing trouble; if it is `lasting`, never."""
        with self._lock:
            asked = self._asked[unit]
            while asked and now - asked[0] > _WITHIN_S:
                asked.popleft()
            if len(asked) >= _MOST and not lasting:
                return False
            self._due[unit] = now + min(_LONGEST_S, _FIRST_S * 2 ** min(len(asked), _MOST + 1))
            asked.append(now)
            return True

    def due(self, now: float) -> list[UnitId]:
        """Return what is to be started again now, each once."""
        with self._lock:
            units = [unit for unit, at in self._due.items() if now >= at]
            for unit in units:
                del self._due[unit]
            return units
