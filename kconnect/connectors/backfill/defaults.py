"""
The default of a column as Debezium writes it into the schema: found in the expression that PostgreSQL has, not evaluated.

Debezium takes the first text in quotes, or the whole expression, and gives up what it can't read; of a function's result it
takes a zero for the types that have one. Tests compare with what it wrote. Called by `tables.py`.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Mapping
from typing import Any

from kconnect.api import ConnectError
from kconnect.connectors.backfill.types import PRECISE, ColumnType, as_written

_QUOTED = re.compile(r"'(.*?)'", re.DOTALL)
_FUNCTION = re.compile(r"\(?[A-Za-z0-9_.]{1,200}\(.*\)", re.DOTALL)
_WORDS = re.compile(r"(?:CURRENT|LOCAL)_?(?:DATE|TIME|TIMESTAMP)\b", re.IGNORECASE)
_EPOCH = datetime.datetime(1970, 1, 1)
_NIL = "00000000-0000-0000-0000-000000000000"
_MICROSECOND = datetime.timedelta(microseconds=1)
_MILLISECONDS = 3


def default_of(kind: ColumnType, expression: str | None, decimals: str = PRECISE) -> Any:
    """
    Return the default in the form that values of the column have; None if Debezium has none. `decimals` is its
    `decimal.handling.mode`.
    """
    if expression is None or kind.element is not None or expression.upper().startswith("NULL::"):
        return None
    read = _READ_ENUM if kind.labels else _READ.get(kind.name)
    if read is None:
        return None
    quoted = _QUOTED.search(expression)
    computed = _FUNCTION.match(expression) or _WORDS.match(expression)
    if computed:
        return _ZEROS.get(kind.name, _zero_of_time(kind))
    text = quoted[1] if quoted else expression
    try:
        if kind.name == "numeric" and decimals != PRECISE:
            number = _loose(text, kind.modifier)
            return float(number) if decimals == "double" else number
        return read(text, kind.modifier)
    except (ValueError, ArithmeticError, ConnectError):
        return None


def _zero_of_time(kind: ColumnType) -> Any:
    if kind.name != "timestamptz":
        return None
    return _zoned("1970-01-01 00:00:00+00", kind.modifier)


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _date(text: str, _: int) -> int:
    if text == "infinity":
        return 169560311
    return (_moment(text) - _EPOCH).days


def _units(moment: datetime.timedelta, modifier: int) -> int:
    micros = moment // _MICROSECOND
    return micros // 1000 if 0 <= modifier <= _MILLISECONDS else micros


def _time(text: str, modifier: int) -> int:
    return _units(_moment(f"1970-01-01 {text}") - _EPOCH, modifier)


def _timestamp(text: str, modifier: int) -> int:
    return _units(_moment(text) - _EPOCH, modifier)


def _zoned(text: str, modifier: int) -> str:
    moment = datetime.datetime.fromisoformat(text + ":00" if re.search(r"[+-]\d\d$", text) else text)
    utc = moment.astimezone(datetime.timezone.utc)
    digits = 6 if modifier < 0 else modifier
    fraction = f".{utc.microsecond:06}"[: digits + 1] if digits else ""
    return f"{utc:%Y-%m-%dT%H:%M:%S}{fraction}Z"


_PART = re.compile(r"(?<!\d)(?:(-?\d{1,9}) (year|mon|day)s?|(-?)(\d{1,9}):(\d\d):(\d\d)(?:\.(\d{1,9}))?)")
_MONTH_US, _DAY_US, _SECOND_US = 2_629_800_000_000, 86_400_000_000, 1_000_000


def _interval(text: str, _: int) -> int:
    total, rest = 0, _PART.sub("", text)
    for part in _PART.finditer(text):
        if part[2]:
            total += int(part[1]) * {"year": 12 * _MONTH_US, "mon": _MONTH_US, "day": _DAY_US}[part[2]]
        else:
            seconds = (int(part[4]) * 60 + int(part[5])) * 60 + int(part[6])
            micros = seconds * _SECOND_US + int((part[7] or "").ljust(6, "0")[:6])
            total += -micros if part[3] else micros
    if rest.strip():
        raise ValueError(text)
    return total


def _decimal(text: str, modifier: int) -> decimal.Decimal | None:
    if modifier < 0:
        return None
    scale = (modifier - 4) & 0x7FF
    return decimal.Decimal(text).quantize(decimal.Decimal((0, (1,), -scale)))


def _loose(text: str, modifier: int) -> str:
    number = as_written(decimal.Decimal(text)) if modifier < 0 else _decimal(text, modifier)
    return f"{number:f}"


def _bool(text: str, _: int) -> bool:
    if text not in ("true", "false", "t", "f"):
        raise ValueError(text)
    return text[0] == "t"


def _bits(text: str, modifier: int) -> Any:
    number = int(text, 2)
    return bool(number) if modifier == 1 else number.to_bytes((number.bit_length() + 7) // 8, "little")


def _whole(text: str, _: int) -> int:
    return int(text)


def _floating(text: str, _: int) -> float:
    return float(text)


def _text(text: str, _: int) -> str:
    # Without quotes it is an expression.
    return text


_READ: Mapping[str, Callable[[str, int], Any]] = {
    **dict.fromkeys(("int2", "int4", "int8"), _whole),
    **dict.fromkeys(("float4", "float8"), _floating),
    "numeric": _decimal,
    "bool": _bool,
    **dict.fromkeys(("text", "varchar", "bpchar", "uuid", "json", "jsonb", "xml"), _text),
    "date": _date,
    "time": _time,
    "timestamp": _timestamp,
    "timestamptz": _zoned,
    "interval": _interval,
    "bit": _bits,
}
_READ_ENUM = _text
_ZEROS: Mapping[str, Any] = {
    **dict.fromkeys(("int2", "int4", "int8", "date", "time", "timestamp"), 0),
    **dict.fromkeys(("text", "varchar", "bpchar"), ""),
    "uuid": _NIL,
}
