"""
Tasks in Java with a chain that has parts in Python only: their records cross as they are, and the chain is one of Python's.

Made by `units/chains.py`. What a record costs to cross, `record_codec.py` tells. A batch with a
record that can't cross goes record by record: that one has failed, and the others are as good as ever. A chain that can be in
Java as a whole is (`source_task.py`, `sink_task.py`), and so needs none of this.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Protocol

import jpype

from kconnect.api.record import Header, SourceRecord, TopicPartition
from kconnect.core.task.converted import NOTHING, Converted
from kconnect.core.task.errors import Component, Errors, Stage
from kconnect.core.task.sink_pump import Chain
from kconnect.core.task.topic_use import TopicUse
from kconnect.data.schema import Schema
from kconnect.errors import UnrecoverableError
from kconnect.jvm.errors import translated
from kconnect.jvm.inbox import Inbox
from kconnect.jvm.record_codec import Decoder, Encoder
from kconnect.jvm.sink_task import JavaSinkTask
from kconnect.jvm.source_task import JavaSourceTask, Stored


class Steps(Protocol):
    def __bool__(self) -> bool: ...

    def apply(self, records: Sequence[Any], origins: Sequence[Any] | None, errors: Errors | None) -> list[Any]: ...


class Crossed(SourceRecord):
    """A record of a Java task. Java knows where it is from, and is asked once a report wants to say it."""

    __slots__ = ("number", "task")
    number: int
    task: JavaSourceTask

    def __init__(
        self,
        source_partition: None,
        source_offset: None,
        topic: str,
        partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        timestamp: int | None,
        headers: list[Header] | tuple[Header, ...],
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.timestamp = timestamp
        self.headers = headers

    def __getattr__(self, name: str) -> Any:
        if name not in ("source_partition", "source_offset"):
            raise AttributeError(name)
        self.source_partition, self.source_offset = self.task.stored(self.number)
        return getattr(self, name)

    def copy(self) -> SourceRecord:
        """Return a copy for the chain, which has no source partition and offset."""
        record = SourceRecord.__new__(SourceRecord)
        record.source_partition = record.source_offset = None
        record.topic = self.topic
        record.partition = self.partition
        record.key_schema = self.key_schema
        record.key = self.key
        record.value_schema = self.value_schema
        record.value = self.value
        record.timestamp = self.timestamp
        record.headers = self.headers
        return record


class MixedSource:
    """
    The conversion of a Java source task for the pump: numbers in, messages out. `convert` is Python's, of records. With
    `tracks`, it says which record each message was made of.
    """

    def __init__(
        self, task: JavaSourceTask, convert: Callable[[Sequence[SourceRecord]], Converted], errors: Errors, tracks: bool
    ) -> None:
        self._task, self._convert, self._errors, self._tracks = task, convert, errors, tracks
        self._decoder = Decoder(Crossed)

    def __call__(self, numbers: Sequence[int]) -> Converted:
        task, tracks, first = self._task, self._tracks, numbers[0]
        conversion = self._converted(first, numbers[-1] + 1)
        places = [origin.number for origin in conversion.origins]

        def before(failed: int) -> tuple[int, list[Stored]] | None:
            if not task.knows(first, failed):
                return None
            counted = failed if tracks else task.beginning(first, failed)
            return bisect_left(places, counted), task.newest(first, counted) if counted > first else []

        def until(count: int) -> tuple[int, list[Stored]] | None:
            return before(places[count])

        def ahead(at: int) -> tuple[int, list[Stored]] | None:
            return before(first + at)

        failure, records, end = conversion.failure, conversion.given, first + len(conversion.given)
        if failure is not None and not tracks:
            end = task.beginning(first, end)
        count = bisect_left(places, end)
        messages, origins, records = conversion.messages[:count], conversion.origins[:count], records[: end - first]
        topics = conversion.topics if count == len(places) else {message[0] for message in messages}
        offsets = task.newest(first, end) if end > first else []
        if not tracks and not self._errors.settings.tolerant:
            return Converted(messages, topics, offsets, failure=failure, cut=until)
        return Converted(messages, topics, offsets, records, origins, failure, until, ahead)

    def _converted(self, first: int, end: int) -> Converted:
        """Convert these records of the last `poll` in Python, up to the first that may not fail."""
        try:
            return self._convert(self._crossed(first, end))
        except _Misfit:
            pass
        parts: list[Converted] = []
        crossings: list[tuple[int, Any]] = [(number, self._alone(number)) for number in range(first, end)]
        for is_record, group in groupby(crossings, lambda crossing: isinstance(crossing[1], Crossed)):
            if is_record:
                parts.append(self._convert([record for _, record in group]))
            else:
                parts += self._left_out(group)
            if parts[-1].failure is not None:
                break
        return Converted(
            [message for part in parts for message in part.messages],
            {topic for part in parts for topic in part.topics},
            (),
            [record for part in parts for record in part.given],
            [origin for part in parts for origin in part.origins],
            parts[-1].failure,
        )

    def _crossed(self, first: int, end: int) -> list[Crossed]:
        """Return these records of the last `poll`. Raise _Misfit if one of them can't cross."""
        task, batches = self._task, self._task.batches
        try:
            buffer = batches.records(first - task.first, end - task.first)
            records: list[Crossed] = self._decoder.decode(memoryview(buffer)[: buffer.limit()].tobytes()).records
        except Exception as error:  # noqa: BLE001 - whatever it is, one record is the reason, and will be found alone
            batches.reset()
            cause = translated(error) if isinstance(error, jpype.JException) else error
            if isinstance(cause, UnrecoverableError):
                raise cause from None
            raise _Misfit(cause) from None
        for number, record in enumerate(records, first):
            record.number, record.task = number, task
        return records

    def _alone(self, number: int) -> Crossed | Exception:
        try:
            return self._crossed(number, number + 1)[0]
        except _Misfit as misfit:
            return misfit.cause

    def _left_out(self, causes: Iterable[tuple[int, Exception]]) -> list[Converted]:
        """Say of each of these records that it can't cross; it is left out, if it may be."""
        component = Component("the crossing from Java to Python", self._task.java_class)
        parts: list[Converted] = []
        for number, cause in causes:
            origin = self._task.described(number)
            try:
                self._errors.handle(Stage.VALUE_CONVERTER, component, origin, cause)
            except Exception as final:  # noqa: BLE001 - for who sends what was before it
                return [*parts, NOTHING._replace(failure=final)]
            parts.append(NOTHING._replace(given=[origin]))
        return parts


