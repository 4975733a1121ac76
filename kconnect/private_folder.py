"""
A folder for what a JVM unpacks and puts aside: below the one for temporary files, and of this user alone, for as long as the
JVM lives.

Libraries in Java (lz4, zstd, snappy, Netty) write native code to `java.io.tmpdir`, by names that can be foretold, and load it
from there. In `/tmp` another user of the machine could put other code in its place. And Hadoop's clients of stores (S3, Azure)
write what they send to `/tmp/hadoop-USER` first: others could read it there, and change it if they had made that folder. Called
by whoever starts a JVM: `jvm/machine.py`, `spark/session.py`, `connectors/spark/session/main.py`. One that is killed leaves
its folder behind, which the next one takes away. Nothing here but Python's own modules: the last of these runs in
another Python.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from typing import Any, NamedTuple

PREFIX = "kconnect-java-"
OPTION = "-Djava.io.tmpdir="
HADOOP = "hadoop.tmp.dir"
_HADOOPS_OWN = "/tmp/hadoop-${user.name}"
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

    @property
    def options(self) -> list[str]:
        """All of Java's options for this folder, for a JVM in which nobody else says where Hadoop puts things aside."""
        return [self.option, f"-D{HADOOP}={self._hadoops}"]

    @property
    def _hadoops(self) -> str:
        return os.path.join(self.path, "hadoop")

    def lend_to_hadoop(self, settings: Any) -> None:
        """
        Have Hadoop use it, by its settings (a `Configuration`) in a JVM of this machine, unless somebody has named another.
        """
        if settings.getRaw(HADOOP) == _HADOOPS_OWN:
            settings.set(HADOOP, self._hadoops)

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
