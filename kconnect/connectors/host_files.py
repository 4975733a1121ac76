"""
Files of this machine that a config names, opened so that they lead to nowhere else.

`connector.files.allowed.paths`, a setting of the worker, names the folders; without it all files are allowed, as in Kafka
Connect. The framework looks at a config beforehand (`plugins/reach.py`). What counts is what is opened: a link may have been
put in place of a folder since. Used by the connectors of files, object stores, databases and lakes.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Mapping

from kconnect.api import ConfigError

ALLOWED_PATHS = "connector.files.allowed.paths"


class HostFiles:
    """`worker` is what a connector or a task is told of its worker's settings."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        folders = [folder.strip() for folder in worker.get(ALLOWED_PATHS, "").split(",")]
        self._roots = [os.path.realpath(folder) for folder in folders if folder]

    @property
    def limited(self) -> bool:
        """Whether the worker names folders."""
        return bool(self._roots)

    def check(self, setting: str, path: str) -> str:
        """Return where a path leads. Raise ConfigError if it is not below an allowed folder."""
        if not self._roots:
            return path
        real = os.path.realpath(path) if "\0" not in path and os.path.isabs(path) else None
        if real is None or self._root(real) is None:
            raise self._astray(setting, path)
        return real

    def allows(self, path: str) -> bool:
        """Whether the worker names folders, and the path leads to below one of them."""
        return self.limited and os.path.isabs(path) and "\0" not in path and self._root(os.path.realpath(path)) is not None

    def opener(self, setting: str, more: int = 0) -> Callable[[str, int], int]:
        """
        Return an opener for `open`, which adds `more` to the flags. It raises ConfigError for a file that is not allowed, and
        follows no link below an allowed folder, whoever puts one there meanwhile.
        """

        def opened(path: str, flags: int) -> int:
            if not self._roots:
                return os.open(path, flags | more, 0o666)
            real = self.check(setting, path)
            root = self._root(real)
            assert root is not None
            try:
                return _open_below(root, os.path.relpath(real, root), flags | more)
            except NotADirectoryError:
                raise self._astray(setting, path) from None

        return opened

    def _root(self, real: str) -> str | None:
        return next((root for root in self._roots if os.path.commonpath((root, real)) == root), None)

    def _astray(self, setting: str, path: str) -> ConfigError:
        folders = ", ".join(self._roots)
        rule = f"The worker's {ALLOWED_PATHS} allows files below {folders} only. Name one there, by its absolute path"
        return ConfigError(setting, path, rule)


def is_within(folder: str, path: str) -> bool:
    """Return whether a path leads to below a folder, wherever links on the way to that, or from there on, lead to."""
    real = os.path.realpath(folder)
    return os.path.commonpath((real, os.path.realpath(path))) == real


def _open_below(root: str, way: str, flags: int) -> int:
    """Open a file by its way from a folder, one part after the other: a link on the way is an error."""
    *folders, name = way.split(os.sep)
    with contextlib.ExitStack() as opened:

        def held(descriptor: int) -> int:
            opened.callback(os.close, descriptor)
            return descriptor

        place = held(os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
        for folder in folders:
            place = held(os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place))
        descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=place)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IsADirectoryError(21, os.strerror(21), way)
    return descriptor
