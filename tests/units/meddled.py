"""
Worlds in memory that make each call of the plugin API, with a plugin that meddles in one of them, and what came of it.

Used by `test_meddling.py`. What a plugin does then is in `tests/rig/plugin_faults/plugin/meddling.py`; a plugin's own answer is
made before that, of what it was given. Read next: `tests/core/task/pumps.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from kconnect.api.batch import RecordBatch
from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.config_provider import ConfigData, ConfigProvider
from kconnect.api.connector import Connector, ExactlyOnceSupport, SinkConnector, SourceConnector
from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.predicate import Predicate
from kconnect.api.record import Header, RecordMetadata, SinkRecord, SourceRecord, TopicPartition
from kconnect.api.task import SinkTask, SourceTask
from kconnect.api.transformation import Transformation
from kconnect.core.task.chain import SinkChain, SourceChain
from kconnect.core.task.errors import Counts, Errors
from kconnect.core.task.sink_pump import SinkConversion
from kconnect.core.task.source_pump import SourceConversion, SourcePump
from kconnect.core.task.topic_use import TopicUse
from kconnect.core.task.transactions import PollBoundary
from kconnect.data.column import Column
from kconnect.data.schema import STRING_SCHEMA, Schema, SchemaAndValue
from kconnect.errors import RetriableError
from kconnect.plugins.providers import Providers
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.plugins.sandbox_child import Call
from kconnect.plugins.scan import INSTALLED
from kconnect.units import converters, source_task
from kconnect.units.connector_unit import StoredOffsets
from kconnect.units.transforms import Transforms

from ..core.task.pumps import INTERVAL_S, OFFSETS, SinkWorld, SourceWorld
from ..core.task.records import Message
from ..integration.units import MemoryHost, MemoryStore, end, until

Fault = Callable[[Sequence[Any], Any], None]
SETTINGS = ConfigDef(ConfigKey("topic", Type.STRING, "t", doc="Where to."))
_INSTALLED = Registry.scan([])
_HOST = MemoryHost("127.0.0.1:1")
COUNT = 12
"""So many records are taken as columns."""
DROPPED = 13
"""The record that a transform drops."""


class Meddler:
    """Which call meddles, and how; what was made of it. One for each cell of the table."""

    def __init__(self, call: str, fault: Fault | None) -> None:
        self.call, self.fault = call, fault
        self.reached: set[str] = set()
        self.errors: list[BaseException] = []

    def at(self, call: str, plugin: Any, *given: Any) -> None:
        self.reached.add(call)
        if call == self.call and self.fault is not None:
            try:
                self.fault(given, getattr(plugin, "context", None))
            except BaseException as error:
                self.errors.append(error)
                raise


def meddling(base: type[Any], meddler: Meddler, apis: Iterable[type[Any]]) -> type[Any]:
    """Derive a class whose calls of these APIs go through the meddler, once `base` has answered."""
    methods: dict[str, Any] = {}
    for api in apis:
        for name, function in vars(api).items():
            if callable(function) and not name.startswith("_") and not isinstance(function, type):
                methods[name] = _meddled(base, name, f"{api.__name__}.{name}", meddler)
    return type(base.__name__, (base,), methods)


def _meddled(base: type[Any], name: str, call: str, meddler: Meddler) -> Any:
    def method(self: Any, *given: Any) -> Any:
        try:
            answer = getattr(base, name)(self, *given)
        finally:
            meddler.at(call, self, *given)
        return answer

    return method


class _Connector(Connector):
    def version(self) -> str:
        return "1"

    def config(self) -> ConfigDef:
        return SETTINGS

    def start(self, props: dict[str, str]) -> None:
        self.props = dict(props)

    def stop(self) -> None: ...

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{"number": str(number)} for number in range(max_tasks)]


class PlainSource(_Connector, SourceConnector):
    def task_class(self) -> type[Any]:
        return PlainSourceTask

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport | None:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, props: dict[str, str]) -> bool:
        return True

    def alter_offsets(self, connector_config: dict[str, str], offsets: Any) -> bool:
        return True


class PlainSink(_Connector, SinkConnector):
    def task_class(self) -> type[Any]:
        return PlainSinkTask

    def alter_offsets(self, connector_config: dict[str, str], offsets: Any) -> bool:
        return True


class PlainSourceTask(SourceTask):
    """Gives `COUNT` records, then one with a header."""

    def version(self) -> str:
        return "1"

    def start(self, props: dict[str, str]) -> None:
        self.number = 0

    def poll(self) -> list[SourceRecord] | None:
        count = COUNT if self.number == 0 else 1
        records = [self.record(number, count == 1) for number in range(self.number, self.number + count)]
        self.number += count
        return records if self.number < COUNT + 3 else None

    def record(self, number: int, has_header: bool) -> SourceRecord:
        headers = [Header("h", "v", STRING_SCHEMA)] if has_header else ()
        partition, offset = {"of": "bad"}, {"last": number}
        return SourceRecord(partition, offset, "t", 0, STRING_SCHEMA, "k", STRING_SCHEMA, str(number), headers=headers)

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None: ...

    def stop(self) -> None: ...


class PlainSinkTask(SinkTask):
    """Refuses each batch once, with a RetriableError."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.tries = 0

    def version(self) -> str:
        return "1"

    def start(self, props: dict[str, str]) -> None: ...

    def put(self, records: list[SinkRecord]) -> None:
        self.take([record.value for record in records])

    def put_batch(self, batch: Any) -> None:
        self.take(list(batch.value.values))

    def take(self, values: list[Any]) -> None:
        self.tries += bool(values)
        if values and self.tries % 2:
            raise RetriableError("once more")
        self.values += values

    def pre_commit(self, offsets: Any) -> Any:
        self.flush(dict(offsets))
        return dict(offsets)

    def flush(self, offsets: Any) -> None: ...

    def stop(self) -> None: ...


