"""
The credentials file as a worker follows it: read again each second, so that whoever was removed is out within one.

`worker/rest.py` makes it, and `authentication.py` asks `current` at each request. A change counts at once, whatever it is: a
file that holds less lets fewer people in, and an empty one lets nobody in. Editors and Kubernetes replace files, so one that
is away for less than five seconds changes nothing. Read next: `credentials.py`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

from kconnect.errors import ConfigError
from kconnect.rest.credentials import SETTING, Credentials, nobody, parse

log = logging.getLogger("kconnect.rest")

_CHECK_S = 1.0
_AWAY_S = 5.0
_LARGEST = 16 << 20


class CredentialsFile:
    """
    The file and what it holds now. Used from any thread.

    Whether it has changed is seen by its content alone: an edit in place may keep its size and times. A file that can't be
    read, or that has a bad line, when the worker starts raises ConfigError.
    """

    def __init__(self, path: str, methods: tuple[str, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self._path = Path(path)
        self._methods = methods
        self._clock = clock
        self._lock = threading.Lock()
        self._looked = clock()
        self._away_since: float | None = None
        self._trouble: str | None = None
        try:
            content, mode = self._read()
            self._digest: bytes | None = _digest(content)
            self._mode = mode
            self._credentials = self._parse(content)
            if self._credentials.problems:
                raise ValueError(self._credentials.problems[0])
        except (OSError, ValueError) as error:
            reason = f"This file can't be used: {_reason(error)}. 'kconnect user NAME --role admin' prints a line for it."
            raise ConfigError(SETTING, path, reason) from None
        self._warn_of(mode)

    def current(self) -> Credentials:
        """Return who may come in: the same object as long as the file stays the same."""
        with self._lock:
            self._follow()
            return self._credentials

    @property
    def trouble(self) -> str | None:
        """Why nobody can log in; None if somebody can."""
        with self._lock:
            self._follow()
            return self._trouble

    def watch(self, stop: threading.Event) -> None:
        """Look at the file each second until `stop` is set, so that its absence is measured while nobody asks."""

        def look() -> None:
            while not stop.wait(_CHECK_S):
                self.current()

        threading.Thread(target=look, name="credentials", daemon=True).start()

    def _follow(self) -> None:
        now = self._clock()
        if now - self._looked < _CHECK_S:
            return
        self._looked = now
        try:
            content, mode = self._read()
        except (OSError, ValueError) as error:
            self._miss(now, _reason(error))
            return
        self._away_since = None
        digest = _digest(content)
        if digest != self._digest:
            self._digest = digest
            self._take_over(self._parse(content))
            self._warn_of(mode)
        elif mode != self._mode:
            self._warn_of(mode)
        self._mode = mode

    def _take_over(self, credentials: Credentials) -> None:
        self._credentials = credentials
        log.info("The credentials in %s were read again", self._path)
        for problem in credentials.problems:
            log.error("%s: %s. 'kconnect user NAME --role admin' prints a line for it.", self._path, problem)
        self._trouble = None
        if credentials.lets_nobody_in:
            self._trouble = f"Nobody can log in: the file in {SETTING} has no line that lets anybody in."

    def _miss(self, now: float, reason: str) -> None:
        if self._away_since is None:
            self._away_since = now
            log.warning("%s can't be read: %s. In %.0f s nobody may come in any more.", self._path, reason, _AWAY_S)
        if self._digest is not None and now - self._away_since >= _AWAY_S:
            self._digest = None
            self._credentials = nobody()
            self._trouble = f"Nobody can log in: the file in {SETTING} can't be read ({reason})."
            log.error(
                "%s can't be read: %s. Nobody can log in to REST until it is there again, and this worker's user may read it.",
                self._path,
                reason,
            )

    def _read(self) -> tuple[bytes, int]:
        # Neither waits for a writer, should it be a pipe, nor takes all memory.
        with open(os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise ValueError("it is a directory" if stat.S_ISDIR(mode) else "it is not a plain file")
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} bytes")
        return content, mode

    def _parse(self, content: bytes) -> Credentials:
        # What is not UTF-8 is a line that can't be read; it spoils no other. Editors of Windows begin with a byte order mark.
        return parse(content.decode("utf-8-sig", "surrogateescape"), self._methods)

    def _warn_of(self, mode: int) -> None:
        if mode & stat.S_IWOTH:
            log.warning("Every user of this machine may write %s and so become admin: chmod 600 %s", self._path, self._path)
        elif mode & stat.S_IROTH:
            log.warning("Every user of this machine may read the hashes in %s: chmod 600 %s", self._path, self._path)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
