"""
What keeps a unit's code from hurting the other units of its host's process, and tells whose it was if it did.

`enter` is called by `main.py` once in a process, before any plugin code is loaded, and `look` by the host's loop. It puts
together `units/owners.py` (whose thread is whose), `blackbox.py` (what is left of a process that has crashed), `output.py`
(what is printed), `java_threads.py` (the same for Java) and `guard.py` (what nobody may change or end).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state.assignment_records import Blame, Held
from kconnect.core.state.records import UnitId, Units
from kconnect.host import blackbox
from kconnect.host.guard import Guard
from kconnect.host.java_threads import JavaThreads
from kconnect.host.output import Output
from kconnect.units import owners
from kconnect.units.unit import Unit

_LOOK_S = 1.0


class Containment:
    """The containment of plugin code in this process, for as long as it is a host."""

    def __init__(self, incarnation: str) -> None:
        self._box = blackbox.open_box(incarnation)
        self._looked_at = float("-inf")
        owners.follow(self._note)
        self._output = Output()
        self._guard = Guard(self._output)
        self._java_threads = JavaThreads(self._box)

    def _note(self, owned: owners.Owned) -> None:
        if self._box is not None:
            self._box.note(owned)

    def look(self, units: Iterable[Unit]) -> None:
        """Do what is due. Called in each turn of the host's loop, with all units that run."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        if self._box is not None:
            self._box.alive()
        self._guard.look(units)
        self._java_threads.look(units)
        self._output.look()

    @property
    def java_report(self) -> str:
        """The file in which a JVM of this process is to write how it has ended."""
        return os.devnull if self._box is None else self._box.java_report

    def attribute_fault(self, spec: UnitSpec, reason: str, is_sure: bool = True) -> None:
        """Record for the next process that this unit is to blame, or may be, if this process ends."""
        if self._box is not None:
            self._box.attribute_fault(spec, reason, is_sure)

    def rest(self) -> None:
        """The host's loop is over, so `look` is not called any more."""
        if self._box is not None:
            self._box.close()

    def leave(self) -> None:
        """The process ends now, and what it leaves is for the next one to find."""
        self._output.close()

    def close(self) -> None:
        """End the containment: the process ends."""
        self.rest()
        self._output.close()


def attributed(predecessor: Held) -> tuple[dict[UnitId, Blame], Units]:
    """
    Return the units that have ended the process that left this record, if they are known; or else those that may have. The
    process must be dead.
    """
    blames, is_sure = blackbox.Found(predecessor.incarnation).blames()
    units = predecessor.units or frozenset()
    blames = {unit: blame for unit, blame in blames.items() if unit in units}
    is_alone = len(units - predecessor.blamed.keys()) == 1
    return (blames, frozenset()) if is_sure or is_alone else ({}, frozenset(blames))
