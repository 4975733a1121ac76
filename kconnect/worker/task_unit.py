"""
A task in its thread. Which kind it is, its connector's class says; the two loops are in `source_task.py`, where a record
goes from the connector to Kafka, and `sink_task.py`, where it goes from Kafka to the connector. Made by `units.py`.
"""

from __future__ import annotations

from typing import Protocol

from kconnect.api.connector import Connector, SinkConnector
from kconnect.worker.sink_task import SinkLoop
from kconnect.worker.source_task import SourceLoop
from kconnect.worker.unit import Unit


class Loop(Protocol):
    def run(self) -> None: ...

    def wake(self) -> None: ...


class TaskUnit(Unit):
    _loop: Loop | None = None

    def run(self) -> None:
        config = self.config()
        loaded = self.ports.plugins.load(config["connector.class"], "connector")
        connector: Connector = loaded()
        task = connector.task_class()()
        self.version = task.version()
        properties = {name: value for name, value in (self.spec.task_config or {}).items() if value is not None}
        if isinstance(connector, SinkConnector):
            self._loop = SinkLoop(self, task, config, properties)  # type: ignore[arg-type]
        else:
            self._loop = SourceLoop(self, task, config, properties)  # type: ignore[arg-type]
        self._loop.run()

    def wake(self) -> None:
        loop = self._loop
        if loop is not None:
            loop.wake()
