"""
What a listener serves from when its port is taken until the application is there, which may take as long as Kafka does.

Who ends workers that do not answer asks from the first second on. `worker/rest.py` makes one for each server. Read next:
`root.py`, which answers these questions afterwards, and `server.py`.
"""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kconnect.rest import errors, root
from kconnect.rest.resource import ok

_READY = {"status": "not ready", "message": "The worker is starting, for which it needs Kafka."}


class Starting:
    """An application that answers `/live`, `/health` and `/ready` itself until `become` is called. All else waits for that."""

    def __init__(self) -> None:
        self._app: ASGIApp | None = None
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def become(self, app: ASGIApp) -> None:
        """Have `app` answer from now on, and what has waited; from any thread."""
        self._app = app
        waiting, self._waiting = self._waiting, []
        for loop, event in waiting:
            loop.call_soon_threadsafe(event.set)

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
            event = asyncio.Event()
            self._waiting.append((asyncio.get_running_loop(), event))
            # It may have come between.
            if self._app is None:
                await event.wait()
        assert self._app is not None
        await self._app(scope, receive, send)


def _answer(scope: Scope) -> Response | None:
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
        return None
    path = scope["path"].removesuffix("/")
    if path == "/live":
        return ok(root.LIVE)
    if path == "/health":
        return ok(root.STARTING, 503)
    return ok(_READY, 503) if path == "/ready" else None
