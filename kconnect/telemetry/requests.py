"""
A request's way from REST to the log: a span for the HTTP request, and one for each effect that its herder asks for.

`sdk.py` makes it; `worker/rest.py` puts it around the applications, `worker/loop.py` tells it of requests and effects. What a
request has written to the config topic gets the trace context of the span of that write as a header: from there on it is
`starts.py`'s. Requests that only look are not traced, unless their caller traces them: most come every few seconds, from
monitors and the console.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from typing import Any, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from kconnect.core.herder.effects import Effect, Write
from kconnect.core.state.records import Topic
from kconnect.telemetry import contexts

E = TypeVar("E", bound=Effect[Any])
_Scope = MutableMapping[str, Any]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]
_Notes = Callable[[_Scope], dict[str, Any]]

_LOOKS = ("GET", "HEAD", "OPTIONS")
_METHODS = (*_LOOKS, "POST", "PUT", "PATCH", "DELETE")
_MOST = 10_000
"""Requests and effects that are followed at a time."""


class RequestTraces:
    """Thread-safe, as single calls of dicts are."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._contexts: dict[int, Context] = {}
        """By the request's ticket."""
        self._spans: dict[int, Span] = {}
        """By the effect's id."""

    # --- for REST ---

    def around(self, app: _App, notes: _Notes) -> _App:
        return _Traced(app, self._tracer, notes)

    def context(self) -> str | None:
        return contexts.text_of(trace.get_current_span())

    # --- for the loop ---

    def asked(self, ticket: int) -> None:
        span = trace.get_current_span()
        if span.is_recording() and len(self._contexts) < _MOST:
            self._contexts[ticket] = trace.set_span_in_context(span)

    def begun(self, effect: E) -> E:
        context = self._contexts.get(effect.ticket)
        if context is None or not effect.id or len(self._spans) >= _MOST:
            return effect
        span = self._spans[effect.id] = self._tracer.start_span(_name(effect), context)
        if not isinstance(effect, Write):
            return effect
        span.set_attributes({"kconnect.write.records": len(effect.entries), "kconnect.write.as_leader": effect.as_leader})
        text = (contexts.text_of(span) or "").encode() or None
        entries = tuple(entry._replace(trace=text) if entry.topic is Topic.CONFIG else entry for entry in effect.entries)
        return replace(effect, entries=entries)

    def ended(self, id: int, error: Exception | None) -> None:
        span = self._spans.pop(id, None)
        if span is None:
            return
        if error is not None:
            # Its class only: what it says may quote a config.
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR)
        span.end()

    def settled(self, ticket: int) -> None:
        self._contexts.pop(ticket, None)


class _Traced:
    """An ASGI application with a span around each request that may change something, or whose caller traces it."""

    def __init__(self, app: _App, tracer: Tracer, notes: _Notes) -> None:
        self._app, self._tracer, self._notes = app, tracer, notes

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parent = contexts.parse(_header(scope, b"traceparent"))
        if parent is None and scope["method"] in _LOOKS:
            await self._app(scope, receive, send)
            return
        notes = self._notes(scope)
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        attributes = {"http.request.method": method, "url.scheme": str(scope.get("scheme", "http"))}
        span = self._tracer.start_span(method, parent or Context(), SpanKind.SERVER, attributes)
        status = 500

        async def watch(message: _Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                await self._app(scope, receive, watch)
        finally:
            # One that is not ended is never sent: strangers can't have anything recorded.
            if not _is_strangers(notes, status):
                _finish(span, method, notes, status)


def _finish(span: Span, method: str, notes: dict[str, Any], status: int) -> None:
    if (route := notes.get("route")) is not None:
        span.update_name(f"{method} {route}")
        span.set_attribute("http.route", route)
    if (connector := notes.get("connector")) is not None:
        span.set_attribute("kconnect.connector", contexts.shown(connector))
    if (url := notes.get("forwarded_to")) is not None:
        span.set_attribute("kconnect.forwarded_to", contexts.shown(url))
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_status(StatusCode.ERROR)
    span.end()


def _is_strangers(notes: dict[str, Any], status: int) -> bool:
    return "user" not in notes and (status in (401, 403) or (status >= 400 and notes.get("needs_login", False)))


def _header(scope: _Scope, name: bytes) -> str | None:
    value: bytes | None = next((value for header, value in scope["headers"] if header == name), None)
    return None if value is None or len(value) > 100 else value.decode("latin-1")


def _name(effect: Effect[Any]) -> str:
    """Return `read reports` for `ReadReports`."""
    return re.sub(r"(?<=.)([A-Z])", r" \1", type(effect).__name__).lower()
