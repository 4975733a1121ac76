"""
The thread of a sink task: it reads, waits, pauses and stops, and steps the pump that does the rest.

`core/task/sink_pump.py` is where a record goes from Kafka to the connector; here its ports are made. The task is an ordinary
member of the consumer group `connect-<name>`, so its partitions, its lag and its offsets are Kafka's business, and a partition
has one owner even while a task moves. One that has read nothing for long leaves that group until there is something. Run by
`task_unit.py`. Read next: that pump, `core/task/resting.py`; for the other direction, `source_task.py`.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from contextlib import ExitStack
from math import inf
from typing import Any

from kconnect.api.task import SinkTask
from kconnect.core.state.records import TargetState
from kconnect.core.task.errant import Errant
from kconnect.core.task.lifecycle import Event
from kconnect.core.task.meters import SinkMeter
from kconnect.core.task.ports import Listener
from kconnect.core.task.resting import RestingConsumer
from kconnect.core.task.sink_pump import Ports, SinkPump
from kconnect.core.task.windows import Windows
from kconnect.kafka import clients
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.refusals import Access
from kconnect.kafka.resting import RestingClients
from kconnect.kafka.statistics import Statistics, of_consumer
from kconnect.plugins.registry import class_name
from kconnect.units import chains, owners, withdrawn
from kconnect.units.life import Life, topic_use
from kconnect.units.reports import Reports
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_BATCH = 500
"""Java's default of max.poll.records, which tasks may count on. What belongs to so many fits into a core's cache, too."""
_BYTES = 1 << 20
"""
About as much is read at once, of which the newest message's size tells how many that are: Java's max.partition.fetch.bytes. A
batch of five times as much took twice the CPU, in memory that the system gave and took back each time.
"""
_RELUCTANT_S, _ROUND_S = 10.0, 600.0
"""After so long one that could not rest tries again; one that rests joins its group for a moment."""
_WAIT_S, _QUIET_WAIT_S, _QUIET_S = 0.5, 5.0, 30.0
"""
How often the task's `put` is called when nothing comes, which is the clock of many tasks, and how often once the loop has read
nothing for so many seconds: of a thousand sinks most are idle, and each look around costs 50 µs. (Connect's tasks have a call
in each offset.flush.interval.ms, a minute.) A record, a stop, a pause and a resume are noticed at once in any case.
"""


class SinkLoop:
    """ConfigError for a config whose converters, transforms or topics can't be had."""

    def __init__(self, unit: Unit, task: SinkTask, config: dict[str, str], properties: dict[str, str]) -> None:
        settings = unit.ports.settings
        self._unit, self._task, self._properties = unit, task, properties
        self._reports = Reports(unit, config)
        self._flush_s = settings.offset_flush_timeout_ms / 1000
        client = clients.consumer(settings, unit.spec.connector, unit.spec.task or 0, config)
        self._interrupting: threading.Thread | None = None
        self._chain = chains.of_sink(
            *(unit, task, config, self._reports.errors, topic_use(unit), client["group.id"]),
            lambda: self._consumer.assignment,
        )
        try:
            self._pump = self._pumping(client, config)
        except BaseException:
            self._chain.close()
            raise

    def _pumping(self, client: dict[str, Any], config: dict[str, str]) -> SinkPump:
        unit, task, settings, errors = self._unit, self._task, self._unit.ports.settings, self._reports.errors
        windows = Windows.of(settings.metrics_sample_window_ms, settings.metrics_num_samples)
        unit.meter = meter = SinkMeter(windows, errors.counts, time.monotonic)
        unit.statistics = statistics = Statistics(client, of_consumer)
        client = {**client, **statistics.callbacks}
        self._limit = int(client.pop("max.poll.records", _BATCH))
        ports = Ports(
            Life(unit, self._flush_s),
            task,
            self._reports,
            meter,
            errors.counts,
            settings.offset_flush_interval_ms / 1000,
            self._flush_s,
            Errant(errors, class_name(type(task)), getattr(task, "reports_in_put_only", False)) if self._reports.any else None,
        )

        after_s = settings.sink_rest_after_ms / 1000
        self._rest_s = after_s if after_s >= 0 and _alone(unit.spec.connector, config, client) else inf

        def consumer(listener: Listener) -> RestingConsumer:
            watchers = unit.ports.watchers if self._rest_s < inf else None
            internal, access = settings.internal_topics, Access(client, self._reports.errors.counts, time.monotonic)
            # Not all at once: sinks of one topic come to rest together.
            round_s = _ROUND_S * random.uniform(0.8, 1)
            group = RestingClients(
                client, lambda member: TaskConsumer(client, config, member, internal=internal, access=access), watchers
            )
            self._consumer = RestingConsumer(group, listener, round_s, time.monotonic)
            return self._consumer

        intake = self._chain.intake
        return SinkPump(ports, intake if unit.batches is None else unit.batches.taking(intake), consumer, self._properties)

    def wake(self) -> None:
        self._consumer.wake()
        if not self._unit.stopping.is_set() or type(self._task).interrupt is SinkTask.interrupt:
            return
        if self._interrupting is None or not self._interrupting.is_alive():
            # A `put` may wait for an outside system, for longer than a host waits for its tasks. In a thread of its own: a
            # plugin that does not return must not hold up the host.
            self._interrupting = owners.thread(self._unit, self._interrupt, f"{self._unit.spec.unit} interrupt")
            self._interrupting.start()

    def _interrupt(self) -> None:
        try:
            self._task.interrupt()
        except BaseException:
            log.exception("The task's interrupt() failed")

    def run(self) -> None:
        unit, task = self._unit, self._task
        begun = False
        try:
            unit.moved(Event.START)
            self._reports.start()
            if not unit.may_work():
                return
            # As in Connect: what these calls have opened before one of them fails, `stop` closes.
            begun = True
            task.initialize(self._pump.context)
            task.start(self._properties)
            self._consumer.subscribe()
            unit.moved(Event.STARTED)
            self._consume_until_stopped()
        except BaseException as error:  # noqa: BLE001 - reported: a plugin may raise anything
            withdrawn.end(unit, error, self._reports.errors.counts, self._reports.have_written)
        finally:
            try:
                # Calls `revoked` for what is still owned. After a failure too: what was delivered needs not come again.
                # One that is abandoned is the next one's by now, which is not to wait for brokers that can't be reached.
                self._consumer.close(0.0 if unit.abandoned else self._flush_s)
            finally:
                # All of it, also if the task's `stop` fails.
                with ExitStack() as ends:
                    ends.callback(self._reports.close, self._flush_s)
                    ends.callback(self._chain.close)
                    if begun:
                        ends.callback(task.stop)

    def _consume_until_stopped(self) -> None:
        unit, pump, consumer = self._unit, self._pump, self._consumer
        step = pump.step if unit.batches is None else unit.batches.of_sink(pump.step)
        began = time.monotonic()
        quiet_at, rest_at, limit = began + _QUIET_S, began + self._rest_s, self._limit
        while not unit.stopping.is_set():
            pause = unit.target is not TargetState.STARTED
            if pump.pause(pause):
                unit.moved(Event.PAUSE if pause else Event.RESUME)
            now = time.monotonic()
            ready = pump.ready(now)
            # One that rests has nothing to commit.
            wait = _QUIET_WAIT_S if consumer.resting else min(_WAIT_S if now < quiet_at else _QUIET_WAIT_S, ready)
            messages = consumer.read(limit, wait)
            if messages:
                quiet_at, rest_at = now + _QUIET_S, now + self._rest_s
                limit = max(1, min(self._limit, _BYTES // max(1, len(messages[-1].value() or b""))))
            if not unit.may_work():
                return
            step(messages, now := time.monotonic())
            if consumer.resting:
                if pump.context.wants_to_go_elsewhere:
                    consumer.rise()
            elif now >= rest_at and not (pump.settled and consumer.rest()):
                rest_at = now + min(self._rest_s, _RELUCTANT_S)


def _alone(connector: str, config: dict[str, str], client: dict[str, Any]) -> bool:
    """Whether nobody else is meant to be in the task's group: no other task, no other connector, and no member that stays."""
    lone = config.get("tasks.max", "1").strip() == "1" and config.get("tasks.max.enforce", "true").strip().lower() != "false"
    return lone and client["group.id"] == f"connect-{connector}" and "group.instance.id" not in client
