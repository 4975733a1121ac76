"""
Predicates: decide whether a transform applies to a record (KIP-585). Implemented by plugin authors.

One instance serves one task, from its thread, and may guard several transforms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from kconnect.api.config import ConfigDef
from kconnect.api.record import SinkRecord, SourceRecord


class Predicate(ABC):
    of_topic: bool = False
    """
    True if `test` looks at nothing but the record's topic. Then it is asked once for all records of a topic in a batch.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once with the predicate's own settings, without their prefix. ConfigError if they can't be used."""

    @abstractmethod
    def test(self, record: SourceRecord | SinkRecord) -> bool:
        """Whether it holds for this record, as it is at this place of the chain."""

    @abstractmethod
    def config(self) -> ConfigDef: ...

    def version(self) -> str:
        return "undefined"

    def close(self) -> None:
        """Give up what `configure` took."""
