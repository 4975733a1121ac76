"""
The names of the files in a store that is a folder of this machine.

Whoever may put files there decides how they are called, and may put links and folders there. obstore lists such a folder as a
whole, or not at all if one name is no UTF-8, or one link leads to itself. Here each of these is passed over, with a line in the
log. Called by `stores.py`.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from kconnect.connectors import names
from kconnect.connectors.host_files import LINKS

log = logging.getLogger(__name__)

_UNNAMEABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""What obstore has in no name, and what stands for bytes that are no UTF-8."""
_UNFINISHED = re.compile(r"#\d+$")
"""What obstore calls its own files while it writes them."""
_KEPT = 1000


class LocalFiles:
    """The files below `root`, but not those of which `leads_out` says that a link leads to where none is followed."""

    def __init__(self, root: str, leads_out: Callable[[str], bool]) -> None:
        self._root, self._leads_out = root, leads_out
        self._warned: set[str] = set()

    def names(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield files with their names from the root on. Each folder is visited once, whatever links lead to it."""
        visited: set[tuple[int, int]] = set()
        folders, links = [os.path.join(self._root, folder)], list[str]()
        while folders or links:
            place = folders.pop() if folders else links.pop()
            try:
                at = os.stat(place)
                if (at.st_dev, at.st_ino) in visited:
                    self._pass_over(place, "it leads to a folder that was listed already")
                    continue
                visited.add((at.st_dev, at.st_ino))
                entries = sorted(os.scandir(place), key=lambda entry: entry.name)
            except FileNotFoundError:
                continue
            except OSError as error:
                if place == os.path.join(self._root, folder):
                    raise
                self._pass_over(place, str(error.strerror))
                continue
            for entry in entries:
                if _UNNAMEABLE.search(entry.name):
                    self._pass_over(entry.path, "its name is no UTF-8, or has control characters")
                elif (status := self._stat(entry)) is None:
                    continue
                elif entry.is_symlink() and self._leads_out(entry.path):
                    self._pass_over(
                        entry.path, f"a link leads it out of the store, which the worker's {LINKS} would have to allow"
                    )
                elif entry.is_dir():
                    (links if entry.is_symlink() else folders).append(entry.path)
                elif not entry.is_file() or _UNFINISHED.search(entry.name):
                    continue
                elif not os.access(entry.path, os.R_OK):
                    self._pass_over(entry.path, "it may not be read")
                else:
                    yield Path(os.path.relpath(entry.path, self._root)).as_posix(), status

    def _stat(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        try:
            return entry.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            # A link to itself, for one.
            self._pass_over(entry.path, str(error.strerror))
            return None

    def _pass_over(self, path: str, reason: str) -> None:
        if path in self._warned:
            return
        if len(self._warned) >= _KEPT:
            self._warned.clear()
        self._warned.add(path)
        log.warning("%s is passed over: %s", names.printable(path), reason)
