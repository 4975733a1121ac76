"""
Values as the text of headers: `123`, `1.5`, `["a",1]`, `{"k":2020-01-02}`; written, and read back as what they look like.

Used by the SimpleHeaderConverter, and by transforms whose settings hold a literal. It is Connect's own notation, close to
JSON: texts have quotes only inside arrays and maps, dates have none, and what can't be read is a text as it stands.
Plugins use it through `values.py`. Read next: `conversion.py`, from one type to another.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import re
from typing import Any

from kconnect.data import schema as schemas
from kconnect.data.hashes import dict_of
from kconnect.data.schema import (
    EXACT,
    NULL,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    SchemaAndValue,
    SchemaType,
    Struct,
    java_class,
)
from kconnect.data.text import float32, to_text
from kconnect.errors import DataError
from kconnect.java import civil_calendar as calendar
from kconnect.java.moments import DAY_MS, date_of, milliseconds_of

_BLANK = "".join(map(chr, range(33)))
"""What Java's `trim` takes away."""
_TOKEN = re.compile(r'[:,{}\[\]"]|(?:[^:,{}\[\]"\\]+|\\.|\\\Z)+', re.DOTALL)
"""A delimiter, or all up to the next one that has no backslash before it."""
_TRUE = SchemaAndValue(schemas.BOOLEAN_SCHEMA, True)
_FALSE = SchemaAndValue(schemas.BOOLEAN_SCHEMA, False)
_EMPTY_LIST, _EMPTY_MAP = Schema(SchemaType.ARRAY), Schema(SchemaType.MAP)

_WHOLE = (
    (1 << 7, Int8, schemas.INT8_SCHEMA),
    (1 << 15, Int16, schemas.INT16_SCHEMA),
    (1 << 31, Int32, schemas.INT32_SCHEMA),
    (1 << 63, Int64, schemas.INT64_SCHEMA),
)
_WIDTH = {kind: width for width, kind in enumerate(EXACT)}
_TYPE_OF = {number: kind for kind, number in EXACT.items()}

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?")
"""Each text has one way to match: with two, one of 20,000 digits and a letter behind them took ten seconds."""
_BEYOND_CHAR = re.compile("[\U00010000-\U0010ffff]")
"""What is two characters to Java, of which none is a digit."""
_PART = r"[ \t]*(-?\d+)"
_DATE = re.compile(rf"{_PART}-{_PART}-{_PART}")
_TIME = re.compile(rf"{_PART}:{_PART}:{_PART}\.{_PART}Z")
_TIMESTAMP = re.compile(rf"{_PART}-{_PART}-{_PART}T{_PART}:{_PART}:{_PART}\.{_PART}Z")


# --- from text ---


def parse_string(text: str | None) -> SchemaAndValue:
    """
    The value that a text looks like, in the smallest type that holds it: `1` is an INT8, `1.5` a FLOAT32. No error: what
    looks like nothing else is a text. Of `null` and of None it is `NULL`, without a schema.

    Arrays and maps have the type that all elements fit; if there is none they have elements without a schema. Such numbers, and
    those that don't fit after all, because their array is one in an array of wider ones, say by their class how wide they are.
    """
    parsed = parse_exactly(text)
    if parsed.value is None or isinstance(parsed.value, str):
        return parsed
    return SchemaAndValue(parsed.schema, _without_class(parsed.schema, parsed.value))


def _without_class(schema: Schema | None, value: Any) -> Any:
    """Numbers as plain ones, unless that would be numbers of another width."""
    kind = type(value)
    if kind is list:
        inner = None if schema is None else schema.value_schema
        return [_without_class(inner, item) for item in value]
    if kind is dict:
        of_key, inner = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        return {_without_class(of_key, key): _without_class(inner, item) for key, item in value.items()}
    if kind in _TYPE_OF:
        is_natural = (kind is Int64 or kind is Float64) if schema is None else _TYPE_OF[kind] is schema.type
        return (float(value) if isinstance(value, float) else int(value)) if is_natural else value
    return value


