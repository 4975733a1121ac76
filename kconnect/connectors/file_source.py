"""
FileStreamSource: the lines of a file, as records.

Connect's own example connector with its configs and its offsets, `{"filename": …}` → `{"position": n}`. `position` counts
bytes, where Connect's counts characters but skips bytes: for ASCII both are the same, for other text ours comes back to the
right place. Followed is what grows; a missing file is waited for; a truncated or replaced one is read from its start.
Where a line goes next: `core/task/source_pump.py`.
"""

from __future__ import annotations

import itertools
import logging
import os
import stat
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

import kconnect
from kconnect.api.config import ConfigDef, ConfigKey, Importance, NonEmptyString, Type
from kconnect.api.connector import ExactlyOnceSupport, SourceConnector
from kconnect.api.record import SourceRecord
from kconnect.api.task import SourceTask
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.libraries import Informed
from kconnect.data.schema import STRING_SCHEMA
from kconnect.errors import ConnectError

log = logging.getLogger(__name__)

FILE, TOPIC, BATCH_SIZE = "file", "topic", "batch.size"
FILENAME, POSITION = "filename", "position"

CONFIG = ConfigDef(
    ConfigKey(FILE, Type.STRING, None, Importance.HIGH, "The file to read, as the executors' machines name it."),
    ConfigKey(TOPIC, Type.STRING, importance=Importance.HIGH, doc="The topic.", validator=NonEmptyString()),
    ConfigKey(BATCH_SIZE, Type.INT, 2000, Importance.LOW, "The most lines that one poll returns."),
)

_IDLE_S, _SOON_S = 1.0, 0.02
"""
How long to wait at most until the file is looked at again, and at least. A file that has just grown soon grows again: the pause
doubles each time that it has not. After an empty poll of less than 10 ms the framework would wait for longer than that.
"""
_BLOCK = 256 * 1024
_MOST_BLOCKS = 256
_TAIL = 64
_LONGEST = 64 * 1024 * 1024
"""Of a line. Kafka takes records of 1 MiB, unless it is told otherwise."""


