"""
Bodies: what an answer holds, read within the limits of its size.

Answers are packed at most once, and unpacked here: httpx would make gigabytes of a small one before anybody could count them.
Called by `service.py`; how long it may take is up to `dialer.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import httpx

from kconnect.connectors import limits
from kconnect.connectors.limits import BrokenError, TooMuchError

ACCEPTED = "gzip, deflate"
_GZIP, _ZLIB, _RAW = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS
_OVERHEAD = 64 * 1024
"""By so much a packed answer may be longer than an unpacked one."""


def read(response: httpx.Response, setting: str, most: int, cut: bool = False) -> bytes:
    """
    Return the body, unpacked. TooMuchError if it has more than `most` bytes, which `setting` allows, or with `cut` the begin of
    it; then the rest is not read. BrokenError if it can't be unpacked. httpx's errors if the connection fails.
    """
    parts: list[bytes] = []
    size = 0
    pieces = _pieces(response, setting, most + _OVERHEAD)
    for piece in pieces:
        size += len(piece)
        if size > most:
            if not cut:
                raise TooMuchError(f"its answer has more than {most} bytes, and {setting} is {most}")
            parts.append(piece[: len(piece) - (size - most)])
            break
        parts.append(piece)
    return b"".join(parts)


def _pieces(response: httpx.Response, setting: str, most: int) -> Iterator[bytes]:
    names = [encoding.strip().lower() for encoding in response.headers.get("Content-Encoding", "").split(",")]
    packed = [name for name in names if name not in ("", "identity")]
    raw = _counted(response, setting, most)
    if not packed:
        return raw
    if len(packed) > 1 or packed[0] not in ("gzip", "x-gzip", "deflate"):
        raise BrokenError(f"its answer is packed as {', '.join(packed)[:60]!r}, but {ACCEPTED} was asked for")
    if packed[0] != "deflate":
        return limits.unpacked(raw, _GZIP)
    return _deflated(raw)


def _deflated(raw: Iterator[bytes]) -> Iterator[bytes]:
    """Some services leave out the head that deflate should have."""
    first = next(raw, b"")
    if not first:
        return iter(())
    has_head = len(first) > 1 and first[0] & 15 == 8 and (first[0] * 256 + first[1]) % 31 == 0

    def all_of_it() -> Iterator[bytes]:
        yield first
        yield from raw

    return limits.unpacked(all_of_it(), _ZLIB if has_head else _RAW)


def _counted(response: httpx.Response, setting: str, most: int) -> Iterator[bytes]:
    size = 0
    for chunk in response.iter_raw():
        size += len(chunk)
        if size > most:
            # Of what is packed well there would be much more, unpacked: so this is the same limit.
            raise TooMuchError(f"its answer has more than {most} bytes, packed, and {setting} is {most - _OVERHEAD}")
        yield chunk
