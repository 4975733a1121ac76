"""
When a host has last read the log to its end, and so what it may still believe to be its own.

Asked by `main.py`, and through it by everything that others can see. Read next: docs/design.md, "A suspended host does nothing
when it wakes up".
"""

from __future__ import annotations

_SHORTEST_PAUSE_S = 1.0
"""The log's end is asked for three times as often, which less would make costly."""


class Lease:
    """
    All times are seconds of one monotonic clock. `grace_s` is for how long the leader waits for hosts that it has told to leave
    (`handover.grace.ms`) before it gives what they had to others, whether they have read that or not.
    """

    def __init__(self, session_s: float, grace_s: float, now: float) -> None:
        self.limit_s = session_s * 0.75
        """What has waited for longer must not be sent any more: by then it may be somebody else's to say."""
        self.turn_s = session_s / 8
        self._pause_s = min(self.limit_s, max(grace_s, _SHORTEST_PAUSE_S))
        self.seen_at = now
        """The log has been read up to where it ended then. Set by the host."""

    def is_due(self, now: float) -> bool:
        """Whether it is time to ask where the log ends."""
        return now - self.seen_at >= min(self.turn_s, self._pause_s / 3)

    def is_held(self, now: float) -> bool:
        """Whether nothing that ran here can be somebody else's yet. Otherwise wait: for this, or until it is lost."""
        return now - self.seen_at < self._pause_s

    def is_lost(self, now: float) -> bool:
        """Whether all that runs here is to be given up."""
        return now - self.seen_at >= self.limit_s