def parse_exactly(text: str | None) -> SchemaAndValue:
    """
    Parse as `parse_string` does, with all numbers in the classes that say how wide they are, for callers without a use for the
    schema.
    """
    if text is None:
        return NULL
    trimmed = text.strip(_BLANK)
    first = trimmed[:1]
    if first in ("[", "{"):
        try:
            return _Parser(text).element() or NULL
        except (_NotParsed, RecursionError):
            return SchemaAndValue(schemas.STRING_SCHEMA, text)
    if first and (first in "+-" or _is_digit(first)):
        parsed = _Parser(text).simple()
        return parsed or SchemaAndValue(schemas.STRING_SCHEMA, text)
    if trimmed == "true":
        return _TRUE
    if trimmed == "false":
        return _FALSE
    return NULL if trimmed == "null" else SchemaAndValue(schemas.STRING_SCHEMA, text)


def _is_digit(character: str) -> bool:
    return character.isdecimal() and not _BEYOND_CHAR.match(character)


class _NotParsed(Exception):
    """A signal that the text is not an array or map after all."""


class _Parser:
    """Reads arrays, maps and what is in them. None is a null."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(text)
        self._at = 0

    def _takes(self, expected: str) -> bool:
        """Whether it is next, and if so goes past it; blanks before it may be lost even if not, but for the last."""
        tokens, last = self._tokens, len(self._tokens) - 1
        if self._at > last:
            return False
        while self._at < last and not tokens[self._at].strip(_BLANK):
            self._at += 1
        if tokens[self._at].strip(_BLANK) != expected:
            return False
        self._at += 1
        return True

    def element(self) -> SchemaAndValue | None:
        if self._at >= len(self._tokens):
            return None
        if self._takes('"'):
            return self._quoted()
        if self._takes("null"):
            return None
        if self._takes("true"):
            return _TRUE
        if self._takes("false"):
            return _FALSE
        if self._takes("["):
            return self._array()
        if self._takes("{"):
            return self._map()
        if not self._tokens[self._at].strip(_BLANK):
            self._at += 1
            return SchemaAndValue(schemas.STRING_SCHEMA, self._tokens[self._at - 1])
        simple = self.simple()
        if simple is None:
            raise _NotParsed
        return simple

    def simple(self) -> SchemaAndValue | None:
        """A number or a time. Those with colons are five tokens; where they are none, the first may still be a number."""
        if not self._tokens[self._at].strip(_BLANK):
            self._at += 1
        token = self._tokens[self._at].strip(_BLANK)
        self._at += 1
        if _is_digit(token[:1]):
            rest = self._tokens[self._at : self._at + 4]
            moment = _moment("".join((token, *rest))) if len(rest) == 4 else None
            if moment is not None:
                self._at += 4
                return moment
            moment = _moment(token)
            if moment is not None:
                return moment
        return _number(token) if _is_digit(token[:1]) or token[:1] in ("+", "-") else None

    def _quoted(self) -> SchemaAndValue:
        """Parse up to the next quote, or the end; backslashes stay."""
        start = self._at
        try:
            end = self._tokens.index('"', start)
            self._at = end + 1
        except ValueError:
            end = self._at = len(self._tokens)
        text = "".join(self._tokens[start:end])
        return _moment(text) or SchemaAndValue(schemas.STRING_SCHEMA, text)

    def _array(self) -> SchemaAndValue:
        items: list[Any] = []
        common = _Common()
        while self._at < len(self._tokens):
            if self._takes("]"):
                if common.schema is None:
                    return SchemaAndValue(_EMPTY_LIST, items)
                schema = common.schema
                return SchemaAndValue(schemas.array(schema), [_aligned(schema, value) for value in items])
            if self._takes(","):
                raise _NotParsed
            element = self.element()
            common.add(element)
            items.append(None if element is None else element.value)
            before = self._at
            if self._takes("]"):
                self._at = before
            elif not self._takes(","):
                raise _NotParsed
        raise _NotParsed

    def _map(self) -> SchemaAndValue:
        entries: list[tuple[Any, Any]] = []
        keys, values = _Common(), _Common()
        while self._at < len(self._tokens):
            if self._takes("}"):
                return _as_map(keys.schema, values.schema, _as_dict(entries))
            if self._takes(","):
                raise _NotParsed
            key = self.element()
            if key is None or not self._takes(":"):
                raise _NotParsed
            value = self.element()
            keys.add(key)
            values.add(value)
            entries.append((_as_key(key.value), None if value is None else value.value))
            # Connect does without it, too.
            self._takes(",")
        raise _NotParsed


def _as_dict(entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    try:
        return dict_of(entries)
    except DataError:
        raise _NotParsed from None


def _as_map(key: Schema | None, element: Schema | None, entries: dict[Any, Any]) -> SchemaAndValue:
    if key is None:
        return SchemaAndValue(_EMPTY_MAP, entries)
    schema = Schema(SchemaType.MAP, key_schema=key, value_schema=element)
    keyed = ((_aligned(key, name), value) for name, value in entries.items())
    if element is None:
        return SchemaAndValue(schema, dict(keyed))
    return SchemaAndValue(schema, {name: _aligned(element, value) for name, value in keyed})


def _as_key(value: Any) -> Any:
    """Python's keys must be hashable: a list becomes a tuple. A map can't be a key of ours."""
    if isinstance(value, list):
        return tuple(map(_as_key, value))
    if isinstance(value, dict):
        raise _NotParsed
    return value


class _Common:
    """The schema that fits all elements so far: the widest of numbers, the last one of otherwise equal types."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self._lost = False

    def add(self, element: SchemaAndValue | None) -> None:
        if element is None or element.schema is None or self._lost:
            return
        current, new = self.schema, element.schema
        if current is None or current.type is new.type:
            self.schema = new
        elif current.type in _WIDTH and new.type in _WIDTH:
            self.schema = max(current, new, key=lambda schema: _WIDTH[schema.type])
        else:
            self.schema = None
            self._lost = True


