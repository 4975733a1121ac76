"""
Pumps that a test steps by hand: real chains, real deliveries, a Kafka in memory, and a task that remembers what it was told.

Used by `test_delivery.py`, `test_source_pump.py` and `test_sink_pump.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from kconnect.api.converter import Converter
from kconnect.api.record import OffsetAndMetadata, RecordMetadata, SourceRecord, TopicPartition
from kconnect.converters.string import StringConverter
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task import delivery, sink_pump
from kconnect.core.task.chain import Converters, SinkChain, SourceChain
from kconnect.core.task.delivery import AtLeastOnce, Delivery, ExactlyOnce
from kconnect.core.task.errant import Errant
from kconnect.core.task.errors import Errors, Failure
from kconnect.core.task.meters import SinkMeter, SourceMeter
from kconnect.core.task.ports import Listener, OffsetRecord, Pairs, Producer
from kconnect.core.task.sink_pump import Intake, SinkConversion, SinkPump
from kconnect.core.task.source_pump import SourceConversion, SourcePump
from kconnect.core.task.steps import Step, Steps
from kconnect.core.task.topic_use import TopicUse
from kconnect.core.task.transactions import PollBoundary
from kconnect.core.task.windows import Windows
from kconnect.errors import ConnectError
from kconnect.kafka.memory_clients import MemoryConsumer, MemoryProducer
from kconnect.testing.plugins.world import Always
from tests.rig.histories.counting import Untouched

from .records import Message, Text, TextHeaders

OFFSETS = "connect-offsets"
INTERVAL_S = 60.0


class Life(Always):
    """A task that may be stopped, abandoned, or out of touch with its host."""

    def __init__(self) -> None:
        self.abandoned = self.stopping = self.waits = False

    def may_work(self) -> bool:
        return not self.abandoned

    def cancelled(self) -> bool:
        return self.stopping


class Letters:
    """The dead letter queue."""

    def __init__(self) -> None:
        self.taken = True
        self.refusal: ConnectError | None = None
        self.reported: list[Failure] = []
        self.refuses: set[Any] = set()
        """Records, by their values, whose letters are refused."""
        self.is_known = True
        """Whether it is known of all letters that were not."""

    def flush(self, timeout: float) -> bool:
        if not self.is_known or self.refused() or self.refused_records():
            raise ConnectError("The queue refuses a letter")
        if self.refusal is not None:
            raise self.refusal
        return self.taken

    def refused(self) -> dict[TopicPartition, int] | None:
        found: dict[TopicPartition, int] = {}
        for origin in (failure.origin for failure in reversed(self.reported)):
            if not isinstance(origin, SourceRecord) and origin.value() in self.refuses:
                found[TopicPartition(origin.topic(), origin.partition())] = origin.offset()
        return found if self.is_known else None

    def refused_records(self) -> list[SourceRecord] | None:
        origins = [failure.origin for failure in self.reported]
        found = [origin for origin in origins if isinstance(origin, SourceRecord) and origin.value in self.refuses]
        return found if self.is_known else None


class Store:
    """Where source offsets are; `stored` is what a task would read after a restart."""

    def __init__(self) -> None:
        self.stored: dict[str, Any] = {}
        self.failure: Exception | None = None
        self.writes = 0

    def open(self, cancelled: Callable[[], bool]) -> None: ...

    def read(self, partitions: Sequence[Mapping[str, Any]], cancelled: Callable[[], bool]) -> list[dict[str, Any] | None]:
        return [self.stored.get(str(partition)) for partition in partitions]

    def write(self, offsets: Pairs, timeout: float) -> None:
        if self.failure is not None:
            raise self.failure
        self.writes += 1
        self.committed(offsets)

    def entries(self, offsets: Pairs, timeout: float) -> list[OffsetRecord]:
        return [OffsetRecord(OFFSETS, str(partition).encode(), str(offset).encode()) for partition, offset in offsets]

    def committed(self, offsets: Pairs) -> None:
        self.stored.update({str(partition): offset for partition, offset in offsets})

    def close(self, abandon: bool = False) -> None: ...


class Topics:
    def __init__(self) -> None:
        self.ready: set[str] = set()
        self.required: list[str] = []
        self.there = True
        self.missing: set[str] = set()
        """Which can't be had."""
        self.why: type[ConnectError] = ConnectError
        self.waits: list[bool] = []
        """Whether it was to wait for them, call by call."""

    def new(self, asked: Collection[str]) -> list[str]:
        return sorted(set(asked) - self.ready)

    def refusal(self, topic: str) -> str | None:
        return None

    def require(self, new: list[str], producer: Producer, waits: bool = True) -> bool:
        self.waits.append(waits)
        if self.missing & set(new):
            raise self.why(f"Topics {sorted(self.missing)} can't be written to")
        self.required += new
        return self.there

    def written(self, new: Collection[str]) -> None:
        self.ready.update(new)


