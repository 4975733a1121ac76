"""
Runs a sink connector and one of its tasks by hand, for tests of plugins: no broker, no Spark, no threads.

Used by authors' tests by way of `kconnect.testing`, and by `checks.py`. Which offsets may be committed is said by the core that
workers use (`core/task/sink_offsets.py`). Read next: `records.py`, which makes records for `put`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kconnect.api.connector import SinkConnector
from kconnect.api.record import SinkRecord, TopicPartition
from kconnect.api.task import ErrantRecordReporter, SinkTask
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task.sink_offsets import SinkOffsets
from kconnect.errors import ConnectError
from kconnect.testing.plugins.configs import accepted
from kconnect.testing.plugins.tasks import task_configs_of


class SinkRunner:
    """
    A sink connector and one of its tasks, run by hand.

        with SinkRunner(TableSink, {"file": str(path)}) as sink:
            sink.put(sink_records("a", "b"))
            sink.flush()

    `config` is the connector's, as in REST: texts. ConfigError if validation would refuse it. `task` is the number of the task.
    Partitions are opened as records of them come; `open` and `close` are a rebalance. At the end of the `with` block the task
    is asked for its last offsets, its partitions are closed, and it is stopped, as in a worker.
    """

    def __init__(self, connector: type[SinkConnector], config: Mapping[str, str], task: int = 0) -> None:
        self.config = accepted(connector, config)
        self.task_configs: list[dict[str, str]] = []
        """Of all tasks, as the connector made them."""
        self.assigned: set[TopicPartition] = set()
        """The partitions that the task has open."""
        self.paused: set[TopicPartition] = set()
        """Those of them that it has paused."""
        self.committed: dict[TopicPartition, int] = {}
        """Where a new task would go on reading, as far as anything was committed."""
        self.rewinds: dict[TopicPartition, int] = {}
        """Where the task asked to go on reading, by `context.offset`; it is for the test to put these records again."""
        self.timeout_ms: int | None = None
        """The pause that the task asked for last, by `context.timeout`."""
        self.commit_requested = False
        """Whether the task has asked for a commit since the last one."""
        self.reported: list[tuple[SinkRecord, Exception]] = []
        """What it gave to the dead letter queue."""
        self.reconfigurations = 0
        """How often the connector has asked for its `task_configs` to be called again."""
        self.error: Exception | None = None
        """What the connector has failed itself with, by `raise_error`."""
        self._class, self._number = connector, task
        self._offsets = SinkOffsets()
        self._connector: SinkConnector | None = None
        self._task: SinkTask | None = None

    def __enter__(self) -> SinkRunner:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def task(self) -> SinkTask:
        """The task that runs now. ConnectError if none does."""
        if self._task is None:
            raise ConnectError("No task runs: call start() first, or use the runner in a `with` block")
        return self._task

    @property
    def connector(self) -> SinkConnector:
        """The connector instance that runs now. ConnectError if none does."""
        if self._connector is None:
            raise ConnectError("No connector runs: call start() first, or use the runner in a `with` block")
        return self._connector

    def start(self) -> SinkRunner:
        """Start the connector, have it make its task configs, and start the task. What these raise comes out as it is."""
        connector = self._class()
        connector.initialize(_ConnectorContext(self))
        connector.start(dict(self.config))
        self._connector = connector
        self.task_configs = task_configs_of(connector, self.config)
        if self._number >= len(self.task_configs):
            raise ConnectError(f"There is no task {self._number}: the connector made {len(self.task_configs)} task configs")
        properties = self.task_configs[self._number]
        task: Any = connector.task_class()()
        task.initialize(_TaskContext(self, properties))
        task.start(dict(properties))
        self._task = task
        return self

    def open(self, *partitions: TopicPartition) -> None:
        """The task reads these, too, from now on."""
        new = [TopicPartition(*each) for each in partitions if each not in self.assigned]
        if new:
            self.assigned.update(new)
            self.task.open(new)

    def put(self, records: Iterable[SinkRecord]) -> None:
        """
        One `put`, after opening partitions that are new. If it raises, be it a RetriableError, the records count as not
        delivered: a worker would put the very same again.
        """
        batch = list(records)
        self.open(*dict.fromkeys(TopicPartition(each.original_topic, each.original_partition) for each in batch))
        self.task.put(list(batch))
        ends: dict[TopicPartition, int] = {}
        for each in batch:
            ends[TopicPartition(each.original_topic, each.original_partition)] = each.original_offset + 1
        self._offsets.delivered(ends)

    def flush(self) -> dict[TopicPartition, int]:
        """
        Have offsets committed, as a worker does now and then: `pre_commit` is asked, which calls `flush`. Gives `committed`.

        AssertionError if the task gives offsets beyond what it was given. What `pre_commit` raises comes out as it is, and
        nothing is committed.
        """
        self._commit(self.assigned)
        return dict(self.committed)

    def close(self, *partitions: TopicPartition) -> None:
        """A rebalance takes these away, or all: the task is asked for their last offsets, then they are closed."""
        gone = [TopicPartition(*each) for each in partitions or sorted(self.assigned)]
        self._commit(gone)
        self.task.close(gone)
        self._offsets.closed(gone)
        self.assigned.difference_update(gone)
        self.paused.difference_update(gone)

    def restart(self, crash: bool = False) -> SinkRunner:
        """New instances, without partitions. With `crash` the old ones are neither asked nor stopped, as after a `kill -9`."""
        if crash:
            self._connector = self._task = None
            self._offsets.closed(self.assigned)
            self.assigned, self.paused = set(), set()
        self.stop()
        return self.start()

    def stop(self) -> None:
        """End as a worker does: last offsets, `close`, `stop` of the task and of the connector."""
        try:
            if self._task is not None:
                try:
                    self.close()
                finally:
                    task, self._task = self._task, None
                    task.stop()
        finally:
            connector, self._connector = self._connector, None
            if connector is not None:
                connector.stop()

    def _commit(self, partitions: Iterable[TopicPartition]) -> None:
        self.commit_requested = False
        current = self._offsets.current(partitions)
        if not current:
            return
        allowed = self.task.pre_commit(dict(current)) or {}
        offsets, refused = self._offsets.to_commit(allowed)
        if refused:
            raise AssertionError(
                f"pre_commit() gave offsets that can't be committed, of {', '.join(f'{t}-{p}' for t, p in refused)}: of "
                "partitions that it was not asked about, or beyond what was put"
            )
        self._offsets.committed(offsets)
        self.committed.update({place: position.offset for place, position in offsets.items()})


class _ConnectorContext:
    """What `kconnect.api.connector.ConnectorContext` promises to sinks."""

    def __init__(self, runner: SinkRunner) -> None:
        self._runner = runner

    @property
    def offsets(self) -> Any:
        raise ConnectError("A sink connector has no source offsets")

    def request_task_reconfiguration(self) -> None:
        self._runner.reconfigurations += 1

    def raise_error(self, error: Exception) -> None:
        self._runner.error = error


class _TaskContext:
    """What `kconnect.api.task.SinkTaskContext` promises."""

    def __init__(self, runner: SinkRunner, properties: dict[str, str]) -> None:
        self._runner, self._properties = runner, properties
        settings = ErrorSettings.of(runner.config)
        self._reporter = _Reporter(runner, settings.tolerant) if settings.tolerant or settings.topic else None

    def configs(self) -> dict[str, str]:
        return dict(self._properties)

    def offset(self, partition: TopicPartition, offset: int) -> None:
        self._runner.rewinds[TopicPartition(*partition)] = offset

    def offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        for partition, offset in offsets.items():
            self.offset(partition, offset)

    def timeout(self, milliseconds: int) -> None:
        self._runner.timeout_ms = milliseconds

    def assignment(self) -> set[TopicPartition]:
        return set(self._runner.assigned)

    def pause(self, *partitions: TopicPartition) -> None:
        self._runner.paused.update(self._own(partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self._runner.paused.difference_update(self._own(partitions))

    def request_commit(self) -> None:
        self._runner.commit_requested = True

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        return self._reporter

    def _own(self, partitions: tuple[TopicPartition, ...]) -> list[TopicPartition]:
        own = [TopicPartition(*partition) for partition in partitions]
        foreign = [str(tuple(partition)) for partition in own if partition not in self._runner.assigned]
        if foreign:
            raise ConnectError(f"These partitions are not assigned to this task: {', '.join(foreign)}")
        return own


class _Reporter:
    """What `kconnect.api.task.ErrantRecordReporter` promises."""

    def __init__(self, runner: SinkRunner, tolerant: bool) -> None:
        self._runner, self._tolerant = runner, tolerant

    def report(self, record: SinkRecord, error: Exception) -> None:
        self._runner.reported.append((record, error))
        if not self._tolerant:
            raise ConnectError("errors.tolerance is none, so a record that was reported fails the task") from error
