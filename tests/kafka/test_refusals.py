"""What a consumer does that brokers refuse, by a clock of the test's; `tests/integration/test_refusals.py` asks brokers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.core.task.errors import Counts
from kconnect.kafka import refusals
from kconnect.kafka.refusals import TABLE, Access

_NUMBERS = itertools.count()
AUTHENTICATION = ck.KafkaError(
    ck.KafkaError._AUTHENTICATION,
    "sasl_plaintext://127.0.0.1:9/bootstrap: SASL authentication error: Authentication failed (after 312ms in state AUTH_REQ)",
)
DOWN = ck.KafkaError(ck.KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")


class Consumer:
    """The access of one consumer, at a time that the test sets."""

    def __init__(self, proof: Callable[[Any], str | None] = lambda client: None, **settings: Any) -> None:
        self.now = 1000.0
        self.counts = Counts()
        self.client = {"group.id": f"g{next(_NUMBERS)}", "session.timeout.ms": 3000, **settings}
        self.access = Access(self.client, self.counts, lambda: self.now, mismatch=proof)

    def again(self, **settings: Any) -> Consumer:
        """The consumer of the task once it is started again, or of another task with almost the same settings."""
        return Consumer(**{**self.client, **settings})

    def refused(self, error: ck.KafkaError, times: int, every_s: float, topic: str = "") -> str | None:
        for _ in range(times):
            self.access.heard(error, topic)
            self.now += every_s
        failure = self.access.failure()
        return None if failure is None else str(failure)


def error(code: int, text: str = "Broker: no") -> ck.KafkaError:
    return ck.KafkaError(code, text)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    refusals._LOGGED_IN.clear()
    yield
    refusals._LOGGED_IN.clear()


@pytest.mark.parametrize("more", ["", ", 3 identical error(s) suppressed"])
def test_when_and_how_often_is_not_said(more: str) -> None:
    """It differs each time, and would be news each time."""
    it = Consumer()
    text = f"sasl_plaintext://127.0.0.1:9/bootstrap: Authentication failed (after 312ms in state AUTH_REQ{more})"
    it.refused(error(ck.KafkaError._AUTHENTICATION, text), 2, 1.0)
    assert it.counts.retrying == (1000.0, "logging in to Kafka: ConnectError: Authentication failed")


def test_a_login_that_is_refused_from_the_first_try_on_fails_the_task_with_the_reason_and_a_remedy() -> None:
    it = Consumer()
    assert it.refused(AUTHENTICATION, 2, 1.0) is None
    assert it.counts.retrying == (1000.0, "logging in to Kafka: ConnectError: SASL authentication error: Authentication failed")
    said = it.refused(AUTHENTICATION, 4, 2.0)
    assert said is not None
    assert said.startswith(
        "Logging in to Kafka was refused, 6 times in 8 s: SASL authentication error: Authentication failed. "
    )
    assert "consumer.override.sasl.jaas.config" in said and "consumer.override.sasl.mechanism" in said


def test_one_that_had_worked_is_tried_on_and_shown_and_goes_on_by_itself() -> None:
    it = Consumer()
    it.access.joined()
    assert it.refused(AUTHENTICATION, 100, 1.0) is None
    assert it.counts.retrying is not None and it.counts.retrying[0] == 1000.0
    it.access.joined()
    assert it.counts.retrying is None
    # Also when the host starts the task again meanwhile.
    for settings in ({}, {"client.id": "another task"}):
        again = it.again(**settings)
        assert again.refused(AUTHENTICATION, 100, 1.0) is None
        assert again.counts.retrying is not None
    other = it.again(**{"sasl.password": "wrong"})
    assert other.refused(AUTHENTICATION, 100, 1.0) is not None, "the control: with another password nothing had worked"


def test_a_login_that_nobody_refuses_any_more_is_not_shown() -> None:
    it = Consumer()
    it.access.joined()
    it.refused(AUTHENTICATION, 3, 1.0)
    it.now += 60
    assert it.access.failure() is None
    assert it.counts.retrying is None


def test_what_the_task_itself_tries_again_stays_shown() -> None:
    it = Consumer()
    it.access.joined()
    it.counts.tries_again("put()", ValueError("full"), 7.0)
    it.refused(AUTHENTICATION, 3, 1.0)
    it.access.joined()
    assert it.counts.retrying == (7.0, "put(): ValueError: full")


@pytest.mark.parametrize("code", sorted(TABLE), ids=lambda code: str(ck.KafkaError(code).name()))
def test_each_row_fails_the_task_in_time_and_says_what_to_do(code: int) -> None:
    it = Consumer()
    topic = "orders" if TABLE[code].outcome is refusals.Outcome.RIGHTS else ""
    said = it.refused(error(code), 100, 2.0, topic)
    assert said is not None and ": Broker: no. " in said
    assert "consumer.override." in said or "group.max.size" in said
    assert "{" not in said


def test_a_session_that_brokers_refuse_is_named() -> None:
    said = Consumer().refused(error(ck.KafkaError.INVALID_SESSION_TIMEOUT, "JoinGroup failed: Invalid session timeout"), 4, 2.0)
    assert said is not None and "consumer.override.session.timeout.ms, now 3000, " in said


def test_a_full_group_may_hold_members_that_are_dead() -> None:
    it = Consumer()
    full = error(ck.KafkaError.GROUP_MAX_SIZE_REACHED)
    assert it.refused(full, 30, 2.0) is None
    assert it.counts.retrying is not None
    assert it.refused(full, 60, 2.0) is not None
    member = Consumer()
    member.access.is_member()
    assert member.refused(full, 90, 2.0) is None
    assert member.again().refused(full, 90, 2.0) is not None, "the control: this one never was in the group"


def test_rights_that_were_taken_away_are_waited_for_and_others_are_not() -> None:
    it = Consumer()
    denied = error(ck.KafkaError.TOPIC_AUTHORIZATION_FAILED)
    it.access.joined()
    it.now += 1
    assert it.refused(denied, 1, 1.0, "a") is not None, "it never could read"
    it = Consumer()
    it.access.joined()
    it.now += 60
    assert it.refused(denied, 1, 1.0, "a") is None
    assert it.counts.retrying is not None and it.counts.retrying[1].startswith("reading a: ")
    it.access.joined()
    assert it.counts.retrying is None
    assert it.refused(denied, 1, 1.0, "a") is None, "they are still away"
    assert it.refused(denied, 1, 1.0, "b") is not None, "the control: of this one nothing is known"


@pytest.mark.parametrize("code", ["FENCED_INSTANCE_ID", "INCONSISTENT_GROUP_PROTOCOL"])
def test_what_is_final_fails_one_that_had_worked_too(code: str) -> None:
    it = Consumer()
    it.access.joined()
    assert it.refused(error(getattr(ck.KafkaError, code)), 1, 0.0) is not None


def test_brokers_that_are_away_are_waited_for() -> None:
    it = Consumer()
    assert it.refused(DOWN, 1000, 1.0) is None
    assert it.access.heard(DOWN) is False


def test_a_listener_that_proves_to_speak_something_else_fails_the_task() -> None:
    asked: list[Any] = []

    def proof(client: Any) -> str | None:
        asked.append(client)
        return "the listener at b:9 speaks TLS: set security.protocol to SSL or SASL_SSL"

    it = Consumer(proof)
    assert it.refused(DOWN, 2, 1.0) is None
    assert asked == []
    said = it.refused(DOWN, 5, 1.0)
    assert said is not None and said.startswith("Logging in to Kafka fails: the listener at b:9 speaks TLS")
    it = Consumer(proof)
    it.access.joined()
    it.refused(DOWN, 100, 1.0)
    assert len(asked) == 1, "where a client has been let in, the listener is the right one"


class Throttled:
    def __init__(self, throttle_time: float) -> None:
        self.throttle_time = throttle_time


def test_a_quota_that_holds_answers_back_is_shown_as_long_as_it_does() -> None:
    it = Consumer()
    it.access.throttled(Throttled(0.2))
    assert it.counts.retrying is None
    it.access.throttled(Throttled(11.0))
    it.now += 5
    it.access.throttled(Throttled(6.0))
    it.access.answered()
    assert it.counts.retrying is not None
    since, said = it.counts.retrying
    assert since == 1000.0
    assert said == "Kafka's answers: ConnectError: brokers hold them back for 6 s, by a quota for the user or the client.id"
    it.now += 60
    assert it.access.failure() is None
    assert it.counts.retrying is None


def test_what_is_waited_for_is_shown_until_brokers_answer() -> None:
    it = Consumer()
    it.access.waits("creating topics", "no controller")
    it.now += 5
    it.access.waits("creating topics", "no quota left")
    assert it.counts.retrying == (1000.0, "creating topics: ConnectError: no quota left")
    # What was refused says more.
    it.refused(AUTHENTICATION, 1, 0.0)
    assert it.counts.retrying is not None and it.counts.retrying[1].startswith("logging in to Kafka")
    it.access.answered()
    assert it.counts.retrying is None
    assert it.refused(AUTHENTICATION, 100, 1.0) is None, "it had logged in"


NO_TOKEN = ck.KafkaError(
    ck.KafkaError._AUTHENTICATION, "Failed to acquire SASL OAUTHBEARER token: Failed to connect to 127.0.0.1:1 after 0 ms"
)


def test_a_token_that_can_not_be_had_is_reported_once_only() -> None:
    """librdkafka says nothing more as long as the reason is the same, and tries again every ten seconds."""
    it = Consumer()
    assert it.refused(NO_TOKEN, 1, 20.0) is None
    it.now += 20
    said = str(it.access.failure())
    assert said.startswith("Logging in to Kafka was refused: Failed to acquire SASL OAUTHBEARER token")
    assert "consumer.override.sasl.oauthbearer.*" in said
    worked = it.again(**{"sasl.username": "another"})
    worked.access.joined()
    assert worked.refused(NO_TOKEN, 1, 1000.0) is None
    assert worked.counts.retrying is not None, "it still has none"
    worked.access.answered()
    assert worked.counts.retrying is None
