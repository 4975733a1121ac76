"""
The consumer of one sink task: a member of the connector's group that reads in batches.

Used by `worker/sink_task.py`, from the task's thread only; the listener is called from within `read` and `close`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

import confluent_kafka as ck

from kconnect.api.errors import ConnectError
from kconnect.api.record import OffsetAndMetadata, TopicPartition

log = logging.getLogger(__name__)

_ENDS_THE_TASK = frozenset(
    (
        ck.KafkaError.TOPIC_AUTHORIZATION_FAILED,
        ck.KafkaError.GROUP_AUTHORIZATION_FAILED,
        ck.KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        ck.KafkaError._AUTO_OFFSET_RESET,
    )
)
"""What waiting doesn't mend; other errors are the client's to get over."""


class Listener(Protocol):
    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """These are read from now on; the answer says where to begin, for those that shall not where they stopped."""
        ...

    def revoked(self, partitions: list[TopicPartition]) -> None:
        """These are read no longer; their offsets can still be committed, now."""
        ...

    def lost(self, partitions: list[TopicPartition]) -> None:
        """Somebody else owns these by now: nothing may be committed."""
        ...


class TaskConsumer:
    """
    `config` is the connector's: `topics`, or `topics.regex`, says what is read.

    Partitions are paused one by one, or held all together, which counts for those that are assigned later as well.
    """

    def __init__(self, client: Mapping[str, Any], config: Mapping[str, str], listener: Listener) -> None:
        self._topics = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]
        if not self._topics:
            # librdkafka takes a name for a pattern if it begins with ^; Java's must match as a whole.
            self._topics = [f"^({config['topics.regex']})$"]
        self._cooperative = client["partition.assignment.strategy"] == "cooperative-sticky"
        self._listener = listener
        self.assignment: set[TopicPartition] = set()
        self._taken: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._held = False
        self._closed = False
        self._error: Exception | None = None
        self._consumer = ck.Consumer(dict(client))

    def subscribe(self) -> None:
        self._consumer.subscribe(self._topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)

    def read(self, limit: int, timeout: float) -> list[ck.Message]:
        """Up to `limit` messages, as soon as there is one; none after `timeout` seconds without."""
        self._taken.clear()
        first = self._consumer.poll(timeout)
        if self._error is not None:
            self._raise()
        if first is None:
            return []
        # `consume` alone would wait the whole time for the last of `limit` messages.
        messages = [first, *self._consumer.consume(limit - 1, timeout=0)] if limit > 1 else [first]
        if self._error is not None:
            self._raise()
        good = [message for message in messages if message.error() is None]
        if len(good) != len(messages):
            for message in messages:
                error = message.error()
                if error is not None:
                    _judge(error)
        if self._taken:
            # Read, and then taken away within this very call: the next owner gets these.
            good = [message for message in good if (message.topic(), message.partition()) not in self._taken]
        return good

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> bool:
        """Commit and wait. False, with a warning, if it failed: another attempt may succeed, or somebody else owns it."""
        request = [ck.TopicPartition(*place, at.offset, metadata=at.metadata) for place, at in offsets.items()]
        try:
            answer = self._consumer.commit(offsets=request, asynchronous=False)
        except ck.KafkaException as error:
            log.warning("Committing offsets failed: %s", error.args[0].str())
            return False
        errors = [(each.topic, each.partition, each.error) for each in answer or () if each.error is not None]
        for topic, partition, problem in errors:
            log.warning("Committing the offset of %s-%d failed: %s", topic, partition, problem.str())
        return not errors

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at `offset`. ConnectError if the partition can't be read there."""
        try:
            self._consumer.seek(ck.TopicPartition(*partition, offset))
        except ck.KafkaException as error:
            raise ConnectError(f"Can't read {tuple(partition)} from offset {offset}: {error.args[0].str()}") from error

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        self._paused.update(partitions)
        if not self._held:
            self._consumer.pause(_places(partitions))

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        self._paused.difference_update(partitions)
        if not self._held:
            self._consumer.resume(_places(partitions))

    def hold(self) -> None:
        """Read nothing, and remain in the group."""
        if not self._held:
            self._held = True
            self._consumer.pause(_places(self.assignment))

    def release(self) -> None:
        if self._held:
            self._held = False
            self._consumer.resume(_places(self.assignment - self._paused))

    def lag(self) -> int | None:
        """How many records are still to come, as far as is known without asking; None if it is not."""
        total = 0
        for at in self._consumer.position(_places(self.assignment)):
            _, high = self._consumer.get_watermark_offsets(ck.TopicPartition(at.topic, at.partition), cached=True)
            if high < 0 or at.offset < 0:
                return None
            total += max(0, high - at.offset)
        return total

    def close(self) -> None:
        """Leave the group; the listener's `revoked` is called for what is still owned. The last call of all."""
        if self.assignment:
            self._take_away(self._listener.revoked, _places(self.assignment))
        self._closed = True
        self._consumer.close()
        # As in producer.py: the client's threads end now, not when the garbage collector comes by.
        del self._consumer
        self._raise()

    def _assigned(self, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        new = [TopicPartition(each.topic, each.partition) for each in partitions]
        self.assignment.update(new)
        # Back within one `read`, as with eager assignors: its position has moved on, so what comes now must be kept.
        self._taken.difference_update(new)
        held, self._held = self._held, True  # What the listener pauses or resumes is not the client's yet.
        starts: Mapping[TopicPartition, int] = {}
        if new and not self._closed:
            try:
                starts = self._listener.assigned(new)
            except Exception as error:  # noqa: BLE001 - kept, and raised outside of the client's callback
                self._error = error
        self._held = held
        for place, partition in zip(new, partitions):
            if place in starts:
                partition.offset = starts[place]
        if self._cooperative:
            self._consumer.incremental_assign(partitions)
        else:
            self._consumer.assign(partitions)
        self._consumer.pause(_places(new if held else self._paused.intersection(new)))

    def _revoked(self, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        self._take_away(self._listener.revoked, partitions)
        self._unassign(partitions)

    def _lost(self, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        self._take_away(self._listener.lost, partitions)
        self._unassign(partitions)

    def _take_away(self, tell: Any, partitions: list[ck.TopicPartition]) -> None:
        gone = [TopicPartition(each.topic, each.partition) for each in partitions]
        gone = [partition for partition in gone if partition in self.assignment]
        try:
            if gone:
                tell(gone)
        except Exception as error:  # noqa: BLE001 - kept, and raised outside of the client's callback
            self._error = error
        self.assignment.difference_update(gone)
        self._paused.difference_update(gone)
        self._taken.update(gone)

    def _unassign(self, partitions: list[ck.TopicPartition]) -> None:
        if self._cooperative:
            self._consumer.incremental_unassign(partitions)
        else:
            self._consumer.unassign()

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error


def _places(partitions: Iterable[TopicPartition]) -> list[ck.TopicPartition]:
    return [ck.TopicPartition(*partition) for partition in partitions]


def _judge(error: ck.KafkaError) -> None:
    if error.fatal() or error.code() in _ENDS_THE_TASK:
        raise ConnectError(f"Reading from Kafka failed: {error.str()}")
    log.warning("Reading from Kafka: %s", error.str())
