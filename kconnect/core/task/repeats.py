"""
A call that has failed and is made again, after pauses that grow: how often it has, since when, and when it is given up.

Held by `units/connector_unit.py`, for a connector's `task_configs`. It has no clock: `now` is in seconds of any clock. Kafka
Connect repeats that call with the same pauses, but for ever, and shows nothing of it.
"""

from __future__ import annotations

FIRST_S, LONGEST_S = 0.25, 60.0
"""Those of Kafka Connect's ExponentialBackoff for task configs, without its random part: one connector asks here."""
MOST = 13
"""The pauses between so many calls are 304 seconds together."""


class Repeats:
    """The attempts at one call since it last succeeded."""

    def __init__(self) -> None:
        self.failures = 0
        self.due: float | None = None
        """When the call is made again; None if it has not failed."""

    def failed(self, now: float) -> float | None:
        """Count a failure, and return how many seconds to wait before the next attempt; None if there is to be none."""
        self.failures += 1
        if self.failures >= MOST:
            self.due = None
            return None
        pause = min(LONGEST_S, FIRST_S * 2.0 ** (self.failures - 1))
        self.due = now + pause
        return pause

    def end(self) -> bool:
        """Forget the failures: the call has succeeded, or is not wanted any more. Return whether there were any."""
        failures, self.failures, self.due = self.failures, 0, None
        return failures > 0
