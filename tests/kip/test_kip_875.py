"""
KIP-875's second part: offsets are shown, altered and reset, on a real worker, real Spark and real Kafka. A test for each point
of the text's test plan; the first part's are in `test_kip_875_stop.py`. What needs no broker is in `tests/rest/test_offsets.py`
(bodies), `tests/core/herder/test_altering_offsets.py` (refusals, order, who leads) and `tests/plugins/test_sandbox_offsets.py`
(an `alter_offsets` that hangs, and what it is given).
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import httpx
import pytest
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic

from kconnect.core.state import records
from kconnect.core.state.records import LogRecord, SessionKey, Topic
from kconnect.kafka.admin import committed
from kconnect.local.broker import Broker
from kconnect.rest import signature
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration.secured import Secured
from tests.integration.transfer import read_topic
from tests.kip.scripted import sink, source
from tests.rig.systems import recorder
from tests.support import wait_until

Names = Callable[[str], str]

ALTERED = "The offsets for this connector have been altered successfully"
RESET = "The offsets for this connector have been reset successfully"
LINES = ["one", "two", "three"]


def refused(call: Callable[[], Any]) -> tuple[int | None, str]:
    with pytest.raises(RestError) as error:
        call()
    return error.value.status, error.value.message


def patiently(change: Callable[[], str]) -> str:
    """A request waits 15 s for what still stops, and says only then that it can be repeated."""

    def answer() -> str | None:
        began = time.monotonic()
        try:
            return change()
        except RestError as error:
            if time.monotonic() - began < 14 or error.status not in (409, 500):
                raise
            return None

    return str(wait_until(answer, 240))


UNAWARE = (
    "The framework-managed offsets for this connector have been {0} successfully. However, if this connector manages offsets "
    "externally, they will need to be manually {0} in the system that the connector uses."
)
NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{}/stop' endpoint"
)


def of_task(number: int, sent: int | None) -> dict[str, Any]:
    """A scripted source's offset."""
    return {"partition": {"task": number}, "offset": None if sent is None else {"n": sent}}


def of_partition(topic: str, number: int, offset: int | None) -> dict[str, Any]:
    place = {"kafka_topic": topic, "kafka_partition": number}
    return {"partition": place, "offset": None if offset is None else {"kafka_offset": offset}}


