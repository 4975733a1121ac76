"""The transform Flatten: fields of structs or maps within become fields of the outermost. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, DataError, Importance, Schema, SchemaType, Struct, Type
from kconnect.api.values import java_class
from kconnect.transforms.common import (
    OnKey,
    OnPart,
    OnValue,
    PerSchema,
    basics,
    require_map,
    require_struct,
    struct_schema,
    type_of,
)

PURPOSE = "flattening"


class Flatten(OnPart):
    CONFIG = ConfigDef(
        ConfigKey("delimiter", Type.STRING, ".", Importance.MEDIUM, "What stands between the names of a joined name.")
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._delimiter = settings["delimiter"]
        self._flat_schema = PerSchema(self._make_schema)

    def apply(self, record: Any) -> Any:
        value = self.value_of(record)
        if value is None:
            return record
        schema = self.schema_of(record)
        flat: dict[str, Any] = {}
        if schema is None:
            self._flatten_map(require_map(value, PURPOSE), "", flat)
            return self.changed(record, None, flat)
        value = require_struct(value, PURPOSE, schema)
        after = self._flat_schema(value.schema)
        self._flatten_struct(value, "", flat)
        return self.changed(record, after, Struct(after, flat))

    def _name(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def _flatten_map(self, value: dict[str, Any], prefix: str, flat: dict[str, Any]) -> None:
        for key, item in value.items():
            name = self._name(prefix, key)
            kind = None if item is None else type_of(item, "Flatten")
            if kind is SchemaType.MAP:
                self._flatten_map(item, name, flat)
            elif kind is SchemaType.STRUCT:
                raise DataError(
                    f"Flatten transformation does not support class {java_class(item)} for record without schemas "
                    f"(for field {name})."
                )
            else:
                flat[name] = item

    def _flatten_struct(self, value: Struct, prefix: str, flat: dict[str, Any]) -> None:
        for field, item in value.items():
            name = self._name(prefix, field.name)
            if item is None:
                item = field.schema.default
            if field.schema.type is not SchemaType.STRUCT:
                flat[name] = item
            elif item is not None:
                self._flatten_struct(item, name, flat)

    def _make_schema(self, schema: Schema) -> Schema:
        fields: list[tuple[str, Schema]] = []
        self._collect(schema, "", schema.optional, schema.default, fields)
        return struct_schema(fields, **basics(schema))

    def _collect(
        self, schema: Schema, prefix: str, optional: bool, default: Struct | None, fields: list[tuple[str, Schema]]
    ) -> None:
        """A field is optional, or has a default, where one of the structs around it is or has."""
        for field in schema.fields:
            name = self._name(prefix, field.name)
            inner = field.schema
            may_lack = optional or inner.optional
            preset = inner.default
            if preset is None and default is not None:
                preset = default.get(field.name)
            if inner.type is SchemaType.MAP:
                raise DataError(
                    f"Flatten transformation does not support MAP for record with schemas (for field {name})."
                )
            if inner.type is SchemaType.STRUCT:
                self._collect(inner, name, may_lack, preset, fields)
            else:
                fields.append((name, inner.replace(optional=may_lack, default=preset)))


class FlattenKey(OnKey, Flatten):
    pass


class FlattenValue(OnValue, Flatten):
    pass
