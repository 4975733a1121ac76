"""
A thousand workers and a hundred thousand connectors, simulated: what the leader does when all begins, and when workers go.

It is the real code of leaders and hosts over a log in memory (`tests/rig/histories/scale.py`); there are no brokers, no Spark
and no tasks. "s" is by the cluster's clock, which goes on by the leader's own CPU, and by a tenth of a second for each round
trip through the log. `capacity.py` measures the same on three real workers; the fewest here are four, of which one can be lost.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator

import psutil

from kconnect.core.herder import events
from kconnect.core.state.records import LogRecord, Topic
from tests.rig.benches import results
from tests.rig.histories import scale
from tests.rig.histories.scale import ScaleCluster

_BATCH = 1_000


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--connectors", type=int, default=100_000)
    parser.add_argument("--tasks", type=int, default=3)
    parser.add_argument("--roll", type=int, default=5, help="how many workers are restarted, one after another")
    parser.add_argument(
        "--fold", action="store_true", help="only the bytes of a worker's fold, which take a process of their own"
    )
    options = parser.parse_args()
    if options.fold:
        print(fold(options.connectors, options.tasks))
        return
    found = results.Results("scale", options.json)
    workload = f"{options.workers:,} workers, {options.connectors:,} connectors of {options.tasks} tasks each"
    words = [sys.executable, __file__, "--fold", f"--connectors={options.connectors}", f"--tasks={options.tasks}"]
    memory = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found.add(workload, results.KCONNECT, "the fold of a worker", "MiB", int(memory) / 2**20)
    cluster = ScaleCluster(options.workers)
    workers = sorted(cluster.light)
    changes = {"place all": restored(cluster, options.connectors, options.tasks)}
    for count in sorted({1, max(1, len(workers) // 10)}):
        changes[f"lose {count}"] = lost(cluster, workers[:count])
        changes[f"start {count}"] = started(cluster, workers[:count])
    changes[f"roll {options.roll}"] = rolled(cluster, workers[: options.roll])
    for name, change in changes.items():
        cost = cluster.measured(change)
        for measure, unit, value in (
            ("it took", "s", cost.ms / 1000),
            ("leader's CPU", "s", cost.cpu_s),
            ("units started", "", cost.started),
            ("assignment topic", "records", cost.written[Topic.ASSIGNMENT]),
            ("assignment topic", "MiB", cost.written_bytes[Topic.ASSIGNMENT] / 2**20),
            ("status topic", "records", cost.written[Topic.STATUS]),
        ):
            found.add(f"{workload}: {name}", results.KCONNECT, measure, unit, value)
        found.show()


def restored(cluster: ScaleCluster, connectors: int, tasks: int) -> Iterator[None]:
    cluster.restore(connectors, tasks)
    yield


def lost(cluster: ScaleCluster, workers: list[str]) -> Iterator[None]:
    for name in workers:
        cluster.kill(name)
    yield


def started(cluster: ScaleCluster, workers: list[str]) -> Iterator[None]:
    for name in workers:
        cluster.start_worker(name)
    yield


def rolled(cluster: ScaleCluster, workers: list[str]) -> Iterator[None]:
    for name in workers:
        cluster.roll(name)
        yield


def fold(connectors: int, tasks: int) -> int:
    """Return the bytes that this process has grown by with what a worker keeps of the config and status topics."""
    worker = ScaleCluster(3).workers[scale.WHOLE[1]]
    process = psutil.Process()
    before: int = process.memory_info().rss
    written = itertools.chain(
        itertools.chain.from_iterable(scale.configs(connectors, tasks)), scale.statuses(connectors, tasks)
    )
    offsets = {topic: itertools.count() for topic in Topic}
    while batch := tuple(
        LogRecord(entry.topic, 0, next(offsets[entry.topic]), entry.key, entry.value)
        for entry in itertools.islice(written, _BATCH)
    ):
        worker.herder.handle(events.Read(batch, {}), 0)
    after: int = process.memory_info().rss
    return after - before


if __name__ == "__main__":
    main()
