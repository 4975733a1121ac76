"""
What grows with the number of idle connectors: memory, CPU, threads, sockets, records, and the latency of busy ones among them.

Idle connectors are added to one worker, half file sources, half file sinks. At each size it is left alone until the sinks rest
(here after 20 s, by default after minutes), and looked at. Then 20 busy ones are added, ten files that are copied to ten topics
and to files again, and taken away behind it. The first line has no idle ones: it is what the busy ones on an empty worker
have. Read next: `latency.py`, `density.py`.
"""

from __future__ import annotations

import time
from pathlib import Path

import confluent_kafka as ck
import psutil
from density import TOPIC, count_running, resting, sink
from latency import SHARES, Flows

from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage
from tests.rig.systems.rounds import Topics

GROUP = "growth"
BUSY = 10
_REST_S = 20.0
_SETTLED_S = 2 * _REST_S + 5


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--idle-seconds", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=20.0, help="of the busy ones")
    parser.add_argument("--rate", type=int, default=100, help="lines a second of the busy ones together")
    parser.add_argument("--side", choices=results.SIDES, default=results.KCONNECT)
    options = parser.parse_args()
    found = results.Results("growth", options.json)
    with stage.opened("growth") as on:
        Topics(on.servers).create(TOPIC)
        worker = on.worker(options.side, GROUP, resting(options.side, _REST_S))
        # Spark takes some seconds to start: what is measured is a worker that is up.
        worker.client.create("first", sink(on.directory))
        worker.client.wait_for("first", "RUNNING", tasks=1, timeout=120)
        there = 0
        for size in [0, *options.sizes]:
            took = add(worker, on.directory, there, size)
            there = size
            for measure, unit, value in [("created", "s", took), *idle(on, worker, options.idle_seconds)]:
                found.add(f"{size:,} idle", options.side, measure, unit, value)
            flows = Flows(on, worker, [f"busy-{size}-{number}" for number in range(BUSY)])
            times = flows.measure(options.rate, options.seconds)["from file to file"]
            flows.delete()
            for share in SHARES:
                found.add(f"{size:,} idle", options.side, f"busy ones, p{share}", "ms", results.percentile(times, share))
    found.show()


def add(worker: WorkerProcess, directory: Path, there: int, size: int) -> float:
    """Seconds until they run."""
    empty = directory / "empty.txt"
    empty.touch()
    source = {"connector.class": "FileStreamSource", "file": str(empty), "topic": TOPIC}
    began = time.monotonic()
    for number in range(there, size):
        worker.client.create(f"idle-{number}", source if number % 2 else sink(directory))
    stage.wait(lambda: count_running(worker) == size + 1, 900, 0.5)
    return time.monotonic() - began


def idle(on: stage.Stage, worker: WorkerProcess, seconds: float) -> list[tuple[str, str, float]]:
    broker = psutil.Process(on.broker.pid)
    time.sleep(_SETTLED_S)
    cpu, brokers, at = worker.cpu_seconds(), sum(broker.cpu_times()[:2]), time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - at
    tree = worker.tree()
    return [
        ("CPU, idle", "% of a core", (worker.cpu_seconds() - cpu) / elapsed * 100),
        ("the broker's CPU", "% of a core", (sum(broker.cpu_times()[:2]) - brokers) / elapsed * 100),
        ("memory", "MiB", worker.memory() / 2**20),
        ("threads", "", sum(process.num_threads() for process in tree)),
        ("sockets", "", sum(len(process.net_connections()) for process in tree)),
        ("records in internal topics", "", records(on.servers)),
    ]


def records(servers: str) -> int:
    consumer = ck.Consumer({"bootstrap.servers": servers, "group.id": "look", "log_level": 0})
    try:
        topics = consumer.list_topics(timeout=30).topics
        places = [
            ck.TopicPartition(name, part) for name in topics if name.startswith(GROUP) for part in topics[name].partitions
        ]
        ends = (consumer.get_watermark_offsets(place, timeout=30) for place in places)
        return sum(high - low for low, high in ends)
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
