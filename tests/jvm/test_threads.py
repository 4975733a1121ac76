"""Whose each thread is that Java has started, and what comes of too many: `kconnect/jvm/threads.py` and who asks it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import jpype
import pytest

from kconnect.core.state.records import UnitId
from kconnect.host import java_threads, stops
from kconnect.host.java_threads import JavaThreads
from kconnect.jvm import java, machine, threads
from kconnect.processes import logs
from kconnect.units.owners import TooManyThreadsError
from tests.integration.units import MemoryHost, Numbers, Plugins, source_of, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(600),
    pytest.mark.skipif(java.version(java.find()) >= 24, reason="then Java's threads are nobody's"),
]
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    machine.start()
    yield
    threads._java.limit(threads.MOST)


@pytest.fixture
def timers() -> Iterator[Callable[..., UnitId]]:
    """Starts a timer of each name, each with a thread of its own, as a new unit's code."""
    started: list[Any] = []
    loader = machine.start().delegatingLoader()

    def start(*names: str, connector: str = "") -> UnitId:
        unit = UnitId(connector or f"timers-{next(_numbers)}", 0)

        def run() -> None:
            logs.bind(unit.connector, unit.task)
            with machine.loader_of(loader):
                for name in names:
                    started.append(jpype.JClass("java.util.Timer")(name, True))

        errors: list[BaseException] = []
        thread = threading.Thread(target=lambda: _caught(run, errors))
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
        return unit

    yield start
    for timer in started:
        timer.cancel()


def _caught(run: Callable[[], None], errors: list[BaseException]) -> None:
    try:
        run()
    except BaseException as error:  # noqa: BLE001 - for the test's own thread
        errors.append(error)


def test_threads_are_those_of_the_unit_whose_code_has_started_them(timers: Callable[..., UnitId]) -> None:
    one, other = timers("a", "b"), timers("c")
    found = threads.changed()
    assert found is not None
    assert (sorted(found[one]), found[other]) == (["a", "b"], ["c"])
    assert (threads.count(one), threads.count(UnitId("nobody"))) == (2, 0)
    assert threads.changed() is None
    assert "java.util.TimerThread.mainLoop" in threads.stacks(one, 1)


def test_beyond_the_limit_a_unit_gets_no_thread_and_fails(timers: Callable[..., UnitId]) -> None:
    unit = timers("kept", "kept", "kept")
    threads._java.limit(3)
    failed: list[BaseException] = []
    with pytest.raises(jpype.JException, match="has 3 live threads, and can't start another one"):
        timers("one more", connector=unit.connector)
    timers("another unit's")
    running: Any = SimpleNamespace(spec=SimpleNamespace(unit=unit), alive=True, fail_from_outside=failed.append)
    look = JavaThreads(None)
    look.look([running])
    look.look([running])
    [error] = failed
    assert isinstance(error, TooManyThreadsError)
    assert f"{unit} has more than" in str(error)


def test_what_a_unit_has_left_behind_is_named_once(
    timers: Callable[..., UnitId], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_threads, "_PATIENCE_S", 0.0)
    unit = timers("leaked-1", "leaked-2")
    # A thread that was just started stands nowhere yet.
    until(lambda: threads.stacks(unit, 2).count("TimerThread.mainLoop") == 2, 60)
    running: Any = SimpleNamespace(spec=SimpleNamespace(unit=unit), alive=True)
    look = JavaThreads(None)
    look.look([running])

    def said() -> list[str]:
        return [line.getMessage() for line in caplog.records if str(unit) in line.getMessage()]

    assert not said(), "it runs"
    running.alive = False
    look.look([running])
    look.look([])
    [text] = said()
    assert text.startswith(f"{unit} has ended, and has left 2 threads in Java (leaked-1, leaked-2).")
    assert "TimerThread.mainLoop" in text


@pytest.mark.parametrize(("count", "is_stuck"), [(50, False), (51, True)])
def test_a_few_threads_in_java_keep_nobody_and_many_make_a_unit_stuck(
    timers: Callable[..., UnitId], count: int, is_stuck: bool
) -> None:
    until(lambda: threads.count(UnitId("unit", 0)) == 0, 60)
    host = MemoryHost("127.0.0.1:1", Plugins(It=source_of(Numbers)))
    unit = host.unit({"connector.class": "It", "limit": "0"})
    until(lambda: "RUNNING" in host.states, 60)
    timers(*(f"left {number}" for number in range(count)), connector="unit")
    asked = stops.begin(unit)
    unit.request_stop()
    until(lambda: unit.join(0), 60)
    assert stops.is_over(asked) is not is_stuck
    assert stops.is_late(asked, 0.0, 5.0) is is_stuck


def test_what_java_s_threads_take_of_a_processor_is_known_by_unit(timers: Callable[..., UnitId]) -> None:
    idle, other = timers("idle"), timers("one", "two")
    taken = threads.seconds()
    assert (len(taken[idle]), len(taken[other])) == (1, 2)
    assert all(0 <= seconds < 60 for seconds in taken[other].values())
