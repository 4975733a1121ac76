"""Plugins that each do one thing wrong, for `test_plugins.py`. They stand at a module's top level, as entry points need it."""

from __future__ import annotations

import datetime
import sys
import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kconnect.api import (
    STRING_SCHEMA,
    Config,
    ConfigData,
    ConfigDef,
    ConfigKey,
    ConfigProvider,
    Converter,
    DataError,
    ExactlyOnceSupport,
    Header,
    Predicate,
    Range,
    Schema,
    SchemaAndValue,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Transformation,
    Type,
)

CONFIG = ConfigDef(ConfigKey("topic", Type.STRING, doc="Where records go."), ConfigKey("word", Type.STRING, "a", doc="A word."))


NOTHING: dict[str, str] = {}


class Counting(SourceConnector):
    """Is right: others change one thing of it."""

    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._props = props

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[Any]:
        return CountingTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._props)]

    def config(self) -> ConfigDef:
        return CONFIG


class Five(Counting):
    """Has a number for its tasks' configs."""

    def task_configs(self, max_tasks: int) -> Any:
        return 5


class CountingTask(SourceTask):
    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._settings = CONFIG.parse(props)
        self._stopped = threading.Event()
        stored = self.context.offsets.offset({"counter": "one"})
        self._last: int = stored["number"] if stored else 0

    def poll(self) -> list[SourceRecord] | None:
        self._last += 1
        return [self.record(self._last)]

    def record(self, number: int) -> SourceRecord:
        topic = self._settings["topic"]
        return SourceRecord({"counter": "one"}, {"number": number}, topic, value_schema=STRING_SCHEMA, value=str(number))

    def stop(self) -> None:
        self._stopped.set()


def counting(task: type[SourceTask] | None = None, **methods: Any) -> type[Counting]:
    """A connector like `Counting`, but for these methods or the class of its tasks."""
    if task is not None:
        methods["task_class"] = lambda self: task
    return type("Changed", (Counting,), {"__module__": __name__, "__qualname__": "Changed", **methods})


def counting_task(**methods: Any) -> type[Counting]:
    return counting(type("ChangedTask", (CountingTask,), {"__module__": __name__, "__qualname__": "ChangedTask", **methods}))


def raising(*_: Any) -> Any:
    raise KeyError("oops")


def leaving(*_: Any) -> Any:
    sys.exit(3)


class WithLateStop(CountingTask):
    def poll(self) -> list[SourceRecord] | None:
        records = super().poll()
        if self._last > 1:
            self._stopped.wait()
        return records


class NeedsSettings(Counting):
    def __init__(self, word: str) -> None:
        self.word = word


class Unfinished(SourceConnector):
    def version(self) -> str:
        return "1.0"


class NoInstanceYet(Counting):
    def config(self) -> ConfigDef:
        return ConfigDef(ConfigKey(self._props["topic"], Type.STRING, doc="."))


class BadSettings(Counting):
    def config(self) -> ConfigDef:
        return ConfigDef(
            *CONFIG.keys.values(),
            ConfigKey("tasks.max", Type.INT, 1, doc="The framework's."),
            ConfigKey("silent", Type.STRING, "a"),
            ConfigKey("db.password", Type.STRING, "", doc="A secret."),
            ConfigKey("limit", Type.INT, 0, doc="At least one.", validator=Range.at_least(1)),
        )


class Preflight(Counting):
    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport | None:
        return True  # type: ignore[return-value]


class RaisingValidation(Counting):
    def validate(self, props: dict[str, str]) -> Config:
        props["topic"].lower()
        return super().validate(props)


class Keeping(SinkConnector):
    """Is right: its task keeps what it is given."""

    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._props = props

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[Any]:
        return KeepingTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._props) for _ in range(max_tasks)]

    def config(self) -> ConfigDef:
        return ConfigDef()


class KeepingTask(SinkTask):
    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self.kept: list[SinkRecord] = []
        self.calls: list[str] = []

    def open(self, partitions: Collection[Any]) -> None:
        self.calls.append("open " + " ".join(f"{topic}-{partition}" for topic, partition in partitions))

    def put(self, records: list[SinkRecord]) -> None:
        reporter = self.context.errant_record_reporter()
        for record in records:
            if record.value == "bad" and reporter is not None:
                reporter.report(record, DataError("it is bad"))
            else:
                self.kept.append(record)

    def flush(self, offsets: dict[Any, Any]) -> None:
        self.calls.append("flush")

    def close(self, partitions: Collection[Any]) -> None:
        self.calls.append("close")

    def stop(self) -> None:
        self.calls.append("stop")


class ChangingTask(KeepingTask):
    def put(self, records: list[SinkRecord]) -> None:
        for record in records:
            record.value["seen"] = True


class ChangingSink(Keeping):
    def task_class(self) -> type[Any]:
        return ChangingTask


class ImpatientTask(KeepingTask):
    def put(self, records: list[SinkRecord]) -> None:
        self.kept.append(records[0])


class ImpatientSink(Keeping):
    def task_class(self) -> type[Any]:
        return ImpatientTask


class Upper(Transformation[Any]):
    """Is right."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._field = self.config().parse(configs)["field"]

    def config(self) -> ConfigDef:
        return ConfigDef(ConfigKey("field", Type.STRING, doc="The field."))

    def version(self) -> str:
        return "1.0"

    def apply(self, record: Any) -> Any:
        if record.value is None:
            return record
        return record.new_record(value={**record.value, self._field: record.value[self._field].upper()})


class InPlace(Upper):
    def apply(self, record: Any) -> Any:
        if record.value is not None:
            record.value[self._field] = record.value[self._field].upper()
        return record


class NoTombstones(Upper):
    def apply(self, record: Any) -> Any:
        return record.new_record(value={**record.value})


class NewPlace(Upper):
    def apply(self, record: Any) -> Any:
        return SourceRecord({"other": 1}, None, record.topic) if isinstance(record, SourceRecord) else record


class OtherBatches(Upper):
    def apply_all(self, records: Any) -> Any:
        return records


class NoRecord(Upper):
    def apply(self, record: Any) -> Any:
        return record.value


class NoTopic(Upper):
    def apply(self, record: Any) -> Any:
        return record.new_record(topic="a b")


class NoData(Upper):
    def apply(self, record: Any) -> Any:
        return record.new_record(value={1, 2})


class Dates(Upper):
    """Is right: another step may make a text of it."""

    def apply(self, record: Any) -> Any:
        return record.new_record(value=record.value and datetime.datetime(2026, 1, 31))


class Maybe(Predicate):
    def configure(self, configs: Mapping[str, str]) -> None:
        """Nothing to set."""

    def config(self) -> ConfigDef:
        return ConfigDef()

    def version(self) -> str:
        return "1.0"

    def test(self, record: Any) -> bool:
        return record.value and "maybe"  # type: ignore[return-value]


class Texts(Converter):
    """Is right."""

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        self.is_key = is_key

    def version(self) -> str:
        return "1.0"

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        return None if value is None else str(value).encode()

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        try:
            return SchemaAndValue(None, None if data is None else data.decode())
        except UnicodeDecodeError as error:
            raise DataError(f"No UTF-8: {error}") from error


class Careless(Texts):
    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        return SchemaAndValue(None, data.decode())  # type: ignore[union-attr]


class RaisingProvider(ConfigProvider):
    def configure(self, configs: Mapping[str, str]) -> None:
        """Nothing to set."""

    def version(self) -> str:
        return "1.0"

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        return ConfigData({key: NOTHING[key] for key in keys})
