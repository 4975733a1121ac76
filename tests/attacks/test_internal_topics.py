"""
Attacks by administrators of connectors on what only the cluster may know: its session key, its configs, and the secrets of
config providers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from kconnect.worker.errands import Errands
from tests.integration import units
from tests.integration.dead_sink import LIMIT_S
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CONFIGS = "shared-configs"
INTERNAL = (
    CONFIGS,
    "shared-offsets",
    "shared-status",
    "shared-configs-assignments",
    "shared-configs-metrics",
    "shared-configs-logs",
)
SINK = {"connector.class": "FileStreamSink", "file": "/dev/null", "name": "looks"}
REFUSED = r"connector\.internal\.topics\.allowed=true"


@pytest.fixture
def connector(worker: WorkerProcess, unique: Callable[[str], str]) -> Iterator[str]:
    """The name of a connector, which is deleted at the end."""
    name = unique("inside")
    yield name
    if name in worker.client.connectors():
        worker.client.delete(name)


def test_a_preview_of_an_internal_topic(worker: WorkerProcess, bootstrap: str) -> None:
    """An administrator previews a chain on the config topic, to sign requests with the session key: refused."""
    config = {**SINK, "topics": CONFIGS, "value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    given = dict(line.split("=", 1) for line in worker._file.read_text().splitlines() if "=" in line)
    allowing = WorkerSettings.from_properties({**given, "connector.internal.topics.allowed": "true"}, {})
    wait_until(lambda: any(message.key() == b"session-key" for message in units.read_all(bootstrap, CONFIGS)), LIMIT_S)
    control = Errands(allowing).preview(config, None, {"topic": CONFIGS, "limit": 50})
    assert '\\"algorithm\\"' in control and '\\"key\\"' in control, "with the setting, the session key is there"
    for topic in (*INTERNAL, "__consumer_offsets"):
        with pytest.raises(RestError, match=REFUSED) as refused:
            worker.client.preview(config, topic=topic)
        assert refused.value.status == 400


@pytest.mark.parametrize(
    "setting",
    ["topics", "errors.deadletterqueue.topic.name"],
)
def test_a_sink_that_names_internal_topics(worker: WorkerProcess, connector: str, setting: str) -> None:
    """An administrator has a sink read the config topic, or put its dead letters there: refused."""
    for topic in (*INTERNAL, "__transaction_state"):
        named = f"a,{topic}" if setting == "topics" else topic
        config = {**SINK, "name": connector, "topics": "a", "errors.tolerance": "all", setting: named}
        with pytest.raises(RestError, match=REFUSED):
            worker.client.create(connector, config)


@pytest.mark.parametrize(
    ("more", "setting"),
    [
        ({"connector.class": "FileStreamSource", "file": "/etc/hostname"}, "topic"),
        ({"connector.class": "FileStreamSource", "file": "/etc/hostname", "topic": "a"}, "offsets.storage.topic"),
        ({"connector.class": "FileStreamSource", "file": "/dev/null", "topic": "a"}, "errors.deadletterqueue.topic.name"),
        ({"connector.class": "Datagen", "quickstart": "users"}, "kafka.topic"),
        ({"connector.class": "HttpSource", "http.api.url": "http://localhost:1/"}, "kafka.topic"),
        ({"connector.class": "HttpSink", "http.api.url": "http://localhost:1/", "topics": "a"}, "reporter.result.topic.name"),
        ({"connector.class": "MariaDbBackfill"}, "schema.history.internal.kafka.topic"),
    ],
)
def test_a_connector_that_writes_to_internal_topics(
    worker: WorkerProcess, connector: str, more: dict[str, str], setting: str
) -> None:
    """An administrator has a connector write to the config topic, and so commands the cluster: refused."""
    config = {"name": connector, **more, setting: CONFIGS}
    found = worker.client.validate(more["connector.class"], config)
    rows = {row["value"]["name"]: row["value"]["errors"] for row in found["configs"] if row["value"]}
    assert any("is an internal topic" in error for error in rows[setting]), rows.get(setting)
    if setting == "offsets.storage.topic":
        # The worker's offset topic is where offsets are by default (KIP-618).
        found = worker.client.validate(more["connector.class"], {**config, setting: "shared-offsets"})
        assert found["error_count"] == 0


def test_a_pattern_that_matches_internal_topics(
    worker: WorkerProcess, bootstrap: str, connector: str, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    """An administrator has a sink read whatever matches a pattern: internal topics are passed over, with a line in the log."""
    data, file = unique("shared-data"), tmp_path / "all.txt"
    units.create(bootstrap, data)
    units.write(bootstrap, data, ["data"])
    config = {
        **SINK,
        "name": connector,
        "file": str(file),
        "topics.regex": f"shared-configs|shared-status|{data}",
        "consumer.override.auto.offset.reset": "earliest",
    }
    worker.client.create(connector, config)
    wait_until(lambda: file.exists() and b"data" in file.read_bytes(), LIMIT_S)
    worker.client.stop(connector)
    worker.client.wait_for(connector, "STOPPED", tasks=0, timeout=LIMIT_S)
    assert b"session" not in file.read_bytes() and b"{" not in file.read_bytes()
    wait_until(lambda: "which are passed over: shared-configs, shared-status" in worker.log.read_text(), LIMIT_S)


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_record_that_a_transform_sends_to_an_internal_topic(
    worker: WorkerProcess, bootstrap: str, connector: str, tmp_path: Path, tolerance: str
) -> None:
    """A transform, or what a record says, names the config topic: nothing is written, and with tolerance the task goes on."""
    file = tmp_path / "lines.txt"
    file.write_text("bad\ngood\n")
    topic = f"{connector}-{tolerance}"
    before = len(units.read_all(bootstrap, CONFIGS))
    config = {
        "connector.class": "FileStreamSource",
        "file": str(file),
        "topic": topic,
        "errors.tolerance": tolerance,
        "transforms": "evil",
        "transforms.evil.type": "Expression",
        "transforms.evil.topic": f'value == "bad" ? "{CONFIGS}" : topic',
    }
    worker.client.create(connector, config)
    if tolerance == "none":
        wait_until(lambda: "FAILED" in json.dumps(worker.client.status(connector)["tasks"]), LIMIT_S)
        (task,) = worker.client.status(connector)["tasks"]
        assert "is an internal topic of this Connect cluster" in task["trace"]
    else:
        wait_until(lambda: [m.value() for m in units.read_all(bootstrap, topic)] == [b"good"], LIMIT_S)
        assert worker.client.status(connector)["tasks"][0]["state"] == "RUNNING"
    worker.client.delete(connector)
    keys = [message.key() for message in units.read_all(bootstrap, CONFIGS)[before:]]
    assert all((key and connector.encode() in key) or key == b"session-key" for key in keys), keys


def test_a_preview_that_puts_secrets_into_records(worker: WorkerProcess) -> None:
    """An administrator has a transform put a provider's secret into a previewed record: it is hidden, and written down."""
    secrets = worker.directory / "secrets"
    texts = [f"${{file:{secrets}/worker:spark}}", "${env:KCONNECT_TEST_CANARY}"]
    config: dict[str, Any] = {
        **SINK,
        "topics": "t",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "transforms": "insert",
        "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.insert.static.field": "pw",
        "transforms.insert.static.value": "|".join(texts),
    }
    answer: Any = worker.client.preview(config, [{"topic": "t", "value_text": '{"n": 1}'}])
    assert answer["records"][0]["out"]["value"]["payload"]["n"] == 1
    text = json.dumps(answer)
    assert "canary-worker-91c3" not in text and "canary-env-6d0b" not in text
    source = {**config, "connector.class": "FileStreamSource", "topic": "t", "file": "/dev/null"}
    del source["topics"]
    answer = worker.client.preview(source, [{"topic": "t", "value": {"n": 1}}])
    assert "canary" not in json.dumps(answer)
    assert 'request="POST /kconnect/preview" connector="looks" status=200' in worker.log.read_text()


