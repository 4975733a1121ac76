"""
Columns of values, written: one function for each schema, which takes all values of a column at once.

Used by `record_codec.py`, and for defaults by `record_schemas.py`. The bytes are described in `shim/ColumnWriter.java`. What
does not fit is an error of some kind; `misfits.py` then looks for the value. The other way: `column_readers.py`.
"""

from __future__ import annotations

import datetime
import decimal
import operator
import sys
from array import array
from collections.abc import Callable, Sequence
from struct import pack
from typing import Any

from kconnect.data import schema as schemas
from kconnect.data.schema import Float32, Float64, Int8, Int16, Int32, Int64, Schema, SchemaType, Struct
from kconnect.data.values import float32, milliseconds_of
from kconnect.errors import DataError
from kconnect.java.moments import FarDate

Parts = list[Any]
"""Bytes, in pieces."""
Write = Callable[[Parts, Sequence[Any]], None]
"""Writes a column, or, of those that are not null, a body."""

TYPES = tuple(SchemaType)
DECIMAL, DATE = len(TYPES), len(TYPES) + 1
LOGICAL = {schemas.DECIMAL: DECIMAL, **dict.fromkeys((schemas.DATE, schemas.TIME, schemas.TIMESTAMP), DATE)}
"""The kinds of columns that are no types, by the name of the schema."""
WIDE = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
FEW = 8

_NULL = type(None)
_STRUCT = TYPES.index(SchemaType.STRUCT)
_FORMATS = "bhiqfd?"
_CLASSES: tuple[tuple[type, ...], ...] = (
    (int, Int8),
    (int, Int16),
    (int, Int32),
    (int, Int64),
    (float, Float32),
    (float, Float64),
    (bool,),
    (str,),
    (bytes, bytearray, memoryview),
    (list, tuple),
    (dict,),
    (Struct,),
    (decimal.Decimal,),
    (datetime.datetime, FarDate),
)
"""Of a schema's values, by the kind of column."""
_KINDS: dict[type, int] = {
    **{each: kind for kind, classes in enumerate(_CLASSES) for each in classes},
    int: TYPES.index(SchemaType.INT64),
    float: TYPES.index(SchemaType.FLOAT64),
}
"""Of values without a schema."""
_EXACT = (bool, Int8, Int16, Int32, Int64, Float32, Float64)


def kind_of(schema: Schema) -> int:
    """A logical schema is known by its name, as Connect's own checks know it."""
    return LOGICAL.get(schema.name or "", TYPES.index(schema.type))


def kind_of_class(value_class: type) -> int | None:
    """
    Return the kind of a value of this class without a schema. The class may be derived from one of Connect's. None if it is not
    data.
    """
    return next((_KINDS[base] for base in value_class.__mro__ if base in _KINDS), None)


def fits(kind: int, value_class: type) -> bool:
    """Whether values of this class may stand in a column of this kind."""
    classes = _CLASSES[kind]
    return value_class in classes or (issubclass(value_class, classes) and not issubclass(value_class, _EXACT))


class Writers:
    """`number` gives the number of a schema, `column` the function for one."""

    def __init__(self, number: Callable[[Schema], int], column: Callable[[Schema], Column]) -> None:
        self._number, self._column = number, column
        self._bodies: list[Write] = [
            *(_numbers(format) for format in _FORMATS),
            texts,
            _bytes,
            self._arrays(None),
            self._maps(None),
            # Of a struct without a schema the number stands for one.
            self._no_structs,
            _decimals,
            _dates,
        ]

    def of(self, schema: Schema) -> Column:
        kind = kind_of(schema)
        body = self._bodies[kind]
        if kind == _STRUCT:
            body = self._structs(schema)
        elif kind < DECIMAL and schema.type is SchemaType.ARRAY:
            body = self._arrays(schema)
        elif kind < DECIMAL and schema.type is SchemaType.MAP:
            body = self._maps(schema)
        return Column(kind, body)

    def _part(self, schema: Schema | None) -> Write:
        return self.free if schema is None else self._column(schema)

    def _arrays(self, schema: Schema | None) -> Write:
        element = self._part(None if schema is None else schema.value_schema)

        def write(out: Parts, values: Sequence[Any]) -> None:
            out.append(array("i", map(len, values)))
            element(out, [element_value for value in values for element_value in value])

        return write

    def _maps(self, schema: Schema | None) -> Write:
        of_keys, of_items = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        key, item = self._part(of_keys), self._part(of_items)
        may_be_named = of_keys is None or kind_of(of_keys) == TYPES.index(SchemaType.STRING)

        def write(out: Parts, values: Sequence[Any]) -> None:
            names = list(map(tuple, values)) if may_be_named else []
            sets = dict.fromkeys(names)
            if may_be_named and len(sets) <= FEW and all(type(name) is str for names in sets for name in names):
                _named_maps(out, values, names, sets, item)
                return
            out += (b"\0", array("i", map(len, values)))
            key(out, [map_key for value in values for map_key in value])
            item(out, [map_item for value in values for map_item in value.values()])

        return write

    def _structs(self, schema: Schema) -> Write:
        columns = [self._column(field.schema) for field in schema.fields]

        def write(out: Parts, values: Sequence[Any]) -> None:
            schemas = [value.schema for value in values]
            if len(set(map(id, schemas))) > 1 or (schemas and schemas[0] is not schema):
                number = self._number(schema)
                if any(
                    self._number(struct_schema) != number
                    for struct_schema in {id(struct_schema): struct_schema for struct_schema in schemas}.values()
                ):
                    raise DataError("Struct schemas do not match.")
            if not values:
                for column in columns:
                    column(out, ())
                return
            for column, column_values in zip(columns, zip(*[value._values for value in values])):
                column(out, column_values)

        return write

    @staticmethod
    def _no_structs(out: Parts, values: Sequence[Any]) -> None:
        raise DataError("A struct has a schema")

    def free(self, out: Parts, values: Sequence[Any]) -> None:
        """A column of values without a schema."""
        kinds = set(map(type, values))
        if _NULL in kinds:
            values = _without_nulls(out, values)
            if not values:
                return
            kinds.discard(_NULL)
        else:
            out.append(b"\0")
        if len(kinds) == 1:
            kind = _KINDS.get(kinds.pop(), _STRUCT)
            if kind != _STRUCT:
                out.append(pack("=2i", 1, -1 - kind))
                self._bodies[kind](out, values)
                return
        groups: dict[int, list[Any]] = {}
        codes = list(map(self._code, values))
        for code, value in zip(codes, values):
            groups.setdefault(code, []).append(value)
        out.append(pack("=i", len(groups)))
        if len(groups) > 1:
            which = {code: number for number, code in enumerate(groups)}
            out.append(array("i", map(which.__getitem__, codes)))
        for code, group in groups.items():
            out.append(pack("=i", code) if len(groups) == 1 else pack("=2i", code, len(group)))
            body = self._bodies[-1 - code] if code < 0 else self._column(group[0].schema).body
            body(out, group)

    def _code(self, value: Any) -> int:
        kind = _KINDS.get(type(value))
        if kind is None:
            kind = kind_of_class(type(value))
            if kind is None:
                raise DataError(f"{type(value)} is no data of Connect's")
        return self._number(value.schema) if kind == _STRUCT else -1 - kind


