"""
Many connectors on three workers: create all, kill one worker, add it back, while REST is asked all the time.

Each connector is a verifiable source with one task, so that the check at the end sees by what really ran whether a task was
lost, ran twice at a time, or left a gap. Tells how long each step took, the percentiles of REST, and
the violations: any is a failure.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from kconnect.core.state.records import Topic
from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage
from tests.rig.benches.stage import wait
from tests.rig.systems import history, recorder, verifiable
from tests.rig.systems.rounds import Topics

GROUP, DATA = "capacity", "capacity-data"


class Prober:
    """Asks live workers in turn, twenty times a second; `live` changes as workers come and go."""

    def __init__(self, connectors: int) -> None:
        self.live: list[WorkerProcess] = []
        self.seconds: dict[str, list[float]] = {}
        self.failed: list[str] = []
        self._connectors = connectors
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(30)

    def _run(self) -> None:
        clients: dict[str, ConnectClient] = {}
        for number in itertools.count():
            if self._ended.wait(0.05):
                return
            worker = self.live[number % len(self.live)]
            if worker.url not in clients:
                clients[worker.url] = ConnectClient(worker.url)
            client = clients[worker.url]
            name = f"c-{number % self._connectors}"
            asked: list[tuple[str, Callable[[], Any]]] = [
                ("GET connectors", client.connectors),
                ("GET status", partial(client.status, name)),
                ("GET connector", partial(client.connector, name)),
                ("GET cluster", client.cluster),
            ]
            what, ask = asked[number // 3 % len(asked)]
            began = time.monotonic()
            try:
                ask()
            except RestError as error:
                if error.status != 404 and worker in self.live:
                    self.failed.append(f"{what}: {error}")
                    continue
            self.seconds.setdefault(what, []).append(time.monotonic() - began)


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--connectors", type=int, default=300)
    options = parser.parse_args()
    found = results.Results("capacity", options.json)
    with stage.opened("capacity") as on:
        Topics(on.servers).create(DATA, {"message.timestamp.type": "LogAppendTime"})
        plugins = str(verifiable.write_plugin(on.directory / "plugins"))
        properties = {"plugin.path": plugins, "offset.flush.interval.ms": "10000"}
        workers = [WorkerProcess(on.directory / str(n), on.servers, GROUP, properties=properties) for n in range(3)]
        try:
            add = partial(found.add, f"{options.connectors} connectors", results.KCONNECT)
            violations = measure(on, workers, options.connectors, add)
        finally:
            for worker in workers:
                worker.stop()
    found.show()
    if violations:
        raise SystemExit("\n".join(violations[:10]))


def measure(on: stage.Stage, workers: list[WorkerProcess], count: int, add: Callable[..., None]) -> list[str]:
    """What is wrong with the records."""
    for worker in workers:
        worker.start(wait=False)
    for worker in workers:
        worker.wait_healthy()
    prober = Prober(count)
    prober.live = list(workers)
    wait(lambda: all(each["hosts"] for each in workers[0].client.cluster()["workers"]))
    prober.start()

    config = {"connector.class": verifiable.SOURCE_CLASS, "directory": str(on.directory), "topic": DATA, "rate": "1"}
    began, creates = time.monotonic(), []
    for number in range(count):
        asked = time.monotonic()
        workers[number % 3].client.create(f"c-{number}", config)
        creates.append(time.monotonic() - asked)
    add("created", "s", time.monotonic() - began)
    wait(lambda: all_run(workers, count))
    add("all RUNNING", "s", time.monotonic() - began)

    victim = workers[2]
    prober.live = workers[:2]
    began = time.monotonic()
    os.kill(victim.pid, signal.SIGKILL)
    wait(lambda: all_run(workers[:2], count))
    add("all RUNNING on two, after a kill", "s", time.monotonic() - began)
    victim.stop()
    began = time.monotonic()
    victim.start()
    prober.live = list(workers)
    wait(lambda: all_run(workers, count) and balanced(workers))
    add("balanced on three, after its return", "s", time.monotonic() - began)
    prober.end()
    for name in workers[0].client.connectors():
        workers[0].client.delete(name)
    wait(lambda: not any(host["tasks"] for each in workers[0].client.cluster()["workers"] for host in each["hosts"]))

    reads = list(itertools.chain.from_iterable(prober.seconds.values()))
    for what, seconds in (("reads", reads), ("POST connectors", creates)):
        for share in (50, 99):
            add(f"{what}, p{share}", "ms", results.percentile(seconds, share) * 1000)
    add("reads that failed", "", len(prober.failed))
    internal = {Topic.OFFSET: f"{GROUP}-offsets", Topic.ASSIGNMENT: f"{GROUP}-configs-assignments"}
    found = history.check(recorder.collect(on.servers, on.directory, internal, [DATA], []))
    units = {event.unit for event in recorder.Tail(on.directory / verifiable.JOURNAL).read()}
    add("tasks that worked", "", len(units))
    add("violations", "", len(found.violations))
    return [str(violation) for violation in found.violations]


def all_run(workers: list[WorkerProcess], count: int) -> bool:
    live = {worker.url.split("://")[1].rstrip("/") for worker in workers}
    units = [
        unit
        for entry in workers[0].client.connectors("status").values()
        for unit in (entry["status"]["connector"], *entry["status"]["tasks"])
    ]
    return len(units) == 2 * count and all(u["state"] == "RUNNING" and u["worker_id"] in live for u in units)


def balanced(workers: list[WorkerProcess]) -> bool:
    view = workers[0].client.cluster()
    loads = [each["connectors"] + each["tasks"] for each in view["workers"] if each["url"]]
    return len(loads) == len(workers) and max(loads) - min(loads) <= 1 and not view["moving"]


if __name__ == "__main__":
    main()
