"""
Connect's schemas as Avro's, the way Confluent's converter names and marks them.

What Avro has no word for goes into attributes that begin with `connect.`: names, versions, parameters, defaults, the width of
small integers. A struct without a name is `io.confluent.connect.avro.ConnectDefault`; a map whose keys are no texts is an
array of `MapEntry`; data without a schema is `Anything`. The other direction: `avro_schema_readers.py`. Values:
`avro_values.py`. Called by `avro.py`.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import Any

from kconnect.converters.avro_logical import to_plain
from kconnect.converters.avro_types import MISSING, Avro, AvroField
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.errors import DataError

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = f"{NAMESPACE}.ConnectDefault"
ANYTHING, MAP_ENTRY = f"{NAMESPACE}.Anything", f"{NAMESPACE}.MapEntry"
UNION, ENUM = f"{NAMESPACE}.Union", f"{NAMESPACE}.Enum"
RECORD_DOC, FIELD_DOC = f"{NAMESPACE}.record.doc", f"{NAMESPACE}.field.doc."
FIELD_DEFAULT = f"{NAMESPACE}.field.default"
ENUM_DOC, ENUM_DEFAULT = f"{NAMESPACE}.enum.doc.", f"{NAMESPACE}.enum.default."
GENERAL_UNION, GENERAL_ENUM = "org.apache.kafka.connect.data.Union", "org.apache.kafka.connect.data.Enum"
CONNECT_NAME, CONNECT_DOC, CONNECT_VERSION = "connect.name", "connect.doc", "connect.version"
CONNECT_PARAMETERS, CONNECT_DEFAULT, CONNECT_TYPE = "connect.parameters", "connect.default", "connect.type"
CONNECT_RECORD_DOC, CONNECT_ENUM_DOC = "connect.record.doc", "connect.enum.doc"
INTERNAL_TYPE, FIXED_SIZE = "connect.internal.type", "connect.fixed.size"
PRECISION, DEFAULT_PRECISION = "connect.decimal.precision", 64
AVRO_PREFIX = "avro"
"""Attributes of Avro's own tools, such as `avro.java.string`, which become parameters and come back."""


@dataclass(frozen=True)
class Dialect:
    """The converter's settings that say how schemas and values look in Avro."""

    connect_meta_data: bool = True
    enhanced: bool = False
    generalized: bool = False
    scrub: bool = False
    optional_map_keys: bool = False
    discard_type_doc_default: bool = False
    flatten_singleton_union: bool = True
    ignore_default_for_nullables: bool = False

    @property
    def enum_parameter(self) -> str:
        return GENERAL_ENUM if self.generalized else ENUM

    def name(self, name: str) -> str:
        """Return a part of a name, with what Avro doesn't take replaced if so set."""
        return scrubbed(name) if self.scrub else name

    def full_name(self, name: str) -> str:
        return ".".join(map(self.name, name.split(".")))

    def text_keys(self, schema: Schema) -> bool:
        """Whether a map is one in Avro too, whose keys are texts."""
        key = schema.key_schema
        return key is not None and key.type is SchemaType.STRING and (not key.optional or self.optional_map_keys)


_SIMPLE = {
    SchemaType.INT8: "int",
    SchemaType.INT16: "int",
    SchemaType.INT32: "int",
    SchemaType.INT64: "long",
    SchemaType.FLOAT32: "float",
    SchemaType.FLOAT64: "double",
    SchemaType.BOOLEAN: "boolean",
    SchemaType.STRING: "string",
    SchemaType.BYTES: "bytes",
    SchemaType.ARRAY: "array",
    SchemaType.MAP: "map",
}
_NARROW = {SchemaType.INT8: "int8", SchemaType.INT16: "int16"}
_LOGICAL = {schemas.DATE: "date", schemas.TIME: "time-millis", schemas.TIMESTAMP: "timestamp-millis"}


def anything() -> Avro:
    """The type of data without a schema: a record of which one field, or none, is not null."""
    record = Avro("record", name=ANYTHING)
    entry = Avro("record", name=MAP_ENTRY, fields=[AvroField("key", record), AvroField("value", record)])
    types = [Avro(name) for name in ("boolean", "bytes", "double", "float", "int", "long", "string")]
    for avro_type in (*types, Avro("array", items=record)):
        record.fields.append(AvroField(avro_type.type, _optional(avro_type), default=None))
    record.fields.append(AvroField("map", _optional(Avro("array", items=entry)), default=None))
    return record


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for an Avro union: of its fields, one is set."""
    return schema.name == UNION or GENERAL_UNION in schema.parameters


def is_enum(schema: Schema) -> bool:
    return schema.type is SchemaType.STRING and (GENERAL_ENUM in schema.parameters or ENUM in schema.parameters)


def is_fixed(schema: Schema) -> bool:
    return schema.type is SchemaType.BYTES and schema.name is not None and FIXED_SIZE in schema.parameters


def scrubbed(name: str) -> str:
    """A name that Avro takes: as in a URL, with `_` for what is still no letter or digit."""
    if not name or (name.isascii() and name.isidentifier()):
        return name
    encoded = urllib.parse.quote_plus(name, safe="*", encoding="utf-8")
    # Java's encoder takes `~` for a special character, Python's doesn't.
    encoded = encoded.replace("~", "%7E")
    if encoded[0].isdigit():
        encoded = f"x{encoded}"
    return "".join(char if char.isalnum() else "_" for char in encoded)


def union_field(type: str, name: str | None, index: int, dialect: Dialect) -> str:
    """Return the name of the field of a union's struct, for a branch of that Avro type and full name."""
    if dialect.generalized:
        return f"connect_union_field_{index}"
    if name is None:
        return type
    return name if dialect.enhanced else name.rpartition(".")[2]


