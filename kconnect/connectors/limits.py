"""
Limits: bytes that come from outside, unpacked and counted as they come, and texts that are nested too deeply.

A failure says which setting has the limit. Used by `http/bodies.py` and `objects/readers.py`.
"""

from __future__ import annotations

import array
import itertools
import zlib
from collections.abc import Iterable, Iterator

from kconnect.api import DataError

_BRACKETS = bytes.maketrans(b"[{]}", b"\1\1\2\2")
_OTHERS = bytes(set(range(256)) - set(b"[{]}"))
_STEPS = bytes.maketrans(b"\1\2", b"\x01\xff")
_ROUNDS = 16
_PIECE = 256 * 1024


class TooMuchError(DataError):
    """Data from outside that has more than a setting allows."""


class BrokenError(DataError):
    """Packed data that can't be unpacked."""


def unpacked(chunks: Iterable[bytes], window_bits: int) -> Iterator[bytes]:
    """
    Yield what packed data has, in pieces that are small however well it is packed. `window_bits` is as for zlib. BrokenError
    if it is not packed so, or ends too early; what is behind its end is not read. Nothing at all is empty data.
    """
    decoder = zlib.decompressobj(window_bits)
    is_empty = True
    try:
        for chunk in chunks:
            rest, is_empty = chunk, False
            while rest and not decoder.eof:
                piece = decoder.decompress(rest, _PIECE)
                rest = decoder.unconsumed_tail
                if piece:
                    yield piece
        # What was kept back because a piece was full.
        while not decoder.eof and (piece := decoder.decompress(b"", _PIECE)):
            yield piece
    except zlib.error as error:
        raise BrokenError(f"it can't be unpacked: {error}") from None
    if not decoder.eof and not is_empty:
        raise BrokenError("it can't be unpacked: it ends too early")


def check_depth(data: bytes, setting: str, deepest: int) -> None:
    """Raise TooMuchError for a text in JSON whose objects and lists are nested more than `deepest` times."""
    if data.count(b"[") + data.count(b"{") <= deepest:
        return
    brackets = _without_texts(data).translate(_BRACKETS, _OTHERS)
    rounds = min(deepest, _ROUNDS)
    for _ in range(rounds):
        # The innermost ones go, all at once: ten times as quick as to count up and down, unless they are made for it.
        outer = brackets.replace(b"\1\2", b"")
        if len(outer) == len(brackets):
            return
        brackets = outer
    if max(itertools.accumulate(array.array("b", brackets.translate(_STEPS))), default=0) > deepest - rounds:
        raise TooMuchError(f"it is nested more than {deepest} times, and {setting} is {deepest}")


def _without_texts(data: bytes) -> bytes:
    """Return JSON without its texts; a quote behind a backslash ends none."""
    parts = data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
    return b"".join(parts[::2])
