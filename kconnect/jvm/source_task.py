"""
Java source tasks: polled, transformed and converted in Java, a batch a call, so that Python gets messages for Kafka.

Made by `task_class.py`; `units/java_chain.py` gives a task its chain and hands `SourceConversion` to the pump. What `poll`
gives are no records but their numbers: the records stay in Java (`shim/SourceBatches.java`) until the task has heard of them.
The bytes of a batch are described in `shim/Out.java`.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import jpype
import orjson

from kconnect.api.record import RecordMetadata, SourceRecord
from kconnect.api.task import SourceTaskContext, Task
from kconnect.converters.json import JsonConverter
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.converted import Converted
from kconnect.core.task.errors import PRODUCER, Component, Errors, Stage
from kconnect.jvm import contexts, loading, machine
from kconnect.jvm.acknowledgements import Acknowledgements
from kconnect.jvm.chain import Chain
from kconnect.jvm.errors import JavaError, calling, translated

_HEAD = 32
_ORDER = sys.byteorder


class Failure(NamedTuple):
    """The error that stopped a conversion in Java, and where."""

    stage: Stage
    component: Component
    error: JavaError


class Batch(NamedTuple):
    """
    The batch that Java has put into its buffer: `looked` is how many records it took; with a `failure`, the last one has
    failed.
    """

    messages: list[Outgoing]
    origins: list[int]
    topics: list[str]
    offsets: list[Stored]
    looked: int
    failure: Failure | None = None


class Stored(NamedTuple):
    """The newest offset of a source partition in a batch."""

    source_partition: Mapping[str, Any] | None
    source_offset: Mapping[str, Any] | None


class JavaSourceTask(Task):
    """
    A source task in Java. The loop of source tasks calls it like an `api.task.SourceTask`, but with numbers for records: `poll`
    returns numbers, which `commit_record` gets later.
    """

    java_class: str
    java_place: str

    def __init__(self) -> None:
        self._it = loading.new(self.java_class, self.java_place)
        self.batches: Any = None
        self._ends = contexts.Transactions()
        self.first = self._next = 0
        self.acknowledgements: Acknowledgements | None = None
        """Of a task that wants to hear of each record that Kafka has."""

    def version(self) -> str:
        with calling(self._it):
            return str(self._it.version())

    def begin(self, chain: Chain) -> bool:
        """
        Prepare the task for records; called before any other call about records. Return whether the task wants to hear of each
        record that Kafka has.
        """
        with calling(self._it):
            self.batches = jpype.JClass("kconnect.shim.SourceBatches")(self._it, chain.it)
            hears = bool(self.batches.hears())
        self.acknowledgements = Acknowledgements(self.batches) if hears else None
        return hears

    def initialize(self, context: SourceTaskContext) -> None:
        with calling(self._it):
            self._it.initialize(contexts.SourceTaskContext(context, self._ends))

    def start(self, props: dict[str, str]) -> None:
        with calling(self._it):
            self._it.start(machine.to_map(props))

    def poll(self) -> list[int]:
        with nullcontext() if self.acknowledgements is None else self.acknowledgements.waiting():
            try:
                count = self.batches.poll()
            except jpype.JException as thrown:
                raise translated(thrown) from None
        self.first, self._next = self._next, self._next + count
        numbers = list(range(self.first, self._next))

        def number_of(record: Any) -> int | None:
            at = int(self.batches.indexOf(record))
            # The very object that is given away: who asked is recognized by it.
            return None if at < 0 else numbers[at]

        self._ends.say(number_of)
        return numbers

    def convert(self, first: int, end: int) -> Batch:
        """The messages of these records of the last `poll`, by their numbers."""
        try:
            buffer = self.batches.convert(first - self.first, end - self.first)
        except jpype.JException as thrown:
            raise translated(thrown) from None
        batch, has_failed = read(memoryview(buffer)[: buffer.limit()].tobytes())
        return batch._replace(failure=failure_of(self.batches)) if has_failed else batch

    def newest(self, first: int, end: int) -> list[Stored]:
        """
        Return the last offset of each source partition of these records of the last `poll`, also of those that were dropped.
        """
        try:
            data = self.batches.newest(first - self.first, end - self.first)
        except jpype.JException as thrown:
            raise translated(thrown) from None
        return [Stored(*pair) for pair in orjson.loads(bytes(data))]

    def stored(self, number: int) -> Stored:
        """Return the source partition and offset of a record of the last `poll`. Those of other records are unknown."""
        offsets = self.newest(number, number + 1) if self.knows(number, number + 1) else []
        return offsets[0] if offsets else Stored(None, None)

    def knows(self, first: int, end: int) -> bool:
        """Whether these are records of the last `poll`; Java has forgotten those of earlier ones."""
        return self.first <= first <= end <= self._next

    def beginning(self, first: int, failed: int) -> int:
        """Return the first of the last `poll`'s records from `first` on that may not be counted if `failed` has failed."""
        return self.first + int(self.batches.beginning(first - self.first, failed - self.first))

    def described(self, number: int) -> SourceRecord:
        """A record of the last `poll` as one of ours, for reports: by JSON, which knows Connect's types."""
        place, key, value = (None if text is None else str(text) for text in self.batches.described(number - self.first))
        assert place is not None
        topic, partition, timestamp, source_partition, source_offset = orjson.loads(place)
        json = JsonConverter()
        json.configure({"schemas.enable": "true"}, False)
        of_key = json.to_connect_data(topic, None if key is None else key.encode())
        of_value = json.to_connect_data(topic, None if value is None else value.encode())
        origin = Origin(number)
        SourceRecord.__init__(origin, source_partition, source_offset, topic, partition, *of_key, *of_value, timestamp)
        return origin

    def commit_record(self, record: Any, metadata: RecordMetadata | None) -> None:
        assert self.acknowledgements is not None
        self.acknowledgements.add(record if isinstance(record, int) else record.number, metadata)

    def commit(self) -> None:
        if self.acknowledgements is not None and not self.acknowledgements.settle():
            return
        try:
            self.batches.commit()
        except jpype.JException as thrown:
            raise translated(thrown) from None

    def stop(self) -> None:
        if self.batches is None:
            return
        with calling(self._it):
            # After it the task hears of no record any more.
            self.batches.stop()


