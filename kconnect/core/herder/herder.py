"""
The herder: what one worker decides, as a pure state machine.

`Herder.handle(event, now)` takes one event and answers the effects to be performed, in order. It is owned by
`worker/loop.py` and nobody else holds it. What it knows it has read from the internal topics: a request or a decision
writes records and waits until they come back. Three things go on at a time: requests (`_answer`), leading, while this
worker owns the group's partition (`leader.py`), and placing this worker's own units on its hosts (`_tend`).
Read next: `procedures.py` for how waiting is written down, `leader.py`, `cluster/handover.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api.errors import ConflictError, ConnectError, UnavailableError
from kconnect.core.cluster.handover import place
from kconnect.core.herder import effects, events, requests, restart
from kconnect.core.herder.answers import ELECTION_MS, Answers
from kconnect.core.herder.effects import Effect, FencedError
from kconnect.core.herder.healing import Healing
from kconnect.core.herder.leader import Leading, decisions_pace
from kconnect.core.herder.procedures import Procedure, Procedures, Until
from kconnect.core.herder.requests import BUSY, NO_LEADER, ForwardError
from kconnect.core.settings.operation import Operation
from kconnect.core.state import records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.config import ConfigState
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Broken, Entry, Held, LogRecord, State, TargetState, Topic, UnitId, UnitStatus
from kconnect.core.state.status import StatusState

_MEMBERS_MS = 3000
_REPLACED_MS = 3000
_LIVE = (State.RUNNING, State.PAUSED, State.RESTARTING)


@dataclass(frozen=True)
class Identity:
    """
    Who this worker is. `incarnation` orders the lives of one worker id: start time first, then something random.
    Times are milliseconds.
    """

    worker_id: str
    url: str
    incarnation: str
    version: str
    kafka_cluster_id: str
    hosts: int = 1
    session_timeout_ms: int = 10_000
    handover_grace_ms: int = 2_000
    rebalance_delay_ms: int = 0


class Herder:
    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.config = ConfigState()
        self.status = StatusState()
        self.offsets = OffsetState()
        self.assignment = AssignmentState()
        self.members: Mapping[str, str] = {}
        self.group_owner: str | None = None
        """Who owns the group's partition as the coordinator last said; None while that is being settled."""
        self.leading: Leading | None = None
        self.now = 0
        self.busy: set[str] = set()
        """Connectors about which a write is under way: whoever else wants to write about one waits."""
        self.changes = 0
        """Counts what may lead to a new decision."""
        self._owner = False
        self._started_at: int | None = None
        self._positions: dict[tuple[Topic, int], int] = {}
        self._procedures = Procedures()
        self._asked: dict[int, Procedure] = {}
        self._out: list[Effect] = []
        self._restarts: set[UnitId] = set()
        self._started_anew: set[UnitId] = set()
        """Those of `_restarts` that nobody asked for."""
        self._spoken_of: set[UnitId] = set()
        """Units whose last status is of this worker."""
        self._healing = Healing()
        self._weights: tuple[int, dict[UnitId, int]] = (-1, {})
        self._members_seen = 0
        self._members_asked_at: int | None = None
        self.dead_hosts: frozenset[tuple[str, int, str]] = frozenset()
        self._dead_since: dict[tuple[str, int, str], int] = {}
        self._noted: set[tuple[Topic, str]] = set()
        self._leaving = False
        self._said_bye = False
        self._answers = Answers(self)

    # --- events ---

    def handle(self, event: events.Event, now: int) -> list[Effect]:
        """Take one event; `now` is milliseconds of any steady clock. The effects are to be performed in order."""
        self.now = now
        match event:
            case events.Read(batch, ends):
                for record in batch:
                    self._apply(record)
                self._positions.update(ends)
                self.changes += bool(batch)
            case events.CaughtUp():
                self._started_at = now
                self._run(self._tend(), "placement")
                self._lead()
            case events.Requested(ticket, request):
                self._ask(ticket, request)
            case events.GaveUp(ticket):
                procedure = self._asked.pop(ticket, None)
                if procedure is not None:
                    self._procedures.close(procedure)
            case events.Done(id, result):
                self._out += self._procedures.done(id, result)
            case events.Failed(id, error):
                self._out += self._procedures.failed(id, error)
            case events.Owned():
                self._owner = True
                self._find_members()
                self._lead()
            case events.Lost():
                self._owner = False
                self._find_members()
                self._stop_leading()
            case events.Members(urls, owner):
                self._members_seen += 1
                if (urls, owner) != (self.members, self.group_owner):
                    self.members, self.group_owner = urls, owner
                    self.changes += 1
            case events.HostsDead(hosts):
                self._dead_since = {host: self._dead_since.get(host, now) for host in hosts}
                self.dead_hosts = hosts
                self.changes += 1
            case events.ShutDown():
                self._leaving = True
                self.changes += 1
            case events.Tick():
                pass
        if self.started and (self._members_asked_at is None or now - self._members_asked_at >= _MEMBERS_MS):
            self._find_members()
        self._out += self._procedures.advance()
        if self._leaving and not self._said_bye and self._may_leave():
            self._said_bye = True
            self._out.append(effects.Bye())
        out, self._out = self._out, []
        return out

    @property
    def started(self) -> bool:
        return self._started_at is not None

    @property
    def owned(self) -> records.Units:
        """The units that the log gives this worker."""
        assignment = self.assignment.assignments.get(self.identity.worker_id)
        return frozenset() if assignment is None else assignment.units or frozenset()

    @property
    def generation(self) -> int:
        assignment = self.assignment.assignments.get(self.identity.worker_id)
        return 0 if assignment is None else assignment.generation

    # --- steps that procedures share ---

    def write(self, entries: Iterable[Entry], as_leader: bool = False) -> Procedure:
        """Write, and wait until the records have been read back: writing is not knowing."""
        written: dict[tuple[Topic, int], int] = yield effects.Write(tuple(entries), as_leader)
        yield Until(lambda: self._has_read(written))

    def write_as_leader(self, entries: Iterable[Entry]) -> Procedure:
        yield from self.await_lead()
        yield from self.write(entries, as_leader=True)

    def await_lead(self) -> Procedure:
        """Wait out an election; a ForwardError if another worker leads."""
        yield from self.wait_at_most(ELECTION_MS, lambda: self.leads or self._leader_url() is not None, NO_LEADER)
        url = self._leader_url()
        if not self.leads and url is not None:
            raise ForwardError(url)

    def wait_at_most(self, milliseconds: int, condition: Callable[[], bool], refusal: str) -> Procedure:
        """Go on once `condition` holds; a ConflictError that says `refusal` if it does not in time."""
        end = self.now + milliseconds
        yield Until(lambda: self.now >= end or condition())
        if not condition():
            raise ConflictError(refusal)

    def url_of_owner(self, unit: UnitId) -> str | None:
        """Where the live worker that is to run `unit` is reached, if it is another than this one."""
        for worker, assignment in self.assignment.assignments.items():
            if unit in (assignment.units or ()) and worker != self.identity.worker_id:
                return self.members.get(worker)
        return None

    def exclusively(self, name: str, work: Callable[[], Procedure]) -> Procedure:
        """Run `work` while nobody else writes about the connector `name`."""
        yield Until(lambda: name not in self.busy)
        self.busy.add(name)
        try:
            return (yield from work())
        finally:
            self.busy.discard(name)

    @property
    def leads(self) -> bool:
        return self.leading is not None and self.leading.in_charge

    def pause_ms(self, milliseconds: int) -> Until:
        end = self.now + milliseconds
        return Until(lambda: self.now >= end)

    def log(self, level: str, message: str) -> None:
        self._out.append(effects.Log(level, message))

    def _has_read(self, written: Mapping[tuple[Topic, int], int]) -> bool:
        return all(self._positions.get(place, 0) > offset for place, offset in written.items())

    def _leader_url(self) -> str | None:
        """Of the worker that leads, if that is another one, and alive as far as the group knows."""
        leader = self.assignment.leader
        if leader is None or self._owner or leader.worker == self.identity.worker_id:
            return None
        # Between two leaders the coordinator knows better than the log who is to be asked.
        return self.members.get(leader.worker) if self.group_owner in (leader.worker, None) else None

    def _find_members(self) -> None:
        self._members_asked_at = self.now
        self._out.append(effects.FindMembers())

    def _run(self, procedure: Procedure, what: str) -> None:
        def ended(_: Any, error: Exception | None) -> None:
            if error is not None:
                self.log("ERROR", f"The {what} of this worker failed and starts anew: {error}")
                self._out += self._procedures.start(_after(self.pause_ms(1000), procedure_again), ended)

        def procedure_again() -> Procedure:
            return self._tend()

        self._out += self._procedures.start(procedure, ended)

    # --- reading ---

    def _apply(self, record: LogRecord) -> None:
        self._positions[record.topic, record.partition] = record.offset + 1
        decoded: object
        if record.topic is Topic.CONFIG:
            decoded = self.config.apply(record)
            # A restart that was asked for before this worker's start has been overtaken by that start.
            if isinstance(decoded, records.RestartRequest) and self.started and decoded.name in self.config.connectors:
                self._restarts |= restart.plan(decoded, self.config, self.status)
        elif record.topic is Topic.STATUS:
            decoded = self.status.apply(record)
            if isinstance(decoded, records.StatusChange):
                self._read_status(decoded.unit)
        elif record.topic is Topic.OFFSET:
            decoded = self.offsets.apply(record)
        else:
            decoded = self.assignment.apply(record)
            if isinstance(decoded, records.Leader) and decoded.worker != self.identity.worker_id and self.leads:
                self.log("WARNING", f"{decoded.worker} leads the cluster by now, generation {decoded.generation}")
                self._stop_leading()
                self._lead_if_owner()
        if isinstance(decoded, Broken) and (decoded.topic, decoded.key) not in self._noted:
            self._noted.add((decoded.topic, decoded.key))
            topic, key, reason = decoded.topic.value, decoded.key, decoded.reason
            self.log("WARNING", f"Ignoring a record of the {topic} topic with the key {key!r}: {reason}")

    # --- asking ---

    def _ask(self, ticket: int, request: requests.Request) -> None:
        def ended(result: Any, error: Exception | None) -> None:
            self._asked.pop(ticket, None)
            if error is None:
                self._out.append(effects.Reply(ticket, result))
            else:
                self._out.append(effects.Refuse(ticket, error))

        procedure = self._answer(request)
        self._asked[ticket] = procedure
        self._out += self._procedures.start(procedure, ended)

    def _answer(self, request: requests.Request) -> Procedure:
        if isinstance(request, requests.Health) and not self.started:
            raise UnavailableError("Worker is still starting up.")
        if self._leaving and request.writes:
            # Whoever sent it on asks again until another worker leads, or owns the task.
            raise ConflictError(BUSY)
        yield Until(lambda: self.started or isinstance(request, requests.Root))
        while True:
            term = self.leading
            try:
                return (yield from self._answers.answer(request))
            except FencedError:
                # Nothing was written: whoever leads now, decide again.
                if self.leads and self.leading is term:
                    self._stop_leading()
                    self._lead_if_owner()
                yield self.pause_ms(100)

    def restart_unit(self, unit: UnitId) -> bool:
        """Start one of this worker's own units anew; False if it is not its own."""
        if unit not in self.owned:
            return False
        self._restarts.add(unit)
        self.changes += 1
        return True

    # --- leading ---

    def _lead(self) -> None:
        if not (self._owner and self.started and self.leading is None):
            return
        if self.assignment.newer is not None:
            newer = self.assignment.newer
            self.log(
                "ERROR",
                f"This worker will not lead: the record {newer.key!r} of the assignment topic has format {newer.format}, "
                f"which a newer kconnect wrote, and this one knows up to {records.FORMAT}. Upgrade this worker.",
            )
            return
        leading = Leading(self)
        self.leading = leading

        def ended(_: Any, error: Exception | None) -> None:
            if self.leading is not leading:
                return
            self.leading = None
            self.log("WARNING", f"Leading was interrupted: {error}")
            self._lead_if_owner()

        leading.procedure = leading.run()
        self._out += self._procedures.start(leading.procedure, ended)

    def _lead_if_owner(self) -> None:
        """
        Lead again, but only once the coordinator confirms that this worker owns the partition.

        A worker that was suspended may believe so for a while, and would fence the one that really does.
        """

        def work() -> Procedure:
            while self._owner and self.leading is None:
                yield self.pause_ms(500)
                seen = self._members_seen
                self._find_members()
                yield Until(lambda seen=seen: self._members_seen > seen)  # type: ignore[misc]
                if self.group_owner == self.identity.worker_id:
                    self._lead()

        self._out += self._procedures.start(work(), lambda *_: None)

    def _stop_leading(self) -> None:
        leading, self.leading = self.leading, None
        if leading is not None and leading.procedure is not None:
            self._procedures.close(leading.procedure)

    # --- this worker's own units ---

    def _tend(self) -> Procedure:
        """Keep the placement of this worker's units, and the status of its stopped connectors, as they should be."""
        seen, due, pace = -1, self.now, decisions_pace()
        while True:
            yield Until(lambda due=due: self.now >= due)  # type: ignore[misc]
            restarts = self._restarts
            entries = self._clear_old_hosts()
            if not entries:
                entries = self._placement()
            lost: set[UnitId] = set()
            if not entries:
                lost = self._lost_with_hosts()
                entries = self._stopped_statuses() + self.unassigned_statuses(self.identity.worker_id, lost)
            self._heal()
            if entries:
                due = pace.free_at(self.now)
                # Statuses first: what the placement sets going writes statuses of its own, which must come after them.
                statuses = [entry for entry in entries if entry.topic is Topic.STATUS]
                try:
                    for part in (statuses, [entry for entry in entries if entry.topic is not Topic.STATUS]):
                        if part:
                            yield from self.write(part)
                except ConnectError:
                    self._restarts |= restarts
                    raise
                # Should they run again meanwhile, their statuses came too early.
                self._start_anew(lost)
                continue
            seen = self.changes
            again = self.now + 1000
            yield Until(lambda seen=seen, again=again: self.changes != seen or self.now >= again)  # type: ignore[misc]

    def _clear_old_hosts(self) -> list[Entry]:
        """Bury the hosts of this worker's earlier lives once they have stopped, or can't be running any more."""
        me = self.identity
        placement = self.assignment.placements.get(me.worker_id)
        if placement is None or placement.incarnation != me.incarnation:
            return []  # They have not been told to stop yet.
        waited = self.now - (self._started_at or 0) >= me.session_timeout_ms
        entries = []
        for held in self.assignment.hosts_of(me.worker_id):
            dead = (held.worker, held.host, held.incarnation) in self.dead_hosts
            if held.worker_incarnation != me.incarnation and (not held.units or dead or waited):
                entries.append(records.held(Held(me.worker_id, held.host, None)))
        return entries

    def _placement(self) -> list[Entry]:
        me = self.identity
        before = self.assignment.placements.get(me.worker_id)
        if before is not None and before.incarnation > me.incarnation:
            return []  # A newer life of this worker has taken over; this one only waits for its end.
        placed = {unit: run for units in (before.hosts or {}).values() for unit, run in units.items()} if before else {}
        mine = before is not None and before.incarnation == me.incarnation
        restarts = {unit for unit in self._restarts if mine and unit in placed and unit in self.owned}
        self._restarts = {unit for unit in self._restarts if unit in self.owned} if not mine else set()
        runs = {unit: run + (unit in restarts) for unit, run in placed.items()}
        runnable = self._runnable()
        placement = place(
            *(self.assignment, me.worker_id, me.incarnation, me.hosts, runnable, runs, self._leaving, self.weights())
        )
        if placement is None:
            return []
        if not mine:
            # A life that has just begun runs nothing yet, whatever the one before it wrote last.
            return [records.placement(placement), *self.unassigned_statuses(me.worker_id, self.owned)]
        shown = [unit for unit in restarts - self._started_anew if unit in self.status.units]
        self._started_anew &= self._restarts
        version = {unit: self.status.units[unit].version for unit in shown}
        return [
            records.placement(placement),
            *(
                records.status(unit, UnitStatus(State.RESTARTING, me.worker_id, self.generation, None, version[unit]))
                for unit in sorted(shown)
            ),
        ]

    def _runnable(self) -> frozenset[UnitId]:
        """Those of this worker's units that need a host: a STOPPED connector holds nothing."""
        if self._leaving:
            return frozenset()
        exists = self.config.units()
        return frozenset(
            unit for unit in self.owned & exists if self.config.target_state(unit.connector) is not TargetState.STOPPED
        )

    def _stopped_statuses(self) -> list[Entry]:
        """The status of a STOPPED connector comes from its worker, as nothing of it runs on a host; failed or not."""
        entries = []
        stopped_units = [
            unit
            for unit in self.owned
            if unit.is_connector and self.config.target_state(unit.connector) is TargetState.STOPPED
        ]
        for unit in sorted(stopped_units):
            if unit.connector not in self.config.connectors or self.assignment.holders(unit):
                continue
            status = self.status.units.get(unit)
            stopped = UnitStatus(
                State.STOPPED, self.identity.worker_id, self.generation, None, status.version if status else None
            )
            if status is None or (status.state, status.worker_id) != (stopped.state, stopped.worker_id):
                entries.append(records.status(unit, stopped))
        return entries

    def unassigned_statuses(self, worker: str, units: Collection[UnitId]) -> list[Entry]:
        """For those of `units` of which the last word is that they run on `worker`, when they do not."""
        return [
            records.status(unit, UnitStatus(State.UNASSIGNED, worker, self.status.units[unit].generation))
            for unit in sorted(units)
            if self._is_live(unit, worker)
        ]

    def _start_anew(self, units: set[UnitId]) -> None:
        """Have `units`, as far as they run, say once more that they do. Who follows the log sees no more than that."""
        self._started_anew |= units
        self._restarts |= units
        self.changes += bool(units)

    def _lost_with_hosts(self) -> set[UnitId]:
        """
        The units of hosts that are dead and that nobody has replaced (Spark does so within a second, or can't), as far as
        their statuses still say that they run.
        """
        me = self.identity.worker_id
        dead = {host for host, since in self._dead_since.items() if self.now - since >= _REPLACED_MS}
        return {
            unit
            for held in (self.assignment.hosts_of(me) if dead else ())
            if (me, held.host, held.incarnation) in dead
            for unit in held.units or ()
            if self._is_live(unit, me)
        }

    def _is_live(self, unit: UnitId, worker: str) -> bool:
        status = self.status.units.get(unit)
        return status is not None and status.worker_id == worker and status.state in _LIVE

    def weights(self) -> dict[UnitId, int]:
        """Of the tasks that count for more than one."""
        if self._weights[0] != self.config.offset:
            weights: dict[UnitId, int] = {}
            for name, connector in self.config.connectors.items():
                weight = Operation.of(connector.properties).weight
                if weight != 1:
                    weights.update((UnitId(name, task), weight) for task in self.config.task_ids(name))
            self._weights = (self.config.offset, weights)
        return self._weights[1]

    def _read_status(self, unit: UnitId) -> None:
        connector, status = self.config.connectors.get(unit.connector), self.status.units.get(unit)
        if unit in self.owned and connector is not None:
            self._healing.read(unit, status, Operation.of(connector.properties), self.now)
        if status is not None and status.worker_id == self.identity.worker_id:
            self._spoken_of.add(unit)
        elif unit in self._spoken_of:
            self._spoken_of.remove(unit)
            if status is not None and unit in self.owned:
                # A late word of one who does not know yet that it has lost the unit: it would stay the last.
                self._start_anew({unit})

    def _heal(self) -> None:
        self._healing.keep(self.owned)
        for unit in self._healing.failed:
            connector = self.config.connectors.get(unit.connector)
            operation = Operation() if connector is None else Operation.of(connector.properties)
            if unit in self.owned and (attempt := self._healing.due(unit, operation, self.now)):
                limit = "" if operation.max_attempts < 0 else f" of {operation.max_attempts}"
                self.log("INFO", f"{unit} has failed and is started again (errors.restart.*): attempt {attempt}{limit}")
                self.restart_unit(unit)

    def _may_leave(self) -> bool:
        """Nothing runs here any more, and what did has been handed over, if there is anybody to take it."""
        me = self.identity.worker_id
        placement = self.assignment.placements.get(me)
        if (placement and placement.hosts) or any(held.units for held in self.assignment.hosts_of(me)):
            return False
        others = [w for w in self.members if w != me and not getattr(self.assignment.placements.get(w), "leaving", False)]
        return not others or not self.owned


def _after(wait: Until, procedure: Callable[[], Procedure]) -> Procedure:
    yield wait
    return (yield from procedure())
