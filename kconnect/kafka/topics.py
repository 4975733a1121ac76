"""
Creates topics just before a source task's first record goes to them (KIP-158).

`units/source_topics.py` asks once a topic, and only where the connector has `topic.creation.*` rules. It needs the rights to
describe and to create these topics, as the connector's `admin.override.*` gives them. Read next: `producer.py`.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.settings.topic_creation import TopicCreation, TopicSettings
from kconnect.errors import ConnectError, NotAuthorizedError, NoTopicError
from kconnect.kafka import asking, servers
from kconnect.kafka.asking import Asking
from kconnect.kafka.codes import AWAY, MAY_NOT_WRITE, sentence
from kconnect.kafka.refusals import Access

log = logging.getLogger(__name__)

_TIMEOUT_S = 30
_AGAIN_S = 0.5
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
# The last two while the cluster has no controller; a topic that was created all the same is found at the next attempt.
_PASSING = (
    *AWAY,
    ck.KafkaError.NOT_CONTROLLER,
    ck.KafkaError.REQUEST_TIMED_OUT,
    ck.KafkaError.THROTTLING_QUOTA_EXCEEDED,
)


def require_name(topic: str) -> None:
    """ConnectError for what is no topic's name: a client would wait for such a topic for ever."""
    if not _NAME.fullmatch(topic) or topic in (".", ".."):
        raise ConnectError(f"'{topic}' is not a topic name: use 1 to 249 of the characters A-Z a-z 0-9 . _ -")


def create_missing(
    client: Mapping[str, Any],
    rules: TopicCreation,
    topics: Collection[str],
    cancelled: Callable[[], bool],
    access: Access | None = None,
) -> bool:
    """
    Create those of `topics` that don't exist; one that somebody else creates meanwhile is there, too.

    Brokers that don't answer are waited for until `cancelled()`: False. ConnectError, naming topic, group and cause, for a
    topic that can't be had; or if brokers refuse the client, which `access` knows.
    """
    servers.require(client)
    # The client ends with its last reference.
    admin = AdminClient(asking.settings(client, access))
    asked = Asking(admin, access)
    while not cancelled():
        try:
            missing = _missing(admin, asked, rules, topics)
            if not missing:
                return True
            # Asked once more, for the answer may have taken long: the task may be somebody else's by now, or be gone.
            if not cancelled():
                _create(admin, asked, missing)
                return True
        except _Away as error:
            log.warning("Topics can't be created yet: %s", error)
            if access is not None:
                access.waits("creating topics", str(error))
            time.sleep(_AGAIN_S)
    return False


class _Away(Exception):
    """No broker answered, or none that can create topics now."""


def _missing(admin: AdminClient, asked: Asking, rules: TopicCreation, topics: Collection[str]) -> list[TopicSettings]:
    # Describing has no broker create a topic, as asking for its metadata would. One request for all of them.
    futures = admin.describe_topics(ck.TopicCollection(list(topics)), request_timeout=_TIMEOUT_S)
    missing = []
    for topic in topics:
        try:
            asked.answer(futures[topic])
        except ck.KafkaException as error:
            settings, cause = rules.settings_of(topic), error.args[0]
            if cause.code() != ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise _failure(
                    f"The task can't find out whether the topic {topic} exists, or must be created by the rules of "
                    f"{_of(settings)}",
                    "Give the task the rights to describe it, and to create it if it is missing (`admin.override.*`)",
                    cause,
                    topic,
                ) from error
            missing.append(settings)
    return missing


def _create(admin: AdminClient, asked: Asking, missing: list[TopicSettings]) -> None:
    new_topics = [
        NewTopic(
            settings.topic,
            num_partitions=settings.partitions,
            replication_factor=settings.replication_factor,
            config=dict(settings.config),
        )
        for settings in missing
    ]
    futures = admin.create_topics(new_topics, request_timeout=_TIMEOUT_S)
    for settings in missing:
        try:
            asked.answer(futures[settings.topic])
            log.info(
                "Created the topic %s by the rules of the group %s: %d partitions, replication factor %d",
                settings.topic,
                settings.group,
                settings.partitions,
                settings.replication_factor,
            )
        except ck.KafkaException as error:
            cause = error.args[0]
            if cause.code() == ck.KafkaError.TOPIC_ALREADY_EXISTS:
                log.info("Another client has created the topic %s", settings.topic)
                continue
            raise _failure(
                f"The topic {settings.topic} could not be created by the rules of {_of(settings)}",
                "Fix the rules, create the topic, or give the task the rights to describe and create it (`admin.override.*`)",
                cause,
                settings.topic,
            ) from error


def _of(settings: TopicSettings) -> str:
    return f"the group {settings.group} (topic.creation.{settings.group}.*)"


def _failure(problem: str, remedy: str, cause: ck.KafkaError, topic: str) -> Exception:
    if cause.code() in _PASSING:
        return _Away(cause.str())
    text = f"{problem}: {sentence(cause)}. {remedy}; then restart the task."
    return NotAuthorizedError(text, topic) if cause.code() in MAY_NOT_WRITE else NoTopicError(text)
