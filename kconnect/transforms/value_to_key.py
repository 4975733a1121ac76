"""The transform ValueToKey: makes a new key of some fields of the value. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, DataError, Importance, Schema, Struct, Type
from kconnect.api.schema import struct
from kconnect.transforms.common import (
    REPLACE_NULL,
    BuiltIn,
    PerSchema,
    reader,
    replace_null_key,
    require_map,
    require_struct,
    some_items,
)

PURPOSE = "copying fields from value to key"


class ValueToKey(BuiltIn):
    CONFIG = ConfigDef(
        ConfigKey(
            "fields", Type.LIST, importance=Importance.HIGH, doc="Fields of the value to put in the key.", validator=some_items
        ),
        replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._fields = settings["fields"]
        self._read = reader(settings[REPLACE_NULL])
        self._key_schema = PerSchema(self._make_schema)

    def apply(self, record: Any) -> Any:
        if record.value_schema is None:
            found = require_map(record.value, PURPOSE)
            return record.new_record(key_schema=None, key={name: found.get(name) for name in self._fields})
        value = require_struct(record.value, PURPOSE, record.value_schema)
        schema = self._key_schema(value.schema)
        read = self._read
        return record.new_record(key_schema=schema, key=Struct(schema, {name: read(value, name) for name in self._fields}))

    def _make_schema(self, schema: Schema) -> Schema:
        fields = {}
        for name in self._fields:
            field = schema.field(name)
            if field is None:
                raise DataError(f"Field does not exist: {name}")
            fields[name] = field.schema
        return struct(fields)
