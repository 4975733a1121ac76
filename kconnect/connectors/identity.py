"""
Whether the offsets that a sink keeps in its target are those of the topic that it reads.

A topic that was deleted and made again begins at 0, and one whose brokers have lost records ends earlier: whoever believed the
target's offsets would pass over what is written there now, and commit it. So the topic's id is kept beside the offsets. Called
by `sql/task.py` and `lake/task.py`, which keep both; `kafka/identities.py` asks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from shlex import quote
from typing import NamedTuple

from kconnect.api import ConnectError, SinkTaskContext, TopicPartition

log = logging.getLogger(__name__)

_LOOK_S, _AT_ONCE_S = 60.0, 1.0
_ASKS, _PAUSE_S = 6, 1.0
"""A leader that is new knows less of its partition's end than the one before, for a moment."""


class Mark(NamedTuple):
    """
    The progress that a target stores of a partition: the offset that comes next, and the id of the topic that it counts in, if
    known.
    """

    offset: int
    topic_id: str | None = None


class TopicIds:
    """
    The ids of one task's topics, and whether marks in a target are still theirs. `wait` is given seconds, `clock` returns them.
    From the task's thread only.
    """

    def __init__(
        self,
        context: SinkTaskContext,
        connector: str,
        wait: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context, self._connector, self._wait, self._clock = context, connector, wait, clock
        self._ids: dict[str, str | None] = {}
        self._checked: set[tuple[str, TopicPartition, Mark]] = set()
        """What was looked at since partitions were opened last."""
        self._look_at = clock() + _LOOK_S

    def of(self, topics: Collection[str]) -> dict[str, str]:
        """Return the ids of these topics, as far as they are known."""
        new = {topic for topic in topics if topic not in self._ids}
        if new:
            ids = self._context.topic_ids(new)
            self._ids.update((topic, ids.get(topic)) for topic in new)
        return {topic: topic_id for topic in topics if (topic_id := self._ids[topic]) is not None}

    def check(self, marks: Mapping[TopicPartition, Mark], where: str) -> None:
        """
        Raise ConnectError if one of the marks is not of the topic that is there, or is behind its end. The
        error says by `where` what has the marks, as in "the table o".
        """
        marks = {place: mark for place, mark in marks.items() if (where, place, mark) not in self._checked}
        ids = self.of({place.topic for place in marks})
        begun = {place: mark for place, mark in marks.items() if mark.offset > 0}
        for place, mark in sorted(begun.items()):
            if mark.topic_id is not None and mark.topic_id != ids.get(place.topic, mark.topic_id):
                self._refuse(place, mark, where, "the topic was deleted and made again: it has another id")
            if mark.topic_id is None and place.topic in ids:
                log.info(
                    "%s has the offset %d of %s-%d without the topic's id: it is taken to be of the topic that is there now",
                    where,
                    mark.offset,
                    *place,
                )
        for place, end in self._short(begun).items():
            self._refuse(place, begun[place], where, f"the partition ends at {end}")
        self._checked.update((where, place, mark) for place, mark in marks.items())

    def _short(self, marks: Mapping[TopicPartition, Mark]) -> dict[TopicPartition, int]:
        """Return the ends of partitions that end before what a target has of them."""
        asked = set(marks)
        short: dict[TopicPartition, int] = {}
        for number in range(_ASKS if asked else 0):
            if number:
                self._wait(_PAUSE_S)
            ends = self._context.end_offsets(asked)
            short = {place: end for place, end in ends.items() if end < marks[place].offset}
            asked = set(short)
            if not asked:
                break
        return short

    def look(self, where: str, at_once: bool = False) -> None:
        """Raise ConnectError if a topic was made again since it was asked for. Each minute, or `at_once`."""
        wait_s = _LOOK_S - _AT_ONCE_S if at_once else 0.0
        if self._clock() + wait_s < self._look_at:
            return
        self._look_at = self._clock() + _LOOK_S
        known_ids = {topic: topic_id for topic, topic_id in self._ids.items() if topic_id is not None}
        for topic, now in self._context.topic_ids(known_ids).items():
            if now != known_ids[topic]:
                self._refuse(TopicPartition(topic, 0), None, where, "the topic was deleted and made again while it was read")

    def forget(self) -> None:
        """Ask anew, of whatever topic is opened next."""
        self._ids.clear()
        self._checked.clear()

    def _refuse(self, place: TopicPartition, mark: Mark | None, where: str, why: str) -> None:
        offsets = "offsets" if mark is None else f"the offset {mark.offset}"
        of = place.topic if mark is None else f"{place.topic}-{place.partition}"
        raise ConnectError(
            f"{where} has {offsets} of {of} that can't be those of the records that are there now: {why}. Records would be "
            f"passed over. To begin with the first one, set the offset of each of its partitions, as in: kconnect offsets set "
            f"{quote(self._connector)} {place.topic}/{place.partition}=0 --stop"
        )
