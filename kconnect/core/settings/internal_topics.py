"""
Which topics are never data: the worker's internal topics, which hold configs and the session key, and Kafka's own.

Whoever reads them as data has the cluster's secrets, and whoever writes to them has the cluster. So a config, a preview, a
queue or a replay that names one is refused, and a pattern passes over them, unless the worker setting below allows it. Made
from `WorkerSettings`; asked by `plugins/validation.py` and `plugins/reach.py`, the tasks in `units/`, `kafka/sample.py` and
`dlq/`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kconnect.core.settings.source import OFFSETS_STORAGE_TOPIC
from kconnect.errors import ConfigError

SETTING = "connector.internal.topics.allowed"

_LEFT_OUT = re.compile(r".*(exclude[sd]?|(black|deny|block)\.?list|ignored?)", re.IGNORECASE)
"""Settings that say which topics are not meant, such as MirrorMaker's `topics.exclude`."""

# By name: `__` alone says nothing, for connectors have such topics of their own (`__debezium-heartbeat.…`).
_KAFKAS = frozenset(
    (
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        "__cluster_metadata",
        "__remote_log_metadata",
    )
)


@dataclass(frozen=True)
class InternalTopics:
    """
    The internal topics of a worker. `offset` is the one that `offsets.storage.topic` may name: a connector may keep its
    offsets where the worker keeps them (KIP-618).
    """

    names: Collection[str] = frozenset()
    offset: str = ""
    allowed: bool = False

    def protects(self, topic: str) -> bool:
        """Return whether the topic must not be read or written as data."""
        return not self.allowed and (topic in self.names or topic in _KAFKAS)

    def refusal(self, topic: str) -> str:
        """Return the sentence that says why the topic can't be used."""
        whose = "is one of Kafka's own" if topic in _KAFKAS else "is an internal topic of this Connect cluster"
        return f"The topic {topic} {whose}: it is no data. To use it all the same, set {SETTING}=true in the worker file"

    def require_data(self, setting: str, topic: str | None) -> None:
        """Raise ConfigError, naming the setting, if it names an internal topic."""
        if topic is not None and self.protects(topic):
            raise ConfigError(setting, topic, self.refusal(topic))

    def problems(self, config: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
        """
        Yield the settings of a connector's config that name an internal topic, each with its refusal.

        Every setting of which a name says that it is about topics counts, since plugins have their own: `topic`, `kafka.topic`,
        `reporter.result.topic.name`.
        """
        for setting, text in config.items():
            if text is None or "topic" not in setting.lower() or _LEFT_OUT.fullmatch(setting.strip()):
                continue
            if setting == OFFSETS_STORAGE_TOPIC.key.name and text.strip() == self.offset:
                continue
            for topic in dict.fromkeys(part.strip() for part in text.split(",")):
                if self.protects(topic):
                    yield setting, self.refusal(topic)
