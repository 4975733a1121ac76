"""
ObjectStoreSinkTask: files of records, sent when they are whole, and offsets that are behind what was sent.

What is not whole yet is in local files, so that a thousand folders take no memory. After a crash the task begins behind the
last files that were sent, and makes the same again. Started by `connector.py`. Read next: `files.py`.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Collection, Sequence
from zoneinfo import ZoneInfo

import kconnect
from kconnect.api import (
    ConnectError,
    OffsetAndMetadata,
    RetriableError,
    SinkBatch,
    SinkRecord,
    SinkTask,
    TopicPartition,
)
from kconnect.connectors import interrupts
from kconnect.connectors.common import Patience, bad_record
from kconnect.connectors.groups import Group, Origins, groups_of
from kconnect.connectors.libraries import Informed
from kconnect.connectors.objects import opening, settings, spool, stores
from kconnect.connectors.objects.files import Bad, Files
from kconnect.connectors.objects.partitioners import Partitioner
from kconnect.connectors.slices import Slice, record_at, slices_of

_FULL_MS = 10_000
"""How long it waits for room on the disk."""


class ObjectStoreSinkTask(Informed, SinkTask):
    reports_in_put_only = takes_batches_with_headers = True

    def __init__(self) -> None:
        self._files: dict[TopicPartition, Files] = {}
        self._opened: stores.Store | None = None
        self._scheduled_at = 0.0
        self._again = False
        """Whether the last put has failed: then the next one has what was taken of it, too."""

    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        config = self._config = settings.CONFIG.parse(props)
        self._store = self._opened = opening.opened(config, props, self.worker)
        self._partitioner = Partitioner(config)
        self._schedule_s: float = config[settings.SCHEDULE] / 1000
        self._patience = Patience(settings.RETRIES, config[settings.RETRIES], config[settings.BACKOFF])
        self._ignores_nulls: bool = config[settings.NULLS].lower() == "ignore"
        self._topics = frozenset(topic.strip() for topic in props.get("topics", "").split(","))
        self._zone = ZoneInfo(config[settings.ZONE])
        self._scheduled_at = self._next_schedule()

    def interrupt(self) -> None:
        if self._opened is not None:
            interrupts.after_grace(self._opened.interrupt)

    def stop(self) -> None:
        self.close(list(self._files))

    def open(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._files[partition] = Files(self._config, self._partitioner, partition, self._is_read)

    def _is_read(self, topic: str) -> bool:
        return topic in self._topics or any(place.topic == topic for place in self._files)

    def close(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            files = self._files.pop(partition, None)
            if files is not None:
                files.drop()

    def put(self, records: list[SinkRecord]) -> None:
        self._put(groups_of(records))

    def put_batch(self, batch: SinkBatch) -> None:
        self._put([Group(batch.topic, batch.key, batch.value, Origins(batch))])

    def _put(self, groups: Sequence[Group]) -> None:
        again, self._again = self._again, True
        if self._schedule_s > 0 and time.time() >= self._scheduled_at:
            self._scheduled_at = self._next_schedule()
            for files in self._files.values():
                files.finish()
        for files in self._files.values():
            self._send(files)
        begun: set[TopicPartition] = set()
        for group in groups:
            for place, some in slices_of(group):
                if not again and place not in begun and some.offsets[0] < self._files[place].next:
                    self._go_back(place)
                begun.add(place)
                self._take(place, some, group)
        self._again = False

    def _go_back(self, place: TopicPartition) -> None:
        """
        Take records again whose offsets were taken: after a commit that failed, or of a topic that was made anew. What is left
        of those before is sent first, for Kafka may not have it any more.
        """
        files = self._files[place]
        files.finish()
        self._send(files)
        files.drop()
        self._files[place] = Files(self._config, self._partitioner, place, self._is_read)

    def _next_schedule(self) -> float:
        """The next multiple, by the clock of the zone."""
        if self._schedule_s <= 0:
            return 0.0
        now = time.time()
        ahead = datetime.datetime.fromtimestamp(now, self._zone).utcoffset() or datetime.timedelta()
        local = now + ahead.total_seconds()
        return now - local % self._schedule_s + self._schedule_s

    def _take(self, place: TopicPartition, some: Slice, group: Group) -> None:
        files = self._files[place]
        # A put that is made again has some that were taken.
        begin = next((at for at, offset in enumerate(some.offsets) if offset >= files.next), len(some))
        some = some.cut(begin, len(some))
        if len(some) and group.value.has_nulls:
            self._take_nulls(files, place, some, group)
            return
        if len(some):
            self._require_room()
        while len(some):
            count, bad = self._taken(files, some)
            self._report(place, bad, group)
            some = some.cut(count, len(some))
            self._send(files)

    def _require_room(self) -> None:
        """Raise an error if the disk is full, before anything is taken: what is written in part can't be taken again."""
        try:
            spool.require_room(self._config[settings.SPOOL], settings.SPOOL)
        except RetriableError:
            self.context.timeout(_FULL_MS)
            raise

    def _taken(self, files: Files, some: Slice) -> tuple[int, list[Bad]]:
        try:
            return files.take(some)
        except OSError as error:
            raise ConnectError(
                f"The local file of records that are not sent yet can't be written: {error.strerror}. {settings.SPOOL} names "
                "its folder: make room there, and restart the task. Nothing is lost."
            ) from error

    def _take_nulls(self, files: Files, place: TopicPartition, some: Slice, group: Group) -> None:
        files.next = some.offsets[-1] + 1
        if not self._ignores_nulls:
            error = ConnectError(f"It has no value, and {settings.NULLS} is fail")
            self._report(place, [(offset, error) for offset in some.offsets], group)

    def _report(self, place: TopicPartition, bad: Sequence[Bad], group: Group) -> None:
        reporter = self.context.errant_record_reporter() if bad else None
        for offset, error in bad:
            record = record_at(group, place, offset)
            if reporter is None:
                raise bad_record(record, error) from error
            reporter.report(record, error)

    def _send(self, files: Files) -> None:
        """Send the files that are whole. Raise RetriableError if the store can't be reached for now."""
        while files.whole:
            name, path = files.whole[0]
            try:
                self._store.put(name, path)
            except stores.ERRORS as error:
                self._failed(name, error)
            self._patience.succeeded()
            files.sent(path)
            self.context.request_commit()

    def _failed(self, name: str, error: Exception) -> None:
        text = f"{name} can't be sent to {self._store.shown}: {stores.reason(error)}"
        if not stores.passes(error):
            raise ConnectError(f"{text}. Check {self._store.setting_of(error)}.") from None
        again, pause_ms = self._patience.failed(text)
        self.context.timeout(pause_ms)
        raise again from None

    def pre_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets of files that were sent. A put that is to be made again may have sent more than is asked for."""
        committed = {}
        for place, asked in offsets.items():
            files = self._files.get(place)
            offset = None if files is None else files.committed
            if offset is not None:
                committed[place] = OffsetAndMetadata(min(offset, asked.offset))
        return committed
