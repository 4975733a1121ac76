"""
Tasks: they move the data. Plugin authors implement them. `kconnect.units` runs each task in a thread of its own.

Order of calls: the constructor without arguments, `initialize`, `start`, then `poll` (source) or `put` (sink) again and
again, and `stop`. An exception from `initialize` or `start` fails the task before it runs. An exception from `poll` or `put`
fails the task, unless it is a `RetriableError`: then the framework makes the same call again after a pause. Read next:
`connector.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from kconnect.api.record import OffsetAndMetadata, RecordMetadata, SinkRecord, SourceRecord, TopicPartition
from kconnect.data.column import Column


class Task(ABC):
    """The methods that source and sink tasks share."""

    @abstractmethod
    def version(self) -> str:
        """The plugin's version, as shown in statuses."""

    @abstractmethod
    def start(self, props: dict[str, str]) -> None:
        """Start with the task config that the connector made. Called once, from the task's thread."""

    @abstractmethod
    def stop(self) -> None:
        """
        Stop. For a source task it is called from another thread, possibly while `poll` blocks, and must make `poll` return
        soon. For a sink task it is called from the task's own thread, after the last `put`. It is called once, also if
        `initialize` or `start` has failed: what they have opened is to be closed.
        """


class OffsetReader(Protocol):
    """The stored source offsets of this connector."""

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """The stored offset of one source partition; None if there is none. Integers are read as int."""
        ...

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """The stored offsets of several source partitions, in their order."""
        ...


class TransactionContext(Protocol):
    """
    Lets an exactly-once source task end its transactions itself (`transaction.boundary=connector`).

    All records that `poll` returns go into the open transaction until one of these methods ends it. Before that, nobody sees a
    record, and no offset is stored. The methods may be called from any thread. To ask for both a commit and an abort of one
    transaction or record fails the task.
    """

    def commit_transaction(self, record: SourceRecord = ...) -> None:
        """
        Commit after `record`, which must be the same object that a later `poll` returns. Without it, commit after the next
        batch. The commit happens even if a transform drops the record.
        """
        ...

    def abort_transaction(self, record: SourceRecord = ...) -> None:
        """
        Like `commit_transaction`, but nobody will see the transaction's records. Their source offsets are stored even so, so
        the records do not come again. If they should come again, raise an error from `poll` instead.
        """
        ...


class SourceTaskContext(Protocol):
    @property
    def offsets(self) -> OffsetReader: ...

    @property
    def transaction_context(self) -> TransactionContext | None:
        """
        The task's transactions; None unless the worker enables exactly-once sources and the connector's `transaction.boundary`
        is `connector`.
        """
        ...

    def configs(self) -> dict[str, str]:
        """The task's current config."""
        ...

    def waits_for(self, what: str | None) -> None:
        """
        Say that `poll` waits for something that should be there, such as a missing file: `describe`, the console and REST show
        it beside RUNNING. None ends that. Not in Connect.
        """
        ...

    def passed_over(self, count: int) -> None:
        """
        Count records of the outside system that can't be read, and that the config allows to pass over: the metrics
        `total-record-errors` and `total-records-skipped`. Not in Connect.
        """
        ...

    def metric(self, name: str, value: float, labels: Mapping[str, str] | None = None) -> None:
        """
        Tell a number of this task for `GET /metrics`, where it stands until it is told anew, or the task ends: as
        `kafka_connect_plugins_` and its name, with the labels `connector` and `task` and these. Each number that differs in a
        label is one of 5,000 that a task may have; more are passed over. What Java has by KIP-877.
        """
        ...


class SourceTask(Task):
    """Reads from an outside system and returns records for Kafka."""

    context: SourceTaskContext

    def initialize(self, context: SourceTaskContext) -> None:
        """Called once before `start`. From now on the task can read stored offsets."""
        self.context = context

    @abstractmethod
    def poll(self) -> list[SourceRecord] | None:
        """
        The next records, in their order; None or an empty list if there are none at the moment.

        It may block for about a second. If there is no data, it should block instead of returning at once.
        """

    def commit(self) -> None:
        """
        Called after the offsets of all records that `poll` returned up to some point have been stored; with exactly-once, after
        a transaction was committed. For the task's own bookkeeping only.
        """

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """
        Called once for each record, in order, after Kafka has acknowledged `record`. `metadata` is None if it was dropped on
        the way. With exactly-once, it is called after the record's transaction was committed. If the transaction was aborted,
        it is called after the record's offset was committed, also with None. It is called between two calls of `poll`, in the
        same thread: a `poll` must not wait for it, but return None, or what there is. A task without this method is faster,
        because the framework then does not have to remember records.
        """


