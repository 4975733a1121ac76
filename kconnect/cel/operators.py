"""
CEL's operators, fields and indexes, on Python's values. The closures that `compiler.py` makes call them.

Each takes the frame of the evaluation first, and charges it for work that grows with its values. A combination of types that
CEL does not define is a CelError. Numbers are not converted, except in comparisons.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

from kconnect.api import DataError, Struct
from kconnect.cel import times
from kconnect.cel.syntax import CelError, Uint
from kconnect.cel.values import (
    NUMBERS,
    PLAIN,
    Frame,
    Function,
    no_overload,
    plain,
    shown,
    to_int64,
    to_uint64,
    type_name,
)


def add(frame: Frame, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return to_int64(left + right)
        if kind is float:
            return left + right
        if kind is str or kind is bytes:
            frame.spend(len(left) + len(right) >> 3)
            return left + right
        if kind is list:
            frame.spend(len(left) + len(right))
            return left + right
        if kind is Uint:
            return to_uint64(int(left) + int(right))
        if kind is datetime.timedelta:
            return times.checked(left + right)
    if kind is datetime.datetime and type(right) is datetime.timedelta:
        return times.moved(left, right)
    if kind is datetime.timedelta and type(right) is datetime.datetime:
        return times.moved(right, left)
    raise no_overload("+", left, right)


def subtract(frame: Frame, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return to_int64(left - right)
        if kind is float:
            return left - right
        if kind is Uint:
            return to_uint64(int(left) - int(right))
        if kind is datetime.timedelta or kind is datetime.datetime:
            return times.checked(left - right)
    if kind is datetime.datetime and type(right) is datetime.timedelta:
        return times.moved(left, -right)
    raise no_overload("-", left, right)


def multiply(frame: Frame, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return to_int64(left * right)
        if kind is float:
            return left * right
        if kind is Uint:
            return to_uint64(int(left) * int(right))
    raise no_overload("*", left, right)


def divide(frame: Frame, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is float:
            if right == 0:
                # As IEEE has it, and Python does not.
                same = math.copysign(1, left) == math.copysign(1, right)
                return math.nan if left == 0 or math.isnan(left) else math.inf if same else -math.inf
            return left / right
        if kind is int or kind is Uint:
            quotient = _divided(int(left), int(right))
            return to_int64(quotient) if kind is int else to_uint64(quotient)
    raise no_overload("/", left, right)


def remainder(frame: Frame, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right) and (kind is int or kind is Uint):
        result = int(left) - _int_or_uint(kind, _divided(int(left), int(right))) * int(right)
        return result if kind is int else Uint(result)
    raise no_overload("%", left, right)


def _int_or_uint(kind: type, value: int) -> int:
    return to_int64(value) if kind is int else value


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    # Towards zero; Python's goes down.
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) is (right < 0) else -quotient


def negate(frame: Frame, value: Any) -> Any:
    if type(value) is int:
        return to_int64(-value)
    if type(value) is float:
        return -value
    raise no_overload("-", value)


def invert(frame: Frame, value: Any) -> Any:
    if value is True or value is False:
        return not value
    raise no_overload("!", value)


_ORDERED = frozenset((str, bytes, bool, datetime.datetime, datetime.timedelta))


def equal(frame: Frame, left: Any, right: Any) -> bool:
    """CEL's ==, for which values of different types are different, but for numbers."""
    kind, right_kind = type(left), type(right)
    if kind is not right_kind:
        if kind in NUMBERS and right_kind in NUMBERS:
            return bool(left == right)
        if kind not in PLAIN or right_kind not in PLAIN:
            left, right = plain(left), plain(right)
            return type(left) in PLAIN and type(right) in PLAIN and equal(frame, left, right)
        return False
    if kind is str or kind is bytes:
        frame.spend(min(len(left), len(right)) >> 3)
    elif kind is list:
        frame.spend(len(left) + 1)
        return len(left) == len(right) and all(
            equal(frame, left_item, right_item) for left_item, right_item in zip(left, right)
        )
    elif kind is dict:
        frame.spend(len(left) + 1)
        if len(left) != len(right):
            return False
        return all(
            (right_value := _lookup(frame, right, key)) is not _ABSENT and equal(frame, item, right_value)
            for key, item in left.items()
        )
    elif kind is Struct:
        frame.spend(len(left.values) + 1)
        return left.schema == right.schema and all(
            equal(frame, left_item, right_item) for left_item, right_item in zip(left.values, right.values)
        )
    elif kind not in PLAIN:
        return equal(frame, plain(left), plain(right))
    return bool(left == right)


