"""The transform ValueToKey: makes a new key of some fields of the value. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, DataError, Importance, Schema, Type
from kconnect.data.column import Column
from kconnect.data.schema import struct
from kconnect.transforms import common

PURPOSE = "copying fields from value to key"


class ValueToKey(common.BuiltIn):
    CONFIG = ConfigDef(
        ConfigKey(
            "fields",
            Type.LIST,
            importance=Importance.HIGH,
            doc="Fields of the value to put in the key.",
            validator=common.Items(),
        ),
        common.replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._fields = settings["fields"]
        self._replace_null = settings[common.REPLACE_NULL]
        self._key_schema = common.PerSchema(self._make_schema)

    def apply(self, record: Any) -> Any:
        if record.value_schema is None:
            fields = common.require_map(record.value, PURPOSE)
            return record.new_record(key_schema=None, key={name: fields.get(name) for name in self._fields})
        value = common.require_struct(record.value, PURPOSE, record.value_schema)
        schema, places = self._key_schema(value.schema)
        inside = common.values_of(value, self._replace_null)
        return record.new_record(key_schema=schema, key=common.struct_of(schema, [inside[index] for index in places]))

    def apply_batch(self, batch: Any) -> Any:
        value: Column = batch.value
        names, columns = value.fields()
        schema, places = None, [names.index(name) for name in self._fields]
        if value.schema is not None:
            schema, places = self._key_schema(value.schema)
            common.check_columns(value.schema, columns, self._replace_null)
        return batch.replace(key=Column.by_field(schema, self._fields, [columns[place] for place in places], len(value)))

    def _make_schema(self, schema: Schema) -> tuple[Schema, list[int]]:
        """Return the key's schema, and the places of its fields in the value."""
        fields = []
        for name in self._fields:
            field = schema.field(name)
            if field is None:
                raise DataError(f"Field does not exist: {name}")
            fields.append(field)
        return struct({field.name: field.schema for field in fields}), [field.index for field in fields]
