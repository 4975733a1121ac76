"""
A process's log lines on their way to the topic where `kconnect logs` finds them: a handler beside that of standard error.

`worker/main.py`, `host/main.py` and `host/driver.py` call `begin` once they have settings. Lines of REST's access log and audit
log stay out: others may read them than may read logs. Whatever goes wrong, no caller of a logger notices: the lines are on
standard error. `log_lines.py` reads what this writes. Read next: `logs.py`, `kafka/log_topic.py`.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConnectError
from kconnect.kafka import clients, log_topic
from kconnect.processes import logs

log = logging.getLogger(__name__)

_NOT_THESE = ("kconnect.audit", "kconnect.rest.access")
_RATE, _BURST = 64 << 10, 2 << 20
"""Bytes a second, and at once."""
_TURN_S = 0.5
_CLOSE_S = 2.0


def begin(settings: WorkerSettings, process: str, creates: bool = False) -> None:
    """
    Have all further lines of this process written to the topic, too, if the settings name one. `process` says which of the
    worker's it is, such as `host-0`. Whoever `creates` the topic does so before its first line.
    """
    if not settings.log_storage_topic:
        return
    logging.getLogger().addHandler(Shipping(settings, process, creates))


def end() -> None:
    """Give the last lines of this process a moment, where `logging.shutdown` is not called."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Shipping):
            handler.close()


class Shipping(logging.Handler):
    """Queues each line for a thread of its own, which has the client of Kafka. `logging.shutdown` waits for it a little."""

    def __init__(self, settings: WorkerSettings, process: str, creates: bool) -> None:
        super().__init__()
        self._settings, self._creates = settings, creates
        self._pid = os.getpid()
        self.setFormatter(logs.entries({"worker": settings.worker_id, "process": process}))
        self._queue: queue.SimpleQueue[tuple[bytes, int] | None] = queue.SimpleQueue()
        self._allowance = _Allowance()
        self._closed = threading.Event()
        self._complained = False
        self._thread = threading.Thread(target=self._run, name="log lines to Kafka", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        # A process that was forked from this one has no thread that would take it.
        if os.getpid() != self._pid or self._closed.is_set() or record.name in _NOT_THESE:
            return
        try:
            line, left_out = self.format(record).encode("utf-8", "backslashreplace"), self._allowance.left_out
            if not self._allowance.takes(len(line)):
                return
            if left_out:
                text = f"{left_out} lines before this one are in this process's own log only: there were too many at once"
                said = logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, None, None)
                self._queue.put((self.format(said).encode(), int(record.created * 1000)))
            self._queue.put((line, int(record.created * 1000)))
        except Exception:  # noqa: BLE001 - as every handler has it; the line is on standard error
            self.handleError(record)

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            if os.getpid() == self._pid:
                self._queue.put(None)
                self._thread.join(2 * _CLOSE_S)
        super().close()

    def _run(self) -> None:
        writer: log_topic.LinesWriter | None = None
        topic = self._settings.log_storage_topic
        while True:
            try:
                item = self._queue.get(timeout=_TURN_S)
            except queue.Empty:
                if writer is not None:
                    writer.poll()
                continue
            if item is None:
                break
            if writer is None:
                self._create()
                client = clients.internal(self._settings, "log-lines")
                writer = log_topic.LinesWriter(client, topic, self._refused)
            writer.write(*item)
            writer.poll()
        if writer is not None:
            writer.close(_CLOSE_S)

    def _create(self) -> None:
        if not self._creates:
            return
        settings = self._settings
        try:
            config = settings.topic_settings("log.storage.")
            client = clients.internal(settings, "log-lines")
            log_topic.ensure(client, settings.log_storage_topic, settings.log_storage_replication_factor, config)
        except ConnectError as error:
            self._complained = True
            log.warning("`kconnect logs` has no lines of this worker from other machines: %s", error)

    def _refused(self, reason: str) -> None:
        if not self._complained:
            self._complained = True
            # In a line that would go the same way it would be lost.
            log.warning(
                "Lines of this log can't be written to the topic %s (logged once): %s", self._settings.log_storage_topic, reason
            )


class _Allowance:
    """Says whether a line may still go to the topic, by its bytes. Threads may be off by a line."""

    def __init__(self) -> None:
        self._left, self._at = float(_BURST), time.monotonic()
        self.left_out = 0
        """Lines since the last that was taken."""

    def takes(self, size: int) -> bool:
        now = time.monotonic()
        self._left = min(_BURST, self._left + (now - self._at) * _RATE)
        self._at = now
        # Once one is left out, so are those behind it, for a while: a log with many small gaps says less than one with a few.
        if size > self._left or (self.left_out and self._left < _BURST / 4):
            self.left_out += 1
            return False
        self._left -= size
        self.left_out = 0
        return True
