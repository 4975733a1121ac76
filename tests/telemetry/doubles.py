"""A tracer whose spans stay here, for tests that look at spans as the SDK has them."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler
from opentelemetry.trace import Tracer, format_span_id, format_trace_id


class Spans:
    def __init__(self, sampler: Sampler | None = None) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer: Tracer = provider.get_tracer("test")

    def ended(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def one(self, name: str) -> ReadableSpan:
        [span] = [span for span in self.ended() if span.name == name]
        return span


def ids(span: ReadableSpan) -> tuple[str, str]:
    """The ids of a span's trace and of the span."""
    return format_trace_id(span.context.trace_id), format_span_id(span.context.span_id)


def parent(span: ReadableSpan) -> str | None:
    return None if span.parent is None else format_span_id(span.parent.span_id)
