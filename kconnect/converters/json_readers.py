"""
From plain JSON values to Connect's, compiled once for each schema.

`Readers.of(schema)` gives a function that makes a value of what `json_text.loads` has read. It is as lenient as Connect's: a
text where a number should be is 0. Called by `json.py`, and for defaults by `json_schema.py`.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import itertools
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kconnect.converters.json_text import MISSING, columns_of, wrapped
from kconnect.data import decimals
from kconnect.data import schema as schemas
from kconnect.data.column import Column
from kconnect.data.conversion import convert_to_long
from kconnect.data.hashes import dict_of
from kconnect.data.schema import Field, Schema, SchemaType, Struct
from kconnect.errors import DataError
from kconnect.java.moments import DAY_MS, date_of

Convert = Callable[[Any], Any]

_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_AS_IS = {SchemaType.BOOLEAN: bool, SchemaType.STRING: str}
_NULL = type(None)
_NESTED = {SchemaType.STRUCT: dict, SchemaType.ARRAY: list, SchemaType.MAP: dict}
_INFINITY = float("inf")
_GREATEST_SCALE = 100_000
_ROOM, _ROOM_OF_BYTE = 256 * 1024, 8
_COMPILED = 64 * 1024
_KEPT = 200
_LIGHT = 16
"""A default of so many numbers is not counted."""


class Inexact(Exception):
    """A decimal number was read as a float: read the text once more, with `json_text.loads_exactly`."""


class _Nulled(Exception):
    """A text or bytes given as something else is null, which only a struct refuses."""


class Room:
    """
    A limit of the values that may be made of a message which does not have them: nulls and defaults of what is missing in it.

    A message with its schema says `{}` in two letters, for a struct of ten thousand fields or with a default of half a
    megabyte, and as often as it likes: 1 MB would become 16 GB in memory, or 85 GB where it is written.
    """

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, size: int, count: int = 1) -> None:
        """Read so many messages, of `size` bytes together."""
        self._left = count * _ROOM + _ROOM_OF_BYTE * size
        self._compiled = count * _COMPILED + size

    def compile(self, count: int) -> None:
        """DataError if readers of too many schemas have been made for defaults, where those within others have one for each."""
        self._compiled -= count
        if self._compiled < 0:
            raise DataError(
                "Its schema has defaults within each other that would take far more time than it is long: more than "
                f"{_COMPILED} parts of them, and one for each of its bytes"
            )

    def take(self, count: int) -> None:
        """DataError if there are too many of them by now."""
        self._left -= count
        if self._left < 0:
            raise DataError(
                f"It stands for far more values than it has: fields that are missing, and defaults, are more than {_ROOM} and "
                f"{_ROOM_OF_BYTE} for each of its bytes"
            )


class Readers:
    """Readers by schema, for one converter's settings. `room` is to begin with each message."""

    def __init__(self, defaults: bool) -> None:
        self._defaults = defaults
        self.room = Room()
        self._kept: dict[int, tuple[Schema, dict[bool, Convert]]] = {}

    def of(self, schema: Schema, strict: bool = False) -> Convert:
        """`strict` is for what is in a struct, however deep."""
        logical = self._of_logical(schema)
        general = self._or_null(schema, logical or self._of_type(schema, strict))
        if logical is None and schema.type in _AS_IS:
            expected = _AS_IS[schema.type]
            return lambda plain: plain if type(plain) is expected else general(plain)
        if logical is None and schema.type in _BITS:
            least, most = -(1 << _BITS[schema.type] - 1), (1 << _BITS[schema.type] - 1) - 1
            return lambda plain: plain if type(plain) is int and least <= plain <= most else general(plain)
        return general

    def column(self, schema: Schema, plains: list[Any], by_name: Mapping[str, Sequence[Any]] | None = None) -> Column:
        """
        Read all of these with the reader of a schema. Any exception means that they are to be read one by one, where each has
        a room of its own: `room` was begun for one message. `by_name` has the values of objects, if they are known already.
        """
        if schema.type is not SchemaType.STRUCT or set(map(type, plains)) != {dict}:
            return Column(schema, list(map(self._reader(schema), plains)))
        return self._structs(schema, plains, by_name)

    def _structs(
        self,
        schema: Schema,
        plains: Sequence[dict[str, Any]],
        by_name: Mapping[str, Sequence[Any]] | None = None,
        together: bool = False,
    ) -> Column:
        """
        Read objects as structs, field by field. They take as much room as the greatest of them; with `together`, as all of
        them, for one message may have them all.
        """
        names, width = [field.name for field in schema.fields], len(schema.fields)
        least = min(map(len, plains), default=width)
        if least < width:
            self.room.take(sum([max(0, width - len(plain)) for plain in plains]) if together else width - least)
        if by_name is None:
            columns = columns_of(plains, names)
        else:
            nulls = [None] * len(plains)
            columns = [by_name.get(name, nulls) for name in names]
        values = [self._each(field.schema, column, together) for field, column in zip(schema.fields, columns)]
        return Column.by_field(schema, names, values, len(plains))

    def _reader(self, schema: Schema, strict: bool = False) -> Convert:
        """`of`, kept: for the many batches of one schema."""
        kept = self._kept.get(id(schema))
        if kept is None or kept[0] is not schema:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            kept = self._kept[id(schema)] = (schema, {})
        readers = kept[1]
        if strict not in readers:
            readers[strict] = self.of(schema, strict)
        return readers[strict]

    def _each(self, schema: Schema, plains: Sequence[Any], together: bool) -> Sequence[Any]:
        """Read the values of one field of structs, or all that is in lists or maps. `together` is as for `_structs`."""
        kinds = set(map(type, plains))
        if schema.optional and not (schema.default is not None and self._defaults):
            kinds.discard(_NULL)
        if len(kinds) == 1 and self._of_logical(schema) is None:
            (kind,) = kinds
            if kind is _AS_IS.get(schema.type):
                return plains
            if kind is int and schema.type in _BITS:
                limit = 1 << _BITS[schema.type] - 1
                present = [plain for plain in plains if plain is not None] if None in plains else plains
                if -limit <= min(present) and max(present) < limit:
                    return plains
            if kind is float and schema.type is SchemaType.FLOAT64:
                # What is nearer to zero than any number is a negative zero for orjson.
                return plains if 0.0 not in plains else [0.0 if plain == 0.0 else plain for plain in plains]
            if kind is _NESTED.get(schema.type):
                return self._nested(schema, plains, together)
        return list(map(self._reader(schema, True), plains))

    def _nested(self, schema: Schema, plains: Sequence[Any], together: bool) -> Sequence[Any]:
        """Read structs, lists or maps, of which all are what they should be, or None."""
        present = [plain for plain in plains if plain is not None] if None in plains else plains
        values: Sequence[Any]
        if schema.type is SchemaType.STRUCT:
            values = self._structs(schema, present, together=together)
        elif schema.type is SchemaType.ARRAY:
            assert schema.value_schema is not None
            rest = iter(self._each(schema.value_schema, list(itertools.chain.from_iterable(present)), True))
            values = [list(itertools.islice(rest, len(plain))) for plain in present]
        else:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            if schema.key_schema.type is not SchemaType.STRING:
                return list(map(self._reader(schema, True), plains))
            items = itertools.chain.from_iterable(map(dict.values, present))
            rest = iter(self._each(schema.value_schema, list(items), True))
            values = [dict(zip(plain, rest)) for plain in present]
        if present is plains:
            return values
        rest = iter(values)
        return [None if plain is None else next(rest) for plain in plains]

    def _or_null(self, schema: Schema, read: Convert) -> Convert:
        if schema.default is not None and self._defaults:
            return self._or_default(schema.default, read)
        if schema.optional:
            return lambda plain: None if plain is None else read(plain)
        message = f"Invalid null value for required {schema.type.value} field"

        def required(plain: Any) -> Any:
            if plain is None:
                raise DataError(message)
            return read(plain)

        return required

    def _or_default(self, default: Any, read: Convert) -> Convert:
        weight, take = _weight(default), self.room.take
        if weight <= _LIGHT:
            return lambda plain: default if plain is None else read(plain)

        def present(plain: Any) -> Any:
            if plain is not None:
                return read(plain)
            take(weight)
            return default

        return present

    def _of_logical(self, schema: Schema) -> Convert | None:
        if schema.name == schemas.DECIMAL:
            return lambda plain: _read_decimal(schema, plain)
        if schema.name == schemas.DATE:
            return _read_date
        if schema.name == schemas.TIME:
            return _read_time
        return _read_timestamp if schema.name == schemas.TIMESTAMP else None

    def _of_type(self, schema: Schema, strict: bool) -> Convert:
        kind = schema.type
        if kind is SchemaType.ARRAY:
            assert schema.value_schema is not None
            return _reader_of_array(self.of(schema.value_schema, strict))
        if kind is SchemaType.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            element = self.of(schema.value_schema, strict)
            if schema.key_schema.type is SchemaType.STRING:
                return _reader_of_object(element)
            return _reader_of_pairs(self.of(schema.key_schema, strict), element)
        if kind is SchemaType.STRUCT:
            return self._of_struct(schema)
        if kind in _BITS:
            return _reader_of_integer(_BITS[kind])
        can_be_nulled = kind in (SchemaType.STRING, SchemaType.BYTES) and not schema.optional
        return _not_null(_PRIMITIVES[kind]) if strict and can_be_nulled else _PRIMITIVES[kind]

    def _of_struct(self, schema: Schema) -> Convert:
        fields = [(field.name, self.of(field.schema, True)) for field in schema.fields]
        width, take = len(fields), self.room.take

        def read(plain: Any) -> Struct:
            if type(plain) is not dict:
                raise DataError(f"Structs should be encoded as JSON objects, but found {node_type(plain)}")
            if len(plain) < width:
                take(width - len(plain))
            get = plain.get
            try:
                values = [convert(get(name)) for name, convert in fields]
            except _Nulled:
                values = [self._checked(field, get(field.name)) for field in schema.fields]
            return Struct.unchecked(schema, values)

        return read

    def _checked(self, field: Field, plain: Any) -> Any:
        """The slow way, to find out what Connect says."""
        value = self.of(field.schema)(plain)
        schemas.validate(field.schema, value, field.name)
        return value


