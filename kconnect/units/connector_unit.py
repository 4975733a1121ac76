"""
A connector instance in its thread: it makes the task configs, which the leader then commits.

Made by `units.py`. Read next: `core/herder/leader.py` for what happens to the configs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from kconnect.api.config import ConfigDef
from kconnect.api.connector import Connector, SinkConnector
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.settings import references
from kconnect.core.settings.common import TASKS_MAX, TASKS_MAX_ENFORCE
from kconnect.core.settings.connector import SINK_CONFIG, SOURCE_CONFIG
from kconnect.core.settings.operation import Operation
from kconnect.core.settings.worker import for_plugins, tell
from kconnect.core.state.records import TargetState
from kconnect.core.task import answers
from kconnect.core.task.lifecycle import Event
from kconnect.core.task.ports import OffsetStore
from kconnect.core.task.repeats import Repeats
from kconnect.errors import ConnectError, UnrecoverableError
from kconnect.plugins import chain
from kconnect.plugins.java_names import task_class_name
from kconnect.plugins.reach import Reach
from kconnect.plugins.registry import class_name, java_name
from kconnect.processes import traces
from kconnect.units import about
from kconnect.units.unit import Ports, Unit, summary

log = logging.getLogger(__name__)

_BETWEEN_S = 0.1
_MOST_TASKS = 10_000
_MOST_DEDICATED = 512
"""Of a connector whose tasks have a process each."""
_MOST_CHARACTERS = 256 * 2**20
"""Of the task configs of one connector, which are records of the config topic, and are kept by each worker."""


class ConnectorUnit(Unit):
    def __init__(self, spec: UnitSpec, ports: Ports, target: TargetState) -> None:
        super().__init__(spec, ports, target)
        self._requested = False
        self._raised: Exception | None = None
        self._repeats = Repeats()
        self._asked_at = 0.0
        self._reads_until: float | None = None
        """As long as it may take to read offsets in `stop`, which has begun."""

    def run(self) -> None:
        raw = self.config()
        loaded = chain.connector(raw).load(self.ports.plugins)
        connector: Connector = loaded()
        self.modules.add(loaded.__module__.partition(".")[0])
        self.version = about.version_of(connector)
        self.about = about.of_connector(connector, "sink" if isinstance(connector, SinkConnector) else "source")
        begun = False
        offsets: OffsetStore | None = None
        try:
            if not self.hold_while_paused():
                return
            (config,) = self.resolve(raw)
            Reach.of_settings(self.ports.settings).check(config)
            tell(connector, for_plugins(self.ports.settings.raw))
            self.moved(Event.START)
            offsets = self.ports.offset_store(self.spec.connector, config)
            if not isinstance(connector, SinkConnector):
                offsets.open(self.stopping.is_set)
            if not self.may_work():
                return
            # As in Connect: what these calls have opened before one of them fails, `stop` closes.
            begun = True
            connector.initialize(_Context(self, StoredOffsets(offsets, self._reads_no_more)))
            # A copy: what it does to that is nobody else's.
            connector.start(dict(config))
            self.moved(Event.STARTED)
            # What is asked for while `start` runs is answered by the first configs.
            self._requested = False
            self._ask(connector, config)
            self._serve(connector, config)
        except BaseException as error:  # noqa: BLE001 - reported: a plugin may raise anything
            self.fail(error)
        finally:
            try:
                if begun:
                    self._reads_until = time.monotonic() + self.ports.settings.offset_flush_timeout_ms / 1000
                    connector.stop()
            finally:
                if offsets is not None:
                    offsets.close(self.abandoned)

    def _reads_no_more(self) -> bool:
        """Whether the connector is not to wait for stored offsets: it is to stop. In its `stop` it may, for a moment."""
        if self._reads_until is None:
            return self.stopping.is_set()
        return self.abandoned or time.monotonic() > self._reads_until

    def _serve(self, connector: Connector, config: dict[str, str]) -> None:
        """
        Make task configs when asked, and at a resume, for what is outside may have changed; none while paused. What could not
        be made is made when `_repeats` says so: until then nobody's question makes it earlier.
        """
        paused, repeats = False, self._repeats
        while True:
            self.wait_for(
                lambda paused=paused: (  # type: ignore[misc]
                    self._raised or (self._requested and not paused and repeats.due is None) or self._is_paused() is not paused
                ),
                None if repeats.due is None else max(0.0, repeats.due - time.monotonic()),
            )
            if self.stopping.is_set():
                return
            with self.changed:
                turned, raised = self._is_paused() is not paused, self._raised
                paused = paused is not turned
                requested = self._requested if repeats.due is None else repeats.due <= time.monotonic()
                if not paused:
                    self._requested = False
            if raised is not None:
                raise raised
            if turned:
                self._goes_on()
                self.moved(Event.PAUSE if paused else Event.RESUME)
                requested = not paused
            if requested and not paused and self._is_due():
                self._ask(connector, config)

    def _is_due(self) -> bool:
        """
        Wait until the last call for task configs is a moment ago: a connector that asks for the next one within each call would
        keep a core busy. Return whether the connector is to be asked then.
        """
        self.wait_for(lambda: self._raised is not None, max(0.0, self._asked_at + _BETWEEN_S - time.monotonic()))
        return self._raised is None and not self.stopping.is_set()

    def _is_paused(self) -> bool:
        return self.target is not TargetState.STARTED

    def _ask(self, connector: Connector, config: dict[str, str]) -> None:
        """
        Have task configs made and handed over. If the connector raises an error, it is asked again later, as in Connect; after
        the last attempt the error is raised.
        """
        self._asked_at = time.monotonic()
        limit = self._limited(TASKS_MAX.of(self._framework(connector).parse(config)))
        try:
            answer = connector.task_configs(limit)
            if isinstance(answer, Iterator):
                answer = list(answer)
        except (UnrecoverableError, MemoryError):
            raise
        except Exception as error:
            if (pause := self._repeats.failed(time.monotonic())) is None:
                log.error("Asked for task configs %s times, and not any more", self._repeats.failures)
                raise
            self._retries(error, connector, pause)
            return
        if self._goes_on():
            self.moved(Event.RETRY)
        configs = answers.task_configs(class_name(type(connector)), "task_configs", answer)
        self._publish(connector, config, configs, limit)

    def _retries(self, error: Exception, connector: Connector, pause: float) -> None:
        """Say in the log, in the status and in what the host reports that task configs could not be made, and why."""
        call = "taskConfigs()" if java_name(type(connector)) is not None else "task_configs()"
        self.retries.tries_again(call, error, time.time())
        reason, count = summary(error), self._repeats.failures
        text = f"{call} has failed {'once' if count == 1 else f'{count} times'} and is called again in {pause:g} s: {reason}"
        log.warning("%s", text, exc_info=error)
        self.moved(Event.RETRY, f"{text}\n{traces.frames(error)}")

    def _goes_on(self) -> bool:
        """Forget what has failed so far, if anything has: it is not retried any more. Return whether it was."""
        self.retries.goes_on()
        return self._repeats.end()

    @staticmethod
    def _framework(connector: Connector) -> ConfigDef:
        return SINK_CONFIG if isinstance(connector, SinkConnector) else SOURCE_CONFIG

    def _publish(self, connector: Connector, config: dict[str, str], configs: list[dict[str, str]], limit: int) -> None:
        if len(configs) > limit:
            message = (
                f"The connector {self.spec.connector} has generated {len(configs)} tasks, which is greater than "
                f"{limit}, the maximum number of tasks it is configured to create. "
            )
            if TASKS_MAX_ENFORCE.of(self._framework(connector).parse(config)):
                raise ConnectError(
                    f"{message}This behaviour should be considered a bug and is disallowed. If necessary, it can be "
                    "permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; however, this "
                    "option will be removed in a future release of Kafka Connect."
                )
            log.warning("%s", message)
        size = sum(len(name) + len(value) for task_config in configs for name, value in task_config.items())
        if size > _MOST_CHARACTERS:
            raise ConnectError(
                f"The configs of the {len(configs)} tasks of {self.spec.connector} have {size} characters, and may have "
                f"{_MOST_CHARACTERS} together: lower tasks.max, or make the config smaller"
            )
        task_class = task_class_name(cast(type, answers.task_class(class_name(type(connector)), connector.task_class())))
        common = {"task.class": task_class}
        for name in ("topics", "topics.regex"):
            if isinstance(connector, SinkConnector) and config.get(name):
                common[name] = config[name]
        # Who reads the topics, or asks REST, sees what the user wrote.
        stored = references.put_back([{**task_config, **common} for task_config in configs], self.config(), self.resolved)
        self.ports.publish_task_configs(self.spec.connector, stored, self.spec.config_offset)

    def _limited(self, most: int) -> int:
        """Return how many tasks the connector is asked for at most: many connectors make as many as they may."""
        possible = _MOST_DEDICATED if Operation.of(self.spec.connector_config).dedicated else _MOST_TASKS
        if most > possible:
            log.warning(
                "tasks.max of %s is %s, of which %s tasks are possible: more would take the memory of all that run here",
                self.spec.connector,
                most,
                possible,
            )
        return min(most, possible)

    def request_reconfiguration(self) -> None:
        with self.changed:
            self._requested = True
            self.changed.notify_all()

    def raise_in_thread(self, error: Exception) -> None:
        """Fail the connector for an error that it met in a thread of its own, whatever it gives in its place."""
        if not isinstance(error, BaseException):
            error = answers.AnswerError(f"context.raise_error() was given {answers.kind_of(error)}: it must be an exception")
        with self.changed:
            self._raised = error
            self.changed.notify_all()


class _Context:
    """The `kconnect.api.connector.ConnectorContext` of a connector."""

    def __init__(self, unit: ConnectorUnit, offsets: StoredOffsets) -> None:
        self._unit = unit
        self.offsets = offsets

    def request_task_reconfiguration(self) -> None:
        self._unit.request_reconfiguration()

    def raise_error(self, error: Exception) -> None:
        self._unit.raise_in_thread(error)


class StoredOffsets:
    """A `kconnect.api.task.OffsetReader`, for as long as nobody has `cancelled`."""

    def __init__(self, store: OffsetStore, cancelled: Callable[[], bool]) -> None:
        self._store, self._cancelled = store, cancelled

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        # Copies: what the store has is for all tasks.
        stored = self._store.read([dict(partition) for partition in partitions], self._cancelled)
        return [None if offset is None else dict(offset) for offset in stored]
