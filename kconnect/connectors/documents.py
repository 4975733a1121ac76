"""
Values of records as JSON documents, for systems that take such: HTTP services, search indexes; and back.

A struct is an object, a decimal a number with all its digits. Dates and times are texts as in ISO 8601, bytes are in base64.
What a schema asks for is worked out once for each schema. Used by `http/requests.py`, `http/pages.py`, `objects/formats.py`,
`objects/readers.py` and `sql/types.py`.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import functools
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import orjson

from kconnect.api import Column, DataError, Schema, SchemaType, Struct, schema, values
from kconnect.data.kept import Kept, weight_of

_LONG = re.compile(rb"[0-9]{19}")
"""What an integer that is too large has; it may be a part of a text, too."""
_HALF = re.compile("[\ud800-\udfff]")
_BLANKS = (b" :", b"\t:", b"\r:")
_WITHIN = frozenset((dict, list))
_DIGITS_OF_INT64 = 20
_GREATEST_SCALE = 100_000
"""1E+999999999 has ten characters, and a billion digits."""
_MOST_ZEROS = 64
"""Of a decimal that are written out: four letters of a record stand for as many as its scale says, in each item of a list."""
_MAY_BE_INFINITE = (SchemaType.FLOAT32, SchemaType.FLOAT64, SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT)
_NUL = orjson.Fragment(b"\0")
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def to_json(value: Any, own: Schema | None) -> bytes:
    """DataError if JSON has no such value."""
    plain = to_plain(value, own)
    try:
        data = orjson.dumps(plain, _other, _OPTIONS)
    except (TypeError, orjson.JSONEncodeError) as error:
        raise DataError(f"The value has no JSON: {error}") from None
    if b"null" in data:
        check_finite(plain)
    return data


def check_finite(value: Any) -> None:
    """Raise DataError for a number, however deep, that JSON has not: a null would stand for it."""
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"JSON has no {value}: a text can stand for it, or null, by a transform")
    within: Iterable[Any] = ()
    if isinstance(value, dict):
        within = value.values()
    elif isinstance(value, list | tuple | Struct):
        within = value.values if isinstance(value, Struct) else value
    for element in within:
        check_finite(element)


def parsed(data: bytes) -> Any:
    """
    Return the value of a JSON text. orjson's JSONDecodeError if it is none. DataError for an integer that is none of Connect's:
    it would come as the nearest floating point number.
    """
    value = orjson.loads(data)
    if _LONG.search(data):
        json.loads(data, parse_int=_in_int64)
    return value


def mended(data: bytes) -> Any:
    """
    Return the value of a JSON text that orjson refuses for single letters: halves of pairs of surrogates, of which JSON has
    escapes, bytes that are no UTF-8, and a byte order mark. U+FFFD stands for each. ValueError if it is no JSON all the same,
    DataError as `parsed`.
    """
    text = data.decode("utf-8-sig", "replace")
    value = json.loads(text, parse_int=_in_int64, parse_float=_finite, parse_constant=_finite)
    return _without_halves(value)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:30]} is no number of JSON")
    return number


def _without_halves(value: Any) -> Any:
    if type(value) is str:
        return _HALF.sub("\ufffd", value)
    if type(value) is dict:
        return {_HALF.sub("\ufffd", name): _without_halves(element) for name, element in value.items()}
    return [_without_halves(element) for element in value] if type(value) is list else value


def check_names(data: bytes, value: Any) -> None:
    """Raise DataError for a JSON text, and its value, if an object has a name twice: one of the two would be lost."""
    # A text may have a quote and a colon in it, so there may be more, and never fewer: unless there is a blank between them.
    if any(blank in data for blank in _BLANKS) or data.count(b'":') != _count_of_names(value):
        json.loads(data, object_pairs_hook=_named)


def _count_of_names(value: Any) -> int:
    if type(value) is dict:
        return len(value) + sum([_count_of_names(item) for item in value.values() if type(item) in _WITHIN])
    return sum([_count_of_names(item) for item in value if type(item) in _WITHIN]) if type(value) is list else 0


def _named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise DataError(f"an object has the name {twice[:100]!r} twice")
    return result


def _in_int64(text: str) -> int:
    if len(text) > _DIGITS_OF_INT64 or not -(2**63) <= int(text) < 2**63:
        raise DataError(f"the number {text[:30]} has no place in INT64: a text can have it")
    return int(text)


def to_lines(column: Column) -> list[bytes]:
    """All values of a column; field by field, if they are structs. DataError if JSON has not one of them."""
    value_schema = column.schema
    if value_schema is None or value_schema.type is not SchemaType.STRUCT or column.has_nulls:
        return [to_json(value, value_schema) for value in column.values]
    names, columns = column.fields()
    converted = [_converted(cells, field.schema) for cells, field in zip(columns, value_schema.fields)]
    rows = [dict(zip(names, row)) for row in zip(*converted)] if names else [{}] * len(column)
    try:
        lines = _lines(rows)
    except (TypeError, orjson.JSONEncodeError) as error:
        raise DataError(f"The value has no JSON: {error}") from None
    fractions = [cells for cells, field in zip(converted, value_schema.fields) if field.schema.type in _MAY_BE_INFINITE]
    if fractions and b"null" in b"".join(lines):
        for at, line in enumerate(lines):
            if b"null" in line:
                check_finite([cells[at] for cells in fractions])
    return lines


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    if not rows:
        return []
    # In one call, with what no JSON has between two lines: a call for each takes half as long again.
    marked: list[Any] = [_NUL] * (2 * len(rows) - 1)
    marked[::2] = rows
    try:
        return orjson.dumps(marked, _other, _OPTIONS)[1:-1].split(b",\0,")
    except (TypeError, orjson.JSONEncodeError):
        # By itself a row is one level less deep.
        return [orjson.dumps(row, _other, _OPTIONS) for row in rows]


def _converted(column: Sequence[Any], own: Schema) -> Sequence[Any]:
    convert = _conversion(own)
    if convert is None:
        return column
    if own.name == schema.TIMESTAMP and values.FarDate not in set(map(type, column)):
        # The same as `time_text`, without a call for each: half of the time that lines took.
        return [value if value is None else value.isoformat("T", "milliseconds")[:-6] + "Z" for value in column]
    try:
        return [value if value is None else convert(value) for value in column]
    except TypeError as error:
        raise DataError(f"The value has no JSON: {error}") from None


def to_plain(value: Any, own: Schema | None) -> Any:
    """The value in what `to_json` makes JSON of, with dicts for structs."""
    convert = None if own is None else _conversion(own)
    return value if convert is None or value is None else convert(value)


_Convert = Callable[[Any], Any] | None
_kept: Kept[Schema, _Convert] = Kept(1000)
_keeping = threading.Lock()
_MISSING = object()


def _conversion(own: Schema) -> _Convert:
    """Return the conversion of a schema's values; None if they stay as they are."""
    cached: Any = _kept.get(own, _MISSING)
    if cached is not _MISSING:
        return cast(_Convert, cached)
    conversion = _new_conversion(own)
    with _keeping:
        if own not in _kept:
            _kept.put(own, conversion, weight_of(own))
    return conversion


