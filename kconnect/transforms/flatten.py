"""The transform Flatten: fields of structs or maps within become fields of the outermost. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api import ConfigDef, ConfigKey, DataError, Importance, Schema, SchemaType, Struct, Type
from kconnect.data import values
from kconnect.data.column import Column, Unusual
from kconnect.data.schema import validate
from kconnect.transforms import common

PURPOSE = "flattening"

_PLAIN = {str, int, float, bool, type(None)}
_ROOM, _TIMES = 256 * 1024, 16
"""
So many characters may all names of a record have together that were joined, and so many times those that they had. Each has
those above it before it: fifty thousand short ones below one of half a megabyte would be 25 gigabytes.
"""


class _Plan(NamedTuple):
    """
    The plan for one struct's schema: each field's default, whether its value may be null, and its own plan, if it is a struct.
    """

    parts: list[tuple[Any, bool, _Plan | None]]
    width: int
    """How many fields it becomes."""


class _Names:
    """The names of one record, or of a batch whose records have the same."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter, self._left = delimiter, _ROOM

    def joined(self, prefix: str, name: str) -> str:
        """Return a name with those above it before it. DataError if they are too long by now."""
        joined = f"{prefix}{self._delimiter}{name}"
        # The separator is the config's, and may be as long as a config.
        self._left += _TIMES * (1 + len(joined) - len(prefix) - len(self._delimiter)) - len(joined)
        if self._left < 0:
            raise DataError(
                f"Flatten would make names of it that have more than {_ROOM} characters together, and than {_TIMES} times "
                "those that it has: each has those above it before it"
            )
        return joined


class Flatten(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey("delimiter", Type.STRING, ".", Importance.MEDIUM, "The separator between the parts of a joined name.")
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._delimiter = values.to_text(settings["delimiter"])
        self._plans = common.PerSchema(self._make_plan)

    def apply(self, record: Any) -> Any:
        value = self.value_of(record)
        if value is None:
            return record
        schema = self.schema_of(record)
        if schema is None:
            flat: dict[str, Any] = {}
            self._flatten_map(common.require_map(value, PURPOSE), "", flat, _Names(self._delimiter))
            return self.changed(record, None, flat)
        value = common.require_struct(value, PURPOSE, schema)
        plan, after = self._plans(value.schema)
        inside: list[Any] = []
        _flatten_struct(plan, value.values, after, inside)
        return self.changed(record, after, Struct.unchecked(after, inside))

    def _flatten_map(self, value: dict[str, Any], prefix: str, flat: dict[str, Any], names: _Names) -> None:
        for key, item in value.items():
            name = names.joined(prefix, key) if prefix else key
            kind = None if item is None else common.type_of(item, "Flatten")
            if kind is SchemaType.MAP:
                self._flatten_map(item, name, flat, names)
            elif kind is SchemaType.STRUCT:
                raise DataError(
                    f"Flatten transformation does not support class {values.java_class(item)} for record without schemas "
                    f"(for field {name})."
                )
            else:
                flat[name] = item

    def column(self, column: Column, batch: Any) -> Column:
        if column.schema is not None:
            raise Unusual
        flat: dict[str, Any] = {}
        self._flatten_columns(column, "", flat, _Names(self._delimiter))
        return Column.by_field(None, tuple(flat), list(flat.values()), len(column))

    def _flatten_columns(self, column: Column, prefix: str, flat: dict[str, Any], names: _Names) -> None:
        for key, items in zip(*column.fields()):
            name, kinds = names.joined(prefix, key) if prefix else key, set(map(type, items))
            if kinds == {dict}:
                self._flatten_columns(Column(None, items), name, flat, names)
            elif name in flat or not kinds <= _PLAIN:
                raise Unusual
            else:
                flat[name] = items

    def _make_plan(self, schema: Schema) -> tuple[_Plan, Schema]:
        fields: list[tuple[str, Schema]] = []
        plan = self._collect(schema, "", schema.optional, schema.default, fields, _Names(self._delimiter))
        return plan, common.struct_schema(fields, **common.basics(schema))

    def _collect(
        self,
        schema: Schema,
        prefix: str,
        optional: bool,
        default: Struct | None,
        fields: list[tuple[str, Schema]],
        names: _Names,
    ) -> _Plan:
        """A field is optional, or has a default, where one of the structs around it is or has."""
        first = len(fields)
        parts: list[tuple[Any, bool, _Plan | None]] = []
        for field in schema.fields:
            name = names.joined(prefix, field.name) if prefix else field.name
            inner = field.schema
            may_lack = optional or inner.optional
            preset = inner.default
            if preset is None and default is not None:
                preset = default.get(field.name)
            if inner.type is SchemaType.MAP:
                raise DataError(f"Flatten transformation does not support MAP for record with schemas (for field {name}).")
            if inner.type is SchemaType.STRUCT:
                parts.append((inner.default, may_lack, self._collect(inner, name, may_lack, preset, fields, names)))
            else:
                fields.append((name, inner.replace(optional=may_lack, default=preset)))
                parts.append((inner.default, may_lack, None))
        return _Plan(parts, len(fields) - first)


def _flatten_struct(plan: _Plan, items: Sequence[Any], schema: Schema, flat: list[Any]) -> None:
    for item, (default, may_lack, inner) in zip(items, plan.parts, strict=True):
        value = default if item is None else item
        if inner is None:
            if value is None and not may_lack:
                field = schema.fields[len(flat)]
                validate(field.schema, None, field.name)
            flat.append(value)
        elif value is None:
            # Nothing is said of its fields, required ones or not.
            flat.extend([None] * inner.width)
        else:
            _flatten_struct(inner, value.values, schema, flat)


FlattenKey, FlattenValue = common.variants(Flatten)
