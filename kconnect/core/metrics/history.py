"""
The last hour of each connector's numbers, as hosts reported them: for charts.

A point every ten seconds, and none while nothing changes: an idle connector takes next to no memory, a busy one 10 KiB. Held by
`worker/metrics.py`, which hands in reports; read for `GET /kconnect/connectors/{c}/history`.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Collection, Iterable
from typing import Any

from kconnect.core.metrics.report import UnitReport
from kconnect.core.state.records import UnitId

EVERY_S = 10.0
KEPT_S = 3600.0

SERIES: dict[str, tuple[tuple[str, ...], bool]] = {
    "in_per_s": (("source-record-poll-rate", "sink-record-read-rate"), True),
    "out_per_s": (("source-record-write-rate", "sink-record-send-rate"), True),
    "lag": (("sink-record-lag",), True),
    "errors": (("total-record-errors",), True),
    "dead_letters": (("deadletterqueue-produce-requests",), True),
    "call_ms": (("poll-batch-avg-time-ms", "put-batch-avg-time-ms"), False),
}
"""Attributes of `table.py`; whether those of the tasks add up, or else the longest counts."""

_Point = tuple[int, "array[float]"]
_UNKNOWN = float("nan")


class History:
    """The recent numbers of all connectors. One thread takes them, others may read."""

    def __init__(self) -> None:
        self._said: dict[UnitId, tuple[UnitReport, float]] = {}
        self._points: dict[str, deque[_Point]] = {}
        self._taken_at: float | None = None

    def hear(self, report: UnitReport, now: float) -> None:
        """The last that is said of a unit counts, whoever says it. `now` is in seconds since 1970."""
        self._said[report.unit] = (report, now)

    def take(self, now: float, silent_s: float) -> None:
        """Make points, if it is time. Units of which nobody has spoken for `silent_s` are gone."""
        if self._taken_at is not None and now - self._taken_at < EVERY_S:
            return
        before, self._taken_at = self._taken_at, now
        units: dict[str, list[UnitReport]] = {}
        for unit, (report, heard_at) in list(self._said.items()):
            if now - heard_at > silent_s:
                del self._said[unit]
            elif not unit.is_connector:
                units.setdefault(unit.connector, []).append(report)
        for name, reports in units.items():
            values = _values(reports)
            points = self._points.setdefault(name, deque())
            if not points or _differ(points[-1][1], values):
                if points and before is not None and points[-1][0] < int(before * 1000):
                    # It was so until now: a line from the last change to this one would be a slope that never was.
                    points.append((int(before * 1000), points[-1][1]))
                points.append((int(now * 1000), values))
        oldest = int((now - KEPT_S) * 1000)
        for name, points in list(self._points.items()):
            # The last before the hour says how it began.
            while len(points) > 1 and points[1][0] <= oldest:
                points.popleft()
            if name not in units and points[-1][0] < oldest:
                del self._points[name]

    def of(self, name: str) -> dict[str, Any]:
        """
        `{"at": [ms since 1970], "in_per_s": [...], ...}`, for each of `SERIES` as many as in `at`; None where it was not known.
        What was so at the last point is so still.
        """
        points = list(self._points.get(name, ()))
        columns: Iterable[list[float | None]] = (
            [None if values[number] != values[number] else round(values[number], 3) for _, values in points]
            for number in range(len(SERIES))
        )
        return {"at": [at for at, _ in points], **dict(zip(SERIES, columns))}


def _values(reports: Collection[UnitReport]) -> array[float]:
    points = array("f")
    for names, adds_up in SERIES.values():
        values = [value for report in reports for name in names if (value := report.values.get(name)) is not None]
        points.append(_UNKNOWN if not values else sum(values) if adds_up else max(values))
    return points


def _differ(one: array[float], other: array[float]) -> bool:
    # Unknown is equal to unknown here.
    return one.tobytes() != other.tobytes()