def _new_conversion(own: Schema) -> _Convert:
    if own.name in (schema.DATE, schema.TIME, schema.TIMESTAMP):
        return functools.partial(time_text, name=own.name)
    if own.type is SchemaType.STRUCT:
        return _of_struct([(field.name, _conversion(field.schema)) for field in own.fields])
    inner = _conversion(own.value_schema) if own.value_schema is not None else None
    if inner is None:
        return None
    if own.type is SchemaType.ARRAY:
        return lambda value: [item if item is None else inner(item) for item in value]
    return lambda value: {key: item if item is None else inner(item) for key, item in value.items()}


def time_text(value: datetime.datetime, name: str) -> str:
    """Return a time in ISO 8601; `name` is that of a Date's, Time's or Timestamp's schema."""
    text = _time(value)
    return text[:10] if name == schema.DATE else text[11:-1] if name == schema.TIME else text


def _of_struct(fields: list[tuple[str, Callable[[Any], Any] | None]]) -> Callable[[Struct], dict[str, Any]]:
    names = [name for name, _ in fields]
    converted = [(name, convert) for name, convert in fields if convert is not None]

    def convert_struct(value: Struct) -> dict[str, Any]:
        plain = dict(zip(names, value.values))
        for name, convert in converted:
            if plain[name] is not None:
                plain[name] = convert(plain[name])
        return plain

    return convert_struct


def _other(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        # As a float it would lose digits.
        return orjson.Fragment(decimal_text(value))
    if isinstance(value, datetime.datetime):
        return _time(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Struct):
        return to_plain(value, value.schema)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not a type of Connect's")


def decimal_text(value: decimal.Decimal) -> str:
    """
    Return a decimal with all its digits, and with an exponent in place of many zeros. DataError for one that has more of these
    than anybody can read.
    """
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and abs(exponent) > _GREATEST_SCALE:
        raise DataError(f"a decimal has a scale of {-exponent}, of which {_GREATEST_SCALE} may be")
    return format(value, "E" if zeros_of(value) > _MOST_ZEROS else "f")


def zeros_of(value: decimal.Decimal) -> int:
    """Return about how many zeros a decimal has beside its digits, if it is written without an exponent."""
    exponent = value.as_tuple().exponent
    return max(exponent, -value.adjusted()) if isinstance(exponent, int) else 0


def _time(value: Any) -> str:
    if isinstance(value, values.FarDate):
        raise TypeError("a date that is not in the years 1 to 9999")
    return str(value.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
