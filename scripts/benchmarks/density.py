"""
Many idle connectors on one worker: how long they take to create, what memory and CPU they cost when nothing flows.

Half are file sources whose file has no lines, half file sinks on an empty topic. A line a figure goes to standard output.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess

TOPIC = "idle"
USUAL = {"offset.flush.interval.ms": "60000"}
"""Connect's default; tests have a shorter one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--connectors", type=int, default=200)
    parser.add_argument("--idle-seconds", type=float, default=30.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kconnect-density-") as name:
        directory = Path(name)
        broker = Broker(directory / "broker")
        broker.start()
        try:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
            admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result()
            worker = WorkerProcess(directory, broker.bootstrap_servers, "density", properties=USUAL)
            try:
                worker.start()
                measure(worker, directory, options.connectors, options.idle_seconds)
            finally:
                worker.stop()
        finally:
            broker.stop()


def measure(worker: WorkerProcess, directory: Path, count: int, idle_seconds: float) -> None:
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
    time.sleep(5)
    cpu, at = worker.cpu_seconds(), time.monotonic()
    time.sleep(idle_seconds)
    used = (worker.cpu_seconds() - cpu) / (time.monotonic() - at)
    memory = worker.memory()
    began = time.monotonic()
    for number in range(count):
        worker.client.delete(f"idle-{number}")
    while count_running(worker) > 1 or len(worker.client.connectors()) > 1:
        time.sleep(0.25)
    deleted = time.monotonic() - began
    print(f"connectors                     {count}")
    print(f"created by REST in             {created:.1f} s ({created / count * 1000:.0f} ms each)")
    print(f"all of them RUNNING after      {all_running:.1f} s")
    print(f"memory of the whole tree       {memory / 2**20:.0f} MiB")
    print(f"of that, for each connector    {(memory - before) / count / 2**20:.2f} MiB")
    print(f"CPU of the whole tree, idle    {used * 100:.1f} % of a core")
    print(f"deleted, statuses gone, in     {deleted:.1f} s")


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
