"""AvroConverter's bytes and values, over a registry in this process."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import io
import json
import struct
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.converters.avro import AvroConverter
from kconnect.converters.schema_registry import MemoryRegistry
from kconnect.data import schema as s
from kconnect.data.schema import Float32, Int8, Int32, Schema, SchemaType, Struct
from kconnect.errors import DataError

from .avro_calls import ENUM, POINT, UTC, body, connect_of, converter, scope

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
    assert type(back[1]) is type(value)


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


# --- enums, fixed and unions ---


def through(avro: Any, plain: Any, **config: str) -> tuple[Schema | None, Any, bool, Any]:
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
