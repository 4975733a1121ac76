"""
What a listener serves from when its port is taken until the application is there, which may take as long as Kafka does.

Who ends workers that do not answer asks from the first second on. All others wait, up to a number: who has gone is not told of
here, and a stranger would fill the memory. `worker/rest.py` makes one for each server. Read next: `root.py`, which answers
these questions afterwards, and `server.py`.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kconnect.rest import errors, root
from kconnect.rest.resource import ok

_READY = {"status": "not ready", "message": "The worker is starting, for which it needs Kafka."}
_MOST = 1000
"""So many requests wait, of some ten kilobytes each."""


@dataclass
class _Waiting:
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    event: asyncio.Event = field(default_factory=asyncio.Event)
    is_refused: bool = False


class Starting:
    """
    An application that answers `/live`, `/health` and `/ready` itself until `become` is called. All else waits for that; of
    more than `_MOST`, who has waited for longest is refused.
    """

    def __init__(self) -> None:
        self._app: ASGIApp | None = None
        self._waiting: list[_Waiting] = []
        self._lock = threading.Lock()

    def become(self, app: ASGIApp) -> None:
        """Have `app` answer from now on, and what has waited; from any thread."""
        with self._lock:
            self._app = app
            waiting, self._waiting = self._waiting, []
        for request in waiting:
            request.loop.call_soon_threadsafe(request.event.set)

    def end(self) -> None:
        """Refuse what waits, if it still does: the worker ends."""
        if self._app is None:
            text = "This worker ends, and had not started yet."
            self.become(Response(errors.body(503, text), 503, media_type="application/json"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            answer = _answer(scope)
            if answer is not None:
                return await answer(scope, receive, send)
            if await self._is_refused():
                text = "This worker is starting, for which it needs Kafka, and too many requests wait for that."
                return await Response(errors.body(503, text), 503, media_type="application/json")(scope, receive, send)
        assert self._app is not None
        await self._app(scope, receive, send)

    async def _is_refused(self) -> bool:
        """Wait for the application. Return whether others have come meanwhile for whom there would be no room."""
        own = _Waiting()
        with self._lock:
            # It may have come between.
            if self._app is not None:
                return False
            self._waiting.append(own)
            if len(self._waiting) > _MOST:
                first = self._waiting.pop(0)
                first.is_refused = True
                first.loop.call_soon_threadsafe(first.event.set)
        await own.event.wait()
        return own.is_refused


def _answer(scope: Scope) -> Response | None:
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return None
    path = scope["path"].removesuffix("/")
    if path == "/live":
        return ok(root.LIVE)
    if path == "/health":
        return ok(root.STARTING, 503)
    return ok(_READY, 503) if path == "/ready" else None
