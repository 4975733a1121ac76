"""What tests of units need: a host in memory, plugins that a test makes up, and a look at the broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.api.connector import SinkConnector, SourceConnector
from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.api.task import SinkTask, SourceTask
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state import records
from kconnect.core.state.records import State, TargetState, UnitId
from kconnect.core.task.ports import OffsetRecord, Pairs
from kconnect.data.schema import STRING_SCHEMA
from kconnect.errors import ConnectError
from kconnect.kafka.watch import Watchers
from kconnect.plugins.providers import Providers
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.plugins.scan import INSTALLED
from kconnect.telemetry.batches import BatchTraces
from kconnect.units.gate import Tell
from kconnect.units.starts import StartTurns
from kconnect.units.unit import Unit, Waits
from kconnect.units.units import make_unit

Offset = dict[str, Any]

PROTOCOLS: dict[str, dict[str, Any]] = {
    "classic": {"partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}
"""The settings of a member by each protocol that a group may have."""


class Plugins:
    """The built-in plugins, and a test's own connector classes by name."""

    def __init__(self, **own: type[Any]) -> None:
        self._own = own
        self._others = Registry.scan([])

    def load(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> type[Any]:
        return self._own[name] if name in self._own else self._others.load(name, kind)

    def find(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> PluginDesc:
        if name in self._own:
            return PluginDesc(name, f"tests:{name}", name, kind, "undefined", INSTALLED)
        return self._others.find(name, kind, version, beside)


class MemoryStore:
    """`offsets.OffsetStore`: what a `MemoryHost` keeps, whatever the connector."""

    def __init__(self, host: MemoryHost) -> None:
        self._host = host

    def open(self, cancelled: Callable[[], bool]) -> None:
        """There is nothing to open."""

    def read(self, partitions: Sequence[Mapping[str, Any]], cancelled: Callable[[], bool]) -> list[Offset | None]:
        if cancelled():
            raise ConnectError("Stopped while reading the offsets")
        return [self._host.offsets.get(str(partition)) for partition in partitions]

    def write(self, offsets: Pairs, timeout: float) -> None:
        self._host.before_write()
        for partition, offset in offsets:
            self._host.offsets[str(partition)] = offset
            self._host.writes.append(offset)

    def entries(self, offsets: Pairs, timeout: float) -> list[OffsetRecord]:
        stored = [records.source_offset(records.offset_key("unit", partition), offset) for partition, offset in offsets]
        return [OffsetRecord("o", entry.key, entry.value) for entry in stored]

    def committed(self, offsets: Pairs) -> None:
        """There is no second store; whoever reads here finds what was committed to the topic `o`."""
        for partition, offset in offsets:
            self._host.offsets[str(partition)] = offset
            self._host.writes.append(offset)

    def close(self, abandon: bool = False) -> None:
        """It lives as long as its host."""


class OpenGate:
    """Nobody was before, and nobody comes after."""

    def wait(self, spec: UnitSpec, tell: Tell) -> None:
        tell(None)

    def confirm(self, tell: Tell) -> None:
        tell(None)


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
                # What a busy broker takes too long for comes again, and tests count.
                "offset.flush.timeout.ms": "30000",
                "session.timeout.ms": "45000",
                **{name.replace("_", "."): value for name, value in settings.items()},
            },
            {},
        )
        self.plugins: Any = plugins or Plugins()
        self.providers = Providers(self.plugins, self.settings.raw)  # type: ignore[arg-type]
        self.gate: Waits = OpenGate()
        self.starts = StartTurns()
        self.watchers = Watchers()
        self.statuses: list[tuple[State, str | None]] = []
        self.offsets: dict[str, Offset | None] = {}
        self.writes: list[Offset | None] = []
        self.topics: list[tuple[str, int, str]] = []
        self.configs: list[tuple[list[dict[str, str]], int]] = []
        self.starts_again, self.started_again = False, list[UnitId]()
        self.before_write: Callable[[], None] = lambda: None
        self.traces: BatchTraces | None = None

    def status(self, spec: UnitSpec, state: State, trace: str | None = None, version: str | None = None) -> None:
        self.statuses.append((state, trace))

    def publish_task_configs(self, connector: str, configs: list[dict[str, str]], config_offset: int) -> None:
        self.configs.append((configs, config_offset))

    def offset_store(self, connector: str, config: Mapping[str, str]) -> MemoryStore:
        return MemoryStore(self)

    def holds_lease(self) -> bool:
        return True

    def start_again(self, spec: UnitSpec, lasting: bool) -> bool:
        self.started_again.append(spec.unit)
        return self.starts_again

    def explain(self, spec: UnitSpec, error: MemoryError) -> str | None:
        return None

    def topics_announced(self, spec: UnitSpec) -> set[str]:
        return {topic for connector, task, topic in self.topics if (connector, task) == (spec.connector, spec.task)}

    def topic_used(self, spec: UnitSpec, topic: str) -> None:
        self.topics.append((spec.connector, spec.unit.task, topic))

    @property
    def states(self) -> list[str]:
        return [state.value for state, _ in self.statuses]

    def unit(self, config: dict[str, str], task: int | None = 0, target: TargetState = TargetState.STARTED) -> Unit:
        """A unit, started."""
        config = {"name": "unit", **config}
        spec = UnitSpec(config["name"], task, config, None if task is None else dict(config), 7, 0)
        unit = make_unit(spec, self, target)
        if self.traces is not None:
            unit.batches = self.traces.of_task(spec.unit)
        unit.start()
        return unit


def end(unit: Unit, timeout: float = 120) -> float:
    """Stop a unit; how long that took."""
    began = time.monotonic()
    unit.request_stop()
    assert unit.join(timeout), "the unit did not end"
    return time.monotonic() - began


def until(condition: Callable[[], Any], timeout: float = 240) -> None:
    limit = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < limit, f"not within {timeout} s"
        time.sleep(0.01)


def read_all(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[ck.Message]:
    """All records of a topic, by partition and offset."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "look", "isolation.level": isolation}
    consumer = ck.Consumer({**settings, "enable.partition.eof": True})
    partitions = list(consumer.list_topics(topic, timeout=60).topics[topic].partitions)
    consumer.assign([ck.TopicPartition(topic, number, ck.OFFSET_BEGINNING) for number in partitions])
    found: list[ck.Message] = []
    ended: set[object] = set()
    while len(ended) < len(partitions):
        for message in consumer.consume(1000, timeout=0.2):
            error = message.error()
            if error is None:
                found.append(message)
            elif error.code() == ck.KafkaError._PARTITION_EOF:
                ended.add(message.partition())
    consumer.close()
    return sorted(found, key=lambda message: (message.partition() or 0, message.offset() or 0))


def committed(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """What a group has committed, by partition."""
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
    found = consumer.committed([ck.TopicPartition(topic, number) for number in partitions], timeout=60)
    consumer.close()
    return {partition.partition: partition.offset for partition in found if partition.offset >= 0}


def write(bootstrap: str, topic: str, values: list[str], partition: int = 0) -> None:
    producer = ck.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(60) == 0


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(60)


def values(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[str]:
    return [(message.value() or b"").decode() for message in read_all(bootstrap, topic, isolation)]


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
