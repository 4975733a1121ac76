"""
What keeps a unit's code from hurting the other units of its host's process, and tells whose it was if it did.

`enter` is called by `main.py` once in a process, before any plugin code is loaded, and `look` by the host's loop. It puts
together `units/owners.py` (whose thread is whose), `blackbox.py` (what is left of a process that has crashed), `output.py`
(what is printed) and `guard.py` (what nobody may change or end).
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from kconnect.core.cluster.host import UnitSpec
from kconnect.core.state.assignment_records import Blame, Held
from kconnect.core.state.records import UnitId
from kconnect.host import blackbox
from kconnect.host.guard import Guard
from kconnect.host.output import Output
from kconnect.units import owners
from kconnect.units.unit import Unit

_LOOK_S = 1.0


class Containment:
    """Of this process, for as long as it is a host."""

    def __init__(self, incarnation: str) -> None:
        self._box = blackbox.open_box(incarnation)
        self._looked_at = float("-inf")
        owners.follow(self._note)
        self._output = Output()
        self._guard = Guard(self._output)

    def _note(self, owned: owners.Owned) -> None:
        if self._box is not None:
            self._box.note(owned)

    def look(self, units: Iterable[Unit]) -> None:
        """In each turn of the host's loop, with all that runs: see to what is due."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        if self._box is not None:
            self._box.alive()
        self._guard.look(units)
        self._output.look()

    def attribute_fault(self, spec: UnitSpec, reason: str) -> None:
        """What the next process is to know of this one's end: the fault is this unit's."""
        if self._box is not None:
            self._box.attribute_fault(spec, reason)

    def rest(self) -> None:
        """The host's loop is over, so `look` is not called any more."""
        if self._box is not None:
            self._box.close()

    def leave(self) -> None:
        """The process ends now, and what it leaves is for the next one to find."""
        self._output.close()

    def close(self) -> None:
        """Nothing is left to be contained: the process ends."""
        self.rest()
        self._output.close()


def blames(predecessor: Held) -> dict[UnitId, Blame]:
    """Which unit has ended the process that left this record, if that is known. It must be dead."""
    found = blackbox.Found(predecessor.incarnation).blames()
    return {unit: blame for unit, blame in found.items() if unit in (predecessor.units or ())}