def test_a_replay_whose_chain_makes_a_secret_of_the_topic(
    worker: WorkerProcess, bootstrap: str, connector: str, unique: Callable[[str], str]
) -> None:
    """An administrator has a source's transform name the topic by a provider's secret: why a letter stays does not tell it."""
    queue = unique("secret-letters")
    units.create(bootstrap, queue)
    config = {
        "connector.class": "FileStreamSource",
        "file": "/dev/null",
        "topic": "t",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": "x-${env:KCONNECT_TEST_CANARY}",
    }
    worker.client.create(connector, config)
    names = {"topic": "t", "connector.name": connector, "source.partition": "{}", "source.offset": "{}"}
    headers: dict[str, str | bytes | None] = {f"__connect.errors.{name}": text for name, text in names.items()}
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    producer.produce(queue, b'{"schema": {"type": "string"}, "payload": "line"}', None, 0, headers=headers)
    assert producer.flush(LIMIT_S) == 0
    places = [{"partition": 0, "offset": 0}]
    answer: Any = worker.client.replay_dead_letters(connector, places, through_chain=True, dry_run=True)
    [letter] = answer["letters"]
    assert "is no topic that the connector" in letter["left"], "the control: the chain was run"
    assert "canary-env-6d0b" not in json.dumps(answer)
