"""
The framework's settings of source connectors; those that sinks have as well are in `common.py`.

`SOURCE_CONFIG` is read through `connector.py`, `SourceSettings` by the source tasks in `worker/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kconnect.api.config import ConfigDef, NonEmptyString, OneOf, Range, Type, Width
from kconnect.core.settings.common import (
    LOW,
    MEDIUM,
    ConnectorSettings,
    IfGiven,
    Unique,
    common_fields,
    common_keys,
    key,
)
from kconnect.core.settings.errors import DEAD_LETTER_KEYS

TOPIC_CREATION, EXACTLY_ONCE, OFFSETS_TOPIC = "Topic Creation", "Exactly Once Support", "offsets.topic"

SOURCE_CONFIG = ConfigDef(
    *common_keys(),
    key(
        *("topic.creation.groups", Type.LIST, [], LOW, (TOPIC_CREATION, 1), Width.LONG, "Topic Creation Groups"),
        "Groups of topics that are created alike, each with settings `topic.creation.<group>.*`.",
        Unique("topic creation groups"),
    ),
    key(
        *("exactly.once.support", Type.STRING, "requested", MEDIUM, (EXACTLY_ONCE, 2), Width.SHORT),
        "Exactly once support",
        "`required` refuses a config with which the connector can't be exactly-once; `requested` doesn't check.",
        OneOf(("REQUIRED", "REQUESTED"), ignore_case=True),
    ),
    key(
        *("transaction.boundary", Type.STRING, "poll", MEDIUM, (EXACTLY_ONCE, 3), Width.SHORT, "Transaction Boundary"),
        "When an exactly-once task ends its transactions: after each `poll`, by time, or where the connector says so.",
        OneOf(("INTERVAL", "POLL", "CONNECTOR"), ignore_case=True),
    ),
    key(
        *("transaction.boundary.interval.ms", Type.LONG, None, LOW, (EXACTLY_ONCE, 4), Width.SHORT),
        "Transaction boundary interval",
        "For `transaction.boundary=interval`, in ms; default: the worker's offset.flush.interval.ms.",
        IfGiven(Range.at_least(0)),
    ),
    key(
        *("offsets.storage.topic", Type.STRING, None, LOW, (OFFSETS_TOPIC, 1), Width.LONG, "Offsets topic"),
        "A topic for this connector's own offsets, instead of the worker's.",
        NonEmptyString(),
    ),
    # Kafka Connect has no dead letter queue for sources.
    *DEAD_LETTER_KEYS,
)


@dataclass(frozen=True, repr=False)
class SourceSettings(ConnectorSettings):
    topic_creation_groups: tuple[str, ...] = ()
    exactly_once_required: bool = False
    transaction_boundary: str = "poll"
    transaction_boundary_interval_ms: int | None = None
    offsets_storage_topic: str | None = None
    creates_topics: bool = field(default=False)
    """Whether there is any `topic.creation.*` setting; without one, topics are left to the broker (KIP-158)."""

    @classmethod
    def from_config(cls, config: Mapping[str, str]) -> SourceSettings:
        """ConfigError for the first setting that can't be used."""
        parsed, fields = common_fields(SOURCE_CONFIG, config)
        return cls(
            **fields,
            topic_creation_groups=tuple(parsed["topic.creation.groups"]),
            exactly_once_required=parsed["exactly.once.support"].lower() == "required",
            transaction_boundary=parsed["transaction.boundary"].lower(),
            transaction_boundary_interval_ms=parsed["transaction.boundary.interval.ms"],
            offsets_storage_topic=parsed["offsets.storage.topic"],
            creates_topics=any(name.startswith("topic.creation.") for name in config),
        )
