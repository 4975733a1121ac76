"""
A decoder of manifests that reads nothing beside its bytes.

pyiceberg's own, in C, believes each length: a manifest could have it read the memory of the process, whose secrets would then
stand in the next manifest, or end it. This one is in Python, and fails where bytes end, where a number is longer than 64 bits,
and where a length is below zero. Called by `files.py`.
"""

from __future__ import annotations

from typing import Any

from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.types import FixedType, ListType, MapType, StructType

from kconnect.api import ConnectError

_LONGEST = 10
"""A number of 64 bits has so many bytes, of seven bits each."""


class Decoder(BinaryDecoder):
    """EOFError or ValueError for bytes that are not what they should be."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def tell(self) -> int:
        return self._at

    def read(self, n: int) -> bytes:
        begin = self._at
        self.skip(n)
        return self._data[begin : self._at]

    def skip(self, n: int) -> None:
        if not 0 <= n <= len(self._data) - self._at:
            raise EOFError(f"{n} bytes are asked for, of which {len(self._data) - self._at} are left")
        self._at += n

    def read_int(self) -> int:
        data, at = self._data, self._at
        try:
            byte = data[at]
        except IndexError:
            # So the end of a file is known.
            raise EOFError("there are no more bytes") from None
        at += 1
        if byte < 128:
            self._at = at
            return (byte >> 1) ^ -(byte & 1)
        bits, shift = byte & 127, 7
        for byte in data[at : at + _LONGEST - 1]:
            at += 1
            bits |= (byte & 127) << shift
            if byte < 128:
                self._at = at
                return (bits >> 1) ^ -(bits & 1)
            shift += 7
        raise EOFError("a number has no end")

    def skip_int(self) -> None:
        self.read_int()


def check_elements(kind: Any, location: str) -> None:
    """
    Raise ConnectError for a type with lists whose elements have no bytes: a few bytes could say that there are more of them
    than anybody can count.
    """
    if isinstance(kind, StructType):
        for field in kind.fields:
            check_elements(field.field_type, location)
    elif isinstance(kind, ListType | MapType):
        parts = (kind.element_type,) if isinstance(kind, ListType) else (kind.key_type, kind.value_type)
        if isinstance(kind, ListType) and kind.element_required and _is_empty(kind.element_type):
            raise ConnectError(f"The file {location[:300]} has lists whose elements have no bytes: it can't be read")
        for part in parts:
            check_elements(part, location)


def _is_empty(kind: Any) -> bool:
    """Whether a value has no bytes. A map's key is a text, and what is optional has a byte that says whether it is there."""
    if isinstance(kind, StructType):
        return all(field.required and _is_empty(field.field_type) for field in kind.fields)
    return isinstance(kind, FixedType) and len(kind) == 0
