"""
The body of `GET /cluster`: who is in, who leads, what runs where, and what is on its way from one worker to another.

Made by `rest/cluster.py`, answered from what this worker has read; Kafka Connect has no such resource. Printed by
`kconnect cluster`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kconnect.core.cluster.host_count import TARGET
from kconnect.core.herder import effects
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request
from kconnect.core.metrics.demand import workers_wanted
from kconnect.core.metrics.report import HostReport, Usage
from kconnect.core.state import assignment_records
from kconnect.core.state.assignment_records import PLAIN, Drained, Held, HostSpec
from kconnect.core.state.records import TargetState, UnitId
from kconnect.errors import ConflictError, NotFoundError


@dataclass(frozen=True, slots=True)
class GetCluster(Request[Body]):
    """
    `{"leader": worker id or null, "generation": int, "answered_by": worker id, "workers": [...], "moving": [...]}`.

    A worker is `{"worker_id", "url" (null once it has left the group), "version" (of kconnect), "leaving", "resting" (nobody
    has anything to run, so it has no Spark), "drained" (is to run nothing), "generation", "connectors", "tasks", "hosts"}`. A
    member of the group that has never written into the assignment topic is none. Of a worker's hosts each has
    `{"host", "node", "pid", "connectors", "tasks", "stuck", "directories", "dedicated_to", "usage"}` counting
    what it really holds. `dedicated_to` is null or `{"connector", "task"}`. `usage` is null until the host has told of it:
    `{"memory", "memory_max" (null: no limit), "cpu_s"}`, in bytes, and in seconds of its life.
    Moving is each unit that is not yet where the leader wants it: `{"connector", "task" (null: the instance), "from", "to"}`,
    either may be null.
    """

    def answer(self, office: Office) -> Procedure[Body]:
        reports = yield from ask(effects.ReadReports())
        usages = {
            (report.worker, report.host, report.incarnation): report.usage
            for report in reports
            if isinstance(report, HostReport)
        }
        desk = office.desk
        state = desk.log.assignment
        workers, urls = [], desk.workers
        for worker in sorted(_known(desk)):
            assignment, placement = state.assignments.get(worker), state.placements.get(worker)
            specs = (lambda host: PLAIN) if placement is None else placement.spec
            # They have ended with Spark, and their records stay until others come.
            records = [] if placement is not None and placement.down else state.hosts_of(worker)
            hosts = [_host(held, specs(held.host), usages.get((worker, held.host, held.incarnation))) for held in records]
            workers.append(
                {
                    "worker_id": worker,
                    "url": urls.get(worker),
                    "version": (placement.version or None) if placement is not None else None,
                    "leaving": placement is not None and placement.leaving,
                    "resting": placement is not None and placement.resting,
                    "drained": worker in state.drained,
                    "generation": 0 if assignment is None else assignment.generation,
                    **_counts(() if assignment is None else assignment.units or ()),
                    "hosts": hosts,
                }
            )
        leader = state.leader.worker if state.leader is not None and state.leader.worker in desk.members else None
        return {
            "leader": leader,
            "generation": state.generation,
            "answered_by": desk.me,
            "workers": workers,
            "moving": _moving(desk),
        }


@dataclass(frozen=True, slots=True)
class GetDemand(Request[Body]):
    """
    `GET /cluster/demand`: `{"workers" (that the load wants), "workers_now" (that may be given units), "cores" (that all task
    hosts take, on average over five minutes; null: not known yet), "cores_per_worker" (as many as it has hosts), "target" (the
    share of these that each is to take)}`. While the load is not known, as many are wanted as there are.
    """

    def answer(self, office: Office) -> Procedure[Body]:
        cores = yield from ask(effects.ReadCores())
        return demand(office.desk, cores)


def demand(desk: Desk, cores: float | None) -> Body:
    """Return what `GetDemand` answers, if all task hosts take so many cores."""
    workers = sum(_may_run_units(desk, worker) for worker in desk.members.keys() - desk.log.assignment.drained)
    hosts = max(desk.identity.hosts, desk.identity.most_hosts)
    return {
        "workers": max(1, workers) if cores is None else workers_wanted(cores, hosts),
        "workers_now": workers,
        "cores": None if cores is None else round(cores, 2),
        "cores_per_worker": hosts,
        "target": TARGET,
    }


_DRAINS = "\0drains"
"""One after the other, so that two don't drain the last two workers. No connector is called so."""


@dataclass(frozen=True, slots=True)
class DrainWorker(Request[None]):
    """
    `PUT /cluster/{worker}/drain`, and `undrain` with `is_drained` False: whether the worker is to run nothing, whichever life
    of it. To ask again changes nothing.

    NotFoundError if nobody knows it, ConflictError if no other worker could run what it runs.
    """

    worker: str
    is_drained: bool
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        yield from office.desk.exclusively(_DRAINS, self._work(office.desk))

    def _work(self, desk: Desk) -> Procedure[None]:
        worker = self.worker
        yield from desk.await_lead()
        state = desk.log.assignment
        if worker not in _known(desk):
            workers = ", ".join(sorted(_known(desk)))
            raise NotFoundError(f"There is no worker {worker}. These are known: {workers}")
        if self.is_drained == (worker in state.drained):
            return
        others = desk.members.keys() - state.drained - {worker}
        if self.is_drained and not any(_may_run_units(desk, other) for other in others):
            raise ConflictError(
                f"{worker} is the last worker that can run anything: start another one, or take another one's drain back, first"
            )
        yield from desk.write_as_leader([assignment_records.drained(Drained(worker, self.is_drained))])


def _known(desk: Desk) -> set[str]:
    """
    Return the workers of which something is known. An assignment without units is written for whoever joins the group, and says
    nothing.
    """
    state = desk.log.assignment
    owners = {worker for worker, assignment in state.assignments.items() if assignment.units}
    return {desk.me, *state.placements, *(worker for worker, _ in state.held), *owners, *state.drained}


def _may_run_units(desk: Desk, worker: str) -> bool:
    placement = desk.log.assignment.placements.get(worker)
    return placement is not None and placement.may_run_units


def _host(held: Held, spec: HostSpec, usage: Usage | None) -> dict[str, Any]:
    node, pid, _ = held.process or (None, None, None)
    return {
        "host": held.host,
        "node": node,
        "pid": pid,
        **_counts(held.units or ()),
        "stuck": len(held.stuck),
        "directories": list(spec.directories),
        "dedicated_to": None if spec.unit is None else {"connector": spec.unit.connector, "task": spec.unit.task},
        "usage": None
        if usage is None
        else {"memory": usage.memory, "memory_max": usage.memory_max, "cpu_s": round(usage.cpu, 2)},
    }


def _counts(units: Iterable[UnitId]) -> dict[str, int]:
    kinds = [unit.is_connector for unit in units]
    return {"connectors": sum(kinds), "tasks": len(kinds) - sum(kinds)}


def _moving(desk: Desk) -> list[dict[str, Any]]:
    state, config = desk.log.assignment, desk.log.config
    owner = {unit: worker for worker, assignment in state.assignments.items() for unit in assignment.units or ()}
    holder = {unit: held.worker for held in state.held.values() for unit in held.units or ()}
    return [
        {
            "connector": unit.connector,
            "task": None if unit.is_connector else unit.task,
            "from": holder.get(unit),
            "to": owner.get(unit),
        }
        for unit in sorted(config.units())
        if owner.get(unit) != holder.get(unit) and config.target_state(unit.connector) is not TargetState.STOPPED
    ]
