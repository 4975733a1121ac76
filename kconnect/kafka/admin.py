"""
What a worker asks brokers to do: create and check its internal topics, tell the group's members and offsets.

Used by `worker/main.py` at start-up and by `worker/loop.py`. Errors are `ConnectError`s that name the topic or group,
the setting, and the remedy.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from kconnect.errors import ConnectError
from kconnect.kafka import asking, liveness
from kconnect.kafka.asking import Asking
from kconnect.kafka.codes import MAY_NOT_CREATE, STARTING, sentence
from kconnect.kafka.group import Member
from kconnect.kafka.refusals import Access

log = logging.getLogger(__name__)

_TIMEOUT = 30
_GROUP_S = 10
_OFFSETS_S = 30
_REFUSAL_S = 0.2
"""The first group of a cluster has the brokers create the topic of all of them."""
_NEVER_S = 3600


@dataclass(frozen=True)
class InternalTopic:
    """
    An internal topic as settings want it; -1 leaves a number to the broker. `setting` names it, in what `whose` says, and
    `numbers` begins the names of those for its numbers.
    """

    name: str
    setting: str
    purpose: str
    partitions: int
    replication_factor: int
    single: bool = False
    config: Mapping[str, str] = field(default_factory=dict)
    whose: str = "the Connect worker configurations"
    numbers: str = ""


def ensure_topic(
    client: Mapping[str, Any],
    topic: str,
    partitions: int,
    replication_factor: int,
    remedy: str,
    config: Mapping[str, str] | None = None,
    access: Access | None = None,
) -> None:
    """
    Create a topic if it is missing. ConnectError, ending with `remedy`, if that is refused; or if brokers refuse the client,
    which `access` knows.
    """
    admin = AdminClient(asking.settings(client, access))
    asked = Asking(admin, access)
    try:
        # All of them: who asks for one has the broker create it, as the broker thinks fit.
        metadata = asked.topics(_TIMEOUT).get(topic)
        if metadata is not None and metadata.error is None:
            return
        new_topic = NewTopic(topic, num_partitions=partitions, replication_factor=replication_factor, config=dict(config or {}))
        asked.answer(admin.create_topics([new_topic], request_timeout=_TIMEOUT)[topic])
        log.info("Created the topic %s", topic)
    except ck.KafkaException as error:
        if error.args[0].code() != ck.KafkaError.TOPIC_ALREADY_EXISTS:
            cause = error.args[0]
            if cause.code() in MAY_NOT_CREATE:
                remedy = f"Grant the user Create on the topic {topic} or on the cluster, or create it yourself."
            raise ConnectError(f"The topic {topic} could not be created: {sentence(cause)}. {remedy}") from error


def committed(client: Mapping[str, Any], group_id: str) -> list[tuple[str, int, int]]:
    """
    (topic, partition, offset) of each offset that the group has committed.

    Asked as a member would, though none joins: an admin client that asks is killed by a segmentation fault when the
    coordinator answers that it is none, as it does while it starts or moves (librdkafka 2.16).
    """
    consumer = ck.Consumer({**client, "group.id": group_id, "enable.auto.commit": False})
    try:
        topics = consumer.list_topics(timeout=_OFFSETS_S).topics
        all_there_are = [ck.TopicPartition(name, number) for name in topics for number in topics[name].partitions]
        offsets = _persistently(lambda: consumer.committed(all_there_are, timeout=_OFFSETS_S))
    except ck.KafkaException as error:
        # A client that may not know its coordinator says so to whoever polls; the call itself only gets no answer.
        refusal = consumer.poll(_REFUSAL_S)
        cause = None if refusal is None else refusal.error()
        if cause is not None and cause.code() == ck.KafkaError.GROUP_AUTHORIZATION_FAILED:
            raise ConnectError(
                f"The offsets of the group {group_id} can't be read: Group authorization failed. Grant the connector's user "
                "the operation Read on the group"
            ) from error
        raise ConnectError(f"The offsets of the group {group_id} can't be read: {sentence(error.args[0])}") from error
    finally:
        consumer.close()
    return [(p.topic, p.partition, p.offset) for p in offsets if p.error is None and p.offset >= 0]


def _persistently(ask: Callable[[], list[ck.TopicPartition]]) -> list[ck.TopicPartition]:
    """A group's coordinator that starts or moves says so, and is asked again for a while."""
    end = time.monotonic() + _OFFSETS_S
    while True:
        try:
            return ask()
        except ck.KafkaException as error:
            if error.args[0].code() not in STARTING or time.monotonic() > end:
                raise
        time.sleep(0.2)


