"""
Batches: the records of one step of a task, which exist as columns until somebody asks for the records.

Record by record, a chain of transforms spends most of its time on calls and on making records that the next step takes apart
again. So a batch whose records are alike goes through the converters and the built-in transforms as two columns, its keys and
its values (`data/column.py`), and a sink task that takes columns gets them as they are. What is not alike (schemas that differ,
a null, an error) goes record by record, from the same values: nothing here is ever changed in place.

`chain.py` makes `Messages`, `source_pump.py` and `steps.py` make `Records`. Read next: `steps.py`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kconnect.api.record import Header, SinkRecord, SourceRecord, TimestampType
from kconnect.data.column import Column, Unusual

B = TypeVar("B", bound="Batch")
T = TypeVar("T")

FEW = 10
"""Below this it is not worth to look whether records are alike."""

_RUN = 2 * FEW
"""How long runs must be on average, so that cutting pays."""

TIMESTAMP_TYPES = (TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)


class Batch(ABC):
    """`topic` is that of all records, None if they differ."""

    topic: str | None
    value: Column

    @property
    @abstractmethod
    def key(self) -> Column:
        """Unusual if the keys' schemas differ."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def every(self, name: str) -> Sequence[Any]:
        """The records' `topic`, `partition`, `offset`, `timestamp` or `headers`."""

    @abstractmethod
    def sample(self) -> Any:
        """Return a record of the batch. Only its topic needs to be as it is now."""

    @abstractmethod
    def records(self) -> list[Any]:
        """The records as they are now."""

    @abstractmethod
    def _with_key(self, key: Column) -> None: ...

    def apart(self: B) -> B:
        """Return a batch of the same records whose columns are its own, for a plugin that may change them."""
        return self.replace(self.key.copy(), self.value.copy())

    def replace(self: B, key: Column | None = None, value: Column | None = None, topic: str | None = None) -> B:
        """A batch of the same records with some of this replaced."""
        batch = copy.copy(self)
        if key is not None:
            batch._with_key(key)
        if value is not None:
            batch.value = value
        if topic is not None:
            batch.topic = topic
        return batch


class Messages(Batch):
    """
    The records that a sink's chain has made of `messages`, which are of one topic. `headers` are those of each record; None if
    no record has any.
    """

    topic: str

    def __init__(
        self,
        messages: Sequence[Any],
        topic: str,
        key: Column,
        value: Column,
        headers: Sequence[tuple[Header, ...]] | None = None,
    ) -> None:
        self.messages, self.topic, self.value, self._headers = messages, topic, value, headers
        self._key, self._original_topic = key, topic

    @property
    def has_headers(self) -> bool:
        return self._headers is not None

    @property
    def key(self) -> Column:
        return self._key

    def _with_key(self, key: Column) -> None:
        self._key = key

    def __len__(self) -> int:
        return len(self.messages)

    def every(self, name: str) -> Sequence[Any]:
        if name == "topic":
            return [self.topic] * len(self)
        if name == "original_topic":
            return [self._original_topic] * len(self)
        if name in ("partition", "original_partition"):
            return [message.partition() for message in self.messages]
        if name in ("offset", "original_offset"):
            return [message.offset() for message in self.messages]
        if name == "timestamp":
            return [at if kind else None for kind, at in [message.timestamp() for message in self.messages]]
        return self._headers or [()] * len(self)

    def sample(self) -> SinkRecord:
        return Messages(self.messages[:1], self.topic, Column(None, (None,)), Column(None, (None,))).records()[0]

    def records(self) -> list[SinkRecord]:
        topic, original_topic, types, new = self.topic, self._original_topic, TIMESTAMP_TYPES, SinkRecord.__new__
        key_schema, schema = self._key.schema, self.value.schema
        records = []
        # What the constructor does, without the call: it would take as long as all the rest.
        for message, key, value in zip(self.messages, self._key.values, self.value.values):
            kind, timestamp = message.timestamp()
            record = new(SinkRecord)
            record.topic, record.original_topic = topic, original_topic
            record.partition = record.original_partition = message.partition()
            record.offset = record.original_offset = message.offset()
            record.key_schema, record.key = key_schema, key
            record.value_schema, record.value = schema, value
            record.timestamp = timestamp if kind else None
            record.timestamp_type = types[kind]
            record.headers = ()
            records.append(record)
        for record, headers in zip(records, self._headers or ()):
            record.headers = headers
        return records


