"""
FileStreamSink: records, as the lines of a file.

Connect's own example connector. Where a record comes from: `worker/sink_task.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import metadata
from typing import IO, Any

from kconnect.api.config import ConfigDef, ConfigKey, Importance, Type
from kconnect.api.connector import SinkConnector
from kconnect.api.errors import ConnectError
from kconnect.api.record import OffsetAndMetadata, SinkRecord, TopicPartition
from kconnect.api.task import SinkTask
from kconnect.api.values import to_text

FILE = "file"

CONFIG = ConfigDef(
    ConfigKey(FILE, Type.STRING, None, Importance.HIGH, "The file to append to; without it, standard output."),
)


class FileStreamSinkConnector(SinkConnector):
    def version(self) -> str:
        return metadata.version("kconnect")

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SinkTask]:
        return FileStreamSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """All tasks append to the same file, each the records of its own partitions."""
        return [dict(self._props) for _ in range(max_tasks)]

    def config(self) -> ConfigDef:
        return CONFIG

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return True


class FileStreamSinkTask(SinkTask):
    def __init__(self) -> None:
        self._file: IO[bytes] | Any = None

    def version(self) -> str:
        return metadata.version("kconnect")

    def start(self, props: dict[str, str]) -> None:
        name = CONFIG.parse(props)[FILE]
        if not name:
            self._file = sys.stdout.buffer
            return
        try:
            # Unbuffered and in append mode: one put is one write, which does not mix with those of other tasks.
            self._file = open(name, "ab", buffering=0)  # noqa: SIM115 - kept open until stop
            self._end_torn_line(name)
        except OSError as error:
            raise ConnectError(f"The setting `file` names {name}, which can't be written: {error.strerror}") from error

    def _end_torn_line(self, name: str) -> None:
        """A writer that was killed may have left half a line, which must not swallow the one that comes again."""
        with open(name, "rb") as file:
            if file.seek(0, 2) and file.seek(-1, 2) is not None and file.read(1) != b"\n":
                self._file.write(b"\n")

    def put(self, records: list[SinkRecord]) -> None:
        if not records:
            return
        lines = [
            record.value if type(record.value) is str else to_text(record.value, record.value_schema) for record in records
        ]
        # Half a surrogate pair has no UTF-8; Java puts a question mark too.
        data = memoryview(("\n".join(lines) + "\n").encode("utf-8", "replace"))
        while data:
            # A raw write may take less than all.
            data = data[self._file.write(data) :]

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
