"""What `kconnect doctor` says of files that configs may name, and of connectors that the rules refuse."""

from __future__ import annotations

from typing import Any

from kconnect.cli.checkup import reach
from kconnect.cli.connection import Target
from kconnect.cli.findings import OK, WARNING
from kconnect.core.settings.worker import WorkerSettings
from tests.cli.checkup.test_workers import worker
from tests.core.settings.test_worker import MINIMAL

USERS = {"rest.authentication.file": "/etc/kconnect/users"}
CONFIGS = {
    "fine": {"connector.class": "FileStreamSource", "file": "/data/lines", "topic": "t"},
    "native": {"connector.class": "HttpSink", "reporter.producer.plugin.library.paths": "/x.so"},
}


def settings(**more: str) -> WorkerSettings:
    return WorkerSettings.from_properties({**MINIMAL, **more}, {})


def test_files_that_are_open_to_users() -> None:
    assert list(reach.check_files(settings(), "here")) == [], "without users all is open anyway"
    [finding] = reach.check_files(settings(**USERS), "here")
    assert finding.severity == WARNING
    assert "can read and write every file that the worker can" in finding.message
    assert "connector.files.allowed.paths" in finding.remedy
    [finding] = reach.check_files(settings(**USERS, **{"connector.files.allowed.paths": "/data"}), "here")
    assert finding.severity == OK


def test_connectors_that_would_be_refused() -> None:
    def answer(path: str) -> tuple[int, Any]:
        return 200, {name: {"info": {"name": name, "config": config}} for name, config in CONFIGS.items()}

    with worker(answer) as url:
        [finding] = reach.check_configs(Target(url), None)
        assert (finding.severity, finding.location) == (WARNING, "Connector native")
        assert "loads native code" in finding.message
        allowed = settings(**{"connector.client.config.override.unsafe.allowlist": "plugin.library.paths"})
        assert list(reach.check_configs(Target(url), allowed)) == []
        limited = settings(**{"connector.files.allowed.paths": "/in"})
        assert [each.location for each in reach.check_configs(Target(url), limited)] == ["Connector fine", "Connector native"]


LIBRARIES = {
    "driver": {"connector.class": "SqlSink", "connection.url": "oracle+oracledb://h/x"},
    "jdbc": {"connector.class": "SqlSource", "connection.url": "jdbc:postgresql://h/x?sslmode=require"},
    "class": {"connector.class": "IcebergSink", "iceberg.catalog.py-io-impl": "com.acme.MyFileIO"},
    "option": {"connector.class": "ObjectStoreSink", "store": "s3://b", "store.options.aws_web_identity_token_file": "/x"},
    "fine": {"connector.class": "ObjectStoreSink", "store": "s3://b", "store.options.aws_region": "eu-west-1"},
}


def test_libraries_that_would_be_refused() -> None:
    def answer(path: str) -> tuple[int, Any]:
        return 200, {name: {"info": {"name": name, "config": config}} for name, config in LIBRARIES.items()}

    with worker(answer) as url:
        found = {finding.location: finding.message for finding in reach.check_configs(Target(url), None)}
        assert [*found] == ["Connector class", "Connector driver", "Connector option"]
        assert "add it to the worker's connector.library.implementations.allowed" in found["Connector driver"]
        allowed = settings(**{"connector.library.implementations.allowed": "oracle+oracledb,com.acme.MyFileIO"})
        assert [finding.location for finding in reach.check_configs(Target(url), allowed)] == ["Connector option"]


def test_clients_that_would_be_refused() -> None:
    brokers = ",".join(f"b{number}:9092" for number in range(101))
    configs = {
        "fine": {"connector.class": "FileStreamSink", "consumer.override.bootstrap.servers": brokers.partition(",")[0]},
        "many": {"connector.class": "FileStreamSink", "consumer.override.bootstrap.servers": brokers},
    }

    def answer(path: str) -> tuple[int, Any]:
        return 200, {name: {"info": {"name": name, "config": config}} for name, config in configs.items()}

    with worker(answer) as url:
        [finding] = reach.check_configs(Target(url), None)
        assert finding.location == "Connector many"
        assert "consumer.override.bootstrap.servers: it names 101 brokers" in finding.message


def test_a_worker_that_does_not_answer_is_another_check_s() -> None:
    assert list(reach.check_configs(Target("http://127.0.0.1:1"), None)) == []
    with worker(lambda path: (200, ["fine"])) as url:
        assert list(reach.check_configs(Target(url), None)) == []


def test_connectors_that_would_take_the_worker_s_login_elsewhere() -> None:
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="canary";',
    }
    config = {
        "connector.class": "FileStreamSource",
        "file": "/l",
        "topic": "t",
        "producer.override.bootstrap.servers": "evil:9092",
    }

    def answer(path: str) -> tuple[int, Any]:
        return 200, {"taken": {"info": {"name": "taken", "config": config}}}

    with worker(answer) as url:
        [finding] = reach.check_configs(Target(url), settings(**login))
        assert "names brokers that are not the worker's" in finding.message and "canary" not in finding.message
        allowed = {"connector.client.config.override.unsafe.allowlist": "bootstrap.servers"}
        assert list(reach.check_configs(Target(url), settings(**login, **allowed))) == []
        assert list(reach.check_configs(Target(url), settings())) == []
