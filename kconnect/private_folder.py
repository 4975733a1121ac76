"""
A folder for what a JVM unpacks: below the one for temporary files, and of this user alone, for as long as the JVM lives.

Libraries in Java (lz4, zstd, snappy, Netty) write native code to `java.io.tmpdir`, by names that can be foretold, and load it
from there. In `/tmp` another user of the machine could put other code in its place. Called by whoever starts a JVM:
`jvm/machine.py`, `spark/session.py`, `connectors/spark/session/main.py`. A process that is killed leaves its folder behind; the
next one that makes one takes it away. Nothing here but Python's own modules: the last of these runs in another Python.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from typing import NamedTuple

PREFIX = "kconnect-java-"
OPTION = "-Djava.io.tmpdir="
_OLD_S = 600.0
"""So long one that nobody holds is left alone: whoever has just made it may not hold it yet."""


class PrivateFolder(NamedTuple):
    """
    `descriptor` holds the folder: what removes old files (systemd-tmpfiles, and the next of ours) leaves alone what is locked,
    and nobody can make another one of its name. A process that is to outlive this one inherits it.
    """

    path: str
    descriptor: int

    @property
    def option(self) -> str:
        """Java's option, as it is."""
        return OPTION + self.path

    def added_to(self, options: str) -> str:
        """Return a text of options, which Spark takes apart at blanks, with this one, unless the user has named a folder."""
        if OPTION in options:
            return options
        option = self.option.replace("\\", "\\\\").replace('"', '\\"')
        if any(letter in option for letter in " \t\\'\""):
            option = f'"{option}"'
        return f"{options} {option}".strip()


def made() -> PrivateFolder:
    """Make a folder. OSError if there is no place for one."""
    root = tempfile.gettempdir()
    _sweep(root)
    # No name that could be foretold, and only this user's.
    path = tempfile.mkdtemp(prefix=PREFIX, dir=root)
    return PrivateFolder(path, _locked(path, fcntl.LOCK_SH))


def _locked(path: str, how: int) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, how)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _sweep(root: str) -> None:
    """Take away what processes have left that were killed."""
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if not entry.name.startswith(PREFIX):
                continue
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or time.time() - status.st_mtime < _OLD_S:
                    continue
                descriptor = _locked(entry.path, fcntl.LOCK_EX | fcntl.LOCK_NB)
                try:
                    shutil.rmtree(entry.path, ignore_errors=True)
                finally:
                    os.close(descriptor)
