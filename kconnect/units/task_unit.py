"""
A task in its thread. Which kind it is, its connector's class says; the two loops are in `source_task.py`, from the
connector to Kafka, and `sink_task.py`, from Kafka to the connector. Made by `units.py`.
"""

from __future__ import annotations

from typing import Protocol

from kconnect.api.connector import Connector, SinkConnector
from kconnect.core.settings.worker import for_plugins, tell
from kconnect.plugins import chain
from kconnect.plugins.reach import Reach
from kconnect.units import about, gate, task_class
from kconnect.units.sink_task import SinkLoop
from kconnect.units.source_task import SourceLoop
from kconnect.units.unit import Unit


class Loop(Protocol):
    def run(self) -> None: ...

    def wake(self) -> None: ...


class TaskUnit(Unit):
    _loop: Loop | None = None

    def run(self) -> None:
        raw = self.config()
        connector: Connector = chain.connector(raw).load(self.ports.plugins)()
        task = task_class.of(connector, (self.spec.task_config or {}).get("task.class"))()
        self.modules |= {type(part).__module__.partition(".")[0] for part in (connector, task)}
        self.version = about.version_of(task)
        # Before what its config refers to is asked for: as long as it does nothing, it need not be started anew for that.
        if not self.hold_while_paused():
            return
        stored = {name: value for name, value in (self.spec.task_config or {}).items() if value is not None}
        config, properties = self.resolve(raw, stored)
        Reach.of_settings(self.ports.settings).check(config, properties)
        tell(task, for_plugins(self.ports.settings.raw))
        is_sink = isinstance(connector, SinkConnector)
        if not is_sink and self.ports.settings.exactly_once_enabled and not gate.pass_gate(self):
            return
        make = SinkLoop if is_sink else SourceLoop
        self._loop = make(self, task, config, properties)
        # Behind the loop, which has better words for a part that can't be had.
        self.about = about.of_task(connector, "sink" if is_sink else "source", task, config, self.ports)
        self._loop.run()

    def wake(self) -> None:
        loop = self._loop
        if loop is not None:
            loop.wake()
