"""
What a worker has read of the internal topics: four folds, and how far it has read.

`Log` is what everybody sees of it, and changes nothing. `Fold` is what `herder.py` holds, and nobody else: it takes records.
Read next: `core/state/config.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kconnect.core.settings.operation import Operation
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.config import ConfigState
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import LogRecord, Topic, UnitId, Units
from kconnect.core.state.status import StatusState

Place = tuple[Topic, int]
"""A partition."""


class Log:
    def __init__(self) -> None:
        self._config = ConfigState()
        self._status = StatusState()
        self._offsets = OffsetState()
        self._assignment = AssignmentState()
        self._positions: dict[Place, int] = {}
        self._remade: Counter[Topic] = Counter()
        self._weights: tuple[int, dict[UnitId, int]] = (-1, {})

    @property
    def config(self) -> ConfigState:
        return self._config

    @property
    def status(self) -> StatusState:
        return self._status

    @property
    def offsets(self) -> OffsetState:
        return self._offsets

    @property
    def assignment(self) -> AssignmentState:
        return self._assignment

    @property
    def remade(self) -> Counter[Topic]:
        """The number of times that each topic was found to be another one."""
        return self._remade.copy()

    def is_remade(self, topics: Iterable[Topic], since: Counter[Topic]) -> bool:
        """Whether one of `topics` was made anew since `remade` was so."""
        return any(self._remade[topic] != since[topic] for topic in topics)

    @property
    def positions(self) -> dict[Place, int]:
        """The offset after what was read last, of each partition."""
        return dict(self._positions)

    def has_read(self, ends: Mapping[Place, int]) -> bool:
        """Whether all that is before these offsets has been read."""
        return all(self._positions.get(place, 0) >= end for place, end in ends.items())

    def units_of(self, worker: str) -> Units:
        """Return the units that the leader has assigned to a worker."""
        assignment = self._assignment.assignments.get(worker)
        return frozenset() if assignment is None else assignment.units or frozenset()

    def weights(self) -> dict[UnitId, int]:
        """Return the tasks whose weight is not 1, with their weights."""
        config = self._config
        if self._weights[0] != config.offset:
            weights: dict[UnitId, int] = {}
            for name, connector in config.connectors.items():
                weight = Operation.of(connector.properties).weight
                if weight != 1:
                    weights.update((UnitId(name, task), weight) for task in config.task_ids(name))
            self._weights = (config.offset, weights)
        return self._weights[1]


class Fold(Log):
    def apply(self, record: LogRecord) -> object:
        """Take a record, the next of its partition; gives what it says."""
        self._positions[record.topic, record.partition] = record.offset + 1
        if record.topic is Topic.CONFIG:
            return self._config.apply(record)
        if record.topic is Topic.STATUS:
            return self._status.apply(record)
        return (self._offsets if record.topic is Topic.OFFSET else self._assignment).apply(record)

    def reached(self, ends: Mapping[Place, int]) -> None:
        """Partitions end there, which may be past the last record."""
        self._positions.update(ends)

    def begin_again(self, topic: Topic) -> None:
        """The topic is another one by now, and is read from its beginning."""
        self._positions = {place: at for place, at in self._positions.items() if place[0] is not topic}
        self._remade[topic] += 1
        if topic is Topic.STATUS:
            self._status.begin_again()
        elif topic is Topic.OFFSET:
            self._offsets.begin_again()
        elif topic is Topic.ASSIGNMENT:
            self._assignment = AssignmentState()
