"""A connector instance in its thread: what it publishes, and when. No broker is needed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from kconnect.core.state.records import State, TargetState
from kconnect.core.task import repeats
from kconnect.errors import ConnectError
from kconnect.units.unit import Unit

from ..integration.units import MemoryHost, Numbers, Plugins, Shelf, end, sink_of, source_of, until

Configs = list[dict[str, str]]


class Made:
    """The connector instances that a test's host has made, and what they shall do."""

    def __init__(self) -> None:
        self.instances: list[Any] = []
        self.calls: list[str] = []
        self.configs: Any = [{"n": "1"}]
        self.as_it_is = False
        self.fail_start: Exception | None = None
        self.fail_initialize: Exception | None = None
        self.fail_stop: Exception | None = None
        self.fail_configs: list[Exception] = []
        """What the next calls of task_configs raise."""


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

        def initialize(self, context: Any) -> None:
            super().initialize(context)
            made.calls.append("initialize")
            if made.fail_initialize:
                raise made.fail_initialize

        def start(self, props: dict[str, str]) -> None:
            made.calls.append("start")
            super().start(props)
            if made.fail_start:
                raise made.fail_start

        def stop(self) -> None:
            made.calls.append("stop")
            if made.fail_stop:
                raise made.fail_stop

        def task_configs(self, max_tasks: int) -> Any:
            made.calls.append(f"task_configs({max_tasks})")
            if made.fail_configs:
                raise made.fail_configs.pop(0)
            if not isinstance(made.configs, list) or made.as_it_is:
                return made.configs
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
    assert made.calls == ["initialize", "start", "task_configs(2)", "stop"]


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


def test_no_config_has_a_process_for_each_of_ten_thousand_tasks(made: Made, units: list[Unit]) -> None:
    there = host(made)
    units.append(there.unit({**CONFIG, "tasks.max": "10000", "tasks.isolation": "dedicated"}, task=None))
    until(lambda: there.configs)
    assert "task_configs(512)" in made.calls


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
    first = "ValueError: no such host (tests/units/test_connector_unit.py:"
    assert (there.statuses[0][1] or "").startswith(first)


@pytest.mark.parametrize("call", ["initialize", "start"])
@pytest.mark.parametrize("stop_fails", [False, True], ids=["stop", "stop fails"])
def test_what_a_start_that_failed_has_opened_is_closed_once(made: Made, call: str, stop_fails: bool) -> None:
    setattr(made, f"fail_{call}", ValueError("no such host"))
    made.fail_stop = OSError("not even that") if stop_fails else None
    there = host(made)
    for attempt in range(1, 4):
        unit = there.unit(CONFIG, task=None)
        until(lambda unit=unit: not unit.alive)  # type: ignore[misc]
        assert made.calls.count("stop") == attempt
        assert made.calls[-2:] == [call, "stop"]
    assert there.states == ["FAILED"] * 3
    assert all("no such host" in (trace or "").splitlines()[0] for _, trace in there.statuses)


AWAY = "the database is starting"


def test_task_configs_that_fail_for_a_moment_are_asked_for_again_while_the_status_says_why(
    made: Made, units: list[Unit], caplog: pytest.LogCaptureFixture
) -> None:
    made.fail_configs = [ConnectError(AWAY), OSError(AWAY)]
    there = host(made)
    began = time.time()
    unit = there.unit(CONFIG, task=None)
    units.append(unit)
    until(lambda: len(there.statuses) == 2)
    assert unit.retries.retrying is not None and began <= unit.retries.retrying[0] <= time.time()
    until(lambda: there.configs)
    assert there.states == ["RUNNING"] * 4
    first, once, twice, well = [(trace or "").splitlines() for _, trace in there.statuses]
    assert first == well == []
    said = "org.apache.kafka.connect.errors.ConnectException: the database is starting"
    assert once[0] == f"task_configs() has failed once and is called again in 0.25 s: {said}"
    assert twice[0] == "task_configs() has failed 2 times and is called again in 0.5 s: OSError: the database is starting"
    assert once[-1] == f"kconnect.errors.ConnectError: {AWAY}"
    assert unit.retries.retrying is None
    assert made.calls == ["initialize", "start", *["task_configs(2)"] * 3]
    assert [line.getMessage() for line in caplog.records if "is called again" in line.getMessage()] == [once[0], twice[0]]


def test_task_configs_that_go_on_failing_fail_the_connector_in_the_end(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "LONGEST_S", 0.001)
    made.fail_configs = [ConnectError(AWAY) for _ in range(100)]
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: not unit.alive)
    assert there.states == ["RUNNING"] * repeats.MOST + ["FAILED"]
    assert (there.statuses[-1][1] or "").startswith(f"org.apache.kafka.connect.errors.ConnectException: {AWAY} (")
    assert made.calls.count("task_configs(2)") == repeats.MOST
    assert made.calls.count("stop") == 1


