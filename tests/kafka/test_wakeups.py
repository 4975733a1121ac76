import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.kafka import wakeups
from kconnect.kafka.wakeups import Wakeups

LONG_S = 120.0
NOBODY = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log.connection.close": False}


@pytest.fixture
def waits() -> Iterator[Wakeups]:
    found = Wakeups()
    yield found
    found.close()


@pytest.mark.skipif(sys.platform != "linux" or sys.implementation.name != "cpython", reason="there a wait is a short poll")
def test_librdkafka_can_be_called_beside_confluent_kafka() -> None:
    """With a version whose objects look different, waits would be short polls: right, but idle sinks would take more CPU."""
    assert wakeups._library() is not None


def test_a_call_ends_the_wait(waits: Wakeups) -> None:
    consumer = ck.Consumer({"group.id": "g"})
    waits.attach(consumer)
    began = time.monotonic()
    thread = threading.Thread(target=waits.wake)
    thread.start()
    assert waits.next(consumer, LONG_S) is None
    assert time.monotonic() - began < LONG_S / 2
    thread.join()
    waits.detach(consumer)
    consumer.close()


def test_what_the_client_has_to_say_ends_the_wait_and_is_served(waits: Wakeups) -> None:
    said: list[Any] = []
    consumer = ck.Consumer({**NOBODY, "error_cb": said.append})
    waits.attach(consumer)
    consumer.subscribe(["t"])
    began = time.monotonic()
    while not said and time.monotonic() - began < LONG_S:
        waits.next(consumer, LONG_S)
    assert said
    assert time.monotonic() - began < LONG_S / 2
    waits.detach(consumer)
    consumer.close()


def test_without_a_call_the_wait_lasts_as_long_as_asked(waits: Wakeups) -> None:
    consumer = ck.Consumer({"group.id": "g"})
    waits.attach(consumer)
    began = time.monotonic()
    assert waits.next(consumer, 0.3) is None
    assert time.monotonic() - began >= 0.29
    waits.detach(consumer)
    consumer.close()


def test_where_librdkafka_cannot_be_called_a_wait_is_a_short_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeups, "_library", lambda: None)
    waits = Wakeups()
    consumer = ck.Consumer({"group.id": "g"})
    waits.attach(consumer)
    waits.wake()
    began = time.monotonic()
    assert waits.next(consumer, LONG_S) is None
    assert time.monotonic() - began < LONG_S / 2
    waits.detach(consumer)
    consumer.close()
    waits.close()
