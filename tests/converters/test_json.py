"""JsonConverter, beyond the golden cases."""

from __future__ import annotations

import datetime
import decimal
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.converters.json import JsonConverter
from kconnect.data import schema as s
from kconnect.data.schema import Schema, Struct
from kconnect.errors import DataError

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
        (2**63 - 1, str(2**63 - 1)),
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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("\x1f\\u001f", '"\\u001F\\\\u001f"'),
        ("😀", '"\\uD83D\\uDE00"'),
        ("a\ud800b", '"a\\uD800b"'),
        ({"\ud800": [1, "😀"]}, '{"\\uD800":[1,"\\uD83D\\uDE00"]}'),
        ({"a": 1e10, "b": [float("inf"), -0.0]}, '{"a":1.0E10,"b":["Infinity",-0.0]}'),
        ((1, (2,)), "[1,[2]]"),
        (Struct(POINT, {"x": 1}), '{"x":1,"name":null}'),
    ],
)
def test_text_is_escaped_as_jackson_does(value: Any, text: str) -> None:
    assert converter(schemas_enable="false").from_connect_data("t", None, value) == text.encode()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (2**63, "Java class class java.math.BigInteger does not have corresponding schema type."),
        (datetime.datetime.now(UTC), "Java class class java.util.Date does not have corresponding schema type."),
        (UTC, "A value of the class datetime.timezone is no data: use None,"),
        ({"a": [{1, 2}]}, "A value of the class builtins.set is no data: use None,"),
    ],
)
def test_what_is_no_data_of_connect_is_refused(value: Any, said: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(said)}"):
        converter(schemas_enable="false").from_connect_data("t", None, value)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (s.INT32_SCHEMA, "5", "Invalid type for INT32: class java.lang.String"),
        (s.INT32_SCHEMA, True, "Invalid type for INT32: class java.lang.Boolean"),
        (s.FLOAT64_SCHEMA, 1, "Invalid type for FLOAT64: class java.lang.Long"),
        (s.array(s.INT32_SCHEMA), {}, "Invalid type for ARRAY: class java.util.HashMap"),
        (s.mapping(s.STRING_SCHEMA, s.INT32_SCHEMA), [], "Invalid type for MAP: class java.util.ArrayList"),
        (POINT, {}, "Invalid type for STRUCT: class java.util.HashMap"),
        (POINT, Struct(POINT.replace(version=3)), "Mismatching schema."),
        (s.decimal_schema(2), decimal.Decimal("1.5"), "Schema has scale 2, value has scale 1."),
        (s.DATE_SCHEMA, datetime.datetime(2024, 1, 1, 1, tzinfo=UTC), "Date type should not have any time fields"),
        (s.TIME_SCHEMA, datetime.datetime(2024, 1, 1, 1, tzinfo=UTC), "Time type should not have any date fields"),
    ],
)
def test_values_that_do_not_fit_their_schema(schema: Schema, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        converter().from_connect_data("t", schema, value)


def test_a_date_beyond_the_years_of_python_comes_back_as_it_was() -> None:
    made = converter()
    for milliseconds in (999_999_999_999_999, -(1 << 63)):
        data = b'{"schema":%b,"payload":%d}' % (
            b'{"type":"int64","optional":false,"name":"org.apache.kafka.connect.data.Timestamp","version":1}',
            milliseconds,
        )
        assert made.from_connect_data("t", *made.to_connect_data("t", data)) == data


def test_a_decimal_given_as_a_number_keeps_all_its_digits() -> None:
    head = b'{"schema":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}},"payload":'
    made = converter()
    for text in ("1.10", "12345678901234567890123.45", "7", "98765432109876543210"):
        assert made.to_connect_data("t", head + text.encode() + b"}").value == decimal.Decimal(text)


HEAD = b'{"schema":{"type":"int32","optional":true},"payload":'


@pytest.mark.parametrize(
    "rest",
    [
        b"1}",
        b"null}",
        b'"x"}',
        b"",
        b"}",
        b"1",
        b'1,"payload":2}',
        b'1,"x":2}',
        b'1}{"a":1}',
        b'"x"} y',
        b" 1 }",
        b"1 }\n",
        b"99999999999999999999}",
        b"[1]}",
    ],
)
def test_a_message_means_the_same_whatever_came_before_it(rest: bytes) -> None:
    def outcome(made: JsonConverter) -> Any:
        try:
            return made.to_connect_data("t", HEAD + rest)
        except DataError as error:
            return str(error)

    used = converter()
    used.to_connect_data("t", HEAD + b"5}")
    assert outcome(used) == outcome(converter())


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(PLAIN)
def test_plain_data_is_written_as_json_and_comes_back(value: Any) -> None:
    made = converter(schemas_enable="false")
    data = made.from_connect_data("t", None, value)
    if value is None:
        assert data is None
        return
    assert data is not None
    assert json.loads(data) == value
    assert made.to_connect_data("t", data) == (None, value)


@given(PLAIN)
def test_other_writers_are_understood(value: Any) -> None:
    text = json.dumps(value, indent=1)
    assert converter(schemas_enable="false").to_connect_data("t", text.encode()) == (None, value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (s.INT8_SCHEMA, s.Int8(7)),
        (s.INT64_SCHEMA, s.Int64(7)),
        (s.FLOAT32_SCHEMA, s.Float32(1.1)),
        (s.FLOAT64_SCHEMA, s.Float64(7)),
    ],
)
def test_a_number_may_say_how_wide_it_is_if_that_is_what_its_schema_says(schema: Schema, value: Any) -> None:
    plain = (float if isinstance(value, float) else int)(value)
    assert converter().from_connect_data("t", schema, value) == converter().from_connect_data("t", schema, plain)
    with pytest.raises(DataError, match="Invalid type for INT16"):
        converter().from_connect_data("t", s.INT16_SCHEMA, value)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        (b'{"type":"array","items":{"type":"int8"}}', b"[1]"),
        (b'{"type":"map","keys":{"type":"string"},"values":{"type":"int8"}}', b'{"a":1}'),
    ],
)
def test_a_key_that_no_map_of_python_can_have(keys: bytes, key: bytes) -> None:
    envelope = b'{"schema":{"type":"map","keys":%b,"values":{"type":"int8"}},"payload":[[%b,1]]}' % (keys, key)
    with pytest.raises(DataError, match="a key that is a list or a map itself"):
        converter().to_connect_data("t", envelope)
