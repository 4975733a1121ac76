"""
A connector instance in its thread: it makes the task configs, which the leader then commits.

Made by `units.py`. Read next: `core/herder/leader.py` for what happens to the configs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from kconnect.api.connector import Connector, SinkConnector
from kconnect.api.errors import ConnectError
from kconnect.core.cluster.host import UnitSpec
from kconnect.core.settings.connector import SINK_CONFIG, SOURCE_CONFIG
from kconnect.core.state.records import TargetState
from kconnect.core.task.lifecycle import Event
from kconnect.plugins.java_names import task_class_name
from kconnect.worker.unit import Ports, Unit

log = logging.getLogger(__name__)


class ConnectorUnit(Unit):
    def __init__(self, spec: UnitSpec, ports: Ports, target: TargetState) -> None:
        super().__init__(spec, ports, target)
        self._requested = False
        self._raised: Exception | None = None

    def run(self) -> None:
        config = self.config()
        loaded = self.ports.plugins.load(config["connector.class"], "connector")
        connector: Connector = loaded()
        self.version = connector.version()
        started = False
        try:
            if not self.hold_while_paused():
                return
            self.moved(Event.START)
            connector.initialize(_Context(self))
            connector.start(config)
            started = True
            self.moved(Event.STARTED)
            # What is asked for while `start` runs is answered by the first configs.
            self._requested = False
            self._publish(connector, config)
            self._serve(connector, config)
        except BaseException as error:  # noqa: BLE001 - reported: a plugin may raise anything
            self.fail(error)
        finally:
            if started:
                connector.stop()

    def _serve(self, connector: Connector, config: dict[str, str]) -> None:
        """Make task configs when asked, and at a resume, for what is outside may have changed; none while paused."""
        paused = False
        while True:
            self.wait_for(
                lambda paused=paused: (  # type: ignore[misc]
                    self._raised or (self._requested and not paused) or self._is_paused() is not paused
                )
            )
            if self.stopping.is_set():
                return
            with self.changed:
                turned, raised = self._is_paused() is not paused, self._raised
                paused = paused is not turned
                requested = self._requested
                if not paused:
                    self._requested = False
            if raised is not None:
                raise raised
            if turned:
                self.moved(Event.PAUSE if paused else Event.RESUME)
                requested = not paused
            if requested and not paused:
                self._publish(connector, config)

    def _is_paused(self) -> bool:
        return self.target is not TargetState.STARTED

    def _publish(self, connector: Connector, config: dict[str, str]) -> None:
        framework = SINK_CONFIG if isinstance(connector, SinkConnector) else SOURCE_CONFIG
        settings = framework.parse(config)
        limit: int = settings["tasks.max"]
        configs = connector.task_configs(limit)
        if len(configs) > limit:
            message = (
                f"The connector {self.spec.connector} has generated {len(configs)} tasks, which is greater than "
                f"{limit}, the maximum number of tasks it is configured to create. "
            )
            if settings["tasks.max.enforce"]:
                raise ConnectError(
                    f"{message}This behaviour should be considered a bug and is disallowed. If necessary, it can be "
                    "permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; however, this "
                    "option will be removed in a future release of Kafka Connect."
                )
            log.warning("%s", message)
        task_class = task_class_name(connector.task_class())
        common = {"task.class": task_class}
        for name in ("topics", "topics.regex"):
            if isinstance(connector, SinkConnector) and config.get(name):
                common[name] = config[name]
        self.ports.publish_task_configs(
            self.spec.connector, [{**made, **common} for made in configs], self.spec.config_offset
        )

    def request_reconfiguration(self) -> None:
        with self.changed:
            self._requested = True
            self.changed.notify_all()

    def raise_in_thread(self, error: Exception) -> None:
        """Fail the connector for an error that it met in a thread of its own."""
        with self.changed:
            self._raised = error
            self.changed.notify_all()


class _Context:
    """What `kconnect.api.connector.ConnectorContext` promises."""

    def __init__(self, unit: ConnectorUnit) -> None:
        self._unit = unit
        self.offsets = StoredOffsets(unit)

    def request_task_reconfiguration(self) -> None:
        self._unit.request_reconfiguration()

    def raise_error(self, error: Exception) -> None:
        self._unit.raise_in_thread(error)


class StoredOffsets:
    """What `kconnect.api.task.OffsetReader` promises."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        unit = self._unit
        wanted = [dict(each) for each in partitions]
        return unit.ports.read_offsets(unit.spec.connector, wanted, unit.stopping.is_set)
