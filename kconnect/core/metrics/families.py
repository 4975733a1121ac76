"""
The rows of the table with their numbers: everything that `/metrics` says about one worker, not formatted yet.

`core/herder/requests/metrics.py` makes the `Snapshot` on the worker's loop, which must be quick. `rest/metrics.py` calls
`families` in a thread of its own, because a thousand connectors have tens of thousands of lines. Read next: `table.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kconnect.core.metrics import table
from kconnect.core.metrics.published import Published
from kconnect.core.metrics.report import UnitReport, Usage
from kconnect.core.metrics.table import Kind, Metric
from kconnect.core.state.records import State, UnitId
from kconnect.core.task.meters import Values
from kconnect.core.task.numbers import Labels

Sample = tuple[tuple[str, ...], float]
"""The labels' values, in the order of `Metric.labels`, and the number."""


@dataclass(frozen=True, slots=True)
class UnitNow:
    """A unit of this worker; `report` None: its host has not spoken of it yet, or it never came to life."""

    unit: UnitId
    state: State
    report: UnitReport | None = None
    texts: dict[str, str] = field(default_factory=dict)
    """What the worker itself knows of it, where no host has said more."""


_Units = list[tuple[tuple[str, ...], UnitNow]]
"""With the labels that all metrics of the unit have."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`worker` and `rebalance` by attribute, `hosts` by number."""

    connectors: Sequence[UnitNow]
    tasks: Sequence[UnitNow]
    worker: Values
    rebalance: Values
    rebalance_texts: dict[str, str]
    hosts: Mapping[int, Usage] = field(default_factory=dict)
    published: Mapping[int, Sequence[Published]] = field(default_factory=dict)
    """By host, what no unit is known of."""
    silent_s: Mapping[int, float] = field(default_factory=dict)
    """By host, for how long it has not run what it has."""
    started_at: Mapping[int, float] = field(default_factory=dict)
    """When the process of each host has started, in seconds since 1970."""


def families(snapshot: Snapshot) -> Iterator[tuple[Metric, list[Sample]]]:
    """Yield the metrics in the order of the table, with their samples. A metric without a value has no samples."""
    connectors: _Units = [((now.unit.connector,), now) for now in snapshot.connectors]
    tasks: _Units = [((now.unit.connector, str(now.unit.task)), now) for now in snapshot.tasks]
    counts = _task_counts(snapshot.tasks)
    for metric in table.TABLE:
        group, attribute = metric.group, metric.attribute
        if metric.kind is Kind.STATUS:
            yield metric, _statuses(connectors if group is table.CONNECTOR else tasks)
        elif group is table.CONNECTOR:
            yield metric, [((*labels, *_texts(metric, now)), 1.0) for labels, now in connectors]
        elif group is table.TRANSFORM or group is table.PREDICATE:
            yield metric, list(_parts(group is table.TRANSFORM, tasks))
        elif metric.kind is Kind.INFO and group is table.TASK:
            yield metric, [((*labels, *_texts(metric, now)), 1.0) for labels, now in tasks if now.report is not None]
        elif group is table.REBALANCE and metric.kind is Kind.INFO:
            yield metric, [(tuple(snapshot.rebalance_texts.get(text, "") for text in metric.texts), 1.0)]
        elif group in (table.REBALANCE, table.WORKER, table.COORDINATOR):
            values = snapshot.rebalance if group is table.REBALANCE else snapshot.worker
            yield metric, [((), _number(values[attribute]))] if attribute in values else []
        elif group is table.HOST:
            yield metric, list(_hosts(attribute, snapshot))
        elif group is table.BY_CONNECTOR:
            yield metric, [((name,), float(counter[attribute])) for name, counter in counts.items()]
        else:
            yield (
                metric,
                [
                    (labels, _number(now.report.values[attribute]))
                    for labels, now in tasks
                    if now.report is not None and attribute in now.report.values
                ],
            )


_OURS = {name for metric in table.TABLE for name in (metric.name, metric.shown)}


def published(snapshot: Snapshot) -> dict[str, dict[Labels, float]]:
    """
    Return the metrics that plugins publish, by name and labels. The labels name the connector and the task, unless the metric
    has such labels already.
    """
    series: dict[str, dict[Labels, float]] = {}
    whose: list[tuple[dict[str, str], Sequence[Published]]] = [
        (
            {"connector": now.unit.connector, **({} if now.unit.is_connector else {"task": str(now.unit.task)})},
            now.report.published,
        )
        for now in (*snapshot.connectors, *snapshot.tasks)
        if now.report is not None
    ]
    whose += [({"host": str(host)}, metrics) for host, metrics in snapshot.published.items()]
    for own_labels, all_of_it in whose:
        for prefix, labels, values in all_of_it:
            complete = tuple({**own_labels, **dict(labels)}.items())
            for end, number in values.items():
                if (name := f"{prefix}_{end}") not in _OURS:
                    series.setdefault(name, {}).setdefault(complete, _number(number))
    return series


def _statuses(units: _Units) -> list[Sample]:
    return [((*labels, table.STATES[now.state]), 1.0) for labels, now in units]


def _hosts(attribute: str, snapshot: Snapshot) -> Iterator[Sample]:
    if attribute in ("silent-seconds", "start-timestamp-seconds"):
        seconds_by_host = snapshot.silent_s if attribute == "silent-seconds" else snapshot.started_at
        yield from (((str(number),), seconds) for number, seconds in seconds_by_host.items())
        return
    for number, usage in snapshot.hosts.items():
        value = {"memory-bytes": usage.memory, "memory-max-bytes": usage.memory_max, "cpu-seconds-total": usage.cpu}[attribute]
        if value is not None:
            yield (str(number),), float(value)


def _texts(metric: Metric, now: UnitNow) -> tuple[str, ...]:
    texts = now.texts if now.report is None else {**now.texts, **now.report.about.texts}
    return tuple(texts.get(text, "") for text in metric.texts)


def _parts(transforms: bool, tasks: _Units) -> Iterator[Sample]:
    for labels, now in tasks:
        if now.report is not None:
            about = now.report.about
            for alias, class_and_version in (about.transforms if transforms else about.predicates).items():
                yield (*labels, alias, *class_and_version), 1.0


def _task_counts(tasks: Sequence[UnitNow]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for now in tasks:
        counter = counts.setdefault(now.unit.connector, Counter())
        counter["connector-total-task-count"] += 1
        if now.state in table.BY_STATE:
            counter[table.BY_STATE[now.state]] += 1
    return counts


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
