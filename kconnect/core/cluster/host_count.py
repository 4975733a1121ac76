"""
How many hosts ordinary connectors and tasks share on a worker whose `task.hosts` is a range: by units, and by what hosts take.

Held by `herder/placing.py`, which has the count followed: `placement.py`. Nothing here measures.
"""

from __future__ import annotations

import math

UNITS_A_HOST = 8
"""A process costs some 100 MB and a core of Spark's; a few units share one well, and many should use more than one core."""
TARGET = 0.7
"""There are to be so many hosts, and workers, that each takes this share of what it has."""
_LOW = 0.5
"""A host ends if those that are left would each take this share of a core at most: less than what has one more started."""
_REST_MS = 600_000
"""For so long fewer must have been enough before one ends: units start anew elsewhere for it."""


class HostCount:
    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most
        self.hosts = least
        self._fewer_since: int | None = None

    @property
    def varies(self) -> bool:
        return self.most > self.least

    def decide(self, weight: int, cores: float | None, now: int) -> int:
        """
        Return how many hosts there are to be. `weight` is that of all units which share them, `cores` what the worker's hosts
        take on average, None while that is not known; `now` is in milliseconds.

        There are more at once, one fewer after ten minutes in which fewer would have been enough.
        """
        needed = max(-(-weight // UNITS_A_HOST), _hosts(cores, TARGET))
        enough = max(needed, _hosts(cores, _LOW))
        self.hosts = max(self.hosts, self._within(needed))
        if self._within(enough) >= self.hosts:
            self._fewer_since = None
        elif self._fewer_since is None:
            self._fewer_since = now
        elif now - self._fewer_since >= _REST_MS:
            self.hosts, self._fewer_since = self.hosts - 1, now
        return self.hosts

    def _within(self, wanted: int) -> int:
        return min(self.most, max(self.least, wanted))


def _hosts(cores: float | None, share: float) -> int:
    return 0 if cores is None else math.ceil(round(cores / share, 6))
