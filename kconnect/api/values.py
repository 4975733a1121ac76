"""
The text of values, as Connect (that is, Java) shows them: for the String converter, FileStreamSink and messages.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import struct
from typing import Any

from kconnect.api.schema import Schema, SchemaType, Struct

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_JAVA_CLASSES: dict[type, str] = {
    str: "java.lang.String",
    bool: "java.lang.Boolean",
    int: "java.lang.Long",
    float: "java.lang.Double",
    bytes: "[B",
    bytearray: "[B",
    memoryview: "java.nio.HeapByteBuffer",
    list: "java.util.ArrayList",
    tuple: "java.util.ArrayList",
    dict: "java.util.HashMap",
    decimal.Decimal: "java.math.BigDecimal",
    datetime.datetime: "java.util.Date",
    Struct: "org.apache.kafka.connect.data.Struct",
}


def to_text(value: Any, schema: Schema | None = None) -> str:
    """
    Java's `String.valueOf`: `null`, `true`, `1.0E7`, `[1, 2]`, `{a=1}`, `Struct{a=1}`; dates are those of UTC.

    Unset fields of a struct are left out. With the value's schema, 32-bit floats get no more digits than they have. Bytes are
    base64, as in Connect's `Values`: Java's own text for them is an address.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float32_text(value) if schema is not None and schema.type is SchemaType.FLOAT32 else float64_text(value)
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
        return str(value if value else abs(value))
    if isinstance(value, datetime.datetime):
        utc = value.astimezone(datetime.timezone.utc) if value.tzinfo is not None else value
        return f"{_DAYS[utc.weekday()]} {_MONTHS[utc.month - 1]} {utc.day:02} {utc:%H:%M:%S} UTC {utc.year}"
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return str(value)


def float64_text(value: float) -> str:
    """Java's `Double.toString`: plain from 1e-3 up to 1e7, else one digit before the point and `E`."""
    text = repr(value)
    if 1e-3 <= abs(value) < 1e7:
        return text
    # Where one digit would do, Java shows the best two: the smallest number is 4.9E-324.
    return _java_float(value, text if "." in text else f"{value:.1e}")


def float32_text(value: float) -> str:
    """Java's `Float.toString`: the shortest text that means this 32-bit number, of two digits at least."""
    if not math.isfinite(value):
        return float64_text(value)
    try:
        packed = struct.pack(">f", value)
    except OverflowError:
        # Not a 32-bit number: half of Java's casts give infinity here, and so does this.
        return float64_text(math.copysign(math.inf, value))
    narrow: float = struct.unpack(">f", packed)[0]
    for digits in range(1, 9):
        text = f"{narrow:.{digits}e}"
        try:
            if struct.pack(">f", float(text)) == packed:
                break
        except OverflowError:
            continue
    return _java_float(narrow, text)


def java_class(value: Any) -> str:
    """The Java class that Connect's messages name for a value like this one; Python's own name if there is none."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        return "java.math.BigInteger"
    kind = type(value)
    return _JAVA_CLASSES.get(kind) or f"{kind.__module__}.{kind.__qualname__}"


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
