"""The transform ExtractField: one field of a key or value takes its place. Read next: `field_path.py`, `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, DataError, Importance, OneOf, Schema, SchemaType, Type
from kconnect.data.column import Column, Unusual
from kconnect.transforms import common
from kconnect.transforms.field_path import steps

PURPOSE = "field extraction"


class ExtractField(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey("field", Type.STRING, importance=Importance.MEDIUM, doc="The field to extract."),
        common.replace_null_key(),
        ConfigKey(
            "field.syntax.version",
            Type.STRING,
            "V1",
            Importance.HIGH,
            "V1: `field` is a name; V2: names joined by dots, a name with a dot between backticks.",
            OneOf(("V1", "V2"), ignore_case=True),
        ),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._path = settings["field"]
        self._steps = steps(self._path, settings["field.syntax.version"].upper() == "V2")
        self._read = common.reader(settings[common.REPLACE_NULL])
        self._field_schema = common.PerSchema(self._find)

    def apply(self, record: Any) -> Any:
        schema = self.schema_of(record)
        value = self.value_of(record)
        if schema is None:
            return self.changed(record, None, None if value is None else self._of_map(common.require_map(value, PURPOSE)))
        if value is not None:
            common.require_struct(value, PURPOSE, schema)
        field_schema = self._field_schema(schema)
        for name in self._steps:
            if value is None:
                break
            value = self._read(value, name)
        return self.changed(record, field_schema, value)

    def column(self, column: Column, batch: Any) -> Column:
        names, columns = column.fields()
        values = columns[names.index(self._steps[0])]
        if len(self._steps) > 1:
            raise Unusual
        if column.schema is None:
            return Column(None, values)
        common.check_columns(column.schema, columns, True)
        return Column(self._field_schema(column.schema), values)

    def _of_map(self, value: Any) -> Any:
        self._check_steps()
        for name in self._steps[:-1]:
            value = value.get(name)
            if value is None:
                return None
            common.require_map(value, "nested field access")
        return value.get(self._steps[-1])

    def _find(self, schema: Schema) -> Schema:
        self._check_steps()
        inner = schema
        for name in self._steps:
            if inner.type is not SchemaType.STRUCT:
                raise DataError("Cannot look up fields on non-struct type")
            field = inner.field(name)
            if field is None:
                raise ValueError(f"Unknown field: {self._path}")
            inner = field.schema
        return inner

    def _check_steps(self) -> None:
        if not self._steps:
            # Connect takes an empty path of V2 at first, and fails so with each record.
            raise ValueError("fromIndex(0) > toIndex(-1)")


ExtractFieldKey, ExtractFieldValue = common.variants(ExtractField)
