"""
What telemetry costs a task: microseconds of CPU for a batch of 500 messages around which there is nothing, a trace that the
sampler leaves out, one that it takes, and one whose context goes into the messages.

The conversion does nothing, and what is sent is thrown away: the figures are those of the spans alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

from kconnect.core.state.records import UnitId
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.converted import Converted
from kconnect.telemetry.batches import BatchTraces
from tests.rig.benches import results

_WAYS: dict[str, tuple[float | None, bool]] = {
    "off": (None, False),
    "not taken": (0.0, False),
    "taken": (1.0, False),
    "taken, with headers": (1.0, True),
}
_BATCHES = 2000


class _Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    made = results.Results("telemetry", options.json)
    messages: list[Outgoing] = [("t", b"v", None, -1, None, None, 0, None)] * 500
    for _ in range(options.rounds):
        for way, (ratio, into_records) in _WAYS.items():
            go = _batch(messages, ratio, into_records)
            began = time.process_time()
            for _ in range(_BATCHES):
                go()
            made.add("a batch of 500", results.KCONNECT, way, "µs CPU", (time.process_time() - began) / _BATCHES * 1e6)
    made.show()


def _batch(messages: list[Outgoing], ratio: float | None, into_records: bool) -> Callable[[], None]:
    def convert(batch: Sequence[Any]) -> Converted:
        return Converted(batch, {"t"}, ())

    if ratio is None:
        return lambda: _use(convert(messages))
    provider = TracerProvider(TraceIdRatioBased(ratio), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_Nowhere()))
    traces = BatchTraces(provider.get_tracer("bench"), into_records).of_task(UnitId("orders", 0))
    poll, converting = traces.polling(lambda: messages), traces.converting(convert)
    step = traces.of_source(lambda batch, now: _use(converting(batch)))
    return lambda: step(poll(), 0.0)


def _use(converted: Converted) -> None:
    """Stand for what becomes of a batch."""


if __name__ == "__main__":
    main()