def failure_of(batches: Any) -> Failure:
    """Return what stopped the last `convert` of a task's batches, in either direction."""
    thrown = batches.failure()
    stage, alias = Stage(str(thrown.stage)), str(thrown.alias)
    if stage is Stage.KAFKA_PRODUCE:
        return Failure(stage, PRODUCER, translated(thrown.error))
    what = f"the transform {alias}" if alias else f"the {stage.value.partition('_')[0].lower()} converter"
    return Failure(stage, Component(what, str(thrown.className)), translated(thrown.error))


class SourceConversion:
    """
    The conversion of a Java source task for the pump, instead of `source_pump.SourceConversion`: numbers in, messages out. With
    `tracks`, it says which record each message was made of. Where a record fails and that is not tolerated, what comes out ends
    before it.
    """

    def __init__(self, task: JavaSourceTask, errors: Errors, tracks: bool) -> None:
        self._task, self._errors, self._tracks = task, errors, tracks

    def __call__(self, records: Sequence[int]) -> Converted:
        first, at, end = records[0], records[0], records[-1] + 1
        failure: Exception | None = None
        batches = [self._task.convert(at, end)]
        while (stopped := batches[-1].failure) is not None:
            at += batches[-1].looked
            try:
                batches.append(self._alone(at, stopped))
            except Exception as final:  # noqa: BLE001 - for who sends what was before it
                failure, records = final, records[: at - first]
                break
            at += 1
            batches.append(self._task.convert(at, end))
        if len(batches) == 1:
            messages, origins, topics, offsets = batches[0][:4]
        else:
            messages = [message for batch in batches for message in batch.messages]
            origins = [origin for batch in batches for origin in batch.origins]
            topics = [topic for batch in batches for topic in batch.topics]
            offsets = [offset for batch in batches for offset in batch.offsets]
        # Java counts from the first record of the poll.
        begin = self._task.first
        if failure is not None and not self._tracks and (counted := self._task.beginning(first, at)) < at:
            count = bisect_left(origins, counted - begin)
            messages, origins, records = messages[:count], origins[:count], records[: counted - first]
            topics = [message[0] for message in messages]
            offsets = self._task.newest(first, counted)

        def before(failed: int) -> tuple[int, list[Stored]] | None:
            if not self._task.knows(first, failed):
                return None
            counted = failed if self._tracks else self._task.beginning(first, failed)
            return bisect_left(origins, counted - begin), self._task.newest(first, counted)

        def until(count: int) -> tuple[int, list[Stored]] | None:
            return before(begin + origins[count])

        if not self._tracks and not self._errors.settings.tolerant:
            return Converted(messages, frozenset(topics), offsets, failure=failure, cut=until)
        given_records = self._given(records)
        skipped = first - begin
        made_of = [given_records[origin - skipped] for origin in origins]
        if self._errors.settings.tolerant:
            for origin, message in zip(made_of, messages):
                origin.topic, origin.value, origin.key = message[:3]
        return Converted(
            messages, frozenset(topics), offsets, given_records, made_of, failure, until, lambda at: before(first + at)
        )

    def _given(self, records: Sequence[int]) -> Sequence[Any]:
        return [Origin(number) for number in records] if self._errors.settings.tolerant else list(records)

    def _alone(self, number: int, failure: Failure) -> Batch:
        """Retry the record that failed. Return a later attempt's message, or only its offset."""
        origin = self._task.described(number)

        def again() -> Batch:
            batch = self._task.convert(number, number + 1)
            if batch.failure is not None:
                raise batch.failure.error
            return batch

        result: Batch | None = self._errors.handle(failure.stage, failure.component, origin, failure.error, again)
        if result is not None:
            return result
        return Batch([], [], [], [Stored(origin.source_partition, origin.source_offset)], 1)


