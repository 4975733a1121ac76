"""The worker's file and its environment."""

from __future__ import annotations

import re

import pytest

from kconnect.api.config import NO_DEFAULT
from kconnect.core.settings.overrides import Policy
from kconnect.core.settings.worker import WORKER_CONFIG, WorkerSettings, for_hosts, host_range
from kconnect.errors import ConfigError
from kconnect.java import properties

MINIMAL = {
    "bootstrap.servers": "a:9092, b:9092",
    "group.id": "g",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "statuses",
}

CONNECT_DISTRIBUTED = """
bootstrap.servers=localhost:9092
group.id=connect-cluster
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=true
value.converter.schemas.enable=true
offset.storage.topic=connect-offsets
offset.storage.replication.factor=1
#offset.storage.partitions=25
config.storage.topic=connect-configs
config.storage.replication.factor=1
status.storage.topic=connect-status
status.storage.replication.factor=1
#status.storage.partitions=5
offset.flush.interval.ms=10000
#listeners=HTTP://:8083
"""

# What Kafka Connect 4.3.1 says of its own; those that it has no default for are REQUIRED.
REQUIRED = set(MINIMAL)
DEFAULTS = {
    "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
    "task.shutdown.graceful.timeout.ms": 5000,
    "offset.flush.interval.ms": 60000,
    "offset.flush.timeout.ms": 5000,
    "plugin.path": None,
    "plugin.discovery": "hybrid_warn",
    "config.providers": [],
    "connector.client.config.override.policy": "All",
    "topic.creation.enable": True,
    "topic.tracking.enable": True,
    "topic.tracking.allow.reset": True,
    "listeners": ["http://:8083"],
    "admin.listeners": None,
    "session.timeout.ms": 10000,
    "rebalance.timeout.ms": 60000,
    "heartbeat.interval.ms": 3000,
    "exactly.once.source.support": "disabled",
    "metadata.max.age.ms": 300000,
    "send.buffer.bytes": 131072,
    "receive.buffer.bytes": 32768,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    "retry.backoff.ms": 100,
    "retry.backoff.max.ms": 1000,
    "request.timeout.ms": 40000,
    "connections.max.idle.ms": 540000,
    "security.protocol": "PLAINTEXT",
    "worker.sync.timeout.ms": 3000,
    "worker.unsync.backoff.ms": 300000,
    "offset.storage.partitions": 25,
    "offset.storage.replication.factor": 3,
    "config.storage.replication.factor": 3,
    "status.storage.partitions": 5,
    "status.storage.replication.factor": 3,
    "connect.protocol": "sessioned",
    "inter.worker.key.ttl.ms": 3600000,
    "inter.worker.verification.algorithms": ["HmacSHA256"],
    # Ours.
    "scheduled.rebalance.max.delay.ms": 0,
    "handover.grace.ms": 2000,
    "task.hosts": "-1",
    "rest.hosts.allowed": [],
    "access.log.file": None,
    "log.format": "text",
    "opentelemetry.enabled": False,
    "opentelemetry.endpoint": "http://localhost:4318",
    "opentelemetry.headers": [],
    "opentelemetry.signals": ["traces", "metrics", "logs"],
    "opentelemetry.traces.sample.ratio": 0.01,
    "opentelemetry.record.headers": False,
    "opentelemetry.metrics.interval.ms": 60000,
    "sandbox.memory.max.bytes": 2147483648,
    "connector.files.allowed.paths": [],
    "connector.internal.topics.allowed": False,
    "connector.library.implementations.allowed": [],
    "topic.tracking.record.formats": ["kip-558", "apache"],
}


def settings(environ: dict[str, str] | None = None, /, **changed: str) -> WorkerSettings:
    return WorkerSettings.from_properties({**MINIMAL, **changed}, environ or {}, host_name="machine-1")


def test_defaults_are_connect_s() -> None:
    assert {name for name, key in WORKER_CONFIG.keys.items() if key.default is NO_DEFAULT} == REQUIRED
    assert {name: WORKER_CONFIG.keys[name].default for name in DEFAULTS} == DEFAULTS


def test_every_default_passes_its_own_validator() -> None:
    assert [value for value in WORKER_CONFIG.validate(MINIMAL) if value.errors] == []


