"""
ObjectStoreSourceTask: the records of the task's share of the files, each file once, whatever its name and its age.

A file is fetched whole, and read piece by piece. How far is its own offset, so files may come in any order, and go. Started by
`source.py`. Read next: `readers.py`.
"""

from __future__ import annotations

import collections
import datetime
import logging
import re
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, NoReturn

from kconnect.api import ConnectError, RetriableError, SourceRecord
from kconnect.connectors import interrupts, names
from kconnect.connectors.common import Patience, Polling
from kconnect.connectors.host_files import AstrayError
from kconnect.connectors.libraries import Informed
from kconnect.connectors.limits import TooMuchError
from kconnect.connectors.objects import opening, readers, settings, source_settings, spool, stores
from kconnect.connectors.objects.readers import Budget, Rows
from kconnect.connectors.objects.source_settings import FILE, RECORDS, WHOLE
from kconnect.connectors.patterns import LateError

log = logging.getLogger(__name__)

_LONGEST_WAIT_S = 0.5
_MOST_LATE = 10
"""Files whose names take too long to be compared with a pattern; if there are more, the pattern is wrong."""


def backup(plus: str) -> re.Pattern[str]:
    """
    Return the pattern of the names of files that sinks with that `file.delim` write, whatever folder they are in. Other names
    would give topics that Kafka has not, at which the task would fail.
    """
    parts = (r"(?:^|/)(?P<topic>[A-Za-z0-9._-]{1,249})", r"(?P<partition>[0-9]{1,9})", r"(?P<offset>[0-9]{1,20})\.[^/]+$")
    return re.compile(re.escape(plus).join(parts))


class File(NamedTuple):
    """A file that is to be read. The order is that in which files are read."""

    topic: str
    partition: int | None
    order: tuple[Any, ...]
    name: str
    modified: datetime.datetime


class Open(NamedTuple):
    file: File
    copy: BinaryIO
    pieces: Iterator[Rows]


class _Room:
    """A file that takes so many bytes at most, and none once the task is to stop."""

    def __init__(self, room: spool.Room, most: int, stopped: threading.Event) -> None:
        self._room, self._most, self._left, self._stopped = room, most, most, stopped

    def write(self, data: Any) -> int:
        if self._stopped.is_set():
            raise RetriableError("The task is to stop: the file is fetched again when it starts")
        self._left -= len(data)
        if self._left < 0:
            raise TooMuchError(f"it has more than {self._most} bytes, and {source_settings.MAX_FILE} is {self._most}")
        return self._room.write(data)