def unequal(frame: Frame, left: Any, right: Any) -> bool:
    return not equal(frame, left, right)


def _comparable(frame: Frame, name: str, left: Any, right: Any) -> None:
    kind, right_kind = type(left), type(right)
    if kind is right_kind and kind in _ORDERED:
        if kind is str or kind is bytes:
            frame.spend(min(len(left), len(right)) >> 3)
    elif kind not in NUMBERS or right_kind not in NUMBERS:
        raise no_overload(name, left, right)


def less(frame: Frame, left: Any, right: Any) -> bool:
    _comparable(frame, "<", left, right)
    return bool(left < right)


def less_or_equal(frame: Frame, left: Any, right: Any) -> bool:
    _comparable(frame, "<=", left, right)
    return bool(left <= right)


def greater(frame: Frame, left: Any, right: Any) -> bool:
    _comparable(frame, ">", left, right)
    return bool(left > right)


def greater_or_equal(frame: Frame, left: Any, right: Any) -> bool:
    _comparable(frame, ">=", left, right)
    return bool(left >= right)


_ABSENT: Any = object()
_KEYS = frozenset((str, int, Uint, bool))


def _lookup(frame: Frame, items: dict[Any, Any], key: Any) -> Any:
    """The item, or `_ABSENT`. For Python True is 1, for CEL it is not; a whole double is as good as an int."""
    try:
        value = items.get(key, _ABSENT)
    except TypeError:
        return _ABSENT
    if value is not _ABSENT and (key is True or key is False or (key in (0, 1) and type(key) is not str)):
        frame.spend(len(items) >> 3)
        is_bool = type(key) is bool
        return value if any(existing == key and (type(existing) is bool) is is_bool for existing in items) else _ABSENT
    return value


def is_in(frame: Frame, item: Any, where: Any) -> bool:
    kind = type(where)
    if kind is list:
        for element in where:
            frame.spend(1)
            if equal(frame, item, element):
                return True
        return False
    if isinstance(where, dict):
        return _lookup(frame, where, item) is not _ABSENT
    if kind is Struct:
        return type(item) is str and where.schema.field(item) is not None
    raise no_overload("in", item, where)


def index(frame: Frame, where: Any, key: Any) -> Any:
    if type(where) is list:
        if type(key) is float and key.is_integer():
            key = int(key)
        if type(key) is not int and type(key) is not Uint:
            raise no_overload("[]", where, key)
        if not 0 <= key < len(where):
            raise CelError(f"there is no item {key} in a list of {len(where)}")
        value = where[key]
    elif isinstance(where, dict):
        value = _lookup(frame, where, key)
        if value is _ABSENT:
            raise CelError(f"there is no key {shown(key)}")
    elif type(where) is Struct and type(key) is str:
        return field(where, key)
    else:
        raise no_overload("[]", where, key)
    return value if type(value) in PLAIN else plain(value)


def field(where: Any, name: str) -> Any:
    """A field of a struct, with its default for null, or of a map."""
    if type(where) is Struct:
        try:
            value = where.get(name)
        except DataError:
            raise CelError(f"there is no field {name}; has() tells whether a field exists") from None
    elif isinstance(where, dict):
        value = where.get(name, _ABSENT)
        if value is _ABSENT:
            raise CelError(f"there is no field {name}; has() tells whether a field exists")
    elif where is None:
        raise CelError(f"null has no field {name}; has() tells whether a field exists")
    else:
        raise CelError(f"a {type_name(where)} has no fields, and so no {name}")
    return value if type(value) in PLAIN else plain(value)


def has(where: Any, name: str) -> bool:
    """Whether a struct has the field and it is not null, or a map has the key. Of null too, which has none."""
    if type(where) is Struct:
        return where.schema.field(name) is not None and where.get(name) is not None
    if isinstance(where, dict):
        return name in where
    if where is None:
        return False
    raise CelError(f"has() asks for a field of a map, but this is of type {type_name(where)}")


def make_map(entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, item in entries:
        if type(key) not in _KEYS:
            raise CelError(f"a value of type {type_name(key)} can't be the key of a map")
        if key in result:
            raise CelError(f"the map has the key {shown(key)} twice")
        result[key] = item
    return result


OPERATORS: Mapping[str, Function] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "-x": negate,
    "!x": invert,
    "==": equal,
    "!=": unequal,
    "<": less,
    "<=": less_or_equal,
    ">": greater,
    ">=": greater_or_equal,
    "in": is_in,
    "[]": index,
}
