"""AvroConverter's schemas, in both directions."""

from __future__ import annotations

import decimal
from typing import Any

import fastavro
import pytest

from kconnect.converters.avro_schema import Dialect, scrubbed, to_avro
from kconnect.converters.avro_types import dumps
from kconnect.data import schema as s
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.errors import DataError

from .avro_calls import ENUM, NS, POINT, avro_of, connect_of, converter

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
        (
            Schema(SchemaType.STRING, parameters={"avro.java.string": "String"}),
            {"type": "string", "connect.parameters": {"avro.java.string": "String"}, "avro.java.string": "String"},
        ),
        (s.decimal_schema(2), DECIMAL),
        (
            Schema(SchemaType.BYTES, name=s.DECIMAL, version=1, parameters={"scale": "2", "connect.decimal.precision": "9"}),
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
                    "m": Schema(SchemaType.MAP, key_schema=s.INT32_SCHEMA, value_schema=s.STRING_SCHEMA, default={1: "a"}),
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
