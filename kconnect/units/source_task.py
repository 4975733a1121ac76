"""
The thread of a source task: it calls `poll`, waits, stops and pauses, and steps the pump that does the rest.

`core/task/source_pump.py` is where a record goes from the connector to Kafka; here its ports are made: Kafka's client, the
offset store, the dead letter queue, what the task may still do. Run by `task_unit.py`. Read next: that pump; for the other
direction, `sink_task.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from kconnect.api.record import SourceRecord
from kconnect.api.task import TransactionContext
from kconnect.core.settings.source import SourceSettings
from kconnect.core.state.records import TargetState
from kconnect.core.task import delivery, positions
from kconnect.core.task.delivery import AtLeastOnce, Delivery, ExactlyOnce
from kconnect.core.task.errors import Counts
from kconnect.core.task.lifecycle import Event
from kconnect.core.task.meters import SourceMeter
from kconnect.core.task.ports import NoTopics, PolledPlugin, Producer, Topics
from kconnect.core.task.source_pump import SourcePump
from kconnect.core.task.transactions import boundary_of
from kconnect.core.task.windows import Windows
from kconnect.errors import RetriableError
from kconnect.kafka import clients
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.refusals import Access
from kconnect.kafka.statistics import Statistics, of_producer
from kconnect.kafka.transactions import TransactionalProducer
from kconnect.units import chains, owners, withdrawn
from kconnect.units.beside import Beside, no_use
from kconnect.units.connector_unit import StoredOffsets
from kconnect.units.gate import confirm
from kconnect.units.hearing import Hearing
from kconnect.units.life import Life, topic_use
from kconnect.units.long_polls import LongPolls
from kconnect.units.reports import Reports
from kconnect.units.source_topics import SourceTopics
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_RETRY_S = 1.0
_IDLE_S = 0.1
"""The pause after a `poll` that gave nothing and did not wait itself: a task must not keep a core busy with nothing."""
_LONGEST_WAIT = 1000
"""Characters of what a task says that it waits for."""


class SourceLoop:
    """ConfigError for a config whose converters, transforms or topic rules can't be had."""

    def __init__(self, unit: Unit, task: PolledPlugin, config: dict[str, str], properties: dict[str, str]) -> None:
        settings = unit.ports.settings
        self._unit, self._task, self._properties = unit, task, properties
        self._life = Life(unit, settings.offset_flush_timeout_ms / 1000)
        self._reports = Reports(unit, config, source=True)
        self._flush_s = settings.offset_flush_timeout_ms / 1000
        self._interval_s = settings.offset_flush_interval_ms / 1000
        self._shutdown_s = settings.task_shutdown_graceful_timeout_ms / 1000
        self._offsets_topic: str | None = None
        self._beside: Beside | None = None
        self._counts = self._reports.errors.counts
        self._chain = chains.of_source(unit, task, config, self._reports.errors)
        try:
            self._topics: Topics = SourceTopics(unit, config, self._life.cancelled, self._counts)
            self._store = unit.ports.offset_store(unit.spec.connector, config)
            # What may refuse the config comes before the producer: only `run` closes that.
            self._delivery = self._deliver(config)
        except BaseException:
            self._chain.close()
            raise
        convert = self._chain.convert
        self._pump = SourcePump(self._delivery, convert if unit.batches is None else unit.batches.converting(convert))
        self._lock = threading.Lock()
        self._begun = self._started = self._polls_again = False
        self._poll_failure: Exception | None = None
        """Why the last `poll` has not returned more, for the time when what it has returned is on its way."""
        self._stopper: threading.Thread | None = None
        self._hearing: Hearing | None = None
        self._long_polls: LongPolls | None = None

    def _deliver(self, config: dict[str, str]) -> Delivery:
        unit, settings = self._unit, self._unit.ports.settings
        connector, number = unit.spec.connector, unit.spec.task or 0
        tracks, self._use = self._chain.hears, topic_use(unit)
        beside = getattr(self._task, "sink_beside", None)
        if beside is not None:
            self._topics, self._use = NoTopics(), no_use()
        windows = Windows.of(settings.metrics_sample_window_ms, settings.metrics_num_samples)
        self._producer: Producer
        self._meter = unit.meter = SourceMeter(windows, self._counts, time.monotonic, lambda: self._producer.active)
        ports = delivery.Ports(
            self._life,
            self._task,
            self._store,
            self._topics,
            self._reports,
            self._use,
            self._reports.errors,
            self._meter,
            tracks,
            self._flush_s,
        )
        if beside is not None:
            sink, sink_config = beside(dict(self._properties))
            self._producer = self._beside = Beside(unit, sink, sink_config, self._counts, self._flush_s)
            # Its offsets say nothing that its sink has not: a repeat does no harm.
            return AtLeastOnce(ports, self._producer, self._interval_s)
        if not settings.exactly_once_enabled:
            client = self._counted(clients.producer(settings, connector, number, config))
            access = Access(client, self._counts, time.monotonic, "producer.override.")
            self._producer = TaskProducer(client, self._life.cancelled, tracks, access)
            return AtLeastOnce(ports, self._producer, self._interval_s)
        source = SourceSettings.from_config(config)
        self._offsets_topic = source.offsets_storage_topic or settings.offset_storage_topic
        boundary, longest_s = boundary_of(source, self._interval_s, time.monotonic())
        client = self._counted(clients.transactional_producer(settings, connector, number, config, round(longest_s * 1000)))
        self._producer = producer = TransactionalProducer(
            client,
            self._life.cancelled,
            unit.may_work,
            partial(confirm, unit),
            tracks,
            Access(client, self._counts, time.monotonic, "producer.override."),
        )
        return ExactlyOnce(ports, producer, boundary, self._offsets_topic)

    def _counted(self, client: dict[str, Any]) -> dict[str, Any]:
        self._unit.statistics = statistics = Statistics(client, of_producer)
        return {**client, **statistics.callbacks}

    def wake(self) -> None:
        """End a `poll` that is blocked, when the task is to stop. Called from the host's thread."""
        if self._unit.stopping.is_set() and self._started:
            # In a thread of its own: a plugin whose `stop` hangs must not hold up the host.
            self._stop_task()

    def run(self) -> None:
        unit, task, failed = self._unit, self._task, False
        try:
            unit.moved(Event.START)
            self._reports.start()
            if not self._delivery.begin(time.monotonic()):
                return
            self._store.open(unit.stopping.is_set)
            # In its `stop`, too, as Debezium's tasks do: until the stop is no longer an orderly one.
            offsets = StoredOffsets(self._store, self._life.cancelled)
            context = _Context(self._properties, offsets, self._delivery.context, self._counts)
            if not unit.may_work():
                return
            # As in Connect: what these calls have opened before one of them fails, `stop` closes.
            self._begun = True
            if self._beside is not None:
                self._beside.start()
            task.initialize(context)
            task.start(self._properties)
            with self._lock:
                self._started = True
            acknowledgements = getattr(task, "acknowledgements", None)
            if acknowledgements is not None and isinstance(self._delivery, AtLeastOnce):
                self._hearing = Hearing(unit, acknowledgements, self._producer)
            elif self._chain.hears:
                self._long_polls = LongPolls(unit, self._producer, self._counts)
            unit.moved(Event.STARTED)
            self._poll_until_stopped()
        except BaseException as error:  # noqa: BLE001 - reported: a plugin may raise anything
            failed = True
            withdrawn.end(unit, error, self._counts, self._has_written)
        finally:
            if self._started and not unit.abandoned:
                self._end(failed)
            self._stop_task()
            if self._stopper is not None:
                self._stopper.join(self._shutdown_s)
                if self._stopper.is_alive():
                    log.error(
                        "The task's stop() has not returned after %.0f s; kconnect no longer waits for it",
                        self._shutdown_s,
                    )
            if self._hearing is not None:
                self._hearing.end(self._shutdown_s)
            if self._long_polls is not None:
                self._long_polls.end()
            self._producer.close(abandon=unit.abandoned)
            self._store.close(unit.abandoned)
            self._reports.close(self._flush_s)
            self._chain.close()

    def _has_written(self, topic: str | None) -> bool:
        # The offsets of an exactly-once task are in the transactions of its records.
        return self._use.has_used(None if topic == self._offsets_topic else topic) or self._reports.have_written(topic)

    def _end(self, failed: bool) -> None:
        try:
            self._pump.end(failed)
        except Exception as error:  # noqa: BLE001 - the last word of a task that was to end anyway
            self._unit.fail(error)

    def _poll_until_stopped(self) -> None:
        unit, stopping, pump = self._unit, self._unit.stopping, self._pump
        poll = self._poll
        step: Callable[[Any, float], None] = pump.step
        if unit.batches is not None:
            poll, step = unit.batches.polling(poll), unit.batches.of_source(step)
        while not stopping.is_set():
            if unit.target is not TargetState.STARTED:
                self._stay_paused()
                continue
            # Before the plugin is asked, too: a poll takes things away from some sources, and a successor may be at it.
            records = poll() if unit.may_work() else None
            if records is not None and unit.may_work():
                step(records, time.monotonic())
            else:
                pump.commit_due(time.monotonic())

    def _poll(self) -> list[SourceRecord] | None:
        began = time.monotonic()
        try:
            failure, self._poll_failure = self._poll_failure, None
            if failure is not None:
                raise failure
            with nullcontext() if self._long_polls is None else self._long_polls.polling():
                answer: Any = self._task.poll()
            records, self._poll_failure = self._chain.polled(answer)
        except RetriableError as error:
            log.warning("Retrying poll(): %s", error)
            self._counts.tries_again("poll()", error, began)
            self._polls_again = True
            self._unit.stopping.wait(_RETRY_S)
            return None
        self._polls()
        if records:
            self._meter.polled(len(records), began)
        elif time.monotonic() - began < _IDLE_S / 10:
            self._unit.stopping.wait(_IDLE_S)
        return records

    def _polls(self) -> None:
        """The task's `poll` is not called again for an error any more. Whatever else is waited for stays shown."""
        if self._polls_again:
            self._polls_again = False
            self._counts.goes_on()

    def _stay_paused(self) -> None:
        unit = self._unit
        self._polls()
        unit.moved(Event.PAUSE)
        # Nothing is sent meanwhile, so what is not stored yet can be, and then there is nothing to do.
        while not self._pump.rest() and not unit.stopping.is_set():
            unit.wait_for(lambda: unit.target is TargetState.STARTED, self._interval_s)
            if unit.target is TargetState.STARTED:
                break
        unit.wait_for(lambda: unit.target is TargetState.STARTED)
        if not unit.stopping.is_set():
            unit.moved(Event.RESUME)

    def _stop_task(self) -> None:
        """Have `stop` called once, if the task was started, or once its start has failed."""
        with self._lock:
            if not self._begun or self._stopper is not None:
                return
            self._stopper = owners.thread(self._unit, self._call_stop, f"{self._unit.spec.unit} stop")
            self._stopper.start()

    def _call_stop(self) -> None:
        try:
            self._task.stop()
        except BaseException:
            log.exception("The task's stop() failed")


class _Context:
    """The `kconnect.api.task.SourceTaskContext` of a task."""

    def __init__(
        self, properties: dict[str, str], offsets: StoredOffsets, transactions: TransactionContext | None, counts: Counts
    ) -> None:
        # A copy: the task is given the other one, and may do to it what it likes.
        self._properties, self._counts = dict(properties), counts
        self.offsets = offsets
        self.transaction_context = transactions

    def configs(self) -> dict[str, str]:
        return dict(self._properties)

    def waits_for(self, what: str | None) -> None:
        if what is None:
            self._counts.has_come()
        else:
            self._counts.awaits("poll()", f"the task waits for {str(what)[:_LONGEST_WAIT]}", time.monotonic())

    def metric(self, name: str, value: float, labels: Mapping[str, str] | None = None) -> None:
        self._counts.numbers.tell(name, value, labels)

    def passed_over(self, count: int) -> None:
        valid_count = positions.count("context.passed_over()", count)
        self._counts.errors += valid_count
        self._counts.skipped += valid_count
