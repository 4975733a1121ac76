"""
`kconnect apply` of many files to one worker: how long it takes when all are new, when none differs, and when one does.

Half are file sources whose file has no lines, half file sinks on an empty topic. What is touched is counted in the config
topic: a connector that is left alone leaves no record there. A line a figure goes to standard output.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess

TOPIC = "idle"
GROUP = "applied"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--connectors", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kconnect-apply-") as name:
        directory = Path(name)
        broker = Broker(directory / "broker")
        broker.start()
        try:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
            admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result()
            worker = WorkerProcess(directory, broker.bootstrap_servers, GROUP)
            try:
                worker.start()
                measure(worker, broker.bootstrap_servers, directory, options.connectors)
            finally:
                worker.stop()
        finally:
            broker.stop()


def measure(worker: WorkerProcess, brokers: str, directory: Path, count: int) -> None:
    files = directory / "connectors"
    files.mkdir()
    (directory / "empty.txt").touch()
    for number in range(count):
        write(files, number, directory)
    # Spark takes some seconds to start: what is measured is a worker that is up and has nothing to do.
    worker.client.create("first", config(0, directory))
    worker.client.wait_for("first", "RUNNING", tasks=1, timeout=300)
    worker.client.delete("first")
    load = os.getloadavg()[0]
    created = apply(worker, files, f"created {count}, changed 0, unchanged 0, failed 0")
    print(f"load of the machine before     {load:.1f} on {os.cpu_count()} cores")
    print(f"{count} files, all new           {created:.1f} s")
    began = time.monotonic()
    while not all_run(worker, count):
        time.sleep(0.5)
    print(f"all their tasks RUNNING        {time.monotonic() - began:.1f} s later")
    unchanged = apply(worker, files, f"created 0, changed 0, unchanged {count}, failed 0")
    print(f"{count} files, none differs      {unchanged:.1f} s")
    while (before := configs_written(brokers, count)) is None:
        time.sleep(0.5)
    write(files, count // 2, directory, **{"errors.tolerance": "all"})
    changed = apply(worker, files, f"created 0, changed 1, unchanged {count - 1}, failed 0")
    print(f"{count} files, one differs       {changed:.1f} s")
    print(f"configs written for that one   {(configs_written(brokers, count) or 0) - before}")


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
