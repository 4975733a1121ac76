"""
Local files of tasks: what others send leaves room on the disk for others, and what a process leaves behind goes away.

How much is in a local file, whoever writes records or files decides; connectors share the disk, and a host that is killed
cleans up nothing. Used by `files.py`, `source_task.py` and `iceberg/data_files.py`.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, BinaryIO, cast

from kconnect.api import RetriableError

log = logging.getLogger(__name__)

LEAST, SHARE = 1024**3, 20
"""A local file leaves so many bytes of the disk free, or a twentieth of it if that is less."""
_PREFIX, _LOCK = "kconnect-objects-", ".lock"
_SWEEP_S = 600.0
_TRIES = 3
_UNLOOKED = 16 * 1024**2
"""So many bytes are written without a look at the disk."""
_swept: dict[str, float] = {}
"""When the folders of others that have ended were last looked for, by what they are in."""


def require_room(directory: str | None, setting: str) -> None:
    """Raise RetriableError if the disk of a folder is nearly full: another task, or process, may make room."""
    place = directory or tempfile.gettempdir()
    try:
        disk = os.statvfs(place)
    except OSError:
        # Whoever writes there is told better.
        return
    free, least = disk.f_bavail * disk.f_frsize, min(LEAST, disk.f_blocks * disk.f_frsize // SHARE)
    if free < least:
        raise RetriableError(
            f"The disk of {place} has {free} bytes left, and {least} are left free for others: make room there, or have "
            f"{setting} name a folder of another disk. Nothing is lost"
        )


def nameless(directory: str | None) -> tuple[BinaryIO, Path]:
    """Return a new file that is gone once it is closed, or the process ends, and the path by which it can be opened again."""
    file = cast(BinaryIO, tempfile.TemporaryFile(prefix="kconnect-", dir=directory or None))  # noqa: SIM115 - its user closes it
    return file, Path(f"/proc/self/fd/{file.fileno()}")


class Room:
    """A file that is written to as long as the disk has room, looked at now and then. `write` raises as `require_room` does."""

    def __init__(self, file: BinaryIO, directory: str | None, setting: str) -> None:
        self._file, self._directory, self._setting, self._unlooked = file, directory, setting, 0

    def write(self, data: Any) -> int:
        self._unlooked -= len(data)
        if self._unlooked < 0:
            self._unlooked = _UNLOOKED
            require_room(self._directory, self._setting)
        return self._file.write(data)


class Folder:
    """
    A new folder for files that have names. If it is not dropped, whoever makes one later removes it: not where the file system
    has no locks.
    """

    def __init__(self, directory: str | None) -> None:
        self._lock: int | None = None
        place = directory or tempfile.gettempdir()
        _sweep(place)
        for _ in range(_TRIES):
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
            self._lock = _locked(self.path / _LOCK, os.O_CREAT)
            if self._lock is not None:
                return
            # Another process has just taken it for one that was left, or there are no locks.
            shutil.rmtree(self.path, ignore_errors=True)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        log.warning("%s has no file locks: if this process is killed, nobody removes %s", place, self.path)

    def drop(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __del__(self) -> None:
        if self._lock is not None:
            os.close(self._lock)


def _locked(path: Path, flags: int = 0) -> int | None:
    """Return a lock that holds as long as it is open, also beyond a container; None if it is another's, or is gone."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == os.stat(path, follow_symlinks=False).st_ino:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _sweep(place: str) -> None:
    """Remove the folders that nobody holds any more: this user's own, of processes that were killed and of lost tasks."""
    now = time.monotonic()
    if now - _swept.get(place, -_SWEEP_S) < _SWEEP_S:
        return
    _swept[place] = now
    with os.scandir(place) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(_PREFIX)]
    count = 0
    for name in names:
        path = Path(place, name)
        # Those of another user, and of a kconnect that knew of no locks, are left.
        lock = _locked(path / _LOCK)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)
            count += 1
    if count:
        log.info("Removed %d folders of local files in %s that ended tasks have left", count, place)
