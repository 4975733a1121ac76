"""
Reads topics from one offset to another, outside of any group, and commits nothing: for commands, with no worker alive.

Used by `stamped.py`, by the commands of internal topics and of dead letter queues, and by authors' tests. Only what is
committed is read. `log.py` is the workers' own reader, `sample.py` that of previews.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import confluent_kafka as ck

from kconnect.errors import ConnectError, UnavailableError
from kconnect.kafka.codes import AWAY, MOVING
from kconnect.kafka.failures import failure, persistently
from kconnect.kafka.portions import Portions
from kconnect.kafka.positions import Place, Positions, Span
from kconnect.kafka.unreadable import NOT_UNPACKED

Message = ck.Message
BEGINNING: int = ck.OFFSET_BEGINNING

_ANSWER_S = 30.0
_STEP_S = 5.0
"""Python hears no Ctrl-C while the client waits."""
_SILENCE_S = 45.0
"""A broker that sends nothing for so long, while something is left to be read, is away. A process for REST has 60 s."""
_REMEDY = (
    "read what is before it and what is behind it by themselves; of a dead letter queue by kconnect dlq with "
    "--queue-partition and --offset :N or N:"
)
_MANY = 2000
_SHOWN = 5
_T = TypeVar("_T")


class Reader:
    """`client` are librdkafka's settings. Use it in a `with`, from one thread."""

    def __init__(self, client: Mapping[str, Any], group: str = "kconnect-cli") -> None:
        self._client = dict(client)
        self._settings = {
            **client,
            # Of no member: the client insists on a name.
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "allow.auto.create.topics": False,
        }
        self._consumer = ck.Consumer(self._settings)
        self.positions: dict[Place, int] = {}
        """The offset that comes next, of each partition that is being read."""

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    @property
    def metadata(self) -> Any:
        """The consumer group's, for a transaction."""
        return self._consumer.consumer_group_metadata()

    def partitions(self, topic: str) -> list[int]:
        """
        Return a topic's partitions; an empty list if it does not exist. Raise UnavailableError if no broker answers for a
        while.
        """
        what = f"the topic {topic}"
        metadata = self._persistently(lambda: self._consumer.list_topics(topic, timeout=_STEP_S).topics[topic], AWAY, what)
        if metadata.error is None:
            return sorted(metadata.partitions)
        if metadata.error.code() in (ck.KafkaError.UNKNOWN_TOPIC_OR_PART, ck.KafkaError.TOPIC_EXCEPTION):
            return []
        raise failure(metadata.error, what, self._client)

    def span(self, place: Place) -> Span:
        """Return the extent of what is committed in the partition."""
        asked = ck.TopicPartition(*place)
        what = f"the partition {place}"
        span = self._persistently(lambda: self._consumer.get_watermark_offsets(asked, timeout=_ANSWER_S), MOVING, what)
        return Span(*span)

    def held_back(self, ends: Mapping[Place, int]) -> list[Place]:
        """Return the partitions that go on behind `ends`, where open transactions keep records from readers."""
        spans = Positions(self._client).spans(ends)
        # Asked the second time: what was committed in between is no open transaction.
        return [place for place in ends if self.span(place).end < spans[place].end]

    def committed(self, places: Iterable[Place], settled: bool = True) -> list[tuple[Place, int, str | None]]:
        """
        Return the group's committed offsets, each with its metadata; the offset is negative where nothing is committed. Unless
        `settled`, do not wait for open transactions.
        """
        asked = [ck.TopicPartition(*place) for place in places]
        consumer = self._consumer if settled else ck.Consumer({**self._settings, "isolation.level": "read_uncommitted"})
        what = f"the group {self._settings['group.id']}"
        offsets = self._persistently(lambda: consumer.committed(asked, timeout=_ANSWER_S), (), what)
        for offset in offsets:
            if offset.error is not None:
                raise failure(offset.error, what, self._client)
        return [(Place(offset.topic, offset.partition), offset.offset, offset.metadata) for offset in offsets]

    def begin(self, starts: Mapping[Place, int]) -> None:
        self.positions = dict(starts)
        self._portions = Portions()
        self._broken: dict[Place, tuple[int, str]] = {}
        self._ends: dict[Place, int] = {}
        self._consumer.assign([ck.TopicPartition(*place, start) for place, start in starts.items()])

    def until(self, ends: Mapping[Place, int], starts: Mapping[Place, int] | None = None) -> Iterator[list[Message]]:
        """
        All from `starts`, or the beginnings, to `ends`; nothing of what is behind them. A list a turn, which may be empty.

        UnavailableError if brokers send nothing for a minute.
        """
        starts = starts or {}
        self.begin({place: starts.get(place, BEGINNING) for place, end in ends.items() if end > max(0, starts.get(place, 0))})
        heard, before = time.monotonic(), dict(self.positions)
        while unfinished := sorted(place for place, at in self.positions.items() if at < ends[place]):
            messages = self._some(1.0, ends)
            if self.positions != before:
                heard, before = time.monotonic(), dict(self.positions)
            elif time.monotonic() - heard > _SILENCE_S:
                silent = ", ".join(f"{place}{_from(self.positions[place])}" for place in unfinished)
                raise UnavailableError(
                    f"Brokers have sent nothing of {silent} for {_SILENCE_S:.0f} s. Check that they run. If they do, "
                    f"a batch is there that no client can read: {_REMEDY}"
                )
            yield [message for message in messages if (message.offset() or 0) < ends[_place(message)]]
        self._consumer.unassign()

    def some(self, timeout: float) -> list[Message]:
        """
        Return the messages that have come, after `timeout` seconds at most.

        ConnectError where a batch is broken, once what had come before it was returned.
        """
        return self._some(timeout, {})

    def _some(self, timeout: float, ends: Mapping[Place, int]) -> list[Message]:
        """The same; nobody wants to know of what is broken from `ends` on."""
        if not self._portions:
            for place, (offset, reason) in self._broken.items():
                if place not in ends or offset < ends[place]:
                    raise ConnectError(f"{place} can't be read{_from(offset)}: {reason}. {_REMEDY[0].upper()}{_REMEDY[1:]}")
        messages = []
        # What is left of the last turn comes first.
        try:
            first = None if self._portions else self._consumer.poll(timeout)
            delivered = () if first is None else (first, *self._consumer.consume(_MANY, timeout=0))
        except (MemoryError, SystemError):
            # The second one, where the client's own code had no memory for a message.
            unread = ", ".join(f"{place}{_from(at)}" for place, at in sorted(self.positions.items())[:_SHOWN])
            raise ConnectError(
                f"{unread} can't be read: a message there is larger than the memory of this process. {_REMEDY[0].upper()}"
                f"{_REMEDY[1:]}"
            ) from None
        for message in delivered:
            error = message.error()
            if error is None:
                messages.append(message)
            elif error.code() == ck.KafkaError._PARTITION_EOF:
                # Markers of transactions take offsets that no record fills.
                self._ends[_place(message)] = message.offset() or 0
            elif error.code() in NOT_UNPACKED:
                reason = f"a batch there is broken, or too large once it is unpacked ({error.str()})"
                self._broken.setdefault(_place(message), (message.offset() or 0, reason))
            elif error.fatal() or error.code() not in (*AWAY, *MOVING, ck.KafkaError._RESOLVE):
                raise failure(error, f"the topic {message.topic()}", self._client)
        portion = self._portions.portion(messages, _MANY + 1)
        for message in portion:
            self.positions[_place(message)] = (message.offset() or 0) + 1
        if not self._portions:
            for place, end in self._ends.items():
                self.positions[place] = max(end, self.positions[place])
            self._ends.clear()
        return portion

    def _persistently(self, ask: Callable[[], _T], passing: Collection[int], what: str) -> _T:
        return persistently(ask, passing, what, self._client, _ANSWER_S)


def _from(offset: int) -> str:
    return f" from offset {offset} on" if offset >= 0 else ""


def _place(message: Message) -> Place:
    return Place(str(message.topic()), message.partition() or 0)
