"""
A chaos run: fault after fault on one cluster, each with its control before, its healing after it, and all checks.

`scripts/chaos` runs the mix for some minutes; the tests strike one fault at a time. The same seed gives the same faults at
the same random delays; what they meet there is as new as the machine's timing.
Read next: `tests/rig/systems/history.py`.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

from kconnect.rest.client import RestError
from tests.rig.chaos.cluster import CHURN, INTERNAL, SESSION_S, SINK, SUNK, ChaosCluster, Member
from tests.rig.chaos.faults import Fault
from tests.rig.chaos.watch import Commits, Reads, Writes
from tests.rig.systems import history, recorder
from tests.rig.systems.history import Findings, Violation
from tests.rig.systems.watcher import Watcher

_HEAL_S = 240.0
_BUSY_S = 30.0
_DELIVER_S = 120.0
_LOOK_S = 0.2
_LIE_S = 60.0
"""
A machine whose disk is busy may hold all of the cluster, the broker and the journals up for a quarter of that. Two workers
whose Spark was killed took 43 s to have it again, on two cores beside three other files of tests.
"""


class ChaosRun:
    """
    Strikes faults at a cluster and keeps the violations. `start` it, `strike` as often as wanted, `finish` it.

    `recoveries` are the seconds from each blow until everything ran again, by the name of the fault.
    """

    def __init__(
        self,
        directory: Path,
        seed: int,
        tell: Callable[[str], None] = print,
        workers: int = 3,
        exactly_once: bool = False,
        session_s: float = SESSION_S,
        protocol: str = "classic",
    ) -> None:
        self._protocol = protocol
        self.seed = seed
        self.random = random.Random(seed)
        self.cluster = self.make(directory, workers, exactly_once, session_s)
        self.violations: list[Violation] = []
        self.recoveries: list[tuple[str, float]] = []
        self.counts: Counter[str] = Counter()
        self.kills: Counter[str] = Counter()
        """By the kind of process, as `faults.KILLS` names it."""
        self._tell = tell
        self._began = time.monotonic()
        self._struck: float | None = None
        """When the fault that is under way said for the first time what it does."""
        self._reads = [Reads(member) for member in self.cluster.members]
        self._writes = Writes(self.cluster, seed) if self.cluster.changing else None
        self._commits: Commits | None = None

    def make(self, directory: Path, workers: int, exactly_once: bool, session_s: float) -> ChaosCluster:
        return ChaosCluster(directory, workers, exactly_once, session_s, self._protocol)

    def start(self) -> None:
        self.say(f"seed {self.seed}; everything is in {self.cluster.directory}")
        self.cluster.start()
        self.wait_whole("the first start")
        if SINK in self.cluster.names:
            self._commits = Commits(self.cluster.broker.bootstrap_servers)
        for watcher in self._watchers():
            watcher.start()

    def _watchers(self) -> list[Watcher]:
        return [*self._reads, *filter(None, (self._writes, self._commits))]

    def strike(self, name: str, fault: Fault) -> list[Violation]:
        """Wait until data flows, strike at a random moment, wait for the healing, check. Gives what is new."""
        known = len(self.violations)
        label = f"{name} {fault.__name__.replace('_', ' ')}"
        # The control: without it a fault would prove nothing.
        self.wait_whole(f"{label}: the control")
        self.pause(0.0, 2.0)
        self.say(label)
        self._struck = None
        fault(self)
        if self.wait_whole("everything runs again") and self._struck is not None:
            self.recoveries.append((name, time.monotonic() - self._struck))
        self._struck = None
        self.check()
        return self.violations[known:]

    def finish(self) -> None:
        """The last checks, with nothing in motion any more; ends the cluster."""
        known = len(self.violations)
        if self._writes is not None:
            self._writes.end()
        self.wait_whole("the end", also_churn=True)
        if self._writes is not None:
            self._add(self._writes.check())
        for watcher in self._watchers():
            watcher.end()
        self.cluster.rest()
        self.check()
        for left in self.cluster.stop():
            self.violation("outlived", "the cluster", f"{left} lives on after the end")
        self.say(f"the end: {len(self.violations) - known} more violations")

    def abort(self) -> None:
        """End the cluster as it is."""
        for watcher in self._watchers():
            watcher.end(0)
        self.cluster.stop()

    def report(self) -> str:
        reads = [seconds for watcher in self._reads for seconds in watcher.seconds]
        lines = [
            f"{', '.join(f'{count} {what}' for what, count in sorted(self.counts.items()))}",
            f"REST reads: {len(reads)}, {_percentiles(reads)}",
        ]
        if (writes := self._writes) is not None:
            refused = f"{writes.refused} refused or unanswered"
            lines.append(f"REST writes: {len(writes.seconds)}, {refused}, {_percentiles(writes.seconds)}")
        for name in dict.fromkeys(name for name, _ in self.recoveries):
            seconds = [seconds for each, seconds in self.recoveries if each == name]
            lines.append(
                f"{name}: whole again {len(seconds)} times, median {statistics.median(seconds):.1f} s, "
                f"longest {max(seconds):.1f} s after the blow"
            )
        if self.kills:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kills.items()))
            lines.append(f"{self.kills.total()} kills: {kinds}")
        lines += [f"VIOLATION {violation}" for violation in self.violations]
        lines.append(f"{len(self.violations)} violations, seed {self.seed}")
        return "\n".join(lines)

    # --- what faults use ---

    def say(self, text: str) -> None:
        self._tell(f"[{time.monotonic() - self._began:7.1f} s] {text}")

    def blow(self, text: str, killed: str | None = None) -> None:
        """
        Say what is done, and begin to count the time that the healing takes, unless it has begun. `killed`: a kind of process.
        """
        self.say(f"  {text}")
        if killed is not None:
            self.kills[killed] += 1
        self._struck = self._struck or time.monotonic()

    def _since_blow(self) -> str:
        return "" if self._struck is None else f" {time.monotonic() - self._struck:.1f} s after the blow"

    def pause(self, least: float, most: float) -> None:
        time.sleep(self.random.uniform(least, most))

    def leader(self) -> Member:
        self._wait(self.cluster.leader)
        return self.cluster.leader() or self.cluster.live()[0]

    def victim(self, but: Member | None = None) -> Member:
        """A worker that tasks run on: to hurt one that does nothing would prove little."""
        # The one to spare may have all there is.
        self._wait(lambda: [member for member in self.cluster.busy() if member is not but], _BUSY_S)
        found = [member for member in self.cluster.busy() if member is not but]
        return self.random.choice(found or [member for member in self.cluster.live() if member is not but])

    def violation(self, name: str, subject: str, evidence: str) -> None:
        self._add([Violation(name, subject, evidence)])

    def wait_whole(self, what: str, also_churn: bool = False) -> bool:
        """Until every task runs on a live worker and has worked after this call; else a violation, with what ails."""
        since = time.monotonic()
        ails: str | None = None
        while time.monotonic() - since < _HEAL_S:
            self._revive()
            ails = self.cluster.ails(since, also_churn)
            if ails is None:
                self.say(f"{what}{self._since_blow()}")
                return True
            time.sleep(_LOOK_S)
        self.violation("not-healed", what, f"after {_HEAL_S:.0f} s: {ails}")
        return False

    def _revive(self) -> None:
        """No fault is a reason for a worker to end; the run goes on with it nevertheless."""
        for member in self.cluster.live():
            if not member.worker.running:
                self.violation("worker-exited", str(member), member.worker.last_words())
                member.start()

    def wait_sees(self, member: Member) -> None:
        """Until a worker that was cut off says the same as the others."""
        others = [other for other in self.cluster.live() if other is not member]

        def agrees() -> bool:
            try:
                said = []
                for each in (member, *others[:1]):
                    cluster = each.asked.cluster()
                    said.append((cluster["leader"], cluster["generation"]))
            except RestError:
                return False
            return said[0][0] is not None and said[0] == said[-1]

        self._wait(agrees)
        member.sees = True

    def wait_worked(self, units: Collection[str]) -> None:
        """Until one of these tasks, which the changes of configs bring and take away, has worked at any time."""
        if not self._wait(lambda: self.cluster.worked().keys() & units):
            self.violation("not-healed", ", ".join(units), f"none has worked, for {_HEAL_S:.0f} s")

    def wait_written(self, what: str) -> None:
        """Until a write that began after this call has been acknowledged."""
        writes = self._writes
        assert writes is not None, "this cluster has nothing to write"
        before = writes.tried
        if self._wait(lambda: writes.acknowledged > before + 1):
            self.say(f"{what}{self._since_blow()}")
        else:
            self.violation("not-healed", what, f"no write was acknowledged for {_HEAL_S:.0f} s")

    def _wait(self, condition: Callable[[], object], seconds: float = _HEAL_S) -> bool:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK_S)
        return True

    # --- checks ---

    def check(self) -> None:
        """All checkers over all that has happened; what the sinks have not got yet may still come for a while."""
        until_ms, end = int(time.time() * 1000), time.monotonic() + _DELIVER_S
        known = {(violation.name, violation.subject) for violation in self.violations}
        while True:
            findings = self.findings(until_ms)
            new = {each.name for each in findings.violations if (each.name, each.subject) not in known}
            if time.monotonic() > end or not new & history.UNSETTLED:
                break
            time.sleep(0.5)
        self.counts = findings.counts
        self._add(findings.violations)
        self._add([violation for reads in self._reads for violation in reads.violations])
        self._add(self._writes.violations if self._writes is not None else [])

    def findings(self, until_ms: int) -> Findings:
        """What the cluster has done so far; records of later than `until_ms` may be missing."""
        return history.check(self._history(until_ms), max(_LIE_S, 3 * self.cluster.session_s))

    def _history(self, until_ms: int) -> history.History:
        commits = list(self._commits.seen) if self._commits else []
        sightings = [sighting for reads in self._reads for sighting in list(reads.sightings)]
        servers, directory = self.cluster.broker.bootstrap_servers, self.cluster.directory
        sunk = list(SUNK.values())
        collected = recorder.collect(servers, directory, INTERNAL, [*sunk, CHURN], sunk, self.cluster.exactly_once)
        collected.committed, collected.sightings = commits, sightings
        collected.outages, collected.until_ms = list(self.cluster.outages), until_ms
        return collected

    def _add(self, found: list[Violation]) -> None:
        for violation in found:
            if violation not in self.violations:
                self.violations.append(violation)
                self.say(f"VIOLATION {violation}")


def _percentiles(seconds: list[float]) -> str:
    if len(seconds) < 2:
        return "too few for percentiles"
    cuts = statistics.quantiles(seconds, n=100)
    return f"p50 {cuts[49] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms, longest {max(seconds) * 1000:.0f} ms"
