"""
Which worker should run which unit: balanced by weight and by connector, and moving no more units than necessary.

A pure function. `handover.py` calls it with what it has read from the log. `shares.py` has what each worker is to run. Read
next: `handover.py`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from kconnect.core.cluster.shares import LOOKS, Counts, Share, group_of
from kconnect.core.state.records import UnitId, Units

_LOOKS = 16
"""So many equally loaded workers are compared for a unit: of a thousand nearly all are as good."""
_EXCHANGES = 1000
"""
So many are made at once to even out connectors' tasks: the rest follows when these have moved. Where an older version has led,
nearly all tasks of a cluster may be on the wrong worker.
"""


def assign(
    units: Iterable[UnitId],
    workers: Iterable[str],
    current: Mapping[str, Units],
    weights: Mapping[UnitId, int] | None = None,
) -> dict[str, Units]:
    """
    Give each unit to exactly one worker, so that no single move of a unit would bring the workers' loads closer, and that of no
    connector a worker has two tasks more than another one, nor two instances more, as far as weights allow that. What takes
    very many moves takes several calls, each with what the one before has given.

    A worker's load is the sum of its units' `weights`, 1 where nothing is said: without weights no two workers differ by
    more than one unit. A unit stays where it is unless its worker is gone or a move makes the loads, or its connector's tasks,
    more even. The answer depends on the arguments' contents only, never on their order. Without workers it is empty.
    """
    names = sorted(workers)
    if not names:
        return {}
    weights = weights or {}
    todo, counts = set(units), Counts()
    shares = [Share(name, counts) for name in names]
    for share in shares:
        kept = todo & current.get(share.name, frozenset())
        todo -= kept
        for unit in sorted(kept):
            share.take(unit, weights.get(unit, 1))
    _give_out(shares, sorted((-weights.get(unit, 1), unit) for unit in todo))
    # Each move takes a unit lighter than the difference, so the sum of the squared loads falls: this ends.
    while _made_more_even(shares):
        pass
    left = _EXCHANGES
    for group in sorted(counts.uneven(len(shares))):
        left -= _spread(shares, group, left)
    return {share.name: frozenset(share.units()) for share in shares}


def _give_out(shares: Sequence[Share], todo: Iterable[tuple[int, UnitId]]) -> None:
    """Give units, each behind its negative weight, to the workers with least: light ones, which come last, fill the gaps."""
    heap = [(share.load, share.count, place) for place, share in enumerate(shares)]
    heapq.heapify(heap)
    for negative_weight, unit in todo:
        tied: list[tuple[int, int, int]] = []
        while heap and len(tied) < _LOOKS and (not tied or heap[0][0] == tied[0][0]):
            tied.append(heapq.heappop(heap))
            if not shares[tied[-1][2]].count_of(group_of(unit)):
                break
        best = min(tied, key=lambda entry: (shares[entry[2]].count_of(group_of(unit)), *entry[1:]))
        share = shares[best[2]]
        share.take(unit, -negative_weight)
        for entry in tied:
            heapq.heappush(heap, (share.load, share.count, best[2]) if entry is best else entry)


def _made_more_even(shares: list[Share]) -> bool:
    """
    Move a unit from the most loaded worker that has one whose move helps to the least loaded one; False if there is none. Of
    units that help as much it is one of the connector of which the two have most unlike numbers.
    """
    target = min(shares, key=lambda share: (share.load, share.count, share.name))
    for sources in _by_load(shares):
        movable = ((share, share.weight_to_move(share.load - target.load)) for share in sources)
        able = list(islice(((share, weight) for share, weight in movable if weight is not None), _LOOKS))
        if able:
            source, weight = max(able, key=lambda each: each[0].advantage(each[1], target))
            target.take(source.give(weight, source.best(weight, target)), weight)
            return True
    return False


def _by_load(shares: Iterable[Share]) -> Iterator[list[Share]]:
    """Yield the workers of each load, the greatest first, each by name."""
    by_load: dict[int, list[Share]] = {}
    for share in shares:
        by_load.setdefault(share.load, []).append(share)
    for load in sorted(by_load, reverse=True):
        yield by_load[load]


def _spread(shares: Sequence[Share], group: str, most_exchanges: int) -> int:
    """
    Even out a group: one of its units goes to a worker with fewer of them, and one of another group comes back for it if that
    worker has as much to do as the first. Each step makes the sum of the squared numbers fall: this ends. Return how many
    there were.

    Without weights there always is one to come back: a worker with fewer units of this group, and no less to do, has more of
    another one.
    """
    by_count: dict[int, dict[Share, None]] = {}
    for share in shares:
        by_count.setdefault(share.count_of(group), {})[share] = None
    for exchange in range(most_exchanges):
        highest, lowest = max(by_count), min(by_count)
        if highest - lowest < 2:
            return exchange
        most = max(islice(by_count[highest], _LOOKS), key=lambda share: share.load)
        least = min(islice(by_count[lowest], _LOOKS), key=lambda share: share.load)
        if not _exchanged(most, least, group):
            return exchange
        for share, count in ((most, highest), (least, lowest)):
            del by_count[count][share]
            if not by_count[count]:
                del by_count[count]
            by_count.setdefault(share.count_of(group), {})[share] = None
    return most_exchanges


def _exchanged(most: Share, least: Share, group: str) -> bool:
    for weight in most.weights_of(group):
        if most.load - least.load >= weight:
            least.take(most.give(weight, group), weight)
            return True
        for looks in (LOOKS, None) if least.has(weight) else ():
            back = least.best(weight, most, looks)
            if least.count_of(back) > most.count_of(back):
                unit = least.give(weight, back)
                least.take(most.give(weight, group), weight)
                most.take(unit, weight)
                return True
    return False