class SourceWorld:
    """A source task's pump with all that it asks of the world, in one place to look at and to spoil."""

    def __init__(
        self,
        boundary: PollBoundary | None = None,
        tracks: bool = True,
        tolerant: bool = False,
        steps: Iterable[Step] = (),
        plugin: Any = None,
    ) -> None:
        """`plugin` is a task that hears of its records in the place of this world."""
        self.producer, self.life, self.letters, self.store, self.topics = MemoryProducer(), Life(), Letters(), Store(), Topics()
        self.announced: set[str] = set()
        self.told: list[tuple[Any, RecordMetadata | None]] = []
        """What the task heard of its records, by their values."""
        self.commits = 0
        self.now = 0.0
        self.errors = errors = Errors(
            ErrorSettings(tolerant=tolerant),
            self.letters.reported.append,
            lambda seconds: True,
            lambda: self.now,
            lambda longest: longest,
        )
        chain = SourceChain(Converters(Text(), Text(), TextHeaders), errors)
        self.meter = SourceMeter(Windows(), errors.counts, lambda: self.now, lambda: self.producer.active)
        use = TopicUse(lambda: self.announced, self.announced.add)
        ports = delivery.Ports(
            self.life, plugin or self, self.store, self.topics, self.letters, use, errors, self.meter, tracks, 5.0
        )
        self.delivery: Delivery = AtLeastOnce(ports, self.producer, INTERVAL_S)
        if boundary is not None:
            self.delivery = ExactlyOnce(ports, self.producer, boundary, OFFSETS)
        self.pump = SourcePump(self.delivery, SourceConversion(chain, Steps(list(steps)), errors, tracks))
        assert self.delivery.begin(0.0)

    def step(self, *records: SourceRecord, after: float = 0.0) -> None:
        self.now += after
        self.pump.step(list(records), self.now)

    @property
    def readable(self) -> list[bytes | None]:
        """The values that everybody can read by now, offsets apart."""
        return [message[1] for message in self.producer.taken if message[0] != OFFSETS]

    def commit_record(self, record: Any, metadata: RecordMetadata | None) -> None:
        self.told.append((record.value, metadata))

    def commit(self) -> None:
        self.commits += 1


class SinkWorld:
    """A sink task's pump with all that it asks of the world."""

    def __init__(
        self,
        tolerant: bool = False,
        steps: Iterable[Step] = (),
        untouched: bool = False,
        columns: bool = False,
        plugin: Any = None,
        intake: Callable[[Errors, TopicUse], Intake] | None = None,
    ) -> None:
        """`plugin` is a task that takes the records in the place of this world, of an `intake` of its own."""
        self.life, self.letters = Life(), Letters()
        self.announced: set[str] = set()
        self.calls: list[str] = []
        """What the task was called for, in order, but for empty puts."""
        self.taken: list[Any] = []
        self.fails: list[Exception] = []
        """What the next calls of `put` raise."""
        self.cannot_flush: Exception | None = None
        self.allows: Callable[[dict[TopicPartition, OffsetAndMetadata]], dict[TopicPartition, OffsetAndMetadata]] = dict
        self.now = 0.0
        errors = Errors(
            ErrorSettings(tolerant=tolerant),
            self.letters.reported.append,
            lambda seconds: True,
            lambda: self.now,
            lambda longest: longest,
        )
        self.meter = SinkMeter(Windows(), errors.counts, lambda: self.now)
        use = TopicUse(lambda: self.announced, self.announced.add)
        text: Converter = StringConverter() if columns else Text()
        chain = SinkChain(Converters(text, text, TextHeaders), errors)
        take: Intake = Untouched(use) if untouched else SinkConversion(chain, Steps(list(steps)), errors, use, columns)
        if intake is not None:
            take = intake(errors, use)
        errant = Errant(errors, "Task")
        ports = sink_pump.Ports(self.life, plugin or self, self.letters, self.meter, errors.counts, INTERVAL_S, 5.0, errant)
        self.pump = SinkPump(ports, take, self._make, {"name": "sink"})

    def put_batch(self, batch: Any) -> None:
        self.calls.append("put_batch")
        self.put(batch.records())

    def _make(self, listener: Listener) -> MemoryConsumer:
        self.consumer = MemoryConsumer(listener)
        return self.consumer

    def step(self, *messages: Message, after: float = 0.0) -> float:
        """As a thread does it; gives how long that might have waited for messages."""
        wait = self.pump.ready(self.now)
        self.now += after
        self.pump.step(list(messages), self.now)
        return wait

    @property
    def committed(self) -> dict[int, int]:
        """What the group has stored, by partition."""
        return {place.partition: position.offset for place, position in self.consumer.committed.items()}

    def put(self, records: list[Any]) -> None:
        if records:
            self.calls.append("put")
        if self.fails:
            raise self.fails.pop(0)
        self.taken += records

    def pre_commit(
        self, current_offsets: dict[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        self.calls.append("pre_commit")
        if self.cannot_flush is not None:
            raise self.cannot_flush
        return self.allows(current_offsets)

    def open(self, partitions: Collection[TopicPartition]) -> None:
        self.calls.append(f"open {sorted(each.partition for each in partitions)}")

    def close(self, partitions: Collection[TopicPartition]) -> None:
        self.calls.append(f"close {sorted(each.partition for each in partitions)}")


def message(offset: int, value: bytes | None = b"v", partition: int = 0, topic: str = "t") -> Message:
    return Message((topic, partition, offset), value)
