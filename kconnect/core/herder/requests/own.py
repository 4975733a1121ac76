"""
What only kconnect knows of a connector, and Connect's answers have no place for.

Made by `rest/own.py`, answered from what this worker has read and what all hosts report. What hosts say is some seconds
old, and counts only from the host that holds the task now. Readers should bear what they do not know: later versions may say
more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Set
from dataclasses import dataclass
from typing import Any

from kconnect.core.herder import advising, effects, overview
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Look, Office, Request
from kconnect.core.metrics.report import HostReport, Report, UnitReport
from kconnect.core.settings import secrets
from kconnect.core.state.assignment_records import Held
from kconnect.core.state.config import Properties
from kconnect.core.state.records import TargetState, UnitId


@dataclass(frozen=True, slots=True)
class ListOwn(Request[Body]):
    """`GET /kconnect/connectors`."""

    def answer(self, office: Office) -> Procedure[Body]:
        reports = yield from ask(effects.ReadReports())
        return _all_of(office.desk, reports, office.desk.log.config.connectors)


@dataclass(frozen=True, slots=True)
class GetOwn(Request[Body]):
    """`GET /kconnect/connectors/{c}`: the same of one, what to do about it, and its config without what may be secret."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        reports = yield from ask(effects.ReadReports())
        office.desk.require(self.name)
        kind = yield from office.classes.kind(self.name)
        office.desk.require(self.name)
        of_connector = _all_of(office.desk, reports, (self.name,))[self.name]
        config = secrets.masked(office.desk.log.config.connectors[self.name].properties)
        advice = advising.of(office.desk, self.name, kind, reports)
        return {"name": self.name, **of_connector, "advice": advice, "config": config}


@dataclass(frozen=True, slots=True)
class GetHistory(Request[Body]):
    """`GET /kconnect/connectors/{c}/history`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        office.desk.require(self.name)
        return {"name": self.name, **(yield from ask(effects.ReadHistory(self.name)))}


@dataclass(frozen=True, slots=True)
class GetRestarts(Look[Body]):
    """
    `GET /kconnect/connectors/{c}/restarts`: which tasks would restart if these settings changed, as far as that can be told
    before the connector makes their configs anew.
    """

    name: str
    changed: frozenset[str]

    def look(self, office: Office) -> Body:
        desk = office.desk
        desk.require(self.name)
        config = desk.log.config
        numbers = sorted(config.task_ids(self.name))
        if not self.changed:
            return {"name": self.name, "tasks": [], "all": True, "text": "Nothing restarts: no setting changes."}
        if config.target_state(self.name) is TargetState.STOPPED:
            text = "It is stopped: nothing restarts. It takes the new config when it is resumed."
            return {"name": self.name, "tasks": [], "all": True, "text": text}
        if not numbers:
            return {"name": self.name, "tasks": [], "all": True, "text": "The connector restarts. It has no tasks."}
        now = config.connectors[self.name].properties
        is_reached = _reach(now, self.changed)
        sure = [number for number in numbers if is_reached(config.task_config(UnitId(self.name, number)))]
        is_all = sure == numbers
        if is_all:
            text = f"The connector restarts, and all its tasks ({len(numbers)})."
        else:
            some = f", and the tasks {', '.join(map(str, sure))}" if sure else ""
            whether = "the others do" if sure else "its tasks do"
            text = f"The connector restarts{some}. Whether {whether} depends on the configs that it makes for them then."
        return {"name": self.name, "tasks": sure, "all": is_all, "text": text}


_ABOUT_TASKS = frozenset(("name", "tasks.max"))
"""What a connector has of its own, and hands to no task."""


def _reach(now: Properties, changed: Set[str]) -> Callable[[Properties | None], bool]:
    """
    Whether a task's config is sure to change with these settings of its connector. Most connectors hand all that they have been
    given to each task: what is new reaches those that have all the rest.
    """
    # Found out once: a request may name thousands of settings, and a connector have thousands of tasks.
    known, is_any_new = changed & now.keys(), not changed <= now.keys()
    handed_on = now.keys() - _ABOUT_TASKS

    def is_reached(task: Properties | None) -> bool:
        if task is None or (is_any_new and handed_on <= task.keys()):
            return True
        return any(name in task and task[name] == now[name] for name in known)

    return is_reached


def _all_of(desk: Desk, reports: Collection[Report], names: Iterable[str]) -> Body:
    """
    `{connector: {"retrying", "tasks": [{"id", "host", "memory", "retrying", "cpu_s", "since"}]}}`; what does not apply, or is
    not known, is null.

    `host` is `{"worker_id", "host", "node", "pid"}`: the process that holds the task. `memory` is `{"used", "max"}` in bytes,
    of a task that has a host of its own; `max` null is no limit. `retrying` is `{"since", "reason"}`: a call that failed is
    made again and again, since so many milliseconds after 1970; outside of `tasks` it is the connector instance's. `cpu_s` is
    what the task's own threads have taken of processors in its life. `since` is when the task came into its state.
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
            return {"id": unit.task, "host": None, "memory": None, "retrying": None, "cpu_s": None, "since": since(unit)}
        where = (held.worker, held.host, held.incarnation)
        placement = state.placements.get(held.worker)
        alone = placement is not None and placement.spec(held.host).unit == unit
        memory = _memory(processes.get(where)) if alone else None
        return {
            "id": unit.task,
            "host": host_of(held),
            "memory": memory,
            "retrying": _retrying(unit_reports.get(unit)),
            "cpu_s": _cpu(unit_reports.get(unit)),
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


def _cpu(report: UnitReport | None) -> float | None:
    return None if report is None else report.values.get("cpu-seconds-total")


def _retrying(report: UnitReport | None) -> dict[str, Any] | None:
    since = None if report is None else report.values.get("retrying-since-timestamp-seconds")
    return {"since": int(since * 1000), "reason": report.retrying} if report is not None and since else None
