"""
The table of refusals in docs/operating.md: each row is run against a broker that refuses just that.

`scripts/test --long` runs it; the page's dates are those of the last run.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import NewTopic, ResourceType

from kconnect.api.record import TopicPartition
from kconnect.core.settings.topic_creation import TopicCreation
from kconnect.core.task.errors import Counts
from kconnect.errors import ConnectError
from kconnect.kafka import refusals
from kconnect.kafka.admin import ensure_topic
from kconnect.kafka.consumer import TaskConsumer
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.refusals import Access
from kconnect.kafka.topics import create_missing
from kconnect.kafka.transactions import TransactionalProducer
from kconnect.testing.processes import WorkerProcess
from kconnect.units.unit import Unit

from .refusing import ALLOWED_GROUP, CASES, TOPIC, RefusingBroker, Tokens, by_token, login
from .test_consumer import Listener
from .units import PROTOCOLS, MemoryHost, Numbers, Plugins, end, source_of, until

pytestmark = [pytest.mark.integration, pytest.mark.long]
PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
_LIMIT_S = 60
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefusingBroker]:
    refusing = RefusingBroker(tmp_path_factory.mktemp("refusing"))
    refusing.broker.start()
    try:
        refusing.admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(60)
        refusing.allow(ResourceType.GROUP, ALLOWED_GROUP)
        yield refusing
    finally:
        refusing.broker.stop()


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    refusals._LOGGED_IN.clear()


class Reading:
    def __init__(self, client: Mapping[str, Any], group: str) -> None:
        self.listener, self.counts = Listener(), Counts()
        self.messages: list[Any] = []
        settings = {"group.id": group, "client.id": f"client {next(_NUMBERS)}", **client}
        access = Access(settings, self.counts, time.monotonic)
        self.consumer = TaskConsumer(settings, {"topics": TOPIC}, self.listener, access=access)
        self.consumer.subscribe()

    def read(self) -> bool:
        """Always true, to be had in a condition."""
        self.messages += self.consumer.read(100, 0.05)
        return True

    def failure(self, *others: Reading) -> str:
        """What reading fails with, within the limit, while the others go on."""
        end = time.monotonic() + _LIMIT_S
        with pytest.raises(ConnectError) as failure:
            while time.monotonic() < end and all(other.read() for other in others):
                self.read()
        return str(failure.value)


def name_of(case: str) -> str:
    return f"group of {case}"


@pytest.mark.parametrize(("row", "protocol"), [(row, protocol) for row in sorted(CASES) for protocol in CASES[row].protocols])
def test_what_is_refused_from_the_first_try_on_fails_the_task(
    refusing: RefusingBroker, row: str, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A member that was killed would be gone by then.
    full = ck.KafkaError.GROUP_MAX_SIZE_REACHED
    monkeypatch.setitem(refusals.TABLE, full, replace(refusals.TABLE[full], patience_s=5.0))
    case = CASES[row]
    others: list[Reading] = []
    for _ in range(case.others):
        others.append(Reading(refusing.client("PLAINTEXT", protocol), name_of(row)))
        until(lambda: all(member.read() and "assigned" in member.listener.names for member in others))
    it = Reading(refusing.client(case.listener, protocol, **case.settings(refusing)), name_of(row))
    said = it.failure(*others)
    assert all(part in said for part in case.said), said
    assert "secret" not in said and "wrong" not in said
    for member in (it, *others):
        member.consumer.close(0)


def test_the_page_has_the_rows() -> None:
    section = PAGE.read_text("utf-8").split("### What Kafka refuses", 1)[1].split("\n### ", 1)[0]
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", section, re.MULTILINE))
    refused_first = {name for name, outcome in rows.items() if outcome.startswith("FAILED")}
    assert refused_first == CASES.keys() | {
        "another consumer with the same `group.instance.id`",
        "a token that can't be had",
        "a group of the other protocol, where brokers do not let it change",
        "`group.protocol=consumer` by brokers that do not have it",
    }
    assert {name for name, outcome in rows.items() if outcome == "waits"} == {
        "a right that is taken away",
        "a source's right to write, taken away",
        "a password that is changed",
        "a token that expires and is not renewed",
        "a quota of next to nothing (brokers take none of 0)",
    }


def test_a_second_consumer_with_its_instance_id_ends_the_first(refusing: RefusingBroker) -> None:
    client = refusing.client("PLAINTEXT", group_instance_id="one")
    first = Reading(client, "instances")
    until(lambda: first.read() and first.consumer.assignment)
    second = Reading(client, "instances")
    until(lambda: second.read() and second.consumer.assignment)
    assert "group.instance.id of its own" in first.failure()
    for member in (first, second):
        member.consumer.close(0)


def produce(refusing: RefusingBroker) -> None:
    producer = ck.Producer({"bootstrap.servers": refusing.broker.bootstrap_servers, "log_level": 0})
    for partition in (0, 1):
        producer.produce(TOPIC, b"x", partition=partition)
    assert producer.flush(60) == 0


def test_by_the_newer_protocol_the_second_one_of_an_instance_id_waits_until_the_first_has_ended(
    refusing: RefusingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_use = ck.KafkaError.UNRELEASED_INSTANCE_ID
    monkeypatch.setitem(refusals.NEWER, in_use, replace(refusals.NEWER[in_use], patience_s=10.0))
    client = refusing.client("PLAINTEXT", "consumer", group_instance_id="one")
    first = Reading(client, "newer instances")
    until(lambda: first.read() and first.consumer.assignment)
    second = Reading(client, "newer instances")
    until(lambda: first.read() and second.read() and second.counts.retrying)
    first.consumer.close(60)
    until(lambda: second.read() and second.consumer.assignment)
    third = Reading(client, "newer instances")
    assert "group.instance.id of its own" in third.failure(second)
    for member in (second, third):
        member.consumer.close(0)


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
@pytest.mark.parametrize("kind", ["topic", "group"])
def test_rights_that_are_taken_away_are_shown_and_it_goes_on_once_they_are_back(
    refusing: RefusingBroker, kind: str, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "_SETTLED_S", 1.0)
    right = (ResourceType.TOPIC, TOPIC) if kind == "topic" else (ResourceType.GROUP, "revoked")
    refusing.allow(ResourceType.TOPIC, TOPIC)
    refusing.allow(ResourceType.GROUP, "revoked")
    produce(refusing)
    it = Reading(refusing.client("SASL", protocol, **login("bob")), "revoked")
    until(lambda: it.read() and it.messages)
    settled_at = time.monotonic() + 1.5
    until(lambda: it.read() and time.monotonic() > settled_at)
    refusing.forbid(*right)
    until(lambda: it.read() and it.counts.retrying)
    assert it.counts.retrying is not None and "authorization failed" in it.counts.retrying[1]
    refusing.allow(*right)
    produce(refusing)
    until(lambda: it.read() and it.counts.retrying is None)
    it.consumer.close(0)
    refusing.forbid(ResourceType.TOPIC, TOPIC)


def test_a_password_that_is_changed_is_shown_and_it_goes_on_once_it_is_back(refusing: RefusingBroker) -> None:
    refusing.allow(ResourceType.TOPIC, TOPIC)
    it = Reading(refusing.client("SASL", **login("bob")), ALLOWED_GROUP)
    until(lambda: it.read() and TopicPartition(TOPIC, 0) in it.consumer.assignment)
    refusing.restart("changed")
    until(lambda: it.read() and it.counts.retrying)
    assert it.counts.retrying is not None and it.counts.retrying[1].startswith("logging in to Kafka: ")
    # A task that is started again meanwhile waits, too.
    again = Reading(refusing.client("SASL", **login("bob")), ALLOWED_GROUP)
    until(lambda: again.read() and it.read() and again.counts.retrying)
    again.consumer.close(0)
    refusing.restart("bob-secret")
    until(lambda: it.read() and it.counts.retrying is None and it.consumer.assignment)
    it.consumer.close(0)


def _writing(refusing: RefusingBroker, once: bool, config: dict[str, str]) -> tuple[MemoryHost, Unit]:
    host = MemoryHost(
        f"127.0.0.1:{refusing.ports['SASL']}",
        Plugins(Source=source_of(Numbers)),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_jaas_config=f'{_LOGIN} username="bob" password="bob-secret";',
        exactly_once_source_support="enabled" if once else "disabled",
    )
    host.starts_again = True
    return host, host.unit(config)


@pytest.mark.parametrize("once", [False, True], ids=["at least once", "exactly once"])
@pytest.mark.parametrize("tolerance", ["none", "all"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [(ResourceType.TOPIC, TOPIC), (ResourceType.TOPIC, "o"), (ResourceType.TRANSACTIONAL_ID, "test-unit-0")],
    ids=["topic", "offsets", "id"],
)
def test_a_source_whose_right_to_write_is_taken_away_waits_until_it_is_back(
    refusing: RefusingBroker, once: bool, tolerance: str, kind: ResourceType, name: str
) -> None:
    """Nothing is lost, and a right that it never had fails it."""
    if name != TOPIC and not once:
        pytest.skip("it does not write there")
    for place in ((ResourceType.TOPIC, TOPIC), (ResourceType.TOPIC, "o"), (ResourceType.TRANSACTIONAL_ID, "test-unit-0")):
        refusing.allow(*place)
    begin = refusing.end_of(TOPIC)
    config = {"connector.class": "Source", "topic": TOPIC, "limit": "1000000", "errors.tolerance": tolerance}
    host, unit = _writing(refusing, once, config)
    until(lambda: host.writes)
    refusing.forbid(kind, name)
    until(lambda: host.started_again, _LIMIT_S)
    assert unit.meter is not None
    what = unit.meter.retrying.partition(": ")[0]
    assert name in what or (name == "test-unit-0" and what == "writing to Kafka")
    # As it is started again, it is refused again.
    for _ in range(2):
        end(unit)
        host.started_again.clear()
        unit = host.unit(config)
        until(lambda: host.started_again, _LIMIT_S)
    end(unit)
    assert host.states.count("FAILED") == 0
    refusing.allow(kind, name)
    stored = len(host.writes)
    unit = host.unit(config)
    until(lambda: len(host.writes) > stored)
    end(unit)
    written = refusing.values(TOPIC, begin)
    numbers = [int(value) for value in written]
    assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
    if once:
        assert len(numbers) == len(set(numbers))


def test_a_source_that_never_had_the_right_to_write_fails(refusing: RefusingBroker) -> None:
    refusing.allow(ResourceType.TOPIC, TOPIC)
    host, unit = _writing(refusing, False, {"connector.class": "Source", "topic": "another"})
    until(lambda: "FAILED" in host.states)
    assert not host.started_again
    end(unit)


@pytest.mark.parametrize("once", [False, True], ids=["at least once", "exactly once"])
def test_a_topic_that_a_record_has_chosen_and_that_may_not_be_written_to_is_its_own_fault(
    refusing: RefusingBroker, once: bool
) -> None:
    """Who may write what a source reads chooses its topic: the task failed for good."""
    for place in ((ResourceType.TOPIC, TOPIC), (ResourceType.TOPIC, "o"), (ResourceType.TRANSACTIONAL_ID, "test-unit-0")):
        refusing.allow(*place)
    begin = refusing.end_of(TOPIC)
    config = {
        **{"connector.class": "Source", "topic": TOPIC, "limit": "40", "errors.tolerance": "all", "transforms": "route"},
        "transforms.route.type": "Expression",
        "transforms.route.topic": "string(value).endsWith('3') ? 'another' : topic",
    }
    host, unit = _writing(refusing, once, config)
    until(lambda: len(refusing.values(TOPIC, begin)) >= 36, _LIMIT_S)
    end(unit)
    assert host.states.count("FAILED") == 0
    assert sorted(map(int, refusing.values(TOPIC, begin))) == [number for number in range(1, 41) if number % 10 != 3]


LOGINS = [name for name, case in CASES.items() if not case.others and not re.search("session|right|assignor", name)]
"""What a producer is refused, too."""


@pytest.mark.parametrize("once", [False, True], ids=["at least once", "exactly once"])
@pytest.mark.parametrize("row", LOGINS)
def test_what_a_producer_is_refused_from_the_first_try_on_fails_the_task(
    refusing: RefusingBroker, row: str, once: bool
) -> None:
    case = CASES[row]
    consumers = ("partition.assignment", "auto.offset", "enable.auto", "session.", "group.")
    client = refusing.client(case.listener, **case.settings(refusing))
    client = {name: value for name, value in client.items() if not name.startswith(consumers)}
    access = Access(client, Counts(), time.monotonic, "producer.override.")
    end = time.monotonic() + _LIMIT_S

    def cancelled() -> bool:
        return time.monotonic() > end

    with pytest.raises(ConnectError) as failure:
        if once:
            client |= {"transactional.id": f"id of {row}"}
            TransactionalProducer(client, cancelled, lambda: True, lambda: True, access=access).begin(cancelled)
        else:
            TaskProducer(client, cancelled, access=access).require_topic(TOPIC)
    said = str(failure.value)
    assert all(part in said for part in case.said), said
    assert "producer.override." in said
    assert "secret" not in said and "wrong" not in said


@pytest.mark.parametrize("what", ["a topic of a source", "a dead letter queue"])
@pytest.mark.parametrize("row", LOGINS)
def test_what_an_admin_client_is_refused_from_the_first_try_on_fails_the_task(
    refusing: RefusingBroker, row: str, what: str
) -> None:
    case = CASES[row]
    client = admin_client(refusing.client(case.listener, **case.settings(refusing)))
    access = Access(client, Counts(), time.monotonic, "admin.override.")
    rules = TopicCreation.from_config(
        {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1"}
    )
    assert rules is not None
    end = time.monotonic() + _LIMIT_S
    with pytest.raises(ConnectError) as failure:
        if what == "a dead letter queue":
            ensure_topic(client, "letters", 1, 1, "", access=access)
        else:
            create_missing(client, rules, ["new"], lambda: time.monotonic() > end, access)
    said = str(failure.value)
    assert all(part in said for part in case.said), said
    assert "admin.override." in said
    assert "secret" not in said and "wrong" not in said


def admin_client(client: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a consumer's settings that says how it connects."""
    return {
        name: client[name] for name in client if name.startswith(("bootstrap", "security", "sasl", "ssl", "reconnect", "log"))
    }


