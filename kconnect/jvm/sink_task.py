"""
Java sink tasks: Kafka's messages go to Java, a batch a call, and are converted, transformed and put there.

Made by `task_class.py`; `units/java_chain.py` gives a task its chain and hands `SinkIntake` to the pump, for which a message is
its own record. What is converted and not put yet waits in Java (`shim/SinkBatches.java`, which describes the bytes of a
batch), in the order of the messages that the pump holds.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import jpype

from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.api.task import SinkTask, SinkTaskContext
from kconnect.core.task import answers
from kconnect.core.task.errors import Errors, Stage
from kconnect.core.task.topic_use import TopicUse
from kconnect.jvm import contexts, loading, machine
from kconnect.jvm.chain import Chain
from kconnect.jvm.errors import calling, kind_of, translated
from kconnect.jvm.inbox import Inbox
from kconnect.jvm.source_task import failure_of

log = logging.getLogger(__name__)

_OFFSETS = "a map of partitions to offsets, which is empty if nothing is to be committed"
_HEADERS, _KEYS, _PARTITIONS = 1, 2, 4
"""What a batch has that others lack."""


class JavaSinkTask(SinkTask):
    java_class: str
    java_place: str

    def __init__(self) -> None:
        self._it = loading.new(self.java_class, self.java_place)
        self.batches: Any = None
        self._group = ""
        self._waiting: list[Any] = []

    def version(self) -> str:
        with calling(self._it):
            return str(self._it.version())

    def begin(self, chain: Chain, group: str) -> None:
        """Prepare the task for records, which a consumer of this group reads. Called before any other call about records."""
        self._group = group
        with calling(self._it):
            self.batches = jpype.JClass("kconnect.shim.SinkBatches")(self._it, chain.it)

    def initialize(self, context: SinkTaskContext) -> None:
        super().initialize(context)
        with calling(self._it):
            self._it.initialize(contexts.SinkTaskContext(context, self._group, self._report))

    def start(self, props: dict[str, str]) -> None:
        with calling(self._it):
            self._it.start(machine.to_map(props))

    def wait(self, messages: Sequence[Any]) -> None:
        """Let the records of these messages wait in Java, behind those that wait there already."""
        self._waiting += messages

    def put(self, records: list[Any]) -> None:
        if len(records) != len(self._waiting):
            self._keep(records)
        try:
            self.batches.put()
        except jpype.JException as thrown:
            raise translated(thrown) from None
        self._waiting = []

    def _keep(self, messages: Sequence[Any]) -> None:
        """Some partitions were taken away, or are read from elsewhere: what waits of them is not to be put."""
        places = {id(message): number for number, message in enumerate(self._waiting)}
        self.batches.keep(jpype.JInt[:]([places[id(message)] for message in messages]))
        self._waiting = list(messages)

    def pre_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
        position = jpype.JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")
        current = jpype.JClass("java.util.HashMap")()
        for place, at in offsets.items():
            current.put(contexts.to_place(place), position(at.offset, at.metadata))
        try:
            positions = self.batches.preCommit(current)
        except jpype.JException as thrown:
            raise translated(thrown) from None
        if positions is None:
            # As in Connect the task fails: one that means this would never commit anything.
            raise answers.refusal(self.java_class, "preCommit", "null", _OFFSETS)
        return dict(pair for entry in positions.entrySet() if (pair := self._to_commit(entry, offsets)) is not None)

    def _to_commit(
        self, entry: Any, asked: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> tuple[TopicPartition, OffsetAndMetadata] | None:
        """Return an entry of the answer; None, as in Connect, for null where nothing was asked for."""
        place, position = entry.getKey(), entry.getValue()
        if place is not None and not isinstance(place, jpype.JClass("org.apache.kafka.common.TopicPartition")):
            raise answers.refusal(self.java_class, "preCommit", f"{kind_of(place)} as a partition", _OFFSETS)
        partition = None if place is None else contexts.of_place(place)
        if partition is None or (position is None and partition not in asked):
            log.warning(
                "%s.preCommit() returned null for a partition, or as the offset of one that it was not asked for: %s is "
                "left out",
                self.java_class,
                partition and f"{partition.topic}-{partition.partition}",
            )
            return None
        if not isinstance(position, jpype.JClass("org.apache.kafka.clients.consumer.OffsetAndMetadata")):
            answer = f"{kind_of(position)} as the offset of {partition.topic}-{partition.partition}"
            raise answers.refusal(self.java_class, "preCommit", answer, _OFFSETS)
        return partition, OffsetAndMetadata(int(position.offset()), str(position.metadata() or ""))

    def open(self, partitions: Collection[TopicPartition]) -> None:
        with calling(self._it):
            self._it.open(_places(partitions))

    def close(self, partitions: Collection[TopicPartition]) -> None:
        with calling(self._it):
            self._it.close(_places(partitions))

    def stop(self) -> None:
        with calling(self._it):
            self._it.stop()

    def _report(self, record: Any, error: Any) -> None:
        """The record that a task can't deliver, as far as its report has to know it: where it is."""
        reporter = self.context.errant_record_reporter()
        assert reporter is not None
        place = (str(record.originalTopic()), int(record.originalKafkaPartition()), int(record.originalKafkaOffset()))
        failed_record = SinkRecord(place[0], place[1], None, None, None, None, place[2])
        reporter.report(failed_record, translated(error))


