"""Java's client settings in librdkafka's terms: the table, stores and logins. No client ever reaches a broker here."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from pathlib import Path

import confluent_kafka as ck
import pytest

from kconnect.core.settings.client_config import TABLES
from kconnect.errors import ConfigError
from kconnect.kafka import logins, translation
from kconnect.kafka.translation import TABLE, translate
from kconnect.tls import stores
from tests.tls.authority import (
    KEY_PASSWORD,
    STORE_PASSWORD,
    Authority,
    java_key_store,
    java_trust_store,
    key_store,
    write,
)


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
    assert translate(given) == made


def test_a_login_line_becomes_user_and_password() -> None:
    line = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="al" password="a\\"b=c; \'d" ;'
    assert translate({"sasl.jaas.config": line}) == {"sasl.username": "al", "sasl.password": "a\"b=c; 'd"}


def test_what_librdkafka_does_not_know_is_dropped_with_a_warning_that_names_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert translate({"only.java.has.this": "secret-value"}) == {}
    assert "only.java.has.this" in caplog.text
    assert "secret-value" not in caplog.text


def test_a_value_that_can_not_be_used_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"linger\.ms"):
        translate({"linger.ms": "soon"})


def test_no_connector_can_load_a_library_into_the_host_or_replace_the_clients_callbacks() -> None:
    given = {"plugin.library.paths": "/tmp/evil.so", "error_cb": "x", "on_delivery": "x", "logger": "x", "stats_cb": "x"}
    assert translate(given) == {}


def test_a_refusal_does_not_show_secrets() -> None:
    with pytest.raises(ConfigError) as failure:
        translate({"ssl.key.pem": "-----BEGIN swordfish", "ssl.keystore.key": "x", "linger.ms": "no"})
    assert "swordfish" not in str(failure.value)


def test_every_setting_of_java_s_clients_has_an_answer() -> None:
    names = {name for table in TABLES.values() for name in table.keys}
    same = names - TABLE.keys() - logins.NAMES - {"max.poll.records"}
    unknown = {name for name in same if (translation._problem(name, "x") or "").startswith("No such configuration")}
    assert unknown == set()
    # And no row is for something that is not there.
    librdkafkas = {"plugin.library.paths", "delivery.report.only.error", "test.mock.num.brokers"}
    assert TABLE.keys() - names <= {"ssl.client.auth", *librdkafkas}


def test_what_happens_instead_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    translation._warn.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert translate({"interceptor.classes": "com.example.Mine", "max.block.ms": "5"}) == {}
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert any("interceptor.classes" in text and "Java classes can't run here" in text for text in said)
    assert "com.example" not in caplog.text


def create(kind: str, made: dict[str, str]) -> None:
    """A client that is like those of tasks in what settings depend on."""
    if kind == "producer":
        ck.Producer({"message.timeout.ms": 2147483647, **made})
    else:
        ck.Consumer({"group.id": "g", **made})


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("producer", "max.request.size"),
        ("producer", "request.timeout.ms"),
        ("producer", "linger.ms"),
        ("consumer", "max.partition.fetch.bytes"),
        ("consumer", "max.poll.interval.ms"),
        ("consumer", "request.timeout.ms"),
        ("consumer", "metadata.max.age.ms"),
    ],
)
def test_all_that_java_takes_becomes_the_most_that_the_client_takes(
    kind: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    translation._warn_of_limit.cache_clear()
    with caplog.at_level(logging.WARNING):
        made = translate({name: "2147483647"}, kind)
    create(kind, made)
    said = {record.getMessage() for record in caplog.records}
    assert said == {f"The client setting {name} is above the Kafka client's limit: {most} is used" for most in made.values()}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("producer", {"batch.size": "0", "connections.max.idle.ms": "-1", "retry.backoff.ms": "0"}),
        ("consumer", {"fetch.min.bytes": "0", "fetch.max.bytes": "500000"}),
        ("consumer", {"fetch.max.bytes": "1"}),
        ("consumer", {"fetch.max.bytes": "2147483647"}),
    ],
)
def test_what_means_something_in_java_makes_a_client(kind: str, given: dict[str, str]) -> None:
    create(kind, translate(given, kind))


@pytest.mark.parametrize("name", ["max.request.size", "fetch.max.bytes", "connections.max.idle.ms", "batch.size"])
def test_what_means_nothing_in_java_either_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        translate({name: "-7"})


@pytest.mark.parametrize(("codec", "level"), [("gzip", "6"), ("zstd", "3"), ("lz4", None)])
def test_the_level_of_the_codec_that_is_chosen(codec: str, level: str | None) -> None:
    given = {"compression.type": codec, "compression.gzip.level": "6", "compression.zstd.level": "3"}
    assert translate(given).get("compression.level") == level


@pytest.mark.parametrize("name", ["buffer.memory", "linger.ms", "max.request.size"])
def test_what_is_no_number_is_refused_by_java_s_name(name: str) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        translate({name: "many"})


def test_login_lines_of_all_kinds() -> None:
    scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required username=al password="p w";'
    assert translate({"sasl.jaas.config": scram}) == {"sasl.username": "al", "sasl.password": "p w"}
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    oauth = f'{module} required clientId="x" clientSecret="s" scope=all;'
    found = translate({"sasl.jaas.config": oauth, "sasl.oauthbearer.token.endpoint.url": "https://id/"})
    assert found == {
        "sasl.oauthbearer.client.id": "x",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "all",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id/",
    }
    with pytest.raises(ConfigError, match="PlainLoginModule") as refused:
        translate({"sasl.jaas.config": 'com.example.Mine required password="swordfish";'})
    assert "swordfish" not in str(refused.value)


@pytest.mark.parametrize("option", ["principal", "keyTab", "serviceName"])
def test_a_login_line_puts_no_command_into_kinit_s(option: str) -> None:
    line = f'com.sun.security.auth.module.Krb5LoginModule required {option}="x; touch /tmp/x";'
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config.* goes into a command line"):
        translate({"sasl.jaas.config": line})
    assert translate({"sasl.jaas.config": line.replace("; touch /tmp/", "/")})


class Peer:
    """A TLS server that asks for a client's certificate; it knows the root authority only."""

    def __init__(self, directory: Path, authority: Authority) -> None:
        own = authority.issue("broker")
        self.root = write(directory / "root.pem", authority.root.pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(write(directory / "own.pem", own.pem), write(directory / "own.key", own.key_pem))
        context.load_verify_locations(self.root)
        context.verify_mode = ssl.CERT_REQUIRED
        self._socket = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
        self._socket.settimeout(30)
        self.port = self._socket.getsockname()[1]

    def client_of(self, settings: dict[str, str]) -> str:
        """Have a Kafka client connect, and give the name in the certificate that it shows."""
        common = {"bootstrap.servers": f"127.0.0.1:{self.port}", "security.protocol": "SSL"}
        producer = ck.Producer(translate({**common, **settings}))
        try:
            connection, _ = self._socket.accept()
            with connection:
                subject = (connection.getpeercert() or {})["subject"]
                return str(subject[0][0][1])
        finally:
            producer.purge()

    def close(self) -> None:
        self._socket.close()


@pytest.mark.process
@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "JKS", "inline"])
def test_a_client_shows_what_its_keystore_has_with_all_between_it_and_the_root(kind: str, tmp_path: Path) -> None:
    authority = Authority("root")
    between = authority.issue("between", authority=True)
    client = authority.issue("client", by=between)
    pkcs12 = key_store(tmp_path / "client.p12", client, between)
    passwords = {"ssl.keystore.password": STORE_PASSWORD, "ssl.truststore.password": STORE_PASSWORD}
    peer = Peer(tmp_path, authority)
    chain = client.pem + between.pem
    match kind:
        case "PEM":
            stored = write(tmp_path / "client.pem", client.key_pem + chain)
            keys = {"ssl.keystore.type": "PEM", "ssl.keystore.location": stored}
            trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": peer.root}
        case "PKCS12":
            keys = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": pkcs12, **passwords}
            store = java_trust_store(tmp_path / "trust.p12", "PKCS12", peer.root)
            trust = {"ssl.truststore.type": "PKCS12", "ssl.truststore.location": store}
        case "JKS":
            keys = {"ssl.keystore.location": java_key_store(tmp_path / "client.jks", pkcs12), **passwords}
            keys["ssl.key.password"] = KEY_PASSWORD
            trust = {"ssl.truststore.location": java_trust_store(tmp_path / "trust.jks", "JKS", peer.root)}
        case _:
            keys = {"ssl.keystore.type": "PEM", "ssl.keystore.key": client.key_pem, "ssl.keystore.certificate.chain": chain}
            trust = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.root.pem}
    try:
        assert peer.client_of({**keys, **trust}) == "client"
    finally:
        peer.close()


