"""
Whether this worker's Spark rests: it ends where nobody in the cluster has had anything to run for a while.

A worker without connectors would else keep a JVM and its hosts, some 300 MB, and the cores of a Spark cluster. Held by
`placing.py`, whose placement then has no hosts and says so: the leader gives such a worker nothing. Once there is a connector
to run, Spark starts on all of them, and whoever is up first is given it. Read next: `worker/driver.py`.
"""

from __future__ import annotations

from kconnect.core.herder.desk import Desk
from kconnect.core.state.records import TargetState


class SparkRest:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._read: tuple[int, bool] = (-1, True)
        """Up to where the config topic was read for this answer: whether a connector is to run."""
        self._unneeded_since: int | None = None
        self._is_away = False
        self.rests = False
        """Whether it rests, or is about to: once its hosts have ended."""

    def look(self) -> bool | None:
        """Return whether Spark is to run from now on, if that has changed: else None."""
        desk = self._desk
        if self._is_needed():
            self._unneeded_since, self.rests = None, False
        elif self._unneeded_since is None:
            self._unneeded_since = desk.now
        elif desk.has_had_spark and desk.now - self._unneeded_since >= desk.identity.spark_rests_after_ms:
            self.rests = True
        if self.rests == self._is_away or (self.rests and desk.log.assignment.hosts_of(desk.me)) or desk.leaving:
            return None
        self._is_away = self.rests
        return not self._is_away

    def _is_needed(self) -> bool:
        desk = self._desk
        if desk.identity.spark_rests_after_ms < 0 or desk.leaving:
            return True
        config = desk.log.config
        if self._read[0] != config.offset:
            to_run = any(config.target_state(connector) is not TargetState.STOPPED for connector in config.connectors)
            self._read = config.offset, to_run
        return self._read[1] or any(record.units for record in desk.log.assignment.hosts_of(desk.me))