def _weight(value: Any) -> int:
    """Return how many numbers take as much memory, or room in a text, as a value."""
    if isinstance(value, str | bytes):
        return len(value) // 8 + 1
    if isinstance(value, decimal.Decimal):
        return len(value.as_tuple().digits) // 8 + 1
    if isinstance(value, dict):
        return 1 + sum(_weight(key) + _weight(item) for key, item in value.items())
    if isinstance(value, list | Struct):
        return 1 + sum(map(_weight, value.values if isinstance(value, Struct) else value))
    return 1


def node_type(plain: Any) -> str:
    """Jackson's name for the type of a node."""
    if plain is MISSING:
        return "MISSING"
    if plain is None:
        return "NULL"
    if isinstance(plain, bool):
        return "BOOLEAN"
    if isinstance(plain, str):
        return "STRING"
    return "OBJECT" if isinstance(plain, dict) else "ARRAY" if isinstance(plain, list) else "NUMBER"


def _is_number(plain: Any) -> bool:
    return isinstance(plain, int | float | decimal.Decimal) and not isinstance(plain, bool)


def _reader_of_integer(bits: int) -> Convert:
    half, whole = 1 << bits - 1, 1 << bits

    def read(plain: Any) -> int:
        if not _is_number(plain):
            return 0
        if isinstance(plain, decimal.Decimal):
            _check_scale(plain)
            plain = convert_to_long(None, plain)
        # 1e400 was read as infinity; what Connect makes of its lowest bits is 0.
        return (int(plain) + half) % whole - half if abs(plain) != _INFINITY else 0

    return read


