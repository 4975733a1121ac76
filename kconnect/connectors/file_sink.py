"""
FileStreamSink: records, as the lines of a file.

Connect's own example connector. Where a record comes from: `core/task/sink_pump.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

import kconnect
from kconnect.api.config import ConfigDef, ConfigKey, Importance, Type
from kconnect.api.connector import SinkConnector
from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.api.task import SinkBatch, SinkTask
from kconnect.connectors.common import MISFITS, bad_record
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.libraries import Informed
from kconnect.data.column import Column
from kconnect.data.values import column_texts, to_text
from kconnect.errors import ConnectError, DataError

FILE = "file"

_SETTLED_S = 0.1

CONFIG = ConfigDef(
    ConfigKey(FILE, Type.STRING, None, Importance.HIGH, "The file to append to; without it, standard output."),
)


class FileStreamSinkConnector(SinkConnector):
    def version(self) -> str:
        return kconnect.CONNECT_VERSION

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """Do nothing: the connector holds nothing."""

    def task_class(self) -> type[SinkTask]:
        return FileStreamSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """All tasks append to the same file, each the records of its own partitions."""
        return [dict(self._props) for _ in range(max_tasks)]

    def config(self) -> ConfigDef:
        return CONFIG

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return True


class FileStreamSinkTask(Informed, SinkTask):
    reports_in_put_only = takes_batches_with_headers = True

    def __init__(self) -> None:
        self._file: IO[bytes] | Any = None
        self._name: str | None = None
        self._shared = False
        """Whether the file has this task's mark, by which others see that they don't have it alone."""

    def version(self) -> str:
        return kconnect.CONNECT_VERSION

    def start(self, props: dict[str, str]) -> None:
        name = self._name = CONFIG.parse(props)[FILE]
        if not name:
            self._file = sys.stdout.buffer
            return
        try:
            # Unbuffered and in append mode: one put is one write, which does not mix with those of other tasks.
            # And a pipe that nobody reads is an error: its opening would wait, and nothing could stop that.
            opener = HostFiles(self.worker).opener(FILE, os.O_NONBLOCK)
            self._file = open(name, "ab", buffering=0, opener=opener)  # noqa: SIM115 - kept open until stop
            os.set_blocking(self._file.fileno(), True)
            with contextlib.suppress(OSError):  # Not all file systems have locks.
                fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                self._shared = True
            self._end_torn_line(name)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> ConnectError:
        return ConnectError(
            f"The setting `file` names {self._name or 'nothing, so standard output'}, which can't be written: "
            f"{error.strerror}. Name a file with room, in a directory that the user of the Spark executors may write to."
        )

    def _end_torn_line(self, name: str) -> None:
        """A writer that was killed may have left half a line, which must not swallow the one that comes again."""
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode) or not os.access(name, os.R_OK):
            return
        with open(name, "rb", buffering=0, opener=HostFiles(self.worker).opener(FILE)) as file:
            size = -1
            # Half a line that grows is the middle of another task's write, which ends it itself.
            while (grown := file.seek(0, os.SEEK_END)) != size:
                size = grown
                if not size or os.pread(file.fileno(), 1, size - 1) == b"\n":
                    return
                time.sleep(_SETTLED_S)
        self._file.write(b"\n")

    def put(self, records: list[SinkRecord]) -> None:
        if not records:
            return
        values, schemas = [record.value for record in records], [record.value_schema for record in records]
        try:
            if schemas.count(schemas[0]) == len(schemas):
                lines = column_texts(Column(schemas[0], values))
            else:
                lines = [to_text(value, schema) for value, schema in zip(values, schemas)]
        except MISFITS:  # One by one it shows which.
            lines = self._lines(records)
        self._write(lines)

    def put_batch(self, batch: SinkBatch) -> None:
        try:
            lines = column_texts(batch.value)
        except MISFITS:
            lines = self._lines(batch.records())
        self._write(lines)

    def _lines(self, records: Sequence[SinkRecord]) -> list[str]:
        """The lines of all records that have a text; the others, such as values nested too deeply, are reported."""
        lines = []
        for record in records:
            try:
                lines.append(to_text(record.value, record.value_schema))
            except MISFITS as error:
                problem = DataError(f"it has no text: {type(error).__name__}")
                reporter = self.context.errant_record_reporter()
                if reporter is None:
                    raise bad_record(record, problem) from error
                reporter.report(record, problem)
        return lines

    def _write(self, lines: list[str]) -> None:
        # Half a surrogate pair has no UTF-8; Java puts a question mark too.
        if not lines:
            return
        data = memoryview("\n".join([*lines, ""]).encode("utf-8", "replace"))
        written = writes = 0
        try:
            while written < len(data):
                # A raw write may take less than all.
                written += self._file.write(data[written:])
                writes += 1
        except OSError as error:
            if writes == 1 and self._shared:
                with contextlib.suppress(OSError):
                    self._cut_back(written)
            raise self._unwritable(error) from error

    def _cut_back(self, written: int) -> None:
        """
        Take back what a full disk left of a put, half a line at its end: all of it comes again. Only if this task has the file
        alone, and nothing is behind.
        """
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            about = os.fstat(self._file.fileno())
            if stat.S_ISREG(about.st_mode) and about.st_size == self._file.tell():
                self._file.truncate(about.st_size - written)
        fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def flush(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        """
        The system has had the data since `put`, so it survives this process; that is what offsets promise here.

        There is no fsync, as in Connect: it would guard against a loss of power only, and cost more than all the rest.
        """
        if self._file is not None:
            self._file.flush()

    def stop(self) -> None:
        if self._file is not None and self._file is not sys.stdout.buffer:
            self._file.close()
