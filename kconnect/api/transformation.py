"""
Single message transforms: they change, route or drop one record at a time. Plugin authors implement them.

One instance serves one task, and is called from the task's thread. Read next: `predicate.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from kconnect.api.batch import RecordBatch
from kconnect.api.config import ConfigDef
from kconnect.api.record import SinkRecord, SourceRecord

R = TypeVar("R", SourceRecord, SinkRecord)


class Transformation(ABC, Generic[R]):
    owns_records: bool = False
    """
    The framework sets it to True if nobody else holds the records that it passes in. Then `apply` may change a record, instead
    of copying it with `new_record`, but only as the last thing that it does. The record's key, value and headers may still
    belong to somebody else.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once with the transform's own settings, without their prefix. Raise ConfigError if they can't be used."""

    @abstractmethod
    def apply(self, record: R) -> R | None:
        """The record to continue with, made by `record.new_record(...)`; None drops the record."""

    def apply_all(self, records: Sequence[R]) -> Sequence[R | None]:
        """
        Like `apply`, for many records at once, with one result for each, in their order.

        Implement it if the records can share work; the framework then calls it. If it raises an error, it must not have changed
        anything: the framework then calls `apply` for each record, so that a bad record affects no other.
        """
        return [self.apply(record) for record in records]

    def apply_batch(self, batch: RecordBatch) -> RecordBatch | None:
        """
        Like `apply`, for records that are alike, as columns: a batch made by `batch.replace(...)`, with all its records; None
        for one that it does not take.

        Implement it if work on columns is quicker than on records. Most batches of a busy topic come like this; for the others,
        and after None or an error, the framework calls `apply_all` or `apply`. It must not have changed anything then.
        """
        return None

    @abstractmethod
    def config(self) -> ConfigDef: ...

    def version(self) -> str:
        return "undefined"

    def close(self) -> None:
        """Release what `configure` acquired."""
