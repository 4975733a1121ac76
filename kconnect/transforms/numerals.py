"""
Java's numbers: of which texts they are made, and what is left of them in fewer bits. Used by `cast.py`.

Connect's other conversions (`values.convert_to_...`) read texts as literals and cut whole numbers by another rule.
"""

from __future__ import annotations

import decimal
import math
import re
import unicodedata

from kconnect.data import values

_BLANKS = "".join(map(chr, range(33)))
_DECIMAL = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)[fd]?", re.ASCII | re.IGNORECASE)
_HEX = re.compile(r"([+-]?0x(?:[0-9a-f]+\.?|[0-9a-f]*\.[0-9a-f]+)p[+-]?\d+)[fd]?", re.ASCII | re.IGNORECASE)
_WORDS = {f"{sign}{word}": float(f"{sign}{word}") for sign in ("", "+", "-") for word in ("NaN", "Infinity")}


class NotANumber(ValueError):
    """Java's NumberFormatException."""


def integer(text: str, bits: int) -> int:
    """`Long.parseLong` and the like: digits of any script, no blanks; NotANumber also for one of more bits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or any(ord(digit) > 0xFFFF or unicodedata.decimal(digit, None) is None for digit in digits):
        raise NotANumber(text)
    number = int(text)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise NotANumber(text)
    return number


def float64_of(text: str) -> float:
    """`Double.parseDouble`: blanks around it don't count; too large is infinite."""
    parsed = _parsed(text)
    return parsed if isinstance(parsed, float) else float(parsed)


def float32_of(text: str) -> float:
    """`Float.parseFloat`, which is not the nearest float of the nearest double."""
    parsed = _parsed(text)
    if isinstance(parsed, float):
        return values.float32(parsed)
    try:
        return nearest_float32(decimal.Decimal(parsed))
    except decimal.InvalidOperation:
        # An exponent beyond all that a Decimal takes: nothing or infinite.
        return float(parsed)


def _parsed(text: str) -> str | float:
    """A number's text as Python reads it too, or the number."""
    text = text.strip(_BLANKS)
    if text in _WORDS:
        return _WORDS[text]
    match = _DECIMAL.fullmatch(text)
    if match is not None:
        return match[1]
    match = _HEX.fullmatch(text)
    if match is None:
        raise NotANumber(text)
    try:
        return float.fromhex(match[1])
    except OverflowError:
        return -math.inf if text.startswith("-") else math.inf


def nearest_float32(number: int | float | decimal.Decimal) -> float:
    """Rounded once: by way of a double, a number near the middle of two floats might go the wrong way."""
    double = float(number)
    narrow = values.float32(double)
    if isinstance(number, float) or narrow == double or not math.isfinite(narrow):
        return narrow
    exact = decimal.Decimal(number)
    between = decimal.Decimal(double)
    if between == exact:
        return narrow
    return values.float32(math.nextafter(double, math.inf if between < exact else -math.inf))


def narrowed(number: int | float | decimal.Decimal, bits: int) -> int:
    """Java's cast of a number to so many bits: floats stop at the ends of int or long, the rest loses its upper bits."""
    if isinstance(number, float):
        if math.isnan(number):
            return 0
        most = 1 << (63 if bits == 64 else 31)
        number = -most if number <= -most else most - 1 if number >= most else int(number)
    elif isinstance(number, decimal.Decimal):
        number = values.convert_to_long(None, number) or 0
    half = 1 << bits - 1
    return (number + half) % (half << 1) - half
