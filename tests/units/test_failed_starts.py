"""
Tasks whose start fails: what they opened is closed. No broker is needed, for none is asked before `start`.

Connectors are in `test_connector_unit.py`, and all of it in Java in `tests/jvm/test_units.py`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from kconnect.api.config import ConfigDef
from kconnect.api.transformation import Transformation

from ..integration.units import MemoryHost, Numbers, Plugins, Shelf, end, sink_of, source_of, until

NOWHERE = "127.0.0.1:1"


class Calls:
    """What the tasks and transforms of a test were called with, and what fails."""

    def __init__(self, fails: str = "", stop_fails: bool = False) -> None:
        self.calls: list[str] = []
        self.fails, self.stop_fails = fails, stop_fails

    def make(self, base: type[Any]) -> type[Any]:
        calls = self

        class Task(base):  # type: ignore[misc]
            def initialize(self, context: Any) -> None:
                super().initialize(context)
                calls.heard("initialize")

            def start(self, props: dict[str, str]) -> None:
                super().start(props)
                calls.heard("start")

            def stop(self) -> None:
                calls.calls.append("stop")
                if calls.stop_fails:
                    raise OSError("it can't be closed")

        return Task

    def transform(self) -> type[Transformation]:
        calls = self

        class Closing(Transformation):
            def config(self) -> ConfigDef:
                return ConfigDef()

            def configure(self, configs: Mapping[str, str]) -> None: ...

            def apply(self, record: Any) -> Any:
                return record

            def close(self) -> None:
                calls.calls.append("close")

        return Closing

    def heard(self, call: str) -> None:
        self.calls.append(call)
        if call == self.fails:
            raise ValueError("no such host")


def host(calls: Calls) -> MemoryHost:
    plugins = Plugins(
        Source=source_of(calls.make(Numbers)),
        Sink=sink_of(calls.make(Shelf)),
        Closing=calls.transform(),
    )
    return MemoryHost(NOWHERE, plugins)


CONFIG = {"limit": "0", "topics": "t", "transforms": "a", "transforms.a.type": "Closing"}


@pytest.mark.parametrize("call", ["initialize", "start"])
@pytest.mark.parametrize("kind", ["Source", "Sink"])
@pytest.mark.parametrize("stop_fails", [False, True], ids=["stop", "stop fails"])
def test_a_task_whose_start_was_begun_and_failed_is_stopped_once(kind: str, call: str, stop_fails: bool) -> None:
    calls = Calls(call, stop_fails)
    there = host(calls)
    for attempt in range(1, 4):
        unit = there.unit({"connector.class": kind, **CONFIG})
        until(lambda unit=unit: not unit.alive)  # type: ignore[misc]
        assert calls.calls.count("stop") == attempt
    begun = ["initialize"] if call == "initialize" else ["initialize", "start"]
    assert calls.calls == [*begun, "stop", "close"] * 3
    assert there.states == ["FAILED"] * 3
    assert all("no such host" in (trace or "").splitlines()[0] for _, trace in there.statuses)


@pytest.mark.parametrize("kind", ["Source", "Sink"])
def test_a_task_that_did_not_come_to_its_start_is_not_stopped_and_its_chain_is_closed(kind: str) -> None:
    calls = Calls()
    there = host(calls)
    client = "producer" if kind == "Source" else "consumer"
    unit = there.unit({"connector.class": kind, **CONFIG, f"{client}.override.bootstrap.servers": "no..host:1"})
    until(lambda: not unit.alive)
    assert (there.states, calls.calls) == (["FAILED"], ["close"])


def test_a_source_is_not_stopped_while_its_start_runs() -> None:
    calls = Calls()
    there = host(calls)
    began: list[bool] = []
    go_on: list[bool] = []

    class Slow(calls.make(Numbers)):  # type: ignore[misc]
        def start(self, props: dict[str, str]) -> None:
            began.append(True)
            until(lambda: go_on)
            super().start(props)

    there.plugins = Plugins(Slow=source_of(Slow), Closing=calls.transform())
    unit = there.unit({"connector.class": "Slow", **CONFIG})
    until(lambda: began)
    unit.request_stop()
    time.sleep(0.05)
    assert "stop" not in calls.calls
    go_on.append(True)
    end(unit)
    assert calls.calls == ["initialize", "start", "stop", "close"]
