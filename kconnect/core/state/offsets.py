"""
The fold of the offset topic: the source offsets of every connector.

Held by the herder (for `GET …/offsets`) and by each task host (for `SourceTaskContext`); a connector's own offset topic has a
fold of its own. Partitions are looked up by their content, not by their bytes. Java writes the fields of a partition in the
order of its map, and an update must use exactly the same bytes as key. Read next: `records.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from kconnect.core.state import records
from kconnect.core.state.records import Broken, Entry, LogRecord, SourceOffset


class OffsetState:
    def __init__(self) -> None:
        self._stored: dict[str, dict[bytes, SourceOffset]] = {}
        self._unsaid: dict[tuple[str, bytes], SourceOffset] = {}

    def begin_again(self) -> None:
        """Note that another topic is read from now on, which replaces the one before."""
        for connector, by_partition in self._stored.items():
            self._unsaid.update(
                {(connector, key): by_partition[key] for key in by_partition if by_partition[key].offset is not None}
            )

    def unsaid(self) -> list[Entry]:
        """The records that have to be written for the topic to say all that is known here."""
        return [records.source_offset(stored.key, stored.offset) for stored in self._unsaid.values()]

    def entries(self, connector: str) -> list[Entry]:
        """All that is known of a connector, as records."""
        return [records.source_offset(stored.key, stored.offset) for stored in self._stored.get(connector, {}).values()]

    def apply(self, record: LogRecord) -> SourceOffset | Broken:
        decoded = records.decode_offset(record)
        if isinstance(decoded, SourceOffset):
            same = identity(decoded.partition)
            self._stored.setdefault(decoded.connector, {})[same] = decoded
            self._unsaid.pop((decoded.connector, same), None)
        return decoded

    def offset(self, connector: str, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        stored = self._stored.get(connector, {}).get(identity(partition))
        return None if stored is None or stored.offset is None else dict(stored.offset)

    def known_key(self, connector: str, partition: Mapping[str, Any] | None) -> bytes | None:
        """The key bytes under which something is, or was, stored for this partition."""
        stored = self._stored.get(connector, {}).get(identity(partition))
        return None if stored is None else stored.key

    def of(self, connector: str) -> list[SourceOffset]:
        """All offsets of a connector that are not deleted, in a stable order. A null partition is not listed."""
        by_partition = self._stored.get(connector, {})
        return [
            by_partition[identity]
            for identity in sorted(by_partition)
            if by_partition[identity].offset is not None and by_partition[identity].partition is not None
        ]

    def of_both(self, connector: str, own: OffsetState) -> list[SourceOffset]:
        """
        Return the offsets of a connector with a topic of its own: that topic counts first, then this one. A deleted offset is
        left out, for the record that says so goes with time.
        """
        by_partition = {identity(stored.partition): stored for state in (self, own) for stored in state.of(connector)}
        return [by_partition[identity] for identity in sorted(by_partition)]


KnownKey = Callable[[str, "Mapping[str, Any] | None"], "bytes | None"]


def entries(connector: str, offsets: Iterable[tuple[Any, Any]], *topics: KnownKey) -> list[Entry]:
    """
    The records that store (partition, offset) pairs, to the very keys that are there already: `topics` are the `known_key` of
    each topic to look in, and the first that has one counts.
    """
    records_made = []
    for partition, offset in offsets:
        known_keys = (known_key(connector, partition) for known_key in topics)
        key = next((key for key in known_keys if key is not None), None) or records.offset_key(connector, partition)
        records_made.append(records.source_offset(key, offset))
    return records_made


def identity(partition: Any) -> bytes:
    """Equal for partitions that say the same, in whatever order."""
    return orjson.dumps(partition, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
