"""The transform ReplaceField: leaves out, keeps only, or renames fields of a key or value. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConfigKey, Importance, Schema, Struct, Type
from kconnect.data.column import Column, Unusual
from kconnect.data.kept import Kept
from kconnect.data.schema import EXACT
from kconnect.transforms import common

PURPOSE = "field replacement"


def pairs(name: str, value: Any) -> None:
    """Validator of `renames`."""
    for item in value or ():
        if len(common.split_pair(item)) != 2:
            raise ConfigError(name, value, f"Invalid rename mapping: {item}")


class ReplaceField(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey("exclude", Type.LIST, [], Importance.MEDIUM, "Fields to leave out.", common.Items(allow_empty=True)),
        ConfigKey(
            "include", Type.LIST, [], Importance.MEDIUM, "Fields to keep; all, if empty.", common.Items(allow_empty=True)
        ),
        ConfigKey("renames", Type.LIST, [], Importance.MEDIUM, "Pairs old:new of names.", pairs),
        common.replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._exclude = frozenset(settings["exclude"])
        self._include = frozenset(settings["include"])
        self._renames = dict(map(common.split_pair, settings["renames"] or ()))
        self._old_names = {self._renames[old]: old for old in common.hash_order(self._renames)}
        self._replace_null = settings[common.REPLACE_NULL]
        self._changed_schema = common.PerSchema(self._make_schema)
        self._plans: Kept[tuple[Any, ...], list[tuple[Any, Any]]] = Kept(common.PerSchema.LIMIT)

    def apply(self, record: Any) -> Any:
        value = self.value_of(record)
        if value is None:
            return record
        schema = self.schema_of(record)
        if schema is None:
            fields = common.require_map(value, PURPOSE)
            keys = tuple(fields)
            plan = self._plans.get(keys)
            if plan is None:
                plan = self._plan(keys)
            return self.changed(record, None, {new: fields[old] for old, new in plan})
        value = common.require_struct(value, PURPOSE, schema)
        after, places, names = self._changed_schema(value.schema)
        if places is not None:
            inside = common.values_of(value, self._replace_null)
            return self.changed(record, after, common.struct_of(after, [inside[index] for index in places]))
        mixed = Struct(after)
        for field, name in zip(after.fields, names):
            item = value.get(name) if self._replace_null else value[name]
            before = value.schema.field(name)
            if before is not None and before.schema.type is not field.schema.type and type(item) in (int, float):
                # A plain number would fit any width.
                item = EXACT[before.schema.type](item)
            mixed[field.name] = item
        return self.changed(record, after, mixed)

    def column(self, column: Column, batch: Any) -> Column:
        names, columns = column.fields()
        if column.schema is None:
            plan = self._plans.get(names) or self._plan(names)
            new = tuple(name for _, name in plan)
            if len(set(new)) < len(new):
                raise Unusual
            by_name = dict(zip(names, columns))
            return Column.by_field(None, new, [by_name[old] for old, _ in plan], len(column))
        common.check_columns(column.schema, columns, self._replace_null)
        after, places, _ = self._changed_schema(column.schema)
        if places is None:
            raise Unusual
        return Column.by_field(after, [field.name for field in after.fields], [columns[index] for index in places], len(column))

    def _plan(self, names: tuple[Any, ...]) -> list[tuple[Any, Any]]:
        """Old and new names of what is kept. Maps mostly have the keys of the one before."""
        plan = [(name, self._renames.get(name, name)) for name in names if self._keeps(name)]
        if names not in self._plans:
            self._plans.put(names, plan, len(names))
        return plan

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _make_schema(self, schema: Schema) -> tuple[Schema, list[int] | None, list[str]]:
        """
        Return the new schema, and the places and names of the values in the struct before.

        As in Connect, a value is looked up by the new name's old one, also where a field had the new name all along: then it
        may be of another type, or not be there, and there are no places.
        """
        kept_fields = [field for field in schema.fields if self._keeps(field.name)]
        fields = [(self._renames.get(field.name, field.name), field.schema) for field in kept_fields]
        names = [self._old_names.get(name, name) for name, _ in fields]
        as_they_were = names == [field.name for field in kept_fields]
        return (
            common.struct_schema(fields, **common.basics(schema)),
            [field.index for field in kept_fields] if as_they_were else None,
            names,
        )


ReplaceFieldKey, ReplaceFieldValue = common.variants(ReplaceField)
