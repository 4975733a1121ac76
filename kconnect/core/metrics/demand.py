"""
How many workers the load wants, by what all task hosts have taken of processors in the last minutes.

Held by `worker/metrics.py`, which hands in reports; read for `GET /cluster/demand` and for a metric, by which autoscalers act.
"""

from __future__ import annotations

import math
from collections import deque

from kconnect.core.cluster.host_count import TARGET
from kconnect.core.metrics.report import AGAIN_S, HostReport

WINDOW_S = AGAIN_S
"""A host that takes nothing says so no less often."""

_MOST_CORES = 1024.0
"""No host takes more: whoever says so must not have thousands of workers started."""


class Demand:
    """Of all workers' hosts. One thread takes reports, others may read."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, int, str], deque[tuple[float, float]]] = {}
        self._began_at: float | None = None

    def take(self, report: HostReport, now: float) -> None:
        """`now` is in seconds of a steady clock."""
        if self._began_at is None:
            self._began_at = now
        if report.usage is not None:
            samples = self._samples.setdefault((report.worker, report.host, report.incarnation), deque())
            samples.append((now, report.usage.cpu))
            # The newest that is older than the window says where that begins.
            while len(samples) > 2 and samples[1][0] <= now - WINDOW_S:
                samples.popleft()

    def tidy(self, now: float, silent_s: float) -> None:
        for life, samples in list(self._samples.items()):
            if now - samples[-1][0] > silent_s:
                del self._samples[life]

    def cores(self, now: float, worker: str | None = None) -> float | None:
        """Return how many cores all hosts take on average, or those of one worker; None before a whole window was heard."""
        if self._began_at is None or now - self._began_at < WINDOW_S:
            return None
        total = 0.0
        for (name, *_), samples in list(self._samples.items()):
            if worker not in (None, name):
                continue
            (began, first), (_, last) = samples[0], samples[-1]
            if now - samples[-1][0] <= WINDOW_S + 60 and now > began:
                total += min(max(0.0, last - first) / max(now - began, 1.0), _MOST_CORES)
        return total


def workers_wanted(cores: float, cores_each: int) -> int:
    """At least one."""
    return max(1, math.ceil(round(cores / (TARGET * cores_each), 6)))
