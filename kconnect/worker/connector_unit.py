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
from kconnect.core.state.records import State, TargetState
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
        connector.initialize(_Context(self))
        started = False
        said: TargetState | None = None
        try:
            while not self.stopping.is_set():
                with self.changed:
                    target, requested, raised = self.target, self._requested, self._raised
                    self._requested = False
                if raised is not None:
                    raise raised
                if target is TargetState.STARTED:
                    if not started:
                        connector.start(config)
                        started = True
                    # Also on resuming: what is outside may have changed meanwhile.
                    if said is not target or requested:
                        if said is not target:
                            self.report(State.RUNNING)
                        self._publish(connector, config)
                elif said is not target:
                    self.report(State.PAUSED)
                said = target
                with self.changed:
                    self.changed.wait_for(
                        lambda said=said: (  # type: ignore[misc]
                            self.stopping.is_set() or self._requested or self._raised or self.target is not said
                        )
                    )
        finally:
            if started:
                connector.stop()

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

    def fail(self, error: Exception) -> None:
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
        self._unit.fail(error)


class StoredOffsets:
    """What `kconnect.api.task.OffsetReader` promises."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return self._unit.ports.read_offsets(self._unit.spec.connector, [dict(each) for each in partitions])
