"""
Metrics for the collector: the families of `/metrics`, read when they are to be sent.

`sdk.py` makes the reader. Nothing is counted a second time, and no series is remembered: what `/metrics` no longer has is not
sent any more. So the SDK's instruments are left out, which keep each series for ever and at most 2,000 of a metric, and its
reader is given what they would collect. Names are those of `/metrics`; a counter is without its `_total`, which Prometheus adds
to a sum, and a value that is not known yet (NaN) is left out. Read next: `core/metrics/families.py`.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricExporter,
    MetricsData,
    NumberDataPoint,
    PeriodicExportingMetricReader,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from kconnect import __version__
from kconnect.core.metrics.families import Sample, Snapshot, families, published
from kconnect.core.metrics.table import Kind
from kconnect.telemetry.contexts import sendable

log = logging.getLogger(__name__)


class Reader(PeriodicExportingMetricReader):
    """Sends what `read` returns, every `interval_ms`."""

    def __init__(self, exporter: MetricExporter, interval_ms: int, resource: Resource, read: Callable[[], Snapshot]) -> None:
        self._resource, self._read = resource, read
        self._began = time.time_ns()
        super().__init__(exporter, interval_ms)

    def collect(self, timeout_millis: float = 10_000) -> None:  # type: ignore[misc]
        """Called by the SDK's thread at each interval, and once at the end."""
        try:
            metrics = list(metrics_of(self._read(), self._began, time.time_ns()))
        except Exception as error:  # noqa: BLE001 - a worker that stops does not answer any more
            log.debug("No metrics are sent this time: %s", error)
            return
        scopes = [ScopeMetrics(InstrumentationScope("kconnect", __version__), metrics, "")]
        self._receive_metrics(MetricsData([ResourceMetrics(self._resource, scopes, "")]), timeout_millis)


def metrics_of(snapshot: Snapshot, began_ns: int, now_ns: int) -> Iterable[Metric]:
    """Yield the families that have a value. Metrics that plugins publish have no kind, as in `/metrics`: they are gauges."""
    for metric, samples in families(snapshot):
        points = _points(metric.labels, samples, began_ns, now_ns)
        if not points:
            continue
        if metric.kind is Kind.COUNTER:
            yield Metric(metric.name, metric.doc, "", Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True))
        else:
            yield Metric(metric.shown, metric.doc, "", Gauge(points))
    for name, series in published(snapshot).items():
        rows = [
            NumberDataPoint({label: sendable(text) for label, text in pairs}, began_ns, now_ns, value)
            for pairs, value in series.items()
            if _is_known(value)
        ]
        if rows:
            yield Metric(name, "", "", Gauge(rows))


def _points(names: tuple[str, ...], samples: list[Sample], began_ns: int, now_ns: int) -> list[NumberDataPoint]:
    return [
        NumberDataPoint(dict(zip(names, map(sendable, labels))), began_ns, now_ns, value)
        for labels, value in samples
        if _is_known(value)
    ]


def _is_known(value: float) -> bool:
    return not math.isnan(value)
