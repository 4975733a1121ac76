"""
SparkSinkTask: the task of a lake whose tables Spark commits to.

Started by `connector.py`. Read next: `connectors/lake/task.py`, which does the work, and `lake.py`.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from kconnect.api import ConnectError, RetriableError, TopicPartition
from kconnect.connectors import interrupts
from kconnect.connectors.common import Patience
from kconnect.connectors.interrupts import Waiter
from kconnect.connectors.lake import settings as lake_settings
from kconnect.connectors.lake.narrowing import Narrowing
from kconnect.connectors.lake.settings import Names
from kconnect.connectors.lake.task import LakeSinkTask
from kconnect.connectors.spark import application, settings
from kconnect.connectors.spark.application import Answer, SparkFault
from kconnect.connectors.spark.lake import Rounds, SparkLake

log = logging.getLogger(__name__)

_LONGEST_S, _LOOK_S = 60.0, 1.0
_TOLD_MS = 1000
_MOST_STALE = 20
_STALE = f"{_MOST_STALE} times in a row it had other columns or offsets than when its rows were made"
"""Once is as it should be, where another task has written. So often, nothing would ever be committed, in silence."""
_FULL_S = 10.0
"""Less than what a consumer may be silent for."""


class Rest(NamedTuple):
    """Until when a table is left alone, since it could not be written to, and the partitions that are not read meanwhile."""

    until: float
    places: tuple[TopicPartition, ...]


class SparkSinkTask(LakeSinkTask):
    worker_settings = (*LakeSinkTask.worker_settings, application.PYTHON, application.SETTINGS)
    shares = False
    commits_aside = True

    def __init__(self) -> None:
        super().__init__()
        self._waiter = Waiter()
        self._rests: dict[str, Rest] = {}
        self._patiences: dict[str, Patience] = {}
        """Those of tables that could not be written to, and have not been since."""
        self._chores: dict[str, tuple[float, Future[Answer] | None]] = {}
        """When tables are to be tidied up next, and what came of the last time."""
        self._failure: RetriableError | None = None
        """Why a table was left alone in the commit that is under way."""
        self._stale: Counter[str] = Counter()
        """How many times in a row a table was not what rows were made for, when they were to be committed."""
        self._paused: set[TopicPartition] = set()
        """Partitions that wait for records of theirs to be looked for that a table refuses."""

    def parsed(self, props: dict[str, str]) -> tuple[Names, Mapping[str, Any]]:
        self._props, self._config = props, settings.CONFIG.parse(props)
        return settings.NAMES, self._config

    def made_lake(self) -> SparkLake:
        self._spark = application.of(self.worker)
        self._longest_s = self._config[settings.PATIENCE] / 1000
        return SparkLake(self._config, self._props, self.worker, self._spark.ask, self._answer)

    def _answer(self, answer: Future[Answer]) -> Answer:
        """Return an answer. SparkFault if the application fails, or the task is to stop."""
        while not self._waiter.wait(answer, _LOOK_S):
            if self._waiter.ended:
                raise SparkFault("the task is to stop", passes=True)
            self._spark.end_if_silent(self._longest_s, settings.PATIENCE)
        return answer.result()

    def commit_aside(self, name: str) -> bool:
        lake = self._lake
        assert isinstance(lake, SparkLake)
        now = time.monotonic()
        if name in self._rests:
            # It ends where its partitions are resumed, and nowhere else.
            return False
        commits = lake.rounds[name].commits
        try:
            moves = self._pending.commit_aside(name, lake.target(name, self._ids.of), now)
        except SparkFault as error:
            # A table that has taken rows takes others: what one commit alone fails for, over and over, is in that.
            if error.blames or (error.perhaps and lake.rounds[name].rows):
                return self._narrow(name, error)
            if error.forbids and self._is_fault_of_choice(name):
                return self._give_back(name, error)
            return self._leave_alone(name, error)
        if lake.rounds[name].commits != commits:
            self._patiences.pop(name, None)
            self._stale.pop(name, None)
            self._tell(name, lake.rounds[name])
            self._maintain(name, lake, now)
            if name in self._narrowings:
                self._narrowings[name].succeed()
                if self._narrowings[name].is_over:
                    del self._narrowings[name]
        elif moves:
            self._stale[name] += 1
            if self._stale[name] > _MOST_STALE:
                return self._leave_alone(name, SparkFault(_STALE, passes=True))
        return moves

    def _tell(self, name: str, rounds: Rounds) -> None:
        for what, value in vars(rounds).items():
            self.context.metric(f"lake_{what}", round(value, 3), {"table": name})
        self.context.metric("lake_commit_timestamp_seconds", round(time.time(), 3), {"table": name})

    def _narrow(self, name: str, error: SparkFault) -> bool:
        """Have a table's records come again, fewer at a time, since it refuses some of them."""
        refused = self._pending.staged(name)
        narrowing = self._narrowings.setdefault(name, Narrowing(refused))
        count = narrowing.refuse(refused, str(error))
        log.warning("The table %s refuses at least one of %d records, which is looked for: %s", name, count, error)
        return self._pending.begin_again(list(self._pending.places(name)))

    def _maintain(self, name: str, lake: SparkLake, now: float) -> None:
        """Have a table tidied up that gets rows, if it is time, beside all else. It is for others to see if that fails."""
        interval_s = self._config[settings.MAINTENANCE] / 1000
        due, last = self._chores.get(name, (now + interval_s, None))
        if interval_s and now >= due and (last is None or last.done()):
            last = lake.maintain(name, self._config[settings.KEPT])
            due = now + interval_s
        if interval_s:
            self._chores[name] = due, last

    def _leave_alone(self, name: str, error: SparkFault) -> bool:
        """
        Have a table's records come again later; the others go on. If that was tried too often, those of a table that records
        have named are bad ones; ConnectError for another.
        """
        patience = self._patiences.setdefault(
            name, Patience(lake_settings.RETRIES, self._config[lake_settings.RETRIES], self._config[lake_settings.BACKOFF])
        )
        text = f"The table {name} can't be used: {error}"
        try:
            self._failure, pause_ms = patience.failed(text)
        except ConnectError:
            if not self._is_fault_of_choice(name):
                raise
            del self._patiences[name]
            return self._give_back(name, error)
        pause_s = min(pause_ms / 1000 * 2 ** (patience.failures - 1), max(_LONGEST_S, pause_ms / 1000))
        log.warning("%s. Its records are read again in %.0f s; other tables go on", text, pause_s)
        places = tuple(self._pending.places(name))
        moves = self._pending.begin_again(places)
        self.context.pause(*places)
        self._rests[name] = Rest(time.monotonic() + pause_s, places)
        return moves

    def _commit(self) -> bool:
        for name, rest in list(self._rests.items()):
            if time.monotonic() >= rest.until:
                del self._rests[name]
                waiting = {place for other in self._rests.values() for place in other.places}
                self.context.resume(*(place for place in rest.places if place in self._assigned and place not in waiting))
        self._failure = None
        if self._is_reached:
            self._spark.end_if_silent(self._longest_s, settings.PATIENCE)
        moves = super()._commit()
        if self._narrowings or self._paused or self._pending.held:
            moves |= self._look_for_bad()
        if self._pending.is_full and isinstance(self._lake, SparkLake) and self._lake.flights:
            # Records come faster than Spark commits them: there is no room for more.
            self._waiter.wait_for_any((flight.answer for flight in self._lake.flights.values()), _FULL_S)
        if self._rests:
            self._due_at = min(self._due_at, *(rest.until for rest in self._rests.values()))
        if self._failure is not None:
            # So that the task's status has the reason, for a moment. The put is made again, and goes on with the other tables.
            self.context.timeout(_TOLD_MS)
            raise self._failure
        return moves

    def _look_for_bad(self) -> bool:
        """Go on where tables refuse records, and wait for that a little; return whether some are read again."""
        lake = self._lake
        assert isinstance(lake, SparkLake)
        flights = [lake.flights[name].answer for name in self._narrowings if name in lake.flights]
        if flights:
            self._waiter.wait_for_any(flights, _FULL_S)
        self._due_at = 0.0
        moves = bool(self._pending.go_on())
        # Of these nothing more is gathered, for other tables neither: else there were always something that is in no table.
        held = self._pending.held
        resting = {place for rest in self._rests.values() for place in rest.places}
        self.context.pause(*(held - self._paused))
        self.context.resume(*((self._paused - held - resting) & self._assigned))
        self._paused = held
        return moves

    def interrupt(self) -> None:
        # What can be committed soon need not be read again.
        interrupts.after_grace(self._waiter.end)
