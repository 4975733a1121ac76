"""Values as Java shows them."""

from __future__ import annotations

import datetime
import decimal
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.data import schema as s
from kconnect.data.column import Column
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.data.values import column_texts, convert_to_list, float32_text, float64_text, java_class, parse_string, to_text

UTC = datetime.timezone.utc
POINT = s.struct({"x": s.INT32_SCHEMA, "y": s.OPTIONAL_STRING_SCHEMA, "z": s.FLOAT32_SCHEMA})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("a", "a"),
        (True, "true"),
        (-7, "-7"),
        ([1, None, "a"], "[1, null, a]"),
        ([], "[]"),
        ({"a": 1, "b": [True]}, "{a=1, b=[true]}"),
        ({}, "{}"),
        (Struct(POINT, {"x": 1, "z": 1.100000023841858}), "Struct{x=1,z=1.1}"),
        (Struct(POINT), "Struct{}"),
        (b"\x00\xff", "AP8="),
        (decimal.Decimal("1.50"), "1.50"),
        (decimal.Decimal("5E-9"), "5E-9"),
        (decimal.Decimal("7E+2"), "7E+2"),
        (decimal.Decimal("-0.0"), "0.0"),
        (datetime.datetime(2023, 11, 5, 1, 2, 3, 4000, UTC), "Sun Nov 05 01:02:03 UTC 2023"),
        (
            datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
            "Thu Jan 01 00:00:00 UTC 1970",
        ),
    ],
)
def test_text(value: Any, text: str) -> None:
    assert to_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1e-3, "0.001"),
        (9.99e-4, "9.99E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-123456789.0, "-1.23456789E8"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (5e-324, "4.9E-324"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_doubles(value: float, text: str) -> None:
    assert float64_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.1, "1.1"),
        (16777216.0, "1.6777216E7"),
        (3.4028235e38, "3.4028235E38"),
        (1.4e-45, "1.4E-45"),
        (1e39, "Infinity"),
        (0.1, "0.1"),
        (0.0, "0.0"),
        (100.0, "100.0"),
        (math.nan, "NaN"),
    ],
)
def test_floats(value: float, text: str) -> None:
    assert float32_text(value) == text
    assert to_text([value], s.array(s.FLOAT32_SCHEMA)) == f"[{text}]"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_survives_its_text(value: float) -> None:
    assert repr(float(float64_text(value))) == repr(value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_survives_its_text(value: float) -> None:
    text = float32_text(value)
    assert struct.pack(">f", float(text)) == struct.pack(">f", value)
    assert len(text) <= len(float64_text(value))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "java.lang.Long"),
        (2**63, "java.math.BigInteger"),
        (decimal.Decimal(1), "java.math.BigDecimal"),
        (b"", "[B"),
        (UTC, "datetime.timezone"),
    ],
)
def test_names_of_java_classes(value: Any, name: str) -> None:
    assert java_class(value) == name


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("[1, 300]", s.array(s.INT16_SCHEMA), [1, 300]),
        (
            '["a", 1, 300, 70000, 5000000000]',
            Schema(SchemaType.ARRAY),
            ["a", s.Int8(1), s.Int16(300), s.Int32(70000), 5000000000],
        ),
        ('["a", 1.5, 1e100]', Schema(SchemaType.ARRAY), ["a", s.Float32(1.5), 1e100]),
        ('{"a": 1, "b": true}', Schema(SchemaType.MAP, key_schema=s.STRING_SCHEMA), {"a": s.Int8(1), "b": True}),
        # The inner arrays have the schema of the last one.
        ("[[1], [300]]", s.array(s.array(s.INT16_SCHEMA)), [[s.Int8(1)], [300]]),
    ],
)
def test_parsed_numbers_are_no_wider_than_they_must_be(text: str, schema: Schema, value: Any) -> None:
    found = parse_string(text)
    assert found == (schema, value)
    assert classes(found[1]) == classes(value)


def classes(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: classes(item) for key, item in value.items()}
    return list(map(classes, value)) if isinstance(value, list) else type(value)


def test_elements_of_a_list_that_a_text_becomes_say_how_wide_they_are() -> None:
    assert classes(convert_to_list(None, "[1, 300]")) == [s.Int16, s.Int16]


@pytest.mark.parametrize(
    "many",
    [
        ["a", "b"],
        [{"a": 1, "b%s": "x"}, {"a": -2, "b%s": "%d"}],
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 2}],
        [{"a": None}, {"a": 1.5}, {"a": True}, {"a": [1]}],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
        [{}, {}],
        [{1: "x"}, {True: "y"}],
        ["a", {"a": 1}, None, 7],
    ],
)
def test_many_texts_are_what_each_of_them_is(many: list[Any]) -> None:
    assert column_texts(Column(None, many)) == [to_text(value) for value in many]


def test_keys_in_texts_of_maps_are_no_patterns() -> None:
    assert column_texts(Column(None, [{"100%": "50%"}])) == ["{100%=50%}"]
