"""
Slices: the records of a group that are of one partition of Kafka, as columns.

For sinks that count offsets by partition. Used by `objects/task.py` and `lake/task.py`. Read next: `groups.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconnect.api import Column, SinkRecord, TopicPartition
from kconnect.connectors.common import place_of
from kconnect.connectors.groups import Group


class Slice:
    """Records of one partition of Kafka that are alike: of `topic` as the transforms have left it."""

    def __init__(self, topic: str, value: Column, offsets: Sequence[int], timestamps: Sequence[int | None]) -> None:
        self.topic, self.value, self.offsets, self.timestamps = topic, value, offsets, timestamps

    def __len__(self) -> int:
        return len(self.offsets)

    def only(self, places: Sequence[int]) -> Slice:
        offsets, timestamps = [self.offsets[at] for at in places], [self.timestamps[at] for at in places]
        return Slice(self.topic, _only(self.value, places), offsets, timestamps)

    def cut(self, begin: int, end: int) -> Slice:
        return self if (begin, end) == (0, len(self)) else self.only(range(begin, end))


def _only(value: Column, places: Sequence[int]) -> Column:
    if value.schema is None or not value.schema.fields:
        every = value.values
        return Column(value.schema, [every[at] for at in places])
    names, columns = value.fields()
    return Column.by_field(value.schema, names, [[column[at] for at in places] for column in columns], len(places))


def slices_of(group: Group) -> list[tuple[TopicPartition, Slice]]:
    """Divide a group by partitions of Kafka, each in the order of offsets."""
    origins = group.origins
    topics, partitions = origins.every("original_topic"), origins.every("original_partition")
    offsets, timestamps = origins.every("original_offset"), origins.every("timestamp")
    whole = Slice(group.topic, group.value, offsets, timestamps)
    if partitions.count(partitions[0]) == len(partitions) and topics.count(topics[0]) == len(topics):
        return [(TopicPartition(topics[0], partitions[0]), whole)]
    places: dict[tuple[str, int], list[int]] = {}
    for at, place in enumerate(zip(topics, partitions)):
        places.setdefault(place, []).append(at)
    return [(TopicPartition(*place), whole.only(every)) for place, every in places.items()]


def record_at(group: Group, place: TopicPartition, offset: int) -> SinkRecord:
    return next(record for record in group.origins.records if place_of(record) == place and record.original_offset == offset)