def filled(servers: str, topic: str, partitions: int = 2, records: int = 3) -> None:
    """A new topic with so many records in each partition."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
    producer = ck.Producer({"bootstrap.servers": servers})
    for number in range(partitions * records):
        producer.produce(topic, b"x", partition=number % partitions)
    assert producer.flush(120) == 0


def test_who_is_not_there_has_no_offsets(worker: WorkerProcess, unique: Names) -> None:
    client, nobody = worker.client, unique("nobody")
    for call in (client.offsets, client.reset_offsets, lambda name: client.alter_offsets(name, [of_task(0, 1)])):
        assert refused(lambda call=call: call(nobody)) == (404, f"Connector {nobody} not found")  # type: ignore[misc]


def test_offsets_are_shown_in_every_state_and_changed_in_none_but_stopped(
    worker: WorkerProcess, broker: Broker, unique: Names
) -> None:
    """The sink reads what the source sends. FAILED, too, is a state in which a connector has its offsets."""
    client, name, drain = worker.client, unique("src"), unique("snk")
    client.create(name, source(name, count="3", **{"tasks.max": "2"}))
    # The worker may just have begun to start Spark, which took 109 s on a machine that did ten things besides.
    client.wait_for(name, "RUNNING", tasks=2, timeout=300)
    wait_until(lambda: client.offsets(name) == [of_task(0, 3), of_task(1, 3)], 120)
    client.create(drain, sink(name))
    wait_until(lambda: client.offsets(drain) == [of_partition(f"{name}-topic", 0, 6)], 120)
    # They grow.
    client.patch_config(name, {"count": "5"})
    wait_until(lambda: client.offsets(name) == [of_task(0, 5), of_task(1, 5)], 120)
    wait_until(lambda: client.offsets(drain) == [of_partition(f"{name}-topic", 0, 10)], 120)

    def all_refuse() -> None:
        for each, change in ((name, of_task(0, 1)), (drain, of_partition(f"{name}-topic", 0, 1))):
            before = client.offsets(each)
            assert refused(lambda: client.alter_offsets(each, [change])) == (400, NOT_STOPPED.format(each))  # noqa: B023
            assert refused(lambda: client.reset_offsets(each)) == (400, NOT_STOPPED.format(each))  # noqa: B023
            assert client.offsets(each) == before != []

    all_refuse()
    for each in (name, drain):
        client.pause(each)
        client.wait_for(each, "PAUSED", timeout=120)
    all_refuse()
    for each in (name, drain):
        client.patch_config(each, {"start": "fail"})
        client.resume(each)
        client.wait_for(each, "FAILED", timeout=120)
    all_refuse()
    for each in (name, drain):
        before = client.offsets(each)
        client.stop(each)
        client.wait_for(each, "STOPPED", tasks=0, timeout=120)
        assert client.offsets(each) == before
        assert client.reset_offsets(each) == RESET
        assert client.offsets(each) == []
        client.delete(each)


@pytest.mark.parametrize("make", [source, sink])
def test_the_connector_s_answer_decides_what_is_said_and_whether_it_is_done(
    worker: WorkerProcess, broker: Broker, unique: Names, make: Callable[..., dict[str, str]]
) -> None:
    """Not overridden, unsupported, another exception, a bug, a crash: each leaves the offsets alone and hurts nothing else."""
    client, name = worker.client, unique("kip-875")
    topic = f"{name}-topic"
    offsets = [of_task(0, 1), of_task(1, 1)]
    if make is sink:
        filled(broker.bootstrap_servers, topic)
        offsets = [of_partition(topic, 0, 1), of_partition(topic, 1, 1)]
    client.create(name, make(name), "STOPPED")
    assert client.alter_offsets(name, offsets) == ALTERED
    kind = make.__name__
    unsupported = f"Failed to modify offsets for connector {name} because it doesn't support external modification of offsets"
    for script, text in (
        ("unsupported", unsupported),
        ("refuse", "no offsets are changed on Sundays"),
        ("stumble", f"Failed to modify offsets for {kind} connector {name}: The plugin scripted_connectors.Scripted"),
        ("crash", f"Failed to modify offsets for {kind} connector {name}: The plugin's process ended (SIGABRT)"),
    ):
        client.patch_config(name, {"alter": script})
        for call in (lambda: client.alter_offsets(name, offsets[:1]), lambda: client.reset_offsets(name)):
            status, message = refused(call)
            assert (status, message[: len(text)]) == (500, text)
        assert client.offsets(name) == offsets
    client.patch_config(name, {"alter": "unaware"})
    # A null resets its own partition, and what is not named stays as it is.
    assert client.alter_offsets(name, [{**offsets[0], "offset": None}]) == UNAWARE.format("altered")
    assert client.offsets(name) == offsets[1:]
    assert client.reset_offsets(name) == UNAWARE.format("reset")
    assert client.offsets(name) == []
    client.delete(name)


def test_a_source_goes_on_where_it_is_told_to(worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path) -> None:
    client, name, topic, path = worker.client, unique("src"), unique("topic"), tmp_path / "in"
    path.write_text("".join(f"{line}\n" for line in LINES))

    def at(position: int | None) -> list[dict[str, Any]]:
        offset = None if position is None else {"position": position}
        return [{"partition": {"filename": str(path)}, "offset": offset}]

    def sent() -> list[str]:
        return [value.decode() for value in read_topic(broker.bootstrap_servers, topic) if value is not None]

    assert refused(lambda: client.alter_offsets(name, at(4))) == (404, f"Connector {name} not found")
    client.create(name, {"connector.class": "FileStreamSource", "file": str(path), "topic": topic})
    wait_until(lambda: client.offsets(name) == at(14), 120)
    status, message = refused(lambda: client.alter_offsets(name, at(4)))
    assert (status, message[:45]) == (400, "Connectors must be in the STOPPED state befor")
    assert refused(lambda: client.reset_offsets(name))[0] == 400

    # At once: what still runs is waited for.
    client.stop(name)
    assert patiently(lambda: client.alter_offsets(name, [*at(0), *at(8)])) == ALTERED
    assert client.offsets(name) == at(8)
    bad = [{"partition": {"filename": str(path)}, "offset": {"position": "8"}}]
    text = "The value for the 'position' key in the offset is expected to be a Long value"
    assert refused(lambda: client.alter_offsets(name, bad)) == (500, text)
    client.resume(name)
    wait_until(lambda: client.offsets(name) == at(14), 120)
    assert sent() == [*LINES, "three"]

    client.stop(name)
    assert [client.reset_offsets(name) for _ in range(2)] == [RESET, RESET]
    assert client.offsets(name) == []
    client.resume(name)
    wait_until(lambda: client.offsets(name) == at(14), 120)
    assert sent() == [*LINES, "three", *LINES]
    client.delete(name)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_sink_goes_on_where_it_is_told_to(
    worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path, protocol: str
) -> None:
    client, name, topic, group, path = worker.client, unique("snk"), unique("topic"), unique("group"), tmp_path / "out"
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    producer = ck.Producer(servers)
    for line in LINES:
        producer.produce(topic, line.encode(), partition=0)
    assert producer.flush(120) == 0

    def at(offset: int | str | None) -> list[dict[str, Any]]:
        new = None if offset is None else {"kafka_offset": offset}
        return [{"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": new}]

    def written() -> list[str]:
        return path.read_text().splitlines() if path.exists() else []

    config = {"connector.class": "FileStreamSink", "file": str(path), "topics": topic, "consumer.override.group.id": group}
    config["consumer.override.group.protocol"] = protocol
    # A new connector, too, may begin where the user says.
    client.create(name, config, "STOPPED")
    assert client.alter_offsets(name, at("2")) == ALTERED
    client.resume(name)
    wait_until(lambda: client.offsets(name) == at(3), 120)
    assert refused(lambda: client.alter_offsets(name, at(1)))[0] == 400
    client.stop(name)
    assert client.alter_offsets(name, at(1)) == ALTERED
    assert client.offsets(name) == at(1)
    assert (committed(servers, group), committed(servers, f"connect-{name}")) == ([(topic, 0, 1)], [])
    nowhere = [{**at(1)[0], "partition": {"kafka_topic": "no-topic", "kafka_partition": 0}}]
    text = f"Failed to alter consumer group offsets for connector {name}: there is no topic no-topic"
    assert refused(lambda: client.alter_offsets(name, nowhere)) == (500, text)
    client.resume(name)
    wait_until(lambda: client.offsets(name) == at(3), 120)
    assert written() == ["three", "two", "three"]

    client.stop(name)
    assert client.alter_offsets(name, at(None)) == ALTERED
    assert client.offsets(name) == []
    assert [client.reset_offsets(name) for _ in range(2)] == [RESET, RESET]
    client.resume(name)
    wait_until(lambda: client.offsets(name) == at(3), 120)
    assert written() == ["three", "two", "three", *LINES]
    client.delete(name)


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        (None, None, "The partition for a sink connector offset cannot be null or missing"),
        ({}, None, "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"),
        ({"kafka_topic": "t", "kafka_partition": "x"}, None, "Failed to parse the following Kafka partition value"),
        ({"kafka_topic": "t", "kafka_partition": 0}, {}, "The offset for a sink connector should either be null or contain"),
        ({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": "x"}, "Failed to parse the following Kafka offset value"),
    ],
)
def test_what_can_t_be_a_sink_s_offset_is_refused(
    worker: WorkerProcess, unique: Names, partition: Any, offset: Any, text: str
) -> None:
    client, name = worker.client, unique("snk")
    client.create(name, sink(name), "STOPPED")
    status, message = refused(lambda: client.alter_offsets(name, [{"partition": partition, "offset": offset}]))
    assert (status, message[: len(text)]) == (400, text)
    client.delete(name)


@pytest.mark.long
def test_a_sink_on_another_cluster(worker: WorkerProcess, broker: Broker, secured: Secured, unique: Names) -> None:
    """Its group is there, where its clients log in; the worker's own cluster has none of that name."""
    client, name = worker.client, unique("kip-875")
    topic, group, there = f"{name}-topic", f"kip-875-{name}", secured.broker.bootstrap_servers
    filled(there, topic, partitions=1)
    secured.allow("alice", name, AclOperation.ALL)
    secured.allow_group("alice", "kip-875-")
    clients = {**secured.client("consumer", "alice"), **secured.client("admin", "alice")}
    client.create(name, sink(name, **{"consumer.override.group.id": group}, **clients))
    wait_until(lambda: client.offsets(name) == [of_partition(topic, 0, 3)], 120)
    client.stop(name)
    assert client.alter_offsets(name, [of_partition(topic, 0, 1)]) == ALTERED
    assert client.offsets(name) == [of_partition(topic, 0, 1)]
    assert committed({"bootstrap.servers": there}, group) == [(topic, 0, 1)]
    client.resume(name)
    wait_until(lambda: client.offsets(name) == [of_partition(topic, 0, 3)], 120)
    client.stop(name)
    assert [client.reset_offsets(name) for _ in range(2)] == [RESET, RESET]
    assert (client.offsets(name), committed({"bootstrap.servers": there}, group)) == ([], [])
    assert committed({"bootstrap.servers": broker.bootstrap_servers}, group) == []
    client.delete(name)


