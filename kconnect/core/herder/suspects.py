"""
Hosts that die again and again, and nobody knows by whose fault: which of their units does it.

Held by `quarantine.py`, which tells it of each held record of the worker's own hosts, and has units placed by the groups and
the verdicts that are found here. A host's process can be ended by what no Python code sees: a C library, the system for lack
of memory. Whoever shares the host goes down with it, and would do so for ever. So the units of such a host are split over a
few of their own, and those of the one that dies again once more, until one unit is alone; if its host still dies, it has
failed. Deaths that the next process can explain (`Held.blamed`) are none of this; whom it suspects (`Held.suspected`) goes to
a host of its own at once. So do units whose configs name brokers of their own: librdkafka trusts what brokers answer, and
these could end a host now and then for as long as they like. Read next: `cluster/placement.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from kconnect.core.state.assignment_records import Held, HostSpec
from kconnect.core.state.records import UnitId, Units

_SUSPICION = (3, 120_000)
"""So many deaths within so many milliseconds make the units that were there at each of them suspects,"""
_OF_BROKERS = (2, 600_000)
"""
so many those of them whose configs name brokers; the first one does, if there are others beside these;
"""
_SPLIT = (2, 60_000)
"""and so many split a group of them:"""
_VERDICT = (4, 90_000)
"""
so many condemn one that is alone, in the time that its processes have lived: how long they take to start says nothing of
it. Kills from outside, one in 20 to 60 s, were tried for hours: three within 120 s, or four, hit an innocent now and then. Who
dies less often than that hurts nobody else any more, and is left alone.
"""
_PARTS = 4
"""Over so many hosts they are split: with two it takes twice as many deaths, and each process costs memory and a core."""
_QUIET_MS = 600_000
"""
For so long a group lives without a death until its units share hosts with others again. Each time that a unit has become a
suspect again doubles it, up to a day: who can end a host when they like hurt others less and less.
"""
_LONGEST_QUIET_MS = 86_400_000
_HOMELESS_MS = 60_000
"""For so long a group waits for its host: where Spark has no core left for one, its units had better run beside others."""


@dataclass
class _Life:
    """A life of a host's process: its last record, when the first one came, and when the process was found dead."""

    held: Held
    since: int
    died: int | None = None


