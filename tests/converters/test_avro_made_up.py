"""AvroConverter with whatever schema and value: what is written is read back."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import string
import struct
from typing import Any

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from kconnect.converters.avro_schema import Dialect, to_avro
from kconnect.converters.avro_types import dumps, parse
from kconnect.data import schema as s
from kconnect.data.schema import Schema, SchemaType, Struct

from .avro_calls import UTC, body, converter

_NAMES = st.text(string.ascii_letters + "_", min_size=1, max_size=6)
_INTS = {SchemaType.INT8: 7, SchemaType.INT16: 15, SchemaType.INT32: 31, SchemaType.INT64: 63}
_NANOS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)


def primitive_values(kind: SchemaType) -> st.SearchStrategy[Any]:
    if kind in _INTS:
        return st.integers(-(1 << _INTS[kind]), (1 << _INTS[kind]) - 1)
    return {
        SchemaType.FLOAT32: st.floats(width=32, allow_nan=False),
        SchemaType.FLOAT64: st.floats(allow_nan=False),
        SchemaType.BOOLEAN: st.booleans(),
        SchemaType.STRING: st.text(max_size=8),
        SchemaType.BYTES: st.binary(max_size=8),
    }[kind]


def values_of(schema: Schema) -> st.SearchStrategy[Any]:
    """Values of a schema, null among them if it may be."""
    if schema.name == s.DECIMAL:
        scale = s.decimal_scale(schema)
        found: st.SearchStrategy[Any] = st.integers(-(10**12), 10**12).map(
            lambda number: decimal.Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
        )
    elif schema.name == s.DATE:
        found = _NANOS.map(lambda moment: moment.replace(hour=0, minute=0, second=0, microsecond=0))
    elif schema.name == s.TIME:
        found = _NANOS.map(lambda moment: moment.replace(year=1970, month=1, day=1))
    elif schema.name == s.TIMESTAMP:
        found = _NANOS
    elif schema.type is SchemaType.ARRAY:
        assert schema.value_schema is not None
        found = st.lists(values_of(schema.value_schema), max_size=3)
    elif schema.type is SchemaType.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        found = st.dictionaries(values_of(schema.key_schema), values_of(schema.value_schema), max_size=3)
    elif schema.type is SchemaType.STRUCT:
        found = st.tuples(*(values_of(field.schema) for field in schema.fields)).map(
            lambda values: Struct.unchecked(schema, list(values))
        )
    else:
        found = primitive_values(schema.type)
    return st.none() | found if schema.optional else found


@st.composite
def primitive_schemas(draw: st.DrawFn) -> Schema:
    kind = draw(st.sampled_from([kind for kind in SchemaType if kind.is_primitive]))
    doc, version = draw(st.none() | st.text(max_size=4)), draw(st.none() | st.integers(1, 5))
    parameters = draw(st.dictionaries(st.sampled_from(["p", "q.r"]), st.text(max_size=3), max_size=2))
    default = draw(st.none() | primitive_values(kind).filter(lambda value: value not in (float("inf"), -float("inf"))))
    name = draw(st.none() | _NAMES)
    return Schema(kind, draw(st.booleans()), default, name, version, doc, parameters)


_LEAVES = primitive_schemas() | st.sampled_from(
    [s.decimal_schema(0), s.decimal_schema(3), s.DATE_SCHEMA, s.TIME_SCHEMA, s.TIMESTAMP_SCHEMA, s.OPTIONAL_STRING_SCHEMA]
)
_KEYS = st.sampled_from([s.STRING_SCHEMA, s.INT8_SCHEMA, s.INT64_SCHEMA, s.OPTIONAL_STRING_SCHEMA, s.BOOLEAN_SCHEMA])


def has_bytes(schema: Schema) -> bool:
    """Return whether each value of a schema takes a byte at least."""
    if schema.type is not SchemaType.STRUCT or schema.optional:
        return True
    return any(has_bytes(field.schema) for field in schema.fields)


@st.composite
def composed_schemas(draw: st.DrawFn, parts: st.SearchStrategy[Schema]) -> Schema:
    optional = draw(st.booleans())
    kind = draw(st.sampled_from([SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT]))
    # A name of its own for each, because Avro has room for one type of a name only.
    name = f"n{draw(st.uuids()).hex}"
    if kind is SchemaType.ARRAY:
        # Of elements without a byte a record could have a billion: such a list is refused.
        return s.array(draw(parts.filter(has_bytes)), optional=optional)
    if kind is SchemaType.MAP:
        return s.mapping(draw(_KEYS), draw(parts), optional=optional, name=f"ns.{name}")
    fields = draw(st.dictionaries(_NAMES, parts, max_size=4))
    return s.struct(fields, optional=optional, name=draw(st.sampled_from([None, name, f"ns.{name}"])))


SCHEMAS = st.recursive(_LEAVES, composed_schemas, max_leaves=8)
_PAIRS = SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), values_of(schema)))
_SHARED = {
    flag: converter(ignore_default_for_nullables="true", enhanced_avro_schema_support=flag) for flag in ("true", "false")
}


@settings(deadline=None)
@given(_PAIRS, st.sampled_from(["true", "false"]))
def test_what_is_written_is_read_back(pair: tuple[Schema, Any], enhanced: str) -> None:
    schema, value = pair
    made = _SHARED[enhanced]
    topic = "t" if schema.version is None else "u"
    data = made.from_connect_data(topic, schema, value)
    if value is None:
        assert data is None
        return
    back = made.to_connect_data("copy", data)
    assert back.schema == schema
    assert back.value == value
    # The bytes are also what the registered schema says, as another reader has it.
    text = made._registry.by_id(struct.unpack(">I", (data or b"")[1:5])[0]).text
    stream = io.BytesIO(body(data))
    fastavro.schemaless_reader(stream, json.loads(_without_logical(text)), None)
    assert not stream.read()


def _without_logical(text: str) -> str:
    # fastavro's own decimals have limits that Connect's haven't.
    return text.replace('"logicalType"', '"other"')


@settings(deadline=None)
@given(SCHEMAS)
def test_a_type_and_its_text_are_one(schema: Schema) -> None:
    text = dumps(to_avro(schema, Dialect()))
    assert dumps(parse(text)) == text
