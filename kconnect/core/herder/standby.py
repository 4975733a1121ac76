"""
Hosts that a worker keeps for what other workers run, so that units which come to it find a process that is up.

A process of Spark's takes ten seconds and more to start. A unit that has left its host would run nowhere in the meantime: at
each rolling restart, and each time that a worker came back. Held by `placing.py`; `cluster/placement.py` opens the hosts.
Hosts of dedicated tasks are not kept: nobody knows which task will come. Read next: docs/operating.md, "On a Spark cluster".
"""

from __future__ import annotations

from kconnect.core.herder.desk import Desk
from kconnect.core.herder.host_specs import HostSpecs
from kconnect.core.state.assignment_records import HostSpec

_MOST = 8
"""A host without units takes some 100 MB."""
_START_MS = 60_000
_WITHOUT_MS = 600_000
"""For how long there is none after there were not enough cores or memory for what has units."""
_STARTS_MS = 15_000


class Standby:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._read: tuple[int, frozenset[HostSpec]] = (-1, frozenset())
        self._began_at: int | None = None
        self._is_warm = False
        self._waits_since: int | None = None
        self._without_until = 0

    def begin(self) -> None:
        """No host is up yet: at first, and when Spark has ended."""
        self._began_at, self._is_warm = None, False

    def specs(self, specs: HostSpecs) -> frozenset[HostSpec]:
        """Return the specs to keep a host of: those that the connectors of other workers share most."""
        desk = self._desk
        if len(desk.members) < 2 or desk.leaving or not self._is_room():
            return frozenset()
        offset = desk.log.config.offset
        if self._read[0] != offset:
            shared = specs.shared(desk.log.config)
            self._read = offset, frozenset(spec for spec, _ in shared.most_common(_MOST))
        return self._read[1]

    def warms_up(self) -> bool:
        """
        Whether others had better keep what they run, until this worker's first hosts are up. Not if nobody else runs anything,
        and not for long: hosts may wait for cores that are not there.
        """
        desk = self._desk
        if self._is_warm:
            return False
        if self._began_at is None:
            self._began_at = desk.now
        assignments = desk.log.assignment.assignments.items()
        # Until the coordinator has said who is there, each may be.
        members = desk.members if desk.members_seen else dict(assignments)
        others_run = any(assigned.units for worker, assigned in assignments if worker in members and worker != desk.me)
        self._is_warm = bool(desk.owned) or not others_run or not self._down_hosts() or desk.now - self._began_at > _START_MS
        return not self._is_warm

    def _down_hosts(self) -> set[int]:
        """Return the hosts that the placement names and that are not up. Without a placement of this life, none is."""
        desk = self._desk
        placement = desk.log.assignment.placements.get(desk.me)
        if placement is None or placement.incarnation != desk.identity.incarnation or not placement.hosts:
            return {-1}
        hosts = desk.log.assignment.hosts_of(desk.me)
        return placement.hosts.keys() - {host.host for host in hosts if host.worker_incarnation == placement.incarnation}

    def _is_room(self) -> bool:
        """False for a while once a host that has units to run did not come: perhaps hosts without any are in its way."""
        desk = self._desk
        placement = desk.log.assignment.placements.get(desk.me)
        waits = placement is not None and any((placement.hosts or {}).get(host) for host in self._down_hosts())
        if not waits:
            self._waits_since = None
        elif self._waits_since is None:
            self._waits_since = desk.now
        elif desk.now - self._waits_since > _STARTS_MS:
            self._without_until = desk.now + _WITHOUT_MS
        return desk.now >= self._without_until
