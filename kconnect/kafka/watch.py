"""
One consumer in place of many: it watches partitions of which nothing new is expected, and calls whoever wants to know.

A host has one `Watchers`. Sinks that rest (`core/task/resting.py`) have their partitions watched here, and read by themselves
once they are called. What is watched is read from where the sink stood, outside of any group, and thrown away. Read next:
`wakeups.py`.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.api.record import TopicPartition
from kconnect.errors import ConnectError
from kconnect.kafka import liveness, unreadable
from kconnect.kafka.unreadable import Stalls
from kconnect.kafka.wakeups import Wakeups

log = logging.getLogger(__name__)

_MEMBERS_ONLY = ("client.id", "group.id", "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms")
"""Settings that differ between consumers which can be watched for by one."""
_LITTLE: dict[str, Any] = {
    # What is read is only counted, and read again by whoever wanted it.
    "fetch.message.max.bytes": 16384,
    "queued.min.messages": 1,
    # Out of range, which is for the sink's own consumer to settle.
    "auto.offset.reset": "error",
}
_AT_ONCE = 1000
_LOOK_S, _IDLE_LOOKS = 30.0, 10
_ANSWER_S = 2.0


class Watch:
    """A watch for one sink. `end` may be called from any thread, more than once."""

    def __init__(
        self, watcher: _Watcher, starts: Mapping[TopicPartition, int], topics: Collection[str], call: Callable[[], None]
    ) -> None:
        self._watcher, self.starts, self.call = watcher, dict(starts), call
        self.sizes = {**dict.fromkeys(topics, 0), **Counter(place.topic for place in starts)}
        """The number of partitions of each topic; 0 where a topic is not there."""
        self.failure: ConnectError | None = None
        """Why a partition can't be read, if that is what it was called for."""

    def end(self) -> None:
        self._watcher.forget(self)


class Watchers:
    """
    The watchers of one process: one for each way to connect. All calls may come from any thread. Every `look_s` seconds they
    look up which partitions there are.
    """

    def __init__(self, look_s: float = _LOOK_S) -> None:
        self._look_s = look_s
        self._lock = threading.Lock()
        self._watchers: dict[frozenset[tuple[str, str]], _Watcher] = {}

    def watch(
        self,
        client: Mapping[str, Any],
        starts: Mapping[TopicPartition, int],
        topics: Collection[str],
        call: Callable[[], None],
    ) -> Watch:
        """
        Call `call`, in a thread of this object, when there is a record at `starts` or behind it, when the partition can't be
        read there, or when one of `topics` has other partitions than these. `client` are a consumer's settings.
        """
        settings = {name: value for name, value in client.items() if name not in _MEMBERS_ONLY}
        key = frozenset((name, str(value)) for name, value in settings.items() if name not in ("logger", "error_cb"))
        with self._lock:
            watcher = self._watchers.get(key)
            if watcher is None:
                # A group that these credentials may use: librdkafka looks for the coordinator even of one that it never joins.
                of_client = {"client.id": f"{client.get('client.id', 'consumer')}-watch", "group.id": client["group.id"]}
                whole = {**settings, **of_client, **_LITTLE}
                watcher = self._watchers[key] = _Watcher(whole, self._look_s, lambda idle: self._retire(key, idle))
            return watcher.add(Watch(watcher, starts, topics, call))

    def _retire(self, key: frozenset[tuple[str, str]], watcher: _Watcher) -> None:
        """End a watcher that has had nothing to do for a while: settings like its may never come again."""
        with self._lock:
            # After a `close` it is not there any more.
            if watcher.stop_if_idle() and self._watchers.get(key) is watcher:
                del self._watchers[key]

    def close(self) -> None:
        with self._lock:
            watchers = list(self._watchers.values())
            self._watchers.clear()
        for watcher in watchers:
            watcher.close()


