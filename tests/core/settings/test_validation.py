"""The answer of a validation: sequence, groups, counts and texts as Kafka Connect 4.3 gives them."""

from __future__ import annotations

import base64
import time
from importlib import metadata
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from kconnect.api.config import HIDDEN, ConfigDef, ConfigKey, ConfigValue, NonEmptyString, Password, Type
from kconnect.core.settings import secrets
from kconnect.core.settings.sink import SINK_CONFIG
from kconnect.core.settings.source import SOURCE_CONFIG
from kconnect.core.settings.validation import NULL_VALUE, Asked, Section, errors_message, validate

FILE_SOURCE = ConfigDef(
    ConfigKey("file", Type.STRING, None),
    ConfigKey("topic", Type.STRING, validator=NonEmptyString()),
    ConfigKey("password", Type.PASSWORD, None),
)
GOOD: dict[str, str | None] = {"name": "c", "connector.class": "FileSource", "topic": "t"}


def check(config: dict[str, str | None], kind: str = "source", **arguments: Any) -> dict[str, Any]:
    given = {name: value for name, value in config.items() if value is not None}
    asked = Asked(kind, FILE_SOURCE, FILE_SOURCE.validate(given))
    return validate("FileSource", config, asked, **arguments)


def names(infos: dict[str, Any]) -> list[str]:
    return [(row["definition"] or row["value"])["name"] for row in infos["configs"]]


def errors(infos: dict[str, Any]) -> dict[str, list[str]]:
    return {row["value"]["name"]: row["value"]["errors"] for row in infos["configs"] if row["value"]["errors"]}


def test_a_good_source() -> None:
    infos = check({**GOOD, "not.known": "x", "topic.creation.default.partitions": "x"})
    assert (infos["name"], infos["error_count"]) == ("FileSource", 0)
    assert names(infos) == [*SOURCE_CONFIG.keys, "file", "topic", "password"]
    assert infos["groups"] == [
        "Common",
        "Transforms",
        "Predicates",
        "Error Handling",
        "Topic Creation",
        "Exactly Once Support",
        "offsets.topic",
    ]
    row = infos["configs"][3]
    assert row["definition"]["name"] == "tasks.max"
    assert row["value"] == {"name": "tasks.max", "value": "1", "recommended_values": [], "errors": [], "visible": True}


def test_a_good_sink() -> None:
    infos = check({**GOOD, "topics": "a, b"}, "sink")
    assert names(infos) == [*SINK_CONFIG.keys, "file", "topic", "password"]
    assert infos["groups"] == ["Common", "Transforms", "Predicates", "Error Handling"]
    assert {row["value"]["name"]: row["value"]["value"] for row in infos["configs"]}["topics"] == "a,b"


