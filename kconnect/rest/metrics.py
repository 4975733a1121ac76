"""
`/metrics`: what this worker counts, as Prometheus reads it. Kafka Connect has its metrics in JMX only.

The client library says which format a caller wants, text or OpenMetrics, but the lines are written here: each unit's labels
are put together once for all its numbers, which for a thousand connectors is twenty times quicker than the library, and
leaves the worker's other threads alone. The tests compare both. The names are in `core/metrics/table.py`.
"""

from __future__ import annotations

import asyncio

from prometheus_client import exposition
from starlette.responses import Response

from kconnect.core.herder.requests.metrics import GetMetrics
from kconnect.core.metrics.families import Snapshot, families, published
from kconnect.core.metrics.table import Kind, Metric
from kconnect.rest.operation import Answer, Role
from kconnect.rest.resource import Call

_OPEN_METRICS, _TEXT = "application/openmetrics-text", "text/plain; version=0.0.4; charset=utf-8"
_TYPES = {Kind.COUNTER: "counter", Kind.GAUGE: "gauge", Kind.STATUS: "gauge", Kind.TEXT: "gauge", Kind.INFO: "info"}
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


async def get_metrics(call: Call) -> Response:
    try:
        media_type = exposition.choose_encoder(",".join(call.http.headers.getlist("accept")))[1]
    except (TypeError, ValueError):
        # A version that is none: whoever asks so is given what is for everybody.
        media_type = _TEXT
    is_open = media_type.startswith(_OPEN_METRICS)

    async def make() -> bytes:
        # In a thread: other requests need not wait for it.
        return await asyncio.to_thread(write, await call.ask(GetMetrics()), is_open)

    content = await call.api.shared.answer(is_open, make)
    return Response(content, headers={"content-type": media_type})


def write(snapshot: Snapshot, open_metrics: bool = False) -> bytes:
    """Format metrics as Prometheus' text format, or as OpenMetrics."""
    lines: list[str] = []
    texts_of_names: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
    for metric, samples in families(snapshot):
        if not samples:
            continue
        lines.append(_head(metric, open_metrics))
        shown, names = metric.shown, metric.labels
        texts = texts_of_names.setdefault(names, {})
        for labels, number in samples:
            text = texts.get(labels)
            if text is None:
                text = texts[labels] = _labels(names, labels)
            lines.append(f"{shown}{text} {_number(number)}\n")
    for name, series in published(snapshot).items():
        lines.append(f"# TYPE {name} {'unknown' if open_metrics else 'untyped'}\n")
        for pairs, number in series.items():
            lines.append(f"{name}{_labels(*zip(*pairs))} {_number(number)}\n")
    if open_metrics:
        lines.append("# EOF\n")
    return "".join(lines).encode()


def _number(number: float) -> str:
    return "NaN" if number != number else repr(number)


def _head(metric: Metric, open_metrics: bool) -> str:
    kind = _TYPES[metric.kind]
    if open_metrics:
        return f"# HELP {metric.name} {metric.doc}\n# TYPE {metric.name} {kind}\n"
    # The older format gives each line's own name, and has no infos.
    kind = "gauge" if metric.kind is Kind.INFO else kind
    return f"# HELP {metric.shown} {metric.doc}\n# TYPE {metric.shown} {kind}\n"


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    if not names:
        return ""
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(names, values)) + "}"


OPERATIONS = (
    Role.READ.may(
        "GET /metrics",
        get_metrics,
        "What this worker and its tasks count, for Prometheus",
        Answer(200, "All metrics of this worker, its connectors and tasks; docs/metrics.md lists them."),
        produces=("text/plain", _OPEN_METRICS),
    ),
)
