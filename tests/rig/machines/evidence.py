"""
What is known of a run on the rig: the journals of its tasks, what watchers saw, and the topics; by fault, and as a whole.

`Evidence.row` says what a fault cost, `Evidence.violations` what must never happen and did: the checkers are those of
`tests/rig/systems/history.py`. Held by `play.py`. Read next: `measures.py`.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.rig.machines import WORKERS, measures
from tests.rig.machines.brokers import SERVERS
from tests.rig.machines.cluster import Rig
from tests.rig.machines.watch import Commits, Reads, Writes
from tests.rig.machines.workers import INTERNAL
from tests.rig.machines.workload import CHURN, SUNK, UNITS
from tests.rig.systems import history, recorder, verifiable
from tests.rig.systems.history import Event, History, Violation
from tests.rig.systems.recorder import Tail

_LAG_S = 3.0
"""Stamps that belong to a window may come a little after its end."""


@dataclass
class Row:
    """What a fault cost, in seconds. `whole` is None if the cluster did not become whole by itself."""

    fault: str
    began: float
    ended: float
    whole: float | None
    control: float = 0.0
    """The longest silence of any task in the seconds before the fault; a row counts if it is short."""
    silences: dict[str, float] = field(default_factory=dict)
    """The longest time without a call of each task."""
    recordless: dict[str, float] = field(default_factory=dict)
    """The longest time without a new record of each source task, or delivered by each sink task."""
    reads: float = 0.0
    """For how long no worker answered reads."""
    bystanders: float = 0.0
    """The longest time for which a worker that the fault left alone failed to answer reads."""
    writes: float = 0.0
    lies: dict[str, float] = field(default_factory=dict)
    """For how long each task was silent while all statuses said RUNNING and all of `/health` was 200."""
    failed: dict[str, str] = field(default_factory=dict)
    """The tasks that were FAILED, with the reason."""
    violations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the row of the table for people."""
        whole = "never" if self.whole is None else f"{self.whole:.0f} s"
        truth = _most(self.lies, "true")
        failed = f", FAILED: {', '.join(sorted(self.failed))}" if self.failed else ""
        broken = f", {len(self.violations)} VIOLATIONS" if self.violations else ""
        return (
            f"{self.fault}: silent {_most(self.silences, 'never')} (control {self.control:.1f} s; records "
            f"{_most(self.recordless, 'never')}), REST reads "
            f"{self.reads:.1f} s (bystanders {self.bystanders:.1f} s), writes {self.writes:.1f} s, statuses {truth}, "
            f"whole after {whole}{failed}{broken}"
        )


def _most(seconds: dict[str, float], none: str) -> str:
    unit = max(seconds, key=lambda unit: seconds[unit], default=None)
    return none if unit is None or not seconds[unit] else f"{seconds[unit]:.1f} s {unit}"


class Evidence:
    def __init__(self, rig: Rig, reads: list[Reads], writes: Writes, commits: Commits) -> None:
        self._rig, self._reads, self._writes, self._commits = rig, reads, writes, commits
        self._tail = Tail(rig.data / verifiable.JOURNAL)
        self._events: list[Event] = []
        self._epoch = time.time() - time.monotonic()
        self.counts: Counter[str] = Counter()

    def last_work(self) -> dict[str, float]:
        """Return when each task worked last: a source task when it was called, a sink task when it got records."""
        self._events += self._tail.read()
        works = [event for event in self._events if event.records or not event.unit.startswith("sink-")]
        return {unit: stamps[-1] for unit, stamps in measures.by_unit((event.unit, event.at) for event in works).items()}

    def silence(self, began: float, ended: float) -> float:
        """Return the longest time between `began` and `ended` for which any task was not called."""
        stamps = self._stamps()
        return round(max(measures.silence(stamps.get(unit, []), began, ended) for unit in UNITS), 1)

    def _stamps(self) -> dict[str, list[float]]:
        self._events += self._tail.read()
        return measures.by_unit((event.unit, event.at) for event in self._events if event.kind in ("started", "work"))

    def row(self, fault: str, began: float, ended: float, whole: float | None, away: set[str]) -> Row:
        """Return what a fault cost between `began` and `ended`; `away` are the workers that it hit."""
        row = Row(fault, began, ended, whole)
        stamps = self._stamps()
        looks = [look for watcher in self._reads for look in list(watcher.looks)]
        for unit in UNITS:
            of_unit = stamps.get(unit, [])
            row.silences[unit] = round(measures.silence(of_unit, began, ended), 1)
            lie = round(measures.lies(looks, of_unit, unit, began, ended), 1)
            if lie:
                row.lies[unit] = lie
        row.reads = round(measures.silent_together([look.at for look in looks], began, ended), 1)
        bystanders = [watcher for watcher in self._reads if watcher.worker not in away]
        row.bystanders = round(max((measures.outage(list(b.attempts), began, ended) for b in bystanders), default=0.0), 1)
        row.writes = round(measures.outage(list(self._writes.attempts), began, ended), 1)
        row.failed = {unit: why for watcher in self._reads for at, unit, why in list(watcher.failed) if began <= at <= ended}
        row.notes += [error for at, error in list(self._writes.errors) if began <= at <= ended]
        return row

    def violations(self, row: Row, until: float) -> list[Violation]:
        """Return all that must not have happened so far, and complete `row` by what the topics say."""
        collected = self._history(self._wall_ms(until))
        findings = history.check(collected)
        self.counts = findings.counts
        records = measures.by_unit((record.unit, record.ms / 1000 - self._epoch) for record in collected.emitted)
        records.update(measures.by_unit((delivered.unit, delivered.at) for delivered in collected.delivered))
        for unit in UNITS:
            silence = round(measures.silence(records.get(unit, []), row.began, row.ended - _LAG_S), 1)
            row.recordless[unit] = min(silence, row.recordless.get(unit, silence))
        return findings.violations

    def _history(self, until_ms: int) -> History:
        # Before what was delivered: a commit that comes while this reads covers what it has not read.
        commits = list(self._commits.seen)
        collected = recorder.collect(
            *(SERVERS, self._rig.data, INTERNAL, [*SUNK, CHURN], list(SUNK)),
            *(self._rig.trial.exactly_once, self._rig.brokers.client()),
        )
        collected.committed, collected.until_ms = commits, until_ms
        # A fault may have moved the clock of a machine; the monotonic one is the same everywhere.
        collected.events = [dataclasses.replace(event, ms=self._wall_ms(event.at)) for event in collected.events]
        return collected

    def _wall_ms(self, at: float) -> int:
        return int((at + self._epoch) * 1000)


def watchers(rig: Rig, seed: int) -> tuple[list[Reads], Writes, Commits]:
    """Return those who watch a rig; none of them has been started."""
    return [Reads(rig, worker) for worker in WORKERS], Writes(rig, seed), Commits(rig)
