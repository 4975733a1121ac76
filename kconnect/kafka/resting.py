"""
A sink task's consumer that rests: with nothing to read for minutes, it leaves its group and has no client.

Made and read by `units/sink_task.py`, asked for all else by `core/task/sink_pump.py`; from the task's thread only. While it
rests, the host's watcher (`watch.py`) watches its partitions. When there is something, a reader outside of the group reads on
at once from where the task stood, because to join an empty group takes brokers three seconds
(`group.initial.rebalance.delay.ms`); meanwhile a member joins, and goes on where that reader is. Nothing is committed in
between. Only a task that is alone in its group may rest: any other member would take what it leaves. `docs/operating.md` says
what others see. Read next: `consumer.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Set
from typing import Any

import confluent_kafka as ck

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.task.ports import Listener
from kconnect.errors import ConnectError
from kconnect.kafka import identities, message_headers, unreadable
from kconnect.kafka.clients import RESET_AGE_MS
from kconnect.kafka.consumer import Standing, TaskConsumer, known_offsets, places, seek
from kconnect.kafka.offset_order import Order, asking
from kconnect.kafka.portions import MOST_HEADERS
from kconnect.kafka.wakeups import Wakeups
from kconnect.kafka.watch import Watch, Watchers

log = logging.getLogger(__name__)

_AGAIN_S = 5.0
_CLOSE_S = 5.0
_ANSWER_S = 1.0
_TURN_S = 0.05
"""For how long an early reader waits until its task's member is asked whether it has joined."""


