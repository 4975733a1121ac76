"""
Schemas and the values they describe: Connect's data model in Python's own types.

    INT8 to INT64  int          FLOAT32, FLOAT64  float      BOOLEAN  bool      STRING  str      BYTES  bytes
    ARRAY          list         MAP               dict       STRUCT   Struct
    Decimal        decimal.Decimal    Date, Time, Timestamp   datetime.datetime in UTC (Time on 1970-01-01)

A date that Python's years have no place for is a datetime too, a `moments.FarDate`.

A value without a schema (`schema` is None) is any of these, with dicts for objects; there an int is a Java long, a float a
double, and `Int8` to `Float32` say otherwise for who needs it. Schemas are immutable and may be shared by all records of a
batch, which is also what makes converters quick: they cache by identity. Read next: `api/record.py`.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kconnect.errors import DataError
from kconnect.java.moments import FarDate


class SchemaType(enum.Enum):
    INT8 = "INT8"
    INT16 = "INT16"
    INT32 = "INT32"
    INT64 = "INT64"
    FLOAT32 = "FLOAT32"
    FLOAT64 = "FLOAT64"
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    BYTES = "BYTES"
    ARRAY = "ARRAY"
    MAP = "MAP"
    STRUCT = "STRUCT"

    @property
    def is_primitive(self) -> bool:
        return self not in (SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT)


DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"


class Int8(int):
    """A Java Byte; like the next five, for values without a schema, where a plain int is a Long and a float a Double."""


class Int16(int):
    """A Java Short."""


class Int32(int):
    """A Java Integer."""


class Int64(int):
    """A Java Long, which a schema of other integers does not take as it does a plain int."""


class Float32(float):
    """A Java Float."""


class Float64(float):
    """A Java Double, which a schema of FLOAT32 does not take as it does a plain float."""


class Brought(int):
    """The version of a schema that a message brings along: whoever writes the message chooses it."""


EXACT: Mapping[SchemaType, type] = {
    SchemaType.INT8: Int8,
    SchemaType.INT16: Int16,
    SchemaType.INT32: Int32,
    SchemaType.INT64: Int64,
    SchemaType.FLOAT32: Float32,
    SchemaType.FLOAT64: Float64,
}
"""The classes that say how wide a number is."""

_JAVA_CLASSES: Mapping[type, str] = {
    Int8: "java.lang.Byte",
    Int16: "java.lang.Short",
    Int32: "java.lang.Integer",
    Int64: "java.lang.Long",
    Float32: "java.lang.Float",
    Float64: "java.lang.Double",
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
    FarDate: "java.util.Date",
}

_LOGICAL: Mapping[str, type] = {
    DECIMAL: decimal.Decimal,
    DATE: datetime.datetime,
    TIME: datetime.datetime,
    TIMESTAMP: datetime.datetime,
}
_PYTHON: Mapping[SchemaType, tuple[type, ...]] = {
    **{kind: (float if issubclass(exact, float) else int, exact) for kind, exact in EXACT.items()},
    SchemaType.BOOLEAN: (bool,),
    SchemaType.STRING: (str,),
    SchemaType.BYTES: (bytes, bytearray, memoryview),
    SchemaType.ARRAY: (list, tuple),
    SchemaType.MAP: (dict,),
}
_NO_OTHER = (bool, *EXACT.values())
"""Subclasses of int and float that are no other number."""
_WIDE = frozenset(kind for kind, types in _PYTHON.items() if types[0] in (int, float))
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_DEEPEST = 250
"""
So many schemas may be within each other. Whoever compares two takes three calls of a thousand for each: of deeper ones that a
record brings along, that would fail wherever they are compared, and not as the fault of that record.
"""


MOST_PARTS = 200_000
"""
So many schemas one has in it, itself included. One that is there several times counts each time: whoever writes it down, or
compares it, meets it as often, and a struct of two fields of the struct below it, twenty levels deep, has a million.
"""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct's schema; `index` is its place."""

    name: str
    index: int
    schema: Schema


