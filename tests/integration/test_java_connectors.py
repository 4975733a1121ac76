"""
Connectors in Java on a real worker: listed, validated, run, stopped, altered, failed, killed. Hosts have the plugin's classes
in a JVM; the worker itself has none. Sources are exactly-once here; at least once is what tests/integration/test_cdc.py has.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import psutil
import pytest

from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.rig import java_plugin as rig
from tests.support import starts, stop, wait_until

from .units import values

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
WAIT_S = 240.0
PROVIDED = "canary-provided-"


@pytest.fixture(scope="module")
@starts("integration")
def java_worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    directory = tmp_path_factory.mktemp("java")
    rig.write_plugin(directory / "plugins")
    properties = {
        **QUICK,
        "session.timeout.ms": "20000",
        "plugin.path": str(directory / "plugins"),
        "java.host.opts": "-Xms32m",
        "exactly.once.source.support": "enabled",
        "config.providers": "s",
        "config.providers.s.class": "rig.Secrets",
        "config.providers.s.param.begin": PROVIDED,
    }
    started = WorkerProcess(directory, broker.bootstrap_servers, "java", properties=properties)
    try:
        yield started.start()
    finally:
        started.stop()


class Connectors:
    """Makes connectors with names of the test's own, and deletes them."""

    def __init__(self, worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str]) -> None:
        self.client: ConnectClient = worker.client
        self._bootstrap, self._unique = bootstrap, unique
        self._names: list[str] = []

    def make(self, java_class: str, **config: Any) -> str:
        name = self._unique(f"java-{len(self._names)}")
        self._names.append(name)
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        self.client.put_config(name, {"connector.class": java_class, "tasks.max": "1", **settings})
        return name

    def task(self, name: str) -> dict[str, Any]:
        try:
            tasks = self.client.status(name)["tasks"]
        except RestError:
            return {}
        return dict(tasks[0]) if tasks else {}

    def wait(self, name: str, state: str) -> str:
        wait_until(lambda: self.task(name).get("state") == state, WAIT_S, f"{name} did not become {state}")
        return str(self.task(name).get("trace", ""))

    def values(self, topic: str) -> list[str]:
        return values(self._bootstrap, topic, "read_committed")

    def sent(self, topic: str) -> int:
        """How many records there are, also of a topic that is being written to."""
        consumer = ck.Consumer({"bootstrap.servers": self._bootstrap, "group.id": "look"})
        try:
            return int(consumer.get_watermark_offsets(ck.TopicPartition(topic, 0), timeout=60)[1])
        except ck.KafkaException:
            return 0
        finally:
            consumer.close()

    def delete(self) -> None:
        for name in self._names:
            self.client.delete(name)


@pytest.fixture
def connectors(java_worker: WorkerProcess, broker: Broker, unique: Callable[[str], str]) -> Iterator[Connectors]:
    made = Connectors(java_worker, broker.bootstrap_servers, unique)
    yield made
    made.delete()


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_java_plugins_are_listed_and_validated_in_a_sandbox(java_worker: WorkerProcess) -> None:
    client = java_worker.client
    rows = [row for row in client.plugins() if row["class"].startswith("rig.")]
    assert rows == [
        {"class": rig.COPYING, "type": "sink", "version": "1.2.3"},
        {"class": rig.RECORDING, "type": "sink", "version": "1.2.3"},
        {"class": rig.NUMBERS, "type": "source", "version": "1.2.3"},
    ]
    own = {row["name"]: row for row in client.plugin_config(rig.NUMBERS)}
    assert own["limit"]["type"] == "LONG" and own["limit"]["default_value"] == str(2**63 - 1)
    assert own["secret"]["type"] == "PASSWORD" and own["topic"]["required"] is True
    given = {"connector.class": "NumbersSource", "name": "x", "limit": "-1", "secret": "canary-java-19e4"}
    infos: Any = client.validate("NumbersSource", given)
    found = {row["value"]["name"]: row["value"] for row in infos["configs"]}
    assert found["limit"]["errors"] == ["Invalid value -1 for configuration limit: Value must be at least 0"]
    assert found["topic"]["errors"] == ['Missing required configuration "topic" which has no default value.']
    assert found["secret"]["value"] == "[hidden]"
    assert infos["error_count"] == 2
    assert "canary-java-19e4" not in java_worker.log.read_text()
    assert not any("libjvm" in line for line in Path(f"/proc/{java_worker.pid}/maps").read_text().splitlines())


