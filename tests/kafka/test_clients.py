"""Client settings: Java's names in, librdkafka's out. No client is ever connected here."""

from __future__ import annotations

import logging

import confluent_kafka as ck
import pytest

from kconnect.core.settings import client_config
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.errors import ConfigError
from kconnect.kafka import clients, log, own_offsets

WORKER = {
    "bootstrap.servers": "a:1, b:2",
    "group.id": "g",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
}


def worker(**properties: str) -> WorkerSettings:
    return WorkerSettings.from_properties({**WORKER, **{k.replace("_", "."): v for k, v in properties.items()}}, {})


def test_the_internal_topics_go_by_their_roles() -> None:
    assert clients.topics(worker()) == {
        Topic.CONFIG: "c",
        Topic.OFFSET: "o",
        Topic.STATUS: "s",
        Topic.ASSIGNMENT: "c-assignments",
    }


def test_the_workers_own_clients_are_named_after_the_group_and_their_purpose() -> None:
    assert clients.internal(worker(), "reader")["client.id"] == "g-reader"
    assert clients.internal(worker(client_id="x"), "reader")["client.id"] == "g-x-reader"


def test_the_workers_own_clients_take_its_connection_settings_and_nothing_of_the_tasks() -> None:
    found = clients.internal(
        worker(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", producer_linger_ms="7", reconnect_backoff_ms="70"),
        "admin",
    )
    assert found["security.protocol"] == "sasl_ssl"
    assert found["reconnect.backoff.ms"] == "70"
    assert "linger.ms" not in found


@pytest.mark.parametrize(
    ("asked", "first", "most"),
    [
        ({}, "50", "1000"),
        ({"reconnect.backoff.ms": "5000"}, "5000", "5000"),
        ({"reconnect.backoff.max.ms": "9000"}, "50", "9000"),
        ({"reconnect.backoff.ms": "20", "reconnect.backoff.max.ms": "90"}, "20", "90"),
    ],
)
def test_connecting_again_is_tried_as_often_as_by_java(asked: dict[str, str], first: str, most: str) -> None:
    settings = WorkerSettings.from_properties({**WORKER, **asked}, {})
    own = {f"{role}.override.{name}": value for role in ("consumer", "producer", "admin") for name, value in asked.items()}
    for found in (
        clients.internal(settings, "reader"),
        clients.producer(worker(), "c", 0, own),
        clients.consumer(worker(), "c", 0, own),
        clients.admin(worker(), "c", own),
    ):
        assert (found["reconnect.backoff.ms"], found["reconnect.backoff.max.ms"]) == (first, most)


def test_a_connectors_settings_come_before_the_workers_and_those_before_the_tuning() -> None:
    settings = worker(producer_linger_ms="7", producer_batch_size="1000")
    found = clients.producer(settings, "c", 3, {"producer.override.linger.ms": "9", "linger.ms": "1"})
    assert (found["linger.ms"], found["batch.size"]) == ("9", "1000")
    assert found["client.id"] == "connector-producer-c-3"


def test_a_producer_partitions_and_acknowledges_as_connects_does() -> None:
    found = clients.producer(worker(), "c", 0, {})
    assert found["partitioner"] == "murmur2_random"
    assert (found["acks"], found["enable.idempotence"]) == ("all", True)
    assert "compression.type" not in found


@pytest.mark.parametrize("name", ["acks", "retries", "max.in.flight.requests.per.connection"])
def test_idempotence_gives_way_to_what_rules_it_out(name: str) -> None:
    value = {"acks": "1", "retries": "0", "max.in.flight.requests.per.connection": "9"}[name]
    assert clients.producer(worker(), "c", 0, {f"producer.override.{name}": value})["enable.idempotence"] is False


def test_what_is_no_number_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"max\.in\.flight\.requests\.per\.connection"):
        clients.producer(worker(), "c", 0, {"producer.override.max.in.flight.requests.per.connection": ""})


