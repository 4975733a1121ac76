"""
Records that are alike, as columns: what transforms and predicates get that treat many records at once.

A plugin need not know of it: without a batch form, its `apply` or `test` is called for each record. Read next:
`transformation.py`, `predicate.py`; `data/column.py` for a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from kconnect.data.column import Column

B = TypeVar("B", bound="RecordBatch")


class RecordBatch(Protocol):
    """Ten records or more, whose keys have one schema, or none, and so have their values, none of which is missing."""

    @property
    def topic(self) -> str | None:
        """The topic of all records; None if they differ."""
        ...

    @property
    def key(self) -> Column: ...

    @property
    def value(self) -> Column: ...

    def __len__(self) -> int: ...

    def every(self, name: str) -> Sequence[object]:
        """Return each record's `topic`, `partition`, `timestamp` or `headers`, or, in a sink's chain, its `offset`."""
        ...

    def replace(self: B, key: Column | None = None, value: Column | None = None, topic: str | None = None) -> B:
        """Return a batch of the same records with some of this replaced. A column must have as many values."""
        ...
