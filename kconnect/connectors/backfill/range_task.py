"""
What the tasks of both databases share: one range after the other, at a rate, in batches that memory has room for, and the end.

Made by `task.py` and `mariadb/task.py`, which read. Read next: these.
"""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from kconnect.api import ConfigDef, ConnectError, OffsetOnly, SourceRecord
from kconnect.connectors import interrupts
from kconnect.connectors.backfill import settings
from kconnect.connectors.common import Polling
from kconnect.connectors.libraries import Informed
from kconnect.connectors.sql.connections import Connections

_PAUSE_S = 0.5
_LONG_WAIT_S = 1.0
_AT_ONCE_S = 5
"""Of so many seconds rows are read at once at most, by the rate."""
_CELL = 50
_LONG = 1 << 20
"""So many bytes a row of a table may have, until the first ones are there."""


_LENGTHY = (str, bytes, list)


def done_partition() -> dict[str, Any]:
    """Return the source partition that says that all ranges were read, and where the change stream begins."""
    return {"backfill": "done"}


class RangeTask(Informed, Polling):
    config_def: ClassVar[ConfigDef]
    """The settings of the connector."""
    _config: Mapping[str, Any]
    _ranges: list[tuple[Any, dict[str, Any]]]
    """The ranges that are left to read, each with the offset that it begins with."""
    every_range: Sequence[Any]
    """The ranges of all tasks."""
    is_first: bool
    """Whether this is the task that does what one does for all."""

    def __init__(self) -> None:
        super().__init__()
        self._connection: Any = None
        self._connections = Connections()
        self._average = _LONG
        self._next_at = 0.0
        self._done: dict[str, Any] | None = None

    def start(self, props: dict[str, str]) -> None:
        self._config = self.config_def.parse(props)
        self._done = json.loads(props[settings.DONE]) if settings.DONE in props else None
        if self._done is None:
            self.take_over(json.loads(props[settings.SNAPSHOT]), json.loads(props[settings.RANGES]))

    @abstractmethod
    def take_over(self, told: Mapping[str, Any], share: Mapping[str, Any]) -> None:
        """Note what the connector tells of the snapshot, and which share of the ranges is this task's, by `share`."""

    def share(self, every_range: Sequence[Any], share: Mapping[str, Any]) -> None:
        """Take this task's share of the ranges, but for those that were read."""
        self.every_range, self.is_first = every_range, share["place"] == 0
        parts = every_range[share["place"] :: share["of"]]
        stored = self.context.offsets.offsets([self.partition_of(part) for part in parts])
        self._ranges = [(part, self.beginning(offset or {})) for part, offset in zip(parts, stored) if not self.is_done(offset)]

    @abstractmethod
    def partition_of(self, part: Any) -> dict[str, Any]:
        """Return the source partition of a range."""

    @abstractmethod
    def is_done(self, offset: Mapping[str, Any] | None) -> bool:
        """Whether a range with this offset was read to its end."""

    def beginning(self, offset: Mapping[str, Any]) -> dict[str, Any]:
        """Return the offset that a range begins with, by the one that is stored."""
        return dict(offset)

    def begin_again(self) -> None:
        """Note that all rows of the range come, whichever of them have come before."""

    @abstractmethod
    def attempt(self, read: Callable[[], list[SourceRecord] | None]) -> list[SourceRecord] | None:
        """Return what `read` gives. Of the driver's errors it makes those of the framework."""

    @abstractmethod
    def read_some(self) -> list[SourceRecord] | None:
        """Return the next records of the first range, which leaves the list with its last one. The driver's errors."""

    @abstractmethod
    def rest(self) -> None:
        """Let go of what keeps others from altering a table."""

    @abstractmethod
    def keep(self) -> None:
        """See to what is held while there is nothing more to read."""

    def interrupt(self) -> None:
        interrupts.after_grace(self._connections.end)

    def pause(self) -> None:
        """Wait for a moment, or until the task is stopped."""
        self.stopped.wait(_PAUSE_S)

    def read(self) -> list[SourceRecord] | None:
        if self._done is not None:
            done, self._done = self._done, {}
            if done:
                return [OffsetOnly(done_partition(), done)]
        if self._done is not None or not self._ranges:
            self.keep()
            self.pause()
            return None
        return self.attempt(self._paced)

    def _paced(self) -> list[SourceRecord] | None:
        left_s = self._next_at - time.monotonic()
        if left_s > 0:
            if left_s > _LONG_WAIT_S:
                self.rest()
            self.stopped.wait(min(left_s, _PAUSE_S))
            return None
        began = time.monotonic()
        records = self.read_some()
        rate = self._config[settings.RATE]
        if rate:
            self._next_at = began + len(records or ()) / rate
        return records

    def count(self) -> int:
        """Return how many rows are to be read at once."""
        most: int = min(self._config[settings.ROWS], self._config[settings.BYTES] // self._average)
        if rate := self._config[settings.RATE]:
            most = min(most, rate * _AT_ONCE_S)
        return max(1, most)

    def weigh(self, rows: Sequence[Sequence[Any]], long: Sequence[int]) -> None:
        """Learn from rows how long they are; `long` are the places of values that may be."""
        size = _CELL * len(rows[0]) * len(rows)
        for place in long:
            size += sum(len(value) for row in rows if isinstance(value := row[place], _LENGTHY))
        self._average = max(_CELL, size // len(rows))

    def forget_weight(self) -> None:
        """Another table's rows may be of any length."""
        self._average = _LONG

    def distrust_weight(self, table: object) -> None:
        """Note that rows before were shorter: fewer are read at once. Raise ConnectError if it was only one."""
        if self.count() == 1:
            raise ConnectError(
                f"{table} has a row for which the database's answer takes more than {settings.ANSWER_BYTES >> 20} MiB: leave "
                "its longest column out with column.exclude.list, of the backfill and of Debezium, or shorten the value"
            )
        self._average = min(self._average * 16, self._config[settings.BYTES])
