"""
Salted hashes of passwords, in the text form in which a credentials file holds them.

The form is PHC's for scrypt, `$scrypt$ln=15,r=8,p=3$<salt>$<hash>` with unpadded base64: `ln` is the logarithm of the cost.
Made by `kconnect user`, read by `credentials.py`, checked by `authentication.py` in threads of its own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field

from kconnect import normal_forms

_TEXT = re.compile(r"\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)")
_FORM = "a password's hash is $scrypt$ln=15,r=8,p=3$<salt>$<hash>, the last two in base64 without padding"
_MEMORY = 256 * 1024 * 1024
"""In bytes: what one hash may take. A line that asks for more would let a login bring the worker down."""


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """The hash of a password. `str` gives its text form."""

    ln: int
    r: int
    p: int
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)

    @classmethod
    def of(cls, password: str, ln: int = 15, r: int = 8, p: int = 3) -> PasswordHash:
        """Hash with a new salt; by default with costs that OWASP names: 32 MiB and tenths of a second."""
        salt = os.urandom(16)
        return cls(ln, r, p, salt, _scrypt(password, salt, ln, r, p, 32))

    @classmethod
    def parse(cls, text: str) -> PasswordHash:
        """Raises ValueError with the rule that the text breaks; never with the text."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ValueError(_FORM)
        ln, r, p = (int(number) for number in match.groups()[:3])
        try:
            salt, digest = (base64.b64decode(part + "=" * (-len(part) % 4)) for part in match.groups()[3:])
        except binascii.Error:
            raise ValueError(_FORM) from None
        if not (1 <= ln <= 30 and r and p and p <= 16) or 128 * r << ln > _MEMORY:
            raise ValueError("the costs of its hash are out of range: scrypt may take 256 MiB (128 * r * 2^ln), p at most 16")
        if len(salt) < 8 or not 16 <= len(digest) <= 64:
            raise ValueError("its salt has less than 8 bytes, or its hash not 16 to 64")
        return cls(ln, r, p, salt, digest)

    def __str__(self) -> str:
        return f"$scrypt$ln={self.ln},r={self.r},p={self.p}${_base64(self.salt)}${_base64(self.digest)}"

    def matches(self, password: str) -> bool:
        """Takes as long as the costs say, whatever the password."""
        digest = _scrypt(password, self.salt, self.ln, self.r, self.p, len(self.digest))
        return hmac.compare_digest(digest, self.digest)

    def stand_in(self) -> PasswordHash:
        """A hash of the same costs that no password has: for users that nobody knows."""
        return PasswordHash(self.ln, self.r, self.p, os.urandom(len(self.salt)), os.urandom(len(self.digest)))


def _scrypt(password: str, salt: bytes, ln: int, r: int, p: int, length: int) -> bytes:
    # Composed, because keyboards and browsers differ in how they send an umlaut.
    # A text for which this fails is nobody's: strangers may send as many marks as a header has room for.
    with suppress(ValueError):
        password = normal_forms.normalized("NFC", password)
    secret = password.encode()
    # OpenSSL counts some more than the 128 * r * N that the algorithm is known for.
    return hashlib.scrypt(secret, salt=salt, n=1 << ln, r=r, p=p, maxmem=_MEMORY + 64 * 1024 * 1024, dklen=length)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")
