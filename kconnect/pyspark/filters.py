"""
Filters that Spark hands to a batch: which of a plan's ranges can have rows that pass.

Called by `source.py`. Pure. Filters on `_topic`, `_partition` and `_offset` are applied here alone. One on `_timestamp` that
has a lower bound makes the ranges smaller, and Spark applies it again. An upper bound does nothing: records of a partition need
not be in the order of their times, so a later offset may have an earlier one.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kconnect.pyspark import places
from kconnect.pyspark.places import At, Range

TOPIC, PARTITION, OFFSET, TIMESTAMP = "_topic", "_partition", "_offset", "_timestamp"


class Bound(NamedTuple):
    """A filter by the name of its class in `pyspark.sql.datasource`."""

    kind: str
    value: Any


_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda own, value: own == value,
    "GreaterThan": lambda own, value: own > value,
    "GreaterThanOrEqual": lambda own, value: own >= value,
    "LessThan": lambda own, value: own < value,
    "LessThanOrEqual": lambda own, value: own <= value,
    "In": lambda own, value: own in value,
    "IsNotNull": lambda own, value: True,
}


@dataclass
class Pushed:
    """The filters that a reader was given, as far as it can use them."""

    topics: list[Bound] = field(default_factory=list)
    partitions: list[Bound] = field(default_factory=list)
    offsets: list[Bound] = field(default_factory=list)
    since: datetime.datetime | None = None

    def take(self, filters: Iterable[Any]) -> list[Any]:
        """Take the filters, and return those that Spark has to apply itself."""
        return [one for one in filters if not self._takes(one)]

    def _takes(self, one: Any) -> bool:
        kind, column = type(one).__name__, tuple(getattr(one, "attribute", ()))
        if len(column) != 1 or kind not in _TESTS:
            return False
        name, value = column[0], getattr(one, "value", None)
        bound = Bound(kind, value)
        if name == TIMESTAMP:
            if kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual") and isinstance(value, datetime.datetime):
                self.since = value if self.since is None else max(self.since, value)
            return False
        expected: Any = {TOPIC: str, PARTITION: int, OFFSET: int}.get(name)
        if expected is None or (kind != "IsNotNull" and not _is_of(value, expected)):
            return False
        if name == OFFSET and kind == "In":
            # What lies between them would be read, and must not pass.
            return False
        {TOPIC: self.topics, PARTITION: self.partitions, OFFSET: self.offsets}[name].append(bound)
        return True

    @property
    def since_ms(self) -> int | None:
        """The time before which no record passes, in ms since 1970."""
        if self.since is None:
            return None
        moment = self.since if self.since.tzinfo is not None else self.since.replace(tzinfo=datetime.timezone.utc)
        return places.milliseconds(moment)

    def ranges(self, planned: Sequence[Range], since: Mapping[At, int]) -> list[Range]:
        """Return what is left of a plan. `since` are the first offsets at `since_ms`, as far as partitions have such."""
        left = []
        for whole in planned:
            if not _passes(whole.topic, self.topics) or not _passes(whole.partition, self.partitions):
                continue
            begin, end = whole.begin, whole.end
            for kind, value in self.offsets:
                if kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual"):
                    begin = max(begin, value + (kind == "GreaterThan"))
                if kind in ("EqualTo", "LessThan", "LessThanOrEqual"):
                    end = min(end, value + (kind != "LessThan"))
            if self.since is not None:
                begin = max(begin, since.get((whole.topic, whole.partition), end))
            if begin < end:
                left.append(whole._replace(begin=begin, end=end))
        return left


def _is_of(value: Any, kind: type) -> bool:
    values = value if isinstance(value, tuple | list) else (value,)
    return all(isinstance(item, kind) and not isinstance(item, bool) for item in values)


def _passes(own: Any, bounds: Iterable[Bound]) -> bool:
    return all(_TESTS[bound.kind](own, bound.value) for bound in bounds)
