"""
How units move: the leader's decisions about assignments, so that no unit ever runs twice.

The herder holds a `Handover` while its worker leads. `placement.py` spreads a worker's units over its hosts. Both only look at
what was read back from the log.

The proof that no unit has two runners rests on one rule that `host.py` keeps. A host starts a unit only after it has read back
its own held record that lists the unit, and only while the assignment and the placement still give it the unit. Assume that the
record that takes a unit away has been read back. Then every host that runs the unit, or may yet start it, has a held record in
the log that lists it. So it is enough to wait for those records. A host's number may be used again, even for another spec. A
process runs nothing if the placement gives its number another spec. A host that ends in order removes its record if its number
is given up. Read next: `placement.py`, `host.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.cluster import assignor
from kconnect.core.cluster.room import Room
from kconnect.core.state import assignment_records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import Assignment, Held, Placement
from kconnect.core.state.records import Entry, UnitId, Units

_COMES_UP_MS = 60_000
"""How long a drained worker waits for another one to come up, before it takes what nobody runs."""
_FORGET_MS = 60_000
"""For how long the records of a worker that is not in the group stay, once they stand in nobody's way."""


@dataclass
class Handover:
    """
    A leader's memory of one term.

    `grace_ms` is how long the hosts of a worker that left the group may take to say that they stopped;
    `delay_ms` how long a lost worker's units are kept for its return (`scheduled.rebalance.max.delay.ms`). A record may have
    so many `record_bytes`.
    """

    grace_ms: int
    delay_ms: int = 0
    record_bytes: int = 2**20
    _gone_since: dict[str, int] = field(default_factory=dict)
    _told_at: dict[str, int] = field(default_factory=dict)
    _starting_since: dict[str, int] = field(default_factory=dict)
    _unable_since: dict[str, int] = field(default_factory=dict)
    _exchanged: dict[UnitId, str] = field(default_factory=dict)
    """Units that are on their way to another worker, see `exchange`."""
    _answered: tuple[tuple[Any, ...], Mapping[str, Units]] | None = None
    """The latest question to the assignor, with its answer."""

    def decide(
        self,
        state: AssignmentState,
        units: Iterable[UnitId],
        members: Iterable[str],
        config_offset: int,
        now: int,
        weights: Mapping[UnitId, int] | None = None,
        dead: Collection[tuple[str, int, str]] = (),
    ) -> list[Entry]:
        """
        The records that bring the assignments one step closer to what they should be; none when all is well.

        `weights` names the units that count more than one, `dead` the hosts that were seen to be: (worker, number,
        incarnation).
        """
        members = set(members)
        entries = self._bury(state, members, now, dead)
        owners = {worker: assignment.units or frozenset() for worker, assignment in state.assignments.items()}
        waiting = self._held_back(owners, state.drained, now)
        everything = set(units) - waiting
        able = self._able(state, members, now)
        everything -= self._without_room(state, able, everything.difference(*owners.values()))
        # When nobody can take them, units stay where they are.
        shares = {w: frozenset() if able else owners.get(w, frozenset()) & everything for w in members - able}
        shares.update(self._assigned(everything, able, self._with_exchanged(owners, everything, able), weights or {}))
        coming = {worker: shares[worker] - owners.get(worker, frozenset()) for worker in sorted(members)}
        taken = _taken(state, owners, frozenset().union(*coming.values()))
        generation = state.generation + 1
        for worker, candidates in coming.items():
            current = owners.get(worker, frozenset())
            new = {unit for unit in candidates if taken.get(unit, {worker}) == {worker}}
            target = frozenset((current & shares[worker]) | new)
            if target != current or worker not in state.assignments:
                entries.append(assignment_records.assignment(Assignment(worker, target, generation, config_offset)))
        return entries

    def exchange(self, moves: Mapping[UnitId, str]) -> None:
        """Have units go to other workers, from the next decision on. They should leave the assignor nothing to mend."""
        self._exchanged.update(moves)

    def able(self, state: AssignmentState, members: Iterable[str], now: int) -> frozenset[str]:
        """Return the workers that may be given units."""
        return frozenset(self._able(state, set(members), now))

    def _assigned(
        self, units: set[UnitId], able: set[str], owners: dict[str, Units], weights: Mapping[UnitId, int]
    ) -> Mapping[str, Units]:
        """Return who is to run what. While units move, the same is asked many times."""
        asked = (units, able, owners, dict(weights))
        if self._answered is None or self._answered[0] != asked:
            self._answered = (asked, assignor.assign(units, able, owners, weights))
        return self._answered[1]

    def _with_exchanged(
        self, owners: Mapping[str, Units], units: Collection[UnitId], able: Collection[str]
    ) -> dict[str, Units]:
        """Return who owns what, as if those that are on their way had arrived."""
        self._exchanged = {
            unit: worker
            for unit, worker in self._exchanged.items()
            if unit in units and worker in able and unit not in owners.get(worker, frozenset())
        }
        if not self._exchanged:
            return dict(owners)  # To copy all that is owned takes a while.
        arrived = {worker: owned - self._exchanged.keys() for worker, owned in owners.items()}
        for unit, worker in self._exchanged.items():
            arrived[worker] = arrived.get(worker, frozenset()) | {unit}
        return arrived

    def _without_room(self, state: AssignmentState, able: Collection[str], new: Collection[UnitId]) -> set[UnitId]:
        """Return those of the units that nobody has which the records have no room for."""
        if not new:
            return set()  # As nearly always: to count all that is there takes a while.
        room, without = Room(state, able, self.record_bytes), set()
        # Each connector's first task before the second one of any: who makes very many is the one whose tasks wait.
        for unit in sorted(new, key=lambda unit: (unit.task, unit.connector)):
            if room.has(unit):
                room.take(unit)
            else:
                without.add(unit)
        return without

    def _able(self, state: AssignmentState, members: set[str], now: int) -> set[str]:
        """
        Return the workers that may be given units: not one that is leaving or down, nor one whose hosts are not up yet, since
        its units would stand still until they are. Within the delay, a worker that came back keeps what it had. One that is
        drained is given none as long as another can run them.
        """
        able = set()
        for worker in members:
            placement = state.placements.get(worker)
            if placement is None or not placement.takes_units:
                continue
            if any(held.worker_incarnation == placement.incarnation for held in state.hosts_of(worker)):
                able.add(worker)
                self._starting_since.pop(worker, None)
            elif now - self._starting_since.setdefault(worker, now) < self.delay_ms and worker in state.assignments:
                able.add(worker)
        self._unable_since = {worker: self._unable_since.get(worker, now) for worker in sorted(members - able)}
        if able - state.drained or not able:
            return able - state.drained
        # Only drained ones. After a start of all, or a restart of the others, these come up in a moment.
        coming = {worker for worker, since in self._unable_since.items() if now - since < _COMES_UP_MS} - state.drained
        leaving = {worker for worker in coming if (placement := state.placements.get(worker)) and placement.leaving}
        return set() if coming - leaving else able

    def _bury(self, state: AssignmentState, members: set[str], now: int, dead: Collection[tuple[str, int, str]]) -> list[Entry]:
        entries: list[Entry] = []
        absent = state.workers() - members
        self._gone_since = {worker: self._gone_since.get(worker, now) for worker in sorted(absent)}
        self._told_at = {worker: at for worker, at in self._told_at.items() if worker in absent}
        for worker, since in self._gone_since.items():
            if worker in state.assignments and (now - since >= self.delay_ms or worker in state.drained):
                entries.append(assignment_records.assignment(Assignment(worker, None)))
            if worker in state.assignments:
                self._told_at.pop(worker, None)
                continue
            # From when they can read that their assignment is gone, not from when their worker left the group.
            waited = now - self._told_at.setdefault(worker, now) >= self.grace_ms
            # Not at once: a worker that has just been started is not in the group yet, and would write its records anew.
            forgotten = now - since >= self.delay_ms + _FORGET_MS
            for held in state.hosts_of(worker):
                over = waited or (worker, held.host, held.incarnation) in dead
                if forgotten or (held.units and over):
                    entries.append(assignment_records.held(Held(worker, held.host, None)))
            if forgotten and worker in state.placements:
                entries.append(assignment_records.placement(Placement(worker, None)))
        return entries

    def _held_back(self, owners: Mapping[str, Units], drained: Collection[str], now: int) -> set[UnitId]:
        """Units of workers that are gone but may come back within the delay, and would be given them then."""
        return {
            unit
            for worker, since in self._gone_since.items()
            if now - since < self.delay_ms and worker not in drained
            for unit in owners.get(worker, frozenset())
        }


def _taken(state: AssignmentState, owners: Mapping[str, Units], units: Units) -> dict[UnitId, set[str]]:
    """Return, of these units, those that workers own or whose hosts have them, each with these workers."""
    if not units:
        return {}
    taken: dict[UnitId, set[str]] = {}
    holders = ((held.worker, held.units or frozenset()) for held in state.held.values())
    for worker, has in (*owners.items(), *holders):
        for unit in has & units:
            taken.setdefault(unit, set()).add(worker)
    return taken