def test_a_token_that_can_not_be_had_fails_the_task(refusing: RefusingBroker) -> None:
    nobody = {"method": "oidc", "client.id": "it", "client.secret": "secret", "token.endpoint.url": "http://127.0.0.1:1/"}
    settings = {f"sasl_oauthbearer_{name}": text for name, text in nobody.items()}
    settings |= {"security_protocol": "sasl_plaintext", "sasl_mechanism": "OAUTHBEARER"}
    it = Reading(refusing.client("TOKEN", **settings), "tokens")
    said = it.failure()
    assert "Logging in to Kafka was refused" in said and "OAUTHBEARER token" in said and "secret" not in said
    it.consumer.close(0)


def test_a_token_that_expires_and_is_not_renewed_is_shown_and_it_goes_on_once_it_is(refusing: RefusingBroker) -> None:
    tokens = Tokens(4)
    it = Reading(refusing.client("TOKEN", **by_token(tokens)), "expiring tokens")
    until(lambda: it.read() and it.consumer.assignment)
    tokens.refuses = True
    until(lambda: it.read() and it.counts.retrying)
    assert it.counts.retrying is not None and it.counts.retrying[1].startswith("logging in to Kafka: ")
    tokens.refuses, tokens.seconds = False, 600
    until(lambda: it.read() and it.counts.retrying is None)
    read = len(it.messages)
    produce(refusing)
    until(lambda: it.read() and len(it.messages) > read)
    it.consumer.close(0)


