"""
Throttles decisions: how often they may follow each other. Held by whoever decides again and again: `leader.py` and
`placing.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

_LATE_MS = 5000


@dataclass
class Throttle:
    """
    Lets steps go on at once as long as they are rare, and every `milliseconds` when they are many.

    Each decision costs every reader of the log one more set of records, so many changes within a moment share one.
    """

    milliseconds: int
    burst: int
    _spent_until: int = 0

    def free_at(self, now: int) -> int:
        """Take one step; the answer is when the next one may follow."""
        self._spent_until = max(self._spent_until, now) + self.milliseconds
        return max(now, self._spent_until - (self.burst - 1) * self.milliseconds)


def decisions_throttle() -> Throttle:
    """A handover takes no more steps than may follow each other at once; a flood of connectors, four times a second."""
    return Throttle(250, burst=4)


class Looks:
    """
    When to look next at everything that the log says. That costs some 20 µs a unit: what changes all the time, as while a
    thousand connectors are made, is looked at together, and the loop is there for requests meanwhile.
    """

    def __init__(self) -> None:
        self._throttle = Throttle(0, burst=8)

    def after(self, connectors: int, now: int) -> int:
        """When the look after this one may be."""
        self._throttle.milliseconds = connectors // 4
        return self._throttle.free_at(now)

    @staticmethod
    def quiet_ms(connectors: int, least: int) -> int:
        """
        Return how long to wait while only time passes: so that the checks take less than half a percent of a core, and nothing
        that is due comes too late.
        """
        return max(least, min(connectors * 4, _LATE_MS))
