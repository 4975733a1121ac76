"""A broker with a listener of each kind, and what a consumer is refused there: the rows of the table in docs/operating.md."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kconnect.jvm import jars, java
from kconnect.local.broker import Broker, free_port
from tests.integration.units import PROTOCOLS, read_all
from tests.tls.authority import STORE_PASSWORD, Authority, key_store

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_TOKENS = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
TOPIC, ALLOWED_GROUP = "refusing", "bobs"
"""A topic, and a group that bob may use."""


class RefusingBroker:
    """Alice may do all once she has logged in, bob only what a test allows him. Groups have two members at most."""

    def __init__(self, directory: Path) -> None:
        self.ports = {name: free_port() for name in ("PLAINTEXT", "SASL", "SSL", "OTHER", "OLD", "TOKEN")}
        self.authority, self.stranger = Authority("known"), Authority("unknown")
        self._directory, self._controller = directory, free_port()
        store = key_store(directory / "broker.p12", self.authority.issue("broker"))
        other = key_store(directory / "other.p12", self.authority.issue("other", host="elsewhere.example"))
        old = key_store(directory / "old.p12", self.authority.issue("old", hours=-1))
        self._stores = {
            f"listener.name.{name}.ssl.keystore.{part}": text
            for name, path in (("ssl", store), ("other", other), ("old", old))
            for part, text in (("location", path), ("type", "PKCS12"), ("password", STORE_PASSWORD))
        }
        self._stores |= {f"listener.name.{name}.ssl.key.password": STORE_PASSWORD for name in ("ssl", "other", "old")}
        self.broker = self._with_password("bob-secret")

    def _with_password(self, password: str) -> Broker:
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        return Broker(
            self._directory / "broker",
            self.ports["PLAINTEXT"],
            {
                **self._stores,
                "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
                "listeners": f"{listeners},CONTROLLER://127.0.0.1:{self._controller}",
                "advertised.listeners": listeners,
                "listener.security.protocol.map": (
                    "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,SSL:SSL,OTHER:SSL,OLD:SSL,TOKEN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
                ),
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
                "listener.name.token.oauthbearer.sasl.jaas.config": _TOKENS,
                "listener.name.sasl.plain.sasl.jaas.config": (f'{_MODULE} user_alice="alice-secret" user_bob="{password}";'),
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS;User:alice",
                "group.max.session.timeout.ms": "60000",
                "group.max.size": "2",
                "group.consumer.max.size": "2",
            },
        )

    def restart(self, password: str) -> None:
        """Stop the broker, and start it with another password of bob's."""
        self.broker.stop()
        self.broker = self._with_password(password)
        self.broker.start()

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.broker.bootstrap_servers, "log_level": 0})

    def allow(self, kind: ResourceType, name: str) -> None:
        """Let bob read a topic or use a group."""
        for future in self.admin.create_acls([AclBinding(kind, name, *_FOR_BOB)]).values():
            future.result(60)

    def forbid(self, kind: ResourceType, name: str) -> None:
        for future in self.admin.delete_acls([AclBindingFilter(kind, name, *_FOR_BOB)]).values():
            future.result(60)

    def limit(self, quota: str, user: str) -> None:
        """Set a user's quota, such as `producer_byte_rate=1`; its name alone takes it away."""
        change = ("--add-config", quota) if "=" in quota else ("--delete-config", quota)
        command = ("--bootstrap-server", self.broker.bootstrap_servers, "--alter", *change, "--entity-type", "users")
        main = ("-cp", jars.class_path(jars.kafka()), "kafka.admin.ConfigCommand")
        subprocess.run([java.checked(), *main, *command, "--entity-name", user], check=True, capture_output=True)

    def end_of(self, topic: str) -> dict[int, int]:
        """Where each partition of a topic ends."""
        consumer = ck.Consumer({"bootstrap.servers": self.broker.bootstrap_servers, "group.id": "look"})
        partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
        ends = {
            number: consumer.get_watermark_offsets(ck.TopicPartition(topic, number), timeout=60)[1] for number in partitions
        }
        consumer.close()
        return ends

    def values(self, topic: str, begin: Mapping[int, int]) -> list[str]:
        """What was committed of a topic since, in the order of its partitions."""
        messages = read_all(self.broker.bootstrap_servers, topic)
        new = [message for message in messages if (message.offset() or 0) >= begin[message.partition() or 0]]
        return [(message.value() or b"").decode() for message in new]

    def client(self, listener: str, protocol: str = "classic", **settings: Any) -> dict[str, Any]:
        """Settings of a consumer at a listener, by librdkafka's names with underscores for dots."""
        session = {"session.timeout.ms": 10000} if protocol == "classic" else {}
        return {
            "bootstrap.servers": f"127.0.0.1:{self.ports[listener]}",
            **PROTOCOLS[protocol],
            **session,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 1000,
            "topic.metadata.refresh.interval.ms": 5000,
            "log.connection.close": False,
            "log_level": 0,
            **{name if name == "oauth_cb" else name.replace("_", "."): value for name, value in settings.items()},
        }


