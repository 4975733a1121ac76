"""A connector instance in its thread: what it publishes, and when. No broker is needed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from kconnect.core.state.records import TargetState
from kconnect.units.unit import Unit

from ..integration.units import MemoryHost, Numbers, Plugins, Shelf, end, sink_of, source_of, until

Configs = list[dict[str, str]]


class Made:
    """The connector instances that a test's host has made, and what they shall do."""

    def __init__(self) -> None:
        self.instances: list[Any] = []
        self.calls: list[str] = []
        self.configs: Configs = [{"n": "1"}]
        self.fail_start: Exception | None = None


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def units() -> Iterator[list[Unit]]:
    started: list[Unit] = []
    yield started
    for unit in started:
        end(unit)


def host(made: Made, base: type[Any] | None = None) -> MemoryHost:
    parent: Any = base or source_of(Numbers)

    class Watched(parent):  # type: ignore[misc]
        def __init__(self) -> None:
            made.instances.append(self)

        def start(self, props: dict[str, str]) -> None:
            made.calls.append("start")
            super().start(props)
            if made.fail_start:
                raise made.fail_start

        def stop(self) -> None:
            made.calls.append("stop")

        def task_configs(self, max_tasks: int) -> Configs:
            made.calls.append(f"task_configs({max_tasks})")
            return [dict(config) for config in made.configs]

    return MemoryHost("127.0.0.1:1", Plugins(Watched=Watched))


CONFIG = {"name": "c", "connector.class": "Watched", "tasks.max": "2"}


def test_a_started_connector_publishes_its_task_configs_with_the_offset_they_come_from(made: Made, units: list[Unit]) -> None:
    there = host(made)
    units.append(there.unit(CONFIG, task=None))
    until(lambda: there.configs)
    [(configs, offset)] = there.configs
    assert offset == 7
    assert configs[0]["n"] == "1"
    assert configs[0]["task.class"].endswith(".Numbers")
    assert there.states == ["RUNNING"]
    end(units.pop())
    assert there.states == ["RUNNING", "UNASSIGNED"]
    assert made.calls == ["start", "task_configs(2)", "stop"]


@pytest.mark.parametrize("name", ["topics", "topics.regex"])
def test_a_sinks_topics_are_added_to_its_tasks(made: Made, units: list[Unit], name: str) -> None:
    there = host(made, sink_of(Shelf))
    units.append(there.unit({**CONFIG, name: "a,b"}, task=None))
    until(lambda: there.configs)
    assert there.configs[0][0][0][name] == "a,b"


def test_a_connector_that_asks_is_asked_again(made: Made, units: list[Unit]) -> None:
    there = host(made)
    units.append(there.unit(CONFIG, task=None))
    until(lambda: there.configs)
    made.configs = [{"n": "1"}, {"n": "2"}]
    made.instances[0].context.request_task_reconfiguration()
    until(lambda: len(there.configs) == 2)
    assert [config["n"] for config in there.configs[1][0]] == ["1", "2"]


def test_more_tasks_than_allowed_fail_the_connector_as_in_connect(made: Made, units: list[Unit]) -> None:
    made.configs = [{}, {}, {}]
    there = host(made)
    units.append(there.unit(CONFIG, task=None))
    until(lambda: "FAILED" in there.states)
    assert (
        "The connector c has generated 3 tasks, which is greater than 2, the maximum number of tasks it is configured to "
        "create. " in (there.statuses[-1][1] or "").splitlines()[0]
    )
    assert there.configs == []


def test_more_tasks_than_allowed_are_let_through_when_that_is_not_enforced(made: Made, units: list[Unit]) -> None:
    made.configs = [{}, {}, {}]
    there = host(made)
    units.append(there.unit({**CONFIG, "tasks.max.enforce": "false"}, task=None))
    until(lambda: there.configs)
    assert len(there.configs[0][0]) == 3


def test_no_config_has_a_host_make_tasks_without_end(made: Made, units: list[Unit]) -> None:
    """Many connectors make as many configs as tasks.max says, which would take the memory of all that run beside them."""
    there = host(made)
    units.append(there.unit({**CONFIG, "tasks.max": "2147483647"}, task=None))
    until(lambda: there.configs)
    assert "task_configs(10000)" in made.calls


def test_task_configs_without_end_fail_the_connector(made: Made, units: list[Unit]) -> None:
    made.configs = [{"n": "x" * 2**20}] * 300
    there = host(made)
    units.append(there.unit({**CONFIG, "tasks.max": "300"}, task=None))
    until(lambda: "FAILED" in there.states)
    assert "lower tasks.max" in (there.statuses[-1][1] or "")
    assert there.configs == []


def test_a_connector_that_begins_paused_does_nothing_before_it_is_resumed(made: Made, units: list[Unit]) -> None:
    there = host(made)
    units.append(there.unit(CONFIG, task=None, target=TargetState.PAUSED))
    until(lambda: there.states == ["PAUSED"])
    time.sleep(0.1)
    assert (made.calls, there.configs) == ([], [])
    units[0].set_target_state(TargetState.STARTED)
    until(lambda: there.configs)
    assert there.states == ["PAUSED", "RUNNING"]


def test_a_resumed_connector_publishes_again(made: Made, units: list[Unit]) -> None:
    there = host(made)
    units.append(there.unit(CONFIG, task=None))
    until(lambda: there.configs)
    units[0].set_target_state(TargetState.PAUSED)
    until(lambda: there.states == ["RUNNING", "PAUSED"])
    made.instances[0].context.request_task_reconfiguration()
    time.sleep(0.1)
    assert len(there.configs) == 1, "a paused connector publishes nothing"
    units[0].set_target_state(TargetState.STARTED)
    until(lambda: len(there.configs) == 2)
    assert there.states == ["RUNNING", "PAUSED", "RUNNING"]


def test_a_start_that_fails_is_told_and_a_stop_does_not_hide_it(made: Made) -> None:
    made.fail_start = ValueError("no such host")
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: there.statuses)
    end(unit)
    assert there.states == ["FAILED"]
    first = "java.lang.IllegalArgumentException: no such host (tests/units/test_connector_unit.py:"
    assert (there.statuses[0][1] or "").startswith(first)


def test_an_error_from_a_thread_of_the_connector_fails_it(made: Made) -> None:
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: there.configs)
    made.instances[0].context.raise_error(ValueError("lost the source"))
    until(lambda: "FAILED" in there.states)
    end(unit)
    assert there.states == ["RUNNING", "FAILED"]
    assert made.calls[-1] == "stop"


def test_an_abandoned_connector_says_nothing_more(made: Made) -> None:
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: there.configs)
    unit.abandon()
    assert unit.join(60)
    assert there.states == ["RUNNING"]