class RestingConsumer:
    """
    A `ports.Consumer`, with `read` and `rest`. `make` makes a member of the group; `client` are its settings. Without
    `watchers` it never rests.

    After each `round_s` seconds of rest it joins the group for a moment. So the group's offsets do not expire (brokers keep
    those of an empty group for `offsets.retention.minutes`), and those that somebody else has altered are noticed.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        make: Callable[[Listener], TaskConsumer],
        listener: Listener,
        watchers: Watchers | None,
        round_s: float,
    ) -> None:
        # What librdkafka does not know is for the member.
        self._client = {name: value for name, value in client.items() if name != RESET_AGE_MS}
        self._make, self._listener, self._watchers, self._round_s = make, listener, watchers, round_s
        self._held = False
        self._closed = False
        self._thread = threading.get_ident()
        """The task's, which makes all calls but `wake` and those of a plugin's threads."""
        self._lock = threading.Lock()
        self._member: TaskConsumer | None = make(self)
        self._wakeups = Wakeups()
        self._early: _Reader | None = None
        self._left: dict[TopicPartition, Standing] = {}
        """Where reading stood when it was left last, and how far behind that was."""
        self._lags: dict[TopicPartition, int | None] = {}
        self._starts: dict[TopicPartition, int] = {}
        """Where a member that joins is to begin, if that is not at the group's offset."""
        self._watch: Watch | None = None
        self._called = False
        self._rise_at = 0.0
        self._order = Order(asking(self._client))
        self._error: ConnectError | None = None
        """What the next read fails with: what was before it has been read by then."""

    def subscribe(self) -> None:
        self._joined().subscribe()

    @property
    def resting(self) -> bool:
        return self._member is None

    @property
    def assignment(self) -> Set[TopicPartition]:
        if self._early is not None:
            return self._early.places
        return self._member.assignment if self._member is not None else frozenset()

    def read(self, limit: int, timeout: float) -> list[ck.Message]:
        """
        Return up to `limit` messages, as soon as there is one; none after `timeout` seconds without, or once `wake` is called.
        """
        if self._member is None:
            wait = min(timeout, self._rise_at - time.monotonic())
            if wait > 0 and not self._called:
                self._wakeups.wait(wait)
            if not self._called and time.monotonic() < self._rise_at:
                return []
            if self._watch is not None and self._watch.failure is not None:
                raise self._watch.failure
            self._rise(early=self._called and not self._held)
        if self._error is not None:
            raise self._error
        messages = self._read(limit, timeout) if self._member is not None else []
        failure = self._order.failure(messages, self.assignment) if messages else None
        if failure is not None:
            messages, self._error = messages[: failure[0]], failure[1]
        return messages

    def _read(self, limit: int, timeout: float) -> list[ck.Message]:
        if self._early is None:
            return self._joined().read(limit, timeout)
        # The member joins within its own `read`, if it does.
        messages = self._joined().read(limit, 0)
        if messages or self._early is None:
            return messages
        early = self._early.read(limit, min(timeout, _TURN_S))
        if early is None:
            log.warning("What has come can't be read before the group has been joined")
            self._end_early()
        return early or []

    def rest(self) -> bool:
        """Leave the group, if nothing speaks against it; the listener's `revoked` is called. For when nothing is being read."""
        watchers, member = self._watchers, self._member
        if watchers is None or self._wakeups.blind or member is None or self._early is not None:
            return False
        standing = member.standing()
        if standing is None:
            return False
        starts = {}
        for place, at in standing.items():
            if at.position is None and member.from_end:
                return False
            starts[place] = ck.OFFSET_BEGINNING if at.position is None else at.position
        self._left = {place: Standing(start, standing[place].committed) for place, start in starts.items()}
        self._lags = member.lags()
        self._called, self._rise_at = False, time.monotonic() + self._round_s
        try:
            member.close(_CLOSE_S)
        finally:
            with self._lock:
                self._member = None
        if not self._held:
            # While it is paused it wants to know nothing.
            self._watch = watchers.watch(self._client, starts, self._call)
        log.debug("No record for a while: resting in %s", ", ".join(f"{topic}-{number}" for topic, number in starts))
        return True

    def rise(self) -> None:
        """Go on reading with the next `read`."""
        self._called = True

    def _call(self) -> None:
        with self._lock:
            self._called = True
            if not self._closed:
                self._wakeups.wake()

    def _rise(self, early: bool) -> None:
        self._starts = {
            place: at.position for place, at in self._left.items() if at.position is not None and at.position != at.committed
        }
        try:
            member = self._make(self)
        except ConnectError as error:
            # Nothing that a task which reads would notice, either.
            log.warning("The group can't be joined again: %s", error)
            self._rise_at = time.monotonic() + _AGAIN_S
            self._called = False
            return
        if self._held:
            member.hold()
        with self._lock:
            self._member = member
        member.subscribe()
        self._end_watch()
        if early:
            self._read_early()
        elif self._starts:
            reader = _Reader(self._client, self._left)
            self._still_left(reader)
            reader.close()

    def _read_early(self) -> None:
        reader = _Reader(self._client, self._left)
        if not self._still_left(reader):
            reader.close()
            return
        self._early = reader
        reader.begin(self._listener.assigned(list(self._left)))

    def _still_left(self, reader: _Reader) -> bool:
        """Whether the group's offsets are what they were; what somebody has set since counts, when the group is joined."""
        group = reader.committed()
        if group is None:
            return False
        same = {place for place, at in self._left.items() if group.get(place) == at.committed}
        self._starts = {place: start for place, start in self._starts.items() if place in same}
        return len(same) == len(self._left)

    def _joined(self) -> TaskConsumer:
        if self._member is None:
            self._rise(early=False)
        if self._member is None:
            raise ConnectError("The group can't be joined again: see the log")
        return self._member

    def _end_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.end()

    def _end_early(self) -> None:
        """Stop reading early. The messages that were read come again, from where the group says."""
        reader, self._early = self._early, None
        if reader is not None:
            self._order.begin(reader.places)
            try:
                self._listener.lost(list(reader.places))
            finally:
                reader.close()

    def wake(self) -> None:
        """End the wait of a `read`. From any thread."""
        with self._lock:
            if not self._closed:
                self._wakeups.wake()
                if self._member is not None:
                    self._member.wake()

    @property
    def commits(self) -> bool:
        """Whether a commit is under way; or can't be begun yet, for only members may commit."""
        return self._early is not None or (self._member is not None and self._member.commits)

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._joined().commit(offsets)

    def _reading(self) -> TaskConsumer | _Reader:
        return self._early if self._early is not None else self._joined()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._reading().seek(partition, offset)
        self._order.begin([partition])

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        if partitions:
            self._reading().pause(partitions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        if partitions:
            self._reading().resume(partitions)

    def hold(self) -> None:
        self._held = True
        for reader in (self._early, self._member):
            if reader is not None:
                reader.hold()

    def release(self) -> None:
        self._held = False
        for reader in (self._early, self._member):
            if reader is not None:
                reader.release()
        if self._member is None and self._watch is None:
            self._called = True

    def lags(self) -> dict[TopicPartition, int | None]:
        """
        Return the lags as `TaskConsumer` does. While a watcher watches, and has not called, nothing has come since the rest
        began.
        """
        if self._early is not None:
            return dict.fromkeys(self._early.places)
        if self._member is not None:
            return self._member.lags()
        return dict.fromkeys(self._left) if self._watch is None or self._called else dict(self._lags)

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return self._joined().group_offsets(partitions)

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        return identities.topic_ids(self._client, topics)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if threading.get_ident() == self._thread:
            return self._joined().end_offsets(partitions)
        # The member answers no other thread while it is in a call of the listener, which may wait for that thread.
        return identities.end_offsets_apart(self._client, partitions)

    def close(self, limit: float) -> None:
        """Close the consumer as `TaskConsumer` does. It may still be joining, in order to commit what was read early."""
        end = time.monotonic() + limit
        try:
            self._end_watch()
            while self._early is not None and time.monotonic() < end:
                self._joined().read(1, _TURN_S)
        finally:
            try:
                self._end_early()
            finally:
                with self._lock:
                    self._closed = True
                    self._wakeups.close()
                if self._member is not None:
                    self._member.close(max(0.0, end - time.monotonic()) if limit else 0.0)

    # --- called by the member, within its own calls ---

    def assigned(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._order.begin(partitions)
        reader = self._early
        if reader is None or not reader.places.issubset(partitions):
            self._end_early()
            starts = {place: self._starts[place] for place in partitions if place in self._starts}
            self._starts.clear()
            return {**starts, **self._listener.assigned(partitions)}
        # As far as the listener had them already, nothing has changed for it.
        self._early = None
        self._starts.clear()
        self._joined().pause(reader.paused)
        reader.close()
        new = [place for place in partitions if place not in reader.places]
        return {**reader.at, **(self._listener.assigned(new) if new else {})}

    def revoked(self, partitions: list[TopicPartition]) -> None:
        self._listener.revoked(partitions)

    def lost(self, partitions: list[TopicPartition]) -> None:
        self._listener.lost(partitions)

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._listener.committed(offsets)

    def commit_failed(self) -> None:
        self._listener.commit_failed()

    def commits_lost(self, commits: int) -> None:
        self._listener.commits_lost(commits)


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
        threading.Thread(target=self._consumer.close, name="early reader", daemon=True).start()
        del self._consumer
