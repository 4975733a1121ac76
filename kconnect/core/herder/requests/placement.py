"""
Where each unit of a connector is to run, where it runs, and what it waits for if these are not the same.

Made by `rest/own.py`, answered from what this worker has read. A status tells what was said last; this tells what the leader,
the worker and the host have decided since. Read next: `waiting.py`, `core/cluster/handover.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.request import Look, Office
from kconnect.core.herder.requests.own import host_of
from kconnect.core.herder.waiting import why
from kconnect.core.state.assignment_records import Held
from kconnect.core.state.records import State, TargetState, UnitId


@dataclass(frozen=True, slots=True)
class GetPlacement(Look[Body]):
    """
    `GET /kconnect/connectors/{c}/placement`: `{"name", "connector": unit, "tasks": [unit]}`.

    A unit is `{"task" (null for the instance), "state", "worker_id", "host", "waits_for"}`: the worker that is to run it, the
    process that holds it, as in `own.py`, and a text. Each but the first two may be null.
    """

    name: str

    def look(self, office: Office) -> Body:
        desk = office.desk
        desk.require(self.name)
        tasks = [_placed(desk, UnitId(self.name, task)) for task in desk.log.config.task_ids(self.name)]
        return {"name": self.name, "connector": _placed(desk, UnitId(self.name)), "tasks": tasks}


def _placed(desk: Desk, unit: UnitId) -> Body:
    assignments = desk.log.assignment.assignments
    owner = next((worker for worker, assignment in assignments.items() if unit in (assignment.units or ())), None)
    held = next(iter(desk.log.assignment.holders(unit)), None)
    status = desk.log.status.units.get(unit)
    state = State.UNASSIGNED if status is None else status.state
    return {
        "task": None if unit.is_connector else unit.task,
        "state": state.value,
        "worker_id": owner,
        "host": None if held is None else host_of(held),
        "waits_for": _waits_for(desk, unit, owner, held, state),
    }


def _waits_for(desk: Desk, unit: UnitId, owner: str | None, held: Held | None, state: State) -> str | None:
    is_to_run = desk.log.config.target_state(unit.connector) is not TargetState.STOPPED
    if held is None:
        return why(desk, unit)[-1] if is_to_run and state is not State.FAILED else None
    where = f"task host {held.host} of the worker {held.worker}"
    if unit in held.stuck:
        return f"it does not stop: {where} ends its whole process"
    if not is_to_run or held.worker != owner:
        return f"waiting for {where} to stop it"
    if unit in held.waiting:
        return "waiting until the producers of the previous tasks are fenced (KIP-618)"
    return None
