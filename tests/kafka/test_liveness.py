"""How a client that finds its broker no more is told from others, and replaced: `kconnect/kafka/liveness.py`."""

from __future__ import annotations

import threading

import confluent_kafka as ck
import pytest

from kconnect.kafka import liveness
from kconnect.kafka.liveness import Patience
from tests.support import wait_until


class Client:
    def __init__(self, answers: bool) -> None:
        self.answers = answers
        self.closed = threading.Event()

    def ask(self) -> None:
        if not self.answers:
            raise ck.KafkaException(ck.KafkaError(ck.KafkaError._TIMED_OUT))

    def close(self) -> None:
        self.closed.set()


def test_patience_ends_and_begins_anew() -> None:
    patience = Patience(10.0, 100.0)
    assert [patience.is_over(now) for now in (100.0, 110.0, 110.1)] == [False, False, True]
    patience.renew(110.1)
    assert not patience.is_over(120.0)


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("_TRANSPORT", True),
        ("_ALL_BROKERS_DOWN", True),
        ("_TIMED_OUT", True),
        ("NOT_COORDINATOR", True),
        ("COORDINATOR_NOT_AVAILABLE", True),
        ("COORDINATOR_LOAD_IN_PROGRESS", True),
        ("NOT_CONTROLLER", True),
        ("TOPIC_AUTHORIZATION_FAILED", False),
        ("GROUP_AUTHORIZATION_FAILED", False),
        ("UNKNOWN_TOPIC_OR_PART", False),
        ("_AUTHENTICATION", False),
        ("NOT_LEADER_FOR_PARTITION", False),
    ],
)
def test_which_errors_say_that_a_client_is_lost(name: str, lost: bool) -> None:
    """The others are a user's to mend, or the client gets over them by itself."""
    assert liveness.is_lost(ck.KafkaError(getattr(ck.KafkaError, name))) is lost


def test_only_who_reaches_brokers_takes_a_lost_client_s_place() -> None:
    good, bad = Client(True), Client(False)
    assert liveness.successor(lambda: good, Client.ask) is good
    assert not good.closed.is_set()
    assert liveness.successor(lambda: bad, Client.ask) is None
    assert bad.closed.wait(30)


def test_nobody_waits_for_the_end_of_an_old_client() -> None:
    go_on = threading.Event()

    class Slow(Client):
        def close(self) -> None:
            assert go_on.wait(60)
            super().close()

    old = Slow(True)
    liveness.retire(old)
    assert not old.closed.is_set()
    go_on.set()
    wait_until(old.closed.is_set)
