"""
How much of a processor each unit takes: by the clocks of its threads, in Python and in Java.

Held by `metrics.py`, which asks from the host's own thread. Threads of a unit are those that `units/owners.py` and
`jvm/threads.py` know; clients of Kafka, which have threads of their own, count for the host alone. What a thread took between
the last look and its end is missed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path

from kconnect.core.state.records import UnitId
from kconnect.jvm import threads
from kconnect.units import owners
from kconnect.units.unit import Unit

_CLOCKS = Path("/proc/self/task")
_LOOK_S = 2.0
"""How often it is looked whose the threads are, for all units at once: there may be thousands of both."""
_STEP_S = 0.1
"""Less is no news: an idle unit that wakes now and then is to say nothing."""


class Clocks:
    """The units of one host."""

    def __init__(self) -> None:
        self._seen: dict[Unit, dict[Hashable, float]] = {}
        self._ended: dict[Unit, float] = {}
        self._before: dict[Unit, Mapping[int, float]] = {}
        """What threads in Java had taken that an earlier life of a unit has left."""
        self._java: Mapping[UnitId, Mapping[int, float]] = {}
        self._python: Mapping[Unit, Sequence[threading.Thread]] = {}
        self._looked_at: float | None = None
        self._is_there = Path("/proc/self/schedstat").is_file()

    def seconds(self, unit: Unit) -> float | None:
        """Return what the unit has taken, in steps of a tenth of a second; None where the system has no such clocks."""
        if not self._is_there:
            return None
        moment = time.monotonic()
        if self._looked_at is None or moment - self._looked_at >= _LOOK_S:
            self._java, self._python, self._looked_at = threads.seconds(), owners.all_threads(), moment
        java = self._java.get(unit.spec.unit, {})
        left = self._before.setdefault(unit, java)
        now = dict(self._clocks(unit))
        now.update({("java", number): taken - left.get(number, 0.0) for number, taken in java.items()})
        before = self._seen.get(unit, {})
        # A thread that has ended keeps what it had taken at the last look; another one may have its number now.
        gone = sum(taken for thread, taken in before.items() if now.get(thread, 0.0) < taken)
        self._ended[unit] = self._ended.get(unit, 0.0) + gone
        self._seen[unit] = now
        whole = self._ended[unit] + sum(now.values())
        return round(int(whole / _STEP_S) * _STEP_S, 1)

    def forget(self, unit: Unit) -> None:
        for known in (self._seen, self._ended, self._before):
            known.pop(unit, None)

    def _clocks(self, unit: Unit) -> Iterable[tuple[Hashable, float]]:
        for thread in {unit.thread, *self._python.get(unit, ())}:
            try:
                text = (_CLOCKS / str(thread.native_id) / "schedstat").read_text("ascii")
            except OSError:
                continue  # It has not begun, or has ended just now.
            yield thread.native_id, int(text.split()[0]) / 1e9
