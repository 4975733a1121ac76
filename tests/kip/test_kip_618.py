"""
KIP-618's claims about exactly-once source tasks, on a real worker, real Spark and real Kafka.

What each boundary decides is in tests/core/task/test_transactions.py, what tasks do when brokers or the host are away in
tests/integration/test_exactly_once.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import httpx
import pytest

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.support import wait_until

# Whoever comes first starts a worker too.
pytestmark = pytest.mark.timeout(900)

Names = Callable[[str], str]
BY_CONNECTOR = {"transaction.boundary": "connector"}
_FIRST_S = 180
"""The first task waits for Spark."""
LONG = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "600000"}


class Scripted:
    """A connector with one scripted task, and what Kafka has of it."""

    def __init__(self, worker: WorkerProcess, broker: Broker, name: str) -> None:
        self.client, self.name, self.topic = worker.client, name, name
        self._bootstrap = broker.bootstrap_servers

    def runs(self, script: str, **config: str) -> None:
        given = {"connector.class": "ScriptedSource", "topic": self.topic, "script": script, **config}
        self.client.put_config(self.name, given)

    def has(self, *numbers: int) -> bool:
        """Whether a reader of committed records sees these, in this order, and no others."""
        return self.values() == list(numbers)

    def comes_to(self, numbers: list[int], stored: list[int]) -> None:
        """These records, and these offsets: brokers end a transaction in one partition a moment after another."""
        wait_until(lambda: (self.values(), self.stored()) == (numbers, stored), _FIRST_S, f"not {numbers} with {stored}")

    def values(self, isolation: str = "read_committed") -> list[int]:
        return [int(value.split(b":")[1]) for _, value in read(self._bootstrap, self.topic, isolation)]

    def stored(self) -> list[int]:
        """The offsets that were ever committed, in order."""
        key = json.dumps([self.name, {"task": "0"}], separators=(",", ":")).encode()
        return [json.loads(value)["number"] for found, value in read(self._bootstrap, "eos-offsets") if found == key]

    def trace(self) -> str:
        """Why its task has failed."""

        def failed() -> str | None:
            try:
                found = self.client.task_status(self.name, 0)
            except RestError:
                return None  # There is no task yet.
            return str(found["trace"]) if found["state"] == "FAILED" else None

        return str(wait_until(failed, _FIRST_S, "the task did not fail"))


def read(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[tuple[bytes | None, bytes]]:
    """What is there now, though more comes all the time; nothing of a topic that is not there."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "look", "enable.partition.eof": True, "isolation.level": isolation}
    consumer = ck.Consumer({**settings, "allow.auto.create.topics": False})
    partitions = list(consumer.list_topics(topic, timeout=60).topics[topic].partitions)
    places = [ck.TopicPartition(topic, number, ck.OFFSET_BEGINNING) for number in partitions]
    ends = {place.partition: end_of(consumer, place) for place in places}
    consumer.assign(places)
    found: list[tuple[bytes | None, bytes]] = []
    ended: set[object] = set()
    while len(ended) < len(partitions):
        for message in consumer.consume(100, timeout=0.2):
            error = message.error()
            if error is not None and error.code() != ck.KafkaError._PARTITION_EOF:
                continue
            # What ends a transaction has an offset too, but is never handed out.
            if error is not None or (message.offset() or 0) >= ends[message.partition() or 0]:
                ended.add(message.partition())
            else:
                found.append((message.key(), message.value() or b""))
    consumer.close()
    return found


def end_of(consumer: ck.Consumer, place: ck.TopicPartition) -> int:
    """A partition that was created a moment ago may have no leader yet, for which the client does not ask again."""

    def asked() -> tuple[int, int] | None:
        try:
            return consumer.get_watermark_offsets(place, timeout=60, cached=False)
        except ck.KafkaException:
            return None

    return int(wait_until(asked, 60)[1])


@pytest.fixture
def scripted(eos_worker: WorkerProcess, broker: Broker, unique: Names) -> Iterator[Scripted]:
    made = Scripted(eos_worker, broker, unique("kip-618"))
    yield made
    if made.name in eos_worker.client.connectors():
        eos_worker.client.delete(made.name)


def test_poll_boundary(scripted: Scripted) -> None:
    """A transaction, and so an offset, for each batch."""
    scripted.runs("1..3; 4; 5..6")
    scripted.comes_to([1, 2, 3, 4, 5, 6], stored=[3, 4, 6])
    offsets = [{"partition": {"task": "0"}, "offset": {"number": 6}}]
    wait_until(lambda: scripted.client.offsets(scripted.name) == offsets, _FIRST_S)
    wait_until(lambda: scripted.client.topics(scripted.name) == [scripted.topic], _FIRST_S)


