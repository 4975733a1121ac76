"""
Values from one type to another, by Connect's rules: texts are parsed, numbers cast as Java casts them, dates counted.

Each function takes the value and its schema, or None for it, and raises DataError where there is no way. A null stays one,
but for the functions that say so. Plugins use them through `values.py`. Read before: `literals.py`.
"""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

from kconnect.data import decimals
from kconnect.data import schema as schemas
from kconnect.data.literals import exact_decimal, literal, logical_of, parse_exactly, wrapped
from kconnect.data.schema import NULL, Schema, SchemaAndValue, SchemaType, Struct, java_class
from kconnect.data.text import float32, float64_text, message_text
from kconnect.errors import DataError
from kconnect.java.moments import DAY_MS, milliseconds_of

_LIST, _MAP = Schema(SchemaType.ARRAY), Schema(SchemaType.MAP)
_TEMPORAL = (schemas.DATE, schemas.TIME, schemas.TIMESTAMP)
_DIGITS_AT_ONCE = 1000
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
"""Nothing is rounded."""


def convert_to_boolean(schema: Schema | None, value: Any) -> bool | None:
    """Convert a value: a text by what it says, or by whether its number is not 0."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        parsed = _parsed(value).value
        if isinstance(parsed, bool):
            return parsed
    return _long(schema, value) != 0


def convert_to_byte(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else wrapped(_long(schema, value), 8)


def convert_to_short(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else wrapped(_long(schema, value), 16)


def convert_to_integer(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else wrapped(_long(schema, value), 32)


def convert_to_long(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else _long(schema, value)


def convert_to_float(schema: Schema | None, value: Any) -> float | None:
    return None if value is None else float32(_double(schema, value))


def convert_to_double(schema: Schema | None, value: Any) -> float | None:
    return None if value is None else _double(schema, value)


def convert_to_string(schema: Schema | None, value: Any) -> str | None:
    """The text of which `parse_string` makes the value again, where it can."""
    return None if value is None else literal(schema, value)


def convert_to_list(schema: Schema | None, value: Any) -> list[Any]:
    """A list, or the text of one; null is an error."""
    parsed = _not_null(schema, value)
    if isinstance(parsed.value, list):
        return parsed.value
    raise _no_way(parsed.schema, parsed.value, repr(_LIST), parsed=isinstance(value, str))


def convert_to_map(schema: Schema | None, value: Any) -> dict[Any, Any]:
    """A map, or the text of one; null is an error."""
    parsed = _not_null(schema, value)
    if isinstance(parsed.value, dict):
        return parsed.value
    raise _no_way(parsed.schema, parsed.value, repr(_MAP), parsed=isinstance(value, str))


def convert_to_struct(schema: Schema | None, value: Any) -> Struct:
    """A struct, which nothing else becomes; null is an error."""
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    if isinstance(value, Struct):
        return value
    raise _no_way(schema, value, "Schema{STRUCT}")


def convert_to_date(schema: Schema | None, value: Any) -> datetime.datetime:
    """The day of a timestamp, or that of so many days; null is an error."""
    return _temporal(schemas.DATE_SCHEMA, schema, value)


def convert_to_time(schema: Schema | None, value: Any) -> datetime.datetime:
    """The time of day of a timestamp, or that of so many milliseconds; null is an error."""
    return _temporal(schemas.TIME_SCHEMA, schema, value)


def convert_to_timestamp(schema: Schema | None, value: Any) -> datetime.datetime:
    """A date or a time as timestamp, or that of so many milliseconds; null is an error."""
    return _temporal(schemas.TIMESTAMP_SCHEMA, schema, value)


def convert_to_decimal(schema: Schema | None, value: Any, scale: int) -> decimal.Decimal:
    """`scale` is that of bytes: decimals, texts and numbers keep or have their own. Null is an error."""
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    if isinstance(value, bytes | bytearray | memoryview):
        if not value:
            raise DataError("No bytes are no decimal")
        return decimals.of_bytes(value, scale)
    if isinstance(value, decimal.Decimal):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Java goes by way of a double, and its text: 5 becomes 5.0.
        return _text_decimal(float64_text(float(value)))
    if isinstance(value, str):
        return _text_decimal(value)
    raise _no_way(schema, value, repr(schemas.decimal_schema(scale)))


def _text_decimal(text: str) -> decimal.Decimal:
    number = exact_decimal(text)
    if number is None:
        raise DataError(f"Not a decimal: {text}")
    return number


# --- dates ---


def _temporal(target: Schema, schema: Schema | None, value: Any) -> datetime.datetime:
    parsed = _not_null(schema, value)
    if isinstance(parsed.value, datetime.datetime):
        if schema is None or schema.name == target.name:
            return parsed.value
        if schema.name in _TEMPORAL:
            moved = _moved(target, schema, parsed.value)
            if moved is not None:
                return moved
    # A text's value is shown as what it was parsed to, but with the schema of the text.
    shown = parsed.schema if schema is None or isinstance(value, str) else schema
    return logical_of(target, _long(schema, parsed.value, shown, isinstance(value, str)))


def _moved(target: Schema, schema: Schema, value: datetime.datetime) -> datetime.datetime | None:
    milliseconds = milliseconds_of(value)
    if target.name == schemas.TIMESTAMP:
        return value
    if schema.name != schemas.TIMESTAMP:
        return None
    if target.name == schemas.TIME:
        return logical_of(target, milliseconds % DAY_MS)
    # As Java divides: towards 1970.
    return logical_of(target, int(math.copysign(abs(milliseconds) // DAY_MS, milliseconds)))


# --- numbers ---


def _long(schema: Schema | None, value: Any, shown: Schema | None = None, parsed: bool = False) -> int:
    """Java's cast to long. `shown` is the schema whose numbers are meant in an error, if not `schema`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return wrapped(value, 64)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        return int(min(max(value, -(1 << 63)), (1 << 63) - 1))
    number = value if isinstance(value, decimal.Decimal) else exact_decimal(value) if isinstance(value, str) else None
    if number is not None:
        return _decimal_long(number)
    if schema is not None and isinstance(value, datetime.datetime) and schema.name in _TEMPORAL:
        milliseconds = milliseconds_of(value)
        return milliseconds // DAY_MS if schema.name == schemas.DATE else milliseconds
    raise _no_way(shown or schema, value, "a number" if schema is None else repr(schema), parsed)


