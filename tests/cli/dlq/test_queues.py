"""Where queues are looked for; `tests/integration/test_cli_dlq.py` has what needs brokers."""

from __future__ import annotations

import pytest

from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq import listing, queues
from kconnect.cli.dlq.listing import Found
from kconnect.dlq.queue import Owner, Queue
from kconnect.errors import ConnectError, NotFoundError, UnavailableError
from kconnect.kafka import reader
from kconnect.local.broker import free_port
from tests.cli.calls import call


def test_brokers_that_are_away_are_asked_again_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_ANSWER_S", 0.5)
    monkeypatch.setattr(reader, "_STEP_S", 0.1)
    address = f"127.0.0.1:{free_port()}"
    said = rf"No broker answered at bootstrap.servers={address} for the topic orders-dead .*correct the address"
    with (
        Queue(Brokers(address).client_config, "orders-dead") as queue,
        pytest.raises(UnavailableError, match=said),
    ):
        queue.partitions()


def test_a_connectors_queue_is_meant_rather_than_the_topic_of_its_name() -> None:
    configs = {
        "orders": {"topics": "orders", "errors.deadletterqueue.topic.name": "orders-dead"},
        "orders-dead": {"topics": "other", "errors.deadletterqueue.topic.name": "others-dead"},
        "plain": {"topics": "plain"},
    }
    assert queues.meant("orders", configs) == "orders-dead"
    assert queues.meant("orders-dead", configs) == "orders-dead", "whoever names a queue means it"
    assert queues.meant("plain", configs) == "plain"
    assert queues.meant("orders", None) == "orders"


def test_where_no_worker_answers_the_letters_have_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queue, "partitions", lambda *_: [0])
    with queues.find(Brokers(f"127.0.0.1:{free_port()}"), Target(f"http://127.0.0.1:{free_port()}"), "orders") as queue:
        assert queue.name == "orders"
        assert queue.unnamed.startswith("no worker could be asked (No worker answers at")


def test_a_topic_that_is_not_there_says_which_queues_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Queue, "partitions", lambda *_: [])
    said = "There is no topic orders, and no worker could be asked .*`kconnect dlq list` shows the queues"
    with pytest.raises(NotFoundError, match=said):
        queues.find(Brokers(f"127.0.0.1:{free_port()}"), Target(f"http://127.0.0.1:{free_port()}"), "orders")


def test_a_queue_that_can_not_be_read_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(queue: Queue, found: Found, sample: int) -> None:
        found.there, found.letters = True, 3
        raise ConnectError(f"The queue {queue.name} can't be read: Broker: Topic authorization failed")

    monkeypatch.setattr(listing, "look", refused)
    monkeypatch.setattr(queues, "owners", lambda _: [Owner("sink", "a-dead", True), Owner("sink", "b-dead", True)])
    called = call("dlq", "list", "--bootstrap-server", f"127.0.0.1:{free_port()}")
    assert called.status == 1
    assert [line.split()[:3] for line in called.out.splitlines()[1:]] == [["a-dead", "sink", "?"], ["b-dead", "sink", "?"]]
    assert called.err.count("can't be read: Broker: Topic authorization failed") == 2
