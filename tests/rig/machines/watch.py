"""
What is seen of the rig from the client's machine while faults are played: statuses, health, writes, and what sinks commit.

Each watcher is a thread with clients of its own, started and ended by `play.py`; what it saw is for `evidence.py`.
Read next: `evidence.py`.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator, Sequence

import confluent_kafka as ck

from kconnect.rest.client import ConnectClient, RestError
from tests.rig.machines import WORKERS
from tests.rig.machines.cluster import Rig
from tests.rig.machines.measures import Attempt, Look
from tests.rig.machines.workload import SUNK, churn
from tests.rig.systems.history import Committed, Violation
from tests.rig.systems.watcher import Watcher

_READ_S, _WRITE_S = 5.0, 20.0
"""How long a client waits for an answer: a person's patience, not the worker's limit."""
_SPREAD_S = 60.0
"""For a config that was acknowledged to be read by every worker."""


class Reads(Watcher):
    """Asks one worker for all statuses and for its health."""

    def __init__(self, rig: Rig, worker: str) -> None:
        super().__init__(f"reads of {worker}", 0.5)
        self.worker, self._client = worker, rig.workers.client(worker, _READ_S)
        self.attempts: list[Attempt] = []
        self.looks: list[Look] = []
        self.failed: list[tuple[float, str, str]] = []
        """When a task was FAILED by its status, with the first line of its trace."""

    def look(self) -> None:
        began = time.monotonic()
        try:
            statuses = self._client.connectors("status")
        except RestError:
            self.attempts.append(Attempt(began, time.monotonic(), False))
            return
        now = time.monotonic()
        self.attempts.append(Attempt(began, now, True))
        healthy = False
        with contextlib.suppress(RestError):
            healthy = self._client.health().get("status") == "healthy"
        running = set()
        for name, entry in statuses.items():
            for task in entry["status"]["tasks"]:
                unit = f"{name}-{task['id']}"
                if task["state"] == "RUNNING":
                    running.add(unit)
                elif task["state"] == "FAILED":
                    self.failed.append((now, unit, (task.get("trace") or "").splitlines()[0]))
        self.looks.append(Look(now, self.worker, frozenset(running), healthy, frozenset(self._retrying())))

    def _retrying(self) -> Iterator[str]:
        """Yield the tasks of which `describe`, the console and a metric say that they wait; Connect says it of none."""
        with contextlib.suppress(RestError):
            for name, entry in self._client.own().items():
                for task in entry.get("tasks", ()):
                    if task.get("retrying") is not None:
                        yield f"{name}-{task['id']}"


class Writes(Watcher):
    """
    Changes the config of the connector `churn` through any worker that is up, one revision after the other.

    What was acknowledged must last; of what had no answer, or was refused in the middle of an election, nobody knows.
    """

    def __init__(self, rig: Rig, seed: int) -> None:
        super().__init__("writes", 1.5)
        self._rig, self._random = rig, random.Random(seed)
        self._clients = {name: rig.workers.client(name, _WRITE_S) for name in WORKERS}
        self.away: set[str] = set()
        """The workers that a fault has taken away: no client would ask them."""
        self.attempts: list[Attempt] = []
        self.errors: list[tuple[float, str]] = []
        self.acknowledged, self.tried = 0, 0
        self.unknown: set[int] = set()

    def look(self) -> None:
        name = self._random.choice([name for name in WORKERS if name not in self.away] or list(WORKERS))
        self.tried += 1
        began = time.monotonic()
        try:
            self._clients[name].put_config("churn", churn(self._rig, self.tried))
        except RestError as error:
            self.unknown.add(self.tried)
            self.attempts.append(Attempt(began, time.monotonic(), False))
            self.errors.append((began, f"{name}: {error.status}: {error}"))
            return
        self.attempts.append(Attempt(began, time.monotonic(), True))
        # An earlier one without an answer may still be on its way to the leader.
        self.acknowledged = self.tried

    def check(self) -> list[Violation]:
        """Return a violation for each worker without the config that was acknowledged last, once writes have ended."""
        violations = []
        for name, client in self._clients.items():
            end = time.monotonic() + _SPREAD_S
            while (revision := _revision(client)) != self.acknowledged and revision not in self.unknown:
                if time.monotonic() > end:
                    evidence = f"{name} has revision {revision}, but {self.acknowledged} was acknowledged last"
                    violations.append(Violation("lost-write", "churn", evidence))
                    break
                time.sleep(0.2)
        return violations


def _revision(client: ConnectClient) -> int | None:
    try:
        return int(client.get_config("churn")["revision"] or 0)
    except RestError:
        return None


class Commits(Watcher):
    """Asks the brokers what the sink's group has committed."""

    def __init__(self, rig: Rig) -> None:
        super().__init__("commits", 1.0)
        self._consumer = ck.Consumer(rig.brokers.client(**{"group.id": "connect-sink"}))
        self.seen: list[Committed] = []

    def look(self) -> None:
        try:
            places = [
                ck.TopicPartition(topic, number)
                for topic in SUNK
                for number in self._consumer.list_topics(topic, timeout=5).topics[topic].partitions
            ]
            committed = self._consumer.committed(places, timeout=5)
        except (ck.KafkaException, KeyError):
            return  # The coordinator is away: nothing was seen.
        now = time.monotonic()
        for place in committed:
            if place.error is None and place.offset >= 0:
                self.seen.append(Committed(now, (place.topic, place.partition), place.offset))


def running_everywhere(reads: list[Reads], since: float, units: Sequence[str]) -> str | None:
    """Return which task is not RUNNING by a worker's last answer after `since`; None if all tasks are, by all workers."""
    for watcher in reads:
        look = watcher.looks[-1] if watcher.looks else None
        if look is None or look.at <= since:
            return f"{watcher.worker} gives no statuses"
        if not look.healthy:
            return f"{watcher.worker} is not healthy"
        missing = [unit for unit in units if unit not in look.running]
        if missing:
            return f"by {watcher.worker}, {', '.join(missing)} not RUNNING"
    return None
