"""
Schemas and the values they describe: Connect's data model in Python's own types.

    INT8 to INT64  int          FLOAT32, FLOAT64  float      BOOLEAN  bool      STRING  str      BYTES  bytes
    ARRAY          list         MAP               dict       STRUCT   Struct
    Decimal        decimal.Decimal    Date, Time, Timestamp   datetime.datetime in UTC (Time on 1970-01-01)

A value without a schema (`schema` is None) is any of these, with dicts for objects. Schemas are immutable and may be shared
by all records of a batch, which is also what makes converters quick: they cache by identity. Read next: `record.py`.
"""

from __future__ import annotations

import datetime
import decimal
import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kconnect.api.errors import DataError


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

_LOGICAL: Mapping[str, type] = {
    DECIMAL: decimal.Decimal,
    DATE: datetime.datetime,
    TIME: datetime.datetime,
    TIMESTAMP: datetime.datetime,
}
_PYTHON: Mapping[SchemaType, tuple[type, ...]] = {
    SchemaType.INT8: (int,),
    SchemaType.INT16: (int,),
    SchemaType.INT32: (int,),
    SchemaType.INT64: (int,),
    SchemaType.FLOAT32: (float,),
    SchemaType.FLOAT64: (float,),
    SchemaType.BOOLEAN: (bool,),
    SchemaType.STRING: (str,),
    SchemaType.BYTES: (bytes, bytearray, memoryview),
    SchemaType.ARRAY: (list, tuple),
    SchemaType.MAP: (dict,),
}
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct's schema; `index` is its place."""

    name: str
    index: int
    schema: Schema


class Schema:
    """
    The type of a value, immutable.

    Build primitive ones from the constants below, and the others with `array`, `mapping`, `struct`, or with this
    constructor; `optional_copy` and `replace` derive. A default is checked at construction (DataError).
    """

    __slots__ = (
        "_by_name",
        "_hash",
        "default",
        "doc",
        "fields",
        "key_schema",
        "name",
        "optional",
        "parameters",
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
        self.name = name
        self.version = version
        self.doc = doc
        self.parameters: Mapping[str, str] = dict(parameters or {})
        self.fields = tuple(Field(field, index, schema) for index, (field, schema) in enumerate(fields))
        self._by_name = {field.name: field for field in self.fields}
        for field in self.fields:
            if not field.name:
                raise DataError("fieldName cannot be null.")
            if self._by_name[field.name] is not field:
                raise DataError(f"Cannot create field because of field name duplication {field.name}")
        needed = {SchemaType.ARRAY: (value_schema,), SchemaType.MAP: (key_schema, value_schema)}.get(type, ())
        if None in needed:
            raise DataError(f"A schema of type {type.value} needs the schemas of its elements")
        self.key_schema = key_schema
        self.value_schema = value_schema
        self.default = default
        self._hash: int | None = None
        if default is not None:
            try:
                validate(self, default)
            except DataError as error:
                raise DataError("Invalid default value") from error

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
            self._hash = hash(self._identity())
        return self._hash

    def __repr__(self) -> str:
        return f"Schema{{{self.name}:{self.type.value}}}" if self.name else f"Schema{{{self.type.value}}}"


class SchemaAndValue(NamedTuple):
    """What a converter makes of bytes. Without a schema, `schema` is None."""

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
        made = cls.__new__(cls)
        made.schema = schema
        made._values = values
        return made

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


def validate(schema: Schema, value: Any, field: str | None = None) -> None:
    """DataError, naming the field, unless `value` is one of `schema`."""
    where = "" if field is None else f' for field: "{field}"'
    if value is None:
        if schema.optional:
            return
        kind = schema.name or schema.type.value
        raise DataError(f"Invalid value: null used for required field: \"{field}\", schema type: {kind}")
    logical = _LOGICAL.get(schema.name or "")
    if logical is not None:
        if not isinstance(value, logical):
            raise DataError(f"Invalid type {type(value).__name__} for {schema.name}{where}")
        return
    if schema.type is SchemaType.STRUCT:
        if not isinstance(value, Struct) or value.schema != schema:
            raise DataError(f"Struct schemas do not match{where}")
        return
    fits = isinstance(value, _PYTHON[schema.type])
    if fits and isinstance(value, bool) and schema.type is not SchemaType.BOOLEAN:
        fits = False
    if not fits:
        raise DataError(f"Invalid type {type(value).__name__} for schema type {schema.type.value}{where}")
    bits = _BITS.get(schema.type)
    if bits is not None and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise DataError(f"The number does not fit into schema type {schema.type.value}{where}")
    if schema.type is SchemaType.ARRAY:
        assert schema.value_schema is not None
        for element in value:
            validate(schema.value_schema, element, field)
    elif schema.type is SchemaType.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        for key, element in value.items():
            validate(schema.key_schema, key, field)
            validate(schema.value_schema, element, field)


def array(value_schema: Schema, **other: Any) -> Schema:
    return Schema(SchemaType.ARRAY, value_schema=value_schema, **other)


def mapping(key_schema: Schema, value_schema: Schema, **other: Any) -> Schema:
    return Schema(SchemaType.MAP, key_schema=key_schema, value_schema=value_schema, **other)


def struct(fields: Mapping[str, Schema], **other: Any) -> Schema:
    return Schema(SchemaType.STRUCT, fields=fields.items(), **other)


def decimal_schema(scale: int, **other: Any) -> Schema:
    return Schema(SchemaType.BYTES, name=DECIMAL, version=1, parameters={"scale": str(scale)}, **other)


def decimal_scale(schema: Schema) -> int:
    """How many digits a decimal of this schema has behind its point."""
    text = schema.parameters.get("scale")
    if text is None:
        raise DataError("Invalid Decimal schema: scale parameter not found.")
    try:
        return int(text)
    except ValueError as error:
        raise DataError(f"Invalid scale parameter found in Decimal schema: {text}") from error


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
