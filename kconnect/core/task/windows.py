"""
Averages, maxima and rates over a recent period, in windows like those of Kafka's own metrics.

The last `metrics.num.samples` windows of `metrics.sample.window.ms` count; older ones are forgotten. A task's thread writes
them once a batch, and a thread of its host reads them. Times are in seconds of any steady clock. Read next: `meters.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Windows:
    """`length` seconds each, of which the last `count` are kept."""

    length: float = 30.0
    count: int = 2

    @classmethod
    def of(cls, window_ms: int, samples: int) -> Windows:
        # A window of 0 ms, which Kafka allows, would divide by nothing.
        return cls(max(window_ms, 1) / 1000, samples)


class Sampled:
    """The values recorded in the windows: `record` is called once a batch, never once a record."""

    __slots__ = ("_kept", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._kept: list[_Window] = []

    def record(self, value: float, now: float) -> None:
        windows = self._kept
        if not windows or now - windows[-1].began >= self._windows.length:
            # A new list: the host's thread may be reading the old one.
            windows = self._kept = [*self._fresh(now), _Window(now, value)]
        window = windows[-1]
        window.count += 1
        window.total += value
        if value > window.highest:
            window.highest = value
        if value < window.lowest:
            window.lowest = value

    def average(self, now: float) -> float | None:
        """Return the average. None if nothing was recorded in the windows, as for `highest` and `lowest`."""
        windows = self._fresh(now)
        count = sum(window.count for window in windows)
        return sum(window.total for window in windows) / count if count else None

    def highest(self, now: float) -> float | None:
        return max((window.highest for window in self._fresh(now)), default=None)

    def lowest(self, now: float) -> float | None:
        return min((window.lowest for window in self._fresh(now)), default=None)

    def rate(self, now: float) -> float:
        """The sum of what was recorded, a second. A task that has just begun is not made out to be quicker than it is."""
        windows = self._fresh(now)
        if not windows:
            return 0.0
        least = self._windows.length * max(self._windows.count - 1, 1)
        return sum(window.total for window in windows) / max(now - windows[0].began, least)

    def _fresh(self, now: float) -> list[_Window]:
        limit = self._windows.length * self._windows.count
        return [window for window in self._kept if now - window.began < limit]


class _Window:
    __slots__ = ("began", "count", "highest", "lowest", "total")

    def __init__(self, began: float, first: float) -> None:
        self.began, self.count, self.total = began, 0, 0.0
        self.highest = self.lowest = first
