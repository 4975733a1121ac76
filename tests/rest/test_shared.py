"""Answers that are made once for all who wait for the same."""

from __future__ import annotations

import asyncio

import pytest

from kconnect.rest.shared import Shared


class Slow:
    """What takes until it is let go; `began` counts how often it was begun."""

    def __init__(self) -> None:
        self.began = 0
        self.go_on = asyncio.Event()

    async def make(self) -> bytes:
        self.began += 1
        number = self.began
        await self.go_on.wait()
        return str(number).encode()


def test_who_asks_meanwhile_shares_the_next_one() -> None:
    async def work() -> None:
        shared, slow = Shared(), Slow()
        first = asyncio.ensure_future(shared.answer("a", slow.make))
        while not slow.began:
            await asyncio.sleep(0)
        others = [asyncio.ensure_future(shared.answer("a", slow.make)) for _ in range(500)]
        await asyncio.sleep(0)
        slow.go_on.set()
        assert await first == b"1"
        assert set(await asyncio.gather(*others)) == {b"2"}, "none that was begun before they asked"
        assert slow.began == 2

    asyncio.run(work())


def test_one_of_another_kind_is_another_answer() -> None:
    async def work() -> None:
        shared, slow = Shared(), Slow()
        slow.go_on.set()
        assert sorted(await asyncio.gather(*(shared.answer(key, slow.make) for key in "aabb"))) == [b"1", b"1", b"2", b"2"]

    asyncio.run(work())


def test_who_goes_away_takes_nothing_from_the_others() -> None:
    async def work() -> None:
        shared, slow = Shared(), Slow()
        gone, stays = (asyncio.ensure_future(shared.answer("a", slow.make)) for _ in range(2))
        while not slow.began:
            await asyncio.sleep(0)
        gone.cancel()
        slow.go_on.set()
        assert await stays == b"1"

    asyncio.run(work())


def test_a_failure_is_that_of_all_who_waited_for_it_and_of_nobody_else() -> None:
    async def fail() -> bytes:
        raise ValueError("no")

    async def work() -> None:
        shared, slow = Shared(), Slow()
        slow.go_on.set()
        found = await asyncio.gather(*(shared.answer("a", fail) for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in found] == [ValueError] * 3
        assert await shared.answer("a", slow.make) == b"1"

    asyncio.run(work())


def test_a_server_that_stops_leaves_nothing_behind() -> None:
    shared = Shared()

    async def ask() -> bytes:
        return await shared.answer("a", Slow().make)

    async def stop() -> None:
        asking = [asyncio.ensure_future(ask()) for _ in range(2)]
        await asyncio.sleep(0)
        asking[0].cancel()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asking[1]
        slow = Slow()
        slow.go_on.set()
        assert await shared.answer("a", slow.make) == b"1"

    asyncio.run(stop())
