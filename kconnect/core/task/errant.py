"""
Keeps the messages that a sink task has read until they are committed, so that the task can still report a record that it can't
deliver (KIP-610).

Held by `sink_pump.py`; the task gets it through `sink_context.py`. Read next: `errors.py`, which handles a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.core.task.answers import AnswerError, kind_of
from kconnect.core.task.errors import Component, Errors, Stage, place_of
from kconnect.errors import ConnectError


class Errant:
    """
    The `kconnect.api.task.ErrantRecordReporter` of one sink task: records that it can't deliver are handled like those that
    can't be converted. Once the task has asked for it, it keeps messages until they are committed: a dead letter has the very
    bytes that were consumed.

    Of a task that reports `in_put_only`, messages are kept until its `put` is done: a record that was written into the topic to
    be reported would otherwise have all later ones kept, of which there is no end while a task waits to have enough for a file.
    """

    def __init__(self, errors: Errors, task_class: str, in_put_only: bool = False) -> None:
        self._wanted = False
        self._in_put_only = in_put_only
        self._last: Iterable[Any] = ()
        self._errors = errors
        self._component = Component("the task's put()", task_class)
        self._kept: dict[TopicPartition, dict[int, Any]] = {}

    def want(self) -> None:
        """The task has asked for it, be it in the midst of a `put`."""
        if not self._wanted:
            self._wanted = True
            self.keep(self._last)
            self._last = ()

    def keep(self, messages: Iterable[Any]) -> None:
        if not self._wanted:
            self._last = messages
            return
        for message in messages:
            place = TopicPartition(message.topic(), message.partition())
            self._kept.setdefault(place, {})[message.offset()] = message

    def delivered(self) -> None:
        """The task has taken all that was read."""
        if self._in_put_only:
            self._kept.clear()
            self._last = ()

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for place, end in offsets.items():
            messages = self._kept.get(place, {})
            self._kept[place] = {offset: message for offset, message in messages.items() if offset >= end.offset}

    def closed(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            self._kept.pop(place, None)

    def report(self, record: SinkRecord, error: Exception) -> None:
        """
        ConnectError if `errors.tolerance` does not allow to drop a record; it has been reported all the same. AnswerError for
        what is no record.
        """
        if not isinstance(record, SinkRecord):
            raise AnswerError(f"The reporter of bad records was given {kind_of(record)}: it must be a record of put()")
        if not isinstance(error, Exception):
            # Whatever it is, the record is to be reported.
            error = ConnectError(str(error))
        place = TopicPartition(record.original_topic, record.original_partition)
        origin = self._kept.get(place, {}).get(record.original_offset)
        if origin is None:
            raise ConnectError(
                f"The record {place_of(record)} can't be reported: it was already committed, or its partition was taken away. "
                "Report a record before `pre_commit` returns an offset beyond it."
            )
        self._errors.handle(Stage.TASK_PUT, self._component, origin, error)
