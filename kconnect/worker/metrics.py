"""
The numbers of tasks, as workers hear them: `Feed` follows the metrics topic for `/metrics`.

Held by `main.py`. Hosts write there, by `host/metrics.py`. Nothing depends on it: without the topic all goes on, and `/metrics`
has states only. Read next: `core/metrics/report.py`, `core/herder/requests/metrics.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping
from typing import Any

from kconnect.core.metrics import report
from kconnect.core.metrics.report import HostReport, Report, UnitReport
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConnectError
from kconnect.kafka import clients, metrics_topic
from kconnect.kafka.metrics_topic import MetricsReader

log = logging.getLogger(__name__)

_FORGOTTEN_S = 3 * report.AGAIN_S
_BACK_MS = int(report.AGAIN_S * 1000) + 60_000
_RETRY_S = 30.0


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
            log.warning("/metrics lacks the tasks' numbers: %s", error)

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
                    log.warning("/metrics lacks the tasks' numbers (logged once): %s", error)
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
            if now - tidied_at > report.AGAIN_S:
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
