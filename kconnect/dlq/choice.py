"""
Which letters are meant. A letter must match all that are given.

Of what a letter does not tell, because its connector writes no context headers, no filter is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from kconnect.dlq.letters import Letter, short


@dataclass(frozen=True)
class Choice:
    """`offset` is first and last place in the queue, both included; times are ms, `since` included and `until` not."""

    connector: str | None = None
    topic: str | None = None
    partition: int | None = None
    stage: str | None = None
    exception: str | None = None
    contains: str | None = None
    since: int | None = None
    until: int | None = None
    offset: tuple[int | None, int | None] = (None, None)
    queue_partition: int | None = None

    @property
    def everything(self) -> bool:
        return self == Choice()

    @property
    def by_place(self) -> bool:
        """Whether places in the queue alone decide, so that no letter has to be read for it."""
        return self == Choice(offset=self.offset, queue_partition=self.queue_partition)

    def bounds(self, low: int, high: int) -> tuple[int, int]:
        """Return what there is to read of a partition that holds `low` to `high` - 1: from where to before what."""
        first, last = self.offset
        return max(low, first or 0), high if last is None else min(high, last + 1)

    def takes(self, letter: Letter) -> bool:
        first, last = self.offset
        return (
            (first is None or letter.offset >= first)
            and (last is None or letter.offset <= last)
            and self.queue_partition in (None, letter.partition)
            and self.partition in (None, letter.original_partition)
            and _like(self.connector, letter.connector)
            and _like(self.topic, letter.topic)
            and _like(self.stage and self.stage.upper(), letter.stage)
            and self._by_exception(letter)
            and self._by_time(letter)
            and self._by_content(letter)
        )

    def _by_exception(self, letter: Letter) -> bool:
        if self.exception is None:
            return True
        cause = (letter.cause or "").partition(":")[0].strip()
        names = [name for name in (letter.exception, cause) if name]
        return any(_like(self.exception, name) or _like(self.exception, short(name)) for name in names)

    def _by_time(self, letter: Letter) -> bool:
        if self.since is None and self.until is None:
            return True
        at = letter.timestamp
        return at is not None and at >= (self.since or 0) and (self.until is None or at < self.until)

    def _by_content(self, letter: Letter) -> bool:
        if self.contains is None:
            return True
        text = self.contains.encode()
        parts = (letter.key, letter.value, (letter.message or "").encode(), (letter.cause or "").encode())
        return any(text in part for part in parts if part)


def _like(pattern: str | None, text: str | None) -> bool:
    return pattern is None or (text is not None and fnmatchcase(text, pattern))
