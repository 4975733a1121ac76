"""
Files: those of one partition of Kafka that are not whole yet, and when they are.

All files of a partition become whole together, after so many records, before a time that is too late, or before another schema.
So the offset behind them can be committed, and a task that begins there again makes the same files with the same names, which
replace those that are there. Held by `task.py`. Read next: `partitioners.py`, `formats.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kconnect.api import DataError, Schema, TopicPartition
from kconnect.connectors import names
from kconnect.connectors.objects import formats, projection, settings
from kconnect.connectors.objects.formats import Writer
from kconnect.connectors.objects.partitioners import Partitioner
from kconnect.connectors.objects.spool import Folder
from kconnect.connectors.slices import Slice

Bad = tuple[int, Exception]

_IN_FOLDERS = ("file://", "webhdfs://", "swebhdfs://")
"""Stores whose files are in folders, and not under one name that has slashes."""
_WITHOUT_COLONS = ("webhdfs://", "swebhdfs://")
_AROUND = 8
"""So many bytes stores have around the name of a file that is not whole yet, as in .x.json.part, and x.json#1."""


class _Begin:
    """
    When files begin: at the time of their first record, or of a later one once most records are earlier by an interval.

    Else whoever writes one record with a time to come holds back those of all others, whose files would never end.
    """

    def __init__(self) -> None:
        self._time: int | None = None
        self._near = self._earlier = 0

    def is_over(self, time: int, interval: int) -> bool:
        """Whether a record of that time is too late for the files. If not, it counts."""
        if self._time is None:
            self._time = time
        if time - self._time >= interval:
            return True
        if self._time - time < interval:
            self._near += 1
        else:
            self._earlier += 1
            if self._earlier > self._near:
                self._time, self._near, self._earlier = time, self._earlier, 0
        return False