def _places(partitions: Collection[TopicPartition]) -> Any:
    java_places = jpype.JClass("java.util.ArrayList")()
    for place in partitions:
        java_places.add(contexts.to_place(place))
    return java_places


class SinkIntake:
    """An `Intake` of the pump: what it gives are the messages of which something is to be put."""

    def __init__(self, task: JavaSinkTask, errors: Errors, use: TopicUse, assigned: Callable[[], Set[TopicPartition]]) -> None:
        """`assigned()` are the partitions that all messages are of."""
        self._task, self._errors, self._use, self._assigned = task, errors, use, assigned
        self._inbox = Inbox()

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        batches = self._task.batches
        assigned = self._assigned()
        # Mostly there is one, and then no message need be asked where it is from.
        place = next(iter(assigned)) if len(assigned) == 1 else None
        batches.begin(self._inbox.put(packed(messages, place)))
        at = int(batches.convert(0))
        failed: set[int] = set()
        while at < len(messages):
            if not self._alone(messages[at], at):
                failed.add(at)
            at += 1
            at += int(batches.convert(at))
        dropped = set(batches.end())
        # Before the transforms: a topic is in use when a record of it can be read, whatever becomes of that.
        if place is not None and len(failed) < len(messages):
            self._use.read_from({place.topic})
        else:
            self._use.read_from({message.topic() for at, message in enumerate(messages) if at not in failed})
        delivered = [message for at, message in enumerate(messages) if at not in dropped] if dropped else list(messages)
        self._task.wait(delivered)
        return delivered

    def place(self, record: Any) -> TopicPartition:
        return TopicPartition(record.topic(), record.partition())

    def _alone(self, message: Any, at: int) -> bool:
        """Whether something came of a message that failed, at a later attempt."""
        stage, component, error = failure_of(self._task.batches)

        def again() -> bool:
            if not self._task.batches.convertAgain(at):
                raise failure_of(self._task.batches).error
            return True

        result = self._errors.handle(stage, component, message, error, again)
        # One on which a transform failed could be read.
        return result is not None or stage is Stage.TRANSFORMATION


def packed(messages: Sequence[Any], place: TopicPartition | None = None) -> bytearray:
    """The bytes of a batch, as `shim/SinkBatches.java` describes them; `place` is where all of it is from, if that is known."""
    # To map a method costs half of calling it in an expression, and struct packs a list in half of array's time.
    kind, count = type(messages[0]), len(messages)
    topics = [place.topic] if place else list(map(kind.topic, messages))
    partitions = [place.partition] if place else list(map(kind.partition, messages))
    numbers = {topic: number for number, topic in enumerate(dict.fromkeys(topics))}
    keys, values = list(map(kind.key, messages)), list(map(kind.value, messages))
    headers = list(map(kind.headers, messages))
    has_headers, has_keys = any(headers), keys.count(None) < count
    has_partitions = partitions.count(partitions[0]) < len(partitions)
    moments = chain.from_iterable(map(kind.timestamp, messages))
    flags = has_headers * _HEADERS + has_keys * _KEYS + has_partitions * _PARTITIONS
    parts: list[Any] = [
        struct.pack("=4i", count, len(numbers), flags, partitions[0]),
        struct.pack(f"={3 * count}q", *map(kind.offset, messages), *moments),
        _ints(_lengths(values)),
    ]
    if len(numbers) > 1:
        parts.append(_ints([numbers[topic] for topic in topics]))
    if has_partitions:
        parts.append(_ints(partitions))
    if has_keys:
        parts.append(_ints(_lengths(keys)))
    for topic in numbers:
        name = topic.encode()
        parts += (struct.pack("=i", len(name)), name)
    # The empty ones take no room either.
    parts += filter(None, chain.from_iterable(zip(keys, values))) if has_keys else filter(None, values)
    if has_headers:
        parts += map(_headers, headers)
    return bytearray().join(parts)


def _ints(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"={len(numbers)}i", *numbers)


def _lengths(data: Sequence[bytes | None]) -> list[int]:
    return [-1 if value is None else len(value) for value in data]


def _headers(headers: Sequence[tuple[str, bytes | None]] | None) -> bytes:
    parts = [struct.pack("=i", len(headers or ()))]
    for name, value in headers or ():
        key = name.encode()
        parts += (struct.pack("=i", len(key)), key, struct.pack("=i", -1 if value is None else len(value)), value or b"")
    return b"".join(parts)
