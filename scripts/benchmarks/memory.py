"""
Nothing grows: memory, groups and producers over restarts of hosts, over connectors that come and go, and over time.

One worker after the other does one thing many times, and is looked at now and then; the last line is the slope of a straight
line through all points but the first. Time is not waited for: a worker's intervals and those of its clients are divided by
`--faster`, so that what happens every so often happens as often as in so many hours. What a process
counts in hours by itself is not made faster. Hosts are restarted by `kill -9`, all at once. The units of a host that dies so
often are given hosts of their own, as suspects; the first point is behind that.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable

import confluent_kafka as ck
import psutil
from confluent_kafka.admin import AdminClient
from density import TOPIC, sink

from kconnect.core.settings.worker import WORKER_CONFIG
from kconnect.testing.processes import WorkerProcess, still_alive
from tests.rig.benches import results, stage
from tests.rig.systems.rounds import Topics

POINTS = 6
AT_ONCE = 10
SUSPECTED = 6
"""After so many deaths every unit has a host of its own."""
FASTER = ("metrics.report.interval.ms", "offset.flush.interval.ms", "metadata.max.age.ms", "connections.max.idle.ms")
EXACTLY_ONCE = {"exactly.once.source.support": "enabled"}
_UP_S, _SETTLED_S = 300.0, 3.0


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--restarts", type=int, default=25, help="of all hosts; 1000 for a whole run")
    parser.add_argument("--connectors", type=int, default=100, help="that are created and deleted; 10000 for a whole run")
    parser.add_argument("--hours", type=float, default=2.0, help="of idling; 24 for a whole run")
    parser.add_argument("--faster", type=float, default=100.0, help="how many times as fast the intervals are")
    options = parser.parse_args()
    found = results.Results("memory", options.json)
    with stage.opened("memory") as on:
        Topics(on.servers).create(TOPIC)
        if options.restarts:
            watch(on, found, "restarts", options.restarts, EXACTLY_ONCE, restart)
        if options.connectors:
            watch(on, found, "connectors came and went", options.connectors, EXACTLY_ONCE, come_and_go(on))
        if options.hours:
            intervals = {name: str(max(1, round(WORKER_CONFIG.keys[name].default / options.faster))) for name in FASTER}
            properties = EXACTLY_ONCE | intervals
            watch(on, found, "hours", options.hours, properties, lambda worker, hours: pass_by(hours / options.faster))
    found.show()


def watch(
    on: stage.Stage,
    found: results.Results,
    what: str,
    amount: float,
    properties: dict[str, str],
    act: Callable[[WorkerProcess, float], None],
) -> None:
    """Does it in equal parts, and looks at the worker before each and at the end."""
    worker = on.worker(group=what.replace(" ", "-"), properties=properties)
    empty = on.directory / "empty.txt"
    empty.touch()
    worker.client.create("source", {"connector.class": "FileStreamSource", "file": str(empty), "topic": TOPIC})
    worker.client.create("sink", sink(on.directory))
    all_run(worker)
    if act is restart:
        act(worker, SUSPECTED)
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    part = amount / (POINTS - 1) if isinstance(amount, float) else max(1, amount // (POINTS - 1))
    for number in range(POINTS):
        if number:
            act(worker, part)
        time.sleep(_SETTLED_S)
        for measure, unit, value in look(on.servers, worker):
            found.add(f"{number * part:,g} {what}", results.KCONNECT, measure, unit, value)
            points.setdefault((measure, unit), []).append((number * part, value))
    for (measure, unit), line in points.items():
        each = 1000 if isinstance(amount, int) else 24
        slope = statistics.linear_regression(*zip(*line[1:])).slope
        found.add(f"slope, for {each:,} {what}", results.KCONNECT, measure, unit, slope * each)
    found.show()
    worker.stop()


def all_run(worker: WorkerProcess) -> None:
    for name in worker.client.connectors():
        worker.client.wait_for(name, "RUNNING", tasks=1, timeout=_UP_S)


def restart(worker: WorkerProcess, times: float) -> None:
    for _ in range(int(times)):
        hosts = worker.hosts()
        for host in hosts:
            # Spark may end one by itself, once the other has died.
            with contextlib.suppress(psutil.NoSuchProcess):
                host.kill()
        still_alive(hosts, 30)
        stage.wait(lambda: settled(worker), _UP_S)


def settled(worker: WorkerProcess) -> bool:
    """Hosts that live, which others do not hide by being listed still, have all there is."""
    alive = {host.pid for host in worker.hosts()}
    listed = [host for each in worker.client.cluster()["workers"] for host in each["hosts"] if host["pid"] in alive]
    held: int = sum(host["connectors"] + host["tasks"] for host in listed)
    return held == 2 * len(worker.client.connectors())


def come_and_go(on: stage.Stage) -> Callable[[WorkerProcess, float], None]:
    def act(worker: WorkerProcess, times: float) -> None:
        source = {"connector.class": "FileStreamSource", "file": str(on.directory / "empty.txt"), "topic": TOPIC}
        done = 0
        while done < times:
            names = [f"come-{number}" for number in range(min(AT_ONCE, int(times) - done))]
            for number, name in enumerate(names):
                worker.client.create(name, source if number % 2 else sink(on.directory))
            for name in names:
                worker.client.wait_for(name, "RUNNING", tasks=1, timeout=_UP_S)
            for name in names:
                worker.client.delete(name)
            done += len(names)

    return act


def pass_by(hours: float) -> None:
    time.sleep(hours * 3600)


def look(servers: str, worker: WorkerProcess) -> list[tuple[str, str, float]]:
    root, jvm, hosts = worker.tree()[0], worker.jvm(), worker.hosts()
    rest = [process for process in worker.tree() if process not in (root, jvm, *hosts)]

    def mib(*processes: object) -> float:
        return sum(process.memory_full_info().pss for process in processes if process is not None) / 2**20  # type: ignore[attr-defined]

    # A client that nobody holds would be gone before it has an answer.
    admin = AdminClient({"bootstrap.servers": servers})
    groups = admin.list_consumer_groups().result()
    if groups.errors:
        raise SystemExit(f"The broker does not tell its groups: {groups.errors}")
    return [
        ("worker", "MiB", mib(root)),
        ("the driver's JVM", "MiB", mib(jvm)),
        ("hosts", "MiB", mib(*hosts)),
        ("driver, daemon, sandboxes", "MiB", mib(*rest)),
        ("processes", "", len(worker.tree())),
        ("threads", "", sum(process.num_threads() for process in worker.tree())),
        ("groups", "", len(groups.valid)),
        ("transactional ids", "", transactional_ids(servers)),
    ]


def transactional_ids(servers: str) -> int:
    """Those that the broker keeps, by the keys of the topic in which it does."""
    topic = "__transaction_state"
    consumer = ck.Consumer({"bootstrap.servers": servers, "group.id": "look", "enable.partition.eof": True, "log_level": 0})
    try:
        places = [
            ck.TopicPartition(topic, part, ck.OFFSET_BEGINNING)
            for part in consumer.list_topics(topic, 30).topics[topic].partitions
        ]
        consumer.assign(places)
        known: dict[bytes, bool] = {}
        ended = 0
        while ended < len(places):
            for message in consumer.consume(1000, 1):
                if error := message.error():
                    ended += error.code() == ck.KafkaError._PARTITION_EOF
                else:
                    known[message.key() or b""] = message.value() is not None
        return sum(known.values())
    finally:
        consumer.close()


if __name__ == "__main__":
    main()