def test_the_errors_are_counted_by_message() -> None:
    infos = check({"connector.class": "FileSource", "tasks.max": "abc", "topic": ""})
    assert errors(infos) == {
        "name": ['Missing required configuration "name" which has no default value.'],
        "tasks.max": [
            "Invalid value abc for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ],
        "topic": ["Invalid value  for configuration topic: String must be non-empty"],
    }
    assert infos["error_count"] == 4


def test_null_is_refused_for_every_setting() -> None:
    infos = check({**GOOD, "tasks.max": None, "topic": None, "file": None, "nobody.knows": None})
    at_least_one = "Invalid value null for configuration tasks.max: Value must be non-null"
    assert errors(infos) == {
        "tasks.max": [at_least_one, NULL_VALUE],
        "topic": [NULL_VALUE],
        "file": [NULL_VALUE],
        "nobody.knows": [NULL_VALUE],
    }
    assert infos["configs"][0]["definition"] is None
    assert infos["configs"][0]["value"]["name"] == "nobody.knows"


def test_sinks_need_topics_and_a_group_of_their_own() -> None:
    missing = "Must configure one of topics or topics.regex"
    assert errors(check(GOOD, "sink")) == {"topics": [missing], "topics.regex": [missing]}
    submitted = {**GOOD, "topics": "t", "consumer.override.group.id": "workers"}
    infos = check(submitted, "sink", worker_group="workers")
    assert names(infos)[0] == "consumer.override.group.id"
    assert infos["configs"][0]["definition"] is None
    assert infos["configs"][0]["value"]["value"] == "workers"
    assert infos["error_count"] == 1
    assert errors(check({**GOOD, "topics": "t"}, "sink", worker_group="connect-c")).keys() == {"name"}


def test_sections_have_their_places() -> None:
    keys = ConfigDef(
        ConfigKey("type", Type.CLASS, group="Transforms: f", order=0, dependents=("field",)),
        ConfigKey("field", Type.STRING, display_name="The field"),
    )
    transform = Section("transforms.f.", keys, keys.validate({"field": "x"}))
    schemas = ConfigDef(ConfigKey("schemas.enable", Type.BOOLEAN, True, group="Schemas", validator=lambda n, v: _no(v)))
    converter = Section("value.converter.", schemas, schemas.validate({"schemas.enable": "maybe"}))
    infos = check(GOOD, aliases=[transform], clients_and_converters=[converter])
    assert names(infos) == [
        *SOURCE_CONFIG.keys,
        "transforms.f.type",
        "transforms.f.field",
        "file",
        "topic",
        "password",
        "value.converter.schemas.enable",
    ]
    assert infos["groups"][-2:] == ["Transforms: f", "Schemas"]
    rows = {row["value"]["name"]: row for row in infos["configs"]}
    assert rows["transforms.f.type"]["definition"]["dependents"] == ["transforms.f.field"]
    assert rows["transforms.f.field"]["definition"]["display_name"] == "The field"
    # The converter's two messages count once, the transform's one once.
    assert len(rows["value.converter.schemas.enable"]["value"]["errors"]) == 2
    assert infos["error_count"] == 2


def test_errors_from_elsewhere_are_added() -> None:
    infos = check(GOOD, errors=[("key.converter", "not found"), ("key.converter", "not there")])
    assert errors(infos) == {"key.converter": ["not found", "not there"]}


def test_a_connector_may_declare_a_framework_s_setting_again() -> None:
    own = ConfigDef(ConfigKey("tasks.max", Type.INT, 5, doc="ours"), ConfigKey("file", Type.STRING, None))
    infos = validate("X", GOOD, Asked("source", own, own.validate({})))
    assert names(infos) == [*SOURCE_CONFIG.keys, "file"]
    row = infos["configs"][3]
    assert (row["definition"]["documentation"], row["value"]["value"]) == ("ours", "5")


def test_what_the_connector_left_out_or_made_up() -> None:
    infos = validate("X", GOOD, Asked("source", FILE_SOURCE, [ConfigValue("strange", 3, errors=["what?"])]))
    assert infos["configs"][0] == {
        "definition": None,
        "value": {"name": "strange", "value": "3", "recommended_values": [], "errors": ["what?"], "visible": True},
    }
    assert infos["configs"][-1]["value"] is None
    assert infos["error_count"] == 1
    assert "what?" in errors_message(infos)


def test_the_message_of_a_refused_request() -> None:
    infos = check({"connector.class": "FileSource", "topic": ""})
    assert errors_message(infos) == (
        "Connector configuration is invalid and contains the following 2 error(s):\n"
        'Missing required configuration "name" which has no default value.\n'
        "Invalid value  for configuration topic: String must be non-empty\n"
        "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
    )


def test_secrets_are_hidden() -> None:
    infos = check({**GOOD, "password": "s3cret-1"})
    assert "s3cret-1" not in str(infos)
    assert infos["configs"][-1]["value"]["value"] == "[hidden]"
    made_up = validate("X", GOOD, Asked("source", FILE_SOURCE, [ConfigValue("x", Password("s3cret-1"))]))
    assert "s3cret-1" not in str(made_up)


def test_what_connectors_in_the_box_declare_secret_is_known_by_name() -> None:
    """Histories, lists and logs have names only: a reader of these would see the token of an HttpSink that was taken away."""
    declared = {
        key.name
        for group in ("kconnect.connectors", "kconnect.transforms", "kconnect.converters")
        for entry in metadata.entry_points(group=group)
        for key in entry.load()().config().keys.values()
        if key.type is Type.PASSWORD
    }
    assert {"headers", "connection.password"} <= declared
    unknown = {name for name in declared if not secrets.is_secret(name)}
    assert {name for name in unknown if "certificate" not in name} == set(), "certificates are everybody's"


def test_secret_settings_are_known_by_name() -> None:
    secret = "db.password ssl.key.password sasl.jaas.config ssl.keystore.key aws.secret.access.key api_key basic.auth.user.info"
    plain = "name key.converter topics ssl.keystore.location message.key.columns sasl.oauthbearer.token.endpoint.url key"
    assert [name for name in secret.split() if not secrets.is_secret(name)] == []
    assert [name for name in plain.split() if secrets.is_secret(name)] == []
    assert secrets.plain({"a.password": "abc", "b.password": "true", "c.password": None, "d.password": "abcd"}) == {"abcd"}
    for name in ("db.pass", "my_pwd", "http.header.Authorization", "headers", "request.headers", "azure_storage_sas_key"):
        assert secrets.is_secret(name)
    for name in ("compass.heading", "bypass", "basic.auth.credentials.source", "transforms.t.headers", "header.converter"):
        assert not secrets.is_secret(name)
    assert secrets.hide("abcdef abcd", ["abcd", "abcdef"]) == "[hidden] [hidden]"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("jdbc:postgresql://db:5432/x?user=ann&password=canary-1&ssl=true", {"canary-1"}),
        ("jdbc:sqlserver://db;user=ann;password=canary-1;encrypt=true", {"canary-1"}),
        ("mongodb://ann:canary-1@a,b/x", {"canary-1"}),
        ("http://ann:can%40ry@host/", {"can%40ry", "can@ry"}),
        ("https://host:8080/a:b@c?x=1", set()),
        ("http://ann:${v:p:k}@host/?db_password=${v:p:k}", set()),
        ("ann:canary-1@host", set()),
    ],
)
def test_secrets_in_urls(text: str, found: set[str]) -> None:
    assert secrets.plain({"connection.url": text}) == found


