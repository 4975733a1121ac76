"""`/metrics`: both formats, compared with the client library, and how long a thousand connectors take."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import replace

import httpx
import pytest
from prometheus_client import CollectorRegistry, exposition
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import Collector

from kconnect.core.herder.requests.metrics import GetMetrics
from kconnect.core.metrics.families import Snapshot, UnitNow, families
from kconnect.core.metrics.published import Published
from kconnect.core.metrics.report import UnitReport
from kconnect.core.metrics.table import Kind
from kconnect.core.state.records import State, UnitId
from kconnect.core.task.errors import Counts
from kconnect.core.task.meters import About, SinkMeter, SourceMeter, Times
from kconnect.core.task.windows import Windows
from kconnect.rest import metrics
from kconnect.rest.app import RestSettings, build

from .conftest import ADVERTISED, Http, assert_error
from .herder import MemoryHerder

OPEN = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"
NASTY = 'it\'s "quoted" \\ and\nbroken, {äöü}'


def snapshot(names: Iterable[str] = ("src", NASTY)) -> Snapshot:
    """A connector of each name with a source task and a failed one that no host has spoken of."""
    connectors, tasks = [], []
    for name in names:
        meter: SourceMeter | SinkMeter = SourceMeter(Windows(), Counts(), lambda: 1000.6, lambda: 3)
        meter.polled(10, 1000)  # type: ignore[union-attr]
        meter.sent(10, 90)  # type: ignore[union-attr]
        values = {**Times(0).values(1001), **meter.values(1001, 1.7e9)}
        about = About({"connector-class": "C", "task-class": "T"}, {"f": ("Filter", "1.10")}, {"p": ("HasHeaderKey", "1.9")})
        report = UnitReport("w", 0, "life", UnitId(name, 0), about, values)
        connectors.append(UnitNow(UnitId(name), State.RUNNING, None, {"connector-class": "C"}))
        tasks.append(UnitNow(UnitId(name, 0), State.RUNNING, report))
        tasks.append(UnitNow(UnitId(name, 1), State.FAILED))
    return Snapshot(
        connectors,
        tasks,
        {"connector-count": 2, "connector-startup-success-percentage": None},
        {"epoch": 7, "rebalancing": 0},
        {"leader-name": "w"},
    )


def found(text: bytes, open_metrics: bool = False) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    parse = parse_open if open_metrics else parse_text
    samples: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
    for family in parse(text.decode()):
        for sample in family.samples:
            samples.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return samples


def labels(**given: str) -> frozenset[tuple[str, str]]:
    return frozenset(given.items())


class Library(Collector):
    """The same, written by the client library."""

    def __init__(self, given: Snapshot) -> None:
        self._given = given

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        kinds = {Kind.COUNTER: "counter", Kind.INFO: "info"}
        for metric, samples in families(self._given):
            family = Metric(metric.name, metric.doc, kinds.get(metric.kind, "gauge"))
            for values, number in samples:
                family.add_sample(metric.shown, dict(zip(metric.labels, values)), number)
            if samples:
                yield family


@pytest.mark.parametrize("open_metrics", [False, True])
def test_both_formats_say_what_the_client_library_would(open_metrics: bool) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Library(snapshot()))
    encode, _ = exposition.choose_encoder(OPEN if open_metrics else "")
    parse = parse_open if open_metrics else parse_text

    def read(text: bytes) -> list[object]:
        # As texts: one NaN is not another.
        return [
            (family.name, family.documentation, family.type, s.name, sorted(s.labels.items()), repr(s.value))
            for family in parse(text.decode())
            for s in family.samples
        ]

    ours = read(metrics.write(snapshot(), open_metrics))
    assert ours == read(encode(registry))
    assert len(ours) > 90


def test_one_series_with_the_state_also_of_what_never_came_to_life() -> None:
    """With one for each state, what joins other metrics with it (`on(connector, task) group_left(status)`) is an error."""
    samples = found(metrics.write(snapshot()))["kafka_connect_connector_task_status"]
    failed = {("connector", "src"), ("task", "1")}
    assert [(dict(at)["status"], value) for at, value in samples.items() if failed < at] == [("failed", 1)]
    units = [at - {pair for pair in at if pair[0] == "status"} for at in samples]
    assert len(set(units)) == len(units) > 1


def test_what_a_connector_is_stands_in_series_of_their_own_too() -> None:
    samples = found(metrics.write(snapshot()))
    (info,) = [dict(at) for at in samples["kafka_connect_connector_info"] if dict(at)["connector"] == "src"]
    for text in ("connector_class", "connector_type", "connector_version"):
        assert samples[f"kafka_connect_connector_{text}"][labels(connector="src", **{text: info[text]})] == 1
    assert info["connector_class"]


def test_numbers_have_the_labels_of_connector_and_task() -> None:
    samples = found(metrics.write(snapshot()))
    at = labels(connector="src", task="0")
    assert samples["kafka_connect_source_task_source_record_poll_total"][at] == 10
    assert samples["kafka_connect_source_task_source_record_write_total"][at] == 7
    assert samples["kafka_connect_connector_task_last_progress_timestamp_seconds"][at] == 1.7e9 - 0.4
    assert math.isnan(samples["kafka_connect_connector_task_offset_commit_avg_time_ms"][at])
    assert samples["kafka_connect_connector_transform_info"] == {
        labels(connector=name, task="0", transform="f", transform_class="Filter", transform_version="1.10"): 1
        for name in ("src", NASTY)
    }
    # Nobody has counted anything for the other task.
    assert labels(connector="src", task="1") not in samples["kafka_connect_source_task_source_record_poll_total"]


def test_tasks_are_counted_by_state() -> None:
    samples = found(metrics.write(snapshot()))
    at = labels(connector="src")
    counts = {
        name.removeprefix("kafka_connect_worker_connector_").removesuffix("_task_count"): values[at]
        for name, values in samples.items()
        if name.endswith("_task_count") and at in values
    }
    assert counts == {
        "total": 2,
        "running": 1,
        "failed": 1,
        "paused": 0,
        "unassigned": 0,
        "restarting": 0,
        "destroyed": 0,
    }


@pytest.mark.parametrize("open_metrics", [False, True])
def test_what_plugins_publish_has_labels_that_say_whose_it_is(open_metrics: bool) -> None:
    bean = Published("debezium_metrics", (("context", NASTY), ("task", "own")), {"Lag_total": 5.0, "Behind": None})
    reports = [UnitReport("w", 0, "life", UnitId("src", task), published=(bean, bean)) for task in (-1, 0)]
    # A name of kconnect's own stays that.
    taken = Published("kafka_connect_worker", (), {"task_count": 99.0, "connector_startup_attempts": 99.0})
    given = replace(
        snapshot(),
        connectors=[UnitNow(UnitId("src"), State.RUNNING, reports[0])],
        tasks=[UnitNow(UnitId("src", 0), State.RUNNING, reports[1])],
        published={3: [Published("x", (), {"y": 1.0}), taken]},
    )
    text = metrics.write(given, open_metrics)
    samples = found(text, open_metrics)
    assert samples["debezium_metrics_Lag_total"] == {labels(connector="src", context=NASTY, task="own"): 5}
    assert [math.isnan(each) for each in samples["debezium_metrics_Behind"].values()] == [True]
    assert samples["x_y"] == {labels(host="3"): 1}
    assert "kafka_connect_worker_task_count" not in samples
    assert len(text.splitlines()) == len(set(text.splitlines()))


def test_prometheus_gets_what_it_accepts(http: Http, herder: MemoryHerder) -> None:
    herder.metrics = snapshot()
    plain = http("GET", "/metrics")
    assert plain.status_code == 200
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert plain.content == metrics.write(snapshot())
    opened = http("GET", "/metrics", headers={"accept": OPEN})
    assert opened.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert opened.content.endswith(b"# EOF\n")
    assert found(opened.content, True)["kafka_connect_worker_rebalance_epoch"] == {labels(): 7}
    assert http("GET", "/metrics", headers={"accept": "text/html,*/*;q=0.8"}).content == plain.content
    assert http("GET", "/metrics", headers={"accept": "application/json"}).status_code == 406


@pytest.mark.parametrize("version", ["abc", "9" * 5000, "-1", "1.0.0;version=x", ""])
def test_a_version_that_is_none_is_no_error(http: Http, herder: MemoryHerder, version: str) -> None:
    herder.metrics = snapshot()
    response = http("GET", "/metrics", headers={"Accept": f"application/openmetrics-text;version={version}"})
    assert response.status_code == 200
    assert response.text.startswith("# HELP kafka_connect_")


def test_errors_are_json_as_everywhere(http: Http, herder: MemoryHerder) -> None:
    herder.fail_next = RuntimeError("boom")
    assert_error(http("GET", "/metrics"), 500, "boom")
    assert http("POST", "/metrics").status_code == 405


def test_many_who_ask_at_once_share_what_is_written(herder: MemoryHerder) -> None:
    """A reader keeps hundreds of requests under way: written for each, they would keep threads and memory from all others."""
    herder.metrics = snapshot()
    app = build(herder, RestSettings(ADVERTISED))

    async def work() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://worker-1:8083") as client:
            return await asyncio.gather(*(client.get("/metrics") for _ in range(100)))

    answers = asyncio.run(work())
    assert {answer.content for answer in answers} == {metrics.write(snapshot())}
    assert sum(isinstance(request, GetMetrics) for request in herder.seen) < 20
