"""
Since when brokers have acknowledged nothing of what is under way to them, as when the leader of a partition is silent.

Held by `producer.py`, which shows it: a task between two `poll`s has no call that waits for brokers, and would be RUNNING
without a word until its offsets are due. Read next: `refusals.py`, which says for how long that is nothing to tell.
"""

from __future__ import annotations


class Acknowledged:
    """`linger_s` is for how long the client itself may hold messages back. Times are seconds of any steady clock."""

    def __init__(self, linger_s: float) -> None:
        self._linger_s = linger_s
        self._sent = self._acknowledged = 0
        self._waits_since: float | None = None

    def add(self, count: int) -> None:
        """Count messages that were handed to the client."""
        self._sent += count

    def waits_since(self, active: int, now: float) -> float | None:
        """
        Return since when brokers should have acknowledged something; None while there is nothing to wait for. `active` messages
        are under way now.
        """
        acknowledged = self._sent - active
        if not active:
            self._waits_since = None
        elif self._waits_since is None or acknowledged != self._acknowledged:
            self._waits_since = now
        self._acknowledged = acknowledged
        return None if self._waits_since is None else self._waits_since + self._linger_s
