"""
Sees to it, once a topic, that the topics a source task writes to are there.

By the connector's own rules where it has some and the worker lets it (KIP-158), else the brokers create them or nobody does.
Made by `source_task.py`, asked by both ways of delivery (`core/task/delivery.py`). Read next: `kafka/topics.py`,
`core/settings/topic_creation.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping

from kconnect.core.settings import topic_creation
from kconnect.core.settings.topic_creation import TopicCreation
from kconnect.core.task.errors import Counts
from kconnect.core.task.ports import Producer
from kconnect.errors import ConnectError
from kconnect.kafka import clients, topics
from kconnect.kafka.refusals import Access
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)


class SourceTopics:
    """ConfigError, naming the setting, for rules that can't be used."""

    def __init__(self, unit: Unit, config: Mapping[str, str], cancelled: Callable[[], bool], counts: Counts) -> None:
        """`counts` is where it is shown what is waited for."""
        settings = unit.ports.settings
        self._cancelled = cancelled
        self._rules: TopicCreation | None = None
        if settings.topic_creation_enable:
            self._rules = TopicCreation.from_config(config)
        elif topic_creation.is_used(config):
            log.warning("The worker's topic.creation.enable is false: the connector's topic.creation.* settings have no effect")
        if self._rules is not None:
            self._client = clients.topic_admin(settings, unit.spec.connector, config)
            prefix = clients.topic_admin_prefix(settings, config)
            self._access = Access(self._client, counts, time.monotonic, prefix)
        self._ready: set[str] = set()
        self._internal = settings.internal_topics

    def new(self, asked: Collection[str]) -> list[str]:
        """Return those of `asked` that have not been `written` to yet."""
        return [topic for topic in asked if topic not in self._ready]

    def refusal(self, topic: str) -> str | None:
        """Return why the topic can't be written to: it is one of the worker's internal topics, or Kafka takes no such name."""
        try:
            topics.require_name(topic)
        except ConnectError as error:
            return str(error)
        return self._internal.refusal(topic) if self._internal.protects(topic) else None

    def require(self, new: list[str], producer: Producer, waits: bool = True) -> bool:
        """
        Have them there, for this producer. False if the task is to end first. Without `waits`, one that is missing, or may not
        be written to, is so after a moment.

        ConnectError, naming topic and remedy, if that can't be.
        """
        rules = self._rules if new else None
        if rules is not None and not topics.create_missing(self._client, rules, new, self._cancelled, self._access):
            return False
        return all(producer.require_topic(topic, waits) for topic in new)

    def written(self, new: Collection[str]) -> None:
        self._ready.update(new)