class PlainTransform(Transformation[Any]):
    def configure(self, configs: Mapping[str, str]) -> None: ...

    def config(self) -> ConfigDef:
        return SETTINGS

    def apply(self, record: Any) -> Any:
        if getattr(record, "source_offset", None) == {"last": DROPPED}:
            return None
        return record.copy() if hasattr(record, "copy") else record.new_record()

    def close(self) -> None: ...


class PlainBatchTransform(PlainTransform):
    def apply_all(self, records: Sequence[Any]) -> Sequence[Any]:
        return [super(PlainBatchTransform, self).apply(record) for record in records]


class PlainPredicate(Predicate):
    def configure(self, configs: Mapping[str, str]) -> None: ...

    def config(self) -> ConfigDef:
        return SETTINGS

    def test(self, record: Any) -> bool:
        return True

    def close(self) -> None: ...


class PlainBatchPredicate(PlainPredicate):
    def test_batch(self, batch: RecordBatch) -> bool | None:
        return True


class PlainConverter(Converter):
    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None: ...

    def config(self) -> ConfigDef:
        return SETTINGS

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any, headers: Any = None) -> bytes | None:
        return None if value is None else str(value).encode()

    def to_connect_data(self, topic: str, data: bytes | None, headers: Any = None) -> SchemaAndValue:
        return SchemaAndValue(STRING_SCHEMA, None if data is None else data.decode())


class PlainBatchConverter(PlainConverter):
    """Looks at columns, and then would rather have the records one by one, but for its keys."""

    def from_connect_all(self, topic: str, column: Column) -> Sequence[bytes | None] | None:
        return None

    def to_connect_all(self, topic: str, data: list[bytes]) -> Column | None:
        return Column(STRING_SCHEMA, [each.decode() for each in data])


class PlainHeaderConverter(HeaderConverter):
    def configure(self, configs: Mapping[str, Any]) -> None: ...

    def config(self) -> ConfigDef:
        return SETTINGS

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return str(value).encode()

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(STRING_SCHEMA, None if data is None else data.decode())


class PlainProvider(ConfigProvider):
    def configure(self, configs: Mapping[str, str]) -> None: ...

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        return ConfigData({key: f"{path}-{key}" for key in keys})

    def close(self) -> None: ...


CHAIN = {
    "name": "unit", "transforms": "t", "transforms.t.type": "PlainTransform", "transforms.t.predicate": "p", "predicates": "p",
    "predicates.p.type": "PlainPredicate", "key.converter": "PlainConverter", "value.converter": "PlainConverter",
    "header.converter": "PlainHeaderConverter",
}  # fmt: skip
BATCHES = {
    **CHAIN, "transforms.t.type": "PlainBatchTransform", "predicates.p.type": "PlainBatchPredicate",
    "key.converter": "PlainBatchConverter", "value.converter": "PlainBatchConverter",
}  # fmt: skip


