"""Turns of requests that take a process each."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from kconnect.errors import UnavailableError
from kconnect.rest import errands
from kconnect.rest.app import OPERATIONS
from kconnect.worker.errands import _AT_ONCE, _BROKERS


class Runs:
    """Requests that hold a turn until they are let go."""

    def __init__(self) -> None:
        self.turns = errands.Turns()
        self.began: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._end: dict[str, asyncio.Event] = {}

    async def start(self, name: str, caller: str, kind: str = "preview", limit_s: float = 600) -> None:
        self._end[name] = asyncio.Event()

        async def run() -> None:
            async with self.turns.turn(kind, caller, limit_s):
                self.began.append(name)
                await self._end[name].wait()

        self._tasks[name] = asyncio.create_task(run())
        await settle()

    async def end(self, name: str) -> None:
        self._end[name].set()
        await self._tasks[name]
        await settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await settle()

    def error(self, name: str) -> BaseException | None:
        return self._tasks[name].exception() if self._tasks[name].done() else None

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await settle()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_a_caller_has_one_at_once_and_others_go_first() -> None:
    async def work() -> None:
        runs = Runs()
        for number in range(3):
            await runs.start(f"eve-{number}", "eve")
        await runs.start("ann", "ann")
        assert runs.began == ["eve-0", "ann"]
        await runs.end("eve-0")
        assert runs.began == ["eve-0", "ann", "eve-1"]
        await runs.start("bob", "bob")
        await runs.end("eve-1")
        assert runs.began[-1] == "eve-2", "it came first"
        await runs.start("eve-3", "eve")
        await runs.end("eve-2")
        assert runs.began[-1] == "bob"
        await runs.close()

    run(work())


def test_kinds_take_no_place_of_each_other_s() -> None:
    async def work() -> None:
        runs = Runs()
        for number, kind in enumerate(errands.AT_ONCE):
            await runs.start(f"eve-{number}", "eve", kind)
        assert len(runs.began) == len(errands.AT_ONCE)
        await runs.close()

    run(work())


def test_a_caller_whose_requests_wait_is_refused_more_of_them() -> None:
    async def work() -> None:
        runs = Runs()
        for number in range(6):
            await runs.start(f"eve-{number}", "eve")
        assert isinstance(runs.error("eve-5"), UnavailableError)
        assert runs.error("eve-4") is None
        await runs.start("ann", "ann")
        assert runs.began == ["eve-0", "ann"]
        await runs.close()

    run(work())


def test_who_waits_too_long_or_goes_away_leaves_no_trace() -> None:
    async def work() -> None:
        runs = Runs()
        await runs.start("a", "a", "topics")
        await runs.start("late", "b", "topics", limit_s=0.01)
        await runs.start("gone", "c", "topics")
        await runs.cancel("gone")
        while runs.error("late") is None:
            await asyncio.sleep(0.01)
        assert isinstance(runs.error("late"), UnavailableError)
        await runs.start("d", "d", "topics")
        await runs.end("a")
        assert runs.began == ["a", "d"]
        await runs.end("d")
        await runs.start("e", "e", "topics")
        assert runs.began == ["a", "d", "e"]
        await runs.close()

    run(work())


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.errand], ids=lambda each: each.resource)
def test_every_errand_has_a_kind(operation: Any) -> None:
    assert operation.errand in errands.AT_ONCE


def test_whoever_has_whole_topics_read_waits_for_a_turn() -> None:
    """They may be gigabytes: in the worker, eight readers at once would take what it has."""
    by_kind = {(each.method, each.resource): each.errand for each in OPERATIONS if each.errand in ("topics", "changes")}
    assert set(by_kind.values()) == {"topics", "changes"}, by_kind


def test_a_worker_has_as_many_processes_as_there_are_turns() -> None:
    # Brokers are asked by the loop's threads, which have turns of their own.
    in_turns = [most for module, most in _AT_ONCE.items() if module != _BROKERS]
    assert sorted(in_turns) == sorted(most for kind, most in errands.AT_ONCE.items() if kind != "logs")
