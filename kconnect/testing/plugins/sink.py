"""
Runs a sink connector and one of its tasks by hand, for tests of plugins: no broker, no Spark, no threads.

Used by authors' tests through `kconnect.testing`, and by `checks.py`. It calls `put` through the worker's own pump,
`core/task/sink_pump.py`, with a consumer that needs no Kafka (`kafka/memory_clients.py`). Read next: `records.py`, which makes
records for `put`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api.connector import SinkConnector
from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.api.task import SinkTask
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task.batch import Batch, Records
from kconnect.core.task.errant import Errant
from kconnect.core.task.errors import Errors, Failure
from kconnect.core.task.meters import SinkMeter
from kconnect.core.task.ports import Listener
from kconnect.core.task.sink_context import SinkContext
from kconnect.core.task.sink_pump import Ports, SinkPump
from kconnect.core.task.windows import Windows
from kconnect.errors import ConnectError
from kconnect.kafka.memory_clients import MemoryConsumer
from kconnect.testing.plugins.configs import accepted
from kconnect.testing.plugins.tasks import stopped_on_failure, task_configs_of
from kconnect.testing.plugins.world import Always

_STEP_S = 1e9
"""How far the runner's clock moves from one call to the next: every pause is over then."""


class SinkRunner:
    """
    A sink connector and one of its tasks, run by hand.

        with SinkRunner(TableSink, {"file": str(path)}) as sink:
            sink.put(sink_records("a", "b"))
            sink.flush()

    `config` is the connector's config, as texts, like in REST. Raises ConfigError if validation would refuse it. `task` is the
    number of the task. Partitions are opened when the first records of them are put; `open` and `close` simulate a rebalance.
    At the end of the `with` block the task is asked for its last offsets, its partitions are closed, and it is stopped, as in a
    worker.
    """

    def __init__(self, connector: type[SinkConnector], config: Mapping[str, str], task: int = 0) -> None:
        self.config = accepted(connector, config)
        self.task_configs: list[dict[str, str]] = []
        """The configs of all tasks, as the connector made them."""
        self.committed: dict[TopicPartition, int] = {}
        """The committed offsets: where a new task would continue to read."""
        self.rewinds: dict[TopicPartition, int] = {}
        """Where the task asked to continue, with `context.offset`. The test must put these records again itself."""
        self.timeout_ms: int | None = None
        """The last pause that the task asked for, with `context.timeout`."""
        self.reported: list[tuple[SinkRecord, Exception]] = []
        """The records and errors that the task reported for the dead letter queue."""
        self.reconfigurations = 0
        """How often the connector has asked for its `task_configs` to be called again."""
        self.error: Exception | None = None
        """The error with which the connector failed itself, with `raise_error`."""
        self.topic_ids: dict[str, str] = {}
        """What `context.topic_ids` tells; a topic that is made anew has another id."""
        self.end_offsets: dict[TopicPartition, int] = {}
        """What `context.end_offsets` tells: behind what was put, unless a test says more."""
        self._class, self._number = connector, task
        self._connector: SinkConnector | None = None
        self._now = 0.0
        self._begin({}, _Records(columns=False), in_put_only=False)

    def __enter__(self) -> SinkRunner:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def assigned(self) -> set[TopicPartition]:
        """The partitions that the task has open."""
        return self._consumer.assignment

    @property
    def paused(self) -> set[TopicPartition]:
        """The partitions that the task has paused."""
        return self._consumer.paused

    @property
    def commit_requested(self) -> bool:
        """Whether the task has asked for a commit since the last one."""
        return self._pump.context.commit_requested

    @property
    def superseded(self) -> int:
        """The number of records that changed nothing, as the task has reported."""
        return self._counts.superseded

    @property
    def metrics(self) -> dict[tuple[tuple[str, str], ...], dict[str, float]]:
        """The numbers that the task has told with `context.metric`, by labels and name."""
        return self._counts.numbers.by_labels()

    @property
    def task(self) -> SinkTask:
        """The task that runs now. Raises ConnectError if none runs."""
        if self._plugin.task is None:
            raise ConnectError("No task runs: call start() first, or use the runner in a `with` block")
        return self._plugin.task

    @property
    def connector(self) -> SinkConnector:
        """The connector instance that runs now. Raises ConnectError if none runs."""
        if self._connector is None:
            raise ConnectError("No connector runs: call start() first, or use the runner in a `with` block")
        return self._connector

    def start(self) -> SinkRunner:
        """
        Start the connector, make its task configs, and start the task. Errors of the plugin are raised unchanged, after `stop`
        of what was begun, as in a worker.
        """
        with stopped_on_failure(self.stop):
            return self._start()

    def _start(self) -> SinkRunner:
        connector = self._connector = self._class()
        connector.initialize(_ConnectorContext(self))
        connector.start(dict(self.config))
        self.task_configs = task_configs_of(connector, self.config)
        if self._number >= len(self.task_configs):
            raise ConnectError(f"There is no task {self._number}: the connector made {len(self.task_configs)} task configs")
        properties = self.task_configs[self._number]
        task: Any = connector.task_class()()
        self._begin(properties, _Records(type(task).put_batch is not SinkTask.put_batch), task.reports_in_put_only)
        self._plugin.task = task
        task.initialize(_TaskContext(self, self._pump.context))
        task.start(dict(properties))
        return self

    def _begin(self, properties: Mapping[str, str], intake: _Records, in_put_only: bool) -> None:
        settings, world = ErrorSettings.of(self.config), Always()
        errors = Errors(settings, self._report, lambda seconds: True, lambda: self._now, lambda longest: longest)
        errant = Errant(errors, self._class.__name__, in_put_only) if settings.tolerant or settings.topic else None
        self._plugin, self._counts = _Plugin(), errors.counts
        meter = SinkMeter(Windows(), errors.counts, time.monotonic)
        ports = Ports(world, self._plugin, world, meter, errors.counts, math.inf, 0.0, errant)

        def consumer(listener: Listener) -> MemoryConsumer:
            self._consumer = MemoryConsumer(listener)
            self._consumer.ids, self._consumer.ends = self.topic_ids, self.end_offsets
            return self._consumer

        self._pump = SinkPump(ports, intake, consumer, properties)

    def open(self, *partitions: TopicPartition) -> None:
        """Assign more partitions to the task."""
        new = [TopicPartition(*partition) for partition in partitions if partition not in self.assigned]
        if new:
            self._consumer.assign(*new)

    def put(self, records: Iterable[SinkRecord]) -> None:
        """
        Open new partitions, and call `put` once; or `put_batch`, if the task overrides it and gets ten or more records that are
        alike. If it raises an error, even a RetriableError, the records count as not delivered. After a RetriableError a worker
        would put the same records again.
        """
        batch = [_Message(record) for record in records]
        self.open(*dict.fromkeys(message.place for message in batch))
        for message in batch:
            self.end_offsets[message.place] = max(self.end_offsets.get(message.place, 0), message.offset() + 1)
        self._pump.ready(self._now)
        self._now += _STEP_S
        try:
            self._pump.step(batch, self._now)
        except Exception:
            self._plugin.raised = None
            self._pump.skip()
            raise
        if self._plugin.raised is not None:
            self._pump.skip()
            self._plugin.complain()

    def flush(self) -> dict[TopicPartition, int]:
        """
        Commit offsets, as a worker does at intervals: it calls `pre_commit`, which calls `flush`. Returns `committed`.

        Raises AssertionError if the task returns offsets that it was not asked for, or that are beyond what was put. An error
        of `pre_commit` is raised unchanged, and nothing is committed. A worker would then go back to the offsets committed
        before.
        """
        self._pump.commit()
        self._plugin.complain()
        return self._all_committed()

    def close(self, *partitions: TopicPartition) -> None:
        """Take these partitions away, or all, like a rebalance: the task is asked for their last offsets, and closes them."""
        self._consumer.revoke(*(TopicPartition(*partition) for partition in partitions or sorted(self.assigned)))
        self._all_committed()
        self._plugin.complain()

    def restart(self, crash: bool = False) -> SinkRunner:
        """
        Make new instances, without partitions. With `crash`, the old instances are neither asked for offsets nor stopped, as
        after a `kill -9`.
        """
        if crash:
            self._connector = self._plugin.task = None
        self.stop()
        return self.start()

    def stop(self) -> None:
        """End as a worker does: commit the last offsets, `close`, then `stop` the task and the connector."""
        try:
            task = self._plugin.task
            if task is not None:
                try:
                    self.close()
                finally:
                    self._plugin.task = None
                    task.stop()
        finally:
            connector, self._connector = self._connector, None
            if connector is not None:
                connector.stop()

    def _all_committed(self) -> dict[TopicPartition, int]:
        self.committed.update({place: position.offset for place, position in self._consumer.committed.items()})
        return dict(self.committed)

    def _report(self, failure: Failure) -> None:
        self.reported.append((failure.origin.record, failure.error))