def test_connect_s_own_file_is_read() -> None:
    read = WorkerSettings.from_properties(properties.load(CONNECT_DISTRIBUTED), {}, host_name="machine-1")
    assert read.unknown_keys == []
    assert (read.bootstrap_servers, read.group_id) == ("localhost:9092", "connect-cluster")
    assert read.offset_flush_interval_ms == 10000
    assert read.assignment_storage_topic == "connect-configs-assignments"
    assert read.assignment_storage_replication_factor == 1
    assert read.with_prefix("key.converter.") == {"schemas.enable": "true"}


def test_what_follows_from_other_settings() -> None:
    read = settings(**{"config.storage.replication.factor": "2"})
    assert read.bootstrap_servers == "a:9092,b:9092"
    assert read.assignment_storage_replication_factor == 2
    own = settings(**{"assignment.storage.topic": "mine", "assignment.storage.replication.factor": "-1"})
    assert (own.assignment_storage_topic, own.assignment_storage_replication_factor) == ("mine", -1)


def test_the_sandbox_s_memory() -> None:
    assert settings().sandbox_memory == 2147483648
    assert settings(**{"sandbox.memory.max.bytes": "-1"}).sandbox_memory is None
    with pytest.raises(ConfigError, match=r"sandbox\.memory\.max\.bytes: Must be at least 67108864"):
        settings(**{"sandbox.memory.max.bytes": "1000"})


def test_the_policy_for_client_overrides() -> None:
    prefix = "connector.client.config.override"
    assert settings().override_policy == Policy("All")
    given = {f"{prefix}.policy": "Allowlist", f"{prefix}.allowlist": "acks, linger.ms", f"{prefix}.unsafe.allowlist": "x"}
    assert settings(**given).override_policy == Policy("Allowlist", ("acks", "linger.ms"), ("x",))
    with pytest.raises(ConfigError, match=r"policy: Must be one of: All, None, Principal, Allowlist"):
        settings(**{f"{prefix}.policy": "com.acme.Mine"})


@pytest.mark.parametrize("given", ["http://a", "a:8083", "a/b", "a b", "*.*", "a*"])
def test_names_of_hosts_are_names_only(given: str) -> None:
    assert settings(**{"rest.hosts.allowed": "a.example, *.b.example"}).rest_hosts_allowed[1] == "*.b.example"
    with pytest.raises(ConfigError, match="Must be names of hosts, without scheme and port"):
        settings(**{"rest.hosts.allowed": given})


