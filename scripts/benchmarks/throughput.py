"""
Records a second and CPU a record, beside Apache Kafka Connect 4.3 on the same broker: whole workers, whole process trees.

Each workload is a connector of the file plugins that moves a number of lines of 146 bytes. Both workers are warmed up with
each workload first; then rounds alternate between them, so that a busy moment of the machine hits both. The last column is
what counts: the median of the ratios of CPU a record, kconnect's over Connect's, one ratio a round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems.connect import ConnectProcess

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
TRANSFORM, PREDICATE = "org.apache.kafka.connect.transforms.", "org.apache.kafka.connect.transforms.predicates."
TEXTS, OBJECTS = "texts", "objects"


def chain(*steps: tuple[str, Mapping[str, str]]) -> dict[str, str]:
    """Settings of transforms; the last step has a predicate."""
    config = {"transforms": ",".join(f"t{number}" for number in range(len(steps)))}
    for number, (name, settings) in enumerate(steps):
        config[f"transforms.t{number}.type"] = TRANSFORM + name
        config |= {f"transforms.t{number}.{key}": value for key, value in settings.items()}
    config |= {"predicates": "p", f"transforms.t{len(steps) - 1}.predicate": "p"}
    return config | {"predicates.p.type": f"{PREDICATE}TopicNameMatches", "predicates.p.pattern": ".*"}


ENRICH = chain(
    ("HoistField$Value", {"field": "line"}),
    ("InsertField$Value", {"static.field": "from", "static.value": "bench"}),
    ("InsertField$Value", {"topic.field": "topic"}),
)
SHAPE = chain(
    ("InsertField$Value", {"static.field": "from", "static.value": "bench"}),
    ("ReplaceField$Value", {"exclude": "comment", "renames": "name:full_name"}),
    ("MaskField$Value", {"fields": "email"}),
    ("Cast$Value", {"spec": "age:string"}),
)


@dataclass(frozen=True)
class Workload:
    """`reads` names the topic of a sink; None for a source."""

    name: str
    config: Mapping[str, str]
    reads: str | None = None


def converter(name: str, schemas: bool | None = None) -> dict[str, str]:
    made = {"value.converter": name}
    return made if schemas is None else {**made, "value.converter.schemas.enable": str(schemas).lower()}


WORKLOADS = (
    Workload("file source, String", converter(STRING)),
    Workload("file source, Hoist + 2 Insert + predicate, JSON", {**converter(JSON, False), **ENRICH}),
    Workload("the same, JSON with schemas", {**converter(JSON, True), **ENRICH}),
    Workload("file sink, String", converter(STRING), TEXTS),
    Workload("JSON to a file sink, 4 transforms + predicate", {**converter(JSON, False), **SHAPE}, OBJECTS),
)


class Bench:
    def __init__(self, directory: Path, records: int) -> None:
        self.directory, self.records = directory, records
        self.lines = directory / "lines.txt"
        self.broker = Broker(directory / "broker")
        self._runs = 0

    def prepare(self) -> None:
        self.broker.start()
        text = "x" * 132
        with open(self.lines, "w", encoding="ascii") as file:
            file.writelines(f"{number:012d} {text}\n" for number in range(self.records))
        self._create(TEXTS)
        self._create(OBJECTS)
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 20})
        for number in range(self.records):
            body = {"id": number, "name": "Ada Lovelace", "email": "ada@example.org", "age": 36, "comment": "y" * 60}
            self._produce(producer, TEXTS, f"{number:012d} {text}".encode())
            self._produce(producer, OBJECTS, json.dumps(body).encode())
        producer.flush()

    def run(self, worker: WorkerProcess, workload: Workload) -> tuple[float, float]:
        """CPU microseconds a record, and records a second."""
        self._runs += 1
        name = f"run-{self._runs}"
        config = {"name": name, "tasks.max": "1", **workload.config}
        if workload.reads is None:
            self._create(name)
            config |= {"connector.class": "FileStreamSource", "file": str(self.lines), "topic": name}
        else:
            out = self.directory / f"{name}.txt"
            config |= {"connector.class": "FileStreamSink", "file": str(out), "topics": workload.reads}

        def done() -> bool:
            if workload.reads is None:
                return self._end(name) >= self.records
            return self._committed(f"connect-{name}", workload.reads) >= self.records

        began, before = time.monotonic(), worker.cpu_seconds()
        worker.client.create(name, config)
        self._wait(worker, name, done)
        spent, elapsed = worker.cpu_seconds() - before, time.monotonic() - began
        worker.client.delete(name)
        for left in self.directory.glob("run-*.txt"):
            left.unlink()
        return spent / self.records * 1e6, self.records / elapsed

    def _wait(self, worker: WorkerProcess, name: str, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 600
        while not done():
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} was not done within 600 s; see {worker.log}")
            try:
                tasks = worker.client.status(name)["tasks"]
            except RestError:
                tasks = []
            if any(task["state"] == "FAILED" for task in tasks):
                raise SystemExit(f"{name} failed: {tasks[0]['trace'][:600]}")
            time.sleep(0.2)

    def _create(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()

    def _end(self, topic: str) -> int:
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap_servers, "group.id": "look"})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)[1])
        finally:
            consumer.close()

    def _committed(self, group: str, topic: str) -> int:
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap_servers, "group.id": group})
        try:
            return int(consumer.committed([TopicPartition(topic, 0)], timeout=10)[0].offset)
        finally:
            consumer.close()

    @staticmethod
    def _produce(producer: Producer, topic: str, value: bytes) -> None:
        while True:
            try:
                return producer.produce(topic, value)
            except BufferError:
                producer.poll(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kconnect-throughput-") as name:
        directory = Path(name)
        bench = Bench(directory, options.records)
        workers: list[WorkerProcess] = []
        try:
            bench.prepare()
            servers = bench.broker.bootstrap_servers
            workers.append(WorkerProcess(directory / "ours", servers, "ours"))
            workers.append(ConnectProcess(directory / "theirs", servers, "theirs"))
            for worker in workers:
                worker.start()
            for workload in WORKLOADS:
                if options.only in workload.name:
                    measure(bench, workers, workload, options.rounds)
        finally:
            for worker in workers:
                worker.stop()
            bench.broker.stop()


def measure(bench: Bench, workers: list[WorkerProcess], workload: Workload, rounds: int) -> None:
    for worker in workers:
        bench.run(worker, workload)
    found: list[list[tuple[float, float]]] = [[], []]
    for number in range(rounds):
        # Who goes first alternates too.
        for which in (0, 1) if number % 2 else (1, 0):
            found[which].append(bench.run(workers[which], workload))
    ours, theirs = found
    ratio = statistics.median(mine[0] / other[0] for mine, other in zip(ours, theirs))
    print(workload.name)
    for label, runs in (("kconnect", ours), ("Connect", theirs)):
        cpu, rate = (statistics.median(run[part] for run in runs) for part in (0, 1))
        print(f"  {label:9} {cpu:6.2f} µs of CPU a record, {rate:9,.0f} records a second")
    print(f"  CPU a record, kconnect's over Connect's: {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
