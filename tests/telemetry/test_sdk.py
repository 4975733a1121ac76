"""Logs and metrics by OTLP, with a real server at the other end, good and bad."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from kconnect.core.metrics.families import Snapshot, UnitNow, families
from kconnect.core.metrics.report import UnitReport
from kconnect.core.metrics.table import Kind
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import State, UnitId
from kconnect.core.task.meters import About
from kconnect.errors import ConfigError
from kconnect.processes import logs
from kconnect.telemetry import sdk, switch
from kconnect.telemetry.sdk import Telemetry
from tests.core.settings.test_worker import MINIMAL
from tests.rig.systems.otlp import Receiver
from tests.support import wait_until

LIMIT_S = 60.0
SECRET = "canary-4711"


def settings_for(url: str, **more: str) -> WorkerSettings:
    texts = {"enabled": "true", "endpoint": url, "headers": f"authorization=Bearer {SECRET}", **more}
    return WorkerSettings.from_properties({**MINIMAL, **{f"opentelemetry.{name}": text for name, text in texts.items()}}, {})


def began(url: str, **more: str) -> Telemetry:
    telemetry = switch.begin(settings_for(url, **more), "worker")
    assert telemetry is not None
    return telemetry


@pytest.fixture(autouse=True)
def secrets_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(logs, "_secrets", set())
    logger = logging.getLogger("opentelemetry")
    handlers, propagate = list(logger.handlers), logger.propagate
    yield
    logger.handlers[:], logger.propagate = handlers, propagate


def snapshot(**values: float | None) -> Snapshot:
    report = UnitReport(
        "w", 0, "life", UnitId("orders", 0), About(), {name.replace("_", "-"): value for name, value in values.items()}
    )
    tasks = [UnitNow(UnitId("orders", 0), State.RUNNING, report)]
    return Snapshot([UnitNow(UnitId("orders"), State.RUNNING)], tasks, {"task-count": 1}, {}, {})


def test_lines_come_with_their_connector_and_without_secrets() -> None:
    with Receiver() as receiver:
        telemetry = began(receiver.url, signals="logs")
        logger = logging.getLogger("kconnect.demo")
        logs.bind("orders", 3)
        try:
            logger.error("It says %s", SECRET)
            logging.getLogger("kconnect.audit").error("Not this")
        finally:
            structlog.contextvars.clear_contextvars()
        telemetry.close()
        [line] = receiver.received.lines
        assert (line.text, line.severity) == ("It says [hidden]", "ERROR")
        assert line.attributes == {"logger": "kconnect.demo", "kconnect.connector": "orders", "kconnect.task": 3}
        about = {name: line.resource[name] for name in ("service.name", "service.namespace", "kconnect.process")}
        assert about == {"service.name": "kconnect", "service.namespace": "g", "kconnect.process": "worker"}
        assert receiver.received.headers[0]["authorization"] == f"Bearer {SECRET}"


def test_half_a_character_or_a_long_text_costs_no_other_line() -> None:
    with Receiver() as receiver:
        telemetry = began(receiver.url, signals="logs")
        logger = logging.getLogger("kconnect.demo")
        for text in ("before", "half \ud800 of one", "x" * 100_000, "ümlaut"):
            logger.warning("%s", text)
        telemetry.close()
        texts = [line.text for line in receiver.received.lines]
        assert [*texts[:2], len(texts[2]), texts[3]] == ["before", "half \\ud800 of one", 8192, "ümlaut"]


def test_half_a_character_in_a_label_costs_no_other_metric() -> None:
    now = snapshot(source_record_poll_total=7)
    tasks = [replace(now.tasks[0], unit=UnitId("o\ud800", 0))]
    with Receiver() as receiver:
        telemetry = began(receiver.url, signals="metrics")
        telemetry.send_metrics(lambda: replace(now, tasks=tasks))
        telemetry.close()
        counter = receiver.received.metrics["kafka_connect_source_task_source_record_poll"]
        assert counter == {frozenset({("connector", "o\\ud800"), ("task", "0")}): 7.0}


def test_metrics_are_the_families_of_metrics() -> None:
    now = snapshot(source_record_poll_total=7, source_record_poll_rate=0.5, poll_batch_max_time_ms=None)
    with Receiver() as receiver:
        telemetry = began(receiver.url, signals="metrics")
        telemetry.send_metrics(lambda: now)
        telemetry.close()
        received = receiver.received
        expected = {
            metric.name if metric.kind is Kind.COUNTER else metric.shown: {
                frozenset(zip(metric.labels, labels)): number for labels, number in samples if not math.isnan(number)
            }
            for metric, samples in families(now)
        }
        assert received.metrics == {name: points for name, points in expected.items() if points}
        counter = "kafka_connect_source_task_source_record_poll"
        assert received.metrics[counter] == {frozenset({("connector", "orders"), ("task", "0")}): 7.0}
        assert (received.kinds[counter], received.kinds["kafka_connect_connector_status"]) == ("sum", "gauge")


def test_a_series_that_has_ended_is_not_sent_any_more() -> None:
    now = [snapshot(source_record_poll_total=7)]
    with Receiver() as receiver:
        telemetry = began(receiver.url, signals="metrics", **{"metrics.interval.ms": "100"})
        telemetry.send_metrics(lambda: now[0])
        counter = "kafka_connect_connector_status"
        wait_until(lambda: bool(receiver.received.metrics.get(counter)), LIMIT_S)
        now[0] = Snapshot([UnitNow(UnitId("other"), State.PAUSED)], [], {}, {}, {})
        wait_until(
            lambda: receiver.received.metrics[counter] == {frozenset({("connector", "other"), ("status", "paused")}): 1},
            LIMIT_S,
        )
        telemetry.close()


@pytest.mark.long
@pytest.mark.parametrize("behaviour", ["absent", "error", "endless", "hang"])
def test_a_bad_collector_harms_nobody(behaviour: str, caplog: pytest.LogCaptureFixture) -> None:
    with Receiver(behaviour) as receiver:
        url = "http://127.0.0.1:9" if behaviour == "absent" else receiver.url
        telemetry = began(url, **{"metrics.interval.ms": "100"})
        telemetry.send_metrics(lambda: snapshot(source_record_poll_total=1))
        assert telemetry.requests is not None
        logger = logging.getLogger("kconnect.demo")
        began_at = time.monotonic()
        for number in range(3000):
            logger.warning("Line %d", number)
            telemetry.requests.start_span("x").end()
        # Nobody who logs waits for the collector; on a machine that is busy this takes a second or two.
        assert time.monotonic() - began_at < 60
        if behaviour != "absent":
            wait_until(lambda: receiver.asked > 0, LIMIT_S)
        if behaviour != "hang":
            wait_until(lambda: "Telemetry is lost" in caplog.text, LIMIT_S)
        began_at = time.monotonic()
        telemetry.close()
        assert time.monotonic() - began_at < 30, "it waits two seconds"
        assert SECRET not in caplog.text
        complaints = [each for each in caplog.records if each.name == "kconnect.telemetry.lines"]
        assert len(complaints) <= 12, "each sort is said once"
        if behaviour == "endless":
            assert receiver.sent / receiver.asked < 64 << 20, "as much as the systems' buffers take"


def test_no_redirect_is_followed_and_no_login_but_the_header_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ann password canary-4\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with Receiver() as other, Receiver(other.url) as redirecting, Receiver() as receiver:
        for url in (redirecting.url, receiver.url):
            telemetry = began(url, signals="logs", headers=f"x-token={SECRET}")
            logging.getLogger("kconnect.demo").warning("Here")
            telemetry.close()
        assert (other.asked, redirecting.asked) == (0, 1)
        [headers] = receiver.received.headers
        assert (headers["x-token"], headers.get("authorization")) == (SECRET, None)


def test_a_session_follows_no_redirect_whatever_the_sdk_asks_of_it() -> None:
    with Receiver() as other, Receiver(other.url) as redirecting:
        sdk._Session().post(redirecting.url, data=b"", headers={"x-token": SECRET}, timeout=60)
        assert (other.asked, redirecting.asked) == (0, 1)


def test_without_the_package_a_worker_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_for("http://127.0.0.1:9")
    real = switch._is_there
    monkeypatch.setattr(switch, "_is_there", lambda name: "otlp" not in name and real(name))
    with pytest.raises(ConfigError, match=r"otlp.proto.http is not installed: pip install 'kconnect\[opentelemetry\]'"):
        switch.require(settings)
    assert switch.begin(settings, "host-0") is None
    switch.require(WorkerSettings.from_properties(MINIMAL, {}))


def test_the_environment_does_not_say_where_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver() as receiver, Receiver() as other:
        for name in ("", "LOGS_", "TRACES_"):
            monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{name}ENDPOINT", other.url)
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,kconnect.process=else")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "lines")
        telemetry = began(receiver.url, signals="logs,traces")
        logging.getLogger("kconnect.demo").warning("Here")
        telemetry.close()
        [line] = receiver.received.lines
        about: dict[str, Any] = line.resource
        assert (about["deployment.environment"], about["kconnect.process"], about["service.name"]) == (
            "test",
            "worker",
            "lines",
        )
        assert other.asked == 0
