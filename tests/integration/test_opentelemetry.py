"""
A worker that sends traces, metrics and logs: to a server that decodes them with OpenTelemetry's own classes, and to one that is
hostile.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.rig.systems.connect import ConnectProcess
from tests.rig.systems.otlp import Receiver, Span
from tests.rig.systems.recorder import read
from tests.support import starts, wait_until

pytestmark = pytest.mark.integration

LIMIT_S = 200.0
GROUP = "traced"
SECRETS = ("canary-header-1", "canary-config-2", "canary-value-3")
CALLERS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, CALLER = CALLERS.split("-")[1:3]


def properties_for(receiver: Receiver) -> dict[str, str]:
    return {
        **QUICK,
        "opentelemetry.enabled": "true",
        "opentelemetry.endpoint": receiver.url,
        "opentelemetry.headers": f"authorization=Bearer%20{SECRETS[0]}",
        "opentelemetry.traces.sample.ratio": "1",
        "opentelemetry.record.headers": "true",
        "opentelemetry.metrics.interval.ms": "500",
    }


@pytest.fixture(scope="module")
def quick_batches() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
        patch.setenv("OTEL_BLRP_SCHEDULE_DELAY", "200")
        yield


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as started:
        yield started


@pytest.fixture(scope="module")
@starts("integration")
def traced(
    broker: Broker, receiver: Receiver, quick_batches: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    """A worker with a source and a sink, which a caller has created within a trace of his own."""
    directory = tmp_path_factory.mktemp("traced")
    worker = WorkerProcess(directory, broker.bootstrap_servers, GROUP, properties=properties_for(receiver))
    try:
        worker.start()
        (directory / "in").write_text("".join(f"{SECRETS[2]} {number}\n" for number in range(100)))
        source = {
            **{"connector.class": "FileStreamSource", "file": str(directory / "in"), "topic": "traced-lines", "tasks.max": "1"},
            **{"transforms": "wrap", "transforms.wrap.type": "HoistFieldValue", "transforms.wrap.field": "line"},
            **{"value.converter": "JsonConverter", "my.password": SECRETS[1]},
        }
        sink = {"connector.class": "FileStreamSink", "file": str(directory / "out"), "topics": "traced-lines"}
        for name, config in (("lines", source), ("lines-copy", {**sink, "value.converter": "JsonConverter"})):
            headers = {"traceparent": CALLERS} if name == "lines" else {}
            answer = httpx.put(f"{worker.url}connectors/{name}/config", json=config, headers=headers, timeout=120)
            assert answer.status_code == 201, answer.text
        wait_until(lambda: (directory / "out").exists() and (directory / "out").read_text().count("\n") == 100, LIMIT_S)
        yield worker
    finally:
        worker.stop()


def spans(receiver: Receiver, **wanted: Any) -> list[Span]:
    """The spans that have come whose name, trace or parent is as said."""
    return [span for span in receiver.received.spans if all(getattr(span, name) == value for name, value in wanted.items())]


def one(receiver: Receiver, **wanted: Any) -> Span:
    wait_until(lambda: bool(spans(receiver, **wanted)), LIMIT_S)
    [span] = spans(receiver, **wanted)
    return span


def context_of(message: ck.Message) -> tuple[str, str]:
    """The ids in the header of a record."""
    value = dict(message.headers() or ())["traceparent"]
    assert isinstance(value, bytes)
    trace, span = value.decode().split("-")[1:3]
    return trace, span


def test_a_request_is_followed_to_the_running_task(traced: WorkerProcess, receiver: Receiver) -> None:
    request = one(receiver, name="PUT /connectors/{connector}/config", trace=TRACE)
    assert (request.parent, request.attributes["kconnect.connector"]) == (CALLER, "lines")
    assert (request.attributes["http.response.status_code"], request.resource["kconnect.process"]) == (201, "worker")
    validated, written = (one(receiver, name=name, trace=TRACE) for name in ("validate", "write"))
    assert {validated.parent, written.parent} == {request.id}
    assert written.attributes["kconnect.write.as_leader"] is True
    for name in ("start connector", "start task"):
        start = one(receiver, name=name, trace=TRACE)
        assert (start.parent, start.attributes["kconnect.connector"]) == (written.id, "lines")
        assert start.resource["kconnect.process"].startswith("host-")
        assert start.start >= written.start


def test_a_pause_is_followed_to_the_tasks_that_run(traced: WorkerProcess, receiver: Receiver) -> None:
    for action, state in (("pause", "PAUSED"), ("resume", "STARTED")):
        httpx.put(f"{traced.url}connectors/lines-copy/{action}", timeout=120).raise_for_status()
        request = one(receiver, name=f"PUT /connectors/{{connector}}/{action}")
        written = one(receiver, name="write", trace=request.trace)
        wait_until(lambda request=request: len(spans(receiver, name="set target state", trace=request.trace)) == 2, LIMIT_S)  # type: ignore[misc]
        for span in spans(receiver, name="set target state", trace=request.trace):
            assert (span.parent, span.attributes["kconnect.target_state"]) == (written.id, state)


def test_what_connect_reads_of_the_record_is_as_ever(traced: WorkerProcess, broker: Broker, receiver: Receiver) -> None:
    written = one(receiver, name="write", trace=TRACE)
    records = {message.key(): message for message in read(broker.bootstrap_servers, f"{GROUP}-configs")}
    assert context_of(records[b"connector-lines"]) == (TRACE, written.id)
    assert (records[b"connector-lines"].value() or b"").startswith(b'{"properties":{')
    assert records[b"commit-lines"].headers() is None


def test_a_batch_is_followed_from_poll_to_put(traced: WorkerProcess, receiver: Receiver, broker: Broker) -> None:
    source = one(receiver, name="source batch")
    wait_until(lambda: len(spans(receiver, parent=source.id)) == 3, LIMIT_S)
    assert sorted(span.name for span in spans(receiver, parent=source.id)) == ["convert", "poll", "produce"]
    assert source.attributes == {"kconnect.connector": "lines", "kconnect.task": 0, "messaging.batch.message_count": 100}
    produce = one(receiver, name="produce", parent=source.id)
    messages = read(broker.bootstrap_servers, "traced-lines")
    assert {context_of(message) for message in messages} == {(source.trace, produce.id)}
    wait_until(lambda: bool(spans(receiver, name="sink batch")), LIMIT_S)
    for sink in spans(receiver, name="sink batch"):
        assert sink.links == [(source.trace, produce.id)]
        wait_until(lambda sink=sink: len(spans(receiver, parent=sink.id)) == 2, LIMIT_S)  # type: ignore[misc]
        assert sorted(span.name for span in spans(receiver, parent=sink.id)) == ["convert", "put"]
    copied = sum(span.attributes["messaging.batch.message_count"] for span in spans(receiver, name="sink batch"))
    assert copied == 100


def test_lines_come_from_all_processes_and_those_of_a_start_have_its_trace(traced: WorkerProcess, receiver: Receiver) -> None:
    def processes() -> set[str]:
        return {line.resource["kconnect.process"].partition("-")[0] for line in receiver.received.lines}

    wait_until(lambda: processes() == {"worker", "driver", "host"}, LIMIT_S)
    before = one(receiver, name="start task", trace=TRACE)
    config = {"connector.class": "FileStreamSink", "file": "/no/such/folder/out", "topics": "traced-lines"}
    httpx.put(f"{traced.url}connectors/nowhere/config", json=config, timeout=120).raise_for_status()

    def failed() -> list[Any]:
        return [
            line
            for line in receiver.received.lines
            if line.attributes.get("kconnect.connector") == "nowhere" and line.severity == "ERROR"
        ]

    wait_until(lambda: bool(failed()), LIMIT_S)
    start = one(receiver, name="start task", trace=failed()[0].trace)
    assert (start.id, start.status, start.attributes["kconnect.connector"]) == (failed()[0].span, 2, "nowhere")
    assert start.trace != before.trace
    traced.client.delete("nowhere")


def test_metrics_are_those_of_metrics(traced: WorkerProcess, receiver: Receiver) -> None:
    def scraped() -> dict[str, dict[frozenset[tuple[str, str]], float]]:
        found: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
        for family in text_string_to_metric_families(httpx.get(f"{traced.url}metrics", timeout=60).text):
            for sample in family.samples:
                if not math.isnan(sample.value):
                    name = sample.name.removesuffix("_total") if family.type == "counter" else sample.name
                    found.setdefault(name, {})[frozenset(sample.labels.items())] = sample.value
        return found

    wait_until(lambda: scraped().keys() == receiver.received.metrics.keys(), LIMIT_S)
    counter = "kafka_connect_source_task_source_record_write"
    at = frozenset({("connector", "lines"), ("task", "0")})
    wait_until(lambda: receiver.received.metrics[counter].get(at) == 100 == scraped()[counter].get(at), LIMIT_S)
    assert receiver.received.kinds[counter] == "sum"
    for name in ("kafka_connect_connector_info", "kafka_connect_connector_task_status", "kafka_connect_worker_task_count"):
        wait_until(lambda name=name: scraped()[name] == receiver.received.metrics[name], LIMIT_S)  # type: ignore[misc]


def test_no_secret_and_no_record_is_in_what_was_sent(traced: WorkerProcess, receiver: Receiver) -> None:
    with pytest.raises(RestError):
        traced.client.create("refused", {"connector.class": "FileStreamSink", "topics": "", "my.password": SECRETS[1]})
    one(receiver, name="POST /connectors")
    sent = b"".join(receiver.received.bodies)
    assert b"kconnect.connector" in sent
    assert [secret for secret in SECRETS if secret.encode() in sent] == []
    assert {headers["authorization"] for headers in receiver.received.headers} == {f"Bearer {SECRETS[0]}"}


@pytest.mark.long
def test_kafka_connect_takes_over_from_such_a_worker(traced: WorkerProcess, broker: Broker, tmp_path: Path) -> None:
    traced.stop()
    connect = ConnectProcess(tmp_path, broker.bootstrap_servers, GROUP)
    try:
        connect.start(wait=False)
        connect.wait_healthy(240)
        assert sorted(connect.client.connectors()) == ["lines", "lines-copy"]
        connect.client.pause("lines")
    finally:
        connect.stop()
    assert [line for line in connect.log.read_text().splitlines() if "ERROR" in line and "config" in line.lower()] == []


@pytest.mark.long
def test_a_hostile_collector_harms_neither_work_nor_stop(broker: Broker, quick_batches: None, tmp_path: Path) -> None:
    with Receiver("endless") as receiver:
        worker = WorkerProcess(tmp_path, broker.bootstrap_servers, "traced-hostile", properties=properties_for(receiver))
        try:
            worker.start()
            (tmp_path / "in").write_text("1\n2\n")
            source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": "traced-hostile-lines"}
            worker.client.create("lines", source)
            wait_until(lambda: worker.client.status("lines")["tasks"][:1] != [], LIMIT_S)
            wait_until(lambda: len(list(read(broker.bootstrap_servers, "traced-hostile-lines"))) == 2, LIMIT_S)
            wait_until(lambda: receiver.asked > 5, LIMIT_S)
            for behaviour in ("hang", "error"):
                receiver.behaviour, asked = behaviour, receiver.asked
                wait_until(lambda asked=asked: receiver.asked > asked, LIMIT_S)  # type: ignore[misc]
            receiver.behaviour = "hang"
            began = time.monotonic()
            assert worker.stop(120) == 0
            assert time.monotonic() - began < 100, "the collector is waited for two seconds, and all else as ever"
            lost = [line for line in worker.log.read_text().splitlines() if "Telemetry is lost" in line]
            assert 0 < len(lost) <= 40, "some processes, of each a few sorts, each once in ten minutes"
        finally:
            worker.stop()


def test_bad_headers_in_the_config_topic_harm_no_host(traced: WorkerProcess, broker: Broker, receiver: Receiver) -> None:
    traced.stop()
    producer = ck.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for header in (b"\xff" * 1000, None, b"00-1-1-1"):
        producer.produce(f"{GROUP}-configs", b"{}", b"connector-strange", headers=[("traceparent", header)])
    producer.produce(f"{GROUP}-configs", None, b"connector-strange")
    assert producer.flush(60) == 0
    traced.start()
    before = len(spans(receiver, name="start task"))
    traced.client.restart("lines-copy", include_tasks=True)
    wait_until(lambda: len(spans(receiver, name="start task")) > before, LIMIT_S)
