"""
Hosts of this worker that are dead and that nobody replaces. Held by `herder.py`, which is told of the dead by `worker/loop.py`;
what the worker writes in their place is in `cluster/placement.py`.
"""

from __future__ import annotations

from kconnect.core.cluster.placement import released_by_the_dead
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.records import Entry, UnitId

Host = tuple[str, int, str]
"""Worker id, number, incarnation."""

_REPLACED_MS = 10_000
"""Spark replaces a host within a second, on a very busy machine within some, or can't."""


class LostHosts:
    """Times are milliseconds of the herder's clock."""

    def __init__(self) -> None:
        self._dead_since: dict[Host, int] = {}

    def seen(self, dead: frozenset[Host], now: int) -> None:
        """These, and no others, are dead by now."""
        self._dead_since = {host: self._dead_since.get(host, now) for host in dead}

    def releases(self, state: AssignmentState, worker: str, incarnation: str, now: int) -> list[Entry]:
        """Records by which the worker gives up what its lost hosts can't give up themselves."""
        return released_by_the_dead(state, worker, incarnation, self._lost(now))

    def units(self, state: AssignmentState, worker: str, now: int) -> set[UnitId]:
        """What the worker's lost hosts still list."""
        lost = self._lost(now)
        return {
            unit
            for held in (state.hosts_of(worker) if lost else ())
            if (worker, held.host, held.incarnation) in lost
            for unit in held.units or ()
        }

    def _lost(self, now: int) -> set[Host]:
        return {host for host, since in self._dead_since.items() if now - since >= _REPLACED_MS}
