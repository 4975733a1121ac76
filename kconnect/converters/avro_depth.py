"""
How deeply the values of a type that contains itself are nested, before fastavro reads them.

fastavro calls itself for each level, without an end: a record of a few kilobytes would end the process, and all its tasks. Only
long records are looked at, for a short one has no room for so many levels. Called by `avro.py`.
"""

from __future__ import annotations

from kconnect.converters.avro_types import Avro
from kconnect.errors import DataError

_SAFE_BYTES = 4096
"""A level takes a byte at least, and fastavro's stack has room for ten times as many."""
_DEEPEST = 300


def contains_itself(avro: Avro) -> bool:
    """Return whether a type has a part that is the type again, or a part of it is."""
    visited: set[int] = set()

    def visit(node: Avro, above: frozenset[int]) -> bool:
        if id(node) in above:
            return True
        if id(node) in visited:
            return False
        inside = above | {id(node)}
        inner = [*node.branches, *([node.items] if node.items is not None else []), *(field.type for field in node.fields)]
        is_inside = any(visit(part, inside) for part in inner)
        visited.add(id(node))
        return is_inside

    return visit(avro, frozenset())


def check_depth(avro: Avro, data: bytes, at: int) -> None:
    """Raise DataError if the value at this place is nested too deeply. IndexError if the bytes are too few."""
    if len(data) - at > _SAFE_BYTES:
        _skip(avro, data, at, 0)


def _skip(avro: Avro, data: bytes, at: int, depth: int) -> int:
    """Return the place behind a value."""
    if depth > _DEEPEST:
        raise DataError(f"it is nested more than {_DEEPEST} times")
    kind = avro.type
    if kind == "record":
        for field in avro.fields:
            at = _skip(field.type, data, at, depth + 1)
        return at
    if kind == "union":
        branch, at = _long(data, at)
        if not 0 <= branch < len(avro.branches):
            raise DataError("it has a branch that its schema has not")
        return _skip(avro.branches[branch], data, at, depth + 1)
    if kind in ("array", "map"):
        while True:
            count, at = _long(data, at)
            if count == 0:
                return at
            if count < 0:
                count = -count
                _, at = _long(data, at)
            for _ in range(count):
                if kind == "map":
                    at = _text(data, at)
                at = _skip(avro.item(), data, at, depth + 1)
    if kind in ("bytes", "string"):
        return _text(data, at)
    if kind in ("int", "long", "enum"):
        return _long(data, at)[1]
    return at + {"boolean": 1, "float": 4, "double": 8, "fixed": avro.size}.get(kind, 0)


def _text(data: bytes, at: int) -> int:
    length, at = _long(data, at)
    if not 0 <= length <= len(data) - at:
        raise IndexError("the bytes are too few")
    return at + length


def _long(data: bytes, at: int) -> tuple[int, int]:
    bits = shift = 0
    while True:
        byte = data[at]
        at += 1
        bits |= (byte & 127) << shift
        if byte < 128:
            return (bits >> 1) ^ -(bits & 1), at
        shift += 7
        if shift > 63:
            raise IndexError("a number is too long")
