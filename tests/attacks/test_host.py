"""Attacks by services and by records on what many connectors share: the host that they run in."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConnectError, RequestTimeoutError
from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient
from kconnect.testing.processes import WorkerProcess
from kconnect.worker.brokers import Brokers
from kconnect.worker.errands import Errands
from tests.attacks import hostile, raw_batches
from tests.attacks.hostile import Hostile
from tests.conftest import QUICK
from tests.integration import units
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

LIMIT_S = 240.0


@pytest.fixture
def service() -> Iterator[Hostile]:
    with Hostile() as made:
        yield made


@pytest.fixture
def client(worker: WorkerProcess) -> Iterator[ConnectClient]:
    with ConnectClient(worker.client.url) as made:
        yield made


def running(client: ConnectClient, name: str) -> bool:
    status = client.status(name)
    return [task["state"] for task in status["tasks"]] == ["RUNNING"]


@pytest.mark.long
def test_a_service_that_never_answers_takes_no_host_along(
    client: ConnectClient, service: Hostile, bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """The services of a source and of a sink drip or are silent: both are deleted, and their neighbour never stops."""
    neighbour, source, sink = unique("neighbour"), unique("drip"), unique("silent")
    topic = unique("t")
    file = tmp_path / "in.txt"
    file.write_text("a\n")
    service.paths["/drip"] = service.dripping(pause_s=0.2)
    service.paths[f"/{topic}"] = service.silent()
    patient = {"http.request.timeout.ms": "600000", "max.retries": "5"}
    plain = {"value.converter": "StringConverter", "key.converter": "StringConverter"}
    client.create(neighbour, {"connector.class": "FileStreamSource", "file": str(file), "topic": topic, **plain})
    client.create(
        source,
        {
            "connector.class": "HttpSource",
            "http.api.url": f"{service.url}/drip",
            "kafka.topic": unique("o"),
            **patient,
            **plain,
        },
    )
    client.create(
        sink,
        {"connector.class": "HttpSink", "topics": topic, "http.api.url": f"{service.url}/${{topic}}", **patient, **plain},
    )
    try:
        wait_until(lambda: running(client, neighbour), LIMIT_S)
        wait_until(lambda: {"/drip", f"/{topic}"} <= {each.path for each in service.asked if each.method != "HEAD"}, LIMIT_S)
        host = client.placement(neighbour)
        client.delete(source)
        client.delete(sink)
        # Longer than hosts wait for a task that is to stop.
        end = time.monotonic() + 12
        with file.open("a") as lines:
            count = 0
            while time.monotonic() < end:
                assert running(client, neighbour)
                lines.write(f"line {count}\n")
                lines.flush()
                count += 1
                time.sleep(0.5)
        wait_until(lambda: len(units.read_all(bootstrap, topic)) == count + 1, LIMIT_S)
        assert client.placement(neighbour) == host
    finally:
        client.delete(neighbour)


def test_a_key_deletes_its_own_document_or_becomes_a_letter(
    client: ConnectClient, service: Hostile, bootstrap: str, unique: Callable[[str], str]
) -> None:
    """Who may write to the topic sends tombstones whose keys lead out of the folder: they become dead letters."""
    name, topic = unique("users"), unique("u")
    service.default = hostile.given({})
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for key in ("a", ".", "..", "", "%2e%2e", "b"):
        producer.produce(topic, None, key)
    assert producer.flush(LIMIT_S) == 0
    queue = unique("q")
    config = {
        "connector.class": "HttpSink",
        "topics": topic,
        "http.api.url": f"{service.url}/v1/users/${{key}}",
        "behavior.on.null.values": "delete",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "key.converter": "StringConverter",
        "value.converter": "StringConverter",
    }
    client.create(name, config)
    try:
        wait_until(lambda: "DELETE /v1/users/b" in service.lines(), LIMIT_S)
        assert sorted(service.lines()) == ["DELETE /v1/users/a", "DELETE /v1/users/b"]
        wait_until(lambda: len(units.read_all(bootstrap, queue)) == 4, LIMIT_S)
        assert running(client, name)
    finally:
        client.delete(name)


def costly(free: bool) -> list[tuple[bytes, dict[str, str | bytes | None]]]:
    """Values with headers, each below a megabyte, that took a host's time for minutes, its memory, or the task for good."""
    if free:
        odd_name = '{"\\ud800":1}'.encode("utf-16-be")
        return [(json.dumps({"a": "1" * 900_000}).encode(), {}), (odd_name, {})]
    nothing = {"type": "int8", "optional": True}
    wide = {"type": "struct", "fields": [{**nothing, "field": f"{at}"} for at in range(8000)]}
    integer = {"type": "int8", "field": "a"}
    numbers = "{" + ",".join(f"{5 + at * ((1 << 61) - 1)}:1" for at in range(10, 20_000)) + "}"
    below = {"type": "struct", "fields": [{**integer, "field": f"{at}"} for at in range(9000)], "field": "x" * 200_000}
    nested = {"x" * 200_000: {f"{at}": 1 for at in range(9000)}}
    return [
        (envelope({"type": "array", "items": wide}, [{}] * 100_000), {}),
        (envelope({"type": "struct", "fields": [below]}, nested), {}),
        (envelope({"type": "struct", "fields": [integer]}, {"a": 1}), {"h": numbers.encode()}),
    ]


