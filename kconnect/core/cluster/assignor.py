"""
Which worker is to run which unit: balanced by count, and moving only what must move.

A pure function that `handover.py` calls with what it read from the log. Read next: `handover.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kconnect.core.state.records import UnitId, Units


def assign(units: Iterable[UnitId], workers: Iterable[str], current: Mapping[str, Units]) -> dict[str, Units]:
    """
    Give each unit to exactly one worker so that no two workers differ by more than one unit.

    A unit stays where it is unless its worker is gone or holds more than its share. The answer depends on the
    arguments' contents only, never on their order. Without workers it is empty.
    """
    names = sorted(workers)
    if not names:
        return {}
    todo = set(units)
    kept: dict[str, list[UnitId]] = {}
    for name in names:
        kept[name] = sorted(todo & current.get(name, frozenset()))
        todo -= set(kept[name])
    total = len(todo) + sum(len(owned) for owned in kept.values())
    share, extra = divmod(total, len(names))
    # Those that hold most keep the places above the share, which is what makes the fewest units move.
    by_load = sorted(names, key=lambda name: (-len(kept[name]), name))
    quota = {name: share + (1 if rank < extra else 0) for rank, name in enumerate(by_load)}
    for name in names:
        while len(kept[name]) > quota[name]:
            todo.add(kept[name].pop())
    for unit in sorted(todo):
        poorest = min(names, key=lambda name: (len(kept[name]) - quota[name], len(kept[name]), name))
        kept[poorest].append(unit)
    return {name: frozenset(owned) for name, owned in kept.items()}