class Origin(SourceRecord):
    """Stands for a record of a Java task where Kafka may refuse its message: then a report needs more than its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        super().__init__(None, None, "")
        self.number = number


def read(data: bytes) -> tuple[Batch, bool]:
    """Return what `shim/Out.java` has written, and whether Java stopped at a record that has failed."""
    view = memoryview(data)
    count, looked, failed, topic_count, size, has_headers, json_size, _ = view[:_HEAD].cast("i")
    at = _HEAD + 8 * count
    timestamps = view[_HEAD:at].cast("q").tolist()
    origins, topic_of, partitions, keys, values = (
        view[at + 4 * count * column : at + 4 * count * (column + 1)].cast("i").tolist() for column in range(5)
    )
    at += 20 * count
    topics = []
    for _ in range(topic_count):
        length = int.from_bytes(data[at : at + 4], _ORDER)
        topics.append(data[at + 4 : at + 4 + length].decode())
        at += 4 + length
    messages: list[Outgoing] = []
    append = messages.append
    end_of_values = at + size
    headers = _headers(data, end_of_values, count) if has_headers else None
    for number, partition, timestamp, key_length, value_length in zip(topic_of, partitions, timestamps, keys, values):
        key = value = None
        if key_length >= 0:
            key = data[at : at + key_length]
            at += key_length
        if value_length >= 0:
            value = data[at : at + value_length]
            at += value_length
        append((topics[number], value, key, partition, None, None, timestamp, None))
    if headers is not None:
        messages = [(*message[:7], message_headers) for message, message_headers in zip(messages, headers)]
    offsets = [Stored(*pair) for pair in orjson.loads(data[len(data) - json_size :])]
    return Batch(messages, origins, topics, offsets, looked), bool(failed)


def _headers(data: bytes, at: int, count: int) -> list[list[tuple[str, bytes | None]] | None]:
    def number() -> int:
        nonlocal at
        at += 4
        return int.from_bytes(data[at - 4 : at], _ORDER, signed=True)

    def taken(length: int) -> bytes:
        nonlocal at
        at += length
        return data[at - length : at]

    all_headers: list[list[tuple[str, bytes | None]] | None] = []
    for _ in range(count):
        message_headers: list[tuple[str, bytes | None]] = []
        for _ in range(number()):
            name = taken(number()).decode()
            length = number()
            message_headers.append((name, None if length < 0 else taken(length)))
        all_headers.append(message_headers or None)
    return all_headers
