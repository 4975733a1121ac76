"""
Whether an expression of Prometheus uses metrics and labels that workers serve, by the table of metrics.

Used by the tests of the alerts and of the dashboard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kconnect.core.metrics.table import TABLE

SCRAPED = {"job", "instance"}
"""The labels that Prometheus gives to what it scrapes."""

_LABELS = {metric.shown: set(metric.labels) for metric in TABLE} | {"up": set()}
_SELECTED = re.compile(r"\b(kafka_connect_\w+|up)\b(?:\{([^}]*)\})?")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPED = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")


def unknown(expression: str) -> Iterator[str]:
    """Yield the metrics and labels in `expression` that there are not, and an empty text if it has no metric at all."""
    selected = _SELECTED.findall(expression)
    known = set(SCRAPED)
    if not selected:
        yield ""
    for metric, selector in selected:
        if metric not in _LABELS:
            yield metric
            continue
        known |= _LABELS[metric]
        yield from (f"{metric}{{{label}}}" for label in _LABEL.findall(selector) if label not in _LABELS[metric] | SCRAPED)
    for group in _GROUPED.findall(expression):
        yield from (f"by {label.strip()}" for label in group.split(",") if label.strip() not in known)
