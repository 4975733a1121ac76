"""
The dashboard's question over many connectors, `GET /connectors?expand=status&expand=info`: kconnect beside Connect 4.3.1.

Both workers are up at once, each with the same connectors on topics of its own, and are asked in turn. What counts is the ratio
of the two in one run. Paused connectors by default, so that nothing else goes on; `--state RUNNING` has them all run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import httpx
from capacity import wait

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems.connect import ConnectProcess

QUESTIONS = ("connectors?expand=status&expand=info", "connectors?expand=status", "connectors", "connectors/c-0/status")
CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--connectors", type=int, default=1000)
    parser.add_argument("--reads", type=int, default=300, help="of each question, of each worker")
    parser.add_argument("--state", choices=("RUNNING", "PAUSED", "STOPPED"), default="PAUSED")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kconnect-rest-") as name:
        directory = Path(name)
        broker = Broker(directory / "broker")
        broker.start()
        workers = {
            "kconnect": WorkerProcess(directory, broker.bootstrap_servers, "kconnect"),
            "Connect": ConnectProcess(directory, broker.bootstrap_servers, "connect"),
        }
        try:
            for title, worker in workers.items():
                worker.start()
                began = time.monotonic()
                fill(worker, options.connectors, options.state, directory)
                print(f"{title}: {options.connectors} connectors are {options.state} after {time.monotonic() - began:.1f} s")
            for question in QUESTIONS:
                compare(workers, question, options.reads)
        finally:
            for worker in workers.values():
                worker.stop()
            broker.stop()


def fill(worker: WorkerProcess, count: int, state: str, directory: Path) -> None:
    file = directory / "empty.txt"
    file.touch()
    with httpx.Client(base_url=worker.url, timeout=90) as client:
        for number in range(count):
            config = {"connector.class": CLASS, "tasks.max": "1", "file": str(file), "topic": "idle"}
            body = {"name": f"c-{number}", "config": config, "initial_state": state}
            client.post("connectors", json=body).raise_for_status()

        def all_are() -> bool:
            found = client.get("connectors?expand=status").json()
            states = [entry["status"]["connector"]["state"] for entry in found.values()]
            return states.count(state) == count

        wait(all_are, 300)


def compare(workers: dict[str, WorkerProcess], question: str, reads: int) -> None:
    clients = {title: httpx.Client(base_url=worker.url, timeout=90) for title, worker in workers.items()}
    took: dict[str, list[float]] = {title: [] for title in workers}
    size = {}
    for number in range(reads + 20):
        for title, client in clients.items():
            began = time.perf_counter()
            answer = client.get(question)
            answer.raise_for_status()
            size[title] = len(answer.content)
            if number >= 20:  # Both may get warm first.
                took[title].append((time.perf_counter() - began) * 1000)
    print(f"GET /{question}")
    for title, times in took.items():
        p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
        print(f"  {title:<9} p50 {p50:7.1f} ms   p99 {p99:7.1f} ms   {size[title]:,} bytes")
    ours, theirs = (statistics.median(took[title]) for title in ("kconnect", "Connect"))
    print(f"  ratio of the medians {ours / theirs:.2f}")
    for client in clients.values():
        client.close()


if __name__ == "__main__":
    main()