def envelope(schema: object, payload: object) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


@pytest.mark.long
@pytest.mark.parametrize("free", [True, False], ids=["inferred", "with schemas"])
def test_costly_records_are_letters_and_the_others_go_on(
    client: ConnectClient, bootstrap: str, unique: Callable[[str], str], tmp_path: Path, free: bool
) -> None:
    """Who may write to the topic sends records that cost hours, gigabytes or the task: those behind them are written."""
    name, topic, queue = unique("costly"), unique("t"), unique("q")
    file = tmp_path / "out.txt"
    good = [b'{"a":"first"}', b'{"a":"last"}']
    if not free:
        text = {"type": "struct", "fields": [{"type": "string", "field": "a"}]}
        good = [envelope(text, json.loads(each)) for each in good]
    values = [(good[0], {}), *costly(free), (good[1], {})]
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for value, headers in values:
        producer.produce(topic, value, headers=headers)
    assert producer.flush(LIMIT_S) == 0
    config = {
        "connector.class": "FileStreamSink",
        "topics": topic,
        "file": str(file),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
        "key.converter": "StringConverter",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": str(not free).lower(),
        "value.converter.schemas.infer": str(free).lower(),
        "transforms": "flat",
        "transforms.flat.type": "FlattenValue",
    }
    client.create(name, config)
    try:
        wait_until(lambda: file.exists() and "last" in file.read_text(), LIMIT_S)
        assert running(client, name)
        # A long text is one, and a header that is no map is a text.
        wait_until(lambda: len(units.read_all(bootstrap, queue)) == len(values) - 3, LIMIT_S)
    finally:
        client.delete(name)


@pytest.mark.long
def test_a_batch_that_unpacks_to_gigabytes_ends_the_host_of_others_once(
    broker: Broker, bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    """Who may write to the topic has Kafka's client unpack 800 MB: three times all that ran beside it began anew."""
    name, neighbour, topic = unique("bomb"), unique("neighbour"), unique("t")
    properties = {**QUICK, "task.hosts": "1", "task.host.memory.max.bytes": "600000000"}
    worker = WorkerProcess(tmp_path / "worker", broker.bootstrap_servers, unique("bombs"), properties=properties)
    file = tmp_path / "in.txt"
    file.write_text("a\n")
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, b"good")
    assert producer.flush(LIMIT_S) == 0
    sink = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out.txt"), "errors.tolerance": "all"}
    source = {"connector.class": "FileStreamSource", "file": str(file), "topic": unique("o")}
    try:
        client = worker.start().client
        client.create(neighbour, source)
        client.create(name, sink)
        wait_until(lambda: running(client, neighbour) and running(client, name), LIMIT_S)
        raw_batches.send(bootstrap, topic, raw_batches.unpacked(800_000_000), 1, codec=1)
        wait_until(lambda: [each["state"] for each in client.status(name)["tasks"]] == ["FAILED"], LIMIT_S)
        (trace,) = [each["trace"] for each in client.status(name)["tasks"]]
        assert "in which nothing else ran: it took" in trace and "kconnect offsets set" in trace
        wait_until(lambda: running(client, neighbour), LIMIT_S)
        assert worker.log.read_text().count("Host 0 ends, and Spark restarts it: it took") == 1
    finally:
        worker.stop()


@pytest.mark.process
def test_a_batch_in_a_topic_of_offsets_takes_no_memory_of_the_worker(bootstrap: str, unique: Callable[[str], str]) -> None:
    """
    Who may create connectors and write to one topic names it in offsets.storage.topic, with a batch that unpacks to gigabytes:
    each look at the offsets had the worker itself unpack it.
    """
    topic = unique("bomb")
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, 1, 1)]).values():
        future.result(LIMIT_S)
    raw_batches.send(bootstrap, topic, raw_batches.unpacked(500_000_000), 1, 1, int(time.time() * 1000))
    properties = {**dict.fromkeys(("group.id", *(f"{each}.storage.topic" for each in ("config", "offset", "status"))), "x")}
    properties |= dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")
    limited = {"bootstrap.servers": bootstrap, "sandbox.memory.max.bytes": "300000000"}
    settings = WorkerSettings.from_properties({**properties, **limited}, {})
    asked = Brokers(settings, Errands(settings))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((ConnectError, RequestTimeoutError)):
        asked.own_offsets("c", {"offsets.storage.topic": topic}, prepare=False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
