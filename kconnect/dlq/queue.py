"""
One dead letter queue, read by Kafka, and which connectors name one. Read next: `letters.py`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kconnect.api.record import TopicPartition
from kconnect.core.settings.errors import CONTEXT_HEADERS, DEAD_LETTERS_TOPIC
from kconnect.dlq.choice import Choice
from kconnect.dlq.letters import Letter
from kconnect.dlq.memory import Done, group_of
from kconnect.errors import ConfigError, ConnectError
from kconnect.kafka.offset_order import Asker, Order
from kconnect.kafka.positions import Place
from kconnect.kafka.reader import Message, Reader

Connect = Callable[[str], dict[str, Any]]
"""librdkafka's settings for a `consumer` or `producer`."""


@dataclass(frozen=True)
class Owner:
    """A connector that names a queue. `told`: it has its context headers written."""

    connector: str
    queue: str
    told: bool


def owners_in(configs: Mapping[str, Mapping[str, str | None]]) -> list[Owner]:
    """Return the connectors that have a queue, in order of the queues' names."""
    owners = [
        Owner(name, topic, _has_headers(config))
        for name, config in configs.items()
        if (topic := DEAD_LETTERS_TOPIC.read(config))
    ]
    return sorted(owners, key=lambda owner: (owner.queue, owner.connector))


def _has_headers(config: Mapping[str, str | None]) -> bool:
    with suppress(ConfigError):
        return CONTEXT_HEADERS.read(config)
    return False


