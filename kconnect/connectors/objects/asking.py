"""
What is asked of a store that obstore knows, with an end: of time, of memory, and when the task is to stop.

obstore reads what a store answers whole: a page of names, what parts have become, the text of an error. So while it waits the
process may grow by so much, and by no more: then the request ends, and what there is of its answer goes with it. Called by
`stores.py` and `listing.py`. Read next: `connectors/resident.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from obstore import exceptions

from kconnect.connectors.objects.settings import ANSWER_SIZE
from kconnect.connectors.resident import resident

T = TypeVar("T")
_LOOK_S = 0.05
"""How often to look: in this time a store on the same machine sends some 50 MB."""


class Asker:
    """The requests to one store, of which an answer may take `most` bytes of memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ended = threading.Event()

    def end(self) -> None:
        """Have all that waits fail, and all that is asked from now on. Called from another thread."""
        self._ended.set()

    def ask(self, begin: Callable[[], Awaitable[T]]) -> T:
        """Return what `begin` has asked for. GenericError if that takes too much memory, or is not wanted any more."""
        answer = asyncio.run(self.answer(begin, math.inf, lambda: False))
        assert answer is not None
        return answer

    async def answer(self, begin: Callable[[], Awaitable[T]], longest_s: float, stopped: Callable[[], bool]) -> T | None:
        """The same in a loop, for at most `longest_s` seconds. Return None once `stopped` says so."""
        asked = asyncio.ensure_future(begin())
        end, size = asyncio.get_running_loop().time() + longest_s, resident()
        try:
            while not asked.done():
                remaining_s = end - asyncio.get_running_loop().time()
                if remaining_s <= 0:
                    raise exceptions.GenericError(
                        f"the store has listed nothing for {longest_s:g} s, and says that there is more"
                    )
                if resident() - size > self._most:
                    raise exceptions.GenericError(
                        f"its answer takes more memory than there is for it: {ANSWER_SIZE} is {self._most}"
                    )
                if self._ended.is_set():
                    raise exceptions.GenericError("the task is to stop")
                if stopped():
                    return None
                await asyncio.wait({asked}, timeout=min(_LOOK_S, remaining_s))
            return asked.result()
        finally:
            # With it the request ends, too.
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError, exceptions.BaseError):
                await asked
