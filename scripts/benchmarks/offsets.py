"""
How long it takes to send a connector back: stop, alter its offsets, resume, until the resumed task has worked from there.

One worker with a source of one line and a sink of one record. Each round has the line sent, or the record written, once more:
that is what ends the round, not what a status says. A line a round goes to standard output, medians of the steps last.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient
from kconnect.testing.processes import WorkerProcess

STEPS = ("stop", "alter", "resume", "works again", "all")
LINE = "a line\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kconnect-offsets-") as name:
        directory = Path(name)
        broker = Broker(directory / "broker")
        broker.start()
        worker = WorkerProcess(directory, broker.bootstrap_servers, "offsets")
        try:
            worker.start()
            servers = {"bootstrap.servers": broker.bootstrap_servers}
            create_topics(servers)
            figures = {
                "source": measure_source(worker.client, servers, directory, options.rounds),
                "sink": measure_sink(worker.client, servers, directory, options.rounds),
            }
        finally:
            worker.stop()
            broker.stop()
    print(f"\nmedians of {options.rounds} rounds; load average of the last minute {os.getloadavg()[0]:.1f}")
    for kind, rounds in figures.items():
        steps = zip(STEPS, zip(*rounds))
        print(f"{kind:7}", "   ".join(f"{step} {statistics.median(times):.3f} s" for step, times in steps))


def create_topics(servers: dict[str, str]) -> None:
    admin = AdminClient({**servers})
    for created in admin.create_topics([NewTopic(topic, 1, 1) for topic in ("sent", "read")]).values():
        created.result()


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
    wait(works)
    step()
    times = [*(end - begin for begin, end in itertools.pairwise(at)), at[-1] - at[0]]
    print(f"{name:7}", "   ".join(f"{what} {took:.3f} s" for what, took in zip(STEPS, times)), flush=True)
    wait(lambda: client.offsets(name) == after)
    return times


def wait(condition: Callable[[], Any], timeout: float = 120) -> Any:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise SystemExit(f"nothing came within {timeout:.0f} s")


if __name__ == "__main__":
    main()