@pytest.mark.parametrize("quota", ["producer_byte_rate=1", "request_percentage=0.0001"])
def test_a_quota_of_next_to_nothing_is_shown_and_lets_all_pass_in_the_end(refusing: RefusingBroker, quota: str) -> None:
    """Brokers take no quota of 0: what is sent is taken, and the answer comes late."""
    refusing.limit(quota, "alice")
    try:
        client, counts = admin_client(refusing.client("SASL", **login("alice"))), Counts()
        access = Access(client, counts, time.monotonic, "producer.override.")
        producer = TaskProducer(client, access=access)
        message: Any = (TOPIC, b"x" * 1000, None, -1, None, None, 0, None)

        def sent() -> bool:
            assert producer.send([message])
            producer.flush(0.2)
            return True

        until(lambda: sent() and counts.retrying)
        assert counts.retrying is not None and "by a quota for the user or the client.id" in counts.retrying[1]
        assert access.failure() is None
        producer.close(abandon=True)
    finally:
        refusing.limit(quota.partition("=")[0], "alice")


@pytest.mark.parametrize("once", [False, True], ids=["at least once", "exactly once"])
def test_a_password_that_is_changed_holds_a_producer_up_until_it_is_back(refusing: RefusingBroker, once: bool) -> None:
    refusing.allow(ResourceType.TOPIC, TOPIC)
    refusing.allow(ResourceType.TRANSACTIONAL_ID, "changed")
    client = {**refusing.client("SASL", **login("bob"))}
    client = {name: client[name] for name in client if name.startswith(("bootstrap", "security", "sasl", "reconnect", "log"))}
    counts = Counts()
    access = Access(client, counts, time.monotonic, "producer.override.")
    message: Any = (TOPIC, b"x", None, -1, None, None, 0, None)
    if once:
        client |= {"transactional.id": "changed"}
        producer: TaskProducer = TransactionalProducer(client, lambda: False, lambda: True, lambda: True, access=access)
        assert isinstance(producer, TransactionalProducer) and producer.begin(lambda: False)
    else:
        producer = TaskProducer(client, access=access)
        assert producer.require_topic(TOPIC)
    assert producer.send([message])
    assert producer.flush(60)
    refusing.restart("changed")

    def checked() -> bool:
        producer.check()
        return True

    until(lambda: checked() and counts.retrying)
    assert counts.retrying is not None and counts.retrying[1].startswith("logging in to Kafka: ")
    refusing.restart("bob-secret")
    assert producer.send([message])
    until(lambda: producer.flush(1))
    producer.close()


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": (
                    "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='canary';"
                ),
            },
            "consumer.override.sasl.jaas.config",
        ),
        ({"session.timeout.ms": "500", "heartbeat.interval.ms": "100"}, "consumer.override.session.timeout.ms, now 500, "),
    ],
    ids=["login", "session"],
)
def test_a_worker_s_sink_is_failed_with_the_reason(
    worker: WorkerProcess, topic: str, tmp_path: Path, overrides: dict[str, str], said: str
) -> None:
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out"), "tasks.max": "1"}
    worker.client.create("refused", {**config, **{f"consumer.override.{name}": text for name, text in overrides.items()}})
    try:
        until(lambda: [task["state"] for task in worker.client.status("refused")["tasks"]] == ["FAILED"])
        trace = str(worker.client.status("refused")["tasks"][0]["trace"])
    finally:
        worker.client.delete("refused")
    assert said in trace and "canary" not in trace


def test_a_worker_s_source_is_failed_with_the_reason(worker: WorkerProcess, topic: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("a line\n")
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='canary';",
    }
    config = {"connector.class": "FileStreamSource", "topic": topic, "file": str(tmp_path / "in"), "tasks.max": "1"}
    worker.client.create("refused", {**config, **{f"producer.override.{name}": text for name, text in login.items()}})
    try:
        until(lambda: [task["state"] for task in worker.client.status("refused")["tasks"]] == ["FAILED"])
        trace = str(worker.client.status("refused")["tasks"][0]["trace"])
    finally:
        worker.client.delete("refused")
    assert "producer.override.sasl.jaas.config" in trace and "canary" not in trace