def test_a_connector_that_asks_meanwhile_is_not_asked_earlier(made: Made, units: list[Unit]) -> None:
    made.fail_configs = [ConnectError(AWAY) for _ in range(4)]
    there = host(made)
    units.append(there.unit(CONFIG, task=None))
    until(lambda: made.instances and hasattr(made.instances[0], "context"))
    while not there.configs:
        made.instances[0].context.request_task_reconfiguration()
        time.sleep(0.01)
    assert made.calls.count("task_configs(2)") == 5


def test_a_pause_ends_the_asking_and_a_resume_begins_it_anew(made: Made, units: list[Unit]) -> None:
    made.fail_configs = [ConnectError(AWAY) for _ in range(3)]
    there = host(made)
    units.append(there.unit(CONFIG, task=None))
    until(lambda: len(there.statuses) == 4)
    units[0].set_target_state(TargetState.PAUSED)
    until(lambda: there.states[-1] == "PAUSED")
    assert units[0].retries.retrying is None
    asked, made.fail_configs = len(made.calls), [ConnectError(AWAY)]
    units[0].set_target_state(TargetState.STARTED)
    until(lambda: there.configs)
    assert len(made.calls) == asked + 2
    assert "has failed once and" in (there.statuses[-2][1] or "")
    assert there.statuses[-1] == (State.RUNNING, None)


def test_a_stop_ends_the_asking(made: Made) -> None:
    made.fail_configs = [ConnectError(AWAY) for _ in range(100)]
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: len(there.statuses) == 7)
    asked = made.calls.count("task_configs(2)")
    assert end(unit) < 8, "the next attempt is 16 s away"
    assert made.calls[-1] == "stop" and made.calls.count("task_configs(2)") == asked
    assert there.states[-1] == "UNASSIGNED"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "returned None, but"),
        ({"n": "1"}, "returned a dict, but"),
        ("n=1", "returned a str, but"),
        (3, "returned an int, but"),
        ([None], "returned None as the config of task 0, but"),
        ([{}, "n=1"], "returned a str as the config of task 1, but"),
        ([{"n": 1}], "returned an int as the value of 'n' for task 0, but"),
        ([{7: "1"}], "returned an int as the name of a setting of task 0, but"),
    ],
    ids=["none", "a dict", "a text", "a number", "a none", "texts", "a number in it", "a number as a name"],
)
def test_an_answer_that_is_no_list_of_configs_fails_the_connector_at_once(made: Made, answer: Any, said: str) -> None:
    made.configs, made.as_it_is = answer, True
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: not unit.alive)
    assert there.states == ["RUNNING", "FAILED"] and there.configs == []
    first = (there.statuses[-1][1] or "").splitlines()[0]
    assert "Watched.task_configs() " + said in first and "must return a list with one map of texts for each task" in first
    assert made.calls[-1] == "stop"


def test_any_iterable_of_maps_will_do(made: Made, units: list[Unit]) -> None:
    made.configs, made.as_it_is = (config for config in [{"n": "1"}, MappingProxyType({"n": "2", "gone": None})]), True
    there = host(made)
    units.append(there.unit(CONFIG, task=None))
    until(lambda: there.configs)
    assert [config["n"] for config in there.configs[0][0]] == ["1", "2"]


def test_an_error_from_a_thread_of_the_connector_fails_it(made: Made) -> None:
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: there.configs)
    made.instances[0].context.raise_error(ValueError("lost the source"))
    until(lambda: "FAILED" in there.states)
    end(unit)
    assert there.states == ["RUNNING", "FAILED"]
    assert made.calls[-1] == "stop"


@pytest.mark.parametrize("given", [None, "boom"])
def test_whatever_it_gives_in_place_of_an_error_fails_it(made: Made, given: Any) -> None:
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: there.configs)
    made.instances[0].context.raise_error(given)
    until(lambda: "FAILED" in there.states)
    end(unit)
    assert "context.raise_error() was given" in (there.statuses[-1][1] or "").splitlines()[0]


def test_one_that_asks_within_each_call_keeps_no_core_busy(made: Made, units: list[Unit]) -> None:
    there = host(made)
    times: list[float] = []

    def configs() -> Iterator[dict[str, str]]:
        times.append(time.monotonic())
        made.instances[0].context.request_task_reconfiguration()
        made.configs = configs()
        yield {"n": str(len(times))}

    made.configs, made.as_it_is = configs(), True
    began = time.monotonic()
    units.append(there.unit(CONFIG, task=None))
    until(lambda: len(times) >= 5)
    # Not from one to the next: a busy machine may hold up one of them within its call.
    assert times[4] - began > 0.39


def test_an_abandoned_connector_says_nothing_more(made: Made) -> None:
    there = host(made)
    unit = there.unit(CONFIG, task=None)
    until(lambda: there.configs)
    unit.abandon()
    assert unit.join(60)
    assert there.states == ["RUNNING"]
