"""
The framework's settings of source connectors; those that sinks have as well are in `common.py`.

`SOURCE_CONFIG` is read through `connector.py`, `SourceSettings` by tasks (`units/source_task.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kconnect.api.config import ConfigDef, NonEmptyString, OneOf, Range, Width
from kconnect.core.settings.common import (
    MEDIUM,
    IfGiven,
    Unique,
    common_keys,
)
from kconnect.core.settings.errors import DEAD_LETTER_KEYS
from kconnect.core.settings.setting import LIST, LONG, STRING, Shown

TOPIC_CREATION, EXACTLY_ONCE, OFFSETS_TOPIC = "Topic Creation", "Exactly Once Support", "offsets.topic"

CREATION_GROUPS = LIST(
    "topic.creation.groups",
    [],
    Unique("topic creation groups"),
    doc="Groups of topics that are created with the same settings, `topic.creation.<group>.*`.",
    shown=Shown(TOPIC_CREATION, 1, Width.LONG, "Topic Creation Groups"),
)
EXACTLY_ONCE_SUPPORT = STRING(
    "exactly.once.support",
    "requested",
    OneOf(("REQUIRED", "REQUESTED"), ignore_case=True),
    doc="`required` refuses a config with which the connector can't be exactly-once; `requested` does not check.",
    importance=MEDIUM,
    shown=Shown(EXACTLY_ONCE, 2, Width.SHORT, "Exactly once support"),
)
BOUNDARY = STRING(
    "transaction.boundary",
    "poll",
    OneOf(("INTERVAL", "POLL", "CONNECTOR"), ignore_case=True),
    doc="When an exactly-once task ends its transactions: after each `poll`, by time, or where the connector says so.",
    importance=MEDIUM,
    shown=Shown(EXACTLY_ONCE, 3, Width.SHORT, "Transaction Boundary"),
)
BOUNDARY_INTERVAL = LONG(
    "transaction.boundary.interval.ms",
    None,
    IfGiven(Range.at_least(0)),
    doc="The time between transactions, in ms, for the boundary `interval`; default: the worker's offset.flush.interval.ms.",
    shown=Shown(EXACTLY_ONCE, 4, Width.SHORT, "Transaction boundary interval"),
)
OFFSETS_STORAGE_TOPIC = STRING(
    "offsets.storage.topic",
    None,
    NonEmptyString(),
    doc="A topic for this connector's own offsets, instead of the worker's.",
    shown=Shown(OFFSETS_TOPIC, 1, Width.LONG, "Offsets topic"),
)

SOURCE_CONFIG = ConfigDef(
    *common_keys(),
    CREATION_GROUPS.key,
    EXACTLY_ONCE_SUPPORT.key,
    BOUNDARY.key,
    BOUNDARY_INTERVAL.key,
    OFFSETS_STORAGE_TOPIC.key,
    # Kafka Connect has no dead letter queue for sources.
    *DEAD_LETTER_KEYS,
)


@dataclass(frozen=True)
class SourceSettings:
    """The settings of transactions and offsets of a source connector."""

    transaction_boundary: str = "poll"
    transaction_boundary_interval_ms: int | None = None
    offsets_storage_topic: str | None = None

    @classmethod
    def from_config(cls, config: Mapping[str, str]) -> SourceSettings:
        """ConfigError for the first setting of the whole table that can't be used."""
        parsed = SOURCE_CONFIG.parse(config)
        return cls(BOUNDARY.of(parsed).lower(), BOUNDARY_INTERVAL.of(parsed), OFFSETS_STORAGE_TOPIC.of(parsed))
