"""
How long it takes to send a connector back: stop, alter its offsets, resume, until the resumed task has worked from there.

One worker with a source of one line and a sink of one record. Each round has the line sent, or the record written, once more:
that is what ends the round, not what a status says.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck

from kconnect.rest.client import ConnectClient
from tests.rig.benches import results, stage
from tests.rig.benches.stage import wait
from tests.rig.systems.rounds import Topics

STEPS = ("stop", "alter", "resume", "works again", "all")
LINE = "a line\n"


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    made = results.Results("offsets", options.json)
    with stage.opened("offsets") as on:
        worker = on.worker()
        servers = {"bootstrap.servers": on.servers}
        for topic in ("sent", "read"):
            Topics(on.servers).create(topic)
        figures = {
            "source": measure_source(worker.client, servers, on.directory, options.rounds),
            "sink": measure_sink(worker.client, servers, on.directory, options.rounds),
        }
    for kind, rounds in figures.items():
        for step, times in zip(STEPS, zip(*rounds)):
            made.add(kind, results.KCONNECT, step, "s", *times)
    made.show()


def measure_source(client: ConnectClient, servers: dict[str, str], directory: Path, rounds: int) -> list[list[float]]:
    path = directory / "in"
    path.write_text(LINE)
    config = {"connector.class": "FileStreamSource", "file": str(path), "topic": "sent"}
    consumer = ck.Consumer({**servers, "group.id": "bench", "fetch.wait.max.ms": 10})
    consumer.assign([ck.TopicPartition("sent", 0, ck.OFFSET_BEGINNING)])

    def sent() -> bool:
        message = consumer.poll(0.01)
        return message is not None and message.error() is None

    def at(position: int) -> list[dict[str, Any]]:
        return [{"partition": {"filename": str(path)}, "offset": {"position": position}}]

    client.create("source", config)
    wait(sent)
    wait(lambda: client.offsets("source") == at(len(LINE)))
    measured = [cycle(client, "source", at(0), at(len(LINE)), sent) for _ in range(rounds)]
    consumer.close()
    client.delete("source")
    return measured


def measure_sink(client: ConnectClient, servers: dict[str, str], directory: Path, rounds: int) -> list[list[float]]:
    path = directory / "out"
    producer = ck.Producer(servers)
    producer.produce("read", LINE.encode(), partition=0)
    producer.flush(30)
    client.create("sink", {"connector.class": "FileStreamSink", "file": str(path), "topics": "read"})
    written = 0

    def more() -> bool:
        nonlocal written
        size = path.stat().st_size if path.exists() else 0
        before, written = written, size
        return size > before

    def at(offset: int) -> list[dict[str, Any]]:
        return [{"partition": {"kafka_topic": "read", "kafka_partition": 0}, "offset": {"kafka_offset": offset}}]

    wait(more)
    wait(lambda: client.offsets("sink") == at(1))
    measured = [cycle(client, "sink", at(0), at(1), more) for _ in range(rounds)]
    client.delete("sink")
    return measured


def cycle(client: ConnectClient, name: str, back: Any, after: Any, works: Callable[[], bool]) -> list[float]:
    """`after` are the offsets that a round ends and the next one begins with."""
    at = [time.monotonic()]

    def step() -> None:
        at.append(time.monotonic())

    client.stop(name)
    step()
    client.alter_offsets(name, back)
    step()
    client.resume(name)
    step()
    wait(works, pause_s=0.005)
    step()
    wait(lambda: client.offsets(name) == after)
    return [*(end - begin for begin, end in itertools.pairwise(at)), at[-1] - at[0]]


if __name__ == "__main__":
    main()
