"""
Avro's schemas as Connect's, the way Confluent's converter reads them.

A union with null is an optional schema; another union a struct with one optional field for each branch; an enum a string with
its symbols among its parameters. Types that contain themselves have no Connect schema here, and are refused. The other
direction, and the names of the attributes: `avro_schema.py`. Called by `avro.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kconnect.converters import avro_schema as names
from kconnect.converters.avro_schema import Dialect, union_field
from kconnect.converters.avro_types import MISSING, MOST_PARTS, NAMED, Avro
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType
from kconnect.errors import DataError

_log = logging.getLogger(__name__)

_SIMPLE = {
    "boolean": SchemaType.BOOLEAN,
    "bytes": SchemaType.BYTES,
    "fixed": SchemaType.BYTES,
    "double": SchemaType.FLOAT64,
    "float": SchemaType.FLOAT32,
    "int": SchemaType.INT32,
    "long": SchemaType.INT64,
    "string": SchemaType.STRING,
    "enum": SchemaType.STRING,
}
_NARROW = {"int8": SchemaType.INT8, "int16": SchemaType.INT16}
_LOGICAL = {
    ("int", "date"): schemas.DATE_SCHEMA,
    ("int", "time-millis"): schemas.TIME_SCHEMA,
    ("long", "timestamp-millis"): schemas.TIMESTAMP_SCHEMA,
}

Take = Callable[[int], None]
"""Called before so many parts of defaults are read. DataError if these are too many."""
ReadDefault = Callable[[Avro, Schema, Any, Take], Any]
"""Of a type, its Connect schema and a default as in JSON: the default as a value. From `avro_values.py`."""

_MOST_OF_DEFAULTS = 2 * MOST_PARTS
"""
So many parts all defaults of a schema may have together, which take some seconds. Records with defaults within each other are
read once for each level: two hundred levels above ten thousand fields would take minutes.
"""


def is_map_entry(avro: Avro) -> bool:
    """Whether arrays of these records are maps, whose keys are no texts."""
    return avro.type == "record" and (avro.name == names.MAP_ENTRY or avro.props.get(names.INTERNAL_TYPE) == "MapEntry")


def to_connect(avro: Avro, dialect: Dialect, read_default: ReadDefault, version: int | None = None) -> Schema | None:
    """The Connect schema of an Avro type, None for `Anything`; `version` is for one that doesn't tell its own."""
    if avro.name == names.ANYTHING:
        return None
    translation = _Translation(dialect, read_default)
    schema = translation.of(avro, version=version)
    translation.tell()
    return schema


