"""What brokers have not acknowledged for long is shown by the task that has sent it. The broker is in memory."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kconnect.core.task.chain import Outgoing
from kconnect.core.task.errors import Counts
from kconnect.kafka import refusals
from kconnect.kafka.acknowledged import Acknowledged
from kconnect.kafka.producer import TaskProducer
from tests.support import wait_until

RECORD: Outgoing = ("t", b"1", None, 0, None, None, 0, None)


def made(bootstrap: str, **settings: Any) -> tuple[TaskProducer, Counts]:
    client, counts = {"bootstrap.servers": bootstrap, "log_level": 0, **settings}, Counts()
    return TaskProducer(client, access=refusals.Access(client, counts, time.monotonic)), counts


def test_it_is_since_the_last_acknowledgement() -> None:
    acknowledged = Acknowledged(0)
    assert acknowledged.waits_since(0, 1) is None
    acknowledged.add(3)
    assert acknowledged.waits_since(3, 2) == 2
    assert acknowledged.waits_since(3, 9) == 2
    # More that is sent meanwhile changes nothing.
    acknowledged.add(2)
    assert acknowledged.waits_since(5, 10) == 2
    # As many are under way as before, but others.
    acknowledged.add(2)
    assert acknowledged.waits_since(5, 11) == 11
    assert acknowledged.waits_since(0, 12) is None
    acknowledged.add(1)
    assert acknowledged.waits_since(1, 13) == 13


def test_what_the_client_holds_back_itself_is_not_late() -> None:
    acknowledged = Acknowledged(20)
    acknowledged.add(1)
    assert acknowledged.waits_since(1, 2) == 22


def test_a_task_between_two_polls_shows_that_brokers_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "SHOWN_S", 0.1)
    producer, counts = made("localhost:1")
    producer.check()
    assert producer.send([RECORD])
    assert counts.retrying is None

    def is_shown() -> bool:
        producer.check()
        return counts.retrying is not None

    wait_until(is_shown)
    assert counts.retrying is not None
    assert counts.retrying[1] == "sending records: ConnectError: brokers have not answered yet"
    producer.close()


def test_it_ends_with_the_next_acknowledgement(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "SHOWN_S", 0.0)
    # So that it is still under way when it is looked for.
    producer, counts = made(bootstrap, **{"linger.ms": 60_000})
    monkeypatch.setattr(producer, "_acknowledged", Acknowledged(0))
    assert producer.send([RECORD])
    producer.check()
    assert counts.retrying is not None
    assert producer.flush(30)
    assert counts.retrying is None
    producer.close()


def test_a_long_linger_is_nothing_to_tell(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "SHOWN_S", 0.0)
    producer, counts = made(bootstrap, **{"linger.ms": 60_000})
    assert producer.send([RECORD])
    producer.check()
    assert counts.retrying is None
    producer.close()