class _Message(NamedTuple):
    """A record in the form of a message that a consumer has read."""

    record: SinkRecord

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.record.original_topic, self.record.original_partition)

    def topic(self) -> str:
        return self.record.original_topic

    def partition(self) -> int:
        return self.record.original_partition

    def offset(self) -> int:
        return self.record.original_offset


class _Records:
    """An `Intake` without converters: only the task is tested here."""

    def __init__(self, columns: bool) -> None:
        self._columns = columns

    def __call__(self, messages: Sequence[_Message]) -> list[SinkRecord] | Batch:
        records = [message.record for message in messages]
        batch = Records.of(records, owned=True) if self._columns else None
        return records if batch is None or batch.topic is None or any(batch.every("headers")) else batch

    def place(self, record: SinkRecord) -> TopicPartition:
        return TopicPartition(record.original_topic, record.original_partition)


class _Plugin:
    """Calls the task, and keeps its errors. A worker would log them, or try again."""

    def __init__(self) -> None:
        self.task: SinkTask | None = None
        self.raised: BaseException | None = None

    def complain(self) -> None:
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised

    def put(self, records: list[Any]) -> None:
        self._call(lambda task: task.put(records))

    def put_batch(self, batch: Any) -> None:
        self._call(lambda task: task.put_batch(batch))

    def pre_commit(
        self, current_offsets: dict[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        allowed = self._call(lambda task: task.pre_commit(dict(current_offsets))) or {}
        far = [at for at, to in allowed.items() if at not in current_offsets or to.offset > current_offsets[at].offset]
        if far:
            self.raised = AssertionError(
                f"pre_commit() returned offsets that can't be committed, of {', '.join(f'{t}-{p}' for t, p in far)}: it was "
                "not asked about these partitions, or the offsets are beyond what was put"
            )
        return allowed

    def open(self, partitions: Collection[TopicPartition]) -> None:
        self._call(lambda task: task.open(partitions))

    def close(self, partitions: Collection[TopicPartition]) -> None:
        self._call(lambda task: task.close(partitions))

    def _call(self, call: Callable[[SinkTask], Any]) -> Any:
        if self.task is None:
            raise ConnectError("No task runs: call start() first, or use the runner in a `with` block")
        try:
            return call(self.task)
        except Exception as error:
            self.raised = error
            raise


class _ConnectorContext:
    """A `kconnect.api.connector.ConnectorContext` for sinks."""

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
    """The worker's own context, which also records for the test what the task asked for."""

    def __init__(self, runner: SinkRunner, context: SinkContext) -> None:
        self._runner, self._context = runner, context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def offset(self, partition: TopicPartition, offset: int) -> None:
        self._runner.rewinds[TopicPartition(*partition)] = offset
        self._context.offset(partition, offset)

    def offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        for partition, offset in offsets.items():
            self.offset(partition, offset)

    def timeout(self, milliseconds: int) -> None:
        self._runner.timeout_ms = milliseconds
        self._context.timeout(milliseconds)
