"""
Which source offsets may be stored: the newest of each source partition whose records were handed to the producer.

Held by `delivery.py`. Both of its ways call `add` once a batch, or their part of it, is handed over. They make sure that Kafka
has it, store what `newest` returns, and then call `stored`. A record that a transform dropped counts too: it need not come
again.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import orjson

from kconnect.api.record import SourceRecord
from kconnect.errors import DataError

_PARTITION = attrgetter("source_partition")

Pair = tuple[dict[str, Any], dict[str, Any] | None]


class SourceOffsets:
    def __init__(self) -> None:
        self._newest: dict[bytes, SourceRecord] = {}

    def __len__(self) -> int:
        return len(self._newest)

    def add(self, records: Sequence[SourceRecord]) -> None:
        """Take note of a batch that was handed over entirely. Records without a source partition leave no trace."""
        if not records:
            return
        partitions = list(map(_PARTITION, records))
        # A key a record would cost as much as its conversion, and mostly a batch is of one partition.
        if partitions.count(partitions[0]) == len(partitions):
            if partitions[0] is not None:
                self._newest[_key(partitions[0])] = records[-1]
            return
        # Identities hold as long as the batch does; tasks often share one dict among their records.
        keys: dict[int, bytes] = {}
        for partition, record in zip(partitions, records):
            if partition is None:
                continue
            key = keys.get(id(partition))
            if key is None:
                key = keys[id(partition)] = _key(partition)
            self._newest[key] = record

    def newest(self) -> list[Pair]:
        """What to store now, in a form that JSON can carry. DataError, naming the field, for what it can't."""
        pairs: list[Pair] = []
        for record in self._newest.values():
            offset = None if record.source_offset is None else _plain(record.source_offset)
            pairs.append((_plain(record.source_partition or {}), offset))
        return pairs

    def stored(self) -> None:
        """All that `newest` gave is stored."""
        self._newest.clear()


def _key(partition: Mapping[str, Any]) -> bytes:
    return orjson.dumps(partition, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The rules, texts and base64 are Connect's (its `OffsetUtils` and JsonConverter)."""
    if not isinstance(fields, Mapping):
        raise DataError("Offsets must be specified as a Map")
    plain: dict[str, Any] = {}
    for name, value in fields.items():
        if not isinstance(name, str):
            raise DataError("Offsets may only use String keys")
        if isinstance(value, bytes | bytearray | memoryview):
            value = base64.b64encode(value).decode()
        elif value is not None and not isinstance(value, bool | int | float | str):
            raise DataError(
                f"Offsets may only contain primitive types as values, but field {name} contains {type(value).__name__}"
            )
        plain[name] = value
    return plain
