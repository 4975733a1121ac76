"""
Hosts of this worker that are dead and that nobody replaces. Held by `placing.py`, who hears of them from `worker/loop.py`,
and of Spark's end from `worker/main.py`; what the worker writes in their place is in `cluster/placement.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kconnect.core.cluster.placement import released_by_the_dead
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import Held
from kconnect.core.state.records import Entry, UnitId

Host = tuple[str, int, str]
"""Worker id, number, incarnation."""

_REPLACED_MS = 10_000
"""Spark replaces a host within a second, on a very busy machine within some, or can't."""


class LostHosts:
    """
    Times are milliseconds of the herder's clock. `stops_after_ms` is how long a host may run that nobody can see: without its
    executor, or without the log, it ends within this time.
    """

    def __init__(self, stops_after_ms: int) -> None:
        self._stops_after_ms = stops_after_ms
        self._dead_since: dict[Host, int] = {}
        self._bereft: dict[Host, int] = {}
        """Those of a Spark that has ended, and since when; kept until there is a host of another one."""
        self.is_spark_down = False
        self._was_up = False

    def seen(self, dead: frozenset[Host], now: int) -> None:
        """These, and no others, are dead by now."""
        self._dead_since = {host: self._dead_since.get(host, now) for host in dead}

    def spark_ended(self, hosts: Iterable[Held], now: int) -> None:
        """`hosts` are those of this life of the worker; they end with Spark, and nobody replaces them until another is up."""
        self._bereft = dict.fromkeys(map(_name, hosts), now) | self._bereft
        self.is_spark_down, self._was_up = True, False

    def came(self, held: Held) -> bool:
        """Take note of a record of this life's hosts. True if it is the first since Spark was started last."""
        if self._was_up or _name(held) in self._bereft:
            return False
        self._bereft.clear()
        self.is_spark_down, self._was_up = False, True
        return True

    def releases(self, state: AssignmentState, worker: str, incarnation: str, now: int) -> list[Entry]:
        """Records by which the worker gives up what its lost hosts can't give up themselves."""
        return released_by_the_dead(state, worker, incarnation, self._lost(now))

    def units(self, state: AssignmentState, worker: str, now: int) -> set[UnitId]:
        """Return the units that the worker's lost hosts still list."""
        lost = self._lost(now)
        return {unit for held in (state.hosts_of(worker) if lost else ()) if _name(held) in lost for unit in held.units or ()}

    def _lost(self, now: int) -> set[Host]:
        lost = {host for host, since in self._dead_since.items() if now - since >= _REPLACED_MS or host in self._bereft}
        return lost | {host for host, since in self._bereft.items() if now - since >= self._stops_after_ms}


def _name(held: Held) -> Host:
    return held.worker, held.host, held.incarnation
