"""
How a worker spreads its units over its hosts, and which hosts it has.

Every herder calls `place` for its own worker (`herder/placing.py`). It only looks at what was read back from the log. Units of
equal `HostSpec` share hosts; a unit whose spec changes first leaves its host. `handover.py` explains why no unit has two
runners. For the hosts of one worker, this means: a unit goes to another host only when the placement that was read back does
not name the unit, and no held record lists it elsewhere. Read next: `host.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kconnect.core.cluster import assignor
from kconnect.core.cluster.host_count import UNITS_A_HOST
from kconnect.core.cluster.shares import INSTANCES, group_of
from kconnect.core.state import assignment_records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import PLAIN, SPARK, Held, HostSpec, Placement
from kconnect.core.state.records import Entry, UnitId, Units

NO_CORE = "no core of Spark is free for it"
"""How the driver begins to say why a host is not up, if it waits for a core."""


@dataclass(frozen=True)
class Wanted:
    """
    The hosts and units that a worker wants. `hosts` is the number of plain hosts to keep at any time, and the most hosts of any
    other spec; `units` are those that need a host, each with the spec of its own; `runs` their run numbers, 0 by default;
    `weights` those whose weight is not 1. `config_offset` is up to where the config topic was read, `changed_at` the offset of
    the newest config that the units are to run with. `idle` are the numbers of hosts that have been unused for so long that
    they may go, and `late` of those that have not come up, or come back, for so long that they may never: there may be no room
    for them. `starved` are those whose process has ended and left units in its record, which only a successor can take out,
    and Spark has no core for one. `standby` are specs of which one host is kept although it has no units. With `down`, this
    worker is given nothing: its Spark has ended, or its first hosts are not up yet. With `resting`, it has no hosts either, and
    no units that need one. With `spreads`, `hosts` may differ from what it was, and units move for that.
    """

    hosts: int
    units: Mapping[UnitId, HostSpec]
    runs: Mapping[UnitId, int] = field(default_factory=dict)
    weights: Mapping[UnitId, int] = field(default_factory=dict)
    leaving: bool = False
    config_offset: int = 0
    changed_at: int = -1
    idle: Collection[int] = ()
    late: Collection[int] = ()
    starved: Collection[int] = ()
    standby: Collection[HostSpec] = ()
    down: bool = False
    resting: bool = False
    spreads: bool = False

    @property
    def closes(self) -> bool:
        """Whether no host is kept for what may come."""
        return self.leaving or self.resting


def place(state: AssignmentState, worker: str, incarnation: str, wanted: Wanted) -> Placement | None:
    """
    Spread what is wanted over hosts; None if nothing is to change.

    A unit stays on its host as long as that is of its spec and can stop its units, and is not late while another one is up; a
    new one goes to the host of its spec with the lightest load. The first placement of a new incarnation names no host: it
    tells the hosts of the one before to stop, and nothing is placed while one of their held records stands. A worker that is
    `leaving`, or `resting`, closes each host that is empty.
    """
    before = state.placements.get(worker)
    generation = state.assignments[worker].generation if worker in state.assignments else 0
    if before is None or before.incarnation != incarnation:
        return Placement(worker, {}, generation, 1, incarnation, wanted.leaving, down=wanted.down)
    own_hosts = state.hosts_of(worker)
    if any(held.worker_incarnation != incarnation for held in own_hosts):
        return None
    plan = _Plan(before, own_hosts, wanted)
    plan.fill()
    plan.close_unused()
    specs = {host: spec for host, spec in plan.specs.items() if spec != PLAIN}
    same = plan.units == {host: dict(units) for host, units in (before.hosts or {}).items()} and specs == before.specs
    # Hosts start nothing by a config that the placement does not know.
    is_known = wanted.changed_at < before.config_offset
    flags = (before.generation, before.leaving, before.down, before.resting)
    is_told = flags == (generation, wanted.leaving, wanted.down, wanted.resting)
    if same and is_known and is_told:
        return None
    now = (incarnation, wanted.leaving, specs, wanted.config_offset, wanted.down)
    return Placement(worker, plan.units, generation, before.revision + 1, *now, resting=wanted.resting)


class _Plan:
    """The next placement while it is made: `units` and `specs` by host number."""

    def __init__(self, before: Placement, mine: list[Held], wanted: Wanted) -> None:
        self._wanted = wanted
        self._placed = before.hosts or {}
        self._stuck = {held.host: held.stuck for held in mine if held.stuck}
        self._numbers = {held.host for held in mine}
        self._holders: dict[UnitId, set[int]] = {}
        for held in mine:
            for unit in held.units or ():
                self._holders.setdefault(unit, set()).add(held.host)
        self.units: dict[int, dict[UnitId, int]] = {host: {} for host in self._placed}
        self.specs = {host: before.spec(host) for host in self._placed}
        for held in mine:
            if held.units and held.host not in self.units:
                # It has started something just before it was closed. Should it die of that, its successor has to release it.
                self.units[held.host], self.specs[held.host] = {}, PLAIN
                self._stuck.setdefault(held.host, frozenset())
        self._loads = dict.fromkeys(self.units, 0)
        self._groups: Counter[tuple[int, str]] = Counter()
        self._needed: set[int] = set()
        """Hosts without units that are about to be given some."""
        self._weights_of: Counter[HostSpec] = Counter()
        for unit, spec in wanted.units.items():
            self._weights_of[spec] += self._weight(unit)
        self._plain_hosts = max(1, wanted.hosts - bool(wanted.starved))
        self._yields: int | None = None
        self._yields = self._who_yields()
        self._targets = self._spread() if wanted.spreads else {}

    def _who_yields(self) -> int | None:
        """
        Return the host that gives its core to one that is starved: a plain one without units if there is another, or the
        lighter of those that the starved one's units may go to. The core of a stuck host is often taken by the one that stands
        in for it: Spark gives it away before it knows that the task has to be started again.
        """
        spare = self._count(PLAIN) > self._plain_hosts
        if self._wanted.starved and self._wanted.hosts > self._plain_hosts and not spare:
            return None  # One has done so.
        held = {host for holders in self._holders.values() for host in holders}
        empty = {host for host in self.units.keys() - held if self._takes(host, PLAIN) and not self._placed.get(host)}
        if self._wanted.starved and spare and empty and sum(self._takes(host, PLAIN) for host in self.units) > 1:
            return max(empty)
        for starved in sorted(set(self._wanted.starved) & self.units.keys()):
            spec = self.specs[starved]
            able = [host for host in self._numbers - set(self._wanted.late) if host != starved and self._takes(host, spec)]
            able = [host for host in able if host in self._placed]
            # More than it needs: one of them stands in for it.
            if len(able) >= max(2, self._wanted.hosts if spec == PLAIN else self._limit(spec)):
                return min(able, key=lambda host: (sum(map(self._weight, self._placed[host])), -host))
        return None

    def _spread(self) -> dict[UnitId, int]:
        """
        Return the host of each plain unit, where the number of hosts may have changed: so that as few as can be move. Nothing
        before all hosts that there are to be are up.
        """
        able = [host for host in self._placed if host in self._numbers - set(self._wanted.late) and self._takes(host, PLAIN)]
        plain = {unit for unit, spec in self._wanted.units.items() if spec == PLAIN}
        current = {host: plain & self._placed[host].keys() for host in able}
        # Those that are to end are the ones with least to do.
        staying = sorted(able, key=lambda host: (-sum(map(self._weight, current[host])), host))[: self._plain_hosts]
        if len(staying) < self._plain_hosts:
            return {}
        names = {f"{host:06d}": host for host in staying}
        placed = {name: frozenset(current[host]) for name, host in names.items()}
        shares = assignor.assign(plain, names, placed, self._wanted.weights)
        return {unit: names[name] for name, units in shares.items() for unit in units}

    def fill(self) -> None:
        wanted = self._wanted
        placed: set[UnitId] = set()
        waiting: set[HostSpec] = set()
        for host, units in self._placed.items():
            placed |= units.keys()
            for unit in units.keys() & wanted.units.keys():
                spec = wanted.units[unit]
                if self.specs[host] != spec:
                    continue
                # What is stuck stays where it is: it is the death of that process that it waits for.
                stays = unit in self._stuck.get(host, (unit,)) and not self._is_given_up(host, spec)
                stays = stays and host != self._yields and self._targets.get(unit, host) == host
                if not stays and not self._is_one_up(spec):
                    # It runs well here, and would run nowhere while another process starts.
                    stays = True
                    waiting.add(spec)
                if stays:
                    self._put(unit, host)
        # Plain hosts are kept without units too: that one is up is what makes its worker fit to be given some.
        while not wanted.closes and self._count(PLAIN) < self._plain_hosts:
            self._open(PLAIN)
        for spec in () if wanted.closes else wanted.standby:
            if not self._count(spec):
                self._open(spec)
        self._needed.update(map(self._choose, waiting))
        still_placed = {unit for units in self.units.values() for unit in units}
        for unit in sorted(wanted.units.keys() - still_placed):
            spec, holders = wanted.units[unit], self._holders.get(unit, set())
            back = next(iter(holders)) if len(holders) == 1 else -1
            if unit in placed or (holders and (not self._takes(back, spec) or self._is_given_up(back, spec))):
                # It has to leave its host first. What it waits for then is not the start of another one.
                self._needed.add(self._choose(spec, unit))
            else:
                # Just taken away and given back, or its host still stops it: no other host may have it before that.
                self._put(unit, back if holders else self._choose(spec, unit))

    def close_unused(self) -> None:
        """Plain hosts that are too many, as they stood in for stuck ones, and those of other specs."""
        held = {host for holders in self._holders.values() for host in holders}
        for host in sorted(self.units, reverse=True):
            if self.units[host] or host in held or host in self._needed:
                continue
            spec = self.specs[host]
            if host == self._yields:
                del self.units[host], self.specs[host]
                continue
            enough = self._plain_hosts if spec == PLAIN else self._limit(spec)
            spare = spec.unit is not None or (host in self._wanted.idle and not self._is_standby(spec))
            # One that stood in for a host with stuck units is no longer waited for: it may take what another host needs.
            spare |= host not in self._numbers and sum(self._takes(other, spec) for other in self.units) > max(1, enough)
            if self._wanted.closes or (spare and (spec != PLAIN or self._count(PLAIN) > self._plain_hosts)):
                del self.units[host], self.specs[host]

    def _put(self, unit: UnitId, host: int) -> None:
        self.units[host][unit] = self._wanted.runs.get(unit, 0)
        self._loads[host] += self._weight(unit)
        self._groups[host, group_of(unit)] += 1

    def _choose(self, spec: HostSpec, unit: UnitId | None = None) -> int:
        """Return the least loaded host of this spec; of those, the one with the fewest units of the same group."""
        able = [host for host in self.units if self._takes(host, spec)]
        if unit is not None and (target := self._targets.get(unit)) in able:
            return target
        late = [host for host in able if host in self._wanted.late]
        if not able or (len(able) < self._limit(spec) and self._yields is None):
            return self._open(spec)
        if len(late) < len(able):
            able = [host for host in able if host not in late]
        if spec == PLAIN:
            # After one was stuck there may be more than are wanted: the emptiest are to become empty.
            able = sorted(able, key=lambda host: (-self._loads[host], host))[: self._plain_hosts]
        group = INSTANCES if unit is None else group_of(unit)
        return min(able, key=lambda host: (self._loads[host], self._groups[host, group], host))

    def _takes(self, host: int, spec: HostSpec) -> bool:
        return host in self.units and self.specs[host] == spec and host not in self._stuck and host != self._yields

    def _is_one_up(self, spec: HostSpec) -> bool:
        late = self._wanted.late
        return any(host in self._numbers and host not in late and self._takes(host, spec) for host in self.units)

    def _is_given_up(self, host: int, spec: HostSpec) -> bool:
        """Whether its units go elsewhere, since it may never come."""
        return host in self._wanted.late and self._is_one_up(spec)

    def _limit(self, spec: HostSpec) -> int:
        """Return how many hosts the units of this spec are worth. Of plain hosts there are enough already."""
        if spec == PLAIN or spec.unit is not None or spec.group or SPARK in spec.directories:
            return 1
        return min(self._wanted.hosts, -(-self._weights_of[spec] // UNITS_A_HOST))

    def _open(self, spec: HostSpec) -> int:
        # A number is free again once its host has taken back its record: that is the last that a process does.
        host = next(number for number in range(len(self.units) + len(self._numbers) + 1) if self._is_free(number))
        self.units[host], self.specs[host], self._loads[host] = {}, spec, 0
        return host

    def _is_standby(self, spec: HostSpec) -> bool:
        return spec in self._wanted.standby and self._count(spec) == 1

    def _is_free(self, number: int) -> bool:
        return number not in self.units and number not in self._numbers

    def _count(self, spec: HostSpec) -> int:
        return sum(spec_of_host == spec for spec_of_host in self.specs.values())

    def _weight(self, unit: UnitId) -> int:
        return self._wanted.weights.get(unit, 1)


def given_up(placement: Placement) -> Placement:
    """
    Return the placement of a worker that was found dead by who outlives it: as if it had been asked to end, so that its hosts
    end in order, and others are given its units before the group notices that it is gone.
    """
    return replace(placement, hosts={}, specs={}, leaving=True, revision=placement.revision + 1)


def without_units(state: AssignmentState, worker: str) -> set[int]:
    """The hosts that the placement of this worker names for nothing, and that hold nothing."""
    placement = state.placements.get(worker)
    hosts = {} if placement is None else placement.hosts or {}
    return {host for host, units in hosts.items() if not units} - {held.host for held in state.hosts_of(worker) if held.units}


def released_by_the_dead(
    state: AssignmentState, worker: str, incarnation: str, dead: Collection[tuple[str, int, str]]
) -> list[Entry]:
    """
    Return records for dead hosts of this worker that still list units which are no longer placed there.

    A successor that has just come may have its own record overwritten by such a one, until it has read that. So the record
    lists what is placed there, which is all that a successor can be running: had it declared anything before the placement
    that is known here, its record, and not that of the dead, would be. A number that the placement does not name any more has
    no successor, and is free again.
    """
    placement = state.placements.get(worker)
    if placement is None or placement.incarnation != incarnation:
        return []
    entries = []
    for held in state.hosts_of(worker):
        if (worker, held.host, held.incarnation) not in dead:
            continue
        placed: Units | None = None
        if held.host in (placement.hosts or {}):
            placed = frozenset((placement.hosts or {})[held.host])
        if placed is None or (held.units or frozenset()) - placed:
            entries.append(assignment_records.held(replace(held, units=placed, stuck=frozenset())))
    return entries