class ObjectStoreSourceTask(Informed, Polling):
    def __init__(self) -> None:
        super().__init__()
        self._waiting: collections.deque[File] = collections.deque()
        self._known: dict[str, datetime.datetime] = {}
        """Those that wait or were read, of the files that were there when names were last asked for, with their times."""
        self._absent: dict[str, datetime.datetime] = {}
        """
        Files that were listed and not there, with their times: read if they come back with another one. S3 lists what stands
        for a folder, too, which never is there.
        """
        self._open: Open | None = None
        self._opened: stores.Store | None = None
        self._piece: Rows | None = None
        """The next one of the open file: whoever takes the last one is to know that it is."""
        self._trouble: ConnectError | None = None
        """Why there is no next piece, though there should be: told once those before it were taken."""
        self._read = 0
        self._due_at = 0.0

    def interrupt(self) -> None:
        if self._opened is not None:
            interrupts.after_grace(self._opened.interrupt)

    def start(self, props: dict[str, str]) -> None:
        config = self._config = source_settings.CONFIG.parse(props)
        self._store = self._opened = opening.opened(config, props, self.worker)
        self._routes = source_settings.routes(config)
        self._restores = config[source_settings.MODE].upper() == source_settings.RESTORE
        self._restored = source_settings.restored(config)
        self._backup = backup(config[settings.PLUS])
        self._looks_for_any = True
        """Whether no file was seen yet that is one of those that are read, by any task, and nothing was said of that."""
        self._folder: str = config[source_settings.FOLDER].strip("/")
        self._kind = settings.simple(config[settings.FORMAT])
        self._most: int = config[source_settings.BATCH]
        self._interval_s: float = config[source_settings.INTERVAL] / 1000
        self._on_error: str = config[source_settings.ON_ERROR].lower()
        self._patience = Patience(settings.RETRIES, config[settings.RETRIES], config[settings.BACKOFF])
        self._number, self._count = int(props[source_settings.NUMBER]), int(props[source_settings.COUNT])
        if self._restores and self._restored is None and self._number == 0:
            log.warning(
                "The names of files in %s say which topics are written: any but internal ones. Set %s to those that are to be "
                "brought back, if others may put files there",
                self._store.shown,
                source_settings.RESTORED,
            )

    def read(self) -> list[SourceRecord] | None:
        if self._open is None:
            now = time.monotonic()
            if not self._waiting and now < self._due_at:
                self.stopped.wait(min(self._due_at - now, _LONGEST_WAIT_S))
                return None
            try:
                if not self._waiting:
                    self._look()
                if not self._waiting:
                    return None
                self._fetch(self._waiting[0])
            except stores.ERRORS as error:
                self._failed(error)
            self._patience.succeeded()
        return self._take() if self._open is not None else None

    # Files.

    def _look(self) -> None:
        """Look for files that nobody has read yet."""
        self._due_at = time.monotonic() + self._interval_s
        new_files: list[File] = []
        known_files: dict[str, datetime.datetime] = {}
        most: int = self._config[source_settings.MAX_FILES]
        stranger = ""
        late = 0
        for count, listed in enumerate(self._store.names(self._folder, self.stopped.is_set)):
            if self.stopped.is_set():
                return
            if count >= most:
                raise ConnectError(
                    f"There are more than {most} files in {self._store.shown}, and {source_settings.MAX_FILES} is {most}. Set "
                    f"{source_settings.FOLDER} to a folder that has fewer of them"
                )
            if listed.name in self._known and self._absent.get(listed.name) in (None, listed.modified):
                known_files[listed.name] = listed.modified
                if self._known[listed.name] != listed.modified:
                    self._changed(listed)
                continue
            try:
                if self._looks_for_any:
                    self._looks_for_any, stranger = self._target(listed.name) is None, listed.name
                file = self._file(listed)
            except LateError as error:
                late += 1
                if late > _MOST_LATE:
                    raise ConnectError(f"More than {_MOST_LATE} files in {self._store.shown} can't be told: {error}") from None
                log.warning("A file in %s is left alone: %s", self._store.shown, error)
                known_files[listed.name] = listed.modified
                continue
            if file is not None:
                new_files.append(file)
        if self._looks_for_any and stranger:
            self._looks_for_any = False
            plus = f"{settings.PLUS}={self._config[settings.PLUS]}"
            of_backups = f"names have to be those of a sink with {plus}, and of topics that {source_settings.RESTORED} allows"
            remedy = of_backups if self._restores else f"{source_settings.TOPICS} has to match them"
            shown = names.shown(stranger)
            log.warning("None of the files in %s is one that is read, as %s: %s", self._store.shown, shown, remedy)
        offsets = self.context.offsets.offsets([{FILE: file.name} for file in new_files]) if new_files else []
        fresh = [file for file, offset in zip(new_files, offsets) if not (offset and offset.get(WHOLE))]
        # What is not there any more is forgotten: whoever puts files there, and takes them away, must not fill the memory.
        self._known = {**known_files, **{file.name: file.modified for file in new_files}}
        self._absent = {name: modified for name, modified in self._absent.items() if name in known_files}
        self._waiting.extend(sorted(fresh, key=lambda file: file.order))

    def _changed(self, listed: stores.Listed) -> None:
        """Say that a file that is read once has become another one: somebody may write into it, instead of beside it."""
        if listed.name in self._absent or any(waiting.name == listed.name for waiting in self._waiting):
            return
        log.warning(
            "The file %s has changed since it was read: what it has got is not read. Write a file elsewhere, and move it "
            "there once it is whole",
            names.printable(listed.name),
        )

    def _file(self, listed: stores.Listed) -> File | None:
        """Return None for one that is another task's, or nobody's."""
        name = listed.name
        if zlib.crc32(name.encode()) % self._count != self._number:
            return None
        target = self._target(name)
        if target is None:
            return None
        topic, partition, offset = target
        order = (listed.modified, name) if partition is None else (topic, partition, offset, name)
        return File(topic, partition, order, name, listed.modified)

    def _target(self, name: str) -> tuple[str, int | None, int] | None:
        """The topic, partition and offset of a file, by its name; None for one that is not read."""
        if not self._restores:
            topic = next((route.topic for route in self._routes if route.pattern.search(name)), "")
            return (topic, None, 0) if topic else None
        match = self._backup.search(name)
        if match is None or (self._restored is not None and not self._restored.fullmatch(match["topic"])):
            return None
        return match["topic"], int(match["partition"]), int(match["offset"])

    def _fetch(self, file: File) -> None:
        offset = self.context.offsets.offset({FILE: file.name}) or {}
        directory = self._config[settings.SPOOL]
        copy, path = spool.nameless(directory)
        try:
            room: Any = _Room(spool.Room(copy, directory, settings.SPOOL), self._config[source_settings.MAX_FILE], self.stopped)
            self._store.get(file.name, room)
            copy.flush()
        except BaseException as error:
            copy.close()
            if isinstance(error, TooMuchError):
                self._pass_over(file, error)
                return
            if isinstance(error, AstrayError):
                # Somebody has put it there since names were asked for; a file that is there again is listed again.
                log.warning("The file %s is passed over: %s", names.printable(file.name), error)
                self._waiting.popleft()
                self._known.pop(file.name, None)
                return
            if stores.is_absent(error):
                # Somebody has taken it away since names were asked for.
                log.warning("The file %s is not there any more", names.printable(file.name))
                self._waiting.popleft()
                self._absent[file.name] = file.modified
                return
            raise
        self._waiting.popleft()
        self._read = offset.get(RECORDS, 0)
        config, separator = self._config, self._config[settings.SEPARATOR]
        budget = Budget(
            path.stat().st_size,
            config[source_settings.MAX_RECORD],
            config[source_settings.MAX_RATIO],
            config[source_settings.MAX_DEPTH],
            self.stopped.is_set,
        )
        pieces = readers.opened(self._kind, path, file.name, self._read, self._most, separator, budget)
        self._open, self._trouble = Open(file, copy, pieces), None
        self._piece = self._next()
        if self._read and self._piece is None and self._trouble is None:
            log.warning(
                "The file %s has no record behind the %d that its offset says were read: it may be another file now",
                names.printable(file.name),
                self._read,
            )

    def _pass_over(self, file: File, error: TooMuchError) -> None:
        """Leave out a file that is too large to be fetched, if the config says so. ConnectError otherwise."""
        text = f"The file {names.printable(file.name)} can't be read: {error}"
        if self._on_error == "fail":
            raise ConnectError(f"{text}. With {source_settings.ON_ERROR}=log it is passed over.") from None
        if self._on_error == "log":
            log.error("%s. It is passed over", text)
        self.context.passed_over(1)
        self._waiting.popleft()

    def release(self) -> None:
        """The file is over."""
        if self._open is not None:
            self._open.copy.close()
        self._open = self._piece = None

    # Records.

    def _next(self) -> Rows | None:
        """
        Return the next piece. None at the end, also if that is before the file's: then there is trouble, unless that is passed
        over.
        """
        assert self._open is not None
        try:
            return next(self._open.pieces, None)
        except readers.ERRORS as error:
            name, reason = names.printable(self._open.file.name), names.printable(str(error) or type(error).__name__)
            text = f"The file {name} can't be read behind its record {self._read}: {reason}"
            if self._on_error == "fail":
                self._trouble = ConnectError(f"{text}. With {source_settings.ON_ERROR}=log it is passed over.")
            elif self._on_error == "log":
                log.error("%s. What is left of it is passed over", text)
            if self._trouble is None:
                # How many records they are, nobody can tell.
                self.context.passed_over(1)
            return None

    def _take(self) -> list[SourceRecord] | None:
        assert self._open is not None
        piece, file = self._piece, self._open.file
        if piece is None:
            self.release()
            if self._trouble is not None:
                raise self._trouble
            return None
        first = self._read + 1
        self._read += len(piece[1])
        self._piece = self._next()
        records = self._records(file, piece, first)
        if self._piece is None and self._trouble is None:
            records[-1].source_offset = {RECORDS: self._read, WHOLE: True}
            self.release()
        return records

    def _records(self, file: File, piece: Rows, first: int) -> list[SourceRecord]:
        value_schema, values = piece
        template = SourceRecord({FILE: file.name}, None, file.topic, file.partition, None, None, value_schema, None)
        records: Sequence[SourceRecord] = [template.copy() for _ in values]
        for number, (record, value) in enumerate(zip(records, values), first):
            record.value, record.source_offset = value, {RECORDS: number}
        return list(records)

    def _failed(self, error: Exception) -> NoReturn:
        text = f"{self._store.shown} can't be read: {stores.reason(error)}"
        if stores.is_unnameable(error):
            remedy = f"Take that file away, or set {source_settings.FOLDER} to a folder that has no such file."
            raise ConnectError(f"{names.printable(text)}. {remedy}") from None
        if not stores.passes(error):
            raise ConnectError(f"{text}. Check {self._store.setting_of(error)}.") from None
        again, pause_ms = self._patience.failed(text)
        self._due_at = time.monotonic() + pause_ms / 1000
        raise again from None