class Admin:
    def __init__(self, client: Mapping[str, Any], timeout: float = _TIMEOUT) -> None:
        """`timeout`, in seconds, is for each answer of a broker."""
        self._servers = client.get("bootstrap.servers")
        self._settings = dict(client)
        self._timeout = timeout
        self._client = AdminClient(self._settings)
        self._undescribed: set[str] = set()
        """Topics of which it was said that they may not be described."""

    def cluster_id(self) -> str:
        """Return the id of the cluster behind `bootstrap.servers`. Raise ConnectError if no broker answers."""
        try:
            return str(self._client.describe_cluster(request_timeout=self._timeout).result().cluster_id)
        except ck.KafkaException as error:
            raise ConnectError(
                f"No Kafka broker answered at bootstrap.servers={self._servers} within {self._timeout:.0f} s "
                f"({error.args[0].str()}). Start one, or correct the setting; `kconnect broker start` runs a local one."
            ) from error

    def ensure(self, topics: list[InternalTopic]) -> None:
        """Create those that are missing, compacted; refuse those that would lose records or split them wrongly."""
        existing = self._client.list_topics(timeout=self._timeout).topics
        missing = [topic for topic in topics if topic.name not in existing or existing[topic.name].error is not None]
        if missing:
            self.create(missing)
        for topic in topics:
            if topic not in missing and topic.single and len(existing[topic.name].partitions) != 1:
                raise ConnectError(
                    f"Topic '{topic.name}' supplied via the '{topic.setting}' property is required to have a single "
                    f"partition in order to guarantee consistency of {topic.purpose}, but found "
                    f"{len(existing[topic.name].partitions)} partitions."
                )
        for problem in self.uncompacted(topics):
            raise ConnectError(problem)

    def topic_ids(self, names: Iterable[str]) -> dict[str, str]:
        """Return Kafka's ids of these topics, which differ for each life of a name. Topics that do not exist are left out."""
        client, ids = self._client, {}
        asked = client.describe_topics(ck.TopicCollection(list(names)), request_timeout=self._timeout)
        for name, future in asked.items():
            try:
                ids[name] = str(future.result().topic_id)
            except ck.KafkaException as error:
                if error.args[0].code() != ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
                    self._replace_if_lost(client, error.args[0])
                    raise ConnectError(f"The topic {name} can't be described: {error.args[0].str()}") from error
        return ids

    def create(self, topics: Collection[InternalTopic]) -> None:
        """Compacted, unless they are there by then. ConnectError if that is refused."""
        new_topics = [
            NewTopic(
                topic.name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                config={**topic.config, "cleanup.policy": "compact"},
            )
            for topic in topics
        ]
        by_name, client = {topic.name: topic for topic in topics}, self._client
        for name, future in client.create_topics(new_topics, request_timeout=self._timeout).items():
            try:
                future.result()
                log.info("Created the topic %s", name)
            except ck.KafkaException as error:
                cause = error.args[0]
                if cause.code() == ck.KafkaError.TOPIC_ALREADY_EXISTS:
                    continue  # Another worker was quicker.
                self._replace_if_lost(client, cause)
                prefix = by_name[name].numbers or by_name[name].setting.removesuffix(".topic")
                raise ConnectError(
                    f"The topic '{name}' of the '{by_name[name].setting}' property could not be created: {sentence(cause)}. "
                    f"Check `{prefix}.replication.factor` ({by_name[name].replication_factor}) against the number of "
                    "brokers, and what this user may do, or create the topic with cleanup.policy=compact yourself."
                ) from error

    def uncompacted(self, topics: Iterable[InternalTopic]) -> Iterator[str]:
        """
        Yield messages about topics whose cleanup policy would lose records. Raise ConnectError if a topic can't be described.
        """
        for topic in topics:
            try:
                entry = self._configs(topic.name).get("cleanup.policy")
            except ck.KafkaException as error:
                if error.args[0].code() == ck.KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    # Each time that it leads it looks again.
                    level = logging.DEBUG if topic.name in self._undescribed else logging.WARNING
                    self._undescribed.add(topic.name)
                    log.log(level, "This worker may not describe the topic %s: its cleanup policy was not checked", topic.name)
                    continue
                raise ConnectError(f"The topic '{topic.name}' can't be described: {error.args[0].str()}") from error
            policy = entry.value if entry is not None else None
            if policy is not None and {part.strip() for part in policy.split(",")} != {"compact"}:
                yield (
                    f"Topic '{topic.name}' supplied via the '{topic.setting}' property is required to have "
                    f"'cleanup.policy=compact' to guarantee consistency and durability of {topic.purpose}, but found the "
                    f"topic currently has 'cleanup.policy={policy}'. Continuing would likely result in eventually losing "
                    f"{topic.purpose} and problems restarting this Connect cluster in the future. Change the "
                    f"'{topic.setting}' property in {topic.whose} to use a topic with "
                    "'cleanup.policy=compact'."
                )

    def _configs(self, topic: str) -> dict[str, Any]:
        """A topic that has just been created may be unknown to the broker that is asked, for a moment."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        end = time.monotonic() + self._timeout
        while True:
            try:
                asked = self._client.describe_configs([resource], request_timeout=self._timeout)
                configs: dict[str, Any] = asked[resource].result()
                return configs
            except ck.KafkaException as error:
                if error.args[0].code() != ck.KafkaError.UNKNOWN_TOPIC_OR_PART or time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def members(self, group_id: str) -> list[Member]:
        """The group's live members, of whatever kind. After a kill -9 one URL may stand there twice for a while."""
        try:
            described = self._describe(group_id).members
        except ck.KafkaException as error:
            # So says the client of a group that is not one of consumers, even if the last worker of Kafka Connect has left it.
            if error.args[0].code() != ck.KafkaError._INVALID_ARG:
                raise
            groups = self._client.list_groups(group_id, _GROUP_S)
            return [Member(member.client_id or "", frozenset(), is_ours=False) for group in groups for member in group.members]
        return [
            Member(member.client_id, frozenset(p.topic for p in member.assignment.topic_partitions)) for member in described
        ]

    def _describe(self, group_id: str) -> Any:
        """
        Return the coordinator's description of the group. Raise ConnectError if it does not answer in time.

        librdkafka must not be the one whose time is over: a request that it gives up while it waits for a coordinator is
        used again when the broker comes back, after it was freed, and the process is aborted or the client is dead from
        then on (librdkafka #3663, #4605; 2.16). So this side gives up, and the client goes with the request.

        The client goes, too, when the broker that it asked is not the group's coordinator (any more), see `liveness.py`: this
        question alone does not make it look again. Kafka moves coordinators by itself after every rolling restart.
        """
        client = self._client
        try:
            return client.describe_consumer_groups([group_id], request_timeout=_NEVER_S)[group_id].result(_GROUP_S)
        except futures.TimeoutError:
            self._replace(client)
            raise ConnectError(f"No broker answered for the group {group_id} within {_GROUP_S} s") from None
        except ck.KafkaException as error:
            if not liveness.is_lost(error.args[0]):
                raise
            self._replace(client)
            if error.args[0].code() in STARTING:
                raise ConnectError(f"The coordinator of the group {group_id} has moved: {error.args[0].str()}") from error
            raise ConnectError(f"No broker answered for the group {group_id}: {error.args[0].str()}") from error

    def _replace_if_lost(self, client: AdminClient, error: ck.KafkaError) -> None:
        if liveness.is_lost(error):
            self._replace(client)

    def _replace(self, client: AdminClient) -> None:
        """Put a new client in the place of one that finds its broker no more, unless another thread has done so."""
        if self._client is client:
            self._client = AdminClient(self._settings)
