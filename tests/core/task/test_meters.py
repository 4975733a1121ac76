"""What tasks count."""

from __future__ import annotations

from kconnect.core.metrics import table
from kconnect.core.task.errors import Counts
from kconnect.core.task.lifecycle import Phase
from kconnect.core.task.meters import SinkMeter, SourceMeter, Times
from kconnect.core.task.windows import Windows

W = Windows()


class Clock:
    """A meter's, which stands still until it is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_source_counts_what_it_polled_and_what_kafka_acknowledged() -> None:
    waiting = 0
    clock = Clock()
    meter = SourceMeter(W, Counts(), clock, lambda: waiting)
    clock.now = 1000.5
    meter.polled(100, 1000.0)
    waiting, clock.now = 90, 1000.6
    meter.sent(90, 900)
    values = meter.values(1001, 5001)
    assert (values["source-record-poll-total"], values["source-record-write-total"]) == (100, 0)
    assert values["source-record-active-count"] == 90
    assert values["value-bytes-total"] == 900
    assert values["poll-batch-max-time-ms"] == 500
    waiting = 20
    assert meter.values(1002, 5002)["source-record-write-total"] == 70
    waiting = 0
    values = meter.values(1003, 5003)
    assert values["source-record-write-total"] == 90
    assert values["source-record-active-count-max"] == 90
    assert values["last-progress-timestamp-seconds"] == 5000.6


def test_a_counter_never_falls_while_a_batch_is_being_handed_over() -> None:
    waiting = 0
    meter = SourceMeter(W, Counts(), Clock(), lambda: waiting)
    meter.sent(10, 1)
    assert meter.values(1000, 1)["source-record-write-total"] == 10
    waiting = 5  # Of the next batch, which has not been counted yet.
    assert meter.values(1001, 2)["source-record-write-total"] == 10


def test_a_sink_counts_reads_puts_commits_and_lag() -> None:
    clock = Clock()
    meter = SinkMeter(W, Counts(), clock)
    assert meter.values(1000, 1)["sink-record-lag"] is None
    meter.read(10, 70)
    clock.now = 1000.25
    meter.put(8, 1000)
    meter.looked(2, [3, 4], 10)
    meter.commit_began()
    clock.now = 1000.4
    meter.committed(1000.3)
    meter.commit_began()
    clock.now = 1000.5
    meter.commit_failed()
    meter.commits_skipped(1)
    values = meter.values(1001, 5001)
    wanted = {
        "sink-record-read-total": 10,
        "sink-record-send-total": 8,
        "put-batch-avg-time-ms": 250,
        "sink-record-lag": 7,
        "sink-record-lag-max": 4,
        "partition-count": 2,
        "sink-record-active-count": 10,
        "offset-commit-seq-no": 2,
        "offset-commit-completion-total": 1,
        "offset-commit-skip-total": 1,
        "offset-commit-success-percentage": 0.5,
        "offset-commit-failure-percentage": 0.5,
        "offset-commit-avg-time-ms": 100,
    }
    assert {name: values[name] for name in wanted} == wanted


def test_an_idle_task_has_no_news_once_its_windows_are_over() -> None:
    meter = SourceMeter(W, Counts(), Clock(), lambda: 0)
    meter.polled(100, 999.5)
    meter.sent(100, 0)
    times = Times(900)
    times.enter(Phase.RUNNING, 900.1)
    said = {**times.values(1100), **meter.values(1100, 5100)}
    # The clocks drift against each other.
    assert said == {**times.values(2000), **meter.values(2000, 6000.2)}


def test_errors_are_the_chains_own_counts() -> None:
    errors = Counts()
    meter = SinkMeter(W, errors, Clock())
    errors.failures, errors.skipped, errors.dead_letters, errors.last_ms = 3, 2, 1, 77
    values = meter.values(1000, 1)
    assert values["total-record-failures"] == 3
    assert values["total-records-skipped"] == 2
    assert values["deadletterqueue-produce-requests"] == 1
    assert values["last-error-timestamp"] == 77


def test_what_is_tried_again_has_a_time_of_day_that_does_not_move() -> None:
    errors = Counts()
    meter = SinkMeter(W, errors, Clock())
    since = "retrying-since-timestamp-seconds"
    assert (meter.values(1000, 5000)[since], meter.retrying) == (0, "")
    errors.tries_again("put()", ValueError("busy"), 990)
    assert (meter.values(1000, 5000)[since], meter.retrying) == (4990, "put(): ValueError: busy")
    errors.tries_again("put()", ValueError("still"), 1100)
    assert (meter.values(1200, 5200.5)[since], meter.retrying) == (4990, "put(): ValueError: still")
    errors.goes_on()
    assert (meter.values(1300, 5300)[since], meter.retrying) == (0, "")


def test_ratios_are_parts_of_the_whole_life() -> None:
    times = Times(100)
    times.enter(Phase.STARTING, 101)
    times.enter(Phase.RUNNING, 105)
    times.enter(Phase.PAUSED, 130)
    assert times.values(200) == {"running-ratio": 0.25, "pause-ratio": 0.7}
    assert Times(100).values(100) == {"running-ratio": 0.0, "pause-ratio": 0.0}


def test_what_meters_count_is_what_the_table_lists() -> None:
    def rows(*groups: table.Group) -> set[str]:
        kinds = (table.Kind.COUNTER, table.Kind.GAUGE)
        return {metric.attribute for metric in table.TABLE if metric.group in groups and metric.kind in kinds}

    both = Times(0).values(1)
    # The host measures that (`host/cpu.py`).
    both["cpu-seconds-total"] = 0.0
    assert both.keys() | SourceMeter(W, Counts(), Clock(), lambda: 0).values(1, 1).keys() == rows(
        table.TASK, table.ERRORS, table.SOURCE
    )
    assert both.keys() | SinkMeter(W, Counts(), Clock()).values(1, 1).keys() == rows(table.TASK, table.ERRORS, table.SINK)
