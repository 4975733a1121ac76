"""
What the pumps of a task need from outside, as protocols. `delivery.py`, `source_pump.py` and `sink_pump.py` are given objects
that implement them.

In a host these are Kafka's clients (`kafka/producer.py`, `kafka/transactions.py`, `kafka/consumer.py`), the stores of
`units/offsets.py`, the dead letter queue of `units/reports.py` and the plugin's task itself. In tests and in the runners of
`kconnect.testing` they are the doubles in `kafka/memory_clients.py`. A call that waits has a time limit, or asks `cancelled()`.
Read next: `delivery.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

from kconnect.api.record import OffsetAndMetadata, RecordMetadata, TopicPartition
from kconnect.core.task.chain import Outgoing

Partition = Mapping[str, Any]
Offset = dict[str, Any]
Pairs = Sequence[tuple[dict[str, Any], "Offset | None"]]


class Life(Protocol):
    """The state of the task's life: what it may still do. All calls are made from the task's thread."""

    @property
    def abandoned(self) -> bool:
        """Whether by now the task may be somebody else's: nothing may be written any more, nor waited for."""
        ...

    def may_work(self) -> bool:
        """
        Asked before anything that others can see. It waits while the process may not know what has become of its tasks;
        False: the task has been abandoned meanwhile.
        """
        ...

    def stops(self) -> bool:
        """Whether the task was told to stop."""
        ...

    def cancelled(self) -> bool:
        """Whether the task was told to stop so long ago that it no longer waits for Kafka."""
        ...

    def within(self, seconds: float) -> Callable[[], bool]:
        """Return a function that returns True once so many seconds have passed, or once the task is abandoned."""
        ...


class Refusal(NamedTuple):
    """
    Why Kafka, or its client, does not take a message. `fatal`: the client can't go on at all. `too_large`: a smaller one would
    be taken. `untimely`: one with another time would be taken. `forbidden`: the user has no right to write it.
    """

    text: str
    fatal: bool = False
    too_large: bool = False
    forbidden: bool = False
    untimely: bool = False


class Refused(NamedTuple):
    """A message that could not be delivered: its topic, value and key. `lasting`: Kafka would not take it later, either."""

    message: tuple[str, bytes | None, bytes | None]
    lasting: bool


OnReport = Callable[[Any, str, "Refusal | None", "RecordMetadata | None"], bool]
"""
Told that the message of an origin, for that topic, is acknowledged, and where it is, or why not. True: the refusal counts as
the producer's failure.
"""


class Producer(Protocol):
    """The sender of a task's messages. If a call raises ConnectError, the task has failed."""

    @property
    def active(self) -> int:
        """
        The number of messages that Kafka has not acknowledged yet; after `close`, of those that it will not. From any thread.
        """
        ...

    def send(self, messages: Iterable[Outgoing]) -> bool:
        """Hand messages over in order. False if it gave up before the last one."""
        ...

    def send_reported(self, messages: Iterable[Outgoing], origins: Iterable[Any], report: OnReport) -> bool:
        """
        Send messages as `send` does. `report` is called once for each message, with its origin, within this or a later call.
        """
        ...

    def check(self) -> None:
        """ConnectError if a message could not be delivered: nothing after it may be counted as sent."""
        ...

    def flush(self, timeout: float) -> bool:
        """Whether all is acknowledged within `timeout` seconds."""
        ...

    def refusals(self, timeout: float) -> list[Refused]:
        """
        Wait up to `timeout` seconds for what is on its way, and return what could not be delivered of all that was sent. That
        counts as said: neither `check` nor `flush` fails for it any more.
        """
        ...

    def require_topic(self, topic: str, waits: bool = True) -> bool:
        """Wait until the topic is there; without `waits` for a moment only. False if it gave up before."""
        ...

    def close(self, abandon: bool = False) -> None:
        """Forget what was not sent; with `abandon`, also what is on its way. The last call of all."""
        ...


class TransactionalProducer(Producer, Protocol):
    """A producer whose messages nobody sees before a transaction with them is committed; `send` begins one."""

    @property
    def open(self) -> bool:
        """Whether anything was sent since the last commit or abort."""
        ...

    def begin(self, stops: Callable[[], bool]) -> bool:
        """Fence whoever had this transactional id, and settle what it left open. Once; False if it stops before."""
        ...

    def commit(self) -> bool:
        """Once all that was sent is acknowledged. False: it gave up before it heard whether that happened."""
        ...

    def abort(self, stops: Callable[[], bool] | None = None) -> bool:
        """
        Abort the open transaction: nobody will see what was sent since the last commit. Return False if the producer stopped
        before the brokers confirmed it.
        """
        ...


