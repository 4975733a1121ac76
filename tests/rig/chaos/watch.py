"""
What is seen of the cluster from outside while it is hurt: REST on each worker, what the sink commits, and writes that go on.

Each watcher is a thread, started and ended by `run.py`, and keeps what it saw for the checkers in
`tests/rig/systems/history.py`. Read next: `run.py`.
"""

from __future__ import annotations

import random
import time

import confluent_kafka as ck

from kconnect.rest.client import RestError
from tests.rig.chaos.cluster import CHURN, SUNK, ChaosCluster, Member
from tests.rig.systems.history import Committed, Sighting, Violation
from tests.rig.systems.watcher import Watcher

READ_LIMIT_S = 5.0
_SPREAD_S = 60.0
"""For a config that was acknowledged to be read by every worker."""


class Reads(Watcher):
    """Asks one worker for all statuses: while it is up it must answer, whatever has happened to the broker or the leader."""

    def __init__(self, member: Member) -> None:
        super().__init__(f"reads of {member}", 0.25)
        self._member = member
        self._client = member.client(READ_LIMIT_S)
        self.seconds: list[float] = []
        self.sightings: list[Sighting] = []
        self.violations: list[Violation] = []

    def look(self) -> None:
        member, life = self._member, self._life()
        began = time.monotonic()
        try:
            found = self._client.connectors("status")
        except RestError as error:
            # It may have been killed or suspended while it was asked.
            if life is not None and self._life() == life:
                after = time.monotonic() - began
                name = "read-hung" if after >= READ_LIMIT_S else "read-failed"
                self.violations.append(Violation(name, str(member), f"after {after:.1f} s: {error}"))
            return
        now = time.monotonic()
        if life is None or self._life() != life:
            return
        self.seconds.append(now - began)
        if member.sees:
            for name, each in found.items():
                for task in each["status"]["tasks"]:
                    self.sightings.append(Sighting(now, str(member), f"{name}-{task['id']}", task["state"]))

    def _life(self) -> int | None:
        return self._member.worker.pid if self._member.up else None


class Commits(Watcher):
    """Asks the broker what the sinks' groups have committed; not by an admin client, for the reason in `kafka/admin.py`."""

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__("commits", 0.5)
        client = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self._groups = [(ck.Consumer({**client, "group.id": f"connect-{name}"}), topic) for name, topic in SUNK.items()]
        self.seen: list[Committed] = []

    def look(self) -> None:
        found: list[ck.TopicPartition] = []
        try:
            for consumer, topic in self._groups:
                partitions = consumer.list_topics(topic, timeout=5).topics[topic].partitions
                found += consumer.committed([ck.TopicPartition(topic, number) for number in partitions], timeout=5)
        except ck.KafkaException:
            return  # The broker is away: nothing was seen.
        now = time.monotonic()
        for each in found:
            if each.error is None and each.offset >= 0:
                self.seen.append(Committed(now, (each.topic, each.partition), each.offset))


class Writes(Watcher):
    """
    Changes the config of one connector through any live worker, one revision after the other.

    What was acknowledged must last; of what had no answer, or was refused in the middle of an election, nobody knows.
    """

    def __init__(self, cluster: ChaosCluster, seed: int) -> None:
        # What is exactly-once must get to commit something in between: a new set of tasks waits for the end of the old one.
        super().__init__("writes", 5.0 if cluster.exactly_once else 1.5)
        self._cluster = cluster
        self._random = random.Random(seed)
        self._clients = {member: member.client() for member in cluster.members}
        self.seconds: list[float] = []
        self.acknowledged, self.tried = 0, 0
        self.unknown: set[int] = set()
        self.refused = 0
        self.violations: list[Violation] = []

    def look(self) -> None:
        live = self._cluster.live()
        if not live:
            return
        member = self._random.choice(live)
        pid = member.worker.pid
        self.tried += 1
        began = time.monotonic()
        try:
            self._clients[member].put_config(CHURN, self._cluster.churn_config(self.tried))
        except RestError as error:
            self.unknown.add(self.tried)
            self.refused += 1
            after = time.monotonic() - began
            if after >= 95 and member.up and member.worker.pid == pid:
                self.violations.append(Violation("write-hung", str(member), f"after {after:.1f} s: {error}"))
            elif error.status is not None and error.status not in (409, 500, 502, 503, 504):
                self.violations.append(Violation("write-failed", str(member), f"{error.status}: {error}"))
            return
        self.seconds.append(time.monotonic() - began)
        # An earlier one without an answer may still be on its way to the leader.
        self.acknowledged = self.tried

    def check(self) -> list[Violation]:
        """To be called when the cluster is whole and this watcher has ended."""
        found = list(self.violations)
        for member in self._cluster.live():
            end = time.monotonic() + _SPREAD_S
            while True:
                revision = int(self._clients[member].get_config(CHURN)["revision"] or 0)
                if revision == self.acknowledged or revision in self.unknown or time.monotonic() > end:
                    break
                time.sleep(0.2)
            if revision != self.acknowledged and revision not in self.unknown:
                evidence = f"{member} has revision {revision}, but {self.acknowledged} was acknowledged last"
                found.append(Violation("lost-write", CHURN, evidence))
        return found
