"""
Java connectors, seen as `kconnect.api` has connectors: what they are asked is rare, so each call goes to Java by itself.

Made by `classes.py`. Tasks, which move records, are in `source_task.py` and `sink_task.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jpype

from kconnect.api.config import Config, ConfigDef
from kconnect.api.connector import Connector, ConnectorContext, ExactlyOnceSupport, SinkConnector, SourceConnector
from kconnect.api.record import TopicPartition
from kconnect.api.task import Task
from kconnect.core.task import answers
from kconnect.core.task.answers import AnswerError
from kconnect.errors import BadRequestError, ConnectError
from kconnect.jvm import contexts, loading, machine, settings, task_class, values
from kconnect.jvm.errors import JavaError, calling, kind_of

_TASKS = {False: "source.SourceTask", True: "sink.SinkTask"}


class _JavaConnector(Connector):
    java_class: str
    java_place: str
    """The directory or archive that its class comes from."""

    def __init__(self) -> None:
        self._it = loading.new(self.java_class, self.java_place)

    def version(self) -> str:
        with calling(self._it):
            return str(self._it.version())

    def initialize(self, context: ConnectorContext) -> None:
        super().initialize(context)
        with calling(self._it):
            self._it.initialize(self._context(context))

    def _context(self, context: ConnectorContext) -> Any:
        raise NotImplementedError

    def start(self, props: dict[str, str]) -> None:
        with calling(self._it):
            self._it.start(machine.to_map(props))

    def stop(self) -> None:
        with calling(self._it):
            self._it.stop()

    def task_class(self) -> type[Task]:
        with calling(self._it):
            java_task_class = self._it.taskClass()
        return task_class.of(java_task_class, self.java_place, isinstance(self, SinkConnector))

    def task_class_named(self, name: str) -> type[Task]:
        """Return the class of tasks of that name, as its class loader has it. ConnectError if there is none."""
        is_sink = isinstance(self, SinkConnector)
        java_task_class = loading.find(name, self.java_place)
        if not jpype.JClass(f"org.apache.kafka.connect.{_TASKS[is_sink]}").class_.isAssignableFrom(java_task_class):
            raise ConnectError(f"{name} is no class of tasks of {self.java_class}")
        return task_class.of(java_task_class, self.java_place, is_sink)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Raise AnswerError for nulls in it, and for what is no text: Java's generics don't keep that out."""
        with calling(self._it):
            answer = self._it.taskConfigs(max_tasks)
            if answer is None:
                raise self._refusal("null")
            return [self._task_config(number, config) for number, config in enumerate(answer)]

    def _task_config(self, number: int, config: Any) -> dict[str, str]:
        if not isinstance(config, jpype.JClass("java.util.Map")):
            raise self._refusal(f"{kind_of(config)} as the config of task {number}")
        texts = {}
        for entry in config.entrySet():
            name, value = entry.getKey(), entry.getValue()
            for part, what in ((name, "the name of a setting"), ("" if value is None else value, "the value of a setting")):
                if not isinstance(part, str | jpype.JString):
                    raise self._refusal(f"{kind_of(part)} as {what} of task {number}")
            if value is not None:
                texts[str(name)] = str(value)
        return texts

    def _refusal(self, answer: str) -> AnswerError:
        return answers.refusal(self.java_class, "taskConfigs", answer, answers.CONFIGS)

    def config(self) -> ConfigDef:
        with calling(self._it):
            definition = self._it.config()
        if definition is None:
            raise BadRequestError(f"{self.java_class}.config() must return a ConfigDef that is not null.")
        return settings.JavaConfigDef(self._it, definition)

    def validate(self, props: dict[str, str]) -> Config:
        with calling(self._it):
            config = self._it.validate(machine.to_map(props))
        if config is None:
            raise BadRequestError(f"{self.java_class}.validate() must return a Config that is not null.")
        definition = self.config()
        with calling(self._it):
            return Config(settings.values(definition, config.configValues()))


class JavaSourceConnector(_JavaConnector, SourceConnector):
    def _context(self, context: ConnectorContext) -> Any:
        return contexts.SourceConnectorContext(context)

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport | None:
        with calling(self._it):
            support = self._it.exactlyOnceSupport(machine.to_map(props))
        return None if support is None else ExactlyOnceSupport(str(support.name()))

    def can_define_transaction_boundaries(self, props: dict[str, str]) -> bool:
        with calling(self._it):
            support = self._it.canDefineTransactionBoundaries(machine.to_map(props))
        return support is not None and str(support.name()) == "SUPPORTED"

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        java_offsets = jpype.JClass("java.util.HashMap")()
        for partition, offset in offsets:
            java_offsets.put(values.to_java(partition), values.to_java(offset))
        return _altered(self._it, connector_config, java_offsets)


class JavaSinkConnector(_JavaConnector, SinkConnector):
    def _context(self, context: ConnectorContext) -> Any:
        return contexts.SinkConnectorContext(context)

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        java_offsets = jpype.JClass("java.util.HashMap")()
        for place, offset in offsets.items():
            java_offsets.put(contexts.to_place(place), None if offset is None else jpype.JLong(offset))
        return _altered(self._it, connector_config, java_offsets)


def _altered(connector: Any, config: dict[str, str], offsets: Any) -> bool:
    try:
        with calling(connector):
            return bool(connector.alterOffsets(machine.to_map(config), offsets))
    except JavaError as error:
        if error.shown_as == "java.lang.UnsupportedOperationException":
            raise NotImplementedError(str(error)) from error
        raise
