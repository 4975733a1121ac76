"""AvroConverter, over a registry in this process. What it does over HTTP: `test_schema_registry.py`."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import io
import itertools
import json
import string
import struct
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kconnect.api import schema as s
from kconnect.api.errors import ConfigError, DataError
from kconnect.api.schema import Float32, Int8, Int32, Schema, SchemaType, Struct
from kconnect.converters.avro import AvroConverter
from kconnect.converters.avro_schema import Dialect, scrubbed, to_avro
from kconnect.converters.avro_types import dumps, parse
from kconnect.converters.schema_registry import MemoryRegistry, Reference

UTC = datetime.timezone.utc
NS = "io.confluent.connect.avro"
_scopes = itertools.count()


def scope() -> str:
    return f"test-avro-{next(_scopes)}"


def converter(is_key: bool = False, registry: str | None = None, **config: str) -> AvroConverter:
    made = AvroConverter()
    given = {name.replace("_", "."): value for name, value in config.items()}
    made.configure({"schema.registry.url": f"mock://{registry or scope()}", **given}, is_key)
    return made


def avro_of(schema: Schema | None, **dialect: bool) -> Any:
    return json.loads(dumps(to_avro(schema, Dialect(**dialect))))


def body(data: bytes | None) -> bytes:
    assert data is not None
    return data[5:]


# --- schemas ---

DECIMAL = {
    "type": "bytes",
    "scale": 2,
    "precision": 64,
    "connect.version": 1,
    "connect.parameters": {"scale": "2"},
    "connect.name": "org.apache.kafka.connect.data.Decimal",
    "logicalType": "decimal",
}


def logical(avro: str, name: str, word: str) -> dict[str, Any]:
    return {"type": avro, "connect.version": 1, "connect.name": f"org.apache.kafka.connect.data.{name}", "logicalType": word}


def default_of(name: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": NS, "fields": list(fields), **more}


POINT = s.struct({"x": s.INT32_SCHEMA}, name="geo.Point")
POINT_AVRO = {
    "type": "record",
    "name": "Point",
    "namespace": "geo",
    "fields": [{"name": "x", "type": "int"}],
    "connect.name": "geo.Point",
}


@pytest.mark.parametrize(
    ("schema", "avro"),
    [
        (s.BOOLEAN_SCHEMA, "boolean"),
        (s.INT8_SCHEMA, {"type": "int", "connect.type": "int8"}),
        (s.INT16_SCHEMA, {"type": "int", "connect.type": "int16"}),
        (s.INT32_SCHEMA, "int"),
        (s.INT64_SCHEMA, "long"),
        (s.FLOAT32_SCHEMA, "float"),
        (s.FLOAT64_SCHEMA, "double"),
        (s.STRING_SCHEMA, "string"),
        (s.BYTES_SCHEMA, "bytes"),
        (s.OPTIONAL_INT32_SCHEMA, ["null", "int"]),
        (Schema(SchemaType.INT32, optional=True, default=3), [{"type": "int", "connect.default": 3}, "null"]),
        (
            Schema(SchemaType.STRING, name="n", version=2, doc="d", parameters={"p": "q"}, default="x"),
            {
                "type": "string",
                "connect.doc": "d",
                "connect.version": 2,
                "connect.parameters": {"p": "q"},
                "connect.default": "x",
                "connect.name": "n",
            },
        ),
        (Schema(SchemaType.STRING, parameters={"avro.java.string": "String"}),
         {"type": "string", "connect.parameters": {"avro.java.string": "String"}, "avro.java.string": "String"}),
        (s.decimal_schema(2), DECIMAL),
        (
            Schema(
                SchemaType.BYTES, name=s.DECIMAL, version=1, parameters={"scale": "2", "connect.decimal.precision": "9"}
            ),
            {**DECIMAL, "precision": 9, "connect.parameters": {"scale": "2", "connect.decimal.precision": "9"}},
        ),
        (s.DATE_SCHEMA, logical("int", "Date", "date")),
        (s.TIME_SCHEMA, logical("int", "Time", "time-millis")),
        (s.TIMESTAMP_SCHEMA, logical("long", "Timestamp", "timestamp-millis")),
        (s.array(s.STRING_SCHEMA), {"type": "array", "items": "string"}),
        (s.mapping(s.STRING_SCHEMA, s.OPTIONAL_INT64_SCHEMA), {"type": "map", "values": ["null", "long"]}),
        (
            s.mapping(s.INT32_SCHEMA, s.STRING_SCHEMA),
            {
                "type": "array",
                "items": default_of("MapEntry", {"name": "key", "type": "int"}, {"name": "value", "type": "string"}),
            },
        ),
        (
            s.mapping(s.OPTIONAL_STRING_SCHEMA, s.STRING_SCHEMA, name="a.M"),
            {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "M",
                    "namespace": "a",
                    "fields": [
                        {"name": "key", "type": ["null", "string"], "default": None},
                        {"name": "value", "type": "string"},
                    ],
                    "connect.internal.type": "MapEntry",
                },
                "connect.name": "a.M",
            },
        ),
        (POINT, POINT_AVRO),
        (POINT.optional_copy(), ["null", POINT_AVRO]),
        (
            s.struct({"a": s.struct({"x": s.INT32_SCHEMA}), "b": s.struct({"y": s.INT32_SCHEMA})}),
            default_of(
                "ConnectDefault",
                {
                    "name": "a",
                    "type": {"type": "record", "name": "ConnectDefault2", "fields": [{"name": "x", "type": "int"}]},
                },
                {
                    "name": "b",
                    "type": {"type": "record", "name": "ConnectDefault3", "fields": [{"name": "y", "type": "int"}]},
                },
            ),
        ),
        (
            # A named type is spelled out once, and named in the namespace that it is in.
            s.struct({"before": POINT.optional_copy(), "after": POINT.optional_copy()}, name="geo.Envelope"),
            {
                "type": "record",
                "name": "Envelope",
                "namespace": "geo",
                "fields": [
                    {
                        "name": "before",
                        "type": ["null", {k: v for k, v in POINT_AVRO.items() if k != "namespace"}],
                        "default": None,
                    },
                    {"name": "after", "type": ["null", "Point"], "default": None},
                ],
                "connect.name": "geo.Envelope",
            },
        ),
        (
            s.struct(
                {
                    "s": Schema(SchemaType.INT16, default=0),
                    "o": Schema(SchemaType.STRING, optional=True, default="d"),
                    "d": Schema(
                        SchemaType.BYTES,
                        name=s.DECIMAL,
                        version=1,
                        parameters={"scale": "0"},
                        default=decimal.Decimal(255),
                    ),
                    "l": Schema(SchemaType.ARRAY, value_schema=s.INT32_SCHEMA, default=[1, 2]),
                    "m": Schema(
                        SchemaType.MAP, key_schema=s.INT32_SCHEMA, value_schema=s.STRING_SCHEMA, default={1: "a"}
                    ),
                },
                name="R",
            ),
            {
                "type": "record",
                "name": "R",
                "fields": [
                    {"name": "s", "type": {"type": "int", "connect.default": 0, "connect.type": "int16"}, "default": 0},
                    {"name": "o", "type": [{"type": "string", "connect.default": "d"}, "null"], "default": "d"},
                    {
                        "name": "d",
                        "type": {
                            **DECIMAL,
                            "scale": 0,
                            "connect.parameters": {"scale": "0"},
                            "connect.default": "\x00\xff",
                        },
                        "default": "\x00\xff",
                    },
                    {
                        "name": "l",
                        "type": {"type": "array", "items": "int", "connect.default": [1, 2]},
                        "default": [1, 2],
                    },
                    {
                        # Pairs are no default that Avro takes for an array of records, and so there is none.
                        "name": "m",
                        "type": {
                            "type": "array",
                            "items": {
                                "type": "record",
                                "name": "MapEntry",
                                "namespace": NS,
                                "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
                            },
                            "connect.default": [[1, "a"]],
                        },
                    },
                ],
                "connect.name": "R",
            },
        ),
    ],
)
def test_schemas_as_avro(schema: Schema, avro: Any) -> None:
    assert avro_of(schema) == avro
    # Others must be able to read it, too.
    fastavro.parse_schema(avro_of(schema))


def test_attributes_come_in_the_order_that_java_writes_them_in() -> None:
    text = dumps(to_avro(s.decimal_schema(2), Dialect()))
    assert text == (
        '{"type":"bytes","scale":2,"precision":64,"connect.version":1,"connect.parameters":{"scale":"2"},'
        '"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}'
    )
    assert dumps(to_avro(POINT, Dialect())) == (
        '{"type":"record","name":"Point","namespace":"geo","fields":[{"name":"x","type":"int"}],"connect.name":"geo.Point"}'
    )


def test_without_meta_data_only_what_avro_knows_is_said() -> None:
    schema = s.struct({"a": Schema(SchemaType.INT8, default=1), "d": s.DATE_SCHEMA}, name="R", version=3, doc="d")
    assert avro_of(schema, connect_meta_data=False) == {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": "int", "default": 1},
            {"name": "d", "type": {"type": "int", "logicalType": "date"}},
        ],
    }


def test_data_without_schema_has_the_type_anything() -> None:
    avro = avro_of(None)
    assert (avro["name"], avro["namespace"]) == ("Anything", NS)
    assert [(field["name"], field["type"], field["default"]) for field in avro["fields"][:7]] == [
        (name, ["null", name], None) for name in ("boolean", "bytes", "double", "float", "int", "long", "string")
    ]
    assert avro["fields"][7] == {"name": "array", "type": ["null", {"type": "array", "items": "Anything"}], "default": None}
    entry = avro["fields"][8]["type"][1]["items"]
    assert (entry["name"], [field["type"] for field in entry["fields"]]) == ("MapEntry", ["Anything", "Anything"])


def test_two_types_of_one_name_are_refused() -> None:
    twice = s.struct({"a": POINT, "b": s.struct({"y": s.INT32_SCHEMA}, name="geo.Point")}, name="R")
    with pytest.raises(DataError, match=r"Can't redefine: geo\.Point"):
        converter().from_connect_data("t", twice, None)


@pytest.mark.parametrize(
    ("name", "clean"),
    [("a-b", "a_b"), ("a b", "a_b"), ("1a", "x1a"), ("é", "_C3_A9"), ("a.b", "a_b"), ("ok_1", "ok_1"), ("", "")],
)
def test_scrubbed_names(name: str, clean: str) -> None:
    assert scrubbed(name) == clean


def test_names_that_avro_does_not_take_are_refused_or_replaced() -> None:
    schema = s.struct({"a-b": s.INT32_SCHEMA}, name="my-app.1")
    with pytest.raises(DataError, match=r"Illegal character in: a-b.*scrub\.invalid\.names=true"):
        converter().from_connect_data("t", s.struct({"a-b": s.INT32_SCHEMA}), None)
    made = converter(scrub_invalid_names="true")
    back = made.to_connect_data("t", made.from_connect_data("t", schema, Struct(schema, {"a-b": 5})))
    assert back.schema is not None
    assert (back.schema.name, back.value["a_b"]) == ("my-app.1", 5)


# --- schemas, the other way ---


def connect_of(avro: Any, **config: str) -> Schema | None:
    """What the converter makes of an Avro type that someone has registered."""
    registry = scope()
    made = converter(registry=registry, **config)
    id = MemoryRegistry.of(registry).register("other", json.dumps(avro))
    # The subject is another one, so that the version does not come in.
    reading = made._new_reading("t", id)
    return reading.schema


ENUM = {"type": "enum", "name": "a.Suit", "symbols": ["S", "H"], "doc": "of cards", "default": "S"}


@pytest.mark.parametrize(
    ("avro", "schema"),
    [
        ("int", s.INT32_SCHEMA),
        (
            {"type": "string", "avro.java.string": "String"},
            Schema(SchemaType.STRING, parameters={"avro.java.string": "String"}),
        ),
        (["null", "string"], s.OPTIONAL_STRING_SCHEMA),
        (["string", "null"], s.OPTIONAL_STRING_SCHEMA),
        (["string"], s.STRING_SCHEMA),
        (
            ["null", "int", "string"],
            s.struct({"int": s.OPTIONAL_INT32_SCHEMA, "string": s.OPTIONAL_STRING_SCHEMA}, name=f"{NS}.Union", optional=True),
        ),
        ({"type": "int", "logicalType": "date"}, s.DATE_SCHEMA),
        ({"type": "int", "logicalType": "time-millis"}, s.TIME_SCHEMA),
        ({"type": "long", "logicalType": "timestamp-millis"}, s.TIMESTAMP_SCHEMA),
        # Connect's timestamps have milliseconds; Confluent's converter leaves finer ones as they are.
        ({"type": "long", "logicalType": "timestamp-micros"}, s.INT64_SCHEMA),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            Schema(SchemaType.BYTES, name=s.DECIMAL, version=1, parameters={"scale": "2", "connect.decimal.precision": "9"}),
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64}, s.decimal_schema(0)),
        (
            {"type": "fixed", "name": "a.F", "size": 4},
            Schema(SchemaType.BYTES, name="a.F", parameters={"connect.fixed.size": "4"}),
        ),
        (
            ENUM,
            Schema(
                SchemaType.STRING,
                name="a.Suit",
                parameters={
                    f"{NS}.enum.doc.Suit": "of cards",
                    f"{NS}.enum.default.Suit": "S",
                    f"{NS}.Enum": "a.Suit",
                    f"{NS}.Enum.S": "S",
                    f"{NS}.Enum.H": "H",
                },
            ),
        ),
        (
            {
                "type": "record",
                "name": "a.R",
                "doc": "of R",
                "fields": [
                    {"name": "x", "type": "int", "default": 5, "doc": "of x"},
                    {"name": "y", "type": ["null", "long"], "default": None},
                ],
            },
            s.struct(
                {
                    "x": Schema(SchemaType.INT32, default=5, parameters={f"{NS}.field.default": "true"}),
                    "y": s.OPTIONAL_INT64_SCHEMA,
                },
                name="a.R",
                parameters={f"{NS}.record.doc": "of R", f"{NS}.field.doc.x": "of x"},
            ),
        ),
    ],
)
def test_avro_as_schemas(avro: Any, schema: Schema) -> None:
    assert connect_of(avro) == schema


def test_only_docs_and_defaults_of_fields_with_discard() -> None:
    avro = {"type": "record", "name": "R", "doc": "r", "fields": [{"name": "x", "type": "int", "default": 5, "doc": "of x"}]}
    found = connect_of(avro, discard_type_doc_default="true")
    assert found == s.struct(
        {"x": Schema(SchemaType.INT32, default=5, doc="of x")}, name="R", doc="r", parameters={"connect.record.doc": "r"}
    )
    assert avro_of(found, discard_type_doc_default=True)["fields"] == [
        {"name": "x", "type": {"type": "int", "connect.doc": "of x", "connect.default": 5}, "doc": "of x", "default": 5}
    ]


def test_docs_and_defaults_of_fields_go_back_where_they_came_from() -> None:
    avro = {
        "type": "record",
        "name": "R",
        "doc": "of R",
        "fields": [{"name": "x", "type": "int", "doc": "of x", "default": 5}, {"name": "y", "type": "long"}],
    }
    back = avro_of(connect_of(avro))
    assert back["doc"] == "of R"
    assert back["fields"] == avro["fields"]


def test_a_default_that_does_not_fit_is_left_out() -> None:
    avro = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int", "default": "five"}]}
    found = connect_of(avro)
    assert found is not None
    assert found.fields[0].schema.default is None


@pytest.mark.parametrize(
    ("avro", "message"),
    [
        ("null", "Standalone null schemas are not supported"),
        (
            {"type": "record", "name": "Tree", "fields": [{"name": "next", "type": ["null", "Tree"]}]},
            "The Avro record Tree contains itself",
        ),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "Unknown"}]}, '"Unknown" is not a defined name'),
        ({"type": "int", "connect.type": "int128"}, "must be int8 or int16"),
        (
            [{"type": "enum", "name": "a.E", "symbols": ["A"]}, {"type": "enum", "name": "b.E", "symbols": ["A"]}],
            "Multiple union schemas map to the Connect union field name E",
        ),
        ({"type": "int", "connect.version": "x"}, "Invalid Connect version found: x"),
        ({"type": "int", "logicalType": "date", "connect.version": 2}, "Mismatched versions"),
        ({"type": "int", "logicalType": "date", "connect.name": "other"}, "Mismatched names"),
        ({"type": "record", "name": "R"}, "record R is not complete"),
        ({"items": "int"}, "no type in"),
    ],
)
def test_avro_that_has_no_schema(avro: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        connect_of(avro)


# --- bytes ---


def test_bytes_on_the_wire() -> None:
    registry = scope()
    MemoryRegistry.of(registry).register("other", '"long"')
    made = converter(registry=registry)
    schema = s.struct({"n": s.INT32_SCHEMA, "t": s.OPTIONAL_STRING_SCHEMA, "u": s.OPTIONAL_STRING_SCHEMA}, name="R")
    data = made.from_connect_data("t", schema, Struct(schema, {"n": -2, "t": "ab"}))
    assert data == b"\x00" + b"\x00\x00\x00\x02" + b"\x03" + b"\x02\x04ab" + b"\x00"


def test_values_that_are_no_records() -> None:
    made = converter()
    assert body(made.from_connect_data("t", s.STRING_SCHEMA, "é")) == b"\x04\xc3\xa9"
    assert body(made.from_connect_data("t", s.decimal_schema(2), decimal.Decimal("1.28"))) == b"\x04\x00\x80"
    assert body(made.from_connect_data("t", s.FLOAT32_SCHEMA, 1.5)) == struct.pack("<f", 1.5)


def test_null_is_a_tombstone() -> None:
    made = converter()
    assert made.from_connect_data("t", None, None) is None
    assert made.from_connect_data("t", s.OPTIONAL_STRING_SCHEMA, None) is None
    assert made.to_connect_data("t", None) == (None, None)


@pytest.mark.parametrize(
    "value",
    [True, 1, 2**62, Int32(7), 2.5, Float32(1.5), "a", b"\x00", [], [1, None, ["a"]], {"a": {"b": [1.5]}}, {1: "a", "b": 2}],
)
def test_data_without_schema(value: Any) -> None:
    made = converter()
    back = made.to_connect_data("t", made.from_connect_data("t", None, value))
    assert back == (None, value)
    assert type(back.value) is type(value)


def test_small_integers_without_schema_are_ints() -> None:
    made = converter()
    assert type(made.to_connect_data("t", made.from_connect_data("t", None, Int8(3))).value) is Int32


def test_a_null_becomes_its_field_s_default_unless_told_otherwise() -> None:
    schema = s.struct({"x": Schema(SchemaType.INT32, optional=True, default=7)})
    for ignore, value in (("false", 7), ("true", None)):
        made = converter(ignore_default_for_nullables=ignore)
        assert made.to_connect_data("t", made.from_connect_data("t", schema, Struct(schema))).value["x"] == value


def test_the_version_in_the_registry_is_that_of_a_schema_without_one() -> None:
    made = converter()
    first = made.from_connect_data("t", s.INT32_SCHEMA, 1)
    second = made.from_connect_data("t", s.INT64_SCHEMA, 1)
    assert made.to_connect_data("t", first).schema == s.INT32_SCHEMA.replace(version=1)
    assert made.to_connect_data("t", second).schema == s.INT64_SCHEMA.replace(version=2)
    own = s.struct({"x": s.INT32_SCHEMA}, name="R", version=9)
    assert made.to_connect_data("t", made.from_connect_data("t", own, Struct(own, {"x": 1}))).schema == own


def test_a_schema_of_another_subject_has_no_version() -> None:
    made = converter()
    data = made.from_connect_data("t", s.INT32_SCHEMA, 1)
    assert made.to_connect_data("copy-of-t", data) == (s.INT32_SCHEMA, 1)


# --- whatever schema ---

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


@st.composite
def composed_schemas(draw: st.DrawFn, parts: st.SearchStrategy[Schema]) -> Schema:
    optional = draw(st.booleans())
    kind = draw(st.sampled_from([SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT]))
    # A name of its own for each, because Avro has room for one type of a name only.
    name = f"n{draw(st.uuids()).hex}"
    if kind is SchemaType.ARRAY:
        return s.array(draw(parts), optional=optional)
    if kind is SchemaType.MAP:
        return s.mapping(draw(_KEYS), draw(parts), optional=optional, name=f"ns.{name}")
    fields = draw(st.dictionaries(_NAMES, parts, max_size=4))
    return s.struct(fields, optional=optional, name=draw(st.sampled_from([None, name, f"ns.{name}"])))


_SCHEMAS = st.recursive(_LEAVES, composed_schemas, max_leaves=8)
_PAIRS = _SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), values_of(schema)))
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
@given(_SCHEMAS)
def test_a_type_and_its_text_are_one(schema: Schema) -> None:
    text = dumps(to_avro(schema, Dialect()))
    assert dumps(parse(text)) == text


# --- enums, fixed and unions ---


def through(avro: Any, plain: Any, **config: str) -> tuple[Schema | None, Any, bytes, Any]:
    """What others have written, as Connect has it; and what is written of that again."""
    registry = scope()
    made = converter(registry=registry, **config)
    id = MemoryRegistry.of(registry).register("other", json.dumps(avro))
    out = io.BytesIO(struct.pack(">bI", 0, id))
    out.seek(5)
    fastavro.schemaless_writer(out, avro, plain)
    schema, value = made.to_connect_data("t", out.getvalue())
    data = made.from_connect_data("t", schema, value)
    assert data is not None
    text = MemoryRegistry.of(registry).by_id(struct.unpack(">I", data[1:5])[0]).text
    return schema, value, out.getvalue()[5:] == data[5:], json.loads(text)


def test_enums_are_texts_and_stay_enums_only_if_so_set() -> None:
    _, value, same, text = through(ENUM, "H")
    assert (value, same, text["type"]) == ("H", False, "string")
    _, value, same, text = through(ENUM, "H", enhanced_avro_schema_support="true")
    assert (value, same) == ("H", True)
    assert {key: text[key] for key in ("type", "name", "namespace", "symbols", "doc", "default")} == {
        "type": "enum",
        "name": "Suit",
        "namespace": "a",
        "symbols": ["S", "H"],
        "doc": "of cards",
        "default": "S",
    }


def test_a_text_that_is_no_symbol_is_refused() -> None:
    schema = connect_of(ENUM)
    with pytest.raises(DataError, match=r"Not a symbol of the enum a\.Suit; its symbols are S, H"):
        converter(enhanced_avro_schema_support="true").from_connect_data("t", schema, "X")


def test_generalized_enums() -> None:
    schema, _, same, text = through(ENUM, "H", generalized_sum_type_support="true")
    assert schema is not None
    assert schema.parameters["org.apache.kafka.connect.data.Enum.H"] == "1"
    assert (same, text["type"]) == (True, "enum")


def test_fixed_bytes() -> None:
    schema, value, same, text = through({"type": "fixed", "name": "a.F", "size": 3}, b"abc")
    assert (value, same, text["size"]) == (b"abc", True, 3)
    with pytest.raises(DataError, match="An Avro fixed of 3 bytes can't be of 2"):
        converter().from_connect_data("t", schema, b"ab")


def test_decimals_of_fixed_size() -> None:
    avro = {"type": "fixed", "name": "D", "size": 8, "logicalType": "decimal", "precision": 10, "scale": 2}
    _, value, same, _ = through(avro, decimal.Decimal("-1.50"))
    assert (value, same) == (decimal.Decimal("-1.50"), True)


UNION: Any = [
    "null",
    "int",
    "long",
    "string",
    "bytes",
    {"type": "record", "name": "a.R", "fields": [{"name": "x", "type": "int"}]},
    {"type": "record", "name": "a.S", "fields": [{"name": "x", "type": "int"}]},
    {"type": "array", "items": "int"},
    {"type": "map", "values": ["null", "int", "float"]},
]


@pytest.mark.parametrize(
    ("plain", "field"),
    [
        (("int", 5), "int"),
        (("long", 5), "long"),
        ("a", "string"),
        (b"a", "bytes"),
        (("a.R", {"x": 1}), "R"),
        (("a.S", {"x": 1}), "S"),
        ([1], "array"),
        ({"a": None, "b": ("float", 1.0)}, "map"),
    ],
)
@pytest.mark.parametrize("mode", ["plain", "enhanced", "generalized"])
def test_unions_are_structs_with_one_field_set(plain: Any, field: str, mode: str) -> None:
    config = {
        "plain": {},
        "enhanced": {"enhanced_avro_schema_support": "true"},
        "generalized": {"generalized_sum_type_support": "true"},
    }[mode]
    record = {"type": "record", "name": "Top", "fields": [{"name": "u", "type": UNION}]}
    schema, value, same, text = through(record, {"u": plain}, **config)
    assert schema is not None
    union = value["u"]
    assert [each.name for each, item in union.items() if item is not None] == {
        "plain": [field],
        "enhanced": [f"a.{field}" if field in "RS" else field],
        "generalized": [
            f"connect_union_field_{['null', 'int', 'long', 'string', 'bytes', 'R', 'S', 'array', 'map'].index(field)}"
        ],
    }[mode]
    assert same
    assert [branch if isinstance(branch, str) else branch["type"] for branch in text["fields"][0]["type"]] == [
        branch if isinstance(branch, str) else branch["type"] for branch in UNION
    ]


def test_a_union_that_is_null() -> None:
    record = {"type": "record", "name": "Top", "fields": [{"name": "u", "type": UNION}]}
    _, value, same, _ = through(record, {"u": None})
    assert (value["u"], same) == (None, True)


# --- what can't be written or read ---


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (s.INT32_SCHEMA, "a", "Invalid type for INT32: class java.lang.String"),
        (s.INT32_SCHEMA, 2**31, "Invalid type for INT32"),
        (s.INT64_SCHEMA, 2**63, "Invalid type for INT64: class java.math.BigInteger"),
        (s.INT32_SCHEMA, True, "Invalid type for INT32: class java.lang.Boolean"),
        (s.BOOLEAN_SCHEMA, 1, "Invalid type for BOOLEAN: class java.lang.Long"),
        (s.FLOAT64_SCHEMA, 1, "Invalid type for FLOAT64"),
        (s.STRING_SCHEMA, b"a", r"Invalid type for STRING: class \[B"),
        (s.BYTES_SCHEMA, "a", "Invalid type for BYTES"),
        (s.array(s.INT32_SCHEMA), {}, "Invalid type for ARRAY"),
        (s.mapping(s.STRING_SCHEMA, s.INT32_SCHEMA), {1: 1}, "Invalid type for MAP: a key is of class java.lang.Long"),
        (s.mapping(s.INT32_SCHEMA, s.INT32_SCHEMA), [], "Invalid type for MAP"),
        (POINT, {"x": 1}, "Invalid type for STRUCT"),
        (POINT, Struct(s.struct({"y": s.INT32_SCHEMA})), "Mismatching struct schema"),
        (POINT, Struct(POINT), "Found null value for non-optional schema"),
        (s.STRING_SCHEMA, None, "Found null value for non-optional schema"),
        (s.STRING_SCHEMA, "\ud800", "a value does not fit its schema"),
        (s.decimal_schema(2), decimal.Decimal("1.2"), "Schema has scale 2, value has scale 1"),
        (s.DATE_SCHEMA, datetime.datetime(2020, 1, 1, 1, tzinfo=UTC), "should not have any time fields"),
        (None, UTC, "Unknown Java type for schemaless data"),
        (None, 2**63, "Unknown Java type for schemaless data"),
    ],
)
def test_values_that_do_not_fit_their_schema(schema: Schema | None, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"Failed to serialize Avro data from topic t: .*{message}"):
        converter().from_connect_data("t", schema, value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Unknown magic byte"),
        (b"\x00\x00", "Unknown magic byte"),
        (b'{"a": 1}', "Unknown magic byte"),
        (b"\x00\x00\x00\x00\x63\x00", "no schema 99"),
        (b"\x00\x00\x00\x00\x01\x0aab", "the bytes are not of schema 1"),
        (b"\x00\x00\x00\x00\x01", "the bytes are not of schema 1"),
        (b"\x00\x00\x00\x00\x01\x02\xff", "the bytes are not of schema 1"),
    ],
)
def test_bytes_that_are_no_data(data: bytes, message: str) -> None:
    made = converter()
    made.from_connect_data("t", s.STRING_SCHEMA, "a")
    with pytest.raises(DataError, match=f"Failed to deserialize data for topic t to Avro: .*{message}"):
        made.to_connect_data("t", data)


@given(st.binary(max_size=40))
def test_noise_is_data_or_refused(noise: bytes) -> None:
    made = _noisy()
    with contextlib.suppress(DataError):
        made.to_connect_data("t", b"\x00\x00\x00\x00\x01" + noise)


def _noisy(made: list[AvroConverter] = []) -> AvroConverter:  # noqa: B006 - once for all examples
    if not made:
        made.append(converter())
        schema = s.struct(
            {"t": s.OPTIONAL_STRING_SCHEMA, "d": s.decimal_schema(2), "l": s.array(s.INT64_SCHEMA), "ts": s.TIMESTAMP_SCHEMA}
        )
        made[0].from_connect_data("t", schema, Struct(schema, {"d": decimal.Decimal("0.00"), "l": [], "ts": _EPOCH}))
    return made[0]


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)


# --- the registry ---


def subjects(registry: str) -> dict[str, list[str]]:
    return {subject: [each.text for each in found] for subject, found in MemoryRegistry.of(registry).subjects.items()}


def test_converters_of_one_scope_share_a_registry() -> None:
    registry = scope()
    data = converter(registry=registry).from_connect_data("t", s.STRING_SCHEMA, "a")
    assert converter(registry=registry).to_connect_data("t", data).value == "a"
    with pytest.raises(DataError, match="no schema 1"):
        converter().to_connect_data("t", data)


@pytest.mark.parametrize(
    ("strategy", "is_key", "subject"),
    [
        ("TopicNameStrategy", False, "t-value"),
        ("TopicNameStrategy", True, "t-key"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", False, "geo.Point"),
        ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", True, "t-geo.Point"),
    ],
)
def test_subjects(strategy: str, is_key: bool, subject: str) -> None:
    registry = scope()
    made = converter(is_key, registry, **{f"{'key' if is_key else 'value'}_subject_name_strategy": strategy})
    data = made.from_connect_data("t", POINT, Struct(POINT, {"x": 1}))
    assert list(subjects(registry)) == [subject]
    assert made.to_connect_data("t", data).schema == POINT.replace(version=1)


def test_a_subject_by_record_needs_a_record() -> None:
    made = converter(value_subject_name_strategy="RecordNameStrategy")
    with pytest.raises(DataError, match=r"value.subject.name.strategy = RecordNameStrategy, the message must only be a record"):
        made.from_connect_data("t", s.STRING_SCHEMA, "a")


def test_without_registration_a_schema_must_be_known() -> None:
    registry = scope()
    made = converter(registry=registry, auto_register_schemas="false")
    with pytest.raises(DataError, match=r"not registered for subject t-value, and auto\.register\.schemas is false"):
        made.from_connect_data("t", s.STRING_SCHEMA, "a")
    MemoryRegistry.of(registry).register("t-value", '{ "type": "string" }')
    MemoryRegistry.of(registry).register("t-value", '"string"')
    assert made.from_connect_data("t", s.STRING_SCHEMA, "a") == b"\x00\x00\x00\x00\x02\x02a"


V1 = s.struct({"a": s.INT32_SCHEMA, "b": s.STRING_SCHEMA}, name="R")


def latest(newest: Any, **config: str) -> AvroConverter:
    registry = scope()
    MemoryRegistry.of(registry).register("t-value", json.dumps(newest))
    return converter(registry=registry, auto_register_schemas="false", use_latest_version="true", **config)


def record(*fields: Any) -> dict[str, Any]:
    described = [{"name": name, "type": kind, **dict(more)} for name, kind, *more in fields]
    return {"type": "record", "name": "R", "fields": described}


def test_data_is_written_by_the_newest_schema_if_so_set() -> None:
    # In another order, wider, with a field more and one that may be null.
    made = latest(
        record(
            ("c", "bytes", ("default", "\xff")),
            ("b", ["null", "string"]),
            ("a", "long"),
            ("d", ["int", "string"], ("default", 3)),
        )
    )
    data = made.from_connect_data("t", V1, Struct(V1, {"a": 1, "b": "x"}))
    assert body(data) == b"\x02\xff" + b"\x02\x02x" + b"\x02" + b"\x00\x06"


@pytest.mark.parametrize(
    ("newest", "message"),
    [
        (record(("a", "int"), ("b", "string"), ("c", "int")), '"c" has no default'),
        (record(("a", "string")), "INT32 can't be written as the Avro type"),
        ("string", "STRUCT can't be written as the Avro type"),
    ],
)
def test_a_newest_schema_that_does_not_take_the_data(newest: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"Incompatible schema for subject t-value.*{message}"):
        latest(newest).from_connect_data("t", V1, Struct(V1, {"a": 1, "b": "x"}))


def test_leniently_it_is_the_values_that_must_fit() -> None:
    optional = s.struct({"a": s.OPTIONAL_INT32_SCHEMA}, name="R")
    with pytest.raises(DataError, match=r"latest\.compatibility\.strict=false"):
        latest(record(("a", "int"))).from_connect_data("t", optional, Struct(optional, {"a": 1}))
    made = latest(record(("a", "int")), latest_compatibility_strict="false")
    assert body(made.from_connect_data("t", optional, Struct(optional, {"a": 1}))) == b"\x02"
    with pytest.raises(DataError, match="Found null value"):
        made.from_connect_data("t", optional, Struct(optional))


def test_data_is_written_by_a_schema_given_by_id() -> None:
    registry = scope()
    MemoryRegistry.of(registry).register("other", '"long"')
    made = converter(registry=registry, auto_register_schemas="false", use_schema_id="1")
    assert made.from_connect_data("t", s.INT32_SCHEMA, 3) == b"\x00\x00\x00\x00\x01\x06"


def test_readers_see_what_the_writer_wrote_by() -> None:
    made = converter()
    wide = s.struct({"a": s.INT32_SCHEMA, "b": s.STRING_SCHEMA, "c": s.OPTIONAL_INT64_SCHEMA}, name="R")
    old = made.from_connect_data("t", V1, Struct(V1, {"a": 1, "b": "x"}))
    new = made.from_connect_data("t", wide, Struct(wide, {"a": 2, "b": "y", "c": 3}))
    for data, schema, version in ((old, V1, 1), (new, wide, 2), (old, V1, 1)):
        assert made.to_connect_data("t", data).schema == schema.replace(version=version)


def test_references_are_resolved() -> None:
    registry = scope()
    memory = MemoryRegistry.of(registry)
    memory.register("inner", json.dumps({"type": "enum", "name": "a.E", "symbols": ["X", "Y"]}))
    middle = {"type": "record", "name": "a.M", "fields": [{"name": "e", "type": "E"}]}
    memory.register("middle", json.dumps(middle), (Reference("a.E", "inner", 1),))
    outer = {"type": "record", "name": "b.O", "fields": [{"name": "m", "type": "a.M"}, {"name": "e", "type": "a.E"}]}
    references = (Reference("a.M", "middle", 1), Reference("a.E", "inner", 1))
    id = memory.register("t-value", json.dumps(outer), references)
    schema, value = converter(registry=registry).to_connect_data("t", struct.pack(">bI", 0, id) + b"\x02\x00")
    assert schema is not None
    assert (schema.name, schema.version, value["m"]["e"], value["e"]) == ("b.O", 1, "Y", "X")


def test_a_schema_is_looked_up_once() -> None:
    made = converter()
    calls: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(inner, name)

    inner = made._registry
    made._registry = Counting()  # type: ignore[assignment]
    for number in range(3):
        # An equal schema, not the same.
        schema = s.struct({"x": s.INT32_SCHEMA}, name="R")
        data = made.from_connect_data("t", schema, Struct(schema, {"x": number}))
        made.from_connect_data("t", s.STRING_SCHEMA, "a")
        assert made.to_connect_data("t", data).value["x"] == number
    assert calls == ["register", "register", "by_id", "lookup"]


def test_no_more_schemas_are_kept_than_set() -> None:
    made = converter(schemas_cache_config="2")
    for width in range(5):
        schema = s.struct({f"f{index}": s.INT32_SCHEMA for index in range(width)}, name="R")
        made.to_connect_data("t", made.from_connect_data("t", schema, Struct.unchecked(schema, [1] * width)))
    assert (len(made._writings), len(made._readings)) == (2, 2)


def test_settings_that_can_not_be_used() -> None:
    with pytest.raises(ConfigError, match=r'Missing required configuration "schema\.registry\.url"'):
        AvroConverter().configure({}, False)
    for config, message in (
        ({"schema.registry.url": ""}, "No schema registry is named; give its URL"),
        ({"schema.registry.url": "mock://a,mock://b"}, "Only one mock scope"),
        ({"schema.registry.url": "mock://a", "value.subject.name.strategy": "Mine"}, "must be TopicNameStrategy, Record"),
    ):
        with pytest.raises(ConfigError, match=message):
            AvroConverter().configure(config, False)