def test_stores_are_read_only_where_tls_is_spoken(tmp_path: Path) -> None:
    missing = {"ssl.truststore.location": str(tmp_path / "none.jks")}
    assert translate(missing) == {}
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location"):
        translate({**missing, "security.protocol": "SASL_SSL"})


def test_a_store_that_was_changed_is_read_again(tmp_path: Path) -> None:
    first, second = Authority("one").root, Authority("another").root
    file = tmp_path / "ca.pem"
    given = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(file)}
    write(file, first.pem)
    assert translate(given)["ssl.ca.pem"].strip() == first.pem.strip()
    write(file, second.pem + second.pem)
    assert second.pem.strip() in translate(given)["ssl.ca.pem"]


def test_tasks_that_start_at_once_read_their_store_once(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[object] = []
    all_asked = threading.Barrier(5)

    def read(settings: object) -> None:
        began.append(settings)
        time.sleep(0.1)  # As long as it takes the others to ask, too.

    def ask() -> None:
        all_asked.wait()
        translate({"security.protocol": "SSL", "ssl.truststore.location": "/store/of/five", "ssl.truststore.type": "JKS"})

    monkeypatch.setattr(stores, "key_pair", lambda settings: None)
    monkeypatch.setattr(stores, "trusted", read)
    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    logins._stores.cache_clear()
    assert len(began) == 1
