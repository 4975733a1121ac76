"""
The way of a request from the log to what it has started: a span for each start of a connector or task.

A host reads the config topic, in which the records that a traced request has written have its context as a header, the way
`requests.py` puts it there. `host/main.py` hands the records over, and asks for a span when it starts a unit. It belongs to the
request's trace if the record is young. Else it is a trace of its own, which is linked with the request's: a task that moves
next month has not been started by today's request.
"""

from __future__ import annotations

import contextvars
import threading
import time

from opentelemetry import context as current
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, StatusCode, Tracer

from kconnect.core.state.records import LogRecord, TargetState, Topic, UnitId
from kconnect.telemetry import contexts

_YOUNG_MS = 600_000
_CONNECTOR, _OTHERS = b"connector-", (b"target-state-", b"restart-connector-")


class StartTraces:
    """For one host; called from its thread."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._causes: dict[str, tuple[Context, int]] = {}
        """By connector, what the last request about it was that has a trace, and when it was written, in ms since 1970."""

    def read(self, record: LogRecord) -> None:
        key = record.key
        if record.topic is not Topic.CONFIG or key is None:
            return
        if key.startswith(_CONNECTOR):
            name = key[len(_CONNECTOR) :]
            # By a request that has no trace it is no longer what the one before has made it.
            self._causes.pop(name.decode(errors="replace"), None)
        else:
            name = next((key[len(prefix) :] for prefix in _OTHERS if key.startswith(prefix)), b"")
        if not name or record.value is None or record.trace is None:
            return
        context = contexts.parse(record.trace.decode("latin-1"))
        if context is not None:
            self._causes[name.decode(errors="replace")] = (context, record.at_ms)

    def begin(self, unit: UnitId) -> StartTrace:
        """Return the span of a unit's start."""
        cause = self._causes.get(unit.connector)
        parent, links = Context(), []
        if cause is not None:
            if _is_young(cause[1]):
                parent = cause[0]
            else:
                links = [Link(contexts.span_context(cause[0]))]
        name = "start connector" if unit.is_connector else "start task"
        return StartTrace(self._tracer.start_span(name, parent, attributes=_about(unit), links=links))

    def set_target(self, unit: UnitId, target: TargetState) -> None:
        """A unit that runs is paused or resumed: a span without a length, in the trace of the request that has asked for it."""
        cause = self._causes.get(unit.connector)
        if cause is not None and _is_young(cause[1]):
            attributes = {**_about(unit), "kconnect.target_state": target.value}
            self._tracer.start_span("set target state", cause[0], attributes=attributes).end()


def _is_young(at_ms: int) -> bool:
    # A broker's clock may be ahead.
    return abs(time.time() * 1000 - at_ms) <= _YOUNG_MS


def _about(unit: UnitId) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {"kconnect.connector": contexts.shown(unit.connector)}
    return attributes if unit.is_connector else {**attributes, "kconnect.task": unit.task}


class StartTrace:
    """The `Tracing` of a unit."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._token: contextvars.Token[Context] | None = None
        self._thread: int | None = None

    def enter(self) -> None:
        self._thread = threading.get_ident()
        self._token = current.attach(trace.set_span_in_context(self._span))

    def end(self, came_up: bool | None) -> None:
        if self._token is not None and threading.get_ident() == self._thread:
            current.detach(self._token)
        if came_up is False:
            self._span.set_status(StatusCode.ERROR)
        elif came_up is None:
            self._span.set_attribute("kconnect.started", False)
        self._span.end()
