"""
The threads that units' code has started in Java: how many, their names, where they stand. `shim/Threads.java` keeps them apart.

`machine.py` calls `begin`; `host/java_threads.py` and `host/stops.py` ask. Without a JVM, or without a security manager (from
Java 24 on), there are none. As `logs.py`, it does without JPype where there is no JVM.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kconnect.core.state.records import UnitId
from kconnect.jvm import logs

MOST = 500
"""A unit's, and in Python as many (`units/owners.py`). Beyond that it leaks them: who waits for so many needs one thread."""

_java: Any = None


def begin() -> None:
    """Right after the JVM was started."""
    global _java
    import jpype

    _java = jpype.JClass("kconnect.shim.Threads")
    _java.limit(MOST)


def count(unit: UnitId) -> int:
    return 0 if _java is None else int(_java.count(_key(unit)))


def changed() -> dict[UnitId, list[str]] | None:
    """The names of all threads by unit; None if they are as they were at the last call."""
    rows = None if _java is None else _java.look()
    if rows is None:
        return None
    names: dict[UnitId, list[str]] = {}
    for row in rows:
        connector, task, name = str(row).split("\0", 2)
        names.setdefault(_unit(connector, task), []).append(name)
    return names


def seconds() -> dict[UnitId, dict[int, float]]:
    """Return how much processor time each unit's threads have taken, by their numbers; nothing where the JVM has no clocks."""
    found: dict[UnitId, dict[int, float]] = {}
    for row in () if _java is None else _java.clocks():
        connector, task, number, nanoseconds = str(row).split("\0")
        found.setdefault(_unit(connector, task), {})[int(number)] = int(nanoseconds) / 1e9
    return found


def refused() -> Iterable[UnitId]:
    """Return the units that were refused another thread since the last call."""
    return () if _java is None else [_unit(*str(row).split("\0")) for row in _java.refused()]


def stacks(unit: UnitId, most: int) -> str:
    """Return the stacks of the unit's first threads."""
    return "" if _java is None else str(_java.stacks(_key(unit), most))


def _key(unit: UnitId) -> str:
    return logs.name_of(unit.connector, None if unit.is_connector else unit.task)


def _unit(connector: str, task: str) -> UnitId:
    return UnitId(connector, int(task)) if task else UnitId(connector)
