"""
The Kafka of a sink task's consumer that rests (`core/task/resting.py`): members of its group, a reader outside of it, watches.

Made by `units/sink_task.py`. Read next: `consumer.py`, `watch.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.api.record import TopicPartition
from kconnect.core.task.ports import Listener
from kconnect.core.task.resting import Standing
from kconnect.kafka import clients, identities, message_headers, unreadable
from kconnect.kafka.consumer import TaskConsumer, known_offsets, places, seek
from kconnect.kafka.offset_order import Asker, Order
from kconnect.kafka.portions import MOST_HEADERS
from kconnect.kafka.wakeups import Wakeups
from kconnect.kafka.watch import Watch, Watchers

log = logging.getLogger(__name__)

_ANSWER_S = 1.0


class RestingClients:
    """
    `make` makes a member of the group; `client` are its settings. Without `watchers` nobody rests. To be made in the task's
    thread.
    """

    def __init__(self, client: Mapping[str, Any], make: Callable[[Listener], TaskConsumer], watchers: Watchers | None) -> None:
        # The rest of them is for the member.
        self._client = clients.apart(dict(client))
        self._make, self._watchers, self._wakeups = make, watchers, Wakeups()
        self._waking = threading.Lock()
        self._is_closed = False
        self._thread = threading.get_ident()
        self.order = Order(Asker(self._client))
        self.may_rest = watchers is not None and not self._wakeups.blind

    @property
    def in_task_thread(self) -> bool:
        return threading.get_ident() == self._thread

    def member(self, listener: Listener) -> TaskConsumer:
        return self._make(listener)

    def reader(self, left: Mapping[TopicPartition, Standing]) -> _Reader:
        return _Reader(self._client, left)

    def watch(self, starts: Mapping[TopicPartition, int], topics: Collection[str], call: Callable[[], None]) -> Watch:
        assert self._watchers is not None
        return self._watchers.watch(self._client, starts, topics, call)

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        return identities.topic_ids(self._client, topics)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return identities.end_offsets_apart(self._client, partitions)

    def wait(self, timeout: float) -> None:
        self._wakeups.wait(timeout)

    def wake(self) -> None:
        with self._waking:
            if not self._is_closed:
                self._wakeups.wake()

    def close(self) -> None:
        with self._waking:
            self._is_closed = True
            self._wakeups.close()


class _Reader:
    """Reads all partitions from where a task stood, outside of any group."""

    def __init__(self, client: Mapping[str, Any], left: Mapping[TopicPartition, Standing]) -> None:
        self.places = frozenset(left)
        self.at = {place: at.position for place, at in left.items() if at.position is not None}
        self.paused: set[TopicPartition] = set()
        self._begun = self._held = False
        self._ends = unreadable.Ends()
        self._consumer = ck.Consumer(dict(client))
        self._wakeups = Wakeups()

    def committed(self) -> dict[TopicPartition, int] | None:
        """Return the group's committed offsets, as far as there are some; None if no broker answers."""
        try:
            for topic in {place.topic for place in self.places}:
                # Otherwise a client that has asked something else before looks for a topic it is to read after a second only.
                self._consumer.list_topics(topic, timeout=_ANSWER_S)
            offsets = self._consumer.committed(places(self.places), timeout=_ANSWER_S)
        except ck.KafkaException as error:
            log.debug("The group's offsets can't be read: %s", error.args[0].str())
            return None
        if any(at.error is not None for at in offsets):
            return None
        return known_offsets(offsets)

    def begin(self, starts: Mapping[TopicPartition, int]) -> None:
        self.at.update(starts)
        self._wakeups.attach(self._consumer)
        self._consumer.assign([ck.TopicPartition(*place, start) for place, start in self.at.items()])
        self._begun = True
        self._consumer.pause(places(self.places if self._held else self.paused))

    def read(self, limit: int, timeout: float) -> list[ck.Message] | None:
        """Return messages. None if something can't be read, or not at once, which is for the task's member to settle."""
        first = self._wakeups.next(self._consumer, timeout)
        if first is None:
            return []
        messages: list[Any] = [first, *self._consumer.consume(limit - 1, timeout=0)] if limit > 1 else [first]
        if any(map(ck.Message.error, messages)) or self._ends.failure(self._consumer, messages, self.places) is not None:
            return None
        if message_headers.mend(messages, MOST_HEADERS) < len(messages):
            return None
        for message in messages:
            self.at[TopicPartition(message.topic(), message.partition())] = message.offset() + 1
        return messages

    def seek(self, partition: TopicPartition, offset: int) -> None:
        seek(self._consumer, partition, offset)
        self.at[partition] = offset

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        self.paused.update(partitions)
        if self._begun:
            self._consumer.pause(places(partitions))

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        self.paused.difference_update(partitions)
        if self._begun and not self._held:
            self._consumer.resume(places(partitions))

    def hold(self) -> None:
        self._held = True
        if self._begun:
            self._consumer.pause(places(self.places))

    def release(self) -> None:
        self._held = False
        if self._begun:
            self._consumer.resume(places(self.places - self.paused))

    def close(self) -> None:
        self._wakeups.detach(self._consumer)
        self._wakeups.close()
        threading.Thread(target=self._consumer.close, name="reader ahead", daemon=True).start()
        del self._consumer