def _aligned(schema: Schema, value: Any) -> Any:
    """An element as one of the schema that all of them have."""
    if value is None:
        raise _NotParsed
    exact = EXACT.get(schema.type)
    if exact is None:
        return value
    if isinstance(value, datetime.datetime):
        if schema.name is None:
            raise _NotParsed
        return value
    if schema.name is None:
        return exact(float32(value) if exact is Float32 else value)
    try:
        return logical_of(schema, value)
    except DataError as error:
        raise _NotParsed from error


def logical_of(schema: Schema, number: int) -> datetime.datetime:
    """The date, time or timestamp of days or milliseconds. DataError for more than a day as time."""
    if schema.name == schemas.TIMESTAMP:
        return date_of(number)
    count = wrapped(number, 32)
    if schema.name == schemas.DATE:
        return date_of(count * DAY_MS)
    if not 0 <= count <= DAY_MS:
        raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
    return date_of(count)


def _number(token: str) -> SchemaAndValue | None:
    exact = exact_decimal(token)
    if exact is None:
        return None
    exponent = int(exact.as_tuple().exponent)
    if not exact or (exact.adjusted() < 20 and exact == exact.to_integral_value()):
        whole = int(exact) if exact else 0
        for limit, of_width, schema in _WHOLE:
            if -limit <= whole < limit:
                return SchemaAndValue(schema, of_width(whole))
    if exponent != 0:
        narrow = nearest_float32(exact)
        if math.isfinite(narrow):
            return SchemaAndValue(schemas.FLOAT32_SCHEMA, Float32(narrow))
        if math.isfinite(float(exact)):
            return SchemaAndValue(schemas.FLOAT64_SCHEMA, Float64(exact))
    return SchemaAndValue(schemas.decimal_schema(-exponent), exact)


def exact_decimal(text: str) -> decimal.Decimal | None:
    """Parse a text as Java's BigDecimal does: digits of any script, no blanks, a scale of 32 bits. None if it is no number."""
    match = _NUMBER.fullmatch(text)
    if match is None or _BEYOND_CHAR.search(text):
        return None
    exponent = (match[3] or "0").lstrip("+")
    power = int(exponent) if len(exponent) <= 20 else 1 << 31
    if power >= 1 << 31 or not -(1 << 31) <= len(match[1] or match[2] or "") - power < 1 << 31:
        return None
    number = decimal.Decimal(text)
    # Java's has no negative zero.
    return number if number else number.copy_abs()


