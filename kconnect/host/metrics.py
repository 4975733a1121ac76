"""
The numbers of a host and its units on their way to `/metrics`: the host's side.

Held by `host/main.py`. The numbers go by way of the metrics topic, for nothing but Kafka passes between hosts and workers;
there `worker/metrics.py` hears them. A unit is reported when its numbers have changed, soon after its start, and now and then
all the same. Of numbers nothing depends on it: without the topic all goes on, and `/metrics` has states only. But the beats
are a host's sign that it is not cut off together with an old leader (`core/cluster/lease.py`). Read next:
`core/metrics/report.py`.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass

from kconnect.core.cluster.silence import BEAT_S
from kconnect.core.metrics import report
from kconnect.core.metrics.published import OF_TASKS, Published
from kconnect.core.metrics.report import Beat, HostReport, Starts, UnitReport
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import UnitId
from kconnect.core.task.meters import Values
from kconnect.host.cpu import Clocks
from kconnect.host.memory import Memory
from kconnect.jvm import beans
from kconnect.jvm.logs import name_of
from kconnect.kafka import clients
from kconnect.kafka.metrics_topic import MetricsWriter
from kconnect.processes import logs
from kconnect.units.unit import Unit, well_formed

log = logging.getLogger(__name__)

_TURN_S = 0.2
_SOON_S = 1.0
_MEASURE_S = 2.0
_MUCH_MEMORY = 2**21
_MUCH_CPU_S = 0.5
_LONGEST_REASON = 400


@dataclass
class _Said:
    """`report` is the last one, and whether the unit `retries` by it; `due` when to look whether there is news."""

    unit: Unit
    due: float
    retries: bool = False
    report: UnitReport | None = None
    at: float = 0.0


class Reporter:
    """The reporter of one host, called from its thread: `report` in each turn, `started` and `ended` for each unit."""

    def __init__(self, settings: WorkerSettings, host: int, incarnation: str, worker_incarnation: str, memory: Memory) -> None:
        self._interval_s = settings.metrics_report_interval_ms / 1000
        self._where = (settings.worker_id, host, incarnation)
        self._worker_incarnation = worker_incarnation
        self._writer = MetricsWriter(clients.internal(settings, f"metrics-{host}"), settings.metrics_storage_topic)
        self._units: dict[UnitId, _Said] = {}
        self._ended: dict[bool, Starts] = {True: Starts(), False: Starts()}
        """By whether they are connectors, of the units that have ended."""
        self._memory = memory
        self._usage, self._measured_at = memory.usage(), time.monotonic()
        self._host: tuple[HostReport | None, float] = (None, 0.0)
        self._turn_at = self._beat_at = 0.0
        self._published: beans.Latest = {}
        self._clocks = Clocks()
        self._complained = False

    @property
    def heard_at(self) -> float:
        """When the last beat was sent that Kafka has, on all replicas, by the monotonic clock."""
        return self._writer.heard_at

    def started(self, unit: Unit) -> None:
        self._units[unit.spec.unit] = _Said(unit, time.monotonic() + min(_SOON_S, self._interval_s))

    def ended(self, unit: Unit) -> None:
        """Its numbers are not told any more; its start counts on."""
        of_connector = unit.spec.unit.is_connector
        self._clocks.forget(unit)
        self._ended[of_connector] += _start(unit)
        if (reported := self._units.get(unit.spec.unit)) is not None and reported.unit is unit:
            del self._units[unit.spec.unit]

    def report(self, seen_at: float) -> None:
        """
        Write what is new, and that the host lives; `seen_at` is up to when it has read the log. Returns at once, and never
        fails: the host has better things to do.
        """
        now = time.monotonic()
        if now >= self._beat_at:
            self._beat_at = now + BEAT_S
            self._writer.beat(*report.encode(Beat(*self._where, now - seen_at)))
        if now < self._turn_at:
            return
        self._turn_at = now + _TURN_S
        wall = time.time()
        self._published = beans.latest(self._interval_s, logs.hide)
        for unit_id, reported in self._units.items():
            retries = _retries(reported.unit)
            # No number, but what a task does now: nobody is to wait for the interval to hear that it does not get on.
            is_news = retries != reported.retries and now - reported.at >= _SOON_S
            if is_news or now >= reported.due:
                reported.retries, reported.due = retries, now + self._interval_s
                try:
                    self._report_unit(unit_id, reported, now, wall)
                except Exception:
                    if not self._complained:
                        log.exception("The metrics of %s can't be reported (logged once for all units)", unit_id)
                    self._complained = True
        self._report_host(now)

    def close(self) -> None:
        self._writer.close()

    def _report_unit(self, unit_id: UnitId, said: _Said, now: float, wall: float) -> None:
        published = [
            *self._published.get(name_of(unit_id.connector, None if unit_id.is_connector else unit_id.task), ()),
            *_told(said.unit),
        ]
        values, retrying = _values(said.unit, now, wall), _retrying(said.unit)
        if not unit_id.is_connector and (cpu := self._clocks.seconds(said.unit)) is not None:
            values = {**values, "cpu-seconds-total": cpu}
        new = UnitReport(*self._where, unit_id, said.unit.about, values, retrying, tuple(published))
        if new != said.report or now - said.at > report.AGAIN_S:
            said.report, said.at = new, now
            self._writer.write(*report.encode(new))

    def _report_host(self, now: float) -> None:
        up = Counter((unit_id.is_connector, reported.unit.came_up) for unit_id, reported in self._units.items())
        connectors, tasks = (
            self._ended[kind] + Starts(up[kind, True] + up[kind, False] + up[kind, None], up[kind, True], up[kind, False])
            for kind in (True, False)
        )
        self._measure(now)
        published = tuple(self._published.get("", ()))
        new = HostReport(*self._where, self._worker_incarnation, connectors, tasks, self._usage, published)
        before, at = self._host
        if new != before or now - at > report.AGAIN_S:
            self._host = (new, now)
            self._writer.write(*report.encode(new))

    def _measure(self, now: float) -> None:
        """Measure the process. The numbers differ each time, so only large changes are news."""
        if now - self._measured_at < min(self._interval_s, _MEASURE_S):
            return
        self._measured_at, before, usage = now, self._usage, self._memory.usage()
        if abs(usage.memory - before.memory) >= _MUCH_MEMORY or usage.cpu - before.cpu >= _MUCH_CPU_S:
            self._usage = usage


def _start(unit: Unit) -> Starts:
    return Starts(1, int(unit.came_up is True), int(unit.came_up is False))


def _told(unit: Unit) -> list[Published]:
    """Return the numbers that a Python task has told of itself, and that its Kafka client has told."""
    if unit.meter is None:
        return []
    own = [Published(OF_TASKS, *told) for told in unit.meter.numbers.by_labels().items()]
    of_client = () if unit.statistics is None else unit.statistics.published()
    return [
        told._replace(labels=tuple((label, logs.hide(well_formed(text))) for label, text in told.labels))
        for told in (*own, *of_client)
    ]


def _retries(unit: Unit) -> bool:
    return unit.retries.retrying is not None if unit.meter is None else bool(unit.meter.retrying)


def _retrying(unit: Unit) -> str:
    retrying = (unit.retries.retrying or (0.0, ""))[1] if unit.meter is None else unit.meter.retrying
    reason = logs.printable(" ".join(well_formed(logs.hide(retrying)).split()))
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"


def _values(unit: Unit, now: float, wall: float) -> Values:
    if unit.spec.unit.is_connector:
        retrying = unit.retries.retrying
        return {} if retrying is None else {"retrying-since-timestamp-seconds": round(retrying[0], 3)}
    counted = {} if unit.meter is None else unit.meter.values(now, wall)
    return {**unit.times.values(now), **counted}