def test_records_go_through_a_java_source_and_a_java_sink(connectors: Connectors, tmp_path: Path) -> None:
    client, topic = connectors.client, connectors._unique("java-through")
    heard, out = tmp_path / "heard", tmp_path / "out"
    source = connectors.make(
        "NumbersSource",
        topic=topic,
        limit=1000,
        heard=heard,
        header="h",
        transforms="only",
        **{
            "transforms.only.type": "org.apache.kafka.connect.transforms.Filter",
            "transforms.only.predicate": "never",
            "predicates": "never",
            "predicates.never.type": "RecordIsTombstone",
        },
    )
    wait_until(lambda: connectors.sent(topic) > 0, WAIT_S)
    sink = connectors.make(rig.RECORDING, topics=topic, file=out)
    wait_until(lambda: out.exists() and len(out.read_text().splitlines()) >= 1000, WAIT_S)
    assert connectors.values(topic) == numbers(1000)
    lines = [line.split() for line in out.read_text().splitlines()]
    assert [(line[0], line[4], line[5]) for line in lines] == [(topic, str(n), str(1000 + n)) for n in range(1000)]
    assert client.status(source)["tasks"][0]["version"] == "1.2.3"
    wait_until(lambda: client.offsets(source), WAIT_S)
    wait_until(lambda: client.offsets(source) == [{"partition": {"task": "0"}, "offset": {"last": 999}}], WAIT_S)
    # Transaction markers take up offsets.
    wait_until(lambda: client.offsets(sink)[0]["offset"]["kafka_offset"] >= 1000, WAIT_S)
    wait_until(lambda: client.topics(source) == [topic] == client.topics(sink), WAIT_S)
    wait_until(lambda: "commit" in heard.read_text(), WAIT_S)
    said = [line.partition("@")[0] for line in heard.read_text().splitlines() if line != "commit"]
    assert said == [f"{number} {topic}-0" for number in range(1000)]


def test_offsets_are_altered_through_the_connector(connectors: Connectors) -> None:
    client, topic = connectors.client, connectors._unique("java-altered")
    source = connectors.make(rig.NUMBERS, topic=topic, limit=10)
    wait_until(lambda: len(connectors.values(topic)) == 10, WAIT_S)
    stop(client, source)
    place = {"task": "0"}
    with pytest.raises(RestError, match="The offset must have a number called last"):
        client.alter_offsets(source, [{"partition": place, "offset": {"first": 1}}])
    client.alter_offsets(source, [{"partition": place, "offset": {"last": 6}}])
    client.resume(source)
    wait_until(lambda: connectors.values(topic)[10:] == ["7", "8", "9"], WAIT_S)


def test_a_failure_is_told_in_java_s_words(connectors: Connectors) -> None:
    topic = connectors._unique("java-fails")
    source = connectors.make(rig.NUMBERS, topic=topic, fails="start")
    client = connectors.client
    wait_until(lambda: client.status(source)["connector"]["state"] == "FAILED", WAIT_S)
    trace = client.status(source)["connector"]["trace"]
    assert trace.startswith("java.lang.IllegalStateException: it fails at the start, as it was told\n")
    assert "\tat rig.NumbersSource.start(NumbersSource.java:" in trace
    assert "Caused by: java.lang.RuntimeException: the cause" in trace
    source = connectors.make(rig.NUMBERS, topic=topic, fails="poll")
    trace = connectors.wait(source, "FAILED")
    assert trace.startswith("java.lang.IllegalStateException: it fails in poll, as it was told")
    wait_until(lambda: connectors.values(topic) == numbers(100), WAIT_S)


