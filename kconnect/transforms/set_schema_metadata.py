"""The transform SetSchemaMetadata: gives the schema of a key or value a name or version. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConfigKey, DataError, Importance, Schema, SchemaType, Struct, Type
from kconnect.transforms import common


class SetSchemaMetadata(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey("schema.name", Type.STRING, None, Importance.HIGH, "The schema's new name; null keeps it."),
        ConfigKey("schema.version", Type.INT, None, Importance.HIGH, "The schema's new version; null keeps it."),
        common.replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        attributes = {"name": settings["schema.name"], "version": settings["schema.version"]}
        self._changes = {part: value for part, value in attributes.items() if value is not None}
        if not self._changes:
            raise ConfigError("Neither schema name nor version configured")
        self._replace_null = settings[common.REPLACE_NULL]
        self._named = common.PerSchema(self._make_schema)

    def apply(self, record: Any) -> Any:
        schema = self.schema_of(record)
        value = self.value_of(record)
        if schema is None:
            if value is None:
                return record
            raise DataError("Schema required for [updating schema metadata]")
        named = self._named(schema)
        if isinstance(value, Struct):
            value = common.struct_of(named, list(common.values_of(value, self._replace_null)))
        return self.changed(record, named, value)

    def _make_schema(self, schema: Schema) -> Schema:
        if schema.type is not SchemaType.STRUCT:
            # As in Connect, which copies field by field whatever the schema is.
            raise DataError("Cannot list fields on non-struct type")
        return schema.replace(**self._changes)


SetSchemaMetadataKey, SetSchemaMetadataValue = common.variants(SetSchemaMetadata)
