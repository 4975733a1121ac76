"""
A source task's loop, where a record goes from the connector to Kafka:

    task.poll ► transforms ► convert ► make sure that the topic exists ► produce ► source offsets

All in lists: what a batch can share is done once for it. Up to the messages it is `source_batches.py`'s business; how they and
the offsets get to Kafka is one of two ways, `at_least_once.py` or `exactly_once.py`, as the worker is set. Run by
`task_unit.py`. Read next: one of these; for the other direction, `sink_task.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol

from kconnect.api.record import SourceRecord
from kconnect.api.task import SourceTask, TransactionContext
from kconnect.core.metrics.task import SourceMeter
from kconnect.core.metrics.windows import Windows
from kconnect.core.state.records import TargetState
from kconnect.core.task.lifecycle import Event
from kconnect.errors import RetriableError
from kconnect.units import owners
from kconnect.units.at_least_once import AtLeastOnce
from kconnect.units.connector_unit import StoredOffsets
from kconnect.units.exactly_once import ExactlyOnce
from kconnect.units.reports import Reports
from kconnect.units.source_batches import SourceBatches
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_RETRY_S = 1.0
_IDLE_S = 0.1
"""The pause after a `poll` that gave nothing and did not wait itself: a task must not keep a core busy with nothing."""


class Delivery(Protocol):
    """How batches and their offsets get to Kafka, for the loop below. ConnectError from any call fails the task."""

    meter: SourceMeter
    """Set before `begin`."""

    @property
    def transactions(self) -> TransactionContext | None:
        """What the task may ask for, if it is to say where transactions end."""
        ...

    @property
    def active(self) -> int:
        """How many messages Kafka has not acknowledged yet. From any thread, also after `close`."""
        ...

    def begin(self) -> bool:
        """Once, before the task's plugin starts and stored offsets are read. False if the task is to stop before."""
        ...

    def send(self, records: list[SourceRecord]) -> None:
        """Hand over what a `poll` gave; the list may be empty."""
        ...

    def tend(self) -> None:
        """Between two polls: do what is due."""
        ...

    def rest(self) -> bool:
        """Nothing is sent for now, because the task is paused. False: there is more to do, ask again."""
        ...

    def end(self, failed: bool) -> None:
        """Nothing is sent any more; not called for a unit that is abandoned, or whose plugin has not started."""
        ...

    def close(self) -> None:
        """Give up what was taken; the last call of all."""
        ...


