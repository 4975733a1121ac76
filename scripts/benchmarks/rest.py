"""
The dashboard's question over many connectors, `GET /connectors?expand=status&expand=info`: kconnect beside Connect 4.3.1.

Both workers are up at once, each with the same connectors on topics of its own, and are asked in turn. What counts is the ratio
of the two in one run. Paused connectors by default, so that nothing else goes on; `--state RUNNING` has them all run.
"""

from __future__ import annotations

import time
from pathlib import Path

import httpx

from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage

QUESTIONS = ("connectors?expand=status&expand=info", "connectors?expand=status", "connectors", "connectors/c-0/status")
CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--connectors", type=int, default=1000)
    parser.add_argument("--reads", type=int, default=300, help="of each question, of each worker")
    parser.add_argument("--state", choices=("RUNNING", "PAUSED", "STOPPED"), default="PAUSED")
    options = parser.parse_args()
    found = results.Results("rest", options.json)
    with stage.opened("rest") as on:
        workers = on.both()
        for side, worker in workers.items():
            began = time.monotonic()
            fill(worker, options.connectors, options.state, on.directory)
            created = f"{options.connectors} connectors, {options.state}"
            found.add(created, side, "created, and all so", "s", time.monotonic() - began)
        for question in QUESTIONS:
            compare(workers, question, options.reads, found)
    found.show()


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
            states = [found[name]["status"]["connector"]["state"] for name in found if name.startswith("c-")]
            return states.count(state) == count

        stage.wait(all_are, 300, 0.25)


def compare(workers: dict[str, WorkerProcess], question: str, reads: int, found: results.Results) -> None:
    clients = {side: httpx.Client(base_url=worker.url, timeout=90) for side, worker in workers.items()}
    took: dict[str, list[float]] = {side: [] for side in workers}
    for number in range(reads + 20):
        for side, client in clients.items():
            began = time.perf_counter()
            client.get(question).raise_for_status()
            if number >= 20:  # Both may get warm first.
                took[side].append((time.perf_counter() - began) * 1000)
    for side, times in took.items():
        for share in (50, 99):
            found.add(f"GET /{question}", side, f"p{share}", "ms", results.percentile(times, share))
    for client in clients.values():
        client.close()


if __name__ == "__main__":
    main()
