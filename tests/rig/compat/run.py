"""
Has the workers take turns, and plays the rows in them.

kconnect, an old version, kconnect, the next version, and so on, on one group and its topics, one worker at a time. In each of
kconnect's turns the rows of the version before end, and then those of the next one begin. Read next: `rows/`, `table.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.compat import logs
from tests.rig.compat.row import Case, Failed, Steps, Suite, Turn, Until, Version, Wait
from tests.rig.compat.rows import PLAIN
from tests.rig.compat.topics import Topics
from tests.rig.systems.connect import ConnectProcess

VERSIONS = ("2.8.2", "3.4.1", "3.5.2", "4.3.1")

_SETTINGS = {
    **{"session.timeout.ms": "30000", "heartbeat.interval.ms": "1000", "offset.flush.interval.ms": "1000"},
    # What is late says so in the log, in which nothing may be wrong, and what it had not stored comes again.
    **{"task.shutdown.graceful.timeout.ms": "20000", "offset.flush.timeout.ms": "20000"},
}
_LIMIT_S = 300.0
_HEALTHY_S = 180.0
_LOOK_S = 0.1


@dataclass
class Outcome:
    """Of one row with one version; `failure` is None if all held, `skipped` says why it can't be played."""

    row: str
    version: str
    notes: list[str] = field(default_factory=list)
    failure: str | None = None
    skipped: str = ""


@dataclass
class _Played:
    """A row under way, and what it waits for; nothing once it has ended."""

    case: Case
    outcome: Outcome
    steps: Steps
    waits: Until | Wait | None = None
    since: float = 0.0

    def resume(self) -> None:
        try:
            self.waits = next(self.steps)
        except StopIteration:
            self.waits = None
        except (Failed, RestError, OSError, TimeoutError) as error:
            self._fail(str(error))
        self.since = time.monotonic()

    def look(self) -> bool:
        """Whether it waits for a condition; if that holds, it goes on first."""
        if not isinstance(self.waits, Until):
            return False
        try:
            if self.waits.condition():
                self.resume()
            elif time.monotonic() > self.since + _LIMIT_S:
                self._fail(f"not within {_LIMIT_S:.0f} s: {self.waits.what}; last seen: {self.case.last_seen()}")
        except Failed as failed:
            self._fail(str(failed))
        except RestError as error:
            if error.status not in (404, 409, 500, 503):
                self._fail(f"{self.waits.what}: {error}")
        return isinstance(self.waits, Until)

    def _fail(self, reason: str) -> None:
        version = self.case.turn.version
        where = "kconnect" if version is None else ".".join(map(str, version))
        self.outcome.failure = f"in the turn of {where}: {reason}"
        self.waits = None


