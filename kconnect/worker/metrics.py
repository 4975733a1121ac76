"""
The numbers of tasks on their way to `/metrics`: `Reporter` in a host says them, `Feed` in a worker hears them.

By way of the metrics topic, for nothing but Kafka passes between hosts and workers. A unit is reported when its numbers
have changed, soon after its start, and now and then all the same. Nothing depends on it: without the topic all goes on,
and `/metrics` has states only. Read next: `core/metrics/report.py`, `core/herder/metrics.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api.errors import ConnectError
from kconnect.core.metrics import report
from kconnect.core.metrics.report import HostReport, Report, Starts, UnitReport
from kconnect.core.metrics.task import Values
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import UnitId
from kconnect.kafka import clients, metrics_topic
from kconnect.kafka.metrics_topic import MetricsReader, MetricsWriter
from kconnect.worker import logs
from kconnect.worker.memory import Memory
from kconnect.worker.unit import Unit, well_formed

log = logging.getLogger(__name__)

_AGAIN_S = 300.0
"""After so long what has not changed is said again, for workers that have come since: the topic keeps it not much longer."""
_FORGOTTEN_S = 3 * _AGAIN_S
_BACK_MS = int(_AGAIN_S * 1000) + 60_000
_TURN_S = 0.2
_SOON_S = 1.0
_RETRY_S = 30.0
_MEASURE_S = 2.0
_MUCH_MEMORY = 2**21
_MUCH_CPU_S = 0.5
_LONGEST_REASON = 400


@dataclass
class _Said:
    """`report` is the last one; `due` when to look whether there is news."""

    unit: Unit
    due: float
    report: UnitReport | None = None
    at: float = 0.0


class Reporter:
    """Of one host, called from its thread: `report` in each turn, `started` and `ended` for each unit."""

    def __init__(
        self, settings: WorkerSettings, host: int, incarnation: str, worker_incarnation: str, memory: Memory
    ) -> None:
        self._interval_s: float = settings.metrics_report_interval_ms / 1000
        self._where = (settings.worker_id, host, incarnation)
        self._worker_incarnation = worker_incarnation
        self._writer = MetricsWriter(clients.internal(settings, f"metrics-{host}"), settings.metrics_storage_topic)
        self._units: dict[UnitId, _Said] = {}
        self._ended: dict[bool, Starts] = {True: Starts(), False: Starts()}
        """By whether they are connectors, of the units that have ended."""
        self._memory = memory
        self._usage, self._measured_at = memory.usage(), time.monotonic()
        self._host: tuple[HostReport | None, float] = (None, 0.0)
        self._turn_at = 0.0
        self._complained = False

    def started(self, unit: Unit) -> None:
        self._units[unit.spec.unit] = _Said(unit, time.monotonic() + min(_SOON_S, self._interval_s))

    def ended(self, unit: Unit) -> None:
        """Its numbers are not told any more; its start counts on."""
        of_connector = unit.spec.unit.is_connector
        self._ended[of_connector] += _start(unit)
        if (said := self._units.get(unit.spec.unit)) is not None and said.unit is unit:
            del self._units[unit.spec.unit]

    def report(self) -> None:
        """Write what is new. Returns at once, and never fails: the host has better things to do."""
        now = time.monotonic()
        if now < self._turn_at:
            return
        self._turn_at = now + _TURN_S
        wall = time.time()
        for unit_id, said in self._units.items():
            if now >= said.due:
                said.due = now + self._interval_s
                try:
                    self._report_unit(unit_id, said, now, wall)
                except Exception:
                    if not self._complained:
                        log.exception("The numbers of %s can't be reported; of others this is not said again", unit_id)
                    self._complained = True
        self._report_host(now)

    def close(self) -> None:
        self._writer.close()

    def _report_unit(self, unit_id: UnitId, said: _Said, now: float, wall: float) -> None:
        new = UnitReport(*self._where, unit_id, said.unit.about, _values(said.unit, now, wall), _retrying(said.unit))
        if new != said.report or now - said.at > _AGAIN_S:
            said.report, said.at = new, now
            self._writer.write(*report.encode(new))

    def _report_host(self, now: float) -> None:
        up = Counter((unit_id.is_connector, said.unit.came_up) for unit_id, said in self._units.items())
        connectors, tasks = (
            self._ended[kind] + Starts(up[kind, True] + up[kind, False] + up[kind, None], up[kind, True], up[kind, False])
            for kind in (True, False)
        )
        self._measure(now)
        new = HostReport(*self._where, self._worker_incarnation, connectors, tasks, self._usage)
        before, at = self._host
        if new != before or now - at > _AGAIN_S:
            self._host = (new, now)
            self._writer.write(*report.encode(new))


    def _measure(self, now: float) -> None:
        """It differs each time: only what is worth a record is news."""
        if now - self._measured_at < min(self._interval_s, _MEASURE_S):
            return
        self._measured_at, before, usage = now, self._usage, self._memory.usage()
        if abs(usage.memory - before.memory) >= _MUCH_MEMORY or usage.cpu - before.cpu >= _MUCH_CPU_S:
            self._usage = usage


class Feed:
    """Of one worker: a thread that follows what hosts report, of all workers. `close` ends it."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._client: Mapping[str, Any] = clients.internal(settings, "metrics")
        self._reports: dict[object, tuple[Report, float]] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        """Create the topic if need be, and begin. Never fails: without the topic there are no numbers, and that is all."""
        self._ensure()
        self._thread.start()

    def _ensure(self) -> None:
        settings = self._settings
        own = {"topic", "partitions", "replication.factor"}
        extra = {name: text for name, text in settings.with_prefix("metrics.storage.").items() if name not in own}
        try:
            metrics_topic.ensure(
                self._client, settings.metrics_storage_topic, settings.metrics_storage_replication_factor, extra
            )
        except ConnectError as error:
            log.warning("/metrics goes without the numbers of tasks: %s", error)

    def reports(self) -> Collection[Report]:
        """The last of each unit and of each life of a host. From any thread."""
        return [known for known, _ in list(self._reports.values())]

    def close(self) -> None:
        self._closing.set()
        # A worker that could not start is stopped all the same, and is to say why it couldn't.
        if self._thread.is_alive():
            self._thread.join(3)

    def _run(self) -> None:
        complained = False
        while not self._closing.is_set():
            try:
                reader = MetricsReader(self._client, self._settings.metrics_storage_topic, _BACK_MS)
                try:
                    self._follow(reader)
                finally:
                    reader.close()
            except ConnectError as error:
                if not complained:
                    log.warning("/metrics goes without the numbers of tasks, which is said once: %s", error)
                complained = True
                self._closing.wait(_RETRY_S)

    def _follow(self, reader: MetricsReader) -> None:
        tidied_at = time.monotonic()
        while not self._closing.is_set():
            values = reader.read(1.0)
            now = time.monotonic()
            for value in values:
                heard = report.decode(value)
                if heard is not None:
                    self._reports[_place(heard)] = (heard, now)
            if now - tidied_at > _AGAIN_S:
                tidied_at = now
                # Somebody may have deleted it; who reads goes on with another one by itself.
                self._ensure()
                for place, (found, heard_at) in list(self._reports.items()):
                    # What this worker's hosts have started adds up, also that of hosts that are gone.
                    adds_up = isinstance(found, HostReport) and found.worker == self._settings.worker_id
                    if now - heard_at > _FORGOTTEN_S and not adds_up:
                        del self._reports[place]


def _place(found: Report) -> object:
    if isinstance(found, UnitReport):
        return (found.worker, found.unit)
    return (found.worker, found.host, found.incarnation)


def _start(unit: Unit) -> Starts:
    return Starts(1, int(unit.came_up is True), int(unit.came_up is False))


def _retrying(unit: Unit) -> str:
    reason = "" if unit.meter is None else logs.printable(" ".join(well_formed(logs.hide(unit.meter.retrying)).split()))
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"


def _values(unit: Unit, now: float, wall: float) -> Values:
    if unit.spec.unit.is_connector:
        return {}
    counted = {} if unit.meter is None else unit.meter.values(now, wall)
    return {**unit.times.values(now), **counted}
