"""
Which worker should run which unit: balanced by weight, and moving no more units than necessary.

A pure function. `handover.py` calls it with what it has read from the log. Read next: `handover.py`.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping

from kconnect.core.state.records import UnitId, Units


def assign(
    units: Iterable[UnitId],
    workers: Iterable[str],
    current: Mapping[str, Units],
    weights: Mapping[UnitId, int] | None = None,
) -> dict[str, Units]:
    """
    Give each unit to exactly one worker, so that no single move of a unit would bring the workers' loads closer.

    A worker's load is the sum of its units' `weights`, 1 where nothing is said: without weights no two workers differ by
    more than one unit. A unit stays where it is unless its worker is gone or a move makes the loads more even. The answer
    depends on the arguments' contents only, never on their order. Without workers it is empty.
    """
    names = sorted(workers)
    if not names:
        return {}
    weights = weights or {}
    todo = set(units)
    shares = [_Share(name) for name in names]
    for share in shares:
        kept = todo & current.get(share.name, frozenset())
        todo -= kept
        for unit in sorted(kept):
            share.take(unit, weights.get(unit, 1))
    # The heaviest first: the light ones then fill the gaps.
    for unit in sorted(todo, key=lambda unit: (-weights.get(unit, 1), unit)):
        _lightest(shares).take(unit, weights.get(unit, 1))
    # Each move takes a unit lighter than the difference, so the sum of the squared loads falls: this ends.
    while _made_more_even(shares):
        pass
    return {share.name: frozenset(share.units()) for share in shares}


class _Share:
    """
    The units of a worker, by weight: whoever may create connectors may have thousands of tasks moved at once, while the herder
    waits, so that none is looked for among all others.
    """

    def __init__(self, name: str) -> None:
        self.name, self.load, self.count = name, 0, 0
        self._by_weight: dict[int, list[tuple[int, UnitId]]] = {}
        """Each with a number, which is greater of what came later."""
        self._weights: list[int] = []
        """The weights that it has units of, the lightest first."""
        self._came = 0

    def units(self) -> Iterable[UnitId]:
        return (unit for some in self._by_weight.values() for _, unit in some)

    def take(self, unit: UnitId, weight: int) -> None:
        if weight not in self._by_weight:
            self._by_weight[weight] = []
            insort(self._weights, weight)
        self._by_weight[weight].append((self._came, unit))
        self._came += 1
        self.load += weight
        self.count += 1

    def give(self, weight: int) -> UnitId:
        """Give up the unit of this weight that came last."""
        some = self._by_weight[weight]
        _, unit = some.pop()
        if not some:
            del self._by_weight[weight]
            self._weights.remove(weight)
        self.load -= weight
        self.count -= 1
        return unit

    def weight_to_move(self, difference: int) -> int | None:
        """
        Return the weight that comes nearest to halving a difference to another worker; None if each unit is at least as heavy.
        Of two that come as near it is the one of the unit that came last.
        """
        behind = bisect_right(self._weights, difference // 2)
        around = [weight for weight in self._weights[max(0, behind - 1) : behind + 1] if weight < difference]
        best = min((abs(difference - 2 * weight) for weight in around), default=0)
        nearest = [weight for weight in around if abs(difference - 2 * weight) == best]
        return max(nearest, key=lambda weight: self._by_weight[weight][-1], default=None)


def _lightest(shares: Iterable[_Share]) -> _Share:
    return min(shares, key=lambda share: (share.load, share.count, share.name))


def _made_more_even(shares: list[_Share]) -> bool:
    """
    Move a unit from the most loaded worker that has one whose move helps to the least loaded one; False if there is none.
    """
    target = _lightest(shares)
    for source in sorted(shares, key=lambda share: (-share.load, share.name)):
        weight = source.weight_to_move(source.load - target.load)
        if weight is not None:
            target.take(source.give(weight), weight)
            return True
    return False
