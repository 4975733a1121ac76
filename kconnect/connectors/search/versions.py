"""
Documents that the cluster keeps, since it has them in a later version than a record's.

That is as it should be where an old record comes again: its key has a newer one, which is there. But versions are offsets, and
those of two partitions, two topics, or a topic that was made anew say nothing of each other: there the *newer* record may lose.
Where the version that is there can't be an offset of the record's partition, the record is refused. Otherwise nobody can tell,
so it is counted, and said now and then. Called by `task.py`.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from kconnect.api import DataError, SinkRecord, SinkTaskContext, TopicPartition
from kconnect.connectors.common import place_of
from kconnect.connectors.search import settings

log = logging.getLogger(__name__)

_VERSIONS = re.compile(r"current version \[(\d{1,19})\] is higher or equal to the one provided \[(\d{1,19})\]")
_SAY_S = 60.0


class Superseded:
    """The superseded records of one task. `by_offset`: whether versions are offsets, and not those of a header."""

    def __init__(self, context: SinkTaskContext, by_offset: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._context, self._by_offset, self._clock = context, by_offset, clock
        self._ends: dict[TopicPartition, int] = {}
        self._asked: set[TopicPartition] = set()
        self._count, self._say_at = 0, 0.0
        self._others, self._say_others_at = 0, 0.0

    def begin(self) -> None:
        """A put has begun: all that is in the cluster by now is within ends that are asked for from now on."""
        self._asked.clear()

    def check(self, record: SinkRecord, trouble: Mapping[str, Any]) -> bool:
        """
        Raise DataError for a record that should have replaced what is there. `trouble` is what the cluster says. Return whether
        the version there is the record's own: then it is the same record again, or `other` has to be told.
        """
        match = _VERSIONS.search(str(trouble.get("reason", "")))
        if match is None:
            return False
        stored, record_version = int(match[1]), int(match[2])
        if stored == record_version:
            return True
        place = place_of(record)
        if self._by_offset and stored >= self._end(place, stored):
            raise DataError(
                f"its document is there in version {stored}, which is no offset of {place.topic}-{place.partition}: another "
                "partition, another topic, or the topic before it was made anew has written it, and its offsets do not say "
                f"which is newer. Set {settings.VERSION}, or delete the document"
            )
        self._context.superseded(1)
        self._count += 1
        now = self._clock()
        if now >= self._say_at:
            self._say_at = now + _SAY_S
            log.warning(
                "Records that changed nothing, since the cluster has their documents in a later version: %d; one is %s-%d@%d, "
                "whose document has the version %d. After a restart that is as it should be",
                self._count,
                *place,
                record.original_offset,
                stored,
            )
            self._count = 0
        return False

    def other(self, record: SinkRecord) -> None:
        """Note a record whose document is there in the same version, and is another one."""
        self._context.superseded(1)
        self._others += 1
        now = self._clock()
        if now >= self._say_others_at:
            self._say_others_at = now + _SAY_S
            log.warning(
                "Records that changed nothing, since the cluster has another document in the same version: %d; one is "
                "%s-%d@%d. Another partition or topic has written it (%s tells versions apart), or a pipeline of the cluster "
                "changes documents",
                self._others,
                *place_of(record),
                record.original_offset,
                settings.VERSION,
            )
            self._others = 0

    def _end(self, place: TopicPartition, version: int) -> int:
        """Return the partition's end, or what is beyond all versions if nobody tells."""
        if version >= self._ends.get(place, 0) and place not in self._asked:
            self._asked.add(place)
            self._ends.update(self._context.end_offsets([place]))
        return self._ends.get(place, version + 1)
