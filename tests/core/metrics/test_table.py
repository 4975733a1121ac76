"""
The table of metrics, and docs/metrics.md, which lists it; rules that record it under the names of others' dashboards.

`.venv/bin/python -m tests.core.metrics.test_table` writes the page's list anew, and docs/prometheus-rules.yml.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from kconnect.core.metrics.table import (
    BY_CONNECTOR,
    CONNECTOR,
    COORDINATOR,
    ERRORS,
    REBALANCE,
    SINK,
    SOURCE,
    TABLE,
    TASK,
    WORKER,
    Kind,
    Metric,
)

RULES = Path(__file__).parents[3] / "docs" / "prometheus-rules.yml"
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
        kind = "gauge" if metric.kind in (Kind.STATUS, Kind.TEXT) else metric.kind.value
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
    "connect-coordinator": "assigned-connectors assigned-tasks",
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


HEAD = """\
# Recording rules for Prometheus: kconnect's metrics under the names that dashboards of others have. docs/metrics.md says more.
# Load it by `rule_files`, and leave out the group that you don't need.
groups:
"""


def rules() -> str:
    """The file of recording rules. Labels stay as they are but for those that a rule adds."""
    strimzi = [(metric.shown.removesuffix("_total"), metric, "") for metric in TABLE if metric.group is ERRORS]
    groups = {
        "kconnect-for-strimzi": [rule for rule in strimzi if rule[0] != rule[1].shown],
        "kconnect-for-confluent": [(confluents(metric), metric, aggregate(metric)) for metric in TABLE if is_theirs(metric)],
    }
    lines = [HEAD]
    for name, found in groups.items():
        lines.append(f"  - name: {name}\n    rules:\n")
        lines += [f"      - record: {record}\n        expr: {known(metric)}\n{more}" for record, metric, more in found]
    return "".join(lines)


def known(metric: Metric) -> str:
    # Those of which the text is not known yet would be one series.
    return f"{metric.shown}{{{metric.labels[-1]}!=''}}" if metric.kind is Kind.TEXT else metric.shown


def is_theirs(metric: Metric) -> bool:
    groups = (CONNECTOR, TASK, SOURCE, SINK, ERRORS, WORKER, BY_CONNECTOR, COORDINATOR, REBALANCE)
    return metric.group in groups and metric.kind is not Kind.INFO and not metric.ours


def aggregate(metric: Metric) -> str:
    return "        labels: {connector: aggregate}\n" if metric.group is WORKER else ""


def confluents(metric: Metric) -> str:
    group = f"kafka_connect_{metric.group.name.replace('-', '_')}_metrics"
    if metric.kind in (Kind.STATUS, Kind.TEXT) and metric.group is CONNECTOR:
        return group
    own = metric.attribute.replace("-", "_")
    return f"{group}_{own.removesuffix('_total') if metric.group is REBALANCE else own}"


def test_the_rules_are_those_of_the_table() -> None:
    assert RULES.read_text("utf-8") == rules(), "write them anew: .venv/bin/python -m tests.core.metrics.test_table"


def test_the_rules_record_what_is_served_under_names_that_are_not() -> None:
    served = {metric.shown for metric in TABLE}
    found = [rule for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"] for rule in group["rules"]]
    assert {rule["expr"].partition("{")[0] for rule in found} <= served
    assert not {rule["record"] for rule in found} & served
    # Where rules share a name, a label of theirs tells the series apart.
    names = [rule["record"] for rule in found]
    assert {name for name in names if names.count(name) > 1} == {"kafka_connect_connector_metrics"}
    texts = [metric.labels for metric in TABLE if metric.group is CONNECTOR and metric.kind is not Kind.INFO]
    assert len(set(texts)) == len(texts) == names.count("kafka_connect_connector_metrics")


# What is asked for by Grafana dashboards, but for the JVM's metrics and those of Kafka's clients.
DASHBOARDS = """
kafka_connect_connector_status kafka_connect_connector_connector_class kafka_connect_connector_connector_version
kafka_connect_connector_connector_type kafka_connect_coordinator_assigned_connectors kafka_connect_coordinator_assigned_tasks
kafka_connect_task_error_total_record_failures kafka_connect_connector_task_status kafka_connect_worker_connector_count
kafka_connect_worker_connector_destroyed_task_count kafka_connect_worker_connector_failed_task_count
kafka_connect_worker_rebalance_rebalancing kafka_connect_worker_task_count
kafka_connect_connect_worker_metrics_connector_count kafka_connect_connect_worker_metrics_connector_failed_task_count
kafka_connect_connect_worker_metrics_connector_startup_failure_total kafka_connect_connect_worker_metrics_task_count
kafka_connect_connect_worker_rebalance_metrics_completed_rebalances kafka_connect_connector_metrics
kafka_connect_connect_worker_rebalance_metrics_time_since_last_rebalance_ms
kafka_connect_connector_task_metrics_offset_commit_success_percentage kafka_connect_connector_task_metrics_pause_ratio
kafka_connect_sink_task_metrics_sink_record_send_rate kafka_connect_source_task_metrics_source_record_poll_rate
kafka_connect_task_error_metrics_total_record_errors kafka_connect_task_error_metrics_deadletterqueue_produce_requests
"""


def test_what_dashboards_ask_for_is_served_or_recorded() -> None:
    found = [rule for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"] for rule in group["rules"]]
    assert set(DASHBOARDS.split()) <= {metric.shown for metric in TABLE} | {rule["record"] for rule in found}


if __name__ == "__main__":
    text = PAGE.read_text("utf-8")
    RULES.write_text(rules(), "utf-8")
    PAGE.write_text(text.partition(BEGIN)[0] + BEGIN + listed() + END + text.partition(END)[2], "utf-8")