class Files:
    """`others` says whether a topic is another one that the connector reads, and so has files of its own."""

    def __init__(
        self,
        config: Mapping[str, Any],
        partitioner: Partitioner,
        place: TopicPartition,
        others: Callable[[str], bool] = lambda topic: False,
    ) -> None:
        self._config, self._partitioner, self._place, self._others = config, partitioner, place, others
        self._count: int = config[settings.COUNT]
        self._interval: int = config[settings.INTERVAL]
        self._bytes: int = config[settings.BYTES]
        self._most: int = config[settings.MOST_FILES]
        prefix = config[settings.STORE].partition("://")[2].partition("?")[0].partition("/")[2].strip("/")
        self._prefix = f"{prefix}/" if prefix else ""
        """What the store has before each name."""
        self._compatibility: str = config[settings.COMPATIBILITY].lower()
        self._folder: Folder | None = None
        self._writers: dict[tuple[str, str], tuple[Writer, str, Path]] = {}
        self._empty: set[Path] = set()
        """Files without records: all that were for them are bad."""
        self._records = 0
        self._begin = _Begin()
        self._schema: Schema | None = None
        self.next = -1
        """The offset behind the last record that was taken."""
        self.whole: list[tuple[str, Path]] = []
        """Names and files that are to be sent."""
        self.safe = -1
        """The offset behind what has been sent; -1 if nothing was."""

    @property
    def committed(self) -> int | None:
        """The offset that may be committed; None if that is what was before."""
        if not self.whole and not self._records:
            return self.next if self.next >= 0 else None
        return self.safe if self.safe >= 0 else None

    def take(self, some: Slice) -> tuple[int, list[Bad]]:
        """
        Take records until the files are whole. How many were taken, and the offsets of those that are bad. If it is fewer than
        there are, `whole` has files that are to be sent first.
        """
        if self._records and some.value.schema is not self._schema and some.value.schema != self._schema:
            fitting = projection.together(some.value, self._schema, self._compatibility)
            if fitting is None:
                self.finish()
                return 0, []
            some = Slice(some.topic, fitting, some.offsets, some.timestamps)
        self._schema = some.value.schema
        some = some.cut(0, min(len(some), self._count - self._records))
        times = self._partitioner.times(some.value, lambda: some.timestamps) if self._has_times else [0] * len(some)
        end = self._end(times)
        if end == 0:
            self.finish()
            return 0, []
        some, times = some.cut(0, end), times[:end]
        folders = self._partitioner.folders(some.value, self._place.partition, times)
        end = self._room(some.topic, folders)
        if end == 0:
            self.finish()
            return 0, []
        some, folders = some.cut(0, end), folders[:end]
        bad = self._write(some, folders)
        self.next = some.offsets[-1] + 1
        self._records += len(some)
        if self._records >= self._count or 0 < self._bytes <= self._size():
            self.finish()
        return len(some), bad

    @property
    def _has_times(self) -> bool:
        return self._partitioner.by_time or self._interval > 0

    def _end(self, times: Sequence[int | Exception]) -> int:
        """Return how many records come before one that is too late."""
        if self._interval <= 0:
            return len(times)
        for at, time in enumerate(times):
            if isinstance(time, Exception):
                continue
            if self._begin.is_over(time, self._interval):
                return at
        return len(times)

    def _room(self, topic: str, folders: Sequence[str | Exception]) -> int:
        """Return how many records come before one that would open too many files."""
        if len(self._writers) + len(set(folders)) <= self._most:
            return len(folders)
        opened = set(self._writers)
        for at, folder in enumerate(folders):
            if not isinstance(folder, Exception):
                opened.add((topic, folder))
            if len(opened) > self._most:
                return at
        return len(folders)

    def _write(self, some: Slice, folders: Sequence[str | Exception]) -> list[Bad]:
        bad: list[Bad] = []
        places: dict[str, list[int]] = {}
        if folders.count(folders[0]) == len(folders) and not isinstance(folders[0], Exception):
            return self._append(folders[0], some)
        for at, folder in enumerate(folders):
            if isinstance(folder, Exception):
                bad.append((some.offsets[at], folder))
            else:
                places.setdefault(folder, []).append(at)
        for folder, every in places.items():
            bad += self._append(folder, some.only(every))
        return sorted(bad, key=lambda item: item[0])

    def _append(self, folder: str, some: Slice) -> list[Bad]:
        """Append records to a file, by halves if one of them does not fit."""
        try:
            writer, _, path = self._writer(some, folder)
            writer.write(some.value)
            self._empty.discard(path)
        except formats.MISFITS as error:
            if len(some) == 1:
                return [
                    (
                        some.offsets[0],
                        error if isinstance(error, DataError) else DataError(f"It does not fit the file: {error}"),
                    )
                ]
            half = len(some) // 2
            return [*self._append(folder, some.cut(0, half)), *self._append(folder, some.cut(half, len(some)))]
        return []

    def _writer(self, some: Slice, folder: str) -> tuple[Writer, str, Path]:
        """
        Return the writer of a folder. The first record names the file, and be it a bad one: so the name is the same whichever
        records come together.
        """
        opened = self._writers.get((some.topic, folder))
        if opened is None:
            name = self._name(some, folder)
            if self._folder is None:
                self._folder = Folder(self._config[settings.SPOOL])
            path = self._folder.path / f"{len(self._writers)}-{some.offsets[0]}"
            writer = formats.opened(self._config, path, some.value.schema)
            opened = self._writers[some.topic, folder] = (writer, name, path)
            self._empty.add(path)
        return opened

    def _name(self, some: Slice, folder: str) -> str:
        if "/" in some.topic:
            raise DataError(f"{names.shown(some.topic)} can't be a folder: its slashes would lead into folders of other topics")
        if some.topic != self._place.topic and self._others(some.topic):
            raise DataError(
                f"its topic has become {names.shown(some.topic)}, which the connector reads, too: its file could replace one "
                "of that topic's own records"
            )
        slash, plus = self._config[settings.SLASH], self._config[settings.PLUS]
        offset = str(some.offsets[0]).zfill(self._config[settings.PAD])
        file = f"{some.topic}{plus}{self._place.partition}{plus}{offset}{formats.extension(self._config)}"
        in_folders = self._config[settings.STORE].startswith(_IN_FOLDERS)
        if ":" in folder and not self._partitioner.by_time and self._config[settings.STORE].startswith(_WITHOUT_COLONS):
            raise DataError(f"{names.shown(folder)} can't be a folder: HDFS takes no colon in names")
        names.check_file(f"{some.topic}/{file}", in_folders, around=_AROUND)
        names.check_file(folder, in_folders, empty=True)
        path = str(slash).join(filter(None, (self._config[settings.FOLDER], some.topic, folder, file)))
        if not in_folders:
            names.check_key(self._prefix + path)
        return path

    def _size(self) -> int:
        return sum(writer.size() for writer, _, _ in self._writers.values())

    def finish(self) -> None:
        """The files are whole, and wait to be sent."""
        for writer, name, path in self._writers.values():
            writer.close()
            if path in self._empty:
                path.unlink()
            else:
                self.whole.append((name, path))
        if not self.whole:
            self.safe = self.next
        self._writers, self._records, self._begin = {}, 0, _Begin()

    def sent(self, path: Path) -> None:
        """The first of those that were to be sent is in the store."""
        self.whole.pop(0)
        path.unlink()
        if not self.whole:
            self.safe = self.next

    def drop(self) -> None:
        """Forget all that was not sent."""
        for writer, _, _ in self._writers.values():
            writer.close()
        if self._folder is not None:
            self._folder.drop()
        self._writers, self.whole, self._folder = {}, [], None