class Schema:
    """
    The type of a value, immutable.

    Build primitive ones from the constants below, and the others with `array`, `mapping`, `struct`, or with this
    constructor; `optional_copy` and `replace` derive. A default is checked at construction (DataError). An array or map
    made by the constructor may lack the schemas of its elements: `values.parse_string` gives such of `[null]` and `{}`.
    """

    __slots__ = (
        "_by_name",
        "_hash",
        "default",
        "defaults",
        "depth",
        "doc",
        "fields",
        "key_schema",
        "name",
        "optional",
        "parameters",
        "parts",
        "required",
        "type",
        "value_schema",
        "version",
    )

    def __init__(
        self,
        type: SchemaType,
        optional: bool = False,
        default: Any = None,
        name: str | None = None,
        version: int | None = None,
        doc: str | None = None,
        parameters: Mapping[str, str] | None = None,
        fields: Iterable[tuple[str, Schema]] = (),
        key_schema: Schema | None = None,
        value_schema: Schema | None = None,
    ) -> None:
        self.type = type
        self.optional = optional
        self.default: Any = default
        self.name = name
        self.version = version
        self.doc = doc
        self.parameters: Mapping[str, str] = dict(parameters or {})
        self.fields = tuple(Field(field, index, schema) for index, (field, schema) in enumerate(fields))
        # Places of fields that may not be null, and of those with a default: asked for every struct.
        self.required = tuple(field.index for field in self.fields if not field.schema.optional)
        self.defaults: tuple[tuple[int, Any], ...] = tuple(
            (field.index, field.schema.default) for field in self.fields if field.schema.default is not None
        )
        self._by_name = {field.name: field for field in self.fields}
        for field in self.fields:
            if not field.name:
                raise DataError("fieldName cannot be null.")
            if self._by_name[field.name] is not field:
                raise DataError(f"Cannot create field because of field name duplication {field.name}")
        self.key_schema = key_schema
        self.value_schema = value_schema
        self.depth: int = 1 + max([part.depth for part in self._parts()], default=0)
        if self.depth > _DEEPEST:
            raise DataError(f"Schemas are within each other more than {_DEEPEST} times")
        self.parts: int = 1 + sum([part.parts for part in self._parts()])
        if self.parts > MOST_PARTS:
            raise DataError(f"A schema has, with all that is in it, over {MOST_PARTS} parts")
        self._hash: int | None = None
        if default is not None:
            try:
                validate(self, default)
            except DataError as error:
                raise DataError("Invalid default value") from error

    def _parts(self) -> list[Schema]:
        return [
            *(part for part in (self.key_schema, self.value_schema) if part is not None),
            *(field.schema for field in self.fields),
        ]

    def field(self, name: str) -> Field | None:
        """The field of that name, of a struct."""
        return self._by_name.get(name)

    def replace(self, **changes: Any) -> Schema:
        """A copy with some of the constructor's arguments changed."""
        current = {
            "type": self.type,
            "optional": self.optional,
            "default": self.default,
            "name": self.name,
            "version": self.version,
            "doc": self.doc,
            "parameters": self.parameters,
            "fields": [(field.name, field.schema) for field in self.fields],
            "key_schema": self.key_schema,
            "value_schema": self.value_schema,
        }
        return Schema(**{**current, **changes})

    def optional_copy(self) -> Schema:
        return self if self.optional else self.replace(optional=True)

    def _identity(self) -> tuple[Any, ...]:
        return (
            self.type,
            self.optional,
            self.name,
            self.version,
            self.doc,
            self.fields,
            self.key_schema,
            self.value_schema,
            tuple(sorted(self.parameters.items())),
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema):
            return NotImplemented
        return self._identity() == other._identity() and self.default == other.default

    def __hash__(self) -> int:
        if self._hash is None:
            # The default, too: schemas that differ in that alone would all be compared with each other, wherever they are kept.
            self._hash = hash((self._identity(), _distinct(self.default)))
        return self._hash

    def __repr__(self) -> str:
        return f"Schema{{{self.name}:{self.type.value}}}" if self.name else f"Schema{{{self.type.value}}}"


def _distinct(value: Any) -> Any:
    """
    Return what is the same for equal values, and can be hashed. Numbers become texts, whose hashes nobody can foresee: of
    numbers anybody can compute as many as they like that have one hash.
    """
    if isinstance(value, int):
        return hex(value)
    if isinstance(value, float):
        return hex(int(value)) if value.is_integer() else repr(float(value))
    if isinstance(value, decimal.Decimal):
        digits = "".join(map(str, value.as_tuple().digits)).rstrip("0")
        return digits, value.adjusted() if digits else 0
    if isinstance(value, dict):
        return frozenset((_distinct(key), _distinct(item)) for key, item in value.items())
    if isinstance(value, list | tuple | Struct):
        return tuple(map(_distinct, value.values if isinstance(value, Struct) else value))
    return bytes(value) if isinstance(value, bytearray | memoryview) else value


