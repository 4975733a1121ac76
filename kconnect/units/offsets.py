"""
Where the source offsets of a host's connectors are stored: what `SourceTaskContext` reads, and what tasks store.

A unit asks its host for its `OffsetStore` (`unit.Ports.offset_store`) and closes it at its end. It is the worker's topic, or
for connectors that have one (`kafka/own_offsets.py`) their own topic, over the worker's: what the own one does not have is
looked up in the worker's, so a connector goes on where it was when it is given a topic, and when that is taken away again. Used
by `source_task.py` and `connector_unit.py`; what the records look like is `core/state/offsets.py`'s business.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.core.task.ports import Offset, OffsetRecord, OffsetStore, Pairs, Partition
from kconnect.errors import ConnectError
from kconnect.kafka import own_offsets
from kconnect.kafka.log import LogWriter
from kconnect.kafka.own_offsets import OwnTopic
from kconnect.units.offset_copies import Copies
from kconnect.units.offset_topic import OffsetTopic


class WorkerStore:
    """The `OffsetStore` of a connector whose offsets are in the worker's topic, and nowhere else."""

    def __init__(self, connector: str, topic: OffsetTopic) -> None:
        self._connector, self._topic = connector, topic

    def open(self, cancelled: Callable[[], bool]) -> None:
        """The worker has made its topic before there were hosts."""

    def read(self, partitions: Sequence[Partition], cancelled: Callable[[], bool]) -> list[Offset | None]:
        return self._topic.read(self._connector, partitions, cancelled)

    def write(self, offsets: Pairs, timeout: float) -> None:
        self._topic.write(self._topic.entries(self._connector, offsets), timeout)

    def entries(self, offsets: Pairs, timeout: float) -> list[OffsetRecord]:
        return [OffsetRecord(self._topic.topic, e.key, e.value) for e in self._topic.entries(self._connector, offsets)]

    def committed(self, offsets: Pairs) -> None:
        """Do nothing: there is no second store."""

    def close(self, abandon: bool = False) -> None:
        """The topic is the host's, for all its connectors."""


class OwnStore:
    """
    The `OffsetStore` of a connector that has a topic of its own, with the worker's topic as the second one.

    What is stored goes to the own topic first, and the worker's follows as it can. What is deleted is deleted from the worker's
    topic first, or not at all: else an old offset would come back from there.
    """

    def __init__(self, connector: str, own: OwnTopic, stores: OffsetStores) -> None:
        self._connector, self._own, self._stores = connector, own, stores
        self._worker = stores.worker
        self._shared: _Shared | None = None

    def open(self, cancelled: Callable[[], bool]) -> None:
        self._shared = self._stores.acquire(self._own)
        self._shared.prepare(self._own, self._stores.settings, cancelled)

    def read(self, partitions: Sequence[Partition], cancelled: Callable[[], bool]) -> list[Offset | None]:
        offsets = self._topic.read(self._connector, partitions, cancelled)
        missing = [] if self._single else [number for number, offset in enumerate(offsets) if offset is None]
        if missing:
            of_worker = self._worker.read(self._connector, [partitions[number] for number in missing], cancelled)
            for number, offset in zip(missing, of_worker):
                offsets[number] = offset
        return offsets

    def write(self, offsets: Pairs, timeout: float) -> None:
        self._delete(offsets, timeout)
        self._topic.write(self._topic.entries(self._connector, offsets, like=self._worker), timeout)
        self.committed(offsets)

    def entries(self, offsets: Pairs, timeout: float) -> list[OffsetRecord]:
        self._delete(offsets, timeout)
        stored = self._topic.entries(self._connector, offsets, like=self._worker)
        return [OffsetRecord(self._own.topic, entry.key, entry.value) for entry in stored]

    def committed(self, offsets: Pairs) -> None:
        stored = [pair for pair in offsets if pair[1] is not None]
        if stored and not self._single:
            self._stores.copies.put(self, self._worker.entries(self._connector, stored, like=self._topic))

    def close(self, abandon: bool = False) -> None:
        if self._shared is None:
            return
        shared, self._shared = self._shared, None
        if abandon:
            self._stores.copies.forget(self)
        else:
            self._stores.copies.flush(self)
        self._stores.release(shared)

    @property
    def _topic(self) -> OffsetTopic:
        assert self._shared is not None, "open comes first"
        return self._shared.topic

    @property
    def _single(self) -> bool:
        """Whether the own topic has turned out to be the worker's, by another address."""
        assert self._shared is not None, "open comes first"
        return self._shared.is_the_workers

    def _delete(self, offsets: Pairs, timeout: float) -> None:
        deleted = [pair for pair in offsets if pair[1] is None]
        if deleted and not self._single:
            self._stores.copies.delete(self._worker.entries(self._connector, deleted, like=self._topic), timeout)


