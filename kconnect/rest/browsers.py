"""
What browsers want: answers to pages of other origins (CORS), and the headers of `response.http.headers.config`.

`app.py` wraps the regular listeners' application in it, and not that of `admin.listeners`, as Connect does. The settings
are read by `core/settings/browsers.py`. `resource.py` asks `check_origin` what browsers send without asking.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Sequence
from email.utils import formatdate
from typing import Any
from urllib.parse import urlsplit

import regex
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kconnect.core.settings.browsers import ORIGINS, Cors, HeaderRule
from kconnect.errors import ForbiddenError
from kconnect.rest.operation import is_json

log = logging.getLogger(__name__)

_LONGEST_ORIGIN, _LOOK_S = 300, 0.05
"""A scheme, a name of 253 characters, and a port."""
_PROTECTION = (
    HeaderRule(replaces=True, name="Cache-Control", value="no-store", is_date=False),
    HeaderRule(replaces=True, name="X-Content-Type-Options", value="nosniff", is_date=False),
)


def middleware(cors: Cors | None, rules: Sequence[HeaderRule]) -> list[Middleware]:
    """The outermost layers of the application: they see all answers, and a preflight needs no authentication."""
    layers = [protected()]
    if rules:
        layers.append(Middleware(_ResponseHeaders, rules=rules))
    if cors is not None:
        layers.append(
            Middleware(
                _Cors,
                pattern=cors.pattern,
                allow_origins=cors.origins,
                allow_methods=cors.methods,
                # Not a default of Jetty, but without it no page of another origin could log in.
                allow_headers=("Authorization",),
                max_age=60,
            )
        )
    return layers


class OriginPattern:
    """The pattern of origins, looked for in what strangers send as one, for a moment: the worker stands still meanwhile."""

    def __init__(self, text: str) -> None:
        self._compiled = regex.compile(text, regex.V0)

    def fullmatch(self, origin: str) -> Any:
        """Return whether it is the whole origin; None also if nobody knows in time."""
        try:
            return None if len(origin) > _LONGEST_ORIGIN else self._compiled.fullmatch(origin, timeout=_LOOK_S)
        except TimeoutError:
            log.warning(
                "It takes too long to look for the pattern in %s: write it so that a text is split in few ways", ORIGINS
            )
            return None


@functools.cache
def _compiled(text: str) -> OriginPattern:
    return OriginPattern(text)


class _Cors(CORSMiddleware):
    def __init__(self, app: ASGIApp, /, pattern: str | None, **more: Any) -> None:
        super().__init__(app, **more)
        self.allow_origin_regex: Any = None if pattern is None else _compiled(pattern)


def protected() -> Middleware:
    """
    The layer that keeps answers out of caches, and has browsers take them for nothing but what they are. It is outermost: what
    the application or the worker file sets of these headers counts instead.
    """
    return Middleware(_ResponseHeaders, rules=_PROTECTION)


def check_origin(http: HTTPConnection, cors: Cors | None, by_cookie: bool = False) -> None:
    """
    ForbiddenError for a change that a page of a foreign origin makes in its visitor's name.

    A browser sends along the password that its user once gave this worker, and reaches a worker that only this machine does.
    It asks first (CORS), except for a POST that is no JSON, as a restart may be. What is changed `by_cookie`, which browsers
    send by themselves, must come from a page of this worker's own.
    """
    if not by_cookie and (http.scope["method"] != "POST" or is_json(http.headers.get("content-type", ""))):
        return
    origin, site = http.headers.get("origin"), http.headers.get("sec-fetch-site")
    if site == "same-origin" or (not by_cookie and (site == "none" or (origin is None and site is None))):
        return
    if origin is not None and (_is_own(http, origin) or (not by_cookie and cors is not None and _is_allowed(cors, origin))):
        return
    raise _foreign(origin)


def check_site(http: HTTPConnection, cors: Cors | None) -> None:
    """
    ForbiddenError for a read that takes a process of the worker, or shows records, if a page of another site asks: it can't see
    the answer, but would have its visitor do it, as often as it likes. A link that the visitor follows is no such read.
    """
    headers = http.headers
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is None and (site not in ("cross-site", "same-site") or headers.get("sec-fetch-dest") == "document"):
        return
    if origin is not None and (
        site == "same-origin" or _is_own(http, origin) or (cors is not None and _is_allowed(cors, origin))
    ):
        return
    raise _foreign(origin)


def _foreign(origin: str | None) -> ForbiddenError:
    return ForbiddenError(
        f"Pages of {(origin or 'another origin')[:200]} may not send requests to this worker. To allow them, name their origin "
        f"in the worker setting {ORIGINS}."
    )


def _is_own(http: HTTPConnection, origin: str) -> bool:
    """A proxy may have changed `Host`; what it puts beside it no page can set without asking first."""
    try:
        host = urlsplit(origin).netloc.lower()
    except ValueError:
        return False
    return host != "" and host in (http.headers.get(name, "").lower() for name in ("host", "x-forwarded-host"))


def _is_allowed(cors: Cors, origin: str) -> bool:
    by_pattern = cors.pattern is not None and _compiled(cors.pattern).fullmatch(origin) is not None
    return by_pattern or not {"*", origin}.isdisjoint(cors.origins)


class _ResponseHeaders:
    """Gives every answer some headers. One that the application sets itself counts instead of these."""

    def __init__(self, app: ASGIApp, rules: Sequence[HeaderRule]) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = list(message.get("headers", ()))
                names = {name.lower() for name, _ in answered}
                more = [(name, value) for name, value in _headers(self._rules, time.time()) if name.lower() not in names]
                message = {**message, "headers": [*more, *answered]}
            await send(message)

        await self._app(scope, receive, add)


def _headers(rules: Sequence[HeaderRule], now: float) -> list[tuple[bytes, bytes]]:
    headers: list[tuple[bytes, bytes]] = []
    for rule in rules:
        name = rule.name.encode()
        if rule.replaces:
            headers = [header for header in headers if header[0].lower() != name.lower()]
        value = formatdate(now + int(rule.value) / 1000, usegmt=True) if rule.is_date else rule.value
        headers.append((name, value.encode()))
    return headers
