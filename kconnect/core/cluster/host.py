"""
What one task host runs, decided from the log alone.

`HostState` is fed with every record of the config and assignment topics by `worker/host.py`, which performs what `decide`
answers. It holds the rule on which the hand-over rests (see `handover.py`): declare, read the declaration back, and start
only if the log still gives the unit to this host. Read next: `worker/host.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.config import ConfigState, Properties
from kconnect.core.state.records import (
    Assignment,
    Broken,
    Held,
    LogRecord,
    Placement,
    TargetState,
    Topic,
    UnitId,
    Units,
)


@dataclass(frozen=True, slots=True)
class UnitSpec:
    """
    What the log says a unit is. A running unit is started again when its spec is no longer equal.

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


@dataclass(frozen=True, slots=True)
class Start:
    spec: UnitSpec
    target: TargetState
    wish_offset: int


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
    wish_offset: int


@dataclass(frozen=True, slots=True)
class Declare:
    held: Held


@dataclass(frozen=True, slots=True)
class Exit:
    """Nothing runs any more and nothing will: the host's process ends."""

    reason: str


HostEffect = Start | Stop | SetTarget | Declare | Exit


class HostState:
    """
    Times are milliseconds of any steady clock. `takeover_ms` is how long a predecessor under the same name that can be
    neither asked nor seen dead may still run; it stops by itself within that time (`session.timeout.ms`). `grace_ms` is for
    how long others wait for units of this host once the leader has given its worker up (`handover.grace.ms`).
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
    ) -> None:
        self.config = ConfigState()
        self.assignment = AssignmentState()
        self.worker, self.host = worker, host
        self.worker_incarnation, self.incarnation = worker_incarnation, incarnation
        self._process = process
        self._takeover_ms, self._grace_ms = takeover_ms, grace_ms
        self._given_up_at: int | None = None
        self._ready_at: int | None = None
        self._readable = True
        self._running: dict[UnitId, tuple[UnitSpec, TargetState, int]] = {}
        self._stopping: set[UnitId] = set()
        self._in_order: set[UnitId] = set()
        """Those of `_stopping` that were not abandoned."""
        self._declared: Held | None = None
        self._sequence = 0
        self._confirmed: Units = frozenset()
        self.predecessor: Held | None = None
        self._exited = False
        self._changed = True
        """Whether something has happened since `decide` last found nothing to do."""

    def apply(self, record: LogRecord) -> Broken | None:
        decoded: object
        if record.topic is Topic.CONFIG:
            decoded = self.config.apply(record)
            self._changed = True
        else:
            decoded = self.assignment.apply(record)
            if isinstance(decoded, Held) and (decoded.worker, decoded.host) == (self.worker, self.host):
                self._read_own(decoded)
            # Most records of a large cluster are about other workers.
            self._changed |= isinstance(decoded, Held | Assignment | Placement) and decoded.worker == self.worker
        return decoded if isinstance(decoded, Broken) else None

    def ready(self, now: int) -> None:
        """The log has been read to its end once. Only the first call counts."""
        if self._ready_at is not None:
            return
        self._ready_at = now
        self._changed = True
        before = self.assignment.held.get((self.worker, self.host))
        if before is not None and before.units and before.incarnation != self.incarnation:
            self.predecessor = before

    def predecessor_dead(self) -> None:
        self.predecessor = None
        self._changed = True

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
        self._stopping.discard(unit)
        self._in_order.discard(unit)
        self._changed = True

    @property
    def units(self) -> Units:
        """What runs, stops, or has run and failed: what this host must answer for."""
        return frozenset(self._running) | frozenset(self._stopping)

    def decide(self, now: int) -> list[HostEffect]:
        if self._ready_at is None or self._exited:
            return []
        late = self._abandon_late(now)
        if not (self._changed or self.predecessor or late):
            return []
        if self.predecessor is not None and now - self._ready_at >= self._takeover_ms:
            self.predecessor = None
        leave = self._reason_to_leave()
        wanted = {} if leave or not self._readable else self._wanted()
        effects: list[HostEffect] = late
        for unit, (spec, target, wish) in list(self._running.items()):
            if unit not in wanted or wanted[unit][0] != spec:
                del self._running[unit]
                self._stopping.add(unit)
                if self._readable:
                    self._in_order.add(unit)
                effects.append(Stop(unit, abandon=not self._readable))
            elif wanted[unit][1:] != (target, wish):
                self._running[unit] = wanted[unit]
                effects.append(SetTarget(unit, *wanted[unit][1:]))
        todo = {} if self.predecessor else {u: w for u, w in wanted.items() if u not in self.units}
        effects += self._declare(frozenset(todo))
        for unit in sorted(todo):
            if unit in self._confirmed:
                self._running[unit] = todo[unit]
                effects.append(Start(*todo[unit]))
        if leave and not self.units:
            self._exited = True
            effects.append(Exit(leave))
        self._changed = bool(effects)
        return effects

    def _abandon_late(self, now: int) -> list[HostEffect]:
        """What takes too long to stop in order, once the leader no longer counts on this host's worker, is abandoned."""
        if self.worker in self.assignment.assignments:
            self._given_up_at = None
        elif self._given_up_at is None:
            self._given_up_at = now
        if self._given_up_at is None or now - self._given_up_at < self._grace_ms // 2:
            return []
        late, self._in_order = sorted(self._in_order & self._stopping), set()
        return [Stop(unit, abandon=True) for unit in late]

    def _declare(self, todo: Units) -> list[HostEffect]:
        if not self._readable:
            return []
        placement = self.assignment.placements.get(self.worker)
        assigned = self.assignment.assignments.get(self.worker)
        # A predecessor's units stay declared until it is known to have stopped: this record takes the place of its own.
        inherited = (self.predecessor.units or frozenset()) if self.predecessor else frozenset()
        held = Held(
            self.worker,
            self.host,
            self.units | todo | inherited,
            assigned.generation if assigned else 0,
            placement.revision if placement else 0,
            self.incarnation,
            self.worker_incarnation,
            self._process,
        )
        if held == self._declared:
            return []
        self._declared = held
        self._sequence += 1
        return [Declare(replace(held, sequence=self._sequence))]

    def _read_own(self, held: Held) -> None:
        if held.incarnation == self.incarnation:
            # Only the latest counts: after an earlier one, the log already has a later one that may say less.
            self._confirmed = (held.units or frozenset()) if held.sequence == self._sequence else frozenset()
            return
        self._confirmed = frozenset()
        if self.predecessor is not None and held.incarnation == self.predecessor.incarnation and not held.units:
            self.predecessor = None
        # Whatever overwrote this host's record, it has to be said again.
        self._declared = None

    def _reason_to_leave(self) -> str | None:
        placement = self.assignment.placements.get(self.worker)
        if placement is None or placement.hosts is None:
            return "the worker is gone"
        if placement.incarnation > self.worker_incarnation:
            return "the worker was started again"
        if placement.incarnation == self.worker_incarnation and self.host not in placement.hosts:
            return "the worker no longer places units here"
        own = self.assignment.held.get((self.worker, self.host))
        if own is not None and own.incarnation > self.incarnation:
            return "this host was started again elsewhere"
        return None

    def _wanted(self) -> dict[UnitId, tuple[UnitSpec, TargetState, int]]:
        placement = self.assignment.placements.get(self.worker)
        assigned = self.assignment.assignments.get(self.worker)
        if placement is None or assigned is None or placement.incarnation != self.worker_incarnation:
            return {}
        runs: Mapping[UnitId, int] = (placement.hosts or {}).get(self.host, {})
        wanted: dict[UnitId, tuple[UnitSpec, TargetState, int]] = {}
        for unit in runs.keys() & (assigned.units or frozenset()):
            spec = self._spec(unit, runs[unit])
            target = self.config.target_state(unit.connector)
            if spec is not None and target is not TargetState.STOPPED:
                wanted[unit] = (spec, target, self.config.wish_offset(unit.connector))
        return wanted

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
