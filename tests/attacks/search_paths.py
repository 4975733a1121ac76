"""Where a process looks for code and settings, by its command line and its environment, and who may put something there."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil

_OPTIONS = ("-cp", "-classpath", "--class-path", "-p", "--module-path", "--properties-file")
_VARIABLES = ("PYTHONPATH", "CLASSPATH", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "LD_LIBRARY_PATH", "SPARK_HOME")


def of(process: psutil.Process) -> Iterator[Path]:
    """Nothing, of a process that has ended."""
    try:
        words, environment = process.cmdline(), process.environ()
    except psutil.NoSuchProcess:
        return
    texts = [value for option, value in itertools.pairwise(words) if option in _OPTIONS]
    texts += [environment.get(name, "") for name in _VARIABLES]
    for text in texts:
        for place in filter(None, text.split(os.pathsep)):
            yield Path(place.removesuffix("/*"))


def is_open(place: Path) -> bool:
    """Whether another user may make it, or what is in it: by that of what is there which is nearest to it."""
    if not place.is_absolute():
        return True
    while not place.exists():
        place = place.parent
        if _takes_from_all(place):
            return True
    # What is there in a folder like /tmp stays its owner's.
    return any(_takes_from_all(each) and not each.stat().st_mode & stat.S_ISVTX for each in (place, *place.resolve().parents))


def _takes_from_all(place: Path) -> bool:
    if not place.exists():
        return False
    status = place.stat()
    return bool(status.st_mode & 0o002) or status.st_uid not in (0, os.getuid())
