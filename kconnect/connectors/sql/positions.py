"""
Positions of the SQL source: how far a table was read, by number, by time or by both, and the offsets that say so.

The offsets are those of the JDBC source, so that a connector carries on where that one was. Used by `reader.py`, and by
`source.py` for offsets that somebody alters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import ConnectError

NUMBER, MILLISECONDS, NANOSECONDS = "incrementing", "timestamp", "timestamp_nanos"
QUERY: Mapping[str, Any] = {"query": "query"}
"""The source partition of a query."""
_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Position:
    """`moment` is in nanoseconds since 1970."""

    number: int | None = None
    moment: int | None = None

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Position:
        """ConnectError if it is no offset of this connector."""
        if not offset or offset.keys() - {NUMBER, MILLISECONDS, NANOSECONDS} or not all(map(_is_long, offset.values())):
            raise ConnectError(
                f"An offset of this connector has numbers as {NUMBER}, {MILLISECONDS} (ms since 1970) and {NANOSECONDS} (the "
                f"nanoseconds of that second), but this one is {dict(offset)}"
            )
        ms, nanos = offset.get(MILLISECONDS), offset.get(NANOSECONDS)
        if ms is None:
            return cls(offset.get(NUMBER))
        return cls(offset.get(NUMBER), ms * 1_000_000 if nanos is None else ms // 1000 * _SECOND + nanos)


def offsets(numbers: Sequence[int] = (), moments: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Return the offsets of rows, by their numbers, their times in nanoseconds, or both."""
    if not moments:
        return [{NUMBER: number} for number in numbers]
    times = [{MILLISECONDS: moment // 1_000_000, NANOSECONDS: moment % _SECOND} for moment in moments]
    return [{NUMBER: number, **time} for number, time in zip(numbers, times)] if numbers else times


def partition_of(table: str) -> dict[str, Any]:
    """Return the source partition of a table, by its name with its schema."""
    return {"protocol": "1", "table": table}


def is_partition(partition: Mapping[str, Any]) -> bool:
    return partition == QUERY or (partition.keys() <= {"protocol", "table"} and isinstance(partition.get("table"), str))


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
