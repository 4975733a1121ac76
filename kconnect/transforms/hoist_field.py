"""The transform HoistField: wraps a key or value in a struct or map of one field. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, Importance, Type
from kconnect.data.column import Column
from kconnect.data.schema import struct
from kconnect.transforms import common


class HoistField(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey("field", Type.STRING, importance=Importance.MEDIUM, doc="Name of the one field of the result.")
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._field = settings["field"]
        self._wrapped = common.PerSchema(lambda schema: struct({self._field: schema}))

    def apply(self, record: Any) -> Any:
        schema = self.schema_of(record)
        value = self.value_of(record)
        if schema is None:
            return self.changed(record, None, {self._field: value})
        wrapped = self._wrapped(schema)
        return self.changed(record, wrapped, common.struct_of(wrapped, [value]))

    def column(self, column: Column, batch: Any) -> Column:
        wrapped, values = None, column.as_field()
        if column.schema is not None:
            wrapped = self._wrapped(column.schema)
            common.check_columns(wrapped, [values], False)
        return Column.by_field(wrapped, (self._field,), [values], len(column))


HoistFieldKey, HoistFieldValue = common.variants(HoistField)
