"""
FileStreamSource: the lines of a file, as records.

Connect's own example connector with its configs and its offsets, `{"filename": …}` → `{"position": n}`. `position` counts
bytes, where Connect's counts characters but skips bytes: for ASCII both are the same, for other text ours comes back to the
right place. Followed is what grows; a missing file is waited for; a truncated or replaced one is read from its start.
Where a line goes next: `worker/source_task.py`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, Importance, NonEmptyString, Type
from kconnect.api.connector import ExactlyOnceSupport, SourceConnector
from kconnect.api.errors import ConnectError
from kconnect.api.record import SourceRecord
from kconnect.api.schema import STRING_SCHEMA
from kconnect.api.task import SourceTask

log = logging.getLogger(__name__)

FILE, TOPIC, BATCH_SIZE = "file", "topic", "batch.size"
FILENAME, POSITION = "filename", "position"

CONFIG = ConfigDef(
    ConfigKey(FILE, Type.STRING, None, Importance.HIGH, "The file to read, as the executors' machines name it."),
    ConfigKey(TOPIC, Type.STRING, importance=Importance.HIGH, doc="The topic.", validator=NonEmptyString()),
    ConfigKey(BATCH_SIZE, Type.INT, 2000, Importance.LOW, "The most lines that one poll gives."),
)

_IDLE_S = 1.0
_BLOCK = 256 * 1024


class FileStreamSourceConnector(SourceConnector):
    def version(self) -> str:
        return metadata.version("kconnect")

    def start(self, props: dict[str, str]) -> None:
        CONFIG.parse(props)
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SourceTask]:
        return FileStreamSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """One task, whatever is allowed: a file has one reader."""
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
            if partition is not None and FILENAME not in partition:
                raise ConnectError("Partition objects should contain the key 'filename'")
            if offset is None:
                continue
            position = offset.get(POSITION)
            if not isinstance(position, int) or isinstance(position, bool):
                raise ConnectError("The value for the 'position' key in the offset is expected to be a Long value")
            if position < 0:
                raise ConnectError("The value for the 'position' key in the offset should be a non-negative value")
        return True


class FileStreamSourceTask(SourceTask):
    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._file: Any = None
        self._inode = -1
        self._position = 0
        """Where the first byte that no record holds yet lies in the file; `_rest` begins there."""
        self._rest = b""
        self._lines: list[bytes] = []
        self._next = 0
        self._warned = False

    def version(self) -> str:
        return metadata.version("kconnect")

    def start(self, props: dict[str, str]) -> None:
        config = CONFIG.parse(props)
        self._name: str = config[FILE]
        if not self._name:
            raise ConnectError(
                "The setting `file` is missing: a task in a Spark executor has no standard input to read. Set it to the "
                "path of a file on the executors' machines."
            )
        self._topic: str = config[TOPIC]
        # Any number is valid in Connect; with none a poll, the task would spin without ever getting on.
        self._batch_size: int = max(1, config[BATCH_SIZE])
        self._partition = {FILENAME: self._name}
        stored = self.context.offsets.offset(self._partition)
        if stored is not None:
            position = stored.get(POSITION)
            if not isinstance(position, int) or position < 0:
                raise ConnectError(f"The stored offset of {self._name} is not a position: {position!r}")
            self._position = position

    def stop(self) -> None:
        self._stopped.set()

    def poll(self) -> list[SourceRecord] | None:
        if self._next == len(self._lines) and not self._read():
            return None
        first = self._next
        self._next = min(first + self._batch_size, len(self._lines))
        records: list[SourceRecord] = []
        append = records.append
        partition, topic, schema = self._partition, self._topic, STRING_SCHEMA
        now = int(time.time() * 1000)
        position = self._position
        for line in self._lines[first : self._next]:
            position += len(line)
            text = line[:-2] if line[-2:] == b"\r\n" else line[:-1]
            append(
                SourceRecord(
                    partition,
                    {POSITION: position},
                    topic,
                    None,
                    None,
                    None,
                    schema,
                    text.decode("utf-8", "replace"),
                    now,
                )
            )
        self._position = position
        return records

    def _read(self) -> bool:
        """Have whole lines in `_lines`; False after waiting for a while in vain."""
        if self._stopped.is_set():
            return False
        if self._file is None and not self._open():
            self._stopped.wait(_IDLE_S)
            return False
        block = self._file.read(_BLOCK)
        if not block:
            if self._is_still_there():
                self._stopped.wait(_IDLE_S)
            return False
        # bytes.splitlines knows LF, CR and CRLF only, as Java's readers do. A CR at the very end may be half a CRLF.
        lines = (self._rest + block).splitlines(keepends=True)
        self._rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
        self._lines, self._next = lines, 0
        return bool(lines)

    def _open(self) -> bool:
        try:
            self._file = open(self._name, "rb", buffering=0)  # noqa: SIM115 - kept open from poll to poll
        except FileNotFoundError:
            if not self._warned:
                self._warned = True
                log.warning("The file %s does not exist; waiting for it", self._name)
            return False
        except OSError as error:
            raise ConnectError(
                f"The setting `file` names {self._name}, which can't be read: {error.strerror}. Name a file that the user of "
                "the Spark executors may read."
            ) from error
        self._warned = False
        found = os.fstat(self._file.fileno())
        self._inode = found.st_ino
        if self._position > found.st_size:
            log.warning("%s is shorter than the stored position %d: reading it from its start", self._name, self._position)
            self._position = 0
        self._file.seek(self._position)
        self._rest = b""
        log.info("Reading %s from position %d", self._name, self._position)
        return True

    def _is_still_there(self) -> bool:
        """At the end of the file: whether more is to be waited for, and not begun anew."""
        try:
            found = os.stat(self._name)
        except FileNotFoundError:
            found = None
        if found is not None and found.st_ino == self._inode and found.st_size >= self._file.tell():
            return True
        what = "was removed" if found is None else "was replaced" if found.st_ino != self._inode else "was truncated"
        log.warning("%s %s: reading it from its start", self._name, what)
        self._file.close()
        self._file = None
        self._position, self._rest = 0, b""
        return False
