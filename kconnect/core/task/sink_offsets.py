"""
Which offsets a sink task may commit: those below which every record was put, as far as the task agrees.

Held by `sink_pump.py`. Offsets refer to the records' original places, whatever the transforms make of the records. So a record
that was dropped counts too. An offset is always that of the next record to read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kconnect.api.record import OffsetAndMetadata, TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata]


class SinkOffsets:
    def __init__(self) -> None:
        self._delivered: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        """What is committed, or where reading began: where to go back to."""

    def read(self, messages: Sequence[Any], assigned: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return where each partition goes on after `messages`, which are in order within a partition."""
        if not messages:
            return {}
        if len(assigned) == 1:
            # By far the quickest, and the most frequent.
            last = messages[-1]
            ends = {TopicPartition(last.topic(), last.partition()): last.offset() + 1}
        else:
            ends = self._ends(messages, {place.topic for place in assigned})
        if not ends.keys() <= self._committed.keys():
            for message in messages:
                self._committed.setdefault(TopicPartition(message.topic(), message.partition()), message.offset())
        return ends

    @staticmethod
    def _ends(messages: Sequence[Any], topics: Collection[str]) -> dict[TopicPartition, int]:
        if len(topics) > 1:
            offsets = {(message.topic(), message.partition()): message.offset() for message in messages}
            return {TopicPartition(*place): offset + 1 for place, offset in offsets.items()}
        # The last of each partition, without asking each message for all three.
        backwards = [message.partition() for message in reversed(messages)]
        lasts = [messages[-1 - backwards.index(partition)] for partition in sorted(set(backwards))]
        return {TopicPartition(last.topic(), last.partition()): last.offset() + 1 for last in lasts}

    def delivered(self, upto: Mapping[TopicPartition, int]) -> None:
        """The task has taken all records below these offsets."""
        self._delivered.update(upto)

    def rewound(self, place: TopicPartition, offset: int) -> None:
        """The task asked for `offset` to come next; what it had beyond that counts as not delivered."""
        self._delivered[place] = offset
        self._committed[place] = offset

    def closed(self, places: Iterable[TopicPartition]) -> None:
        for place in places:
            self._delivered.pop(place, None)
            self._committed.pop(place, None)

    def current(self, places: Iterable[TopicPartition]) -> Offsets:
        """Return the offsets to propose to the task's `pre_commit`, for those of `places` whose records it has had."""
        return {place: OffsetAndMetadata(self._delivered[place]) for place in places if place in self._delivered}

    def to_commit(self, allowed: Mapping[TopicPartition, OffsetAndMetadata]) -> tuple[Offsets, list[TopicPartition]]:
        """
        Return the offsets of the task's answer to commit, and the partitions whose offsets are refused: they are not read here,
        or the offset is beyond what was delivered. Offsets that are committed already are left out.
        """
        offsets: Offsets = {}
        refused: list[TopicPartition] = []
        for place, offset in allowed.items():
            delivered = self._delivered.get(place)
            if delivered is None or offset.offset > delivered:
                refused.append(TopicPartition(*place))
            elif offset.offset != self._committed.get(place) or offset.metadata:
                offsets[TopicPartition(*place)] = offset
        return offsets, refused

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for place, position in offsets.items():
            # The partition may have been taken away while the commit was under way.
            if place in self._delivered:
                self._committed[place] = position.offset

    def open(self, read: Mapping[TopicPartition, int]) -> int:
        """Return how many offsets were read, up to those of `read` or of what was delivered, and are not committed."""
        ends = {**self._delivered, **read}
        return sum(max(0, end - self._committed.get(place, end)) for place, end in ends.items())

    def go_back(self) -> dict[TopicPartition, int]:
        """The task could not flush: where to read again from. What was delivered since counts as not delivered."""
        back = {p: self._committed[p] for p in self._delivered if p in self._committed}
        self._delivered.update(back)
        return back
