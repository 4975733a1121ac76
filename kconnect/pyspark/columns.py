"""
The columns of a frame: the union of its records' schemas, as Arrow has them, with those about the records themselves.

Called by `frame.py` on the driver. Pure. A schema is fixed when a query starts: `rows.py` fits each record to it. Read next:
`rows.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from kconnect.connectors import arrow
from kconnect.converters import inference
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType
from kconnect.errors import ConfigError, DataError
from kconnect.pyspark.options import KEEP, Options

VALUE, KEY, TOPIC, PARTITION, OFFSET = "value", "_key", "_topic", "_partition", "_offset"
TIMESTAMP, HEADERS, DELETED, BAD = "_timestamp", "_headers", "_deleted", "_bad"
ABOUT = frozenset((KEY, TOPIC, PARTITION, OFFSET, TIMESTAMP, HEADERS, DELETED, BAD))

KINDS = {pa.time32("ms"): pa.string(), pa.timestamp("ms", "UTC"): pa.timestamp("us", "UTC")}
"""Types that Spark has not, or not in all versions, and what it has in their place. A time of the day is 12:34:56.789."""

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FLOATS = (pa.float32(), pa.float64())
_MOST_FIELDS = 5000
_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
_BAD_RECORD = pa.struct([pa.field("error", pa.string()), pa.field("key", pa.binary()), pa.field("value", pa.binary())])


_KINDS_OF_ABOUT: Mapping[str, tuple[pa.DataType, ...]] = {
    KEY: (pa.binary(),),
    TOPIC: (pa.string(),),
    PARTITION: (pa.int32(), pa.int64()),
    OFFSET: (pa.int64(),),
    TIMESTAMP: (pa.timestamp("us", "UTC"),),
    HEADERS: (pa.list_(_HEADER),),
    DELETED: (pa.bool_(),),
    BAD: (_BAD_RECORD,),
}
_NAMES_OF_ABOUT = {
    KEY: "binary, unless key.converter is given",
    TOPIC: "a string",
    PARTITION: "an int",
    OFFSET: "a long",
    TIMESTAMP: "a timestamp",
    HEADERS: "array<struct<key: string, value: binary>>",
    DELETED: "a boolean",
    BAD: "struct<error: string, key: binary, value: binary>",
}
_ALWAYS_THERE = frozenset((TOPIC, PARTITION, OFFSET, DELETED))


class Seen:
    """
    What is known of the values (or keys) of the records looked at so far. Schemas that are looked at first come first in the
    order of columns.
    """

    def __init__(self) -> None:
        self._kinds: dict[Schema, str] = {}
        # Of all topics: what one of them has as whole numbers and another one with a fraction is a number.
        self._shape = inference.NOTHING
        self._topic = ""

    def look(self, topic: str, schema: Schema | None, value: Any) -> None:
        """Take a value into account. DataError for one without a schema of which none can be inferred."""
        if value is None:
            return
        if schema is not None:
            self._kinds.setdefault(schema, topic)
            return
        grown = inference.grown(self._shape, inference.shape_of(value, _MOST_FIELDS))
        if inference.width(grown) > _MOST_FIELDS:
            raise DataError(f"with it, there would be more than {_MOST_FIELDS} fields")
        self._shape, self._topic = grown, topic

    def look_at_schema(self, topic: str, schema: Schema) -> None:
        """Take a schema into account of which there is no value yet."""
        self._kinds.setdefault(schema, topic)

    def key_type(self) -> pa.DataType | None:
        """Return the type of all values as one column, None if nothing is known of it."""
        columns = self.columns()
        if not columns.names:
            return None
        return columns.field(0).type if columns.names == [VALUE] else pa.struct(list(columns))

    def columns(self) -> pa.Schema:
        """
        Return the fields of all values; one field `value` for values that are no structs. Raise DataError, naming the field, if
        two topics, or two versions of a schema, have types for it that no column has both.
        """
        kinds = list(self._kinds.items())
        inferred = inference.schema_of(self._shape, 1)
        if inferred is not None:
            kinds.append((inferred, self._topic))
        columns: list[pa.Field] = []
        for schema, topic in kinds:
            columns = _union(columns, _columns(schema), topic)
        if _width(pa.struct(columns)) > _MOST_FIELDS:
            raise DataError(
                f"The records have more than {_MOST_FIELDS} fields, those within others counted. If their names are data, give "
                'the schema yourself, as in .schema("id long, _offset long")'
            )
        return pa.schema(columns)


def _width(kind: pa.DataType) -> int:
    return sum(1 + _width(kind.field(at).type) for at in range(kind.num_fields))


def struct_of(schema: Schema) -> Schema:
    """Return the schema of a struct whose only field is a value of this schema."""
    return schemas.struct({VALUE: schema})


def _columns(schema: Schema) -> list[pa.Field]:
    fields = arrow.arrow_schema(schema if schema.type is SchemaType.STRUCT else struct_of(schema))
    return [_sparks(field) for field in fields]


def _sparks(field: pa.Field) -> pa.Field:
    """Return a field as frames have it: all of it may be null, since records may lack it."""
    return pa.field(field.name, _kind(field.type), nullable=True)


def _kind(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_sparks(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_sparks(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_kind(kind.key_type), _sparks(kind.item_field))
    if pa.types.is_decimal(kind) and kind.scale < 0:
        # Spark has none that end before the point.
        return pa.decimal128(kind.precision, 0)
    return KINDS.get(kind, kind)


def _union(columns: Sequence[pa.Field], more: Iterable[pa.Field], topic: str, path: str = "") -> list[pa.Field]:
    by_name = {field.name: field for field in columns}
    for field in more:
        there = by_name.get(field.name)
        kind = field.type if there is None else _wider(there.type, field.type, topic, f"{path}{field.name}")
        by_name[field.name] = pa.field(field.name, kind, nullable=True)
    return list(by_name.values())


def _wider(one: pa.DataType, other: pa.DataType, topic: str, path: str) -> pa.DataType:
    if one == other:
        return one
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=_INTEGERS.index)
    if one in _FLOATS and other in _FLOATS:
        return pa.float64()
    if {one, other} <= {*_INTEGERS[:3], *_FLOATS}:
        # All of these are exact as numbers of 64 bits with a point.
        return pa.float64()
    if pa.types.is_decimal(one) and pa.types.is_decimal(other):
        return pa.decimal128(38, max(one.scale, other.scale))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return pa.struct(_union(list(one), list(other), topic, f"{path}."))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(one.value_field.with_type(_wider(one.value_type, other.value_type, topic, f"{path}[]")))
    if pa.types.is_map(one) and pa.types.is_map(other) and one.key_type == other.key_type:
        return pa.map_(one.key_type, one.item_field.with_type(_wider(one.item_type, other.item_type, topic, f"{path}{{}}")))
    raise DataError(
        f"The column {path} would be both {one} and {other}, which the topic {topic} has. Give the schema yourself, as in "
        f'.schema("{path.partition(".")[0]} string"), or read the topics as frames of their own'
    )


def around(values: pa.Schema, key: pa.DataType | None, options: Options) -> pa.Schema:
    """
    Return a frame's columns: those of the values, and those about the records. `key` is the type of `_key`, None for binary.
    Raise DataError for a field of the records with the name of one of these.
    """
    fields = []
    if options.has_key:
        fields.append(pa.field(KEY, pa.binary() if key is None else key))
    if options.has_topic:
        fields.append(pa.field(TOPIC, pa.string()))
    fields += [
        pa.field(PARTITION, pa.int32()),
        pa.field(OFFSET, pa.int64()),
        pa.field(TIMESTAMP, pa.timestamp("us", "UTC")),
    ]
    if options.has_headers:
        fields.append(pa.field(HEADERS, pa.list_(pa.field("element", _HEADER))))
    fields.append(pa.field(DELETED, pa.bool_()))
    if options.mode == KEEP:
        fields.append(pa.field(BAD, _BAD_RECORD))
    # Spark tells no capitals from small letters, unless it is told to.
    about = {field.name for field in fields}
    twice = sorted(name for name in values.names if name.lower() in about)
    if twice:
        raise DataError(
            f"The records have a field {twice[0]}, and {twice[0].lower()} is a column about the record itself. Give the schema "
            'yourself, without that field, as in .schema("id long, name string, _offset long")'
        )
    return pa.schema([*values, *fields])


def require_usable(given: pa.Schema, has_typed_keys: bool) -> None:
    """
    Raise ConfigError, with the remedy, for a column of a schema that a reader gives that no rows can be made for: one about the
    record that has another type or is spelled otherwise, one that may not be null, or one of a type that no record has.
    """
    for field in given:
        name = field.name.lower()
        kinds = _KINDS_OF_ABOUT.get(name)
        if kinds is not None and field.name != name:
            raise _unusable(field.name, f"the column about the record is {name}, in small letters")
        if kinds is not None and not _is_any(field.type, kinds) and not (name == KEY and has_typed_keys):
            raise _unusable(field.name, f"it is {_NAMES_OF_ABOUT[name]}")
        if not _is_made(field.type):
            raise _unusable(field.name, "records have no values of its type. Use a string, or a struct, an array or a map")
        if name not in _ALWAYS_THERE and not _may_be_null(field):
            raise _unusable(field.name, "records may lack it. Leave out NOT NULL (nullable=False), also within it")


def _unusable(name: str, reason: str) -> ConfigError:
    return ConfigError(f"The schema has a column {name} that can't be read: {reason}")


def _is_any(kind: pa.DataType, kinds: Iterable[pa.DataType]) -> bool:
    return any(_kind(kind) == _kind(other) for other in kinds)


def _may_be_null(field: pa.Field) -> bool:
    kind = field.type
    parts = [kind.item_field] if pa.types.is_map(kind) else [kind.field(at) for at in range(kind.num_fields)]
    return bool(field.nullable) and all(map(_may_be_null, parts))


def _is_made(kind: pa.DataType) -> bool:
    """Whether there are values of a type; Spark's variants and intervals are none."""
    if pa.types.is_nested(kind):
        parts = [kind.field(at) for at in range(kind.num_fields)]
        return all(_is_made(part.type) and b"variant" not in (part.metadata or {}) for part in parts)
    return not (pa.types.is_duration(kind) or pa.types.is_interval(kind) or pa.types.is_null(kind))