class TestTransactional:
    def made(self, longest_ms: int = 0, /, **overrides: str) -> clients.Client:
        config = {f"producer.override.{name.replace('_', '.')}": value for name, value in overrides.items()}
        return clients.transactional_producer(worker(producer_linger_ms="7"), "x", 3, config, longest_ms)

    def test_the_id_names_group_connector_and_task(self) -> None:
        assert self.made()["transactional.id"] == "g-x-3"

    @pytest.mark.parametrize(
        ("name", "value", "forced"),
        [
            ("transactional_id", "mine", "g-x-3"),
            ("enable_idempotence", "false", True),
            ("acks", "1", "all"),
        ],
    )
    def test_what_makes_it_exactly_once_can_not_be_changed(
        self, name: str, value: str, forced: object, caplog: pytest.LogCaptureFixture
    ) -> None:
        setting = name.replace("_", ".")
        assert self.made(**{name: value})[setting] == forced
        assert f"The producer setting {setting}={value} of x is ignored: exactly-once sources have {forced}" in caplog.text

    def test_what_says_the_same_is_not_warned_of(self, caplog: pytest.LogCaptureFixture) -> None:
        made = self.made(acks="-1", enable_idempotence="TRUE", transactional_id="g-x-3", linger_ms="9")
        assert (made["acks"], made["linger.ms"]) == ("all", "9")
        assert caplog.text == ""

    @pytest.mark.parametrize(("longest_ms", "timeout_ms"), [(0, 60_000), (60_000, 120_000), (10**9, 900_000)])
    def test_a_transaction_may_take_as_long_as_it_is_meant_to(self, longest_ms: int, timeout_ms: int) -> None:
        made = self.made(longest_ms)
        assert (made["transaction.timeout.ms"], made["message.timeout.ms"]) == (timeout_ms, timeout_ms)
        assert self.made(longest_ms, transaction_timeout_ms="5000")["transaction.timeout.ms"] == "5000"

    @pytest.mark.parametrize(
        "overrides",
        [
            {},
            {"delivery_timeout_ms": "2147483647"},
            {"delivery_timeout_ms": "3000", "transaction_timeout_ms": "2000"},
            {"socket_timeout_ms": "300000"},
            {"max_in_flight_requests_per_connection": "5", "retries": "2147483647"},
        ],
        ids=str,
    )
    def test_the_client_takes_it(self, overrides: dict[str, str]) -> None:
        ck.Producer({**self.made(**overrides), "bootstrap.servers": "127.0.0.1:1", "log_level": 0})

    def test_a_request_ends_in_a_fraction_of_the_transaction_s_time(self) -> None:
        assert self.made()["socket.timeout.ms"] == 10_000
        assert self.made(socket_timeout_ms="300000")["socket.timeout.ms"] == 10_000
        assert self.made(request_timeout_ms="7000")["socket.timeout.ms"] == 7000
        assert self.made(transaction_timeout_ms="6000")["socket.timeout.ms"] == 1000

    def test_a_shorter_time_for_a_message_counts(self) -> None:
        assert self.made(delivery_timeout_ms="3000")["message.timeout.ms"] == 3000


def test_what_the_worker_does_not_allow_is_refused_at_the_start_too() -> None:
    strict = worker(**{"connector.client.config.override.policy": "None"})
    assert clients.producer(strict, "c", 0, {})["acks"] == "all"
    with pytest.raises(ConfigError, match=r"producer\.override\.acks can't be used: The 'None' policy does not allow 'acks'"):
        clients.producer(strict, "c", 0, {"producer.override.acks": "1"})
    login = {"consumer.override.sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule required x=y;"}
    with pytest.raises(ConfigError, match="JndiLoginModule"):
        clients.consumer(worker(), "c", 0, login)


def test_a_consumer_is_in_connects_group_and_never_commits_by_itself() -> None:
    found = clients.consumer(worker(), "c", 2, {"consumer.override.enable.auto.commit": "true"})
    assert (found["group.id"], found["client.id"]) == ("connect-c", "connector-consumer-c-2")
    assert found["enable.auto.commit"] is False
    assert (found["auto.offset.reset"], found["partition.assignment.strategy"]) == ("earliest", "cooperative-sticky")


def test_a_connector_may_choose_its_group_and_where_to_begin() -> None:
    config = {"consumer.override.group.id": "mine", "consumer.override.auto.offset.reset": "latest"}
    found = clients.consumer(worker(), "c", 0, config)
    assert (found["group.id"], found["auto.offset.reset"]) == ("mine", "latest")


@pytest.mark.parametrize(
    ("overrides", "servers"),
    [
        ({}, "a:1, b:2"),
        ({"producer": "c:3"}, "c:3"),
        ({"admin": "d:4"}, "d:4"),
        ({"producer": "c:3", "admin": "d:4"}, "d:4"),
    ],
)
def test_topics_are_created_where_the_producer_writes(overrides: dict[str, str], servers: str) -> None:
    config = {f"{kind}.override.bootstrap.servers": text for kind, text in overrides.items()}
    made = clients.topic_admin(worker(security_protocol="SSL", admin_retries="7"), "c", config)
    shown = (made["bootstrap.servers"], made["security.protocol"], made["retries"], made["client.id"])
    assert shown == (servers, "ssl", "7", "connector-adminclient-c")