def to_avro(schema: Schema | None, dialect: Dialect) -> Avro:
    """The Avro type of a Connect schema; None is data without one."""
    return _Translation(dialect).of(schema)


def _optional(avro: Avro, default: Any = None) -> Avro:
    # Avro takes a default of a union's first branch only.
    return Avro("union", branches=[Avro("null"), avro] if default is None else [avro, Avro("null")])


class _Translation:
    """The translation of one schema. Equal parts of it become one type, because a named one can be spelled out only once."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._known: dict[Schema, Avro] = {}
        self._anything: Avro | None = None
        self._unnamed = 0

    def of(self, schema: Schema | None, ignore_optional: bool = False) -> Avro:
        if schema is None:
            self._anything = self._anything or anything()
            return self._anything
        plain = schema.type is not SchemaType.STRUCT or not is_union(schema)
        if plain and not schema.optional and schema in self._known:
            return self._known[schema]
        avro = self._of(schema)
        if avro.type != "union":
            self._describe(avro, schema)
            if schema.optional and not ignore_optional:
                avro = _optional(avro, schema.default)
        if not schema.optional:
            self._known[schema] = avro
        return avro

    def _of(self, schema: Schema) -> Avro:
        kind = schema.type
        if kind is SchemaType.STRUCT:
            if is_union(schema):
                members = [self.of(_required(field.schema), ignore_optional=True) for field in schema.fields]
                return Avro("union", branches=[Avro("null"), *members] if schema.optional else members)
            return _optional(self.of(_required(schema))) if schema.optional else self._of_struct(schema)
        if kind is SchemaType.ARRAY:
            return Avro("array", items=self.of(schema.value_schema))
        if kind is SchemaType.MAP:
            if self._dialect.text_keys(schema):
                return Avro("map", items=self.of(schema.value_schema))
            return Avro("array", items=self._of_entry(schema))
        if kind is SchemaType.STRING and (self._dialect.generalized or self._dialect.enhanced) and is_enum(schema):
            return self._of_enum(schema)
        if is_fixed(schema):
            name = self._dialect.full_name(schema.name or "")
            return Avro("fixed", name=name, size=_number(schema, FIXED_SIZE))
        return Avro(_SIMPLE[kind])

    def _name(self, schema: Schema) -> str:
        if schema.name is not None:
            return self._dialect.full_name(schema.name)
        self._unnamed += 1
        return DEFAULT_NAME if self._unnamed == 1 else f"{DEFAULT_NAME}{self._unnamed}"

    def _of_struct(self, schema: Schema) -> Avro:
        discard, parameters = self._dialect.discard_type_doc_default, schema.parameters
        record = Avro("record", name=self._name(schema))
        record.doc = parameters.get(CONNECT_RECORD_DOC if discard else RECORD_DOC)
        for field in schema.fields:
            doc = None if discard else parameters.get(FIELD_DOC + field.name)
            record.fields.append(self._field(self._dialect.name(field.name), field.schema, doc))
        names = [field.name for field in record.fields]
        if len(set(names)) < len(names):
            raise DataError(f"Fields of {record.name} have the same name once scrub.invalid.names has replaced characters")
        return record

    def _of_entry(self, schema: Schema) -> Avro:
        entry = Avro("record", name=MAP_ENTRY)
        if schema.name is not None:
            entry.name = self._dialect.full_name(schema.name)
            entry.props[INTERNAL_TYPE] = "MapEntry"
        for name, part in (("key", schema.key_schema), ("value", schema.value_schema)):
            if part is None:
                entry.fields.append(AvroField(name, self.of(None)))
            else:
                entry.fields.append(self._field(name, part, None))
        return entry

    def _of_enum(self, schema: Schema) -> Avro:
        parameter, parameters = self._dialect.enum_parameter, schema.parameters
        name = parameters.get(parameter)
        if name is None:
            raise DataError(f"An enum's schema has no parameter {parameter}, only that of the other kind of enum")
        symbols = [key[len(parameter) + 1 :] for key in parameters if key.startswith(f"{parameter}.")]
        enum = Avro("enum", name=name, symbols=symbols)
        # Confluent looks for doc and default by the name of the schema, which is mostly that of the enum.
        short = self._dialect.full_name(schema.name or name).rpartition(".")[2]
        if self._dialect.discard_type_doc_default:
            enum.doc = parameters.get(CONNECT_ENUM_DOC)
        else:
            enum.doc, enum.default_symbol = parameters.get(ENUM_DOC + short), parameters.get(ENUM_DEFAULT + short)
        return enum

    def _field(self, name: str, schema: Schema, doc: str | None) -> AvroField:
        default = MISSING
        avro = self.of(schema)
        if schema.default is not None:
            default = self._default(schema, schema.default)
            # A default that Avro doesn't take, such as a record where null comes first, is left out.
            if not _fits(avro, default):
                default = MISSING
        elif schema.optional:
            default = None
        return AvroField(name, avro, schema.doc if self._dialect.discard_type_doc_default else doc, default)

    # --- attributes ---

    def _describe(self, avro: Avro, schema: Schema) -> None:
        props, parameters = avro.props, schema.parameters
        decimal = schema.name == schemas.DECIMAL
        if decimal:
            props["scale"] = schemas.decimal_scale(schema)
            props["precision"] = _number(schema, PRECISION) if PRECISION in parameters else DEFAULT_PRECISION
        if self._dialect.connect_meta_data:
            props.update(self._meta_data(schema))
        # Java's library refuses a decimal of a scale below 0 or above its precision, but reads the attributes all the same.
        if decimal:
            props["logicalType"] = "decimal"
        elif schema.name in _LOGICAL:
            props["logicalType"] = _LOGICAL[schema.name]
        props.update((key, value) for key, value in parameters.items() if key.startswith(AVRO_PREFIX))

    def _meta_data(self, schema: Schema) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        discard = self._dialect.discard_type_doc_default
        if schema.doc is not None:
            attributes[CONNECT_DOC] = schema.doc
        if schema.version is not None:
            attributes[CONNECT_VERSION] = int(schema.version)
        parameters = {key: value for key, value in schema.parameters.items() if discard or key != FIELD_DEFAULT}
        if parameters:
            attributes[CONNECT_PARAMETERS] = parameters
        if schema.default is not None and (discard or FIELD_DEFAULT not in schema.parameters):
            attributes[CONNECT_DEFAULT] = self._default(schema, schema.default)
        if schema.name is not None:
            attributes[CONNECT_NAME] = schema.name
        if schema.type in _NARROW:
            attributes[CONNECT_TYPE] = _NARROW[schema.type]
        return attributes

    def _default(self, schema: Schema | None, value: Any) -> Any:
        """A default in JSON, bytes as texts of the same code points."""
        if value is None:
            return None
        if schema is None:
            raise DataError("A default without a schema can't be said in Avro")
        value = to_plain(schema, value)
        kind = schema.type
        if kind is SchemaType.BYTES:
            return bytes(value).decode("latin-1")
        if kind is SchemaType.ARRAY:
            return [self._default(schema.value_schema, item) for item in value]
        if kind is SchemaType.MAP:
            if self._dialect.text_keys(schema):
                return {key: self._default(schema.value_schema, item) for key, item in value.items()}
            return [
                [self._default(schema.key_schema, key), self._default(schema.value_schema, item)] for key, item in value.items()
            ]
        if kind is SchemaType.STRUCT:
            return self._default_struct(schema, value)
        return value

    def _default_struct(self, schema: Schema, value: Struct) -> Any:
        defaults = {field.name: self._default(field.schema, value.get(field.name)) for field in schema.fields}
        if is_union(schema):
            return next((default for default in defaults.values() if default is not None), None)
        return {self._dialect.name(name): default for name, default in defaults.items()}


def _required(schema: Schema) -> Schema:
    return schema.replace(optional=False) if schema.optional else schema


def _number(schema: Schema, parameter: str) -> int:
    try:
        return int(schema.parameters[parameter])
    except ValueError as error:
        raise DataError(f"Schema parameter {parameter} is not a number: {schema.parameters[parameter]}") from error


def _fits(avro: Avro, default: Any) -> bool:
    """Whether Avro takes this default for this type."""
    kind = avro.type
    if kind == "union":
        return _fits(avro.branches[0], default)
    if kind == "array":
        return isinstance(default, list) and all(_fits(avro.item(), item) for item in default)
    if kind == "map":
        return isinstance(default, dict) and all(_fits(avro.item(), item) for item in default.values())
    if kind == "record":
        return isinstance(default, dict) and all(_fits(field.type, default.get(field.name)) for field in avro.fields)
    if kind == "null" or default is None:
        return kind == "null" and default is None
    if kind in ("int", "long", "float", "double"):
        return isinstance(default, int | float) and not isinstance(default, bool)
    return isinstance(default, bool) if kind == "boolean" else isinstance(default, str)
