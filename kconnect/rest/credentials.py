"""
The credentials file (`rest.authentication.file`): who may come in, and as what.

A line is `name:role:secret`. The secret is a password's hash (`passwords.py`) or `$sha256$<hex>`, the SHA-256 of a random
token, which needs neither salt nor cost. Empty lines and lines that begin with `#` are skipped. `kconnect user` makes lines;
`authentication.py` asks `CredentialsFile.current` at each request.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kconnect.errors import ConfigError
from kconnect.rest.operation import Role
from kconnect.rest.passwords import PasswordHash

log = logging.getLogger("kconnect.rest")

SETTING = "rest.authentication.file"
ROLES = {role.name.lower(): role for role in Role if role is not Role.ANYONE}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
"""What may stand in a log line as it is."""
_TOKEN = re.compile(r"\$sha256\$([0-9a-f]{64})")
_CHECK_S = 1.0


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who has proved who they are."""

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the file said. `stand_in` is checked for names without a password, so that they take as long."""

    passwords: Mapping[str, tuple[Caller, PasswordHash]]
    tokens: tuple[tuple[bytes, Caller], ...]
    stand_in: PasswordHash

    def by_password(self, name: str, password: str) -> Caller | None:
        """Tenths of a second of one core."""
        caller, known = self.passwords.get(name, (None, self.stand_in))
        return caller if known.matches(password) else None

    def by_token(self, token: str) -> Caller | None:
        digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        # All of them, so that the time tells nothing of the one that matches.
        found = [caller for known, caller in self.tokens if hmac.compare_digest(known, digest)]
        return found[0] if found else None


def check_name(name: str) -> None:
    """Raises ValueError with the rule if a line can't begin with this name."""
    if not _NAME.fullmatch(name):
        raise ValueError("a name has letters, digits, '.', '_', '@' and '-' only, and begins with a letter or digit")


def password_line(name: str, role: str, password: str) -> str:
    """The line for a user with a password; ValueError for a bad name."""
    check_name(name)
    return f"{name}:{role}:{PasswordHash.of(password)}"


def token_line(name: str, role: str, token: str) -> str:
    """The line for a token, which must be random and long; ValueError for a bad name."""
    check_name(name)
    return f"{name}:{role}:$sha256${hashlib.sha256(token.encode()).hexdigest()}"


def parse(text: str, methods: tuple[str, ...] = ("basic", "token")) -> Credentials:
    """Raises ValueError with the number of the first bad line and its rule; never with what the line holds."""
    passwords: dict[str, tuple[Caller, PasswordHash]] = {}
    tokens: list[tuple[bytes, Caller]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            caller, secret = _parts(line.strip())
            token = _TOKEN.fullmatch(secret)
            if token is not None:
                tokens.append((bytes.fromhex(token[1]), caller))
            elif caller.name in passwords:
                raise ValueError("its user has a password on an earlier line already")
            else:
                passwords[caller.name] = caller, PasswordHash.parse(secret)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if not (passwords if "basic" in methods else ()) and not (tokens if "token" in methods else ()):
        raise ValueError(f"it has no line for {' or '.join(methods)}, so nobody could log in")
    # scrypt's costs are the same for all lines that `kconnect user` made; where they differ, the dearest hides the most.
    dearest = max((known for _, known in passwords.values()), key=lambda each: each.r * each.p << each.ln, default=None)
    return Credentials(passwords, tuple(tokens), (dearest or PasswordHash(15, 8, 3, bytes(16), bytes(32))).stand_in())


def _parts(line: str) -> tuple[Caller, str]:
    parts = line.split(":")
    if len(parts) != 3:
        raise ValueError("it is not of the form name:role:secret")
    name, role, secret = parts
    check_name(name)
    if role not in ROLES:
        raise ValueError(f"its role is none of {', '.join(ROLES)}")
    if not secret.startswith(("$scrypt$", "$sha256$")):
        raise ValueError("its secret begins neither with $scrypt$ nor with $sha256$: 'kconnect user' prints such lines")
    return Caller(name, ROLES[role]), secret


class CredentialsFile:
    """
    The file and what it said last. It is looked at once a second at most, when somebody asks, from any thread.

    A file that turns bad keeps the last good state, and the log says why. One that is bad from the start is a ConfigError.
    """

    def __init__(self, path: str, methods: tuple[str, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self._path = Path(path)
        self._methods = methods
        self._clock = clock
        self._lock = threading.Lock()
        self._looked = clock()
        try:
            self._seen = self._mark()
            self._credentials = self._read()
        except (OSError, ValueError) as error:
            reason = f"This file can't be used: {_reason(error)}. 'kconnect user NAME --role admin' prints a line for it."
            raise ConfigError(SETTING, path, reason) from None

    def current(self) -> Credentials:
        """The same object as long as the file stays the same."""
        now = self._clock()
        with self._lock:
            if now - self._looked >= _CHECK_S:
                self._looked = now
                self._look()
            return self._credentials

    def _look(self) -> None:
        mark: object
        try:
            mark = self._mark()
        except OSError as error:
            mark = _reason(error)
        if mark == self._seen:
            return
        self._seen = mark
        try:
            self._credentials = self._read()
            log.info("The credentials in %s were read again", self._path)
        except (OSError, ValueError) as error:
            log.error("%s can't be used: %s. Its previous content stays in effect.", self._path, _reason(error))

    def _mark(self) -> object:
        found = os.stat(self._path)
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode

    def _read(self) -> Credentials:
        with open(self._path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read()
        found = parse(text, self._methods)
        if mode & stat.S_IWOTH:
            log.warning("Every user of this machine may write %s and so become admin: chmod 600 %s", self._path, self._path)
        elif mode & stat.S_IROTH:
            log.warning("Every user of this machine may read the hashes in %s: chmod 600 %s", self._path, self._path)
        return found


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeError):
        return "it is not UTF-8"
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
