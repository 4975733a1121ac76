"""
One workload after the other on kconnect and on Apache Kafka Connect, in alternating rounds: CPU a record, records a second.

Used by `scripts/benchmarks/throughput.py` and `scripts/benchmarks/java.py`. Both workers are up at once, and are warmed up
with each workload first. Rounds alternate between them, so that a busy moment of the machine hits both, and who goes first
alternates too. CPU is that of whole process trees. What counts is the median of the ratios, one ratio a round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.benches.results import SIDES, Results

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"

_LIMIT_S = 900.0
_LOOK_S = 0.2


@dataclass(frozen=True)
class Workload:
    """
    A connector that moves `records`. `begin` makes what a run needs, by the connector's name, and gives the config; `moved`
    says how many records have arrived; `end` clears away behind a connector that is deleted. Of several `copies`, which run at
    once, each moves so many.
    """

    name: str
    records: int
    begin: Callable[[str], Mapping[str, str]]
    moved: Callable[[str], int]
    end: Callable[[str], None] = lambda name: None
    sides: tuple[str, ...] = SIDES
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What a side's config has that the other one's has not: another connector for the same work."""
    copies: int = 1


class Run(NamedTuple):
    """Of CPU microseconds a record, of records a second."""

    cpu: float
    rate: float


class Rounds:
    """`workers` by their side; with one only, nothing is compared."""

    def __init__(self, workers: Mapping[str, WorkerProcess], rounds: int, results: Results, warm: int = 1) -> None:
        self._workers, self._rounds, self._results, self._warm = workers, rounds, results, warm
        self._runs = 0

    def compare(self, workload: Workload) -> None:
        """What is found is added to the results, and shown."""
        sides = [side for side in self._workers if side in workload.sides]
        for side in sides * self._warm:
            self.run(side, workload)
        found: dict[str, list[Run]] = {side: [] for side in sides}
        for number in range(self._rounds):
            for side in sides[:: 1 if number % 2 else -1]:
                found[side].append(self.run(side, workload))
        for side, runs in found.items():
            self._results.add(workload.name, side, "CPU a record", "µs", *(run.cpu for run in runs))
            self._results.add(workload.name, side, "records a second", "", *(run.rate for run in runs))
        self._results.show()

    def run(self, side: str, workload: Workload) -> Run:
        worker = self._workers[side]
        self._runs += 1
        configs: dict[str, dict[str, str]] = {}
        for copy in range(workload.copies):
            name = f"run-{self._runs}" + (f"-{copy}" if copy else "")
            configs[name] = {"tasks.max": "1", **workload.begin(name), **workload.own.get(side, {})}
        # Whatever checks configs may have to be started, which is not what is measured.
        worker.client.validate(configs[name]["connector.class"], configs[name])
        began, before = time.monotonic(), worker.cpu_seconds()
        for name, config in configs.items():
            worker.client.create(name, config)
        for name in configs:
            self._wait(worker, workload, name)
        spent, elapsed = worker.cpu_seconds() - before, time.monotonic() - began
        for name in configs:
            worker.client.delete(name)
            workload.end(name)
        records = workload.records * workload.copies
        return Run(spent / records * 1e6, records / elapsed)

    @staticmethod
    def _wait(worker: WorkerProcess, workload: Workload, name: str) -> None:
        deadline = time.monotonic() + _LIMIT_S
        while workload.moved(name) < workload.records:
            if time.monotonic() > deadline:
                raise SystemExit(f"{workload.name} was not done within {_LIMIT_S:.0f} s; see {worker.log}")
            try:
                tasks = worker.client.status(name)["tasks"]
            except RestError:
                tasks = []
            for task in tasks:
                if task["state"] == "FAILED":
                    raise SystemExit(f"{workload.name} failed: {task['trace'][:600]}")
            time.sleep(_LOOK_S)


class Topics:
    """What a workload makes of topics with one partition, and asks of them."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._client: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self._admin = AdminClient(self._client)
        self._looks = self._looker()

    def _looker(self) -> ck.Consumer:
        return ck.Consumer({**self._client, "group.id": "look"})

    def create(self, topic: str, config: Mapping[str, str] | None = None, partitions: int = 1) -> None:
        self._admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config or {}))])[topic].result()

    def delete(self, topic: str) -> None:
        """What nobody reads any more would fill the disk."""
        self._admin.delete_topics([topic])[topic].result()

    def fill(self, topic: str, values: Iterable[bytes | None], partitions: int = 1) -> None:
        """Makes the topic, too; partitions get records in turn."""
        self.create(topic, partitions=partitions)
        producer = ck.Producer({**self._client, "linger.ms": 20})
        for number, value in enumerate(values):
            while True:
                try:
                    producer.produce(topic, value, partition=number % partitions)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()

    def end(self, topic: str) -> int:
        """How many records it has; 0 if it is not there yet."""
        try:
            return int(self._looks.get_watermark_offsets(ck.TopicPartition(topic, 0), timeout=10)[1])
        except ck.KafkaException:
            # A client that has once missed a topic's leader may do so for ever.
            self._looks.close()
            self._looks = self._looker()
            return 0

    def last(self, topic: str) -> bytes | None:
        """The value of the last record that was committed, if it is there yet."""
        reader = ck.Consumer({**self._client, "group.id": "last", "isolation.level": "read_committed"})
        try:
            _, end = reader.get_watermark_offsets(ck.TopicPartition(topic, 0), timeout=10)
            # Behind it there is the end of its transaction.
            reader.assign([ck.TopicPartition(topic, 0, max(0, end - 2))])
            found = [message.value() for message in reader.consume(2, _LOOK_S) if message.error() is None]
            return found[-1] if found else None
        except ck.KafkaException:
            return None
        finally:
            reader.close()

    def committed(self, group: str, topic: str, partitions: int = 1) -> int:
        """How many records the group has dealt with."""
        consumer = ck.Consumer({**self._client, "group.id": group})
        try:
            places = consumer.committed([ck.TopicPartition(topic, part) for part in range(partitions)], timeout=10)
            return sum(max(0, place.offset) for place in places)
        finally:
            consumer.close()
