"""
Which files the providers of files may read (KIP-993), and how one is read without being led elsewhere.

Called by `file_config_provider.py` and `directory_config_provider.py`.
"""

from __future__ import annotations

import logging
import os
import stat

from kconnect.api import ConfigError, ConnectError

log = logging.getLogger(__name__)

ALLOWED_PATHS = "allowed.paths"
_LARGEST = 16 * 2**20


class AllowedPaths:
    """
    The files that are, or lie in, one of the paths of the parameter `allowed.paths`; all files if that is not given.

    Links are followed before a path is compared: a link in an allowed folder allows nothing outside of it.
    """

    def __init__(self, given: str | None, provider: str) -> None:
        """ConfigError for a path that is not absolute, or not there. `provider` is the class, for the warning."""
        self._roots: list[str] | None = None
        if not given:
            log.warning(
                "%s has no %s: whoever may create connectors can read every file that this worker can read",
                provider,
                ALLOWED_PATHS,
            )
            return
        self._roots = []
        for path in given.split(","):
            path = path.strip()
            if not path:
                continue
            if not os.path.isabs(path):
                raise ConfigError(ALLOWED_PATHS, given, f"Path {path} is not absolute")
            if not os.path.exists(path):
                raise ConfigError(ALLOWED_PATHS, given, f"Path {path} does not exist")
            self._roots.append(os.path.realpath(path))

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, None if there is none. Raise ConnectError if it is not allowed, or can't be read."""
        try:
            return self._read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConnectError(f"{path} can't be read: {error.strerror or type(error).__name__}") from None

    def _read(self, path: str) -> bytes:
        if "\0" in path:
            raise ConnectError("a path can't hold the character NUL")
        real = os.path.realpath(path)
        self._check(path, real)
        # Not a pipe, which would be waited for, and no link that has taken the file's place since.
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConnectError(f"{path} is not a file")
            # What was opened counts: a folder may have been a link in between, and none again by now.
            self._check(path, _opened(descriptor, real))
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(_LARGEST + 1)
        finally:
            os.close(descriptor)
        if len(data) > _LARGEST:
            raise ConnectError(f"{path} is larger than {_LARGEST} bytes")
        return data

    def _check(self, path: str, real: str) -> None:
        if self._roots is None:
            return
        # A relative path would mean another file in each process.
        if not os.path.isabs(path) or not any(os.path.commonpath((root, real)) == root for root in self._roots):
            raise ConnectError(f"{path} is not below a path that the parameter {ALLOWED_PATHS} names")


def _opened(descriptor: int, path: str) -> str:
    """Return where a file is that was opened; where the system has no such list, where the path leads now."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").removesuffix(" (deleted)")
    except FileNotFoundError:
        return os.path.realpath(path)


def text(path: str, data: bytes) -> str:
    """ConnectError if it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ConnectError(f"{path} is not UTF-8") from None
