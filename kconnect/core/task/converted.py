"""
What a source task's conversion makes of a batch: messages for Kafka, and the source offsets that go with them.

Made by `source_pump.py`, `jvm/source_task.py` and `jvm/mixed.py`, for `delivery.py`; `Held` keeps those of which it is not
known yet whether Kafka has them. Read next: `delivery.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from kconnect.core.task.chain import Outgoing
from kconnect.core.task.source_offsets import beginning

_HELD = 4000
_HELD_BYTES = 32 << 20


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
    failure: Exception | None = None
    """Why the task is to fail once this is on its way: the batch had more, which begins with a record that failed."""
    cut: Callable[[int], tuple[int, Sequence[Any]] | None] | None = None
    """
    How many messages come before what a restart begins with if that message fails, and their `offsets`; None if that can't be
    had any more. Without it, `given` says.
    """
    ahead: Callable[[int], tuple[int, Sequence[Any]] | None] | None = None
    """The same of what comes before that one of `given`, of which there may be no message."""

    def dropped(self) -> list[Any]:
        """Return those of `given` that no message was made of, in order."""
        if len(self.given) == len(self.origins):
            return []
        converted = {id(origin) for origin in self.origins}
        return [record for record in self.given if id(record) not in converted]

    def until(self, count: int, hears: bool) -> Converted | None:
        """
        Return the part before message number `count`, which has failed, without what a restart needs again (`beginning`). A
        task that `hears` of each record knows by itself which of them come again. Return None if the offsets can't be had any
        more.
        """
        if count >= len(self.messages):
            return self
        if self.cut is not None:
            cut = self.cut(count)
            if cut is None:
                return None
            count, offsets = cut
            messages, records = self.messages[:count], self.given
            if self.origins:
                records = records[: next(at for at, record in enumerate(records) if record is self.origins[count])]
            return Converted(messages, {message[0] for message in messages}, offsets, records, self.origins[:count])
        failed = self.origins[count]
        at = next(at for at, record in enumerate(self.given) if record is failed)
        return self.before(at if hears else beginning(self.given[:at], failed))._replace(failure=None)

    def before(self, at: int) -> Converted:
        """Return the part before record number `at` of `given`, with the same failure."""
        if at >= len(self.given):
            return self
        records, count = self.given[:at], self.count_before(at)
        messages = self.messages[:count]
        topics = {message[0] for message in messages}
        return self._replace(messages=messages, topics=topics, offsets=records, given=records, origins=self.origins[:count])

    def only(self, places: Sequence[int]) -> Converted:
        """The batch with those of its messages that are at these places, in order."""
        messages, origins = [self.messages[at] for at in places], [self.origins[at] for at in places]

        def renumbered(found: tuple[int, Sequence[Any]] | None) -> tuple[int, Sequence[Any]] | None:
            return None if found is None else (bisect_left(places, found[0]), found[1])

        cut, ahead = self.cut, self.ahead
        return self._replace(
            messages=messages,
            topics={message[0] for message in messages},
            origins=origins,
            cut=None if cut is None else lambda count: renumbered(cut(places[count])),
            ahead=None if ahead is None else lambda at: renumbered(ahead(at)),
        )

    def without(self, at: int) -> Converted | None:
        """
        Return the part before record number `at` of `given`, by `ahead`, with the same failure. Return None if that can't be
        had.
        """
        part = None if self.ahead is None else self.ahead(at)
        if part is None:
            return None
        messages = self.messages[: part[0]]
        topics = {message[0] for message in messages}
        records, origins = self.given[:at], self.origins[: part[0]]
        return self._replace(messages=messages, topics=topics, offsets=part[1], given=records, origins=origins)

    def count_before(self, at: int) -> int:
        """Return how many messages were made of the records before number `at` of `given`."""
        before = {id(record) for record in self.given[:at]}
        return next((number for number, origin in enumerate(self.origins) if id(origin) not in before), len(self.origins))


NOTHING = Converted((), (), ())


def identity(message: Sequence[Any]) -> tuple[Any, ...]:
    """
    Return what identifies a message when it comes back: topic, value, key. Of two that are the same, both are refused or
    neither.
    """
    return tuple(message[:3])


class Held:
    """
    The last batches that were handed over, in order and whole, so that a refused message's place is known. Few of them: what is
    kept is no longer in the processor's cache when the next batch is made, and 50,000 messages cost a quarter of a task's time.
    """

    def __init__(self) -> None:
        self._batches: deque[Converted] = deque()
        self._messages = self._bytes = 0

    def __iter__(self) -> Iterator[Converted]:
        return iter(self._batches)

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(self, batch: Converted) -> list[Converted]:
        """Keep it. Return those that are not kept any more, in order."""
        self._batches.append(batch)
        self._count(batch, 1)
        older = []
        while len(self._batches) > 1 and (self._messages > _HELD or self._bytes > _HELD_BYTES):
            older.append(self._batches.popleft())
            self._count(older[-1], -1)
        return older

    def _count(self, batch: Converted, sign: int) -> None:
        if batch.messages:
            self._messages += sign * len(batch.messages)
            # By its last one: to add up all of them would cost more than it is worth.
            self._bytes += sign * len(batch.messages) * len(batch.messages[-1][1] or b"")

    def drop(self) -> None:
        """The last one was not handed over as a whole."""
        self._count(self._batches.pop(), -1)

    def clear(self) -> None:
        self._batches.clear()
        self._messages = self._bytes = 0

    def before(self, refused: Collection[tuple[Any, ...]], hears: bool) -> list[Converted] | None:
        """
        Return the batches before the first message that is one of `refused`, by `identity`, cut as `Converted.until` does.
        Return None if not all of `refused` are here.
        """
        if set(refused) - {identity(message) for batch in self._batches for message in batch.messages}:
            return None
        parts = []
        for batch in self._batches:
            at = next((at for at, message in enumerate(batch.messages) if identity(message) in refused), None)
            if at is None:
                parts.append(batch)
                continue
            part = batch.until(at, hears)
            return parts if part is None else [*parts, part]
        return parts
