"""
Groups: records of a put that are alike, as columns, whether they came as such or one by one.

For sinks that write columns: those for SQL, object stores, OpenSearch and Iceberg. Read next: `slices.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import Column, SinkBatch, SinkRecord, Struct
from kconnect.data.column import Unusual


class Origins:
    """The origins of columns. Records themselves are made only if somebody asks for one: a bad one, mostly."""

    def __init__(self, batch: SinkBatch | Sequence[SinkRecord]) -> None:
        self._batch = batch
        self._records: Sequence[SinkRecord] | None = None

    def __len__(self) -> int:
        return len(self._batch)

    def every(self, name: str) -> Sequence[Any]:
        """Each record's `original_topic`, `original_partition` or `original_offset`."""
        if isinstance(self._batch, Sequence):
            return [getattr(record, name) for record in self._batch]
        return self._batch.every(name)

    @property
    def records(self) -> Sequence[SinkRecord]:
        if self._records is None:
            self._records = self._batch if isinstance(self._batch, Sequence) else self._batch.records()
        return self._records


@dataclass(frozen=True)
class Group:
    """Records of one topic that are alike."""

    topic: str
    key: Column
    value: Column
    origins: Origins


def groups_of_batch(batch: SinkBatch) -> list[Group]:
    """Return a batch as one group; or the groups of its records, if keys or values without a schema are not alike."""
    if _is_even(batch.key) and _is_even(batch.value):
        return [Group(batch.topic, batch.key, batch.value, Origins(batch))]
    return groups_of(batch.records())


def _is_even(column: Column) -> bool:
    """Whether all values are maps or structs of the same names, or none is one, and whether all are null or none is."""
    try:
        column.fields()
    except Unusual:
        kinds = set(map(type, column.values))
        return kinds == {type(None)} or not any(issubclass(kind, dict | Struct | None) for kind in kinds)
    return True


def groups_of(records: Sequence[SinkRecord]) -> list[Group]:
    """Records that come one after the other and are alike, together."""
    groups: list[Group] = []
    for (topic, *_), group in itertools.groupby(records, key=_likeness):
        some = list(group)
        key = Column(some[0].key_schema, [record.key for record in some])
        value = Column(some[0].value_schema, [record.value for record in some])
        groups.append(Group(topic, key, value, Origins(some)))
    return groups


def _likeness(record: SinkRecord) -> tuple[Any, ...]:
    key, value = record.key, record.value
    return (
        record.topic,
        id(record.key_schema),
        id(record.value_schema),
        # Maps are alike if they have the same names.
        tuple(key) if isinstance(key, dict) else key is None,
        tuple(value) if isinstance(value, dict) else value is None,
    )
