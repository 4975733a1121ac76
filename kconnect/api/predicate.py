"""
Predicates: they decide whether a transform applies to a record (KIP-585). Plugin authors implement them.

One instance serves one task, and is called from the task's thread. Several transforms may use it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from kconnect.api.batch import RecordBatch
from kconnect.api.config import ConfigDef
from kconnect.api.record import SinkRecord, SourceRecord


class Predicate(ABC):
    of_topic: bool = False
    """
    True if `test` looks only at the record's topic. Then it is called once for all records of a topic in a batch.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once with the predicate's own settings, without their prefix. Raise ConfigError if they can't be used."""

    @abstractmethod
    def test(self, record: SourceRecord | SinkRecord) -> bool:
        """Whether the predicate holds for this record, as it is at this point of the chain."""

    def test_batch(self, batch: RecordBatch) -> bool | None:
        """
        The outcome of `test` for all records of a batch; None if it may differ, or is not known: `test` is called then.

        Implement it if one look tells for many records. An error counts as None.
        """
        return None

    @abstractmethod
    def config(self) -> ConfigDef: ...

    def version(self) -> str:
        return "undefined"

    def close(self) -> None:
        """Release what `configure` acquired."""
