"""
In which order a server handles requests: a few at a time, changes and `/health` first, and addresses in turns.

An event loop handles whatever has arrived in one go. Of thousands of requests that arrive together the last would wait for all
the others; here it waits for its turn only. `connections.py` asks `enter` with the first bytes of each request. Read next:
`places.py`, which shares out what requests hold once they are handled.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

Handle = Callable[[], None]

_AT_ONCE = 8
"""So many are handled before the loop looks again at what has arrived: some milliseconds."""
_READS_TURN = 4
"""One of so many turns is a read's, however many others there are."""
_URGENT = (b"GET /health", b"HEAD /health", b"PUT ", b"POST ", b"PATCH ", b"DELETE ")


class Line:
    """The requests of one event loop."""

    def __init__(self) -> None:
        self._urgent: dict[str, deque[Handle]] = {}
        self._reads: dict[str, deque[Handle]] = {}
        self._handled = 0
        self._turns = 0
        self._is_scheduled = False

    def enter(self, address: str, request: bytes, handle: Handle) -> bool:
        """Call `handle` at once, and return True; or keep it for its turn. `request` are the request's first bytes."""
        self._schedule()
        if self._handled < _AT_ONCE and not self._urgent and not self._reads:
            self._handled += 1
            handle()
            return True
        lanes = self._urgent if request.startswith(_URGENT) else self._reads
        lanes.setdefault(address, deque()).append(handle)
        return False

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        self._handled = 0
        while self._handled < _AT_ONCE and (self._urgent or self._reads):
            self._handled += 1
            self._turns += 1
            is_reads = not self._urgent or (self._reads and self._turns % _READS_TURN == 0)
            lanes = self._reads if is_reads else self._urgent
            address = next(iter(lanes))
            waiting = lanes.pop(address)
            handle = waiting.popleft()
            if waiting:
                # Behind the other addresses.
                lanes[address] = waiting
            handle()
        if self._handled:
            self._schedule()
