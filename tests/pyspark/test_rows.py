"""Rows of messages: typed, in their order, and what is bad goes by the frame's mode."""

from __future__ import annotations

import datetime
import decimal
import json
import struct
from typing import Any

import pyarrow as pa
import pytest

from kconnect.api.converter import Converter
from kconnect.converters.schema_registry import MemoryRegistry
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.errors import ConfigError
from kconnect.pyspark import columns, converters
from kconnect.pyspark.rows import BadRecordError, Rows
from tests.pyspark.messages import Message

UTC = datetime.timezone.utc
ABOUT = {"_partition": pa.int32(), "_offset": pa.int64(), "_timestamp": pa.timestamp("us", "UTC"), "_deleted": pa.bool_()}
BAD = {"_bad": pa.struct({"error": pa.string(), "key": pa.binary(), "value": pa.binary()})}
TARGET = {"id": pa.int64(), "name": pa.string(), **ABOUT}


def rows_of(
    messages: list[Message],
    target: dict[str, pa.DataType],
    mode: str = "fail",
    value: Converter | None = None,
    key: Converter | None = None,
) -> list[dict[str, Any]]:
    any_json = converters.AnyJson()
    rows = Rows(pa.schema(target), value or any_json, key, any_json, mode)
    return [row for batch in rows.batches(messages) for row in batch.to_pylist()]


def plain(at: int, **fields: Any) -> Message:
    return Message(at, json.dumps(fields).encode())


def with_schema(value_schema: Schema, value: Any) -> bytes:
    converter = converters.make("value.converter", {"": "JsonConverter", "schemas.enable": "true"})
    return converter.from_connect_data("orders", value_schema, value) or b""


def test_missing_fields_are_null_and_new_ones_are_left_out() -> None:
    found = rows_of([plain(0, id=1, name="a"), plain(1, id=2, more={"x": 1}), plain(2, name="c")], TARGET)
    assert [(row["id"], row["name"], row["_offset"]) for row in found] == [(1, "a", 0), (2, None, 1), (None, "c", 2)]
    assert found[0]["_timestamp"] == datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    assert not any(row["_deleted"] for row in found)


def test_new_fields_within_others_are_left_out_too() -> None:
    deep = schemas.struct({"o": schemas.struct({"x": Schema(SchemaType.INT32), "y": Schema(SchemaType.STRING)}, optional=True)})
    full = Struct(deep, {"o": Struct(deep.fields[0].schema, {"x": 1, "y": "new"})})
    messages = [Message(0, with_schema(deep, full)), Message(1, with_schema(deep, Struct(deep, {"o": None})))]
    target = {"o": pa.struct({"x": pa.int64(), "z": pa.string()}), **ABOUT}
    assert [row["o"] for row in rows_of(messages, target)] == [{"x": 1, "z": None}, None]
    listed = schemas.struct({"l": schemas.array(deep.fields[0].schema)})
    items = [full.values[0], None]
    message = Message(0, with_schema(listed, Struct(listed, {"l": items})))
    target = {"l": pa.list_(pa.field("element", pa.struct({"x": pa.int64()}))), **ABOUT}
    assert rows_of([message], target)[0]["l"] == [{"x": 1}, None]


def test_a_schema_that_changes_within_a_batch_keeps_the_order() -> None:
    one, two = schemas.struct({"id": Schema(SchemaType.INT32)}), schemas.struct({"id": Schema(SchemaType.INT64)})
    contents = [(one if number % 3 else two) for number in range(10)]
    messages = [Message(at, with_schema(each, Struct(each, {"id": at}))) for at, each in enumerate(contents)]
    messages.insert(5, plain(99, id=99))
    assert [row["id"] for row in rows_of(messages, TARGET)] == [0, 1, 2, 3, 4, 99, 5, 6, 7, 8, 9]