class OffsetStores:
    """The stores of one host's connectors. Those that reach the same topic as the same users share its reader and writer."""

    def __init__(
        self,
        settings: WorkerSettings,
        client: Mapping[str, Any],
        topic: str,
        writer: LogWriter,
        holds_lease: Callable[[], bool],
    ) -> None:
        self.settings = settings
        self.worker = OffsetTopic(client, topic, lambda: writer)
        self.copies = Copies(self.worker, settings.session_timeout_ms / 1000, holds_lease)
        self._lock = threading.Lock()
        self._shared: dict[tuple[object, ...], _Shared] = {}

    def of(self, connector: str, config: Mapping[str, str]) -> OffsetStore:
        """Costs nothing until it is opened; `config` is the connector's, with its references resolved."""
        own_topic = own_offsets.of(self.settings, connector, config)
        return WorkerStore(connector, self.worker) if own_topic is None else OwnStore(connector, own_topic, self)

    def acquire(self, topic: OwnTopic) -> _Shared:
        with self._lock:
            shared = self._shared.setdefault(topic.identity, _Shared(topic, self.settings))
            shared.users += 1
            return shared

    def release(self, shared: _Shared) -> None:
        with self._lock:
            shared.users -= 1
            if shared.users:
                return
            self._shared = {identity: candidate for identity, candidate in self._shared.items() if candidate is not shared}
        shared.topic.close()

    def close(self) -> None:
        """Once the units have ended."""
        self.copies.close()
        self.worker.close_reader()


class _Shared:
    """A topic that one or more connectors have for their own, while somebody uses it."""

    def __init__(self, topic: OwnTopic, settings: WorkerSettings) -> None:
        expires_s = settings.session_timeout_ms / 1000 * 0.75
        self.users = 0
        self.is_the_workers = False
        self.topic = OffsetTopic(
            topic.consumer, topic.topic, lambda: LogWriter(topic.producer, {Topic.OFFSET: topic.topic}, expires_s), limited=True
        )
        self._ready = False
        self._failed_at, self._failure = 0.0, ""
        self._lock = threading.Lock()

    def prepare(self, topic: OwnTopic, settings: WorkerSettings, cancelled: Callable[[], bool]) -> None:
        """Look up, or create, the topic for one of its users. One of them asks the brokers for all who wait meanwhile."""
        asked_at = time.monotonic()
        while not self._lock.acquire(timeout=0.1):
            if cancelled():
                raise ConnectError(f"Stopped while looking for the offset topic {topic.topic}")
        try:
            if self._ready:
                return
            if self._failed_at > asked_at:
                raise ConnectError(self._failure)
            own_offsets.ensure(topic, settings, cancelled, own_offsets.AWAY_S)
            self.is_the_workers = own_offsets.is_the_workers(topic, settings)
            self._ready = True
        except ConnectError as error:
            if not cancelled():
                self._failed_at, self._failure = time.monotonic(), str(error)
            raise
        finally:
            self._lock.release()