def _read_float64(plain: Any) -> float:
    # A decimal has no negative zero in Java.
    return float(plain) if plain and _is_number(plain) else 0.0


def _read_float32(plain: Any) -> float:
    try:
        narrow: float = struct.unpack(">f", struct.pack(">f", plain))[0]
    except OverflowError:
        return _INFINITY if plain > 0 else -_INFINITY
    except struct.error:
        return 0.0
    return 0.0 if isinstance(plain, bool) else narrow


def _read_boolean(plain: Any) -> bool:
    return plain is True


def _read_string(plain: Any) -> str | None:
    return plain if isinstance(plain, str) else None


def _read_bytes(plain: Any) -> bytes | None:
    if not isinstance(plain, str):
        return None
    try:
        return base64.b64decode(plain, validate=True)
    except ValueError as error:
        raise DataError("Invalid bytes field") from error


_PRIMITIVES: dict[SchemaType, Convert] = {
    SchemaType.FLOAT32: _read_float32,
    SchemaType.FLOAT64: _read_float64,
    SchemaType.BOOLEAN: _read_boolean,
    SchemaType.STRING: _read_string,
    SchemaType.BYTES: _read_bytes,
}


def _not_null(read: Convert) -> Convert:
    def present(plain: Any) -> Any:
        value = read(plain)
        if value is None:
            raise _Nulled
        return value

    return present


