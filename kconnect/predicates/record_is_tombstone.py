"""The predicate RecordIsTombstone: whether a record's value is null (KIP-585). Called by the task chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, Predicate, SinkRecord, SourceRecord


class RecordIsTombstone(Predicate):
    def config(self) -> ConfigDef:
        return ConfigDef()

    def configure(self, configs: Mapping[str, str]) -> None:
        pass

    def test(self, record: SourceRecord | SinkRecord) -> bool:
        return record.value is None

    def test_all(self, batch: Any) -> bool | None:
        """See `Step.test_all`."""
        return None if batch.value.has_nulls else False
