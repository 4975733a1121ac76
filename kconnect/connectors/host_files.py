"""
Files of this machine that a config names, opened so that they lead to nowhere else.

`connector.files.allowed.paths`, a setting of the worker, names the folders; without it all files are allowed, as in Kafka
Connect. The framework looks at a config beforehand (`plugins/reach.py`). What counts is what is opened: a link may have been
put in place of a folder since. Used by the connectors of files, object stores, databases and lakes.

A store in a folder is that folder: whoever may put something into it may put links there, which is no reason to read or write
what these lead to. `connector.files.links.follow` says that the machine's links in stores are its operator's own.

Where folders are named, nothing in them that kconnect itself loads from is a file of a connector, nor is a journal of SQLite:
see `own_places.py`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping

from kconnect.api import ConfigError
from kconnect.own_places import JOURNAL, NO_JOURNAL, OURS, OwnPlaces, of_settings

ALLOWED_PATHS, LINKS = "connector.files.allowed.paths", "connector.files.links.follow"


class AstrayError(ConfigError):
    """A link leads a file of a store to where nothing is read or written."""


class HostFiles:
    """`worker` is what a connector or a task is told of its worker's settings."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        folders = [folder.strip() for folder in worker.get(ALLOWED_PATHS, "").split(",")]
        self._roots = [os.path.realpath(folder) for folder in folders if folder]
        self._own = OwnPlaces(self._roots, of_settings(worker))
        self._follows = worker.get(LINKS, "").strip().lower() == "true"

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
        if real.endswith(JOURNAL):
            raise ConfigError(setting, path, NO_JOURNAL)
        return real

    def allows(self, path: str) -> bool:
        """Whether the worker names folders, and the path leads to below one of them."""
        return self.limited and os.path.isabs(path) and "\0" not in path and self._root(os.path.realpath(path)) is not None

    @property
    def followed(self) -> list[str] | None:
        """The folders that links in stores may lead to, none for all; None if they may not lead out of their store."""
        return self._roots if self._follows else None

    def leads_out(self, top: str, path: str) -> bool:
        """Whether a link in a store, which is the folder `top` wherever that is, leads a path to where none is followed."""
        return "\0" in path or self._begin(os.path.realpath(top), os.path.realpath(path)) is None

    def check_link(self, setting: str, top: str, path: str) -> str:
        """Return where a path of a store leads. Raise AstrayError if that is where no link is followed."""
        real = "" if "\0" in path else os.path.realpath(path)
        if not real or self._begin(os.path.realpath(top), real) is None:
            raise self._led_out(setting, path)
        return real

    def _begin(self, store: str, real: str) -> str | None:
        """Return the folder that a path of a store, without links, is allowed below; None if it is not."""
        if self._own.hold(real):
            return None
        if os.path.commonpath((store, real)) == store:
            return store
        if not self._follows:
            return None
        return self._root(real) if self.limited else os.sep

    @contextlib.contextmanager
    def folder(self, setting: str, top: str, path: str, makes: bool = False) -> Iterator[int]:
        """
        Give a descriptor of a folder of a store, made before if it `makes` those that are not there. Raise AstrayError if a
        link leads it to where none is followed, whoever puts one there meanwhile.
        """
        real = self.check_link(setting, top, path)
        begin = self._begin(os.path.realpath(top), real)
        if begin is None:
            raise self._led_out(setting, path)
        try:
            descriptor = _folder_below(begin, os.path.relpath(real, begin), makes)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.isdir(path):
                raise self._led_out(setting, path) from None
            raise
        try:
            yield descriptor
        finally:
            os.close(descriptor)

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
        if self._own.hold(real):
            return None
        return next((root for root in self._roots if os.path.commonpath((root, real)) == root), None)

    def _led_out(self, setting: str, path: str) -> AstrayError:
        if self._own.hold(os.path.realpath(path)):
            return AstrayError(setting, path, OURS)
        where = f", to below {', '.join(self._roots)}" if self._roots else ""
        rule = (
            "A link in the store's folder leads out of it, which nothing follows. If the machine's links are its operator's "
            f"own, set {LINKS}=true in the worker's file{where}"
        )
        return AstrayError(setting, path, rule)

    def _astray(self, setting: str, path: str) -> ConfigError:
        if "\0" not in path and self._own.hold(os.path.realpath(path)):
            return ConfigError(setting, path, OURS)
        folders = ", ".join(self._roots)
        rule = f"The worker's {ALLOWED_PATHS} allows files below {folders} only. Name one there, by its absolute path"
        return ConfigError(setting, path, rule)


def is_within(folder: str, path: str) -> bool:
    """Return whether a path leads to below a folder, wherever links on the way to that, or from there on, lead to."""
    real = os.path.realpath(folder)
    return os.path.commonpath((real, os.path.realpath(path))) == real


def _folder_below(root: str, way: str, makes: bool) -> int:
    """Open a folder by its way from another one, as `_open_below` does a file."""
    # Where a system has no O_PATH, a folder has to be readable.
    flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
    place = os.open(root, flags)
    for name in way.split(os.sep):
        if name == os.curdir:
            continue
        try:
            if makes:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=place)
            inner = os.open(name, flags | os.O_NOFOLLOW, dir_fd=place)
        finally:
            os.close(place)
        place = inner
    return place


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
