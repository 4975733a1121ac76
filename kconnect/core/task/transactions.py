"""
Where the transactions of an exactly-once source task end (KIP-618): after each poll, at intervals, or where the task says.

Held by `delivery.py`, which asks `parts` for each batch of the task's `poll`, `after_batch` after the batch, `due` at
intervals, and `at_rest` when the task is paused or ends. `delivery.py` carries out their answers. Read next: that file.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Any

from kconnect.api.record import SourceRecord
from kconnect.core.settings.source import SourceSettings
from kconnect.errors import ConnectError


class End(enum.Enum):
    """An end of a transaction."""

    COMMIT = enum.auto()
    ABORT = enum.auto()
    """Its records are for nobody, and done with: their source offsets are committed in a transaction of their own."""


Part = tuple[Sequence[Any], "End | None"]


class PollBoundary:
    """A transaction for each batch."""

    context: Requests | None = None
    """What the task gets as its `TransactionContext`."""

    def parts(self, records: Sequence[Any]) -> Iterator[Part]:
        """The batch in pieces, and whether the transaction ends behind each."""
        yield records, None

    def after_batch(self, now: float) -> End | None:
        """Whether the transaction ends behind the batch whose `parts` are done with; once a batch."""
        return End.COMMIT

    def due(self, now: float) -> bool:
        """Whether it is time to commit, batch or no batch."""
        return False

    def at_rest(self) -> End | None:
        """Return how an open transaction ends when the task gives nothing more for now; None if it stays open."""
        return End.COMMIT


class IntervalBoundary(PollBoundary):
    """A transaction for so many seconds, from the end of the one before on; always whole batches."""

    def __init__(self, interval: float, now: float) -> None:
        self._interval, self._began = interval, now

    def after_batch(self, now: float) -> End | None:
        return End.COMMIT if self.due(now) else None

    def due(self, now: float) -> bool:
        if now - self._began < self._interval:
            return False
        self._began = now
        return True


class TaskBoundary(PollBoundary):
    """The boundaries that a task asks for by its `context`. Raises ConnectError if it asks for both ends at once."""

    def __init__(self) -> None:
        self.context: Requests = Requests()

    def parts(self, records: Sequence[Any]) -> Iterator[Part]:
        requests, begin = self.context, 0
        if not requests.any:
            yield records, None
            return
        for at, record in enumerate(records, 1):
            end = requests.take(record)
            if end is not None:
                yield records[begin:at], end
                begin = at
        if begin < len(records):
            yield records[begin:], None

    def after_batch(self, now: float) -> End | None:
        return self.context.take_batch()

    def at_rest(self) -> End | None:
        return self.context.take_batch()


_BATCH: Any = object()


class Requests:
    """
    The `kconnect.api.task.TransactionContext` of a task. Each step is one operation of one dict, which no thread can split.

    Records go by identity, and are held until they come: meanwhile no other one can have the same.
    """

    def __init__(self) -> None:
        self._asked: dict[End, dict[int, object]] = {end: {} for end in End}

    def commit_transaction(self, record: SourceRecord = _BATCH) -> None:
        self._ask(End.COMMIT, record)

    def abort_transaction(self, record: SourceRecord = _BATCH) -> None:
        self._ask(End.ABORT, record)

    @property
    def any(self) -> bool:
        """Whether there is a request for any record, or for the batch."""
        return bool(self._asked[End.COMMIT] or self._asked[End.ABORT])

    def take(self, record: SourceRecord) -> End | None:
        return self._take(record, "record")

    def take_batch(self) -> End | None:
        return self._take(_BATCH, "transaction")

    def _ask(self, end: End, record: object) -> None:
        if record is None:
            raise ValueError("Source record used to define transaction boundaries may not be null")
        self._asked[end][id(record)] = record

    def _take(self, record: object, what: str) -> End | None:
        ends = [end for end, asked in self._asked.items() if asked.pop(id(record), None) is not None]
        if len(ends) > 1:
            # Not said to whoever asks: the task might swallow it.
            raise ConnectError(f"Connector requested both commit and abort of same {what}")
        return ends[0] if ends else None


def boundary_of(settings: SourceSettings, interval_s: float, now: float) -> tuple[PollBoundary, float]:
    """
    Return the boundary that the connector's config wants, and for how many seconds a transaction is open by that, 0 if it does
    not say. `interval_s` is the worker's `offset.flush.interval.ms`, for a connector without an interval of its own.
    """
    if settings.transaction_boundary == "connector":
        return TaskBoundary(), 0.0
    if settings.transaction_boundary != "interval":
        return PollBoundary(), 0.0
    own_ms = settings.transaction_boundary_interval_ms
    length_s = interval_s if own_ms is None else own_ms / 1000
    return IntervalBoundary(length_s, now), length_s
