"""The Kafka cluster of a frame: by options, a file of credentials, or a context of the CLI, with the guards of all clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.errors import ConfigError, ConnectError, DataError
from kconnect.pyspark import frame
from kconnect.pyspark.cluster import Cluster
from kconnect.pyspark.options import parse


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of contexts: `prod` has a login in a file, `team` a worker's file."""
    (tmp_path / "logins.properties").write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=reader\nsasl.password=hunter2\n"
    )
    (tmp_path / "worker.properties").write_text(
        "bootstrap.servers=team:9092\ngroup.id=g\nconfig.storage.topic=team-configs\noffset.storage.topic=o\n"
        "status.storage.topic=s\nkey.converter=StringConverter\nvalue.converter=JsonConverter\n"
        "value.converter.schemas.enable=true\n"
    )
    path = tmp_path / "contexts"
    path.write_text(
        f"current: team\ncontexts:\n  prod: {{bootstrap_server: 'prod:9092', command_config: {tmp_path}/logins.properties}}\n"
        f"  team: {{worker_file: {tmp_path}/worker.properties}}\n"
    )
    monkeypatch.setenv("KCONNECT_CONFIG", str(path))
    return path


def test_options_are_enough() -> None:
    client = Cluster(parse({"topics": "t", "kafka.bootstrap.servers": "h:9092", "kafka.fetch.max.wait.ms": "70"})).client
    assert client["bootstrap.servers"] == "h:9092"
    assert client["fetch.wait.max.ms"] == "70"
    assert client["group.id"] == "kconnect-pyspark"


def test_a_group_may_be_named_for_its_rights() -> None:
    client = Cluster(parse({"topics": "t", "kafka.bootstrap.servers": "h:9092", "kafka.group.id": "mine"})).client
    assert client["group.id"] == "mine"


def test_nothing_says_where_kafka_is() -> None:
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers"):
        _ = Cluster(parse({"topics": "t"})).client


def test_a_context_has_address_and_login(contexts: Path) -> None:
    client = Cluster(parse({"topics": "t", "context": "prod"})).client
    assert client["bootstrap.servers"] == "prod:9092"
    assert (client["security.protocol"], client["sasl.username"], client["sasl.password"]) == ("sasl_ssl", "reader", "hunter2")
    with pytest.raises(ConnectError, match="There is no context other"):
        _ = Cluster(parse({"topics": "t", "context": "other"})).client


def test_the_current_context_counts_where_no_brokers_are_named(contexts: Path) -> None:
    assert Cluster(parse({"topics": "t"})).client["bootstrap.servers"] == "team:9092"
    assert Cluster(parse({"topics": "t", "kafka.bootstrap.servers": "h:9092"})).client["bootstrap.servers"] == "h:9092"


def test_a_contexts_login_goes_to_no_other_brokers(contexts: Path) -> None:
    options = parse({"topics": "t", "context": "prod", "kafka.bootstrap.servers": "evil:9092"})
    with pytest.raises(ConfigError, match="names other brokers than the context"):
        _ = Cluster(options).client


def test_the_worker_file_of_a_context_has_converters_and_internal_topics(contexts: Path) -> None:
    cluster = Cluster(parse({"topics": "team-configs"}))
    expected = {"": "JsonConverter", "schemas.enable": "true"}
    assert frame.settings_of("value.converter", parse({"topics": "t"}), {}, cluster) == expected
    by_connector = {"value.converter": {"": "AvroConverter"}}
    assert frame.settings_of("value.converter", parse({"topics": "t"}), by_connector, cluster) == {"": "AvroConverter"}
    own = parse({"topics": "t", "value.converter": "StringConverter"})
    assert frame.settings_of("value.converter", own, by_connector, cluster) == {"": "StringConverter"}
    with pytest.raises(ConfigError, match="internal topic"):
        cluster.topics()


@pytest.mark.parametrize(
    "name, text",
    [
        ("sasl.oauthbearer.token.endpoint.url", "http://evil.example"),
        ("plugin.library.paths", "/tmp/evil.so"),
        ("sasl.kerberos.kinit.cmd", "touch /tmp/evil"),
    ],
)
def test_settings_that_run_code_or_ask_others_are_no_options(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match="command-config"):
        _ = Cluster(parse({"topics": "t", "kafka.bootstrap.servers": "h:9092", f"kafka.{name}": text})).client


def test_a_file_of_credentials_adds_to_the_options_and_not_to_a_connectors_own(tmp_path: Path) -> None:
    path = tmp_path / "logins.properties"
    path.write_text("kafka.sasl.password=hunter2\nvalue.converter.basic.auth.user.info=a:b\n")
    given = {"topics": "t", "kafka.bootstrap.servers": "h:9092", "credentials.file": str(path)}
    cluster = Cluster(parse(given))
    assert cluster.client["sasl.password"] == "hunter2"
    named = parse({**given, "value.converter": "AvroConverter"})
    assert frame.settings_of("value.converter", named, {}, cluster)["basic.auth.user.info"] == "a:b"  # type: ignore[index]
    by_connector = {"value.converter": {"": "AvroConverter", "schema.registry.url": "http://theirs:8081"}}
    assert "basic.auth.user.info" not in (frame.settings_of("value.converter", parse(given), by_connector, cluster) or {})


def test_a_setting_that_the_client_refuses_is_told_by_the_options_name() -> None:
    given = {"topics": "t", "kafka.bootstrap.servers": "h:9092", "kafka.security.protocol": "SASL"}
    with pytest.raises(ConfigError, match=r"configuration kafka\.security\.protocol"):
        _ = Cluster(parse(given)).client


@pytest.mark.parametrize(
    "name, near",
    [("bootstrap.server", "bootstrap.servers"), ("security.protocl", "security.protocol"), ("sasl.passwort", "sasl.password")],
)
def test_a_setting_that_is_misspelled_is_told_with_the_one_that_is_meant(name: str, near: str) -> None:
    given = {"topics": "t", "kafka.bootstrap.servers": "h:9092", f"kafka.{name}": "${env:PATH}"}
    with pytest.raises(ConfigError, match=rf"kafka\.{name}: do you mean kafka\.{near}\?"):
        _ = Cluster(parse(given)).client


def test_settings_that_only_one_kind_of_client_has_are_taken() -> None:
    own = {"fetch.min.bytes": "5", "max.poll.interval.ms": "60000", "metric.reporters": "x", "queued.min.messages": "10"}
    given = {"topics": "t", "kafka.bootstrap.servers": "h:9092", **{f"kafka.{name}": text for name, text in own.items()}}
    assert Cluster(parse(given)).client["fetch.min.bytes"] == "5"


def test_a_pattern_on_names_of_topics_has_an_end() -> None:
    """Who may make a topic gives it a name at which a pattern with many ways to split it would stand still."""

    class There:
        def there(self) -> list[str]:
            return ["a" * 200 + "-"]

    cluster = Cluster(parse({"topics.pattern": "(a|aa)+", "kafka.bootstrap.servers": "h:9092"}))
    cluster.__dict__["_partitions"] = There()
    with pytest.raises(DataError, match="takes more than"):
        cluster.topics()
