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
        for connector, known in self._stored.items():
            self._unsaid.update({(connector, each): known[each] for each in known if known[each].offset is not None})

    def unsaid(self) -> list[Entry]:
        """The records that have to be written for the topic to say all that is known here."""
        return [records.source_offset(known.key, known.offset) for known in self._unsaid.values()]

    def entries(self) -> list[Entry]:
        """All that is known, as records."""
        return [records.source_offset(each.key, each.offset) for known in self._stored.values() for each in known.values()]

    def apply(self, record: LogRecord) -> SourceOffset | Broken:
        decoded = records.decode_offset(record)
        if isinstance(decoded, SourceOffset):
            same = identity(decoded.partition)
            self._stored.setdefault(decoded.connector, {})[same] = decoded
            self._unsaid.pop((decoded.connector, same), None)
        return decoded

    def offset(self, connector: str, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        known = self._stored.get(connector, {}).get(identity(partition))
        return None if known is None or known.offset is None else dict(known.offset)

    def known_key(self, connector: str, partition: Mapping[str, Any] | None) -> bytes | None:
        """The key bytes under which something is, or was, stored for this partition."""
        known = self._stored.get(connector, {}).get(identity(partition))
        return None if known is None else known.key

    def of(self, connector: str) -> list[SourceOffset]:
        """All offsets of a connector that are not deleted, in a stable order. A null partition is not listed."""
        known = self._stored.get(connector, {})
        return [
            known[identity]
            for identity in sorted(known)
            if known[identity].offset is not None and known[identity].partition is not None
        ]

    def of_both(self, connector: str, own: OffsetState) -> list[SourceOffset]:
        """
        Return the offsets of a connector with a topic of its own: that topic counts first, then this one. A deleted offset is
        left out, for the record that says so goes with time.
        """
        found = {identity(each.partition): each for state in (self, own) for each in state.of(connector)}
        return [found[identity] for identity in sorted(found)]


KnownKey = Callable[[str, "Mapping[str, Any] | None"], "bytes | None"]


def entries(connector: str, offsets: Iterable[tuple[Any, Any]], *topics: KnownKey) -> list[Entry]:
    """
    The records that store (partition, offset) pairs, to the very keys that are there already: `topics` are the `known_key` of
    each topic to look in, and the first that has one counts.
    """
    found = []
    for partition, offset in offsets:
        known = (known_key(connector, partition) for known_key in topics)
        key = next((key for key in known if key is not None), None) or records.offset_key(connector, partition)
        found.append(records.source_offset(key, offset))
    return found


def identity(partition: Any) -> bytes:
    """Equal for partitions that say the same, in whatever order."""
    return orjson.dumps(partition, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
