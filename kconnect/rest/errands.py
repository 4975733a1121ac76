"""
Turns of requests that take a process of the worker each: previews, dead letters, checks of the internal topics, looks back.

`resource.py` lets an operation with an `errand` wait here, before the herder is asked. Kinds have places of their own, and a
caller has one of each kind at most, so that neither readers nor one user keep an administrator's previews out. Read next:
`worker/errands.py`, which starts the processes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from kconnect.errors import UnavailableError

AT_ONCE = {"preview": 2, "letters": 2, "topics": 1, "changes": 2, "logs": 4}
"""How many processes of each kind a worker has at once; of logs, which take none, how many clients of Kafka."""
_A_CALLER_WAITS = 4
_WAITS = 64


class Turns:
    """The turns of one server, on its event loop."""

    def __init__(self) -> None:
        self._kinds = {kind: _Kind(places) for kind, places in AT_ONCE.items()}

    @asynccontextmanager
    async def turn(self, kind: str, caller: Hashable, limit_s: float) -> AsyncIterator[None]:
        """
        Wait for a turn, and hold it.

        Raises:
            UnavailableError: too many requests of the caller or of all wait, or none ended within the time
        """
        queue = self._kinds[kind]
        await queue.enter(caller, limit_s)
        try:
            yield
        finally:
            queue.leave(caller)


class _Kind:
    def __init__(self, places: int) -> None:
        self._places = places
        self._busy: set[Hashable] = set()
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        """Callers in the order of their turns."""

    async def enter(self, caller: Hashable, limit_s: float) -> None:
        if caller not in self._busy and len(self._busy) < self._places:
            self._busy.add(caller)
            return
        waiting = self._waiting.get(caller, ())
        if len(waiting) >= _A_CALLER_WAITS or sum(map(len, self._waiting.values())) >= _WAITS:
            raise UnavailableError("As many such requests wait for this worker as may: try again in a moment")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        try:
            # Not wait_for: up to Python 3.11 it may swallow a cancellation that comes together with the turn.
            await asyncio.wait({turn}, timeout=limit_s)
        except asyncio.CancelledError:
            self._withdraw(caller, turn)
            raise
        if not turn.done():
            self._withdraw(caller, turn)
            raise UnavailableError(f"Other such requests have kept this worker busy for {limit_s:.0f} s: try again in a moment")

    def leave(self, caller: Hashable) -> None:
        self._busy.discard(caller)
        while len(self._busy) < self._places:
            entering = next((waiter for waiter in self._waiting if waiter not in self._busy), None)
            if entering is None:
                return
            turn = self._waiting[entering].popleft()
            turns = self._waiting.pop(entering)
            if turns:
                # Behind the other callers.
                self._waiting[entering] = turns
            self._busy.add(entering)
            turn.set_result(None)

    def _withdraw(self, caller: Hashable, turn: asyncio.Future[None]) -> None:
        if turn.done():
            # It came just then.
            self.leave(caller)
            return
        waiting = self._waiting[caller]
        waiting.remove(turn)
        if not waiting:
            del self._waiting[caller]
