"""The predicate HasHeaderKey: whether a record has a header of one name (KIP-585). Called by the task chain."""

from __future__ import annotations

from collections.abc import Mapping

from kconnect.api import (
    ConfigDef,
    ConfigKey,
    Importance,
    NonEmptyString,
    Predicate,
    RecordBatch,
    SinkRecord,
    SourceRecord,
    Type,
)


class HasHeaderKey(Predicate):
    CONFIG = ConfigDef(
        ConfigKey("name", Type.STRING, importance=Importance.MEDIUM, doc="The header's name.", validator=NonEmptyString())
    )

    def config(self) -> ConfigDef:
        return self.CONFIG

    def configure(self, configs: Mapping[str, str]) -> None:
        self._name = self.CONFIG.parse(configs)["name"]

    def test(self, record: SourceRecord | SinkRecord) -> bool:
        return any(header.key == self._name for header in record.headers)

    def test_batch(self, batch: RecordBatch) -> bool | None:
        return None if any(batch.every("headers")) else False
