"""
Which source offsets may be stored: the newest of each source partition whose records were handed to the producer.

Held by `delivery.py`. Both of its ways call `add` once a batch, or their part of it, is handed over, or keep its `marks` until
then. They make sure that Kafka has it, store what `newest` returns, and then call `stored`. A record that a transform dropped
counts too: it need not come again. What is kept are copies: a task may go on to change the dict that it gave.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import orjson

from kconnect.errors import DataError

_PARTITION = attrgetter("source_partition")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1

Pair = tuple[dict[str, Any], dict[str, Any] | None]


class Mark(NamedTuple):
    """The position in a source partition where a task may go on, as of when the record was handed over."""

    source_partition: Any
    source_offset: Any


class SourceOffsets:
    def __init__(self) -> None:
        self._newest: dict[bytes, Mark] = {}

    def __len__(self) -> int:
        return len(self._newest)

    def add(self, records: Sequence[Any]) -> None:
        """Take note of a batch that was handed over entirely: records, or marks. Those without a partition leave no trace."""
        self._newest.update(_newest_of(records))

    def newest(self) -> list[Pair]:
        """
        Return the offsets to store now, in a form that JSON can carry. Raise DataError, naming the field, for one that it
        can't.
        """
        pairs: list[Pair] = []
        for record in self._newest.values():
            offset = None if record.source_offset is None else _plain(record.source_offset)
            pairs.append((_plain(record.source_partition), offset))
        return pairs

    def stored(self) -> None:
        """All that `newest` gave is stored."""
        self._newest.clear()


def marks(records: Sequence[Any]) -> list[Mark]:
    """Return the newest offset of each source partition of these records, as it is now."""
    return list(_newest_of(records).values())


def beginning(records: Sequence[Any], failed: Any) -> int:
    """
    Return how many of the records before one that has failed may be counted: not those that have its source partition and
    offset, nor what is behind them. A task that went on behind that offset would pass over the one that failed.
    """
    partition, offset = failed.source_partition, failed.source_offset
    if partition is None or offset is None:
        return len(records)
    for place, record in enumerate(records):
        try:
            if record.source_offset == offset and record.source_partition == partition:
                return place
        except Exception:  # noqa: BLE001 - values of a plugin's own, which it may not be possible to compare
            continue
    return len(records)


def _newest_of(records: Sequence[Any]) -> dict[bytes, Mark]:
    if not records:
        return {}
    partitions = list(map(_PARTITION, records))
    # A key a record would cost as much as its conversion, and mostly a batch is of one partition.
    if partitions.count(partitions[0]) == len(partitions):
        return {} if partitions[0] is None else {_key(partitions[0]): _mark(records[-1])}
    # Identities hold as long as the batch does; tasks often share one dict among their records.
    keys: dict[int, bytes] = {}
    newest: dict[bytes, Any] = {}
    for partition, record in zip(partitions, records):
        if partition is None:
            continue
        key = keys.get(id(partition))
        if key is None:
            key = keys[id(partition)] = _key(partition)
        newest[key] = record
    return {key: _mark(record) for key, record in newest.items()}


def _mark(record: Any) -> Mark:
    return Mark(_copy(record.source_partition), _copy(record.source_offset))


def _copy(fields: Any) -> Any:
    return dict(fields) if isinstance(fields, Mapping) else fields


def _key(partition: Any) -> bytes:
    try:
        return orjson.dumps(partition, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except orjson.JSONEncodeError:
        # It can't be stored, which `newest` says.
        return repr(partition).encode("utf-8", "backslashreplace")


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
        plain[name] = _in_json(name, value)
    return plain


def _in_json(name: str, value: Any) -> Any:
    """Return a value as JSON can carry it. DataError if it can't."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
        raise DataError(f"Offsets may only contain integers of 64 bits, but field {name} contains a larger one")
    try:
        f"{name}{value}".encode()
    except UnicodeEncodeError:
        raise DataError(f"Offsets may only contain texts in UTF-8, but field {name!r} contains half a character") from None
    return value
