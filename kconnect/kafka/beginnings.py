"""
Where a consumer begins in partitions for which its group has no offset, by `auto.offset.reset=by_duration:…` (KIP-1106).

librdkafka does not know that: it reports that there is no offset, and reads nothing. So `consumer.py` keeps a `Beginnings`,
which asks brokers by time. Read next: `core/settings/client_choices.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Set

import confluent_kafka as ck

from kconnect.api.record import TopicPartition

log = logging.getLogger(__name__)

_ANSWER_S, _PAUSE_S = 1.0, 5.0


class Beginnings:
    """
    The place where one consumer begins: the oldest record that is no older than `age_ms`, or the end of the partition if there
    is none. With None, the consumer begins in another way.
    """

    def __init__(self, age_ms: int | None) -> None:
        self.age_ms = age_ms
        self.waiting: set[TopicPartition] = set()
        """Partitions that are not read, because it is not known yet where to begin."""
        self._ask_at = 0.0

    def takes(self, error: ck.KafkaError, message: ck.Message) -> bool:
        """Return whether an error only says that a partition has no offset to begin at, and remember the partition then."""
        if self.age_ms is None or error.code() != ck.KafkaError._AUTO_OFFSET_RESET:
            return False
        self.waiting.add(TopicPartition(message.topic() or "", message.partition() or 0))
        return True

    def found(self, consumer: ck.Consumer, assignment: Set[TopicPartition]) -> Iterator[tuple[TopicPartition, int]]:
        """Yield where to begin in those that wait. Brokers that do not answer are asked again after a while."""
        self.waiting &= assignment
        if not self.waiting or self.age_ms is None or time.monotonic() < self._ask_at:
            return
        since_ms = int(time.time() * 1000) - self.age_ms
        try:
            offsets = consumer.offsets_for_times(
                [ck.TopicPartition(*place, since_ms) for place in self.waiting], timeout=_ANSWER_S
            )
            for at in offsets:
                place, offset = TopicPartition(at.topic, at.partition), at.offset
                if at.error is not None:
                    raise ck.KafkaException(at.error)
                if offset < 0:
                    _, offset = consumer.get_watermark_offsets(ck.TopicPartition(*place), timeout=_ANSWER_S)
                self.waiting.discard(place)
                yield place, offset
        except ck.KafkaException as error:
            log.warning("Where to begin by auto.offset.reset can't be asked, and is asked again: %s", error.args[0].str())
            self._ask_at = time.monotonic() + _PAUSE_S
