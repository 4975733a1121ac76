"""
Reading the bodies of requests: within a length, a time, and one budget for all that are in hand.

`resource.py` asks for a body once it knows who sends it. What is in a body is for `bodies.py` to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.exceptions import HTTPException
from starlette.requests import Request

_BUDGET = 64 * 2**20
_SMALL = 64 * 2**10
"""So much of each body is free: as many as there are connections are little, and must pass while large ones wait."""


class TooLargeError(Exception):
    """A body of more than the given length."""


class BusyError(Exception):
    """The bodies in hand have used up the budget."""


class Reading:
    """Used on one event loop. `budget` in bytes."""

    def __init__(self, budget: int | None = None) -> None:
        self._free = _BUDGET if budget is None else budget

    @asynccontextmanager
    async def body(self, http: Request, most: int, timeout: float) -> AsyncIterator[bytes]:
        """
        A request's body, which counts for the budget until the request has been answered.

        TooLargeError, BusyError, or 408 if it does not come in time. What is left of it then, the server throws away.
        """
        taken = 0

        async def read() -> bytes:
            nonlocal taken
            if int(http.headers.get("content-length", 0)) > most:
                raise TooLargeError
            found = bytearray()
            async for part in http.stream():
                found += part
                if len(found) > most:
                    raise TooLargeError
                more = max(0, len(found) - _SMALL - taken)
                if more > self._free:
                    raise BusyError
                self._free -= more
                taken += more
            return bytes(found)

        try:
            try:
                body = await asyncio.wait_for(read(), timeout)
            except asyncio.TimeoutError:
                raise HTTPException(408, headers={"Connection": "close"}) from None
            yield body
        finally:
            self._free += taken