def test_who_creates_topics_logs_in_as_the_producer_does_unless_it_says_otherwise() -> None:
    config = {"producer.override.bootstrap.servers": "c:3", "producer.override.sasl.username": "writer"}
    assert clients.topic_admin(worker(), "c", config)["sasl.username"] == "writer"
    own = {**config, "admin.override.sasl.username": "maker"}
    assert clients.topic_admin(worker(), "c", own)["sasl.username"] == "maker"


JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'
LOGIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_jaas_config": JAAS.format("worker", "canary-pw"),
    "admin_sasl_jaas_config": JAAS.format("maker", "canary-admin"),
}
MAKERS = {
    "producer": lambda settings, config: clients.producer(settings, "c", 0, config),
    "consumer": lambda settings, config: clients.consumer(settings, "c", 0, config),
    "admin": lambda settings, config: clients.admin(settings, "c", config),
}


@pytest.mark.parametrize("name", ["bootstrap.servers", "metadata.broker.list"])
@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_the_worker_s_login_does_not_go_to_brokers_that_a_connector_names(kind: str, name: str) -> None:
    evil = {f"{kind}.override.{name}": "a:1,evil:9092"}
    with pytest.raises(
        ConfigError, match=rf"{kind}\.override\.bootstrap\.servers names brokers that are not the worker's"
    ) as refused:
        MAKERS[kind](worker(**LOGIN), evil)
    assert "canary" not in str(refused.value)
    control = worker(**LOGIN, **{"connector_client_config_override_unsafe_allowlist": "bootstrap.servers"})
    assert "canary" in str(MAKERS[kind](control, evil))
    own = {**evil, f"{kind}.override.sasl.jaas.config": JAAS.format("own", "pw")}
    assert "canary" not in str(MAKERS[kind](worker(**LOGIN), own))
    plain = {**evil, f"{kind}.override.security.protocol": "PLAINTEXT"}
    assert "canary" not in str(MAKERS[kind](worker(**LOGIN), plain))
    half = {**evil, f"{kind}.override.sasl.username": "worker"}
    with pytest.raises(ConfigError):
        MAKERS[kind](worker(**LOGIN), half)
    same = {f"{kind}.override.{name}": "b:2"}
    assert "canary" in str(MAKERS[kind](worker(**LOGIN), same))


def test_what_follows_a_producer_to_other_brokers_takes_no_login_of_the_worker_s_along() -> None:
    config = {"producer.override.bootstrap.servers": "c:3", "producer.override.sasl.jaas.config": JAAS.format("own", "pw")}
    assert "canary" not in str(clients.topic_admin(worker(**LOGIN), "c", config))
    made = clients.offsets(worker(**LOGIN), "c", config)
    assert "canary" not in str((made.producer, made.consumer, made.admin))