class _Translation:
    def __init__(self, dialect: Dialect, read_default: ReadDefault) -> None:
        self._dialect = dialect
        self._read_default = read_default
        self._open: list[Avro] = []
        self._unions = 0
        self._left = _MOST_OF_DEFAULTS
        self._invalid: list[str] = []

    def tell(self) -> None:
        """Say, in one line, which defaults were left out: a schema may have very many."""
        if self._invalid:
            more = f", and {len(self._invalid) - 3} others" if len(self._invalid) > 3 else ""
            shown = ", ".join(f"{name:.100}" for name in self._invalid[:3])
            _log.warning("Ignoring defaults that are invalid for their schemas: %s%s", shown, more)

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise DataError(
                f"It has defaults within each other that would take far more time than it is long: more than "
                f"{_MOST_OF_DEFAULTS} parts"
            )

    def of(
        self,
        avro: Avro,
        optional: bool = False,
        default: Any = MISSING,
        doc: str | None = None,
        version: int | None = None,
    ) -> Schema:
        if avro.type == "union":
            if len(avro.branches) == 1 and self._dialect.flatten_singleton_union:
                return self.of(avro.branches[0], doc=doc)
            if len(avro.branches) == 2 and len(avro.present) == 1:
                return self.of(avro.present[0], optional=True, doc=doc)
        if avro.type == "null":
            raise DataError("Standalone null schemas are not supported by this converter")
        if avro.type == "record":
            if any(open_record is avro for open_record in self._open):
                raise DataError(
                    f"The Avro record {avro.name} contains itself, which a schema of Connect can't say here; "
                    "read its topic with another converter, such as ByteArrayConverter"
                )
            self._open.append(avro)
            schema = self._described(avro, self._bare(avro), default, doc, version)
            self._open.pop()
        else:
            schema = self._described(avro, self._bare(avro), default, doc, version)
        return schema.optional_copy() if optional else schema

    def _part(self, avro: Avro) -> Schema | None:
        """Return the schema of elements; None if Connect has none."""
        return None if avro.name == names.ANYTHING else self.of(avro)

    # --- types ---

    def _bare(self, avro: Avro) -> Schema:
        """Return a schema with no more than the type itself says."""
        kind = avro.type
        if kind == "record":
            return self._bare_struct(avro)
        if kind == "union":
            return self._bare_union(avro)
        if kind == "array":
            return self._bare_array(avro)
        if kind == "map":
            return Schema(SchemaType.MAP, key_schema=schemas.STRING_SCHEMA, value_schema=self._part(avro.item()))
        if kind == "enum":
            return Schema(SchemaType.STRING, parameters=self._enum_parameters(avro))
        if kind in ("bytes", "fixed"):
            return self._bare_bytes(avro)
        logical = avro.props.get("logicalType")
        logical_schema = _LOGICAL.get((kind, logical.lower())) if isinstance(logical, str) else None
        if logical_schema is not None:
            return logical_schema
        narrow = avro.props.get(names.CONNECT_TYPE)
        if kind == "int" and narrow is not None and logical is None:
            if narrow not in _NARROW:
                raise DataError(f"{names.CONNECT_TYPE} of an Avro int is {narrow!r}, but must be int8 or int16")
            return Schema(_NARROW[narrow])
        return Schema(_SIMPLE[kind])

    def _bare_array(self, avro: Avro) -> Schema:
        item = avro.item()
        if not is_map_entry(item):
            return Schema(SchemaType.ARRAY, value_schema=self._part(item))
        parts = {field.name: field.type for field in item.fields}
        if parts.keys() != {"key", "value"}:
            raise DataError(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format."
            )
        return Schema(SchemaType.MAP, key_schema=self._part(parts["key"]), value_schema=self._part(parts["value"]))

    def _bare_bytes(self, avro: Avro) -> Schema:
        parameters = {names.FIXED_SIZE: str(avro.size)} if avro.type == "fixed" else {}
        if str(avro.props.get("logicalType")).lower() != "decimal":
            return Schema(SchemaType.BYTES, parameters=parameters)
        scale, precision = avro.props.get("scale"), avro.props.get("precision")
        schema = schemas.decimal_schema(scale if type(scale) is int else 0)
        if precision is not None:
            if type(precision) is not int:
                raise DataError("precision property of an Avro decimal must be a JSON Integer.")
            if precision != names.DEFAULT_PRECISION:
                parameters[names.PRECISION] = str(precision)
        return schema.replace(parameters={**schema.parameters, **parameters}) if parameters else schema

    def _bare_struct(self, avro: Avro) -> Schema:
        keep = self._dialect.connect_meta_data and not self._dialect.discard_type_doc_default
        parameters = {names.RECORD_DOC: avro.doc} if keep and avro.doc is not None else {}
        fields = []
        for field in avro.fields:
            if keep and field.doc is not None:
                parameters[names.FIELD_DOC + field.name] = field.doc
            fields.append((field.name, self.of(field.type, default=field.default, doc=field.doc)))
        return Schema(SchemaType.STRUCT, fields=fields, parameters=parameters)

    def _bare_union(self, avro: Avro) -> Schema:
        name, parameters = names.UNION, {}
        if self._dialect.generalized:
            name = f"connect_union_{self._unions}"
            self._unions += 1
            parameters = {names.GENERAL_UNION: name}
        fields: dict[str, Schema] = {}
        for index, branch in enumerate(avro.branches):
            if branch.type != "null":
                field = union_field(branch.type, branch.name, index, self._dialect)
                if field in fields:
                    raise DataError(
                        f"Multiple union schemas map to the Connect union field name {field}; "
                        "with enhanced.avro.schema.support=true such names have their namespaces"
                    )
                fields[field] = self.of(branch, optional=True)
        optional = avro.nullable
        return Schema(SchemaType.STRUCT, optional, name=name, fields=fields.items(), parameters=parameters)

    def _enum_parameters(self, avro: Avro) -> dict[str, str]:
        dialect, parameters = self._dialect, {}
        if dialect.connect_meta_data:
            if avro.doc is not None:
                key = names.CONNECT_ENUM_DOC if dialect.discard_type_doc_default else names.ENUM_DOC + avro.short_name
                parameters[key] = avro.doc
            if not dialect.discard_type_doc_default and avro.default_symbol is not None:
                parameters[names.ENUM_DEFAULT + avro.short_name] = avro.default_symbol
        parameters[dialect.enum_parameter] = avro.name or ""
        for index, symbol in enumerate(avro.symbols):
            parameters[f"{dialect.enum_parameter}.{symbol}"] = str(index) if dialect.generalized else symbol
        return parameters

    # --- attributes ---

    def _described(self, avro: Avro, bare: Schema, default: Any, doc: str | None, version: int | None) -> Schema:
        """Return the schema with all that the attributes say."""
        props, discard = avro.props, self._dialect.discard_type_doc_default
        parameters = {**bare.parameters, **self._stated_parameters(avro)}
        if discard:
            found_doc = next((text for text in (doc, avro.doc, props.get(names.CONNECT_DOC)) if text is not None), None)
            if self._dialect.connect_meta_data and avro.doc is not None:
                parameters[names.CONNECT_RECORD_DOC] = avro.doc
        else:
            found_doc = props.get(names.CONNECT_DOC) if self._dialect.connect_meta_data else None
        if default is MISSING:
            default = props.get(names.CONNECT_DEFAULT)
        elif not discard and self._dialect.connect_meta_data and props.get(names.CONNECT_DEFAULT) is None:
            parameters[names.FIELD_DEFAULT] = "true"
        described = bare.replace(
            name=self._name(avro, bare),
            version=self._version(avro, bare, version),
            doc=found_doc,
            parameters=parameters,
        )
        return described if default is None else self._with_default(avro, described, default)

    def _stated_parameters(self, avro: Avro) -> dict[str, str]:
        parameters: dict[str, str] = {}
        stated = avro.props.get(names.CONNECT_PARAMETERS)
        if self._dialect.connect_meta_data and stated is not None:
            if not isinstance(stated, dict):
                raise DataError(f"Expected JSON object for schema parameters but found: {stated}")
            for key, value in stated.items():
                if not isinstance(value, str):
                    raise DataError(f"Expected schema parameter values to be strings but found: {value}")
                parameters[key] = value
        parameters.update((key, str(value)) for key, value in avro.props.items() if key.startswith(names.AVRO_PREFIX))
        return parameters

    def _version(self, avro: Avro, bare: Schema, version: int | None) -> int | None:
        stated = avro.props.get(names.CONNECT_VERSION)
        if stated is not None:
            if type(stated) is not int:
                raise DataError(f"Invalid Connect version found: {stated}")
            version = stated
        if version is None or version < 0:
            return bare.version
        if bare.version is not None and bare.version != version:
            raise DataError(
                f"Mismatched versions: version already added to SchemaBuilder ({bare.version}) differs from "
                f"version in source schema ({version})"
            )
        return version

    def _name(self, avro: Avro, bare: Schema) -> str | None:
        name = avro.props.get(names.CONNECT_NAME)
        if name is None and avro.type in NAMED:
            name = avro.name
        if name is not None and not isinstance(name, str):
            raise DataError(f"Invalid schema name: {name}")
        if name is None or name.startswith(names.DEFAULT_NAME):
            return bare.name
        if bare.name is not None and bare.name != name:
            # A decimal of fixed size has its own name besides; Connect knows it by the logical one.
            if avro.type == "fixed" and names.CONNECT_NAME not in avro.props:
                return bare.name
            raise DataError(
                f"Mismatched names: name already added to SchemaBuilder ({bare.name}) differs from name in source schema "
                f"({name})"
            )
        return name

    def _with_default(self, avro: Avro, schema: Schema, default: Any) -> Schema:
        try:
            value = self._read_default(avro, schema, default, self._take)
            return schema if value is None else schema.replace(default=value)
        except DataError:
            if self._left < 0:
                raise
            self._invalid.append(avro.name or avro.type)
            return schema