def test_a_tombstone_has_its_keys_fields() -> None:
    messages = [plain(0, id=1, name="a"), Message(1, None, b'{"id": 1}'), Message(2, None, b"no json"), Message(3, None)]
    found = rows_of(messages, TARGET)
    assert [(row["id"], row["name"], row["_deleted"]) for row in found] == [
        (1, "a", False), (1, None, True), (None, None, True), (None, None, True)
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [b'{"id": "seven"}', b'{"id": 1.5}', b'{"id": true}', b"{", b"5", b'{"id": 1e40}'])
def test_a_bad_record_fails_is_dropped_or_kept(bad: bytes) -> None:
    messages = [plain(0, id=1), Message(1, bad, b"k"), plain(2, id=2)]
    with pytest.raises(BadRecordError, match="offset 1 of orders-0") as caught:
        rows_of(messages, TARGET)
    assert "seven" not in str(caught.value)
    assert [row["id"] for row in rows_of(messages, TARGET, "drop")] == [1, 2]
    kept = rows_of(messages, {**TARGET, **BAD}, "keep")
    assert [row["id"] for row in kept] == [1, None, 2]
    assert [row["_bad"] is None for row in kept] == [True, False, True]
    assert (kept[1]["_bad"]["key"], kept[1]["_bad"]["value"]) == (b"k", bad)


def test_dropped_records_are_counted() -> None:
    any_json = converters.AnyJson()
    rows = Rows(pa.schema(TARGET), any_json, None, any_json, "drop")
    messages = [Message(at, b'{"id": "x"}' if at % 2 else b'{"id": 1}') for at in range(100)]
    assert sum(len(batch) for batch in rows.batches(messages)) == 50
    assert rows.dropped == 50
    assert "offset 1:" in rows.first_error


def test_values_with_a_schema_that_do_not_fit_are_bad() -> None:
    text = schemas.struct({"id": Schema(SchemaType.STRING)})
    messages = [
        Message(0, with_schema(text, Struct(text, {"id": "12"}))),
        Message(1, with_schema(text, Struct(text, {"id": "x"}))),
    ]
    found = rows_of(messages, {**TARGET, **BAD}, "keep")
    assert [row["id"] for row in found] == [12, None]
    assert "its column is int64" in found[1]["_bad"]["error"]