class Listener(Protocol):
    """A listener to a consumer's partitions and commits. The consumer calls it within its own calls only."""

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """These are read from now on; the answer says where to begin, for those that shall not where they stopped."""
        ...

    def revoked(self, partitions: list[TopicPartition]) -> None:
        """These are read no longer; their offsets can still be committed, now."""
        ...

    def lost(self, partitions: list[TopicPartition]) -> None:
        """Note that another member owns these partitions by now: nothing may be committed."""
        ...

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note that the offsets of a `commit` are committed."""
        ...

    def commit_failed(self) -> None:
        """Note that the last `commit` has failed, or a part of it."""
        ...

    def commits_lost(self, commits: int) -> None:
        """Note that nobody will report what became of so many commits."""
        ...


class GroupConsumer(Protocol):
    """The calls that a sink task makes of a consumer of its group, apart from reading. After a ConnectError it has failed."""

    @property
    def assignment(self) -> Set[TopicPartition]: ...

    @property
    def commits(self) -> bool:
        """Whether a commit is under way."""
        ...

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Begin to commit; the listener hears how it ended. Within the listener's `revoked` too."""
        ...

    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    def pause(self, partitions: Collection[TopicPartition]) -> None: ...

    def resume(self, partitions: Collection[TopicPartition]) -> None: ...

    def hold(self) -> None:
        """Read nothing, and remain in the group."""
        ...

    def release(self) -> None: ...

    def lags(self) -> dict[TopicPartition, int | None]:
        """Return the number of records still to come in each partition; None while that is unknown."""
        ...

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """
        Return the group's committed offsets of these partitions, asked of the brokers. Partitions without an offset are left
        out.
        """
        ...

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """See `SinkTaskContext.end_offsets`."""
        ...


class Consumer(GroupConsumer, Protocol):
    """All calls that a sink task makes of its consumer, apart from reading."""

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        """See `SinkTaskContext.topic_ids`."""
        ...


class OffsetRecord(NamedTuple):
    """A record that stores one offset, on the Kafka cluster of the connector's producer. A value of None deletes the offset."""

    topic: str
    key: bytes
    value: bytes | None


class OffsetStore(Protocol):
    """
    The source offsets of one connector. All calls may come from any thread, but for `open` and `close`.

    At least once: `write`. Exactly once: `entries` go into the task's transaction, and once that is committed, `committed` is
    told.
    """

    def open(self, cancelled: Callable[[], bool]) -> None:
        """
        See to it that there is something to read and to write; once, before the plugin's `start`.

        Brokers that don't answer are waited for until `cancelled()`: ConnectError.
        """
        ...

    def read(self, partitions: Sequence[Partition], cancelled: Callable[[], bool]) -> list[Offset | None]:
        """Return the offsets that are stored now. Wait for brokers until `cancelled()`, then raise ConnectError."""
        ...

    def write(self, offsets: Pairs, timeout: float) -> None:
        """Store offsets; they are stored when this returns, else it raises ConnectError."""
        ...

    def entries(self, offsets: Pairs, timeout: float) -> list[OffsetRecord]:
        """
        The records that store these offsets, for a transaction of the task's producer.

        Offsets that are None may have to be deleted elsewhere first: ConnectError if that is not done within `timeout` seconds.
        """
        ...

    def committed(self, offsets: Pairs) -> None:
        """The transaction with these offsets is committed. Returns at once, and never fails."""
        ...

    def close(self, abandon: bool = False) -> None:
        """Close the store. With `abandon`, write nothing more."""
        ...


class Topics(Protocol):
    """Sees to it that the topics of a source task are there. ConnectError, naming topic and remedy, if one can't be had."""

    def new(self, asked: Collection[str]) -> list[str]:
        """Return those of `asked` that have not been `written` to yet."""
        ...

    def refusal(self, topic: str) -> str | None:
        """Return why no record may go to the topic, or None if any may."""
        ...

    def require(self, new: list[str], producer: Producer, waits: bool = True) -> bool:
        """Have them there, for this producer; without `waits` in a moment. False if the task is to end first."""
        ...

    def written(self, new: Collection[str]) -> None: ...


class NoTopics:
    """`Topics` of a task whose records need none, or find all there: a sink beside it takes them, or a test."""

    def new(self, asked: Collection[str]) -> list[str]:
        return []

    def refusal(self, topic: str) -> str | None:
        return None

    def require(self, new: list[str], producer: Producer, waits: bool = True) -> bool:
        return True

    def written(self, new: Collection[str]) -> None:
        """Do nothing."""


class DeadLetters(Protocol):
    def flush(self, timeout: float) -> bool:
        """Whether the queue has all that was put into it within `timeout` seconds. ConnectError if it refuses something."""
        ...

    def refused(self) -> Mapping[TopicPartition, int] | None:
        """
        Return, of a sink, the first record in each partition whose letter was refused: these must not be passed over. None if
        of some letter that is not known.
        """
        ...

    def refused_records(self) -> Sequence[Any] | None:
        """
        Return, of a source, the records whose letters were refused, as the task gave them. None if of some letter that is not
        known.
        """
        ...


class SourcePlugin(Protocol):
    """The calls by which a source task hears of its records; `api/task.py` says what each means."""

    def commit_record(self, record: Any, metadata: RecordMetadata | None) -> None: ...

    def commit(self) -> None: ...


class PolledPlugin(SourcePlugin, Protocol):
    """A whole source task, of either language: one in Java gives numbers of its records, and hears of these."""

    def initialize(self, context: Any) -> None: ...

    def start(self, props: dict[str, str]) -> None: ...

    def poll(self) -> Any: ...

    def stop(self) -> None: ...


class SinkPlugin(Protocol):
    """The calls by which a sink task gets its records; `api/task.py` says what each means."""

    def put(self, records: list[Any]) -> None: ...

    def put_batch(self, batch: Any) -> None:
        """Called where the plugin's intake gives batches."""
        ...

    def pre_commit(
        self, current_offsets: dict[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata] | None: ...

    def open(self, partitions: list[TopicPartition]) -> None: ...

    def close(self, partitions: list[TopicPartition]) -> None: ...
