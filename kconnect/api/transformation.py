"""
Single message transforms: change, route or drop one record at a time. Implemented by plugin authors.

One instance serves one task, from its thread. Read next: `predicate.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from kconnect.api.config import ConfigDef
from kconnect.api.record import SinkRecord, SourceRecord

R = TypeVar("R", SourceRecord, SinkRecord)


class Transformation(ABC, Generic[R]):
    owns_records: bool = False
    """
    The framework sets it where nobody else holds the records that it gives: then they may be changed, instead of copied with
    `new_record`, as the last thing that `apply` does. Their keys, values and headers may belong to somebody else all the same.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once with the transform's own settings, without their prefix. ConfigError if they can't be used."""

    @abstractmethod
    def apply(self, record: R) -> R | None:
        """The record to go on with, made by `record.new_record(...)`; None drops it."""

    def apply_all(self, records: Sequence[R]) -> Sequence[R | None]:
        """
        The same for many records at once, with one result for each, in their order. Worth implementing where they can share
        work; the framework calls it then. If it raises, it must have changed nothing: `apply` is called for each of them
        instead, so that a bad record costs only itself.
        """
        return [self.apply(record) for record in records]

    @abstractmethod
    def config(self) -> ConfigDef: ...

    def version(self) -> str:
        return "undefined"

    def close(self) -> None:
        """Give up what `configure` took."""