def test_a_sink_s_bad_records_go_to_its_dead_letter_queue(connectors: Connectors, tmp_path: Path) -> None:
    topic, letters = connectors._unique("java-bad"), connectors._unique("java-letters")
    connectors.make(rig.NUMBERS, topic=topic, limit=20)
    wait_until(lambda: connectors.sent(topic) > 0, WAIT_S)
    out = tmp_path / "out"
    queue = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters}
    queue["errors.deadletterqueue.topic.replication.factor"] = "1"
    connectors.make(rig.RECORDING, topics=topic, file=out, fails="13", how="report", **queue)
    wait_until(lambda: out.exists() and len(out.read_text().splitlines()) >= 19, WAIT_S)
    wait_until(lambda: connectors.values(letters) == ["13"], WAIT_S)
    assert [line.split()[4] for line in out.read_text().splitlines()] == [n for n in numbers(20) if n != "13"]


@pytest.mark.long
def test_after_a_kill_nothing_is_lost_or_doubled(connectors: Connectors, java_worker: WorkerProcess) -> None:
    topic = connectors._unique("java-killed")
    name = connectors.make(rig.NUMBERS, topic=topic, limit=20_000, batch=10)
    wait_until(lambda: connectors.sent(topic) > 2000, WAIT_S)
    for host in java_hosts(java_worker):
        os.kill(host.pid, signal.SIGKILL)
    source_offset = [{"partition": {"task": "0"}, "offset": {"last": 19_999}}]
    wait_until(lambda: connectors.client.offsets(name) == source_offset, WAIT_S)
    found = connectors.values(topic)
    assert found == numbers(20_000), "exactly once, in order"


@pytest.mark.long
def test_a_sink_that_commits_its_offsets_in_transactions_repeats_nothing(
    connectors: Connectors, java_worker: WorkerProcess, broker: Broker
) -> None:
    topic, copy = connectors._unique("java-original"), connectors._unique("java-copy")
    connectors.make(rig.NUMBERS, topic=topic, limit=5_000, batch=10)
    # What the source was about to commit when it was killed comes again, and must not have been read before.
    committed = {"consumer.override.isolation.level": "read_committed"}
    sink = connectors.make(rig.COPYING, topics=topic, to=copy, servers=broker.bootstrap_servers, **committed)
    wait_until(lambda: connectors.sent(copy) > 500, WAIT_S)
    for host in java_hosts(java_worker):
        os.kill(host.pid, signal.SIGKILL)
    wait_until(lambda: len(connectors.values(copy)) >= 5_000, WAIT_S)
    assert connectors.values(copy) == numbers(5_000), "exactly once, in order"
    # A transaction of the source's has an end, which is no record and has an offset.
    (offset,) = connectors.client.offsets(sink)
    assert offset["offset"]["kafka_offset"] >= 5_000


def test_a_plugin_that_would_end_its_process_fails_alone(connectors: Connectors, java_worker: WorkerProcess) -> None:
    good, bad = connectors._unique("java-good"), connectors._unique("java-exit")
    source = connectors.make(rig.NUMBERS, topic=good, batch=1, pause=50)
    wait_until(lambda: connectors.sent(good) > 10, WAIT_S)
    before = {host.pid for host in java_hosts(java_worker)}
    name = connectors.make(rig.NUMBERS, topic=bad, fails="exit")
    trace = connectors.wait(name, "FAILED")
    assert trace.startswith("java.lang.SecurityException: System.exit(3) was called by a plugin, and is refused"), trace
    assert "\tat rig.NumbersTask.poll(NumbersTask.java:" in trace
    sent = connectors.sent(good)
    wait_until(lambda: connectors.sent(good) > sent, WAIT_S)
    assert connectors.task(source)["state"] == "RUNNING"
    assert {host.pid for host in java_hosts(java_worker)} >= before, "no host has ended"


