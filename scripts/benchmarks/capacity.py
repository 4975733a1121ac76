"""
Many connectors on three workers: create all, kill one worker, add it back, while REST is asked all the time.

Each connector is a verifiable source with one task, so that the check at the end sees by what really ran whether a task was
lost, ran twice at a time, or left a gap. Prints how long each step took, the percentiles of REST, and the violations.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.state.records import Topic
from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems import history, recorder, verifiable

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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--connectors", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kconnect-capacity-") as name:
        directory = Path(name)
        broker = Broker(directory / "broker")
        broker.start()
        workers: list[WorkerProcess] = []
        try:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
            admin.create_topics([NewTopic(DATA, 1, 1, config={"message.timestamp.type": "LogAppendTime"})])[DATA].result()
            plugins = str(verifiable.write_plugin(directory / "plugins"))
            properties = {"plugin.path": plugins, "offset.flush.interval.ms": "10000"}
            servers = broker.bootstrap_servers
            workers = [WorkerProcess(directory / str(n), servers, GROUP, properties=properties) for n in range(3)]
            measure(broker, workers, directory, options.connectors)
        finally:
            for worker in workers:
                worker.stop()
            broker.stop()


def measure(broker: Broker, workers: list[WorkerProcess], directory: Path, count: int) -> None:
    for worker in workers:
        worker.start(wait=False)
    for worker in workers:
        worker.wait_healthy()
    prober = Prober(count)
    prober.live = list(workers)
    wait(lambda: all(each["hosts"] for each in workers[0].client.cluster()["workers"]))
    prober.start()

    config = {"connector.class": verifiable.SOURCE_CLASS, "directory": str(directory), "topic": DATA, "rate": "1"}
    began, creates = time.monotonic(), []
    for number in range(count):
        asked = time.monotonic()
        workers[number % 3].client.create(f"c-{number}", config)
        creates.append(time.monotonic() - asked)
    print(f"created {count} connectors in {time.monotonic() - began:.1f} s", flush=True)
    wait(lambda: all_run(workers, count))
    print(f"all RUNNING after {time.monotonic() - began:.1f} s", flush=True)

    victim = workers[2]
    prober.live = workers[:2]
    began = time.monotonic()
    os.kill(victim.pid, signal.SIGKILL)
    wait(lambda: all_run(workers[:2], count))
    print(f"one worker killed: all RUNNING on two after {time.monotonic() - began:.1f} s", flush=True)
    victim.stop()
    began = time.monotonic()
    victim.start()
    prober.live = list(workers)
    wait(lambda: all_run(workers, count) and balanced(workers))
    print(f"it is back: balanced on three, all RUNNING after {time.monotonic() - began:.1f} s", flush=True)
    prober.end()
    for name in workers[0].client.connectors():
        workers[0].client.delete(name)
    wait(lambda: not any(host["tasks"] for each in workers[0].client.cluster()["workers"] for host in each["hosts"]))

    reads = sorted(itertools.chain.from_iterable(prober.seconds.values()))
    for what, seconds in [*sorted(prober.seconds.items()), ("all reads", reads), ("POST connectors", creates)]:
        print(f"{what:16} {len(seconds):5} requests, {percentiles(seconds)}")
    print(f"reads that failed: {len(prober.failed)} {prober.failed[:3]}")
    internal = {Topic.OFFSET: f"{GROUP}-offsets", Topic.ASSIGNMENT: f"{GROUP}-configs-assignments"}
    found = history.check(recorder.collect(broker.bootstrap_servers, directory, internal, [DATA], []))
    units = {event.unit for event in recorder.Tail(directory / verifiable.JOURNAL).read()}
    print(f"tasks that worked: {len(units)} of {count}; {dict(found.counts)}")
    print(f"violations: {len(found.violations)}", *found.violations[:10], sep="\n  ")


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


def percentiles(seconds: list[float]) -> str:
    cuts = statistics.quantiles(seconds, n=100) if len(seconds) > 1 else seconds * 99
    return f"median {cuts[49] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms, most {max(seconds) * 1000:.0f} ms"


def wait(condition: Callable[[], Any], timeout: float = 180) -> None:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            if condition():
                return
        except RestError:
            pass  # A worker that has just been killed, or is not up yet.
        time.sleep(0.25)
    raise SystemExit(f"not reached within {timeout:.0f} s")


if __name__ == "__main__":
    main()
