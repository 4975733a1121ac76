"""
KIP-158's claims about topic creation, on a real worker, real Spark and real Kafka: each example of its text, with what the
brokers say of the topics afterwards. Replication factors are 1 here, for there is one broker.

What is refused at validation is in `tests/core/settings/test_topic_creation.py` and in `tests/parity`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AclOperation, AdminClient, ConfigResource, ConfigSource, NewTopic

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration.secured import Secured
from tests.integration.transfer import read_topic
from tests.support import wait_until

Names = Callable[[str], str]
TRANSFORMS = "org.apache.kafka.connect.transforms."

DEFAULT = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "5"}


class Source:
    """A file source each of whose lines goes to the topic that it names."""

    def __init__(self, worker: WorkerProcess, name: str, directory: Path) -> None:
        self.worker, self.name, self.file = worker, name, directory / "topics.txt"

    def write(self, *topics: str) -> None:
        with self.file.open("a") as out:
            out.writelines(f"{topic}\n" for topic in topics)

    def start(self, *topics: str, **settings: str) -> None:
        self.write(*topics)
        routes = {
            "transforms": "hoist,key,back,route",
            "transforms.hoist.type": f"{TRANSFORMS}HoistField$Value",
            "transforms.hoist.field": "topic",
            # Compacted topics take no records without a key.
            "transforms.key.type": f"{TRANSFORMS}ValueToKey",
            "transforms.key.fields": "topic",
            "transforms.back.type": f"{TRANSFORMS}ExtractField$Value",
            "transforms.back.field": "topic",
            "transforms.route.type": "Expression",
            "transforms.route.topic": "value",
        }
        connector = {"connector.class": "FileStreamSource", "file": str(self.file), "topic": "none"}
        self.worker.client.create(self.name, {**connector, **routes, **settings})

    def failure(self) -> str:
        def failed() -> str | None:
            tasks = self.worker.client.connectors("status").get(self.name, {"status": {"tasks": []}})["status"]["tasks"]
            return tasks[0]["trace"].splitlines()[0] if tasks and tasks[0]["state"] == "FAILED" else None

        return wait_until(failed, 240)

    def wait_written(self, *topics: str) -> None:
        wait_until(lambda: self.worker.client.topics(self.name) == sorted(topics), 240)


@pytest.fixture
def source(worker: WorkerProcess, unique: Names, tmp_path: Path) -> Iterator[Source]:
    made = Source(worker, unique("kip-158"), tmp_path)
    yield made
    if made.name in worker.client.connectors():
        worker.client.delete(made.name)


def create(servers: str, topic: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()


def described(servers: str, topic: str) -> tuple[int, int, dict[str, str]]:
    """Partitions, replication factor, and the settings that are the topic's own."""
    admin = AdminClient({"bootstrap.servers": servers})
    partitions = admin.list_topics(topic, timeout=60).topics[topic].partitions.values()
    entries = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)])
    found = (entry for future in entries.values() for entry in future.result().values())
    own = {each.name: each.value for each in found if each.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}
    own.pop("min.insync.replicas", None)  # Kafka 4 writes it down for every new topic.
    return len(partitions), len(next(iter(partitions)).replicas), own


def test_example_1_all_topics_alike(source: Source, broker: Broker, unique: Names) -> None:
    a, b = unique("a"), unique("b")
    source.start(a, b, **DEFAULT)
    source.wait_written(a, b)
    for topic in (a, b):
        assert described(broker.bootstrap_servers, topic) == (5, 1, {})
    assert read_topic(broker.bootstrap_servers, a) == [a.encode()]


def test_example_2_a_group_of_topics_with_one_partition(source: Source, broker: Broker, unique: Names) -> None:
    status, orders, other = unique("status"), unique("orders-eu"), unique("other")
    source.start(
        *(status, orders, other),
        **DEFAULT,
        **{
            "topic.creation.groups": "inorder",
            "topic.creation.inorder.include": f"{status}, orders.*",
            "topic.creation.inorder.partitions": "1",
        },
    )
    source.wait_written(status, orders, other)
    assert [described(broker.bootstrap_servers, topic)[0] for topic in (status, orders, other)] == [1, 1, 5]


def test_example_3_compacted_topics(source: Source, broker: Broker, unique: Names) -> None:
    exact, pattern, other = unique("another.compacted.topic"), unique("configurations"), unique("another-compacted-topic")
    escaped = exact.replace(".", "\\.")
    source.start(
        *(exact, pattern, other),
        **DEFAULT,
        **{
            "topic.creation.groups": "compacted",
            "topic.creation.compacted.include": f"key_value_topic, {escaped}, configurations.*",
            "topic.creation.compacted.replication.factor": "1",
            "topic.creation.compacted.partitions": "2",
            "topic.creation.compacted.cleanup.policy": "compact",
        },
    )
    source.wait_written(exact, pattern, other)
    compacted = (2, 1, {"cleanup.policy": "compact"})
    found = [described(broker.bootstrap_servers, topic) for topic in (exact, pattern, other)]
    assert found == [compacted, compacted, (5, 1, {})]


