"""
All connectors at a glance, a row each, and which rows have changed since somebody last looked.

Consoles ask for it again and again, and any number of them shares one look a second. Held by `herder.py`, made anew by
`requests/overview.py`, which answers. A row's shape is `OverviewRow` in `rest/own.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kconnect.core.herder.classes import Classes
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.waiting import waiting
from kconnect.core.metrics.history import SERIES
from kconnect.core.metrics.report import Report, UnitReport
from kconnect.core.settings.unknown import LABEL
from kconnect.core.state.records import State, UnitId, UnitStatus

Row = dict[str, Any]

EVERY_MS = 1000
"""A look is not repeated before."""
_MOST_GONE = 10_000
"""So many deleted connectors are remembered. Who has not looked since before gets all rows."""

_NUMBERS = {
    **{key: SERIES[key][0] for key in ("in_per_s", "out_per_s", "lag", "errors")},
    "skipped": ("total-records-skipped",),
    "dead_letters": SERIES["dead_letters"][0],
}
_DIGITS = 1


class Overview:
    def __init__(self, desk: Desk, classes: Classes) -> None:
        self._desk = desk
        self._classes = classes
        self._looked_at: int | None = None
        self._rows: dict[str, tuple[int, Row]] = {}
        self._gone: dict[str, int] = {}
        self._forgotten = 0
        """The last change of which something is not remembered."""
        self.version = 1
        """Counts looks that found something new."""

    @property
    def is_old(self) -> bool:
        """Whether it is time for another look."""
        return self._looked_at is None or self._desk.now - self._looked_at >= EVERY_MS

    def look(self, reports: Collection[Report]) -> None:
        """Give the next version to what is new."""
        if not self.is_old:
            return
        self._looked_at = self._desk.now
        unit_reports = current(self._desk, reports)
        connectors = self._desk.log.config.connectors
        number = self.version + 1
        for name in connectors:
            row = self._row(name, unit_reports)
            shown = self._rows.get(name)
            if shown is None or shown[1] != row:
                self._rows[name] = number, row
                self._gone.pop(name, None)
                self.version = number
        for name in self._rows.keys() - connectors.keys():
            del self._rows[name]
            self._gone[name] = number
            self.version = number
        while len(self._gone) > _MOST_GONE:
            self._forgotten = self._gone.pop(next(iter(self._gone)))

    def since(self, version: int | None) -> tuple[bool, list[Row], list[str]]:
        """Whether these are all rows, rows that have changed, and the names of connectors that are no more."""
        if version is None or not self._forgotten <= version <= self.version:
            return True, [row for _, row in self._rows.values()], []
        rows = [row for changed, row in self._rows.values() if changed > version]
        return False, rows, [name for name, deleted_at in self._gone.items() if deleted_at > version]

    def _row(self, name: str, reports: Mapping[UnitId, UnitReport]) -> Row:
        log = self._desk.log
        config = log.config.connectors[name].properties
        described = self._classes.known(config) if config.get("connector.class") else None
        waits, units = waiting(self._desk, name), log.status.units
        tasks = [UnitId(name, number) for number in log.config.task_ids(name)]
        statuses = {unit: waits.get(unit) or units.get(unit) for unit in (UnitId(name), *tasks)}
        states: dict[str, int] = {}
        for unit in tasks:
            state = _state(statuses[unit])
            states[state] = states.get(state, 0) + 1
        task_reports = [reports[unit] for unit in tasks if unit in reports]
        retrying = [*task_reports, reports[UnitId(name)]] if UnitId(name) in reports else task_reports
        return {
            "name": name,
            "type": "unknown" if described is None else described["type"],
            "class": config.get("connector.class"),
            "state": _state(statuses[UnitId(name)]),
            "target_state": log.config.target_state(name).value,
            "tasks": states,
            "since": None if UnitId(name) in waits else log.status.since.get(UnitId(name)) or None,
            "topics": log.status.topics_of(name),
            "labels": {key[len(LABEL) :]: value or "" for key, value in config.items() if key.startswith(LABEL)},
            "why": _why(statuses, retrying),
            "retrying_since": _earliest(retrying, "retrying-since-timestamp-seconds"),
            "moved_at": max((_ms(report, "last-progress-timestamp-seconds") or 0 for report in task_reports), default=0)
            or None,
            **{key: total(task_reports, key) for key in _NUMBERS},
        }


def current(desk: Desk, reports: Collection[Report]) -> dict[UnitId, UnitReport]:
    """Return each unit's report by the host that holds the unit now. Reports from before it moved do not count."""
    holders = {
        unit: (held.worker, held.host, held.incarnation)
        for held in desk.log.assignment.held.values()
        for unit in held.units or ()
    }
    return {
        report.unit: report
        for report in reports
        if isinstance(report, UnitReport) and holders.get(report.unit) == (report.worker, report.host, report.incarnation)
    }


def _state(status: UnitStatus | None) -> str:
    return (State.UNASSIGNED if status is None else status.state).value


def _why(statuses: Mapping[UnitId, UnitStatus | None], reports: Collection[UnitReport]) -> str | None:
    """The first line of what failed, or of what is tried again."""
    traces = [status.trace for status in statuses.values() if status is not None and status.trace]
    reasons = [report.retrying for report in reports if report.retrying]
    return next((text.strip().partition("\n")[0][:300] for text in (*traces, *reasons)), None)


def _ms(report: UnitReport, name: str) -> int | None:
    seconds = report.values.get(name)
    return int(seconds * 1000) if seconds else None


def _earliest(reports: Collection[UnitReport], name: str) -> int | None:
    return min(filter(None, (_ms(report, name) for report in reports)), default=None)


def total(own: Collection[UnitReport], key: str) -> float | None:
    """A number of a row: of those units that tell it, None if none does."""
    values = [value for report in own for name in _NUMBERS[key] if (value := report.values.get(name)) is not None]
    return round(sum(values), _DIGITS) if values else None