def _reader_of_array(element: Convert) -> Convert:
    def read(plain: Any) -> list[Any]:
        if isinstance(plain, dict):
            return [element(item) for item in plain.values()]
        # A scalar is a node without children.
        return [element(item) for item in plain] if isinstance(plain, list) else []

    return read


def _reader_of_object(element: Convert) -> Convert:
    def read(plain: Any) -> dict[str, Any]:
        if type(plain) is not dict:
            raise DataError(f"Maps with string fields should be encoded as JSON objects, but found {node_type(plain)}")
        return {name: element(item) for name, item in plain.items()}

    return read


def _reader_of_pairs(key: Convert, element: Convert) -> Convert:
    def read(plain: Any) -> dict[Any, Any]:
        if type(plain) is not list:
            raise DataError(
                f"Maps with non-string fields should be encoded as JSON array of tuples, but found {node_type(plain)}"
            )
        entries = []
        for pair in plain:
            if type(pair) is not list:
                raise DataError(f"Found invalid map entry instead of array tuple: {node_type(pair)}")
            if len(pair) != 2:
                raise DataError(f"Found invalid map entry, expected length 2 but found :{len(pair)}")
            entries.append((key(pair[0]), element(pair[1])))
        return dict_of(entries)

    return read


def _read_decimal(schema: Schema, plain: Any) -> decimal.Decimal:
    if isinstance(plain, decimal.Decimal):
        _check_scale(plain)
        # In Java it has no negative zero.
        return plain if plain else plain.copy_abs()
    if isinstance(plain, float):
        raise Inexact
    if isinstance(plain, int) and not isinstance(plain, bool):
        return decimal.Decimal(plain)
    if not isinstance(plain, str):
        raise DataError(
            f"Invalid type for Decimal, underlying representation should be numeric or bytes but was {node_type(plain)}"
        )
    try:
        unscaled = base64.b64decode(plain, validate=True)
        if not unscaled:
            raise ValueError("no digits")
        value = decimals.of_bytes(unscaled, schemas.decimal_scale(schema))
    except (ValueError, DataError, decimal.DecimalException) as error:
        raise DataError("Invalid bytes for Decimal field") from error
    _check_scale(value)
    return value


def _check_scale(value: decimal.Decimal) -> None:
    """
    Raise DataError for a number of ten characters that would be a gigabyte of digits wherever it is written out. Jackson, which
    Connect reads JSON by, has the same limit where it makes an integer of a decimal.
    """
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > _GREATEST_SCALE:
        raise DataError(f"Decimal field has a scale that exceeds the maximum allowed ({_GREATEST_SCALE})")


def _read_date(plain: Any) -> datetime.datetime:
    if type(plain) is not int or not -(1 << 31) <= plain < 1 << 31:
        raise DataError(f"Invalid type for Date, underlying representation should be integer but was {node_type(plain)}")
    return date_of(plain * DAY_MS)


def _read_time(plain: Any) -> datetime.datetime:
    if type(plain) is not int or not -(1 << 31) <= plain < 1 << 31:
        raise DataError(f"Invalid type for Time, underlying representation should be integer but was {node_type(plain)}")
    if not 0 <= plain <= DAY_MS:
        raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
    return date_of(plain)


def _read_timestamp(plain: Any) -> datetime.datetime:
    if type(plain) is not int:
        raise DataError(f"Invalid type for Timestamp, underlying representation should be integral but was {node_type(plain)}")
    return date_of(wrapped(plain))