@dataclass
class _Group:
    quiet_since: int
    came_up: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a unit is not run any more, and what it was made from: with a newer config it is tried again."""

    reason: str
    config_offset: int | None


@dataclass
class _Past:
    """
    The deaths that a unit was there at: those of its group, each with how long its hosts had lived by then, and how many in all
    since the first one. `lived` is how long its hosts have lived.
    """

    deaths: list[tuple[int, int]] = field(default_factory=list)
    lived: int = 0
    first: int = 0
    total: int = 0


class Suspects:
    """
    The suspicions of one life of a worker: the next begins without. `config_offset` returns the offset of the config that a
    unit runs with, `names_brokers` whether that config has brokers of its own. Times are milliseconds of the herder's clock.
    Methods that return texts return lines for the log.
    """

    def __init__(
        self,
        worker_incarnation: str,
        config_offset: Callable[[UnitId], int | None],
        names_brokers: Callable[[UnitId], bool] = lambda unit: False,
    ) -> None:
        self._worker_incarnation = worker_incarnation
        self._config_offset = config_offset
        self._names_brokers = names_brokers
        self._times: dict[UnitId, int] = {}
        """How often a unit that runs here has left the hosts of others as a suspect."""
        self._lives: dict[int, _Life] = {}
        self._past: dict[UnitId, _Past] = {}
        self._group_of: dict[UnitId, int] = {}
        self._groups: dict[int, _Group] = {}
        self._last_group = 0
        self._verdicts: dict[UnitId, Verdict] = {}

    @property
    def groups(self) -> Mapping[UnitId, int]:
        """The suspects, and the `HostSpec.group` that each is to run in."""
        return self._group_of

    @property
    def verdicts(self) -> Mapping[UnitId, Verdict]:
        """Units that have failed, and are to run nowhere."""
        return self._verdicts

    def read(self, held: Held, spec: HostSpec, now: int, dead: Collection[tuple[str, int, str]] = ()) -> list[str]:
        """
        Take note of a held record of one of this worker's hosts, in the order of the log. `spec` is the host's, `dead` are the
        hosts that were seen to be: (worker, number, incarnation).
        """
        if held.units is None or held.worker_incarnation != self._worker_incarnation:
            self._lives.pop(held.host, None)
            return []
        before = self._lives.get(held.host)
        if before is not None and before.held.incarnation > held.incarnation:
            return []  # Written in the place of one that is dead, see `released_by_the_dead`.
        group = spec.group if spec.unit is None else self._group_of.get(spec.unit, 0)
        if group in self._groups:
            self._groups[group].came_up = True
        if before is not None and before.held.incarnation == held.incarnation:
            before.held = held
            return []
        self._lives[held.host] = _Life(held, now)
        if before is None or _is_explained(before.held, held):
            return []
        # What was stuck had the process end itself, which is no mystery, and what is blamed does not run.
        lost = (before.held.units or frozenset()) - before.held.stuck - before.held.blamed.keys()
        age = (now if before.died is None else before.died) - before.since
        return self._died(held.host, lost, held.suspected, group, now, age, dead) if lost else []

    def reconcile(self, units: Collection[UnitId], now: int, dead: Collection[tuple[str, int, str]] = ()) -> list[str]:
        """
        See which hosts are `dead`, as for `read`, and forget what is over: all but `units` are not to run here, and who has
        another config is tried with it.
        """
        for number, life in self._lives.items():
            if life.died is None and (life.held.worker, number, life.held.incarnation) in dead:
                life.died = now
        for unit in [unit for unit in (*self._past, *self._group_of, *self._times) if unit not in units]:
            for by_unit in (self._past, self._group_of, self._times):
                by_unit.pop(unit, None)
        for unit, verdict in list(self._verdicts.items()):
            if unit not in units or self._config_offset(unit) != verdict.config_offset:
                self.clear(unit, now)
        texts = []
        for number, group in list(self._groups.items()):
            members = self._members(number)
            if any(unit in self._verdicts for unit in members):
                continue
            quiet = now - group.quiet_since >= self._quiet_ms(members)
            homeless = not group.came_up and now - group.quiet_since >= _HOMELESS_MS
            if members and (quiet or homeless):
                is_single = len(members) == 1
                reason = (
                    f"{'has' if is_single else 'have'} run for {self._quiet_ms(members) // 60_000} minutes"
                    if quiet
                    else "got no other host within a minute"
                )
                texts.append(
                    f"{_named(members)} {reason}, and {'shares a host' if is_single else 'share hosts'} with others again"
                )
            if not members or quiet or homeless:
                del self._groups[number]
                for unit in members:
                    del self._group_of[unit]
                    self._past.pop(unit, None)
        return texts

    def _quiet_ms(self, members: Collection[UnitId]) -> int:
        times = max((self._times.get(unit, 1) for unit in members), default=1)
        return min(_QUIET_MS << min(times - 1, 10), _LONGEST_QUIET_MS)

    def clear(self, unit: UnitId, now: int) -> None:
        """Let `unit` be tried again, in a host of its own, because a user restarts it."""
        if self._verdicts.pop(unit, None) is not None:
            self._past.pop(unit, None)
            group = self._groups.get(self._group_of.get(unit, 0))
            if group is not None:
                group.quiet_since = now

    def _died(
        self, host: int, lost: Units, suspected: Units, group: int, now: int, age: int, dead: Collection[tuple[str, int, str]]
    ) -> list[str]:
        # Those of other groups are about to leave this host: where they go will show.
        present = [unit for unit in sorted(lost) if self._group_of.get(unit, 0) == group and unit not in self._verdicts]
        for unit in present:
            past = self._past.setdefault(unit, _Past(first=now))
            past.lived += age
            past.deaths = [*past.deaths, (now, past.lived)][-_VERDICT[0] :]
            past.total += 1
        is_shared = group not in self._groups
        if not is_shared:
            self._groups[group].quiet_since = now
        if is_shared or len(self._members(group)) > 1:
            if suspects_found := [unit for unit in present if unit in suspected]:
                return self._split(f"Host {host} has died, perhaps for one of its units", suspects_found, now)
            if suspects_found := self._of_brokers(present, now):
                return self._split(
                    f"Host {host} has died, perhaps of what brokers answer that only a config names", suspects_found, now
                )
            count, within_ms = rule = _SUSPICION if is_shared else _SPLIT
            what = f"Host {host} has died {count} times within {within_ms // 1000} s for an unknown reason"
            suspects = self._hit(present, rule, now)
            return self._split(what, suspects, now) if suspects else []
        count, within_ms = _VERDICT
        texts = []
        for unit in present:
            deaths = self._past[unit].deaths[-count:]
            since, lived = deaths[0]
            if len(deaths) == count and deaths[-1][1] - lived <= within_ms and self._has_witness(host, since, dead):
                texts.append(self._condemn(unit, now))
        return texts

    def _of_brokers(self, units: list[UnitId], now: int) -> list[UnitId]:
        """Return those whose configs name brokers, if they are suspects."""
        naming = [unit for unit in units if self._names_brokers(unit)]
        return naming if len(naming) < len(units) else self._hit(naming, _OF_BROKERS, now)

    def _hit(self, units: list[UnitId], rule: tuple[int, int], now: int) -> list[UnitId]:
        """Return those of `units` that were in at least as many deaths as the rule says, within its time."""
        count, within_ms = rule
        hit = []
        for unit in units:
            if sum(now - death[0] <= within_ms for death in self._past[unit].deaths) >= count:
                hit.append(unit)
        return hit

    def _split(self, what: str, suspects: list[UnitId], now: int) -> list[str]:
        parts = _parts(suspects)
        for part in parts:
            self._last_group += 1
            self._groups[self._last_group] = _Group(now)
            for unit in part:
                if unit not in self._group_of:
                    self._times[unit] = self._times.get(unit, 0) + 1
                self._group_of[unit] = self._last_group
                self._past[unit].deaths.clear()
        where = "a host of its own" if len(suspects) == 1 else f"{len(parts)} hosts of their own"
        return [
            f"{what}. To find out whether one of its units is the cause, {_named(suspects)} "
            f"{'goes' if len(suspects) == 1 else 'go'} to {where}"
        ]

    def _has_witness(self, host: int, since: int, dead: Collection[tuple[str, int, str]]) -> bool:
        """
        Whether another host has lived through it all. If none has, Spark itself may be what dies, or the machine is in
        trouble, and no unit is to blame.
        """
        return any(
            number != host and life.since <= since and (life.held.worker, number, life.held.incarnation) not in dead
            for number, life in self._lives.items()
        )

    def _condemn(self, unit: UnitId, now: int) -> str:
        past = self._past[unit]
        what = "connector" if unit.is_connector else "task"
        reason = (
            f"The process that ran this {what} has died {past.total} times within {_seconds(now - past.first)}, the last "
            f"{_VERDICT[0]} times while it ran nothing else, for an unknown reason: perhaps the system killed it for lack of "
            "memory, or native code ended it. It stays down until it is restarted or gets another config. The executor's "
            "standard error and the system's log may say more; tasks.isolation=dedicated with tasks.memory.max limits the "
            "memory that a task may take."
        )
        self._verdicts[unit] = Verdict(reason, self._config_offset(unit))
        return f"{unit} has failed: {reason}"

    def _members(self, group: int) -> list[UnitId]:
        return sorted(unit for unit, group_of_unit in self._group_of.items() if group_of_unit == group)


def _is_explained(before: Held, after: Held) -> bool:
    """Whether the next process of a host knows which unit has ended the one before."""
    return any(before.blamed.get(unit) != blame for unit, blame in after.blamed.items())


def _parts(units: list[UnitId]) -> list[list[UnitId]]:
    """Divide units into parts as even as possible. Tasks of one connector stay together: they often do the same harm."""
    count = min(_PARTS, len(units))
    ends = [len(units) * part // count for part in range(count + 1)]
    return [units[begin:end] for begin, end in itertools.pairwise(ends)]


def _named(units: list[UnitId]) -> str:
    shown = ", ".join(map(str, units[:5]))
    return shown if len(units) <= 5 else f"{shown} and {len(units) - 5} more"


def _seconds(milliseconds: int) -> str:
    return f"{max(1, round(milliseconds / 1000))} s"
