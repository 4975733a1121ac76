"""
The life of one unit as a table: its phases, the events that lead from one phase to the next, and the status of each phase.

Owned by the thread that runs the unit (`units/unit.py`); no other thread changes it. Read next: `units/source_task.py`.
"""

from __future__ import annotations

import enum

from kconnect.core.state.records import State


class Phase(enum.Enum):
    NEW = "NEW"
    """Nothing of the plugin has been called."""
    HELD = "HELD"
    """Paused before it was ever started: the plugin waits for the first resume, as in Connect."""
    STARTING = "STARTING"
    """The plugin is being loaded, or its `start` runs."""
    RUNNING = "RUNNING"
    """`start` has returned and the loop runs."""
    PAUSED = "PAUSED"
    """Started once; moves no records until it is resumed."""
    FAILED = "FAILED"
    """Over, with a reason. Only a new unit can follow."""
    ENDED = "ENDED"
    """Over, because somebody asked."""


class Event(enum.Enum):
    START = "START"
    STARTED = "STARTED"
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    RETRY = "RETRY"
    """A call has failed and is made again, or has succeeded after that: the state stays, and the status says why."""
    FAIL = "FAIL"
    END = "END"


_TABLE: dict[tuple[Phase, Event], tuple[Phase, State | None]] = {
    (Phase.NEW, Event.START): (Phase.STARTING, None),
    (Phase.NEW, Event.PAUSE): (Phase.HELD, State.PAUSED),
    (Phase.HELD, Event.START): (Phase.STARTING, None),
    # Resumed, and paused again before it came to be started.
    (Phase.HELD, Event.PAUSE): (Phase.HELD, State.PAUSED),
    (Phase.STARTING, Event.STARTED): (Phase.RUNNING, State.RUNNING),
    (Phase.RUNNING, Event.RETRY): (Phase.RUNNING, State.RUNNING),
    (Phase.RUNNING, Event.PAUSE): (Phase.PAUSED, State.PAUSED),
    (Phase.PAUSED, Event.RESUME): (Phase.RUNNING, State.RUNNING),
    **{(phase, Event.FAIL): (Phase.FAILED, State.FAILED) for phase in list(Phase)[:5]},
    **{(phase, Event.END): (Phase.ENDED, State.UNASSIGNED) for phase in list(Phase)[:5]},
}


class Lifecycle:
    """`handle` gives the status to report, or None; once `abandoned`, nothing is reported any more."""

    def __init__(self) -> None:
        self.phase = Phase.NEW
        self.abandoned = False

    @property
    def over(self) -> bool:
        return self.phase in (Phase.FAILED, Phase.ENDED)

    def handle(self, event: Event) -> State | None:
        """Move on. RuntimeError, naming both, if `event` can't happen in this phase."""
        try:
            self.phase, status = _TABLE[self.phase, event]
        except KeyError:
            raise RuntimeError(f"A unit in the phase {self.phase.value} can't have the event {event.value}") from None
        return None if self.abandoned else status
