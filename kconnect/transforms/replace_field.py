"""The transform ReplaceField: leaves out, keeps only, or renames fields of a key or value. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConfigKey, Importance, Schema, SchemaType, Struct, Type
from kconnect.transforms.common import (
    REPLACE_NULL,
    OnKey,
    OnPart,
    OnValue,
    PerSchema,
    basics,
    no_empty_item,
    reader,
    replace_null_key,
    require_map,
    require_struct,
)

PURPOSE = "field replacement"


def pairs(name: str, value: Any) -> None:
    """Validator of `renames`."""
    no_empty_item(name, value)
    for item in value or ():
        if len(item.split(":")) != 2:
            raise ConfigError(name, value, f"Invalid rename mapping: {item}")


class ReplaceField(OnPart):
    CONFIG = ConfigDef(
        ConfigKey("exclude", Type.LIST, [], Importance.MEDIUM, "Fields to leave out.", no_empty_item),
        ConfigKey("include", Type.LIST, [], Importance.MEDIUM, "Fields to keep; all, if empty.", no_empty_item),
        ConfigKey("renames", Type.LIST, [], Importance.MEDIUM, "Pairs old:new of names.", pairs),
        replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._exclude = frozenset(settings["exclude"])
        self._include = frozenset(settings["include"])
        self._renames = dict(pair.split(":") for pair in settings["renames"])
        self._read = reader(settings[REPLACE_NULL])
        self._changed_schema = PerSchema(self._make_schema)

    def apply(self, record: Any) -> Any:
        value = self.value_of(record)
        if value is None:
            return record
        schema = self.schema_of(record)
        if schema is None:
            renames = self._renames
            kept = {
                renames.get(name, name): item for name, item in require_map(value, PURPOSE).items() if self._keeps(name)
            }
            return self.changed(record, None, kept)
        value = require_struct(value, PURPOSE, schema)
        after, names = self._changed_schema(value.schema)
        read = self._read
        return self.changed(record, after, Struct(after, {new: read(value, old) for old, new in names}))

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _make_schema(self, schema: Schema) -> tuple[Schema, list[tuple[str, str]]]:
        fields = [field for field in schema.fields if self._keeps(field.name)]
        names = [(field.name, self._renames.get(field.name, field.name)) for field in fields]
        inner = [(new, field.schema) for (_, new), field in zip(names, fields, strict=True)]
        return Schema(SchemaType.STRUCT, fields=inner, **basics(schema)), names


class ReplaceFieldKey(OnKey, ReplaceField):
    pass


class ReplaceFieldValue(OnValue, ReplaceField):
    pass
