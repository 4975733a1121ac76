"""
Reads internal topics from brokers, with no worker alive: all that is committed, and how Kafka keeps it.

`read` gives `Contents` up to where the topics ended when it was called, `follow` goes on from there. Both only read, and join
no group. Errors say which topic, and what to do. Read next: `contents.py`, `kafka/reader.py`, `kafka/cluster.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kconnect.core.state.records import Topic
from kconnect.errors import NotFoundError
from kconnect.internal_topics.contents import Contents, Stored, TopicFacts
from kconnect.kafka.cluster import Cluster
from kconnect.kafka.positions import Place
from kconnect.kafka.reader import Message, Reader

Client = Mapping[str, Any]


def read(
    client: Client, names: Mapping[Topic, str], group: str = "", progress: Callable[[int], None] = lambda read: None
) -> Contents:
    """
    Read the topics of `names`. A topic that does not exist is in `missing`; raise NotFoundError if none does. `group` is the
    workers', to see whether one lives. `progress` gets the number of records that were read so far, now and then.
    """
    contents = describe(client, names, group)
    if not contents.topics:
        missing = ", ".join(names.values())
        raise NotFoundError(
            f"{'These topics do' if len(names) > 1 else 'The topic does'} not exist: {missing}. Check what you named."
        )
    roles = {facts.name: role for role, facts in contents.topics.items()}
    with Reader(client) as reader:
        places = [Place(facts.name, number) for facts in contents.topics.values() for number in range(facts.partitions)]
        ends = {place: reader.span(place).end for place in places}
        hidden = reader.held_back(ends)
        for role, facts in contents.topics.items():
            topic_ends = {place.partition: end for place, end in ends.items() if place.topic == facts.name}
            behind = tuple(place.partition for place in hidden if place.topic == facts.name)
            contents.topics[role] = TopicFacts(**{**vars(facts), "ends": topic_ends, "open_at": behind})
        for some in reader.until(ends):
            contents.records += [_stored(message, roles) for message in some]
            progress(len(contents.records))
    # As a worker reads each topic: in the order of its partitions' offsets.
    contents.records.sort(key=lambda record: (record.role.value, record.partition, record.offset))
    return contents


def follow(client: Client, contents: Contents) -> Iterator[Stored]:
    """Yield what is written after `contents` were read, as it comes; for ever."""
    roles = {facts.name: role for role, facts in contents.topics.items()}
    with Reader(client) as reader:
        reader.begin({Place(facts.name, n): end for facts in contents.topics.values() for n, end in facts.ends.items()})
        while True:
            yield from (_stored(message, roles) for message in reader.some(0.5))


def describe(client: Client, names: Mapping[Topic, str], group: str = "") -> Contents:
    """The topics without their records. `ends` are not known."""
    cluster = Cluster(client)
    cluster_metadata = cluster.metadata()
    contents = Contents(
        {}, [], brokers=len(cluster_metadata.brokers), cluster_id=str(cluster_metadata.cluster_id or ""), group=group
    )
    for role, name in names.items():
        topic = cluster.topic(name)
        if topic is None:
            contents.missing[role] = name
            continue
        partitions = sorted(topic.partitions, key=lambda partition: partition.id)
        settings, own_settings = cluster.settings(name)
        contents.topics[role] = TopicFacts(
            name, tuple(len(p.replicas) for p in partitions), tuple(len(p.isr) for p in partitions), settings, own_settings
        )
    contents.members = cluster.members(group) if group else None
    return contents


def _stored(message: Message, roles: Mapping[str, Topic]) -> Stored:
    kind, moment = message.timestamp()
    headers = tuple((header[0], _bytes(header[1])) for header in message.headers() or ())
    place = roles[str(message.topic())], message.partition() or 0, message.offset() or 0
    return Stored(*place, _bytes(message.key()), _bytes(message.value()), moment, kind, headers)


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
