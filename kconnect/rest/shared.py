"""
Answers that are made once for all who wait for the same: what takes long must not be made for each of a thousand callers.

Used by `metrics.py`. An answer is begun after everybody whom it is for has asked, so it is never older than their requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable


class Shared:
    """Makes the large answers of one server, on its event loop, one at a time."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._waiting: dict[Hashable, asyncio.Future[bytes]] = {}
        """What is asked for, and not begun yet."""

    async def answer(self, key: Hashable, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return what `make` gives, or that of somebody else who asked for the same `key` before it was begun."""
        waiting = self._waiting.get(key)
        if waiting is None or waiting.done():
            waiting = self._waiting[key] = asyncio.ensure_future(self._made(key, make))
            waiting.add_done_callback(lambda done: self._ended(key, done))
        # Whoever goes away takes nothing from the others.
        return await asyncio.shield(waiting)

    async def _made(self, key: Hashable, make: Callable[[], Awaitable[bytes]]) -> bytes:
        async with self._one:
            del self._waiting[key]
            return await make()

    def _ended(self, key: Hashable, done: asyncio.Future[bytes]) -> None:
        if self._waiting.get(key) is done:
            # It was cancelled, with the server, before it began.
            del self._waiting[key]
        if not done.cancelled():
            # Nobody may be left to hear of a failure.
            done.exception()
