"""
The numbers of tasks, as workers hear them: `Feed` follows the metrics topic for `/metrics`.

Held by `main.py`. Hosts write there, by `host/metrics.py`. Without the topic all goes on: `/metrics` has
states only, and no task moves for its load. Read next: `core/metrics/report.py`, `core/herder/requests/metrics.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from kconnect.core.cluster.silence import Beats, Host, Silence, silent_after_s
from kconnect.core.metrics import report
from kconnect.core.metrics.demand import Demand
from kconnect.core.metrics.history import History
from kconnect.core.metrics.report import Beat, HostReport, Report, Starts, UnitReport
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConnectError
from kconnect.kafka import clients, metrics_topic
from kconnect.kafka.freshness import Freshness
from kconnect.kafka.metrics_topic import MetricsReader

log = logging.getLogger(__name__)

_FORGOTTEN_S = 3 * report.AGAIN_S
_NO_HOST = -1
_BACK_MS = int(report.AGAIN_S * 1000) + 60_000
_RETRY_S = 30.0
_FRESH_S = 2.0


class Heard:
    """
    The last report of each unit and of each life of a host, without those that have long been silent.

    What this worker's hosts have started adds up, also that of hosts that are gone: of those, however many, the sum is kept.
    """

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._reports: dict[object, tuple[Report, float]] = {}
        self._gone: dict[str, HostReport] = {}
        """By the worker's life."""

    def take(self, report: Report, now: float) -> None:
        self._reports[_place(report)] = (report, now)

    def all(self) -> Collection[Report]:
        """Return all reports. From any thread."""
        return [*(latest for latest, _ in list(self._reports.values())), *list(self._gone.values())]

    def tidy(self, now: float) -> None:
        """A host says again what it has said long before it counts as silent."""
        for place, (latest, heard_at) in list(self._reports.items()):
            if now - heard_at > _FORGOTTEN_S:
                if isinstance(latest, HostReport) and latest.worker == self._worker:
                    life = latest.worker_incarnation
                    sums = self._gone.get(life, HostReport(self._worker, _NO_HOST, "", life, Starts(), Starts()))
                    connectors, tasks = sums.connectors + latest.connectors, sums.tasks + latest.tasks
                    self._gone[life] = replace(sums, connectors=connectors, tasks=tasks)
                del self._reports[place]


class Feed:
    """The reports of all workers' hosts, followed by a thread of this worker. `close` ends it."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._client: Mapping[str, Any] = clients.internal(settings, "metrics")
        self._heard = Heard(settings.worker_id)
        self._history = History()
        self._demand = Demand()
        self._silent_s = silent_after_s(settings.session_timeout_ms)
        self._beats = Beats(self._silent_s)
        self._silences: dict[Host, Silence] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        """Create the topic if need be, and begin. Never fails: without the topic there are no numbers, and that is all."""
        self._ensure()
        self._thread.start()

    def _ensure(self) -> None:
        settings = self._settings
        numbers = {"topic", "partitions", "replication.factor"}
        extra = {name: text for name, text in settings.with_prefix("metrics.storage.").items() if name not in numbers}
        try:
            metrics_topic.ensure(
                self._client, settings.metrics_storage_topic, settings.metrics_storage_replication_factor, extra
            )
        except ConnectError as error:
            log.warning("/metrics lacks the tasks' metrics: %s", error)

    def reports(self) -> Collection[Report]:
        """The last of each unit and of each life of a host. From any thread."""
        return self._heard.all()

    def history(self, connector: str) -> dict[str, Any]:
        """Return the history of a connector, as `History.of` has it. From any thread."""
        return self._history.of(connector)

    def cores(self, worker: str | None = None) -> float | None:
        """Return how many cores all hosts take, or those of one worker, as `Demand.cores` has it. From any thread."""
        return self._demand.cores(time.monotonic(), worker)

    def silences(self) -> Mapping[Host, Silence]:
        """
        Return which hosts, of all workers, do not run what they have; nothing while this worker can't hear. From any thread.
        """
        return self._silences

    def close(self) -> None:
        self._closing.set()
        # A worker that could not start is stopped all the same, and is to say why it couldn't.
        if self._thread.is_alive():
            self._thread.join(3)

    def _run(self) -> None:
        complained = False
        while not self._closing.is_set():
            try:
                reader = MetricsReader(
                    clients.reader(self._settings, "metrics"), self._settings.metrics_storage_topic, _BACK_MS
                )
                try:
                    self._follow(reader)
                finally:
                    reader.close()
            except ConnectError as error:
                if not complained:
                    log.warning("/metrics lacks the tasks' metrics (logged once): %s", error)
                complained = True
                self._silences = {}
                self._closing.wait(_RETRY_S)

    def _follow(self, reader: MetricsReader) -> None:
        tidied_at = time.monotonic()
        freshness = Freshness(reader, _FRESH_S, 2 * self._silent_s)
        while not self._closing.is_set():
            values = reader.read(1.0)
            now = time.monotonic()
            for value in values:
                heard = report.decode(value)
                if isinstance(heard, Beat):
                    self._beats.take((heard.worker, heard.host, heard.incarnation), heard.unread_s, now)
                elif heard is not None:
                    self._heard.take(heard, now)
                    if isinstance(heard, UnitReport):
                        self._history.hear(heard, time.time())
                    else:
                        self._demand.take(heard, now)
            freshness.look()
            self._silences = self._beats.silences(now, freshness.seen_at)
            self._history.take(time.time(), _FORGOTTEN_S)
            if now - tidied_at > report.AGAIN_S:
                tidied_at = now
                # Somebody may have deleted it; who reads goes on with another one by itself.
                self._ensure()
                self._heard.tidy(now)
                self._demand.tidy(now, _FORGOTTEN_S)


def _place(record: Report) -> object:
    if isinstance(record, UnitReport):
        return (record.worker, record.unit)
    return (record.worker, record.host, record.incarnation)
