"""
What to do about a connector, by what this worker has read and what hosts report: `core/describe/advice.py` says it.

Called by `requests/own.py`. What `kconnect describe` finds out besides, by asking Kafka, is left out.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kconnect.core.describe import advice
from kconnect.core.herder import overview
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.waiting import waiting
from kconnect.core.metrics.report import Report
from kconnect.core.settings.errors import DEAD_LETTERS_TOPIC
from kconnect.core.state import causes
from kconnect.core.state.records import State, TargetState, UnitId, UnitStatus


def of(desk: Desk, name: str, kind: str, reports: Collection[Report]) -> list[str]:
    log = desk.log
    config, waits = log.config.connectors[name].properties, waiting(desk, name)
    units = [UnitId(name), *(UnitId(name, number) for number in log.config.task_ids(name))]
    by_unit = {unit: report for unit, report in overview.current(desk, reports).items() if unit.connector == name}
    unit_reports = list(by_unit.values())
    lag = overview.total(unit_reports, "lag")
    instance, *tasks = (
        {
            "id": None if unit.is_connector else unit.task,
            **_unit(waits.get(unit) or log.status.units.get(unit)),
            "retrying": (by_unit[unit].retrying or None) if unit in by_unit else None,
        }
        for unit in units
    )
    return advice.of(
        {
            "name": name,
            "type": kind,
            **instance,
            "tasks": tasks,
            "topics": log.status.topics_of(name),
            "numbers": {key: overview.total(unit_reports, key) for key in ("in_per_s", "skipped")},
            "lag": {"total": int(lag), "partitions": []} if lag else None,
            "errors": {"topic": DEAD_LETTERS_TOPIC.read(config)},
            "moving": _moves(desk, units),
        }
    )


def _unit(status: UnitStatus | None) -> dict[str, Any]:
    cause = None if status is None else causes.of(status.trace)
    return {
        "state": None if status is None else status.state.value,
        "waits_for": status.trace if status is not None and status.state is State.UNASSIGNED else None,
        "error": None
        if status is None or cause is None or status.state is not State.FAILED
        else {"first_cause": cause.first, "reported_as": cause.reported},
    }


def _moves(desk: Desk, units: Collection[UnitId]) -> bool:
    """Whether one of them is where it should not be any more."""
    state = desk.log.assignment
    if desk.log.config.target_state(next(iter(units)).connector) is TargetState.STOPPED:
        return False
    owner = {
        unit: worker for worker, assignment in state.assignments.items() for unit in assignment.units or () if unit in units
    }
    holder = {unit: held.worker for held in state.held.values() for unit in held.units or () if unit in units}
    return any(unit in holder and owner.get(unit) != holder[unit] for unit in units)
