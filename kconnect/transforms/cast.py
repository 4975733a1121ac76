"""The transform Cast: fields, or a whole key or value, to another primitive type. Read next: `numerals.py`, `common.py`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConfigKey, DataError, Importance, Schema, SchemaType, Struct, Type
from kconnect.data import values
from kconnect.data.column import Column, Unusual
from kconnect.data.schema import Float32, Int8, Int16, Int32
from kconnect.data.text import float64_text, whole_texts
from kconnect.transforms import common, numerals

PURPOSE = "cast types"

TARGETS = (
    SchemaType.INT8,
    SchemaType.INT16,
    SchemaType.INT32,
    SchemaType.INT64,
    SchemaType.FLOAT32,
    SchemaType.FLOAT64,
    SchemaType.BOOLEAN,
    SchemaType.STRING,
)
SOURCES = (*TARGETS, SchemaType.BYTES)
_ENUM = "org.apache.kafka.connect.data.Schema.Type"
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}

_WIDE: Mapping[SchemaType, type] = {
    SchemaType.INT8: Int8,
    SchemaType.INT16: Int16,
    SchemaType.INT32: Int32,
    SchemaType.FLOAT32: Float32,
}
"""What a number is marked with where no schema tells its width."""

Casts = tuple[Mapping[str, SchemaType], "SchemaType | None"]


def casts(pairs: Sequence[str]) -> Casts:
    """Types by the names of fields, and the one for the whole; there is the one or the other. ConfigError."""
    fields: dict[str, SchemaType] = {}
    whole: SchemaType | None = None
    for pair in pairs:
        parts = common.split_pair(pair)
        if not parts or len(parts) > 2:
            raise ConfigError("renames", list(pairs), f"Invalid rename mapping: {pair}")
        if len(parts) == 1:
            whole = _target(parts[0])
        else:
            fields[parts[0].strip()] = _target(parts[1])
    if whole is not None and len(pairs) > 1:
        raise ConfigError(
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in their spec"
        )
    return {name: fields[name] for name in common.hash_order(fields)}, whole


def _target(text: str) -> SchemaType:
    name = text.strip().upper()
    if name not in SchemaType.__members__:
        raise ConfigError(
            f"Invalid value java.lang.IllegalArgumentException: No enum constant {_ENUM}.{name} for configuration "
            f"Invalid type found in casting spec: {text.strip()}"
        )
    target = SchemaType[name]
    if target not in TARGETS:
        raise ConfigError(f"Cast transformation does not support casting to {name}; supported types are [{_names(TARGETS)}]")
    return target


def _names(types: Sequence[SchemaType]) -> str:
    return ", ".join(kind.value for kind in types)


def spec(name: str, value: Any) -> None:
    """Validator of `spec`."""
    if not value:
        raise ConfigError("Must specify at least one field to cast.")
    casts(value)


class Cast(common.OnPart):
    CONFIG = ConfigDef(
        ConfigKey(
            "spec",
            Type.LIST,
            importance=Importance.HIGH,
            doc=f"Pairs field:type, or one type for the whole key or value. Types: {_names(TARGETS).lower()}.",
            validator=spec,
        ),
        common.replace_null_key(),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._fields, self._whole = casts(settings["spec"])
        self._replace_null = settings[common.REPLACE_NULL]
        self._changed_schema = common.PerSchema(self._make_schema)

    def apply(self, record: Any) -> Any:
        value = self.value_of(record)
        if value is None:
            return record
        schema = self.schema_of(record)
        if schema is None:
            if self._whole is not None:
                return self.changed(record, None, _free(value, self._whole))
            free = dict(common.require_map(value, PURPOSE))
            for name, target in self._fields.items():
                # A field that is not there is one that is null, afterwards.
                free[name] = _free(free.get(name), target)
            return self.changed(record, None, free)
        after, places = self._changed_schema(schema)
        if self._whole is not None:
            return self.changed(record, after, cast(value, schema, self._whole))
        value = common.require_struct(value, PURPOSE, schema)
        inside = list(common.values_of(value, self._replace_null))
        for index, inner, target in places:
            try:
                inside[index] = cast(inside[index], inner, target)
            except DataError:
                # The first field that is wrong is the one to tell of.
                common.check_nulls(after, inside[:index])
                raise
        common.check_nulls(after, inside)
        return self.changed(record, after, Struct.unchecked(after, inside))

    def column(self, column: Column, batch: Any) -> Column:
        if self._whole is not None:
            raise Unusual
        names, columns = column.fields()
        after: Schema | None = None
        if column.schema is None:
            if not self._fields.keys() <= set(names):
                raise Unusual
            targets: Any = [(names.index(name), None, target) for name, target in self._fields.items()]
        else:
            common.check_columns(column.schema, columns, self._replace_null)
            after, targets = self._changed_schema(column.schema)
        converted = list(columns)
        for index, *how in targets:
            converted[index] = self._cast_all(columns[index], *how)
            if after is not None and after.fields[index].schema.optional is False and None in converted[index]:
                raise Unusual
        return Column.by_field(after, names, converted, len(column))

    @staticmethod
    def _cast_all(values: Sequence[Any], schema: Schema | None, target: SchemaType) -> list[Any]:
        kinds = set(map(type, values))
        if target is SchemaType.STRING and (schema is None or schema.name is None):
            if kinds == {str}:
                return list(values)
            if kinds == {int} and _is_plain(min(values)) and _is_plain(max(values)):
                return whole_texts(values)
            if kinds == {float} and (schema is None or schema.type is SchemaType.FLOAT64):
                return list(map(float64_text, values))
        if kinds == {int} and target in _BITS and (schema is not None or target is SchemaType.INT64):
            limit = 1 << _BITS[target] - 1
            if -limit <= min(values) and max(values) < limit:
                return list(values)
        if schema is not None:
            return [cast(value, schema, target) for value in values]
        return [_free(value, target) for value in values]

    def _make_schema(self, schema: Schema) -> tuple[Schema, list[tuple[int, Schema, SchemaType]]]:
        """Return the new schema, and the fields to cast: their places, schemas and types."""
        preset = schema.default
        if self._whole is not None:
            preset = cast(preset, schema, self._whole)
            return Schema(self._whole, optional=schema.optional, default=preset, **common.basics(schema)), []
        if schema.type is not SchemaType.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        fields, places = [], []
        for field in schema.fields:
            target = self._fields.get(field.name)
            inner = field.schema
            if target is not None:
                places.append((field.index, inner, target))
                inner = Schema(target, optional=inner.optional, default=cast(inner.default, inner, target))
            fields.append((field.name, inner))
        return common.struct_schema(fields, optional=schema.optional, default=preset, **common.basics(schema)), places


def _is_plain(value: Any) -> bool:
    """Whether Python's text is Java's, and there is nothing to refuse, as of a number beyond 64 bits."""
    return type(value) is str or (type(value) is int and -(1 << 63) <= value < 1 << 63)


def _free(value: Any, target: SchemaType) -> Any:
    result = cast(value, None, target)
    return _WIDE[target](result) if target in _WIDE and result is not None else result


def cast(value: Any, schema: Schema | None, target: SchemaType) -> Any:
    """Null stays null. DataError if the type has no way to `target`, or the text says nothing of it."""
    if value is None:
        return None
    if target is SchemaType.STRING and _is_plain(value) and (schema is None or schema.name is None):
        return value if type(value) is str else str(value)
    kind = common.type_of(value, "Cast") if schema is None else schema.type
    if kind not in SOURCES:
        raise DataError(
            f"Cast transformation does not support casting from {kind.value}; supported types are [{_names(SOURCES)}]"
        )
    if isinstance(value, datetime.datetime) and target is not SchemaType.STRING:
        value = values.convert_to_long(schema, value)
    try:
        return _CASTS[target](value, schema)
    except numerals.NotANumber:
        raise DataError(f"Value ({values.to_text(value, schema)}) was out of range for requested data type") from None


def _to_integer(bits: int) -> Callable[[Any, Schema | None], int]:
    def to_integer(value: Any, schema: Schema | None) -> int:
        if isinstance(value, str):
            return numerals.integer(value, bits)
        return numerals.narrowed(_number(value), bits)

    return to_integer


def _to_float32(value: Any, schema: Schema | None) -> float:
    return numerals.float32_of(value) if isinstance(value, str) else numerals.nearest_float32(_number(value))


def _to_float64(value: Any, schema: Schema | None) -> float:
    return numerals.float64_of(value) if isinstance(value, str) else float(_number(value))


def _to_boolean(value: Any, schema: Schema | None) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() == "true"
    return numerals.narrowed(_number(value), 64) != 0


def _to_string(value: Any, schema: Schema | None) -> str:
    if isinstance(value, datetime.datetime):
        # In the shortest notation that says all of it.
        return values.convert_to_string(None, value) or ""
    return values.to_text(value, schema)


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise DataError(f"Unexpected type in Cast transformation: class {values.java_class(value)}")
    return value


_CASTS: Mapping[SchemaType, Callable[[Any, Schema | None], Any]] = {
    **{kind: _to_integer(bits) for kind, bits in _BITS.items()},
    SchemaType.FLOAT32: _to_float32,
    SchemaType.FLOAT64: _to_float64,
    SchemaType.BOOLEAN: _to_boolean,
    SchemaType.STRING: _to_string,
}


CastKey, CastValue = common.variants(Cast)
