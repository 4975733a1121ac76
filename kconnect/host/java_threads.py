"""
Looks after the threads that units' code has started in Java, as `guard.py` does for Python's. Held by `containment.py`.

A unit that was refused one, for it has too many, fails. Threads that are still there a while after their unit has ended are
named in the log, once, and no more: pools and timers that a plugin's class shares among its connectors are among them. If they
are many, `stops.py` takes the unit for stuck, and the process ends. Read next: `kconnect/jvm/threads.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from kconnect.core.state.records import UnitId
from kconnect.host.blackbox import BlackBox
from kconnect.jvm import threads
from kconnect.units.owners import TooManyThreadsError
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_PATIENCE_S = 10.0
"""For those that a stopped pool is about to end."""
_SHOWN = 3


class JavaThreads:
    """The threads of Java in this process. `look` is called about once a second, with all units that are to run here."""

    def __init__(self, box: BlackBox | None) -> None:
        self._box = box
        self._names: dict[UnitId, list[str]] = {}
        self._ended: dict[UnitId, float] = {}
        self._told: dict[UnitId, set[str]] = {}

    def look(self, units: Iterable[Unit]) -> None:
        running = {unit.spec.unit: unit for unit in units if unit.alive}
        for unit_id in threads.refused():
            if unit_id in running:
                reason = f"{unit_id} has more than {threads.MOST} live threads in Java: each must end, at the latest in stop()"
                running[unit_id].fail_from_outside(TooManyThreadsError(reason))
        changed = threads.changed()
        if changed is not None:
            self._names = changed
            for unit_id, names in changed.items():
                if self._box is not None and unit_id in running:
                    self._box.note_java(running[unit_id].spec, names)
        self._tell_left(running)

    def _tell_left(self, running: Iterable[UnitId]) -> None:
        now = time.monotonic()
        self._ended = {unit: self._ended.get(unit, now) for unit in self._names if unit not in running}
        for unit, since in self._ended.items():
            new = set(self._names[unit]) - self._told.get(unit, set())
            if new and now - since >= _PATIENCE_S:
                self._told.setdefault(unit, set()).update(new)
                log.warning(
                    "%s has ended, and has left %d threads in Java (%s). They run on in its host's process: the plugin is to "
                    "end them in stop(). They are in\n%s",
                    unit,
                    len(self._names[unit]),
                    ", ".join(sorted(new)[:10]),
                    threads.stacks(unit, _SHOWN),
                )
