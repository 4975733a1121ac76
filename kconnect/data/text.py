"""
The text of values as Java shows them: for the String converter, FileStreamSink and messages.

Plugins use it through `values.py`, where to read next; the other text, that of header values, is in `literals.py`.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import itertools
import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from kconnect.data.column import Column, Unusual
from kconnect.data.schema import Float32, Schema, SchemaType, Struct
from kconnect.java import civil_calendar as calendar
from kconnect.java.moments import DAY_MS, milliseconds_of

_DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_PLAIN = {str, int}
"""Whose texts are the same in Python and Java."""
_TEMPLATES = 64
_templates: dict[tuple[Any, ...], str] = {}


def to_text(value: Any, schema: Schema | None = None) -> str:
    """
    Java's `String.valueOf`: `null`, `true`, `1.0E7`, `[1, 2]`, `{a=1}`, `Struct{a=1}`; dates are those of UTC.

    Unset fields of a struct are left out. With the value's schema, 32-bit floats get no more digits than they have. Bytes are
    base64, as in Connect's `Values`: Java's own text for them is an address.
    """
    kind = type(value)
    if kind is str:
        text: str = value
        return text
    if kind is int:
        return str(value)
    if kind is dict and schema is None:
        return _map_text(value)
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        narrow = isinstance(value, Float32) or (schema is not None and schema.type is SchemaType.FLOAT32)
        return float32_text(value) if narrow else float64_text(value)
    if isinstance(value, list | tuple):
        inner = None if schema is None else schema.value_schema
        return f"[{', '.join([to_text(item, inner) for item in value])}]"
    if isinstance(value, dict):
        of_key, inner = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        return f"{{{', '.join([f'{to_text(key, of_key)}={to_text(item, inner)}' for key, item in value.items()])}}}"
    if isinstance(value, Struct):
        shown = [f"{field.name}={to_text(item, field.schema)}" for field, item in value.items() if item is not None]
        return f"Struct{{{','.join(shown)}}}"
    if isinstance(value, decimal.Decimal):
        # Python's text is Java's, but for a negative zero, which Java has not.
        return str(value if value else value.copy_abs())
    if isinstance(value, datetime.datetime):
        return _date_text(milliseconds_of(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return str(value)


def message_text(value: Any, schema: Schema | None = None) -> str:
    """
    Return the text of a value as `to_text` does, with bytes as Java's messages have them: by where they are, not by what they
    say.
    """
    return to_text(_without_bytes(value), schema)


def _without_bytes(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return f"[B@{id(value):x}"
    if isinstance(value, memoryview):
        return f"java.nio.HeapByteBuffer[pos=0 lim={value.nbytes} cap={value.nbytes}]"
    if isinstance(value, list | tuple):
        return tuple(map(_without_bytes, value))
    if isinstance(value, dict):
        return {_without_bytes(key): _without_bytes(item) for key, item in value.items()}
    if isinstance(value, Struct):
        return Struct.unchecked(value.schema, list(map(_without_bytes, value.values)))
    return value


def column_texts(column: Column) -> list[str]:
    """`to_text` of the values of a column; quick for texts, and for maps and structs."""
    try:
        names, columns = column.fields()
    except Unusual:
        values, schema = column.values, column.schema
        return list(values) if set(map(type, values)) == {str} else [to_text(value, schema) for value in values]
    if not names:
        return [to_text(value, column.schema) for value in column.values]
    if column.schema is None:
        return _joined("{", [f"{name}=" for name in names], ", ", [_texts(items, None) for items in columns])
    if any(None in items for items in columns):
        # Of a struct, unset fields are left out.
        return [to_text(value, column.schema) for value in column.values]
    texts = [_texts(items, field.schema) for items, field in zip(columns, column.schema.fields)]
    return _joined("Struct{", [f"{name}=" for name in names], ",", texts)


def _texts(values: Sequence[Any], schema: Schema | None) -> Sequence[str]:
    """The texts of one field."""
    if isinstance(values, Column):
        return column_texts(values)
    kinds = set(map(type, values))
    if kinds == {str}:
        return values
    return whole_texts(values) if kinds == {int} else [to_text(value, schema) for value in values]


def whole_texts(values: Sequence[int]) -> list[str]:
    """`str` of many integers, in a third of the time."""
    try:
        return orjson.dumps(values)[1:-1].decode().split(",")
    except orjson.JSONEncodeError:  # One is beyond 64 bits.
        return list(map(str, values))


def _joined(head: str, names: Sequence[str], between: str, columns: Sequence[Sequence[str]]) -> list[str]:
    parts: list[Iterable[str]] = []
    for name, texts in zip(names, columns):
        parts += (itertools.repeat(f"{between if parts else head}{name}"), texts)
    return list(map("".join, zip(*parts, itertools.repeat("}"))))


def _map_text(value: dict[Any, Any]) -> str:
    template, items = _template(tuple(value)), tuple(value.values())
    if template is not None and _PLAIN.issuperset(map(type, items)):
        return template % items
    return f"{{{', '.join([f'{to_text(key)}={to_text(item)}' for key, item in value.items()])}}}"


def _template(keys: tuple[Any, ...]) -> str | None:
    """
    Return the format that makes the text of a map with these keys; None if they are no texts. Maps mostly have the keys of the
    one before.
    """
    template = _templates.get(keys)
    if template is None and set(map(type, keys)) == {str}:
        if len(_templates) >= _TEMPLATES:
            _templates.clear()
        template = _templates[keys] = f"{{{', '.join([key.replace('%', '%%') + '=%s' for key in keys])}}}"
    return template


def _date_text(milliseconds: int) -> str:
    """Java's `Date.toString`, which says of no year that it was before Christ."""
    number, clock = divmod(milliseconds, DAY_MS)
    minutes, second = divmod(clock // 1000, 60)
    day = calendar.day(number)
    name = f"{_DAYS[day.day_of_week - 1]} {_MONTHS[day.month]} {day.day_of_month:02}"
    return f"{name} {minutes // 60:02}:{minutes % 60:02}:{second:02} UTC {day.year_of_era}"


def float64_text(value: float) -> str:
    """Java's `Double.toString`: plain from 1e-3 up to 1e7, else one digit before the point and `E`."""
    text = float.__repr__(value)
    if 1e-3 <= abs(value) < 1e7:
        return text
    # Where one digit would do, Java shows the best two: the smallest number is 4.9E-324.
    return _java_float(value, _whole_digits(value, 53) or (text if "." in text else f"{value:.1e}"))


def float32_text(value: float) -> str:
    """Java's `Float.toString`: the shortest text that means this 32-bit number, of two digits at least."""
    narrow = float32(value)
    if not math.isfinite(narrow):
        return float64_text(narrow)
    whole = _whole_digits(narrow, 24)
    if whole is not None:
        return _java_float(narrow, whole)
    packed = struct.pack(">f", narrow)
    for digits in range(1, 9):
        text = f"{narrow:.{digits}e}"
        try:
            if struct.pack(">f", float(text)) == packed:
                break
        except OverflowError:
            continue
    return _java_float(narrow, text)


def _whole_digits(value: float, bits: int) -> str | None:
    """
    The digits of a whole number of more bits than the format has, below 2^62; None for all others.

    Up to Java 18 these are not the fewest that do, but all before those that say nothing.
    """
    exponent = math.frexp(value)[1] - 1 if math.isfinite(value) else 0
    if not bits <= exponent < 62:
        return None
    spare = exponent - bits - 1
    step = 10 ** (len(str(1 << spare)) - 1 if spare > 1 else 0)
    sign = "-" if value < 0 else ""
    return f"{sign}{(abs(int(value)) + step // 2) // step * step}"


def float32(value: float) -> float:
    """The 32-bit number nearest to this one, as Java casts."""
    try:
        narrow: float = struct.unpack(">f", struct.pack(">f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return narrow


def _java_float(value: float, text: str) -> str:
    """`text` has the digits to show, in any of Python's notations; `value` the size that decides how."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = decimal.Decimal(text).normalize().as_tuple()
    shown = "".join(map(str, digits))
    power = len(shown) + int(exponent) - 1
    minus = "-" if sign else ""
    if not 1e-3 <= abs(value) < 1e7:
        return f"{minus}{shown[0]}.{shown[1:] or '0'}E{power}"
    if power < 0:
        return f"{minus}0.{'0' * (-power - 1)}{shown}"
    whole = shown[: power + 1].ljust(power + 1, "0")
    return f"{minus}{whole}.{shown[power + 1 :] or '0'}"
