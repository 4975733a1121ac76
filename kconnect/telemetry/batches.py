"""
A batch's way through a task, of which some are traced: poll, convert and produce of a source, convert and put of a sink.

`sdk.py` makes one for each host, and `host/main.py` one for each task of it; `units/source_task.py` and `units/sink_task.py`
have it around what they call for each batch. Where telemetry is off, nothing is around it. A batch that is not taken costs the
sampler's decision, and no call for each record. A span has names and numbers, and of records only their header `traceparent`:
the traces that a batch's records come from are links of its span. With `opentelemetry.record.headers`, the messages of a traced
batch of a source get the context of its `produce`, unless they have one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanContext, SpanKind, StatusCode, Tracer

from kconnect.core.state.records import UnitId
from kconnect.core.task.converted import Converted
from kconnect.telemetry import contexts

T = TypeVar("T")
Step = Callable[[Any, float], None]

_MOST_LINKS, _MOST_SEARCHED = 32, 512
"""Different traces that a span is linked with, and messages in which they are looked for."""


class BatchTraces:
    """For one host."""

    def __init__(self, tracer: Tracer, into_records: bool) -> None:
        self._tracer, self._into_records = tracer, into_records

    def of_task(self, unit: UnitId) -> TaskTraces:
        return TaskTraces(self._tracer, unit, self._into_records)


class TaskTraces:
    """The traces of one task's batches. All that it returns is called by the task's thread."""

    def __init__(self, tracer: Tracer, unit: UnitId, into_records: bool) -> None:
        self._tracer, self._unit, self._into_records = tracer, unit, into_records
        self._began = 0
        """When the last poll began, in ns since 1970."""
        self._batch: Span | None = None
        """That of the batch which is on its way, if it is traced."""
        self._delivery: Span | None = None
        """Of what becomes of the part of it that was converted last: `produce` or `put`."""

    def polling(self, poll: Callable[[], T]) -> Callable[[], T]:
        def polled() -> T:
            self._began = time.time_ns()
            return poll()

        return polled

    def of_source(self, step: Step) -> Step:
        def stepped(records: Any, now: float) -> None:
            if not records or (batch := self._sampled("source batch", SpanKind.INTERNAL, len(records), self._began)) is None:
                step(records, now)
                return
            with self._within(batch):
                self._tracer.start_span("poll", start_time=self._began).end()
                step(records, now)

        return stepped

    def of_sink(self, step: Step) -> Step:
        def stepped(messages: Any, now: float) -> None:
            if not messages or (batch := self._sampled("sink batch", SpanKind.CONSUMER, len(messages), None)) is None:
                step(messages, now)
                return
            with self._within(batch):
                _link(batch, (message.headers() for message in islice(messages, _MOST_SEARCHED)))
                step(messages, now)

        return stepped

    def converting(self, convert: Callable[[Sequence[Any]], Converted]) -> Callable[[Sequence[Any]], Converted]:
        """Return the conversion of a source."""

        def converted(records: Sequence[Any]) -> Converted:
            batch = self._batch
            if batch is None:
                return convert(records)
            result = self._convert(convert, records)
            messages = result.messages
            _link(batch, (message[7] for message in islice(messages, _MOST_SEARCHED)))
            # Until the next part of the batch is converted, or the step ends.
            self._delivery = produce = self._tracer.start_span("produce", kind=SpanKind.PRODUCER)
            produce.set_attribute("messaging.system", "kafka")
            produce.set_attribute("messaging.batch.message_count", len(messages))
            if self._into_records and (text := contexts.text_of(produce)) is not None:
                result = result._replace(messages=[_with_context(message, text.encode()) for message in messages])
            return result

        return converted

    def taking(self, intake: Any) -> Any:
        """Return the intake of a sink."""
        return _Intake(self, intake)

    def take(self, intake: Callable[[Sequence[Any]], T], messages: Sequence[Any]) -> T:
        if self._batch is None:
            return intake(messages)
        result = self._convert(intake, messages)
        self._delivery = self._tracer.start_span("put")
        return result

    def _convert(self, convert: Callable[[Sequence[Any]], T], records: Sequence[Any]) -> T:
        self._end_delivery(None)
        with self._tracer.start_as_current_span("convert", record_exception=False, set_status_on_exception=False) as span:
            try:
                return convert(records)
            except BaseException as error:
                _failed(span, error)
                raise

    def _sampled(self, name: str, kind: SpanKind, count: int, began: int | None) -> Span | None:
        """Return the span of a new batch, or None if the sampler leaves it out."""
        attributes: dict[str, str | int] = {
            "kconnect.connector": contexts.shown(self._unit.connector),
            "kconnect.task": self._unit.task,
            "messaging.batch.message_count": count,
        }
        span = self._tracer.start_span(name, Context(), kind, attributes, start_time=began)
        return span if span.is_recording() else None

    @contextmanager
    def _within(self, batch: Span) -> Iterator[None]:
        self._batch = batch
        error: BaseException | None = None
        try:
            with trace.use_span(batch, record_exception=False, set_status_on_exception=False):
                yield
        except BaseException as raised:
            error = raised
            _failed(batch, raised)
            raise
        finally:
            self._end_delivery(error)
            self._batch = None
            batch.end()

    def _end_delivery(self, error: BaseException | None) -> None:
        span, self._delivery = self._delivery, None
        if span is not None:
            if error is not None:
                _failed(span, error)
            span.end()


class _Intake:
    """An `Intake` of `core/task/sink_pump.py`."""

    def __init__(self, traces: TaskTraces, intake: Any) -> None:
        self._traces, self._intake = traces, intake
        self.place = intake.place

    def __call__(self, messages: Sequence[Any]) -> Any:
        return self._traces.take(self._intake, messages)


def _failed(span: Span, error: BaseException) -> None:
    # Its class only: what it says may quote a record.
    span.set_attribute("error.type", type(error).__name__)
    span.set_status(StatusCode.ERROR)


def _link(span: Span, headers: Iterable[Sequence[tuple[str, Any]] | None]) -> None:
    """Link the span with the traces that these headers of messages name."""
    found: dict[str, SpanContext] = {}
    for pairs in headers:
        for name, value in pairs or ():
            if name != contexts.TRACEPARENT or not isinstance(value, bytes) or len(value) > 100:
                continue
            text = value.decode("latin-1")
            if text not in found and (context := contexts.parse(text)) is not None:
                found[text] = contexts.span_context(context)
        if len(found) >= _MOST_LINKS:
            break
    for linked in found.values():
        span.add_link(linked)


def _with_context(message: Any, context: bytes) -> Any:
    """Return the message with one more header; one that has a context keeps it."""
    headers = message[7] or ()
    if any(name == contexts.TRACEPARENT for name, _ in headers):
        return message
    return (*message[:7], [*headers, (contexts.TRACEPARENT, context)])
