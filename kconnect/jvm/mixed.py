"""
Tasks in Java with a chain that has parts in Python only: their records cross as they are, and the chain is one of Python's.

Made by `units/source_task.py` and `units/sink_task.py`. What a record costs to cross, `record_codec.py` tells. A chain that can
be in Java as a whole is (`source_task.py`, `sink_task.py`), and so needs none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jpype

from kconnect.api.record import SourceRecord, TopicPartition
from kconnect.core.task.converted import Converted
from kconnect.core.task.errors import Errors
from kconnect.core.task.sink_pump import Chain
from kconnect.core.task.topic_use import TopicUse
from kconnect.jvm.errors import translated
from kconnect.jvm.inbox import Inbox
from kconnect.jvm.record_codec import Decoder, Encoder
from kconnect.jvm.sink_task import JavaSinkTask
from kconnect.jvm.source_task import JavaSourceTask, Origin, Stored


class Steps(Protocol):
    def __bool__(self) -> bool: ...

    def apply(self, records: Sequence[Any], origins: Sequence[Any] | None, errors: Errors | None) -> list[Any]: ...


class MixedSource:
    """
    What the pump takes as the conversion of a Java source task: numbers in, messages out. `convert` is Python's, of records.
    With `tracks`, it says which record each message was made of.
    """

    def __init__(
        self, task: JavaSourceTask, convert: Callable[[Sequence[SourceRecord]], Converted], errors: Errors, tracks: bool
    ) -> None:
        self._task, self._convert, self._errors, self._tracks = task, convert, errors, tracks
        self._decoder = Decoder()

    def __call__(self, numbers: Sequence[int]) -> Converted:
        batches = self._task.batches
        begin, end = numbers[0] - self._task.first, numbers[-1] + 1 - self._task.first
        try:
            buffer = batches.records(begin, end)
        except jpype.JException as thrown:
            raise translated(thrown) from None
        try:
            records = self._decoder.decode(memoryview(buffer)[: buffer.limit()].tobytes()).records
        except Exception:
            batches.reset()
            raise
        done = self._convert(records)
        first = numbers[0]
        if done.failure is not None and not self._tracks:
            done = done.before(self._task.beginning(first, first + len(done.given)) - first)
        numbers = numbers[: len(done.given)]
        offsets = self._task.newest(first, first + len(numbers)) if numbers else []
        places = {id(record): place for place, record in enumerate(records)}

        def until(count: int) -> tuple[int, list[Stored]] | None:
            failed = first + places[id(done.origins[count])]
            if not self._task.knows(first, failed):
                return None
            counted = failed if self._tracks else self._task.beginning(first, failed)
            return done.count_before(counted - first), self._task.newest(first, counted)

        if not self._tracks and not self._errors.settings.tolerant:
            return Converted(done.messages, done.topics, offsets, failure=done.failure, cut=until)
        given = [Origin(number) for number in numbers]
        made_of = [given[places[id(record)]] for record in done.origins]
        for origin, message in zip(made_of, done.messages):
            origin.topic, origin.value, origin.key = message[:3]
        return Converted(done.messages, done.topics, offsets, given, made_of, done.failure, until)


class MixedSink:
    """An `Intake` of the pump for a Java sink task: what it gives are the messages of which something is to be put."""

    def __init__(self, task: JavaSinkTask, chain: Chain, steps: Steps, errors: Errors, use: TopicUse) -> None:
        self._task, self._chain, self._steps, self._errors, self._use = task, chain, steps, errors, use
        self._encoder, self._inbox = Encoder(), Inbox()

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        done = self._chain.apply(messages)
        self._use.read(self._chain.topics, done)
        if self._steps:
            done = self._steps.apply(done, messages, self._errors)
        kept = [message for message, record in zip(messages, done) if record is not None]
        if kept:
            data = self._encoder.encode([record for record in done if record is not None])
            try:
                self._task.batches.take(self._inbox.put(data))
            except jpype.JException as thrown:
                self._encoder.reset()
                raise translated(thrown) from None
        self._task.wait(kept)
        return kept

    def place(self, record: Any) -> TopicPartition:
        return TopicPartition(record.topic(), record.partition())