def _decimal_long(number: decimal.Decimal) -> int:
    exponent = int(number.as_tuple().exponent)
    if exponent >= 64 or number.adjusted() < 0:
        # Nothing is left in the lowest 64 bits, or nothing before the point.
        return 0
    if len(number.as_tuple().digits) > _DIGITS_AT_ONCE:
        # Of a million digits Python takes most of a minute to make an integer, and a moment for what is left of a division.
        with decimal.localcontext(_EXACT):
            number = number.to_integral_value(decimal.ROUND_DOWN) % (1 << 64)
    return wrapped(int(number), 64)


def _double(schema: Schema | None, value: Any) -> float:
    number = exact_decimal(value) if isinstance(value, str) else value
    if isinstance(number, int | float | decimal.Decimal) and not isinstance(number, bool):
        try:
            return float(number)
        except OverflowError:
            return math.copysign(math.inf, number)
    return float(_long(schema, value))


# --- texts and errors ---


def _parsed(text: str) -> SchemaAndValue:
    parsed = parse_exactly(text)
    if parsed is NULL:
        raise DataError(f"Unable to convert {text} (class java.lang.String): it is a null")
    return parsed


def _not_null(schema: Schema | None, value: Any) -> SchemaAndValue:
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    return _parsed(value) if isinstance(value, str) else SchemaAndValue(schema, value)


def _no_way(schema: Schema | None, value: Any, target: str, parsed: bool = False) -> DataError:
    return DataError(f"Unable to convert {message_text(value, schema)} (class {_class(schema, value, parsed)}) to {target}")


def _class(schema: Schema | None, value: Any, parsed: bool) -> str:
    if parsed and isinstance(value, dict):
        return "java.util.LinkedHashMap"
    return java_class(value, schema)
