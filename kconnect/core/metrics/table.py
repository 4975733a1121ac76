"""
Every metric, declared once: Connect's group and attribute, its kind and its meaning.

`families.py` fills the rows with numbers, `rest/metrics.py` writes them out, and docs/metrics.md lists them (a test keeps that
page equal to this table). A name is `kafka_connect_`, the group without `-metrics`, and the attribute, with underscores; a
counter ends in `_total`. The usual rules for Prometheus' JMX exporter give the same names, except for counters. Read next:
`core/task/meters.py`, which has the numbers of tasks.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kconnect.core.state.records import State


class Kind(enum.Enum):
    COUNTER = "counter"
    """Rises only; begins at 0 whenever the task or the worker is started."""
    GAUGE = "gauge"
    STATUS = "status"
    """Always 1, with the label `status` for the state in force: one, as others are joined with it."""
    TEXT = "text"
    """Always 1, with the label of the only one of `texts`. It is in an info, too: these are names that dashboards know."""
    INFO = "info"
    """Always 1; its labels are `texts`."""


@dataclass(frozen=True)
class Group:
    """`name` as in JMX, without `-metrics`; `labels` are those of all its metrics."""

    name: str
    labels: tuple[str, ...]

    @property
    def prefix(self) -> str:
        return f"kafka_connect_{self.name.removeprefix('connect-').replace('-', '_')}"


@dataclass(frozen=True)
class Metric:
    """`attribute` is Connect's, but with `ours`: Connect has no such metric."""

    group: Group
    attribute: str
    kind: Kind
    doc: str
    texts: tuple[str, ...] = ()
    ours: bool = False

    @property
    def name(self) -> str:
        """Without the ending that its kind has in Prometheus' text: `_total` or `_info`."""
        ending = self.attribute.replace("-", "_")
        endings = {Kind.COUNTER: "_total", Kind.INFO: "_info"}
        return f"{self.group.prefix}_{ending}".removesuffix(endings.get(self.kind, ""))

    @property
    def shown(self) -> str:
        """The name as it stands in Prometheus' text."""
        return self.name + {Kind.COUNTER: "_total", Kind.INFO: "_info"}.get(self.kind, "")

    @property
    def labels(self) -> tuple[str, ...]:
        more = ("status",) if self.kind is Kind.STATUS else tuple(text.replace("-", "_") for text in self.texts)
        return (*self.group.labels, *more)


STATES = {state: state.value.lower() for state in State}
"""How the label `status` spells them, as Connect's attributes do."""

CONNECTOR = Group("connector", ("connector",))
TASK = Group("connector-task", ("connector", "task"))
TRANSFORM = Group("connector-transform", ("connector", "task", "transform"))
PREDICATE = Group("connector-predicate", ("connector", "task", "predicate"))
SOURCE = Group("source-task", ("connector", "task"))
SINK = Group("sink-task", ("connector", "task"))
ERRORS = Group("task-error", ("connector", "task"))
WORKER = Group("connect-worker", ())
BY_CONNECTOR = Group("connect-worker", ("connector",))
COORDINATOR = Group("connect-coordinator", ())
REBALANCE = Group("connect-worker-rebalance", ())
HOST = Group("task-host", ("host",))

_C, _G = Kind.COUNTER, Kind.GAUGE
_CLASSES = ("connector-class", "connector-type", "connector-version")
_CONVERTERS = tuple(f"{which}-converter-{what}" for which in ("key", "value", "header") for what in ("class", "version"))

