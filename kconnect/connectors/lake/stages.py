"""A stage: files with rows of some partitions of Kafka, for a table that has the offsets before them. See `pending.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kconnect.api import TopicPartition


class StaleError(Exception):
    """An error that somebody else has committed rows of these partitions, or has changed the table that they were made for."""


@dataclass(frozen=True)
class Stage:
    """`snapshot` is the one that would have been made, and `manifests` the file that lists its manifests."""

    snapshot: int
    manifests: str
    begins: dict[TopicPartition, int]
    ends: dict[TopicPartition, int]


def is_committed(stage: Stage, there: Mapping[TopicPartition, int]) -> bool | None:
    """Whether its rows are in the table, by the table's offsets; None if they are not, and the stage can't be committed."""
    if all(there.get(place) == begin for place, begin in stage.begins.items()):
        return False
    return True if all(there.get(place, -1) >= end for place, end in stage.ends.items()) else None
