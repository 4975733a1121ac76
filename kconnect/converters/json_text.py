"""
JSON text as Connect's library, Jackson, writes and reads it, at orjson's speed where both agree.

`dumps` writes, `loads` reads into plain Python; whatever orjson does otherwise takes a slower way here, so that the rest of
the converter need not know. Called by `json.py` only. Read next: `json_bytes.py` for what text bytes are, `json_writers.py`.
"""

from __future__ import annotations

import contextlib
import decimal
import json
import operator
import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from kconnect.converters.column_bytes import Pieces, is_constant
from kconnect.converters.json_bytes import text_of
from kconnect.data.values import float32_text, float64_text
from kconnect.errors import DataError

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""What no text at all stands for."""

# orjson would write some classes that are no data of Connect's.
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS

_ESCAPE = re.compile(rb"\\(?:u00[01][0-9a-f]|.)")
_BEYOND_BMP = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Where orjson's numbers may not be Jackson's: beyond 64 bits, and a negative zero. Looking for long numbers with a pattern
# alone would take longer than reading the text does, and so would `in`, which costs three times as much as `find`.
_DIGITS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else ord(" ") for byte in range(256))
_NINETEEN = b"0" * 19
_LONG = re.compile(rb"[0-9]{20}|9[2-9][0-9]{17}")
_DIGITS_AND_POINTS = _DIGITS[: ord(".")] + b"0" + _DIGITS[ord(".") + 1 :]
# Not from within a number: each of its digits would be tried as the first.
_LONG_FRACTION = re.compile(rb"(?<![0-9.])(?=[0-9.]{19})[0-9]+\.[0-9]+")
_NEGATIVE_ZERO = re.compile(rb"-0(?:\.0+)?(?:[eE][-+]?[0-9]+)?(?![0-9.])")

# Without digits, which might look like a long number.
_MARK = "".join(secrets.choice("ghjkmnpqrstvwxyz") for _ in range(32))
_NUL = orjson.Fragment(b"\0")
"""What no JSON text has in it."""
_BETWEEN = b',"%b",' % _MARK.encode()

_WORDS = {int, float, bool, type(None)}
"""Whose texts have no comma."""

_BLANKS = " \t\r\n"
_OF_A_NUMBER = re.compile(r"[^ \t\r\n]")
_OF_A_WORD = re.compile(r"[0-9A-Za-z_\x7f-\U0010ffff]|\\u")
_STRING_OR_ZEROS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|(?<![0-9.eE+])(-?)0+(?=[0-9])', re.DOTALL)
"""A text without an end goes to the end: if it were none, each quote in it would be tried as the begin of another."""


# --- writing ---


def dumps(plain: Any) -> bytes:
    """The text of a value in which `float64` and `float32` have been applied to all floats."""
    try:
        data = orjson.dumps(plain, option=_OPTIONS)
    except orjson.JSONEncodeError:
        # A lone surrogate, mostly; whatever else is wrong is wrong here too.
        data = _write(plain).encode()
    return _exactly(data)


def _exactly(data: bytes) -> bytes:
    """orjson's text as Jackson's."""
    if not data.isascii():
        data = _BEYOND_BMP.sub(_as_surrogates, data)
    if _has(data, b"\\", b"\\u00"):
        data = _ESCAPE.sub(_in_capitals, data)
    return data


def _has(data: bytes, rare: bytes, sought: bytes) -> bool:
    """Whether `sought`, which has the byte `rare`, is in it. To look for one byte takes a fiftieth of looking for two."""
    return data.find(rare) >= 0 and data.find(sought) >= 0


def dumps_each(plains: Sequence[Any]) -> list[bytes]:
    """`dumps` of many values in one go; JSONEncodeError if one of them takes a slower way."""
    marked: list[Any] = [_NUL] * (2 * len(plains) - 1)
    marked[::2] = plains
    return _exactly(orjson.dumps(marked, option=_OPTIONS))[1:-1].split(b",\0,")


def dumps_column(plains: Sequence[Any], kinds: set[type] | None = None) -> Pieces:
    """The same as pieces, to be put into larger texts. `kinds` are the values' classes, if they are known."""
    kinds = kinds or set(map(type, plains))
    if is_constant(plains, kinds):
        return [dumps(plains[0])]
    if kinds == {str}:
        # Within a text no quote stands without a backslash before it, so this is where one ends and the next begins.
        return [b'"', dumps(plains)[2:-2].split(b'","'), b'"']
    return [dumps(plains)[1:-1].split(b",") if kinds <= _WORDS else dumps_each(plains)]


def float64(value: float) -> Any:
    """The number as `dumps` needs it: orjson's text is Java's only between 1e-3 and 1e7."""
    if 1e-3 <= abs(value) < 1e7 or value == 0:
        return value
    text = float64_text(value)
    return orjson.Fragment(text) if text[-1].isdigit() else text


def float32(value: float) -> Any:
    text = float32_text(value)
    return orjson.Fragment(text) if text[-1].isdigit() else text


def _as_surrogates(match: re.Match[bytes]) -> bytes:
    units = match[0].decode().encode("utf-16-be")
    return b"\\u%02X%02X\\u%02X%02X" % tuple(units)


def _in_capitals(match: re.Match[bytes]) -> bytes:
    escape = match[0]
    return b"\\u" + escape[2:].upper() if escape.startswith(b"\\u") else escape


