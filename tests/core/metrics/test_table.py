"""
The table of metrics, and docs/metrics.md, which lists it.

`.venv/bin/python -m tests.core.metrics.test_table` writes the page's list anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from kconnect.core.metrics.table import TABLE, Kind

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
BEGIN, END = "<!-- the table begins -->\n", "<!-- the table ends -->\n"


def listed() -> str:
    """The table as the page has it."""
    lines = ["| name | kind | what it says | Kafka Connect's |", "| --- | --- | --- | --- |"]
    for metric in TABLE:
        labels = ", ".join(metric.labels)
        name = f"`{metric.shown}{{{labels}}}`" if labels else f"`{metric.shown}`"
        if metric.ours:
            theirs = "none"
        elif metric.kind is Kind.INFO:
            theirs = f"{metric.group.name}-metrics: {', '.join(f'`{text}`' for text in metric.texts)}"
        else:
            theirs = f"{metric.group.name}-metrics: `{metric.attribute}`"
        kind = "gauge" if metric.kind is Kind.STATUS else metric.kind.value
        lines.append(f"| {name} | {kind} | {metric.doc} | {theirs} |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_the_table() -> None:
    page = PAGE.read_text("utf-8")
    found = page.partition(BEGIN)[2].partition(END)[0]
    assert found == listed(), "write it anew: .venv/bin/python -m tests.core.metrics.test_table"


def test_names_are_prometheus_and_differ() -> None:
    names = [(metric.shown, metric.labels) for metric in TABLE]
    assert len({name for name, _ in names}) == len(names)
    for name, labels in names:
        assert re.fullmatch(r"kafka_connect_[a-z0-9]+(_[a-z0-9]+)*", name)
        assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", label) for label in labels)


def test_only_counters_end_in_total() -> None:
    assert all(metric.shown.endswith("_total") is (metric.kind is Kind.COUNTER) for metric in TABLE)


def test_names_are_those_that_dashboards_know() -> None:
    names = {metric.shown for metric in TABLE}
    assert {
        "kafka_connect_connector_status",
        "kafka_connect_connector_task_status",
        "kafka_connect_source_task_source_record_poll_total",
        "kafka_connect_source_task_source_record_write_rate",
        "kafka_connect_sink_task_sink_record_send_total",
        "kafka_connect_connector_task_offset_commit_avg_time_ms",
        "kafka_connect_worker_connector_startup_failure_total",
        "kafka_connect_worker_connector_failed_task_count",
        "kafka_connect_worker_rebalance_completed_rebalances_total",
    } <= names


# JMX's attributes by group, as Kafka Connect 4.3 has them.
THEIRS = {
    "connector": "status connector-type connector-class connector-version",
    "connector-task": (
        "status running-ratio pause-ratio offset-commit-max-time-ms offset-commit-avg-time-ms batch-size-max batch-size-avg "
        "offset-commit-failure-percentage offset-commit-success-percentage connector-class connector-version connector-type "
        "task-class task-version key-converter-class value-converter-class key-converter-version value-converter-version "
        "header-converter-class header-converter-version"
    ),
    "connector-transform": "transform-class transform-version",
    "connector-predicate": "predicate-class predicate-version",
    "source-task": (
        "source-record-poll-rate source-record-poll-total source-record-write-rate source-record-write-total "
        "poll-batch-max-time-ms poll-batch-avg-time-ms source-record-active-count source-record-active-count-max "
        "source-record-active-count-avg transaction-size-min transaction-size-max transaction-size-avg"
    ),
    "sink-task": (
        "sink-record-read-rate sink-record-read-total sink-record-send-rate sink-record-send-total sink-record-lag-max "
        "partition-count offset-commit-seq-no offset-commit-completion-rate offset-commit-completion-total "
        "offset-commit-skip-rate offset-commit-skip-total put-batch-max-time-ms put-batch-avg-time-ms "
        "sink-record-active-count sink-record-active-count-max sink-record-active-count-avg"
    ),
    "connect-worker": (
        "connector-count task-count connector-startup-attempts-total connector-startup-success-total "
        "connector-startup-success-percentage connector-startup-failure-total connector-startup-failure-percentage "
        "task-startup-attempts-total task-startup-success-total task-startup-success-percentage task-startup-failure-total "
        "task-startup-failure-percentage connector-total-task-count connector-running-task-count "
        "connector-paused-task-count connector-failed-task-count connector-unassigned-task-count "
        "connector-destroyed-task-count connector-restarting-task-count"
    ),
    "connect-worker-rebalance": (
        "connect-protocol leader-name epoch completed-rebalances-total rebalancing rebalance-max-time-ms "
        "rebalance-avg-time-ms time-since-last-rebalance-ms"
    ),
    "task-error": (
        "total-record-failures total-record-errors total-records-skipped total-retries total-errors-logged "
        "deadletterqueue-produce-requests deadletterqueue-produce-failures last-error-timestamp"
    ),
}


def test_every_attribute_of_kafka_connect_is_there() -> None:
    ours: dict[str, set[str]] = {}
    for metric in TABLE:
        if not metric.ours:
            ours.setdefault(metric.group.name, set()).update(metric.texts or (metric.attribute,))
    assert ours == {group: set(names.split()) for group, names in THEIRS.items()}


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    PAGE.write_text(text.partition(BEGIN)[0] + BEGIN + listed() + END + text.partition(END)[2], "utf-8")
