"""
The context of a sink task: it implements `kconnect.api.task.SinkTaskContext`. Held by `sink_pump.py`, which carries out the
task's requests at its next step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kconnect.api.record import TopicPartition
from kconnect.api.task import ErrantRecordReporter
from kconnect.core.task import positions
from kconnect.core.task.errant import Errant
from kconnect.core.task.errors import Counts
from kconnect.core.task.ports import Consumer
from kconnect.errors import ConnectError

_RETRY_S = 1.0


class SinkContext:
    def __init__(self, properties: Mapping[str, str], consumer: Consumer, errant: Errant | None, counts: Counts) -> None:
        self._properties, self._consumer, self._errant, self._counts = dict(properties), consumer, errant, counts
        self._timeout_s: float | None = None
        self._rewinds: dict[TopicPartition, int] = {}
        self.commit_requested = False

    def configs(self) -> dict[str, str]:
        return dict(self._properties)

    def offset(self, partition: TopicPartition, offset: int) -> None:
        call = "context.offset()"
        self._rewind(call, {positions.partition_of(call, partition): offset})

    def offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._rewind("context.offsets()", offsets)

    def _rewind(self, call: str, offsets: Mapping[TopicPartition, int]) -> None:
        # All of them, or none.
        self._rewinds.update(positions.offsets_of(call, offsets))

    def timeout(self, milliseconds: int) -> None:
        asked = positions.milliseconds("context.timeout()", milliseconds)
        self._timeout_s = asked / 1000 if asked >= 0 else None

    def assignment(self) -> set[TopicPartition]:
        return set(self._consumer.assignment)

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """
        Return the group's committed offsets. Not of the API: for Java's tasks, which may ask Connect's consumer. See
        `ports.Consumer`.
        """
        return self._consumer.group_offsets(partitions)

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        return self._consumer.topic_ids(topics)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return self._consumer.end_offsets(partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        self._consumer.pause(self._own("context.pause()", partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self._consumer.resume(self._own("context.resume()", partitions))

    def superseded(self, count: int) -> None:
        self._counts.superseded += positions.count("context.superseded()", count)

    def metric(self, name: str, value: float, labels: Mapping[str, str] | None = None) -> None:
        self._counts.numbers.tell(name, value, labels)

    def request_commit(self) -> None:
        self.commit_requested = True

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        if self._errant is not None:
            self._errant.want()
        return self._errant

    @property
    def wants_to_go_elsewhere(self) -> bool:
        """Whether an offset was asked for that has not been gone to."""
        return bool(self._rewinds)

    def take_timeout(self) -> float:
        """The pause in seconds that it asked for before its `put` is called again, once; else the usual one."""
        timeout_s, self._timeout_s = self._timeout_s, None
        return _RETRY_S if timeout_s is None else timeout_s

    def take_rewinds(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return, and forget, the offsets asked for `partitions`. Those of other partitions wait until they are assigned."""
        if not self._rewinds:
            return {}
        return {partition: self._rewinds.pop(partition) for partition in list(self._rewinds) if partition in partitions}

    def _own(self, call: str, partitions: tuple[Any, ...]) -> list[TopicPartition]:
        asked = [positions.partition_of(call, partition) for partition in partitions]
        foreign = [str(tuple(partition)) for partition in asked if partition not in self._consumer.assignment]
        if foreign:
            raise ConnectError(f"These partitions are not assigned to this task: {', '.join(foreign)}")
        return asked
