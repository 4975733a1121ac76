"""The producer of an exactly-once task, where it has to go on with a new client. The broker is librdkafka's own, in memory."""

from __future__ import annotations

import time

import confluent_kafka as ck
import pytest

from kconnect.core.task.chain import Outgoing
from kconnect.core.task.errors import Counts
from kconnect.core.task.ports import Refused
from kconnect.errors import StartAgainError
from kconnect.kafka import refusals
from kconnect.kafka.late_ends import Ends
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.transactions import TransactionalProducer

RECORD: Outgoing = ("t", b"1", None, 0, None, None, 0, None)


def no() -> bool:
    return False


def test_a_new_client_that_was_not_confirmed_never_sends(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its id may be another task's: what follows, as the offsets of what it could not send, is not its to say."""
    confirms = iter((True, False))
    client = {"bootstrap.servers": bootstrap, "transactional.id": "x-0", "log_level": 0}
    producer = TransactionalProducer(client, no, lambda: True, lambda: next(confirms))
    assert producer.begin(no)
    assert producer.send([RECORD])
    assert producer.commit()
    doubts = iter((True,))
    monkeypatch.setattr(Ends, "in_doubt", lambda *_: next(doubts, False))
    assert not producer.send([RECORD])
    assert not producer.send([RECORD])
    assert not producer.open
    producer.close()


@pytest.fixture
def producer() -> TransactionalProducer:
    client = {"bootstrap.servers": "localhost:1", "transactional.id": "x", "transaction.timeout.ms": 5000, "log_level": 0}
    return TransactionalProducer(client, lambda: False, lambda: True, lambda: True)


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("_MSG_TIMED_OUT", True),
        ("_TIMED_OUT", True),
        ("NOT_ENOUGH_REPLICAS", True),
        ("NOT_LEADER_FOR_PARTITION", True),
        ("REQUEST_TIMED_OUT", True),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", True),
        ("INVALID_PRODUCER_ID_MAPPING", True),
        ("TOPIC_AUTHORIZATION_FAILED", False),
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", False),
        ("INVALID_TRANSACTION_TIMEOUT", False),
        ("INVALID_RECORD", False),
    ],
)
def test_what_only_took_too_long_is_made_again(producer: TransactionalProducer, name: str, again: bool) -> None:
    error = producer._failed(ck.KafkaError(getattr(ck.KafkaError, name)), "topic")
    assert isinstance(error, StartAgainError) is again, error


def test_what_follows_a_record_that_was_refused_is_no_reason_to_start_again(producer: TransactionalProducer) -> None:
    producer._reports.refused.append(Refused(("t", b"1", None), lasting=True))
    error = producer._failed(ck.KafkaError(ck.KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER), "t")
    assert not isinstance(error, StartAgainError)


@pytest.mark.parametrize(
    ("name", "again"), [("OUT_OF_ORDER_SEQUENCE_NUMBER", True), ("_FATAL", True), ("INVALID_RECORD", False)]
)
def test_at_least_once_a_client_that_is_out_of_step_is_replaced_too(name: str, again: bool) -> None:
    producer = TaskProducer({"bootstrap.servers": "localhost:1", "log_level": 0}, no)
    error = producer._failed(ck.KafkaError(getattr(ck.KafkaError, name)), "t")
    assert isinstance(error, StartAgainError) is again, error


def test_records_that_are_too_large_together_are_sent_apart_before_one_is_to_blame(producer: TransactionalProducer) -> None:
    error = ck.KafkaError(ck.KafkaError.MSG_SIZE_TOO_LARGE)
    assert isinstance(producer._failed(error, None), StartAgainError)
    assert not isinstance(producer._failed(error, None), StartAgainError)


@pytest.mark.parametrize(("open_s", "again"), [(4.0, False), (5.0, True)])
def test_a_transaction_that_the_brokers_have_ended_for_its_age_is_made_again(
    producer: TransactionalProducer, monkeypatch: pytest.MonkeyPatch, open_s: float, again: bool
) -> None:
    """Before that time somebody else has taken the id, and the task fails, as in Kafka Connect."""
    producer._opened_at = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + open_s)
    error = producer._failed(ck.KafkaError(ck.KafkaError.INVALID_PRODUCER_EPOCH), None)
    assert isinstance(error, StartAgainError) is again, error


def test_a_call_that_waits_for_brokers_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "SHOWN_S", 0.0)
    counts = Counts()
    client = {"bootstrap.servers": "localhost:1", "transactional.id": "x", "log_level": 0}
    access = refusals.Access(client, counts, time.monotonic)
    producer = TransactionalProducer(client, no, lambda: True, lambda: True, access=access)
    assert not producer.begin(lambda: counts.retrying is not None)
    assert (
        counts.retrying is not None and counts.retrying[1] == "init transactions: ConnectError: brokers have not answered yet"
    )
    access.answered()
    assert counts.retrying is None
    producer.close()