class Records(Batch):
    """
    Records that are there already. With `owned` they are nobody else's, and `records` gives them changed; else it gives copies.
    None stands for one that was dropped: `records` has it, too, and all else is about the others.
    """

    def __init__(self, records: list[Any], present: list[Any], value: Column, owned: bool) -> None:
        self._all, self._present, self._owned = records, present, owned
        self.value = value
        self._key: Column | None = None
        self._key_changed = False
        topics = [record.topic for record in present]
        self.topic = topics[0] if topics.count(topics[0]) == len(topics) else None
        self._topic_before = self.topic

    @staticmethod
    def runs(records: Sequence[Any]) -> list[Sequence[Any]]:
        """Cut where `of` finds a difference, or a converter."""
        return runs(records, lambda record: (record.topic, id(record.value_schema), record.value is None, not record.headers))

    @classmethod
    def of(cls, records: Sequence[Any], owned: bool) -> Records | None:
        """Make a batch of records. Return None if their schemas differ, or if one has no value."""
        listed = list(records)
        present = [record for record in listed if record is not None] if None in listed else listed
        if len(present) < FEW:
            return None
        schema = _common([record.value_schema for record in present])
        column = Column(schema, [record.value for record in present])
        return None if column.has_nulls or schema is _DIFFERENT else cls(listed, present, column, owned)

    @property
    def key(self) -> Column:
        if self._key is None:
            schema = _common([record.key_schema for record in self._present])
            if schema is _DIFFERENT:
                raise Unusual
            self._key = Column(schema, [record.key for record in self._present])
        return self._key

    def _with_key(self, key: Column) -> None:
        self._key, self._key_changed = key, True

    def __len__(self) -> int:
        return len(self._present)

    def every(self, name: str) -> Sequence[Any]:
        if name == "topic" and self.topic is not None:
            return [self.topic] * len(self)
        return [getattr(record, name) for record in self._present]

    def sample(self) -> Any:
        record = self._present[0].new_record()
        if self.topic is not None:
            record.topic = self.topic
        return record

    def records(self) -> list[SourceRecord | SinkRecord | None]:
        present = self._present if self._owned else [record.copy() for record in self._present]
        schema = self.value.schema
        for record, value in zip(present, self.value.values):
            record.value_schema, record.value = schema, value
        if self._key_changed:
            schema = self.key.schema
            for record, value in zip(present, self.key.values):
                record.key_schema, record.key = schema, value
        if self.topic is not None and self.topic is not self._topic_before:
            for record in present:
                record.topic = self.topic
        if len(present) == len(self._all):
            return present
        rest = iter(present)
        return [None if record is None else next(rest) for record in self._all]


def runs(items: Sequence[T], kind: Callable[[T], Any]) -> list[Sequence[T]]:
    """`items` in their order, cut where their kind changes; in one piece if that would be too often."""
    if len(items) < _RUN:
        return [items]
    kinds = list(map(kind, items))
    ends = [at for at in range(1, len(items)) if kinds[at] != kinds[at - 1]]
    if not ends or len(ends) * _RUN > len(items):
        return [items]
    return [items[begin:end] for begin, end in zip([0, *ends], [*ends, len(items)])]


_DIFFERENT: Any = object()


def _common(schemas: list[Any]) -> Any:
    """The one schema, or none, that all of these are."""
    return schemas[0] if schemas.count(schemas[0]) == len(schemas) else _DIFFERENT
