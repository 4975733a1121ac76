"""
StagingTask: makes rows as SparkSink does, and writes them to files beside the tables, of which `copies.py` makes one commit.

For a first copy (`backfill/range_into.py`), which is read by many tasks at once. It is SparkSink's own task, with something in
the place of the Spark application that takes what is to be committed. A file has the name of its content, so one that is
written again is the same one, and whoever was given up for dead replaces none. Read next: `copies.py`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kconnect.api import ConnectError
from kconnect.connectors.groups import Group
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.lake.columns import union
from kconnect.connectors.patterns import Pattern
from kconnect.connectors.spark import settings
from kconnect.connectors.spark.application import Answer
from kconnect.connectors.spark.lake import SparkLake
from kconnect.connectors.spark.task import SparkSinkTask

MARK = "deleted ="
"""The column that says whether a row is deleted: no table can have one of this name."""
HEAD = b"kconnect"
"""What a file says of its table."""
KEPT = ("table", "format", "where", "partitions", "ids", "order", "creates", "widens")
_END, _PIECE = 8, 1 << 20
"""Behind what a file of Parquet says of itself is how long that is, and four letters."""
_OVER = {settings.NAMES.interval: str(2**31 - 1), settings.MAINTENANCE: "0", "tasks.max": "1"}
"""Nothing is written before it is asked for, but where there is no more room for rows."""


class Staged(NamedTuple):
    """A file, how many rows it has, and its digest."""

    name: str
    rows: int
    digest: str


@dataclass
class _Table:
    """A table as it would be by now."""

    schema: pa.Schema
    partitions: Sequence[Any]
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)


class Stager:
    """Answers as the Spark application does, and writes what is to be committed into files in a `folder`."""

    def __init__(self, folder: Path, files: HostFiles, setting: str) -> None:
        self._folder, self._files, self._setting = folder, files, setting
        self._tables: dict[str, _Table] = {}
        self._staged: list[Staged] = []
        self._label = ""

    def begin(self, label: str) -> None:
        """Note what the next files are of: those of other rows with the same content have other names."""
        self._label = label

    def take(self) -> list[Staged]:
        """Return the files that were written since it was asked last."""
        staged, self._staged = self._staged, []
        return staged

    def end_if_silent(self, longest_s: float, setting: str) -> None:
        """Do nothing: it answers at once."""

    def ask(self, head: dict[str, Any], rows: pa.Buffer | None = None) -> Future[Answer]:
        """Answer; ConnectError if a file can't be written."""
        name, outcome = head["table"], "there"
        if head["do"] == "write" and rows is not None:
            self._write(name, head, pa.ipc.open_stream(rows).read_all())
            outcome = "committed"
        table, answer = self._tables.get(name), Future[Answer]()
        if table is None:
            answer.set_result(Answer(outcome, None, None))
        else:
            columns = [column for column, _ in table.partitions]
            there = {"identity": "staged", "columns": columns, "offsets": table.offsets, "ids": {}}
            answer.set_result(Answer(outcome, there, table.schema))
        return answer

    def _write(self, name: str, head: dict[str, Any], rows: pa.Table) -> None:
        if head["empties"]:
            raise ConnectError(f"A record says that the table {name} was emptied, which is no part of a first copy")
        if head["mark"] is not None:
            rows = rows.rename_columns([*rows.column_names[:-1], MARK])
        columns = pa.schema([column for column in rows.schema if column.name != MARK])
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _Table(columns, head["partitions"])
        table.schema = union(table.schema, columns)
        for topic, partition, end in head["ends"]:
            table.offsets.setdefault(topic, {})[str(partition)] = end
        if len(rows):
            text = json.dumps({**{kept: head[kept] for kept in KEPT}, "partitions": table.partitions}, sort_keys=True)
            self._staged.append(self._file(rows.replace_schema_metadata({HEAD: text})))

    def _file(self, rows: pa.Table) -> Staged:
        """Write a file."""
        named = hashlib.sha256(f"{self._label}\0{len(self._staged)}\0".encode())
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, compression="zstd")
        content = memoryview(sink.getvalue())
        named.update(content)
        name = f"{named.hexdigest()[:40]}.parquet"
        try:
            self._files.check(self._setting, str(self._folder))
            self._folder.mkdir(parents=True, exist_ok=True)
            folder = self._files.check(self._setting, str(self._folder))
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(file.name, os.path.join(folder, name))
            _sync(folder)
        except OSError as error:
            raise ConnectError(f"The folder {self._folder} ({self._setting}) can't be written to: {error.strerror}") from None
        return Staged(name, len(rows), digest(io.BytesIO(content)))


def digest(file: BinaryIO) -> str:
    """
    Return what tells a staged file from others: its size, and what it says of itself and of its columns. The rows are not
    read for it, which may be very many.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _END, 0))
    length = int.from_bytes(file.read(_END)[:4], "little")
    file.seek(max(size - _END - length, 0))
    found = hashlib.sha256(f"{size}\0".encode())
    while piece := file.read(_PIECE):
        found.update(piece)
    file.seek(0)
    return found.hexdigest()


def _sync(folder: str) -> None:
    """Have the names of a folder on the disk: an offset is stored next that relies on them."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _StagingLake(SparkLake):
    def head(self, name: str) -> dict[str, Any]:
        return {**super().head(name), "table": name}


class StagingTask(SparkSinkTask):
    """
    `make` it with a folder, and with the name of its setting. What was put is in files once `seal` has returned them.
    RetriableError from `put` means that it has to begin anew.
    """

    def __init__(self, folder: Path, setting: str) -> None:
        super().__init__()
        self._folder, self._setting = folder, setting
        self._topics: Sequence[str] = ()
        self._pattern: Pattern | None = None
        self._known: set[str] = set()
        self._label = ""

    def start(self, props: dict[str, str]) -> None:
        self._topics = [topic.strip() for topic in props.get("topics", "").split(",") if topic.strip()]
        self._pattern = Pattern(props["topics.regex"]) if props.get("topics.regex") else None
        super().start({**props, **_OVER})

    def made_lake(self) -> SparkLake:
        self._stager = Stager(self._folder, HostFiles(self.worker), self._setting)
        self._stager.begin(self._label)
        self._spark: Any = self._stager
        self._longest_s = 0.0
        return _StagingLake(self._config, self._props, self.worker, self._stager.ask, lambda answer: answer.result())

    def _put(self, groups: Sequence[Group]) -> None:
        for group in groups:
            for topic in set(group.origins.every("original_topic")) - self._known:
                if topic not in self._topics and not (self._pattern is not None and self._pattern.fullmatch(topic)):
                    raise ConnectError(
                        f"The sink does not read the topic {topic}, by its topics or topics.regex, so its table would have the "
                        "copy and no change after it. Have it read the topic, and begin anew"
                    )
                self._known.add(topic)
        super()._put(groups)

    def begin(self, label: str) -> None:
        """Note what comes next, such as a range: of the same rows with the same label the same files are made."""
        self._label = label
        if self._is_reached:
            self._stager.begin(label)

    def seal(self) -> list[Staged]:
        """Write all that was put, and return the files that have been written since the last time."""
        while self._pending.tables:
            # Once to have rows written, and once to see that they are.
            self._commit()
        return self._stager.take()
