"""
The same cluster with other work: Debezium's source of PostgreSQL captures tables that change all the time.

`scripts/chaos --debezium` runs it. PostgreSQL is hurt by nobody, so what the topics must have is known, and
`systems/captured.py` says what they lack. Called by `__main__.py`. Read next: `tests/rig/systems/captured.py`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import psutil
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.rest.client import ConnectClient
from tests.rig.cdc import pipeline
from tests.rig.chaos.cluster import ChaosCluster, Member
from tests.rig.chaos.run import ChaosRun
from tests.rig.systems import captured, recorder
from tests.rig.systems.captured import Ledger, Reader
from tests.rig.systems.history import Findings, Violation
from tests.rig.systems.postgres import Postgres
from tests.rig.systems.watcher import Watcher
from tests.support import wait_until

TABLES = ("orders", "parcels")
_PARTITIONS = 3
_SNAPSHOT = 40
_SNAPSHOT_S = 240.0


class Arrivals(Watcher):
    """Follows a topic, and knows of which time the latest change is that arrived."""

    def __init__(self, bootstrap_servers: str, ledger: Ledger, name: str) -> None:
        super().__init__(f"arrivals in {name}", 0.0)
        self._ledger, self._reader = ledger, Reader()
        settings = {"bootstrap.servers": bootstrap_servers, "group.id": "kconnect-arrivals", "log_level": 0}
        once = {"isolation.level": "read_committed", "enable.auto.commit": False, "auto.offset.reset": "error"}
        self._consumer = ck.Consumer({**settings, **once})
        self._consumer.assign([ck.TopicPartition(name, number, 0) for number in range(_PARTITIONS)])
        self.count = 0
        self.latest = 0.0

    def have_snapshot(self) -> bool:
        return self.count >= _SNAPSHOT

    def look(self) -> None:
        message = self._consumer.poll(0.5)
        if message is not None and message.error() is None:
            self.count += 1
            change = self._reader.read(message.key(), message.value())[1]
            self.latest = max(self.latest, self._ledger.began.get(change, 0.0))


class CaptureCluster(ChaosCluster):
    names = tuple(f"capture-{table}" for table in TABLES)
    units = tuple(f"{name}-0" for name in names)
    changing = ()

    def __init__(self, *arguments: Any, seed: int, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._seed = seed
        self.server = Postgres()
        self.ledgers: dict[str, Ledger] = {}
        self._arrivals: dict[str, Arrivals] = {}
        self.at_rest = False

    def plugins(self) -> Path:
        return pipeline.plugin_path()

    def start(self) -> None:
        self.server.start()
        self.server.execute(f"create database {pipeline.FROM}")
        for number, table in enumerate(TABLES):
            self.ledgers[table] = Ledger(self.server, pipeline.FROM, table, self._seed + number)
            self.ledgers[table].fill(_SNAPSHOT)
        super().start()

    def connect(self, admin: AdminClient, client: ConnectClient) -> None:
        for created in admin.create_topics(
            [NewTopic(captured.topic(table, table), _PARTITIONS, 1) for table in TABLES]
        ).values():
            created.result(120)
        plain = {f"{part}.converter.schemas.enable": "false" for part in ("key", "value")}
        once = {"exactly.once.support": "required"} if self.exactly_once else {}
        for name, table in zip(self.names, TABLES):
            client.create(name, captured.source(self.server, table, table, **plain, **once))
            self._arrivals[table] = arrivals = Arrivals(
                self.broker.bootstrap_servers, self.ledgers[table], captured.topic(table, table)
            )
            arrivals.start()
        # Changes begin after the snapshot, which has only the last one of each row. So do kills: a source that is killed in it
        # takes another one, exactly-once or not.
        for table, arrivals in self._arrivals.items():
            wait_until(arrivals.have_snapshot, _SNAPSHOT_S, f"the snapshot of {table} did not arrive")
            self.ledgers[table].start()

    def rest(self) -> None:
        """No more changes."""
        for ledger in self.ledgers.values():
            ledger.end()
        self.at_rest = True

    def stop(self) -> list[str]:
        self.rest()
        for arrivals in self._arrivals.values():
            arrivals.end()
        try:
            return super().stop()
        finally:
            self.server.stop()

    def worked(self) -> dict[str, float]:
        """A source works when it brings a change; the time is that of the change."""
        return {unit: arrivals.latest for unit, arrivals in zip(self.units, self._arrivals.values())}

    def hosts(self, member: Member) -> list[psutil.Process]:
        """Those with a JVM."""
        return [host for host in super().hosts(member) if "libjvm" in Path(f"/proc/{host.pid}/maps").read_text()]


class CaptureRun(ChaosRun):
    cluster: CaptureCluster

    def make(self, directory: Path, workers: int, exactly_once: bool, session_s: float) -> CaptureCluster:
        return CaptureCluster(directory, workers, exactly_once, session_s, seed=self.seed)

    def findings(self, until_ms: int) -> Findings:
        counts: Counter[str] = Counter()
        violations: list[Violation] = []
        for table, ledger in self.cluster.ledgers.items():
            # Of what is written while the topic is read nobody knows.
            at_rest = self.cluster.at_rest
            reader = Reader()
            messages = recorder.read(self.cluster.broker.bootstrap_servers, captured.topic(table, table))
            found = [reader.read(message.key(), message.value()) for message in messages]
            wanted = {key: list(changes) for key, changes in ledger.changes.copy().items()}
            violations += captured.check(table, wanted, found, counts, self.cluster.exactly_once, at_rest)
        return Findings(violations, counts)
