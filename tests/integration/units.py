"""What tests of units need: a host in memory, plugins that a test makes up, and a look at the broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.api.connector import SinkConnector, SourceConnector
from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.api.schema import STRING_SCHEMA
from kconnect.api.task import SinkTask, SourceTask
from kconnect.core.cluster.host import UnitSpec
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import State, TargetState
from kconnect.plugins.registry import Registry
from kconnect.worker.unit import Unit
from kconnect.worker.units import make_unit

Partition, Offset = dict[str, Any], dict[str, Any]


class Plugins:
    """The built-in plugins, and a test's own connector classes by name."""

    def __init__(self, **own: type[Any]) -> None:
        self._own = own
        self._others = Registry.scan([])

    def load(self, name: str, kind: str, version: str | None = None) -> type[Any]:
        return self._own[name] if name in self._own else self._others.load(name, kind)


class MemoryHost:
    """`unit.Ports` without a log: keeps what units say and store."""

    def __init__(self, bootstrap: str, plugins: Plugins | None = None, **settings: str) -> None:
        self.settings = WorkerSettings.from_properties(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "test",
                "config.storage.topic": "c",
                "offset.storage.topic": "o",
                "status.storage.topic": "s",
                "key.converter": "StringConverter",
                "value.converter": "StringConverter",
                "offset.flush.interval.ms": "200",
                **{name.replace("_", "."): value for name, value in settings.items()},
            },
            {},
        )
        self.plugins: Any = plugins or Plugins()
        self.statuses: list[tuple[State, str | None]] = []
        self.offsets: dict[str, Offset | None] = {}
        self.writes: list[Offset | None] = []
        self.topics: list[tuple[str, int, str]] = []
        self.configs: list[tuple[list[dict[str, str]], int]] = []
        self.before_write: Callable[[], None] = lambda: None

    def status(self, spec: UnitSpec, state: State, trace: str | None = None, version: str | None = None) -> None:
        self.statuses.append((state, trace))

    def publish_task_configs(self, connector: str, configs: list[dict[str, str]], config_offset: int) -> None:
        self.configs.append((configs, config_offset))

    def read_offsets(
        self, connector: str, partitions: list[Partition], gives_up: Callable[[], bool]
    ) -> list[Offset | None]:
        return [self.offsets.get(str(partition)) for partition in partitions]

    def write_offsets(self, connector: str, offsets: list[tuple[Partition, Offset | None]], timeout: float) -> None:
        self.before_write()
        for partition, offset in offsets:
            self.offsets[str(partition)] = offset
            self.writes.append(offset)

    def in_touch(self) -> bool:
        return True

    def topic_used(self, connector: str, task: int, topic: str) -> None:
        self.topics.append((connector, task, topic))

    @property
    def states(self) -> list[str]:
        return [state.value for state, _ in self.statuses]

    def unit(
        self, config: dict[str, str], task: int | None = 0, target: TargetState = TargetState.STARTED
    ) -> Unit:
        """A unit, started."""
        config = {"name": "unit", **config}
        spec = UnitSpec(config["name"], task, config, None if task is None else dict(config), 7, 0)
        unit = make_unit(spec, self, target)
        unit.start()
        return unit


def end(unit: Unit, timeout: float = 10) -> float:
    """Stop a unit; how long that took."""
    began = time.monotonic()
    unit.request_stop()
    assert unit.join(timeout), "the unit did not end"
    return time.monotonic() - began


def until(condition: Callable[[], Any], timeout: float = 20) -> None:
    limit = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < limit, f"not within {timeout} s"
        time.sleep(0.01)


def read_all(bootstrap: str, topic: str) -> list[ck.Message]:
    """All records of a topic, by partition and offset."""
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": "look", "enable.partition.eof": True})
    partitions = list(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
    consumer.assign([ck.TopicPartition(topic, number, ck.OFFSET_BEGINNING) for number in partitions])
    found, ended = [], set()
    while len(ended) < len(partitions):
        for message in consumer.consume(1000, timeout=0.2):
            if message.error() is None:
                found.append(message)
            else:
                ended.add(message.partition())
    consumer.close()
    return sorted(found, key=lambda message: (message.partition(), message.offset()))


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """What a group has committed, by partition."""
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    found = consumer.committed([ck.TopicPartition(topic, number) for number in partitions], timeout=10)
    consumer.close()
    return {partition.partition: partition.offset for partition in found if partition.offset >= 0}


def write(bootstrap: str, topic: str, values: list[str], partition: int = 0) -> None:
    producer = ck.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(20) == 0


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(10)


def values(bootstrap: str, topic: str) -> list[str]:
    return [message.value().decode() for message in read_all(bootstrap, topic)]


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]


class Numbers(SourceTask):
    """Gives 1, 2, 3 … up to `limit`, ten a poll, and goes on after the stored one. Tests change what it does."""

    topic = "numbers"
    limit = 100

    def version(self) -> str:
        return "1"

    def start(self, props: dict[str, str]) -> None:
        self.topic = props.get("topic", self.topic)
        self.limit = int(props.get("limit", self.limit))
        self.stopped = threading.Event()
        self.polls = 0
        stored = self.context.offsets.offset({"of": "numbers"})
        self.last = 0 if stored is None else stored["last"]

    def poll(self) -> list[SourceRecord] | None:
        self.polls += 1
        if self.last >= self.limit:
            self.stopped.wait(1)
            return None
        records = []
        for number in range(self.last + 1, min(self.last + 10, self.limit) + 1):
            records.append(self.record(number))
        self.last = min(self.last + 10, self.limit)
        return records

    def record(self, number: int) -> SourceRecord:
        return SourceRecord({"of": "numbers"}, {"last": number}, self.topic, value_schema=STRING_SCHEMA, value=str(number))

    def stop(self) -> None:
        self.stopped.set()


class Shelf(SinkTask):
    """Keeps what it was given, for tests to look at."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.calls: list[tuple[str, Any]] = []

    def version(self) -> str:
        return "1"

    def start(self, props: dict[str, str]) -> None:
        self.calls.append(("start", None))

    def put(self, records: list[SinkRecord]) -> None:
        self.values += [record.value for record in records]

    def open(self, partitions: Any) -> None:
        self.calls.append(("open", sorted(partitions)))

    def close(self, partitions: Any) -> None:
        self.calls.append(("close", sorted(partitions)))

    def stop(self) -> None:
        self.calls.append(("stop", None))


def source_of(task: Callable[[], SourceTask]) -> type[SourceConnector]:
    """A connector class whose tasks `task` makes."""

    class Source(SourceConnector):
        def version(self) -> str:
            return "1"

        def start(self, props: dict[str, str]) -> None:
            self.props = dict(props)

        def stop(self) -> None: ...

        def task_class(self) -> Any:
            return task

        def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
            return [dict(self.props)]

        def config(self) -> Any:
            raise NotImplementedError

    return Source


def sink_of(task: Callable[[], SinkTask]) -> type[SinkConnector]:
    """A connector class whose tasks `task` makes."""

    class Sink(SinkConnector):
        def version(self) -> str:
            return "1"

        def start(self, props: dict[str, str]) -> None:
            self.props = dict(props)

        def stop(self) -> None: ...

        def task_class(self) -> Any:
            return task

        def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
            return [dict(self.props)] * max_tasks

        def config(self) -> Any:
            raise NotImplementedError

    return Sink
