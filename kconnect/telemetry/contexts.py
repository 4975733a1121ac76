"""
Trace contexts as W3C's header `traceparent` has them, and names for spans that show no secret. Used by `requests.py`,
`starts.py` and `batches.py`.
"""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanContext
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from kconnect.processes import logs

TRACEPARENT = "traceparent"
_LONGEST_NAME = 200
_propagator = TraceContextTextMapPropagator()


def text_of(span: Span) -> str | None:
    """Return the span's context as the header has it; None if it has none."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier, trace.set_span_in_context(span))
    return carrier.get(TRACEPARENT)


def parse(text: str | None) -> Context | None:
    """Return the context that the header gives, or None if it is no such header. Whoever sends it may have written anything."""
    if text is None:
        return None
    context = _propagator.extract({TRACEPARENT: text}, Context())
    return context if trace.get_current_span(context).get_span_context().is_valid else None


def span_context(context: Context) -> SpanContext:
    return trace.get_current_span(context).get_span_context()


def shown(name: object) -> str:
    """Return a name, such as a connector's, as a span may have it."""
    return sendable(logs.printable(logs.hide(str(name)))[:_LONGEST_NAME])


def sendable(text: str) -> str:
    """Return a text that OTLP can hold. Half a character, which plugins may bring along, costs all that is sent with it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
