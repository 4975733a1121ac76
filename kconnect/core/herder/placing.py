"""
What a worker does about its own units: it places them on its hosts, starts them anew, and speaks for those that can't.

`Placing` is held by `herder.py`, which tells it what it reads; for as long as the worker lives it reconciles what the log says
with what it should say. Read next: `cluster/placement.py` for how units are spread over hosts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from kconnect.core.cluster.host_count import HostCount
from kconnect.core.cluster.placement import NO_CORE, Wanted, place, without_units
from kconnect.core.herder import effects
from kconnect.core.herder.classes import Classes
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.healing import Healing
from kconnect.core.herder.host_specs import Directories, HostSpecs
from kconnect.core.herder.losses import Losses
from kconnect.core.herder.lost_hosts import LostHosts
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.quarantine import Quarantine
from kconnect.core.herder.rivals import Rivals
from kconnect.core.herder.spark_rest import SparkRest
from kconnect.core.herder.standby import Standby
from kconnect.core.herder.throttle import Looks, decisions_throttle
from kconnect.core.settings.operation import Operation
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import PLAIN, Held, HostSpec
from kconnect.core.state.records import Entry, State, TargetState, Topic, UnitId, UnitStatus
from kconnect.core.state.status import StatusState
from kconnect.errors import ConnectError

_STOPPING_MS = 15_000
"""How long the status of a connector that is to be stopped waits for its instance and its tasks."""
_MEASURE_MS = 30_000
"""How often it is looked what the hosts take, on average over minutes."""
_IDLE_MS = 30_000
"""How long a host that nothing needs is kept: what is started anew meanwhile need not wait for a process."""
_LATE_MS = 60_000
"""A host that has not come up for so long is no longer counted on. A cold start takes half of that on a slow machine."""
_STARVED_MS = 10_000
"""How long a host that Spark has no core for, as its driver says after 15 s, waits for one that others give it."""
_LIVE = (State.RUNNING, State.PAUSED, State.RESTARTING)


class Placing:
    def __init__(self, desk: Desk, losses: Losses, rivals: Rivals, classes: Classes, directories: Directories) -> None:
        self._desk, self._losses, self._rivals, self._classes = desk, losses, rivals, classes
        self._specs = HostSpecs(directories)
        self._idle_since: dict[int, int] = {}
        """Hosts without units, and since when they are."""
        self._absent_since: dict[int, int] = {}
        """Hosts that have not come up, or not come back, and since when that is."""
        self._starved_since: dict[int, int] = {}
        """Hosts that have died with units, and since when their successor is known to wait for a core."""
        self._restarts: set[UnitId] = set()
        self._started_anew: set[UnitId] = set()
        """Those of `_restarts` that nobody asked for."""
        self._stopping_since: dict[UnitId, int] = {}
        self._spoken_of: set[UnitId] = set()
        """Units whose last status is of this worker."""
        self._healing = Healing()
        self._begun_at = 0
        """When this life told the hosts of others to stop."""
        self._lost_hosts = LostHosts(desk.identity.hosts_stop_after_ms)
        self._quarantine = Quarantine(desk, classes)
        self._standby = Standby(desk)
        self._rest = SparkRest(desk)
        self._count = HostCount(desk.identity.hosts, max(desk.identity.hosts, desk.identity.most_hosts))
        self._cores: float | None = None
        """This worker's hosts take so many cores, by a look at `_cores_at`; looked at only if they may be more or fewer."""
        self._cores_at: int | None = None
        self._overtaken: dict[UnitId, int] = {}
        """Units of lost hosts of which a status is being written, and how many of theirs were read meanwhile."""

    def begin(self) -> None:
        """Tend, and again whenever that fails."""
        self._desk.begin(self._tend_for_ever())

    def restart(self, units: Collection[UnitId]) -> None:
        """Restart those of `units` that are this worker's."""
        self._restarts |= set(units)

    def restart_unit(self, unit: UnitId) -> bool:
        """Start one of this worker's own units anew; False if it is not its own."""
        desk = self._desk
        if unit not in desk.owned:
            return False
        self._restarts.add(unit)
        desk.changed()
        return True

    def plugins_changed(self) -> None:
        """Other plugins are there: units may need other hosts."""
        self._specs.forget()
        self._desk.changed()

    def seen_dead(self, hosts: frozenset[tuple[str, int, str]]) -> None:
        """These hosts, and no others, are dead by now."""
        self._lost_hosts.seen(hosts, self._desk.now)

    def spark_ended(self) -> None:
        desk, me = self._desk, self._desk.identity
        own_hosts = [held for held in desk.log.assignment.hosts_of(me.worker_id) if held.worker_incarnation == me.incarnation]
        self._lost_hosts.spark_ended(own_hosts, desk.now)
        self._standby.begin()

    def read_held(self, held: Held) -> None:
        """Process a record of the units that one of this worker's hosts holds."""
        self._quarantine.read(held)
        is_own = held.units is not None and held.worker_incarnation == self._desk.identity.incarnation
        if is_own:
            self._desk.has_had_spark = True
            self._desk.spark_trouble = None
            self._desk.host_troubles.pop(held.host, None)
        if is_own and self._lost_hosts.came(held):
            self._desk.say("INFO", "This worker is ready: Spark and its first task host are up")

    def read_status(self, unit: UnitId) -> None:
        desk = self._desk
        if unit in self._overtaken:
            self._overtaken[unit] += 1
        connector, status = desk.log.config.connectors.get(unit.connector), desk.log.status.units.get(unit)
        if unit in desk.owned and connector is not None:
            self._healing.read(unit, status, Operation.of(connector.properties), desk.now)
        if status is not None and status.worker_id == desk.me:
            self._spoken_of.add(unit)
        elif unit in self._spoken_of:
            self._spoken_of.remove(unit)
            if status is not None and unit in desk.owned:
                # A late word of one who does not know yet that it has lost the unit: it would stay the last.
                self._start_anew({unit})

    def _tend_for_ever(self) -> Procedure[None]:
        desk = self._desk
        while True:
            try:
                yield from self._reconcile()
            except Exception as error:  # noqa: BLE001 - what it decides is decided again from the log
                desk.say("ERROR", f"The placement of this worker failed and starts over: {error}")
                yield desk.pause(1000)

    def _reconcile(self) -> Procedure[None]:
        """Keep the placement of this worker's units, and the status of its stopped connectors, as they should be."""
        desk = self._desk
        me, due, throttle, looks = desk.identity, desk.now, decisions_throttle(), Looks()
        while True:
            yield desk.pause(due - desk.now)
            due = looks.after(len(desk.log.config.connectors), desk.now)
            restarts = self._restarts
            self._keep_spark()
            yield from self._measure()
            entries = self._clear_old_hosts()
            if not entries:
                entries = self._placement()
            if not entries:
                entries = self._lost_hosts.releases(desk.log.assignment, me.worker_id, me.incarnation, desk.now)
            lost: set[UnitId] = set()
            if not entries and (lost := (yield from self._unsaid())):
                entries = [records.status(unit, desk.log.status.units[unit]) for unit in sorted(lost)]
            if not entries:
                lost = yield from self._lost_units()
                no_longer_run = lost | self._lost_with_assignments()
                entries = self._stopped_statuses() + unassigned(desk.log.status, me.worker_id, no_longer_run)
                entries += self._quarantine.statuses()
            self._heal()
            if entries:
                due = max(due, throttle.free_at(desk.now))
                self._overtaken = dict.fromkeys(lost, 0)
                # Statuses first: what the placement sets going writes statuses of its own, which must come after them.
                statuses = [entry for entry in entries if entry.topic is Topic.STATUS]
                try:
                    for part in (statuses, [entry for entry in entries if entry.topic is not Topic.STATUS]):
                        if part:
                            yield from desk.write(part)
                except ConnectError:
                    self._restarts |= restarts
                    raise
                # If another status came before the one that was written here, they run again, and that came too late.
                self._start_anew({unit for unit, count in self._overtaken.items() if count > 1})
                self._overtaken = {}
                continue
            yield desk.change(looks.quiet_ms(len(desk.log.config.connectors), 1000))

    def _keep_spark(self) -> None:
        """Have Spark running as long as anybody has anything to run."""
        desk = self._desk
        is_wanted = self._rest.look()
        if is_wanted is None:
            return
        if is_wanted:
            desk.say("INFO", "There is something to run again: this worker's Spark starts")
            # What would come before its first host is up would wait for that, while others run.
            self._lost_hosts.spark_ended((), desk.now)
            self._standby.begin()
        else:
            desk.say("INFO", "Nobody in the cluster has anything to run: this worker's Spark rests until there is something")
            desk.host_troubles.clear()
        desk.tell(effects.KeepSpark(is_wanted))

    def _measure(self) -> Procedure[None]:
        desk = self._desk
        if self._count.varies and (self._cores_at is None or desk.now - self._cores_at >= _MEASURE_MS):
            self._cores_at = desk.now
            self._cores = yield from ask(effects.ReadCores(desk.me))

    def _lost_units(self) -> Procedure[set[UnitId]]:
        """Return the units that lost hosts still list, and whose status says that they run."""
        desk = self._desk
        statuses = self._said_of_lost()
        if not statuses:
            return set()
        # Topics are read each for itself: another host may have said that, and its record is still to be read.
        yield from desk.read_to_end(Topic.ASSIGNMENT)
        return {unit for unit, status in self._said_of_lost().items() if statuses.get(unit) is status}

    def _lost_with_assignments(self) -> set[UnitId]:
        """Return the units that a lost assignment topic gave this worker, until the new topic has assignments."""
        desk = self._desk
        waits = self._losses.assignments_lost and desk.me not in desk.log.assignment.assignments
        return set(desk.log.status.units) if waits else set()

    def _unsaid(self) -> Procedure[set[UnitId]]:
        """Return the units whose last status was this worker's, in a status topic that no longer exists."""
        statuses, me = self._desk.log.status, self._desk.me
        if not any(statuses.units[unit].worker_id == me for unit in statuses.unsaid):
            return set()
        yield from self._desk.read_to_end(Topic.STATUS)
        return {unit for unit in statuses.unsaid if statuses.units[unit].worker_id == me}

    def _said_of_lost(self) -> dict[UnitId, UnitStatus]:
        desk = self._desk
        me = desk.me
        held = self._lost_hosts.units(desk.log.assignment, me, desk.now)
        return {unit: desk.log.status.units[unit] for unit in held if _is_live(desk.log.status, unit, me)}

    def _clear_old_hosts(self) -> list[Entry]:
        """Bury the hosts of this worker's earlier lives once they have stopped, or can't be running any more."""
        desk = self._desk
        me = desk.identity
        placement = desk.log.assignment.placements.get(me.worker_id)
        if placement is None or placement.incarnation != me.incarnation:
            return []  # They have not been told to stop yet.
        waited = desk.now - self._begun_at >= me.hosts_stop_after_ms
        entries = []
        for held in desk.log.assignment.hosts_of(me.worker_id):
            dead = (held.worker, held.host, held.incarnation) in desk.dead_hosts
            if held.worker_incarnation != me.incarnation and (not held.units or dead or waited):
                entries.append(assignment_records.held(Held(me.worker_id, held.host, None)))
        return entries

    def _placement(self) -> list[Entry]:
        desk = self._desk
        me = desk.identity
        before = desk.log.assignment.placements.get(me.worker_id)
        if self._rivals.have_the_work:
            return []
        placed = {unit: run for units in (before.hosts or {}).values() for unit, run in units.items()} if before else {}
        is_own = before is not None and before.incarnation == me.incarnation
        restarts = {unit for unit in self._restarts if is_own and unit in placed and unit in desk.owned}
        restarts |= self._quarantine.clear(self._restarts - self._started_anew)
        self._restarts = {unit for unit in self._restarts if unit in desk.owned} if not is_own else set()
        runs = {unit: run + (unit in restarts) for unit, run in placed.items()}
        placement = place(desk.log.assignment, me.worker_id, me.incarnation, self._wanted(runs))
        if placement is None:
            return []
        placement = replace(placement, process=me.process, version=me.version, is_secure=me.is_secure)
        if not is_own:
            self._begun_at = desk.now
            # A life that has just begun runs nothing yet, whatever the one before it wrote last.
            return [assignment_records.placement(placement), *unassigned(desk.log.status, me.worker_id, desk.owned)]
        shown = [unit for unit in restarts - self._started_anew if unit in desk.log.status.units]
        self._started_anew &= self._restarts
        version = {unit: desk.log.status.units[unit].version for unit in shown}
        return [
            assignment_records.placement(placement),
            *(
                records.status(unit, UnitStatus(State.RESTARTING, me.worker_id, desk.log.assignment.term, None, version[unit]))
                for unit in sorted(shown)
            ),
        ]

    def _wanted(self, runs: Mapping[UnitId, int]) -> Wanted:
        desk = self._desk
        self._quarantine.reconcile(self._to_run())
        runnable = self.runnable()
        self._specs.keep(desk.log.config)
        idle = without_units(desk.log.assignment, desk.me)
        self._idle_since = {host: self._idle_since.get(host, desk.now) for host in idle}
        self._absent_since = {host: self._absent_since.get(host, desk.now) for host in self._absent()}
        self._starved_since = {host: self._starved_since.get(host, desk.now) for host in self._starved()}
        units = {unit: self._quarantine.spec(unit, self._specs.of(desk.log.config, unit)) for unit in runnable}
        weights = desk.log.weights()
        return Wanted(
            self._hosts(units, weights),
            units,
            runs,
            weights,
            desk.leaving,
            desk.log.config.offset,
            max((desk.log.config.changed_at(unit) for unit in runnable), default=-1),
            {host for host, since in self._idle_since.items() if desk.now - since >= _IDLE_MS},
            {host for host, since in self._absent_since.items() if desk.now - since >= _LATE_MS},
            {host for host, since in self._starved_since.items() if desk.now - since >= _STARVED_MS},
            self._standby.specs(self._specs),
            self._lost_hosts.is_spark_down or self._rest.rests or self._standby.warms_up(),
            self._rest.rests,
            self._count.varies,
        )

    def _hosts(self, units: Mapping[UnitId, HostSpec], weights: Mapping[UnitId, int]) -> int:
        """Return how many plain hosts there are to be."""
        if not self._count.varies:
            return self._count.least
        shared = sum(weights.get(unit, 1) for unit, spec in units.items() if spec == PLAIN)
        return self._count.decide(shared, self._cores, self._desk.now)

    def _absent(self) -> set[int]:
        """Return the hosts that this life has placed, and that no process is."""
        desk = self._desk
        assignment, me = desk.log.assignment, desk.identity
        placement = assignment.placements.get(me.worker_id)
        if placement is None or placement.incarnation != me.incarnation:
            return set()
        alive = {
            held.host
            for held in assignment.hosts_of(me.worker_id)
            if (held.worker, held.host, held.incarnation) not in desk.dead_hosts
        }
        return set(placement.hosts or {}) - alive

    def _starved(self) -> set[int]:
        """Return the hosts that wait for a core, by what the driver says, and whose record lists units nevertheless."""
        desk = self._desk
        me = desk.identity
        own_hosts = [held for held in desk.log.assignment.hosts_of(me.worker_id) if held.worker_incarnation == me.incarnation]
        waiting = {host for host, why in desk.host_troubles.items() if why.startswith(NO_CORE)}
        return {held.host for held in own_hosts if held.units and held.host in waiting}

    def runnable(self) -> frozenset[UnitId]:
        """Return the units of this worker that need a host: those to run, less those in quarantine."""
        return frozenset(unit for unit in self._to_run() if not self._quarantine.holds(unit))

    def _to_run(self) -> frozenset[UnitId]:
        """Return the units that are to run here. A STOPPED connector holds nothing."""
        desk = self._desk
        if desk.leaving or self._losses.foreign:
            return frozenset()
        exists = desk.log.config.units()
        return frozenset(
            unit for unit in desk.owned & exists if desk.log.config.target_state(unit.connector) is not TargetState.STOPPED
        )

    def _stopped_statuses(self) -> list[Entry]:
        """The status of a STOPPED connector comes from its worker, as nothing of it runs on a host; failed or not."""
        desk = self._desk
        entries = []
        stopped_units = [
            unit
            for unit in desk.owned
            if unit.is_connector and desk.log.config.target_state(unit.connector) is TargetState.STOPPED
        ]
        self._stopping_since = {unit: self._stopping_since.get(unit, desk.now) for unit in stopped_units}
        for unit in sorted(stopped_units):
            if unit.connector not in desk.log.config.connectors:
                continue
            status, me = desk.log.status.units.get(unit), desk.me
            if status is not None and (status.state, status.worker_id) == (State.STOPPED, me):
                continue
            # Tasks on other workers' hosts, too: what is said to be STOPPED must send nothing any more. But what doesn't end
            # must not have the status say for ever that the connector runs.
            at_work = desk.log.assignment.holders(unit) or desk.log.assignment.is_at_work(unit.connector, {*desk.members, me})
            if at_work and desk.now - self._stopping_since[unit] < _STOPPING_MS:
                continue
            is_known, version = self._classes.version_of(status, desk.log.config.connectors[unit.connector].properties)
            if not is_known:
                continue
            entries.append(records.status(unit, UnitStatus(State.STOPPED, me, desk.log.assignment.term, None, version)))
        return entries

    def _start_anew(self, units: set[UnitId]) -> None:
        """Have `units`, as far as they run, say once more that they do. Who follows the log sees no more than that."""
        self._started_anew |= units
        self._restarts |= units
        self._desk.changes += bool(units)

    def _heal(self) -> None:
        desk = self._desk
        self._healing.keep(desk.owned)
        for unit in self._healing.failed:
            connector = desk.log.config.connectors.get(unit.connector)
            operation = Operation() if connector is None else Operation.of(connector.properties)
            if unit in desk.owned and (attempt := self._healing.due(unit, operation, desk.now)):
                limit = "" if operation.max_attempts < 0 else f" of {operation.max_attempts}"
                desk.say("INFO", f"{unit} has failed and is started again (errors.restart.*): attempt {attempt}{limit}")
                self.restart_unit(unit)


def unassigned(statuses: StatusState, worker: str, units: Collection[UnitId]) -> list[Entry]:
    """Return UNASSIGNED records for those of `units` whose last status says that they run on `worker`, when they do not."""
    return [
        records.status(unit, UnitStatus(State.UNASSIGNED, worker, statuses.units[unit].generation))
        for unit in sorted(units)
        if _is_live(statuses, unit, worker)
    ]


def _is_live(statuses: StatusState, unit: UnitId, worker: str) -> bool:
    status = statuses.units.get(unit)
    return status is not None and status.worker_id == worker and status.state in _LIVE
