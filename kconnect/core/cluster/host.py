"""
What one task host runs, decided from the log alone.

`host/main.py` passes every record of the config and assignment topics to `HostState`, and performs what `decide` returns.
`HostState` keeps the rule on which the handover rests (see `handover.py`): declare, read the declaration back, and start only
if the log still gives the unit to this host. Read next: `phases.py`, `host/main.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from kconnect.core.cluster.phases import IN_ORDER, OWN, STUCK, Event, HostedUnit, HostedUnits, Phase, UnitSpec, Wanted
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import (
    PLAIN,
    Assignment,
    Blame,
    FencingFailed,
    Held,
    HostSpec,
    Placement,
    Wait,
)
from kconnect.core.state.config import ConfigState
from kconnect.core.state.records import Broken, LoggerLevel, LogRecord, TargetState, Topic, UnitId, Units


@dataclass(frozen=True, slots=True)
class Start:
    """`blame`: nothing of it may run, it is only to be shown as failed; for this reason."""

    spec: UnitSpec
    target: TargetState
    desired_offset: int
    blame: str | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """
    Stop a unit; `abandon` means that somebody else may have it soon, or has it already, as when the log can't be read. It
    may follow a `Stop` that did not.
    """

    unit: UnitId
    abandon: bool = False


@dataclass(frozen=True, slots=True)
class SetTarget:
    unit: UnitId
    target: TargetState
    desired_offset: int


@dataclass(frozen=True, slots=True)
class Declare:
    held: Held


@dataclass(frozen=True, slots=True)
class Pass:
    """A unit has waited long enough for the fencing of earlier task sets: it may go on, or fail with `error`."""

    unit: UnitId
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """End the host's process: nothing runs any more, and nothing will."""

    reason: str


@dataclass(frozen=True, slots=True)
class Die:
    """
    End the host's process at once: only units that do not stop are left, and they end with it. Spark starts another process.
    """

    reason: str


HostEffect = Start | Stop | SetTarget | Declare | Pass | Exit | Die


