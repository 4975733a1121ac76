"""
Settings of a connector that Kafka Connect does not have: how it heals by itself, how heavy its tasks are, and whether each
has a process of its own.

`common.py` puts the rows into the tables of sources and sinks; `herder/healing.py`, `herder/leader.py` and
`herder/host_specs.py` read them with `Operation.of`, for which no plugin and no secret is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import ConfigDef, OneOf, Range, Width
from kconnect.core.settings.setting import INT, LONG, STRING, Shown
from kconnect.errors import ConfigError

_ERRORS, _LIMIT = "Error Handling", 2**31 - 1
ISOLATION, MEMORY, WEIGHT = "tasks.isolation", "tasks.memory.max", "tasks.weight"
_SHARED, _DEDICATED = "shared", "dedicated"


def _memory(name: str, value: Any) -> None:
    if value is None or (value != -1 and value < 128 * 2**20):
        rule = "Must be at least 134217728, of which the process itself needs some 100 MB, or -1 for no limit"
        raise ConfigError(name, value, rule)


_ATTEMPTS = INT(
    "errors.restart.max.attempts",
    0,
    Range.between(-1, _LIMIT),
    "How many times in a row a failed connector or task is restarted automatically; 0: never, -1: without limit.",
    shown=Shown(_ERRORS, 20, Width.SHORT, "Restart Attempts"),
)
_BACKOFF = LONG(
    "errors.restart.backoff.ms",
    10_000,
    Range.at_least(1),
    "The pause, in ms, before the first such restart; it doubles with each further one.",
    shown=Shown(_ERRORS, 21, Width.SHORT, "Restart Backoff"),
)
_MAX_BACKOFF = LONG(
    "errors.restart.max.backoff.ms",
    300_000,
    Range.at_least(1),
    "The longest such pause, in ms. A unit that has run for as long as this without failing gets all its attempts back.",
    shown=Shown(_ERRORS, 22, Width.SHORT, "Longest Backoff"),
)
_WEIGHT = INT(
    WEIGHT,
    1,
    Range.between(1, 1_000_000),
    "The weight of one task of this connector when tasks are spread over workers: a task of weight 3 counts as three others.",
    shown=Shown("Common", 20, Width.SHORT, "Weight of a task"),
)
_ISOLATION = STRING(
    ISOLATION,
    _SHARED,
    OneOf((_SHARED, _DEDICATED)),
    "shared: tasks run beside those of other connectors, as threads of a few processes; dedicated: each task has a process "
    "of its own, which costs some 100 MB, and on a Spark cluster a core.",
    shown=Shown("Common", 21, Width.SHORT, "Isolation of tasks"),
)
_MAX_MEMORY = LONG(
    MEMORY,
    -1,
    _memory,
    "How many bytes of memory the process of a dedicated task may take, some 100 MB for itself included; -1: no limit.",
    shown=Shown("Common", 22, Width.SHORT, "Memory of a task"),
)

KEYS = (_ATTEMPTS.key, _BACKOFF.key, _MAX_BACKOFF.key, _WEIGHT.key, _ISOLATION.key, _MAX_MEMORY.key)
_TABLE = ConfigDef(*KEYS)


@dataclass(frozen=True, slots=True)
class Operation:
    """Times are milliseconds; `max_attempts` of -1 is without limit."""

    max_attempts: int = 0
    backoff_ms: int = 10_000
    max_backoff_ms: int = 300_000
    weight: int = 1
    isolation: str = _SHARED
    max_memory: int = -1

    @property
    def dedicated(self) -> bool:
        """Whether each task has a host of its own."""
        return self.isolation == _DEDICATED

    @property
    def memory(self) -> int | None:
        """The memory limit of a dedicated task, in bytes. None if there is none."""
        return None if self.max_memory == -1 else self.max_memory

    @classmethod
    def of(cls, config: Mapping[str, str | None]) -> Operation:
        """
        Read the settings of a config as it was submitted. A value that can't be read has its default: validation has refused it
        before.
        """
        texts = {key.name: config[key.name] for key in KEYS if config.get(key.name) is not None}
        if not texts:
            return _DEFAULT
        try:
            values = _TABLE.parse(texts)
        except ConfigError:
            return _DEFAULT
        return cls(
            max_attempts=_ATTEMPTS.of(values),
            backoff_ms=_BACKOFF.of(values),
            max_backoff_ms=_MAX_BACKOFF.of(values),
            weight=_WEIGHT.of(values),
            isolation=_ISOLATION.of(values),
            max_memory=_MAX_MEMORY.of(values),
        )


_DEFAULT = Operation()


def isolation_errors(parsed: Mapping[str, Any]) -> dict[str, str]:
    """Return contradictions between these settings, by setting; `parsed` are the values of a table."""
    if parsed.get(MEMORY) in (None, -1) or parsed.get(ISOLATION) != _SHARED:
        return {}
    rule = f"only a task with a process of its own can be limited: set {ISOLATION}={_DEDICATED} too, or leave {MEMORY} out"
    return {MEMORY: f"Invalid value {parsed[MEMORY]} for configuration {MEMORY}: {rule}"}
