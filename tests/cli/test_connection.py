"""Which worker and which brokers a command line means: options, environment, contexts."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from kconnect.cli import connection
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.errors import ConnectError

FILE = """
current: here
contexts:
  here: {url: http://here:8083, user: ann, bootstrap_server: "here:9092"}
  there: {url: https://there:8083, worker_file: FOLDER/worker.properties}
  kafka: {bootstrap_server: "kafka:9092", command_config: FOLDER/client.properties}
"""
WORKER = """
bootstrap.servers=theirs:9092
group.id=theirs
config.storage.topic=their-configs
offset.storage.topic=their-offsets
status.storage.topic=their-status
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="w" password="canary-7";
"""
CLIENT = "client.id=me\nsecurity.protocol=PLAINTEXT\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.yaml").write_text(FILE.replace("FOLDER", str(tmp_path)))
    (tmp_path / "worker.properties").write_text(WORKER)
    (tmp_path / "client.properties").write_text(CLIENT)
    for name in ("KCONNECT_URL", "KAFKA_CONNECT_URL", "KCONNECT_USER", "KCONNECT_TOKEN", "CONNECT_BOOTSTRAP_SERVERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KCONNECT_CONFIG", str(tmp_path / "config.yaml"))
    return tmp_path


def ask(*arguments: str, **environment: str) -> Any:
    """What a command gets that asks a worker and Kafka; the exit status and what was said if it is refused."""
    got: list[Any] = []

    @click.command()
    @connection.options
    @connection.topic_options
    def command(target: Target, brokers: Brokers) -> None:
        got.extend((target, brokers))

    result = CliRunner().invoke(command, arguments, env=environment)
    if isinstance(result.exception, ConnectError):
        return str(result.exception)
    return got or result.output


@pytest.mark.parametrize(
    ("arguments", "environment", "target"),
    [
        ((), {}, Target("http://here:8083", "ann")),
        (("--context", "there"), {}, Target("https://there:8083")),
        (("--context", "kafka"), {}, Target("http://localhost:8083")),
        (("--url", "http://x"), {}, Target("http://x")),
        (("--url", "http://x", "--context", "here"), {}, Target("http://x")),
        (("--url", "http://x", "--user", "bob"), {"KCONNECT_USER": "eve"}, Target("http://x", "bob")),
        ((), {"KCONNECT_USER": "eve"}, Target("http://here:8083", "eve")),
        ((), {"KCONNECT_TOKEN": "t"}, Target("http://here:8083")),
        ((), {"KAFKA_CONNECT_URL": "http://k"}, Target("http://k")),
        ((), {"KAFKA_CONNECT_URL": "http://k", "KCONNECT_URL": "http://u"}, Target("http://u")),
        (("--context", "there"), {"KCONNECT_URL": "http://u"}, Target("https://there:8083")),
        (("--context", "kafka"), {"KCONNECT_URL": "http://u"}, Target("http://u")),
        (("--url", "http://x"), {"KCONNECT_CONFIG": "/no/such/file"}, Target("http://x")),
        ((), {"KCONNECT_CONFIG": "/no/such/file"}, Target("http://localhost:8083")),
    ],
)
def test_which_worker(folder: Path, arguments: tuple[str, ...], environment: dict[str, str], target: Target) -> None:
    assert ask(*arguments, **environment)[0] == target


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        ((), "here:9092"),
        (("--context", "there"), "theirs:9092"),
        (("--context", "kafka"), "kafka:9092"),
        (("--bootstrap-server", "x:1"), "x:1"),
        (("--bootstrap-server", "x:1", "--context", "there"), "x:1"),
        (("--worker-file", "worker.properties"), "theirs:9092"),
        (("--worker-file", "worker.properties", "--bootstrap-server", "x:1"), "x:1"),
        (("--worker-file", "worker.properties", "--context", "kafka"), "theirs:9092"),
    ],
)
def test_which_brokers(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], address: str) -> None:
    monkeypatch.chdir(folder)
    brokers = ask(*arguments)[1]
    assert brokers.known
    assert brokers.address == address
    assert brokers.client_config("consumer")["bootstrap.servers"] == address


@pytest.mark.parametrize(
    ("arguments", "environment", "address"),
    [
        (("--url", "http://x"), {}, None),
        ((), {"KCONNECT_URL": "http://x"}, None),
        (("--url", "http://x", "--bootstrap-server", "x:1"), {}, "x:1"),
        (("--url", "http://x", "--context", "kafka"), {}, "kafka:9092"),
        (("--url", "http://here:8083/"), {}, "here:9092"),
        ((), {"KCONNECT_URL": "http://here:8083"}, "here:9092"),
    ],
)
def test_the_current_contexts_brokers_are_not_for_another_clusters_worker(
    folder: Path, arguments: tuple[str, ...], environment: dict[str, str], address: str | None
) -> None:
    brokers = ask(*arguments, **environment)[1]
    assert (brokers.address if brokers.known else None) == address


def test_a_context_of_brokers_alone_goes_with_any_worker(folder: Path) -> None:
    (folder / "config.yaml").write_text((folder / "config.yaml").read_text().replace("current: here", "current: kafka"))
    assert ask("--url", "http://x")[1].address == "kafka:9092"


@pytest.mark.parametrize(
    "url",
    ["localhost", "http://", "http://:8083", "http://[::1", "http://h:abc", "http://h:99999", "http://a..b", "http://a\nb"],
)
def test_urls_that_no_client_can_use(folder: Path, url: str) -> None:
    assert "is not a worker's URL. Give one like http://localhost:8083" in " ".join(ask("--url", url).split())


@pytest.mark.parametrize(
    "url", ["http://my_worker:8083", "https://[::1]:8083/", "http://bücher.example", "http://h.:80/connect"]
)
def test_urls_that_a_client_can_use(folder: Path, url: str) -> None:
    assert ask("--url", url)[0] == Target(url)


@pytest.mark.parametrize("url", ["http://u:canary-7@h", "u:canary-7@h:8083", "http://u:canary-7@[h", "http://u:canary-7/x@h"])
def test_a_password_in_a_url_is_not_shown(folder: Path, url: str) -> None:
    told = ask("--url", url)
    assert "A URL must not hold a password" in told
    assert "canary" not in told


def test_a_workers_login_and_what_is_on_top_of_it(folder: Path) -> None:
    brokers = ask("--context", "there")[1]
    config = brokers.client_config("producer")
    assert (config["security.protocol"], config["sasl.password"]) == ("sasl_plaintext", "canary-7")
    assert config["partitioner"] == "murmur2_random"
    assert "canary" not in repr(brokers) + repr(brokers.topics)
    plain = ask("--context", "there", "--command-config", str(folder / "client.properties"))[1].client_config()
    assert plain["security.protocol"] == "plaintext"


def test_the_current_contexts_login_is_not_for_other_brokers(folder: Path) -> None:
    (folder / "config.yaml").write_text((folder / "config.yaml").read_text().replace("current: here", "current: there"))
    assert "sasl.password" in ask()[1].client_config()
    assert "sasl.password" not in ask("--bootstrap-server", "x:1")[1].client_config()


def test_the_names_of_topics(folder: Path) -> None:
    topics = ask("--context", "there", "--status-topic", "mine")[1].topics
    assert (topics.config, topics.offset, topics.status, topics.group) == ("their-configs", "their-offsets", "mine", "theirs")
    assert (topics.assignment, topics.metrics) == ("their-configs-assignments", "their-configs-metrics")
    assert topics.logs == "their-configs-logs"
    assert topics.known() == {"config": "their-configs", "offset": "their-offsets", "status": "mine"}
    unknown = ask("--bootstrap-server", "x:1", "--config-topic", "c")[1].topics
    assert unknown.known() == {"config": "c"}
    with pytest.raises(click.UsageError, match=r"The workers' offset.storage.topic is not known: give --offset-topic NAME"):
        assert unknown.offset


def test_references_of_a_worker_file(folder: Path) -> None:
    (folder / "secrets").write_text("where=kafka-1:9092\nwhat=their-configs\npassword=canary-9\n")
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{}";'
    texts = {
        "bootstrap.servers": f"${{file:{folder}/secrets:where}}",
        "config.storage.topic": f"${{file:{folder}/secrets:what}}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login.format(f"${{file:{folder}/secrets:password}}"),
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    (folder / "refers.properties").write_text("".join(f"{name}={text}\n" for name, text in texts.items()))
    brokers = ask("--worker-file", str(folder / "refers.properties"))[1]
    assert (brokers.address, brokers.topics.config) == ("kafka-1:9092", "their-configs")
    config = brokers.client_config()
    assert (config["bootstrap.servers"], config["sasl.password"]) == ("kafka-1:9092", "canary-9")
    assert "canary" not in repr(brokers) + repr(brokers.topics)


def test_the_group_of_a_clients_file_is_not_the_workers(folder: Path) -> None:
    (folder / "consumer.properties").write_text("group.id=test-consumer-group\n")
    given = ("--command-config", str(folder / "consumer.properties"))
    assert ask("--context", "there", *given)[1].topics.group == "theirs"
    assert ask("--bootstrap-server", "x:1", *given)[1].topics.known_group is None


def test_without_an_address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONNECT_CONFIG", "/no/such/file")
    brokers = ask()[1]
    assert not brokers.known
    with pytest.raises(click.UsageError, match="Kafka's address is not known: give --bootstrap-server"):
        brokers.client_config()


@pytest.mark.parametrize(
    ("file", "arguments", "said"),
    [
        (FILE, ("--context", "x"), "There is no context x; known: here, there, kafka."),
        ("current: x", (), "There is no current context x; known: none. `kconnect context set` creates one"),
        ("[", (), "the file of contexts: "),
        ("a", (), "it must hold `current: NAME`"),
        ("contexts: {a: b}", (), "the context a must hold settings, such as `url: "),
        ("contexts: {a: {password: canary-7}}", (), "the context a has the unknown setting password: use url, user"),
        ("current: a\ncontexts: {a: {url: 'http://u:canary-7@h'}}", (), "A URL must not hold a password"),
        ("current: a\ncontexts: {a: {url: localhost}}", (), "localhost is not a worker's URL. Give one like http://"),
    ],
)
def test_files_that_are_no_use(folder: Path, file: str, arguments: tuple[str, ...], said: str) -> None:
    (folder / "config.yaml").write_text(file)
    told = " ".join(str(ask(*arguments)).split())
    assert said in told
    assert "canary" not in told


def test_what_clients_log_of_brokers_is_told_once(folder: Path) -> None:
    loggers = [logging.getLogger(name) for name in ("kconnect.kafka.client", "kconnect.kafka.clients")]
    before = [logger.level for logger in loggers]
    within: list[int] = []

    @click.command()
    @connection.kafka_options
    def command(brokers: Brokers) -> None:
        within.extend(logger.level for logger in loggers)

    assert CliRunner().invoke(command, []).exit_code == 0
    assert within == [logging.CRITICAL] * 2 and [logger.level for logger in loggers] == before
