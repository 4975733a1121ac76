"""
What a source task passes before it may be exactly-once (KIP-618): earlier task sets are fenced, and its own is the newest.

`pass_gate` is called by `task_unit.py` before anything of the task runs, `confirm` by its producer, to which `source_task.py`
gives it, whenever that has taken its transactional id. In between, an old task that was slow could take the id back
from a new one, or one that nobody uses any more: so whoever has just taken an id asks whether it still should have, and sends
nothing until its host has read the log to its end since. `Gate` is the host's part. Read next: `core/cluster/host.py` and
`core/herder/fencing.py`.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kconnect.core.cluster.host import HostState
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state.records import TargetState, UnitId
from kconnect.errors import ConnectError

if TYPE_CHECKING:
    from kconnect.units.unit import Unit

Tell = Callable[["str | None"], None]
"""Called once, from any thread, with what is wrong, or None; it must not block."""


def pass_gate(unit: Unit) -> bool:
    """Wait, and be seen as paused meanwhile if that is wished. False: the unit is to stop. ConnectError: it is in vain."""
    answer = _Answer(unit)
    asked = False
    while not answer.told:
        if not unit.hold_while_paused():
            return False
        # Who begins paused is not fenced for before it is resumed, as in Connect.
        if not asked:
            unit.ports.gate.wait(unit.spec, answer.tell)
            asked = True
        unit.wait_for(lambda: answer.told or unit.target is not TargetState.STARTED)
        if unit.stopping.is_set():
            return False
    return answer.passes()


def confirm(unit: Unit) -> bool:
    """After a producer has taken its transactional id. False: the unit is to stop, and must not send anything."""
    answer = _Answer(unit)
    unit.ports.gate.confirm(answer.tell)
    unit.wait_for(lambda: answer.told)
    return not unit.stopping.is_set() and answer.passes()


class _Answer:
    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._error: str | None = None
        self.told = False

    def tell(self, error: str | None) -> None:
        with self._unit.changed:
            self._error, self.told = error, True
            self._unit.changed.notify_all()

    def passes(self) -> bool:
        if self._error is not None:
            raise ConnectError(self._error)
        return self._unit.may_work()


class Gate:
    """`wait` and `confirm` are for units, from any thread; all else is for the host's."""

    def __init__(self, state: HostState) -> None:
        self._state = state
        self._asked: queue.SimpleQueue[tuple[UnitSpec, Tell]] = queue.SimpleQueue()
        self._confirms: queue.SimpleQueue[tuple[float, Tell]] = queue.SimpleQueue()
        self._waiting: dict[UnitId, Tell] = {}
        self._unconfirmed: list[tuple[float, Tell]] = []

    def wait(self, spec: UnitSpec, tell: Tell) -> None:
        """Have `tell` called once earlier task sets are fenced, or with why they can't be. A unit that stops is not told."""
        if self._state.is_fenced(spec):
            tell(None)
        else:
            self._asked.put((spec, tell))

    def confirm(self, tell: Tell) -> None:
        """Have `tell` called once the host has read the log to its end since now, and has stopped what is to stop."""
        self._confirms.put((time.monotonic(), tell))

    def take(self) -> None:
        """Look at what was asked for; before each decision."""
        for spec, tell in _taken(self._asked):
            if self._state.wait(spec):
                self._waiting[spec.unit] = tell
        self._unconfirmed += _taken(self._confirms)

    @property
    def unconfirmed(self) -> bool:
        """Whether a unit waits for the log to be read to its end."""
        return bool(self._unconfirmed)

    def answer(self, unit: UnitId, error: str | None) -> None:
        self._waiting.pop(unit)(error)

    def forget(self, unit: UnitId) -> None:
        self._waiting.pop(unit, None)

    def decided(self, seen_at: float) -> None:
        """All has been done that follows from the log as it was at `seen_at`, by the monotonic clock."""
        for asked_at, tell in self._unconfirmed:
            if asked_at <= seen_at:
                tell(None)
        self._unconfirmed = [(asked_at, tell) for asked_at, tell in self._unconfirmed if asked_at > seen_at]


def _taken(asked: queue.SimpleQueue[Any]) -> list[Any]:
    questions = []
    while not asked.empty():
        questions.append(asked.get())
    return questions
