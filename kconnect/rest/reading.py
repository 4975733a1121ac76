"""
Reading the bodies of requests: within a length, a time, and one budget for all that are in hand.

`resource.py` asks for a body once it knows who sends it. What is in a body is for `bodies.py` to say.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable
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
    """
    Used on one event loop. `budget` in bytes. What is signed has a budget of its own, of the same size: anybody can send it,
    and only the whole body tells whether a worker has signed it. No caller has more than half of a budget.
    """

    def __init__(self, budget: int | None = None) -> None:
        self._most = _BUDGET if budget is None else budget
        self._free = {False: self._most, True: self._most}
        self._of_callers: Counter[tuple[Hashable, bool]] = Counter()

    @asynccontextmanager
    async def body(
        self, http: Request, most: int, timeout: float, caller: Hashable = None, signed: bool = False
    ) -> AsyncIterator[bytes]:
        """
        A request's body, which counts for the budget, and its caller's half, until the request has been answered.

        TooLargeError, BusyError, or 408 if it does not come in time. What is left of it then, the server throws away.
        """
        held_bytes = 0
        key = caller, signed

        async def read() -> bytes:
            nonlocal held_bytes
            if int(http.headers.get("content-length", 0)) > most:
                raise TooLargeError
            data = bytearray()
            async for part in http.stream():
                data += part
                if len(data) > most:
                    raise TooLargeError
                more = max(0, len(data) - _SMALL - held_bytes)
                reserved = 0 if caller is None else self._most // 2
                if more > self._free[signed] or self._of_callers[key] + more > self._most - reserved:
                    raise BusyError
                self._free[signed] -= more
                self._of_callers[key] += more
                held_bytes += more
            return bytes(data)

        try:
            try:
                body = await asyncio.wait_for(read(), timeout)
            except asyncio.TimeoutError:
                raise HTTPException(408, headers={"Connection": "close"}) from None
            yield body
        finally:
            self._free[signed] += held_bytes
            self._of_callers[key] -= held_bytes
            if not self._of_callers[key]:
                del self._of_callers[key]
