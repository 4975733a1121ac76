"""
Thrift: the compact form that Parquet has its footers and the heads of its pages in, read within limits.

pyarrow reads it too, but tells of a page only once it is unpacked. What is read here has to be what pyarrow reads: it takes the
last of two fields with one number, and numbers of fields by 16 bits, so such a structure is refused. Called by
`parquet_pages.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kconnect.api import DataError

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DEEPEST = 16
_MOST = 1_000_000

Fields = Mapping[int, Any]


class Long(int):
    """An integer of 64 bits. A field of another type than Parquet's is passed over by who knows these."""


class Reader:
    """
    Reads structs from bytes; `at` is where it is. `made` has what is to be made of values, by how deeply a struct is nested and
    the number of its field, as soon as they are read: there may be a million of them.
    """

    def __init__(self, data: bytes, made: Mapping[tuple[int, int], Callable[[Any], Any]] | None = None) -> None:
        self._data, self.at, self._made = data, 0, made or {}

    def struct(self, depth: int = 0) -> Fields:
        """
        Return the fields of a struct by their numbers, those in it as such, too. DataError for what is no struct; IndexError if
        the bytes are too few.
        """
        if depth > _DEEPEST:
            raise DataError("its structure is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return fields
            kind, delta = head & 15, head >> 4
            number = number + delta if delta else self._zigzag()
            if number in fields or not 0 < number < 1 << 15:
                raise DataError(f"its structure has a field {number} twice, or none can have that number")
            value, make = self._value(kind, depth), self._made.get((depth, number))
            fields[number] = value if make is None else make(value)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind == _I64:
            return Long(self._zigzag())
        if kind in (_I16, _I32):
            return self._zigzag()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            return self._list(depth)
        if kind == _STRUCT:
            return self.struct(depth=depth + 1)
        raise DataError("it has a structure that is not Parquet's")

    def _head_of_list(self) -> tuple[int, int]:
        head = self._byte()
        count, kind = head >> 4, head & 15
        if count == 15:
            count = self._varint()
        if count > _MOST:
            raise DataError(f"its structure has a list of more than {_MOST} parts")
        return count, kind

    def _list(self, depth: int) -> list[Any]:
        count, kind = self._head_of_list()
        if kind in (_TRUE, _FALSE):
            return [self._byte() == _TRUE for _ in range(count)]
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte

    def _bytes(self, count: int) -> bytes:
        if not 0 <= count <= len(self._data) - self.at:
            raise IndexError("the bytes are too few")
        self.at += count
        return self._data[self.at - count : self.at]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise DataError("it has a number that is too long")

    def _zigzag(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)