def test_a_change_of_a_sink_s_offsets_that_is_allowed_in_part_is_not_made(
    worker: WorkerProcess, secured: Secured, unique: Names
) -> None:
    """To reset a partition is another request to Kafka than to alter one, with a right of its own."""
    client, name = worker.client, unique("kip-875")
    topic, group, there = f"{name}-topic", f"part-875-{name}", secured.broker.bootstrap_servers
    filled(there, topic)
    secured.allow("alice", name, AclOperation.ALL)
    secured.allow_group("alice", "part-875-", AclOperation.READ)
    client.create(name, sink(name, **{"consumer.override.group.id": group}, **secured.client("admin", "alice")), "STOPPED")
    before = [of_partition(topic, 0, 1), of_partition(topic, 1, 1)]
    assert client.alter_offsets(name, before) == ALTERED
    text = f"Failed to alter consumer group offsets for connector {name}: "
    status, message = refused(lambda: client.alter_offsets(name, [of_partition(topic, 0, 2), of_partition(topic, 1, None)]))
    assert (status, message[: len(text)]) == (500, text)
    assert "Group authorization failed" in message
    assert client.offsets(name) == before
    client.delete(name)


ZOMBIE = """
import sys
import confluent_kafka as ck
servers, group, topic, protocol = sys.argv[1:]
settings = {"group.protocol": "consumer"}
if protocol == "classic":
    settings = {"session.timeout.ms": 10000, "heartbeat.interval.ms": 300}
consumer = ck.Consumer({"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False, **settings})
consumer.subscribe([topic], on_assign=lambda c, p: None, on_revoke=lambda c, p: None, on_lost=lambda c, p: None)
while not consumer.assignment():
    consumer.poll(0.1)
print("member", flush=True)
sys.stdin.readline()
try:
    consumer.commit(offsets=[ck.TopicPartition(topic, 0, 3)], asynchronous=False)
    print("committed", flush=True)
except ck.KafkaException as error:
    print("refused", error.args[0].name(), flush=True)
"""


