"""
Settings of a connector for records that fail (KIP-298): retries, tolerance, logging, the dead letter queue.

`common.py`, `sink.py` and `source.py` put the rows into their tables; the tasks' loops read them with `ErrorSettings.of`.
Read next: `core/task/errors.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kconnect.api.config import ConfigDef, ConfigKey, Importance, OneOf, Type, Width

GROUP, DLQ_TOPIC = "Error Handling", "errors.deadletterqueue.topic.name"
_MEDIUM = Importance.MEDIUM


def _key(name: str, type: Type, default: object, order: int, width: Width, display_name: str, doc: str) -> ConfigKey:
    rule = OneOf(("none", "all")) if name == "errors.tolerance" else None
    return ConfigKey(name, type, default, _MEDIUM, doc, rule, GROUP, order, width, display_name)


KEYS = (
    _key(
        *("errors.retry.timeout", Type.LONG, 0, 1, Width.MEDIUM, "Retry Timeout for Errors"),
        "For how long, in ms, a failed operation is tried again; 0: not at all, -1: for ever.",
    ),
    _key(
        *("errors.retry.delay.max.ms", Type.LONG, 60_000, 2, Width.MEDIUM, "Maximum Delay Between Retries for Errors"),
        "The longest pause, in ms, between two tries. Pauses double from 300 ms and are random beyond this one.",
    ),
    _key(
        *("errors.tolerance", Type.STRING, "none", 3, Width.SHORT, "Error Tolerance"),
        "What a bad record does: `none` fails the task, `all` skips the record.",
    ),
    _key(
        *("errors.log.enable", Type.BOOLEAN, False, 4, Width.SHORT, "Log Errors"),
        "Whether tolerated errors are logged; those that fail the task always are.",
    ),
    _key(
        *("errors.log.include.messages", Type.BOOLEAN, False, 5, Width.SHORT, "Log Error Details"),
        "Whether such a line tells the record too. Off by default, because records may hold secrets.",
    ),
)
DEAD_LETTER_KEYS = (
    _key(
        *(DLQ_TOPIC, Type.STRING, "", 6, Width.MEDIUM, "Dead Letter Queue Topic Name"),
        "The topic for records that could not be processed; default: they are lost, if `errors.tolerance` allows it.",
    ),
    _key(
        *("errors.deadletterqueue.topic.replication.factor", Type.SHORT, 3, 7, Width.MEDIUM),
        "Dead Letter Queue Topic Replication Factor",
        "For the dead letter topic, if it doesn't exist.",
    ),
    _key(
        *("errors.deadletterqueue.context.headers.enable", Type.BOOLEAN, False, 8, Width.MEDIUM),
        "Enable Error Context Headers",
        "Whether headers tell where a dead letter came from and what went wrong.",
    ),
)
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
        timeout, delay, tolerance, logs, messages, topic, factor, headers = (parsed[name] for name in _TABLE.keys)
        seconds = None if timeout < 0 else timeout / 1000
        return cls(seconds, delay / 1000, tolerance == "all", logs, messages, topic.strip() or None, factor, headers)
