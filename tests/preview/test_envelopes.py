"""Records and values as JSON: every envelope of the golden data, and what people write by hand."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.api.record import SinkRecord, SourceRecord, TimestampType
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.errors import DataError
from kconnect.preview import envelopes

GOLDEN = Path(__file__).parents[1] / "golden"
RECORDS = ("transforms", "chains", "predicates")
FILES = (*RECORDS, "converters", "converter_sequences", "header_converters", "projector", "validate")


def found_in(part: Any) -> Iterator[dict[str, Any]]:
    if envelopes.is_envelope(part) and "payload" in part:
        yield part
    else:
        for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            yield from found_in(each)


def records_in(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict) and {"topic", "key", "headers"} <= part.keys():
        yield part
    else:
        for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            yield from records_in(each)


def cases(file: str) -> Iterator[dict[str, Any]]:
    for line in (GOLDEN / f"{file}.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)


def as_java_has_it(part: Any) -> Any:
    """Floats as 32 bits, in which they are compared; a null is an absent field; a small bigint is a long in Python."""
    if isinstance(part, dict):
        found = {name: as_java_has_it(each) for name, each in part.items() if each is not None}
        types = found.get("types")
        if isinstance(types, dict) and "bigint" in types.values():
            small = [name for name, of in types.items() if of == "bigint" and abs(int(found["payload"][name])) < 1 << 63]
            found["payload"] = {**found["payload"], **{name: int(found["payload"][name]) for name in small}}
            found["types"] = {name: of for name, of in types.items() if name not in small}
        return found
    if isinstance(part, list):
        return list(map(as_java_has_it, part))
    return envelopes._float(part, abs(part) < 1e30) if isinstance(part, float) else part


@pytest.mark.parametrize("file", FILES)
def test_every_golden_envelope_is_the_same_after_reading_and_writing(file: str) -> None:
    read = 0
    for case in cases(file):
        for envelope in found_in(case):
            data = envelopes.value_of(envelope)
            read += 1
            written = json.loads(json.dumps(envelopes.envelope_of(*data)))
            assert as_java_has_it(written) == as_java_has_it(envelope), case["id"]
    assert read > 20


@pytest.mark.parametrize("file", RECORDS)
def test_every_golden_record_is_the_same_after_reading_and_writing(file: str) -> None:
    read = 0
    for case in cases(file):
        for body in records_in(case):
            record = envelopes.from_record(body, case["kind"])
            read += 1
            written = envelopes.to_record(record, original="original" in body)
            assert as_java_has_it(json.loads(json.dumps(written))) == as_java_has_it(body), case["id"]
    assert read > 20


# --- classes that JSON does not tell ---


@pytest.mark.parametrize(
    ("value", "payload", "types"),
    [
        (7, 7, None),
        (1.5, 1.5, None),
        (-0.0, -0.0, None),
        (float("nan"), "NaN", "float64"),
        (float("-inf"), "-Infinity", "float64"),
        (schemas.Float32(1.100000023841858), 1.1, "float32"),
        (schemas.Int8(7), 7, "int8"),
        (1 << 63, str(1 << 63), "bigint"),
        (b"\x00\xff", "AP8=", "bytes"),
        (decimal.Decimal("1.50"), "1.50", "decimal"),
        (datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, datetime.timezone.utc), -1, "date"),
        ({"a": [1, b"x"], "b": {}}, {"a": [1, "eA=="], "b": {}}, {"a": [None, "bytes"]}),
        ({1: "a", 2: None}, [[1, "a"], [2, None]], "map"),
        ((1, 2), [1, 2], None),
    ],
)
def test_data_without_a_schema(value: Any, payload: Any, types: Any) -> None:
    found = envelopes.envelope_of(None, value)
    assert found == {"schema": None, "payload": payload, **({"types": types} if types else {})}
    assert repr(found["payload"]) == repr(payload)
    if not isinstance(value, dict | tuple):
        again = envelopes.value_of(found).value
        assert (type(again), repr(again)) == (type(value), repr(value))


def test_what_does_not_fit_its_schema_says_what_it_is() -> None:
    schema = schemas.struct({"n": schemas.INT32_SCHEMA, "t": schemas.STRING_SCHEMA, "l": schemas.array(schemas.INT8_SCHEMA)})
    value = Struct.unchecked(schema, [decimal.Decimal("1.5"), 7, [1, "x"]])
    found = envelopes.envelope_of(schema, value)
    assert found["payload"] == {"n": "1.5", "t": 7, "l": [1, "x"]}
    assert found["types"] == {"n": "decimal", "t": "int64", "l": [None, "string"]}
    again = envelopes.value_of(found).value
    assert again.values == value.values
    assert type(again["t"]) is schemas.Int64


def test_a_time_on_another_day_and_a_decimal_of_another_scale_do_not_fit() -> None:
    at = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone.utc)
    assert envelopes.envelope_of(schemas.DATE_SCHEMA, at)["types"] == "date"
    assert envelopes.envelope_of(schemas.decimal_schema(2), decimal.Decimal("1.5"))["types"] == "decimal"
    assert envelopes.envelope_of(schemas.decimal_schema(2), decimal.Decimal("NaN"))["types"] == "decimal"
    assert envelopes.envelope_of(schemas.decimal_schema(2), decimal.Decimal("-1.28")) == {
        **{"schema": envelopes.schema_body(schemas.decimal_schema(2)), "payload": "gA=="}
    }


def test_null_in_a_required_field_with_a_default_stays_null() -> None:
    schema = schemas.struct({"n": schemas.INT32_SCHEMA.replace(default=5)})
    found = envelopes.envelope_of(schema, Struct.unchecked(schema, [None]))
    assert found["payload"] == {"n": None}
    assert envelopes.value_of(found).value.values == (None,)
    assert envelopes.value_of({**found, "payload": {}}).value.values == (None,)


def test_a_list_whose_elements_have_no_schema() -> None:
    found = envelopes.envelope_of(Schema(SchemaType.ARRAY), [1])
    assert found == {"schema": {"type": "array", "items": None, "optional": False}, "payload": [1]}
    assert envelopes.value_of(found) == (Schema(SchemaType.ARRAY), [1])


# --- by hand ---


def test_the_shortest_records() -> None:
    source = envelopes.from_record({"topic": "t"}, "source")
    assert isinstance(source, SourceRecord)
    assert (source.partition, source.key, source.value, source.timestamp, source.headers) == (None, None, None, None, [])
    sink = envelopes.from_record({"topic": "t", "value": {"a": 1, "schema": 2}}, "sink")
    assert isinstance(sink, SinkRecord)
    assert (sink.partition, sink.offset, sink.value, sink.value_schema) == (0, 0, {"a": 1, "schema": 2}, None)
    assert sink.timestamp_type is TimestampType.NO_TIMESTAMP_TYPE


INT = {"type": "int32", "optional": False}
STRUCT = {"type": "struct", "fields": [{**INT, "field": "n"}]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (7, "a record is an object with `topic`, `key`, `value` and so on, not a number"),
        ({}, "`topic` must be a text, and is missing"),
        ({"topic": "t", "val": 1}, "`val` is not part of a record: headers, key, offset, original, partition, "),
        ({"topic": "t", "partition": "0"}, "`partition` must be a whole number or null, not a text"),
        ({"topic": "t", "headers": {}}, "`headers` must be a list of {name, value}, not an object"),
        ({"topic": "t", "headers": [{"key": "a"}]}, "`headers[0]` must be an object of a `name`"),
        ({"topic": "t", "key": {"schema": None}}, "`key` has a `schema`, but no `payload`"),
        ({"topic": "t", "key": {"schema": {"type": "int"}, "payload": 1}}, "the schema of `key`: it must be an object whose"),
        ({"topic": "t", "value": {"schema": INT, "payload": "x"}}, "`value` is a text, but its schema says int32"),
        ({"topic": "t", "value": {"schema": INT, "payload": True}}, "`value` is a boolean, but its schema says int32"),
        ({"topic": "t", "value": {"schema": STRUCT, "payload": {"n": "x"}}}, "`value.n` is a text, but its schema says int32"),
        ({"topic": "t", "value": {"schema": STRUCT, "payload": {"m": 1}}}, "`value.m` is a field that the schema has not"),
        ({"topic": "t", "value": {"schema": {"type": "bytes"}, "payload": "#"}}, "its schema says bytes: it is not base64"),
        ({"topic": "t", "value": {"schema": None, "payload": 1, "types": "x"}}, "`value` has the unknown type `x`"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_is_no_record_says_where_and_why(body: Any, said: str) -> None:
    with pytest.raises(DataError) as raised:
        envelopes.from_record(body, "sink")
    assert said in str(raised.value)