@pytest.mark.parametrize(
    ("verb", "protocol"),
    [
        ("alter", "classic"),
        pytest.param("reset", "classic", marks=pytest.mark.long),
        *(pytest.param(v, "consumer", marks=pytest.mark.long) for v in ("alter", "reset")),
    ],
)
def test_a_zombie_s_late_commit_can_t_undo_the_change(
    worker: WorkerProcess, broker: Broker, unique: Names, verb: str, protocol: str
) -> None:
    """A task's process that is suspended, and wakes up after its membership was over and the offsets were changed."""
    client, name = worker.client, unique("snk")
    topic, servers = f"{name}-topic", broker.bootstrap_servers
    filled(servers, topic, partitions=1)
    client.create(name, sink(name), "STOPPED")
    assert client.alter_offsets(name, [of_partition(topic, 0, 2)]) == ALTERED

    def change() -> str:
        return client.reset_offsets(name) if verb == "reset" else client.alter_offsets(name, [of_partition(topic, 0, 1)])

    command = [sys.executable, "-c", ZOMBIE, servers, f"connect-{name}", topic, protocol]
    zombie = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert zombie.stdin is not None and zombie.stdout is not None
    try:
        assert zombie.stdout.readline() == "member\n"
        status, message = refused(change)
        assert (status, "zombie sink task" in message) == (500, True), "the control: as long as it is a member"
        zombie.send_signal(signal.SIGSTOP)
        wait_until(lambda: succeeds(change), 120)
        zombie.send_signal(signal.SIGCONT)
        zombie.stdin.write("now\n")
        zombie.stdin.flush()
        assert zombie.stdout.readline().startswith("refused")
    finally:
        zombie.kill()
        zombie.wait()
    assert client.offsets(name) == ([] if verb == "reset" else [of_partition(topic, 0, 1)])
    client.delete(name)


