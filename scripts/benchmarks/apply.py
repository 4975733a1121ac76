"""
`kconnect apply` of many files to one worker: how long it takes when all are new, when none differs, and when one does.

Half are file sources whose file has no lines, half file sinks on an empty topic. What is touched is counted in the config
topic: a connector that is left alone leaves no record there.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import yaml
from confluent_kafka import Consumer, TopicPartition

from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage
from tests.rig.systems.rounds import Topics

TOPIC = "idle"
GROUP = "applied"


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--connectors", type=int, default=1000)
    options = parser.parse_args()
    found = results.Results("apply", options.json)
    with stage.opened("apply") as on:
        Topics(on.servers).create(TOPIC)
        add = partial(found.add, f"{options.connectors} files", results.KCONNECT)
        measure(on.worker(group=GROUP), on.servers, on.directory, options.connectors, add)
    found.show()


def measure(worker: WorkerProcess, brokers: str, directory: Path, count: int, add: Callable[..., None]) -> None:
    files = directory / "connectors"
    files.mkdir()
    (directory / "empty.txt").touch()
    for number in range(count):
        write(files, number, directory)
    # Spark takes some seconds to start: what is measured is a worker that is up and has nothing to do.
    worker.client.create("first", config(0, directory))
    worker.client.wait_for("first", "RUNNING", tasks=1, timeout=300)
    worker.client.delete("first")
    add("all new", "s", apply(worker, files, f"created {count}, changed 0, unchanged 0, failed 0"))
    began = time.monotonic()
    while not all_run(worker, count):
        time.sleep(0.5)
    add("all tasks RUNNING after that", "s", time.monotonic() - began)
    add("none differs", "s", apply(worker, files, f"created 0, changed 0, unchanged {count}, failed 0"))
    while (before := configs_written(brokers, count)) is None:
        time.sleep(0.5)
    write(files, count // 2, directory, **{"errors.tolerance": "all"})
    add("one differs", "s", apply(worker, files, f"created 0, changed 1, unchanged {count - 1}, failed 0"))
    add("configs written for that one", "", (configs_written(brokers, count) or 0) - before)


def write(files: Path, number: int, directory: Path, **more: str) -> None:
    body = {"name": f"c-{number}", "config": {**config(number, directory), **more}}
    (files / f"c-{number}.yaml").write_text(yaml.safe_dump(body, sort_keys=False))


def config(number: int, directory: Path) -> dict[str, str]:
    if number % 2:
        found = {"connector.class": "FileStreamSource", "file": str(directory / "empty.txt"), "topic": TOPIC}
    else:
        found = {"connector.class": "FileStreamSink", "file": str(directory / "sink.txt"), "topics": TOPIC}
    return {**found, "tasks.max": "1", "value.converter": "org.apache.kafka.connect.storage.StringConverter"}


def apply(worker: WorkerProcess, files: Path, expected: str) -> float:
    """Seconds that it took, from the start of the command to its end."""
    began = time.monotonic()
    command = [sys.executable, "-m", "kconnect", "apply", "-f", str(files), "--url", worker.url]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    if ended.returncode != 0 or expected not in ended.stderr:
        raise SystemExit(f"apply ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return took


def all_run(worker: WorkerProcess, count: int) -> bool:
    status = worker.client.connectors("status")
    return len(status) == count and all(
        [task["state"] for task in each["status"]["tasks"]] == ["RUNNING"] for each in status.values()
    )


def configs_written(brokers: str, least: int) -> int | None:
    """Configs of connectors in the config topic; None while there are fewer than `least`."""
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "unused", "enable.auto.commit": False})
    try:
        place = TopicPartition(f"{GROUP}-configs", 0, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=30)
        consumer.assign([place])
        found = 0
        deadline = time.monotonic() + 60
        while consumer.position([place])[0].offset < end and time.monotonic() < deadline:
            for record in consumer.consume(500, timeout=1):
                found += record.error() is None and (record.key() or b"").startswith(b"connector-c-")
        return found if found >= least else None
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
