"""
Makes the session key with which workers sign what they ask of each other (KIP-507); `main.py` calls it for the leader.

Read next: `rest/signature.py`, which signs and checks.
"""

from __future__ import annotations

import base64
import secrets

from kconnect.core.state.records import SessionKey

_BITS = {"HmacMD5": 512, "HmacSHA1": 512, "HmacSHA224": 224, "HmacSHA256": 256, "HmacSHA384": 384, "HmacSHA512": 512}
"""The key sizes that Java's generators take without being told one."""


def renewed(current: SessionKey | None, algorithm: str, size_bits: int | None, ttl_ms: int, now_ms: int) -> SessionKey | None:
    """A new key if `current` is missing, older than its time to live, or of another kind; else None."""
    size = (_BITS[algorithm] if size_bits is None else size_bits) // 8
    if current is not None and current.algorithm == algorithm and now_ms - current.created_ms < ttl_ms:
        try:
            length = len(base64.b64decode(current.key, validate=True))
            if length == size or (size_bits is None and length):
                return None
        except ValueError:
            pass  # Nobody could sign with it.
    return SessionKey(base64.b64encode(secrets.token_bytes(size)).decode(), algorithm, now_ms)
