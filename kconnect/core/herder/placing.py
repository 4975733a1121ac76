"""
What a worker does about its own units: it places them on its hosts, starts them anew, and speaks for those that can't.

`Placing` is held by `herder.py`, which tells it what it reads; `tend` compares, for as long as the worker lives, what the log
says with what it should say. Read next: `cluster/placement.py` for how units are spread over hosts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kconnect.core.cluster.placement import Wanted, place, without_units
from kconnect.core.herder.healing import Healing
from kconnect.core.herder.host_specs import Directories, HostSpecs
from kconnect.core.herder.leader import Looks, decisions_pace
from kconnect.core.herder.lost_hosts import LostHosts
from kconnect.core.herder.procedures import Procedure, Until
from kconnect.core.herder.quarantine import Quarantine
from kconnect.core.settings.operation import Operation
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import Held
from kconnect.core.state.records import Entry, State, TargetState, Topic, UnitId, UnitStatus
from kconnect.errors import ConnectError

if TYPE_CHECKING:
    from kconnect.core.herder.herder import Herder

_STOPPING_MS = 15_000
"""How long the status of a connector that is to be stopped waits for its instance and its tasks."""
_IDLE_MS = 30_000
"""How long a host that nothing needs is kept: what is started anew meanwhile need not wait for a process."""
_LIVE = (State.RUNNING, State.PAUSED, State.RESTARTING)


class Placing:
    def __init__(self, herder: Herder, directories: Directories) -> None:
        self._herder = herder
        self._specs = HostSpecs(directories)
        self._idle_since: dict[int, int] = {}
        """Hosts without units, and since when they are."""
        self._restarts: set[UnitId] = set()
        self._started_anew: set[UnitId] = set()
        """Those of `_restarts` that nobody asked for."""
        self._stopping_since: dict[UnitId, int] = {}
        self._spoken_of: set[UnitId] = set()
        """Units whose last status is of this worker."""
        self._healing = Healing()
        self._begun_at = 0
        """When this life told the hosts of others to stop."""
        self._lost_hosts = LostHosts(herder.identity.session_timeout_ms)
        self._quarantine = Quarantine(herder)
        self._overtaken: dict[UnitId, int] = {}
        """Units of lost hosts of which a status is being written, and how many of theirs were read meanwhile."""

    def begin(self) -> None:
        """Tend, and again whenever that fails."""
        self._herder.begin(self._tend_for_ever())

    def restart(self, units: Collection[UnitId]) -> None:
        """Somebody wants `units` started anew, as far as they are this worker's."""
        self._restarts |= set(units)

    def restart_unit(self, unit: UnitId) -> bool:
        """Start one of this worker's own units anew; False if it is not its own."""
        herder = self._herder
        if unit not in herder.owned:
            return False
        self._restarts.add(unit)
        herder.changes += 1
        return True

    def plugins_changed(self) -> None:
        """Other plugins are there: units may need other hosts."""
        self._specs.forget()
        self._herder.changes += 1

    def seen_dead(self, hosts: frozenset[tuple[str, int, str]]) -> None:
        """These hosts, and no others, are dead by now."""
        self._lost_hosts.seen(hosts, self._herder.now)

    def spark_ended(self) -> None:
        herder, me = self._herder, self._herder.identity
        mine = [held for held in herder.assignment.hosts_of(me.worker_id) if held.worker_incarnation == me.incarnation]
        self._lost_hosts.spark_ended(mine, herder.now)

    def read_held(self, held: Held) -> None:
        """Of one of this worker's hosts."""
        self._quarantine.read(held)
        mine = held.units is not None and held.worker_incarnation == self._herder.identity.incarnation
        if mine and self._lost_hosts.came(held):
            self._herder.log("INFO", "This worker is ready: Spark is up, and so is its first task host")

    def read_status(self, unit: UnitId) -> None:
        herder = self._herder
        if unit in self._overtaken:
            self._overtaken[unit] += 1
        connector, status = herder.config.connectors.get(unit.connector), herder.status.units.get(unit)
        if unit in herder.owned and connector is not None:
            self._healing.read(unit, status, Operation.of(connector.properties), herder.now)
        if status is not None and status.worker_id == herder.identity.worker_id:
            self._spoken_of.add(unit)
        elif unit in self._spoken_of:
            self._spoken_of.remove(unit)
            if status is not None and unit in herder.owned:
                # A late word of one who does not know yet that it has lost the unit: it would stay the last.
                self._start_anew({unit})

    def _tend_for_ever(self) -> Procedure:
        herder = self._herder
        while True:
            try:
                yield from self._tend()
            except Exception as error:  # noqa: BLE001 - what it decides is decided again from the log
                herder.log("ERROR", f"The placement of this worker failed and starts anew: {error}")
                yield herder.pause_ms(1000)

    def _tend(self) -> Procedure:
        """Keep the placement of this worker's units, and the status of its stopped connectors, as they should be."""
        herder = self._herder
        me, seen, due, pace, looks = herder.identity, -1, herder.now, decisions_pace(), Looks()
        while True:
            yield herder.pause_ms(due - herder.now)
            due = looks.after(herder)
            restarts = self._restarts
            entries = self._clear_old_hosts()
            if not entries:
                entries = self._placement()
            if not entries:
                entries = self._lost_hosts.releases(herder.assignment, me.worker_id, me.incarnation, herder.now)
            lost: set[UnitId] = set()
            if not entries and (lost := (yield from self._unsaid())):
                entries = [records.status(unit, herder.status.units[unit]) for unit in sorted(lost)]
            if not entries:
                lost = yield from self._lost_units()
                gone = lost | self._lost_with_assignments()
                entries = self._stopped_statuses() + self.unassigned_statuses(me.worker_id, gone) + self._quarantine.statuses()
            self._heal()
            if entries:
                due = max(due, pace.free_at(herder.now))
                self._overtaken = dict.fromkeys(lost, 0)
                # Statuses first: what the placement sets going writes statuses of its own, which must come after them.
                statuses = [entry for entry in entries if entry.topic is Topic.STATUS]
                try:
                    for part in (statuses, [entry for entry in entries if entry.topic is not Topic.STATUS]):
                        if part:
                            yield from herder.write(part)
                except ConnectError:
                    self._restarts |= restarts
                    raise
                # If another status came before the one that was written here, they run again, and that came too late.
                self._start_anew({unit for unit, count in self._overtaken.items() if count > 1})
                self._overtaken = {}
                continue
            seen = herder.changes
            again = herder.now + 1000
            yield Until(lambda seen=seen, again=again: herder.changes != seen or herder.now >= again)  # type: ignore[misc]

    def _lost_units(self) -> Procedure:
        """What lost hosts still list, and what was said of it says that it runs. Gives a set of units."""
        herder = self._herder
        said = self._said_of_lost()
        if not said:
            return set()
        # Topics are read each for itself: another host may have said that, and its record is still to be read.
        yield from herder.losses.read_to_end(Topic.ASSIGNMENT)
        return {unit for unit, status in self._said_of_lost().items() if said.get(unit) is status}

    def _lost_with_assignments(self) -> set[UnitId]:
        """What the assignment topic before gave this worker, until there is something in the new one."""
        herder = self._herder
        waits = herder.losses.assignments_lost and herder.identity.worker_id not in herder.assignment.assignments
        return set(herder.status.units) if waits else set()

    def _unsaid(self) -> Procedure:
        """Of whom this worker said something last that stood in a status topic which is no more. Gives a set of units."""
        statuses, me = self._herder.status, self._herder.identity.worker_id
        if not any(statuses.units[unit].worker_id == me for unit in statuses.unsaid):
            return set()
        yield from self._herder.losses.read_to_end(Topic.STATUS)
        return {unit for unit in statuses.unsaid if statuses.units[unit].worker_id == me}

    def _said_of_lost(self) -> dict[UnitId, UnitStatus]:
        herder = self._herder
        me = herder.identity.worker_id
        held = self._lost_hosts.units(herder.assignment, me, herder.now)
        return {unit: herder.status.units[unit] for unit in held if self._is_live(unit, me)}

    def _clear_old_hosts(self) -> list[Entry]:
        """Bury the hosts of this worker's earlier lives once they have stopped, or can't be running any more."""
        herder = self._herder
        me = herder.identity
        placement = herder.assignment.placements.get(me.worker_id)
        if placement is None or placement.incarnation != me.incarnation:
            return []  # They have not been told to stop yet.
        waited = herder.now - self._begun_at >= me.session_timeout_ms
        entries = []
        for held in herder.assignment.hosts_of(me.worker_id):
            dead = (held.worker, held.host, held.incarnation) in herder.dead_hosts
            if held.worker_incarnation != me.incarnation and (not held.units or dead or waited):
                entries.append(assignment_records.held(Held(me.worker_id, held.host, None)))
        return entries

    def _placement(self) -> list[Entry]:
        herder = self._herder
        me = herder.identity
        before = herder.assignment.placements.get(me.worker_id)
        if herder.rivals.have_the_work:
            return []
        placed = {unit: run for units in (before.hosts or {}).values() for unit, run in units.items()} if before else {}
        mine = before is not None and before.incarnation == me.incarnation
        restarts = {unit for unit in self._restarts if mine and unit in placed and unit in herder.owned}
        restarts |= self._quarantine.pardon(self._restarts - self._started_anew)
        self._restarts = {unit for unit in self._restarts if unit in herder.owned} if not mine else set()
        runs = {unit: run + (unit in restarts) for unit, run in placed.items()}
        placement = place(herder.assignment, me.worker_id, me.incarnation, self._wanted(runs))
        if placement is None:
            return []
        placement = replace(placement, process=me.process)
        if not mine:
            self._begun_at = herder.now
            # A life that has just begun runs nothing yet, whatever the one before it wrote last.
            return [assignment_records.placement(placement), *self.unassigned_statuses(me.worker_id, herder.owned)]
        shown = [unit for unit in restarts - self._started_anew if unit in herder.status.units]
        self._started_anew &= self._restarts
        version = {unit: herder.status.units[unit].version for unit in shown}
        return [
            assignment_records.placement(placement),
            *(
                records.status(unit, UnitStatus(State.RESTARTING, me.worker_id, herder.assignment.term, None, version[unit]))
                for unit in sorted(shown)
            ),
        ]

    def _wanted(self, runs: Mapping[UnitId, int]) -> Wanted:
        herder = self._herder
        self._quarantine.tend(self._to_run())
        runnable = self.runnable()
        self._specs.keep(herder.config)
        idle = without_units(herder.assignment, herder.identity.worker_id)
        self._idle_since = {host: self._idle_since.get(host, herder.now) for host in idle}
        return Wanted(
            herder.identity.hosts,
            {unit: self._quarantine.spec(unit, self._specs.of(herder.config, unit)) for unit in runnable},
            runs,
            herder.weights(),
            herder.leaving,
            herder.config.offset,
            max((herder.config.changed_at(unit) for unit in runnable), default=-1),
            {host for host, since in self._idle_since.items() if herder.now - since >= _IDLE_MS},
            self._lost_hosts.is_spark_down,
        )

    def runnable(self) -> frozenset[UnitId]:
        """Those of this worker's units that need a host."""
        return frozenset(unit for unit in self._to_run() if not self._quarantine.holds(unit))

    def _to_run(self) -> frozenset[UnitId]:
        """Those that somebody wants to run here: a STOPPED connector holds nothing."""
        herder = self._herder
        if herder.leaving or herder.losses.foreign:
            return frozenset()
        exists = herder.config.units()
        return frozenset(
            unit for unit in herder.owned & exists if herder.config.target_state(unit.connector) is not TargetState.STOPPED
        )

    def _stopped_statuses(self) -> list[Entry]:
        """The status of a STOPPED connector comes from its worker, as nothing of it runs on a host; failed or not."""
        herder = self._herder
        entries = []
        stopped_units = [
            unit
            for unit in herder.owned
            if unit.is_connector and herder.config.target_state(unit.connector) is TargetState.STOPPED
        ]
        self._stopping_since = {unit: self._stopping_since.get(unit, herder.now) for unit in stopped_units}
        for unit in sorted(stopped_units):
            if unit.connector not in herder.config.connectors:
                continue
            status, me = herder.status.units.get(unit), herder.identity.worker_id
            if status is not None and (status.state, status.worker_id) == (State.STOPPED, me):
                continue
            # Tasks on other workers' hosts, too: what is said to be STOPPED must send nothing any more. But what doesn't end
            # must not have the status say for ever that the connector runs.
            at_work = herder.assignment.holders(unit) or herder.assignment.is_at_work(unit.connector, {*herder.members, me})
            if at_work and herder.now - self._stopping_since[unit] < _STOPPING_MS:
                continue
            is_known, version = herder.classes.version_of(status, herder.config.connectors[unit.connector].properties)
            if not is_known:
                continue
            entries.append(records.status(unit, UnitStatus(State.STOPPED, me, herder.assignment.term, None, version)))
        return entries

    def unassigned_statuses(self, worker: str, units: Collection[UnitId]) -> list[Entry]:
        """For those of `units` of which the last word is that they run on `worker`, when they do not."""
        return [
            records.status(unit, UnitStatus(State.UNASSIGNED, worker, self._herder.status.units[unit].generation))
            for unit in sorted(units)
            if self._is_live(unit, worker)
        ]

    def _start_anew(self, units: set[UnitId]) -> None:
        """Have `units`, as far as they run, say once more that they do. Who follows the log sees no more than that."""
        self._started_anew |= units
        self._restarts |= units
        self._herder.changes += bool(units)

    def _is_live(self, unit: UnitId, worker: str) -> bool:
        status = self._herder.status.units.get(unit)
        return status is not None and status.worker_id == worker and status.state in _LIVE

    def _heal(self) -> None:
        herder = self._herder
        self._healing.keep(herder.owned)
        for unit in self._healing.failed:
            connector = herder.config.connectors.get(unit.connector)
            operation = Operation() if connector is None else Operation.of(connector.properties)
            if unit in herder.owned and (attempt := self._healing.due(unit, operation, herder.now)):
                limit = "" if operation.max_attempts < 0 else f" of {operation.max_attempts}"
                herder.log("INFO", f"{unit} has failed and is started again (errors.restart.*): attempt {attempt}{limit}")
                self.restart_unit(unit)

