"""
Narrowing: how the records are found because of which a table refuses a commit.

They come again, half as many in a commit, until one that is alone is refused: that is a bad record, and the others get into the
table. With each commit that is made there may be twice as many. Called by `task.py`. Read next: `pending.py`.
"""

from __future__ import annotations

from kconnect.api import TopicPartition
from kconnect.connectors.lake.pending import Pending, Span
from kconnect.connectors.slices import Slice


class Narrowing:
    """
    One table's, from its first commit that was refused. `waiting` are the offsets that were in that, from the first of each
    partition to behind the last.
    """

    def __init__(self, waiting: dict[TopicPartition, Span]) -> None:
        self._most = self._limit = 2 * _count(waiting)
        """It is how many records may be in a commit, by the numbers of their offsets."""
        self._bad: dict[tuple[TopicPartition, int], str] = {}
        """Records that were refused alone, and why."""

    @property
    def is_over(self) -> bool:
        return self._limit >= self._most and not self._bad

    def refuse(self, waiting: dict[TopicPartition, Span], reason: str) -> int:
        """Note that a commit of these offsets was refused; return how many they are."""
        count = _count(waiting)
        self._limit = max(1, min(self._limit, count) // 2)
        if count == 1:
            ((place, (offset, _)),) = waiting.items()
            self._bad[place, offset] = reason
        return count

    def succeed(self) -> None:
        """Note that a commit was made."""
        self._limit = min(self._most, 2 * self._limit)

    def take(self, pending: Pending, name: str, place: TopicPartition, some: Slice) -> tuple[Slice, str | None]:
        """
        Return the records that may be in the next commit, and why they are bad, if they are. Of the others nothing is kept, and
        they are read again.
        """
        room = max(0, self._limit - _count(pending.waiting(name)))
        bad = next((at for at, offset in enumerate(some.offsets) if (place, offset) in self._bad), len(some))
        # One that is bad is passed over by a commit of its own, so that it is told once.
        count = min(room, bad or 1, len(some))
        if count < len(some):
            pending.hold(name, place, some.offsets[count])
        reason = None if bad or not count else self._bad.pop((place, some.offsets[0]))
        return some.cut(0, count), reason


def _count(waiting: dict[TopicPartition, Span]) -> int:
    return sum(end - first for first, end in waiting.values())