OTHERS: tuple[dict[str, str], ...] = (
    {},
    {"security.protocol": "PLAINTEXT"},
    {"sasl.oauthbearer.client.id": "x"},
    {"sasl.oauthbearer.client.x": "x"},
    {"sasl.mechanism": "SCRAM-SHA-256", "sasl.oauthbearer.client.id": "x"},
    {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.client.id": "x"},
    {"sasl.mechanisms": "OAUTHBEARER", "sasl.oauthbearer.client.id": "x"},
    {"sasl.username": "x", "sasl.password": "y"},
    {"sasl.jaas.config": JAAS.format("own", "pw")},
)


@pytest.mark.parametrize("more", OTHERS, ids=str)
@pytest.mark.parametrize("kinds", [("producer",), ("admin",), ("consumer",), ("producer", "admin"), ("producer", "consumer")])
def test_no_client_at_all_takes_the_worker_s_login_to_other_brokers(kinds: tuple[str, ...], more: dict[str, str]) -> None:
    """Whoever may create connectors got the worker's password, by the client that looks for the topics of his producer."""
    settings = {"bootstrap.servers": "c:3", **more}
    config = {f"{kind}.override.{name}": text for kind in kinds for name, text in settings.items()}
    # What a connector says of one client only must not lead another one's login there.
    config |= {"admin.override.security.protocol": "SASL_PLAINTEXT"} if kinds == ("producer",) else {}
    for make in (*MAKERS.values(), _topic_admin, *_OF_OFFSETS):
        try:
            made = make(worker(**LOGIN), config)
        except ConfigError as refused:
            assert "canary" not in str(refused)
        else:
            assert made["bootstrap.servers"] != "c:3" or "canary" not in str(made)


def test_settings_of_tokens_are_no_login_by_password() -> None:
    config = {"producer.override.bootstrap.servers": "c:3", "producer.override.sasl.oauthbearer.client.id": "x"}
    with pytest.raises(ConfigError, match="names brokers that are not the worker's"):
        clients.producer(worker(**LOGIN), "c", 0, config)
    by_token = {**config, "producer.override.sasl.mechanism": "OAUTHBEARER"}
    assert "canary" not in str(clients.producer(worker(**LOGIN), "c", 0, by_token))


def _topic_admin(settings: WorkerSettings, config: dict[str, str]) -> clients.Client:
    return clients.topic_admin(settings, "c", config)


_OF_OFFSETS = tuple(
    lambda settings, config, kind=kind: getattr(clients.offsets(settings, "c", config), kind)
    for kind in ("producer", "consumer", "admin")
)


def test_a_client_has_so_many_brokers_that_each_may_have_a_thread() -> None:
    """A list of thousands, which librdkafka makes a thread for each of, kept a machine from all else that ran there."""
    most = client_config.MOST_BROKERS
    for name in ("bootstrap.servers", "metadata.broker.list"):
        fine = {f"consumer.override.{name}": ",".join(f"h{number}:1" for number in range(most))}
        assert clients.consumer(worker(), "c", 0, fine)[name].count(",") == most - 1
        with pytest.raises(ConfigError, match=f"{name} can't be used: it names {most + 1} brokers"):
            clients.consumer(worker(), "c", 0, {f"consumer.override.{name}": fine[f"consumer.override.{name}"] + ",one:1"})


@pytest.mark.parametrize("name", ["client.id", "group.id", "group.instance.id", "client.rack"])
def test_a_name_is_no_longer_than_a_request_has_room_for(name: str) -> None:
    """Brokers took what was behind for the rest of the request."""
    fine = clients.consumer(worker(), "c", 0, {f"consumer.override.{name}": "é" * 16_383})
    assert len(fine[name]) == 16_383
    with pytest.raises(ConfigError, match=f"{name} can't be used: it has more than 32767 bytes"):
        clients.consumer(worker(), "c", 0, {f"consumer.override.{name}": "é" * 16_384})


def test_buffer_memory_is_counted_in_kibibytes() -> None:
    found = clients.producer(worker(), "c", 0, {"producer.override.buffer.memory": "4194304"})
    assert found["queue.buffering.max.kbytes"] == "4096"


def test_an_outage_is_logged_once_a_minute_and_not_at_every_attempt(caplog: pytest.LogCaptureFixture) -> None:
    lines = clients.internal(worker(), "x")["logger"]
    with caplog.at_level(logging.INFO):
        for took in range(50):
            lines.warning("FAIL [a]: Connect to a:1 failed: refused (after %dms in state CONNECT)", took)
        lines.warning("FAIL [b]: Connect to b:2 failed: refused (after 1ms in state CONNECT)")
    assert [line.split("]")[0] for line in caplog.messages] == ["FAIL [a", "FAIL [b"]


@pytest.mark.parametrize("settings", [{}, {"metadata_max_age_ms": "300000"}, {"producer_transaction_timeout_ms": "3000"}])
def test_librdkafka_makes_every_client_of_ours(settings: dict[str, str]) -> None:
    """It refuses some combinations, and only when a client is made: then no worker leads, or no task starts."""
    given = worker(**settings)
    log.LeaderWriter(clients.internal(given, "writer"), clients.topics(given), "connect-cluster-g").made()
    log.LogWriter(clients.internal(given, "writer"), clients.topics(given), 7.5).close(0)
    ck.Consumer({**clients.reader(given, "reader"), "fetch.wait.max.ms": 100}).close()
    for client in (
        clients.producer(given, "x", 0, {}),
        clients.transactional_producer(given, "x", 0, {}, 0),
        {**clients.offsets(given, "x", {}).producer, "transactional.id": "x", **own_offsets.TRANSACTION},
    ):
        ck.Producer(client)
    consumer = clients.consumer(given, "x", 0, {})
    consumer.pop("max.poll.records", None)
    ck.Consumer(consumer).close()
