"""Settings of clients that don't fit together are refused in the names of whoever set them. No client reaches a broker."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

import confluent_kafka as ck
import pytest

from kconnect.core.settings.worker import WorkerSettings, for_clients
from kconnect.errors import ConfigError
from kconnect.kafka import clients, submitted
from tests.kafka.test_clients import WORKER

USED = ("producer", "consumer", "admin")


def problems(kind: str, client: str, given: Mapping[str, str], worker: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """What is wrong with these overrides in a config that is submitted, by the name of the override."""
    settings = WorkerSettings.from_properties({**WORKER, **(worker or {})}, {})
    config = {f"{client}.override.{name}": value for name, value in given.items()}
    messages: dict[str, list[str]] = {}
    for setting, message in submitted.problems(for_clients(settings.raw), kind, config, USED):
        messages.setdefault(setting, []).append(message)
    return messages


CONFLICTS = [
    ("source", "producer", {"delivery.timeout.ms": "10", "linger.ms": "100"}, ("delivery.timeout.ms", "linger.ms is 100")),
    ("source", "producer", {"delivery.timeout.ms": "10"}, ("delivery.timeout.ms", "linger.ms is 20 unless it is set")),
    ("source", "producer", {"enable.idempotence": "true", "acks": "1"}, ("acks", "enable.idempotence is true")),
    ("source", "producer", {"enable.idempotence": "true", "retries": "0"}, ("retries", "enable.idempotence is true")),
    (
        "source",
        "producer",
        {"enable.idempotence": "true", "max.in.flight.requests.per.connection": "9"},
        ("max.in.flight.requests.per.connection", "enable.idempotence is true"),
    ),
    ("source", "producer", {"transactional.id": "mine"}, ("transactional.id", "Remove this setting")),
    ("source", "producer", {"max.request.size": "100"}, ("max.request.size", "from 1000 to 1000000000")),
    ("source", "producer", {"linger.ms": "-1"}, ("linger.ms", "from 0 to 900000")),
    (
        "sink",
        "consumer",
        {"heartbeat.interval.ms": "10000", "session.timeout.ms": "6000"},
        ("heartbeat", "session.timeout.ms is 6000"),
    ),
    ("sink", "consumer", {"heartbeat.interval.ms": "50000"}, ("heartbeat", "session.timeout.ms is 45000 unless it is set")),
    ("sink", "consumer", {"session.timeout.ms": "400000", "max.poll.interval.ms": "300000"}, ("session.timeout.ms",)),
    ("sink", "consumer", {"session.timeout.ms": "7200000"}, ("session.timeout.ms", "group.max.session.timeout.ms")),
    (
        "sink",
        "consumer",
        {"group.protocol": "consumer", "session.timeout.ms": "6000"},
        ("session", "no effect", "brokers decide"),
    ),
    ("sink", "consumer", {"group.remote.assignor": "uniform"}, ("group.remote.assignor", "without group.protocol=consumer")),
    ("sink", "consumer", {"fetch.max.bytes": "5000000", "receive.message.max.bytes": "1000000"}, ("fetch.max.bytes",)),
]


@pytest.mark.parametrize(("kind", "client", "given", "said"), CONFLICTS, ids=[" ".join(case[2]) for case in CONFLICTS])
def test_what_does_not_fit_is_refused_when_it_is_submitted(
    kind: str, client: str, given: dict[str, str], said: tuple[str, ...]
) -> None:
    found = problems(kind, client, given)
    [message] = [message for messages in found.values() for message in messages]
    assert set(found) <= {f"{client}.override.{name}" for name in given}
    assert message.startswith("Invalid value ")
    assert all(part in message for part in said), message
    assert not any(word in message for word in ("message.timeout.ms", "queue.buffering", "cimpl", "_INVALID_ARG", "`"))


@pytest.mark.parametrize(
    ("kind", "client", "given"),
    [
        ("source", "producer", {"delivery.timeout.ms": "5000"}),
        ("source", "producer", {"acks": "1"}),
        ("source", "producer", {"retries": "0"}),
        ("source", "producer", {"reconnect.backoff.ms": "5000", "reconnect.backoff.max.ms": "1000"}),
        ("sink", "consumer", {"session.timeout.ms": "400000"}),
        ("sink", "consumer", {"session.timeout.ms": "2000"}),
        ("sink", "consumer", {"group.protocol": "CONSUMER", "group.remote.assignor": "range", "max.poll.interval.ms": "5000"}),
        ("sink", "consumer", {"heartbeat.interval.ms": "20000"}),
        ("sink", "consumer", {"auto.offset.reset": "by_duration:PT1H"}),
        ("sink", "consumer", {"max.poll.records": "1"}),
        ("sink", "consumer", {"sasl.jaas.config": "nonsense", "security.protocol": "SASL_SSL"}),
        ("sink", "consumer", {"only.java.knows.this": "x"}),
    ],
)
def test_what_fits_as_in_java_is_taken(kind: str, client: str, given: dict[str, str]) -> None:
    assert problems(kind, client, given) == {}


@pytest.mark.parametrize("exactly_once", ["enabled", "disabled"])
def test_a_transaction_s_timeout_bounds_the_others(exactly_once: str) -> None:
    worker = {"exactly.once.source.support": exactly_once}
    given = {"delivery.timeout.ms": "120000", "transaction.timeout.ms": "30000", "linger.ms": "10"}
    assert problems("source", "producer", given, worker) == {}
    linger = {"transaction.timeout.ms": "5000", "linger.ms": "6000"}
    found = problems("source", "producer", linger, worker)
    assert set(found) == ({"producer.override.linger.ms"} if exactly_once == "enabled" else set())


def test_a_setting_of_the_worker_file_is_named_as_it_stands_there() -> None:
    found = problems("source", "producer", {"delivery.timeout.ms": "50"}, {"producer.linger.ms": "100"})
    [message] = found["producer.override.delivery.timeout.ms"]
    assert "producer.linger.ms is 100" in message


def test_what_is_wrong_in_the_worker_file_itself_is_said_when_the_worker_starts() -> None:
    settings = WorkerSettings.from_properties(
        {**WORKER, "producer.delivery.timeout.ms": "10", "producer.linger.ms": "100", "consumer.fetch.min.bytes": "-1"}, {}
    )
    first, second = map(str, clients.problems(settings))
    assert first.startswith("Invalid value 10 for configuration producer.delivery.timeout.ms: ")
    assert "fetch.min.bytes" in second
    assert list(clients.problems(WorkerSettings.from_properties(WORKER, {}))) == []


def test_a_task_is_told_the_same() -> None:
    settings = WorkerSettings.from_properties(WORKER, {})
    with pytest.raises(ConfigError, match=r"^Invalid value 10 for configuration producer\.override\.delivery\.timeout\.ms: "):
        clients.producer(settings, "c", 0, {"producer.override.delivery.timeout.ms": "10"})


def test_a_login_without_a_user_is_refused_by_the_name_of_its_setting() -> None:
    settings = WorkerSettings.from_properties(WORKER, {})
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    config = {f"consumer.override.{name}": value for name, value in given.items()}
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config") as refused:
        clients.consumer(settings, "c", 0, config)
    assert "sasl.username" not in str(refused.value)


def test_no_secret_reaches_the_process_that_plugins_are_asked_in() -> None:
    raw = {
        **WORKER,
        "sasl.jaas.config": "canary",
        "producer.sasl.jaas.config": "canary",
        "consumer.ssl.keystore.password": "canary",
        "producer.linger.ms": "7",
        "rest.authentication.file": "/users",
    }
    passed = for_clients(raw)
    assert "canary" not in str(passed)
    assert passed["producer.linger.ms"] == "7"
    assert "rest.authentication.file" not in passed


VALUES = {
    "producer": {
        "acks": ("all", "1", "0"),
        "retries": ("0", "1", "2147483647"),
        "enable.idempotence": ("true", "false"),
        "max.in.flight.requests.per.connection": ("1", "5", "6"),
        "delivery.timeout.ms": ("0", "10", "120000", "2147483647"),
        "request.timeout.ms": ("10", "30000", "2147483647"),
        "linger.ms": ("0", "100", "900000"),
        "transaction.timeout.ms": ("1000", "60000", "2147483647"),
        "batch.size": ("0", "1", "16384", "2147483647"),
        "max.request.size": ("0", "100", "1000", "1048576", "2147483647"),
        "buffer.memory": ("0", "33554432"),
        "reconnect.backoff.ms": ("0", "50", "5000"),
        "reconnect.backoff.max.ms": ("0", "1000"),
        "retry.backoff.ms": ("0", "5000"),
        "retry.backoff.max.ms": ("0", "1000"),
        "compression.type": ("none", "zstd"),
    },
    "consumer": {
        "session.timeout.ms": ("1", "6000", "45000", "7200000"),
        "heartbeat.interval.ms": ("1", "3000", "60000"),
        "max.poll.interval.ms": ("1", "300000", "2147483647"),
        "fetch.max.bytes": ("0", "1000", "52428800", "2147483647"),
        "max.partition.fetch.bytes": ("0", "1048576", "2147483647"),
        "receive.message.max.bytes": ("1000", "100000000"),
        "fetch.min.bytes": ("0", "1", "2147483647"),
        "fetch.max.wait.ms": ("0", "500", "2147483647"),
        "request.timeout.ms": ("10", "30000"),
        "auto.offset.reset": ("latest", "none", "by_duration:PT1H"),
        "partition.assignment.strategy": ("range", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"),
        "group.instance.id": ("i",),
    },
}


@pytest.mark.parametrize("client", ["producer", "consumer"])
@pytest.mark.parametrize("exactly_once", ["enabled", "disabled"])
def test_what_is_taken_when_submitted_makes_a_client(client: str, exactly_once: str) -> None:
    """Whatever is combined: a client can be made, or the config is refused in its own names."""
    chance = random.Random(40)
    settings = WorkerSettings.from_properties({**WORKER, "exactly.once.source.support": exactly_once}, {})
    kind = "source" if client == "producer" else "sink"
    for _ in range(150):
        names = chance.sample(sorted(VALUES[client]), chance.randint(1, 4))
        given = {name: chance.choice(VALUES[client][name]) for name in names}
        found = problems(kind, client, given, {"exactly.once.source.support": exactly_once})
        config = {f"{client}.override.{name}": value for name, value in given.items()}
        messages = [message for messages in found.values() for message in messages]
        assert set(found) <= config.keys()
        assert all(message.startswith("Invalid value ") and "`" not in message for message in messages), messages
        if not found:
            make(settings, client, config)


def make(settings: WorkerSettings, client: str, config: Mapping[str, str]) -> None:
    if client == "consumer":
        consumer = clients.consumer(settings, "c", 0, config)
        consumer.pop(clients.RESET_AGE_MS, None)
        ck.Consumer({**consumer, "bootstrap.servers": "", "log_level": 0}).close()
        return
    producers = [clients.producer(settings, "c", 0, config)]
    if settings.exactly_once_enabled:
        producers.append(clients.transactional_producer(settings, "c", 0, config, 0))
    for producer in producers:
        ck.Producer({**producer, "bootstrap.servers": "", "log_level": 0})


@pytest.mark.parametrize("kind", ["producer", "consumer", "admin"])
@pytest.mark.parametrize("where", ["connector", "worker file"])
def test_one_value_that_can_not_be_used_is_told_by_the_name_under_which_it_was_set(kind: str, where: str) -> None:
    """Also where the config was stored before: the task fails with this sentence."""
    name = f"{kind}.override.reconnect.backoff.ms" if where == "connector" else f"{kind}.reconnect.backoff.ms"
    given = {name: "soon"}
    worker = WorkerSettings.from_properties({**WORKER, **({} if where == "connector" else given)}, {})
    config = given if where == "connector" else {}
    make = {
        "producer": lambda: clients.producer(worker, "c", 0, config),
        "consumer": lambda: clients.consumer(worker, "c", 0, config),
        "admin": lambda: clients.admin(worker, "c", config),
    }[kind]
    with pytest.raises(ConfigError, match=f"^Invalid value soon for configuration {re.escape(name)}: ") as refused:
        make()
    assert refused.value.name == name