def _write(plain: Any) -> str:
    if isinstance(plain, str):
        whole = _SURROGATE.sub("", plain)
        if whole == plain:
            return orjson.dumps(plain).decode()
        parts = _SURROGATE.split(plain)
        lone = [f"\\u{ord(unit):04X}" for unit in _SURROGATE.findall(plain)]
        texts = [orjson.dumps(part).decode()[1:-1] for part in parts]
        return f'"{"".join(text + unit for text, unit in zip(texts, [*lone, ""]))}"'
    if isinstance(plain, dict):
        return f"{{{','.join([f'{_write(key)}:{_write(item)}' for key, item in plain.items()])}}}"
    if isinstance(plain, list):
        return f"[{','.join(map(_write, plain))}]"
    return orjson.dumps(plain, option=_OPTIONS).decode()


# --- reading ---


def loads(data: bytes) -> Any:
    """
    Return the first value in `data`, in plain Python; MISSING if there is nothing but blanks. Raise DataError if it is no JSON.
    """
    plain = loads_quickly(data)
    return _read(data, _double) if plain is MISSING else plain


def loads_quickly(data: bytes) -> Any:
    """The one value that all of `data` is; MISSING if there is anything about it that takes the slower way."""
    if has_long_number(data) or (_has(data, b"-", b"-0") and _NEGATIVE_ZERO.search(data) is not None):
        return MISSING
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return MISSING


def loads_each(texts: list[bytes]) -> list[Any] | None:
    """`loads_quickly` of many texts in one go; None if one of them takes the slower way, whichever it is."""
    # As one array, which is much quicker. What stands between two texts is found again between their values only if each
    # text is one value by itself: no writer of a text knows it.
    values = loads_quickly(b"[%b]" % _BETWEEN.join(texts))
    count = len(texts) - 1
    if type(values) is not list or len(values) != 2 * count + 1 or values[1::2].count(_MARK) != count:
        return None
    return values[::2]


def columns_of(objects: Sequence[dict[str, Any]], names: Sequence[str]) -> Sequence[Sequence[Any]]:
    """Return the values of each name. None stands for what an object has not."""
    if len(names) > 1 and min(map(len, objects), default=0) >= len(names):
        # In one call for each object, which takes a third of the time, if all of them have these names and maybe others.
        with contextlib.suppress(KeyError):
            return list(zip(*map(operator.itemgetter(*names), objects)))
    return [[plain.get(name) for plain in objects] for name in names]


def has_long_number(data: bytes) -> bool:
    """Whether there may be an integer that 64 bits can't hold."""
    return data.translate(_DIGITS).find(_NINETEEN) >= 0 and _LONG.search(data) is not None


def has_long_fraction(data: bytes) -> bool:
    """Whether there may be a fraction that has more digits than a floating point number."""
    return data.translate(_DIGITS_AND_POINTS).find(_NINETEEN) >= 0 and _LONG_FRACTION.search(data) is not None


def loads_with_digits(data: bytes) -> Any:
    """`loads`, but what a floating point number has not exactly, digit by digit, is a `Decimal`."""
    return _read(data, _double_or_decimal)


def loads_exactly(data: bytes) -> Any:
    """The same with fractions as `Decimal`."""
    return _read(data, decimal.Decimal)


def free(plain: Any) -> Any:
    """Return what was read as a value without a schema: integers have 64 bits, and nothing at all is null."""
    if type(plain) is int:
        return wrapped(plain)
    if type(plain) is dict:
        return {key: free(item) for key, item in plain.items()}
    if type(plain) is list:
        return [free(item) for item in plain]
    return None if plain is MISSING else plain


def loads_free(data: bytes) -> Any:
    """`free(loads(data))`, quicker."""
    plain = loads_quickly(data)
    return free(_read(data, _double)) if plain is MISSING else plain


def wrapped(value: int) -> int:
    """Java's `longValue`: the lower 64 bits."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _double(text: str) -> float:
    # Jackson is told to read fractions as decimals, which have no negative zero; only what underflows has.
    value = float(text)
    return 0.0 if value == 0 and not decimal.Decimal(text) else value


def _double_or_decimal(text: str) -> Any:
    value = _double(text)
    # The shortest text of the nearest number is what a writer of floating point numbers writes.
    exact = decimal.Decimal(text)
    return value if decimal.Decimal(repr(value)) == exact else exact


def _read(data: bytes, fraction: Callable[[str], Any]) -> Any:
    try:
        text, named = text_of(data)
        # Connect allows zeros in front of numbers.
        text = _STRING_OR_ZEROS.sub(lambda match: match[0] if match[1] is None else match[1], text.lstrip(_BLANKS))
        if not text:
            return MISSING
        decoder = json.JSONDecoder(parse_float=fraction, parse_constant=_refuse, object_pairs_hook=named)
        # Jackson reads one value and leaves the rest alone, unless a number or a word runs into it.
        value, end = decoder.raw_decode(text)
        runs_on = _OF_A_WORD if value is None or isinstance(value, bool) else _OF_A_NUMBER
        if not isinstance(value, str | list | dict) and runs_on.match(text, end):
            raise ValueError("a value is followed by something else")
        return value
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise DataError("Converting byte[] to Kafka Connect data failed due to serialization error: ") from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
