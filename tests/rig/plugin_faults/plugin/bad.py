"""
Connectors and tasks that misbehave where their settings `fault.place` and `fault.kind` say.

What knows no settings, as a constructor, is another class for each kind: `BadConstructor_hang` and the like, made at the end.
Read next: `bad_parts.py`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kconnect.api.config import Config, ConfigDef, ConfigKey, Type
from kconnect.api.connector import Connector, ConnectorContext, SinkConnector, SourceConnector
from kconnect.api.record import OffsetAndMetadata, RecordMetadata, SinkRecord, SourceRecord, TopicPartition
from kconnect.api.task import SinkTask, SinkTaskContext, SourceTask, SourceTaskContext
from kconnect.data.schema import STRING_SCHEMA

from . import faults

SETTINGS = ConfigDef(
    ConfigKey("topic", Type.STRING, None, doc="Where the source's records go."),
    ConfigKey("fault.place", Type.STRING, "", doc="Which call misbehaves; none without it."),
    ConfigKey("fault.kind", Type.STRING, "", doc="How."),
)


class _Places:
    fixed = ("", "")
    """Place and kind of a class that can't read them in its settings."""
    _chosen = ("", "")

    def chosen(self, props: Mapping[str, Any]) -> None:
        self._chosen = (str(props.get("fault.place", "")), str(props.get("fault.kind", "")))

    def at(self, place: str, *given: Any) -> None:
        """
        `given` is what the call was given. `connector.version (host)` is a place, too: where configs are validated nothing
        happens. `*` is every place.
        """
        places = {place, "*"} if faults.in_sandbox() else {place, "*", f"{place} (host)"}
        for where, kind in (self.fixed, self._chosen):
            if where in places and kind:
                faults.strike(where, kind, given, getattr(self, "context", None))


class _BadConnector(_Places, Connector):
    def __init__(self) -> None:
        self.at("connector.constructor")

    def version(self) -> str:
        self.at("connector.version")
        return "1.0"

    def config(self) -> ConfigDef:
        self.at("connector.config")
        return SETTINGS

    def validate(self, props: dict[str, str]) -> Config:
        self.chosen(props)
        answer = dict(props)
        self.at("connector.validate", props)
        return super().validate(answer)

    def initialize(self, context: ConnectorContext) -> None:
        super().initialize(context)
        # It gets its settings with `start` only.
        self.at("connector.initialize")

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)
        self.chosen(props)
        self.at("connector.start", props)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        self.at("connector.task_configs")
        return [self._props]

    def stop(self) -> None:
        self.at("connector.stop")


class BadSource(_BadConnector, SourceConnector):
    def task_class(self) -> type[SourceTask]:
        self.at("connector.task_class")
        return BadSourceTask

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        self.chosen(connector_config)
        self.at("connector.alter_offsets", connector_config, offsets)
        return True


class BadSink(_BadConnector, SinkConnector):
    def task_class(self) -> type[SinkTask]:
        self.at("connector.task_class")
        return BadSinkTask


class BadSourceTask(_Places, SourceTask):
    def version(self) -> str:
        return "1.0"

    def initialize(self, context: SourceTaskContext) -> None:
        super().initialize(context)
        self.chosen(context.configs())
        self.at("source.initialize")

    def start(self, props: dict[str, str]) -> None:
        self._props, self._number = dict(props), 0
        self.at("source.start", props)

    def poll(self) -> list[SourceRecord] | None:
        time.sleep(0.2)
        self._number += 1
        # The first records tell that everything works until then.
        if self._number > 3:
            self.at("source.poll")
        return [SourceRecord({"bad": "1"}, {"number": self._number}, self._props["topic"], 0, None, None, STRING_SCHEMA, "bad")]

    def commit(self) -> None:
        self.at("source.commit")

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.at("source.commit_record", record)

    def stop(self) -> None:
        self.at("source.stop")


class BadSinkTask(_Places, SinkTask):
    def version(self) -> str:
        return "1.0"

    def initialize(self, context: SinkTaskContext) -> None:
        super().initialize(context)
        self.chosen(context.configs())
        self.at("sink.initialize")

    def start(self, props: dict[str, str]) -> None:
        self.at("sink.start", props)

    def open(self, partitions: Collection[TopicPartition]) -> None:
        self.at("sink.open", partitions)

    def put(self, records: list[SinkRecord]) -> None:
        if records:
            self.at("sink.put", records)

    def pre_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
        answer = dict(offsets)
        self.at("sink.pre_commit", offsets)
        return answer

    def interrupt(self) -> None:
        self.at("sink.interrupt")

    def close(self, partitions: Collection[TopicPartition]) -> None:
        self.at("sink.close", partitions)

    def stop(self) -> None:
        self.at("sink.stop")


def _each_kind(place: str, prefix: str) -> None:
    for kind in faults.KINDS:
        name = f"{prefix}_{kind.replace('.', '_')}"
        globals()[name] = type(name, (BadSource,), {"fixed": (place, kind), "__module__": __name__})


_each_kind("connector.constructor", "BadConstructor")
_each_kind("connector.version", "BadVersion")
_each_kind("connector.constructor (host)", "BadConstructorInHost")
_each_kind("connector.version (host)", "BadVersionInHost")
_each_kind("connector.config", "BadConfig")
_each_kind("connector.initialize", "BadInitialize")
_each_kind("connector.task_class", "BadTaskClass")
