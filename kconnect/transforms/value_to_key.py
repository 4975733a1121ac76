"""The transform ValueToKey: makes a new key of some fields of the value. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, DataError, Importance, Schema, Type
from kconnect.data.schema import struct
from kconnect.transforms.common import (
    REPLACE_NULL,
    BuiltIn,
    Items,
    PerSchema,
    replace_null_key,
    require_map,
    require_struct,
    struct_of,
    values_of,
)

PURPOSE = "copying fields from value to key"


class ValueToKey(BuiltIn):
    CONFIG = ConfigDef(
        ConfigKey(
            "fields", Type.LIST, importance=Importance.HIGH, doc="Fields of the value to put in the key.", validator=Items()
        ),
        replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._fields = settings["fields"]
        self._replace_null = settings[REPLACE_NULL]
        self._key_schema = PerSchema(self._make_schema)

    def apply(self, record: Any) -> Any:
        if record.value_schema is None:
            found = require_map(record.value, PURPOSE)
            return record.new_record(key_schema=None, key={name: found.get(name) for name in self._fields})
        value = require_struct(record.value, PURPOSE, record.value_schema)
        schema, places = self._key_schema(value.schema)
        inside = values_of(value, self._replace_null)
        return record.new_record(key_schema=schema, key=struct_of(schema, [inside[index] for index in places]))

    def _make_schema(self, schema: Schema) -> tuple[Schema, list[int]]:
        """With the places of the fields in the value."""
        fields = []
        for name in self._fields:
            field = schema.field(name)
            if field is None:
                raise DataError(f"Field does not exist: {name}")
            fields.append(field)
        return struct({field.name: field.schema for field in fields}), [field.index for field in fields]