def test_interval_boundary(scripted: Scripted) -> None:
    """Whole batches until the time is over, or the connector is to rest; then it goes on as if nothing had happened."""
    scripted.runs("1..3; 4", **LONG)
    wait_until(lambda: scripted.values("read_uncommitted") == [1, 2, 3, 4], _FIRST_S)
    assert scripted.has() and scripted.stored() == []
    assert scripted.client.topics(scripted.name) == [], "nobody can see a record yet"
    scripted.client.pause(scripted.name)
    scripted.comes_to([1, 2, 3, 4], stored=[4])

    scripted.client.resume(scripted.name)
    scripted.runs("1..3; 4; 5", **LONG)
    wait_until(lambda: scripted.values("read_uncommitted")[4:] == [5], _FIRST_S)
    scripted.client.stop(scripted.name)
    scripted.client.wait_for(scripted.name, "STOPPED", tasks=0, timeout=120)
    scripted.comes_to([1, 2, 3, 4, 5], stored=[4, 5])

    scripted.client.resume(scripted.name)
    scripted.runs("5; 6; 7", **{**LONG, "transaction.boundary.interval.ms": "300"})
    wait_until(lambda: scripted.has(1, 2, 3, 4, 5, 6, 7), _FIRST_S)


def test_connector_boundary(scripted: Scripted) -> None:
    """As the task says, behind records and behind batches; what is aborted is for nobody, but its offsets are stored."""
    script = "1 2+ 3; 4 5-; 6 7; 8 commit; 9; 10 abort; 11+ 12"
    scripted.runs(script, **BY_CONNECTOR)
    scripted.comes_to([1, 2, 6, 7, 8, 11], stored=[2, 5, 8, 10, 11])
    # 12 is in a transaction that nobody has ended. It is aborted, and comes again.
    scripted.client.restart(scripted.name, include_tasks=True)
    scripted.runs(f"{script}; 13+ 14 15; 16 abort; 17 commit", **BY_CONNECTOR)
    scripted.comes_to([1, 2, 6, 7, 8, 11, 12, 13, 17], stored=[2, 5, 8, 10, 11, 13, 16, 17])


@pytest.mark.parametrize(("script", "what"), [("1 2+-", "record"), ("1 2 commit abort", "transaction")])
def test_both_ends_at_once_fail_the_task(scripted: Scripted, script: str, what: str) -> None:
    scripted.runs(f"1+; {script.replace('1 2', '2 3')}", **BY_CONNECTOR)
    assert f"Connector requested both commit and abort of same {what}" in scripted.trace()
    scripted.comes_to([1], stored=[1])


def test_an_error_of_the_task_takes_back_what_is_open(scripted: Scripted) -> None:
    """That is how a task has the records of a transaction come again."""
    scripted.runs("1+ 2; 3; fail", **BY_CONNECTOR)
    assert "The script says so" in scripted.trace()
    scripted.comes_to([1], stored=[1])
    scripted.runs("1+ 2; 3; 4 commit", **BY_CONNECTOR)
    scripted.comes_to([1, 2, 3, 4], stored=[1, 4])


def test_offsets_of_a_batch_that_was_filtered_entirely_are_committed(scripted: Scripted) -> None:
    dropped = {
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.drop.predicate": "here",
        "predicates": "here",
        "predicates.here.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.here.pattern": scripted.topic,
    }
    scripted.runs("1..3; 4", **dropped)
    scripted.comes_to([], stored=[3, 4])
    assert scripted.client.topics(scripted.name) == []


@pytest.mark.parametrize("own", [True, False])
def test_a_task_that_produces_to_its_own_offsets_topic_fails(scripted: Scripted, own: bool) -> None:
    # A config that names the worker's own topic is refused; a transform may still come to it.
    by_transform = {
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": "eos-offsets",
    }
    topic = f"{scripted.name}-offsets"
    scripted.runs("1", topic=topic, **({"offsets.storage.topic": topic} if own else by_transform))
    assert "Source tasks may not produce to their own offsets topics" in scripted.trace()
    assert scripted.stored() == []


