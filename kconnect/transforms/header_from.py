"""The transform HeaderFrom: fields of a key or value become headers, and may stay where they are. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kconnect.api import ConfigDef, ConfigError, ConfigKey, DataError, Header, Importance, OneOf, Schema, Type
from kconnect.transforms import common
from kconnect.transforms.growth import Growth

MOVE = "move"


def _not_empty(name: str, value: Any) -> None:
    """Validator of both lists."""
    if not value:
        raise ConfigError(name, value, "Empty list")


class _Places(NamedTuple):
    """The places in one schema: where the fields for headers are, and what is left of it with the places of its fields."""

    headers: list[tuple[str, int, Schema]]
    missing: str | None
    left: Schema
    kept: list[int]


class HeaderFrom(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey("fields", Type.LIST, importance=Importance.HIGH, doc="Fields that become headers.", validator=_not_empty),
        ConfigKey(
            "headers",
            Type.LIST,
            importance=Importance.HIGH,
            doc="The headers' names, in the order of the fields.",
            validator=_not_empty,
        ),
        ConfigKey(
            "operation",
            Type.STRING,
            importance=Importance.HIGH,
            doc="move: the fields are removed; copy: they stay.",
            validator=OneOf((MOVE, "copy")),
        ),
        common.replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        fields, headers = settings["fields"], settings["headers"]
        if len(fields) != len(headers):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        self._pairs = list(zip(fields, headers, strict=True))
        self._fields = frozenset(fields)
        self._moves = settings["operation"] == MOVE
        self._purpose = f"header {settings['operation']}"
        self._replace_null = settings[common.REPLACE_NULL]
        self._places = common.PerSchema(self._find)

    def apply(self, record: Any) -> Any:
        schema = self.schema_of(record)
        value = self.value_of(record)
        if schema is None:
            return self._of_map(record, common.require_map(value, self._purpose))
        value = common.require_struct(value, self._purpose, schema)
        places = self._places(value.schema)
        inside = common.values_of(value, self._replace_null)
        if self._moves:
            rest = common.struct_of(places.left, [inside[index] for index in places.kept])
            record = self.changed(record, places.left, rest)
        added = [_header(name, inside[index], inner) for name, index, inner in places.headers]
        if places.missing is not None:
            raise DataError(f"Field does not exist: {places.missing}")
        return _with(record, added)

    def _of_map(self, record: Any, value: dict[Any, Any]) -> Any:
        added = [Header(name, value.get(field)) for field, name in self._pairs]
        if self._moves:
            rest = {name: item for name, item in value.items() if name not in self._fields}
            record = self.changed(record, None, rest)
        return _with(record, added)

    def _find(self, schema: Schema) -> _Places:
        header_fields = [(header, schema.field(name)) for name, header in self._pairs]
        headers = [(header, field.index, field.schema) for header, field in header_fields if field is not None]
        missing = next((name for name, _ in self._pairs if schema.field(name) is None), None)
        kept_fields = [field for field in schema.fields if field.name not in self._fields]
        rest = common.struct_schema([(field.name, field.schema) for field in kept_fields], **common.basics(schema))
        return _Places(headers, missing, rest, [field.index for field in kept_fields])


def _with(record: Any, added: list[Header]) -> Any:
    growth = Growth("HeaderFrom")
    for header in added:
        # The same field may be that of many.
        growth.note(header.value)
    return growth.check(record.new_record(headers=[*record.headers, *added]))


def _header(name: str, value: Any, schema: Schema) -> Header:
    if value is None and not schema.optional:
        raise DataError(f"A null value requires an optional schema but was {schema!r}")
    return Header(name, value, schema)


HeaderFromKey, HeaderFromValue = common.variants(HeaderFrom)
