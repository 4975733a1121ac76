"""`kconnect migrate --same-topics`: what hinders a takeover, and which step is next."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kconnect.cli.migrate import takeover
from kconnect.cli.migrate import topics as migrate_topics
from kconnect.cli.migrate.takeover import Takeover
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.internal_topics import checking
from kconnect.plugins.registry import Registry
from tests.cli.calls import call
from tests.internal_topics.logs import NOW_MS, Log

WORKER = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "connect",
    "config.storage.topic": "connect-config",
    "offset.storage.topic": "connect-offset",
    "status.storage.topic": "connect-status",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
CONNECT, KCONNECT = "connect-10.0.0.1:8083", "http://10.0.0.1:8083/"


@pytest.fixture(scope="module")
def plugins() -> Registry:
    return Registry.scan(None)


def examined(log: Log, plugins: Registry, worker: Mapping[str, str] | None = None) -> Takeover:
    contents = log.contents()
    settings = WorkerSettings.from_properties({**WORKER, **(worker or {})}, {})
    return takeover.examine(contents, checking.check(contents, NOW_MS), settings, plugins)


@pytest.fixture
def log() -> Log:
    made = Log().connector("orders", topic="t").running("orders", 0)
    made.members = ()
    return made


@pytest.mark.parametrize(
    ("members", "marks"),
    [
        ((CONNECT,), ["done", "next", "", "", ""]),
        ((), ["done", "done", "next", "", ""]),
        ((KCONNECT,), ["done", "done", "done", "done", "next"]),
        (None, ["done", "next", "", "", ""]),
    ],
)
def test_who_is_alive_tells_which_step_is_next(
    log: Log, plugins: Registry, members: tuple[str, ...] | None, marks: list[str]
) -> None:
    log.members = members
    found = examined(log, plugins)
    assert found.problems == ()
    lines = list(migrate_topics.report(found, "worker.properties"))
    assert [line[:4].strip() for line in lines if line[6:8].strip(".").isdigit()] == marks
    assert "           kconnect worker worker.properties" in lines


def test_a_plugin_that_is_not_there(log: Log, plugins: Registry) -> None:
    log.connector("jdbc", **{"connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector"})
    (problem,) = examined(log, plugins).problems
    assert problem.startswith("jdbc: connector.class=io.confluent.connect.jdbc.JdbcSourceConnector is not installed for")
    assert "\n" not in problem


def test_a_transform_and_a_converter_that_are_not_there(log: Log, plugins: Registry) -> None:
    own = {"transforms": "a", "transforms.a.type": "com.acme.Upper", "key.converter": "com.acme.Converter"}
    log.connector("orders2", topic="t", **own)
    found = [problem.split(" is not")[0] for problem in examined(log, plugins).problems]
    assert found == ["orders2: key.converter=com.acme.Converter", "orders2: transforms.a.type=com.acme.Upper"]


def test_config_providers(log: Log, plugins: Registry) -> None:
    log.connector("orders2", topic="t", password="${vault:db:password}")
    (problem,) = examined(log, plugins).problems
    assert problem == (
        "orders2: its config refers to the config provider vault, which config.providers of the worker file does not name"
    )
    declared = {"config.providers": "vault", "config.providers.vault.class": "com.acme.Vault"}
    (problem,) = examined(log, plugins, declared).problems
    assert problem.startswith("the worker file's config.providers.vault.class=com.acme.Vault is not installed for kconnect")
    known = {**declared, "config.providers.vault.class": "org.apache.kafka.common.config.provider.FileConfigProvider"}
    assert examined(log, plugins, known).problems == ()


def test_settings_without_effect_are_told(log: Log, plugins: Registry) -> None:
    found = examined(log, plugins, {"mystery.setting": "x"})
    assert found.problems == ()
    assert any("mystery.setting" in warning for warning in found.warnings)


def test_topics_that_lose_records_hinder(log: Log, plugins: Registry) -> None:
    log.settings[Topic.CONFIG]["cleanup.policy"] = "delete"
    found = examined(log, plugins)
    assert any(problem.startswith("config topic: ") for problem in found.problems)
    assert next(migrate_topics.report(found, "f")).startswith("hinders: config topic: ")


def test_it_needs_a_worker_file_and_no_names() -> None:
    assert "--same-topics needs --worker-file" in call("migrate", "--same-topics").err
    assert "give --worker-file, and no names" in call("migrate", "--same-topics", "orders").err


def test_what_would_have_no_effect_is_refused() -> None:
    given = ("migrate", "--same-topics", "--worker-file", "/no/such/file")
    back = call(*given, "--back")
    assert (back.status, "stop all of kconnect's workers" in back.err) == (2, True)
    for option in (("--delete",), ("--all",), ("--copy-sink-offsets",), ("--state", "journal.json")):
        refused = call(*given, *option)
        assert (refused.status, f"{option[0]} can't go with --same-topics" in refused.err) == (2, True)
    assert "/no/such/file" in call(*given).err