def succeeds(call: Callable[[], Any]) -> bool:
    try:
        call()
    except RestError:
        return False
    return True


def test_the_offsets_of_a_zombie_s_group_are_left_alone(worker: WorkerProcess, broker: Broker, unique: Names) -> None:
    client, name, topic = worker.client, unique("snk"), unique("topic")
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    producer = ck.Producer(servers)
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(120) == 0
    client.create(name, {"connector.class": "FileStreamSink", "topics": topic}, "STOPPED")
    place = {"kafka_topic": topic, "kafka_partition": 0}
    assert client.alter_offsets(name, [{"partition": place, "offset": {"kafka_offset": 1}}]) == ALTERED
    zombie = ck.Consumer({**servers, "group.id": f"connect-{name}", "enable.auto.commit": False})
    zombie.subscribe([topic])
    try:
        wait_until(lambda: zombie.poll(0.1) or zombie.assignment(), 120)
        new = [{"partition": place, "offset": {"kafka_offset": 0}}]
        for verb, call in (("alter", lambda: client.alter_offsets(name, new)), ("reset", lambda: client.reset_offsets(name))):
            status, message = refused(call)
            assert status == 500
            assert message.startswith(f"Failed to {verb} consumer group offsets for connector {name} either because its tasks")
            assert "zombie sink task" in message
    finally:
        zombie.close()
    assert client.offsets(name) == [{"partition": place, "offset": {"kafka_offset": 1}}]
    assert client.reset_offsets(name) == RESET
    client.delete(name)


def test_tasks_are_fenced_for_workers_only(worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path) -> None:
    client, name = worker.client, unique("src")
    client.create(name, {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": unique("topic")})
    client.wait_for(name, "RUNNING", tasks=1, timeout=120)
    path = f"/connectors/{name}/fence"
    assert httpx.put(f"{client.url}{path}", timeout=60).status_code == 400

    def control() -> list[Any]:
        found = recorder.read(broker.bootstrap_servers, "shared-configs")
        return [records.decode_config(LogRecord(Topic.CONFIG, 0, 0, each.key(), each.value())) for each in found]

    key = [each for each in control() if isinstance(each, SessionKey)][-1]
    for _ in range(2):
        signed = signature.sign(key, "HmacSHA256", signature.worker_at(client.url), "PUT", path, b"")
        answer = httpx.put(f"{client.url}{path}", headers=signed, timeout=120)
        assert (answer.status_code, answer.content) == (204, b"")
    assert control().count(records.TasksFencing(name, 1)) == 1
    client.delete(name)
