"""
The names in a store that obstore knows, asked for so that there is an end to it.

A store answers with pages. One whose pages are empty, and never the last, would keep whoever lists it waiting for ever: obstore
asks for the next one by itself. Called by `stores.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import obstore
from obstore import exceptions

_LOOK_S = 0.2
"""How often to see whether the task is to stop."""


def lots(
    store: Any, folder: str | None, size: int, longest_s: float, stopped: Callable[[], bool] = lambda: False
) -> Iterator[Sequence[Any]]:
    """
    Yield what there is in a folder and in those in it, up to `size` files at once, until all were or `stopped` says so.
    GenericError if there is nothing new for `longest_s` seconds.
    """
    stream = obstore.list(store, folder, chunk_size=size)
    loop = asyncio.new_event_loop()
    try:
        while (some := loop.run_until_complete(_next(stream, longest_s, stopped))) is not None:
            yield some
    finally:
        loop.close()


async def _next(stream: Any, longest_s: float, stopped: Callable[[], bool]) -> Sequence[Any] | None:
    asked = asyncio.ensure_future(_one(stream))
    end = asyncio.get_running_loop().time() + longest_s
    try:
        while not asked.done():
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                raise exceptions.GenericError(f"the store has listed nothing for {longest_s:g} s, and says that there is more")
            if stopped():
                return None
            await asyncio.wait({asked}, timeout=min(_LOOK_S, left))
        return asked.result()
    finally:
        # With it the request ends, too.
        asked.cancel()
        with contextlib.suppress(asyncio.CancelledError, exceptions.BaseError):
            await asked


async def _one(stream: Any) -> Sequence[Any] | None:
    try:
        found: Sequence[Any] = await anext(stream)
    except StopAsyncIteration:
        return None
    return found
