"""What connectors may set of their Kafka clients, by policy; and what they may not under any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kconnect.core.settings.overrides import Policy, policy_name, sections, warnings
from kconnect.core.settings.validation import errors_of
from kconnect.errors import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username='a' password='b';"
JNDI = "com.sun.security.auth.module.JndiLoginModule required user.provider.url='ldap://elsewhere';"


def rows(
    kind: str, config: Mapping[str, str | None], policy: Policy | None = None, exactly_once: bool = False
) -> dict[str, Any]:
    found = sections(kind, config, policy or Policy(), exactly_once=exactly_once)
    return {row["value"]["name"]: row for section in found for row in section.rows()}


def errors(config: dict[str, str], policy: Policy | None = None) -> dict[str, list[str]]:
    return {name: errors_of(row) for name, row in rows("source", config, policy).items() if errors_of(row)}


def test_only_what_is_submitted_is_shown_with_the_client_s_definition() -> None:
    found = rows("source", {"topic": "t", "producer.override.linger.ms": "7", "producer.override.nope": "v"})
    assert list(found) == ["producer.override.linger.ms", "producer.override.nope"]
    definition = found["producer.override.linger.ms"]["definition"]
    names = ("type", "default_value", "importance", "group", "order_in_group", "display_name")
    shown = {name: definition[name] for name in names}
    assert shown == {
        "type": "LONG",
        "default_value": "5",
        "importance": "MEDIUM",
        "group": None,
        "order_in_group": -1,
        "display_name": "linger.ms",
    }
    assert found["producer.override.linger.ms"]["value"]["value"] == "7"
    assert found["producer.override.nope"]["definition"] is None
    assert found["producer.override.nope"]["value"]["value"] == "v"


def test_secrets_are_not_echoed() -> None:
    given = {"producer.override.sasl.jaas.config": PLAIN, "producer.override.sasl.password": "canary-77"}
    found = rows("source", given)
    assert [row["value"]["value"] for row in found.values()] == ["[hidden]", "[hidden]"]


def test_a_null_is_shown_as_such() -> None:
    """That it is refused is said by the row without a definition, as of every null."""
    assert rows("source", {"producer.override.acks": None})["producer.override.acks"]["value"]["value"] is None
    assert (
        rows("source", {"producer.override.sasl.jaas.config": None})["producer.override.sasl.jaas.config"]["value"]["value"]
        is None
    )


def test_a_value_of_the_wrong_type() -> None:
    assert errors({"producer.override.linger.ms": "zz"}) == {
        "producer.override.linger.ms": ["Invalid value zz for configuration linger.ms: Not a number of type LONG"]
    }


OF_EACH = {f"{client}.override.client.id": "c" for client in ("producer", "consumer", "admin")}


@pytest.mark.parametrize(
    ("kind", "more", "exactly_once", "used"),
    [
        ("source", {}, False, ["producer"]),
        ("source", {"topic.creation.default.partitions": "1"}, False, ["producer", "admin"]),
        ("source", {"offsets.storage.topic": "o"}, False, ["producer", "consumer", "admin"]),
        ("source", {}, True, ["producer", "consumer", "admin"]),
        ("sink", {}, False, ["consumer"]),
        ("sink", {"errors.deadletterqueue.topic.name": "d"}, False, ["producer", "consumer", "admin"]),
    ],
)
def test_only_clients_that_the_connector_uses(kind: str, more: dict[str, str], exactly_once: bool, used: list[str]) -> None:
    found = rows(kind, {**OF_EACH, **more}, exactly_once=exactly_once)
    assert list(found) == [f"{client}.override.client.id" for client in used]


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        (Policy(), []),
        (Policy("None"), ["acks", "security.protocol", "sasl.jaas.config"]),
        (Policy("Principal"), ["acks"]),
        (Policy("Allowlist", ("acks", "linger.ms")), ["security.protocol", "sasl.jaas.config"]),
        (Policy("Allowlist"), ["acks", "security.protocol", "sasl.jaas.config"]),
    ],
)
def test_the_policies(policy: Policy, refused: list[str]) -> None:
    given = {"acks": "1", "security.protocol": "SSL", "sasl.jaas.config": PLAIN}
    found = errors({f"producer.override.{name}": value for name, value in given.items()}, policy)
    assert found == {
        f"producer.override.{name}": [
            f"The '{policy.name}' policy does not allow '{name}' to be overridden in the connector configuration."
        ]
        for name in refused
    }


@pytest.mark.parametrize(
    ("setting", "value", "reason"),
    [
        ("sasl.jaas.config", JNDI, "lets JndiLoginModule load code from elsewhere"),
        ("sasl.jaas.config", JNDI.replace("Jndi", "Ldap"), "lets LdapLoginModule load code from elsewhere"),
        ("sasl.oauthbearer.token.endpoint.url", "file:///etc/passwd", "sends the worker's requests wherever it says"),
        ("sasl.oauthbearer.jwks.endpoint.url", "http://10.0.0.1/", "sends the worker's requests wherever it says"),
        ("sasl.oauthbearer.assertion.private.key.file", "/k", "reads the worker's files"),
        ("sasl.kerberos.kinit.cmd", "touch /tmp/x", "runs a command on the worker's machine"),
        ("plugin.library.paths", "x.so", "loads native code into the worker's processes"),
        ("ssl.engine.location", "x.so", "loads native code into the worker's processes"),
    ],
)
def test_what_no_policy_allows_by_itself(setting: str, value: str, reason: str) -> None:
    for client in ("producer", "consumer"):  # also where the connector has no such client yet
        config = {f"{client}.override.{setting}": value}
        (texts,) = errors(config).values()
        assert texts == [
            f"The setting '{setting}' {reason}, so connectors may not override it. To allow it, add it to the "
            "worker's connector.client.config.override.unsafe.allowlist."
        ]
        assert errors(config, Policy(unsafe=(setting,))) == {}


def test_what_is_ordinary_is_no_danger() -> None:
    given = {
        "sasl.jaas.config": PLAIN,
        "ssl.truststore.location": "/certs/ca.pem",
        "sasl.oauthbearer.scope": "s",
        "bootstrap.servers": "other:9092",
    }
    assert errors({f"producer.override.{name}": value for name, value in given.items()}) == {}


@pytest.mark.parametrize("name", ["All", "None", "Principal", "Allowlist"])
def test_a_policy_s_names(name: str) -> None:
    simple = f"{name}ConnectorClientConfigOverridePolicy"
    for text in (name, simple, f"org.apache.kafka.connect.connector.policy.{simple}", f" {name} "):
        assert policy_name(text) == name


@pytest.mark.parametrize("text", ["", "all", "com.acme.MyPolicy"])
def test_an_unknown_policy(text: str) -> None:
    with pytest.raises(ConfigError, match=r"connector\.client\.config\.override\.policy: Must be one of: All, None"):
        policy_name(text)


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_group_is_refused_for_the_client_would_end_its_process(text: str) -> None:
    given = {"topics": "t", "consumer.override.group.id": text}
    [row] = rows("sink", given).values()
    assert errors_of(row) == ["The setting 'group.id' can't be used: it is empty: name a consumer group, or remove the setting"]
    assert rows("source", given) == {}, "which has no consumer"


def test_a_source_that_writes_dead_letters_has_a_client_to_create_their_topic() -> None:
    given = {"topic": "t", "errors.deadletterqueue.topic.name": "dead", "admin.override.client.id": "mine"}
    said = "This source has no admin of its own, so admin.override.client.id has no effect"
    assert list(warnings("source", given)) == [said]
    assert list(warnings("source", {**given, "errors.tolerance": "all"})) == []


def test_overrides_of_a_client_that_the_connector_has_not_are_warned_of_whatever_they_say() -> None:
    given = {"topic": "t", "consumer.override.fetch.min.bytes": "many", "producer.override.linger.ms": "7"}
    assert list(rows("source", given)) == ["producer.override.linger.ms"]
    said = "This source has no consumer of its own, so consumer.override.fetch.min.bytes has no effect"
    assert list(warnings("source", given)) == [said]
    assert list(warnings("source", given, exactly_once=True)) == []
    assert errors_of(rows("source", given, exactly_once=True)["consumer.override.fetch.min.bytes"]), "the control"


def test_what_can_not_be_given_to_a_client_is_refused_and_no_secret_shown() -> None:
    found = errors({"producer.override.sasl.password": "canary\0", "producer.override.client.id": "a\ud800"})
    assert all("Kafka clients can't take" in text for [text] in found.values())
    assert len(found) == 2
    assert "canary" not in str(found)
