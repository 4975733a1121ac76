"""
The Java part of a chain whose other parts are in Python: batches of records go to Java, and what came of them comes back.

`JavaSteps` stands for one or more transforms, in the shape of a step of `core/task/steps.py`; `JavaConversion` for the
converters at a chain's end, behind transforms of Java's if its `Chain` has some. Where only one of the converters for keys and
values is Java's, the other one in the `Chain` is Connect's ByteArrayConverter, for bytes that Python has made or will read.
Each serves one task, in its thread. What fails in Java is raised; `failure` then says where it was. Read next:
`record_codec.py`, `shim/Crossing.java`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jpype

from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.errors import Component
from kconnect.jvm import misfits, sink_task, source_task
from kconnect.jvm.chain import Chain
from kconnect.jvm.errors import translated
from kconnect.jvm.inbox import Inbox
from kconnect.jvm.record_codec import Batch, Decoder, Encoder

CROSSING = Component("the crossing between Python and Java")
"""What a record fails in that can't be had in the other language."""


class _Crossing:
    def __init__(self, chain: Chain) -> None:
        self._it: Any = jpype.JClass("kconnect.shim.Crossing")(chain.it)
        self._is_done = False
        """Whether Java has done its work on the last batch, so that its `failure` is of that one."""
        self._encoder, self._decoder, self._inbox = Encoder(), Decoder(), Inbox()

    def failure(self) -> source_task.Failure:
        """Return where the last batch failed, if one of the Java parts did."""
        return source_task.failure_of(self._it)

    def failed(self) -> int | None:
        """Return the number of the record of the last batch on which a Java part failed; None if none did."""
        failure = self._it.failure() if self._is_done else None
        return None if failure is None else int(failure.index)

    def _give(self, records: Sequence[Any]) -> None:
        self._is_done = False
        encoded = self._inbox.put(self._encoder.encode(records))
        try:
            self._it.take(encoded)
        except jpype.JException as thrown:
            self._encoder.reset()
            raise misfits.error(records, translated(thrown)) from None

    def _take(self, work: Callable[[], Any], origins: Sequence[Any] | None) -> Batch:
        """The records that `work` gives, once Java has done it."""
        data = self._work(work)
        try:
            return self._decoder.decode(data, origins)
        except Exception:
            self._it.reset()
            raise

    def _work(self, work: Callable[[], Any]) -> bytes:
        self._is_done = False
        try:
            buffer = work()
        except jpype.JException as thrown:
            raise translated(thrown) from None
        self._is_done = True
        return memoryview(buffer)[: buffer.limit()].tobytes()

    def _raise(self) -> None:
        if self._it.failure() is not None:
            raise self.failure().error


class JavaSteps(_Crossing):
    """Java's transforms. As a step: `apply_all` for a batch, `apply` for a record."""

    def apply_all(self, records: Sequence[Any]) -> list[Any]:
        """
        Apply the steps to all records. Return their results, None for a record that was dropped.

        Raises:
            JavaError: what a transform or predicate threw at the first record on which one failed
            DataError: a record can't cross; its message says which
        """
        if not records:
            return []
        self._give(records)
        batch = self._take(self._it.records, records)
        self._raise()
        return _in_place(batch.numbers, batch.records, len(records))

    def apply(self, record: Any) -> Any:
        """Apply the steps to one record. Return None if it is dropped."""
        return self.apply_all([record])[0]


class JavaConversion(_Crossing):
    """Java's converters. Errors are as those of `JavaSteps.apply_all`."""

    def messages(self, records: Sequence[SourceRecord]) -> list[Outgoing | None]:
        """The messages for Kafka, one a record; None for one that a transform dropped."""
        if not records:
            return []
        self._give(records)
        batch, _ = source_task.read(self._work(self._it.messages))
        self._raise()
        return _in_place(batch.origins, batch.messages, len(records))

    def records(self, messages: Sequence[Any]) -> list[SinkRecord | None]:
        """The records of Kafka's messages, one a message; None for one that a transform dropped."""
        if not messages:
            return []
        packed = sink_task.packed(messages)
        batch = self._take(lambda: self._it.received(self._inbox.put(packed)), None)
        self._raise()
        return _in_place(batch.numbers, batch.records, len(messages))


def _in_place(numbers: Sequence[int], records: list[Any], count: int) -> list[Any]:
    if len(records) == count:
        return records
    places: list[Any] = [None] * count
    for number, record in zip(numbers, records):
        places[number] = record
    return places
