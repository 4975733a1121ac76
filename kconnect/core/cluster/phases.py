"""
Where a unit stands in a task host, and what takes it from there: a table, which `host.py` follows.

A host has nothing of a unit that is in no phase. Whoever reads the log counts on it that all others are named by the host's
held record; plugin code may run in all phases but `DECLARED`. Read next: `host.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType

from kconnect.core.state.assignment_records import Wait
from kconnect.core.state.config import Properties
from kconnect.core.state.records import TargetState, UnitId, Units


@dataclass(frozen=True, slots=True)
class UnitSpec:
    """
    A unit as the log describes it. A running unit is restarted when its spec is no longer equal.

    `task` is None for the connector instance, and so is `task_config`. `config_offset` is that of the record the spec
    comes from; `run` rises with each restart that somebody asked for.
    """

    connector: str
    task: int | None
    connector_config: Properties
    task_config: Properties | None
    config_offset: int
    run: int

    @property
    def unit(self) -> UnitId:
        return UnitId(self.connector, -1 if self.task is None else self.task)


class Phase(Enum):
    DECLARED = auto()
    """The log gives it to this host, which has said that it holds it. Waits until that has been read back."""
    RUNNING = auto()
    """It was started, and the log gave it to this host then. Waits for nothing."""
    FENCING = auto()
    """It runs, and starts no producer. Waits for the leader to have fenced earlier sets of its tasks (KIP-618)."""
    STOPPING = auto()
    """It was asked to stop, and may write what it has. Waits for the end of its threads."""
    ABANDONED = auto()
    """As `STOPPING`, but somebody else may have it, so it writes nothing any more."""
    STUCK = auto()
    """As `STOPPING`, for longer than its limit: the host runs nothing new, and ends once it has nothing else."""
    STUCK_ABANDONED = auto()
    """As `STUCK` and `ABANDONED`."""


class Event(Enum):
    WANTED = auto()
    """The log gives the unit to this host, and no other process of its number lives. Once more, if it is another spec of it."""
    UNWANTED = auto()
    """One or the other is not so any more, before the unit was started."""
    READ_BACK = auto()
    """The newest record of this host has been read back, and names the unit."""
    TOLD = auto()
    """The log wants another target state of it, or offsets."""
    WAITS = auto()
    """Its task may start no producer yet."""
    PASSED = auto()
    """The task need not wait any longer: earlier sets are fenced, or that has failed."""
    STOP = auto()
    """The log wants another spec of it, wants it elsewhere, or it is to be started anew."""
    ABANDON = auto()
    """The same, and others may have it by now; also while it stops."""
    LIMIT = auto()
    """It has had its time to stop."""
    ENDED = auto()
    """Nothing of it is left."""


TRANSITIONS: Mapping[tuple[Phase | None, Event], Phase | None] = MappingProxyType(
    {
        (None, Event.WANTED): Phase.DECLARED,
        (Phase.DECLARED, Event.WANTED): Phase.DECLARED,
        (Phase.DECLARED, Event.UNWANTED): None,
        (Phase.DECLARED, Event.READ_BACK): Phase.RUNNING,
        (Phase.RUNNING, Event.TOLD): Phase.RUNNING,
        (Phase.RUNNING, Event.WAITS): Phase.FENCING,
        (Phase.RUNNING, Event.STOP): Phase.STOPPING,
        (Phase.RUNNING, Event.ABANDON): Phase.ABANDONED,
        (Phase.FENCING, Event.TOLD): Phase.FENCING,
        (Phase.FENCING, Event.WAITS): Phase.FENCING,
        (Phase.FENCING, Event.PASSED): Phase.RUNNING,
        (Phase.FENCING, Event.STOP): Phase.STOPPING,
        (Phase.FENCING, Event.ABANDON): Phase.ABANDONED,
        (Phase.STOPPING, Event.ABANDON): Phase.ABANDONED,
        (Phase.STOPPING, Event.LIMIT): Phase.STUCK,
        (Phase.STOPPING, Event.ENDED): None,
        (Phase.ABANDONED, Event.LIMIT): Phase.STUCK_ABANDONED,
        (Phase.ABANDONED, Event.ENDED): None,
        (Phase.STUCK, Event.ABANDON): Phase.STUCK_ABANDONED,
        (Phase.STUCK, Event.ENDED): None,
        (Phase.STUCK_ABANDONED, Event.ENDED): None,
    }
)
"""What is not in it changes nothing: a word that comes too late."""

AT_WORK = frozenset({Phase.RUNNING, Phase.FENCING})
IN_ORDER = frozenset({Phase.STOPPING, Phase.STUCK})
"""Those that stop, and were not abandoned."""
STUCK = frozenset({Phase.STUCK, Phase.STUCK_ABANDONED})
OWN = frozenset(Phase) - {Phase.DECLARED}
"""Something of the unit is in this process."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A unit as the log wants it in this host."""

    spec: UnitSpec
    target: TargetState
    desired_offset: int


@dataclass(frozen=True, slots=True)
class HostedUnit:
    """A unit in its phase. `wanted` is what it was last told to be, `wait` what it waits for while it is `FENCING`."""

    phase: Phase
    wanted: Wanted
    wait: Wait | None = None


class HostedUnits(Mapping[UnitId, HostedUnit]):
    """The units of a host, each in its phase, in the order in which they came."""

    def __init__(self) -> None:
        self._units: dict[UnitId, HostedUnit] = {}

    def __getitem__(self, unit: UnitId) -> HostedUnit:
        return self._units[unit]

    def __iter__(self) -> Iterator[UnitId]:
        return iter(self._units)

    def __len__(self) -> int:
        return len(self._units)

    def within(self, phases: Set[Phase]) -> Units:
        return frozenset(unit for unit, hosted in self._units.items() if hosted.phase in phases)

    def spec_at_work(self, unit: UnitId) -> UnitSpec | None:
        """Return the spec with which a unit runs; None if it doesn't."""
        hosted = self._units.get(unit)
        return hosted.wanted.spec if hosted is not None and hosted.phase in AT_WORK else None

    def move(self, unit: UnitId, event: Event, wanted: Wanted | None = None, wait: Wait | None = None) -> bool:
        """
        Take a unit to its next phase; False if the table knows none for this event. `wanted` and `wait` are what the unit has
        from now on, if that is something else.
        """
        hosted = self._units.get(unit)
        step = (hosted.phase if hosted is not None else None, event)
        if step not in TRANSITIONS:
            return False
        phase = TRANSITIONS[step]
        if phase is None:
            del self._units[unit]
            return True
        if hosted is None:
            assert wanted is not None, "who is wanted is wanted as something"
            hosted = HostedUnit(phase, wanted)
        waits_for = hosted.wait if phase is Phase.FENCING else None
        self._units[unit] = HostedUnit(phase, wanted or hosted.wanted, wait or waits_for)
        return True
