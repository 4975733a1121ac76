"""
Which letters of a queue have been replayed, so that none is replayed twice by mistake.

It is kept in Kafka, as committed offsets of the consumer group `kconnect-dlq-<queue>`: below the committed offset all is done,
and the offset's metadata names what is done beyond it, as `done:12-14,17`. Replays commit it in the transaction that has the
records (`sending.py`): both are there or neither. Brokers forget a group's offsets after `offsets.retention.minutes`, by
default the 7 days for which topics are kept by default, so that the letters are gone before; `cli/dlq/retention.py` warns where
they are kept longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kconnect.core.settings.sink import REPLAYS_GROUP
from kconnect.errors import ConflictError

_PREFIX = "done:"
_LONGEST = 4000
"""Brokers take `offset.metadata.max.bytes`, 4096 by default."""


def group_of(queue: str) -> str:
    return f"{REPLAYS_GROUP}{queue}"


@dataclass(frozen=True)
class Done:
    """
    The letters of one partition that are done: all below `end`, and the `ranges` beyond it, each with its first and last
    offset.
    """

    end: int = 0
    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def read(cls, offset: int, metadata: str | None, high: int) -> Done:
        """
        Read what is committed; `high` is the partition's end. A queue that was made anew under its old name has nothing done.

        ConflictError if someone else's commit stands there.
        """
        if offset < 0 or offset > high:
            return cls()
        text = metadata or ""
        if not text:
            return cls(offset)
        if not re.fullmatch(rf"{_PREFIX}\d+(-\d+)?(,\d+(-\d+)?)*", text):
            raise ConflictError(f"The metadata of the committed offset {offset}, {text[:40]!r}, was not written by kconnect")
        pairs = (part.partition("-") for part in text[len(_PREFIX) :].split(","))
        return cls(offset)._with((int(first), int(last or first)) for first, _, last in pairs)

    def __contains__(self, offset: int) -> bool:
        return offset < self.end or any(first <= offset <= last for first, last in self.ranges)

    def plus(self, spans: Iterable[tuple[int, int]], low: int) -> Done:
        """
        Return it with these letters done, too, each as `Letter.span` gives it. What is below `low`, the first offset that is
        left in the queue, is over as well.
        """
        return Done(max(self.end, low), self.ranges)._with(spans)

    @property
    def metadata(self) -> str:
        """ConflictError if it would be longer than brokers take."""
        if not self.ranges:
            return ""
        text = _PREFIX + ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.ranges)
        if len(text) > _LONGEST:
            raise ConflictError(
                "These letters are too scattered to keep track of which ones have been replayed. Replay those between them as "
                "well, or fewer at once (--limit), from the beginning of the queue"
            )
        return text

    def _with(self, more: Iterable[tuple[int, int]]) -> Done:
        end = self.end
        ranges: list[tuple[int, int]] = []
        for first, last in sorted([*self.ranges, *more]):
            if first <= end:
                end = max(end, last + 1)
            elif ranges and first <= ranges[-1][1] + 1:
                ranges[-1] = (ranges[-1][0], max(ranges[-1][1], last))
            else:
                ranges.append((first, last))
        return Done(end, tuple(ranges))


def includes(replays: Mapping[int, Done], partition: int, offset: int) -> bool:
    """Whether a letter has been replayed; `replays` by partition, as `Queue.replayed` gives it."""
    return offset in replays.get(partition, Done())
