"""
What a batch becomes between the plugin and Kafka: `Converted` is a source's batch that is ready for Kafka, and `Intake` makes
of a sink's messages what its task takes.

The pumps know these two only, so it does not matter to them who converted: the task's transforms and converters in this process
(`SourceConversion`, `SinkConversion`), or somebody else already (a source's `Converted` comes as it is, a sink's messages go
through `Untouched`). Called by `source_pump.py` and `sink_pump.py`. Read next: `chain.py`, `steps.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kconnect.api.record import SinkRecord, SourceRecord, TopicPartition
from kconnect.core.task.chain import Outgoing, SinkChain, SourceChain
from kconnect.core.task.errors import Errors
from kconnect.core.task.steps import Steps
from kconnect.core.task.topic_use import TopicUse

T = TypeVar("T")


class Converted(NamedTuple):
    """
    A batch of a source task, or a part of one. A task that hears of each record (`commit_record`) needs `given` and `origins`;
    for others they may be empty.
    """

    messages: Sequence[Outgoing]
    topics: Collection[str]
    """Of the messages."""
    offsets: Sequence[Any]
    """
    Whatever has a `source_partition` and a `source_offset`, in order: all records, or the last of each partition. What was
    dropped on the way counts too.
    """
    given: Sequence[Any] = ()
    """What the task gave, and gets back once that is acknowledged."""
    origins: Sequence[Any] = ()
    """Of each message, the one of `given` that it was made of."""

    def dropped(self) -> list[Any]:
        """Those of `given` that no message was made of, in order."""
        if len(self.given) == len(self.origins):
            return []
        kept = {id(origin) for origin in self.origins}
        return [record for record in self.given if id(record) not in kept]


NOTHING = Converted((), (), ())


class SourceConversion:
    """The transforms and converters of one source task. ConnectError for a record that fails where that is not tolerated."""

    def __init__(self, chain: SourceChain, steps: Steps, errors: Errors) -> None:
        self._chain, self._steps, self._errors = chain, steps, errors

    def __call__(self, records: Sequence[SourceRecord]) -> Converted:
        origins, kept = records, records
        if self._steps:
            # The task's own records stay as they are: it gets them back in `commit_record`.
            copies = [record.copy() for record in records]
            origins, kept = _kept(records, self._steps.apply(copies, records, self._errors))
        origins, messages = _kept(origins, self._chain.apply(kept, origins))
        return Converted(messages, frozenset(self._chain.topics), records, records, origins)


def _kept(origins: Sequence[Any], done: list[T | None]) -> tuple[Sequence[Any], list[T]]:
    kept = [result for result in done if result is not None]
    if len(kept) == len(done):
        return origins, kept
    return [origin for origin, result in zip(origins, done) if result is not None], kept


class Intake(Protocol):
    """From a sink's messages to what its task takes."""

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        """What `put` is given; dropped ones are left out. ConnectError for one that fails where that is not tolerated."""
        ...

    def place(self, record: Any) -> TopicPartition:
        """Where a message was read, by what was made of it."""
        ...


class SinkConversion:
    """The converters and transforms of one sink task, an `Intake`."""

    def __init__(self, chain: SinkChain, steps: Steps, errors: Errors, use: TopicUse) -> None:
        self._chain, self._steps, self._errors, self._use = chain, steps, errors, use

    def __call__(self, messages: Sequence[Any]) -> list[SinkRecord]:
        done = self._chain.apply(messages)
        # Before the transforms: a topic is in use when a record of it can be read, whatever becomes of that.
        self._use.read(self._chain.topics, done)
        if self._steps:
            done = self._steps.apply(done, messages, self._errors)
        return [record for record in done if record is not None]

    def place(self, record: SinkRecord) -> TopicPartition:
        return TopicPartition(record.original_topic, record.original_partition)


class Untouched:
    """An `Intake` for a task that gets Kafka's messages as they are, because they are converted elsewhere."""

    def __init__(self, use: TopicUse) -> None:
        self._use = use

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        self._use.read_from({message.topic() for message in messages})
        return list(messages)

    def place(self, record: Any) -> TopicPartition:
        return TopicPartition(record.topic(), record.partition())
