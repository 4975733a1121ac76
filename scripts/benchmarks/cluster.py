"""
A cluster of workers that lose and gain members: how long until everything runs again, and how much moves.

Three workers run idle file sources. Each round kills the leader, kills a follower, asks one to end, and adds a fourth worker.
The time is from the signal until every connector and task is RUNNING on a live worker; for the fourth, from its start
until no two workers differ by more than one unit and nothing moves.
"""

from __future__ import annotations

import itertools
import os
import signal
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.records import Topic
from kconnect.kafka.log import LogReader
from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results
from tests.rig.benches.stage import wait

GROUP = "cluster"
MOVED = "one more connector"


class Cluster:
    def __init__(self, directory: Path, workers: int, properties: dict[str, str]) -> None:
        self.broker = Broker(directory / "broker")
        self.broker.start()
        servers = self.broker.bootstrap_servers
        self.workers = [WorkerProcess(directory / str(n), servers, GROUP, properties=properties) for n in range(workers)]
        self.up: list[WorkerProcess] = []
        self.file = directory / "empty.txt"
        self.file.touch()
        self.units = 0

    def start(self, *workers: WorkerProcess) -> None:
        for worker in workers:
            worker.start(wait=False)
        for worker in workers:
            worker.wait_healthy()
            self.up.append(worker)

    def create(self, count: int) -> None:
        for number in range(count):
            config = {"connector.class": "FileStreamSource", "file": str(self.file), "topic": "idle"}
            self.up[number % len(self.up)].client.create(f"idle-{self.units // 2}", config)
            self.units += 2

    def view(self) -> Any:
        return self.up[0].client.cluster()

    def leader(self) -> WorkerProcess:
        name = wait(lambda: self.view()["leader"])
        return next(worker for worker in self.up if worker_id(worker) == name)

    def all_run(self) -> bool:
        """Every unit says RUNNING, and says so on a worker that was not ended."""
        live = {worker_id(worker) for worker in self.up}
        units = [
            unit
            for entry in self.up[0].client.connectors("status").values()
            for unit in (entry["status"]["connector"], *entry["status"]["tasks"])
        ]
        return len(units) == self.units and all(u["state"] == "RUNNING" and u["worker_id"] in live for u in units)

    def balanced(self) -> bool:
        view = self.view()
        loads = [worker["connectors"] + worker["tasks"] for worker in view["workers"] if worker["url"]]
        return len(loads) == len(self.up) and max(loads) - min(loads) <= 1 and not view["moving"] and self.all_run()

    def assignments(self) -> dict[Any, str]:
        """Who is to run what, as the topic says."""
        client = {"bootstrap.servers": self.broker.bootstrap_servers}
        reader, state = LogReader(client, {Topic.ASSIGNMENT: f"{GROUP}-configs-assignments"}), AssignmentState()
        while not reader.at_end:
            for record in reader.read(0.2):
                state.apply(record)
        reader.close()
        return {unit: worker for worker, known in state.assignments.items() for unit in known.units or ()}

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()
        self.broker.stop()


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connectors", type=int, default=12)
    parser.add_argument("--session-ms", type=int, default=10_000, help="session.timeout.ms; heartbeats are a third of it")
    parser.add_argument("--many", type=int, default=200, help="connectors there are when one more is added; 0: skip")
    options = parser.parse_args()
    session = {
        "session.timeout.ms": str(options.session_ms),
        "heartbeat.interval.ms": str(min(3000, options.session_ms // 3)),
    }
    with tempfile.TemporaryDirectory(prefix="kconnect-cluster-") as name:
        cluster = Cluster(Path(name), 4, session)
        try:
            figures = measure(cluster, options.rounds, options.connectors)
            if options.many:
                figures[MOVED] = one_more(cluster, options.many)
        finally:
            cluster.stop()
    made = results.Results("cluster", options.json)
    for what, found in figures.items():
        many = what == MOVED
        measure_of = "units moved" if many else "until all is well"
        made.add(what, results.KCONNECT, measure_of, "" if many else "s", *found)
    made.show()


def measure(cluster: Cluster, rounds: int, connectors: int) -> dict[str, list[float]]:
    first, fourth = cluster.workers[:3], cluster.workers[3]
    cluster.start(*first)
    cluster.create(connectors)
    wait(cluster.balanced)
    figures: dict[str, list[float]] = {}

    def timed(what: str, begin: Callable[[], None], done: Callable[[], bool]) -> None:
        began = time.monotonic()
        begin()
        wait(done)
        figures.setdefault(what, []).append(time.monotonic() - began)

    def end(worker: WorkerProcess, number: int) -> None:
        cluster.up.remove(worker)
        os.kill(worker.pid, number)

    def back(worker: WorkerProcess) -> None:
        worker.stop()
        cluster.start(worker)
        wait(cluster.balanced)

    ways = (("kill -9 of the", signal.SIGKILL), ("SIGTERM of the", signal.SIGTERM))
    for _ in range(rounds):
        for (what, number), leads in itertools.product(ways, (True, False)):
            leader = cluster.leader()
            victim = leader if leads else next(worker for worker in cluster.up if worker is not leader)
            who = "leader" if leads else "follower"
            timed(f"{what} {who}", partial(end, victim, number), cluster.all_run)
            back(victim)
        timed("a fourth worker started", lambda: cluster.start(fourth), cluster.balanced)
        end(fourth, signal.SIGTERM)
        fourth.stop()
        wait(cluster.balanced)
    return figures


def one_more(cluster: Cluster, many: int) -> list[float]:
    """How many units of others change their worker when a connector is added, five times."""
    cluster.create(many - cluster.units // 2)
    wait(cluster.balanced, 300)
    moved = []
    for _ in range(5):
        before = cluster.assignments()
        cluster.create(1)
        wait(cluster.balanced)
        after = cluster.assignments()
        moved.append(float(sum(after.get(unit) != worker for unit, worker in before.items())))
    return moved


def worker_id(worker: WorkerProcess) -> str:
    return worker.url.split("://")[1].rstrip("/")


if __name__ == "__main__":
    main()