class Column:
    """The function for a column, by `body` for its values that are not null."""

    __slots__ = ("_kind", "_wanted", "body")

    def __init__(self, kind: int, body: Write) -> None:
        self._kind, self.body = kind, body
        self._wanted = frozenset(_CLASSES[kind])

    def __call__(self, out: Parts, values: Sequence[Any]) -> None:
        kinds = set(map(type, values))
        if kinds <= self._wanted:
            out.append(b"\0")
            self.body(out, values)
            return
        if _NULL in kinds:
            kinds.discard(_NULL)
            values = _without_nulls(out, values)
            if not values:
                return
        else:
            out.append(b"\0")
        if not kinds <= self._wanted and not all(fits(self._kind, value_type) for value_type in kinds):
            raise DataError(f"Values of {kinds} are not all of the schema's type")
        self.body(out, values)


def _without_nulls(out: Parts, values: Sequence[Any]) -> Sequence[Any]:
    some = [value for value in values if value is not None]
    out.append(b"\1" + bytes([value is not None for value in values]) if some else b"\2")
    return some


def _numbers(format: str) -> Write:
    def write(out: Parts, values: Sequence[Any]) -> None:
        out.append(pack(f"{len(values)}{format}", *values))

    def write_narrow(out: Parts, values: Sequence[Any]) -> None:
        try:
            write(out, values)
        except OverflowError:
            write(out, list(map(float32, values)))

    return write_narrow if format == "f" else write


def texts(out: Parts, values: Sequence[Any]) -> None:
    """The body of a column of texts."""
    joined = "".join(values)
    try:
        data = joined.encode("latin-1")
    except UnicodeEncodeError:
        if max(joined) > "\uffff" or _has_surrogates(joined):
            # One by one: halves of a pair that meet are not to become one, and lengths are Java's.
            pieces = [value.encode(WIDE, "surrogatepass") for value in values]
            out += (b"\2", array("i", [len(piece) // 2 for piece in pieces]), b"".join(pieces))
            return
        out += (b"\1", array("i", map(len, values)), joined.encode(WIDE))
        return
    out += (b"\0", array("i", map(len, values)), data)


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _bytes(out: Parts, values: Sequence[Any]) -> None:
    kinds = set(map(type, values))
    if memoryview in kinds:
        views = [type(value) is memoryview for value in values]
        out.append(b"\1" if all(views) else b"\2" + bytes(views))
        values = list(map(bytes, values))
    else:
        out.append(b"\0")
    out += (array("i", map(len, values)), b"".join(values))


def _decimals(out: Parts, values: Sequence[Any]) -> None:
    if not all(map(decimal.Decimal.is_finite, values)):
        raise DataError("Java has no decimals that are not finite")
    texts(out, list(map(str, values)))


def _dates(out: Parts, values: Sequence[Any]) -> None:
    out.append(array("q", map(milliseconds_of, values)))


def _named_maps(out: Parts, values: Sequence[Any], names: list[Any], sets: dict[Any, Any], item: Write) -> None:
    out.append(b"\1" + pack("=i", len(sets)))
    for key_names in sets:
        out.append(pack("=i", len(key_names)))
        texts(out, key_names)
    if len(sets) == 1:
        out.append(pack("=i", len(values)))
        for column in zip(*map(operator.methodcaller("values"), values)):
            item(out, column)
        return
    if not sets:
        return
    which = {key_names: number for number, key_names in enumerate(sets)}
    numbers = list(map(which.__getitem__, names))
    out.append(array("i", numbers))
    for set_number, key_names in enumerate(sets):
        group = [value for number, value in zip(numbers, values) if number == set_number]
        out.append(pack("=i", len(group)))
        if key_names:
            for column in zip(*[value.values() for value in group]):
                item(out, column)
