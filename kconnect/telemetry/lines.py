"""
Log lines for the collector: a handler beside those of standard error and of the topic, with the same texts.

`sdk.py` adds it. Each line has passed the formatter of `processes/logs.py`, so no secret that is known is in it; with it go the
ids of the trace in which it was logged. Lines of REST's access log and audit log stay out, as in `processes/shipping.py`, since
others may read them than may read logs.
"""

from __future__ import annotations

import json
import logging
import threading
import time

from opentelemetry._logs import Logger, SeverityNumber

from kconnect.processes import logs
from kconnect.telemetry.contexts import sendable

log = logging.getLogger(__name__)

_NOT_THESE = ("kconnect.audit", "kconnect.rest.access")
_OF_THE_SDK = "Otel"
"""The names of the SDK's threads begin so: what they log of sending would be sent, and so on for ever."""
_AGAIN_S = 600.0
_LONGEST = 8 << 10
"""Characters of a line, of which 2,048 may wait."""
_SEVERITIES = (
    (logging.CRITICAL, SeverityNumber.FATAL, "FATAL"),
    (logging.ERROR, SeverityNumber.ERROR, "ERROR"),
    (logging.WARNING, SeverityNumber.WARN, "WARN"),
    (logging.INFO, SeverityNumber.INFO, "INFO"),
    (logging.DEBUG, SeverityNumber.DEBUG, "DEBUG"),
)


class Lines(logging.Handler):
    """Hands each line to the SDK, whose queue is bounded and drops the oldest."""

    def __init__(self, logger: Logger) -> None:
        super().__init__()
        self._logger = logger
        self.setFormatter(logs.entries({}))

    def emit(self, record: logging.LogRecord) -> None:
        if record.name in _NOT_THESE or (record.threadName or "").startswith(_OF_THE_SDK):
            return
        try:
            entry = json.loads(self.format(record))
            number, text = _severity(record.levelno)
            attributes = {"logger": sendable(entry["logger"][:_LONGEST])}
            if "connector" in entry:
                attributes["kconnect.connector"] = sendable(entry["connector"][:_LONGEST])
            if "task" in entry:
                attributes["kconnect.task"] = entry["task"]
            self._logger.emit(
                timestamp=int(record.created * 1e9),
                severity_number=number,
                severity_text=text,
                body=sendable(entry["text"][:_LONGEST]),
                attributes=attributes,
            )
        except Exception:  # noqa: BLE001 - as every handler has it; the line is on standard error
            self.handleError(record)


def quieten() -> None:
    """
    Have what the SDK itself says of sending logged by kconnect, each sort once in ten minutes: a collector that is away would
    fill the log.
    """
    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.handlers[:] = [_Complaints()]


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said_at: dict[str, float] = {}
        self._saying = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        now, sort = time.monotonic(), f"{record.name} {record.levelname}"
        with self._saying:
            if now - self._said_at.get(sort, -_AGAIN_S) < _AGAIN_S:
                return
            self._said_at[sort] = now
        # Not its trace: that is the library's, and says nothing that its text does not.
        log.warning("Telemetry is lost (logged at most every ten minutes): %s", record.getMessage()[:500])


def _severity(level: int) -> tuple[SeverityNumber, str]:
    for least, number, text in _SEVERITIES:
        if level >= least:
            return number, text
    return SeverityNumber.TRACE, "TRACE"
