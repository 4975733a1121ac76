"""
Which tasks should change places because workers take unlike amounts of CPU.

`Loads` is a leader's memory of one term. Tasks change places in pairs, or one goes where one fewer is: so the assignor, which
counts tasks, sees nothing to mend afterwards, whoever leads then and of whichever version. Nothing here measures:
`herder/weighing.py` tells what hosts have reported. Read next: `handover.py`, which has them moved.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kconnect.core.cluster.shares import Counts, group_of
from kconnect.core.state.records import UnitId, Units

LOOK_MS = 300_000
"""How often it is looked what tasks have taken. A host says again what has not changed no less often."""
_LOOKS = 3
"""A task is known, and may move, once it was looked at so often in one life: so none moves twice within that time."""
_KEPT_LOOKS = 12
"""Its share is the mean of so many looks, an hour, which evens out chance."""
_STEADY = 2.0
"""What a task takes may differ by this factor from look to look, or by as little as counts for nothing: else it stays."""
_NOTHING = 0.01
_HOUR_MS = 3_600_000
_APART = 0.1
_APART_SHARE = 0.2
"""
Two workers are left alone unless one has more to do than the other by this much of a core, and by this share of what it does:
more than chance makes of loads that stay.
"""
_GAIN = 0.02
"""The busier one must have less to do afterwards by at least this much of a core, for two tasks start anew."""
_MOST_OF_IT = 0.75
"""An exchange may take at most so much of the difference to the other side: all of it would make that one the busier one."""
_UNLIKE = 1.5
"""One must take so many times what the other one does: what else they differ by may be chance, and they would change back."""
_REST_MS = 24 * _HOUR_MS
"""What has changed places stays where it is for so long: what is just at these limits would else go to and fro for ever."""
_CANDIDATES = 200
_NEIGHBOURS = 16
"""So many tasks of a worker are tried, the busiest first, each with so many of the other one: it may have thousands."""


class Reading(NamedTuple):
    """The CPU seconds that a task has taken in one life of its host."""

    life: str
    seconds: float


@dataclass(slots=True)
class _Known:
    """Shares of a core that a unit took, look by look in its present life; `before` is the mean of the life before."""

    shares: array[float] = field(default_factory=lambda: array("f"))
    before: float | None = None
    silent: int = 0
    """Looks since it was last known what it had taken."""

    @property
    def says_nothing(self) -> bool:
        """Whether it has long said nothing: an instance, or a task that does not run."""
        return self.silent > 2 * _LOOKS

    @property
    def is_measured(self) -> bool:
        return self.before is not None or len(self.shares) >= _LOOKS or self.says_nothing

    @property
    def share(self) -> float:
        if self.says_nothing:
            return 0.0
        if len(self.shares) >= _LOOKS or self.before is None:
            return sum(self.shares) / len(self.shares) if self.shares else 0.0
        return self.before

    @property
    def may_move(self) -> bool:
        steady = len(self.shares) >= _LOOKS and max(self.shares) <= max(min(self.shares) * _STEADY, _NOTHING)
        return steady or self.says_nothing


class Loads:
    def __init__(self, moves_per_hour: int, now: int) -> None:
        """`now` is when the term begins: what was moved in the hour before is not known, and may have been all that may be."""
        self._limit = moves_per_hour
        self._moved = deque([(now, moves_per_hour)])
        self._looked_at: int | None = None
        self._readings: Mapping[UnitId, Reading] = {}
        self._known: dict[UnitId, _Known] = {}
        self._rests_until: dict[UnitId, int] = {}

    def is_due(self, now: int) -> bool:
        return self._limit > 0 and (self._looked_at is None or now - self._looked_at >= LOOK_MS)

    def hear(self, units: Units, readings: Mapping[UnitId, Reading], now: int) -> None:
        """Take over what each of the cluster's units has taken so far, as far as a host says it."""
        known = {unit: self._known.get(unit) or _Known() for unit in units}
        if self._looked_at is not None and now > self._looked_at:
            seconds = (now - self._looked_at) / 1000
            for unit, of_unit in known.items():
                before, reading = self._readings.get(unit), readings.get(unit)
                if before is None or reading is None or before.life != reading.life or reading.seconds < before.seconds:
                    # Started anew, perhaps elsewhere, it begins to count anew.
                    if len(of_unit.shares) >= _LOOKS:
                        of_unit.before = of_unit.share
                    del of_unit.shares[:]
                    of_unit.silent += 1
                else:
                    of_unit.silent = 0
                    del of_unit.shares[: 1 - _KEPT_LOOKS]
                    of_unit.shares.append((reading.seconds - before.seconds) / seconds)
        self._known, self._readings, self._looked_at = known, dict(readings), now

    def exchanges(self, owners: Mapping[str, Units], weights: Mapping[UnitId, int], now: int) -> dict[UnitId, str]:
        """
        Return which units should go to which worker; none if that would gain little, or if too many have moved within an hour.

        `owners` are the workers that may be given units, and what they have. Units with `weights` of their own stay, and so
        does what has just moved.
        """
        moves: dict[UnitId, str] = {}
        self._rests_until = {unit: end for unit, end in self._rests_until.items() if end > now}
        left = self._left(now)
        if left <= 0:
            return {}
        staying = {*weights, *self._rests_until}
        sides = [_Side(name, units, self._known, weights, staying) for name, units in owners.items()]
        sides = [side for side in sides if side.is_measured]
        if not _are_apart(sides):
            return {}
        counts = Counts()
        for name, units in owners.items():
            for unit in units:
                counts.add(unit, name, 1)
        while found := next(_pairs(sides, counts, left - len(moves)), None):
            source, target, unit, back = found
            for moved, here, there in ((unit, source, target), (back, target, source)):
                if moved is not None:
                    moves[moved] = there.name
                    here.give(moved, there)
                    counts.add(moved, here.name, -1)
                    counts.add(moved, there.name, 1)
        if moves:
            self._moved.append((now, len(moves)))
            self._rests_until.update(dict.fromkeys(moves, now + _REST_MS))
        return moves

    def _left(self, now: int) -> int:
        while self._moved and now - self._moved[0][0] >= _HOUR_MS:
            self._moved.popleft()
        return self._limit - sum(moves for _, moves in self._moved)


