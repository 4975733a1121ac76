"""Numbers on their way from tasks by the metrics topic to `/metrics`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kconnect.core.metrics.report import HostReport, Starts, UnitReport
from kconnect.core.state.records import UnitId
from kconnect.host.memory import Memory
from kconnect.host.metrics import Reporter
from kconnect.testing.processes import WorkerProcess
from kconnect.worker.metrics import Feed
from tests.integration.units import MemoryHost, Numbers, Plugins, Shelf, create, end, sink_of, source_of, until
from tests.support import wait_until

pytestmark = pytest.mark.integration

Names = Callable[[str], str]


def scraped(worker: WorkerProcess) -> dict[str, dict[tuple[str, ...], float]]:
    """By name, and by the values of connector, task and status as far as there are some."""
    answer = httpx.get(f"{worker.url}metrics", timeout=60)
    assert answer.status_code == 200
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            at = tuple(sample.labels[name] for name in ("connector", "task", "status") if name in sample.labels)
            found.setdefault(sample.name.removeprefix("kafka_connect_"), {})[at] = sample.value
    return found


def has(worker: WorkerProcess, at: tuple[str, ...], **wanted: float) -> bool:
    samples = scraped(worker)
    return all(samples.get(name, {}).get(at) == value for name, value in wanted.items())


def counts(samples: dict[str, dict[tuple[str, ...], float]]) -> list[float]:
    return [samples[name][()] for name in ("worker_connector_count", "worker_task_count")]


def test_totals_are_the_records_that_were_moved_and_lag_falls_to_0(
    worker: WorkerProcess, unique: Names, tmp_path: Path
) -> None:
    client, src, snk, topic = worker.client, unique("src"), unique("snk"), unique("topic")
    (tmp_path / "in").write_text("".join(f"{number}\n" for number in range(2000)))
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": topic}
    # What tests before this one have deleted may only just be ending.
    names = client.connectors()
    wait_until(lambda: counts(scraped(worker)) == [len(names), sum(len(client.tasks(name)) for name in names)])
    before = scraped(worker)
    client.create(src, source)
    client.create(snk, {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": topic})
    moved = {"source_task_source_record_poll_total": 2000, "source_task_source_record_write_total": 2000}
    wait_until(
        lambda: has(worker, (src, "0"), **moved, connector_task_offset_commit_success_percentage=1),
        240,  # The hosts may still be starting.
    )
    sunk = {"sink_task_sink_record_read_total": 2000, "sink_task_sink_record_send_total": 2000}
    wait_until(lambda: has(worker, (snk, "0"), **sunk, sink_task_sink_record_lag=0, sink_task_sink_record_active_count=0), 240)
    wait_until(lambda: has(worker, (src, "running"), connector_status=1), 120)
    wait_until(lambda: has(worker, (snk, "0", "running"), connector_task_status=1), 120)
    samples = scraped(worker)
    assert samples["sink_task_partition_count"][snk, "0"] == 1
    assert samples["worker_connector_running_task_count"][(snk,)] == 1
    assert counts(samples) == [count + 2 for count in counts(before)]
    started = "worker_task_startup_success_total"
    # What another test started a moment before may have been counted since.
    assert samples[started][()] >= before[started][()] + 2
    for name in (src, snk):
        client.delete(name)
    wait_until(lambda: not {src, snk} & {at[0] for values in scraped(worker).values() for at in values if at}, 120)


def test_what_can_not_start_has_its_failed_gauge_and_is_counted(worker: WorkerProcess, unique: Names, tmp_path: Path) -> None:
    client, name = worker.client, unique("snk")
    before = scraped(worker)["worker_task_startup_failure_total"][()]
    path = tmp_path / "nowhere" / "out"
    client.create(
        name, {"connector.class": "FileStreamSink", "file": str(path), "topics": unique("topic"), "my.password": "canary-4711"}
    )
    wait_until(lambda: has(worker, (name, "0", "failed"), connector_task_status=1), 240)
    samples = scraped(worker)
    assert [at for at in samples["connector_task_status"] if at[:2] == (name, "0")] == [(name, "0", "failed")]
    assert samples["worker_connector_failed_task_count"][(name,)] == 1
    wait_until(lambda: scraped(worker)["worker_task_startup_failure_total"][()] == before + 1, 120)
    wait_until(lambda: (name, "0") in scraped(worker).get("connector_task_info", {}), 120)
    assert "canary" not in httpx.get(f"{worker.url}metrics", timeout=60).text
    client.delete(name)


class TestReports:
    """A host's reporter and a worker's feed, with the topic between them."""

    def host(self, bootstrap: str, topic: str, **settings: str) -> MemoryHost:
        plugins = Plugins(Numbers=source_of(Numbers), Shelf=sink_of(Shelf))
        names = {"metrics_storage_topic": f"{topic}-metrics", "config_storage_replication_factor": "1"}
        return MemoryHost(bootstrap, plugins, metrics_report_interval_ms="100", **names, **settings)

    def test_what_units_count_comes_out_at_the_other_end(self, bootstrap: str, topic: str) -> None:
        create(bootstrap, topic)
        host = self.host(bootstrap, topic, metrics_sample_window_ms="600000")
        feed = Feed(host.settings)
        feed.start()
        reporter = Reporter(host.settings, 3, "life", "worker's life", Memory(host.settings))
        source = host.unit({"connector.class": "Numbers", "topic": topic, "limit": "50", "name": "src"})
        sink = host.unit({"connector.class": "Shelf", "topics": topic, "name": "snk"})
        instance = host.unit({"connector.class": "Numbers", "topic": topic, "name": "src"}, task=None)
        units = (source, sink, instance)
        for unit in units:
            reporter.started(unit)

        def values(unit: UnitId) -> dict[str, float | None]:
            reporter.report(time.monotonic())
            found = [each for each in feed.reports() if isinstance(each, UnitReport) and each.unit == unit]
            return dict(found[0].values) if found else {}

        def starts() -> list[HostReport]:
            reporter.report(time.monotonic())
            return [each for each in feed.reports() if isinstance(each, HostReport)]

        until(lambda: values(UnitId("src", 0)).get("source-record-write-total") == 50)
        until(lambda: values(UnitId("snk", 0)).get("sink-record-send-total") == 50)
        until(lambda: (values(UnitId("snk", 0)).get("offset-commit-completion-total") or 0) >= 1)
        until(lambda: values(UnitId("snk", 0)).get("sink-record-lag") == 0)
        both = values(UnitId("src", 0)), values(UnitId("snk", 0))
        assert both[0]["batch-size-max"] == 10
        assert both[1]["partition-count"] == 1
        assert all((each["last-progress-timestamp-seconds"] or 0) > 1.7e9 for each in both)
        one = Starts(1, 1, 0)
        whose = host.settings.worker_id, 3, "life", "worker's life"
        until(lambda: [replace(each, usage=None) for each in starts()] == [HostReport(*whose, one, one + one)])
        [usage] = [each.usage for each in starts()]
        assert usage is not None
        assert usage.memory > 2**20
        assert usage.cpu > 0
        about = {each.unit: each.about.texts for each in feed.reports() if isinstance(each, UnitReport)}
        assert about[UnitId("src")]["connector-type"] == "source"
        assert about[UnitId("snk", 0)]["value-converter-class"] == "org.apache.kafka.connect.storage.StringConverter"
        for unit in units:
            end(unit)
            reporter.ended(unit)
        # What has ended is not forgotten: counters only rise.
        late = Feed(host.settings)
        late.start()
        until(lambda: any(isinstance(each, HostReport) and each.tasks == one + one for each in late.reports()))
        for closing in (feed, late, reporter):
            closing.close()

    def test_without_the_topic_it_is_said_once_and_all_goes_on(
        self, bootstrap: str, topic: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        host = self.host(bootstrap, topic, metrics_storage_replication_factor="3")
        feed = Feed(host.settings)
        feed.start()
        until(lambda: any("can't be read" in line for line in caplog.messages))
        refused = [line for line in caplog.messages if "/metrics lacks the tasks' metrics" in line]
        assert len(refused) == 2
        assert "Check `metrics.storage.replication.factor`" in refused[0]
        assert list(feed.reports()) == []
        feed.close()