@pytest.mark.parametrize("secret", ["s3cret", "pass/wörd +1", "ab?c>", "0123456789"])
def test_secrets_are_hidden_as_http_clients_quote_them(secret: str) -> None:
    forms = secrets.values({"db.password": secret})
    for user in ("", "u", "us", "use", "user"):
        header = base64.b64encode(f"{user}:{secret}".encode()).decode()
        name, hidden, rest = secrets.hide(header, forms).partition("[hidden]")
        assert hidden and not rest.strip("=")
        assert base64.b64encode(f"{user}:".encode()).decode().startswith(name)
        url_safe = base64.urlsafe_b64encode(f"{user}{secret} and more".encode()).decode()
        assert "[hidden]" in secrets.hide(url_safe, forms)
    for quoted in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        assert secrets.hide(f"https://h/?key={quoted}&x", forms) == "https://h/?key=[hidden]&x"


def test_a_text_full_of_urls_does_not_take_long() -> None:
    for part in ("://", "://a:", "?password", "&", "://:"):
        assert secrets.plain({"connection.url": "x://" + part * 200_000}) == set()


def _no(value: Any) -> None:
    from kconnect.errors import ConfigError

    raise ConfigError("never good enough")


def test_very_many_secrets_in_urls_are_not_looked_for_one_by_one() -> None:
    """Whoever may create a connector has its config shown: the herder searched a megabyte for each of tens of thousands."""
    tokens = [f"token=canary{number}" for number in range(20_000)]
    url = f"http://ann:canary@h/?{'&'.join(tokens)}"
    began = time.thread_time()
    one = secrets.masked({"label.url": url, "a.password": "canary", "topic": "t", "b.url": "http://ann:${file:/f:k}@h/"})
    many = secrets.masked({f"label.{number}": f"http://h/?{token}" for number, token in enumerate(tokens)})
    assert time.thread_time() - began < 5
    assert one == {"label.url": HIDDEN, "a.password": HIDDEN, "topic": "t", "b.url": "http://ann:${file:/f:k}@h/"}
    assert "canary" not in str(many)
    assert many["label.0"] == "http://h/?token=[hidden]"