TABLE: tuple[Metric, ...] = (
    Metric(CONNECTOR, "status", Kind.STATUS, "State of the connector, even if it could not be started"),
    Metric(CONNECTOR, "info", Kind.INFO, "What the connector is", _CLASSES),
    Metric(CONNECTOR, "connector-class", Kind.TEXT, "The connector's class", ("connector-class",)),
    Metric(CONNECTOR, "connector-type", Kind.TEXT, "Whether it is a source or a sink", ("connector-type",)),
    Metric(CONNECTOR, "connector-version", Kind.TEXT, "The connector's version", ("connector-version",)),
    Metric(TASK, "status", Kind.STATUS, "State of the task, even if it could not be started"),
    Metric(TASK, "info", Kind.INFO, "What the task is", (*_CLASSES, "task-class", "task-version", *_CONVERTERS)),
    Metric(TASK, "running-ratio", _G, "Fraction of its life that the task was running, 0 to 1"),
    Metric(TASK, "pause-ratio", _G, "Fraction of its life that the task was paused, 0 to 1"),
    Metric(
        TASK,
        "cpu-seconds-total",
        _C,
        "CPU seconds of the task's own threads, in Python and in Java, without those of Kafka's clients",
        ours=True,
    ),
    Metric(
        TASK,
        "value-bytes-total",
        _C,
        "Bytes of the values of records, as they are in Kafka: of those that a source has written, or a sink has read",
        ours=True,
    ),
    Metric(TASK, "batch-size-max", _G, "Records in the largest batch, in the windows"),
    Metric(TASK, "batch-size-avg", _G, "Average number of records in a batch, in the windows"),
    Metric(TASK, "offset-commit-max-time-ms", _G, "Milliseconds of the longest commit of offsets, in the windows"),
    Metric(TASK, "offset-commit-avg-time-ms", _G, "Average milliseconds of a commit of offsets, in the windows"),
    Metric(TASK, "offset-commit-success-percentage", _G, "Fraction of the commits in the windows that succeeded, 0 to 1"),
    Metric(TASK, "offset-commit-failure-percentage", _G, "Fraction of the commits in the windows that failed, 0 to 1"),
    Metric(
        TASK,
        "last-progress-timestamp-seconds",
        _G,
        "When records last went to Kafka, or to the sink, in seconds since 1970",
        ours=True,
    ),
    Metric(TRANSFORM, "info", Kind.INFO, "What a transform of the task is", ("transform-class", "transform-version")),
    Metric(PREDICATE, "info", Kind.INFO, "What a predicate of the task is", ("predicate-class", "predicate-version")),
    Metric(SOURCE, "source-record-poll-total", _C, "Records that the task returned, before transforms"),
    Metric(SOURCE, "source-record-poll-rate", _G, "Records that the task returned, per second, in the windows"),
    Metric(SOURCE, "source-record-write-total", _C, "Records that Kafka acknowledged, after transforms"),
    Metric(SOURCE, "source-record-write-rate", _G, "Records handed to Kafka's client, per second, in the windows"),
    Metric(SOURCE, "poll-batch-max-time-ms", _G, "Milliseconds of the longest poll that returned records, in the windows"),
    Metric(SOURCE, "poll-batch-avg-time-ms", _G, "Average milliseconds of a poll that returned records, in the windows"),
    Metric(SOURCE, "source-record-active-count", _G, "Records that were not acknowledged when a poll ended last"),
    Metric(SOURCE, "source-record-active-count-max", _G, "Most records that waited for Kafka after any batch, in the windows"),
    Metric(SOURCE, "source-record-active-count-avg", _G, "Average number of records that waited for Kafka after a batch"),
    Metric(SOURCE, "transaction-size-min", _G, "Records in the smallest transaction that an exactly-once task has committed"),
    Metric(SOURCE, "transaction-size-max", _G, "Records in the largest transaction that it has committed, in the windows"),
    Metric(SOURCE, "transaction-size-avg", _G, "Average number of records in a transaction that it has committed"),
    Metric(SINK, "sink-record-read-total", _C, "Records read from Kafka, before transforms"),
    Metric(SINK, "sink-record-read-rate", _G, "Records read from Kafka, per second, in the windows"),
    Metric(SINK, "sink-record-send-total", _C, "Records that the task accepted, after transforms"),
    Metric(SINK, "sink-record-send-rate", _G, "Records that the task accepted, per second, in the windows"),
    Metric(SINK, "sink-record-lag-max", _G, "Records still to come in the partition that is furthest behind"),
    Metric(SINK, "sink-record-lag", _G, "Records still to come in all partitions of the task", ours=True),
    Metric(SINK, "partition-count", _G, "Partitions that the task reads"),
    Metric(SINK, "offset-commit-seq-no", _G, "Number of commits that the task has begun"),
    Metric(SINK, "offset-commit-completion-total", _C, "Commits of offsets that succeeded"),
    Metric(SINK, "offset-commit-completion-rate", _G, "Commits of offsets that succeeded, per second, in the windows"),
    Metric(SINK, "offset-commit-skip-total", _C, "Commits that got no answer before the client was replaced"),
    Metric(SINK, "offset-commit-skip-rate", _G, "Commits that got no answer, per second, in the windows"),
    Metric(SINK, "put-batch-max-time-ms", _G, "Milliseconds of the longest put with records, in the windows"),
    Metric(SINK, "put-batch-avg-time-ms", _G, "Average milliseconds of a put with records, in the windows"),
    Metric(SINK, "sink-record-active-count", _G, "Records read but not committed yet"),
    Metric(SINK, "sink-record-active-count-max", _G, "Largest number of records that were not committed yet, in the windows"),
    Metric(SINK, "sink-record-active-count-avg", _G, "Average number of records that were not committed yet, in the windows"),
    Metric(ERRORS, "total-record-failures", _C, "Attempts to process a record that failed"),
    Metric(ERRORS, "total-record-errors", _C, "Records that failed for good"),
    Metric(ERRORS, "total-records-skipped", _C, "Records that were dropped because they failed"),
    Metric(
        ERRORS,
        "total-records-superseded",
        _C,
        "Records that changed nothing, since the target has something newer in their place",
        ours=True,
    ),
    Metric(ERRORS, "total-retries", _C, "Further attempts to process a record"),
    Metric(ERRORS, "total-errors-logged", _C, "Failures that were logged (errors.log.enable)"),
    Metric(ERRORS, "deadletterqueue-produce-requests", _C, "Records that were sent to the dead letter queue"),
    Metric(ERRORS, "deadletterqueue-produce-failures", _C, "Failures to write to the dead letter queue"),
    Metric(ERRORS, "last-error-timestamp", _G, "When a record last failed for good, in milliseconds since 1970; 0 if none has"),
    Metric(
        ERRORS,
        "retrying-since-timestamp-seconds",
        _G,
        "Since when the task has been retrying a failed call, in seconds since 1970; 0 while it retries none",
        ours=True,
    ),
    Metric(WORKER, "workers-wanted", _G, "Workers that the load of the whole cluster wants, as any of them sees it", ours=True),
    Metric(WORKER, "connector-count", _G, "Connectors of this worker"),
    Metric(WORKER, "task-count", _G, "Tasks of this worker"),
    Metric(WORKER, "connector-startup-attempts-total", _C, "Starts of connectors on this worker's hosts"),
    Metric(WORKER, "connector-startup-success-total", _C, "Starts of connectors that succeeded"),
    Metric(WORKER, "connector-startup-failure-total", _C, "Starts of connectors that failed"),
    Metric(WORKER, "connector-startup-success-percentage", _G, "Fraction of the starts of connectors that succeeded, 0 to 1"),
    Metric(WORKER, "connector-startup-failure-percentage", _G, "Fraction of the starts of connectors that failed, 0 to 1"),
    Metric(WORKER, "task-startup-attempts-total", _C, "Starts of tasks on this worker's hosts"),
    Metric(WORKER, "task-startup-success-total", _C, "Starts of tasks that succeeded"),
    Metric(WORKER, "task-startup-failure-total", _C, "Starts of tasks that failed"),
    Metric(WORKER, "task-startup-success-percentage", _G, "Fraction of the starts of tasks that succeeded, 0 to 1"),
    Metric(WORKER, "task-startup-failure-percentage", _G, "Fraction of the starts of tasks that failed, 0 to 1"),
    Metric(BY_CONNECTOR, "connector-total-task-count", _G, "Tasks of the connector on this worker"),
    Metric(BY_CONNECTOR, "connector-running-task-count", _G, "Tasks of the connector on this worker that run"),
    Metric(BY_CONNECTOR, "connector-paused-task-count", _G, "Tasks of the connector on this worker that are paused"),
    Metric(BY_CONNECTOR, "connector-failed-task-count", _G, "Tasks of the connector on this worker that have failed"),
    Metric(BY_CONNECTOR, "connector-unassigned-task-count", _G, "Tasks of the connector on this worker that do not run yet"),
    Metric(BY_CONNECTOR, "connector-restarting-task-count", _G, "Tasks of the connector on this worker that are restarting"),
    Metric(BY_CONNECTOR, "connector-destroyed-task-count", _G, "Always 0: a destroyed task has no status here"),
    Metric(COORDINATOR, "assigned-connectors", _G, "Connectors that the leader gave this worker"),
    Metric(COORDINATOR, "assigned-tasks", _G, "Tasks that the leader gave this worker"),
    Metric(HOST, "memory-bytes", _G, "Resident memory of a task host's process, in bytes", ours=True),
    Metric(HOST, "silent-seconds", _G, "For how long a task host has not run what it has; 0 while it does", ours=True),
    Metric(HOST, "start-timestamp-seconds", _G, "When a task host's process started, in seconds since 1970", ours=True),
    Metric(HOST, "memory-max-bytes", _G, "Limit of a task host's resident memory, in bytes, if there is one", ours=True),
    Metric(HOST, "cpu-seconds-total", _C, "CPU seconds that a task host's process has used since its start", ours=True),
    Metric(REBALANCE, "info", Kind.INFO, "The leader and the protocol", ("leader-name", "connect-protocol")),
    Metric(REBALANCE, "epoch", _G, "Generation of the assignments"),
    Metric(REBALANCE, "rebalancing", _G, "1 while this worker's hosts do not yet run what the leader gave it, or nobody leads"),
    Metric(REBALANCE, "completed-rebalances-total", _C, "New assignments that this worker's hosts have put into effect"),
    Metric(REBALANCE, "rebalance-max-time-ms", _G, "Longest time until a new assignment was in effect"),
    Metric(REBALANCE, "rebalance-avg-time-ms", _G, "Average time until a new assignment was in effect"),
    Metric(REBALANCE, "time-since-last-rebalance-ms", _G, "Milliseconds since a new assignment last took effect"),
)

BY_STATE = {
    State.RUNNING: "connector-running-task-count",
    State.PAUSED: "connector-paused-task-count",
    State.FAILED: "connector-failed-task-count",
    State.UNASSIGNED: "connector-unassigned-task-count",
    State.RESTARTING: "connector-restarting-task-count",
}