class SchemaAndValue(NamedTuple):
    """The schema and value that a converter makes of bytes. Without a schema, `schema` is None."""

    schema: Schema | None
    value: Any


NULL = SchemaAndValue(None, None)


class Struct:
    """
    A value with fields, as its schema names them. Fields are read and written by `[]`; unset ones are None, or their
    schema's default by `get`. `validate` checks that required fields are there.
    """

    __slots__ = ("_values", "schema")

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None) -> None:
        if schema.type is not SchemaType.STRUCT:
            raise DataError(f"Not a struct schema: {schema!r}")
        self.schema = schema
        self._values: list[Any] = [None] * len(schema.fields)
        for name, value in (values or {}).items():
            self[name] = value

    @classmethod
    def unchecked(cls, schema: Schema, values: list[Any]) -> Struct:
        """
        A struct of values in the order of the schema's fields, which it keeps and does not check.

        For converters, whose values fit their schema by construction: it is several times quicker.
        """
        instance = cls.__new__(cls)
        instance.schema = schema
        instance._values = values
        return instance

    @property
    def values(self) -> tuple[Any, ...]:
        """The values as set, in the order of the schema's fields."""
        return tuple(self._values)

    def __getitem__(self, name: str) -> Any:
        """The value as it was set, without the default."""
        return self._values[self._field(name).index]

    def __setitem__(self, name: str, value: Any) -> None:
        field = self._field(name)
        validate(field.schema, value, name)
        self._values[field.index] = value

    def get(self, name: str) -> Any:
        """The value, or the default of the field's schema where it is not set."""
        field = self._field(name)
        value = self._values[field.index]
        return field.schema.default if value is None else value

    def items(self) -> Iterator[tuple[Field, Any]]:
        """Fields in their order, with their values as set."""
        return zip(self.schema.fields, self._values)

    def validate(self) -> None:
        """DataError for the first field that is required and neither set nor has a default."""
        for field, value in self.items():
            if value is None and (field.schema.optional or field.schema.default is not None):
                continue
            validate(field.schema, value, field.name)

    def _field(self, name: str) -> Field:
        field = self.schema.field(name)
        if field is None:
            raise DataError(f"{name} is not a valid field name")
        return field

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and self.schema == other.schema and self._values == other._values

    def __hash__(self) -> int:
        return hash((self.schema, len(self._values)))

    def __repr__(self) -> str:
        # Values are left out: texts of records end up in logs.
        return f"Struct({', '.join(field.name for field in self.schema.fields)})"


def validate(schema: Schema, value: Any, field: str | None = None, part: str = "") -> None:
    """
    DataError, with Connect's text and naming the field, unless `value` is one of `schema`.

    `part` is for its own calls: what the value is of the field's, such as `element of array `.
    """
    if value is None:
        if schema.optional:
            return
        raise DataError(f"Invalid value: null used for required {_where(field, part)}, schema type: {schema.type.value}")
    kind = schema.type
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        if not isinstance(value, logical):
            raise _misfit(schema, value, _where(field, part))
    elif kind is SchemaType.STRUCT:
        if not isinstance(value, Struct):
            raise _misfit(schema, value, _where(field, part))
        if value.schema is not schema and value.schema != schema:
            raise DataError("Struct schemas do not match.")
        value.validate()
    elif type(value) not in _PYTHON[kind] and (isinstance(value, _NO_OTHER) or not isinstance(value, _PYTHON[kind])):
        raise _misfit(schema, value, _where(field, part))
    elif kind in _BITS:
        bits = _BITS[kind]
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise _misfit(schema, value, _where(field, part))
    elif kind is SchemaType.ARRAY:
        if schema.value_schema is not None:
            part = f"element of array {part}"
            for element in value:
                validate(schema.value_schema, element, field, part)
    elif kind is SchemaType.MAP and schema.key_schema is not None:
        for key, element in value.items():
            validate(schema.key_schema, key, field, f"key of map {part}")
            if schema.value_schema is not None:
                validate(schema.value_schema, element, field, f"value of map {part}")


