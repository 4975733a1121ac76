"""Changes to a group's committed offsets, and fenced producers, on a real broker: `kafka/group_offsets.py`, `fencing.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.api.record import TopicPartition
from kconnect.core.herder.effects import GroupInUseError
from kconnect.errors import ConnectError
from kconnect.kafka import fencing, group_offsets
from kconnect.kafka.admin import committed
from kconnect.local.broker import Broker
from tests.support import wait_until

from .units import PROTOCOLS


@pytest.fixture
def client(broker: Broker) -> dict[str, Any]:
    # A callback, as the worker's clients have it, can't be sent to a child.
    return {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, "error_cb": lambda error: None}


@pytest.fixture
def topic(client: dict[str, Any], unique: Callable[[str], str]) -> str:
    name = unique("offsets")
    admin = AdminClient(client)
    admin.create_topics([NewTopic(name, 3, 1)])[name].result()
    return name


def test_offsets_are_altered_forgotten_and_kept(client: dict[str, Any], topic: str, unique: Callable[[str], str]) -> None:
    group, gone = unique("group"), TopicPartition("no-topic", 0)
    group_offsets.alter(client, group, {TopicPartition(topic, 0): None, gone: None})  # There is no group yet.
    group_offsets.alter(client, group, {TopicPartition(topic, number): 10 + number for number in range(3)})
    assert sorted(committed(client, group)) == [(topic, 0, 10), (topic, 1, 11), (topic, 2, 12)]
    group_offsets.alter(client, group, {TopicPartition(topic, 0): 5, TopicPartition(topic, 1): None, gone: None})
    assert sorted(committed(client, group)) == [(topic, 0, 5), (topic, 2, 12)]
    for wrong, text in ((gone, "there is no topic no-topic"), (TopicPartition(topic, 3), f"{topic} has no partition 3")):
        with pytest.raises(ConnectError, match=text):
            group_offsets.alter(client, group, {TopicPartition(topic, 0): 7, wrong: 7})
    assert sorted(committed(client, group)) == [(topic, 0, 5), (topic, 2, 12)], "all or nothing"
    for _ in range(2):
        group_offsets.reset(client, group)
        assert committed(client, group) == []


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_a_group_with_members_is_left_alone(
    client: dict[str, Any], topic: str, unique: Callable[[str], str], protocol: str
) -> None:
    group, place = unique("group"), TopicPartition(topic, 0)
    group_offsets.alter(client, group, {place: 3})
    member = ck.Consumer({**client, "group.id": group, "enable.auto.commit": False, **PROTOCOLS[protocol]})
    member.subscribe([topic])
    try:
        wait_until(lambda: (member.poll(0.1), member.assignment())[1], 120)
        for change in ({place: 4}, {place: None}):
            with pytest.raises(GroupInUseError):
                group_offsets.alter(client, group, change)
        with pytest.raises(GroupInUseError):
            group_offsets.reset(client, group)
    finally:
        member.close()
    assert committed(client, group) == [(topic, 0, 3)]
    # Empty again, it is of the member's protocol still, and offsets may be changed.
    group_offsets.alter(client, group, {place: 4, TopicPartition(topic, 1): 5})
    group_offsets.alter(client, group, {place: None})
    assert committed(client, group) == [(topic, 1, 5)]
    group_offsets.reset(client, group)
    assert committed(client, group) == []


def test_who_was_fenced_can_commit_nothing_more(client: dict[str, Any], topic: str, unique: Callable[[str], str]) -> None:
    def begun(transactional_id: str) -> ck.Producer:
        producer = ck.Producer({**client, "transactional.id": transactional_id, "transaction.timeout.ms": 600_000})
        producer.init_transactions(120)
        producer.begin_transaction()
        producer.produce(topic, b"of a zombie", partition=0)
        assert producer.flush(120) == 0
        return producer

    ids = [unique(f"group-x-{number}") for number in range(2)]
    zombie, other = begun(ids[0]), begun(unique("other"))
    fencing.fence({**client, "message.timeout.ms": 2147483647, "acks": "1"}, ids, 120)
    with pytest.raises(ck.KafkaException) as fenced:
        zombie.commit_transaction(120)
    assert fenced.value.args[0].code() in (ck.KafkaError._FENCED, ck.KafkaError.INVALID_PRODUCER_EPOCH)
    other.commit_transaction(120)
