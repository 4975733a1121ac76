"""
Which units a restart request means (KIP-745).

Called by `requests/states.py`, for the answer to the request, and by `herder.py` of every worker that reads its record.
"""

from __future__ import annotations

from kconnect.core.state.config import ConfigState
from kconnect.core.state.records import RestartRequest, State, UnitId
from kconnect.core.state.status import StatusState


def plan(request: RestartRequest, config: ConfigState, statuses: StatusState) -> set[UnitId]:
    """The connector unless only failed ones are meant and it did not fail; its tasks, if included, by the same rule."""
    name = request.name
    candidates = [UnitId(name)]
    if request.include_tasks:
        candidates += [UnitId(name, task) for task in config.task_ids(name)]
    return {unit for unit in candidates if not request.only_failed or _failed(statuses, unit)}


def _failed(statuses: StatusState, unit: UnitId) -> bool:
    status = statuses.units.get(unit)
    return status is not None and status.state is State.FAILED