class FileStreamSourceConnector(SourceConnector):
    def version(self) -> str:
        return kconnect.CONNECT_VERSION

    def start(self, props: dict[str, str]) -> None:
        CONFIG.parse(props)
        self._props = dict(props)

    def stop(self) -> None:
        """Do nothing: the connector holds nothing."""

    def task_class(self) -> type[SourceTask]:
        return FileStreamSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one config, whatever `max_tasks` is: a file has one reader."""
        return [dict(self._props)]

    def config(self) -> ConfigDef:
        return CONFIG

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED if props.get(FILE) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        if not connector_config.get(FILE):
            raise ConnectError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets:
            if offset is None:
                # Whatever the partition is: what should never have been stored must be possible to reset.
                continue
            if POSITION not in offset:
                raise ConnectError("Offset objects should either be null or contain the key 'position'")
            position = offset[POSITION]
            if not isinstance(position, int) or isinstance(position, bool):
                raise ConnectError("The value for the 'position' key in the offset is expected to be a Long value")
            if position < 0:
                raise ConnectError("The value for the 'position' key in the offset should be a non-negative value")
            if partition is None:
                raise ConnectError("Partition objects cannot be null")
            if FILENAME not in partition:
                raise ConnectError("Partition objects should contain the key 'filename'")
        return True


class FileStreamSourceTask(Informed, SourceTask):
    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._file: IO[bytes] | None = None
        self._inode = -1
        self._position = 0
        """Where the first byte lies that no line of `_texts` holds; `_rest` begins there."""
        self._rest: list[bytes] = []
        self._texts: list[str] = []
        self._ends: list[int] = []
        """Where the line after each of `_texts` begins."""
        self._next = 0
        self._pause_s = _IDLE_S
        self._warned, self._has_replaced = False, False
        self._tail = b""
        """The text before the end that was met last: if it is another one by now, the file was written anew."""

    def version(self) -> str:
        return kconnect.CONNECT_VERSION

    def start(self, props: dict[str, str]) -> None:
        config = CONFIG.parse(props)
        self._name: str = config[FILE]
        if not self._name:
            raise ConnectError(
                "The setting `file` is missing: a task in a Spark executor has no standard input to read. Set it to the "
                "path of a file on the executors' machines."
            )
        # Opening a pipe would wait for a writer, and nothing could stop that.
        self._opener = HostFiles(self.worker).opener(FILE, os.O_NONBLOCK)
        self._topic: str = config[TOPIC]
        # Any number is valid in Connect; with none a poll, the task would spin without ever getting on.
        self._batch_size: int = max(1, config[BATCH_SIZE])
        self._partition = {FILENAME: self._name}
        stored = self.context.offsets.offset(self._partition)
        if stored is not None:
            position = stored.get(POSITION)
            if not isinstance(position, int) or isinstance(position, bool) or position < 0:
                raise ConnectError(
                    f"The stored offset of {self._name} has no valid position: {position!r}. Reset this connector's offsets, "
                    "or set `position` to a number of bytes."
                )
            self._position = position

    def stop(self) -> None:
        """Wake `poll`, which may be reading. The file closes when the framework drops the task."""
        self._stopped.set()

    def poll(self) -> list[SourceRecord] | None:
        if self._next == len(self._texts) and not self._read():
            return None
        batch = slice(self._next, self._next + self._batch_size)
        texts, ends = self._texts[batch], self._ends[batch]
        self._next += len(texts)
        # Copies of one record: its constructor would take twice as long, a fifth of what the whole way to Kafka takes.
        first = SourceRecord(self._partition, None, self._topic, None, None, None, STRING_SCHEMA, None, int(time.time() * 1000))
        records = [first.copy() for _ in texts]
        for record, text, end in zip(records, texts, ends):
            record.value, record.source_offset = text, {POSITION: end}
        return records

    def _read(self) -> bool:
        """Have whole lines in `_texts`; False if there are none for now, after waiting for a while."""
        try:
            if self._file is None and not self._open():
                self._stopped.wait(_IDLE_S)
                return False
            return self._read_on()
        except OSError as error:
            raise ConnectError(
                f"The setting `file` names {self._name}, which can't be read: {error.strerror}. Name a file that the user of "
                "the Spark executors may read."
            ) from error

    def _read_on(self) -> bool:
        assert self._file is not None
        change = ""
        while not self._stopped.is_set():
            block = self._file.read(_BLOCK)
            if block and self._tail and not self._is_before(self._file, len(block)):
                self._begin_anew("was truncated, and has grown again")
                return False
            if block:
                self._tail = b""
                self._pause_s = min(_SOON_S, _IDLE_S)
                if self._split(block):
                    return True
            elif change:
                self._begin_anew(change)
                return False
            else:
                # A file that was moved away may have got its last lines just before: it is read once more.
                change = self._what_changed(self._file)
                if not change:
                    self._tail = os.pread(self._file.fileno(), _TAIL, max(0, self._file.tell() - _TAIL))
                    self._stopped.wait(self._pause_s)
                    self._pause_s = min(2 * self._pause_s, _IDLE_S)
                    return False
        return False

    def _split(self, block: bytes) -> bool:
        """Take the next bytes of the file; False if no line ends in them."""
        rest = self._rest
        if not (b"\n" in block or b"\r" in block or (rest and rest[-1].endswith(b"\r"))):
            # Not joined yet: a line of many blocks would be copied as many times.
            rest.append(block)
            if len(rest) > _MOST_BLOCKS:
                # What has come little by little takes no more than this; and nobody knows yet whether the line ever ends.
                rest[:] = [b"".join(rest)]
            if len(rest[0]) > _LONGEST:
                raise ConnectError(
                    f"{self._name} has a line of more than {_LONGEST} bytes, from position {self._position} on, which would "
                    "take the memory of all that runs here. Make shorter lines, or set a later position (kconnect offsets set)"
                )
            return False
        # bytes.splitlines knows LF, CR and CRLF only, as Java's readers do. A CR at the very end may be half a CRLF.
        lines = b"".join((*rest, block)).splitlines(keepends=True)
        self._rest = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        if not lines:
            return False
        data = b"".join(lines)
        if b"\r" in data:
            texts = [self._decoded(line[: -2 if line.endswith(b"\r\n") else -1]) for line in lines]
        else:
            # Twice as quick, and the same: an LF is never a part of another character.
            texts = self._decoded(data).split("\n")
            texts.pop()
        ends = itertools.accumulate(map(len, lines), initial=self._position)
        next(ends)
        self._texts, self._ends, self._next = texts, list(ends), 0
        self._position += len(data)
        return True

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            if not self._has_replaced:
                self._has_replaced = True
                log.warning(
                    "%s has bytes that are no UTF-8, in or behind the line at position %d (%s): as in Connect, records have "
                    "U+FFFD in their place",
                    self._name,
                    self._position + data.rfind(b"\n", 0, error.start) + 1,
                    error.reason,
                )
            return data.decode("utf-8", "replace")

    def _is_before(self, file: IO[bytes], count: int) -> bool:
        """Whether what stood before these bytes, which are behind an end that was met, still stands there."""
        end = file.tell() - count
        return os.pread(file.fileno(), len(self._tail), end - len(self._tail)) == self._tail

    def _open(self) -> bool:
        try:
            self._file = open(self._name, "rb", buffering=0, opener=self._opener)  # noqa: SIM115 - kept open for the next poll
        except FileNotFoundError:
            if not self._warned:
                self._warned = True
                log.warning("The file %s does not exist; waiting for it", self._name)
            self.context.waits_for(f"the file {self._name}, which does not exist")
            return False
        self._warned = False
        self.context.waits_for(None)
        status = os.fstat(self._file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ConnectError(
                f"The setting `file` names {self._name}, which is not a regular file: a pipe or a device has no positions to "
                "return to. Name a file."
            )
        self._inode = status.st_ino
        if self._position > status.st_size:
            log.warning("%s is shorter than the stored position %d: reading it from its start", self._name, self._position)
            self._position = 0
        self._file.seek(self._position)
        self._rest, self._tail = [], b""
        log.info("Reading %s from position %d", self._name, self._position)
        return True

    def _what_changed(self, file: IO[bytes]) -> str:
        """Return, at the end of the file, why nothing more can come in it; an empty text if something may."""
        try:
            status = os.stat(self._name)
        except FileNotFoundError:
            return "was removed"
        if status.st_ino != self._inode:
            return "was replaced"
        return "was truncated" if status.st_size < file.tell() else ""

    def _begin_anew(self, change: str) -> None:
        log.warning("%s %s: reading it from its start", self._name, change)
        if size := sum(map(len, self._rest)):
            log.warning(
                "The last %d bytes of what %s was, from position %d on, were no whole line", size, self._name, self._position
            )
        if self._file is not None:
            self._file.close()
        self._file = None
        self._position, self._rest, self._tail = 0, [], b""
