"""TimestampConverter and TimestampRouter where a value does not fit its schema, and where messages show what is in a record."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from kconnect.api import DataError, Header, Schema, SinkRecord, SourceRecord
from kconnect.data import schema as s
from kconnect.data.values import date_of
from kconnect.transforms.timestamp_converter import TimestampConverterValue
from kconnect.transforms.timestamp_router import TimestampRouter


def converted(schema: Schema | None, value: Any, **config: str) -> Any:
    transform = TimestampConverterValue()
    transform.configure({name.replace("_", "."): setting for name, setting in config.items()})
    return transform.apply(SinkRecord("t", 0, None, None, schema, value, 0)).value


@pytest.mark.parametrize(
    "schema",
    [
        s.INT64_SCHEMA,
        s.OPTIONAL_STRING_SCHEMA,
        s.INT64_SCHEMA.replace(default=3),
        s.array(s.INT64_SCHEMA),
        s.mapping(s.STRING_SCHEMA, s.INT64_SCHEMA),
    ],
)
def test_a_null_that_is_no_struct_has_no_field(schema: Schema) -> None:
    with pytest.raises(DataError, match="Cannot list fields on non-struct type"):
        converted(schema, None, field="x", target_type="unix")


def test_a_null_struct_and_a_null_without_a_schema_stay_null() -> None:
    assert converted(s.struct({"x": s.INT32_SCHEMA}, optional=True), None, field="x", target_type="unix") is None
    assert converted(None, None, field="x", target_type="unix") is None


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (s.STRING_SCHEMA, 5, "Expected string timestamp to be a String, but found class java.lang.Long"),
        (s.INT64_SCHEMA, "q", "Expected Unix timestamp to be a Long, but found class java.lang.String"),
        (s.INT64_SCHEMA, s.Int32(5), "Expected Unix timestamp to be a Long, but found class java.lang.Integer"),
        (s.INT64_SCHEMA, True, "Expected Unix timestamp to be a Long, but found class java.lang.Boolean"),
        (s.INT64_SCHEMA, date_of(0), "Expected Unix timestamp to be a Long, but found class java.util.Date"),
        (s.DATE_SCHEMA, 5, "Expected Date to be a java.util.Date, but found class java.lang.Integer"),
        (s.TIME_SCHEMA, b"", "Expected Time to be a java.util.Date, but found class [B"),
        (s.TIMESTAMP_SCHEMA, 5, "Expected Timestamp to be a java.util.Date, but found class java.lang.Long"),
    ],
)
def test_a_value_that_does_not_fit_its_schema(schema: Schema, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        converted(schema, value, target_type="unix", format="yyyy")


def test_the_first_day_of_java_begins_where_its_longs_end() -> None:
    assert converted(None, -(1 << 63), target_type="Date") == date_of(9_223_372_036_794_351_616)
    assert converted(None, (1 << 63) - 1, target_type="Date") == date_of(9_223_372_036_828_800_000)
    assert converted(None, -(1 << 63), target_type="Time") == date_of(60_424_192)


def test_subclasses_of_dates_are_dates() -> None:
    class Moment(datetime.datetime):
        pass

    assert converted(s.TIMESTAMP_SCHEMA, Moment(1970, 1, 2, tzinfo=datetime.timezone.utc), target_type="unix") == 86_400_000
    assert converted(s.TIMESTAMP_SCHEMA, date_of(1 << 62), target_type="unix") == 1 << 62
    assert converted(None, date_of(1 << 62), target_type="unix") == 1 << 62


def test_a_record_without_a_timestamp_is_shown_with_all_that_is_in_it() -> None:
    router = TimestampRouter()
    router.configure({})
    headers = [Header("a", memoryview(b"12"), s.BYTES_SCHEMA), Header("b", None)]
    record = SourceRecord({"k": b"1"}, {"n": None}, "t", None, None, [b"1"], s.INT8_SCHEMA, 5, None, headers)
    with pytest.raises(DataError) as raised:
        router.apply(record)
    assert re.sub("@[0-9a-f]+", "@HASH", str(raised.value)) == (
        "Timestamp missing on record: SourceRecord{sourcePartition={k=[B@HASH}, sourceOffset={n=null}} ConnectRecord{"
        "topic='t', kafkaPartition=null, key=[[B@HASH], keySchema=null, value=5, valueSchema=Schema{INT8}, timestamp=null, "
        "headers=ConnectHeaders(headers=[ConnectHeader(key=a, value=java.nio.HeapByteBuffer[pos=0 lim=2 cap=2], "
        "schema=Schema{BYTES}), ConnectHeader(key=b, value=null, schema=null)])}"
    )