@pytest.mark.parametrize(
    "value, kind, expected",
    [
        (5, pa.string(), "5"),
        ({"a": 1}, pa.string(), '{"a":1}'),
        (True, pa.string(), "true"),
        (3.0, pa.int64(), 3),
        (3, pa.float64(), 3.0),
        (1.25, pa.decimal128(38, 2), decimal.Decimal("1.25")),
        ("2026-01-02", pa.date32(), datetime.date(2026, 1, 2)),
        ("2026-01-02T03:04:05Z", pa.timestamp("us", "UTC"), datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ({"a": 1, "b": 2}, pa.map_(pa.string(), pa.int64()), [("a", 1), ("b", 2)]),
        ([{"a": 1}, None], pa.list_(pa.struct({"a": pa.int64()})), [{"a": 1}, None]),
    ],
)  # fmt: skip
def test_values_without_a_schema_fit_the_types_that_a_reader_gives(value: Any, kind: pa.DataType, expected: Any) -> None:
    assert rows_of([plain(0, x=value)], {"x": kind, **ABOUT})[0]["x"] == expected


@pytest.mark.parametrize(
    "value, kind",
    [
        (1_700_000_000, pa.timestamp("us", "UTC")),
        ("2026-01-02T03:04", pa.date32()),
        (2**60, pa.float64()),
        (2**70, pa.int64()),
        (300, pa.int8()),
        (0.001, pa.decimal128(38, 2)),
        ("AAE=", pa.binary()),
        ({"a": 1}, pa.list_(pa.int64())),
        ([1], pa.struct({"a": pa.int64()})),
    ],
)
def test_nothing_becomes_another_value(value: Any, kind: pa.DataType) -> None:
    with pytest.raises(BadRecordError):
        rows_of([plain(0, x=value)], {"x": kind, **ABOUT})


def test_keys_are_binary_or_typed() -> None:
    message = Message(0, b'{"id": 1}', b"17", (("h", b"x"), ("h", None)))
    target = {**TARGET, "_headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))}
    assert rows_of([message], {"_key": pa.binary(), **target})[0]["_key"] == b"17"
    assert rows_of([message], target)[0]["_headers"] == [{"key": "h", "value": b"x"}, {"key": "h", "value": None}]
    typed = converters.make("key.converter", {"": "org.apache.kafka.connect.converters.LongConverter"})
    message = Message(0, b'{"id": 1}', (17).to_bytes(8, "big"))
    assert rows_of([message], {"_key": pa.int64(), **target}, key=typed)[0]["_key"] == 17
    with pytest.raises(BadRecordError):
        rows_of([Message(0, b'{"id": 1}', b"x")], {"_key": pa.int64(), **target}, key=typed)


def test_values_that_are_no_structs_are_the_column_value() -> None:
    text = converters.make("value.converter", {"": "StringConverter"})
    assert rows_of([Message(0, b"line")], {"value": pa.string(), **ABOUT}, value=text)[0]["value"] == "line"
    assert rows_of([Message(0, b"5")], {"value": pa.int64(), **ABOUT})[0]["value"] == 5


def test_without_a_converter_what_has_no_objects_is_texts() -> None:
    texts = converters.AnyJson(texts=True)
    value_schema = Schema(SchemaType.STRING)
    messages = [Message(0, b"tcpmux 1/tcp"), Message(1, b'"quoted"'), Message(2, with_schema(value_schema, "one"))]
    target = {"value": pa.string(), **ABOUT}
    assert [row["value"] for row in rows_of(messages, target, value=texts)] == ["tcpmux 1/tcp", '"quoted"', "one"]
    with pytest.raises(BadRecordError, match="UTF-8"):
        rows_of([Message(0, b"\xff")], target, value=texts)


def test_no_time_is_null() -> None:
    assert rows_of([Message(0, b'{"id": 1}', time_ms=None)], TARGET)[0]["_timestamp"] is None


def test_an_object_that_only_looks_like_an_envelope_is_one_without_a_schema() -> None:
    assert rows_of([Message(0, b'{"schema":"public","name":"t"}')], TARGET)[0]["name"] == "t"


@pytest.mark.parametrize(
    "name, only_own", [("com.example.JsonConverter", False), ("NoConverter", False), ("org.example.X", True)]
)
def test_a_converter_that_is_not_there_is_told_with_those_that_are(name: str, only_own: bool) -> None:
    with pytest.raises(ConfigError, match=r"AvroConverter, .*JsonConverter"):
        converters.make("value.converter", {"": name}, only_own)


def test_columns_of_a_single_value_have_its_type() -> None:
    wrapped = columns.struct_of(Schema(SchemaType.INT32))
    assert [field.name for field in wrapped.fields] == ["value"]


ENVELOPED = b'{"type":"struct","fields":[{"field":"id","type":"int64"}]}'


@pytest.mark.parametrize(
    "text",
    [
        b'{"schema":%b,"payload":{"id":7}}' % ENVELOPED,
        b'{"payload":{"id":7},"schema":%b}' % ENVELOPED,
        b' {\n  "schema" : %b,\n  "payload" : {"id" : 7}\n}' % ENVELOPED,
        b'{"schema":null,"payload":{"id":7}}',
    ],
)
def test_an_envelope_may_be_written_in_any_way(text: bytes) -> None:
    assert [row["id"] for row in rows_of([Message(0, text), Message(1, text)], TARGET)] == [7, 7]


@pytest.mark.parametrize(
    "text",
    [
        b'{"schema":%b,"payload":5}' % ENVELOPED,
        b'{"schema":%b,"payload":{}}' % ENVELOPED,
        b'{"schema":{"type":"nonsense"},"payload":{"id":7}}',
        b'{"payload":{"id":7},"schema":{"type":"struct","fields":[{"field":"a"}]}}',
    ],
)
def test_an_envelope_that_is_wrong_is_bad_and_no_row_of_nulls(text: bytes) -> None:
    with pytest.raises(BadRecordError):
        rows_of([Message(0, text)], TARGET)


def test_a_number_beyond_all_with_a_point_does_not_become_infinity() -> None:
    message = Message(0, b'{"x":1e400}')
    with pytest.raises(BadRecordError, match="the field x is of the type Decimal"):
        rows_of([message], {"x": pa.float64(), **ABOUT})
    assert rows_of([message], {"x": pa.string(), **ABOUT})[0]["x"] == "1E+400"


def test_maps_may_have_any_keys() -> None:
    key, time = schemas.struct({"k": Schema(SchemaType.INT32)}), schemas.TIME_SCHEMA
    texts = {name: schemas.mapping(each, Schema(SchemaType.STRING)) for name, each in (("structs", key), ("times", time))}
    of_maps = schemas.struct(texts)
    moment = datetime.datetime(1970, 1, 1, 1, 2, 3, tzinfo=UTC)
    value = Struct(of_maps, {"structs": {Struct(key, {"k": 1}): "x"}, "times": {moment: "y"}})
    target = {
        "structs": pa.map_(pa.struct({"k": pa.int32()}), pa.string()),
        "times": pa.map_(pa.string(), pa.string()),
        **ABOUT,
    }
    row = rows_of([Message(0, with_schema(of_maps, value))], target)[0]
    assert (row["structs"], row["times"]) == ([({"k": 1}, "x")], [("01:02:03.000", "y")])


@pytest.mark.parametrize(
    "bad, told",
    [
        (b'{"id":1,"name":"x\\ud800"}', r"the field name has a text with half a character"),
        (b"{", r"it is no JSON that can be read \(.* at character 1\)"),
    ],
)
def test_why_a_record_is_bad_is_told_in_plain_words(bad: bytes, told: str) -> None:
    with pytest.raises(BadRecordError, match=told):
        rows_of([Message(0, bad)], TARGET)


def test_of_a_value_that_its_type_has_not_the_field_is_told() -> None:
    prices = schemas.struct({"id": Schema(SchemaType.INT64), "price": schemas.decimal_schema(2)})
    value = Struct(prices, {"id": 1, "price": decimal.Decimal("9" * 40 + ".00")})
    with pytest.raises(BadRecordError, match=r"the field price has a value that the type decimal128\(38, 2\) has not"):
        rows_of([Message(0, with_schema(prices, value))], {"id": pa.int64(), "price": pa.decimal128(38, 2), **ABOUT})


def test_a_decimal_that_ends_before_the_point_is_whole() -> None:
    thousands = schemas.struct({"x": schemas.decimal_schema(-3)})
    message = Message(0, with_schema(thousands, Struct(thousands, {"x": decimal.Decimal("12E3")})))
    assert rows_of([message], {"x": pa.decimal128(38, 0), **ABOUT})[0]["x"] == 12000


@pytest.mark.parametrize("time_ms", [2**63 - 1, -(2**63), 10**16])
def test_a_time_beyond_all_is_none(time_ms: int) -> None:
    """Who may write a record gives it a time of which there are no microseconds: the query ended, whatever its mode."""
    found = rows_of([Message(0, b'{"id": 1}', time_ms=time_ms), Message(1, b'{"id": 2}')], TARGET, "drop")
    assert [(row["id"], row["_timestamp"] is None) for row in found] == [(1, True), (2, False)]


@pytest.mark.parametrize(
    "schema",
    [["null", "null"], {"type": "enum", "name": "E", "symbols": ["A", "A"]}, {"type": "record", "name": "R", "fields": "abc"}],
)
def test_a_schema_of_which_nothing_can_be_made_is_its_records_fault(schema: Any) -> None:
    """Who may register a schema registers one that cannot be: the query ended, whatever its mode."""
    registry = MemoryRegistry.of("rows")
    try:
        id = registry.register("orders-value", json.dumps(schema))
        avro = converters.make("value.converter", {"": "AvroConverter", "schema.registry.url": "mock://rows"})
        assert rows_of([Message(0, struct.pack(">bI", 0, id) + b"\2")], TARGET, "drop", avro) == []
    finally:
        MemoryRegistry.drop("rows")