@pytest.mark.parametrize(
    ("config", "setting", "message"),
    [
        ({"support": "SUPPORTED"}, None, ""),
        ({"support": "UNSUPPORTED"}, "exactly.once.support", "does not support exactly-once semantics with the provided"),
        ({"support": "unknown"}, "exactly.once.support", "does not implement the API required for preflight validation"),
        ({"support": "error"}, "exactly.once.support", "An unexpected error occurred during validation: This connector can't"),
        ({**BY_CONNECTOR, "boundaries": "true"}, None, ""),
        ({**BY_CONNECTOR, "boundaries": "error"}, "transaction.boundary", "An unexpected error occurred during validation"),
        ({**BY_CONNECTOR, "boundaries": "false"}, "transaction.boundary", "does not support connector-defined transaction"),
    ],
)
def test_preflight_validation(eos_worker: WorkerProcess, config: dict[str, str], setting: str | None, message: str) -> None:
    given = {
        "connector.class": "ScriptedSource",
        "name": "preflight",
        "topic": "t",
        "exactly.once.support": "required",
        **config,
    }
    found: Any = eos_worker.client.validate("ScriptedSourceConnector", given)
    errors = {each["value"]["name"]: each["value"]["errors"] for each in found["configs"] if each["value"]["errors"]}
    assert list(errors) == ([] if setting is None else [setting])
    assert message in "".join(errors.get(setting or "", []))
    assert found["error_count"] == len(errors)


class Verifiable:
    """A connector whose one task counts, `rate` records a second."""

    def __init__(self, worker: WorkerProcess, broker: Broker, name: str, directory: Path) -> None:
        self.client, self.name = worker.client, name
        self._bootstrap = broker.bootstrap_servers
        config = {"connector.class": "VerifiableSource", "directory": str(directory), "topic": name, "rate": "50"}
        self.client.create(name, config)
        self.client.wait_for(name, "RUNNING", tasks=1, timeout=_FIRST_S)

    def numbers(self) -> list[int]:
        return [json.loads(value)["seqno"] for _, value in read(self._bootstrap, self.name)]

    def grows(self) -> None:
        before = len(self.numbers())
        wait_until(lambda: len(self.numbers()) > before + 20, _FIRST_S)

    def is_exact(self) -> None:
        """What is read is what its offset says, once brokers have ended the last transaction in every partition."""
        numbers = wait_until(lambda: (found := self.numbers()) and len(found) == self.offset() and found, _FIRST_S)
        assert numbers == list(range(1, len(numbers) + 1))

    def offset(self) -> int:
        found: list[dict[str, Any]] = self.client.offsets(self.name)
        return int(found[0]["offset"]["seqno"])


@pytest.fixture
def counting(eos_worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path) -> Iterator[Verifiable]:
    made = Verifiable(eos_worker, broker, unique("kip-618-counts"), tmp_path)
    yield made
    eos_worker.client.delete(made.name)


def test_pause_resume_restart_and_stop_go_on_exactly(counting: Verifiable) -> None:
    client, name = counting.client, counting.name
    counting.grows()
    client.pause(name)
    client.wait_for(name, "PAUSED", tasks=1, timeout=120)
    counting.is_exact()
    client.resume(name)
    counting.grows()
    client.restart(name, include_tasks=True)
    counting.grows()
    client.stop(name)
    client.wait_for(name, "STOPPED", tasks=0, timeout=120)
    client.resume(name)
    counting.grows()
    client.stop(name)
    client.wait_for(name, "STOPPED", tasks=0, timeout=120)
    counting.is_exact()


def test_a_task_that_is_fenced_fails_and_goes_on_exactly_when_it_is_restarted(counting: Verifiable, broker: Broker) -> None:
    counting.grows()
    settings = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"eos-{counting.name}-0"}
    other = ck.Producer(settings)
    other.init_transactions(120)
    client, name = counting.client, counting.name
    wait_until(lambda: client.status(name)["tasks"][0]["state"] == "FAILED", _FIRST_S)
    trace = client.task_status(name, 0)["trace"]
    fenced = f"The producer of the transactional id eos-{name}-0 is fenced: a newer set of this connector's tasks"
    # A broker that is just raising the epoch may answer the end of a transaction with a code that says nothing.
    assert fenced in trace or f"The transaction of eos-{name}-0 has failed, so the task sends its records again: " in trace
    counting.is_exact()
    client.restart_task(name, 0)
    counting.grows()
    client.stop(name)
    client.wait_for(name, "STOPPED", tasks=0, timeout=120)
    counting.is_exact()


def test_transactions_are_counted(counting: Verifiable, eos_worker: WorkerProcess) -> None:
    """5 records a poll, and so a transaction."""
    found = f'{{connector="{counting.name}",task="0"}} 5'

    def told() -> bool:
        text = httpx.get(f"{eos_worker.url}metrics", timeout=60).text
        return all(f"kafka_connect_source_task_transaction_size_{which}{found}" in text for which in ("min", "max", "avg"))

    wait_until(told, _FIRST_S)