class ErrantRecordReporter(Protocol):
    def report(self, record: SinkRecord, error: Exception) -> None:
        """Report a record that can't be delivered. It goes to the dead letter queue, if one is configured."""
        ...


class SinkTaskContext(Protocol):
    def configs(self) -> dict[str, str]: ...

    def offset(self, partition: TopicPartition, offset: int) -> None:
        """Continue to read this partition at `offset`, from the next `put` on."""
        ...

    def timeout(self, milliseconds: int) -> None:
        """Set how long to wait for the next attempt after a `RetriableError`."""
        ...

    def assignment(self) -> set[TopicPartition]:
        """The partitions that this task currently reads."""
        ...

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """
        Return Kafka's ids of these topics: a topic that is deleted and created again has another one. Topics whose id is
        unknown are left out: brokers before 2.8 have none. For tasks that store offsets in their target; not in Connect.
        """
        ...

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """
        The offsets behind the last records, asked of the brokers now. Partitions that nobody tells of are left out. Not in
        Connect.
        """
        ...

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def superseded(self, count: int) -> None:
        """
        Count records that change nothing, since the target has something newer in their place: the metric
        `total-records-superseded`. Not in Connect.
        """
        ...

    def metric(self, name: str, value: float, labels: Mapping[str, str] | None = None) -> None:
        """
        Tell a number of this task for `GET /metrics`, where it stands until it is told anew, or the task ends: as
        `kafka_connect_plugins_` and its name, with the labels `connector` and `task` and these. Each number that differs in a
        label is one of 5,000 that a task may have; more are passed over. What Java has by KIP-877.
        """
        ...

    def request_commit(self) -> None:
        """Ask the framework to commit offsets soon, before the next interval."""
        ...

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """The reporter; None if there is neither a dead letter queue nor `errors.log.enable`, as in Connect."""
        ...


class SinkBatch(Protocol):
    """
    Records of one topic that have no null values, and whose schemas are the same, in the order of offsets. They have no
    headers, unless the task says that it takes such (`SinkTask.takes_batches_with_headers`).
    """

    @property
    def topic(self) -> str:
        """The topic, as the transforms have left it."""
        ...

    @property
    def key(self) -> Column: ...

    @property
    def value(self) -> Column: ...

    def __len__(self) -> int: ...

    def every(self, name: str) -> Sequence[Any]:
        """
        Each record's `topic`, `partition`, `offset`, `timestamp` or `headers`, or its `original_topic`, `original_partition` or
        `original_offset`, which transforms don't change.
        """
        ...

    def records(self) -> list[SinkRecord]:
        """The records themselves, made anew at each call."""
        ...


class SinkTask(Task):
    """
    Takes records from Kafka and delivers them to an outside system. All calls but `interrupt` come from the task's own thread.
    """

    context: SinkTaskContext
    reports_in_put_only = False
    """
    Whether the task reports bad records only within the `put` or `put_batch` that has them. If so, the framework does not keep
    what was read until it is committed. Set it for a task that collects many records before it delivers them.
    """
    takes_batches_with_headers = False
    """
    Whether `put_batch` may be given records that have headers. Set it for a task that makes nothing of headers, or that looks
    at `every("headers")`.
    """

    def initialize(self, context: SinkTaskContext) -> None:
        """Called once before `start`."""
        self.context = context

    @abstractmethod
    def put(self, records: list[SinkRecord]) -> None:
        """
        Deliver the records, or keep them until `flush`. The list may be empty. After a `RetriableError` the framework passes
        the same records again, after `context.timeout` or a pause. Any other error fails the task.
        """

    def put_batch(self, batch: SinkBatch) -> None:
        """
        Deliver many records of one topic that are alike, as columns: what `put` promises holds here, too. Implement it if the
        outside system takes columns, or if the task needs less of each record than a whole one: then no record is made at all.
        Batches that are not alike, few records or none come through `put` all the same.
        """
        self.put(batch.records())

    def interrupt(self) -> None:
        """
        Called when the task is to stop, from another thread, maybe before `start`, and maybe more than once. A `put` that is
        under way should end within a few seconds, if need be with a RetriableError; its records come again later. It must
        return at once.
        """

    def flush(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        """When it returns, all records below `offsets` that were put must be safe: the framework commits `offsets` next."""

    def pre_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets that may be committed. For tasks that flush by themselves; others implement `flush`."""
        self.flush(offsets)
        return offsets

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """Called when the task begins to read these partitions."""

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """Called when the task stops reading these partitions, after offsets were committed as far as `pre_commit` allowed."""
