"""
What several transforms share: which part of a record they work on, what they ask of it, and schemas made only once.

Used by the transforms beside it. Read next: `extract_field.py`, a short one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kconnect.api import (
    ConfigDef,
    ConfigError,
    ConfigKey,
    DataError,
    Importance,
    Schema,
    SchemaType,
    SinkRecord,
    SourceRecord,
    Struct,
    Transformation,
    Type,
)
from kconnect.api.config import parse
from kconnect.data.column import Unusual
from kconnect.data.kept import Kept, weight_of
from kconnect.data.schema import validate
from kconnect.data.values import java_class

Record = SourceRecord | SinkRecord
T = TypeVar("T")
P = TypeVar("P", bound="OnPart")

LONGEST_TOPIC = 10_000
"""In characters. Kafka takes 249 of them; but a chain may double what each of its transforms gets."""
REPLACE_NULL = "replace.null.with.default"


class BuiltIn(Transformation[Any]):
    """
    A transform of ours: declares `CONFIG`, gets its parsed values in `setup`.

    It may have `apply_batch` besides, which does the same to a whole batch (`kconnect/core/task/batch.py`) at once. It
    raises what it likes, best Unusual, for one that it leaves to `apply`.
    """

    CONFIG = ConfigDef()

    def config(self) -> ConfigDef:
        return self.CONFIG

    def configure(self, configs: Mapping[str, str]) -> None:
        settings: dict[str, Any] = dict(configs)
        for name, key in self.CONFIG.keys.items():
            if isinstance(key.validator, Items) and settings.get(name) is not None:
                settings[name] = list(dict.fromkeys(parse(name, settings[name], Type.LIST)))
        self.setup(self.CONFIG.parse(settings))

    def setup(self, settings: Mapping[str, Any]) -> None:
        """Compile what the settings say."""


class OnPart(BuiltIn):
    """
    A transform of one part of the record, the key or the value; its two variants say which.

    Its `apply_batch` is made of a method `column`, if it has one, of this part's column and the batch.
    """

    part = ""

    def apply(self, record: Any) -> Any:
        raise NotImplementedError

    def schema_of(self, record: Any) -> Schema | None:
        raise NotImplementedError

    def value_of(self, record: Any) -> Any:
        raise NotImplementedError

    def changed(self, record: Any, schema: Schema | None, value: Any) -> Any:
        raise NotImplementedError


class OnKey(OnPart):
    part = "key"

    def schema_of(self, record: Any) -> Schema | None:
        schema: Schema | None = record.key_schema
        return schema

    def value_of(self, record: Any) -> Any:
        return record.key

    def changed(self, record: Any, schema: Schema | None, value: Any) -> Any:
        if not self.owns_records:
            return record.new_record(key_schema=schema, key=value)
        record.key_schema, record.key = schema, value
        return record


class OnValue(OnPart):
    part = "value"

    def schema_of(self, record: Any) -> Schema | None:
        schema: Schema | None = record.value_schema
        return schema

    def value_of(self, record: Any) -> Any:
        return record.value

    def changed(self, record: Any, schema: Schema | None, value: Any) -> Any:
        if not self.owns_records:
            return record.new_record(value_schema=schema, value=value)
        record.value_schema, record.value = schema, value
        return record


def variants(of: type[P]) -> tuple[type[P], type[P]]:
    """The classes of a transform for the key and for the value, under the names that entry points have for them."""
    shared: dict[str, Any] = {"__module__": of.__module__, "__doc__": of.__doc__}
    if hasattr(of, "column"):
        shared["apply_batch"] = _on_part
    on_key, on_value = dict(shared), dict(shared)
    return type(f"{of.__name__}Key", (OnKey, of), on_key), type(f"{of.__name__}Value", (OnValue, of), on_value)


def _on_part(transform: Any, batch: Any) -> Any:
    column = transform.column(getattr(batch, transform.part), batch)
    return batch.replace(**{transform.part: column})


class PerSchema(Generic[T]):
    """A cache of what `make` returns for a schema; a few schemas are kept."""

    LIMIT = 64

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._made: Kept[Schema, T] = Kept(self.LIMIT)

    def __call__(self, schema: Schema) -> T:
        entry = self._made.get(schema)
        if entry is None:
            entry = self._make(schema)
            self._made.put(schema, entry, weight_of(schema))
        return entry


_TYPES: Mapping[str, SchemaType] = {
    "java.lang.Byte": SchemaType.INT8,
    "java.lang.Short": SchemaType.INT16,
    "java.lang.Integer": SchemaType.INT32,
    "java.lang.Long": SchemaType.INT64,
    "java.lang.Float": SchemaType.FLOAT32,
    "java.lang.Double": SchemaType.FLOAT64,
    "java.lang.Boolean": SchemaType.BOOLEAN,
    "java.lang.String": SchemaType.STRING,
    "[B": SchemaType.BYTES,
    "java.nio.HeapByteBuffer": SchemaType.BYTES,
    "java.util.ArrayList": SchemaType.ARRAY,
    "java.util.HashMap": SchemaType.MAP,
    "org.apache.kafka.connect.data.Struct": SchemaType.STRUCT,
}


def type_of(value: Any, transform: str) -> SchemaType:
    """The type of a value without a schema. DataError if it is none of Connect's, which decimals and dates are not."""
    kind = _TYPES.get(java_class(value))
    if kind is None:
        raise DataError(
            f"{transform} transformation was passed a value of type class {java_class(value)} which is not supported by "
            "Connect's data API"
        )
    return kind


