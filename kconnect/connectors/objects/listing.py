"""
The names in a store that obstore knows, asked for so that there is an end to it.

A store answers with pages. One whose pages are empty, and never the last, would keep whoever lists it waiting for ever: obstore
asks for the next one by itself. Called by `stores.py`. Read next: `asking.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import obstore
from obstore import exceptions

from kconnect.connectors.objects.asking import Asker


def lots(
    store: Any, asker: Asker, folder: str | None, size: int, longest_s: float, stopped: Callable[[], bool] = lambda: False
) -> Iterator[Sequence[Any]]:
    """
    Yield what there is in a folder and in those in it, up to `size` files at once, until all were or `stopped` says so.
    GenericError if there is nothing new for `longest_s` seconds.
    """
    stream = obstore.list(store, folder, chunk_size=size)
    loop = asyncio.new_event_loop()
    try:
        while (some := loop.run_until_complete(asker.answer(lambda: _one(stream), longest_s, stopped))) is not None:
            yield some
    finally:
        loop.close()


async def _one(stream: Any) -> Sequence[Any] | None:
    """Return the next names, None at the end."""
    try:
        names: Sequence[Any] = await anext(stream)
    except StopAsyncIteration:
        return None
    except ValueError as error:
        # Such as a time before the year 1, which Python has not.
        raise exceptions.GenericError(f"the store lists what is no file: {error}") from None
    return names
