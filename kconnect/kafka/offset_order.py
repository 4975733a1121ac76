"""
Records that say they are at a higher offset than they have: what others have written there would be taken for old, or would
never be read.

Brokers number batches and do not look at the records in them, and clients believe the records: one that claims an offset
further on has its reader go on behind that. Such a jump looks like one that compaction or a transaction has left. So where
offsets of a partition jump, the record is asked for once more, at the offset that it claims: if another one is there, it has
lied. Where they jump all the time, which compaction and transactions make, only some are asked for: the last ones of a read,
for a lie hides what others have written only if nothing of its fetch comes behind it. To ask takes little of a task's time,
also where brokers are far. Held by `resting.py` and by `dlq/queue.py`. Read next: `unreadable.py`, which knows of offsets
behind a partition's end.
"""

from __future__ import annotations

import itertools
import logging
import operator
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import confluent_kafka as ck

from kconnect.api.record import TopicPartition
from kconnect.errors import ConnectError
from kconnect.kafka import unreadable

log = logging.getLogger(__name__)

_LAST = 3
"""So many jumps of a read, the last ones of a partition, are looked into."""
_ASKED, _AGAIN_S = 20, 5.0
"""So many are looked into at once, and then one in so many seconds."""
_SPENT_S, _SHARE = 1.0, 0.05
"""
For so long at once, and then for this share of the time: a task reads nothing meanwhile. On lines of 200 ms it read nothing
for 25 s, jump after jump.
"""
_ANSWER_S = 3.0
_STEP_S = 0.2


class Ask(Protocol):
    def __call__(self, place: TopicPartition, offset: int) -> ck.Message | None:
        """Return the record at an offset of a partition. None if there is none, or no answer."""
        ...

    def close(self) -> None:
        """Have no client, until the next call."""
        ...


