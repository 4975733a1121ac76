"""
A sink's chain and task within a source's task, in the place of Kafka's producer: records go from the one to the other directly.

For `kconnect backfill --into`, whose tasks make of rows what a sink makes of their records, by the sink's own converters and
transforms. A source's task that wants it has a method `sink_beside`, which gives the sink's task and its config. Records are
put as they are sent, each topic's with offsets of their own; where they end up is the sink's task's business, which the
source's task asks before it gives an offset. Made by `source_task.py`. Read next: `chains.py`,
`connectors/backfill/range_into.py`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.api.task import SinkTask
from kconnect.core.task.batch import Batch
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.errant import Errant
from kconnect.core.task.errors import Counts
from kconnect.core.task.ports import OnReport, Refused
from kconnect.core.task.sink_context import SinkContext
from kconnect.core.task.sink_pump import Parts
from kconnect.core.task.topic_use import TopicUse
from kconnect.errors import ConfigError
from kconnect.kafka.memory_clients import MemoryConsumer
from kconnect.plugins.reach import Reach
from kconnect.plugins.registry import class_name
from kconnect.units import chains
from kconnect.units.reports import Reports
from kconnect.units.unit import Unit


class Beside:
    """A `Producer`. ConfigError for a config whose converters or transforms can't be had."""

    active = 0
    """All that was sent is put."""

    def __init__(self, unit: Unit, task: SinkTask, config: dict[str, str], counts: Counts, flush_s: float) -> None:
        Reach.of_settings(unit.ports.settings).check(config)
        self._unit, self._task, self._config, self._flush_s = unit, task, config, flush_s
        self._reports = Reports(unit, config)
        # What fails on this way counts as the source's.
        self._reports.errors.counts = counts
        errors = self._reports.errors
        self._errant = Errant(errors, class_name(type(task)), in_put_only=True) if self._reports.any else None
        self._consumer = MemoryConsumer(_Opening(task))
        self._context = SinkContext(config, self._consumer, self._errant, counts)
        group, use = f"connect-{unit.spec.connector}", no_use()
        try:
            self._chain = chains.of_sink(unit, task, config, errors, use, group, lambda: self._consumer.assignment)
        except ConfigError as error:
            raise ConfigError(f"The sink beside it can't be had: {error}") from error
        self._offsets: Counter[str] = Counter()
        self._begun = False

    def start(self) -> None:
        """Start the sink's task, before the source's."""
        self._reports.start()
        self._begun = True
        self._task.initialize(self._context)
        self._task.start(dict(self._config))

    def send(self, messages: Iterable[Outgoing]) -> bool:
        batch = [self._message(message) for message in messages]
        new = {TopicPartition(message.topic(), 0) for message in batch} - self._consumer.assignment
        if new:
            self._consumer.assign(*new)
        if batch:
            self._put(batch)
        return True

    def _message(self, message: Outgoing) -> _Message:
        topic = message[0]
        self._offsets[topic] += 1
        return _Message(message, self._offsets[topic] - 1, message[6] or int(time.time() * 1000))

    def _put(self, messages: Sequence[_Message]) -> None:
        records = self._chain.intake(messages)
        if self._errant is not None:
            self._errant.keep(messages)
        for part in records.parts if isinstance(records, Parts) else [records]:
            if isinstance(part, Batch):
                self._task.put_batch(part.replace(part.key.copy(), part.value.copy()))  # type: ignore[arg-type]
            elif part:
                self._task.put(list(part))
        if self._errant is not None:
            self._errant.delivered()

    def send_reported(self, messages: Iterable[Outgoing], origins: Iterable[Any], report: OnReport) -> bool:
        every = list(messages)
        self.send(every)
        for message, origin in zip(every, origins):
            report(origin, message[0], None, None)
        return True

    def check(self) -> None:
        """Do nothing: what fails is raised by `send`."""

    def flush(self, timeout: float) -> bool:
        return self._reports.flush(timeout)

    def refusals(self, timeout: float) -> list[Refused]:
        return []

    def require_topic(self, topic: str, waits: bool = True) -> bool:
        return True

    def close(self, abandon: bool = False) -> None:
        try:
            if self._begun:
                self._task.stop()
        finally:
            self._reports.close(self._flush_s)
            self._chain.close()


def no_use() -> TopicUse:
    """Return what is told of topics that nobody uses: no record gets to Kafka."""
    return TopicUse(frozenset, lambda topic: None)


class _Opening:
    """Has the task open what it is given. Nothing is taken from it, and nothing is committed."""

    def __init__(self, task: SinkTask) -> None:
        self._task = task

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._task.open(partitions)
        return {}

    def revoked(self, partitions: list[TopicPartition]) -> None: ...

    def lost(self, partitions: list[TopicPartition]) -> None: ...

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None: ...

    def commit_failed(self) -> None: ...

    def commits_lost(self, commits: int) -> None: ...


class _Message(NamedTuple):
    """A message as a consumer would have it from Kafka."""

    outgoing: Outgoing
    number: int
    at_ms: int

    def topic(self) -> str:
        return self.outgoing[0]

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.number

    def key(self) -> bytes | None:
        return self.outgoing[2]

    def value(self) -> bytes | None:
        return self.outgoing[1]

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.outgoing[7]

    def timestamp(self) -> tuple[int, int]:
        return 1, self.at_ms
