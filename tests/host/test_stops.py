"""Whose threads are whose, and when a unit that was asked to stop is over, or late. No broker is needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import structlog

from kconnect.api.record import SourceRecord
from kconnect.host import stops
from kconnect.host.stops import Stop
from kconnect.units import owners
from kconnect.units.unit import Unit

from ..integration.units import MemoryHost, Numbers, Plugins, Shelf, sink_of, source_of, until

go = threading.Event()
"""What hangs in these tests hangs until this is set."""


@pytest.fixture(autouse=True)
def followed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    go.clear()
    # What `follow` changes for good is as it was at the end.
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)
    monkeypatch.setattr(owners, "_note", owners._note)
    owners.follow(lambda owned: None)
    yield
    go.set()


class Quiet(Numbers):
    def poll(self) -> list[SourceRecord] | None:
        self.stopped.wait(1)
        return None


def begin(task: type[Numbers]) -> tuple[MemoryHost, Unit]:
    host = MemoryHost("127.0.0.1:1", Plugins(It=source_of(task)))
    unit = host.unit({"connector.class": "It", "limit": "0"})
    until(lambda: "RUNNING" in host.states, 60)
    return host, unit


def stop(unit: Unit) -> Stop:
    asked = stops.begin(unit)
    unit.request_stop()
    return asked


def late(asked: Stop, limit: float = 0.3) -> bool:
    return stops.is_late(asked, limit, 5.0)


def test_a_unit_that_ends_is_over_and_never_late() -> None:
    _, unit = begin(Quiet)
    asked = stop(unit)
    until(lambda: stops.is_over(asked), 60)
    assert not late(asked, 0.0)


def test_a_unit_that_hangs_in_a_plugin_is_late_once_and_the_log_says_where(caplog: pytest.LogCaptureFixture) -> None:
    polls = threading.Event()

    class Hangs(Numbers):
        def poll(self) -> list[SourceRecord] | None:
            polls.set()
            go.wait()
            return None

    _, unit = begin(Hangs)
    assert polls.wait(60)
    asked = stop(unit)
    assert not late(asked, 60), "it has time"
    until(lambda: late(asked), 60)
    [said] = [line.getMessage() for line in caplog.records if "counts as stuck" in line.getMessage()]
    assert "unit-0 has not stopped within 0 s and counts as stuck" in said
    assert "in poll\n    go.wait()" in said
    assert not late(asked), "said once"
    assert not stops.is_over(asked)
    go.set()
    until(lambda: stops.is_over(asked), 60)


def test_a_unit_that_waits_in_our_own_code_has_more_time() -> None:
    host, unit = begin(Quiet)
    host.holds_lease = lambda: False  # type: ignore[method-assign]

    class Waiting(Unit):
        def run(self) -> None:
            self.may_work()

    waiting = Waiting(unit.spec, host, unit.target)
    waiting.start()
    asked = stop(waiting)
    assert not stops.is_over(asked)
    assert not late(asked, 0.0)
    asked.since -= 61
    assert late(asked, 0.0), "but not for ever"
    waiting.abandon()
    until(lambda: stops.is_over(asked), 60)
    stop(unit)


@pytest.mark.parametrize(("connector", "task"), [("Source", 0), ("Source", None), ("Sink", 0), ("Sink", None)])
def test_what_was_suspended_before_a_plugin_was_started_does_not_start_it(connector: str, task: int | None) -> None:
    """By the time it wakes up, another host may have started it."""
    calls: list[str] = []

    def plugin(of: type[Any]) -> type[Any]:
        def noted(name: str) -> Any:
            return lambda self, *_: calls.append(name)

        return type(of.__name__, (of,), {name: noted(name) for name in ("initialize", "start")})

    own = {"Source": plugin(source_of(plugin(Numbers))), "Sink": plugin(sink_of(plugin(Shelf)))}
    host = MemoryHost("127.0.0.1:1", Plugins(**own))
    asked = threading.Event()

    def out_of_touch() -> bool:
        asked.set()
        return False

    host.holds_lease = out_of_touch  # type: ignore[method-assign]
    unit = host.unit({"connector.class": connector, "topics": "t"}, task)
    assert asked.wait(60)
    unit.abandon()
    assert unit.join(60)
    assert calls == []
    assert "FAILED" not in host.states


class Starts(Quiet):
    """Starts a thread that hangs."""

    seen: list[Any]

    def start(self, props: dict[str, str]) -> None:
        super().start(props)
        type(self).seen = []
        threading.Thread(target=self.work, daemon=True).start()
        until(lambda: self.seen, 60)

    def work(self) -> None:
        self.seen.append(dict(structlog.contextvars.get_contextvars()))
        go.wait()


def test_what_a_unit_has_started_is_the_unit_s_and_has_to_end_too() -> None:
    _, unit = begin(Starts)
    assert [owned.by_plugin for owned in owners.threads(unit)] == [True]
    asked = stop(unit)
    until(lambda: unit.join(0), 60)
    assert not stops.is_over(asked)
    until(lambda: late(asked), 60)
    go.set()
    until(lambda: stops.is_over(asked), 60)
    assert owners.threads(unit) == []


def test_lines_of_a_thread_that_a_unit_has_started_carry_its_names() -> None:
    _, unit = begin(Starts)
    assert Starts.seen == [{"connector": "unit", "task": 0}]
    go.set()
    stop(unit)


def test_a_pool_that_has_nothing_to_do_keeps_no_unit() -> None:
    pools: list[ThreadPoolExecutor] = []

    class Pools(Quiet):
        def start(self, props: dict[str, str]) -> None:
            super().start(props)
            pools.append(ThreadPoolExecutor(2))
            pools[0].submit(int).result()
            if props.get("busy"):
                pools[0].submit(go.wait)

    _, unit = begin(Pools)
    assert len(owners.threads(unit)) == 1
    asked = stop(unit)
    until(lambda: stops.is_over(asked), 60)
    pools[0].submit(go.wait)
    until(lambda: not stops.is_over(asked), 60)
    pools[0].shutdown(wait=False)


def test_threads_without_end_fail_their_unit() -> None:
    class Leaks(Quiet):
        def poll(self) -> list[SourceRecord] | None:
            while True:
                threading.Thread(target=go.wait, daemon=True).start()

    host, unit = begin(Leaks)
    until(lambda: "FAILED" in host.states, 60)
    assert "TooManyThreadsError: unit-0 has more than 500 live threads" in (host.statuses[-1][1] or "")
    go.set()
    until(lambda: unit.join(0), 60)
    assert host.states == ["RUNNING", "FAILED"]


def test_a_unit_that_is_failed_from_outside_says_nothing_else_and_ends() -> None:
    host, unit = begin(Quiet)
    unit.fail_from_outside(RuntimeError("no"))
    unit.fail_from_outside(RuntimeError("twice"))
    until(lambda: unit.join(0), 60)
    assert host.states == ["RUNNING", "FAILED"]
    assert (host.statuses[-1][1] or "").startswith("RuntimeError: no\n")


def test_a_unit_that_is_failed_from_outside_while_it_stops_says_that_it_has_ended() -> None:
    class Stays(Quiet):
        def poll(self) -> list[SourceRecord] | None:
            go.wait()
            return None

    host, unit = begin(Stays)
    stop(unit)
    unit.fail_from_outside(RuntimeError("no"))
    go.set()
    until(lambda: unit.join(0), 60)
    assert host.states == ["RUNNING", "UNASSIGNED"]


@pytest.mark.parametrize(
    ("module", "of_plugin"),
    [
        ("kconnect.units.unit", False),
        ("kconnect.kafka.producer", False),
        ("kconnect.connectors.file_source", True),
        ("kconnect.converters.json", True),
        ("kconnect.api.task", None),
        ("kconnect_shop.source", True),
        ("confluent_kafka", None),
        ("threading", None),
        ("concurrent.futures.thread", None),
        ("requests.sessions", True),
        ("_realm_1.flat", True),
        (None, True),
    ],
)
def test_whose_code_a_module_is(module: str | None, of_plugin: bool | None) -> None:
    assert owners.of_module(module) is of_plugin


def test_the_same_is_told_by_files() -> None:
    assert owners.of_file(stops.__file__) is False
    assert owners.of_file(threading.__file__) is None
    assert owners.of_file(structlog.__file__) is True
    assert owners.of_file(__file__) is True
    assert owners.of_file("<frozen importlib._bootstrap>") is None