def nearest_float32(exact: decimal.Decimal) -> float:
    """Rounded once: by way of a double, a number near the middle of two floats might go the wrong way."""
    double = float(exact)
    narrow = float32(double)
    if math.isfinite(narrow) and narrow != double and decimal.Decimal(double) != exact:
        toward = math.inf if decimal.Decimal(double) < exact else -math.inf
        return float32(math.nextafter(double, toward))
    return narrow


def _moment(token: str) -> SchemaAndValue | None:
    """A date, time or timestamp of the one length that each may have. Lenient: month 13 is next year's January."""
    text = token.replace("\\:", ":")
    pattern, schema = {
        10: (_DATE, schemas.DATE_SCHEMA),
        13: (_TIME, schemas.TIME_SCHEMA),
        24: (_TIMESTAMP, schemas.TIMESTAMP_SCHEMA),
    }.get(len(text), (None, None))
    match = pattern.match(text) if pattern is not None else None
    if match is None or _BEYOND_CHAR.search(text):
        return None
    parts = [wrapped(int(part), 32) for part in match.groups()]
    days = 0 if len(parts) == 4 else _days(*parts[:3])
    hours, minutes, seconds, rest = (0, 0, 0, 0) if len(parts) == 3 else parts[-4:]
    milliseconds = ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + rest
    return SchemaAndValue(schema, date_of(wrapped(milliseconds, 64)))


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date in Java's calendar, which is the Julian one up to 1582."""
    more, of_year = divmod(month - 1, 12)
    in_month = wrapped(year + more, 32), of_year
    days = calendar.gregorian(*in_month) + day - 1
    return days if year >= 1582 and days >= calendar.CUTOVER else calendar.julian(*in_month) + day - 1


def wrapped(number: int, bits: int) -> int:
    """Return what is left of a number in a Java int or long."""
    half = 1 << bits - 1
    return (number + half) % (half << 1) - half


# --- to text ---


def literal(schema: Schema | None, value: Any, embedded: bool = False) -> str:
    """The text of which `parse_string` makes such a value again; `embedded`: as it is inside an array or map."""
    if isinstance(value, str):
        return f'"{_escaped(value)}"' if embedded else value
    if isinstance(value, list | tuple):
        inner = None if schema is None else schema.value_schema
        return f"[{','.join([literal(inner, item, True) for item in value])}]"
    if isinstance(value, dict):
        of_key, inner = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        pairs = [f"{literal(of_key, key, True)}:{literal(inner, item, True)}" for key, item in value.items()]
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, Struct):
        fields = [
            f'"{_escaped(field.name)}":{literal(field.schema, field.schema.default if item is None else item, True)}'
            for field, item in value.items()
        ]
        return f"{{{','.join(fields)}}}"
    if isinstance(value, datetime.datetime):
        return _time_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        encoded = base64.b64encode(value).decode()
        return f'"{encoded}"' if embedded else encoded
    if value is None or isinstance(value, bool | int | float | decimal.Decimal):
        return to_text(value, schema)
    raise DataError(f"Failed to serialize unexpected value type {java_class(value)}: {value}")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _time_text(value: datetime.datetime) -> str:
    """
    Return the text of a moment, whatever the schema says: a time up to the first day, and so before 1970; a date if it is
    midnight.
    """
    milliseconds = milliseconds_of(value)
    number, clock = divmod(milliseconds, DAY_MS)
    seconds, rest = divmod(clock, 1000)
    minutes, second = divmod(seconds, 60)
    time = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{rest:03}Z"
    if number <= 0:
        return time
    day = calendar.day(number)
    date = f"{day.year:04}-{day.month + 1:02}-{day.day_of_month:02}"
    return f"{date}T{time}" if clock else date
