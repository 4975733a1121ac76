"""
Connectors and tasks in Java that misbehave, as a host runs them: `kconnect/units` over `kconnect/jvm`. No broker is needed.

The same in Python: `tests/units/test_connector_unit.py` and `test_failed_starts.py`.
"""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest

from kconnect.core.state.records import State
from kconnect.jvm import beans
from kconnect.processes import logs
from tests.integration.units import MemoryHost, end, until
from tests.jvm.java import JavaPlugins

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]


@pytest.fixture
def there(java_plugin: Path) -> MemoryHost:
    beans.end()
    return MemoryHost("127.0.0.1:1", JavaPlugins(java_plugin))


def test_a_connector_whose_start_fails_is_stopped_once(there: MemoryHost, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    config = {"connector.class": "Numbers", "topic": "t", "fails": "start", "heard.connector": str(heard)}
    for attempt in range(1, 3):
        unit = there.unit(config, task=None)
        until(lambda unit=unit: not unit.alive)  # type: ignore[misc]
        assert heard.read_text().split() == ["start", "stop"] * attempt
    assert there.states == ["FAILED"] * 2


@pytest.mark.parametrize("kind", ["Numbers", "Recording"])
def test_a_task_whose_start_fails_is_stopped_once(there: MemoryHost, tmp_path: Path, kind: str) -> None:
    heard = tmp_path / "heard"
    source = {"topic": "t", "number": "0", "fails": "task start", "heard": str(heard)}
    sink = {"topics": "t", "how": "start", "file": str(heard)}
    for attempt in range(1, 3):
        unit = there.unit({"connector.class": kind, **(source if kind == "Numbers" else sink)})
        until(lambda unit=unit: not unit.alive)  # type: ignore[misc]
        assert heard.read_text().split() == ["start", "stop"] * attempt
    assert there.states == ["FAILED"] * 2


def test_task_configs_that_throw_for_a_moment_are_asked_for_again_while_the_status_says_why(
    there: MemoryHost, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    config = {"connector.class": "Numbers", "topic": "t", "configs": "fail 2", "heard.connector": str(heard)}
    unit = there.unit(config, task=None)
    until(lambda: there.configs)
    end(unit)
    assert heard.read_text().split() == ["start", *["taskConfigs"] * 3, "stop"]
    assert there.states == [*["RUNNING"] * 4, "UNASSIGNED"]
    once, twice = ((trace or "").splitlines() for _, trace in there.statuses[1:3])
    thrown = "org.apache.kafka.connect.errors.ConnectException: the database is starting"
    assert once[:2] == [f"taskConfigs() has failed once and is called again in 0.25 s: {thrown}", thrown]
    assert once[2].startswith("\tat rig.NumbersSource.taskConfigs(")
    assert "Caused by: java.io.IOException: refused" in once
    assert twice[0].startswith("taskConfigs() has failed 2 times and is called again in 0.5 s")
    assert there.statuses[3] == (State.RUNNING, None)


def test_task_configs_that_are_none_fail_the_connector_at_once(there: MemoryHost) -> None:
    unit = there.unit({"connector.class": "Numbers", "topic": "t", "configs": "nothing"}, task=None)
    until(lambda: not unit.alive)
    assert there.states == ["RUNNING", "FAILED"]
    first = (there.statuses[-1][1] or "").splitlines()[0]
    assert "ConnectException: rig.NumbersSource.taskConfigs() returned null, but must return a list with one map" in first


@pytest.mark.parametrize("task", [None, 0], ids=["connector", "task"])
def test_the_log_has_java_s_trace_and_causes_as_the_status_has(there: MemoryHost, task: int | None) -> None:
    stream, root = io.StringIO(), logging.getLogger()
    before, level = root.handlers[:], root.level
    logs.configure("text", "INFO", stream)
    try:
        config = {"topic": "t", "number": "0", "fails": "start" if task is None else "task start"}
        unit = there.unit({"connector.class": "Numbers", **config}, task=task)
        until(lambda: not unit.alive)
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    trace = (there.statuses[-1][1] or "").split("\n", 1)[1]
    assert trace.startswith("java.lang.IllegalStateException: it fails at the start")
    assert "Caused by: java.lang.RuntimeException: the cause" in trace or "Caused by: java.io.IOException: the cause" in trace
    assert "Failed: java.lang.IllegalStateException: it fails at the start" in stream.getvalue()
    assert trace in stream.getvalue()
