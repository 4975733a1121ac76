"""
Plays faults on the rig, one after the other: the control before it, the fault, the healing, and all checks after it.

Held by `chaos.py` for `scripts/chaos --machines`. The same seed gives the
same faults on the same machines. Read next: `faults/table.py` for what a fault is, `evidence.py` for what is checked.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from kconnect.rest.client import RestError
from tests.rig.machines import ADDRESSES, BROKERS, WORKERS, mirror, quiet, tables, workload
from tests.rig.machines.brokers import PASSWORDS, PORT, WORKER
from tests.rig.machines.cluster import Rig
from tests.rig.machines.evidence import Evidence, Row, watchers
from tests.rig.machines.faults.scene import Scene
from tests.rig.machines.faults.table import Fault
from tests.rig.machines.spark import SECRET
from tests.rig.machines.tables import Tables
from tests.rig.machines.trial import USUAL, Trial
from tests.rig.machines.watch import running_everywhere
from tests.rig.machines.workers import TOKEN
from tests.rig.machines.workload import UNITS
from tests.rig.systems import history
from tests.rig.systems.history import Violation

CONTROL_S, _REST_S = 20.0, 5.0
QUIET_S = 1.0
"""A fault before which a task was silent for longer proves little."""
_HEAL_S, _START_S = 240.0, 300.0
_DELIVER_S = 60.0
_LOOK_S = 0.5
_NEEDLES = {"the workers' password": PASSWORDS[WORKER], "Spark's secret": SECRET, "a token of REST": TOKEN}
"""What no frame between two machines may show."""


class Play:
    """
    `start` it, `strike` as often as wanted, `finish` it. `rows` say what each fault cost, `violations` what must never happen.
    They are also written to `rows.jsonl` in the rig's directory.
    """

    def __init__(self, directory: Path, seed: int, life_line: int, report: Callable[[str], None], trial: Trial = USUAL) -> None:
        self.rig = Rig(directory, life_line, trial)
        self.seed, self.random = seed, random.Random(seed)
        self.rows: list[Row] = []
        self.violations: list[Violation] = []
        self._tables: Tables | None = None
        self._report, self._began = report, time.monotonic()

    def start(self) -> None:
        """Bring everything up, and wait until all tasks run."""
        self.say(f"{self.rig.trial}; seed {self.seed}; everything is in {self.rig.directory}")
        self.rig.up(self._prepare, self.say)
        self._reads, self._writes, self._commits = watchers(self.rig, self.seed)
        self.evidence = Evidence(self.rig, self._reads, self._writes, self._commits)
        with self.rig.workers.client(WORKERS[0], 95.0) as client:
            workload.create_connectors(client, self.rig)
            if self.rig.trial.has_tables:
                self._tables = Tables(self.seed)
                self._tables.begin(client)
                self._tables.start()
        for watcher in (*self._reads, self._commits):
            watcher.start()
        ails = self._wait_whole(_START_S)
        self._writes.start()
        self.say("all tasks run" if ails is None else f"after {_START_S:.0f} s: {ails}")
        if ails is not None:
            self.violations.append(Violation("not-started", "the cluster", ails))

    def control(self) -> Row:
        """Do nothing for a while: what is silent now is silent without a fault."""
        round_trip = quiet.round_trip_ms(ADDRESSES[BROKERS[0]], PORT)
        began, steal = time.monotonic(), quiet.Steal()
        time.sleep(CONTROL_S)
        row = self.evidence.row("control", began, time.monotonic(), 0.0, set())
        row.control = max(row.silences.values())
        row.notes += [f"a connection takes {round_trip:.1f} ms", steal.told()]
        return self._keep(row)

    def strike(self, fault: Fault) -> Row:
        """Play one fault, and wait until the cluster is whole again; if it does not become so by itself, restart all tasks."""
        self._wait_whole(_HEAL_S)
        rest = time.monotonic()
        time.sleep(_REST_S)
        control = self.evidence.silence(rest, time.monotonic())
        self.say(f"{fault.name}: {fault.does}; {fault.heals}")
        scene = Scene(self.rig, self.random, self.say)
        began, steal = time.monotonic(), quiet.Steal()
        broken = self._play(fault, scene)
        healed = time.monotonic()
        self.rig.switch.heal()
        revived = self.rig.revive()
        self._writes.away = set()
        ails = self._wait_whole(_HEAL_S)
        ended = time.monotonic()
        row = self.evidence.row(fault.name, began, ended, None if ails else ended - healed, scene.hit)
        row.control = control
        row.notes += [f"{what} was down after the fault" for what in revived]
        row.notes.append(steal.told())
        if broken:
            self._add(row, [Violation("not-played", fault.name, broken)])
        if ails:
            self._add(row, [Violation("not-healed", fault.name, f"after {_HEAL_S:.0f} s: {ails}")])
            self._mend()
        return self._keep(row)

    def finish(self) -> None:
        """End the writes; check that the config that was acknowledged last has won, and that no secret crossed the network."""
        self._writes.end()
        self._wait_whole(_HEAL_S)
        for watcher in (*self._reads, self._commits):
            watcher.end()
        self.violations += self._writes.check()
        if self._tables is not None:
            self.violations += self._tables.finish()
        trial = self.rig.trial
        if trial.in_java:
            self.violations += mirror.violations(workload.SUNK, self.rig.brokers.client(), trial.exactly_once)
        for (number, sender, receiver), count in sorted(self.rig.switch.hits().items()):
            evidence = f"{count} frames from {sender} to {receiver}"
            self.violations.append(Violation("in-clear", list(_NEEDLES)[number], evidence))

    def verdict(self) -> str:
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.evidence.counts.items()))
        lines = [counts, *(f"VIOLATION {violation}" for violation in self.violations)]
        return "\n".join([*lines, f"{len(self.rows)} rows, {len(self.violations)} violations, seed {self.seed}"])

    def say(self, text: str) -> None:
        self._report(f"[{time.monotonic() - self._began:7.1f} s] {text}")

    # --- steps ---

    def _prepare(self, rig: Rig) -> None:
        for text in _NEEDLES.values():
            rig.switch.add_needle(text.encode())
        workload.create_topics(rig)

    def _play(self, fault: Fault, scene: Scene) -> str | None:
        """Play a fault's acts. Return why it could not be played to its end, if so."""
        try:
            for seconds in fault.play(scene):
                self._writes.away = set(scene.away)
                time.sleep(seconds)
        except Exception as error:  # noqa: BLE001 - it is the rig's own mistake; the others are played nevertheless
            return f"{type(error).__name__}: {error}"
        return None

    def _keep(self, row: Row) -> Row:
        """Check everything, report a row, and write it down."""
        self._add(row, self._check(row))
        if row.control > QUIET_S:
            row.notes.append(f"the machine is too busy: a task was silent for {row.control} s without any fault")
        self.rows.append(row)
        self.say(row.line())
        with (self.rig.directory / "rows.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(row)) + "\n")
        return row

    def _check(self, row: Row) -> list[Violation]:
        """Return what must not have happened. What sinks have not yet got may still come for a while."""
        until = time.monotonic()
        while True:
            violations = self.evidence.violations(row, until)
            unsettled = [violation for violation in violations if violation.name in history.UNSETTLED]
            if not unsettled or time.monotonic() > until + _DELIVER_S:
                return violations
            time.sleep(1.0)

    def _add(self, row: Row, violations: list[Violation]) -> None:
        known = {(violation.name, violation.subject) for violation in self.violations}
        for violation in violations:
            if (violation.name, violation.subject) not in known:
                self.violations.append(violation)
                row.violations.append(str(violation))
                self.say(f"VIOLATION {violation}")

    def _wait_whole(self, seconds: float) -> str | None:
        """Wait until every task has worked after this call and all workers say so. Return what ails, if anything."""
        since = time.monotonic()
        while True:
            ails = self._ails(since)
            if ails is None or time.monotonic() > since + seconds:
                return ails
            time.sleep(_LOOK_S)

    def _ails(self, since: float) -> str | None:
        last = self.evidence.last_work()
        idle = [unit for unit in UNITS if last.get(unit, 0.0) <= since]
        if idle:
            return f"no work of {', '.join(idle)}"
        units = (*UNITS, *(tables.UNITS if self._tables else ()), *(mirror.UNITS if self.rig.trial.in_java else ()))
        return running_everywhere(self._reads, since, units)

    def _mend(self) -> None:
        """Do what an operator would: restart what is FAILED, so that the next fault meets a whole cluster."""
        with self.rig.workers.client(WORKERS[0], 95.0) as client:
            names = [*workload.TASKS]
            names += [tables.SOURCE, tables.SINK] if self._tables else []
            names += [mirror.NAME] if self.rig.trial.in_java else []
            for name in names:
                # A cluster that is not whole may refuse; what did not restart stays for the table.
                with contextlib.suppress(RestError):
                    client.restart(name, include_tasks=True)
        ails = self._wait_whole(_HEAL_S)
        self.say(f"restarted all by hand: {'whole again' if ails is None else ails}")
