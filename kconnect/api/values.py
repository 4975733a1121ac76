"""
The text of values, as Connect (that is, Java) shows them: for the String converter, FileStreamSink and messages.
"""

from __future__ import annotations

import math
from typing import Any

from kconnect.api.schema import Struct


def to_text(value: Any) -> str:
    """Java's `String.valueOf`: `null`, `true`, `[1, 2]`, `{a=1}`, `Struct{a=1}`; unset fields of a struct are left out."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(to_text(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{to_text(key)}={to_text(item)}' for key, item in value.items())}}}"
    if isinstance(value, Struct):
        shown = (f"{field.name}={to_text(item)}" for field, item in value.items() if item is not None)
        return f"Struct{{{','.join(shown)}}}"
    return str(value)


def _float(value: float) -> str:
    """Java's `Double.toString`: plain from 1e-3 up to 1e7, else one digit before the point and `E`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        if "e" not in text:
            return text
    mantissa, _, exponent = f"{value!r}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.lstrip("-").replace(".", "")
    point = len(mantissa.lstrip("-").partition(".")[0])
    power = int(exponent or 0) + point - 1
    stripped = digits.lstrip("0")
    power -= len(digits) - len(stripped)
    stripped = stripped.rstrip("0") or "0"
    if -3 <= power < 7:
        return repr(value)
    return f"{sign}{stripped[0]}.{stripped[1:] or '0'}E{power}"
