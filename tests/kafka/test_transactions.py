"""The producer of an exactly-once task, where it has to go on with a new client. The broker is librdkafka's own, in memory."""

from __future__ import annotations

import pytest

from kconnect.core.task.chain import Outgoing
from kconnect.kafka.late_ends import Ends
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