def test_authentication_is_on_where_a_file_is_named() -> None:
    assert settings().rest_authentication_file is None
    on = settings(**{"rest.authentication.file": "/etc/users"})
    assert (on.rest_authentication_file, on.rest_authentication_methods) == ("/etc/users", ["basic", "token"])
    by_variable = settings({"CONNECT_REST_AUTHENTICATION_FILE": "/etc/users"})
    assert by_variable.rest_authentication_file == "/etc/users"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rest.authentication.users.file": "/etc/users"}, "rest.authentication.users.file is not known; those of"),
        ({"rest.authentication.file": " "}, "rest.authentication.file: Must name a file"),
        ({"rest.authentication.methods": "basic"}, "has no effect without rest.authentication.file"),
        ({"rest.authentication.file": "f", "rest.authentication.methods": "ldap"}, "Must be one or both of: basic, token"),
        ({"rest.authentication.file": "f", "rest.authentication.methods": ""}, "Must be one or both of: basic, token"),
    ],
)
def test_a_slip_in_authentication_does_not_leave_the_worker_open(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        settings(**given)
    assert said in str(raised.value)


def test_spark_and_client_settings_are_passed_on() -> None:
    read = settings(**{"spark.master": "local[2]", "producer.linger.ms": "5", "consumer.ssl.x": "y"})
    assert read.spark == {"spark.master": "local[2]"}
    assert read.with_prefix("producer.") == {"linger.ms": "5"}
    assert read.unknown_keys == []


def test_unknown_settings_are_told() -> None:
    known = {
        "ssl.truststore.location": "x",
        "sasl.mechanism": "PLAIN",
        "config.providers.file.class": "x",
        "metrics.context.x": "y",
        "listeners.https.ssl.keystore.location": "x",
        "offset.storage.cleanup.policy": "compact",
        "admin.retries": "1",
    }
    read = settings(**known, **{"rest.port": "8083", "grupo.id": "x"})
    assert read.unknown_keys == ["rest.port", "grupo.id"]


def test_all_errors_at_once() -> None:
    given = {
        "bootstrap.servers": "a:9092",
        "group.id": "",
        "offset.flush.interval.ms": "soon",
        "offset.storage.partitions": "0",
        "offset.storage.replication.factor": "-2",
        "security.protocol": "TLS",
        "listeners": "http://:8083,localhost:8084",
        "admin.listeners": "https://:70000",
        "log.format": "xml",
        "task.hosts": "0",
        "topic.tracking.record.formats": "kip-559",
        "rest.advertised.listener": "ftp",
        "key.converter": "x",
        "config.storage.topic": "c",
    }
    with pytest.raises(ConfigError) as raised:
        WorkerSettings.from_properties(given, {})
    head, *lines = str(raised.value).splitlines()
    assert head == "The worker's configuration is invalid:"
    assert not any("Invalid value null" in line for line in lines), "what can't be read is said once"
    for text in (
        'Missing required configuration "value.converter" which has no default value.',
        'Missing required configuration "offset.storage.topic" which has no default value.',
        'Missing required configuration "status.storage.topic" which has no default value.',
        "Invalid value  for configuration group.id: String must be non-empty",
        "Invalid value soon for configuration offset.flush.interval.ms: Not a number of type LONG",
        "Number of partitions must be positive, or -1 to use the broker's default",
        "Replication factor must be positive and not larger than the number of brokers",
        "String must be one of (case insensitive): SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT",
        "Invalid value localhost:8084 for configuration listeners: Listener doesn't have the right format",
        "Invalid value https://:70000 for configuration admin.listeners: The port must be at most 65535.",
        "Invalid value xml for configuration log.format: String must be one of: text, json",
        "Invalid value 0 for configuration task.hosts: Must be a number of task hosts, a range such as 1-4, or -1 for one",
        "Invalid value [kip-559] for configuration topic.tracking.record.formats: Must be one or both of: apache, kip-558",
        "Invalid value ftp for configuration rest.advertised.listener",
    ):
        assert sum(text in line for line in lines) == 1, text


@pytest.mark.parametrize("master", ["spark:/a:7077", "spark://a", "spark://a:1,b", "standalone", "a:7077", "http://a:8080", ""])
def test_a_master_that_spark_would_not_take_is_refused_by_its_setting(master: str) -> None:
    with pytest.raises(ConfigError, match=f"Invalid value {re.escape(master)} for configuration spark.master: Must be local"):
        settings(**{"spark.master": master})


@pytest.mark.parametrize(
    "master", ["local", "local[2,8]", "yarn", "spark://a:1", "spark://[::1]:1,b.c:2", "k8s://https://a:6443"]
)
def test_a_master_that_spark_takes(master: str) -> None:
    assert settings(**{"spark.master": master}).spark["spark.master"] == master


@pytest.mark.parametrize("name", ["spark.ui.enabled", "lake.spark.ui.enabled"])
def test_a_switch_of_spark_that_is_neither_on_nor_off_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"Invalid value yes for configuration {name}: Must be true or false"):
        settings(**{name: "yes"})
    assert settings(**{name: " TRUE"}).raw[name] == " TRUE"


def test_a_setting_that_is_misspelt_is_told_beside_the_one_that_is_missing_by_it() -> None:
    with pytest.raises(ConfigError) as raised:
        WorkerSettings.from_properties({"bootstrap.server": "b:9092", "group_id": "g", "other": "x", "task.host": "2"}, {})
    lines = [line.strip() for line in str(raised.value).splitlines()]
    assert 'Missing required configuration "bootstrap.servers" which has no default value.' in lines
    assert [line for line in lines if "did you mean" in line] == [
        "The setting bootstrap.server is unknown; did you mean bootstrap.servers?",
        "The setting group_id is unknown; did you mean group.id?",
    ]


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("CONNECT_GROUP_ID", "group.id"),
        ("CONNECT_KEY_CONVERTER_SCHEMAS_ENABLE", "key.converter.schemas.enable"),
        ("CONNECT_PLUGIN_PATH", "plugin.path"),
        ("CONNECT_SPARK_APP_NAME", "spark.app.name"),
        ("CONNECT_CONFIG_PROVIDERS_MY__FILE_CLASS", "config.providers.my_file.class"),
        ("CONNECT_CONFIG_PROVIDERS_MY___FILE_CLASS", "config.providers.my-file.class"),
    ],
)
def test_the_environment_comes_before_the_file(variable: str, setting: str) -> None:
    read = settings({variable: "from the environment"}, **{setting: "from the file"})
    assert read.raw[setting] == "from the environment"


