"""
The credentials file (`rest.authentication.file`): who may come in, and as what.

A line is `name:role:secret`. The secret is a password's hash (`passwords.py`) or `$sha256$<hex>`, the SHA-256 of a random
token, which needs neither salt nor cost. Empty lines and lines that begin with `#` are skipped. `kconnect user` makes lines;
`authentication.py` asks `CredentialsFile.current` at each request. Read next: `credentials_file.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kconnect.rest.operation import Role
from kconnect.rest.passwords import PasswordHash

SETTING = "rest.authentication.file"
ROLES = {role.name.lower(): role for role in Role if role is not Role.ANYONE}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")
"""What may stand in a log line as it is."""
_TOKEN = re.compile(r"\$sha256\$([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller."""

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Credentials:
    """
    The users of a credentials file. `stand_in` is checked for names without a password, so that they take as long. `problems`
    are sentences about lines that can't be read.
    """

    passwords: Mapping[str, tuple[Caller, PasswordHash]]
    tokens: tuple[tuple[bytes, Caller], ...]
    stand_in: PasswordHash
    problems: tuple[str, ...] = ()
    lets_nobody_in: bool = False

    def by_password(self, name: str, password: str) -> Caller | None:
        """Tenths of a second of one core."""
        caller, password_hash = self.passwords.get(name, (None, self.stand_in))
        return caller if password_hash.matches(password) else None

    def by_token(self, token: str) -> Caller | None:
        digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        # All of them, so that the time tells nothing of the one that matches.
        callers = [caller for token_hash, caller in self.tokens if hmac.compare_digest(token_hash, digest)]
        return callers[0] if callers else None


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
    """
    Read the lines of a credentials file.

    A line that can't be read locks out the user whom it names: whoever edits a line may want to take something away. The
    result's `problems` say which lines these are, by number and rule, and never what they hold.
    """
    passwords: dict[str, tuple[Caller, PasswordHash]] = {}
    tokens: list[tuple[bytes, Caller]] = []
    problems: list[str] = []
    locked_out: set[str] = set()
    # As editors count lines: what Python takes for the end of one, too, might bring back what is commented out.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
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
            name = line.partition(":")[0].strip()
            named = _NAME.fullmatch(name) is not None
            if named:
                locked_out.add(name)
            # Not by name, which may be a secret on a line of its own.
            effect = "its user may not come in" if named else "it lets nobody in"
            problems.append(f"line {number}: {error}; {effect}")
    passwords = {name: entry for name, entry in passwords.items() if name not in locked_out}
    tokens = [(digest, caller) for digest, caller in tokens if caller.name not in locked_out]
    lets_nobody_in = not (passwords if "basic" in methods else ()) and not (tokens if "token" in methods else ())
    if lets_nobody_in:
        problems.append(f"it has no line for {' or '.join(methods)} that lets anybody in, so nobody can log in")
    return Credentials(passwords, tuple(tokens), _stand_in(passwords), tuple(problems), lets_nobody_in)


def nobody() -> Credentials:
    """Return credentials that let nobody in."""
    return Credentials({}, (), _stand_in({}), lets_nobody_in=True)


def _stand_in(passwords: Mapping[str, tuple[Caller, PasswordHash]]) -> PasswordHash:
    # scrypt's costs are the same for all lines that `kconnect user` made; where they differ, the dearest hides the most.
    dearest = max(
        (password_hash for _, password_hash in passwords.values()),
        key=lambda stored: stored.r * stored.p << stored.ln,
        default=None,
    )
    return (dearest or PasswordHash(15, 8, 3, bytes(16), bytes(32))).stand_in()


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