class _Side:
    """A worker's units while it is decided who changes places."""

    def __init__(
        self,
        name: str,
        units: Units,
        known: Mapping[UnitId, _Known],
        weights: Mapping[UnitId, int],
        staying: Collection[UnitId],
    ) -> None:
        self.name = name
        self._units = [unit for unit in units if unit in known]
        self._known, self._staying = known, staying
        self.is_measured = len(self._units) == len(units) and all(known[unit].is_measured for unit in units)
        self.load = sum(known[unit].share for unit in self._units)
        self.weight = len(units) + sum(weights[unit] - 1 for unit in weights.keys() & units)

    @cached_property
    def movable(self) -> list[tuple[float, UnitId]]:
        """Units that may move, and what they take, the least busy first."""
        able = (unit for unit in self._units if unit not in self._staying and self._known[unit].may_move)
        return sorted((self._known[unit].share, unit) for unit in able)

    def give(self, unit: UnitId, other: _Side) -> None:
        """Count a unit as the other worker's, where it moves no further."""
        share = self._known[unit].share
        self.movable.remove((share, unit))
        self.load -= share
        other.load += share
        self.weight -= 1
        other.weight += 1


def _are_apart(sides: Collection[_Side]) -> bool:
    """Whether one of them has so much more to do than another one that something is to move."""
    loads = [side.load for side in sides]
    return len(loads) > 1 and max(loads) - min(loads) >= max(_APART, max(loads) * _APART_SHARE)


def _pairs(sides: Collection[_Side], counts: Counts, most: int) -> Iterator[tuple[_Side, _Side, UnitId, UnitId | None]]:
    """
    Yield what gains most between the busiest worker and another one, the least busy first: who, to whom, and who back. At
    `most` so many units move.
    """
    by_load = sorted(sides, key=lambda side: (side.load, side.name)) if most > 0 else []
    source = by_load.pop() if by_load else None
    for target in by_load:
        if source is None or not _are_apart((source, target)):
            return
        best: tuple[float, UnitId, UnitId | None] | None = None
        for share, unit in source.movable[: -_CANDIDATES - 1 : -1]:
            for other_share, back in _partners(source, target, unit, share, counts, most):
                busier = max(source.load - share + other_share, target.load + share - other_share)
                little = share - other_share <= _MOST_OF_IT * (source.load - target.load)
                if little and source.load - busier >= _GAIN and (best is None or busier < best[0]):
                    best = (busier, unit, back)
        if best is not None:
            yield (source, target, *best[1:])


def _partners(
    source: _Side, target: _Side, unit: UnitId, share: float, counts: Counts, most: int
) -> Iterator[tuple[float, UnitId | None]]:
    """
    Yield what may go to `source` for `unit`, with what it takes: so that units, and those of each connector, stay as even over
    workers as they were.
    """
    if source.weight == target.weight + 1 and _may_go(unit, source, target, counts):
        yield 0.0, None
    if most < 2:
        return
    # What would leave both with as much to do.
    wanted = share - (source.load - target.load) / 2
    middle = bisect_left(target.movable, wanted, key=lambda each: each[0])
    for other_share, back in target.movable[max(0, middle - _NEIGHBOURS // 2) : middle + _NEIGHBOURS // 2]:
        if other_share * _UNLIKE > share:
            break
        if group_of(back) == group_of(unit) or (
            _may_go(unit, source, target, counts) and _may_go(back, target, source, counts)
        ):
            yield other_share, back


def _may_go(unit: UnitId, source: _Side, target: _Side, counts: Counts) -> bool:
    group = group_of(unit)
    return counts.of(group, target.name) < counts.of(group, source.name)