class _Watcher:
    def __init__(self, client: dict[str, Any], look_s: float, retire: Callable[[_Watcher], None]) -> None:
        self._client, self._look_s, self._retire = client, look_s, retire
        self._lock = threading.Lock()
        self._watches: set[Watch] = set()
        self._stopping = self._added = False
        self._wakeups = Wakeups()
        self._assigned: dict[TopicPartition, int] = {}
        """From where on each is watched."""
        self._look_at, self._idle_looks = 0.0, 0
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._thread.start()

    def add(self, watch: Watch) -> Watch:
        with self._lock:
            self._watches.add(watch)
            self._added = True
            self._wakeups.wake()
        return watch

    def forget(self, watch: Watch) -> None:
        with self._lock:
            self._watches.discard(watch)
            if not self._stopping:
                self._wakeups.wake()

    def close(self) -> None:
        with self._lock:
            self._stopping = True
            self._wakeups.wake()
        self._thread.join()

    def stop_if_idle(self) -> bool:
        with self._lock:
            self._stopping = self._stopping or not self._watches
            return self._stopping

    def _run(self) -> None:
        consumer: ck.Consumer | None = None
        while not self._stopping:
            try:
                if consumer is None:
                    consumer = self._consumer = self._made()
                    self._wakeups.attach(consumer)
                    self._look_at = time.monotonic() + self._look_s
                self._assign()
                self._read(max(0.0, self._look_at - time.monotonic()))
                if time.monotonic() >= self._look_at:
                    self._look_around()
                    self._look_at = time.monotonic() + self._look_s
                consumer = self._consumer
            except Exception:
                # Whoever is watched for is better off on its own than with a watcher that has gone.
                log.exception("Watching idle partitions failed: their sinks go on reading by themselves")
                if consumer is not None:
                    self._give_up(self._consumer)
                consumer = None
                self._call(self._all())
                self._wakeups.wait(self._look_s)
        if consumer is not None:
            self._give_up(self._consumer)
        with self._lock:
            self._wakeups.close()

    def _made(self) -> ck.Consumer:
        stalls = Stalls()

        def looked(statistics: str) -> None:
            stalled = stalls.stalled(statistics, ())
            if stalled is not None:
                self._fail(*stalled)

        # Of thousands of partitions they are long.
        return ck.Consumer({**self._client, "statistics.interval.ms": 2 * unreadable.STATISTICS_MS, "stats_cb": looked})

    def _fail(self, place: TopicPartition, failure: ConnectError) -> None:
        """Tell those who watch a partition that it has something that can't be read: by themselves they would never see it."""
        watches = [watch for watch in self._all() if place in watch.starts]
        for watch in watches:
            watch.failure = failure
        self._call(watches)

    def _give_up(self, consumer: ck.Consumer) -> None:
        self._wakeups.detach(consumer)
        self._assigned.clear()
        liveness.retire(consumer)

    def _look_around(self) -> None:
        if self._added:
            self._added = False
            _give_memory_back()
        if self._all():
            self._idle_looks = 0
            self._look()
        else:
            self._idle_looks += 1
            if self._idle_looks >= _IDLE_LOOKS:
                self._retire(self)

    def _all(self) -> list[Watch]:
        with self._lock:
            return list(self._watches)

    def _assign(self) -> None:
        """Watch what is wanted now, from the lowest offset that somebody wants."""
        starts: dict[TopicPartition, int] = {}
        for watch in self._all():
            for place, start in watch.starts.items():
                starts[place] = min(start, starts.get(place, start))
        # One that is wanted from a lower offset than it has been read from is begun again.
        stale = [place for place, start in self._assigned.items() if start > starts.get(place, -1) or place not in starts]
        if stale:
            self._consumer.incremental_unassign([ck.TopicPartition(*place) for place in stale])
            for place in stale:
                del self._assigned[place]
        new = {place: start for place, start in starts.items() if place not in self._assigned}
        if new:
            self._consumer.incremental_assign([ck.TopicPartition(*place, start) for place, start in new.items()])
            self._assigned.update(new)

    def _read(self, timeout: float) -> None:
        first = self._wakeups.next(self._consumer, timeout)
        if first is None:
            return
        places_with_records: set[TopicPartition] = set()
        for message in [first, *self._consumer.consume(_AT_ONCE, timeout=0)]:
            if (topic := message.topic()) is not None and (partition := message.partition()) is not None:
                places_with_records.add(place := TopicPartition(topic, partition))
                if place in self._assigned:
                    # Read past it, or unable to read: whoever wants it from where it is has it begun again.
                    self._assigned[place] = sys.maxsize if message.error() else (message.offset() or 0) + 1
            else:
                log.debug("Watching idle partitions: %s", message.error())
        self._call([watch for watch in self._all() if not places_with_records.isdisjoint(watch.starts)])

    def _look(self) -> None:
        """Have topics got other partitions, and does this client find its brokers at all (see `liveness.py`)?"""
        try:
            metadata = self._consumer.list_topics(timeout=_ANSWER_S).topics
        except ck.KafkaException as error:
            if liveness.is_lost(error.args[0]):
                self._replace()
            return
        sizes = {name: len(topic.partitions) for name, topic in metadata.items()}
        self._call([watch for watch in self._all() if any(sizes.get(name, 0) != size for name, size in watch.sizes.items())])

    def _replace(self) -> None:
        fresh = liveness.successor(self._made, lambda client: client.list_topics(timeout=_ANSWER_S))
        if fresh is None:
            return
        log.warning("The client that watches idle partitions found no broker any more, and is replaced")
        old, self._consumer = self._consumer, fresh
        self._give_up(old)
        self._wakeups.attach(fresh)

    def _call(self, watches: list[Watch]) -> None:
        for watch in watches:
            self.forget(watch)
            watch.call()


def _give_memory_back() -> None:
    """Clients that were closed leave up to half of a host's memory behind, which glibc keeps. It takes 1 or 2 ms."""
    if hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
