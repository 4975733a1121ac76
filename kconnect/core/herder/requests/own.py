"""
What only kconnect knows of a connector, and Connect's answers have no place for.

Made by `rest/own.py`, answered from what this worker has read and what all hosts report. What hosts say is some seconds
old, and counts only from the host that holds the task now. Readers should bear what they do not know: later versions may say
more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from kconnect.core.herder import advising, effects, overview
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request
from kconnect.core.metrics.report import HostReport, Report, UnitReport
from kconnect.core.state.assignment_records import Held
from kconnect.core.state.records import UnitId


@dataclass(frozen=True, slots=True)
class ListOwn(Request[Body]):
    """`GET /kconnect/connectors`."""

    def answer(self, office: Office) -> Procedure[Body]:
        reports = yield from ask(effects.ReadReports())
        return _all_of(office.desk, reports, office.desk.log.config.connectors)


@dataclass(frozen=True, slots=True)
class GetOwn(Request[Body]):
    """`GET /kconnect/connectors/{c}`: the same of one, and what to do about it."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        reports = yield from ask(effects.ReadReports())
        office.desk.require(self.name)
        kind = yield from office.classes.kind(self.name)
        office.desk.require(self.name)
        of_connector = _all_of(office.desk, reports, (self.name,))[self.name]
        return {"name": self.name, **of_connector, "advice": advising.of(office.desk, self.name, kind, reports)}


@dataclass(frozen=True, slots=True)
class GetHistory(Request[Body]):
    """`GET /kconnect/connectors/{c}/history`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        office.desk.require(self.name)
        return {"name": self.name, **(yield from ask(effects.ReadHistory(self.name)))}


def _all_of(desk: Desk, reports: Collection[Report], names: Iterable[str]) -> Body:
    """
    `{connector: {"retrying", "tasks": [{"id", "host", "memory", "retrying", "since"}]}}`; what does not apply, or is not known,
    is null.

    `host` is `{"worker_id", "host", "node", "pid"}`: the process that holds the task. `memory` is `{"used", "max"}` in bytes,
    of a task that has a host of its own; `max` null is no limit. `retrying` is `{"since", "reason"}`: a call that failed is
    made again and again, since so many milliseconds after 1970; outside of `tasks` it is the connector instance's. `since` is
    when the task came into its state.
    """
    config, state = desk.log.config, desk.log.assignment
    holders = {unit: held for held in state.held.values() for unit in held.units or ()}
    processes = {
        (report.worker, report.host, report.incarnation): report for report in reports if isinstance(report, HostReport)
    }
    unit_reports = overview.current(desk, reports)

    def since(unit: UnitId) -> int | None:
        return desk.log.status.since.get(unit) or None

    def task(unit: UnitId) -> dict[str, Any]:
        held = holders.get(unit)
        if held is None:
            return {"id": unit.task, "host": None, "memory": None, "retrying": None, "since": since(unit)}
        where = (held.worker, held.host, held.incarnation)
        placement = state.placements.get(held.worker)
        alone = placement is not None and placement.spec(held.host).unit == unit
        memory = _memory(processes.get(where)) if alone else None
        return {
            "id": unit.task,
            "host": host_of(held),
            "memory": memory,
            "retrying": _retrying(unit_reports.get(unit)),
            "since": since(unit),
        }

    def connector(name: str) -> dict[str, Any]:
        tasks = [task(UnitId(name, number)) for number in config.task_ids(name)]
        return {"retrying": _retrying(unit_reports.get(UnitId(name))), "tasks": tasks}

    return {name: connector(name) for name in names}


def host_of(held: Held) -> Body:
    """The process that holds a unit."""
    node, pid, _ = held.process or (None, None, None)
    return {"worker_id": held.worker, "host": held.host, "node": node, "pid": pid}


def _memory(report: HostReport | None) -> dict[str, Any] | None:
    usage = None if report is None else report.usage
    return None if usage is None else {"used": usage.memory, "max": usage.memory_max}


def _retrying(report: UnitReport | None) -> dict[str, Any] | None:
    since = None if report is None else report.values.get("retrying-since-timestamp-seconds")
    return {"since": int(since * 1000), "reason": report.retrying} if report is not None and since else None
