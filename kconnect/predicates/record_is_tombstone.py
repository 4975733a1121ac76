"""The predicate RecordIsTombstone: whether a record's value is null (KIP-585). Called by the task chain."""

from __future__ import annotations

from collections.abc import Mapping

from kconnect.api import ConfigDef, Predicate, RecordBatch, SinkRecord, SourceRecord


class RecordIsTombstone(Predicate):
    def config(self) -> ConfigDef:
        return ConfigDef()

    def configure(self, configs: Mapping[str, str]) -> None:
        pass

    def test(self, record: SourceRecord | SinkRecord) -> bool:
        return record.value is None

    def test_batch(self, batch: RecordBatch) -> bool | None:
        return None if batch.value.has_nulls else False