def _where(field: str | None, part: str) -> str:
    return f"{part}value" if field is None else f'{part}field: "{field}"'


def _misfit(schema: Schema, value: Any, where: str) -> DataError:
    name = "" if schema.name is None else f'"{schema.name}" '
    return DataError(
        f"Invalid Java object for schema {name}with type {schema.type.value}: class {java_class(value)} for {where}"
    )


def java_class(value: Any, schema: Schema | None = None) -> str:
    """
    The Java class that Connect's messages name for a value like this one; Python's own name if there is none.

    With the value's schema, a plain number is as wide as that says.
    """
    kind = type(value)
    if kind is int or kind is float:
        if schema is not None and schema.type in _WIDE and kind is _PYTHON[schema.type][0]:
            return _JAVA_CLASSES[_PYTHON[schema.type][1]]
        if kind is int and not -(1 << 63) <= value < 1 << 63:
            return "java.math.BigInteger"
    elif isinstance(value, Struct):
        return "org.apache.kafka.connect.data.Struct"
    return _JAVA_CLASSES.get(kind) or f"{kind.__module__}.{kind.__qualname__}"


def array(value_schema: Schema, **other: Any) -> Schema:
    if value_schema is None:
        raise DataError("valueSchema cannot be null.")
    return Schema(SchemaType.ARRAY, value_schema=value_schema, **other)


def mapping(key_schema: Schema, value_schema: Schema, **other: Any) -> Schema:
    if key_schema is None:
        raise DataError("keySchema cannot be null.")
    if value_schema is None:
        raise DataError("valueSchema cannot be null.")
    return Schema(SchemaType.MAP, key_schema=key_schema, value_schema=value_schema, **other)


def struct(fields: Mapping[str, Schema], **other: Any) -> Schema:
    return Schema(SchemaType.STRUCT, fields=fields.items(), **other)


def decimal_schema(scale: int, **other: Any) -> Schema:
    return Schema(SchemaType.BYTES, name=DECIMAL, version=1, parameters={"scale": str(scale)}, **other)


def decimal_scale(schema: Schema) -> int:
    """Return how many digits a decimal of this schema has behind its point."""
    text = schema.parameters.get("scale")
    if text is None:
        raise DataError("Invalid Decimal schema: scale parameter not found.")
    if not re.fullmatch(r"[+-]?0*\d{1,10}", text) or not -(1 << 31) <= int(text) < 1 << 31:
        raise DataError(f"Invalid scale parameter found in Decimal schema: {text}")
    return int(text)


INT8_SCHEMA = Schema(SchemaType.INT8)
INT16_SCHEMA = Schema(SchemaType.INT16)
INT32_SCHEMA = Schema(SchemaType.INT32)
INT64_SCHEMA = Schema(SchemaType.INT64)
FLOAT32_SCHEMA = Schema(SchemaType.FLOAT32)
FLOAT64_SCHEMA = Schema(SchemaType.FLOAT64)
BOOLEAN_SCHEMA = Schema(SchemaType.BOOLEAN)
STRING_SCHEMA = Schema(SchemaType.STRING)
BYTES_SCHEMA = Schema(SchemaType.BYTES)
OPTIONAL_INT8_SCHEMA = Schema(SchemaType.INT8, optional=True)
OPTIONAL_INT16_SCHEMA = Schema(SchemaType.INT16, optional=True)
OPTIONAL_INT32_SCHEMA = Schema(SchemaType.INT32, optional=True)
OPTIONAL_INT64_SCHEMA = Schema(SchemaType.INT64, optional=True)
OPTIONAL_FLOAT32_SCHEMA = Schema(SchemaType.FLOAT32, optional=True)
OPTIONAL_FLOAT64_SCHEMA = Schema(SchemaType.FLOAT64, optional=True)
OPTIONAL_BOOLEAN_SCHEMA = Schema(SchemaType.BOOLEAN, optional=True)
OPTIONAL_STRING_SCHEMA = Schema(SchemaType.STRING, optional=True)
OPTIONAL_BYTES_SCHEMA = Schema(SchemaType.BYTES, optional=True)
DATE_SCHEMA = Schema(SchemaType.INT32, name=DATE, version=1)
TIME_SCHEMA = Schema(SchemaType.INT32, name=TIME, version=1)
TIMESTAMP_SCHEMA = Schema(SchemaType.INT64, name=TIMESTAMP, version=1)
