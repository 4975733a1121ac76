"""
KIP-458's claims about client overrides on a real worker and two real Kafka clusters; the source's side is in
`test_kip_158.py`, policies and what is unsafe in `tests/core/settings/test_overrides.py`, Java's settings in
`tests/kafka/test_translation.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration.secured import Secured
from tests.integration.transfer import read_topic
from tests.support import wait_until


def test_a_sink_reads_another_cluster_and_its_dead_letters_go_there_too(
    worker: WorkerProcess, broker: Broker, secured: Secured, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name, file = unique("kip-458"), tmp_path / "out.txt"
    topic, letters, servers = f"{name}-in", f"{name}-dlq", secured.broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    producer = ck.Producer({"bootstrap.servers": servers})
    for value in (b'"one"', b"not JSON", b'"two"'):
        producer.produce(topic, value)
    assert producer.flush(60) == 0
    secured.allow("alice", name, AclOperation.ALL)
    secured.allow_group("alice", "mine-")
    config = {
        "connector.class": "FileStreamSink",
        "file": str(file),
        "topics": topic,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "consumer.override.group.id": f"mine-{name}",
        "consumer.override.max.poll.records": "1",
        "consumer.override.interceptor.classes": "com.example.NotHere",
        **secured.client("consumer", "alice"),
        **secured.client("producer", "alice"),
        **secured.client("admin", "alice"),
    }
    worker.client.create(name, config)
    wait_until(lambda: file.exists() and file.read_text() == "one\ntwo\n", 240)
    wait_until(lambda: read_topic(servers, letters) == [b"not JSON"], 240)
    # Its group is there, under the name that it chose, and nothing of it on the worker's own cluster.
    groups = {group.group_id for group in admin.list_consumer_groups().result().valid}
    assert f"mine-{name}" in groups
    own = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    assert not [each for each in own.list_topics(timeout=60).topics if each.startswith(name)]
    assert not [group for group in own.list_consumer_groups().result().valid if name in group.group_id]
    warning = "interceptor.classes has no effect: Java classes can't run here"
    wait_until(lambda: warning in worker.log.read_text(errors="replace"), 240)
    worker.client.delete(name)


def test_a_connector_may_not_join_the_workers_group(worker: WorkerProcess, unique: Callable[[str], str]) -> None:
    config = {"connector.class": "FileStreamSink", "file": "x", "topics": "t", "consumer.override.group.id": "shared"}
    with pytest.raises(RestError, match="Consumer group shared conflicts with Connect worker group shared"):
        worker.client.create(unique("kip-458"), config)
