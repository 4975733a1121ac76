"""
Many idle connectors on one worker: how long they take to create, what memory and CPU they cost when nothing flows.

Half are file sources whose file has no lines, half file sinks on an empty topic. kconnect first, then Kafka Connect 4.3.1 on
the same broker; `--side kconnect` measures only the one. kconnect's sinks rest after some minutes without a record: here after
`--rest-after` seconds, and both sides are measured when that is over; with -1 they never rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage
from tests.rig.systems.rounds import Topics

TOPIC = "idle"


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--connectors", type=int, default=200)
    parser.add_argument("--idle-seconds", type=float, default=30.0)
    parser.add_argument("--rest-after", type=float, default=20.0, help="the worker's sink.rest.after.ms, in seconds")
    parser.add_argument("--side", choices=results.SIDES, action="append", help="by default both")
    options = parser.parse_args()
    found = results.Results("density", options.json)
    with stage.opened("density") as on:
        Topics(on.servers).create(TOPIC)
        for side in options.side or results.SIDES:
            worker = on.worker(side, properties=resting(side, options.rest_after))
            add = partial(found.add, f"{options.connectors} idle connectors", side)
            settle_s = 5 + 2 * max(0.0, options.rest_after)
            measure(worker, on.directory / side, options.connectors, settle_s, options.idle_seconds, add)
            worker.stop()
    found.show()


def measure(
    worker: WorkerProcess, directory: Path, count: int, settle_s: float, idle_s: float, add: Callable[..., None]
) -> None:
    directory.mkdir(exist_ok=True)
    empty = directory / "empty.txt"
    empty.touch()
    # Spark takes some seconds to start: what is measured is a worker that is up.
    worker.client.create("first", sink(directory))
    worker.client.wait_for("first", "RUNNING", tasks=1, timeout=120)
    before = worker.memory()
    began = time.monotonic()
    for number in range(count):
        config = {"connector.class": "FileStreamSource", "file": str(empty), "topic": TOPIC} if number % 2 else sink(directory)
        worker.client.create(f"idle-{number}", {**config, "tasks.max": "1"})
    created = time.monotonic() - began
    while (running := count_running(worker)) < count + 1:
        if time.monotonic() - began > 300:
            raise SystemExit(f"only {running} of {count + 1} connectors run after 300 s; see {worker.log}")
        time.sleep(0.25)
    all_running = time.monotonic() - began
    time.sleep(settle_s)
    cpu, at = worker.cpu_seconds(), time.monotonic()
    time.sleep(idle_s)
    used = (worker.cpu_seconds() - cpu) / (time.monotonic() - at)
    memory = worker.memory()
    began = time.monotonic()
    for number in range(count):
        worker.client.delete(f"idle-{number}")
    while count_running(worker) > 1 or len(worker.client.connectors()) > 1:
        time.sleep(0.25)
    deleted = time.monotonic() - began
    add("created by REST", "s", created)
    add("all of them RUNNING", "s", all_running)
    add("memory", "MiB", memory / 2**20)
    add("memory a connector", "MiB", (memory - before) / count / 2**20)
    add("CPU, idle", "% of a core", used * 100)
    add("deleted, statuses gone", "s", deleted)


def resting(side: str, after_s: float) -> dict[str, str]:
    """A worker's properties."""
    return {"sink.rest.after.ms": str(round(after_s * 1000))} if side == results.KCONNECT else {}


def sink(directory: Path) -> dict[str, str]:
    return {"connector.class": "FileStreamSink", "file": str(directory / "sink.txt"), "topics": TOPIC}


def count_running(worker: WorkerProcess) -> int:
    """Connectors that run with at least one task, and all of whose tasks run."""
    found = worker.client.connectors("status").values()
    return sum(
        status["connector"]["state"] == "RUNNING"
        and bool(status["tasks"])
        and all(task["state"] == "RUNNING" for task in status["tasks"])
        for status in (entry["status"] for entry in found)
    )


if __name__ == "__main__":
    main()