class Queue:
    """The topic of a queue, read outside of any group; nothing is committed. Use it in a `with`."""

    def __init__(self, connect: Connect, name: str) -> None:
        self.name = name
        client, group = connect("consumer"), group_of(name)
        # Letters that a transaction has taken back never were.
        self._reader = Reader(client, group)
        self._ask = Asker({**client, "group.id": group, "enable.auto.commit": False})
        self.unnamed = ""
        """Why no connector is known to name it; empty if one does, or nobody has looked."""

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *_: object) -> None:
        self._ask.close()
        self._reader.__exit__()

    @property
    def metadata(self) -> Any:
        """The consumer group's, for a transaction."""
        return self._reader.metadata

    def placed(self, offsets: Mapping[int, int]) -> dict[Place, int]:
        """Offsets of its partitions, with its name."""
        return {Place(self.name, number): offset for number, offset in offsets.items()}

    def partitions(self, topic: str | None = None) -> list[int]:
        """
        Return the partitions of this topic, or of another one; none if it does not exist. Raise UnavailableError if no broker
        answers.
        """
        return self._reader.partitions(topic or self.name)

    def bounds(self, choice: Choice | None = None) -> dict[int, tuple[int, int]]:
        """Return, for each partition, the first offset and that behind the last, as far as the choice asks for them."""
        asked = choice or Choice()
        places = [place for place in self.partitions() if asked.queue_partition in (None, place)]
        return {place: asked.bounds(*self._span(place)) for place in places}

    def letters(self, bounds: Mapping[int, tuple[int, int]]) -> Iterator[Letter]:
        """
        Yield the letters between the bounds, each partition in its order. Raise UnavailableError if brokers are silent for a
        minute.

        ConnectError at one that lies about its offset: others were passed over, and would be taken for replayed with it.
        """
        starts, ends = ({place: bound[which] for place, bound in bounds.items()} for which in (0, 1))
        for messages in self._in_order(self.placed(ends), self.placed(starts)):
            for message in messages:
                place, offset = message.partition() or 0, message.offset() or 0
                yield Letter.of(message, max(offset - starts[place], 0))
                starts[place] = offset + 1

    def some(self, choice: Choice, limit: int, oldest: bool = False) -> list[Letter]:
        """The newest that are meant, or the oldest, in the order of their times."""
        bounds = self.bounds(choice)
        if choice.by_place and not oldest:
            bounds = {place: (max(begin, end - limit), end) for place, (begin, end) in bounds.items()}
        letters = filter(choice.takes, self.letters(bounds))
        if oldest:
            return list(islice(letters, limit))
        newest: dict[int, deque[Letter]] = defaultdict(lambda: deque(maxlen=limit))
        for letter in letters:
            newest[letter.partition].append(letter)
        chosen = [letter for some in newest.values() for letter in some]
        if len(newest) > 1:
            chosen.sort(key=lambda letter: (letter.timestamp or 0, letter.partition, letter.offset))
        return chosen[-limit:]

    def at(self, partition: int, offsets: Sequence[int], topic: str | None = None) -> dict[int, Letter]:
        """
        Read the records at some offsets, in rising order, of the queue or of another topic. Offsets that the partition does not
        have are left out. UnavailableError if brokers are silent for a minute.
        """
        place = Place(topic or self.name, partition)
        if partition not in self.partitions(place.topic):
            return {}
        span, offset_set = self._reader.span(place), set(offsets)
        records: dict[int, Letter] = {}
        for first, last in runs([offset for offset in offsets if span.start <= offset < span.end]):
            read = self._in_order if place.topic == self.name else self._reader.until
            for messages in read({place: last + 1}, {place: first}):
                records.update((m.offset() or 0, Letter.of(m)) for m in messages if m.offset() in offset_set)
        return records

    def read_back(self, topic: str, partition: int, offsets: Sequence[int]) -> dict[int, Letter]:
        """Read the records that letters name as their originals; see `origins.py`."""
        return self.at(partition, offsets, topic)

    def replayed(self, settled: bool = False) -> dict[int, Done]:
        """
        Return what has been replayed of each partition. Raise ConflictError for notes of somebody else.

        A replay that was killed may have left a note whose transaction brokers end a minute later. It does not count yet, or,
        if it is to be `settled`, is waited for: whoever has taken over the replays has ended it already.
        """
        commits = self._reader.committed(self.placed(dict.fromkeys(self.partitions(), 0)), settled)
        return {place.partition: Done.read(at, note, self._span(place.partition)[1]) for place, at, note in commits}

    def _in_order(self, ends: Mapping[Place, int], starts: Mapping[Place, int]) -> Iterator[list[Message]]:
        order, places = Order(self._ask), [TopicPartition(*place) for place in starts]
        order.begin(places, {TopicPartition(*place): start for place, start in starts.items()})
        nexts = {place.partition: start for place, start in starts.items()}
        for messages in self._reader.until(ends, starts):
            failure = order.failure(messages, places) if messages else None
            honest = messages if failure is None else messages[: failure[0]]
            yield honest
            nexts.update((message.partition() or 0, (message.offset() or 0) + 1) for message in honest)
            if failure is not None:
                raise _lie(messages[failure[0]], nexts)

    def _span(self, number: int) -> tuple[int, int]:
        span = self._reader.span(Place(self.name, number))
        return span.start, span.end


def _lie(liar: Message, nexts: Mapping[int, int]) -> ConnectError:
    number = liar.partition() or 0
    return ConnectError(
        f"The letter at offset {nexts[number]} of {liar.topic()}-{number} says that it is at offset {liar.offset()}, where "
        "another one is, and those in between would be passed over. Give kconnect dlq those before it and those behind it "
        f"by themselves: --queue-partition {number} --offset :{nexts[number] - 1}, and --offset {nexts[number] + 1}:"
    )


def runs(offsets: Sequence[int], gap: int = 1000) -> list[tuple[int, int]]:
    """Split rising offsets into the ranges that are read at once, each with its first and last offset."""
    ranges: list[tuple[int, int]] = []
    for offset in offsets:
        if ranges and offset - ranges[-1][1] <= gap:
            ranges[-1] = ranges[-1][0], offset
        else:
            ranges.append((offset, offset))
    return ranges
