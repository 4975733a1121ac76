"""KIP-618's fencing on a real worker: what earlier tasks of a connector may have left open is ended before new ones start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic

from kconnect.core.state import records
from kconnect.core.state.records import LogRecord, TasksFencing, Topic
from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.integration.secured import Secured
from tests.integration.transfer import read_topic
from tests.rig.systems import recorder, verifiable
from tests.support import stop, wait_until

# Whoever comes first starts a worker too.
pytestmark = pytest.mark.timeout(900)

Names = Callable[[str], str]
_START_S = 240


def make_topic(bootstrap: str, name: str) -> None:
    """With a partition for each task that there may be."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 5, 1)])[name].result()


def config(topic: str, directory: Path, tasks: int, revision: int = 0) -> dict[str, str]:
    return {
        "connector.class": verifiable.SOURCE_CLASS,
        "topic": topic,
        "directory": str(directory),
        "rate": "5",
        "tasks.max": str(tasks),
        "revision": str(revision),
    }


def recorded(broker: Broker, name: str) -> list[int]:
    found = recorder.read(broker.bootstrap_servers, "eos-configs")
    decoded = (records.decode_config(LogRecord(Topic.CONFIG, 0, 0, each.key(), each.value())) for each in found)
    return [each.tasks for each in decoded if isinstance(each, TasksFencing) and each.name == name]


def rogue(bootstrap: str, transactional_id: str) -> ck.Producer:
    """Who comes from nowhere and takes the id."""
    producer = ck.Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(60)
    return producer


def test_each_set_of_tasks_begins_with_the_end_of_the_one_before(
    eos_worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path
) -> None:
    client, name, topic = eos_worker.client, unique("fenced"), unique("fenced-topic")
    make_topic(broker.bootstrap_servers, topic)

    def start(tasks: int, sets: list[int]) -> None:
        client.put_config(name, config(topic, tmp_path, tasks))
        runs(tasks, sets)

    def runs(tasks: int, sets: list[int]) -> None:
        wait_until(lambda: recorded(broker, name) == sets, _START_S, f"not recorded: {sets}")
        client.wait_for(name, "RUNNING", tasks=tasks, timeout=_START_S)

    start(3, [3])
    start(5, [3, 5])

    # One that was a task once, and is none of the set to come.
    client.stop(name)
    zombie = rogue(broker.bootstrap_servers, f"eos-{name}-4")
    zombie.begin_transaction()
    zombie.produce(topic, b"zombie", partition=4)
    zombie.flush(120)
    client.put_config(name, config(topic, tmp_path, 1))
    client.resume(name)
    runs(1, [3, 5, 1])
    with pytest.raises(ck.KafkaException) as refused:
        zombie.commit_transaction(120)
    assert refused.value.args[0].code() in (ck.KafkaError._FENCED, ck.KafkaError.INVALID_PRODUCER_EPOCH)

    # The leader's own producer is fenced, by somebody who doesn't lead.
    rogue(broker.bootstrap_servers, "connect-cluster-eos")
    start(3, [3, 5, 1, 3])
    assert b"zombie" not in read_topic(broker.bootstrap_servers, topic)
    client.delete(name)


def test_tasks_fail_when_those_before_them_may_not_be_fenced(
    eos_worker: WorkerProcess, broker: Broker, secured: Secured, unique: Names, tmp_path: Path
) -> None:
    client, name, topic = eos_worker.client, unique("forbidden"), unique("forbidden-topic")
    elsewhere = secured.broker.bootstrap_servers
    make_topic(elsewhere, topic)
    secured.allow("alice", topic, AclOperation.ALL)
    secured.allow_transactions("alice", f"eos-{name}")
    users = {key: text for kind in ("producer", "consumer", "admin") for key, text in secured.client(kind, "alice").items()}
    users["offsets.storage.topic"] = f"{topic}-offsets"

    def put(tasks: int) -> None:
        client.put_config(name, {**config(topic, tmp_path, tasks), **users})

    def states() -> list[str]:
        return [task["state"] for task in client.status(name)["tasks"]]

    put(2)
    client.wait_for(name, "RUNNING", tasks=2, timeout=_START_S)
    stop(client, name)
    secured.forbid_transactions("alice", f"eos-{name}")
    put(3)
    client.resume(name)
    wait_until(lambda: states() == ["FAILED"] * 3, _START_S)
    for task in client.status(name)["tasks"]:
        problem = f"The producers of connector {name}'s previous tasks could not"
        assert task["trace"].startswith(f"org.apache.kafka.connect.errors.ConnectException: {problem}")
        assert f"The transactional id eos-{name}-0 was not fenced: " in task["trace"]
        assert "restart the task" in task["trace"]
    assert recorded(broker, name) == [2]

    secured.allow_transactions("alice", f"eos-{name}")
    client.restart(name, include_tasks=True, only_failed=True)
    client.wait_for(name, "RUNNING", tasks=3, timeout=_START_S)
    assert recorded(broker, name) == [2, 3]
    client.delete(name)