def test_the_images_own_variables_are_no_settings() -> None:
    read = settings({"CONNECT_LOG4J_ROOT_LOGLEVEL": "INFO", "CONNECT_LOG4J_LOGGERS": "x", "KAFKA_HEAP_OPTS": "x"})
    assert read.unknown_keys == []
    assert set(read.raw) == {*MINIMAL, "rest.advertised.host.name"}


@pytest.mark.parametrize(
    ("changed", "url"),
    [
        ({}, "http://machine-1:8083/"),
        ({"listeners": "http://0.0.0.0:80"}, "http://machine-1:80/"),
        ({"listeners": "http://node:80"}, "http://node:80/"),
        ({"listeners": "HTTP://:8083"}, "http://machine-1:8083/"),
        ({"listeners": "https://node:443"}, "https://node:443/"),
        ({"listeners": "https://node:443,http://node:80"}, "http://node:80/"),
        ({"listeners": "https://node:443,http://:80"}, "http://machine-1:80/"),
        ({"listeners": "http://node:80,https://node:443", "rest.advertised.listener": "HTTPS"}, "https://node:443/"),
        ({"rest.advertised.host.name": "public", "rest.advertised.port": "99"}, "http://public:99/"),
        ({"listeners": "http://[::1]:80"}, "http://[::1]:80/"),
        ({"listeners": "http://[::]:80"}, "http://machine-1:80/"),
    ],
)
def test_the_advertised_url(changed: dict[str, str], url: str) -> None:
    read = settings(**changed)
    assert read.advertised_url == url
    assert read.worker_id == url.split("/")[2]
    again = WorkerSettings.from_properties(read.raw, {}, host_name="another-machine")
    assert again.advertised_url == url, "the driver and the hosts read `raw` elsewhere"


def test_the_keys_to_rest_stay_in_the_worker() -> None:
    secret = {"listeners.https.ssl.key.password": "x", "admin.listeners.https.ssl.keystore.key": "x"}
    kept = {"listeners": "https://:8443", "ssl.key.password": "Kafka's clients need it", "spark.master": "local[2]"}
    read = settings(**secret, **kept)
    assert for_hosts(read.raw) == {name: text for name, text in read.raw.items() if name not in secret}


def test_no_value_in_its_text() -> None:
    read = settings(**{"sasl.jaas.config": "s3cret"})
    assert "sasl.jaas.config" in repr(read)
    assert "s3cret" not in f"{read} {read!r}"


def test_a_setting_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="group_idd"):
        _ = settings().group_idd  # type: ignore[attr-defined]


def test_an_empty_place_of_plugin_path_is_not_the_current_directory() -> None:
    settings = WorkerSettings.from_properties({**MINIMAL, "plugin.path": "/a,,/b,"}, {})
    assert settings.plugin_path == ["/a", "/b"]
    assert list(settings.passed_over) == ["Configuration 'plugin.path' values must not be empty."]
    assert WorkerSettings.from_properties({**MINIMAL, "plugin.path": "/a,/b"}, {}).passed_over == {}


@pytest.mark.parametrize(("text", "wanted"), [("-1", None), ("3", (3, 3)), (" 2-5 ", (2, 5)), ("1-1", (1, 1))])
def test_hosts_are_a_number_or_a_range(text: str, wanted: tuple[int, int] | None) -> None:
    assert host_range(text) == wanted


@pytest.mark.parametrize("text", ["0", "0-3", "3-2", "1-", "-2", "1-2-3", "many", "", "٣", "99999"])
def test_hosts_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="a range such as 1-4"):
        host_range(text)