class Order:
    """`clock` is steady, in seconds."""

    def __init__(self, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._lasts: dict[TopicPartition, int] = {}
        self._jumps: dict[TopicPartition, tuple[int, int]] = {}
        """The last jump in each partition: the offsets before and behind it."""
        self._left, self._more_at = _ASKED, 0.0
        self._spare_s, self._spare_at = _SPENT_S, clock()
        """For how long may be asked, as of then; less than nothing if an answer took longer."""
        self._cost_s = _SPENT_S / _LAST
        """How long the last answer took."""

    def close(self) -> None:
        """Have no client that asks, until there is something to ask."""
        self._ask.close()

    def begin(self, places: Iterable[TopicPartition], starts: Mapping[TopicPartition, int] | None = None) -> None:
        """Forget where these partitions were: reading begins there, at `starts` if they are known, or goes on elsewhere."""
        for place in places:
            self._lasts.pop(place, None)
            self._jumps.pop(place, None)
        self._lasts.update((place, start - 1) for place, start in (starts or {}).items())

    def failure(self, messages: Sequence[ck.Message], assigned: Collection[TopicPartition]) -> tuple[int, ConnectError] | None:
        """Return the place in `messages` of the first one that lies, and what the task fails with."""
        offset_of: Callable[[ck.Message], Any] = ck.Message.offset
        offsets = list(map(offset_of, messages))
        for begin, end in _runs(messages, assigned):
            place = TopicPartition(messages[begin].topic() or "", messages[begin].partition() or 0)
            run, last = offsets[begin:end], self._lasts.get(place)
            expected = run[0] if last is None else last + 1
            if run != list(range(expected, expected + len(run))):
                lie = self._look(place, messages[begin:end], run, expected - 1)
                if lie is not None:
                    return begin + lie[0], lie[1]
            self._lasts[place] = run[-1]
        return None

    def _look(
        self, place: TopicPartition, messages: Sequence[ck.Message], run: Sequence[int], last: int
    ) -> tuple[int, ConnectError] | None:
        asked = self._asked(run, last)
        for at, offset in enumerate(run):
            if offset <= last:
                before, behind = self._jumps.get(place, (last, last))
                if before < offset <= behind:
                    # What was jumped over comes after all.
                    liar = next((number for number in range(at) if run[number] >= behind), at)
                    return liar, _passed_over(place, behind, offset)
                # Somebody has set another offset, or the topic is another one.
                self._jumps.pop(place, None)
            elif offset > last + 1:
                # The last one in any case: the others only if they have not turned out to take too long.
                if at in asked and (self._spare_s > 0 or at == max(asked)) and not self._is_right(place, messages[at]):
                    return at, _failure(place, offset, last + 1)
                self._jumps[place] = last, offset
            last = offset
        return None

    def _asked(self, run: Sequence[int], last: int) -> Collection[int]:
        """Return the places in the run of the records behind jumps that are asked for: a flood of jumps hides no last one."""
        jumps = [at for at, (before, offset) in enumerate(zip((last, *run), run)) if offset > before + 1]
        most = min(_LAST, max(1, int(self._spare() / self._cost_s)))
        return {at for at in jumps[: -most - 1 : -1] if self._may_ask()}

    def _is_right(self, place: TopicPartition, message: ck.Message) -> bool:
        """Whether a record behind a jump is where it says, or nobody says otherwise."""
        began = self._clock()
        stored = self._ask(place, message.offset() or 0)
        self._cost_s = max(0.01, self._clock() - began)
        self._spare_s -= self._cost_s
        return stored is None or stored.offset() != message.offset() or _content(stored) == _content(message)

    def _may_ask(self) -> bool:
        now = self._clock()
        if self._left < _ASKED and now >= self._more_at:
            self._left, self._more_at = self._left + 1, now + _AGAIN_S
        if not self._left or self._spare() <= 0:
            return False
        self._left -= 1
        return True

    def _spare(self) -> float:
        now = self._clock()
        self._spare_s = min(_SPENT_S, self._spare_s + _SHARE * (now - self._spare_at))
        self._spare_at = now
        return self._spare_s


def _runs(messages: Sequence[ck.Message], assigned: Collection[TopicPartition]) -> Iterator[tuple[int, int]]:
    """Yield where the messages of one partition begin and end, which come together."""
    if len(assigned) == 1:
        yield 0, len(messages)
        return
    partitions: list[Any] = list(map(ck.Message.partition, messages))
    if len({place.topic for place in assigned}) > 1:
        partitions = list(zip(map(ck.Message.topic, messages), partitions))
    changes = itertools.compress(range(1, len(messages)), map(operator.ne, partitions, itertools.islice(partitions, 1, None)))
    yield from itertools.pairwise([0, *changes, len(messages)])


def _content(message: ck.Message) -> tuple[Any, ...]:
    return message.key(), message.value(), message.timestamp()


def _failure(place: TopicPartition, offset: int, reached: int) -> ConnectError:
    return unreadable.failure(place, reached, f"a record says that it is at offset {offset}, and another one is there")


def _passed_over(place: TopicPartition, offset: int, reached: int) -> ConnectError:
    return ConnectError(
        f"{place.topic}-{place.partition} has a record that says it is at offset {offset}, and then one at offset {reached}. "
        f"What is from there on may have been taken for old: to read it, stop the connector and set the offset {reached} of "
        "this partition (kconnect offsets set)"
    )


class Asker:
    """Asks for single records, outside of the group, by a client that it keeps. `client` are settings."""

    def __init__(self, client: Mapping[str, Any]) -> None:
        self._client = {**client, "enable.partition.eof": True, "auto.offset.reset": "error"}
        self._consumer: ck.Consumer | None = None

    def __call__(self, place: TopicPartition, offset: int) -> ck.Message | None:
        try:
            if self._consumer is None:
                self._consumer = ck.Consumer(self._client)
            self._consumer.assign([ck.TopicPartition(*place, offset)])
            end = time.monotonic() + _ANSWER_S
            while time.monotonic() < end:
                message = self._consumer.poll(_STEP_S)
                # An error without a topic is about some broker, perhaps of before.
                if message is not None and message.topic() is not None:
                    self._consumer.unassign()
                    return message if message.error() is None else None
            log.debug("No answer for the record at offset %d of %s-%d", offset, *place)
        except ck.KafkaException as error:
            log.debug("The record at offset %d of %s-%d can't be asked for: %s", offset, *place, error.args[0].str())
        # One that has found no broker may not find one later, either.
        self.close()
        return None

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()
