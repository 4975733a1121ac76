"""
Batches that Kafka keeps and that its client can't read: whoever may write to a topic may send one.

Brokers don't look at all of a batch. One that can't be unpacked is an error at each fetch, one with an impossible length is
fetched for ever without any error, and a record may say that it is at an offset that the partition has not: a sink that
believed it would skip the records of others. Each of them fails the task, as in Kafka Connect, with the place and the remedy.
Without that, the task would run and read nothing any more. Called by `consumer.py`, `resting.py` and `watch.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import confluent_kafka as ck
import orjson

from kconnect.api.record import TopicPartition
from kconnect.errors import ConnectError

STATISTICS_MS = 30_000
"""How often a client says where it is."""
NOT_UNPACKED = (ck.KafkaError._BAD_COMPRESSION, ck.KafkaError._NOT_IMPLEMENTED)

_LONGEST_S = 120.0
"""For how long brokers may answer without anything that can be read, though there is more."""
_FEWEST_FETCHES = 20
_ANSWER_S = 5.0
_PAUSE_S = 1.0
_ASKS = 6
"""A leader that is new knows less of its partition's end than the one before, for a moment."""


def failure(place: TopicPartition, offset: int | None, reason: str) -> ConnectError:
    """Return what a task fails with that can't read a partition from `offset` on; None: from where it is."""
    where = "any further" if offset is None else f"from offset {offset} on"
    return ConnectError(
        f"{place.topic}-{place.partition} can't be read {where}: {reason}. To go on behind that, stop the connector and set a "
        "later offset of this partition (kconnect offsets set)"
    )


def of_error(message: ck.Message) -> ConnectError:
    """Return the failure of an error with one of the codes `NOT_UNPACKED`."""
    error = message.error()
    text = error.str() if error is not None else ""
    limit = "it is broken, or larger than the consumer's receive.message.max.bytes once it is unpacked"
    return failure(_place(message), message.offset(), f"{limit} ({text})")


def of_names(error: Exception) -> ConnectError:
    """
    Return the failure of a client that can't say what it does: in what it logs and counts, names stand as brokers have answered
    them.
    """
    return ConnectError(
        "Its brokers have answered with names, of hosts or topics, that are no names: they answer what brokers don't, or "
        f"something on the way changes it. See bootstrap.servers ({type(error).__name__}: {str(error)[:200]})"
    )


def _place(message: ck.Message) -> TopicPartition:
    return TopicPartition(message.topic() or "", message.partition() or 0)


class Ends:
    """The ends of partitions, as far as brokers have said them: no record is behind one."""

    def __init__(self) -> None:
        self._ends: dict[TopicPartition, int] = {}

    def failure(
        self, consumer: ck.Consumer, messages: Sequence[ck.Message], assigned: Collection[TopicPartition]
    ) -> tuple[int, ConnectError] | None:
        """Return the place in `messages` of one that is behind its partition's end, and what the task fails with."""
        offset_of: Callable[[ck.Message], Any] = ck.Message.offset
        highest = max(map(offset_of, messages))
        if all(highest < self._ends.get(place, -1) for place in assigned):
            return None
        lasts = {0: messages[-1]}
        if len(assigned) > 1:
            # The last of each partition: to look at each message takes too long.
            places = zip(map(ck.Message.topic, messages), map(ck.Message.partition, messages))
            lasts = dict(enumerate(dict(zip(places, messages)).values()))
        lasts[-1] = next(message for message in messages if message.offset() == highest)
        for last in lasts.values():
            place, offset = _place(last), last.offset() or 0
            if offset >= self._end(consumer, place) and not self._is_there(consumer, place, offset):
                reason = f"a record says that it is at offset {offset}, and the partition ends at {self._ends[place]}"
                at = next(number for number, message in enumerate(messages) if message is last)
                return at, failure(place, None, reason)
        return None

    def _end(self, consumer: ck.Consumer, place: TopicPartition) -> int:
        _, end = consumer.get_watermark_offsets(ck.TopicPartition(*place), cached=True)
        # A topic that is made anew, or loses records, ends earlier than before.
        self._ends[place] = max(end, self._ends.get(place, -1))
        return self._ends[place]

    def _is_there(self, consumer: ck.Consumer, place: TopicPartition, offset: int) -> bool:
        """Whether brokers know of the offset, or don't say so."""
        answers = 0
        for number in range(_ASKS):
            if number:
                time.sleep(_PAUSE_S)
            try:
                _, end = consumer.get_watermark_offsets(ck.TopicPartition(*place), timeout=_ANSWER_S)
            except ck.KafkaException:
                continue
            answers += 1
            self._ends[place] = max(end, self._ends[place])
            if offset < self._ends[place]:
                return True
        return not answers


class _Stand(NamedTuple):
    """The state of a partition's fetches, and the broker's answers so far."""

    at_s: float
    offset: int
    records: int
    fetches: int


class Stalls:
    """The partitions in which fetches lead to nothing, by the statistics of one client."""

    def __init__(self) -> None:
        self._stands: dict[TopicPartition, _Stand] = {}

    def look(self, statistics: str, paused: Collection[TopicPartition]) -> ConnectError | None:
        """Return the failure if there is a partition whose broker answers, and has more, of which nothing can be read."""
        stalled = self.stalled(statistics, paused)
        return None if stalled is None else stalled[1]

    def stalled(self, statistics: str, paused: Collection[TopicPartition]) -> tuple[TopicPartition, ConnectError] | None:
        """Return the same, with the partition."""
        figures = orjson.loads(statistics)
        fetches = {broker["nodeid"]: broker["req"].get("Fetch", 0) for broker in figures["brokers"].values()}
        now_s = figures["ts"] / 1e6
        before, self._stands = self._stands, {}
        for topic in figures["topics"].values():
            for number, partition in topic["partitions"].items():
                place = TopicPartition(topic["topic"], int(number))
                if place in paused or not _is_behind(partition):
                    continue
                stand = _Stand(now_s, partition["next_offset"], partition["rxmsgs"], fetches.get(partition["broker"], 0))
                first = before.get(place)
                if first is None or (first.offset, first.records) != (stand.offset, stand.records):
                    self._stands[place] = stand
                    continue
                self._stands[place] = first
                if now_s - first.at_s >= _LONGEST_S and stand.fetches - first.fetches >= _FEWEST_FETCHES:
                    self._stands.clear()
                    reason = f"its brokers have answered for {now_s - first.at_s:.0f} s, with a batch that makes no sense"
                    return place, failure(place, stand.offset, reason)
        return None


def _is_behind(partition: Mapping[str, Any]) -> bool:
    """Whether there is more than was fetched, and nothing waits to be taken."""
    reads = partition["fetch_state"] == "active" and not partition["fetchq_cnt"]
    return reads and 0 <= partition["next_offset"] < min(partition["ls_offset"], partition["hi_offset"])
