"""
Which worker should run which unit: balanced by weight, and moving no more units than necessary.

A pure function. `handover.py` calls it with what it has read from the log. Read next: `handover.py`.
"""

from __future__ import annotations

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
    placed: dict[str, list[UnitId]] = {}
    for name in names:
        placed[name] = sorted(todo & current.get(name, frozenset()))
        todo -= set(placed[name])
    loads = {name: sum(weights.get(unit, 1) for unit in owned) for name, owned in placed.items()}

    def move(unit: UnitId, source: str | None, target: str) -> None:
        weight = weights.get(unit, 1)
        if source is not None:
            placed[source].remove(unit)
            loads[source] -= weight
        placed[target].append(unit)
        loads[target] += weight

    # The heaviest first: the light ones then fill the gaps.
    for unit in sorted(todo, key=lambda unit: (-weights.get(unit, 1), unit)):
        move(unit, None, min(names, key=lambda name: (loads[name], len(placed[name]), name)))
    # Each move takes a unit lighter than the difference, so the sum of the squared loads falls: this ends.
    while (best := _best_move(names, placed, loads, weights)) is not None:
        move(*best)
    return {name: frozenset(owned) for name, owned in placed.items()}


def _best_move(
    names: list[str], units_by_worker: Mapping[str, list[UnitId]], loads: Mapping[str, int], weights: Mapping[UnitId, int]
) -> tuple[UnitId, str, str] | None:
    """
    Return a move from the most loaded worker that has one: the unit that comes nearest to halving the difference to the least
    loaded worker.
    """
    target = min(names, key=lambda name: (loads[name], len(units_by_worker[name]), name))
    for source in sorted(names, key=lambda name: (-loads[name], name)):
        difference = loads[source] - loads[target]
        if not weights:
            # Thousands of units may have to move: no need to look at each for each.
            return (units_by_worker[source][-1], source, target) if difference > 1 else None
        light = [unit for unit in units_by_worker[source] if weights.get(unit, 1) < difference]
        if light:
            # The last of equals: those that came last move first.
            best = min(abs(difference - 2 * weights.get(unit, 1)) for unit in light)
            return [u for u in light if abs(difference - 2 * weights.get(u, 1)) == best][-1], source, target
    return None
