"""
What REST says of connectors and tasks that run nowhere yet: UNASSIGNED, and in `trace` what they wait for.

Nothing of this is written: it is made for each answer, by `requests/connectors.py` and `requests/states.py`, from what the log
says by then. Read next: `views.py`.
"""

from __future__ import annotations

from kconnect.core.herder.desk import Desk
from kconnect.core.state.records import State, TargetState, UnitId, UnitStatus

_NO_ROOM = (
    "waiting for room: the connectors and tasks of each worker stand in one record of the assignment topic, and no more fit. "
    "Delete connectors, lower tasks.max, add a worker, or raise max.request.size of the workers and max.message.bytes of that "
    "topic"
)
_AT_WORK = (State.RUNNING, State.RESTARTING)


def waiting(desk: Desk, name: str) -> dict[UnitId, UnitStatus]:
    """
    The units of a connector of which nobody has said anything yet, those of which the last word is UNASSIGNED, and those that a
    host has and does not run. Of these the topic still says RUNNING: the host that would say otherwise can't.
    """
    config, statuses = desk.log.config, {}
    if name not in config.connectors:
        return {}
    stopped = config.target_state(name) is TargetState.STOPPED
    for unit in (UnitId(name), *(UnitId(name, task) for task in config.task_ids(name))):
        status = desk.log.status.units.get(unit)
        if status is None:
            statuses[unit] = UnitStatus(State.UNASSIGNED, *why(desk, unit))
        elif status.state is State.UNASSIGNED and not stopped:
            statuses[unit] = UnitStatus(
                State.UNASSIGNED, status.worker_id, status.generation, why(desk, unit)[-1], status.version
            )
        elif status.state in _AT_WORK and (reason := silence(desk, unit)):
            statuses[unit] = UnitStatus(State.UNASSIGNED, status.worker_id, status.generation, reason, status.version)
    return statuses


def state(desk: Desk, unit: UnitId) -> State:
    """Return the state of a unit as REST shows it: no host is to have what is STOPPED."""
    status = desk.log.status.units.get(unit)
    if status is None or (status.state in _AT_WORK and silence(desk, unit)):
        return State.UNASSIGNED
    return status.state


def silence(desk: Desk, unit: UnitId) -> str | None:
    """Why a unit that is said to run does not, as far as this worker can tell."""
    for worker, number, incarnation in desk.silent_hosts:
        held = desk.log.assignment.held.get((worker, number))
        if held is not None and held.incarnation == incarnation and unit in (held.units or ()):
            return desk.silent_hosts[worker, number, incarnation].reason(worker, number)
    if unit in desk.absent and not desk.log.assignment.holders(unit):
        return f"not running: {why(desk, unit)[-1]}"
    if desk.unread_since is None:
        return None
    # Of other workers' hosts it knows nothing; its own are mostly where it is.
    if any(unit in (held.units or ()) for held in desk.log.assignment.hosts_of(desk.me)):
        return f"not known: the worker {desk.me} cannot read its internal topics, and so does not know whether it runs"
    return None


def silent_hosts(desk: Desk) -> list[str]:
    """Sentences about this worker's hosts that have something to run and do not run it."""
    sentences = []
    for (worker, number, incarnation), silent in sorted(desk.silent_hosts.items()):
        held = desk.log.assignment.held.get((worker, number))
        if worker == desk.me and held is not None and held.incarnation == incarnation and held.units:
            units = f"{len(held.units)} connectors and tasks" if len(held.units) > 1 else f"{min(held.units)}"
            since = (desk.now - silent.since_ms) // 1000
            sentences.append(f"For {since} s {units} {silent.reason(worker, number)}.")
    return sentences


def why(desk: Desk, unit: UnitId) -> tuple[str, int, str]:
    """Return what a unit that no host holds waits for, with the worker and generation of its status."""
    state = desk.log.assignment
    owner = next((worker for worker, assignment in state.assignments.items() if unit in (assignment.units or ())), None)
    if owner is None:
        up = any(_is_up(desk, worker) for worker in desk.members)
        if up and not desk.room.has(unit):
            return desk.me, state.term, _NO_ROOM
        reason = "waiting to be assigned to a worker" if up else "waiting for Spark: no worker has a task host yet"
        return desk.me, state.term, reason if up else reason + _trouble(desk, desk.me)
    placement = state.placements.get(owner)
    placed = () if placement is None else (placement.hosts or {}).items()
    host = next((number for number, units in placed if unit in units), None)
    if not _is_up(desk, owner):
        reason = f"waiting for Spark: the worker {owner} has no task host yet{_trouble(desk, owner)}"
    elif host is not None and (owner, host) not in state.held:
        reason = f"waiting for Spark: task host {host} of the worker {owner} is not up yet{_trouble(desk, owner, host)}"
    else:
        reason = f"waiting for a task host of the worker {owner} to start it"
    return owner, state.term, reason


def _trouble(desk: Desk, worker: str, host: int | None = None) -> str:
    """Return why the worker has no Spark, or not this host. Only that worker itself knows it."""
    if worker != desk.me:
        return ""
    trouble = desk.host_troubles.get(host) if host is not None else next(iter(desk.host_troubles.values()), None)
    reason = desk.spark_trouble or trouble
    return f" ({reason})" if reason else ""


def _is_up(desk: Desk, worker: str) -> bool:
    placement = desk.log.assignment.placements.get(worker)
    if placement is None or placement.down:
        return False
    return any(held.worker_incarnation == placement.incarnation for held in desk.log.assignment.hosts_of(worker))
