"""
Fault F8: the request that ends a transaction reaches the broker only when the next transaction has begun.

A proxy holds the request and cuts the connection, so that librdkafka sends it again. The first tests show that the limit is
real, so that whoever upgrades the client learns when it is gone; the others what `kafka/late_ends.py` does about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.herder.effects import FencedError
from kconnect.core.state.records import Entry, Topic
from kconnect.kafka import late_ends
from kconnect.kafka.log import LeaderWriter
from kconnect.kafka.transactions import TransactionalProducer
from kconnect.local.broker import Broker
from tests.rig.systems import recorder
from tests.rig.systems.holding_proxy import Api, HoldingProxy
from tests.rig.systems.proxy import broker_behind
from tests.support import wait_until

pytestmark = pytest.mark.integration

_TOOK_IT, _OLD_EPOCH = 0, 47
_LIMIT_S = 60.0

Made = tuple[HoldingProxy, Broker]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    proxy = HoldingProxy()
    broker = broker_behind([proxy], tmp_path_factory.mktemp("late"))
    proxy.start()
    try:
        yield proxy, broker.start()
    finally:
        broker.stop()
        proxy.close()


class Transfer:
    """A transactional producer as a source task has one: records go to one topic, then offsets to another."""

    def __init__(self, made: Made, unique: Callable[[str], str]) -> None:
        self.proxy, broker = made
        self._servers = broker.bootstrap_servers
        self.client = {
            "bootstrap.servers": f"127.0.0.1:{self.proxy.port}",
            "transactional.id": unique("late"),
            "log.connection.close": False,
        }
        self.records, self.offsets = unique("records"), unique("offsets")
        admin = AdminClient({"bootstrap.servers": self._servers})
        for created in admin.create_topics([NewTopic(name, 1, 1) for name in (self.records, self.offsets)]).values():
            created.result(_LIMIT_S)

    def producer(self) -> tuple[ck.Producer, late_ends.Ends]:
        producer, ends = late_ends.watched(self.client)
        producer.init_transactions(_LIMIT_S)
        return producer, ends

    def send(self, producer: ck.Producer, text: str, topic: str | None = None) -> None:
        producer.produce(topic or self.records, text)
        assert producer.flush(_LIMIT_S) == 0

    def end_late(self, producer: ck.Producer, commit: bool) -> None:
        """The client succeeds, with a second request; the first one is on its way until `proxy.release`."""
        self.proxy.hold_next(Api.END_TXN)
        (producer.commit_transaction if commit else producer.abort_transaction)(_LIMIT_S)
        self.proxy.wait_held()

    def arrives(self) -> int:
        """The broker's answer to the late request: an error code of Kafka's."""
        return int.from_bytes(self.proxy.release()[4:6], "big")

    def visible(self, topic: str | None = None) -> list[str]:
        return [(message.value() or b"").decode() for message in recorder.read(self._servers, topic or self.records)]


@pytest.fixture
def transfer(made: Made, unique: Callable[[str], str]) -> Transfer:
    return Transfer(made, unique)


@pytest.mark.long
def test_the_client_speaks_no_version_that_kip_890_protects(transfer: Transfer) -> None:
    transfer.proxy.sent.clear()
    producer, ends = transfer.producer()
    for commit in (True, False):
        producer.begin_transaction()
        transfer.send(producer, "one" if commit else "two")
        (producer.commit_transaction if commit else producer.abort_transaction)(_LIMIT_S)
        assert not ends.in_doubt(producer)
    assert transfer.visible() == ["one"]
    spoken = {(kind.name, version) for kind, version in transfer.proxy.sent}
    expected = {("INIT_PRODUCER_ID", 4), ("ADD_PARTITIONS_TO_TXN", 0), ("PRODUCE", 10), ("END_TXN", 1)}
    # With version 5 of EndTxn the broker raises the epoch at each end: then "Late ends" in the design is history.
    assert spoken == expected, "the client has changed: see 'Late ends' in docs/design/exactly-once.md"


def test_the_limit_a_late_commit_makes_half_of_the_next_transaction_visible(transfer: Transfer) -> None:
    producer, _ = transfer.producer()
    producer.begin_transaction()
    transfer.send(producer, "one")
    transfer.end_late(producer, commit=True)
    producer.begin_transaction()
    transfer.send(producer, "two, first half")
    assert transfer.arrives() == _TOOK_IT
    # The broker answers before it has written the marker, and what comes before the marker still counts.
    wait_until(lambda: len(transfer.visible()) == 2, _LIMIT_S, "the late commit had no effect")
    producer.produce(transfer.records, "two, second half")
    with pytest.raises(ck.KafkaException):
        producer.commit_transaction(_LIMIT_S)
    assert transfer.visible() == ["one", "two, first half"]


def test_the_limit_a_late_abort_takes_records_away_whose_offsets_are_committed(transfer: Transfer) -> None:
    producer, _ = transfer.producer()
    producer.begin_transaction()
    transfer.send(producer, "one, given up")
    transfer.end_late(producer, commit=False)
    producer.begin_transaction()
    transfer.send(producer, "two")
    assert transfer.arrives() == _TOOK_IT
    transfer.send(producer, "two is done", transfer.offsets)
    producer.commit_transaction(_LIMIT_S)
    wait_until(lambda: transfer.visible(transfer.offsets) == ["two is done"], _LIMIT_S)
    assert transfer.visible() == []


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_without_an_answer_is_in_doubt_and_a_new_client_is_safe_from_it(transfer: Transfer, commit: bool) -> None:
    producer, ends = transfer.producer()
    producer.begin_transaction()
    transfer.send(producer, "one")
    transfer.end_late(producer, commit)
    assert ends.in_doubt(producer)
    producer, ends = transfer.producer()
    producer.begin_transaction()
    transfer.send(producer, "two, first half")
    assert transfer.arrives() == _OLD_EPOCH
    transfer.send(producer, "two, second half")
    producer.commit_transaction(_LIMIT_S)
    assert not ends.in_doubt(producer)
    wait_until(lambda: transfer.visible() == [*(["one"] if commit else []), "two, first half", "two, second half"], _LIMIT_S)


def test_a_source_task_whose_end_is_in_doubt_goes_on_with_a_new_client(transfer: Transfer) -> None:
    producer = TransactionalProducer(transfer.client, lambda: False, lambda: True, lambda: True)
    assert producer.begin(lambda: False)

    def send(text: str) -> None:
        assert producer.send([(transfer.records, text.encode(), None, -1, None, None, 0, None)])
        assert producer.flush(_LIMIT_S)

    send("one")
    transfer.proxy.hold_next(Api.END_TXN)
    assert producer.commit()
    transfer.proxy.wait_held()
    send("two, first half")
    assert transfer.arrives() == _OLD_EPOCH
    send("two, second half")
    assert producer.commit()
    producer.close()
    wait_until(lambda: transfer.visible() == ["one", "two, first half", "two, second half"], _LIMIT_S)


def test_a_leader_whose_end_is_in_doubt_writes_nothing_before_it_has_fenced_itself(transfer: Transfer) -> None:
    leader = LeaderWriter(transfer.client, {Topic.CONFIG: transfer.records}, str(transfer.client["transactional.id"]))
    leader.fence(_LIMIT_S)
    transfer.proxy.hold_next(Api.END_TXN)
    assert leader.write([Entry(Topic.CONFIG, b"a", b"one")], _LIMIT_S)
    transfer.proxy.wait_held()
    with pytest.raises(FencedError):
        leader.write([Entry(Topic.CONFIG, b"a", b"never")], _LIMIT_S)
    leader.fence(_LIMIT_S)
    assert transfer.arrives() == _OLD_EPOCH
    for text in (b"two", b"three"):
        assert leader.write([Entry(Topic.CONFIG, b"a", text)], _LIMIT_S)
    wait_until(lambda: transfer.visible() == ["one", "two", "three"], _LIMIT_S)
