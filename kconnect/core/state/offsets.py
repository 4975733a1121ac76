"""
The fold of the offset topic: the source offsets of every connector.

Held by the herder (for `GET …/offsets`) and by each task host (for `SourceTaskContext`). Partitions are looked up by what
they say, not by their bytes: Java writes the fields of a partition in its map's order, and an update must go back to
exactly those bytes. Read next: `records.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from kconnect.core.state import records
from kconnect.core.state.records import Broken, LogRecord, SourceOffset


class OffsetState:
    def __init__(self) -> None:
        self._stored: dict[str, dict[bytes, SourceOffset]] = {}

    def apply(self, record: LogRecord) -> SourceOffset | Broken:
        decoded = records.decode_offset(record)
        if isinstance(decoded, SourceOffset):
            self._stored.setdefault(decoded.connector, {})[_identity(decoded.partition)] = decoded
        return decoded

    def offset(self, connector: str, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        known = self._stored.get(connector, {}).get(_identity(partition))
        return None if known is None or known.offset is None else dict(known.offset)

    def key(self, connector: str, partition: Mapping[str, Any] | None) -> bytes:
        """The key bytes under which this partition's offset is, or will be, stored."""
        known = self._stored.get(connector, {}).get(_identity(partition))
        return records.offset_key(connector, partition) if known is None else known.key

    def of(self, connector: str) -> list[SourceOffset]:
        """All offsets of a connector that are not deleted, in a stable order. A null partition is not listed."""
        known = self._stored.get(connector, {})
        return [
            known[identity]
            for identity in sorted(known)
            if known[identity].offset is not None and known[identity].partition is not None
        ]


def _identity(partition: Any) -> bytes:
    return orjson.dumps(partition, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
