"""
Room: how many units the cluster can have. Those of a worker stand together in the record of its placement, which has an end.

Without that limit a cluster with too many tasks would place nothing more, for anybody. It holds for units that nobody was given
yet: what runs goes on. Asked by `handover.py`, and for the reason that a unit waits, by `herder/waiting.py`. Read next:
`handover.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.records import UnitId

_SHARE = 0.9
"""Of a record: what else stands in it takes the rest."""
_UNIT, _NAME = 10, 8
"""The bytes of a unit's number and of its run, and those around a connector's name."""


class Room:
    """The bytes left of `workers` records of `most` each. A connector's name stands in each host that has units of it."""

    def __init__(self, state: AssignmentState, workers: Collection[str], most: int) -> None:
        self._copies: Counter[str] = Counter()
        self._hosts = sum(max(1, len(state.placements[worker].hosts or ())) for worker in workers)
        self._left = int(most * _SHARE) * len(workers)
        for assignment in state.assignments.values():
            for unit in assignment.units or ():
                self.take(unit)

    def has(self, unit: UnitId) -> bool:
        """Whether it has room for one more."""
        return self._left >= self._size(unit)

    def take(self, unit: UnitId) -> None:
        self._left -= self._size(unit)
        self._copies[unit.connector] += 1

    def _size(self, unit: UnitId) -> int:
        named = self._copies[unit.connector] < self._hosts
        return _UNIT + (_NAME + len(unit.connector.encode()) if named else 0)
