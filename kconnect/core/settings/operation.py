"""
Settings of a connector that Kafka Connect does not have: how it heals by itself, and how heavy its tasks are.

`common.py` puts the rows into the tables of sources and sinks; `herder/healing.py` and `herder/leader.py` read them with
`Operation.of`, for which no plugin and no secret is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kconnect.api.config import ConfigDef, ConfigKey, Importance, Range, Type, Width
from kconnect.api.errors import ConfigError

_ERRORS, _LIMIT = "Error Handling", 2**31 - 1


def _key(name: str, type: Type, default: int, rule: Range, place: tuple[str, int], display_name: str, doc: str) -> ConfigKey:
    return ConfigKey(name, type, default, Importance.LOW, doc, rule, *place, Width.SHORT, display_name)


KEYS = (
    _key(
        *("errors.restart.max.attempts", Type.INT, 0, Range.between(-1, _LIMIT), (_ERRORS, 20), "Restart Attempts"),
        "How often in a row a failed connector or task is started again by itself; 0: never, -1: without limit.",
    ),
    _key(
        *("errors.restart.backoff.ms", Type.LONG, 10_000, Range.at_least(1), (_ERRORS, 21), "Restart Backoff"),
        "The pause, in ms, before the first such start; it doubles with each that follows.",
    ),
    _key(
        *("errors.restart.max.backoff.ms", Type.LONG, 300_000, Range.at_least(1), (_ERRORS, 22), "Longest Backoff"),
        "The longest such pause, in ms. What ran for as long as this without failing has its attempts back.",
    ),
    _key(
        *("tasks.weight", Type.INT, 1, Range.between(1, 1_000_000), ("Common", 20), "Weight of a task"),
        "What one task of this connector counts when tasks are spread over workers: a task of weight 3 takes the place "
        "of three others.",
    ),
)
_TABLE = ConfigDef(*KEYS)


@dataclass(frozen=True, slots=True)
class Operation:
    """Times are milliseconds; `max_attempts` of -1 is without limit."""

    max_attempts: int = 0
    backoff_ms: int = 10_000
    max_backoff_ms: int = 300_000
    weight: int = 1

    @classmethod
    def of(cls, config: Mapping[str, str | None]) -> Operation:
        """Of a config as it was submitted. What can't be read has its default: validation has refused it before."""
        own = {key.name: config[key.name] for key in KEYS if config.get(key.name) is not None}
        if not own:
            return _DEFAULT
        try:
            values = _TABLE.parse(own)
        except ConfigError:
            return _DEFAULT
        return cls(*(values[key.name] for key in KEYS))


_DEFAULT = Operation()
