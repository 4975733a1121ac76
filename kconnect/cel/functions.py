"""
CEL's functions and methods, on Python's values. The closures that `compiler.py` makes call them.

Like an operator (`operators.py`), each takes the frame of the evaluation first, and charges it for work that grows with its
values.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import re2

from kconnect.cel import times
from kconnect.cel.syntax import CelError, Uint
from kconnect.cel.values import (
    NUMBERS,
    TYPES,
    CelType,
    Frame,
    Function,
    no_overload,
    shown,
    to_int64,
    to_uint64,
    type_name,
)


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


_LONGEST_PATTERN = 4096
"""As long as an expression may be. RE2 bounds what it makes of a pattern, but not the tree that it reads it to."""


@lru_cache(maxsize=256)
def regex(pattern: str) -> tuple[Any, int]:
    """
    A pattern of RE2, whose memory is bounded, and how long a program it is: time is at most that times the text's length.
    CelError for none, or one that is too long.
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise CelError(f"matches() takes a pattern of {_LONGEST_PATTERN} characters at most, and this one has {len(pattern)}")
    try:
        compiled = re2.compile(pattern, _OPTIONS)
        return compiled, compiled.programsize
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise CelError(f"matches() takes an RE2 pattern, and this one is not valid: {text}") from None


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
            raise CelError("this text has characters that UTF-8 can't encode") from None

    return matches


_COMPILING, _COMPILING_LETTER, _LONGEST_MADE = 10_000, 500, 256
"""
What a pattern costs that is put together for each record, or for each turn of a macro, at its worst, and what each character of
it does: `\\PL` has all other letters in it. Nothing else of the process runs while RE2 reads one, so such ones are short.
"""
_KEPT = 256
_made: dict[str, Function | CelError] = {}
"""The newest patterns of values and what they match, or why there are none: many records have the same ones."""


def _matches(frame: Frame, text: Any, pattern: Any) -> bool:
    if type(text) is not str or type(pattern) is not str:
        raise no_overload("matches", text, pattern)
    matches = _made.get(pattern)
    if matches is None:
        if len(pattern) > _LONGEST_MADE:
            raise CelError(
                f"matches() takes a pattern of {_LONGEST_MADE} characters at most that is no literal, and this one has "
                f"{len(pattern)}"
            )
        frame.spend(_COMPILING + _COMPILING_LETTER * len(pattern))
        try:
            matches = matcher(pattern)
        except CelError as error:
            matches = error
        if len(_made) >= _KEPT:
            _made.clear()
        _made[pattern] = matches
    if isinstance(matches, CelError):
        raise CelError(matches.message)
    return bool(matches(frame, text, pattern))


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
        return to_int64(int(value))
    if kind is float and math.isfinite(value):
        return to_int64(int(value))
    if kind is str and _INTEGER.fullmatch(value):
        return to_int64(int(value))
    if kind is datetime.datetime:
        return times.seconds(value)
    raise _not_convertible("int", value)


def _to_uint(frame: Frame, value: Any) -> Uint:
    kind = type(value)
    if kind is int or kind is Uint or (kind is float and math.isfinite(value) and value >= 0):
        return to_uint64(int(value))
    if kind is str and _INTEGER.fullmatch(value) and value[0] not in "+-":
        return to_uint64(int(value))
    raise _not_convertible("uint", value)


def _to_double(frame: Frame, value: Any) -> float:
    if type(value) in NUMBERS:
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
                raise CelError("these bytes are not UTF-8 text") from None
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
            raise CelError("this text has characters that UTF-8 can't encode") from None
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
        return CelError(f"{name}() can't read the text {shown(value)}")
    return CelError(f"{name}() can't convert this {type_name(value)}")


def _type(frame: Frame, value: Any) -> CelType:
    return TYPES[type(value)]


def _dyn(frame: Frame, value: Any) -> Any:
    return value


_ZONE = 500
"""What it costs to look for a time zone, in files of the machine."""


def _part(name: str, frame: Frame, time: Any, zone: Any = None) -> int:
    if type(zone) is str and not times.is_known(zone):
        frame.spend(_ZONE)
    number = times.part(name, time, zone)
    if number is None:
        raise no_overload(name, time)
    return number


class Overload(NamedTuple):
    """An overload of a function, with its numbers of arguments, the one before the point included."""

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
