"""
What `GET /metrics` says of this worker, taken from what its herder has read and what its hosts report.

Only units of this worker are shown, for each worker is asked by itself; the leader adds those that nobody has. States come
from the status topic, so a unit that never came to life has one too. Numbers count only if they come from the host that
holds the unit now: what was said before the unit moved is gone. Made by `rest/metrics.py`. Read next:
`core/metrics/families.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from kconnect.core.herder import effects, waiting
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.rebalances import Rebalances
from kconnect.core.herder.request import Office, Request
from kconnect.core.herder.requests.cluster import demand
from kconnect.core.metrics.families import Snapshot, UnitNow
from kconnect.core.metrics.published import Published
from kconnect.core.metrics.report import HostReport, Report, Starts, UnitReport, Usage
from kconnect.core.state.records import UnitId
from kconnect.core.task.meters import Values

PROTOCOL = "kconnect"


@dataclass(frozen=True, slots=True)
class GetMetrics(Request[Snapshot]):
    """REST writes the answer down."""

    def answer(self, office: Office) -> Procedure[Snapshot]:
        wanted = demand(office.desk, (yield from ask(effects.ReadCores())))["workers"]
        return _snapshot(office.desk, office.rebalances, (yield from ask(effects.ReadReports())), wanted)


def _snapshot(desk: Desk, rebalances: Rebalances, reports: Collection[Report], wanted: int) -> Snapshot:
    me, units = desk.identity, desk.log.config.units()
    holders = {unit: held for held in desk.log.assignment.hosts_of(me.worker_id) for unit in held.units or ()}
    hosts = {held.host: held.incarnation for held in desk.log.assignment.hosts_of(me.worker_id)}
    usage_by_host: dict[int, Usage] = {}
    published: dict[int, Sequence[Published]] = {}
    current: dict[UnitId, UnitReport] = {}
    starts: list[HostReport] = []
    for report in reports:
        if report.worker != me.worker_id:
            continue
        if isinstance(report, HostReport):
            if report.worker_incarnation == me.incarnation:
                starts.append(report)
            if report.usage is not None and hosts.get(report.host) == report.incarnation:
                usage_by_host[report.host], published[report.host] = report.usage, report.published
        elif (held := holders.get(report.unit)) and (held.host, held.incarnation) == (report.host, report.incarnation):
            current[report.unit] = report
    shown = [_now(desk, unit, current.get(unit)) for unit in sorted((desk.owned & units) | _nobodys(desk))]
    connectors = [now for now in shown if now.unit.is_connector]
    tasks = [now for now in shown if not now.unit.is_connector]
    counts = [sum(now.unit in desk.owned for now in kind) for kind in (connectors, tasks)]
    worker: Values = {
        "workers-wanted": wanted,
        "connector-count": counts[0],
        "task-count": counts[1],
        "assigned-connectors": counts[0],
        "assigned-tasks": counts[1],
        **_starts("connector", reduce(add, (report.connectors for report in starts), Starts())),
        **_starts("task", reduce(add, (report.tasks for report in starts), Starts())),
    }
    leader = desk.log.assignment.leader
    leads = leader is not None and leader.worker in desk.members
    texts = {"leader-name": leader.worker if leader is not None and leads else "", "connect-protocol": PROTOCOL}
    usages = dict(sorted(usage_by_host.items()))
    silent_s = {host: _silent_s(desk, host, incarnation) for host, incarnation in sorted(hosts.items())}
    processes = ((held.host, held.process) for held in desk.log.assignment.hosts_of(me.worker_id))
    started_at = {host: process[2] for host, process in processes if process is not None}
    return Snapshot(
        connectors, tasks, worker, _rebalances(desk, rebalances, leads), texts, usages, published, silent_s, started_at
    )


def _silent_s(desk: Desk, host: int, incarnation: str) -> float:
    silence = desk.silent_hosts.get((desk.me, host, incarnation))
    return 0.0 if silence is None else (desk.now - silence.since_ms) / 1000


def _nobodys(desk: Desk) -> frozenset[UnitId]:
    """Units that stand in no assignment: the leader's to tell of, or nobody would."""
    if not desk.leads:
        return frozenset()
    assigned = [assignment.units or frozenset() for assignment in desk.log.assignment.assignments.values()]
    return desk.log.config.units().difference(*assigned)


def _now(desk: Desk, unit: UnitId, report: UnitReport | None) -> UnitNow:
    class_name = desk.log.config.connectors[unit.connector].properties.get("connector.class") or ""
    return UnitNow(unit, waiting.state(desk, unit), report, {"connector-class": class_name})


def _starts(kind: str, starts: Starts) -> Values:
    decided = starts.succeeded + starts.failed
    return {
        f"{kind}-startup-attempts-total": starts.attempts,
        f"{kind}-startup-success-total": starts.succeeded,
        f"{kind}-startup-failure-total": starts.failed,
        f"{kind}-startup-success-percentage": starts.succeeded / decided if decided else None,
        f"{kind}-startup-failure-percentage": starts.failed / decided if decided else None,
    }


def _rebalances(desk: Desk, seen: Rebalances, leads: bool) -> Values:
    return {
        "epoch": desk.log.assignment.generation,
        "rebalancing": int(seen.under_way or not leads),
        "completed-rebalances-total": seen.completed,
        "rebalance-max-time-ms": seen.longest_ms,
        "rebalance-avg-time-ms": seen.total_ms / seen.completed if seen.completed else None,
        "time-since-last-rebalance-ms": None if seen.last_at is None else desk.now - seen.last_at,
    }
