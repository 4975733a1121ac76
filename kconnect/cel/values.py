"""
What CEL's operators and functions work on: Python's values, CEL's types for them, and the frame of an evaluation.

Read next: `operators.py` and `functions.py`; the closures that `compiler.py` makes call them.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kconnect.api import Struct
from kconnect.cel.syntax import CelError, Uint

Function = Callable[..., Any]

_INT_LOW, _INT_HIGH, _UINT_HIGH = -(1 << 63), 1 << 63, 1 << 64


class TooMuchWork(Exception):
    """No CelError, because `||` and `exists` would go on after one."""


class Frame:
    """An evaluation: the record, the values of macros' variables, and how much work may still be done."""

    __slots__ = ("left", "locals", "record")

    def __init__(self, record: Any, variables: int, work: int) -> None:
        self.record, self.left = record, work
        self.locals: list[Any] = [None] * variables

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise TooMuchWork


class CelType(NamedTuple):
    """The result of `type(x)`."""

    name: str


TYPES: Mapping[type, CelType] = {
    int: CelType("int"),
    Uint: CelType("uint"),
    float: CelType("double"),
    bool: CelType("bool"),
    str: CelType("string"),
    bytes: CelType("bytes"),
    list: CelType("list"),
    dict: CelType("map"),
    Struct: CelType("map"),
    type(None): CelType("null_type"),
    datetime.datetime: CelType("google.protobuf.Timestamp"),
    datetime.timedelta: CelType("google.protobuf.Duration"),
    CelType: CelType("type"),
}
TYPE_NAMES: Mapping[str, CelType] = {kind.name: kind for kind in TYPES.values()}
PLAIN = frozenset(TYPES)
"""The types of values that expressions work on; `plain` makes one of what else a record may hold."""


NUMBERS = frozenset((int, float, Uint))


_SHORT = decimal.Context(800, decimal.ROUND_05UP, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
"""More digits of a decimal decide on no double, and one of a megabyte takes a hundredth of a second in each turn of a macro."""


def plain(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, decimal.Decimal):
        return float(_SHORT.create_decimal(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    for kind in (str, dict, Struct, datetime.datetime):
        if isinstance(value, kind):
            return value if kind in (dict, Struct) else _exactly(kind, value)
    if isinstance(value, list | tuple):
        return list(value)
    raise CelError(f"CEL has no type for a {type(value).__name__}")


def _exactly(kind: type, value: Any) -> Any:
    return str(value) if kind is str else datetime.datetime.fromtimestamp(value.timestamp(), datetime.timezone.utc)


def type_name(value: Any) -> str:
    cel_type = TYPES.get(type(value))
    return type(value).__name__ if cel_type is None else cel_type.name


def no_overload(name: str, *values: Any) -> CelError:
    types = [type_name(value) for value in values]
    text = f"{name} is not defined for {' and '.join(types)}"
    if len(set(types)) > 1 and set(types) <= {"int", "uint", "double"}:
        text += ", which CEL does not mix: convert one of them, for example with double(...)"
    elif "null_type" in types:
        text += ": if a field may be null, check it first: value.a == null ? ... : ..."
    return CelError(text)


def to_int64(value: int) -> int:
    if _INT_LOW <= value < _INT_HIGH:
        return value
    raise CelError("the result is not a 64-bit integer")


def to_uint64(value: int) -> Uint:
    if 0 <= value < _UINT_HIGH:
        return Uint(value)
    raise CelError("the result is not an unsigned 64-bit integer")


def shown(key: Any) -> str:
    # Cut first: of a long text it takes as long as it is.
    text = repr(key[:60] if isinstance(key, str) else key) if isinstance(key, str | int | float) else type_name(key)
    is_whole = len(text) <= 60 and not (isinstance(key, str) and len(key) > 60)
    return text if is_whole else f"{text[:57]}..."
