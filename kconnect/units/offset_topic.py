"""
One offset topic as a task host has it: read when somebody first asks and followed from then on, and written.

The worker's topic has one for the host's life, a connector's own topic as long as a unit uses it: see `offsets.py`. What the
records look like is `core/state/offsets.py`'s business.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kconnect.core.state import offsets as state
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, LogRecord, Topic
from kconnect.core.task.ports import Offset, Pairs, Partition
from kconnect.errors import ConnectError, RetriableError
from kconnect.kafka.log import LogReader, LogWriter
from kconnect.kafka.own_offsets import AT_ONCE, Room

log = logging.getLogger(__name__)

_TOLD_S = 30.0


class OffsetTopic:
    """
    An offset topic, read when somebody first asks and followed from then on. One that a config names is `limited` to the memory
    that there is for it.
    """

    def __init__(
        self, client: Mapping[str, Any], topic: str, make_writer: Callable[[], LogWriter], limited: bool = False
    ) -> None:
        self.topic = topic
        self._room = Room(topic) if limited else None
        self._client, self._make_writer = client, make_writer
        self._reader: LogReader | None = None
        self._writer: LogWriter | None = None
        self._state = OffsetState()
        # Reading may have to wait for brokers; what is known, and writing, must not.
        self._reading = threading.Lock()
        self._lock = threading.Lock()
        self._asked = itertools.count(1)
        self._served = 0

    def read(self, connector: str, partitions: Sequence[Partition], cancelled: Callable[[], bool]) -> list[Offset | None]:
        """
        Return the stored offsets, as of the end of the topic at the time of the call. Raise ConnectError once `cancelled()`.
        """
        own_number = next(self._asked)
        while not self._reading.acquire(timeout=0.1):
            if cancelled():
                raise ConnectError(f"Stopped while reading the offset topic {self.topic}")
        try:
            # One reading serves all who asked before it began: when a host starts, that is each of its units.
            if self._served < own_number:
                latest = next(self._asked)
                self._read_to_end(cancelled)
                self._served = latest
        finally:
            self._reading.release()
        with self._lock:
            return [self._state.offset(connector, partition) for partition in partitions]

    def known_key(self, connector: str, partition: Partition | None) -> bytes | None:
        """The very key that is there already, as far as the topic has been read."""
        with self._lock:
            return self._state.known_key(connector, partition)

    def entries(self, connector: str, offsets: Pairs, like: OffsetTopic | None = None) -> list[Entry]:
        """Return records with the very keys that are in the topic already, else those of the topic `like`."""
        topics = (self,) if like is None else (self, like)
        return state.entries(connector, offsets, *(topic.known_key for topic in topics))

    def write(self, entries: Sequence[Entry], timeout: float) -> None:
        """Write records, and return when they are stored. Raise ConnectError otherwise."""
        with self._lock:
            if self._writer is None:
                self._writer = self._make_writer()
        self._writer.write(entries, timeout)

    def close_reader(self) -> None:
        """Close the reader, unless a unit still reads."""
        if self._reading.acquire(timeout=1):
            if self._reader is not None:
                self._reader.close()
            self._reading.release()

    def close(self) -> None:
        """The same, and the writer, if it is nobody else's."""
        self.close_reader()
        if self._writer is not None:
            self._writer.close()

    def _read_to_end(self, cancelled: Callable[[], bool]) -> None:
        ends, told_at = None, time.monotonic()
        while not cancelled():
            try:
                self._reader = self._reader or LogReader(self._client, {Topic.OFFSET: self.topic}, timeout=2)
                # What another task has open must not hide what this connector's tasks have committed since.
                ends = ends or self._reader.ends_behind_open(2)
                records = self._reader.read(0.1, *(() if self._room is None else (AT_ONCE,)))
                with self._lock:
                    for record in records:
                        self._apply(record)
                if self._reader.lost:
                    # What is known stays: it is the best that there is, and what the topic says now comes over it.
                    log.error("The offset topic %s was recreated, or has lost its end: reading it again", self.topic)
                    self._reader.begin_again(Topic.OFFSET)
                    ends = None
            except RetriableError as error:
                log.debug("%s", error)
            if ends is not None and self._reader is not None and self._reader.has_read(ends):
                return
            if time.monotonic() - told_at > _TOLD_S:
                told_at = time.monotonic()
                log.warning(
                    "The offset topic %s can't be read to its end yet: waiting for brokers, or for an open transaction to end",
                    self.topic,
                )
        raise ConnectError(f"Stopped while reading the offset topic {self.topic}")

    def _apply(self, record: LogRecord) -> None:
        if self._room is None:
            self._state.apply(record)
            return
        try:
            self._room.apply(self._state, record)
        except ConnectError:
            # Whoever asks next reads it from its beginning: there may be less by then.
            self._state, self._room = OffsetState(), Room(self.topic)
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            raise
