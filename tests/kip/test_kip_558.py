"""KIP-558's claims about topic usage, on a real worker, real Spark and real Kafka; what no connector shows is in scenarios."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.integration.transfer import read_topic_pairs
from tests.support import wait_until

Names = Callable[[str], str]
TRANSFORMS = "org.apache.kafka.connect.transforms."


@pytest.fixture
def name(worker: WorkerProcess, unique: Names) -> str:
    return unique("kip-558")


def records(broker: Broker, name: str) -> list[tuple[str, dict | None]]:
    """The status topic's records about topics of that connector, in order."""
    found = []
    for key, value in read_topic_pairs(broker.bootstrap_servers, "shared-status"):
        text = (key or b"").decode()
        if text.endswith(f":connector-{name}"):
            found.append((text, None if value is None else json.loads(value)))
    return found


def write(broker: Broker, topic: str, *values: str) -> None:
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value.encode())
    assert producer.flush(60) == 0


def append(file: Path, *lines: str) -> None:
    with file.open("a") as out:
        out.writelines(f"{line}\n" for line in lines)


def test_a_source_s_topics(worker: WorkerProcess, broker: Broker, name: str, tmp_path: Path) -> None:
    """By the name after the transforms, once acknowledged, one record of each form; a dropped record doesn't count."""
    file = tmp_path / "in.txt"
    append(file, "1", "2", "3", "4", "5")
    worker.client.create(
        name,
        {
            "connector.class": "FileStreamSource",
            "file": str(file),
            "topic": f"{name}-raw",
            "transforms": "route",
            "transforms.route.type": f"{TRANSFORMS}RegexRouter",
            "transforms.route.regex": "(.*)-raw",
            "transforms.route.replacement": "$1-done",
        },
    )
    wait_until(lambda: worker.client.topics(name) == [f"{name}-done"], 240)
    wait_until(lambda: len(records(broker, name)) == 2, 240)
    (kip, kip_value), (apache, apache_value) = sorted(records(broker, name), reverse=True)
    assert (kip, apache) == (f"topic-{name}-done:connector-{name}", f"status-topic-{name}-done:connector-{name}")
    assert kip_value is not None and apache_value is not None
    told = {"name": f"{name}-done", "connector": name, "task": 0}
    seconds, milliseconds = kip_value["topic"].pop("timestamp"), apache_value["topic"].pop("discoverTimestamp")
    assert (kip_value, apache_value) == ({"topic": told}, {"topic": told})
    assert milliseconds // 1000 == seconds

    # A restart has no effect: the task starts anew and goes on, and nothing is said again.
    worker.client.restart(name, include_tasks=True)
    append(file, "6")
    wait_until(lambda: len(read_topic_pairs(broker.bootstrap_servers, f"{name}-done")) == 6, 240)
    assert worker.client.topics(name) == [f"{name}-done"]
    assert Counter(key for key, _ in records(broker, name)) == {kip: 1, apache: 1}

    # Another topic: the one before stays, for this is a source.
    config = {key: value for key, value in worker.client.get_config(name).items() if "transforms" not in key}
    # Stopped, or the task of before might read the seventh line.
    worker.client.stop(name)
    worker.client.wait_for(name, "STOPPED", tasks=0, timeout=240)
    worker.client.put_config(name, config)
    worker.client.resume(name)
    append(file, "7")
    wait_until(lambda: worker.client.topics(name) == [f"{name}-done", f"{name}-raw"], 240)
    wait_until(lambda: len(records(broker, name)) == 4, 240)

    # Forgotten while it runs: told again with the next record, and only what still gets some.
    worker.client.reset_topics(name)
    assert worker.client.topics(name) == []

    def told_again() -> bool:
        # A host that has not read of the reset yet takes the topic for told, until the next record.
        append(file, "8")
        return worker.client.topics(name) == [f"{name}-raw"]

    wait_until(told_again, 240)

    worker.client.delete(name)
    wait_until(lambda: worker.client.topics(name) == [], 120)
    wait_until(lambda: list(dict(records(broker, name)).values()) == [None] * 4, 240)


def test_a_sink_s_topics(worker: WorkerProcess, broker: Broker, name: str, tmp_path: Path) -> None:
    """By the name in Kafka, and before the transforms; neither what can't be read counts, nor the dead letter queue."""
    topics = [f"{name}-{which}" for which in ("kept", "dropped", "bad", "idle")]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
        future.result()
    kept, dropped, bad, _ = topics
    write(broker, kept, '"a"')
    write(broker, dropped, '"b"')
    write(broker, bad, "not JSON")
    worker.client.create(
        name,
        {
            "connector.class": "FileStreamSink",
            "file": str(tmp_path / "out.txt"),
            "topics": ",".join(topics),
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{name}-dlq",
            "errors.deadletterqueue.topic.replication.factor": "1",
            "transforms": "route,drop",
            "transforms.route.type": f"{TRANSFORMS}RegexRouter",
            "transforms.route.regex": "(.*)-kept",
            "transforms.route.replacement": "$1-elsewhere",
            "transforms.drop.type": f"{TRANSFORMS}Filter",
            "transforms.drop.predicate": "is",
            "predicates": "is",
            "predicates.is.type": f"{TRANSFORMS}predicates.TopicNameMatches",
            "predicates.is.pattern": ".*-dropped",
        },
    )

    def committed() -> dict[str, int]:
        offsets = worker.client.offsets(name)
        return {each["partition"]["kafka_topic"]: each["offset"]["kafka_offset"] for each in offsets}

    wait_until(lambda: committed() == {kept: 1, dropped: 1, bad: 1}, 240)
    wait_until(lambda: sorted(worker.client.topics(name)) == sorted([kept, dropped]), 120)
    told = {f"{form}-{topic}:connector-{name}" for form in ("topic", "status-topic") for topic in (kept, dropped)}
    wait_until(lambda: {key for key, _ in records(broker, name)} >= told, 240)
    assert {key for key, _ in records(broker, name)} == told
    worker.client.delete(name)
