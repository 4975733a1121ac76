"""
How long new assignments took to come into effect on this worker. Held by `herder.py`, read by `requests/metrics.py`.
"""

from __future__ import annotations


class Rebalances:
    """Times are milliseconds of the herder's clock, and since the worker's start."""

    def __init__(self) -> None:
        self.completed = 0
        self.longest_ms: int | None = None
        self.total_ms = 0
        self.last_at: int | None = None
        self._generation = 0
        self._began: int | None = None

    @property
    def under_way(self) -> bool:
        return self._began is not None

    def assigned(self, generation: int, now: int) -> None:
        """The log gives this worker's units in this generation of the assignments."""
        if generation != self._generation:
            self._generation = generation
            # A further one while the last is still under way makes that one longer.
            self._began = now if self._began is None else self._began

    def settled(self, now: int) -> None:
        """This worker's hosts hold what it was given, and nothing else."""
        if self._began is None:
            return
        spent, self._began = now - self._began, None
        self.completed += 1
        self.total_ms += spent
        self.longest_ms = max(spent, self.longest_ms or 0)
        self.last_at = now