def require_map(value: Any, purpose: str) -> dict[Any, Any]:
    if isinstance(value, dict):
        return value
    class_name = "null" if value is None else java_class(value)
    raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {class_name}")


def require_struct(value: Any, purpose: str, schema: Schema | None = None) -> Struct:
    if isinstance(value, Struct):
        return value
    class_name = "null" if value is None else java_class(value) if schema is None else java_class(value, schema)
    raise DataError(f"Only Struct objects supported for [{purpose}], found: {class_name}")


def reader(replace_null: bool) -> Callable[[Struct, str], Any]:
    """Return the function that reads a field of a struct: with its schema's default for null, or as it is (KIP-1040)."""
    return Struct.get if replace_null else Struct.__getitem__


def values_of(value: Struct, replace_null: bool) -> Sequence[Any]:
    """All values of a struct in the order of its fields, by the same rule."""
    items = value.values
    defaults = value.schema.defaults
    if defaults and replace_null and None in items:
        filled = list(items)
        for index, default in defaults:
            if filled[index] is None:
                filled[index] = default
        return filled
    return items


def check_nulls(schema: Schema, values: Sequence[Any]) -> None:
    """DataError for the first null that its field does not take. There may be fewer values than fields."""
    if None in values:
        for index in schema.required:
            if index < len(values) and values[index] is None:
                field = schema.fields[index]
                validate(field.schema, None, field.name)


def check_columns(schema: Schema, columns: Sequence[Sequence[Any]], replace_null: bool) -> None:
    """Unusual if `values_of` or `check_nulls` had anything to do for one of the structs whose fields' values these are."""
    indexes = {*schema.required, *(index for index, _ in schema.defaults if replace_null)}
    if any(None in columns[index] for index in indexes):
        raise Unusual


def struct_of(schema: Schema, values: list[Any]) -> Struct:
    """
    A struct of values that are known to fit their fields, but for null.

    Much quicker than a struct that checks all its values again, record by record.
    """
    check_nulls(schema, values)
    return Struct.unchecked(schema, values)


def struct_schema(fields: Sequence[tuple[str, Schema]], **other: Any) -> Schema:
    """A struct's schema. DataError for the first name that is empty or there already."""
    names: set[str] = set()
    for name, _ in fields:
        if not name:
            raise DataError("fieldName cannot be null.")
        if name in names:
            raise DataError(f"Cannot create field because of field name duplication {name}")
        names.add(name)
    return Schema(SchemaType.STRUCT, fields=fields, **other)


def basics(schema: Schema) -> dict[str, Any]:
    """Return what a changed struct's schema keeps of the one before. Whether it was optional is not among it."""
    return {"name": schema.name, "version": schema.version, "doc": schema.doc, "parameters": schema.parameters}


def replace_null_key() -> ConfigKey:
    return ConfigKey(
        REPLACE_NULL,
        Type.BOOLEAN,
        True,
        Importance.MEDIUM,
        "Whether a null in a field that has a default is read as that default.",
    )


@dataclass(frozen=True)
class Items:
    """
    Validator of a list of names: none is empty, and there is one unless `allow_empty`.

    Validation finds fault with a name that comes twice; a transform that is configured so takes it once (KIP-1161).
    """

    allow_empty: bool = False

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(f"Configuration '{name}' values must not be null.")
        if not value and not self.allow_empty:
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: any non-empty value")
        if len(set(value)) < len(value):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
        if "" in value:
            raise ConfigError(f"Configuration '{name}' values must not be empty.")

    def __str__(self) -> str:
        return ""


def split_pair(text: str) -> list[str]:
    """The parts between colons, as Java splits: empty ones at the end don't count."""
    parts = text.split(":")
    while parts and not parts[-1]:
        parts.pop()
    return parts if text else [text]


def hash_order(names: Iterable[str]) -> list[str]:
    """
    Names in the order of Java's HashMap, in which Connect goes through its settings.

    It is what decides where the last of two settings counts, and which of several errors is the one that is told.
    """
    once = list(dict.fromkeys(names))
    capacity = 16
    while len(once) * 4 > capacity * 3:
        capacity *= 2
    return sorted(once, key=lambda name: _spread_hash(name) & (capacity - 1))


def _spread_hash(text: str) -> int:
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code ^ code >> 16
