"""
A unit as the pumps of `core/task` see it: what its task may still do, and whom it tells of the topics that it uses.

Made by `source_task.py` and `sink_task.py`. Read next: `unit.py`, which this asks, and `core/task/ports.py`, which says what is
promised.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kconnect.core.task.topic_use import TopicUse
from kconnect.units.unit import Unit


class Life:
    """`patience_s` is how long Kafka may take for what was polled, once the task is to stop."""

    def __init__(self, unit: Unit, patience_s: float) -> None:
        self._unit, self._patience_s = unit, patience_s
        self._give_up_at: float | None = None
        self.may_work = unit.may_work
        self.stops = unit.stopping.is_set

    @property
    def abandoned(self) -> bool:
        return self._unit.abandoned

    def cancelled(self) -> bool:
        """A stop is orderly as long as Kafka takes what was polled within the limit of a flush."""
        if not self._unit.stopping.is_set():
            return False
        now = time.monotonic()
        if self._give_up_at is None:
            self._give_up_at = now + self._patience_s
        return self._unit.abandoned or now > self._give_up_at

    def within(self, seconds: float) -> Callable[[], bool]:
        end = time.monotonic() + seconds
        return lambda: self._unit.abandoned or time.monotonic() > end


def topic_use(unit: Unit) -> TopicUse:
    """KIP-558, for one task: its host knows what was announced, and writes what is."""
    ports, spec = unit.ports, unit.spec
    return TopicUse(lambda: ports.topics_announced(spec), lambda topic: ports.topic_used(spec, topic))