class SourceLoop:
    def __init__(self, unit: Unit, task: SourceTask, config: dict[str, str], properties: dict[str, str]) -> None:
        settings = unit.ports.settings
        self._unit, self._task, self._properties = unit, task, properties
        self._reports = Reports(unit, config, source=True)
        self._flush_s = settings.offset_flush_timeout_ms / 1000
        self._interval_s = settings.offset_flush_interval_ms / 1000
        self._shutdown_s = settings.task_shutdown_graceful_timeout_ms / 1000
        self._batches = SourceBatches(unit, task, config, self._reports, self._gives_up)
        self._store = unit.ports.offset_store(unit.spec.connector, config)
        # What may refuse the config comes before the producer: only `run` closes that.
        way = ExactlyOnce if settings.exactly_once_enabled else AtLeastOnce
        self._delivery: Delivery = way(unit, config, self._batches, self._store, self._gives_up)
        windows = Windows.of(settings.metrics_sample_window_ms, settings.metrics_num_samples)
        self._counts = self._batches.errors.counts
        self._meter = unit.meter = SourceMeter(windows, self._counts, lambda: self._delivery.active)
        self._delivery.meter = self._meter
        self._give_up_at: float | None = None
        self._lock = threading.Lock()
        self._started = False
        self._stopper: threading.Thread | None = None

    def wake(self) -> None:
        """End a `poll` that is blocked, when the task is to stop. Called from the host's thread."""
        if self._unit.stopping.is_set():
            # In a thread of its own: a plugin whose `stop` hangs must not hold up the host.
            self._stop_task()

    def run(self) -> None:
        unit, task, failed = self._unit, self._task, False
        try:
            unit.moved(Event.START)
            self._reports.start()
            if not self._delivery.begin():
                return
            self._store.open(unit.stopping.is_set)
            context = _Context(self._properties, StoredOffsets(unit, self._store), self._delivery.transactions)
            if not unit.may_work():
                return
            task.initialize(context)
            task.start(self._properties)
            with self._lock:
                self._started = True
            unit.moved(Event.STARTED)
            self._poll_until_stopped()
        except BaseException as error:  # noqa: BLE001 - reported: a plugin may raise anything
            failed = True
            unit.fail(error)
        finally:
            if self._started and not unit.abandoned:
                self._end(failed)
            self._stop_task()
            if self._stopper is not None:
                self._stopper.join(self._shutdown_s)
                if self._stopper.is_alive():
                    log.error("The task's stop() has not returned after %.0f s and is left alone", self._shutdown_s)
            self._delivery.close()
            self._store.close(unit.abandoned)
            self._reports.close(self._flush_s)
            self._batches.close()

    def _end(self, failed: bool) -> None:
        try:
            self._delivery.end(failed)
        except Exception as error:  # noqa: BLE001 - the last word of a task that was to end anyway
            self._unit.fail(error)

    def _poll_until_stopped(self) -> None:
        unit, stopping, delivery = self._unit, self._unit.stopping, self._delivery
        while not stopping.is_set():
            if unit.target is TargetState.STARTED:
                # Before the plugin is asked, too: a poll takes things away from some sources, and a successor may be at it.
                records = self._poll() if unit.may_work() else None
                if records is not None and unit.may_work():
                    delivery.send(records)
                delivery.tend()
            else:
                self._stay_paused()

    def _poll(self) -> list[SourceRecord] | None:
        began = time.monotonic()
        try:
            records = self._task.poll()
        except RetriableError as error:
            log.warning("poll() is tried again: %s", error)
            self._counts.tries_again("poll()", error, began)
            self._unit.stopping.wait(_RETRY_S)
            return None
        self._counts.goes_on()
        now = time.monotonic()
        if records:
            self._meter.polled(len(records), began, now)
        elif now - began < _IDLE_S / 10:
            self._unit.stopping.wait(_IDLE_S)
        return records

    def _stay_paused(self) -> None:
        unit = self._unit
        self._counts.goes_on()
        unit.moved(Event.PAUSE)
        # Nothing is sent meanwhile, so what is not stored yet can be, and then there is nothing to do.
        while not self._delivery.rest() and not unit.stopping.is_set():
            unit.wait_for(lambda: unit.target is TargetState.STARTED, self._interval_s)
            if unit.target is TargetState.STARTED:
                break
        unit.wait_for(lambda: unit.target is TargetState.STARTED)
        if not unit.stopping.is_set():
            unit.moved(Event.RESUME)

    def _stop_task(self) -> None:
        """Have `stop` called once, if the task was started."""
        with self._lock:
            if not self._started or self._stopper is not None:
                return
            self._stopper = owners.thread(self._unit, self._call_stop, f"{self._unit.spec.unit} stop")
            self._stopper.start()

    def _call_stop(self) -> None:
        try:
            self._task.stop()
        except BaseException:
            log.exception("The task's stop() failed")

    def _gives_up(self) -> bool:
        """A stop is orderly as long as Kafka takes what was polled within the limit of a flush."""
        if not self._unit.stopping.is_set():
            return False
        now = time.monotonic()
        if self._give_up_at is None:
            self._give_up_at = now + self._flush_s
        return self._unit.abandoned or now > self._give_up_at


class _Context:
    """What `kconnect.api.task.SourceTaskContext` promises."""

    def __init__(
        self, properties: dict[str, str], offsets: StoredOffsets, transactions: TransactionContext | None
    ) -> None:
        self._properties = properties
        self.offsets = offsets
        self.transaction_context = transactions

    def configs(self) -> dict[str, str]:
        return dict(self._properties)