def test_parts_in_python_between_parts_in_java(connectors: Connectors, tmp_path: Path) -> None:
    topic, out = connectors._unique("java-mixed"), tmp_path / "out"
    both = {"transforms.e.type": "Expression", "transforms.e.expression": "'x' + value", "transforms.s.type": "rig.Shout"}
    source = connectors.make(rig.NUMBERS, topic=topic, limit=250, transforms="e,s", **both)
    wait_until(lambda: connectors.sent(topic) > 0, WAIT_S)
    behind = {"transforms.e.type": "Expression", "transforms.e.expression": "value + '?'"}
    sink = connectors.make(rig.RECORDING, topics=topic, file=out, transforms="e", **behind)
    wait_until(lambda: out.exists() and len(out.read_text().splitlines()) >= 250, WAIT_S)
    assert connectors.values(topic) == [f"X{number}!" for number in range(250)]
    assert [line.split()[4] for line in out.read_text().splitlines()] == [f"X{number}!?" for number in range(250)]
    assert [connectors.task(name)["state"] for name in (source, sink)] == ["RUNNING", "RUNNING"]


@pytest.mark.long
def test_a_limit_of_memory_makes_the_heap_smaller(connectors: Connectors) -> None:
    """It would be twice the limit. A limit without room for a JVM is told."""
    topic = connectors._unique("java-limited")
    limited = {"tasks.isolation": "dedicated", "tasks.memory.max": str(300 * 2**20)}
    connectors.make(rig.NUMBERS, topic=topic, limit=1000, **limited)
    small = connectors.make(rig.NUMBERS, topic=topic, limit=0, **{**limited, "tasks.memory.max": str(128 * 2**20)})
    trace = connectors.wait(small, "FAILED")
    assert "tasks.memory.max is 134217728, and a process with a JVM, for Java plugins, needs at least 251658240" in trace
    wait_until(lambda: connectors.sent(topic) >= 1000, WAIT_S)
    assert connectors.values(topic) == numbers(1000)


def test_a_provider_in_java_gives_what_a_config_refers_to(connectors: Connectors, java_worker: WorkerProcess) -> None:
    topic = connectors._unique("java-provided")
    source = connectors.make(rig.NUMBERS, topic="${s:any:" + topic + "}", secret="${s:any:secret}", limit=10)
    wait_until(lambda: connectors.sent(f"{PROVIDED}{topic}") >= 10, WAIT_S)
    assert connectors.values(f"{PROVIDED}{topic}") == numbers(10)
    assert connectors.client.get_config(source)["secret"] == "${s:any:secret}"
    wait_until(lambda: connectors.client.topics(source), WAIT_S)
    assert f"{PROVIDED}secret" not in java_worker.log.read_text("utf-8", "replace")


def test_what_plugins_publish_is_in_the_worker_s_metrics(connectors: Connectors) -> None:
    topic = connectors._unique("java-beans")
    settings = {"transforms": "loud", "transforms.loud.type": "rig.Shout", "bean": f"rig:type=Tally,name={topic}"}
    source = connectors.make(rig.NUMBERS, topic=topic, limit=250, **settings)
    whose = f'connector="{source}",task="0"'
    expected = {
        f'rig_tally_sent{{{whose},name="{topic}"}} 250.0',
        f"kafka_connect_plugins_numbers_sent{{{whose}}} 250.0",
        f'kafka_connect_plugins_calls_total{{{whose},transformation="loud"}} 250.0',
    }
    wait_until(lambda: expected <= {*connectors.client.metrics().splitlines()}, WAIT_S)
    connectors.client.delete(source)
    wait_until(lambda: whose not in connectors.client.metrics(), WAIT_S)
    connectors._names.remove(source)


def java_hosts(worker: WorkerProcess) -> list[psutil.Process]:
    """Those with a JVM."""

    def has_one(host: psutil.Process) -> bool:
        try:
            return "libjvm" in Path(f"/proc/{host.pid}/maps").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False  # It has ended meanwhile.

    return [host for host in worker.hosts() if has_one(host)]
