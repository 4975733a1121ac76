"""
Places of this machine from which kconnect and its processes load code, or where they keep what is nobody else's.

Folders that a worker's file names for connectors' files may hold such places, as /tmp may hold Spark's and the cache: who
writes there has what was written run. So what lies in one is no file of a connector. Used by `connectors/host_files.py`, when a
file is opened, and `plugins/reach.py`, when a config is looked at; `jvm/jars.py` has its cache from here.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

OURS = "kconnect keeps what it loads itself there, or other files of its own, so no config names any there. Name another folder"
"""Why a path is refused."""
JOURNAL = "-journal"
"""What SQLite appends to the name of a database for that of its journal."""
NO_JOURNAL = f"no config names a file that ends with {JOURNAL}, for SQLite does what is in one, such as to delete a file"
"""For each file that a config names where its folders are limited: what the journal says may be about any file."""
PLUGIN_PATH, FUNCTIONS = "plugin.path", "python.transform.path"
"""The worker's settings that name folders with code in them."""

_TEMPORARY = ("kconnect-", "spark-", "blockmgr-", "hsperfdata_")
"""How names of ours, Spark's and Java's begin where temporary files are: modules, jars and keys are there for a while."""


def cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the jars that were fetched."""
    environ = os.environ if environ is None else environ
    if directory := environ.get("KCONNECT_CACHE"):
        return Path(directory).expanduser()
    if shared := environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "kconnect"
    return Path.home() / ".cache" / "kconnect"


def of_settings(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders with code that a worker's settings name."""
    named = (part.strip() for setting in (PLUGIN_PATH, FUNCTIONS) for part in settings.get(setting, "").split(","))
    return tuple(os.path.expanduser(part) for part in named if part)


class OwnPlaces:
    """
    The places that lie below some folders. One that a folder lies in itself is none: whoever named that folder meant it.

    Args:
        roots: the folders, without links in their paths.
        named: more places.
    """

    def __init__(self, roots: Iterable[str], named: Iterable[str] = ()) -> None:
        self._roots = list(roots)
        code = [*_cache(), *sys.path, *sysconfig.get_paths().values(), os.path.dirname(__file__), *named]
        spark = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
        # An empty entry is the current directory, which no process of ours has in its path.
        real = {os.path.realpath(place) for place in (*code, *spark) if place}
        self._places = sorted(place for place in real if self._is_below(place))
        self._temporary = [folder for folder in {os.path.realpath(tempfile.gettempdir())} if self._has(folder)]

    def hold(self, real: str) -> bool:
        """Return whether a path, without links, is one of the places, or in one."""
        if any(_is_within(place, real) for place in self._places):
            return True
        return any(
            os.path.relpath(real, folder).startswith(_TEMPORARY) for folder in self._temporary if _is_within(folder, real)
        )

    def _has(self, folder: str) -> bool:
        return any(_is_within(root, folder) for root in self._roots)

    def _is_below(self, place: str) -> bool:
        return self._has(place) and not any(_is_within(place, root) for root in self._roots)


def _cache() -> list[str]:
    try:
        return [str(cache_dir())]
    except RuntimeError:
        # A user without a home has no cache there.
        return []


def _is_within(folder: str, path: str) -> bool:
    return os.path.commonpath((folder, path)) == folder
