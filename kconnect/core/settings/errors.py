"""
Settings of a connector for records that fail (KIP-298): retries, tolerance, logging, the dead letter queue.

`common.py`, `sink.py` and `source.py` put the rows into their tables; the tasks' loops read them with `ErrorSettings.of`.
Read next: `core/task/errors.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kconnect.api.config import ConfigDef, Importance, OneOf, Width
from kconnect.core.settings.setting import BOOLEAN, LONG, SHORT, STRING, Shown

GROUP, DLQ_TOPIC = "Error Handling", "errors.deadletterqueue.topic.name"
_MEDIUM = Importance.MEDIUM

_RETRY_TIMEOUT = LONG(
    "errors.retry.timeout",
    0,
    doc="For how long, in ms, a failed operation is retried; 0: not at all, -1: for ever.",
    importance=_MEDIUM,
    shown=Shown(GROUP, 1, Width.MEDIUM, "Retry Timeout for Errors"),
)
_RETRY_DELAY_MAX = LONG(
    "errors.retry.delay.max.ms",
    60_000,
    doc="The longest pause, in ms, between two attempts. Pauses double from 300 ms, and are random beyond this one.",
    importance=_MEDIUM,
    shown=Shown(GROUP, 2, Width.MEDIUM, "Maximum Delay Between Retries for Errors"),
)
TOLERANCE = STRING(
    "errors.tolerance",
    "none",
    validator=OneOf(("none", "all")),
    doc="What happens with a bad record: `none` fails the task, `all` skips the record.",
    importance=_MEDIUM,
    shown=Shown(GROUP, 3, Width.SHORT, "Error Tolerance"),
)
_LOG = BOOLEAN(
    "errors.log.enable",
    False,
    doc="Whether tolerated errors are logged; errors that fail the task always are.",
    importance=_MEDIUM,
    shown=Shown(GROUP, 4, Width.SHORT, "Log Errors"),
)
_LOG_MESSAGES = BOOLEAN(
    "errors.log.include.messages",
    False,
    doc="Whether the log line includes the record. Off by default, because records may hold secrets.",
    importance=_MEDIUM,
    shown=Shown(GROUP, 5, Width.SHORT, "Log Error Details"),
)
DEAD_LETTERS_TOPIC = STRING(
    DLQ_TOPIC,
    "",
    doc="The topic for records that could not be processed; default: they are lost, if `errors.tolerance` allows it.",
    importance=_MEDIUM,
    shown=Shown(GROUP, 6, Width.MEDIUM, "Dead Letter Queue Topic Name"),
)
_REPLICATION_FACTOR = SHORT(
    "errors.deadletterqueue.topic.replication.factor",
    3,
    doc="The replication factor of the dead letter topic, used if the topic has to be created.",
    importance=_MEDIUM,
    shown=Shown(GROUP, 7, Width.MEDIUM, "Dead Letter Queue Topic Replication Factor"),
)
CONTEXT_HEADERS = BOOLEAN(
    "errors.deadletterqueue.context.headers.enable",
    False,
    doc="Whether headers say where a dead letter came from and what went wrong.",
    importance=_MEDIUM,
    shown=Shown(GROUP, 8, Width.MEDIUM, "Enable Error Context Headers"),
)

KEYS = (_RETRY_TIMEOUT.key, _RETRY_DELAY_MAX.key, TOLERANCE.key, _LOG.key, _LOG_MESSAGES.key)
DEAD_LETTER_KEYS = (DEAD_LETTERS_TOPIC.key, _REPLICATION_FACTOR.key, CONTEXT_HEADERS.key)
_TABLE = ConfigDef(*KEYS, *DEAD_LETTER_KEYS)


@dataclass(frozen=True, slots=True)
class ErrorSettings:
    """Times are seconds; `retry_timeout_s` None: without limit, 0: no second attempt."""

    retry_timeout_s: float | None = 0.0
    retry_delay_max_s: float = 60.0
    tolerant: bool = False
    log: bool = False
    log_messages: bool = False
    topic: str | None = None
    """Of the dead letter queue; None: there is none."""
    replication_factor: int = 3
    headers: bool = False

    @classmethod
    def of(cls, config: Mapping[str, str | None]) -> ErrorSettings:
        """ConfigError for the first setting that can't be used."""
        parsed = _TABLE.parse({name: value for name, value in config.items() if name in _TABLE.keys})
        timeout = _RETRY_TIMEOUT.of(parsed)
        return cls(
            retry_timeout_s=None if timeout < 0 else timeout / 1000,
            retry_delay_max_s=_RETRY_DELAY_MAX.of(parsed) / 1000,
            tolerant=TOLERANCE.of(parsed) == "all",
            log=_LOG.of(parsed),
            log_messages=_LOG_MESSAGES.of(parsed),
            topic=DEAD_LETTERS_TOPIC.of(parsed).strip() or None,
            replication_factor=_REPLICATION_FACTOR.of(parsed),
            headers=CONTEXT_HEADERS.of(parsed),
        )
