"""
How long a worker takes until it answers, until Spark is up, and until its first record; and what `kconnect … --help` costs.

kconnect beside Kafka Connect 4.3.1, with empty internal topics and with a history of connectors that came and went: configs,
statuses, offsets and tombstones, written by a producer as Connect writes them. The first record is that of a file source, which
is created as soon as the worker answers. CPU is that of the command and its children.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck

from kconnect.cli.main import cli
from tests.rig.benches import results, stage
from tests.rig.systems.rounds import Topics

COMPACTED = {"cleanup.policy": "compact"}
PARTITIONS = {"configs": 1, "offsets": 5, "status": 5}


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="of the history")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = results.Results("start", options.json)
    with stage.opened("start") as on:
        for records in (0, options.records):
            rounds: dict[tuple[str, str], list[float]] = {}
            for number in range(options.rounds):
                for side in results.SIDES:
                    for measure, value in start(on, side, records, number).items():
                        rounds.setdefault((measure, side), []).append(value)
            for (measure, side), values in rounds.items():
                found.add(f"a worker with {records:,} records of history", side, measure, "s", *values)
            found.show()
    for words in (
        [],
        *([name] for name in sorted(cli.list_commands(cli.make_context("kconnect", [], resilient_parsing=True)))),
    ):
        took = [command([*words, "--help"]) for _ in range(options.rounds)]
        for measure, each in zip(("wall", "CPU"), zip(*took)):
            found.add(" ".join(["kconnect", *words, "--help"]), results.KCONNECT, measure, "s", *each)
    found.show()


def start(on: stage.Stage, side: str, records: int, number: int) -> dict[str, float]:
    """Seconds from the start of the command."""
    group = f"{side.lower()}-{records}-{number}"
    topics = Topics(on.servers)
    if records:
        write(on.servers, topics, group, records)
    topics.create(group)
    file = on.directory / f"{group}.txt"
    file.write_text("a line\n")
    worker = on.worker(side, group, start=False)
    began = time.monotonic()
    worker.start()
    took = {"answers": time.monotonic() - began}
    # A worker that does not lead yet says so, and is asked again.
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": group}
    stage.wait(lambda: worker.client.create("first", config), pause_s=0.05)
    if side == results.KCONNECT:
        stage.wait(lambda: any(each["hosts"] for each in worker.client.cluster()["workers"]))
        took["Spark is up"] = time.monotonic() - began
    stage.wait(lambda: topics.end(group))
    took["first record"] = time.monotonic() - began
    took["CPU until then"] = worker.cpu_seconds()
    worker.stop()
    return took


def write(servers: str, topics: Topics, group: str, records: int) -> None:
    for topic, partitions in PARTITIONS.items():
        topics.create(f"{group}-{topic}", COMPACTED, partitions)
    producer = ck.Producer({"bootstrap.servers": servers, "linger.ms": 20})
    history = came_and_went()
    for _ in range(records):
        topic, key, value = next(history)
        while True:
            try:
                producer.produce(
                    f"{group}-{topic}",
                    None if value is None else json.dumps(value),
                    json.dumps(key) if topic == "offsets" else key,
                )
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def came_and_went() -> Iterator[tuple[str, Any, Any]]:
    """Topic, key and value of each record; every connector is deleted in the end."""
    number = 0
    while True:
        name, number = f"gone-{number}", number + 1
        config = {"name": name, "connector.class": "FileStreamSource", "tasks.max": "1", "file": f"/tmp/{name}", "topic": name}
        status = {"state": "RUNNING", "trace": None, "worker_id": "127.0.0.1:8083", "generation": 1}
        yield "configs", f"connector-{name}", {"properties": config}
        yield (
            "configs",
            f"task-{name}-0",
            {"properties": {**config, "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask"}},
        )
        yield "configs", f"commit-{name}", {"tasks": 1}
        yield "status", f"status-connector-{name}", status
        yield "status", f"status-task-{name}-0", status
        yield "offsets", [name, {"filename": f"/tmp/{name}"}], {"position": 1000}
        yield "configs", f"connector-{name}", None
        yield "configs", f"target-state-{name}", None
        yield "status", f"status-connector-{name}", None
        yield "status", f"status-task-{name}-0", None


def command(words: list[str]) -> tuple[float, float]:
    """Seconds and seconds of CPU."""
    began = time.monotonic()
    process = subprocess.Popen([Path(sys.executable).with_name("kconnect"), *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    if status:
        raise SystemExit(f"kconnect {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return took, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
