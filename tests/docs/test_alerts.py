"""
The alerts of docs/alerts.yml: they use metrics that there are, each has a runbook, and each fires when it is to, and only then.

`tests/integration/test_prometheus.py` has a Prometheus scrape a real worker. `tests/cli/test_manual.py` checks the commands of
the runbooks are accepted.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tests.docs import metric_names
from tests.docs.pages import DOCS
from tests.docs.test_pages import anchors

FILE, PAGE = DOCS / "alerts.yml", DOCS / "alerts.md"
RULES = {rule["alert"]: rule for group in yaml.safe_load(FILE.read_text("utf-8"))["groups"] for rule in group["rules"]}

every_alert = pytest.mark.parametrize("name", RULES)

Series = Mapping[str, str]
"""The values of series, a minute apart, as promtool writes them."""


def on(name: str, labels: str = "", instance: str = "node-1:8083") -> str:
    return f'{name}{{job="kconnect",instance="{instance}"{labels and ","}{labels}}}'


def task(name: str, labels: str = "", instance: str = "node-1:8083") -> str:
    return on(name, f'connector="orders",task="0"{labels and ","}{labels}', instance)


@dataclass(frozen=True)
class Case:
    """An alert fires `at` so many minutes with `fires`, and not with any of `silent`."""

    alert: str
    fires: Series
    at: int
    labels: Mapping[str, str]
    summary: str
    silent: list[Series] = field(default_factory=list)


WORKER = {"job": "kconnect", "instance": "node-1:8083"}
HOST = {**WORKER, "host": "1"}
CONNECTOR = {"job": "kconnect", "connector": "orders"}
TASK = {**CONNECTOR, "task": "0"}

LEADER, REBALANCING = "kafka_connect_worker_rebalance_info", "kafka_connect_worker_rebalance_rebalancing"
COMPLETED = "kafka_connect_worker_rebalance_completed_rebalances_total"
WANTED, TASKS = "kafka_connect_worker_workers_wanted", "kafka_connect_worker_task_count"
SILENT, STARTED = "kafka_connect_task_host_silent_seconds", "kafka_connect_task_host_start_timestamp_seconds"
MEMORY = "kafka_connect_task_host_memory_bytes"
STATE, TASK_STATE = "kafka_connect_connector_status", "kafka_connect_connector_task_status"
RETRYING = "kafka_connect_task_error_retrying_since_timestamp_seconds"
LAG, FAILURES = "kafka_connect_sink_task_sink_record_lag", "kafka_connect_connector_task_offset_commit_failure_percentage"
SKIPPED = "kafka_connect_task_error_total_records_skipped_total"
LETTERS = "kafka_connect_task_error_deadletterqueue_produce_requests_total"
NEVER = "-1000000000+0x60"
"""Long before the minute 0, which is 1970: a time of 0 would be that minute."""
LAST_ERROR = "kafka_connect_task_error_last_error_timestamp"

CASES = (
    Case(
        "KconnectWorkerDown",
        {on("up"): "1 1 0+0x10"},
        6,
        WORKER,
        "The worker node-1:8083 of kconnect does not answer",
        [{on("up"): "1 1 0 1+0x10", 'up{job="node",instance="node-1:9100"}': "0+0x20"}],
    ),
    Case("KconnectWorkerDown", {'up{job="node",instance="node-1:9100"}': "1+0x20"}, 6, {}, "No worker is scraped"),
    Case(
        "KconnectNoLeader",
        {on(LEADER, 'leader_name="",connect_protocol="kconnect"'): "1+0x20"},
        5,
        WORKER | {"connect_protocol": "kconnect"},
        "The worker node-1:8083 of kconnect knows no leader: changes and failures lead to nothing",
        [
            {on(LEADER, 'leader_name="node-2:8083",connect_protocol="kconnect"'): "1+0x20"},
            # Another leader is elected: the series of the first one ends.
            {
                on(LEADER, 'leader_name="a",connect_protocol="kconnect"'): "1 1 1 stale",
                on(LEADER, 'leader_name="",connect_protocol="kconnect"'): "_ _ _ 1 stale",
                on(LEADER, 'leader_name="b",connect_protocol="kconnect"'): "_ _ _ _ 1+0x20",
            },
        ],
    ),
    Case(
        "KconnectRebalanceStuck",
        {on(REBALANCING): "0 1+0x30", on(LEADER, 'leader_name="a"'): "1+0x40"},
        15,
        WORKER,
        "The hosts of node-1:8083 of kconnect do not run what the leader gave them",
        [
            {on(REBALANCING): "1 1 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1 0+0x30", on(LEADER, 'leader_name="a"'): "1+0x40"},
            {on(REBALANCING): "1+0x30", on(LEADER, 'leader_name=""'): "1+0x40"},
        ],
    ),
    Case(
        "KconnectRebalancesOften",
        {on(COMPLETED): "0+2x120"},
        60,
        WORKER,
        "Work is given to node-1:8083 of kconnect anew, over and over",
        # Many connectors are created, once.
        [{on(COMPLETED): "0+0x20 1+20x5 120+0x120"}],
    ),
    Case(
        "KconnectMoreWorkersWanted",
        {on(WANTED): "3+0x30", on(WANTED, instance="b"): "3+0x30", on(TASKS): "4+0x30", on(TASKS, instance="b"): "4+0x30"},
        20,
        {"job": "kconnect"},
        "The load of kconnect wants 3 workers, which is more than there are",
        [{on(WANTED): "2+0x30", on(WANTED, instance="b"): "2+0x30", on(TASKS): "4+0x30", on(TASKS, instance="b"): "4+0x30"}],
    ),
    Case(
        "KconnectTaskHostSilent",
        {on(SILENT, 'host="1"'): "0 12 72 132 192 252", on(SILENT, 'host="0"'): "0+0x9"},
        4,
        HOST,
        "Task host 1 of node-1:8083 does not run what it has, or nobody can know whether it does",
        [{on(SILENT, 'host="1"'): "0 12 20 0 12 0"}],
    ),
    Case(
        "KconnectTaskHostRestarts",
        {on(STARTED, 'host="1"'): "100 100 200 200 300 stale 400 400+0x9"},
        10,
        HOST,
        "Task host 1 of node-1:8083 has started again 3 times in half an hour",
        # The worker was restarted, and later the host's machine.
        [{on(STARTED, 'host="1"'): "100 100 200 200 200 300+0x9"}],
    ),
    Case(
        "KconnectNoHostReports",
        {on(TASKS): "0+0x30", on(MEMORY, 'host="0"', "b"): "100+0x30", on(TASKS, instance="b"): "5+0x30"},
        15,
        WORKER,
        "No task host of node-1:8083 of kconnect reports: it has none, or the metrics topic can't be used",
        # It starts: Spark takes a while.
        [{on(TASKS): "0+0x30", on(MEMORY, 'host="0"'): "_ _ _ 100+0x30"}],
    ),
    Case(
        "KconnectConnectorFailed",
        {on(STATE, 'connector="orders",status="failed"'): "1+0x9"},
        3,
        CONNECTOR,
        "The connector orders of kconnect has failed",
        [{on(STATE, f'connector="orders",status="{status}"'): "1+0x9"} for status in ("running", "paused", "stopped")],
    ),
    Case(
        "KconnectTaskFailed",
        # It has moved to another worker, and fails there, too.
        {task(TASK_STATE, 'status="failed"'): "1 1 stale", task(TASK_STATE, 'status="failed"', "b"): "_ _ 1+0x9"},
        2,
        TASK,
        "Task 0 of orders of kconnect has failed",
        [
            # It is restarted by itself.
            {task(TASK_STATE, 'status="failed"'): "1 stale", task(TASK_STATE, 'status="running"'): "_ 1+0x9"},
            {task(TASK_STATE, 'status="paused"'): "1+0x9"},
        ],
    ),
    Case(
        "KconnectTaskNotRunning",
        {task(TASK_STATE, 'status="unassigned"'): "1 1 1 stale", task(TASK_STATE, 'status="restarting"'): "_ _ _ 1+0x9"},
        7,
        TASK,
        "Task 0 of orders of kconnect has not been running for five minutes",
        [{task(TASK_STATE, 'status="unassigned"'): "1 1 1 stale", task(TASK_STATE, 'status="running"'): "_ _ _ 1+0x9"}],
    ),
    Case(
        "KconnectTaskRetrying",
        {task(RETRYING): "0 0 60+0x30"},
        11,
        TASK,
        "Task 0 of orders of kconnect has tried the same again for 10m 0s",
        # It went on in between.
        [{task(RETRYING): "0 60 120 180 0 300 360 420 480 540 600 660 720"}, {task(RETRYING): "0+0x30"}],
    ),
    Case(
        "KconnectSinkLagGrows",
        {task(LAG): "10000+1000x90"},
        60,
        CONNECTOR,
        "The sink orders of kconnect is 70k records behind, and falls further behind",
        [
            # A backlog that is worked off; one that stays; few records; a sink that is paused, of which nothing is known.
            {task(LAG): "100000-1000x90"},
            {task(LAG): "20000+0x90"},
            {task(LAG): "0+50x90"},
            {task(LAG): "10000+1000x20 NaN+0x70"},
        ],
    ),
    Case(
        "KconnectOffsetCommitsFail",
        {task(FAILURES): "0 1+0x20"},
        12,
        TASK,
        "Task 0 of orders of kconnect can't commit its offsets",
        [{task(FAILURES): "0 1 1 1 0 1 0 0 1 1 1 1 0+0x9"}, {task(FAILURES): "NaN+0x20"}],
    ),
    Case(
        "KconnectRecordsDropped",
        # The task has just started with a bad record.
        {task(SKIPPED): "7+0x20", task(LETTERS): "0+0x20", task(LAST_ERROR): "30000+0x20"},
        3,
        CONNECTOR,
        "The connector orders of kconnect drops records that no dead letter queue has",
        [
            {task(SKIPPED): "0+7x20", task(LETTERS): "0+7x20", task(LAST_ERROR): "0+60000x20"},
            {task(SKIPPED): "0+0x20", task(LETTERS): "0+0x20", task(LAST_ERROR): NEVER},
        ],
    ),
    Case(
        "KconnectRecordsDropped",
        # The task itself passed over them: that is no error with a time.
        {task(SKIPPED): "0+0x20 0+5x20", task(LETTERS): "0+0x40", task(LAST_ERROR): NEVER},
        30,
        CONNECTOR,
        "The connector orders of kconnect drops records that no dead letter queue has",
        [{task(SKIPPED): "5+0x40", task(LETTERS): "0+0x40", task(LAST_ERROR): NEVER}],
    ),
    Case(
        "KconnectDeadLetters",
        {task(LETTERS): "3+0x20", task(LAST_ERROR): "30000+0x20"},
        3,
        CONNECTOR,
        "The connector orders of kconnect has sent records to its dead letter queue in the last ten minutes",
        # Long ago; errors without a queue.
        [
            {task(LETTERS): "3+0x60", task(LAST_ERROR): "-900000+0x60"},
            {task(LETTERS): "0+0x20", task(LAST_ERROR): "30000+0x20"},
        ],
    ),
)


# --- names ---


@every_alert
def test_metrics_and_labels_are_those_that_are_served(name: str) -> None:
    assert list(metric_names.unknown(RULES[name]["expr"])) == []


@pytest.mark.parametrize(
    ("expression", "unknown"),
    [
        ('up{stage="x"}', "up{stage}"),
        ("kafka_connect_lag", "kafka_connect_lag"),
        ("sum by (stage) (up)", "by stage"),
        ('up and kafka_connect_task_host_memory_bytes{host="1",task=~"0"}', "kafka_connect_task_host_memory_bytes{task}"),
        ("vector(1)", ""),
    ],
)
def test_a_metric_or_label_that_is_not_there_is_found(expression: str, unknown: str) -> None:
    assert list(metric_names.unknown(expression)) == [unknown]


@every_alert
def test_a_rule_says_how_bad_it_is_and_what_has_happened(name: str) -> None:
    rule = RULES[name]
    assert re.fullmatch(r"Kconnect[A-Z]\w+", name)
    assert rule["labels"].keys() == {"severity"} and rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"].keys() == {"summary", "runbook"}
    for case in CASES:
        if case.alert == name:
            # Of a label that is not there, nothing stands in the summary.
            assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= (case.labels or WORKER).keys()


# --- runbooks ---


@every_alert
def test_each_alert_has_a_runbook(name: str) -> None:
    page, _, anchor = RULES[name]["annotations"]["runbook"].partition("#")
    assert DOCS.parent / page == PAGE
    assert anchor == name.lower() and anchor in anchors(PAGE)
    section = PAGE.read_text("utf-8").split(f"\n## {name}\n")[1].split("\n## ")[0]
    parts = dict(re.findall(r"^\*\*([\w ]+)\.\*\* ((?:.+\n)+)", section, re.MULTILINE))
    assert list(parts) == ["What it means", "Confirm", "Do"]
    command = r"`(?:kconnect|curl) [^`]+`"
    assert re.search(command, parts["Confirm"])
    assert re.search(rf"{command}|\]\([\w.]*#", parts["Do"])


def test_each_runbook_has_an_alert_in_the_same_order() -> None:
    headings = re.findall(r"^## (\w+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert headings == list(RULES)


# --- what fires ---


def test_there_is_a_case_and_a_control_for_each() -> None:
    assert {case.alert for case in CASES} == RULES.keys() == {case.alert for case in CASES if case.silent}


def promtool(programs: Path, *arguments: str | Path) -> str:
    done = subprocess.run([programs / "promtool", *arguments], capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.process
def test_promtool_takes_the_rules(prometheus_programs: Path) -> None:
    assert promtool(prometheus_programs, "check", "rules", FILE, DOCS / "prometheus-rules.yml") == ""


@pytest.mark.process
def test_each_alert_fires_in_its_case_and_is_silent_in_its_controls(prometheus_programs: Path, tmp_path: Path) -> None:
    assert promtool(prometheus_programs, "test", "rules", _written(tmp_path, CASES)) == ""


@pytest.mark.long
@pytest.mark.process
def test_a_case_that_does_not_fire_is_found(prometheus_programs: Path, tmp_path: Path) -> None:
    for case in CASES:
        if case.silent:
            wrong = Case(case.alert, case.silent[0], case.at, case.labels, case.summary)
            assert "FAILED" in promtool(prometheus_programs, "test", "rules", _written(tmp_path, [wrong])), case.alert


def _written(folder: Path, cases: object) -> Path:
    path = folder / "cases.yml"
    path.write_text(yaml.safe_dump({"rule_files": [str(FILE)], "evaluation_interval": "1m", "tests": _tests(cases)}), "utf-8")
    return path


def _tests(cases: object) -> list[dict]:
    tests = []
    for case in cases:  # type: ignore[attr-defined]
        rule = RULES[case.alert]
        alert = {
            "exp_labels": {**case.labels, **rule["labels"]},
            "exp_annotations": {**rule["annotations"], "summary": case.summary},
        }
        tests.append(_test(case.fires, case.alert, [case.at], [alert]))
        # The whole time: what resolves by itself must not have fired on its way.
        tests += [_test(series, case.alert, list(range(2 * case.at)), []) for series in case.silent]
    return tests


def _test(series: Series, alert: str, minutes: list[int], expected: list[dict]) -> dict:
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": f"{at}m", "alertname": alert, "exp_alerts": expected} for at in minutes],
    }
