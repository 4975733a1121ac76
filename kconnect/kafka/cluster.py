"""
What commands ask of a Kafka cluster with no worker alive: topics and their settings, the members of a group, and few changes.

Called by `internal_topics/reading.py`, `cli/topics/restoring.py` and the commands of dead letter queues. Errors name what was
asked for, with the remedy (`failures.py`). `admin.py` is what a worker asks. Read next: `positions.py`, `reader.py`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, NewTopic, ResourceType

from kconnect.errors import ConnectError, ForbiddenError, NotFoundError, UnavailableError
from kconnect.kafka.codes import AWAY, MOVING, STARTING
from kconnect.kafka.failures import failure, persistently
from kconnect.kafka.positions import Place

_ANSWER_S = 20.0
_CHANGE_S = 60.0
_SILENT_S = 60.0
_STEP_S = 3.0
_T = TypeVar("_T")


@dataclass(frozen=True)
class TopicShape:
    """A topic to create."""

    name: str
    partitions: int
    copies: int
    settings: Mapping[str, str] = field(default_factory=dict)


class Cluster:
    """`client` are librdkafka's settings."""

    def __init__(self, client: Mapping[str, Any]) -> None:
        self._down = False
        self._client = dict(client)
        settings: dict[str, Any] = {**client, "error_cb": self._hear}
        self._admin = AdminClient(settings)

    def _hear(self, error: ck.KafkaError) -> None:
        self._down = self._down or error.code() == ck.KafkaError._ALL_BROKERS_DOWN

    def metadata(self) -> Any:
        """
        Return the metadata of the whole cluster. Wait for the first answer: for long if brokers are slow, for a moment only if
        they refuse connections, as where the address is wrong.
        """
        begun = time.monotonic()
        while True:
            try:
                return self._admin.list_topics(timeout=_STEP_S)
            except ck.KafkaException as error:
                self._admin.poll(0)
                waited = time.monotonic() - begun
                if waited > _SILENT_S or (self._down and waited > _STEP_S) or error.args[0].code() not in AWAY:
                    raise self._failure(error.args[0], "the cluster") from error

    def topic(self, name: str) -> Any:
        """Its description; None for one that is not there. Whoever asks for its metadata instead has brokers create it."""
        asked = ck.TopicCollection([name])

        def describe() -> Any:
            return self._admin.describe_topics(asked, request_timeout=_ANSWER_S)[name].result()

        try:
            return self._persistently(describe, MOVING, f"the topic {name}")
        except NotFoundError:
            return None

    def settings(self, topic: str) -> tuple[dict[str, str] | None, frozenset[str]]:
        """A topic's settings, and the names of those that are its own; None without the right to see them."""
        what = f"the settings of the topic {topic}"
        # A topic that has just been made is unknown to some broker for a moment.
        passing = (ck.KafkaError.UNKNOWN_TOPIC_OR_PART,)
        try:
            entries = self._persistently(lambda: self._described(ResourceType.TOPIC, topic), passing, what)
        except ForbiddenError:
            return None, frozenset()
        set_on_topic = frozenset(
            entry.name for entry in entries.values() if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        )
        return {entry.name: entry.value for entry in entries.values() if entry.value is not None}, set_on_topic

    def broker_settings(self) -> dict[str, str]:
        """Return the settings of any one broker."""
        broker = next(iter(self.metadata().brokers))
        entries = self._persistently(lambda: self._described(ResourceType.BROKER, str(broker)), (), f"the broker {broker}")
        return {entry.name: entry.value for entry in entries.values() if entry.value is not None}

    def members(self, group: str) -> tuple[str, ...] | None:
        """
        The client ids of a group's members, which in kconnect's are the workers' URLs; None without the right to see them.
        """
        try:
            return self._persistently(lambda: self._members(group), STARTING, f"the group {group}")
        except ForbiddenError:
            return None

    def _members(self, group: str) -> tuple[str, ...]:
        # The call that is to replace this one knows groups of consumers only, and Connect's are none.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            groups = self._admin.list_groups(group=group, timeout=_ANSWER_S)
        for group_found in groups:
            if group_found.error is not None:
                raise ck.KafkaException(group_found.error)
        return tuple(sorted(str(member.client_id) for group_found in groups for member in group_found.members))

    def create(self, topics: Iterable[TopicShape]) -> None:
        """Create topics, and return when brokers know of all. Topics that exist by then are left as they are."""
        new = [
            NewTopic(new_topic.name, new_topic.partitions, new_topic.copies, config=dict(new_topic.settings))
            for new_topic in topics
        ]
        if not new:
            return
        for name, future in self._admin.create_topics(new, request_timeout=_CHANGE_S).items():
            try:
                future.result()
            except ck.KafkaException as error:
                if error.args[0].code() != ck.KafkaError.TOPIC_ALREADY_EXISTS:
                    raise ConnectError(f"The topic {name} could not be created: {error.args[0].str()}") from error
        end = time.monotonic() + _CHANGE_S
        while missing := {new_topic.topic for new_topic in new} - self._known():
            if time.monotonic() > end:
                raise UnavailableError(f"The brokers do not show the new topic {', '.join(missing)} yet; try again")
            time.sleep(0.2)

    def delete_before(self, ends: Mapping[Place, int]) -> None:
        """Delete the records before these offsets. Topics with cleanup.policy=compact alone refuse it."""
        asked = [ck.TopicPartition(*place, end) for place, end in ends.items()]
        for deleted in self._admin.delete_records(asked, request_timeout=_CHANGE_S).values():
            try:
                deleted.result()
            except ck.KafkaException as error:
                raise self._failure(error.args[0], f"deleting records of {', '.join(map(str, ends))}") from error

    def _known(self) -> set[str]:
        try:
            return {name for name, topic in self._admin.list_topics(timeout=_CHANGE_S).topics.items() if topic.error is None}
        except ck.KafkaException:
            return set()

    def _described(self, kind: ResourceType, name: str) -> Any:
        resource = ConfigResource(kind, name)
        return self._admin.describe_configs([resource], request_timeout=_ANSWER_S)[resource].result()

    def _persistently(self, ask: Callable[[], _T], passing: Collection[int], what: str) -> _T:
        return persistently(ask, passing, what, self._client, _SILENT_S)

    def _failure(self, error: ck.KafkaError, what: str) -> ConnectError:
        return failure(error, what, self._client)
