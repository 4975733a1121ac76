"""A worker that sends to OpenTelemetry's own collector, which accepts what comes, and sends it on to where it is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.integration.test_opentelemetry import LIMIT_S, one, properties_for, spans
from tests.rig.systems.collector import Collector
from tests.rig.systems.otlp import Receiver
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long]


def test_the_collector_takes_traces_metrics_and_logs(
    broker: Broker, collector_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    with Receiver() as receiver, Collector(collector_program, tmp_path, receiver.url) as collector:
        properties = {**properties_for(receiver), "opentelemetry.endpoint": collector.url}
        worker = WorkerProcess(tmp_path, broker.bootstrap_servers, "collected", properties=properties)
        try:
            worker.start()
            (tmp_path / "in").write_text("".join(f"{number}\n" for number in range(1000)))
            source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": "collected-lines"}
            worker.client.create("lines", source)
            request = one(receiver, name="POST /connectors")
            start = one(receiver, name="start task", trace=request.trace)
            assert start.attributes["kconnect.connector"] == "lines"
            wait_until(
                lambda: {span.name for span in spans(receiver)} >= {"source batch", "poll", "convert", "produce"}, LIMIT_S
            )
            counter = "kafka_connect_source_task_source_record_write"
            wait_until(lambda: 1000 in receiver.received.metrics.get(counter, {}).values(), LIMIT_S)
            failing = {"connector.class": "FileStreamSink", "file": "/no/such/folder/out", "topics": "collected-lines"}
            worker.client.create("nowhere", failing)
            wait_until(lambda: any(line.severity == "ERROR" and line.trace for line in receiver.received.lines), LIMIT_S)
            [line] = [line for line in receiver.received.lines if line.severity == "ERROR" and line.trace]
            assert one(receiver, name="start task", trace=line.trace).id == line.span
        finally:
            worker.stop()
        refused = [line for line in collector.log.read_text().splitlines() if "error" in line.lower()]
        assert refused == []