_FOR_BOB = (ResourcePatternType.LITERAL, "User:bob", "*", AclOperation.ALL, AclPermissionType.ALLOW)


class Tokens:
    """Gives a client tokens of alice's, of which the broker believes each word, for so many seconds each."""

    def __init__(self, seconds: float, refuses: bool = False) -> None:
        self.refuses, self.seconds = refuses, seconds

    def __call__(self, config: str) -> tuple[str, float]:
        if self.refuses:
            raise ConnectionError("the server of tokens says 401")
        now = time.time()
        claims = {"sub": "alice", "iat": now, "exp": now + self.seconds}
        parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, claims))
        return f"{'.'.join(parts)}.", now + self.seconds


def by_token(tokens: Tokens) -> dict[str, Any]:
    return {"security_protocol": "sasl_plaintext", "sasl_mechanism": "OAUTHBEARER", "oauth_cb": tokens}


def login(user: str, password: str | None = None, mechanism: str = "PLAIN") -> dict[str, Any]:
    return {
        "security_protocol": "sasl_plaintext",
        "sasl_mechanism": mechanism,
        "sasl_username": user,
        "sasl_password": password or f"{user}-secret",
    }


@dataclass(frozen=True)
class Case:
    """What a consumer is refused at a listener, and what its task's failure says."""

    listener: str
    settings: Callable[[RefusingBroker], Mapping[str, Any]]
    said: tuple[str, ...]
    others: int = 0
    """How many consumers are in the group before."""
    protocols: tuple[str, ...] = ("classic",)
    """By which protocols of groups brokers refuse it."""


CASES: dict[str, Case] = {
    "a wrong user or password": Case(
        "SASL",
        lambda broker: login("alice", "wrong"),
        ("Authentication failed", "sasl.jaas.config"),
        protocols=("classic", "consumer"),
    ),
    "a mechanism that the listener has not": Case(
        "SASL", lambda broker: login("alice", mechanism="SCRAM-SHA-256"), ("Unsupported SASL mechanism", "sasl.mechanism")
    ),
    "a login towards a listener that wants none": Case(
        "PLAINTEXT", lambda broker: login("alice"), ("current SASL state", "security.protocol")
    ),
    "no login towards a listener that wants one": Case("SASL", lambda broker: {}, ("wants a login", "SASL_PLAINTEXT")),
    "no TLS towards a listener with TLS": Case("SSL", lambda broker: {}, ("speaks TLS", "SSL or SASL_SSL")),
    "TLS towards a listener without": Case(
        "PLAINTEXT", lambda broker: {"security_protocol": "ssl"}, ("speaks no TLS", "PLAINTEXT or SASL_PLAINTEXT")
    ),
    "a certificate that is not trusted": Case(
        "SSL",
        lambda broker: {"security_protocol": "ssl", "ssl_ca_pem": broker.stranger.root.pem},
        ("certificate verify failed", "ssl.truststore."),
    ),
    "a certificate for another name": Case(
        "OTHER",
        lambda broker: {"security_protocol": "ssl", "ssl_ca_pem": broker.authority.root.pem},
        ("certificate verify failed", "the broker's certificate"),
    ),
    "a certificate that has expired": Case(
        "OLD",
        lambda broker: {"security_protocol": "ssl", "ssl_ca_pem": broker.authority.root.pem},
        ("certificate verify failed", "that no certificate has expired"),
    ),
    "a session above the brokers' limit": Case(
        "PLAINTEXT",
        lambda broker: {"session_timeout_ms": 120_000},
        ("Invalid session timeout", "session.timeout.ms, now 120000", "group.max.session.timeout.ms"),
    ),
    "a session below the brokers' limit": Case(
        "PLAINTEXT",
        lambda broker: {"session_timeout_ms": 500, "heartbeat_interval_ms": 100},
        ("Invalid session timeout", "group.min.session.timeout.ms"),
    ),
    "a group that is full": Case(
        "PLAINTEXT", lambda broker: {}, ("maximum size", "max.size"), others=2, protocols=("classic", "consumer")
    ),
    "an assignor that the brokers have not": Case(
        "PLAINTEXT",
        lambda broker: {"group_remote_assignor": "ours"},
        ("not supported by the consumer group", "group.remote.assignor to one"),
        protocols=("consumer",),
    ),
    "a group whose members share out in another way": Case(
        "PLAINTEXT", lambda broker: {"partition_assignment_strategy": "range"}, ("nconsistent group protocol",), others=1
    ),
    "no right to the group": Case(
        "SASL",
        lambda broker: login("bob"),
        ("Group authorization failed", "Grant Read and Describe on the group"),
        protocols=("classic", "consumer"),
    ),
    "no right to the topic": Case(
        "SASL",
        lambda broker: {**login("bob"), "group_id": ALLOWED_GROUP},
        ("Topic authorization failed", "Grant Read and Describe on the topic"),
        protocols=("classic", "consumer"),
    ),
}
"""By the first column of the page."""