class CompatRun:
    """
    One run; `play` gives the outcomes, by row and version in the order of the table. One that is not `thorough` leaves out
    what takes long.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        directory: Path,
        group: str = "compat",
        suite: Suite = PLAIN,
        say: Callable[[str], None] = lambda _: None,
        thorough: bool = True,
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._directory = directory
        self._group = group
        self._suite = suite
        self._rows = [row for row in suite.rows if thorough or not row.long]
        self._say = say
        self._thorough = thorough
        self._played: list[_Played] = []
        self._settings = {**_SETTINGS, **suite.properties}
        self._ours = WorkerProcess(directory / group, bootstrap_servers, group, properties=self._settings)
        self._worker: WorkerProcess = self._ours

    def play(self, versions: Sequence[str] = VERSIONS) -> list[Outcome]:
        """ConnectError if a worker does not start."""
        outcomes: list[Outcome] = []
        playable = [version for version in versions if any(_parsed(version) >= row.since for row in self._rows)]
        for version in versions:
            if version not in playable:
                log = Outcome(self._suite.log, version, skipped=self._rows[0].before)
                outcomes += [*(Outcome(row.title, version, skipped=row.before) for row in self._rows), log]
        if playable:
            with Topics(self._bootstrap_servers, self._group) as topics:
                turn = self._begin(self._ours, None)
                for version in playable:
                    outcomes += self._prepare(version, topics, turn)
                    log = Outcome(self._suite.log, version)
                    outcomes.append(log)
                    self._until_next("begun")
                    self._end(turn, log)
                    turn = self._begin(self._theirs(version), _parsed(version))
                    self._until_next(f"played by {version}")
                    self._end(turn, log)
                    turn = self._begin(self._ours, None)
                    self._until_next("ended")
                    self._tidy(turn)
                self._end(turn, log)
        return outcomes

    def stop(self) -> None:
        """Ends what still runs of a run that was interrupted."""
        self._worker.stop()

    def _theirs(self, version: str) -> ConnectProcess:
        directory = self._directory / f"{self._group}-{version}"
        return ConnectProcess(directory, self._bootstrap_servers, self._group, properties=self._settings, version=version)

    # --- turns ---

    def _begin(self, worker: WorkerProcess, version: Version | None) -> Turn:
        self._worker = worker
        self._since = worker.log.stat().st_size if worker.log.exists() else 0
        worker.start(wait=False)
        worker.wait_healthy(_HEALTHY_S)
        turn = Turn(worker.client, version, f"127.0.0.1:{worker.port}")
        for played in self._played:
            played.case.turn = turn
            if played.waits is Wait.NEXT:
                played.resume()
        return turn

    def _end(self, turn: Turn, log: Outcome) -> None:
        worker = self._worker
        status = worker.stop(90)
        # Java says so of a signal that it was ended by.
        if status not in (0, 143):
            log.failure = log.failure or f"{_name(turn)} ended with {status}: {worker.last_line()}"
        why, unexpected = logs.explained(worker.log, self._since, turn.version)
        log.notes += [each for each in why if each not in log.notes]
        for line in unexpected:
            self._say(f"  {_name(turn)} logs: {line}")
            log.failure = log.failure or f"{_name(turn)} logs: {line}"
        for played in self._played:
            if played.waits is Wait.GAP:
                played.resume()

    # --- rows ---

    def _prepare(self, version: str, topics: Topics, turn: Turn) -> list[Outcome]:
        directory = self._directory / f"{self._group}-files" / version
        directory.mkdir(parents=True)
        outcomes = []
        self._played = []
        for number, row in enumerate(self._rows):
            outcome = Outcome(row.title, version)
            outcomes.append(outcome)
            if _parsed(version) < row.since:
                outcome.skipped = row.before
                continue
            name = f"{self._group}-{version}-{number}"
            case = Case(name, _parsed(version), directory, topics, turn, self._thorough, outcome.notes)
            played = _Played(case, outcome, row.steps(case))
            self._played.append(played)
            played.resume()
        return outcomes

    def _until_next(self, what: str) -> None:
        """Play on until nobody has anything more to do in this turn."""
        began = time.monotonic()
        while True:
            for played in self._played[:1]:
                played.case.topics.poll()
                played.case.turn.look()
            waiting = [played.look() for played in self._played]
            if not any(waiting):
                quiet = [played for played in self._played if played.waits is Wait.QUIET]
                if not quiet:
                    break
                for played in quiet:
                    played.resume()
            time.sleep(_LOOK_S)
        failed = [played.outcome for played in self._played if played.outcome.failure]
        self._say(f"{what} in {time.monotonic() - began:.0f} s; {len(self._played)} rows, {len(failed)} failed so far")
        for outcome in failed:
            self._say(f"  ✗ {outcome.row}: {outcome.failure}")

    def _tidy(self, turn: Turn) -> None:
        """The next version has connectors of its own; those of this one have left enough behind."""
        for name in turn.client.connectors():
            turn.client.delete(name)


def _parsed(version: str) -> Version:
    return tuple(map(int, version.split(".")))


def _name(turn: Turn) -> str:
    return "kconnect" if turn.version is None else ".".join(map(str, turn.version))
