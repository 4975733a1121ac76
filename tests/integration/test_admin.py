"""Questions to a group's coordinator, through the loss of the broker: `kconnect/kafka/admin.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import confluent_kafka as ck
import pytest

from kconnect.errors import ConnectError
from kconnect.kafka import admin
from kconnect.local.broker import Broker
from tests.support import wait_until

Ask = Callable[[admin.Admin, str], object]


def committed(asked: admin.Admin, group: str) -> object:
    return admin.committed(asked._settings, group)


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(admin.Admin.members, id="members", marks=pytest.mark.long),
        pytest.param(committed, id="offsets", marks=pytest.mark.long),
    ],
)
def test_a_question_that_had_no_answer_leaves_nothing_that_hurts_when_the_broker_is_back(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    asked = admin.Admin({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    wait_until(lambda: answers(asked, ask), 120)
    for limit in ("_GROUP_S", "_OFFSETS_S"):
        monkeypatch.setattr(admin, limit, 2)
    broker.kill()
    try:
        for _ in range(2):
            with pytest.raises(ConnectError, match=r"No broker answered for the group|The offsets of the group"):
                ask(asked, "nobody")
    finally:
        broker.start()
    monkeypatch.undo()
    # With a limit of librdkafka's own, the process is aborted about here, or no question is ever answered again.
    wait_until(lambda: answers(asked, ask), 120)


def answers(asked: admin.Admin, ask: Ask) -> bool:
    """A coordinator that has just started says that it is none yet."""
    try:
        return not ask(asked, "nobody")
    except (ck.KafkaException, ConnectError):
        return False


@pytest.mark.long
@pytest.mark.integration
def test_offsets_are_asked_of_a_coordinator_that_is_just_starting(tmp_path: Path) -> None:
    """An admin client's question would end this process."""
    broker = Broker(tmp_path)
    broker.start()
    try:
        assert admin.committed({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}, "nobody") == []
    finally:
        broker.stop()


def test_what_a_group_has_committed(broker: Broker, unique: Callable[[str], str]) -> None:
    topic, group = unique("topic"), unique("group")
    client = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}
    producer = ck.Producer(client)
    producer.produce(topic, b"a record")
    assert producer.flush(120) == 0
    consumer = ck.Consumer({**client, "group.id": group})
    consumer.commit(offsets=[ck.TopicPartition(topic, 0, 7)], asynchronous=False)
    consumer.close()
    assert admin.committed(client, group) == [(topic, 0, 7)]