def test_example_4_exclusions_and_topics_of_several_groups(source: Source, broker: Broker, unique: Names) -> None:
    both, compacted, parallel, excluded = (
        unique(name) for name in ("configurations-hpc", "configurations", "hpc-data", "hpc-internal")
    )
    source.start(
        *(both, compacted, parallel, excluded),
        **DEFAULT,
        **{
            "topic.creation.default.retention.ms": "7000000",
            "topic.creation.groups": "compacted, highly_parallel, default",
            "topic.creation.highly_parallel.include": "hpc.*,parallel.*, .*-hpc.*",
            "topic.creation.highly_parallel.exclude": ".*internal.*, .*metadata",
            "topic.creation.highly_parallel.partitions": "3",
            "topic.creation.highly_parallel.cleanup.policy": "delete",
            "topic.creation.highly_parallel.max.message.bytes": "2000000",
            "topic.creation.compacted.include": "configurations.*",
            "topic.creation.compacted.cleanup.policy": "compact",
        },
    )
    source.wait_written(both, compacted, parallel, excluded)
    default = {"retention.ms": "7000000"}
    large = {"max.message.bytes": "2000000"}
    found = {topic: described(broker.bootstrap_servers, topic) for topic in (both, compacted, parallel, excluded)}
    assert found == {
        # "A topic might get its configuration properties from one or more groups": nothing is overridden by a later one.
        both: (5, 1, {**default, **large, "cleanup.policy": "compact"}),
        compacted: (5, 1, {**default, "cleanup.policy": "compact"}),
        parallel: (3, 1, {**default, **large, "cleanup.policy": "delete"}),
        # "Exclusion rules have precedent."
        excluded: (5, 1, default),
    }


def test_the_broker_s_own_numbers_and_a_topic_that_is_there(source: Source, broker: Broker, unique: Names) -> None:
    there, new = unique("there"), unique("new")
    create(broker.bootstrap_servers, there, 2)
    numbers = {"topic.creation.default.replication.factor": "-1", "topic.creation.default.partitions": "-1"}
    source.start(there, new, **numbers, **{"topic.creation.default.cleanup.policy": "compact"})
    source.wait_written(there, new)
    assert described(broker.bootstrap_servers, new) == (1, 1, {"cleanup.policy": "compact"})
    assert described(broker.bootstrap_servers, there) == (2, 1, {}), "settings of a topic that exists are never changed"


def test_a_topic_that_can_t_be_created_fails_the_task(source: Source, broker: Broker, unique: Names) -> None:
    good, topic = unique("good"), unique("bad")
    source.start(
        *(good, topic),
        **DEFAULT,
        **{
            "topic.creation.groups": "bad",
            "topic.creation.bad.include": "bad.*",
            "topic.creation.bad.replication.factor": "3",
        },
    )
    text = source.failure()
    assert f"topic {topic} " in text and "group bad" in text and "replication" in text.lower()
    assert topic not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=60).topics

    # An unknown setting is the broker's to refuse: it is not ignored.
    config = {key: value for key, value in source.worker.client.get_config(source.name).items() if "creation.bad" not in key}
    config["topic.creation.bad.include"] = "bad.*"
    source.worker.client.put_config(source.name, {**config, "topic.creation.bad.no.such.setting": "1"})
    wait_until(lambda: "no.such.setting" in source.failure(), 240)

    # "Will have to be manually restarted once the issue is resolved."
    create(broker.bootstrap_servers, topic)
    source.worker.client.restart(source.name, include_tasks=True, only_failed=True)
    source.wait_written(good, topic)


def test_rules_that_make_no_sense_are_refused_and_nothing_is_stored(source: Source, unique: Names) -> None:
    for settings, setting in (
        ({**DEFAULT, "topic.creation.default.partitions": "0"}, "topic.creation.default.partitions"),
        ({"topic.creation.default.partitions": "1"}, "topic.creation.default.replication.factor"),
        ({**DEFAULT, "topic.creation.groups": "a", "topic.creation.a.include": "["}, "topic.creation.a.include"),
    ):
        with pytest.raises(RestError, match=setting.replace(".", r"\.")) as refused:
            source.start("t", **settings)
        assert refused.value.status == 400
        assert source.name not in source.worker.client.connectors()


def test_rights_to_create_and_to_describe(source: Source, secured: Secured, unique: Names) -> None:
    """On another Kafka cluster than the worker's, with users of its own (examples 5 and 6)."""
    servers, prefix = secured.broker.bootstrap_servers, unique("rights")
    there, new, hidden = f"{prefix}-there", f"{prefix}-new", unique("hidden")
    create(servers, there)
    secured.allow("alice", prefix, AclOperation.WRITE)
    as_alice = {**secured.client("producer", "alice"), **secured.client("admin", "alice")}

    # Control: what is there needs no right to create.
    source.start(there, **DEFAULT, **as_alice)
    source.wait_written(there)
    source.write(new)
    text = source.failure()
    assert new in text and "group default" in text and "uthoriz" in text
    assert new not in AdminClient({"bootstrap.servers": servers}).list_topics(timeout=60).topics

    secured.allow("bob", prefix, AclOperation.CREATE, AclOperation.DESCRIBE)
    config = source.worker.client.get_config(source.name)
    source.worker.client.put_config(source.name, {**config, **secured.client("admin", "bob")})
    source.wait_written(there, new)
    assert described(servers, new)[0] == 5

    source.write(hidden)
    # What it had failed of before may be shown until now.
    wait_until(lambda: hidden in source.failure(), 240)
    text = source.failure()
    assert hidden in text and "uthoriz" in text
    # Neither login is told to anybody, save to whoever may read the config.
    assert "secret" not in str(source.worker.client.status(source.name))
    assert "-secret" not in source.worker.log.read_text(errors="replace")


def test_without_rules_the_broker_creates_topics_as_before(source: Source, secured: Secured, unique: Names) -> None:
    producer = {"producer.override.bootstrap.servers": secured.broker.bootstrap_servers}
    topic = unique("auto")
    source.start(topic, **producer)
    source.wait_written(topic)
    assert described(secured.broker.bootstrap_servers, topic) == (1, 1, {})
    consumer = ck.Consumer({"bootstrap.servers": secured.broker.bootstrap_servers, "group.id": topic})
    assert consumer.get_watermark_offsets(ck.TopicPartition(topic, 0), timeout=60) == (0, 1)
    consumer.close()
