"""
Tasks: what moves the data. Implemented by plugin authors, run by `kconnect.worker` in a thread of its own each.

Order of calls: the constructor without arguments, `initialize`, `start`, then `poll` (source) or `put` (sink) again and
again, and `stop`. An exception from `initialize` or `start` fails the task before it runs; from `poll` or `put` it fails
the task, unless it is a `RetriableError`: then the same call is made again after a pause. Read next: `connector.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from kconnect.api.record import OffsetAndMetadata, RecordMetadata, SinkRecord, SourceRecord, TopicPartition


class Task(ABC):
    """What source and sink tasks share."""

    @abstractmethod
    def version(self) -> str:
        """The plugin's version, as shown in statuses."""

    @abstractmethod
    def start(self, props: dict[str, str]) -> None:
        """Begin with the task config that the connector made. Called once, from the task's thread."""

    @abstractmethod
    def stop(self) -> None:
        """
        End. For a source task it is called from another thread while `poll` may be blocked, which it must end soon;
        for a sink task from the task's own thread, after its last `put`.
        """


class OffsetReader(Protocol):
    """Stored source offsets, of this connector only."""

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """The stored offset of one source partition; None if there is none. Integers come back as int."""
        ...

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """The same for many at once, in their order."""
        ...


class TransactionContext(Protocol):
    """
    Where the transactions of an exactly-once source task end, if it says so itself (`transaction.boundary=connector`).

    All that `poll` gives goes into the open transaction until one of these ends it; nobody sees a record, and no offset is
    stored, before. May be called from any thread. To ask for both ends of one transaction or record fails the task.
    """

    def commit_transaction(self, record: SourceRecord = ...) -> None:
        """
        Commit behind `record`, the very object, which a later `poll` gives; without it, behind the batch that comes next.
        It counts also if a transform drops the record.
        """
        ...

    def abort_transaction(self, record: SourceRecord = ...) -> None:
        """
        The same, but nobody will see the transaction's records. Their source offsets are stored all the same: they are done
        with. To have the records come again, raise an error from `poll` instead.
        """
        ...


class SourceTaskContext(Protocol):
    @property
    def offsets(self) -> OffsetReader: ...

    @property
    def transaction_context(self) -> TransactionContext | None:
        """None unless the worker has exactly-once sources enabled and the connector's `transaction.boundary` is `connector`."""
        ...

    def configs(self) -> dict[str, str]:
        """The task's config, as it is now."""
        ...


class SourceTask(Task):
    """Reads from a system outside and gives records to Kafka."""

    context: SourceTaskContext

    def initialize(self, context: SourceTaskContext) -> None:
        """Called once before `start`; stored offsets can be read from now on."""
        self.context = context

    @abstractmethod
    def poll(self) -> list[SourceRecord] | None:
        """
        The next records, in their order; None or an empty list if there are none for now.

        It may block for about a second; without data it should, instead of returning at once.
        """

    def commit(self) -> None:
        """
        Offsets of all records that `poll` gave up to some point have been stored; exactly once: a transaction was committed.
        For own bookkeeping only.
        """

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """
        Kafka has acknowledged `record`; `metadata` is None if it was dropped on the way. Called once a record, in order.
        Exactly once: its transaction is committed, or its offset is after the record's transaction was aborted (None too).
        Not implementing it is quicker: the framework then needs to remember no records.
        """


class ErrantRecordReporter(Protocol):
    def report(self, record: SinkRecord, error: Exception) -> None:
        """Hand over a record that can't be delivered, to the dead letter queue as configured."""
        ...


class SinkTaskContext(Protocol):
    def configs(self) -> dict[str, str]: ...

    def offset(self, partition: TopicPartition, offset: int) -> None:
        """Go on reading this partition at `offset`, from the next `put` on."""
        ...

    def timeout(self, milliseconds: int) -> None:
        """How long to wait before the next attempt, after a `RetriableError`."""
        ...

    def assignment(self) -> set[TopicPartition]:
        """The partitions that this task reads now."""
        ...

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None:
        """Have offsets committed soon, not only at the next interval."""
        ...

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """None while no dead letter queue and no tolerance is configured."""
        ...


class SinkTask(Task):
    """Takes records from Kafka and delivers them to a system outside. All calls come from the task's own thread."""

    context: SinkTaskContext

    def initialize(self, context: SinkTaskContext) -> None:
        """Called once before `start`."""
        self.context = context

    @abstractmethod
    def put(self, records: list[SinkRecord]) -> None:
        """
        Deliver, or keep until `flush`. The list may be empty. A `RetriableError` has the same records come again, after
        `context.timeout` or a pause; any other error fails the task.
        """

    def flush(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        """Everything that was put below `offsets` must be safe when this returns: they are committed next."""

    def pre_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Which of `offsets` may be committed. For tasks that flush by themselves; others implement `flush`."""
        self.flush(offsets)
        return offsets

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """This task reads these partitions from now on."""

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """This task no longer reads these; their offsets have been committed as far as `pre_commit` allowed."""
