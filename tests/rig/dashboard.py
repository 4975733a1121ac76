"""
The Grafana dashboard, docs/grafana/kconnect.json, made from the panels below: `.venv/bin/python -m tests.rig.dashboard`.

`tests/docs/test_dashboard.py` compares the file with what this makes; `tests/integration/test_prometheus.py` puts each query to
a Prometheus that scrapes a worker. Grafana fills in what a panel does not say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parents[2] / "docs" / "grafana" / "kconnect.json"

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS = 24
_HEIGHT = {"stat": 4, "timeseries": 8, "table": 8}
_JOB = 'job=~"$job"'
_CONNECTOR = f'{_JOB},connector=~"$connector"'
_RATE = "[$__rate_interval]"


class Query(NamedTuple):
    """`needs` says what must be the case for a query to have a result; empty: it has one on each cluster that does anything."""

    expression: str
    legend: str = ""
    needs: str = ""


class Panel(NamedTuple):
    """`alarm` is from which value on a number is red."""

    kind: str
    title: str
    width: int
    description: str
    queries: tuple[Query, ...]
    unit: str = "short"
    alarm: float | None = None


def _of(metric: str, labels: str = _CONNECTOR, more: str = "") -> str:
    return f"kafka_connect_{metric}{{{labels}{more and ','}{more}}}"


def _rate_by_connector(metric: str) -> str:
    return f"sum by (connector) (rate({_of(metric)}{_RATE}))"


def _count(expression: str) -> str:
    return f"count({expression}) or vector(0)"


_TASK_STATE = "connector_task_status"
_FAILED = 'status="failed"'
_LAG = f"{_of('sink_task_sink_record_lag')} >= 0"
_TASK = "{{connector}}/{{task}}"
_HOST = "{{instance}} host {{host}}"

ROWS: dict[str, tuple[Panel, ...]] = {
    "Cluster": (
        Panel("stat", "Workers", 3, "Workers that answer Prometheus.", (Query(_count(f"up{{{_JOB}}} == 1")),)),
        Panel(
            "stat",
            "Workers wanted",
            3,
            "As many as the CPU of all task hosts wants (GET /cluster/demand).",
            (Query(f"max({_of('worker_workers_wanted', _JOB)})"),),
        ),
        Panel(
            "stat",
            "Leader",
            6,
            "The leader that the workers know. Several names, or none, for longer than a moment: KconnectNoLeader.",
            (Query(f"count by (leader_name) ({_of('worker_rebalance_info', _JOB)})", "{{leader_name}}"),),
        ),
        Panel(
            "stat", "Connectors", 3, "Connectors that workers have.", (Query(f"sum({_of('worker_connector_count', _JOB)})"),)
        ),
        Panel(
            "stat",
            "Tasks that run",
            3,
            "Tasks whose state is RUNNING.",
            (Query(_count(_of(_TASK_STATE, _JOB, 'status="running"'))),),
        ),
        Panel(
            "stat",
            "Failed",
            3,
            "Connectors and tasks that have failed: KconnectConnectorFailed, KconnectTaskFailed.",
            (Query(f"({_count(_of('connector_status', _JOB, _FAILED))}) + ({_count(_of(_TASK_STATE, _JOB, _FAILED))})"),),
            alarm=1,
        ),
        Panel(
            "stat",
            "Not placed",
            3,
            "Tasks that are neither running nor paused nor failed: KconnectTaskNotRunning.",
            (Query(_count(_of(_TASK_STATE, _JOB, 'status=~"unassigned|restarting"'))),),
            alarm=1,
        ),
    ),
    "Connectors": (
        Panel(
            "timeseries",
            "Records in",
            12,
            "From the source, or from Kafka, before transforms.",
            (
                Query(_rate_by_connector("source_task_source_record_poll_total"), "{{connector}}"),
                Query(_rate_by_connector("sink_task_sink_record_read_total"), "{{connector}}"),
            ),
            "cps",
        ),
        Panel(
            "timeseries",
            "Records out",
            12,
            "To Kafka, or to the sink, after transforms.",
            (
                Query(_rate_by_connector("source_task_source_record_write_total"), "{{connector}}"),
                Query(_rate_by_connector("sink_task_sink_record_send_total"), "{{connector}}"),
            ),
            "cps",
        ),
        Panel(
            "timeseries",
            "Lag of sinks",
            12,
            "Records that sinks still have to read. A paused sink has none that is known: KconnectSinkLagGrows.",
            (Query(f"sum by (connector) ({_LAG})", "{{connector}}"),),
        ),
        Panel(
            "timeseries",
            "Records that failed",
            12,
            "Failed for good, with those that were dropped and those that went to a dead letter queue: KconnectRecordsDropped, "
            "KconnectDeadLetters.",
            (
                Query(_rate_by_connector("task_error_total_record_errors_total"), "{{connector}} failed"),
                Query(_rate_by_connector("task_error_total_records_skipped_total"), "{{connector}} skipped"),
                Query(_rate_by_connector("task_error_deadletterqueue_produce_requests_total"), "{{connector}} dead letters"),
            ),
            "cps",
        ),
        Panel(
            "timeseries",
            "Since the last record",
            12,
            "How long ago a connector last moved records.",
            (Query(f"time() - max by (connector) ({_of('connector_task_last_progress_timestamp_seconds')})", "{{connector}}"),),
            "s",
        ),
        Panel(
            "timeseries",
            "Trying again",
            12,
            "For how long tasks have made the same call again and again: KconnectTaskRetrying.",
            (
                Query(
                    f"time() - ({_of('task_error_retrying_since_timestamp_seconds')} > 0)",
                    _TASK,
                    "a task that tries a call again",
                ),
            ),
            "s",
        ),
        Panel(
            "table",
            "States",
            24,
            "Each task with its state and worker.",
            (Query(f"max by (connector, task, status, instance) ({_of(_TASK_STATE)})"),),
        ),
    ),
    "Tasks": (
        Panel(
            "timeseries",
            "CPU",
            12,
            "Cores that each task's own threads take.",
            (Query(f"sum by (connector, task) (rate({_of('connector_task_cpu_seconds_total')}{_RATE}))", _TASK),),
        ),
        Panel(
            "timeseries",
            "Polls and puts",
            12,
            "How long a poll of a source, or a put of a sink, takes on average, if there were records.",
            (
                Query(_of("source_task_poll_batch_avg_time_ms"), f"{_TASK} poll"),
                Query(_of("sink_task_put_batch_avg_time_ms"), f"{_TASK} put"),
            ),
            "ms",
        ),
        Panel(
            "timeseries",
            "Records under way",
            12,
            "Of sources those not acknowledged when a poll ended last, of sinks those that are read and not committed.",
            (
                Query(_of("source_task_source_record_active_count"), _TASK),
                Query(_of("sink_task_sink_record_active_count"), _TASK),
            ),
        ),
        Panel(
            "timeseries",
            "Commits of offsets",
            12,
            "How long they take on average. For an exactly-once source they are transactions.",
            (Query(_of("connector_task_offset_commit_avg_time_ms"), _TASK),),
            "ms",
        ),
        Panel(
            "timeseries",
            "Commits that fail",
            12,
            "The fraction of them: KconnectOffsetCommitsFail.",
            (Query(_of("connector_task_offset_commit_failure_percentage"), _TASK),),
            "percentunit",
        ),
        Panel(
            "timeseries",
            "Transactions",
            12,
            "Records in a transaction of an exactly-once source, on average.",
            (Query(_of("source_task_transaction_size_avg"), _TASK),),
        ),
    ),
    "Workers and task hosts": (
        Panel("timeseries", "Tasks", 12, "Tasks of each worker.", (Query(_of("worker_task_count", _JOB), "{{instance}}"),)),
        Panel(
            "timeseries",
            "CPU of task hosts",
            12,
            "Cores that each host's process takes.",
            (Query(f"rate({_of('task_host_cpu_seconds_total', _JOB)}{_RATE})", _HOST),),
        ),
        Panel(
            "timeseries",
            "Memory of task hosts",
            12,
            "Resident memory, and the limit where there is one.",
            (
                Query(_of("task_host_memory_bytes", _JOB), _HOST),
                Query(_of("task_host_memory_max_bytes", _JOB), f"{_HOST} limit", "a host with a limit"),
            ),
            "bytes",
        ),
        Panel(
            "timeseries",
            "Silence of task hosts",
            12,
            "For how long a host has not run what it has: KconnectTaskHostSilent.",
            (Query(_of("task_host_silent_seconds", _JOB), _HOST),),
            "s",
        ),
        Panel(
            "timeseries",
            "Starts of task hosts",
            12,
            "How often a host's process started anew in the last hour: KconnectTaskHostRestarts.",
            (Query(f"changes({_of('task_host_start_timestamp_seconds', _JOB)}[1h])", _HOST),),
        ),
        Panel(
            "timeseries",
            "Rebalances",
            12,
            "New assignments in an hour, and the longest time until one was in effect: KconnectRebalancesOften, "
            "KconnectRebalanceStuck.",
            (
                Query(f"increase({_of('worker_rebalance_completed_rebalances_total', _JOB)}[1h])", "{{instance}}"),
                Query(f"{_of('worker_rebalance_rebalance_max_time_ms', _JOB)} / 1000", "{{instance}} longest, seconds"),
            ),
        ),
    ),
}


def queries() -> Iterator[Query]:
    """Yield the queries of all panels."""
    for panels in ROWS.values():
        for panel in panels:
            yield from panel.queries


def text() -> str:
    """Return the dashboard as the file has it."""
    dashboard = {
        "title": "kconnect",
        "uid": "kconnect",
        "tags": ["kafka", "kconnect"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": list(_variables())},
        "panels": list(_panels()),
    }
    return json.dumps(dashboard, indent=2) + "\n"


def _variables() -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    queried = {
        "job": ("Cluster", "label_values(kafka_connect_worker_task_count, job)"),
        "connector": ("Connector", 'label_values(kafka_connect_connector_status{job=~"$job"}, connector)'),
    }
    for name, (label, query) in queried.items():
        everything = {"multi": True, "includeAll": True, "allValue": ".*"} if name == "connector" else {}
        yield {
            "name": name,
            "label": label,
            "type": "query",
            "datasource": _SOURCE,
            "definition": query,
            "query": {"query": query, "refId": name},
            # When the time range changes: connectors come and go.
            "refresh": 2,
            "sort": 1,
            **everything,
        }


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for title, panels in ROWS.items():
        number += 1
        yield {"id": number, "type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": _place(0, top, 24, 1)}
        top, left, height = top + 1, 0, 0
        for panel in panels:
            if left + panel.width > _COLUMNS:
                top, left, height = top + height, 0, 0
            number += 1
            height = max(height, _HEIGHT[panel.kind])
            yield {"id": number, **_panel(panel), "gridPos": _place(left, top, panel.width, _HEIGHT[panel.kind])}
            left += panel.width
        top += height


def _place(left: int, top: int, width: int, height: int) -> dict[str, int]:
    return {"x": left, "y": top, "w": width, "h": height}


def _panel(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.alarm is not None:
        steps.append({"color": "red", "value": panel.alarm})
    options: dict[str, Any] = {}
    if panel.kind == "stat":
        shows_name = any(query.legend for query in panel.queries)
        options = {"textMode": "name" if shows_name else "value", "reduceOptions": {"calcs": ["lastNotNull"]}}
    now = {"instant": True, "range": False, "format": "table"} if panel.kind == "table" else {}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": _SOURCE,
                "expr": expression,
                "legendFormat": legend or "__auto",
                **now,
            }
            for place, (expression, legend, _) in enumerate(panel.queries)
        ],
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
        "options": options,
    }


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(), "utf-8")