class _Misfit(Exception):
    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class MixedSink:
    """An `Intake` of the pump for a Java sink task: what it gives are the messages of which something is to be put."""

    def __init__(self, task: JavaSinkTask, chain: Chain, steps: Steps, errors: Errors, use: TopicUse) -> None:
        self._task, self._chain, self._steps, self._errors, self._use = task, chain, steps, errors, use
        self._encoder, self._inbox = Encoder(), Inbox()

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        converted = self._chain.apply(messages)
        self._use.read(self._chain.topics, converted)
        if self._steps:
            converted = self._steps.apply(converted, messages, self._errors)
        delivered = [message for message, record in zip(messages, converted) if record is not None]
        records = [record for record in converted if record is not None]
        if delivered:
            try:
                self._give(records)
            except UnrecoverableError:
                raise
            except Exception:  # noqa: BLE001 - one of them can't cross, and is seen alone
                delivered = self._one_by_one(delivered, records)
        self._task.wait(delivered)
        return delivered

    def _one_by_one(self, messages: Sequence[Any], records: Sequence[Any]) -> list[Any]:
        """Return the messages whose records have crossed. The others have failed."""
        component = Component("the crossing from Python to Java", self._task.java_class)
        delivered = []
        for message, record in zip(messages, records):
            try:
                self._give([record])
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this record's
                self._errors.handle(Stage.VALUE_CONVERTER, component, message, error)
            else:
                delivered.append(message)
        return delivered

    def _give(self, records: Sequence[Any]) -> None:
        """Have these wait for `put`, all or none."""
        data = self._encoder.encode(records)
        try:
            self._task.batches.take(self._inbox.put(data))
        except jpype.JException as thrown:
            self._encoder.reset()
            raise translated(thrown) from None

    def place(self, record: Any) -> TopicPartition:
        return TopicPartition(record.topic(), record.partition())
