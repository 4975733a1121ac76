"""Client settings: Java's names in, librdkafka's out. No client is ever connected here."""

from __future__ import annotations

import logging

import pytest

from kconnect.api.errors import ConfigError
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.kafka import clients

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
    ("given", "made"),
    [
        ({"max.request.size": "100000"}, {"message.max.bytes": "100000"}),
        ({"fetch.max.wait.ms": "9"}, {"fetch.wait.max.ms": "9"}),
        ({"receive.buffer.bytes": "-1"}, {"socket.receive.buffer.bytes": "0"}),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        (
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"},
            {"partition.assignment.strategy": "range"},
        ),
        (
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor"},
            {"partition.assignment.strategy": "cooperative-sticky"},
        ),
        ({"linger.ms": " 5 "}, {"linger.ms": "5"}),
        ({"linger.ms": None}, {}),
        ({"key.serializer": "x"}, {}),
    ],
)
def test_javas_settings_become_librdkafkas(given: dict[str, str | None], made: dict[str, str]) -> None:
    assert clients.translate(given) == made


def test_buffer_memory_is_counted_in_kibibytes() -> None:
    found = clients.producer(worker(), "c", 0, {"producer.override.buffer.memory": "33554432"})
    assert found["queue.buffering.max.kbytes"] == 32768


def test_a_login_line_becomes_user_and_password() -> None:
    line = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="al" password="a\\"b=c; \'d" ;'
    )
    assert clients.translate({"sasl.jaas.config": line}) == {"sasl.username": "al", "sasl.password": "a\"b=c; 'd"}


def test_what_librdkafka_does_not_know_is_dropped_with_a_warning_that_names_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert clients.translate({"only.java.has.this": "secret-value"}) == {}
    assert "only.java.has.this" in caplog.text
    assert "secret-value" not in caplog.text


def test_a_value_that_can_not_be_used_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"linger\.ms"):
        clients.translate({"linger.ms": "soon"})


def test_no_connector_can_load_a_library_into_the_host_or_replace_the_clients_callbacks() -> None:
    given = {"plugin.library.paths": "/tmp/evil.so", "error_cb": "x", "on_delivery": "x", "logger": "x", "stats_cb": "x"}
    assert clients.translate(given) == {}


def test_a_refusal_does_not_show_secrets() -> None:
    with pytest.raises(ConfigError) as failure:
        clients.translate({"ssl.key.pem": "-----BEGIN swordfish", "ssl.keystore.key": "x", "linger.ms": "no"})
    assert "swordfish" not in str(failure.value)


def test_an_outage_is_logged_once_a_minute_and_not_at_every_attempt(caplog: pytest.LogCaptureFixture) -> None:
    lines = clients.internal(worker(), "x")["logger"]
    with caplog.at_level(logging.INFO):
        for took in range(50):
            lines.warning("FAIL [a]: Connect to a:1 failed: refused (after %dms in state CONNECT)", took)
        lines.warning("FAIL [b]: Connect to b:2 failed: refused (after 1ms in state CONNECT)")
    assert [line.split("]")[0] for line in caplog.messages] == ["FAIL [a", "FAIL [b"]