class HostState:
    """
    Times are milliseconds of any steady clock. `takeover_ms` is how long a predecessor under the same name that can be
    neither asked nor seen dead may still run; it stops by itself within that time (`session.timeout.ms`). `grace_ms` is for
    how long others wait for units of this host once the leader has given its worker up (`handover.grace.ms`). `spec` is what
    this process was set up for, and all that it runs.
    """

    def __init__(
        self,
        worker: str,
        host: int,
        worker_incarnation: str,
        incarnation: str,
        process: tuple[str, int, float] | None,
        takeover_ms: int,
        grace_ms: int = 2_000,
        spec: HostSpec = PLAIN,
    ) -> None:
        self.config = ConfigState()
        self.assignment = AssignmentState()
        self.worker, self.host = worker, host
        self.worker_incarnation, self.incarnation = worker_incarnation, incarnation
        self._spec_of_host = spec
        self._process = process
        self._takeover_ms, self._grace_ms = takeover_ms, grace_ms
        self._given_up_at: int | None = None
        self._ready_at: int | None = None
        self._readable = True
        self._units = HostedUnits()
        self._blamed: dict[UnitId, Blame] = {}
        self._suspected: Units = frozenset()
        self._renewed: set[UnitId] = set()
        self._taken: set[UnitId] = set()
        """Units here that some record since the last decision took from this worker: others may have run them by now."""
        self._declared: Held | None = None
        self._sequence = 0
        self._read_back = 0
        """The sequence of the last own record that was read."""
        self._confirmed: Units = frozenset()
        self.predecessor: Held | None = None
        self._has_inherited = False
        self._exited = False
        self._asked_to_leave: str | None = None
        self._changed = True
        """Whether something has happened since `decide` last found nothing to do."""
        self._config_end = 0
        self._named_in: Placement | None = None
        self._named: Set[str] = frozenset()
        """The connectors that `_named_in` places here."""

    def apply(self, record: LogRecord) -> Broken | LoggerLevel | None:
        """Fold one record in. The answer is what is not a state but something to be done, or can't be used."""
        decoded: object
        if record.topic is Topic.CONFIG:
            self._changed |= self._is_behind()
            decoded = self.config.apply(record)
            # Nothing is wanted here of a connector that the placement does not name here.
            self._changed |= getattr(decoded, "name", None) in self._connectors_here()
        else:
            decoded = self.assignment.apply(record)
            if isinstance(decoded, Held) and (decoded.worker, decoded.host) == (self.worker, self.host):
                self._read_own(decoded)
            # Most records of a large cluster are about other workers.
            self._changed |= isinstance(decoded, Held | Assignment | Placement) and decoded.worker == self.worker
            self._changed |= isinstance(decoded, FencingFailed) and bool(self._units.within({Phase.FENCING}))
            if isinstance(decoded, Assignment) and decoded.worker == self.worker:
                self._taken |= self.units - (decoded.units or frozenset())
        return decoded if isinstance(decoded, Broken | LoggerLevel) else None

    def reached(self, ends: Mapping[tuple[Topic, int], int]) -> None:
        """
        Note where topics end. That may be past the last record: markers of transactions take offsets, and compaction takes
        records away.
        """
        end = ends.get((Topic.CONFIG, 0), 0)
        if end > self._config_end:
            self._changed |= self._is_behind()
            self._config_end = end

    def ready(self, now: int) -> None:
        """The log has been read to its end once. Only the first call counts."""
        if self._ready_at is not None:
            return
        self._ready_at = now
        self._changed = True
        before = self.assignment.held.get((self.worker, self.host))
        if before is not None and before.units and before.incarnation != self.incarnation:
            self.predecessor = before
            # A worker that was started anew tries everything anew.
            if before.worker_incarnation == self.worker_incarnation:
                # As they were, for these have been shown as failed: a greater run is what somebody has asked for since.
                self._blamed.update(before.blamed)

    def blame(self, unit: UnitId, blame: Blame) -> None:
        """
        A unit has ended the predecessor's process. It is shown as failed, and not started, until somebody restarts it or
        its config changes. To be told before `predecessor_dead`.
        """
        placement = self.assignment.placements.get(self.worker)
        run = (placement.hosts or {}).get(self.host, {}).get(unit, blame.run) if placement is not None else blame.run
        # The worker starts anew what it has shown as UNASSIGNED while no process lived here: nobody has restarted it.
        self._blamed[unit] = blame._replace(run=run)
        self._changed = True

    def predecessor_dead(self, suspected: Units = frozenset()) -> None:
        """`suspected` are units that may have ended its process."""
        self.predecessor, self._suspected = None, suspected
        self._changed = True

    def inherited(self) -> Units:
        """
        Return the units whose last status is of a predecessor that may live still, once: until it has stopped they can't be
        started here, and if it is on a machine that is gone nobody else says that they do not run.
        """
        if self.predecessor is None or self._has_inherited:
            return frozenset()
        self._has_inherited = True
        return frozenset((self.predecessor.units or frozenset()) - self._blamed.keys())

    @property
    def is_readable(self) -> bool:
        return self._readable

    def readable(self, readable: bool) -> None:
        """Whether the log can be read. While it can't, this host's units may be given to others, so it runs none."""
        if self._readable and not readable:
            # What was declared before says nothing about what the log will say once it can be read again.
            self._declared, self._confirmed = None, frozenset()
            self._sequence += 1
        self._changed |= readable != self._readable
        self._readable = readable

    def stopped(self, unit: UnitId) -> None:
        """The unit's thread has ended after a `Stop`."""
        self._units.move(unit, Event.ENDED)
        self._changed = True

    def stuck(self, unit: UnitId) -> None:
        """A unit has not stopped within its limit, and is given up: it keeps this host from being used any longer."""
        self._changed |= self._units.move(unit, Event.LIMIT)

    def leave(self, reason: str) -> None:
        """End this host, whatever the log wants of it: its units stop in order, and are free when it exits."""
        self._asked_to_leave = reason
        self._changed = True

    def renew(self, unit: UnitId) -> None:
        """Stop a unit and start it anew, where it runs."""
        self._renewed.add(unit)
        self._changed = True

    def is_fenced(self, spec: UnitSpec) -> bool:
        """Whether a task may start its producer: the sets before its own are fenced (KIP-618). For any thread."""
        connector = self.config.connectors.get(spec.connector)
        return connector is not None and connector.tasks_offset == spec.config_offset and not connector.pending_fencing

    def wait(self, spec: UnitSpec) -> bool:
        """
        A task waits until `is_fenced`. This host says so, which has the leader fence; `decide` then answers `Pass`. False,
        and no answer, if the task is to stop anyway.
        """
        if self._units.spec_at_work(spec.unit) != spec:
            return False
        self._units.move(spec.unit, Event.WAITS, wait=Wait(spec.config_offset, self._sequence + 1))
        self._changed = True
        return True

    @property
    def units(self) -> Units:
        """The units that this host must answer for: those that run, stop, or have run and failed."""
        return self._units.within(OWN)

    def decide(self, now: int, in_touch: bool = True) -> list[HostEffect]:
        """
        Decide what follows from the log. `in_touch` is false if the host had not read it for so long that others may have been
        given by now what it runs.
        """
        if self._ready_at is None or self._exited:
            return []
        late = self._late(now)
        if not (self._changed or self.predecessor or late):
            return []
        if self.predecessor is not None and now - self._ready_at >= self._takeover_ms:
            self.predecessor = None
        leave = self._reason_to_leave()
        to_run = {} if leave or not self._readable else self._wanted()
        effects: list[HostEffect] = []
        for unit, hosted in list(self._units.items()):
            effects += self._go_on(unit, hosted, to_run.get(unit), unit in late, in_touch)
        self._renewed.clear()
        self._taken.clear()
        if self._readable and not self.predecessor:
            self._clear_blames(to_run)
        # Nor before its predecessor has ended: the record that lists what that one runs would be the record of a dead process.
        if leave and not self.units and not self.predecessor:
            self._exited = True
            return [*effects, *self._goodbye(), Exit(leave)]
        if not self.predecessor:
            for unit, desired in to_run.items():
                self._units.move(unit, Event.WANTED, desired)
        effects += self._declare()
        effects += self._start()
        if self._only_stuck_left(to_run.keys()):
            self._exited = True
            stuck = ", ".join(map(str, sorted(self._units.within(STUCK))))
            effects.append(Die(f"{stuck} can't be stopped, and this host has no other units"))
        self._changed = bool(effects)
        return effects

    def _go_on(self, unit: UnitId, hosted: HostedUnit, wanted: Wanted | None, late: bool, in_touch: bool) -> list[HostEffect]:
        """
        Decide what follows for a unit that is here. `wanted` is what the log wants of it, `late` that others no longer wait for
        its end.
        """
        match hosted.phase:
            case Phase.DECLARED:
                if wanted is None or self.predecessor:
                    self._units.move(unit, Event.UNWANTED)
            case Phase.RUNNING | Phase.FENCING:
                is_taken = unit in self._taken
                if wanted is None or wanted.spec != hosted.wanted.spec or unit in self._renewed or is_taken:
                    in_order = self._readable and (in_touch or not is_taken)
                    self._units.move(unit, Event.STOP if in_order else Event.ABANDON)
                    return [Stop(unit, abandon=not in_order)]
                changes: list[HostEffect] = []
                if wanted != hosted.wanted:
                    self._units.move(unit, Event.TOLD, wanted)
                    changes.append(SetTarget(unit, wanted.target, wanted.desired_offset))
                return [*changes, *self._pass(unit, hosted)]
            case Phase.STOPPING | Phase.STUCK:
                # What was stopping in order when the host lost touch.
                if late or (self._readable and not in_touch and unit in self._taken):
                    self._units.move(unit, Event.ABANDON)
                    return [Stop(unit, abandon=True)]
            case Phase.ABANDONED | Phase.STUCK_ABANDONED:
                pass
        return []

    def _clear_blames(self, wanted: Mapping[UnitId, Wanted]) -> None:
        for unit, blame in list(self._blamed.items()):
            spec = wanted[unit].spec if unit in wanted else None
            if spec is None or (spec.config_offset, spec.run) != blame[:2]:
                del self._blamed[unit]

    def _only_stuck_left(self, wanted: Set[UnitId]) -> bool:
        stuck = self._units.within(STUCK)
        if not stuck or self.units != stuck or not wanted <= stuck:
            return False
        # Who reads of the end of this process finds out why it ended. Without a log nobody reads anything.
        return not self._readable or self._read_back == self._sequence

    def _pass(self, unit: UnitId, hosted: HostedUnit) -> list[HostEffect]:
        if hosted.wait is None:
            return []
        failed = self.assignment.failed_fencings.get(unit.connector)
        error = None
        if not self.is_fenced(hosted.wanted.spec):
            if failed is None or not failed.answers(self.worker, self.host, self.incarnation, hosted.wait):
                return []
            error = failed.error
        self._units.move(unit, Event.PASSED)
        return [Pass(unit, error)]

    def _late(self, now: int) -> Units:
        """Return the units that take too long to stop in order, once the leader no longer counts on this host's worker."""
        if self.worker in self.assignment.assignments:
            self._given_up_at = None
        elif self._given_up_at is None:
            self._given_up_at = now
        if self._given_up_at is None or now - self._given_up_at < self._grace_ms // 2:
            return frozenset()
        return self._units.within(IN_ORDER)

    def _start(self) -> list[HostEffect]:
        """Start what the newest record of this host is known to name."""
        starts: list[HostEffect] = []
        for unit in sorted(self._units.within({Phase.DECLARED})):
            if unit in self._confirmed:
                order = self._units[unit].wanted
                self._units.move(unit, Event.READ_BACK)
                blame = self._blamed[unit].reason if unit in self._blamed else None
                starts.append(Start(order.spec, order.target, order.desired_offset, blame))
        return starts

    def _declare(self) -> list[HostEffect]:
        if not self._readable:
            return []
        placement = self.assignment.placements.get(self.worker)
        assigned = self.assignment.assignments.get(self.worker)
        # A predecessor's units stay declared until it is known to have stopped: this record takes the place of its own.
        inherited = (self.predecessor.units or frozenset()) if self.predecessor else frozenset()
        held = Held(
            self.worker,
            self.host,
            frozenset(self._units) | inherited,
            assigned.generation if assigned else 0,
            placement.revision if placement else 0,
            self.incarnation,
            self.worker_incarnation,
            self._process,
            waiting={unit: hosted.wait for unit, hosted in self._units.items() if hosted.wait is not None},
            stuck=self._units.within(STUCK),
            blamed=dict(self._blamed),
            suspected=self._suspected,
        )
        if held == self._declared:
            return []
        self._declared = held
        # What this record no longer lists is free as soon as somebody reads it, whatever an earlier one has confirmed.
        self._confirmed &= held.units or frozenset()
        self._sequence += 1
        return [Declare(replace(held, sequence=self._sequence))]

    def _goodbye(self) -> list[HostEffect]:
        """
        The last word of a host that runs nothing any more. It takes its record back if its number is given up, so that the
        number can be used again; who has never said anything says nothing now, for another may use the number already.
        """
        if self._sequence == 0:
            return []
        if self._is_given_up() and self._readable and self.predecessor is None:
            return [Declare(Held(self.worker, self.host, None))]
        return self._declare()

    def _is_given_up(self) -> bool:
        """Whether the placement of this life of the worker has no more use for this process."""
        placement = self.assignment.placements.get(self.worker)
        if placement is None or placement.incarnation != self.worker_incarnation or placement.hosts is None:
            return False
        return self.host not in placement.hosts or placement.spec(self.host) != self._spec_of_host

    def _read_own(self, held: Held) -> None:
        if held.incarnation == self.incarnation:
            self._read_back = held.sequence
            # Only the latest counts: after an earlier one, the log already has a later one that may say less.
            self._confirmed = (held.units or frozenset()) if held.sequence == self._sequence else frozenset()
            return
        self._confirmed = frozenset()
        if self.predecessor is not None and held.incarnation == self.predecessor.incarnation and not held.units:
            self.predecessor = None
        # Whatever overwrote this host's record, it has to be said again.
        self._declared = None

    def _reason_to_leave(self) -> str | None:
        if self._asked_to_leave is not None:
            return self._asked_to_leave
        placement = self.assignment.placements.get(self.worker)
        if placement is None or placement.hosts is None:
            return "the worker is gone"
        if placement.incarnation != self.worker_incarnation:
            return "the worker was started again"
        if self._is_given_up():
            return "the worker no longer places units here"
        last_record = self.assignment.held.get((self.worker, self.host))
        if last_record is not None and last_record.incarnation > self.incarnation:
            return "this host was started again elsewhere"
        return None

    def _wanted(self) -> dict[UnitId, Wanted]:
        placement = self.assignment.placements.get(self.worker)
        assigned = self.assignment.assignments.get(self.worker)
        if placement is None or assigned is None or placement.incarnation != self.worker_incarnation:
            return {}
        runs: Mapping[UnitId, int] = (placement.hosts or {}).get(self.host, {})
        behind = self._is_behind()
        to_run: dict[UnitId, Wanted] = {}
        for unit in runs.keys() & (assigned.units or frozenset()):
            spec = self._spec(unit, runs[unit])
            target = self.config.target_state(unit.connector)
            # A newer config may want another host, which its worker has yet to decide; an older one may have wanted another,
            # which the worker knew better when it decided.
            if spec is None or spec.config_offset >= placement.config_offset or (behind and not self._runs(spec)):
                continue
            if target is not TargetState.STOPPED:
                to_run[unit] = Wanted(spec, target, self.config.desired_offset(unit.connector))
        return to_run

    def _is_behind(self) -> bool:
        """Whether the worker had read more of the config topic than this host, when it decided what runs here."""
        placement = self.assignment.placements.get(self.worker)
        return placement is not None and max(self.config.offset, self._config_end) < placement.config_offset

    def _runs(self, spec: UnitSpec) -> bool:
        return self._units.spec_at_work(spec.unit) == spec

    def _connectors_here(self) -> Set[str]:
        placement = self.assignment.placements.get(self.worker)
        if self._named_in is not placement:
            units = ((placement and placement.hosts) or {}).get(self.host, {})
            self._named_in, self._named = placement, {unit.connector for unit in units}
        return self._named

    def _spec(self, unit: UnitId, run: int) -> UnitSpec | None:
        connector = self.config.connectors.get(unit.connector)
        if connector is None:
            return None
        if unit.is_connector:
            return UnitSpec(unit.connector, None, connector.properties, None, connector.offset, run)
        task_config = self.config.task_config(unit)
        if task_config is None:
            return None
        # The config that the task set was made from: a newer one reaches the tasks with its own commit, once.
        config = connector.properties if connector.applied is None else connector.applied
        return UnitSpec(unit.connector, unit.task, config, task_config, connector.tasks_offset, run)
