"""
CEL's operators and functions, over Python's values. Called by what `compiler.py` makes.

Each gets the frame of the evaluation first, which it charges for work that grows with its values. A combination of types that
CEL has no meaning for is a CelError; numbers are not converted, other than in comparisons.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import re2

from kconnect.api import DataError, Struct
from kconnect.cel import times
from kconnect.cel.syntax import CelError, Uint

Function = Callable[..., Any]

_INT_LOW, _INT_HIGH, _UINT_HIGH = -(1 << 63), 1 << 63, 1 << 64


class TooMuchWork(Exception):
    """No CelError, because `||` and `exists` would go on after one."""


class Frame:
    """One evaluation: the record, the values of macros' variables, and how much work may still be done."""

    __slots__ = ("left", "locals", "record")

    def __init__(self, record: Any, variables: int, work: int) -> None:
        self.record, self.left = record, work
        self.locals: list[Any] = [None] * variables

    def spend(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise TooMuchWork


class CelType(NamedTuple):
    """What `type(x)` gives."""

    name: str


_TYPES: Mapping[type, CelType] = {
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
TYPE_NAMES: Mapping[str, CelType] = {kind.name: kind for kind in _TYPES.values()}
PLAIN = frozenset(_TYPES)
"""The types of values that expressions work on; `plain` makes one of what else a record may hold."""


def plain(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | decimal.Decimal):
        return float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    for kind in (str, dict, Struct, datetime.datetime):
        if isinstance(value, kind):
            return value if kind in (dict, Struct) else _exactly(kind, value)
    if isinstance(value, list | tuple):
        return list(value)
    raise CelError(f"a {type(value).__name__} is nothing that CEL knows")


def _exactly(kind: type, value: Any) -> Any:
    return str(value) if kind is str else datetime.datetime.fromtimestamp(value.timestamp(), datetime.timezone.utc)


def type_name(value: Any) -> str:
    found = _TYPES.get(type(value))
    return type(value).__name__ if found is None else found.name


def no_overload(name: str, *values: Any) -> CelError:
    types = [type_name(value) for value in values]
    text = f"{name} is not defined for {' and '.join(types)}"
    if len(set(types)) > 1 and set(types) <= {"int", "uint", "double"}:
        text += ", which CEL does not mix: convert one, as by double(...)"
    elif "null_type" in types:
        text += ": where a field may be null, ask first: value.a == null ? ... : ..."
    return CelError(text)


def _int(value: int) -> int:
    if _INT_LOW <= value < _INT_HIGH:
        return value
    raise CelError("the result is no integer of 64 bits")


def _uint(value: int) -> Uint:
    if 0 <= value < _UINT_HIGH:
        return Uint(value)
    raise CelError("the result is no unsigned integer of 64 bits")


# Operators


def add(frame: Frame, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return _int(left + right)
        if kind is float:
            return left + right
        if kind is str or kind is bytes:
            frame.spend(len(left) + len(right) >> 3)
            return left + right
        if kind is list:
            frame.spend(len(left) + len(right))
            return left + right
        if kind is Uint:
            return _uint(int(left) + int(right))
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
            return _int(left - right)
        if kind is float:
            return left - right
        if kind is Uint:
            return _uint(int(left) - int(right))
        if kind is datetime.timedelta or kind is datetime.datetime:
            return times.checked(left - right)
    if kind is datetime.datetime and type(right) is datetime.timedelta:
        return times.moved(left, -right)
    raise no_overload("-", left, right)


def multiply(frame: Frame, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return _int(left * right)
        if kind is float:
            return left * right
        if kind is Uint:
            return _uint(int(left) * int(right))
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
            return _int(quotient) if kind is int else _uint(quotient)
    raise no_overload("/", left, right)


def remainder(frame: Frame, left: Any, right: Any) -> Any:
    kind = type(left)
    if kind is type(right) and (kind is int or kind is Uint):
        found = int(left) - _int_or_uint(kind, _divided(int(left), int(right))) * int(right)
        return found if kind is int else Uint(found)
    raise no_overload("%", left, right)


def _int_or_uint(kind: type, value: int) -> int:
    return _int(value) if kind is int else value


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    # Towards zero; Python's goes down.
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) is (right < 0) else -quotient


def negate(frame: Frame, value: Any) -> Any:
    if type(value) is int:
        return _int(-value)
    if type(value) is float:
        return -value
    raise no_overload("-", value)


def invert(frame: Frame, value: Any) -> Any:
    if value is True or value is False:
        return not value
    raise no_overload("!", value)


_NUMBERS = frozenset((int, float, Uint))
_ORDERED = frozenset((str, bytes, bool, datetime.datetime, datetime.timedelta))


def equal(frame: Frame, left: Any, right: Any) -> bool:
    """CEL's ==, for which values of different types are different, but for numbers."""
    kind, other = type(left), type(right)
    if kind is not other:
        if kind in _NUMBERS and other in _NUMBERS:
            return bool(left == right)
        if kind not in PLAIN or other not in PLAIN:
            left, right = plain(left), plain(right)
            return type(left) in PLAIN and type(right) in PLAIN and equal(frame, left, right)
        return False
    if kind is str or kind is bytes:
        frame.spend(min(len(left), len(right)) >> 3)
    elif kind is list:
        frame.spend(len(left) + 1)
        return len(left) == len(right) and all(equal(frame, one, two) for one, two in zip(left, right))
    elif kind is dict:
        frame.spend(len(left) + 1)
        if len(left) != len(right):
            return False
        return all(
            (there := _lookup(right, key)) is not _ABSENT and equal(frame, item, there) for key, item in left.items()
        )
    elif kind is Struct:
        frame.spend(len(left.values) + 1)
        return left.schema == right.schema and all(
            equal(frame, one, two) for one, two in zip(left.values, right.values)
        )
    elif kind not in PLAIN:
        return equal(frame, plain(left), plain(right))
    return bool(left == right)


def unequal(frame: Frame, left: Any, right: Any) -> bool:
    return not equal(frame, left, right)


def _comparable(frame: Frame, name: str, left: Any, right: Any) -> None:
    kind, other = type(left), type(right)
    if kind is other and kind in _ORDERED:
        if kind is str or kind is bytes:
            frame.spend(min(len(left), len(right)) >> 3)
    elif kind not in _NUMBERS or other not in _NUMBERS:
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


def _lookup(items: dict[Any, Any], key: Any) -> Any:
    """The item, or `_ABSENT`. For Python True is 1, for CEL it is not; a whole double is as good as an int."""
    try:
        found = items.get(key, _ABSENT)
    except TypeError:
        return _ABSENT
    if found is not _ABSENT and (key is True or key is False or (key in (0, 1) and type(key) is not str)):
        wanted = type(key) is bool
        return found if any(known == key and (type(known) is bool) is wanted for known in items) else _ABSENT
    return found


def is_in(frame: Frame, item: Any, where: Any) -> bool:
    kind = type(where)
    if kind is list:
        for known in where:
            frame.spend(1)
            if equal(frame, item, known):
                return True
        return False
    if isinstance(where, dict):
        return _lookup(where, item) is not _ABSENT
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
        found = where[key]
    elif isinstance(where, dict):
        found = _lookup(where, key)
        if found is _ABSENT:
            raise CelError(f"there is no key {_shown(key)}")
    elif type(where) is Struct and type(key) is str:
        return field(where, key)
    else:
        raise no_overload("[]", where, key)
    return found if type(found) in PLAIN else plain(found)


def field(where: Any, name: str) -> Any:
    """A field of a struct, with its default for null, or of a map."""
    if type(where) is Struct:
        try:
            found = where.get(name)
        except DataError:
            raise CelError(f"there is no field {name}; has() tells whether there is") from None
    elif isinstance(where, dict):
        found = where.get(name, _ABSENT)
        if found is _ABSENT:
            raise CelError(f"there is no field {name}; has() tells whether there is")
    elif where is None:
        raise CelError(f"null has no field {name}; has() tells whether there is one")
    else:
        raise CelError(f"a {type_name(where)} has no fields, and so no {name}")
    return found if type(found) in PLAIN else plain(found)


def has(where: Any, name: str) -> bool:
    """Whether a struct has the field and it is not null, or a map has the key. Of null too, which has none."""
    if type(where) is Struct:
        return where.schema.field(name) is not None and where.get(name) is not None
    if isinstance(where, dict):
        return name in where
    if where is None:
        return False
    raise CelError(f"has() asks for a field of a map, this is a {type_name(where)}")


def make_map(entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key, item in entries:
        if type(key) not in _KEYS:
            raise CelError(f"a {type_name(key)} can't be the key of a map")
        if key in made:
            raise CelError(f"the key {_shown(key)} is there twice")
        made[key] = item
    return made


def _shown(key: Any) -> str:
    text = repr(key) if isinstance(key, str | int | float) else type_name(key)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Functions


def _size(frame: Frame, value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise no_overload("size", value)


def _texts(name: str, function: Callable[[str, str], Any]) -> Function:
    def made(frame: Frame, text: Any, other: Any) -> Any:
        if type(text) is not str or type(other) is not str:
            raise no_overload(name, text, other)
        frame.spend(len(text) + len(other) >> 3)
        return function(text, other)

    return made


_OPTIONS = re2.Options()
_OPTIONS.max_mem = 1 << 18
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True


@lru_cache(maxsize=256)
def regex(pattern: str) -> tuple[Any, int]:
    """A pattern of RE2, whose memory is bounded, and how long a program it is: time is at most that times the text's length."""
    try:
        compiled = re2.compile(pattern, _OPTIONS)
        return compiled, compiled.programsize
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise CelError(f"matches() takes a pattern of RE2, and finds fault with this one: {text}") from None


def matcher(pattern: str) -> Function:
    """The function `matches` for a pattern that is known before."""
    compiled, steps = regex(pattern)

    def matches(frame: Frame, text: Any, _: Any) -> bool:
        if type(text) is not str:
            raise no_overload("matches", text, pattern)
        # Most patterns take a fraction of it; counted repetitions such as [ab]{0,999} take it all.
        frame.spend((len(text) + 64) * steps >> 5)
        try:
            return compiled.search(text) is not None
        except UnicodeEncodeError:
            raise CelError("this text has characters that UTF-8 has no bytes for") from None

    return matches


_COMPILING = 10_000
"""What a pattern costs that is put together for each record, or for each turn of a macro, at its worst."""


def _matches(frame: Frame, text: Any, pattern: Any) -> bool:
    if type(text) is not str or type(pattern) is not str:
        raise no_overload("matches", text, pattern)
    frame.spend(_COMPILING + len(pattern))
    return bool(matcher(pattern)(frame, text, pattern))


_INTEGER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)
_DOUBLE_WORDS = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_BOOLS = {
    **dict.fromkeys(("true", "True", "TRUE", "t", "1"), True),
    **dict.fromkeys(("false", "False", "FALSE", "f", "0"), False),
}


def _to_int(frame: Frame, value: Any) -> int:
    kind = type(value)
    if kind is int or kind is Uint:
        return _int(int(value))
    if kind is float and math.isfinite(value):
        return _int(int(value))
    if kind is str and _INTEGER.fullmatch(value):
        return _int(int(value))
    if kind is datetime.datetime:
        return times.seconds(value)
    raise _not_convertible("int", value)


def _to_uint(frame: Frame, value: Any) -> Uint:
    kind = type(value)
    if kind is int or kind is Uint or (kind is float and math.isfinite(value) and value >= 0):
        return _uint(int(value))
    if kind is str and _INTEGER.fullmatch(value) and value[0] not in "+-":
        return _uint(int(value))
    raise _not_convertible("uint", value)


def _to_double(frame: Frame, value: Any) -> float:
    if type(value) in _NUMBERS:
        return float(value)
    if type(value) is str and (_DOUBLE.fullmatch(value) or _DOUBLE_WORDS.fullmatch(value)):
        return float(value)
    raise _not_convertible("double", value)


def _to_string(frame: Frame, value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return _double_text(value)
        case bytes():
            frame.spend(len(value) >> 3)
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise CelError("these bytes are no text in UTF-8") from None
        case datetime.datetime():
            return times.timestamp_text(value)
        case datetime.timedelta():
            return times.duration_text(value)
    raise _not_convertible("string", value)


def _double_text(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    return text.removesuffix(".0")


def _to_bytes(frame: Frame, value: Any) -> bytes:
    if type(value) is bytes:
        return value
    if type(value) is str:
        frame.spend(len(value) >> 3)
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise CelError("this text has characters that UTF-8 has no bytes for") from None
    raise _not_convertible("bytes", value)


def _to_bool(frame: Frame, value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str and value in _BOOLS:
        return _BOOLS[value]
    raise _not_convertible("bool", value)


def _to_timestamp(frame: Frame, value: Any) -> datetime.datetime:
    if type(value) is datetime.datetime:
        return value
    if type(value) is int:
        return times.of_seconds(value)
    if type(value) is str:
        return times.timestamp(value)
    raise _not_convertible("timestamp", value)


def _to_duration(frame: Frame, value: Any) -> datetime.timedelta:
    if type(value) is datetime.timedelta:
        return value
    if type(value) is str:
        return times.duration(value)
    raise _not_convertible("duration", value)


def _not_convertible(name: str, value: Any) -> CelError:
    if isinstance(value, str):
        return CelError(f"{name}() can't read the text {_shown(value)}")
    return CelError(f"{name}() can't be made of this {type_name(value)}")


def _type(frame: Frame, value: Any) -> CelType:
    return _TYPES[type(value)]


def _dyn(frame: Frame, value: Any) -> Any:
    return value


def _part(name: str, frame: Frame, time: Any, zone: Any = None) -> int:
    found = times.part(name, time, zone)
    if found is None:
        raise no_overload(name, time)
    return found


class Overload(NamedTuple):
    """How many arguments it takes, the one before the point included."""

    arities: tuple[int, ...]
    function: Function


GLOBALS: Mapping[str, Overload] = {
    "size": Overload((1,), _size),
    "matches": Overload((2,), _matches),
    "int": Overload((1,), _to_int),
    "uint": Overload((1,), _to_uint),
    "double": Overload((1,), _to_double),
    "string": Overload((1,), _to_string),
    "bytes": Overload((1,), _to_bytes),
    "bool": Overload((1,), _to_bool),
    "timestamp": Overload((1,), _to_timestamp),
    "duration": Overload((1,), _to_duration),
    "type": Overload((1,), _type),
    "dyn": Overload((1,), _dyn),
}
METHODS: Mapping[str, Overload] = {
    "size": Overload((1,), _size),
    "matches": Overload((2,), _matches),
    "contains": Overload((2,), _texts("contains", str.__contains__)),
    "startsWith": Overload((2,), _texts("startsWith", str.startswith)),
    "endsWith": Overload((2,), _texts("endsWith", str.endswith)),
    **{name: Overload((1, 2), partial(_part, name)) for name in times.PARTS},
}
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