class Parts(Registry):
    """The classes above, which meddle."""

    def __init__(self, meddler: Meddler) -> None:
        apis: dict[type[Any], tuple[type[Any], ...]] = {
            PlainTransform: (Transformation,), PlainBatchTransform: (Transformation,), PlainPredicate: (Predicate,),
            PlainBatchPredicate: (Predicate,),
            PlainConverter: (Converter,), PlainBatchConverter: (Converter,), PlainHeaderConverter: (HeaderConverter,),
            PlainProvider: (ConfigProvider,), PlainSource: (Connector, SourceConnector), PlainSink: (Connector, SinkConnector),
        }  # fmt: skip
        super().__init__(_INSTALLED.plugins)
        self._bases = {base.__name__: (base, kinds) for base, kinds in apis.items()}
        self._own: dict[str, type[Any]] = {}
        self.meddler = meddler

    def load(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> type[Any]:
        if name not in self._bases:
            return super().load(name, kind, version, beside)
        if name not in self._own:
            base, kinds = self._bases[name]
            self._own[name] = meddling(base, self.meddler, kinds)
        return self._own[name]

    def find(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> PluginDesc:
        if name in self._bases:
            return PluginDesc(name, name, name, kind, "1", INSTALLED)
        return super().find(name, kind, version, beside)


class Deaf:
    """Where a child says what it is about to ask."""

    def send(self, frame: bytes) -> None: ...


def source(parts: Parts, config: dict[str, str], boundary: PollBoundary | None = None) -> Any:
    """A source task, from its start to its stop: what was sent, and which offset is stored."""
    task = meddling(PlainSourceTask, parts.meddler, _kinds(SourceTask))()
    world, store = SourceWorld(boundary, plugin=task), MemoryStore(_HOST)
    transforms = Transforms(config, parts, owned=True)
    chain = SourceChain(converters.make(config, _HOST.settings, parts), world.errors)
    pump = SourcePump(world.delivery, SourceConversion(chain, transforms.steps, world.errors, True))
    properties = {"number": "0"}
    task.version()
    task.initialize(source_task._Context(properties, StoredOffsets(store, lambda: False), None, Counts()))
    task.start(properties)
    for now in range(4):
        pump.step(task.poll() or (), now * INTERVAL_S)
    pump.end(failed=False)
    task.stop()
    transforms.close()
    messages = [(message[0], message[1], message[2], message[7]) for message in world.producer.taken if message[0] != OFFSETS]
    return messages, world.store.stored, task.context.configs()


def sink(parts: Parts, config: dict[str, str], batches: bool = False) -> Any:
    """A sink task, from its start to its stop: what it took, and what is committed."""
    task = meddling(PlainSinkTask, parts.meddler, _kinds(SinkTask))()
    transforms = Transforms(config, parts, owned=True)

    def intake(errors: Errors, use: TopicUse) -> SinkConversion:
        chain = SinkChain(converters.make(config, _HOST.settings, parts), errors)
        return SinkConversion(chain, transforms.steps, errors, use, batches)

    world = SinkWorld(plugin=task, intake=intake)
    task.version()
    task.initialize(world.pump.context)
    task.start({"number": "0"})
    task.interrupt()
    places = TopicPartition("t", 0), TopicPartition("t", 1)
    given = list(places)
    world.pump.context.offset(places[0], 0)
    started = world.pump.assigned(given)
    assert given == list(places), "the consumer's own list"
    assert started == {places[0]: 0}
    world.consumer.assignment.update(places)
    world.step(*(Message(("t", 0, number), str(number).encode(), b"k") for number in range(COUNT)))
    world.step(after=10)
    world.step(Message(("t", 1, 0), b"headed", None, marks=[("h", b"v")]), after=10)
    world.step(after=10)
    world.step(after=INTERVAL_S)
    taken = [place for place in given if place.partition == 1]
    world.pump.revoked(taken)
    assert taken == [places[1]], "the consumer's own list"
    world.consumer.assignment.discard(places[1])
    world.consumer.revoke(places[0])
    task.stop()
    transforms.close()
    return task.values, world.committed, world.pump.context.configs()


def connector(parts: Parts, name: str) -> Any:
    """A connector in its thread, asked for task configs twice: its statuses, and what it has published last."""
    host = MemoryHost("127.0.0.1:1", parts)  # type: ignore[arg-type]
    config = {"connector.class": name, "tasks.max": "2"}
    unit = host.unit({**config, **({"topics": "t"} if name == "PlainSink" else {})}, task=None)
    until(lambda: host.configs or "FAILED" in host.states)
    end(unit)
    failures = [text for state, text in host.statuses if text and state.value != "UNASSIGNED"]
    return list(dict.fromkeys(host.states)), failures, host.configs and host.configs[-1][0]


def validation(parts: Parts, name: str) -> Any:
    """What REST would answer to a config, and to other offsets."""
    asked = {"name": "c", "connector.class": name, "topic": "u"}
    if name == "PlainSource":
        asked |= {"exactly.once.support": "required", "transaction.boundary": "connector"}
    else:
        asked |= {"topics": "t"}
    worker = {"exactly_once": True, "converters": {}}
    made = Call(parts, Deaf(), worker, Providers(parts, {}))  # type: ignore[arg-type]
    offsets = [(["t", 0], 1)] if name == "PlainSink" else [({"of": "x"}, {"last": 1})]
    infos = made.validate(name, dict(asked))
    values = {row["value"]["name"]: (row["value"]["value"], row["value"]["errors"]) for row in infos["configs"]}
    return values, made.alter_offsets(name, dict(asked), offsets)


def provider(parts: Parts) -> Any:
    """What references stand for, asked twice."""
    worker = {"config.providers": "p", "config.providers.p.class": "PlainProvider", "config.providers.p.param.url": "u"}
    providers = Providers(parts, worker)
    found = [providers.resolve([{"a": "${p:path:x}", "b": "${p:path:y}"}]) for _ in range(2)]
    providers.close()
    return [(one.values, one.failures) for one in found]


def _kinds(api: type[Any]) -> tuple[type[Any], ...]:
    return tuple(kind for kind in reversed(api.__mro__) if kind.__module__ == api.__module__)
