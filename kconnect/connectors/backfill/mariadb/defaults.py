"""
The default of a column as Debezium writes it into the schema: found in the table's definition, as it is written there.

Of a text it takes what is between the quotes, whatever is escaped within; of the current time a zero; of other expressions
nothing. Tests compare with what it wrote. Called by `tables.py`.
"""

from __future__ import annotations

import decimal
from typing import Any

from kconnect.api import ConnectError
from kconnect.connectors.backfill.mariadb.ddl import Column
from kconnect.connectors.backfill.mariadb.types import (
    BINARIES,
    LONG,
    TEXTS,
    Modes,
    adjusted,
    days_of,
    digits_of,
    moments_of,
    time_of,
)
from kconnect.connectors.backfill.types import PRECISE

_INTEGERS = frozenset(("tinyint", "smallint", "mediumint", "int"))
_MOST = 2**63 - 1
_NOW = {"date": 0, "datetime": 0, "timestamp": "1970-01-01T00:00:00Z"}


def default_of(column: Column, modes: Modes) -> Any:
    """Return the default in the form that values of the column have; None if Debezium has none."""
    if column.is_now:
        return _NOW.get(column.type)
    if column.default is None:
        return None
    text = column.default[1:-1] if column.default.startswith("'") else column.default
    try:
        return _read(column, text, modes)
    except (ValueError, ArithmeticError, ConnectError):
        return None


def _read(column: Column, text: str, modes: Modes) -> Any:
    name = column.type
    if name in _INTEGERS:
        return int(text)
    if name == "bigint":
        if column.is_unsigned and modes.unsigned != LONG:
            return decimal.Decimal(text)
        # Greater ones have no place in a long.
        return min(int(text), _MOST)
    if name == "decimal":
        return _decimal(text, int(column.arguments[1]), modes.decimals)
    if name in ("float", "double"):
        return float(text)
    if name in TEXTS or name in ("enum", "set"):
        return text
    if name in BINARIES:
        return text.encode()
    if name == "bit":
        return _bits(text, int(column.arguments[0]) if column.arguments else 1)
    return _of_time(column, text)


def _decimal(text: str, scale: int, mode: str) -> Any:
    number = decimal.Decimal(text).quantize(decimal.Decimal((0, (1,), -scale)))
    return number if mode == PRECISE else float(number) if mode == "double" else f"{number:f}"


def _bits(text: str, length: int) -> Any:
    number = int(text[2:-1], 2)
    return bool(number) if length == 1 else number.to_bytes((length + 7) // 8, "little")


def _of_time(column: Column, text: str) -> Any:
    zero = None if column.is_optional else 0
    if column.type == "date":
        days = days_of(text)
        return zero if days is None else days
    if column.type == "time":
        return time_of(text)
    if column.type == "datetime":
        moment = moments_of(digits_of(column))(text)
        return zero if moment is None else moment
    if column.type == "timestamp":
        if days_of(text) is None:
            return None if column.is_optional else _NOW["timestamp"]
        return f"{text.replace(' ', 'T')}Z"
    if column.type == "year":
        return adjusted(int(text))
    return None
