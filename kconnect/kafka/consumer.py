"""
The consumer of one sink task: a member of the connector's group that reads in batches.

Used by `worker/sink_task.py`, from the task's thread only; the three callbacks are called from within `read`, `stay` and
`close`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.api.errors import ConnectError
from kconnect.api.record import OffsetAndMetadata, TopicPartition

log = logging.getLogger(__name__)

_DEFAULTS: Mapping[str, Any] = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "partition.assignment.strategy": "cooperative-sticky",
    "max.poll.interval.ms": 300_000,
    # The default of one second starves a quick reader: its queue runs empty before more is fetched.
    "fetch.queue.backoff.ms": 5,
    "queued.max.messages.kbytes": 16_384,
    "queued.min.messages": 20_000,
    "topic.metadata.refresh.interval.ms": 60_000,
}

Changed = Callable[[list[TopicPartition]], None]


class TaskConsumer:
    """`config` is the connector's: `topics`, or `topics.regex`, says what is read."""

    def __init__(
        self, client: Mapping[str, Any], config: Mapping[str, str], assigned: Changed, revoked: Changed, lost: Changed
    ) -> None:
        self._topics = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()]
        if not self._topics:
            # librdkafka takes a name for a pattern if it begins with ^; Java's must match as a whole.
            self._topics = [f"^({config['topics.regex']})$"]
        self._cooperative = client.get("partition.assignment.strategy", "cooperative-sticky") == "cooperative-sticky"
        self._on = {"assigned": assigned, "revoked": revoked, "lost": lost}
        self._owned: set[TopicPartition] = set()
        self._error: Exception | None = None
        self._consumer = ck.Consumer({**_DEFAULTS, **client})

    def subscribe(self) -> None:
        self._consumer.subscribe(
            self._topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._on_lost
        )

    def assignment(self) -> set[TopicPartition]:
        return set(self._owned)

    def read(self, limit: int, timeout: float) -> list[ck.Message]:
        """Up to `limit` messages, as soon as there is one; none after `timeout` seconds without."""
        first = self._consumer.poll(timeout)
        self._raise()
        if first is None:
            return []
        # `consume` alone would wait the whole time for the last of `limit` messages.
        messages = [first, *self._consumer.consume(limit - 1, timeout=0)]
        self._raise()
        good = [message for message in messages if message.error() is None]
        if len(good) != len(messages):
            for message in messages:
                if message.error() is not None:
                    self._judge(message.error())
        # A rebalance within these calls may have taken partitions away whose messages were handed out before.
        return [message for message in good if (message.topic(), message.partition()) in self._owned]

    def stay(self, timeout: float) -> None:
        """Remain in the group while everything is paused."""
        message = self._consumer.poll(timeout)
        self._raise()
        if message is not None and message.error() is not None:
            self._judge(message.error())
        elif message is not None:
            # Fetched before the pause: read again from here on.
            self.seek(TopicPartition(message.topic(), message.partition()), message.offset())

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> bool:
        """Commit and wait. False, with a warning, if it failed: another attempt may succeed, or somebody else owns it."""
        request = [
            ck.TopicPartition(partition.topic, partition.partition, at.offset, metadata=at.metadata)
            for partition, at in offsets.items()
        ]
        try:
            answer = self._consumer.commit(offsets=request, asynchronous=False)
        except ck.KafkaException as error:
            log.warning("Committing offsets failed: %s", error.args[0].str())
            return False
        failed = [partition for partition in answer or () if partition.error is not None]
        for partition in failed:
            log.warning("Committing the offset of %s-%d failed: %s", partition.topic, partition.partition, partition.error)
        return not failed

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._consumer.seek(ck.TopicPartition(partition.topic, partition.partition, offset))

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._consumer.pause([ck.TopicPartition(*partition) for partition in partitions])

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._consumer.resume([ck.TopicPartition(*partition) for partition in partitions])

    def pause_all(self) -> None:
        self.pause(self._owned)

    def resume_all(self, except_for: set[TopicPartition]) -> None:
        self.resume(self._owned - except_for)

    def close(self) -> None:
        """Leave the group; `revoked` is called for what is still owned."""
        if self._owned:
            owned, self._owned = list(self._owned), set()
            self._call("revoked", owned)
        self._consumer.close()
        self._raise()

    def _assigned(self, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        new = [TopicPartition(each.topic, each.partition) for each in partitions]
        if self._cooperative:
            self._consumer.incremental_assign(partitions)
        else:
            self._consumer.assign(partitions)
        self._owned.update(new)
        if new:
            self._call("assigned", new)

    def _revoked(self, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        self._take_away("revoked", partitions)

    def _on_lost(self, _: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        self._take_away("lost", partitions)

    def _take_away(self, how: str, partitions: list[ck.TopicPartition]) -> None:
        gone = [TopicPartition(each.topic, each.partition) for each in partitions]
        gone = [partition for partition in gone if partition in self._owned]
        if gone:
            self._call(how, gone)
        self._owned.difference_update(gone)
        if self._cooperative:
            self._consumer.incremental_unassign(partitions)
        else:
            self._consumer.unassign()

    def _call(self, what: str, partitions: list[TopicPartition]) -> None:
        try:
            self._on[what](partitions)
        except Exception as error:  # noqa: BLE001 - kept, and raised outside of the client's callback
            self._error = error

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _judge(self, error: ck.KafkaError) -> None:
        """Most errors pass by themselves; those of rights and of fenced members do not."""
        codes = ck.KafkaError
        if error.fatal() or error.code() in (codes.TOPIC_AUTHORIZATION_FAILED, codes.GROUP_AUTHORIZATION_FAILED):
            raise ConnectError(f"Reading from Kafka failed: {error.str()}")
        log.warning("Reading from Kafka: %s", error.str())
