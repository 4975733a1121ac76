"""JsonConverter and StringConverter: bytes as Connect 4.3.1 writes them."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from kconnect.api import schema as s
from kconnect.api.errors import DataError
from kconnect.api.schema import Schema, Struct
from kconnect.converters.json import JsonConverter
from kconnect.converters.string import StringConverter

UTC = datetime.timezone.utc
POINT = s.struct({"x": s.INT32_SCHEMA, "name": s.OPTIONAL_STRING_SCHEMA}, name="Point", version=2)


def converter(**config: str) -> JsonConverter:
    made = JsonConverter()
    made.configure({name.replace("_", "."): value for name, value in config.items()}, False)
    return made


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": [True, None, "é"]}, '{"a":1,"b":[true,null,"é"]}'),
        (1e10, "1.0E10"),
        (0.001, "0.001"),
        (1e-5, "1.0E-5"),
        (float("nan"), '"NaN"'),
        (2**70, str(2**70)),
        (b"\x00\xff", '"AP8="'),
        ({1: "a"}, '[[1,"a"]]'),
    ],
)
def test_data_without_schema(value: Any, text: str) -> None:
    assert converter(schemas_enable="false").from_connect_data("t", None, value) == text.encode()


def test_an_envelope() -> None:
    data = converter().from_connect_data("t", s.STRING_SCHEMA, "v")
    assert data == b'{"schema":{"type":"string","optional":false},"payload":"v"}'


def test_null_without_schema_is_a_tombstone() -> None:
    assert converter().from_connect_data("t", None, None) is None
    assert converter().to_connect_data("t", None).value is None


def test_a_default_takes_the_place_of_null_unless_told_otherwise() -> None:
    schema = Schema(s.SchemaType.STRING, optional=True, default="d")
    assert converter(schemas_enable="false").from_connect_data("t", schema, None) == b'"d"'
    keeps = converter(schemas_enable="false", replace_null_with_default="false")
    assert keeps.from_connect_data("t", schema, None) == b"null"


def test_null_in_a_required_field() -> None:
    with pytest.raises(DataError, match="null value for field that is required and has no default value"):
        converter().from_connect_data("t", s.STRING_SCHEMA, None)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (s.INT32_SCHEMA, 7),
        (s.FLOAT64_SCHEMA, 2.5),
        (s.BYTES_SCHEMA, b"\x01\x02"),
        (s.array(s.INT64_SCHEMA), [1, 2]),
        (s.mapping(s.STRING_SCHEMA, s.INT32_SCHEMA), {"a": 1}),
        (s.mapping(s.INT32_SCHEMA, s.STRING_SCHEMA), {1: "a"}),
        (POINT, Struct(POINT, {"x": 1})),
        (s.decimal_schema(2), decimal.Decimal("-12.34")),
        (s.decimal_schema(2), decimal.Decimal("1.28")),
        (s.DATE_SCHEMA, datetime.datetime(2023, 11, 15, tzinfo=UTC)),
        (s.TIMESTAMP_SCHEMA, datetime.datetime(2023, 11, 15, 1, 2, 3, 4000, tzinfo=UTC)),
    ],
)
def test_what_is_written_is_read_back(schema: Schema, value: Any) -> None:
    made = converter()
    data = made.from_connect_data("t", schema, value)
    assert made.to_connect_data("t", data) == (schema, value)


def test_decimals_as_numbers() -> None:
    made = converter(schemas_enable="false", decimal_format="numeric")
    assert made.from_connect_data("t", s.decimal_schema(2), decimal.Decimal("12.30")) == b"12.30"


def test_no_envelope_where_one_is_needed() -> None:
    with pytest.raises(DataError, match='requires "schema" and "payload" fields'):
        converter().to_connect_data("t", b'{"a":1}')
    with pytest.raises(DataError, match="Converting byte\\[\\] to Kafka Connect data failed"):
        converter().to_connect_data("t", b"{")


def test_a_fixed_schema_reads_bare_data() -> None:
    made = converter(schema_content='{"type":"int32"}')
    assert made.to_connect_data("t", b"5") == (s.INT32_SCHEMA, 5)


def test_strings() -> None:
    made = StringConverter()
    made.configure({"converter.encoding": "ISO-8859-1"}, True)
    assert made.from_connect_data("t", None, "é") == b"\xe9"
    assert made.to_connect_data("t", b"\xe9") == (s.OPTIONAL_STRING_SCHEMA, "é")
    assert made.from_connect_data("t", None, {"a": 1.5, "b": None}) == b"{a=1.5, b=null}"
    assert made.from_connect_data("t", None, None) is None
