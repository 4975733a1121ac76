"""
What clients by `group.protocol=consumer` are made of, and what their refusals and statistics mean. The integration tests of the
same name ask brokers.
"""

from __future__ import annotations

import logging
from typing import Any

import confluent_kafka as ck
import orjson
import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.task.errors import Counts
from kconnect.kafka import clients, group_protocol
from kconnect.kafka.refusals import Access
from tests.kafka.test_clients import WORKER

NEWER = {"consumer.override.group.protocol": "Consumer"}


def consumer(config: dict[str, str], **worker: str) -> dict[str, Any]:
    properties = {name.replace("_", "."): value for name, value in worker.items()}
    return clients.consumer(WorkerSettings.from_properties({**WORKER, **properties}, {}), "c", 0, config)


def test_the_protocol_is_classic_unless_the_connector_or_the_worker_says_otherwise() -> None:
    assert not group_protocol.is_new(consumer({}))
    assert group_protocol.is_new(consumer(NEWER))
    assert group_protocol.is_new(consumer({}, consumer_group_protocol="CONSUMER"))
    assert not group_protocol.is_new(
        consumer({"consumer.override.group.protocol": "classic"}, consumer_group_protocol="consumer")
    )


def test_what_the_worker_file_says_of_the_classic_protocol_is_passed_over_aloud(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        client = consumer(NEWER, consumer_session_timeout_ms="7001", consumer_max_poll_interval_ms="5000")
    assert not group_protocol.CLASSIC_ONLY.keys() & client.keys()
    assert client["max.poll.interval.ms"] == "5000"
    assert [record.getMessage() for record in caplog.records] == [
        "The client setting consumer.session.timeout.ms=7001 has no effect: with group.protocol=consumer brokers decide it, by "
        "their group.consumer.session.timeout.ms"
    ]
    ck.Consumer({name: value for name, value in client.items() if name != "max.poll.records"}).close()


def test_a_stored_config_of_both_protocols_goes_on_running(caplog: pytest.LogCaptureFixture) -> None:
    """Such a config ran by the classic protocol once, whatever it asked for."""
    with caplog.at_level(logging.WARNING):
        client = consumer({**NEWER, "consumer.override.partition.assignment.strategy": "range"})
    assert "partition.assignment.strategy" not in client
    assert "consumer.override.partition.assignment.strategy" in caplog.text
    with caplog.at_level(logging.WARNING):
        assert "group.remote.assignor" not in consumer({"consumer.override.group.remote.assignor": "uniform"})
    assert "consumer.override.group.remote.assignor" in caplog.text


def test_who_reads_outside_of_the_group_is_no_member_of_it() -> None:
    client = consumer({**NEWER, "consumer.override.group.remote.assignor": "uniform"})
    assert client["group.remote.assignor"] == "uniform"
    assert not {"group.protocol", "group.remote.assignor"} & clients.apart(client).keys()
    assert clients.apart(client)["group.id"] == client["group.id"]


def statistics(state: str = "UP", age_us: int = 9_000_000, tx: int = 3, unanswered: int = 0, **requests: int) -> str:
    sent = {"Metadata": 1, "ApiVersion": 2, **requests}
    connection = {"state": state, "stateage": age_us, "tx": tx, "req": sent, "req_timeouts": unanswered}
    return orjson.dumps({"brokers": {"GroupCoordinator": connection}}).decode()


def test_heartbeats_are_what_is_sent_and_not_counted_by_name() -> None:
    assert group_protocol.coordinator(statistics()) == (True, 0, 0)
    assert group_protocol.coordinator(statistics(tx=7, unanswered=2)) == (True, 4, 2)
    assert group_protocol.coordinator(statistics(tx=9, ConsumerGroupHeartbeat=6)) == (True, 6, 0)


def test_a_coordinator_is_there_once_a_connection_has_lasted_for_a_while() -> None:
    assert group_protocol.coordinator('{"brokers":{}}') is None
    for text in (statistics(state="CONNECT"), statistics(age_us=1)):
        found = group_protocol.coordinator(text)
        assert found is not None and not found.is_up


def fatal(code: int) -> ck.KafkaError:
    reason = ck.KafkaError(code).str()
    return ck.KafkaError(ck.KafkaError._FATAL, f"Fatal error: {reason}: ConsumerGroupHeartbeat fatal error: {reason}")


@pytest.mark.parametrize("name", ["UNRELEASED_INSTANCE_ID", "UNSUPPORTED_VERSION", "INVALID_REQUEST", "UNKNOWN"])
def test_the_reason_why_a_client_can_t_go_on_is_in_its_text(name: str) -> None:
    code = getattr(ck.KafkaError, name)
    assert group_protocol.code_of(fatal(code)) == code
    assert group_protocol.code_of(ck.KafkaError(code)) == code
    assert group_protocol.code_of(ck.KafkaError(ck.KafkaError._FATAL, "Something else")) == ck.KafkaError._FATAL


class Member:
    """The access of one member, at a time that the test sets."""

    def __init__(self, **settings: str) -> None:
        self.now = 0.0
        self.counts = Counts()
        client = {"group.id": "g", **{name.replace("_", "."): value for name, value in settings.items()}}
        self.access = Access(client, self.counts, lambda: self.now, mismatch=lambda client: None)

    def failed_at(self, error: ck.KafkaError, every_s: float = 5.0, most_s: float = 1000.0) -> tuple[float, str] | None:
        """Return when it fails that is refused again and again, and with what."""
        while self.now < most_s:
            self.access.heard(error, "")
            failure = self.access.failure()
            if failure is not None:
                return self.now, str(failure)
            self.now += every_s
        return None


@pytest.mark.parametrize(
    ("name", "after_s", "said"),
    [
        ("UNSUPPORTED_VERSION", 0, "the brokers do not take group.protocol=consumer. Have brokers from 4.0 on"),
        ("GROUP_AUTHORIZATION_FAILED", 0, "Grant Read and Describe on the group g"),
        ("UNSUPPORTED_ASSIGNOR", 10, "Set consumer.override.group.remote.assignor to one that the brokers know"),
        ("UNRELEASED_INSTANCE_ID", 120, "Give each consumer a consumer.override.group.instance.id of its own"),
        ("GROUP_MAX_SIZE_REACHED", 120, "raise the brokers' group.consumer.max.size"),
        ("GROUP_ID_NOT_FOUND", 120, "group.consumer.migration.policy"),
        (
            "INVALID_REQUEST",
            120,
            "Look into the log of the group's coordinator, or set consumer.override.group.protocol=classic",
        ),
    ],
)
def test_what_ends_a_client_of_the_newer_protocol_fails_the_task_unless_it_may_pass(
    name: str, after_s: float, said: str
) -> None:
    error = fatal(getattr(ck.KafkaError, name))
    failed = Member(group_protocol="consumer").failed_at(error)
    assert failed is not None and failed[0] == after_s
    assert said in failed[1] and "Fatal" not in failed[1]
    # What had worked is tried on: a new client joins each time.
    member = Member(group_protocol="consumer")
    member.access.joined()
    assert member.failed_at(error) is None
    assert member.counts.retrying is not None


def test_by_the_classic_protocol_one_reason_ends_a_client() -> None:
    failed = Member(session_timeout_ms="3000").failed_at(fatal(ck.KafkaError.FENCED_INSTANCE_ID))
    assert failed is not None and failed[0] == 0
    assert "group.instance.id of its own" in failed[1]
    assert not Member().access.heard(ck.KafkaError(ck.KafkaError.UNSUPPORTED_VERSION)), "it is about something else there"


def test_a_heartbeat_that_is_refused_for_one_of_several_topics_is_forgotten_with_the_next_record() -> None:
    class Message:
        def topic(self) -> str:
            return "b"

    member = Member(group_protocol="consumer")
    member.access.joined()
    member.now += 60
    member.access.heard(ck.KafkaError(ck.KafkaError.TOPIC_AUTHORIZATION_FAILED), "a, b")
    assert member.access.failure() is None
    assert member.counts.retrying is not None and member.counts.retrying[1].startswith("reading a, b: ")
    member.access.read([Message()])  # type: ignore[list-item]
    assert member.counts.retrying is None
