"""The worker file with references to secrets (KIP-421), read as a worker reads it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from kconnect.errors import ConfigError
from kconnect.processes import logs, worker_file
from kconnect.processes.covered import Covered
from kconnect.processes.order import settings as order_settings
from kconnect.spark import session

pytestmark = pytest.mark.process

CANARY = "canary-0a77"

MINIMAL = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "g",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
}


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    for name, empty in (("_secrets", set()), ("_covered", Covered()), ("_always", Covered())):
        monkeypatch.setattr(logs, name, empty)
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture
def texts(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "secret").write_text(CANARY)
    return {
        **MINIMAL,
        "config.providers": "dir",
        "config.providers.dir.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
        "config.providers.dir.param.allowed.paths": str(tmp_path),
        "producer.sasl.password": f"${{dir:{tmp_path}:secret}}",
    }


def test_the_worker_and_all_that_it_starts_have_the_values(texts: dict[str, str]) -> None:
    reference = texts["producer.sasl.password"]
    settings, order = worker_file.settings(texts, {"CONNECT_GROUP_ID": reference}, "h")
    assert settings.group_id == settings.raw["producer.sasl.password"] == CANARY
    assert sorted(order["references"]) == ["group.id", "producer.sasl.password"]
    assert logs.hide(f"with {CANARY}") == f"with {reference}"
    logs._always = Covered()
    there = order_settings(orjson.loads(orjson.dumps(order)))
    assert there.raw == settings.raw
    assert logs.hide(f"with {CANARY}") == f"with {reference}"


def test_a_key_to_rest_goes_to_nobody_else(texts: dict[str, str]) -> None:
    reference = texts.pop("producer.sasl.password")
    settings, order = worker_file.settings({**texts, "listeners.https.ssl.key.password": reference}, {}, "h")
    assert settings.raw["listeners.https.ssl.key.password"] == CANARY
    assert CANARY not in orjson.dumps(order).decode()
    assert logs.hide(f"with {CANARY}") == f"with {reference}"


def test_what_is_wrong_is_said_without_values(texts: dict[str, str]) -> None:
    reference = texts["producer.sasl.password"]
    with pytest.raises(ConfigError) as raised:
        worker_file.settings({**texts, "session.timeout.ms": reference}, {}, "h")
    assert f"Invalid value {reference} for configuration session.timeout.ms" in str(raised.value)
    assert CANARY not in str(raised.value)
    with pytest.raises(ConfigError, match=r"producer.acks: \$\{vault:x\} can't be resolved: there is no provider vault"):
        worker_file.settings({**texts, "producer.acks": "${vault:x}"}, {}, "h")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config.providers": "dir,vault"}, 'Missing required configuration "config.providers.vault.class"'),
        ({"config.providers.dir.class": "acme.Nope"}, "Invalid value acme.Nope for configuration config.providers.dir.class"),
        ({"config.providers.dir.param.allowed.paths": "/no/where"}, "Path /no/where does not exist"),
    ],
)
def test_a_provider_that_can_not_be_had_ends_the_worker(texts: dict[str, str], change: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        worker_file.settings({**texts, **change}, {}, "h")


def test_without_providers_and_references_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_file, "Sandbox", None)
    settings, order = worker_file.settings({**MINIMAL, "producer.client.id": "$x ${topic}"}, {}, "h")
    assert order == {"properties": settings.raw, "covered": {}, "references": []}


def test_spark_shows_no_setting_that_was_a_reference() -> None:
    user = {"spark.hadoop.fs.it": CANARY, "spark.other": "x"}
    found = session.settings(user, "", 1, ["spark.hadoop.fs.it", "group.id"])
    assert found["spark.redaction.regex"] == r"(?i)secret|password|token|access[.]?key|fs\.it"
    own = session.settings({**user, "spark.redaction.regex": "mine"}, "", 1, ["spark.hadoop.fs.it"])
    assert own["spark.redaction.regex"] == r"mine|fs\.it"
    assert "spark.redaction.regex" not in session.settings(user, "", 1)
