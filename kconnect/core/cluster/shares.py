"""
The units that a worker is to run, by weight and by connector, while it is decided: `assignor.py`.

Whoever may create connectors may have thousands of tasks moved at once, while the herder waits: so no unit is looked for among
all others.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterator

from kconnect.core.state.records import UnitId

INSTANCES = ""
"""
The group of all connectors' instances. They are spread like a connector's tasks: they have next to nothing to do, and where
they count as much as tasks, one worker would have them, and another one all tasks.
"""

LOOKS = 64
"""So many groups are compared at most when a unit of one is to move."""


def group_of(unit: UnitId) -> str:
    """Return the connector of a task, or `INSTANCES`."""
    return INSTANCES if unit.is_connector else unit.connector


class Counts:
    """A count of the units of each group, by worker."""

    def __init__(self) -> None:
        self._by_group: dict[str, Counter[str]] = {}

    def add(self, unit: UnitId, worker: str, number: int) -> None:
        self._by_group.setdefault(group_of(unit), Counter())[worker] += number

    def of(self, group: str, worker: str) -> int:
        counts = self._by_group.get(group)
        return 0 if counts is None else counts[worker]

    def uneven(self, workers: int) -> Iterator[str]:
        """Yield the groups of which one of so many workers has two units more than another one."""
        for group, counts in self._by_group.items():
            held = [count for count in counts.values() if count]
            if held and max(held) - (min(held) if len(held) == workers else 0) > 1:
                yield group


class Share:
    """A worker's."""

    def __init__(self, name: str, counts: Counts) -> None:
        self.name, self.load, self.count = name, 0, 0
        self._counts = counts
        self._by_weight: dict[int, dict[str, list[UnitId]]] = {}
        """By group, that of which something came last at the end, as in each group what came last."""
        self._weights: list[int] = []
        """The weights that it has units of, the lightest first."""

    def units(self) -> Iterator[UnitId]:
        return (unit for some in self._by_weight.values() for of_one in some.values() for unit in of_one)

    def count_of(self, group: str) -> int:
        return self._counts.of(group, self.name)

    def weights_of(self, group: str) -> list[int]:
        """Return the weights that it has units of this group of, the heaviest first."""
        return [weight for weight in reversed(self._weights) if group in self._by_weight[weight]]

    def has(self, weight: int) -> bool:
        return weight in self._by_weight

    def take(self, unit: UnitId, weight: int) -> None:
        if weight not in self._by_weight:
            self._by_weight[weight] = {}
            insort(self._weights, weight)
        some, group = self._by_weight[weight], group_of(unit)
        of_one = some.pop(group, [])
        of_one.append(unit)
        some[group] = of_one
        self.load += weight
        self.count += 1
        self._counts.add(unit, self.name, 1)

    def give(self, weight: int, group: str) -> UnitId:
        """Give up the unit of this weight and group that came last."""
        some = self._by_weight[weight]
        unit = some[group].pop()
        if not some[group]:
            del some[group]
        if not some:
            del self._by_weight[weight]
            self._weights.remove(weight)
        self.load -= weight
        self.count -= 1
        self._counts.add(unit, self.name, -1)
        return unit

    def weight_to_move(self, difference: int) -> int | None:
        """
        Return the weight that comes nearest to halving a difference to another worker; None if each unit is at least as heavy.
        Of two that come as near it is the lighter one.
        """
        behind = bisect_right(self._weights, difference // 2)
        around = [weight for weight in self._weights[max(0, behind - 1) : behind + 1] if weight < difference]
        return min(around, key=lambda weight: abs(difference - 2 * weight), default=None)

    def best(self, weight: int, target: Share, looks: int | None = LOOKS) -> str:
        """
        Return the group of which a unit of this weight, of which there must be one, goes to another worker best: this one has
        most more of it. Of two that are alike it is that of instances, or the one of which something came last. Only so many
        are compared, those of which something came last; None: all.
        """
        recent = itertools.islice(reversed(self._by_weight[weight]), looks)
        return max(recent, key=lambda group: (self.count_of(group) - target.count_of(group), group == INSTANCES))

    def advantage(self, weight: int, target: Share) -> int:
        """Return by how many units the two differ in the group that `best` gives."""
        group = self.best(weight, target)
        return self.count_of(group) - target.count_of(group)
